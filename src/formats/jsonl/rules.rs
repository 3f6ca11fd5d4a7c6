//! What a column accepts, and how a value that it does not accept is reported.

use super::cursor::Cursor;
use super::error::{Cause, Fix, Parse, ParseError};

/// What one level of a column accepts.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A row may be null.
    pub nullable: bool,
    /// The type was given with `--schema`: a value that does not fit is invalid.
    pub declared: bool,
    /// The first type seen holds: a value that clashes with it is invalid.
    pub first_wins: bool,
}

impl Rules {
    /// The cause of a misfit that a wider inferred type would resolve.
    pub fn misfit(&self) -> Cause {
        if self.declared { Cause::Invalid } else { Cause::Wider }
    }

    /// A value that a wider inferred type would hold.
    #[cold]
    pub fn wider(&self, cursor: &Cursor, expected: &str, fix: Fix) -> Box<ParseError> {
        ParseError::new(cursor.pos(), self.misfit(), format!("expected {expected}, found {}", cursor.found()), fix)
    }

    /// A value that no type but `json` holds together with the values before it.
    #[cold]
    pub fn clash(&self, cursor: &Cursor, expected: &str) -> Box<ParseError> {
        let cause = if self.declared || self.first_wins { Cause::Invalid } else { Cause::Clash };
        ParseError::new(cursor.pos(), cause, format!("expected {expected}, found {}", cursor.found()), Fix::Json)
    }

    /// Takes a null, if there is one and it is allowed.
    ///
    /// # Errors
    /// A null that is not allowed.
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
        Err(ParseError::new(start, self.misfit(), format!("expected {expected}, found null"), Fix::Nullable))
    }

    /// A null where a list or an object is `expected` but does not begin.
    ///
    /// # Errors
    /// A null that is not allowed; anything else.
    #[cold]
    pub fn expect_null(&self, cursor: &mut Cursor, expected: &str) -> Parse<()> {
        if self.take_null(cursor, expected)? { Ok(()) } else { Err(self.unexpected(cursor, expected)) }
    }

    /// Neither null nor what is expected: bad text, or a clash.
    #[cold]
    pub fn unexpected(&self, cursor: &Cursor, expected: &str) -> Box<ParseError> {
        match cursor.clone().skip_value() {
            Ok(()) => self.clash(cursor, expected),
            Err(error) => error,
        }
    }
}
