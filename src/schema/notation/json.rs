//! The JSON of `schema --as json`, in which each field has its name and its type in the notation.

use super::name::name_text;
use super::parse;
use crate::error::{Error, Result};
use crate::printable::BYTE_ORDER_MARK;
use crate::schema::Schema;
use serde_json::Value;
use std::collections::HashSet;

/// Whether a text begins like such an object, `{"fields": [`.
pub fn is_json(head: &[u8]) -> bool {
    let mut rest = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    [b"{".as_slice(), b"\"fields\"", b":", b"["].into_iter().all(|token| match rest.trim_ascii_start().strip_prefix(token) {
        Some(after) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// Parses such an object.
///
/// # Errors
/// It is not one, or a type is not in the notation.
pub fn parse_json(text: &str) -> Result<Schema> {
    let wrong = |what: String| Error::usage(format!("expected the JSON of `tatter schema --as json`, {what}"));
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(|e| wrong(format!("found invalid JSON: {e}")))?;
    let entries = value.get("fields").and_then(Value::as_array).ok_or_else(|| wrong("found no list of fields".to_owned()))?;
    let (mut fields, mut names) = (Vec::new(), HashSet::new());
    for (i, entry) in entries.iter().enumerate() {
        let member = |key: &str| entry.get(key).and_then(Value::as_str);
        let (Some(name), Some(ty)) = (member("name"), member("type")) else {
            return Err(wrong(format!("found field {} without `name` and `type`", i + 1)));
        };
        let mut parsed = parse(&format!("{}: {ty}", name_text(name)))?.fields;
        match (parsed.pop(), parsed.is_empty() && names.insert(name)) {
            (Some(field), true) => fields.push(field),
            _ => return Err(wrong(format!("found an invalid or repeated field: {name}"))),
        }
    }
    Ok(Schema::new(fields))
}
