//! What is wrong with a record, as the decoder sees it: a place in the block and a path that grows on the way up.

use crate::path::quoted;
use crate::schema::{DType, Type};

/// The result of reading a value.
pub type Parse<T> = Result<T, Box<Trouble>>;

/// Whether another schema would hold the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The record is wrong under any schema, or under the one that was asked for.
    Bad,
    /// Wider inference holds it.
    Wider,
    /// It clashes with the records before it.
    Clash,
}

/// What the field would have to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Fix {
    None,
    /// Another dtype, at the same depth.
    Dtype(DType),
    /// The null that was found is allowed.
    Nullable,
    /// Kept as text from the depth of the error on.
    Json,
    /// A field that the schema does not have.
    New(Type),
    /// This type from the depth of the error on, where nothing but null has been seen.
    Seen(Type),
}

/// What is wrong, and where.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// Offset in the block.
    pub pos: usize,
    pub class: Class,
    /// Names of fields, innermost first.
    names: Vec<String>,
    /// List levels between the innermost field and the value.
    pub depth: usize,
    pub message: String,
    pub help: Vec<String>,
    pub fix: Fix,
}

impl Trouble {
    /// Something that no schema would change.
    #[cold]
    pub fn syntax(pos: usize, message: impl Into<String>) -> Box<Trouble> {
        Trouble::new(pos, Class::Bad, message, Fix::None)
    }

    #[cold]
    pub fn new(pos: usize, class: Class, message: impl Into<String>, fix: Fix) -> Box<Trouble> {
        Box::new(Trouble { pos, class, names: Vec::new(), depth: 0, message: message.into(), help: Vec::new(), fix })
    }

    pub fn help(mut self: Box<Self>, line: impl Into<String>) -> Box<Trouble> {
        self.help.push(line.into());
        self
    }

    /// The value is that of this field.
    #[cold]
    pub fn in_field(mut self: Box<Self>, name: &str) -> Box<Trouble> {
        self.names.push(name.to_owned());
        self
    }

    /// The value is an item of a list.
    #[cold]
    pub fn in_list(mut self: Box<Self>) -> Box<Trouble> {
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
