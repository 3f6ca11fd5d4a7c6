//! Conversion of flat values between dtypes.
//!
//! Semantics: `tf.cast` on x86-64. Floats are truncated towards zero, integers wrap around, and nonzero
//! values are true. A float outside the range of an integer dtype becomes the minimum of int32 or int64 (narrower
//! dtypes keep its lowest bits), regardless of its position; TensorFlow's vectorized and scalar loops differ here.

use super::datum::map;
use super::number::{Number, floats, numbers};
use super::time::time_of;
use crate::error::{Error, Result};
use crate::schema::DType;
use crate::schema::time::TimeType;
use crate::tensor::text::to_text;
use crate::tensor::time::{converts, ticks};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, LargeBinaryArray, LargeStringArray, PrimitiveArray};
use arrow_buffer::BooleanBuffer;
use std::sync::Arc;

/// Whether [`cast`] supports the conversion.
pub fn can_cast(from: &DType, to: &DType) -> bool {
    let value = |d: &DType| d.is_number() || *d == DType::Bool;
    let text = |d: &DType| matches!(d, DType::String | DType::Bytes);
    from == to
        || (value(from) && value(to))
        || (text(from) && text(to))
        || match (from.time(), to.time()) {
            (Some(a), Some(b)) => converts(&a, &b),
            (Some(_), None) => matches!(to, DType::Int64 | DType::String),
            (None, Some(_)) => matches!(from, DType::Int64 | DType::String),
            (None, None) => false,
        }
}

/// Casts the values to another dtype, as `tf.cast` does. Bytes and strings share their buffers, times become counts of
/// their unit (int64), text (string) or times of another unit, rounded down, and are made from these. O(values), or O(1) if the dtype is the same.
///
/// # Errors
/// Bytes that are not valid UTF-8 and cannot become strings, text that is not a time, or conversions that [`can_cast`] does not support.
pub fn cast(array: &ArrayRef, to: &DType) -> Result<ArrayRef> {
    if *array.data_type() == to.arrow() {
        return Ok(array.clone());
    }
    match to {
        _ if to.time().is_some() => return time_of(array, &to.arrow()),
        DType::Int64 if TimeType::of(array.data_type()).is_some() => return Ok(Arc::new(ticks(array)?)),
        DType::String if TimeType::of(array.data_type()).is_some() => return Ok(Arc::new(to_text(array)?)),
        _ => {}
    }
    let from = dtype_of(array)?;
    let unknown = || Error::data(format!("{from} cannot be converted to {to}"));
    match (&from, to) {
        (DType::String, DType::Bytes) => {
            let strings = array.as_string::<i64>().clone();
            let (offsets, values, nulls) = strings.into_parts();
            Ok(Arc::new(LargeBinaryArray::try_new(offsets, values, nulls).map_err(|e| Error::data(e.to_string()))?))
        }
        (DType::Bytes, DType::String) => {
            let bytes = array.as_binary::<i64>().clone();
            let (offsets, values, nulls) = bytes.into_parts();
            let strings = LargeStringArray::try_new(offsets, values, nulls)
                .map_err(|_| Error::data("the bytes are not valid UTF-8, so they cannot be converted to a string"))?;
            Ok(Arc::new(strings))
        }
        (DType::Bool, to) => {
            let bits = array.as_boolean();
            numbers!(to, T => Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(
                bits.values().iter().map(|b| if b { <T as Number>::ONE } else { <T as Number>::ZERO }),
            ))), Err(unknown()))
        }
        (from, DType::Bool) => numbers!(from, T => {
            let values = native::<T>(array)?;
            Ok(Arc::new(BooleanArray::new(super::datum::bits(values, |v| *v != <T as Number>::ZERO), None)))
        }, Err(unknown())),
        (from, to) => numbers!(from, F => numbers!(to, T => convert::<F, T>(array), Err(unknown())), Err(unknown())),
    }
}

fn convert<F: Number + Convert, T: Number + Convert>(array: &ArrayRef) -> Result<ArrayRef> {
    let out = map(native::<F>(array)?, T::of::<F>);
    Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)))
}

