//! Sparse tensors, one per row.
//!
//! Semantics: `tf.SparseTensor`. Indices are inside the dense shape; as in TensorFlow, they can be in any
//! order and repeated.

use super::RowPartition;
use super::shared::{drop_if_full, leaf_nbytes};
use crate::error::{Error, Result};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{NullBuffer, ScalarBuffer};

/// A sparse tensor of rank `ndims` per row.
#[derive(Clone, Debug)]
pub struct Sparse {
    ndims: usize,
    entries: RowPartition,
    indices: ScalarBuffer<i64>,
    values: ArrayRef,
    dense_shape: ScalarBuffer<i64>,
    validity: Option<NullBuffer>,
}

impl Sparse {
    /// Creates it from its components: `entries` partitions the entries by row, `indices` is `[entries, ndims]` in
    /// row-major order, `values` is `[entries]`, and `dense_shape` is `[nrows, ndims]`.
    ///
    /// # Errors
    /// Components with inconsistent lengths, a negative size, or an index outside the dense shape (the error names its
    /// row).
    pub fn try_new(
        ndims: usize,
        entries: RowPartition,
        indices: ScalarBuffer<i64>,
        values: ArrayRef,
        dense_shape: ScalarBuffer<i64>,
        validity: Option<NullBuffer>,
    ) -> Result<Sparse> {
        let (n, nrows) = (entries.nvals(), entries.nrows());
        if values.len() != n || Some(indices.len()) != n.checked_mul(ndims) {
            return Err(Error::data(format!("found {} indices of rank {ndims} for {} values", indices.len() / ndims.max(1), values.len())));
        }
        if Some(dense_shape.len()) != nrows.checked_mul(ndims) || validity.as_ref().is_some_and(|v| v.len() != nrows) {
            return Err(Error::data(format!("found {} sizes for {nrows} sparse tensors of rank {ndims}", dense_shape.len())));
        }
        for row in 0..nrows {
            let shape = &dense_shape[row * ndims..(row + 1) * ndims];
            if let Some(size) = shape.iter().find(|s| **s < 0) {
                return Err(Error::data(format!("dense_shape contains the negative size {size}")).at_row(row));
            }
            let own = entries.range(row);
            let own = &indices[own.start * ndims..own.end * ndims];
            if !all_inside(own, shape)
                && let Some(index) = own.chunks_exact(ndims).find(|index| index.iter().zip(shape).any(|(i, n)| *i < 0 || i >= n))
            {
                return Err(Error::data(format!("index {index:?} is outside the dense_shape {shape:?}")).at_row(row));
            }
        }
        Ok(Sparse { ndims, entries, indices, values, dense_shape, validity: drop_if_full(validity) })
    }

    /// The rank of the tensors.
    pub fn ndims(&self) -> usize {
        self.ndims
    }

    /// Number of sparse tensors.
    pub fn nrows(&self) -> usize {
        self.entries.nrows()
    }

    /// The partition of entries by row.
    pub fn entries(&self) -> &RowPartition {
        &self.entries
    }

    /// The indices of all entries, `ndims` numbers each.
    pub fn indices(&self) -> &ScalarBuffer<i64> {
        &self.indices
    }

    /// The values of all entries.
    pub fn values(&self) -> &ArrayRef {
        &self.values
    }

    /// The dense shapes of all rows, `ndims` numbers each.
    pub fn dense_shape(&self) -> &ScalarBuffer<i64> {
        &self.dense_shape
    }

    /// The dense shape of one row, `[ndims]`. O(1).
    pub fn shape_of(&self, row: usize) -> &[i64] {
        &self.dense_shape[row * self.ndims..(row + 1) * self.ndims]
    }

    /// The index of one entry, `[ndims]`. O(1).
    pub fn index_of(&self, entry: usize) -> &[i64] {
        &self.indices[entry * self.ndims..(entry + 1) * self.ndims]
    }

