//! The identity.

use crate::chunk::Chunk;
use crate::error::Result;
use crate::verbs::verb::Map;

/// Passes chunks on unchanged.
pub struct Unchanged;

impl Map for Unchanged {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        Ok(chunk)
    }
}
