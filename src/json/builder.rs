//! The interface of a column under construction. Columns form a tree that mirrors the type; the trait lets lists and
//! objects contain any kind of column.
//!
//! Each level appends one row for each value it reads. If a record turns out to be bad halfway, [`Builder::truncate`]
//! removes its rows.

use super::cursor::Cursor;
use super::error::Parse;
use super::forms::elements;
use crate::error::{Message, Result};
use crate::schema::{DType, Field, Type};
use crate::tensor::{RowPartition, Tensor, row_of};

/// How the columns of a run are built.
#[derive(Clone, Copy)]
pub struct BuildOptions<'a> {
    /// The types of these fields declared by `--schema`.
    pub declared: &'a [Field],
    /// Whether the first type seen is kept, and records that do not fit it are skipped.
    pub first_wins: bool,
    /// Whether unreadable fields of a record become null.
    pub nulls: bool,
    /// Whether the type is final, so that keys that a structure does not have are skipped.
    pub is_final: bool,
}

/// Rows that turn out to be bad only after the whole column is known.
pub type LateErrors = Vec<LateError>;

/// A bad row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LateError {
    /// Its row.
    pub row: usize,
    /// The column, by its position in the structure.
    pub column: usize,
    /// Names of the enclosing fields, innermost first.
    pub names: Vec<String>,
    /// The error.
    pub message: Message,
}

impl LateError {
    /// For a column whose position is not known yet.
    pub fn new(row: usize, message: impl Into<Message>) -> LateError {
        LateError { row, column: 0, names: Vec::new(), message: message.into() }
    }
}

/// A column under construction.
pub trait Builder: Sized {
    /// An empty column of type `ty`. `declared`: its type in `--schema`, if any.
    ///
    /// # Errors
    /// The type cannot be read from JSON.
    fn of(ty: &Type, declared: Option<&Field>, options: BuildOptions) -> Result<Self>;

    /// Number of rows so far.
    fn nrows(&self) -> usize;

    /// Appends the value at the cursor.
    ///
    /// # Errors
    /// Invalid text, or a value of another type. Part of the value may have been appended.
    fn read(&mut self, cursor: &mut Cursor) -> Parse<()>;

    /// Appends the elements of a nonempty list, up to and including its closing bracket.
    ///
    /// # Errors
    /// See [`Builder::read`].
    fn read_elements(&mut self, cursor: &mut Cursor) -> Parse<()> {
        elements(cursor, |cursor| self.read(cursor))
    }

    /// The dtype of a column of scalars.
    fn leaf_dtype(&self) -> Option<&DType>;

    /// Whether a row may be null.
    fn nullable(&self) -> bool;

    /// Whether the type was given with `--schema`.
    fn declared(&self) -> bool;

    /// Describes a value of the column in messages.
    fn expected(&self) -> &'static str;

    /// Appends a null.
    fn push_null(&mut self);

    /// Appends `n` nulls.
    fn push_nulls(&mut self, n: usize);

    /// Appends the placeholder stored under a null: zero, an empty string, or an empty list.
    fn push_blank(&mut self);

    /// Truncates the column to `nrows` rows.
    fn truncate(&mut self, nrows: usize);

    /// Reserves room for that many rows.
    fn reserve(&mut self, nrows: usize);

    /// Reserves room for `left` more records, assuming they are like the `seen` records so far.
    fn reserve_as_before(&mut self, seen: usize, left: usize);

    /// Starts a new outermost row, in which the sizes of inner uniform axes can differ.
    fn forget_sizes(&mut self) {}

    /// The finished tensor. Rows found to be bad only now (values of Arrow types) go to `late`.
    ///
    /// # Errors
    /// Never caused by data.
    fn finish(self, late: &mut LateErrors) -> Result<Tensor>;
}

/// The values of these rows, which `finish` returns. Late errors of values become errors of the rows that hold them.
///
/// # Errors
/// See [`Builder::finish`].
pub fn finish_below(
    partition: &RowPartition,
    late: &mut LateErrors,
    finish: impl FnOnce(&mut LateErrors) -> Result<Tensor>,
) -> Result<Tensor> {
    let first = late.len();
    let values = finish(late)?;
    for error in &mut late[first..] {
        error.row = row_of(partition, error.row);
    }
    Ok(values)
}
