//! Arithmetic on times and durations.
//!
//! Semantics: `pyarrow.compute.add`, `subtract`, `multiply` and `divide`, with every overflow an error.

use super::datum::{Datum, RowError, map, zip};
use crate::error::{Error, Result};
use crate::schema::DType;
use crate::schema::time::TimeType;
use crate::tensor::time::{ticks, times};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array};
use arrow_schema::DataType;
use std::sync::Arc;

/// The counts of an operand, and the number of units of `nanos` nanoseconds in one of its own. Integers count as they are.
fn counts(x: Datum, nanos: i64) -> Result<(Int64Array, i128), RowError> {
    match TimeType::of(x.array.data_type()) {
        Some(time) => Ok((ticks(x.array).map_err(|e| (0, e))?, i128::from(time.nanos / nanos))),
        None => {
            let integers = x.array.as_any().downcast_ref::<Int64Array>();
            integers.map(|n| (n.clone(), 1)).ok_or_else(|| (0, Error::internal(format!("{} as a count", x.array.data_type()))))
        }
    }
}

/// As [`counts`], in units of `nanos` nanoseconds, also of uint64.
fn wide_counts(x: Datum, nanos: i64) -> Result<Vec<i128>, RowError> {
    if let Some(integers) = x.array.as_primitive_opt::<UInt64Type>() {
        return Ok(integers.values().iter().map(|n| i128::from(*n)).collect());
    }
    let (counts, unit) = counts(x, nanos)?;
    Ok(counts.values().iter().map(|n| i128::from(*n) * unit).collect())
}

/// Computes each pair's value, of times in units of `nanos` nanoseconds, as the counts of `to`: `[n]`. O(values).
///
/// # Errors
/// A result outside the range of `to`.
fn computed(a: Datum, b: Datum, nanos: i64, to: &DataType, f: impl Fn(i128, i128) -> i128) -> Result<ArrayRef, RowError> {
    let wide = if [a, b].iter().any(|x| *x.array.data_type() == DataType::UInt64) {
        let (x, y) = (wide_counts(a, nanos)?, wide_counts(b, nanos)?);
        zip((&x, a.scalar), (&y, b.scalar), f)
    } else {
        let ((x, p), (y, q)) = (counts(a, nanos)?, counts(b, nanos)?);
        zip((x.values(), a.scalar), (y.values(), b.scalar), |x, y| f(i128::from(x) * p, i128::from(y) * q))
    };
    if let Some(row) = wide.iter().position(|n| i64::try_from(*n).is_err()) {
        let range = DType::Arrow(Box::new(to.clone()));
        let error = Error::data(format!("the result is outside the range of {range}"));
        return Err((row, error));
    }
    let narrow = Int64Array::from(map(&wide, |n| n as i64));
    if *to == DataType::Int64 { Ok(Arc::new(narrow)) } else { times(&narrow, to).map_err(|e| (e.location().row.unwrap_or(0), e)) }
}

/// Adds a duration to a time or a duration: `[n]` of type `to`, in units of `nanos` nanoseconds. O(values).
///
/// # Errors
/// A result outside the range of `to`.
pub fn sum(a: Datum, b: Datum, nanos: i64, to: &DataType) -> Result<ArrayRef, RowError> {
    computed(a, b, nanos, to, |x, y| x + y)
}

/// Subtracts a time or a duration: `[n]` of type `to`, in units of `nanos` nanoseconds. O(values).
///
/// # Errors
/// A result outside the range of `to`.
pub fn difference(a: Datum, b: Datum, nanos: i64, to: &DataType) -> Result<ArrayRef, RowError> {
    computed(a, b, nanos, to, |x, y| x - y)
}

/// Multiplies a duration by an int64 or uint64: `[n]` of type `to`. O(values).
///
/// # Errors
/// A result outside the range of `to`.
pub fn product(a: Datum, b: Datum, nanos: i64, to: &DataType) -> Result<ArrayRef, RowError> {
    computed(a, b, nanos, to, |x, y| x * y)
}

/// Divides a duration by an int64 or uint64, or by a duration, and rounds down: `[n]` of type `to`. O(values).
///
/// # Errors
/// A division by zero.
pub fn floor_quotient(a: Datum, b: Datum, nanos: i64, to: &DataType) -> Result<ArrayRef, RowError> {
    let zero = match b.array.as_primitive_opt::<UInt64Type>() {
        Some(divisors) => divisors.values().iter().position(|n| *n == 0),
        None => counts(b, nanos)?.0.values().iter().position(|n| *n == 0),
    };
    if let Some(row) = zero.filter(|_| !a.array.is_empty()) {
        return Err((row, Error::data("integer division by zero")));
    }
    computed(a, b, nanos, to, |x, y| x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0))
}

/// Divides durations, as float64: `[n]`. Source: `pyarrow.compute.divide`. O(values).
///
/// # Errors
/// Other types, which is a bug.
pub fn quotient(a: Datum, b: Datum, nanos: i64) -> Result<ArrayRef, RowError> {
    let ((x, p), (y, q)) = (counts(a, nanos)?, counts(b, nanos)?);
    let wide = |x: i64, unit: i128| (i128::from(x) * unit) as f64;
    Ok(Arc::new(Float64Array::from(zip((x.values(), a.scalar), (y.values(), b.scalar), |x, y| wide(x, p) / wide(y, q)))))
}