/// Casts to another numeric dtype, clamping out-of-range values, as `tf.saturate_cast` does. NaN is converted as by
/// [`cast`]. O(values).
///
/// # Errors
/// Non-numeric dtypes, which is a bug.
pub fn saturated(array: &ArrayRef, to: &DType) -> Result<ArrayRef> {
    let from = dtype_of(array)?;
    // Every integer dtype except uint64 fits in int64.
    if from.is_integer() && !matches!(from, DType::Int64 | DType::UInt64) {
        return saturated(&cast(array, &DType::Int64)?, to);
    }
    let (low, high) = range_of(to)?;
    let within: ArrayRef = match (&from, to) {
        (DType::Int64 | DType::UInt64, DType::Float32 | DType::Float64) => array.clone(),
        (DType::Int64, _) => {
            let (low, high) = (low.max(i64::MIN.into()) as i64, high.min(i64::MAX.into()) as i64);
            Arc::new(PrimitiveArray::<Int64Type>::new(map(native::<Int64Type>(array)?, |v| v.clamp(low, high)).into(), None))
        }
        (DType::UInt64, _) => {
            let high = high.min(u64::MAX.into()) as u64;
            Arc::new(PrimitiveArray::<UInt64Type>::new(map(native::<UInt64Type>(array)?, |v| v.min(high)).into(), None))
        }
        _ => floats!(&from, F => {
            let (low, high) = float_range::<F>(to, low, high);
            let clamped = |v| if v < low { low } else if v > high { high } else { v };
            Arc::new(PrimitiveArray::<F>::new(map(native::<F>(array)?, clamped).into(), None))
        }, return Err(Error::internal(format!("a saturating cast of {from} to {to}")))),
    };
    cast(&within, to)
}

/// The smallest and largest finite value of a numeric dtype; for float32 and float64, those of i128.
fn range_of(dtype: &DType) -> Result<(i128, i128)> {
    let unsigned = |n: u64| (0, i128::from(n));
    let signed = |n: i64| (-i128::from(n) - 1, i128::from(n));
    Ok(match dtype {
        DType::Int8 => signed(i8::MAX.into()),
        DType::Int16 => signed(i16::MAX.into()),
        DType::Int32 => signed(i32::MAX.into()),
        DType::Int64 => signed(i64::MAX),
        DType::UInt8 => unsigned(u8::MAX.into()),
        DType::UInt16 => unsigned(u16::MAX.into()),
        DType::UInt32 => unsigned(u32::MAX.into()),
        DType::UInt64 => unsigned(u64::MAX),
        DType::Float16 => (-65504, 65504),
        DType::Float32 | DType::Float64 => (i128::MIN, i128::MAX),
        other => return Err(Error::internal(format!("the range of {other}"))),
    })
}

/// The smallest and largest value of a float dtype within the range of another numeric dtype.
fn float_range<F: Number>(to: &DType, low: i128, high: i128) -> (F::Native, F::Native) {
    let (low, high) = match to {
        DType::Float32 => (f64::from(f32::MIN), f64::from(f32::MAX)),
        DType::Float64 => (f64::MIN, f64::MAX),
        _ => {
            let top = high as f64;
            // The largest integer is rounded up to a power of two, which is out of range.
            let digits = match size_of::<F::Native>() {
                2 => 11,
                4 => 24,
                _ => 53,
            };
            let beyond = F::to_f64(F::of_f64(top)) as i128 > high;
            (low as f64, if beyond { top.max(high as f64 + 1.0) * (1.0 - 0.5f64.powi(digits)) } else { top })
        }
    };
    (F::of_f64(low.max(F::to_f64(F::LOWEST))), F::of_f64(high.min(F::to_f64(F::HIGHEST))))
}

/// Conversions between numeric dtypes, as compiled from C++ for x86-64.
pub trait Convert: ArrowPrimitiveType {
    const FLOAT: bool;
    fn of<F: Convert>(v: F::Native) -> Self::Native;
    fn bits64(v: Self::Native) -> i64;
    fn from_bits64(v: i64) -> Self::Native;
    fn narrow(v: Self::Native) -> f32;
    fn wide(v: Self::Native) -> f64;
}

/// Truncates to 32 bits; the minimum if out of range or NaN.
#[inline]
fn truncated32(v: f64) -> i32 {
    if v > -2_147_483_649.0 && v < 2_147_483_648.0 { v as i32 } else { i32::MIN }
}

/// Truncates to 64 bits; the minimum if out of range or NaN.
#[inline]
fn truncated64(v: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&v) { v as i64 } else { i64::MIN }
}

