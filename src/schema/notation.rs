//! The text form of schemas and types, parsed and printed by the same rules.

use super::{Literal, Schema, Type};
use crate::error::{Error, Result};
use arrow_schema::DataType;
use std::fmt;

/// Parses fields separated by new lines or `;`.
pub fn parse(text: &str) -> Result<Schema> {
    Err(Error::usage(text))
}

/// Parses the text of a literal: a number, `"text"`, `b"bytes"`, `True`, `None`, a list.
pub fn parse_literal(text: &str) -> Result<Literal> {
    Err(Error::usage(text))
}

/// `timestamp[us]`, as in `arrow<timestamp[us]>`.
pub fn arrow_type_text(ty: &DataType) -> String {
    ty.to_string()
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
