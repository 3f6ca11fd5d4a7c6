//! Numbers as files hold them: little-endian, one after the other, without nulls.

use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray, downcast_primitive_array};
use arrow_buffer::Buffer;

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

/// Numbers of `width` bytes each, in this machine's order.
pub fn little_endian(numbers: Buffer, width: usize) -> Buffer {
    if cfg!(target_endian = "little") || width == 1 {
        return numbers;
    }
    let mut swapped = numbers.to_vec();
    swapped.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    Buffer::from_vec(swapped)
}
