//! The first record that a step rejects.
//!
//! Verbs and encoders work on a chunk field by field, but which record is named must not depend on chunk boundaries.

use crate::chunk::Chunk;
use crate::error::{Error, Kind, Result};

/// The number of records before the first that `step` rejects, and the error; `error` is that of the whole chunk. Found by
/// bisection.
pub fn first_bad<T>(chunk: &Chunk, mut error: Error, step: impl Fn(Chunk) -> Result<T>) -> (usize, Error) {
    let (mut start, mut end) = (0, chunk.nrows);
    while error.kind() == Kind::Data && end - start > 1 {
        let middle = start + (end - start) / 2;
        if let Err(earlier) = step(chunk.slice(start, middle - start)) {
            (end, error) = (middle, earlier);
        } else if let Err(later) = step(chunk.slice(middle, end - middle)) {
            (start, error) = (middle, later);
        } else {
            break;
        }
    }
    (start, chunk.slice(start, end - start).origin.resolve(error, end - start))
}
