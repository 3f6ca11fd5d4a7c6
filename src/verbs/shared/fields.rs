//! The fields a verb works on: `-f a,b.c`, where `*` matches any characters in a name.

use crate::demand::{Demand, Wanted};
use crate::error::{Error, Reason, Result, mismatch};
use crate::expr::names_used;
use crate::path::{self, FieldPath};
use crate::printable::shell_word;
use crate::schema::{Element, Field, Schema, every_field};
use std::collections::HashSet;

/// `-f`: limits a verb to some fields.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct FieldArgs {
    /// Fields to process, such as a,b.c; `*` matches any characters in a name [default: every applicable field]
    #[arg(short = 'f', long = "fields", value_name = "FIELDS")]
    pub fields: Vec<String>,
}

impl FieldArgs {
    /// The named fields, in the order of the schema; `None` if no fields are named.
    ///
    /// # Errors
    /// A name or a pattern that matches no field.
    pub fn resolve(&self, schema: &Schema) -> Result<Option<Vec<FieldPath>>> {
        if self.fields.is_empty() {
            return Ok(None);
        }
        let mut named = HashSet::new();
        for text in &self.fields {
            named.extend(Patterns::parse(text)?.resolve(schema)?);
        }
        let mut all = Vec::new();
        every_field(&schema.fields, None, &mut |path, _| all.push(path));
        all.retain(|path| named.contains(path));
        Ok(Some(all))
    }
}

impl FieldArgs {
    /// The demand of a verb that works on these fields and may add fields with these suffixes.
    pub fn demand(&self, after: Demand, added: &[&str]) -> Demand {
        let patterns: Option<Vec<Patterns>> = self.fields.iter().map(|text| Patterns::parse(text).ok()).collect();
        match patterns {
            Some(patterns) if !patterns.is_empty() => {
                let names: Vec<String> = patterns.iter().flat_map(Patterns::wanted).collect();
                let clashes: Vec<String> = names.iter().flat_map(|name| added.iter().map(move |end| format!("{name}{end}"))).collect();
                after.and_fields(names.into_iter().chain(clashes))
            }
            // Without names, it works on all applicable fields and may reject some.
            _ => Demand { fields: Wanted::All, ..after },
        }
    }
}

/// A comma-separated list of field paths whose names may hold `*`.
#[derive(Clone, Debug)]
pub struct Patterns {
    text: String,
    patterns: Vec<Vec<Name>>,
}

#[derive(Clone, Debug)]
enum Name {
    Exact(String),
    /// `*` matches any characters except the dot between names.
    Glob(String),
}

impl Name {
    fn parse(part: &str, whole: &str) -> Result<Name> {
        let name = path::unquote(part, whole)?;
        let is_quoted = part.trim().starts_with('`');
        Ok(if name.contains('*') && !is_quoted { Name::Glob(name) } else { Name::Exact(name) })
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Name::Exact(exact) => exact == name,
            Name::Glob(pattern) => path::glob_matches(pattern, name),
        }
    }
}

impl Patterns {
    /// Parses `a,b.c,image/*`.
    ///
    /// # Errors
    /// See [`FieldPath::parse`].
    pub fn parse(text: &str) -> Result<Patterns> {
        let patterns = path::split(text, ',')?
            .into_iter()
            .map(|one| path::split(one, '.')?.into_iter().map(|part| Name::parse(part, one)).collect::<Result<Vec<_>>>())
            .collect::<Result<Vec<_>>>()?;
        Ok(Patterns { text: text.to_owned(), patterns })
    }

    /// The fields that match, in pattern order, each field once.
    ///
    /// # Errors
    /// A name that no field has (the nearest name is suggested), or a pattern that no field matches.
    pub fn resolve(&self, schema: &Schema) -> Result<Vec<FieldPath>> {
        let (mut found, mut known) = (Vec::new(), HashSet::new());
        let mut add = |path: FieldPath| {
            if known.insert(path.clone()) {
                found.push(path);
            }
        };
        // Many names may come in any order.
        let is_worth_it = self.patterns.len() > 32;
        let top: HashSet<&str> = schema.fields.iter().filter(|_| is_worth_it).map(|field| field.name.as_str()).collect();
        for pattern in &self.patterns {
            if let Some(path) = exact(pattern)? {
                if path.names().len() > 1 || !top.contains(path.last()) {
                    schema.find(&path)?;
                }
                add(path);
                continue;
            }
            let mut seen = false;
            matching(pattern, &schema.fields, &mut Vec::new(), &mut |path| {
                seen = true;
                add(path);
            })?;
            if !seen {
                let names: Vec<String> = schema.fields.iter().take(20).map(|f| path::quoted(&f.name)).collect();
                let error = Error::usage(format!("no field matches {}", self.text)).because(Reason::UnknownField(self.text.clone()));
                // `ms * 2`
                let is_computed = self.text.contains(' ') && names_used(&self.text, false).is_some();
                let computed = || format!("to compute a field: map {}", shell_word(&format!("x = {}", self.text)));
                let error = if is_computed { error.help(computed()) } else { error };
                return Err(error.help(match names.is_empty() {
                    true => "the records have no fields".to_owned(),
                    false => format!("the fields are: {}", names.join(", ")),
                }));
            }
        }
        Ok(found)
    }

