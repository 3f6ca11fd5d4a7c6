//! Unused names, and the commands with them that messages suggest.

use super::{Field, Schema};
use crate::path::{FieldPath, quoted};
use crate::printable::shell_word;

impl Schema {
    /// A name for a copy of the field among the fields of the record: its own or, if that is taken, preceded by the names of
    /// enclosing structures, as in `user_id`.
    pub fn free_name(&self, path: &FieldPath) -> String {
        free_name(path, |name| self.index_of(name).is_some())
    }

    /// The verbs that move fields of a structure up among those of the record: `promote a.b then promote a.c --as a_c then drop a`.
    /// `None` if there is no such structure, or none of its fields is wanted.
    pub fn moved_out(&self, structure: &FieldPath, is_wanted: impl Fn(&Field) -> bool) -> Option<String> {
        let (_, field) = self.find(structure).ok()?;
        let parts = field.ty.fields().filter(|_| field.ty.dims.is_empty())?.iter().filter(|part| is_wanted(part));
        let paths: Vec<FieldPath> = parts.map(|part| structure.join(&part.name)).collect();
        (!paths.is_empty()).then(|| format!("{} then drop {}", self.promotions(&paths), shell_word(&structure.to_string())))
    }

    /// The verbs that copy these fields out of their structures: `promote a.b then promote a.c --as a_c`.
    pub fn promotions(&self, paths: &[FieldPath]) -> String {
        let (mut names, mut verbs): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for path in paths {
            let name = free_name(path, |name| self.index_of(name).is_some() || names.iter().any(|used| used == name));
            let option = if name == path.last() { String::new() } else { format!(" --as {}", shell_word(&quoted(&name))) };
            verbs.push(format!("promote {}{option}", shell_word(&path.to_string())));
            names.push(name);
        }
        verbs.join(" then ")
    }
}

fn free_name(path: &FieldPath, is_taken: impl Fn(&str) -> bool) -> String {
    let names = path.names();
    let longer = (0..names.len()).rev().map(|start| names[start..].join("_"));
    let numbered = (2..).map(|number| format!("{}_{number}", names.join("_")));
    longer.chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::notation;

    #[test]
    fn copies_get_names_that_are_free() {
        let schema = notation::parse("id: int64; docs: {title: string}; a_id: int64").unwrap();
        for (path, want) in [("docs.title", "title"), ("a.b.id", "b_id"), ("b.id", "b_id"), ("a.id", "a_id_2")] {
            assert_eq!(schema.free_name(&FieldPath::parse(path).unwrap()), want);
        }
    }

    #[test]
    fn fields_of_a_structure_get_different_names() {
        let schema = notation::parse("id: int64; s: {id: int64, s_id: int64, t: int64}; v: {id: int64}[?]").unwrap();
        let verbs = |name| schema.moved_out(&FieldPath::name(name), |_| true);
        assert_eq!(verbs("s").unwrap(), "promote s.id --as s_id then promote s.s_id --as s_s_id then promote s.t then drop s");
        assert_eq!(verbs("v"), None);
        assert_eq!(verbs("id"), None);
    }
}
