//! The numbers that a sparse row may hold, and how they are written in text.

use crate::error::{Error, Result};
use crate::schema::DType;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, UInt64Array};
use std::sync::Arc;

/// A number of a column under construction.
pub trait Value: Copy + Send + Sync + 'static {
    /// Its dtype.
    const DTYPE: DType;
    /// The column of such numbers.
    fn array(values: Vec<Self>) -> ArrayRef;
    /// The sum of two entries with one index; `None` beyond the dtype.
    fn plus(self, other: Self) -> Option<Self>;
}

macro_rules! values {
    ($($native:ty, $dtype:ident, $array:ty, $plus:expr;)*) => {$(
        impl Value for $native {
            const DTYPE: DType = DType::$dtype;
            fn array(values: Vec<Self>) -> ArrayRef {
                Arc::new(<$array>::from(values))
            }
            fn plus(self, other: Self) -> Option<Self> {
                let plus: fn($native, $native) -> Option<$native> = $plus;
                plus(self, other)
            }
        }
    )*};
}

values! {
    bool, Bool, BooleanArray, |a, b| Some(a | b);
    f32, Float32, Float32Array, |a, b| Some(a + b);
    f64, Float64, Float64Array, |a, b| Some(a + b);
    i64, Int64, Int64Array, i64::checked_add;
    u64, UInt64, UInt64Array, u64::checked_add;
}

/// The numbers of a column as text, each in its shortest form; whole floats without `.0`.
pub enum Texts<'a> {
    Bools(&'a BooleanArray),
    Floats32(&'a [f32]),
    Floats64(&'a [f64]),
    Integers(&'a [i64]),
    Unsigned(&'a [u64]),
    /// Narrower numbers, widened.
    Widened(Vec<i64>),
    Halves(Vec<f32>),
}

impl<'a> Texts<'a> {
    /// # Errors
    /// The column does not hold numbers.
    pub fn of(array: &'a ArrayRef) -> Result<Texts<'a>> {
        use arrow_schema::DataType as T;
        macro_rules! widened {
            ($t:ty) => {
                Texts::Widened(array.as_primitive::<$t>().values().iter().map(|v| i64::from(*v)).collect())
            };
        }
        Ok(match array.data_type() {
            T::Boolean => Texts::Bools(array.as_boolean()),
            T::Float16 => Texts::Halves(array.as_primitive::<Float16Type>().values().iter().map(|v| v.to_f32()).collect()),
            T::Float32 => Texts::Floats32(array.as_primitive::<Float32Type>().values()),
            T::Float64 => Texts::Floats64(array.as_primitive::<Float64Type>().values()),
            T::Int64 => Texts::Integers(array.as_primitive::<Int64Type>().values()),
            T::UInt64 => Texts::Unsigned(array.as_primitive::<UInt64Type>().values()),
            T::Int8 => widened!(Int8Type),
            T::Int16 => widened!(Int16Type),
            T::Int32 => widened!(Int32Type),
            T::UInt8 => widened!(UInt8Type),
            T::UInt16 => widened!(UInt16Type),
            T::UInt32 => widened!(UInt32Type),
            other => return Err(Error::internal(format!("{other} is not a number"))),
        })
    }

    /// Appends the number of that place.
    pub fn put(&self, at: usize, out: &mut Vec<u8>) {
        match self {
            Texts::Bools(values) => out.push(if values.value(at) { b'1' } else { b'0' }),
            Texts::Floats32(values) => put_float(zmij::Buffer::new().format(values[at]), out),
            Texts::Halves(values) => put_float(zmij::Buffer::new().format(values[at]), out),
            Texts::Floats64(values) => put_float(zmij::Buffer::new().format(values[at]), out),
            Texts::Integers(values) => put_integer(values[at], out),
            Texts::Unsigned(values) => put_integer(values[at], out),
            Texts::Widened(values) => put_integer(values[at], out),
        }
    }
}

fn put_float(text: &str, out: &mut Vec<u8>) {
    let text = match text {
        "NaN" => "nan",
        other => other.strip_suffix(".0").unwrap_or(other),
    };
    out.extend_from_slice(text.as_bytes());
}

/// Appends a whole number.
pub fn put_integer(number: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Whether such numbers can be written by [`Texts`].
pub fn is_writable(dtype: &DType) -> bool {
    dtype.is_number() || *dtype == DType::Bool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let array: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 0.1, -2.5e-9, f32::NAN, f32::NEG_INFINITY, -0.0]));
        let texts = Texts::of(&array).unwrap();
        let written = (0..6).map(|at| {
            let mut out = Vec::new();
            texts.put(at, &mut out);
            String::from_utf8(out).unwrap()
        });
        assert_eq!(written.collect::<Vec<_>>(), ["1", "0.1", "-2.5e-9", "nan", "-inf", "-0"]);
    }
}
