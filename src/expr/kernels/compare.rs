//! Comparisons and tests of flat values, as bitmaps.

use super::cast::{bools, cast, dtype_of, native};
use super::datum::{Datum, bits, bits_of_two, texts};
use super::number::{Number, common, floats, numbers, wider};
use crate::error::{Error, Result};
use crate::expr::syntax::Compare;
use crate::schema::DType;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use std::cmp::Ordering;
use std::sync::Arc;

/// Computes `a op b` element-wise: `[n]` and `[n]`, or a scalar, of one dtype to `[n]` bools. Strings are compared by
/// bytes; a comparison with NaN is false, except `!=`. Source: `tf.math.equal`, `less`, .... O(values).
///
/// # Errors
/// The dtype is not ordered.
pub fn compare(op: Compare, a: Datum, b: Datum) -> Result<ArrayRef> {
    let dtype = dtype_of(a.array)?;
    let len = if a.scalar { b.array.len() } else { a.array.len() };
    let found = match dtype {
        DType::Bool => {
            let (x, y) = (bools(a.array)?, bools(b.array)?);
            let at = |bits: &BooleanBuffer, scalar: bool, i: usize| bits.value(if scalar { 0 } else { i });
            match op {
                Compare::Equal => BooleanBuffer::collect_bool(len, |i| at(x, a.scalar, i) == at(y, b.scalar, i)),
                Compare::NotEqual => BooleanBuffer::collect_bool(len, |i| at(x, a.scalar, i) != at(y, b.scalar, i)),
                _ => return Err(Error::internal("bools have no order")),
            }
        }
        DType::String | DType::Bytes => {
            let (x, y) = (texts(a)?, texts(b)?);
            match op {
                Compare::Equal => BooleanBuffer::collect_bool(len, |i| x(i) == y(i)),
                Compare::NotEqual => BooleanBuffer::collect_bool(len, |i| x(i) != y(i)),
                Compare::Less => BooleanBuffer::collect_bool(len, |i| x(i) < y(i)),
                Compare::LessEqual => BooleanBuffer::collect_bool(len, |i| x(i) <= y(i)),
                Compare::Greater => BooleanBuffer::collect_bool(len, |i| x(i) > y(i)),
                Compare::GreaterEqual => BooleanBuffer::collect_bool(len, |i| x(i) >= y(i)),
            }
        }
        _ => {
            if let Some(wide) = wider(&dtype) {
                let (x, y) = (cast(a.array, &wide)?, cast(b.array, &wide)?);
                return compare(op, Datum { array: &x, scalar: a.scalar }, Datum { array: &y, scalar: b.scalar });
            }
            common!(&dtype, T => compare_numbers::<T>(op, a, b, len)?, return Err(Error::internal(format!("a comparison of {dtype}"))))
        }
    };
    Ok(Arc::new(BooleanArray::new(found, None)))
}

/// Computes `a op b` element-wise and exactly for numbers of two dtypes whose common dtype does not hold all values:
/// 64-bit integers and floats, uint64 and signed integers. TensorFlow compares only values of one dtype. O(values).
///
/// # Errors
/// Other dtypes, which is a bug.
pub fn compare_exactly(op: Compare, a: Datum, b: Datum) -> Result<ArrayRef> {
    let (x, y) = (widest(a.array)?, widest(b.array)?);
    let (signed, unsigned, float) = (native::<Int64Type>, native::<UInt64Type>, native::<Float64Type>);
    let scalars = [a.scalar, b.scalar];
    let found = match (dtype_of(&x)?, dtype_of(&y)?) {
        (DType::Int64, DType::UInt64) => ordered(op, signed(&x)?, unsigned(&y)?, scalars, |x, y| Some(i128::from(x).cmp(&y.into()))),
        (DType::UInt64, DType::Int64) => ordered(op, unsigned(&x)?, signed(&y)?, scalars, |x, y| Some(i128::from(x).cmp(&y.into()))),
        (DType::Int64, DType::Float64) => ordered(op, signed(&x)?, float(&y)?, scalars, |x, y| with_float(x.into(), x as f64, y)),
        (DType::UInt64, DType::Float64) => ordered(op, unsigned(&x)?, float(&y)?, scalars, |x, y| with_float(x.into(), x as f64, y)),
        (DType::Float64, DType::Int64 | DType::UInt64) => return compare_exactly(op.swapped(), b, a),
        (x, y) => return Err(Error::internal(format!("an exact comparison of {x} and {y}"))),
    };
    Ok(Arc::new(BooleanArray::new(found, None)))
}

