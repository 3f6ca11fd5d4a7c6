//! Sparse rows under construction.

use super::value::{MatrixValue, Visitor, visit};
use crate::error::{Error, Result};
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_array::ArrayRef;

/// The entries of rows, row by row.
pub struct SparseRows<V> {
    splits: Vec<i64>,
    indices: Vec<i64>,
    values: Vec<V>,
    /// Whether entries of a row with the same index are summed, and sorted by index.
    sums: bool,
}

impl<V: MatrixValue> SparseRows<V> {
    pub fn new(sums: bool) -> SparseRows<V> {
        SparseRows { splits: vec![0], indices: Vec::new(), values: Vec::new(), sums }
    }

    /// Appends an entry to the current row.
    #[inline(always)]
    pub fn push(&mut self, index: i64, value: V) {
        self.indices.push(index);
        self.values.push(value);
    }

    /// Ends the current row.
    ///
    /// # Errors
    /// A sum exceeds the range of the dtype.
    #[inline(always)]
    pub fn end_row(&mut self) -> Result<()> {
        if self.sums {
            self.sum_row()?;
        }
        self.splits.push(self.indices.len() as i64);
        Ok(())
    }

    /// Discards the entries of the current row.
    pub fn drop_row(&mut self) {
        let start = self.row_start();
        self.indices.truncate(start);
        self.values.truncate(start);
    }

    fn row_start(&self) -> usize {
        self.splits.last().map_or(0, |end| *end as usize)
    }

    /// Merges entries of the current row with the same index, in ascending order; values are added in input order.
    fn sum_row(&mut self) -> Result<()> {
        let start = self.row_start();
        if self.indices[start..].windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(());
        }
        let mut entries: Vec<(i64, V)> = self.indices.drain(start..).zip(self.values.drain(start..)).collect();
        entries.sort_by_key(|entry| entry.0);
        for (index, value) in entries {
            match self.values.last_mut() {
                Some(last) if self.indices.len() > start && self.indices.last() == Some(&index) => {
                    *last = last
                        .plus(value)
                        .ok_or_else(|| Error::data(format!("the sum of the values at index {index} exceeds the range of {}", V::DTYPE)))?;
                }
                _ => self.push(index, value),
            }
        }
        Ok(())
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.splits.len() - 1
    }

    /// The rows as sparse tensors `[n]`. Without `n`, the length of each row is determined by its last index.
    ///
    /// # Errors
    /// An index is out of range for `n`.
    pub fn finish(self, n: Option<i64>) -> Result<Tensor> {
        let shapes = match n {
            Some(n) => vec![n; self.nrows()],
            None => {
                self.splits.windows(2).map(|row| self.indices[row[0] as usize..row[1] as usize].iter().max().map_or(0, |i| i + 1)).collect()
            }
        };
        sparse(self.splits, self.indices, V::array(self.values), shapes)
    }
}

/// Sparse rows with these components.
///
/// # Errors
/// See [`Sparse::try_new`].
pub fn sparse(splits: Vec<i64>, indices: Vec<i64>, values: ArrayRef, shapes: Vec<i64>) -> Result<Tensor> {
    let entries = RowPartition::from_row_splits(splits)?;
    Ok(Tensor::Sparse(Sparse::try_new(1, entries, indices.into(), values, shapes.into(), None)?))
}

/// Like [`sparse`], with rows of length `n`, summing entries of a row with the same index.
///
/// # Errors
/// A sum exceeds the range of the dtype; see also [`sparse`].
pub fn summed(splits: &[i64], indices: &[i64], values: &ArrayRef, n: i64) -> Result<Tensor> {
    struct Sums<'a>(&'a [i64], &'a [i64], i64);
    impl Visitor<Tensor> for Sums<'_> {
        fn visit<V: MatrixValue>(self, values: Vec<V>) -> Result<Tensor> {
            let mut rows = SparseRows::<V>::new(true);
            for (row, ends) in self.0.windows(2).enumerate() {
                let own = ends[0] as usize..ends[1] as usize;
                for (index, value) in self.1[own.clone()].iter().zip(&values[own]) {
                    rows.push(*index, *value);
                }
                rows.end_row().map_err(|e| e.at_row(row))?;
            }
            rows.finish(Some(self.2))
        }
    }
    visit(values, Sums(splits, indices, n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_summed_in_order() {
        let mut rows = SparseRows::<i64>::new(true);
        for (index, value) in [(4, 1), (2, 2), (4, 3), (2, 5)] {
            rows.push(index, value);
        }
        rows.end_row().unwrap();
        rows.push(2, 7);
        rows.end_row().unwrap();
        rows.push(0, i64::MAX);
        rows.push(0, 1);
        assert_eq!(rows.end_row().unwrap_err().message(), "the sum of the values at index 0 exceeds the range of int64");
        rows.drop_row();
        let Tensor::Sparse(sparse) = rows.finish(Some(5)).unwrap() else { panic!("sparse") };
        assert_eq!((sparse.indices().to_vec(), sparse.entries().row_splits().to_vec()), (vec![2, 4, 2], vec![0, 2, 3]));
    }
}
