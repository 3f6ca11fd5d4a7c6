//! Sort keys as bytes, so that rows of different arrays can be compared with `memcmp`.

use super::Tensor;
use super::time::ticks;
use crate::error::{Error, Result};
use crate::schema::DType;
use crate::schema::time::TimeType;
use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, Int64Array, LargeBinaryArray};
use arrow_buffer::i256;
use arrow_schema::DataType;
use std::sync::Arc;

/// The first byte of a value: nulls and NaN sort last in either direction.
const VALUE: u8 = 0;
const NAN: u8 = 1;
const NULL: u8 = 2;

/// The key bytes of each row, which compare in the order of [`super::order::sorted_rows`]. `true` next to a key means
/// descending order.
///
/// Integers and floats take 8 big-endian bytes, with the sign adjusted so that negative numbers come first. Strings end
/// with two zero bytes, and a zero byte in them is followed by 255. In descending order, these bytes are inverted.
///
/// # Errors
/// A key that is not a leaf of a type that [`has_order`].
pub fn sortable(keys: &[(Tensor, bool)]) -> Result<LargeBinaryArray> {
    let nrows = keys.first().map_or(0, |(key, _)| key.nrows());
    let arrays = keys.iter().map(|(key, descending)| Ok((ordered(key.as_leaf()?)?, *descending))).collect::<Result<Vec<_>>>()?;
    let writers = arrays.iter().map(|(array, descending)| Ok((writer(array)?, *descending))).collect::<Result<Vec<_>>>()?;
    let mut rows = LargeBinaryBuilder::with_capacity(nrows, nrows * 9 * keys.len());
    let mut bytes = Vec::new();
    for row in 0..nrows {
        bytes.clear();
        for (write, descending) in &writers {
            let start = bytes.len();
            write(row, &mut bytes);
            if *descending {
                bytes[start + 1..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        rows.append_value(&bytes);
    }
    Ok(rows.finish())
}

/// A number that compares as the integer does.
#[inline]
pub fn signed(value: i64) -> u64 {
    (value ^ i64::MIN).cast_unsigned()
}

/// A number that compares as the float does, which is not NaN; 0.0 and -0.0 are equal.
#[inline]
pub fn float(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Calls `see` with each row and a number that compares as its value does, or `None` for NaN; rows with nulls have any number.
/// Comparing these numbers in place is several times faster than comparing values through their rows. Returns false, without a call, if
/// the values are not those of numbers or bools. O(rows).
pub fn numbered(array: &ArrayRef, mut see: impl FnMut(usize, Option<u64>)) -> bool {
    macro_rules! numbers {
        ($t:ty, $to:expr) => {{
            let to = $to;
            array.as_primitive::<$t>().values().iter().enumerate().for_each(|(row, value)| see(row, to(*value)));
        }};
    }
    let float = |value: f64| (!value.is_nan()).then(|| float(value));
    match array.data_type() {
        DataType::Boolean => array.as_boolean().values().iter().enumerate().for_each(|(row, bit)| see(row, Some(u64::from(bit)))),
        DataType::Int8 => numbers!(Int8Type, |value: i8| Some(signed(value.into()))),
        DataType::Int16 => numbers!(Int16Type, |value: i16| Some(signed(value.into()))),
        DataType::Int32 => numbers!(Int32Type, |value: i32| Some(signed(value.into()))),
        DataType::Int64 => numbers!(Int64Type, |value: i64| Some(signed(value))),
        DataType::UInt8 => numbers!(UInt8Type, |value: u8| Some(value.into())),
        DataType::UInt16 => numbers!(UInt16Type, |value: u16| Some(value.into())),
        DataType::UInt32 => numbers!(UInt32Type, |value: u32| Some(value.into())),
        DataType::UInt64 => numbers!(UInt64Type, Some),
        DataType::Float16 => numbers!(Float16Type, |value: half::f16| float(value.to_f64())),
        DataType::Float32 => numbers!(Float32Type, |value: f32| float(value.into())),
        DataType::Float64 => numbers!(Float64Type, float),
        _ => return false,
    }
    true
}

/// Whether values of the type have an order.
pub fn has_order(dtype: &DType) -> bool {
    let is_ordered = |ty: &DataType| ty.is_decimal() || matches!(ty, DataType::FixedSizeBinary(_));
    dtype.is_tensor() || dtype.time().is_some() || *dtype == DType::Null || matches!(dtype, DType::Arrow(ty) if is_ordered(ty.as_ref()))
}

/// The values of an array `[n]` as int64 or bytes that compare in the same way, if their type is not that of a tensor: times are compared by
/// their counts, decimals of one scale by their digits. Others are unchanged. Nulls stay. O(n).
///
/// # Errors
/// The counts of a time cannot be read, which is a bug.
pub fn ordered(array: &ArrayRef) -> Result<ArrayRef> {
    macro_rules! digits {
        ($t:ty) => {{
            let values = array.as_primitive::<$t>();
            Arc::new(values.iter().map(|value| value.map(i64::from)).collect::<Int64Array>())
        }};
    }
    // The sign bit is inverted, so that negative numbers come first.
    macro_rules! long_digits {
        ($t:ty, $min:expr) => {{
            let values = array.as_primitive::<$t>();
            Arc::new(values.iter().map(|value| value.map(|value| (value ^ $min).to_be_bytes())).collect::<LargeBinaryArray>())
        }};
    }
    Ok(match array.data_type() {
        DataType::Decimal32(..) => digits!(Decimal32Type),
        DataType::Decimal64(..) => digits!(Decimal64Type),
        DataType::Decimal128(..) => long_digits!(Decimal128Type, i128::MIN),
        DataType::Decimal256(..) => long_digits!(Decimal256Type, i256::MIN),
        DataType::FixedSizeBinary(_) => Arc::new(array.as_fixed_size_binary().iter().collect::<LargeBinaryArray>()),
        ty if TimeType::of(ty).is_some() => Arc::new(ticks(array)?),
        _ => array.clone(),
    })
}

/// Appends the class and the bytes of a row.
type Writer<'a> = Box<dyn Fn(usize, &mut Vec<u8>) + 'a>;

fn writer(array: &ArrayRef) -> Result<Writer<'_>> {
    macro_rules! signed {
        ($t:ty) => {{
            let values = array.as_primitive::<$t>().values();
            value_of(array, move |row, bytes| bytes.extend(signed(i64::from(values[row])).to_be_bytes()))
        }};
    }
    macro_rules! unsigned {
        ($t:ty) => {{
            let values = array.as_primitive::<$t>().values();
            value_of(array, move |row, bytes| bytes.extend(u64::from(values[row]).to_be_bytes()))
        }};
    }
    macro_rules! floats {
        ($t:ty, $to:expr) => {{
            let values = array.as_primitive::<$t>().values();
            let (to, is_null) = ($to, nulls(array));
            Box::new(move |row: usize, bytes: &mut Vec<u8>| {
                let value: f64 = to(values[row]);
                match (is_null(row), value.is_nan()) {
                    (true, _) => bytes.push(NULL),
                    (_, true) => bytes.push(NAN),
                    _ => {
                        bytes.push(VALUE);
                        bytes.extend(float(value).to_be_bytes());
                    }
                }
            }) as Writer<'_>
        }};
    }
    Ok(match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean().values();
            value_of(array, move |row, bytes| bytes.push(u8::from(values.value(row))))
        }
        DataType::Int8 => signed!(Int8Type),
        DataType::Int16 => signed!(Int16Type),
        DataType::Int32 => signed!(Int32Type),
        DataType::Int64 => signed!(Int64Type),
        DataType::UInt8 => unsigned!(UInt8Type),
        DataType::UInt16 => unsigned!(UInt16Type),
        DataType::UInt32 => unsigned!(UInt32Type),
        DataType::UInt64 => unsigned!(UInt64Type),
        DataType::Float16 => floats!(Float16Type, |x: half::f16| x.to_f64()),
        DataType::Float32 => floats!(Float32Type, f64::from),
        DataType::Float64 => floats!(Float64Type, |x: f64| x),
        DataType::LargeUtf8 => {
            let values = array.as_string::<i64>();
            value_of(array, move |row, bytes| escaped(values.value(row).as_bytes(), bytes))
        }
        DataType::LargeBinary => {
            let values = array.as_binary::<i64>();
            value_of(array, move |row, bytes| escaped(values.value(row), bytes))
        }
        DataType::Null => Box::new(|_, bytes| bytes.push(NULL)),
        other => return Err(Error::data(format!("{other} values cannot be sorted"))),
    })
}

fn value_of<'a>(array: &ArrayRef, write: impl Fn(usize, &mut Vec<u8>) + 'a) -> Writer<'a> {
    let is_null = nulls(array);
    Box::new(move |row, bytes| {
        if is_null(row) {
            bytes.push(NULL);
        } else {
            bytes.push(VALUE);
            write(row, bytes);
        }
    })
}