/// Truncates to unsigned 64 bits: negative values wrap around; 2^63 if out of range or NaN.
#[inline]
fn truncated_unsigned64(v: f64) -> u64 {
    if (9_223_372_036_854_775_808.0..18_446_744_073_709_551_616.0).contains(&v) { v as u64 } else { truncated64(v) as u64 }
}

macro_rules! convert_integer {
    ($arrow:ty, $native:ty, $truncated:path) => {
        impl Convert for $arrow {
            const FLOAT: bool = false;
            #[inline]
            fn of<F: Convert>(v: F::Native) -> $native {
                if F::FLOAT { $truncated(F::wide(v)) as $native } else { F::bits64(v) as $native }
            }
            #[inline]
            fn bits64(v: $native) -> i64 {
                v as i64
            }
            #[inline]
            fn from_bits64(v: i64) -> $native {
                v as $native
            }
            #[inline]
            fn narrow(v: $native) -> f32 {
                v as f32
            }
            #[inline]
            fn wide(v: $native) -> f64 {
                v as f64
            }
        }
    };
}

macro_rules! convert_float {
    ($arrow:ty, $native:ty, $of:expr, $narrow:expr) => {
        impl Convert for $arrow {
            const FLOAT: bool = true;
            #[inline]
            fn of<F: Convert>(v: F::Native) -> $native {
                $of(F::narrow(v), F::wide(v))
            }
            #[inline]
            fn bits64(v: $native) -> i64 {
                truncated64(f64::from(v))
            }
            #[inline]
            fn from_bits64(v: i64) -> $native {
                $of(v as f32, v as f64)
            }
            #[inline]
            fn narrow(v: $native) -> f32 {
                $narrow(v)
            }
            #[inline]
            fn wide(v: $native) -> f64 {
                f64::from(v)
            }
        }
    };
}

convert_integer!(arrow_array::types::Int8Type, i8, truncated32);
convert_integer!(arrow_array::types::Int16Type, i16, truncated32);
convert_integer!(arrow_array::types::Int32Type, i32, truncated32);
convert_integer!(arrow_array::types::Int64Type, i64, truncated64);
convert_integer!(arrow_array::types::UInt8Type, u8, truncated32);
convert_integer!(arrow_array::types::UInt16Type, u16, truncated32);
convert_integer!(arrow_array::types::UInt32Type, u32, truncated64);
convert_integer!(arrow_array::types::UInt64Type, u64, truncated_unsigned64);
// Converting float64 to float16 rounds to float32 first.
convert_float!(arrow_array::types::Float16Type, half::f16, |narrow, _| half::f16::from_f32(narrow), half::f16::to_f32);
convert_float!(arrow_array::types::Float32Type, f32, |narrow, _| narrow, std::convert::identity::<f32>);
convert_float!(arrow_array::types::Float64Type, f64, |_, wide| wide, |v| v as f32);

/// The dtype of flat values. O(1).
///
/// # Errors
/// The Arrow type is foreign.
pub fn dtype_of(array: &ArrayRef) -> Result<DType> {
    DType::NAMED
        .iter()
        .map(|(_, d)| d)
        .find(|d| d.is_tensor() && d.arrow() == *array.data_type())
        .cloned()
        .ok_or_else(|| Error::internal(format!("values of Arrow type {}", array.data_type())))
}

/// The native values of an array, those of nulls included. Zero-copy.
///
/// # Errors
/// The array has another type, which is a bug.
pub fn native<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&[T::Native]> {
    array
        .as_primitive_opt::<T>()
        .map(|a| a.values().as_ref())
        .ok_or_else(|| Error::internal(format!("expected {}, found {}", T::DATA_TYPE, array.data_type())))
}

/// The values of an int64 array. Zero-copy.
///
/// # Errors
/// See [`native`].
pub fn i64s(array: &ArrayRef) -> Result<&[i64]> {
    native::<Int64Type>(array)
}

/// The bits of a bool array. Zero-copy.
///
/// # Errors
/// See [`native`].
pub fn bools(array: &ArrayRef) -> Result<&BooleanBuffer> {
    array.as_boolean_opt().map(|a| a.values()).ok_or_else(|| Error::internal(format!("expected bools, found {}", array.data_type())))
}
