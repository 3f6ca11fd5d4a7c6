//! The numeric types of sparse rows, and their text form.

use crate::decimal::put_integer;
use crate::error::{Error, Result};
use crate::schema::DType;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use arrow_schema::DataType;
use half::f16;
use std::sync::Arc;

/// A number of a column under construction.
pub trait MatrixValue: Copy + Send + Sync + 'static {
    /// Its dtype.
    const DTYPE: DType;
    /// The column of such numbers.
    fn array(values: Vec<Self>) -> ArrayRef;
    /// The numbers of a column of them.
    fn values(array: &ArrayRef) -> Vec<Self>;
    /// The sum of two entries with the same index; `None` if it exceeds the range of the dtype.
    fn plus(self, other: Self) -> Option<Self>;
}

impl MatrixValue for bool {
    const DTYPE: DType = DType::Bool;
    fn array(values: Vec<bool>) -> ArrayRef {
        Arc::new(BooleanArray::from(values))
    }
    fn values(array: &ArrayRef) -> Vec<bool> {
        array.as_boolean().values().iter().collect()
    }
    fn plus(self, other: bool) -> Option<bool> {
        Some(self | other)
    }
}

macro_rules! values {
    ($($native:ty, $dtype:ident, $arrow:ty, $plus:expr;)*) => {
        $(impl MatrixValue for $native {
            const DTYPE: DType = DType::$dtype;
            fn array(values: Vec<Self>) -> ArrayRef {
                Arc::new(PrimitiveArray::<$arrow>::new(values.into(), None))
            }
            fn values(array: &ArrayRef) -> Vec<Self> {
                array.as_primitive::<$arrow>().values().to_vec()
            }
            fn plus(self, other: Self) -> Option<Self> {
                let plus: fn($native, $native) -> Option<$native> = $plus;
                plus(self, other)
            }
        })*

        /// Calls a visitor with the type of the numbers of a column.
        ///
        /// # Errors
        /// Errors of the visitor, or a column that does not hold numbers.
        pub fn visit<T>(values: &ArrayRef, visitor: impl Visitor<T>) -> Result<T> {
            match values.data_type() {
                DataType::Boolean => visitor.visit(bool::values(values)),
                $(&<$arrow>::DATA_TYPE => visitor.visit(<$native>::values(values)),)*
                other => Err(Error::internal(format!("{other} is not a number"))),
            }
        }
    };
}

values! {
    i8, Int8, Int8Type, i8::checked_add;
    i16, Int16, Int16Type, i16::checked_add;
    i32, Int32, Int32Type, i32::checked_add;
    i64, Int64, Int64Type, i64::checked_add;
    u8, UInt8, UInt8Type, u8::checked_add;
    u16, UInt16, UInt16Type, u16::checked_add;
    u32, UInt32, UInt32Type, u32::checked_add;
    u64, UInt64, UInt64Type, u64::checked_add;
    f16, Float16, Float16Type, |a, b| Some(a + b);
    f32, Float32, Float32Type, |a, b| Some(a + b);
    f64, Float64, Float64Type, |a, b| Some(a + b);
}

/// An operation on the numbers of a column, generic in their type.
pub trait Visitor<T> {
    /// # Errors
    /// Errors of the operation.
    fn visit<V: MatrixValue>(self, values: Vec<V>) -> Result<T>;
}

/// The numbers of a column as text in the shortest form; whole floats without `.0`.
pub enum NumberTexts<'a> {
    Bools(&'a BooleanArray),
    Floats32(&'a [f32]),
    Floats64(&'a [f64]),
    Integers(&'a [i64]),
    Unsigned(&'a [u64]),
    /// Narrower numbers, widened.
    Widened(Vec<i64>),
    Halves(Vec<f32>),
}

impl<'a> NumberTexts<'a> {
    /// # Errors
    /// The column does not hold numbers.
    pub fn of(array: &'a ArrayRef) -> Result<NumberTexts<'a>> {
        use DataType as T;
        macro_rules! widened {
            ($t:ty) => {
                NumberTexts::Widened(array.as_primitive::<$t>().values().iter().map(|v| i64::from(*v)).collect())
            };
        }
        Ok(match array.data_type() {
            T::Boolean => NumberTexts::Bools(array.as_boolean()),
            T::Float16 => NumberTexts::Halves(array.as_primitive::<Float16Type>().values().iter().map(|v| v.to_f32()).collect()),
            T::Float32 => NumberTexts::Floats32(array.as_primitive::<Float32Type>().values()),
            T::Float64 => NumberTexts::Floats64(array.as_primitive::<Float64Type>().values()),
            T::Int64 => NumberTexts::Integers(array.as_primitive::<Int64Type>().values()),
            T::UInt64 => NumberTexts::Unsigned(array.as_primitive::<UInt64Type>().values()),
            T::Int8 => widened!(Int8Type),
            T::Int16 => widened!(Int16Type),
            T::Int32 => widened!(Int32Type),
            T::UInt8 => widened!(UInt8Type),
            T::UInt16 => widened!(UInt16Type),
            T::UInt32 => widened!(UInt32Type),
            other => return Err(Error::internal(format!("{other} is not a number"))),
        })
    }

    /// Appends the number at that position.
    pub fn put(&self, at: usize, out: &mut Vec<u8>) {
        match self {
            NumberTexts::Bools(values) => out.push(if values.value(at) { b'1' } else { b'0' }),
            NumberTexts::Floats32(values) => put_float(zmij::Buffer::new().format(values[at]), out),
            NumberTexts::Halves(values) => put_float(zmij::Buffer::new().format(values[at]), out),
            NumberTexts::Floats64(values) => put_float(zmij::Buffer::new().format(values[at]), out),
            NumberTexts::Integers(values) => put_integer(values[at], out),
            NumberTexts::Unsigned(values) => put_integer(values[at], out),
            NumberTexts::Widened(values) => put_integer(values[at], out),
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

/// Whether [`NumberTexts`] supports such numbers.
pub fn is_writable(dtype: &DType) -> bool {
    dtype.is_number() || *dtype == DType::Bool
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Float32Array;

    #[test]
    fn numbers_are_short() {
        let array: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 0.1, -2.5e-9, f32::NAN, f32::NEG_INFINITY, -0.0]));
        let texts = NumberTexts::of(&array).unwrap();
        let written = (0..6).map(|at| {
            let mut out = Vec::new();
            texts.put(at, &mut out);
            String::from_utf8(out).unwrap()
        });
        assert_eq!(written.collect::<Vec<_>>(), ["1", "0.1", "-2.5e-9", "nan", "-inf", "-0"]);
    }
}
