//! Comparisons and tests of flat values, as bitmaps.

use super::cast::{bools, cast, dtype_of, native};
use super::datum::{Datum, bits, bits_of_two, texts};
use super::number::{Number, common, floats, wider};
use crate::error::{Error, Result};
use crate::expr::syntax::Compare;
use crate::schema::DType;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use std::sync::Arc;

/// Computes `a op b` element-wise.
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

/// Computes `a op b` element-wise and exactly for uint64 and a signed integer dtype, in any order.
///
/// # Errors
/// Other dtypes, which is a bug.
pub fn compare_signs(op: Compare, a: Datum, b: Datum) -> Result<ArrayRef> {
    let (x, y) = (wide(a.array)?, wide(b.array)?);
    let len = if a.scalar { y.len() } else { x.len() };
    let at = |values: &[i128], scalar: bool, i: usize| values[if scalar { 0 } else { i }];
    let found = BooleanBuffer::collect_bool(len, |i| {
        let (x, y) = (at(&x, a.scalar, i), at(&y, b.scalar, i));
        match op {
            Compare::Equal => x == y,
            Compare::NotEqual => x != y,
            Compare::Less => x < y,
            Compare::LessEqual => x <= y,
            Compare::Greater => x > y,
            Compare::GreaterEqual => x >= y,
        }
    });
    Ok(Arc::new(BooleanArray::new(found, None)))
}

fn wide(array: &ArrayRef) -> Result<Vec<i128>> {
    Ok(match dtype_of(array)? {
        DType::UInt64 => native::<UInt64Type>(array)?.iter().map(|x| i128::from(*x)).collect(),
        _ => native::<Int64Type>(&cast(array, &DType::Int64)?)?.iter().map(|x| i128::from(*x)).collect(),
    })
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
