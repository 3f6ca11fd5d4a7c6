//! Columns with the same name. Field names must be unique, so all but the first are renamed.

use crate::error::Result;
use crate::options::Options;
use crate::path::quoted;
use crate::schema::Field;
use std::collections::HashSet;

/// Renamed columns, with old and new names.
pub type Renamed = Vec<(String, String)>;

/// Gives columns with the same name distinct names: `x`, `x_2`, `x_3`.
pub fn distinct(fields: &mut [Field]) -> Renamed {
    let mut taken: HashSet<String> = fields.iter().map(|f| f.name.clone()).collect();
    let (mut seen, mut renamed) = (HashSet::new(), Vec::new());
    for field in fields {
        if seen.insert(field.name.clone()) {
            continue;
        }
        let free = (2..).map(|n: u64| format!("{}_{n}", field.name)).find(|name| !taken.contains(name)).unwrap_or_default();
        renamed.push((std::mem::replace(&mut field.name, free.clone()), free.clone()));
        taken.insert(free.clone());
        seen.insert(free);
    }
    renamed
}

/// Notices for renamed columns.
///
/// # Errors
/// The notices, under `--strict`.
pub fn announce(input: &str, renamed: &Renamed, options: &Options) -> Result<()> {
    renamed.iter().try_for_each(|(old, new)| {
        let text = format!("{input}: two columns are named {}; the second is read as {}", quoted(old), quoted(new));
        options.notices.add(text, options.strict)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{DType, Type};

    #[test]
    fn names_become_distinct() {
        let field = |name: &str| Field::new(name, Type::tensor(DType::Int64, Vec::new()));
        let mut fields: Vec<Field> = ["x", "x_2", "x", "y", "x"].map(field).to_vec();
        let renamed = distinct(&mut fields);
        let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["x", "x_2", "x_3", "y", "x_4"]);
        assert_eq!(renamed.len(), 2);
    }
}
