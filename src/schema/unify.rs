//! The one schema that holds the values of two.

use super::Schema;
use crate::error::{Error, Result};

/// The schema that holds the records of both, or the clash.
pub fn unify(a: &Schema, b: &Schema) -> Result<Schema> {
    let _ = b;
    Err(Error::data(a.to_string()))
}

/// What `declared` says laid over what was inferred, at every level.
pub fn overlay(declared: &Schema, inferred: &Schema) -> Result<Schema> {
    let _ = declared;
    Err(Error::data(inferred.to_string()))
}