    /// The patterns, if all are of top-level fields and match what [`glob_matches`](path::glob_matches) does.
    pub fn whole(&self) -> Option<Vec<String>> {
        let whole = |pattern: &Vec<Name>| match pattern.as_slice() {
            [Name::Exact(name)] if !name.contains('*') => Some(name.clone()),
            [Name::Glob(name)] => Some(name.clone()),
            _ => None,
        };
        self.patterns.iter().map(whole).collect()
    }

    /// The patterns of top-level names, for [`Demand`].
    pub fn wanted(&self) -> Vec<String> {
        self.patterns
            .iter()
            .filter_map(|p| p.first())
            .map(|name| match name {
                Name::Exact(name) | Name::Glob(name) => name.clone(),
            })
            .collect()
    }
}

fn exact(pattern: &[Name]) -> Result<Option<FieldPath>> {
    let names: Option<Vec<String>> = pattern
        .iter()
        .map(|name| match name {
            Name::Exact(name) => Some(name.clone()),
            Name::Glob(_) => None,
        })
        .collect();
    names.map(FieldPath::try_new).transpose()
}

fn matching(pattern: &[Name], fields: &[Field], names: &mut Vec<String>, found: &mut dyn FnMut(FieldPath)) -> Result<()> {
    let Some((first, rest)) = pattern.split_first() else {
        return Ok(());
    };
    for field in fields.iter().filter(|f| first.matches(&f.name)) {
        names.push(field.name.clone());
        if rest.is_empty() {
            found(FieldPath::try_new(names.clone())?);
        } else {
            matching(rest, field.ty.fields().unwrap_or(&[]), names, found)?;
        }
        names.pop();
    }
    Ok(())
}

/// The field at these positions, those of the enclosing structures first.
pub fn field_at<'a>(fields: &'a mut [Field], positions: &[usize]) -> Option<&'a mut Field> {
    let (first, rest) = positions.split_first()?;
    let field = fields.get_mut(*first)?;
    if rest.is_empty() {
        return Some(field);
    }
    match &mut field.ty.element {
        Element::Struct(inner) => field_at(inner, rest),
        _ => None,
    }
}

/// The advice for verbs that work only on top-level fields: copy the field out of its structure.
///
/// `verb` is the verb with the option that takes the name, such as `unique --by`.
pub fn copied_first(path: &FieldPath, verb: &str, schema: &Schema) -> String {
    let name = schema.free_name(path);
    let map = shell_word(&format!("{} = {}", path::in_expression(&name), path.in_expression()));
    format!("copy it first: map {map} then {verb} {}", shell_word(&path::quoted(&name)))
}

/// Splits `old=new` at the first `=` outside backquotes.
///
/// # Errors
/// There is no `=`; `what` describes the expected text, such as `old=new`.
pub fn split_assignment<'a>(text: &'a str, what: &str) -> Result<(&'a str, &'a str)> {
    let left = path::split(text, '=')?.first().map_or(0, |l| l.len());
    match (text.get(..left), text.get(left + 1..)) {
        (Some(name), Some(value)) if !name.trim().is_empty() => Ok((name.trim(), value)),
        _ => {
            let error = Error::usage(mismatch(what, format_args!("`{text}`")));
            Err(match text.split_once(':').filter(|(name, value)| !name.is_empty() && !value.is_empty()) {
                Some((name, value)) => error.help(format!("separate them with `=`: {name}={value}")),
                None => error,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{DType, Type};

    fn schema() -> Schema {
        let leaf = |name: &str| Field::new(name, Type::tensor(DType::Int64, Vec::new()));
        let docs = Type::structure(vec![leaf("title"), leaf("tokens")], Vec::new());
        Schema::new(vec![leaf("id"), Field::new("docs", docs), leaf("a_id"), leaf("x*")])
    }

    #[test]
    fn patterns_name_fields_in_their_own_order() {
        for (text, want) in [
            ("docs.tokens,id", "docs.tokens id"),
            ("*id", "id a_id"),
            ("a_id,*id", "a_id id"),
            ("docs.*", "docs.title docs.tokens"),
            ("*.t*", "docs.title docs.tokens"),
            ("`x*`", "`x*`"),
            ("*", "id docs a_id `x*`"),
        ] {
            let found = Patterns::parse(text).and_then(|p| p.resolve(&schema())).expect(text);
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "), want, "{text}");
        }
    }

    #[test]
    fn names_that_are_not_there() {
        for (text, want) in [
            ("idd", "unknown field `idd`\n  did you mean id?"),
            ("docs.token", "unknown field `token` in docs\n  did you mean docs.tokens?"),
            ("q*", "no field matches q*\n  the fields are: id, docs, a_id, `x*`"),
            ("", "expected a name, found nothing\n  write the empty name as two backquotes"),
        ] {
            let error = Patterns::parse(text).and_then(|p| p.resolve(&schema())).expect_err(text);
            assert_eq!(error.to_string(), want, "{text}");
        }
    }

    #[test]
    fn assignments_split_outside_backquotes() {
        assert_eq!(split_assignment("`a=b`=c=d", "old=new").ok(), Some(("`a=b`", "c=d")));
        for (text, message) in [
            ("ab", "expected old=new, found `ab`"),
            ("=b", "expected old=new, found `=b`"),
            ("a:b", "expected old=new, found `a:b`\n  separate them with `=`: a=b"),
        ] {
            assert_eq!(split_assignment(text, "old=new").unwrap_err().to_string(), message);
        }
    }
}
