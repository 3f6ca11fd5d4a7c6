//! Converts ragged tensors to sparse ones, and back.
//!
//! Semantics: `tf.RaggedTensor.to_sparse`, `from_sparse`; `tf.data.Dataset.sparse_batch`.

use super::pad::Target;
use super::{RowPartition, Sparse, Tensor};
use crate::error::{Error, Result};

/// `[n, (a), (b)]` -> one sparse tensor of rank `targets.len()` per row. Every value is an entry, including zeros. The
/// dense shape is the bounding shape, or that given by the targets. Values are shared; O(values x rank).
///
/// ```
/// use tatter::tensor::pad::Target;
/// use tatter::tensor::sparsify::{ragged_of_sparse, sparse_of_ragged};
/// use tatter::tensor::{RowPartition, Tensor};
/// # use arrow_array::Int64Array;
/// # use std::sync::Arc;
/// let rows = Tensor::list(RowPartition::from_row_lengths([2, 1])?, Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1, 4]))), None)?;
/// let sparse = sparse_of_ragged(&rows, &[Target::Longest])?;
/// assert_eq!(sparse.indices().to_vec(), [0, 1, 0]);
/// assert_eq!(sparse.dense_shape().to_vec(), [2, 1]);
/// assert_eq!(ragged_of_sparse(&sparse, 100)?.first_difference(&rows), None);
/// # Ok::<(), tatter::error::Error>(())
/// ```
///
/// # Errors
/// Fewer axes, or values below them that are not scalars.
pub fn sparse_of_ragged(tensor: &Tensor, targets: &[Target]) -> Result<Sparse> {
    let ndims = targets.len();
    let (partitions, below) = tensor.levels(ndims)?;
    let values = below.as_leaf()?;
    let entries = partitions.iter().skip(1).fold(partitions[0].clone(), |rows, inner| rows.merge(inner));
    let nindices = values.len().checked_mul(ndims).ok_or_else(|| Error::data("the result would have too many indices"))?;
    let mut shapes = Vec::with_capacity(tensor.nrows() * ndims);
    for row in 0..tensor.nrows() {
        let mut rows = row..row + 1;
        for (partition, target) in partitions.iter().zip(targets) {
            let longest = rows.clone().map(|r| partition.row_length(r)).max().unwrap_or(0);
            let size = if let Target::Exact(size) = target { *size } else { longest };
            shapes.push(i64::try_from(size).map_err(|_| Error::data("a size does not fit in 63 bits"))?);
            rows = partition.start(rows.start)..partition.start(rows.end);
        }
    }
    let (outer, innermost) = (&partitions[..ndims - 1], partitions[ndims - 1]);
    let prefixes = Prefixes::new(outer);
    let indices = match ndims {
        1 => index_rows(innermost, prefixes, |_, position| [position]),
        2 => index_rows(innermost, prefixes, |prefix, position| [prefix[0], position]),
        3 => index_rows(innermost, prefixes, |prefix, position| [prefix[0], prefix[1], position]),
        _ => index_any(innermost, prefixes, nindices),
    };
    Sparse::try_new(ndims, entries, indices.into(), values.clone(), shapes.into(), None)
}

/// The index of each value, computed by `index` from the positions along the outer axes and the last one.
fn index_rows<const N: usize>(innermost: &RowPartition, mut prefixes: Prefixes, index: impl Fn(&[i64], i64) -> [i64; N]) -> Vec<i64> {
    let mut indices: Vec<[i64; N]> = Vec::with_capacity(innermost.nvals());
    for length in innermost.row_lengths() {
        let prefix = prefixes.of_next_row();
        indices.extend((0..length as i64).map(|position| index(prefix, position)));
    }
    indices.into_flattened()
}

/// The same, for any rank.
fn index_any(innermost: &RowPartition, mut prefixes: Prefixes, nindices: usize) -> Vec<i64> {
    let mut indices = Vec::with_capacity(nindices);
    for length in innermost.row_lengths() {
        let prefix = prefixes.of_next_row();
        for position in 0..length as i64 {
            indices.extend_from_slice(prefix);
            indices.push(position);
        }
    }
    indices
}

/// The positions along the outer axes of the rows of the innermost axis, row by row.
struct Prefixes<'a> {
    outer: &'a [&'a RowPartition],
    /// For each outer axis, the row that contains the next row. The first axis counts records.
    rows: Vec<usize>,
    prefix: Vec<i64>,
    next: usize,
}

impl<'a> Prefixes<'a> {
    fn new(outer: &'a [&'a RowPartition]) -> Prefixes<'a> {
        Prefixes { outer, rows: vec![0; outer.len()], prefix: vec![0; outer.len()], next: 0 }
    }

    /// Must be called at most once per row.
    fn of_next_row(&mut self) -> &[i64] {
        let mut item = self.next;
        self.next += 1;
        for axis in (0..self.outer.len()).rev() {
            while self.outer[axis].start(self.rows[axis] + 1) <= item {
                self.rows[axis] += 1;
            }
            let row = self.rows[axis];
            self.prefix[axis] = (item - self.outer[axis].start(row)) as i64;
            item = row;
        }
        &self.prefix
    }
}

