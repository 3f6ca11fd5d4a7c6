//! Shared by the levels of a tensor: validity, and sizes of values.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

/// Drops a validity without nulls.
pub(super) fn drop_if_full(validity: Option<NullBuffer>) -> Option<NullBuffer> {
    validity.filter(|v| v.null_count() > 0)
}

/// Bytes of a leaf's values, excluding the rest of the buffers that it is a slice of.
pub(super) fn leaf_nbytes(array: &ArrayRef) -> usize {
    let n = array.len();
    let nbytes = n * empty_nbytes(array.data_type());
    match array.data_type() {
        DataType::LargeUtf8 => spanned(array.as_string::<i64>().value_offsets()) + nbytes,
        DataType::LargeBinary => spanned(array.as_binary::<i64>().value_offsets()) + nbytes,
        _ => nbytes,
    }
}

/// Bytes of a null or an empty string of this type.
pub(super) fn empty_nbytes(ty: &DataType) -> usize {
    match ty {
        DataType::Null => 0,
        DataType::LargeUtf8 | DataType::LargeBinary => 8,
        other => other.primitive_width().unwrap_or(16),
    }
}

/// Bytes of the values between the first and the last offset.
pub(super) fn spanned(offsets: &[i64]) -> usize {
    match (offsets.first(), offsets.last()) {
        (Some(a), Some(b)) => (b - a) as usize,
        _ => 0,
    }
}