    /// Which rows are not null; `None` if none is null.
    pub fn validity(&self) -> Option<&NullBuffer> {
        self.validity.as_ref()
    }

    /// The same tensors with another validity, `[nrows]`. Everything else is shared.
    pub(super) fn with_validity(self, validity: Option<NullBuffer>) -> Result<Sparse> {
        Ok(Sparse { validity: drop_if_full(validity), ..self })
    }

    /// Whether the entries of every row are in row-major order, without repeats, as after `tf.sparse.reorder`. O(entries x
    /// ndims).
    pub fn is_canonical(&self) -> bool {
        (0..self.nrows()).all(|row| {
            let range = self.entries.range(row);
            range.clone().skip(1).all(|entry| self.index_of(entry - 1) < self.index_of(entry))
        })
    }

    /// The first entry whose value is null. O(entries), or O(1) without nulls.
    pub(super) fn first_null_value(&self) -> Option<usize> {
        let nulls = self.values.logical_nulls().filter(|n| n.null_count() > 0)?;
        (0..nulls.len()).find(|i| nulls.is_null(*i))
    }

    /// Rows `start .. start + len`. Zero-copy, except for the partition: O(rows).
    pub(super) fn slice(&self, start: usize, len: usize) -> Sparse {
        let (entries, values) = self.entries.slice(start..start + len);
        Sparse {
            ndims: self.ndims,
            entries,
            indices: self.indices.slice(values.start * self.ndims, values.len() * self.ndims),
            values: self.values.slice(values.start, values.len()),
            dense_shape: self.dense_shape.slice(start * self.ndims, len * self.ndims),
            validity: drop_if_full(self.validity.as_ref().map(|v| v.slice(start, len))),
        }
    }

    /// Approximate bytes of the entries and shapes of these rows.
    pub(super) fn nbytes(&self) -> usize {
        8 * (self.indices.len() + self.dense_shape.len() + self.nrows()) + leaf_nbytes(&self.values)
    }
}

/// Whether every index is inside the shape, and sizes are not negative.
fn all_inside(indices: &[i64], shape: &[i64]) -> bool {
    // Branch-free, so that it takes a fraction of the time of writing the indices: the sign of i or of n - 1 - i
    // decides.
    fn of_rank<const N: usize>(indices: &[i64], shape: &[i64]) -> bool {
        let (indices, _) = indices.as_chunks::<N>();
        let mut last = [0; N];
        for axis in 0..N {
            last[axis] = shape[axis] - 1;
        }
        let mut signs = 0;
        for index in indices {
            for axis in 0..N {
                signs |= index[axis] | last[axis].wrapping_sub(index[axis]);
            }
        }
        signs >= 0
    }
    match shape.len() {
        0 => true,
        1 => of_rank::<1>(indices, shape),
        2 => of_rank::<2>(indices, shape),
        3 => of_rank::<3>(indices, shape),
        ndims => indices.chunks_exact(ndims).all(|index| index.iter().zip(shape).all(|(i, n)| *i >= 0 && i < n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_every_rank() {
        for (indices, shape, inside) in [
            (vec![0, 3], vec![4], true),
            (vec![4], vec![4], false),
            (vec![-1], vec![4], false),
            (vec![i64::MIN], vec![4], false),
            (vec![i64::MAX], vec![i64::MAX], false),
            (vec![i64::MAX - 1], vec![i64::MAX], true),
            (vec![], vec![0, 0], true),
            (vec![0, 0, 1, 2], vec![2, 3], true),
            (vec![0, 0, 1, 3], vec![2, 3], false),
            (vec![1, 1, 1, 0, 0, -1], vec![2, 2, 2], false),
            (vec![0, 0, 0, 0], vec![1, 1, 1, 0], false),
            (vec![0, 0, 0, 0], vec![1, 1, 1, 1], true),
        ] {
            assert_eq!(all_inside(&indices, &shape), inside, "{indices:?} in {shape:?}");
        }
    }
}
