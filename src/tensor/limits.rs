//! Limits on results that repeat values, or whose sizes are given by numbers in a record.

use crate::error::{Error, Reason, Result};

/// Maximum number of values.
pub const MAX_VALUES: usize = 1 << 28;
/// The message for more values.
pub const TOO_MANY_VALUES: &str = "the result would have more than 2^28 values";
/// Maximum number of bytes.
const MAX_NBYTES: usize = 4 << 30;

/// Limits how many values functions such as `fill`, `tile` and `range` create from the numbers of one record.
///
/// # Errors
/// More than 2^28 values.
pub fn check_count(count: Option<usize>, row: usize) -> Result<usize> {
    count.filter(|n| *n <= MAX_VALUES).ok_or_else(|| too_many_values().at_row(row))
}

/// Limits how many bytes functions take, and create by repeating values, such as `map_fn` and `strings.ngrams`.
///
/// # Errors
/// More than 4 GiB.
pub fn check_nbytes(nbytes: Option<usize>, row: usize) -> Result<usize> {
    nbytes.filter(|n| *n <= MAX_NBYTES).ok_or_else(|| too_many_bytes().at_row(row))
}

/// Limits how many values are copied from `own` values. Without repeats, there can be no more than these, and there is no limit.
///
/// # Errors
/// More than 2^28 values.
pub fn check_repeated(count: usize, own: usize) -> Result<()> {
    if count > MAX_VALUES.max(own) { Err(too_many_values()) } else { Ok(()) }
}

/// Limits how many bytes of strings are copied from `own` ones.
///
/// # Errors
/// More than 4 GiB.
pub fn check_repeated_nbytes(nbytes: usize, own: usize) -> Result<()> {
    if nbytes > MAX_NBYTES.max(own) { Err(too_many_bytes()) } else { Ok(()) }
}

fn too_many_values() -> Error {
    Error::data(TOO_MANY_VALUES).because(Reason::TooLarge)
}

fn too_many_bytes() -> Error {
    Error::data("the result would take more than 4 GiB").because(Reason::TooLarge)
}
