//! The contract of a column under construction. Columns form a tree that mirrors the type; the trait
//! lets lists and objects hold columns without knowing all kinds of them.
//!
//! Each level appends one row for each value it reads. A record that turns out to be bad halfway is
//! removed again by [`Builder::truncate`].

use super::cursor::Cursor;
use super::error::Parse;
use super::forms::elements;
use crate::error::Result;
use crate::schema::{Field, Type};
use crate::tensor::Tensor;

/// How the columns of a run are built.
#[derive(Clone, Copy)]
pub struct BuildOptions<'a> {
    /// The declared types of these fields (`--schema`).
    pub declared: &'a [Field],
    /// The first type seen holds: bad records are left out.
    pub first_wins: bool,
    /// A field of the record that cannot be read is null.
    pub nulls: bool,
}

/// Rows that turn out to be bad only when the whole column is known.
pub type LateErrors = Vec<LateError>;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LateError {
    /// Its row.
    pub row: usize,
    /// The column, by its position in the structure.
    pub column: usize,
    /// Names of the fields that lead to it, innermost first.
    pub names: Vec<String>,
    /// What is wrong.
    pub message: String,
}

impl LateError {
    /// In a column whose position is not known yet.
    pub fn new(row: usize, message: String) -> LateError {
        LateError { row, column: 0, names: Vec::new(), message }
    }
}

/// A column under construction.
pub trait Builder: Sized {
    /// An empty column of type `ty`. `declared`: its type in `--schema`, if it has one.
    ///
    /// # Errors
    /// The type cannot be read from JSON.
    fn of(ty: &Type, declared: Option<&Field>, options: BuildOptions) -> Result<Self>;

    /// Rows so far.
    fn nrows(&self) -> usize;

    /// Appends the value at the cursor.
    ///
    /// # Errors
    /// Bad text, or a value of another type; part of it may have been appended.
    fn read(&mut self, cursor: &mut Cursor) -> Parse<()>;

    /// Appends the elements of a list that is not empty, up to and including its bracket.
    ///
    /// # Errors
    /// See [`Builder::read`].
    fn read_elements(&mut self, cursor: &mut Cursor) -> Parse<()> {
        elements(cursor, |cursor| self.read(cursor))
    }

    /// Whether a row may be null.
    fn nullable(&self) -> bool;

    /// Whether the type was given with `--schema`.
    fn declared(&self) -> bool;

    /// What a value of the column looks like, for messages.
    fn expected(&self) -> &'static str;

    /// Appends a null.
    fn push_null(&mut self);

    /// Appends what a null has in the arrays: zero, an empty string, an empty list.
    fn push_blank(&mut self);

    /// Removes rows `nrows` and later.
    fn truncate(&mut self, nrows: usize);

    /// Makes room for that many rows.
    fn reserve(&mut self, nrows: usize);

    /// Makes room for what `left` records more have, if they are like the `seen` ones before.
    fn reserve_as_before(&mut self, seen: usize, left: usize);

    /// Another outermost row begins: the sizes of inner uniform axes are open again.
    fn forget_sizes(&mut self) {}

    /// The tensor. Rows that turn out to be bad only now (values of Arrow types) go into `late`.
    ///
    /// # Errors
    /// Not for data.
    fn finish(self, late: &mut LateErrors) -> Result<Tensor>;
}