fn nulls(array: &ArrayRef) -> impl Fn(usize) -> bool + use<> {
    let nulls = array.nulls().cloned();
    move |row| nulls.as_ref().is_some_and(|n| n.is_null(row))
}

fn escaped(value: &[u8], bytes: &mut Vec<u8>) {
    for byte in value {
        bytes.push(*byte);
        if *byte == 0 {
            bytes.push(u8::MAX);
        }
    }
    bytes.extend([0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::order::sorted_rows;
    use arrow_array::{
        BooleanArray, Decimal64Array, Decimal128Array, Decimal256Array, Float32Array, Float64Array, Int8Array, LargeStringArray, NullArray,
        UInt64Array,
    };

    #[test]
    fn bytes_compare_as_values_do() {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![Some(0), Some(i64::MIN), None, Some(i64::MAX), Some(-1), Some(0), Some(7), Some(-300)])),
            Arc::new(UInt64Array::from(vec![Some(0), Some(u64::MAX), None, Some(1 << 63), Some(255), Some(256), Some(7), Some(7)])),
            Arc::new(Int8Array::from(vec![Some(0), Some(-128), None, Some(127), Some(-1), Some(0), Some(7), Some(-3)])),
            Arc::new(Float64Array::from(vec![
                Some(-0.0),
                Some(0.0),
                None,
                Some(f64::NAN),
                Some(f64::NEG_INFINITY),
                Some(-1e-300),
                Some(f64::INFINITY),
                Some(2.5),
            ])),
            Arc::new(Float32Array::from(vec![
                Some(-2.5),
                Some(-f32::NAN),
                None,
                Some(1e-40),
                Some(-1e-40),
                Some(0.0),
                Some(3e38),
                Some(-0.0),
            ])),
            Arc::new(LargeStringArray::from(vec![Some("a"), Some(""), None, Some("a\0"), Some("a\0b"), Some("ab"), Some("é"), Some("a")])),
            Arc::new(
                Decimal128Array::from(vec![Some(0), Some(-1 << 90), None, Some(i128::MAX), Some(-1), Some(1 << 90), Some(7), Some(7)])
                    .with_data_type(DataType::Decimal128(38, 2)),
            ),
            Arc::new(Decimal64Array::from(vec![Some(0), Some(i64::MIN), None, Some(i64::MAX), Some(-1), Some(0), Some(7), Some(-300)])),
            Arc::new(Decimal256Array::from(vec![
                Some(i256::ZERO),
                Some(i256::MIN),
                None,
                Some(i256::MAX),
                Some(i256::MINUS_ONE),
                Some(i256::ONE),
                Some(i256::from_i128(i128::MAX)),
                Some(i256::from_i128(i128::MIN)),
            ])),
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true), Some(false), None, Some(true), Some(false)])),
            Arc::new(NullArray::new(8)),
        ];
        for first in &columns {
            for second in &columns {
                for descending in [[false, false], [true, false], [false, true], [true, true]] {
                    let keys = [(Tensor::Leaf(first.clone()), descending[0]), (Tensor::Leaf(second.clone()), descending[1])];
                    let bytes = sortable(&keys).unwrap();
                    let mut rows: Vec<usize> = (0..8).collect();
                    rows.sort_by(|a, b| bytes.value(*a).cmp(bytes.value(*b)));
                    assert_eq!(rows, sorted_rows(&keys).unwrap(), "{keys:?}");
                }
            }
        }
    }
}