/// Computes `a op b` element-wise for integers, each with whether it is a scalar: `[n]` bools. O(values).
pub fn compare_wide(op: Compare, (x, x_scalar): (&[i128], bool), (y, y_scalar): (&[i128], bool)) -> ArrayRef {
    Arc::new(BooleanArray::new(ordered(op, x, y, [x_scalar, y_scalar], |x, y| Some(x.cmp(&y))), None))
}

/// The order of a value of `a` and one of `b`, as in [`compare_exactly`]; `None` for NaN. O(values) to widen the arrays,
/// then O(1) per call.
///
/// # Errors
/// Other dtypes, which is a bug.
pub fn exact_order(a: &ArrayRef, b: &ArrayRef) -> Result<Box<dyn Fn(usize, usize) -> Option<Ordering>>> {
    let (x, y) = (widest(a)?, widest(b)?);
    let integer = |array: &ArrayRef| -> Option<Box<dyn Fn(usize) -> i128>> {
        if let Some(signed) = array.as_primitive_opt::<Int64Type>().cloned() {
            return Some(Box::new(move |i| signed.value(i).into()));
        }
        let unsigned = array.as_primitive_opt::<UInt64Type>()?.clone();
        Some(Box::new(move |i| unsigned.value(i).into()))
    };
    let float = |array: &ArrayRef| array.as_primitive_opt::<Float64Type>().cloned();
    Ok(match (integer(&x), float(&x), integer(&y), float(&y)) {
        (Some(x), _, Some(y), _) => Box::new(move |i, j| Some(x(i).cmp(&y(j)))),
        (Some(x), _, _, Some(y)) => Box::new(move |i, j| with_float(x(i), x(i) as f64, y.value(j))),
        (_, Some(x), Some(y), _) => Box::new(move |i, j| with_float(y(j), y(j) as f64, x.value(i)).map(Ordering::reverse)),
        _ => return Err(Error::internal(format!("an exact comparison of {} and {}", a.data_type(), b.data_type()))),
    })
}

/// Compares two flat values of any ordered dtype.
///
/// # Errors
/// Other dtypes, which is a bug.
pub fn comparator(array: &ArrayRef) -> Result<Box<dyn Fn(usize, usize) -> Ordering + '_>> {
    let dtype = dtype_of(array)?;
    numbers!(&dtype, T => {
        let values = native::<T>(array)?;
        Ok(Box::new(move |a: usize, b: usize| <T as Number>::order(&values[a], &values[b])))
    }, match &dtype {
        DType::String => {
            let strings = array.as_string::<i64>();
            Ok(Box::new(move |a, b| strings.value(a).cmp(strings.value(b))))
        }
        DType::Bytes => {
            let bytes = array.as_binary::<i64>();
            Ok(Box::new(move |a, b| bytes.value(a).cmp(bytes.value(b))))
        }
        _ => {
            let bits = array.as_boolean();
            Ok(Box::new(move |a, b| bits.value(a).cmp(&bits.value(b))))
        }
    })
}

/// Casts integers to 64 bits and floats to float64.
fn widest(array: &ArrayRef) -> Result<ArrayRef> {
    let dtype = dtype_of(array)?;
    match dtype {
        DType::UInt64 => Ok(array.clone()),
        _ if dtype.is_float() => cast(array, &DType::Float64),
        _ => cast(array, &DType::Int64),
    }
}

