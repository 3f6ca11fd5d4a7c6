//! Columns of integers of any width.

use super::{RowPartition, Tensor};
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_buffer::ScalarBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;

/// `[n, (k)]` with any integer dtype: the partition into rows, and the numbers. Zero-copy if they are int64.
///
/// # Errors
/// Not a vector of integers, a null, or a number that exceeds int64.
pub fn vectors(tensor: &Tensor) -> Result<(RowPartition, ScalarBuffer<i64>)> {
    let list = tensor.as_list()?;
    if let Some(row) = tensor.first_null_row() {
        return Err(Error::data("contains a null").at_row(row));
    }
    Ok((list.partition().clone(), numbers(list.values())?))
}

/// `[n]` with any integer dtype.
///
/// # Errors
/// Not a column of integers, a null, or a number that exceeds int64.
pub fn numbers(tensor: &Tensor) -> Result<ScalarBuffer<i64>> {
    if let Some(row) = tensor.first_null_row() {
        return Err(Error::data("contains a null").at_row(row));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let array =
        cast_with_options(tensor.as_leaf()?, &DataType::Int64, &options).map_err(|_| Error::data("contains a number beyond int64"))?;
    Ok(array.as_primitive::<Int64Type>().values().clone())
}
