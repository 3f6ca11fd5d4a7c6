//! Finds the field at a path, with advice if there is none.

use super::{Field, Schema, every_field, notation, otherwise};
use crate::error::{Error, Reason, Result, nearest};
use crate::path::{FieldPath, quoted};
use crate::printable::{listed, shell_word};

/// Maximum number of fields listed in an error.
const LISTED: usize = 20;

/// The names from a depth on, as one name.
fn dotted(path: &FieldPath, depth: usize) -> String {
    path.names()[depth..].join(".")
}

impl Schema {
    /// The field at a path, with the positions on the path.
    ///
    /// # Errors
    /// A usage error that names the nearest field.
    pub fn find(&self, path: &FieldPath) -> Result<(Vec<usize>, &Field)> {
        let (mut fields, mut positions, mut found) = (self.fields.as_slice(), Vec::new(), None::<&Field>);
        for (depth, name) in path.names().iter().enumerate() {
            let Some(position) = self.last.position(fields, |field| field.name == *name) else {
                let error = unknown_field(path, depth, fields);
                let inner = FieldPath::try_new(path.names()[depth..].to_vec());
                return Err(match (found, path.names()[..depth].to_vec(), inner) {
                    (Some(outer), texts, Ok(inner)) if outer.ty.may_hold_json() => {
                        error.help(format!("parse JSON text first: {}", notation::parsing(&FieldPath::try_new(texts)?, &inner)))
                    }
                    _ => error,
                });
            };
            positions.push(position);
            found = Some(&fields[position]);
            fields = fields[position].ty.fields().unwrap_or(&[]);
        }
        found.map(|field| (positions, field)).ok_or_else(|| Error::usage("an empty field path"))
    }
}

/// The field inside one of the structures that has this name, if it is the only one.
fn inner_field(name: &str, fields: &[Field], outer: Option<&FieldPath>) -> Option<FieldPath> {
    let mut found = Vec::new();
    every_field(fields, outer, &mut |path, field| {
        if field.name == name {
            found.push(path);
        }
    });
    <[FieldPath; 1]>::try_from(found).ok().map(|[path]| path)
}

fn unknown_field(path: &FieldPath, depth: usize, fields: &[Field]) -> Error {
    let name = &path.names()[depth];
    let outer = FieldPath::try_new(path.names()[..depth].to_vec()).ok();
    let place = outer.as_ref().map(|p| format!(" in {p}")).unwrap_or_default();
    let error = Error::usage(format!("unknown field `{name}`{place}")).because(Reason::UnknownField(path.names()[..=depth].join(".")));
    if fields.is_empty() {
        return error.help(match outer {
            Some(p) => format!("{p} is not a structure"),
            None => "the records have no fields".to_owned(),
        });
    }
    if let Some((field, new)) = name.split_once(" as ").or_else(|| name.split_once(" AS ")).or_else(|| name.split_once('='))
        && fields.iter().any(|known| known.name == field)
    {
        let rest = &path.names()[depth + 1..];
        return match &outer {
            None => error.help(format!("to rename a field, use the verb rename: rename {}", shell_word(&format!("{field}={new}")))),
            Some(outer) if rest.is_empty() => {
                let option = if new == field { String::new() } else { format!(" --as {}", shell_word(&quoted(new))) };
                let field = shell_word(&outer.join(field).to_string());
                error.help(format!("to copy a field out of its structure, use the verb promote: promote {field}{option}"))
            }
            // `p.a=p.b`
            Some(outer) => match rest {
                [name] if outer.to_string() == new => {
                    let pair = format!("{}={}", outer.join(field), quoted(name));
                    error.help(format!("to rename a field, use the verb rename: rename {}", shell_word(&pair)))
                }
                _ => error,
            },
        };
    }
    if name == "$" && path.names().len() > depth + 1 {
        let rest = FieldPath::try_new(path.names()[depth + 1..].to_vec()).map_or_else(|_| dotted(path, depth + 1), |rest| rest.to_string());
        return error.help(format!("write a field without a leading `$.`: {rest}"));
    }
    if let Some(list) = name.strip_suffix("[]").or_else(|| name.strip_suffix("[*]"))
        && fields.iter().any(|known| known.name == list)
    {
        let text = path.to_string().replace("[]", "").replace("[*]", "").replace('`', "");
        return error.help(format!("write the fields of the items of a list without brackets: {text}"));
    }
    let words: Vec<&str> = name.split_whitespace().collect();
    if words.len() > 1 && words.iter().all(|word| fields.iter().any(|known| known.name == **word)) {
        return error.help(format!("separate fields with commas: {}", words.join(",")));
    }
    let dotted = dotted(path, depth);
    if depth == 0
        && let Some(advice) = otherwise::advice(&dotted, fields)
    {
        return error.help(advice);
    }
    if let Some(field) = fields.iter().find(|field| path.names().len() > depth + 1 && field.name == dotted) {
        return error.help(format!(
            "did you mean {}? such a name needs backquotes, inside the quotes of the shell",
            shell_word(&quoted(&field.name))
        ));
    }
    let is_pattern = name.contains('*');
    let error = if is_pattern { error.help("`*` is not a wildcard here: list each field") } else { error };
    match nearest(name, fields.iter().map(|f| f.name.as_str())).filter(|_| !is_pattern) {
        Some(near) => {
            let near = outer.map_or_else(|| FieldPath::name(near), |p| p.join(near));
            error.help(format!("did you mean {near}?"))
        }
        None if let Some(inner) = inner_field(name, fields, outer.as_ref()).filter(|_| !is_pattern) => {
            error.help(format!("did you mean {inner}?"))
        }
        None => {
            let names = fields.iter().map(|f| quoted(&f.name));
            error.help(format!("the fields are: {}", listed(names, LISTED)))
        }
    }
}
