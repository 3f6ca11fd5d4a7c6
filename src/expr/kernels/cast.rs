//! Flat values of one dtype to another.
//!
//! Source of the meaning: `tf.cast`: floats to integers truncate towards zero, integers wrap, what
//! is not 0 is true.

use super::number::{Number, numbers};
use crate::error::{Error, Result};
use crate::schema::DType;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, LargeBinaryArray, LargeStringArray, PrimitiveArray};
use arrow_buffer::BooleanBuffer;
use std::sync::Arc;

/// Whether [`cast`] knows the conversion.
pub fn can_cast(from: &DType, to: &DType) -> bool {
    let value = |d: &DType| d.is_number() || *d == DType::Bool;
    let text = |d: &DType| matches!(d, DType::String | DType::Bytes);
    from == to || (value(from) && value(to)) || (text(from) && text(to))
}

/// The values in another dtype.
///
/// # Errors
/// Bytes that are no UTF-8 can't become a string; conversions that [`can_cast`] does not know.
pub fn cast(array: &ArrayRef, to: &DType) -> Result<ArrayRef> {
    if *array.data_type() == to.arrow() {
        return Ok(array.clone());
    }
    let from = dtype_of(array)?;
    let unknown = || Error::data(format!("{from} can't be converted to {to}"));
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
                .map_err(|_| Error::data("these bytes are no UTF-8, and can't become a string"))?;
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
    let values = native::<F>(array)?;
    let out: Vec<T::Native> = if F::FLOAT || T::FLOAT {
        if !T::FLOAT {
            // To integers by 64 bits, then wrapping, as the hardware's conversions do.
            values.iter().map(|v| T::from_bits64(F::truncated(*v))).collect()
        } else {
            values.iter().map(|v| T::from_float(F::widest(*v))).collect()
        }
    } else {
        values.iter().map(|v| T::from_bits64(F::bits64(*v))).collect()
    };
    Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)))
}

/// The steps between two number dtypes.
pub trait Convert: ArrowPrimitiveType {
    const FLOAT: bool;
    fn bits64(v: Self::Native) -> i64;
    fn from_bits64(v: i64) -> Self::Native;
    fn truncated(v: Self::Native) -> i64;
    fn widest(v: Self::Native) -> f64;
    fn from_float(v: f64) -> Self::Native;
}

macro_rules! convert_integer {
    ($arrow:ty, $native:ty) => {
        impl Convert for $arrow {
            const FLOAT: bool = false;
            #[inline]
            fn bits64(v: $native) -> i64 {
                v as i64
            }
            #[inline]
            fn from_bits64(v: i64) -> $native {
                v as $native
            }
            #[inline]
            fn truncated(v: $native) -> i64 {
                v as i64
            }
            #[inline]
            fn widest(v: $native) -> f64 {
                v as f64
            }
            #[inline]
            fn from_float(v: f64) -> $native {
                v as $native
            }
        }
    };
}

macro_rules! convert_float {
    ($arrow:ty, $native:ty, $narrow:expr) => {
        impl Convert for $arrow {
            const FLOAT: bool = true;
            #[inline]
            fn bits64(v: $native) -> i64 {
                f64::from(v) as i64
            }
            #[inline]
            fn from_bits64(v: i64) -> $native {
                $narrow(v as f64)
            }
            #[inline]
            fn truncated(v: $native) -> i64 {
                let v = f64::from(v);
                // Above int64 but within uint64: the same bits.
                if v >= i64::MAX as f64 { v as u64 as i64 } else { v as i64 }
            }
            #[inline]
            fn widest(v: $native) -> f64 {
                f64::from(v)
            }
            #[inline]
            fn from_float(v: f64) -> $native {
                $narrow(v)
            }
        }
    };
}

convert_integer!(arrow_array::types::Int8Type, i8);
convert_integer!(arrow_array::types::Int16Type, i16);
convert_integer!(arrow_array::types::Int32Type, i32);
convert_integer!(arrow_array::types::Int64Type, i64);
convert_integer!(arrow_array::types::UInt8Type, u8);
convert_integer!(arrow_array::types::UInt16Type, u16);
convert_integer!(arrow_array::types::UInt32Type, u32);
convert_integer!(arrow_array::types::UInt64Type, u64);
convert_float!(arrow_array::types::Float16Type, half::f16, half::f16::from_f64);
convert_float!(arrow_array::types::Float32Type, f32, |v: f64| v as f32);
convert_float!(arrow_array::types::Float64Type, f64, std::convert::identity::<f64>);

/// The dtype of flat values.
///
/// # Errors
/// A foreign Arrow type.
pub fn dtype_of(array: &ArrayRef) -> Result<DType> {
    DType::NAMED
        .iter()
        .map(|(_, d)| d)
        .find(|d| d.is_tensor() && d.arrow() == *array.data_type())
        .cloned()
        .ok_or_else(|| Error::internal(format!("values of Arrow type {}", array.data_type())))
}

/// The native values of an array.
///
/// # Errors
/// It is of another type: a fault of ours.
pub fn native<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&[T::Native]> {
    array
        .as_primitive_opt::<T>()
        .map(|a| a.values().as_ref())
        .ok_or_else(|| Error::internal(format!("expected {}, found {}", T::DATA_TYPE, array.data_type())))
}

/// The values of an int64 array.
///
/// # Errors
/// As [`native`].
pub fn i64s(array: &ArrayRef) -> Result<&[i64]> {
    native::<Int64Type>(array)
}

/// The bits of a bool array.
///
/// # Errors
/// As [`native`].
pub fn bools(array: &ArrayRef) -> Result<&BooleanBuffer> {
    array.as_boolean_opt().map(|a| a.values()).ok_or_else(|| Error::internal(format!("expected bools, found {}", array.data_type())))
}
