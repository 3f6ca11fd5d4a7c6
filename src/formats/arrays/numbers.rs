//! Numbers and times as files hold them: little-endian, one after the other.

use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, downcast_primitive_array};
use arrow_buffer::Buffer;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};

/// The integer of NaT, "not a time".
pub const NAT: i64 = i64::MIN;

/// The values of an array `[n]`; a bool is one byte, and a null has any value. Zero-copy, except for bools.
///
/// # Errors
/// The values are no numbers or bools, which is a bug.
pub fn bytes_of(array: &ArrayRef) -> Result<Buffer> {
    if let Some(bools) = array.as_boolean_opt() {
        return Ok(Buffer::from_vec(bools.values().iter().map(u8::from).collect::<Vec<u8>>()));
    }
    fn of<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> Buffer {
        little_endian(array.values().inner().clone(), size_of::<T::Native>())
    }
    let array = array.as_ref();
    downcast_primitive_array!(
        array => Ok(of(array)),
        other => Err(Error::internal(format!("values of type {other} in an array")))
    )
}

/// Times or durations as int64 counts of their unit; a null is NaT.
///
/// # Errors
/// A value that is not null is the integer of NaT; the error names the item.
pub fn times_of(array: &ArrayRef) -> Result<Buffer> {
    let failed = |e: ArrowError| Error::internal(e.to_string());
    // Arrow casts days to 32 bits only.
    let days = matches!(array.data_type(), DataType::Date32).then(|| cast(array, &DataType::Int32)).transpose().map_err(failed)?;
    let counts = cast(days.as_ref().unwrap_or(array), &DataType::Int64).map_err(failed)?;
    let counts = counts.as_primitive::<Int64Type>();
    let values = counts.iter().enumerate().map(|(item, count)| match count {
        Some(NAT) => Err(Error::data("this time is the smallest of its unit, which NumPy reads as NaT (null)").at_row(item)),
        count => Ok(count.unwrap_or(NAT)),
    });
    Ok(little_endian(Buffer::from_vec(values.collect::<Result<Vec<i64>>>()?), size_of::<i64>()))
}

/// Numbers of `width` bytes each, in this machine's order.
pub fn little_endian(numbers: Buffer, width: usize) -> Buffer {
    if cfg!(target_endian = "little") || width == 1 {
        return numbers;
    }
    let mut swapped = numbers.to_vec();
    swapped.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    Buffer::from_vec(swapped)
}
