//! Equality: the same rows, including nulls. Floats are equal if their bits are equal or both are NaN, or if they are
//! within a tolerance.

use super::{RowPartition, Tensor, row_of};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, downcast_integer, downcast_primitive};
use arrow_schema::DataType;

/// How far two floats may be apart: `|a - b| <= absolute + relative * |b|`, as in `numpy.isclose` with `equal_nan=True`.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// The factor of `|b|`.
    pub relative: f64,
    /// What is allowed even beside 0.
    pub absolute: f64,
}

impl Tolerance {
    fn allows(&self, a: f64, b: f64) -> bool {
        let are_near = || a.is_finite() && b.is_finite() && (a - b).abs() <= self.absolute + self.relative * b.abs();
        are_identical(a, b) || a == b || are_near()
    }
}

/// Whether two floats have the same bits, or both are NaN.
fn are_identical(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

impl Tensor {
    /// The first row in which two tensors differ; `None` if they are equal. Both must have the same type and number of
    /// rows. Whole columns are compared first. O(values).
    pub fn first_difference(&self, other: &Tensor) -> Option<usize> {
        self.first_difference_beyond(other, None)
    }

    /// As [`Tensor::first_difference`], but floats may be apart by the tolerance, if there is one.
    pub fn first_difference_beyond(&self, other: &Tensor, tolerance: Option<Tolerance>) -> Option<usize> {
        (self.equal_rows(other)..self.nrows()).find(|row| !self.rows_near(*row, other, *row, tolerance))
    }

    /// A number of leading rows that are equal, found by comparing whole columns. The row after them may be
    /// equal too: values under nulls and NaNs are compared by their bits.
    fn equal_rows(&self, other: &Tensor) -> usize {
        if self.validity() != other.validity() {
            return 0;
        }
        match (self, other) {
            (Tensor::Leaf(x), Tensor::Leaf(y)) => equal_values(x, y),
            (Tensor::List(x), Tensor::List(y)) => {
                let nrows = x.partition.first_difference(&y.partition).unwrap_or(x.partition.nrows());
                let Some(last) = nrows.checked_sub(1) else { return 0 };
                let (start, end) = (x.partition.start(0), x.partition.range(last).end);
                let own = x.values.slice(start, end - start);
                let equal = own.equal_rows(&y.values.slice(y.partition.start(0), end - start));
                if equal == end - start { nrows } else { row_of(&x.partition, start + equal) }
            }
            (Tensor::Struct(x), Tensor::Struct(y)) if x.fields.len() == y.fields.len() => {
                x.fields.iter().zip(y.fields.iter()).map(|(f, g)| f.equal_rows(g)).min().unwrap_or(self.nrows())
            }
            _ => 0,
        }
    }

    /// Whether row `a` of this tensor equals row `b` of `other`. NaNs are equal to each other; 0.0 and -0.0 are not.
    /// O(values of the row).
    pub fn rows_equal(&self, a: usize, other: &Tensor, b: usize) -> bool {
        self.matches(a, other, b, are_identical)
    }

    /// As [`Tensor::rows_equal`], but floats may be apart by the tolerance, if there is one.
    pub fn rows_near(&self, a: usize, other: &Tensor, b: usize, tolerance: Option<Tolerance>) -> bool {
        match tolerance {
            Some(tolerance) => self.matches(a, other, b, |a, b| tolerance.allows(a, b)),
            None => self.rows_equal(a, other, b),
        }
    }

    /// Whether row `a` of this tensor is the same key as row `b` of `other`. As [`Tensor::rows_equal`], but 0.0 and -0.0
    /// are equal, as they are in sorting. O(values of the row).
    pub fn keys_equal(&self, a: usize, other: &Tensor, b: usize) -> bool {
        self.matches(a, other, b, |a, b| are_identical(a, b) || a == b)
    }

    /// `are_equal`: whether two floats are.
    fn matches(&self, a: usize, other: &Tensor, b: usize, are_equal: impl Fn(f64, f64) -> bool + Copy) -> bool {
        let valid = |t: &Tensor, row: usize| match t {
            Tensor::Leaf(array) => !array.is_null(row),
            Tensor::List(list) => list.validity.as_ref().is_none_or(|v| v.is_valid(row)),
            Tensor::Struct(s) => s.validity.as_ref().is_none_or(|v| v.is_valid(row)),
            Tensor::Sparse(s) => s.validity().is_none_or(|v| v.is_valid(row)),
        };
        match (valid(self, a), valid(other, b)) {
            (false, false) => return true,
            (true, true) => {}
            _ => return false,
        }
        match (self, other) {
            (Tensor::Leaf(x), Tensor::Leaf(y)) => values_match(x, a, y, b, are_equal),
            (Tensor::List(x), Tensor::List(y)) => {
                let same_length = x.partition.row_length(a) == y.partition.row_length(b);
                same_length && pairs(&x.partition, a, &y.partition, b).all(|(i, j)| x.values.matches(i, &y.values, j, are_equal))
            }
            (Tensor::Struct(x), Tensor::Struct(y)) => {
                x.fields.len() == y.fields.len() && x.fields.iter().zip(y.fields.iter()).all(|(f, g)| f.matches(a, g, b, are_equal))
            }
            (Tensor::Sparse(x), Tensor::Sparse(y)) => {
                x.shape_of(a) == y.shape_of(b)
                    && x.entries().row_length(a) == y.entries().row_length(b)
                    && pairs(x.entries(), a, y.entries(), b)
                        .all(|(i, j)| x.index_of(i) == y.index_of(j) && values_match(x.values(), i, y.values(), j, are_equal))
            }
            _ => false,
        }
    }
}

fn pairs<'a>(x: &'a RowPartition, a: usize, y: &'a RowPartition, b: usize) -> impl Iterator<Item = (usize, usize)> + 'a {
    x.range(a).zip(y.range(b))
}

/// A number of leading values that have equal bits, whether null or not.
fn equal_values(x: &ArrayRef, y: &ArrayRef) -> usize {
    macro_rules! primitive {
        ($t:path) => {{
            match (x.as_primitive_opt::<$t>(), y.as_primitive_opt::<$t>()) {
                // Slices of numbers are compared many at a time.
                (Some(x), Some(y)) => x.values().inner().as_slice() == y.values().inner().as_slice(),
                _ => false,
            }
        }};
    }
    if x.data_type() != y.data_type() {
        return 0;
    }
    let are_equal = downcast_primitive! {
        x.data_type() => (primitive),
        DataType::LargeUtf8 => return texts(x.as_string::<i64>().iter(), y.as_string::<i64>().iter()),
        DataType::LargeBinary => return texts(x.as_binary::<i64>().iter(), y.as_binary::<i64>().iter()),
        DataType::Boolean => x.as_boolean().values() == y.as_boolean().values(),
        _ => false
    };
    if are_equal { x.len() } else { 0 }
}

fn texts<T: PartialEq>(x: impl Iterator<Item = T>, y: impl Iterator<Item = T>) -> usize {
    x.zip(y).take_while(|(a, b)| a == b).count()
}

fn values_match(x: &ArrayRef, a: usize, y: &ArrayRef, b: usize, are_equal: impl Fn(f64, f64) -> bool) -> bool {
    if x.is_null(a) || y.is_null(b) {
        return x.is_null(a) && y.is_null(b);
    }
    macro_rules! floats {
        ($t:ty) => {{ are_equal(x.as_primitive::<$t>().value(a).into(), y.as_primitive::<$t>().value(b).into()) }};
    }
    macro_rules! integers {
        ($t:path) => {
            x.as_primitive::<$t>().value(a) == y.as_primitive::<$t>().value(b)
        };
    }
    match (x.data_type(), y.data_type()) {
        (DataType::Float16, DataType::Float16) => floats!(Float16Type),
        (DataType::Float32, DataType::Float32) => floats!(Float32Type),
        (DataType::Float64, DataType::Float64) => floats!(Float64Type),
        (DataType::Boolean, DataType::Boolean) => x.as_boolean().value(a) == y.as_boolean().value(b),
        (DataType::LargeUtf8, DataType::LargeUtf8) => x.as_string::<i64>().value(a) == y.as_string::<i64>().value(b),
        (DataType::LargeBinary, DataType::LargeBinary) => x.as_binary::<i64>().value(a) == y.as_binary::<i64>().value(b),
        (from, to) if from == to => downcast_integer! {
            from => (integers),
            _ => x.slice(a, 1).to_data() == y.slice(b, 1).to_data()
        },
        _ => x.slice(a, 1).to_data() == y.slice(b, 1).to_data(),
    }
}
