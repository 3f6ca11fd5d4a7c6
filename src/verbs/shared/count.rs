//! The number of records that `head` and `tail` keep: `head 3`, `head -n 3`, `head -3`, or 10.

use crate::error::{Error, Result, mismatch};
use std::num::{IntErrorKind, ParseIntError};

/// The default number of records.
const DEFAULT: u64 = 10;

/// A number of records, as an argument or with `-n`.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct RecordCount {
    /// Number of records [default: 10]
    #[arg(value_name = "N", value_parser = parse_argument)]
    count: Argument,
    /// Same as the argument N
    #[arg(short = 'n', value_name = "N", value_parser = parse_option)]
    number: Option<u64>,
}

/// The argument; `None` if it is omitted.
#[derive(Clone, Copy, Debug)]
struct Argument(Option<u64>);

fn parse_argument(text: &str) -> Result<Argument> {
    match text {
        "" => Ok(Argument(None)),
        // `-3` as in `tail -3`.
        _ => digits(text.strip_prefix('-').unwrap_or(text)).map(|n| Argument(Some(n))).ok_or_else(|| refused(text)),
    }
}

fn parse_option(text: &str) -> Result<u64> {
    digits(text).ok_or_else(|| refused(text))
}

fn digits(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))
}

/// Parses a number of records.
///
/// # Errors
/// Any other text.
pub fn number_of_records(text: &str) -> Result<u64> {
    text.parse().map_err(|e: ParseIntError| match e.kind() {
        IntErrorKind::PosOverflow => Error::usage(format!("the number {text} is out of range")),
        _ => Error::usage(mismatch("a number of records", format_args!("`{text}`"))),
    })
}

/// The error for text that is not a number, with a hint for `+5`, which Unix `tail` accepts.
fn refused(text: &str) -> Error {
    let error = Error::usage(mismatch("a number of records", format_args!("`{text}`")));
    match text.strip_prefix('+').and_then(digits) {
        Some(0 | 1) => error,
        Some(first) => error.help(format!("to start at record {first}, use skip {}", first.saturating_sub(1))),
        None => match text.strip_prefix('-').and_then(digits) {
            Some(1) => error.help("for all but the last record: tatter head -n $(($(tatter count FILE) - 1)) FILE"),
            Some(last) => {
                error.help(format!("for all but the last {last} records: tatter head -n $(($(tatter count FILE) - {last})) FILE"))
            }
            None => error,
        },
    }
}

impl RecordCount {
    /// The number of records.
    pub fn records(&self) -> u64 {
        self.number.or(self.count.0).unwrap_or(DEFAULT)
    }

    /// The number of records.
    ///
    /// # Errors
    /// The number is given twice.
    pub fn check(&self) -> Result<u64> {
        match (self.count, self.number) {
            (Argument(Some(n)), Some(number)) => Err(Error::usage(format!("the number of records is given twice: {n} and -n {number}"))),
            _ => Ok(self.records()),
        }
    }
}
