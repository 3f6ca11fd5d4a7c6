//! The identity.

use crate::chunk::Chunk;
use crate::error::Result;
use crate::schema::Schema;
use crate::verbs::verb::{Bound, Map, Operator};
use std::sync::Arc;

/// A verb that leaves records as they are.
pub fn bound(schema: &Arc<Schema>) -> Bound {
    Bound { schema: schema.clone(), operator: Operator::Map(Arc::new(Unchanged)) }
}

/// Passes chunks on unchanged.
pub struct Unchanged;

impl Map for Unchanged {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        Ok(chunk)
    }
}
