//! Adapts records to the common schema of several inputs.

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::schema::Schema;
use crate::tensor::Tensor;
use crate::verbs::Map;

/// Adapts records to another schema: types are widened, missing fields become null, and other fields are dropped.
pub struct Adapt {
    /// The schema of the records.
    pub from: Schema,
    /// The new schema, which can hold records of `from`.
    pub to: Schema,
}

impl Map for Adapt {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let column = |field: &crate::schema::Field| {
            let Some(position) = self.from.index_of(&field.name) else { return Tensor::nulls(&field.ty, chunk.nrows) };
            let column = chunk.columns.get(position).ok_or_else(|| Error::internal("a chunk without a column of its schema"))?;
            let name = || crate::path::quoted(&field.name).to_string();
            column.widen(&self.from.fields[position].ty, &field.ty).map_err(|e| e.in_field(name()))
        };
        let columns = self.to.fields.iter().map(column).collect::<Result<_>>()?;
        chunk.with_columns(columns)
    }
}
