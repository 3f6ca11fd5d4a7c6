//! Scalars without an encoding: their in-memory type, and the offsets of strings and bytes.

use crate::error::{Error, Result};
use crate::tensor::concat::concat_leaves;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType};

/// The in-memory type of scalars.
pub fn leaf_type(ty: &DataType) -> DataType {
    match ty {
        DataType::Utf8 | DataType::Utf8View => DataType::LargeUtf8,
        DataType::Binary | DataType::BinaryView => DataType::LargeBinary,
        DataType::Dictionary(_, values) => leaf_type(values),
        DataType::RunEndEncoded(_, values) => leaf_type(values.data_type()),
        other => other.clone(),
    }
}

/// Casts values to `ty`. Memory has 64-bit offsets; `ty` can have 32-bit ones. O(values), or O(1) if the type is the same.
///
/// # Errors
/// More bytes than 32-bit offsets can address, or unsupported types (a bug).
pub fn stored(array: &ArrayRef, ty: &DataType) -> Result<ArrayRef> {
    if array.data_type() == ty {
        return Ok(array.clone());
    }
    let end = match array.data_type() {
        DataType::LargeUtf8 => array.as_string::<i64>().value_offsets().last().copied(),
        DataType::LargeBinary => array.as_binary::<i64>().value_offsets().last().copied(),
        other => return Err(Error::internal(format!("values of {other} for {ty}"))),
    };
    // For rows at the end of very long buffers, offsets must be rebased to 0.
    let compact = match end {
        Some(end) if i32::try_from(end).is_err() => concat_leaves(&[array])?,
        _ => array.clone(),
    };
    arrow_cast::cast(&compact, ty).map_err(|_| too_many(crate::tensor::shared::leaf_nbytes(array) as u64))
}

/// The error for exceeding 32-bit offsets.
pub fn too_many(n: u64) -> Error {
    Error::data(format!("a group of rows has {n} values; Arrow's lists and strings can have at most {}", i32::MAX))
        .help("write smaller groups with --row-group-rows, or smaller records")
}

/// Converts an Arrow error about values or arrays.
pub fn unexpected(error: ArrowError) -> Error {
    Error::data(error.to_string())
}
