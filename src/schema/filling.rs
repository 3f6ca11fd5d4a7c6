//! The `fill-null` that replaces all nulls of some fields, for messages.

use super::time::TimeType;
use super::{DType, Element, Field, Schema, Size, Type};
use crate::error::Error;
use crate::path::{FieldPath, quoted};
use crate::printable::shell_word;
use arrow_schema::DataType;
use std::sync::Arc;

/// Maximum number of values in a suggestion.
const MOST: usize = 20;

/// The arguments of the `fill-null` that replaces every null these fields may have, such as `x=[],x=0`; `None` if none
/// of them can be null.
pub fn filling<'a>(schema: &Schema, fields: impl IntoIterator<Item = &'a FieldPath>) -> Option<Arc<str>> {
    let mut seen: Vec<String> = Vec::new();
    for path in fields {
        let Ok((_, field)) = schema.find(path) else { continue };
        let mut pairs = Vec::new();
        // A null structure around the field becomes a structure of nulls.
        let mut parent = path.parent();
        let mut is_inside_null = false;
        while let Some(at) = parent {
            if let Ok((_, outer)) = schema.find(&at) {
                structure(&at, &outer.ty, &mut pairs, &mut is_inside_null);
            }
            parent = at.parent();
        }
        add(path, &field.ty, is_inside_null, &mut pairs);
        for pair in pairs {
            if !seen.contains(&pair) {
                seen.push(pair);
            }
        }
        if seen.len() >= MOST {
            break;
        }
    }
    if seen.is_empty() { None } else { Some(seen.join(",").into()) }
}

/// Advice for a field with nulls that cannot be written: replace them, or drop the field.
pub fn fill_or_drop(schema: &Schema, path: &FieldPath) -> String {
    ways_out(filling(schema, [path]), path)
}

/// The same, with the replacements for all fields that may hold nulls, if they are few: what cannot store one cannot store the others.
pub fn fill_all_or_drop(schema: &Schema, path: &FieldPath) -> String {
    let others = schema.fields.iter().map(|field| FieldPath::name(&field.name));
    let paths: Vec<FieldPath> = std::iter::once(path.clone()).chain(others).collect();
    let all = filling(schema, &paths).filter(|pairs| pairs.matches('=').count() < MOST);
    ways_out(all.or_else(|| filling(schema, [path])), path)
}

/// The same if only the field itself must not be null; structures around it may be.
pub fn fill_itself_or_drop(field: &Field, path: &FieldPath) -> String {
    let mut pairs = Vec::new();
    add(path, &field.ty, false, &mut pairs);
    ways_out((!pairs.is_empty()).then(|| pairs.join(",").into()), path)
}

/// The error for a null in a field of the records, in row `row` of a chunk: `what` cannot store it. Suggests how to fill it or to drop
/// such records.
pub fn null_refused(what: &str, field: &Field, row: usize) -> Error {
    let (path, mut pairs) = (FieldPath::name(&field.name), Vec::new());
    add(&path, &field.ty, false, &mut pairs);
    let name = path.in_expression();
    let condition = match (&field.ty, field.ty.rank()) {
        (ty, 0) if ty.fields().is_none() => Some(format!("not is_null({name})")),
        (ty, _) if !ty.with_nulls => Some(format!("not is_null({name}, level=0)")),
        (ty, _) if !ty.optional && !ty.is_sparse() => Some(format!("not reduce_any(is_null({name}))")),
        _ => None,
    };
    let error = Error::data(format!("{what} cannot store nulls")).in_field(&path).at_row(row);
    let filled = (!pairs.is_empty()).then(|| format!("fill it first: fill-null {}", shell_word(&pairs.join(","))));
    let dropped = condition.map(|condition| format!("drop such records: filter {}", shell_word(&condition)));
    match (filled, dropped) {
        (Some(filled), Some(dropped)) => error.help(filled).help(format!("or {dropped}")),
        (filled, dropped) => filled.or(dropped).into_iter().fold(error, Error::help),
    }
}

fn ways_out(filling: Option<Arc<str>>, path: &FieldPath) -> String {
    let top = path.names().first().map_or_else(String::new, |name| shell_word(&quoted(name)));
    match filling {
        Some(pairs) => format!("fill it first: fill-null {}; or drop the field: drop {top}", shell_word(&pairs)),
        None => format!("drop the field: drop {top}"),
    }
}

/// The replacements for nulls among the structures themselves.
fn structure(path: &FieldPath, ty: &Type, pairs: &mut Vec<String>, is_null: &mut bool) {
    let has_lists = ty.dims.iter().any(|d| !matches!(d.size, Size::Known(_)));
    if (ty.optional || ty.with_nulls) && has_lists {
        pairs.push(format!("{path}=[]"));
    }
    if ty.with_nulls || (ty.optional && !has_lists) {
        pairs.push(format!("{path}={{}}"));
        *is_null = true;
    }
}

fn add(path: &FieldPath, ty: &Type, is_inside_null: bool, pairs: &mut Vec<String>) {
    if let Element::Struct(fields) = &ty.element {
        let mut is_null = is_inside_null;
        structure(path, ty, pairs, &mut is_null);
        fields.iter().for_each(|field| add(&path.join(&field.name), &field.ty, is_null, pairs));
        return;
    }
    let is_optional = ty.optional || is_inside_null;
    let has_lists = ty.is_sparse() || ty.dims.iter().any(|d| !matches!(d.size, Size::Known(_)));
    if has_lists && (is_optional || (ty.with_nulls && ty.rank() > 1)) {
        pairs.push(format!("{path}=[]"));
    }
    if let Some(value) = value(ty.dtype())
        && (ty.with_nulls || (is_optional && !has_lists))
    {
        pairs.push(format!("{path}={value}"));
    }
}

/// A replacement for nulls of that dtype; `None` if it has no literals.
fn value(dtype: Option<&DType>) -> Option<&'static str> {
    match dtype {
        Some(DType::String | DType::Bytes) => Some("\"\""),
        Some(DType::Bool) => Some("False"),
        Some(DType::Arrow(ty)) if matches!(**ty, DataType::FixedSizeBinary(_)) => None,
        Some(dtype) => Some(dtype.time().as_ref().map_or("0", TimeType::zero_literal)),
        None => Some("0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::notation;

    #[test]
    fn all_nulls_are_filled_at_once() {
        for (schema, want) in [
            ("x: int64", None),
            ("x: optional int64", Some("x=0")),
            ("x: optional string[?] with nulls", Some("x=[],x=\"\"")),
            ("x: optional bool[2]", Some("x=False")),
            ("x: int64[?, (?)] with nulls", Some("x=[],x=0")),
            ("x: optional arrow<date32>", Some("x=\"1970-01-01\"")),
            ("x: optional arrow<duration[s]>[?]", Some("x=[]")),
            ("x: optional {a: int64, b: string[?]}", Some("x={},x.a=0,x.b=[]")),
        ] {
            let schema = notation::parse(schema).unwrap();
            assert_eq!(filling(&schema, &[FieldPath::name("x")]).as_deref(), want);
        }
        let schema = notation::parse("s: optional {a: int64}").unwrap();
        assert_eq!(filling(&schema, &[FieldPath::name("s").join("a")]).as_deref(), Some("s={},s.a=0"));
    }
}