/// The order of an integer and a float; `rounded` is the integer as a float. `None` for NaN.
#[inline]
fn with_float(exact: i128, rounded: f64, y: f64) -> Option<Ordering> {
    match rounded.partial_cmp(&y) {
        // Rounding keeps the order, so only here can it hide a difference; and y is an integer.
        Some(Ordering::Equal) => Some(exact.cmp(&(y as i128))),
        order => order,
    }
}

fn ordered<X: Copy, Y: Copy>(
    op: Compare,
    x: &[X],
    y: &[Y],
    [x_scalar, y_scalar]: [bool; 2],
    order: impl Fn(X, Y) -> Option<Ordering>,
) -> BooleanBuffer {
    let run = |f: fn(Option<Ordering>) -> bool| match (x, y) {
        ([x], y) if x_scalar => bits(y, |y| f(order(*x, *y))),
        (x, [y]) if y_scalar => bits(x, |x| f(order(*x, *y))),
        _ => bits_of_two(x, y, |x, y| f(order(*x, *y))),
    };
    match op {
        Compare::Equal => run(|order| order == Some(Ordering::Equal)),
        Compare::NotEqual => run(|order| order != Some(Ordering::Equal)),
        Compare::Less => run(|order| order == Some(Ordering::Less)),
        Compare::LessEqual => run(|order| matches!(order, Some(Ordering::Less | Ordering::Equal))),
        Compare::Greater => run(|order| order == Some(Ordering::Greater)),
        Compare::GreaterEqual => run(|order| matches!(order, Some(Ordering::Greater | Ordering::Equal))),
    }
}

fn compare_numbers<T: Number>(op: Compare, a: Datum, b: Datum, len: usize) -> Result<BooleanBuffer> {
    // Three loops suffice for six operators.
    let (op, a, b) = match op {
        Compare::NotEqual => return Ok(!&compare_numbers::<T>(Compare::Equal, a, b, len)?),
        Compare::Greater => (Compare::Less, b, a),
        Compare::GreaterEqual => (Compare::LessEqual, b, a),
        op => (op, a, b),
    };
    fn run<N: Copy>(x: &[N], a_scalar: bool, y: &[N], b_scalar: bool, len: usize, f: impl Fn(N, N) -> bool) -> BooleanBuffer {
        match (x, y) {
            ([x], y) if a_scalar => bits(y, |y| f(*x, *y)),
            (x, [y]) if b_scalar => bits(x, |x| f(*x, *y)),
            _ => bits_of_two(&x[..len.min(x.len())], &y[..len.min(y.len())], |x, y| f(*x, *y)),
        }
    }
    let (x, y) = (native::<T>(a.array)?, native::<T>(b.array)?);
    Ok(match op {
        Compare::Equal => run(x, a.scalar, y, b.scalar, len, |a, b| a == b),
        Compare::Less => run(x, a.scalar, y, b.scalar, len, |a, b| a < b),
        _ => run(x, a.scalar, y, b.scalar, len, |a, b| a <= b),
    })
}

/// Tests of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Finite,
    Infinite,
    Nan,
}

/// Tests each value for being finite, infinite or NaN.
///
/// # Errors
/// Dtypes that are not floats, which is a bug.
pub fn test(op: Test, array: &ArrayRef) -> Result<ArrayRef> {
    let dtype = dtype_of(array)?;
    let found = floats!(&dtype, T => {
        let values = native::<T>(array)?;
        match op {
            Test::Finite => bits(values, |v| v.is_finite()),
            Test::Infinite => bits(values, |v| v.is_infinite()),
            Test::Nan => bits(values, |v| v.is_nan()),
        }
    }, return Err(Error::internal(format!("{op:?} of {dtype}"))));
    Ok(Arc::new(BooleanArray::new(found, None)))
}
