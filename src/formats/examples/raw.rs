//! Raw records: a single field of bytes or text.

use super::values::{Append, Bytes};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::records::block::Block;
use crate::formats::records::framing::WrittenPayloads;
use crate::path::quoted;
use crate::printable::shell_word;
use crate::schema::{DType, Element, Field, Schema, Type};
use crate::tensor::Tensor;
use arrow_array::Array;
use arrow_array::cast::AsArray;

/// The field as which they are read.
pub fn schema() -> Schema {
    Schema::new(vec![Field::new("bytes", Type::tensor(DType::Bytes, Vec::new()))])
}

/// The payloads of these records in a block.
///
/// # Errors
/// Only internal errors.
pub fn column(block: &Block, rows: &[usize]) -> Result<Tensor> {
    let mut values = Bytes::new(&DType::Bytes, false);
    for payload in rows.iter().filter_map(|row| block.payloads.get(*row)) {
        values.store().push(block.bytes.get(payload.clone()).unwrap_or_default());
    }
    values.finish(None)
}

/// Checks that records are a single string or bytes field.
///
/// # Errors
/// The records are something else.
pub fn check(schema: &Schema) -> Result<()> {
    let is_bytes =
        |field: &Field| field.ty.dims.is_empty() && matches!(field.ty.element, Element::Value(DType::Bytes | DType::String | DType::Json));
    match schema.fields.as_slice() {
        [field] if is_bytes(field) => Ok(()),
        [field] => {
            Err(Error::usage(format!("--raw-records writes a field of bytes or text, but this is {}", field.ty))
                .in_field(quoted(&field.name)))
        }
        fields => {
            let name = fields.iter().find(|field| is_bytes(field)).map_or("NAME".to_owned(), |field| shell_word(&quoted(&field.name)));
            Err(Error::usage(format!("--raw-records writes one field of bytes or text, but the records have {} fields", fields.len()))
                .help(format!("keep only that field: select {name}")))
        }
    }
}

/// The values of the only column, one per record.
///
/// # Errors
/// A null.
pub fn serialize(chunk: &Chunk, records: &mut WrittenPayloads) -> Result<()> {
    let Some(Tensor::Leaf(array)) = chunk.columns.first() else { return Err(Error::internal("raw records of several fields")) };
    let bytes = arrow_cast::cast(array, &arrow_schema::DataType::LargeBinary).map_err(|e| Error::internal(format!("{e}")))?;
    let bytes = bytes.as_binary::<i64>();
    for row in 0..chunk.nrows {
        if bytes.is_null(row) {
            return Err(Error::data("a null cannot be written as a record")
                .at_row(row)
                .help("leave it out with filter, or fill it with fill-null"));
        }
        records.push(|out| out.extend_from_slice(bytes.value(row)));
    }
    Ok(())
}
