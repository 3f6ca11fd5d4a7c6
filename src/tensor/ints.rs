//! Columns of integers of any width.

use super::{RowPartition, Tensor};
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray, downcast_integer, downcast_integer_array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::fmt::Display;
use std::sync::Arc;

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

/// `[n]` with any integer dtype, as int64. Zero-copy if they are int64, otherwise O(n).
///
/// # Errors
/// Not a column of integers, a null, or a number that exceeds int64.
pub fn numbers(tensor: &Tensor) -> Result<ScalarBuffer<i64>> {
    if let Some(row) = tensor.first_null_row() {
        return Err(Error::data("contains a null").at_row(row));
    }
    int64(tensor.as_leaf()?)
}

/// The values of an array of any integer type, int64 and uint64 included; those of nulls are arbitrary. O(values).
///
/// # Errors
/// Not integers, which is a bug.
pub fn int128(array: &ArrayRef) -> Result<Vec<i128>> {
    downcast_integer_array! {
        array => Ok(array.values().iter().map(|number| i128::from(*number)).collect()),
        other => Err(not_integers(other)),
    }
}

/// The values of an array of any integer type, those beyond int64 as the largest int64; those of nulls are arbitrary.
/// Zero-copy if they are int64, otherwise O(values).
///
/// # Errors
/// Not integers, which is a bug.
pub fn saturated(array: &ArrayRef) -> Result<ScalarBuffer<i64>> {
    if let Some(array) = array.as_primitive_opt::<UInt64Type>() {
        return Ok(array.values().iter().map(|number| i64::try_from(*number).unwrap_or(i64::MAX)).collect());
    }
    if array.data_type() == &DataType::Null { Ok(vec![0; array.len()].into()) } else { int64(array) }
}

/// The numbers as an array of an integer type: `[n]`. O(n).
///
/// # Errors
/// Not a type of integers, which is a bug, or a number does not fit; the error names the first.
pub fn of_type(numbers: &[i64], nulls: Option<NullBuffer>, to: &DataType) -> Result<ArrayRef> {
    macro_rules! array_of {
        ($to:ty) => {{
            let fitted = numbers.iter().enumerate().map(|(row, number)| (*number).try_into().map_err(|_| unfit(number, to, row)));
            Ok(Arc::new(PrimitiveArray::<$to>::new(fitted.collect::<Result<_>>()?, nulls)))
        }};
    }
    downcast_integer! {
        to => (array_of),
        other => Err(not_integers(other)),
    }
}

fn unfit(number: impl Display, to: &DataType, row: usize) -> Error {
    Error::data(format!("{number} does not fit in {}", to.to_string().to_lowercase())).at_row(row)
}

fn not_integers(ty: &DataType) -> Error {
    Error::internal(format!("{ty} is not a type of integers"))
}

/// The values of an array of any integer type without nulls. Zero-copy if they are int64.
///
/// # Errors
/// Not integers, or a number that exceeds int64.
pub fn int64(array: &ArrayRef) -> Result<ScalarBuffer<i64>> {
    if let Some(array) = array.as_primitive_opt::<Int64Type>() {
        return Ok(array.values().clone());
    }
    fn fitted<N: Copy + Display + TryInto<i64>>(numbers: &[N]) -> Result<ScalarBuffer<i64>> {
        let fitted = |(row, number): (usize, &N)| (*number).try_into().map_err(|_| unfit(number, &DataType::Int64, row));
        numbers.iter().enumerate().map(fitted).collect()
    }
    downcast_integer_array! {
        array => fitted(array.values()),
        other => Err(not_integers(other)),
    }
}
