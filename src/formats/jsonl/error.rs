//! What is wrong with a record, as the decoder sees it: an offset in the block, and a field path that
//! grows on the way out.

use crate::path::quoted;
use crate::schema::{DType, Type};

/// The result of reading a value.
pub type Parse<T> = Result<T, Box<ParseError>>;

/// Whether another schema would hold the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The record is wrong under any schema, or under the declared one.
    Invalid,
    /// A wider inferred type holds it.
    Wider,
    /// It clashes with the records before it.
    Clash,
}

/// The change to the schema under which the value could be read.
#[derive(Clone, Debug, PartialEq)]
pub enum Fix {
    /// There is none.
    None,
    /// Another dtype, at the same depth.
    Dtype(DType),
    /// The null that was found is allowed.
    Nullable,
    /// Kept as text from the depth of the error on.
    Json,
    /// A field that the schema does not have.
    New(Type),
    /// Values that do not each end a line.
    Framing,
    /// This type from the depth of the error on, where only null has been seen.
    Seen(Type),
}

/// What is wrong, and where.
#[derive(Clone, Debug)]
pub struct ParseError {
    /// Offset in the block.
    pub pos: usize,
    /// Whether another schema would hold the record.
    pub cause: Cause,
    /// Names of fields, innermost first.
    names: Vec<String>,
    /// List levels between the innermost field and the value.
    pub depth: usize,
    /// What was expected and found.
    pub message: String,
    /// What to do about it, a line each.
    pub help: Vec<String>,
    /// The schema that would read it.
    pub fix: Fix,
}

impl ParseError {
    /// An error under any schema.
    #[cold]
    pub fn syntax(pos: usize, message: impl Into<String>) -> Box<ParseError> {
        ParseError::new(pos, Cause::Invalid, message, Fix::None)
    }

    /// An error at `pos`.
    #[cold]
    pub fn new(pos: usize, cause: Cause, message: impl Into<String>, fix: Fix) -> Box<ParseError> {
        Box::new(ParseError { pos, cause, names: Vec::new(), depth: 0, message: message.into(), help: Vec::new(), fix })
    }

    /// Adds a line of help.
    pub fn help(mut self: Box<Self>, line: impl Into<String>) -> Box<ParseError> {
        self.help.push(line.into());
        self
    }

    /// The value is that of this field.
    #[cold]
    pub fn in_field(mut self: Box<Self>, name: &str) -> Box<ParseError> {
        self.names.push(name.to_owned());
        self
    }

    /// The value is an element of a list.
    #[cold]
    pub fn in_list(mut self: Box<Self>) -> Box<ParseError> {
        if self.names.is_empty() {
            self.depth += 1;
        }
        self
    }

    /// Names of the fields that lead to the value, outermost first.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        self.names.iter().rev().map(String::as_str)
    }

    /// The path as it is written; `None` for the record itself.
    pub fn field(&self) -> Option<String> {
        (!self.names.is_empty()).then(|| self.path().map(quoted).collect::<Vec<_>>().join("."))
    }
}
