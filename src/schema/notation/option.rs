//! `--schema` as messages suggest it: ready to paste, whatever the names of the fields.

use super::name_text;
use crate::path::FieldPath;
use crate::printable::{shell_quoted, shell_word};
use std::fmt::Display;

/// `a: {b: int64}`: declares the type of the field at the path.
pub fn declaration(path: &FieldPath, ty: impl Display) -> String {
    let nested = |inner: Option<String>, name: &String| match inner {
        None => format!("{}: {ty}", name_text(name)),
        Some(inner) => format!("{}: {{{inner}}}", name_text(name)),
    };
    path.names().iter().rev().fold(None, |inner, name| Some(nested(inner, name))).unwrap_or_default()
}

/// `cast 'x={user: {id: optional json}}'`: parses the JSON text in a field, so that it has a field `inner`, whose type is not known.
pub fn parsing(texts: &FieldPath, inner: &FieldPath) -> String {
    format!("cast {}", shell_word(&format!("{texts}={{{}}}", declaration(inner, "optional json"))))
}

/// `--schema 'x: int64'`, for these declarations.
pub fn schema_option(declarations: &str) -> String {
    format!("--schema {}", shell_quoted(declarations))
}
