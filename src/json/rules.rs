//! The values that a column accepts, and errors for other values.

use super::cursor::Cursor;
use super::error::{Cause, Fix, Parse, ParseError};
use super::settle::type_of;
use crate::error::mismatch;
use crate::schema::{DType, Type};

/// The values that one level of a column accepts.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether a row may be null.
    pub nullable: bool,
    /// Whether the type was declared with `--schema`, so that other values are invalid.
    pub declared: bool,
    /// Whether the first type seen is kept, so that conflicting values are invalid.
    pub first_wins: bool,
}

impl Rules {
    /// The cause of a mismatch that a wider inferred type would resolve.
    pub fn misfit(&self) -> Cause {
        if self.declared { Cause::Invalid } else { Cause::Wider }
    }

    /// The cause of a mismatch that only `json` would resolve.
    pub fn contradiction(&self) -> Cause {
        if self.declared || self.first_wins { Cause::Invalid } else { Cause::Clash }
    }

    /// The error for a value that a wider inferred type would hold.
    #[cold]
    pub fn wider(&self, cursor: &Cursor, expected: &str, fix: Fix) -> Box<ParseError> {
        ParseError::new(cursor.pos(), self.misfit(), mismatch(expected, cursor.found()), fix)
    }

    /// The error for a value that only `json` can hold together with earlier values, or that contradicts `--schema`.
    #[cold]
    pub fn clash(&self, cursor: &Cursor, expected: &str) -> Box<ParseError> {
        let seen = if self.declared { Some(type_of(&mut cursor.clone())) } else { None };
        let is_known = |ty: &Type| ty.dtype().is_none_or(|dtype| *dtype != DType::Null);
        let fix = seen.filter(is_known).map_or(Fix::Json, Fix::Instead);
        ParseError::new(cursor.pos(), self.contradiction(), mismatch(expected, cursor.found()), fix)
    }

    /// Consumes a null if there is one and it is allowed.
    ///
    /// # Errors
    /// A null is not allowed.
    #[cold]
    pub fn take_null(&self, cursor: &mut Cursor, expected: &str) -> Parse<bool> {
        let start = cursor.pos();
        if !cursor.take_word("null") {
            return Ok(false);
        }
        if self.nullable {
            return Ok(true);
        }
        cursor.set_pos(start);
        Err(ParseError::new(start, self.misfit(), mismatch(expected, "null"), Fix::Nullable))
    }

    /// Handles a null where a list or object is `expected` but does not start.
    ///
    /// # Errors
    /// A null that is not allowed, or anything else.
    #[cold]
    pub fn expect_null(&self, cursor: &mut Cursor, expected: &str) -> Parse<()> {
        if self.take_null(cursor, expected)? { Ok(()) } else { Err(self.unexpected(cursor, expected)) }
    }

    /// The error for a value that is neither null nor as expected: invalid text, or a conflict.
    #[cold]
    pub fn unexpected(&self, cursor: &Cursor, expected: &str) -> Box<ParseError> {
        match cursor.clone().skip_value() {
            Ok(()) => self.clash(cursor, expected),
            Err(error) => error,
        }
    }
}
