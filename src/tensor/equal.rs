//! Equality: the same rows, including nulls. Floats are equal if their bits are equal or both are NaN.

use super::{RowPartition, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

impl Tensor {
    /// The first row in which two tensors differ; `None` if they are equal. Both must have the same type and number of
    /// rows.
    pub fn first_difference(&self, other: &Tensor) -> Option<usize> {
        (0..self.nrows()).find(|row| !self.rows_equal(*row, other, *row))
    }

    /// Whether row `a` of this tensor equals row `b` of `other`. NaNs are equal to each other; 0.0 and -0.0 are not.
    pub fn rows_equal(&self, a: usize, other: &Tensor, b: usize) -> bool {
        self.matches::<true>(a, other, b)
    }

    /// Whether row `a` of this tensor is the same key as row `b` of `other`. As [`Tensor::rows_equal`], but 0.0 and -0.0
    /// are equal, as they are in sorting.
    pub fn keys_equal(&self, a: usize, other: &Tensor, b: usize) -> bool {
        self.matches::<false>(a, other, b)
    }

    fn matches<const EXACT: bool>(&self, a: usize, other: &Tensor, b: usize) -> bool {
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
            (Tensor::Leaf(x), Tensor::Leaf(y)) => values_match::<EXACT>(x, a, y, b),
            (Tensor::List(x), Tensor::List(y)) => {
                let same_length = x.partition.row_length(a) == y.partition.row_length(b);
                same_length && pairs(&x.partition, a, &y.partition, b).all(|(i, j)| x.values.matches::<EXACT>(i, &y.values, j))
            }
            (Tensor::Struct(x), Tensor::Struct(y)) => {
                x.fields.len() == y.fields.len() && x.fields.iter().zip(&y.fields).all(|(f, g)| f.matches::<EXACT>(a, g, b))
            }
            (Tensor::Sparse(x), Tensor::Sparse(y)) => {
                x.shape_of(a) == y.shape_of(b)
                    && x.entries().row_length(a) == y.entries().row_length(b)
                    && pairs(x.entries(), a, y.entries(), b)
                        .all(|(i, j)| x.index_of(i) == y.index_of(j) && values_match::<EXACT>(x.values(), i, y.values(), j))
            }
            _ => false,
        }
    }
}

fn pairs<'a>(x: &'a RowPartition, a: usize, y: &'a RowPartition, b: usize) -> impl Iterator<Item = (usize, usize)> + 'a {
    x.range(a).zip(y.range(b))
}

fn values_match<const EXACT: bool>(x: &ArrayRef, a: usize, y: &ArrayRef, b: usize) -> bool {
    if x.is_null(a) || y.is_null(b) {
        return x.is_null(a) && y.is_null(b);
    }
    macro_rules! floats {
        ($t:ty) => {{
            let (p, q) = (x.as_primitive::<$t>().value(a), y.as_primitive::<$t>().value(b));
            p.to_bits() == q.to_bits() || (p.is_nan() && q.is_nan()) || (!EXACT && p == q)
        }};
    }
    match (x.data_type(), y.data_type()) {
        (DataType::Float16, DataType::Float16) => floats!(Float16Type),
        (DataType::Float32, DataType::Float32) => floats!(Float32Type),
        (DataType::Float64, DataType::Float64) => floats!(Float64Type),
        _ => x.slice(a, 1).to_data() == y.slice(b, 1).to_data(),
    }
}
