//! Errors in a record, as seen by the decoder: an offset in the block, and a field path that is built on the way out.

use crate::error::Message;
use crate::hint::Hint;
use crate::path::quoted;
use crate::schema::{DType, Type};

/// The result of reading a value.
pub type Parse<T> = Result<T, Box<ParseError>>;

/// Whether another schema would hold the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The record is invalid under any schema, or under the declared schema.
    Invalid,
    /// A wider inferred type holds it.
    Wider,
    /// It conflicts with earlier records.
    Clash,
}

/// The schema change under which the value could be read.
#[derive(Clone, Debug, PartialEq)]
pub enum Fix {
    /// No change helps.
    None,
    /// Another dtype, at the same depth.
    Dtype(DType),
    /// Allow null here.
    Nullable,
    /// Allow null here, for a record that does not have the field.
    Absent,
    /// Keep as text from the depth of the error.
    Json,
    /// This type from the depth of the error instead of the declared one; [`Fix::Json`] if earlier records have the declared one.
    Instead(Type),
    /// A field that the schema does not have.
    New(Type),
    /// Values are not one per line.
    Framing,
    /// This type from the depth of the error, where only null has been seen.
    Seen(Type),
}

/// An error and its location.
#[derive(Clone, Debug)]
pub struct ParseError {
    /// Offset in the block.
    pub pos: usize,
    /// Whether another schema would hold the record.
    pub cause: Cause,
    /// Names of fields, innermost first.
    names: Vec<String>,
    /// Number of list levels between the innermost field and the value.
    pub depth: usize,
    /// What was expected and what was found.
    pub message: Message,
    /// Hints, one per line.
    pub help: Vec<Hint>,
    /// The schema change that would help.
    pub fix: Fix,
}

impl ParseError {
    /// The same error with another fix.
    pub fn with_fix(mut self, fix: Fix) -> ParseError {
        self.fix = fix;
        self
    }

    /// An error that no schema resolves.
    #[cold]
    pub fn syntax(pos: usize, message: impl Into<Message>) -> Box<ParseError> {
        ParseError::new(pos, Cause::Invalid, message, Fix::None)
    }

    /// An error at `pos`.
    #[cold]
    pub fn new(pos: usize, cause: Cause, message: impl Into<Message>, fix: Fix) -> Box<ParseError> {
        Box::new(ParseError { pos, cause, names: Vec::new(), depth: 0, message: message.into(), help: Vec::new(), fix })
    }

    /// Adds a hint.
    pub fn help(mut self: Box<Self>, hint: impl Into<Hint>) -> Box<ParseError> {
        self.help.push(hint.into());
        self
    }

    /// Adds the field that contains the value.
    #[cold]
    pub fn in_field(mut self: Box<Self>, name: &str) -> Box<ParseError> {
        self.names.push(name.to_owned());
        self
    }

    /// Adds a list that contains the value.
    #[cold]
    pub fn in_list(mut self: Box<Self>) -> Box<ParseError> {
        if self.names.is_empty() {
            self.depth += 1;
        }
        self
    }

    /// Names of the enclosing fields, outermost first.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        self.names.iter().rev().map(String::as_str)
    }

    /// The path in field notation; `None` for the record itself.
    pub fn field(&self) -> Option<String> {
        (!self.names.is_empty()).then(|| self.path().map(quoted).collect::<Vec<_>>().join("."))
    }
}