/// Sparse vectors and matrices whose entries are left-aligned in each row: `[n, (b)]` for rank 1, `[n, a, (b)]` for
/// rank 2. Values are shared. O(entries + rows), where the rows of matrices are those of the dense shapes, at most
/// `max_rows`.
///
/// # Errors
/// Another rank; an entry that is not right-ragged, that is, whose column is not the number of preceding entries in its
/// row; or more than `max_rows` rows.
pub fn ragged_of_sparse(sparse: &Sparse, max_rows: usize) -> Result<Tensor> {
    let values = Tensor::Leaf(sparse.values().clone());
    if sparse.ndims() == 1 {
        for row in 0..sparse.nrows() {
            for (column, entry) in sparse.entries().range(row).enumerate() {
                check_column(sparse.index_of(entry), column).map_err(|e| e.at_row(row))?;
            }
        }
        return Tensor::list(sparse.entries().clone(), values, sparse.validity().cloned());
    }
    if sparse.ndims() != 2 {
        return Err(Error::data(format!("has rank {}: only sparse vectors and matrices can become ragged", sparse.ndims())));
    }
    let records = RowPartition::from_row_lengths((0..sparse.nrows()).map(|row| sparse.shape_of(row)[0]))?;
    if records.nvals() > max_rows {
        return Err(Error::data(format!("a dense_shape of {} rows needs more memory than is allowed", records.nvals())));
    }
    let mut lengths = vec![0i64; records.nvals()];
    for row in 0..sparse.nrows() {
        let mut last = 0;
        for entry in sparse.entries().range(row) {
            let index = sparse.index_of(entry);
            let length = &mut lengths[records.start(row) + index[0] as usize];
            check_column(index, *length as usize).map_err(|e| e.at_row(row))?;
            if index[0] < last {
                return Err(out_of_order(index).at_row(row));
            }
            last = index[0];
            *length += 1;
        }
    }
    let rows = Tensor::list(RowPartition::from_row_lengths(lengths)?, values, None)?;
    Tensor::list(records, rows, sparse.validity().cloned())
}

fn check_column(index: &[i64], column: usize) -> Result<()> {
    match index.last() {
        Some(found) if *found == column as i64 => Ok(()),
        _ => Err(out_of_order(index)),
    }
}

fn out_of_order(index: &[i64]) -> Error {
    let error =
        Error::data(format!("the index {index:?} is not right-ragged: the entries of a row must have the indices 0, 1, 2 ... in order"));
    error.help("make it dense instead: to-dense; sparse.reorder in `map` sorts entries")
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int64Array;
    use std::sync::Arc;

    #[test]
    fn ragged_rows_come_back() {
        let values = Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1, 4, 1])));
        let rows = Tensor::list(RowPartition::from_row_lengths([3, 0, 1]).unwrap(), values, None).unwrap();
        let ragged = Tensor::list(RowPartition::uniform(3, 1).unwrap(), rows, None).unwrap();
        let sparse = sparse_of_ragged(&ragged, &[Target::Longest, Target::Longest]).unwrap();
        assert_eq!(sparse.indices().to_vec(), [0, 0, 0, 1, 0, 2, 2, 0]);
        assert_eq!(sparse.dense_shape().to_vec(), [3, 3]);
        assert_eq!(ragged_of_sparse(&sparse, 100).unwrap().first_difference(&ragged), None);
        assert!(ragged_of_sparse(&sparse, 2).is_err());
    }

    #[test]
    fn every_rank_counts_through_empty_rows() {
        // Two records: [[[[]], []]] and [[], [[[7, 8]], [[9]]]], and rank 1 to 4 of the same values.
        let values = Tensor::Leaf(Arc::new(Int64Array::from(vec![7, 8, 9])));
        let lengths: [&[i64]; 4] = [&[1, 2], &[2, 0, 2], &[1, 0, 1, 1], &[0, 2, 1]];
        let tensor = lengths.iter().rev().fold(values, |below, lengths| {
            Tensor::list(RowPartition::from_row_lengths(lengths.iter().copied()).unwrap(), below, None).unwrap()
        });
        let sparse = sparse_of_ragged(&tensor, &[Target::Longest; 4]).unwrap();
        assert_eq!(sparse.indices().to_vec(), [1, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0]);
        assert_eq!(sparse.dense_shape().to_vec(), [1, 2, 1, 0, 2, 2, 1, 2]);
        let mut below = &tensor;
        for (rank, indices) in [(3, vec![0, 0, 0, 0, 0, 1, 1, 0, 0]), (2, vec![0, 0, 0, 1, 0, 0]), (1, vec![0, 1, 0])] {
            below = below.as_list().unwrap().values();
            let sparse = sparse_of_ragged(below, &vec![Target::Longest; rank]).unwrap();
            assert_eq!(sparse.indices().to_vec(), indices, "rank {rank}");
        }
    }

    #[test]
    fn a_gap_is_no_ragged_row() {
        let entries = RowPartition::from_row_lengths([1]).unwrap();
        let sparse = Sparse::try_new(2, entries, vec![0, 1].into(), Arc::new(Int64Array::from(vec![7])), vec![1, 2].into(), None).unwrap();
        assert!(ragged_of_sparse(&sparse, 9).unwrap_err().message().starts_with("the index [0, 1] is not right-ragged"));
    }
}
