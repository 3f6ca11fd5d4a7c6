//! Literals as values of a column.

use crate::error::{Error, Result};
use crate::schema::{DType, Literal, Type};
use arrow_array::{
    ArrayRef, BooleanArray, Float16Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeBinaryArray,
    LargeStringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use std::sync::Arc;

/// `[1]`: the scalar literal as a value of `dtype`. Integers are accepted for floats; there are no other conversions.
///
/// # Errors
/// The literal does not fit; the error is phrased as the end of a sentence.
pub fn literal_array(literal: &Literal, dtype: &DType) -> Result<ArrayRef> {
    if let Some(misfit) = literal.misfit(&Type::tensor(dtype.clone(), Vec::new())) {
        return Err(Error::usage(misfit));
    }
    let misfit = || Error::usage(format!("{literal} does not fit {dtype}"));
    macro_rules! integer {
        ($array:ty, $native:ty, $n:expr) => {
            Arc::new(<$array>::from(vec![<$native>::try_from($n).map_err(|_| misfit())?]))
        };
    }
    let float = match literal {
        Literal::Float(x) => *x,
        Literal::Int(n) => *n as f64,
        _ => 0.0,
    };
    Ok(match (dtype, literal) {
        (DType::Bool, Literal::Bool(b)) => Arc::new(BooleanArray::from(vec![*b])),
        (DType::Int8, Literal::Int(n)) => integer!(Int8Array, i8, *n),
        (DType::Int16, Literal::Int(n)) => integer!(Int16Array, i16, *n),
        (DType::Int32, Literal::Int(n)) => integer!(Int32Array, i32, *n),
        (DType::Int64, Literal::Int(n)) => integer!(Int64Array, i64, *n),
        (DType::UInt8, Literal::Int(n)) => integer!(UInt8Array, u8, *n),
        (DType::UInt16, Literal::Int(n)) => integer!(UInt16Array, u16, *n),
        (DType::UInt32, Literal::Int(n)) => integer!(UInt32Array, u32, *n),
        (DType::UInt64, Literal::Int(n)) => integer!(UInt64Array, u64, *n),
        (DType::Float16, Literal::Int(_) | Literal::Float(_)) => Arc::new(Float16Array::from(vec![half::f16::from_f64(float)])),
        (DType::Float32, Literal::Int(_) | Literal::Float(_)) => Arc::new(Float32Array::from(vec![float as f32])),
        (DType::Float64, Literal::Int(_) | Literal::Float(_)) => Arc::new(Float64Array::from(vec![float])),
        (DType::String | DType::Json, Literal::String(text)) => Arc::new(LargeStringArray::from(vec![text.as_str()])),
        (DType::Bytes, Literal::String(text)) => Arc::new(LargeBinaryArray::from(vec![text.as_bytes()])),
        (DType::Bytes, Literal::Bytes(bytes)) => Arc::new(LargeBinaryArray::from(vec![bytes.as_slice()])),
        _ => return Err(misfit()),
    })
}

/// TensorFlow's padding value, as in `tf.data.Dataset.padded_batch`: 0, "" or false; `None` for dtypes that tensors do not
/// have.
pub fn zero(dtype: &DType) -> Option<Literal> {
    match dtype {
        DType::Bool => Some(Literal::Bool(false)),
        DType::String | DType::Bytes => Some(Literal::String(String::new())),
        d if d.is_number() => Some(Literal::Int(0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;

    #[test]
    fn every_tensor_dtype_has_a_zero() {
        for (name, dtype) in DType::NAMED.iter().filter(|(_, d)| d.is_tensor()) {
            let array = literal_array(&zero(dtype).unwrap(), dtype).unwrap();
            assert_eq!((array.len(), array.data_type()), (1, &dtype.arrow()), "{name}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (literal, dtype) in [(Literal::Float(0.5), DType::Int64), (Literal::Int(300), DType::UInt8), (Literal::Int(0), DType::String)] {
            assert!(literal_array(&literal, &dtype).is_err(), "{literal} as {dtype}");
        }
    }
}
