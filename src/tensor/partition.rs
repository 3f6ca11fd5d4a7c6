//! The partition of a sequence of values into consecutive rows.
//!
//! One type for all encodings: row_splits, row_lengths, row_starts, row_limits, value_rowids with nrows,
//! uniform_row_length with nrows. Each can be decoded, checked, and encoded again.
//!
//! ```text
//! values      [a b c d e f]
//! rows        [a b] [] [c] [d e f]
//! row_splits  [0 2 2 3 6]      row_lengths [2 0 1 3]      value_rowids [0 0 2 3 3 3]
//! ```
//!
//! Semantics: `tf.experimental.RowPartition`, `tf.RaggedTensor.from_*`.

use super::encoding::{Extent, InvalidPartition};
use crate::error::{Error, Result};
use crate::schema::PartitionEncoding;
use arrow_buffer::ScalarBuffer;
use std::ops::Range;
use std::sync::Arc;

/// A partition of `nvals` values into `nrows` rows; cheap to clone. Its row splits start at 0, never decrease, and end
/// at `nvals`.
#[derive(Clone, Debug)]
///
/// ```
/// use tatter::tensor::RowPartition;
/// let rows = RowPartition::from_row_splits(vec![0, 2, 2, 3, 6])?;
/// assert_eq!((rows.nrows(), rows.nvals()), (4, 6));
/// assert_eq!(rows.row_lengths().collect::<Vec<_>>(), [2, 0, 1, 3]);
/// assert_eq!(rows.value_rowids(), [0, 0, 2, 3, 3, 3]);
/// assert_eq!(rows.range(3), 3..6);
/// # Ok::<(), tatter::error::Error>(())
/// ```
pub struct RowPartition {
    repr: Repr,
    /// The sizes of the items that rows without items would have; see [`List::item_sizes`](super::List::item_sizes).
    items: Option<Arc<ItemSizes>>,
}

/// The sizes of the axes below each row of a partition; see [`List::item_sizes`](super::List::item_sizes).
#[derive(Debug)]
pub(super) struct ItemSizes {
    /// The partitions below, outermost first.
    pub(super) below: Vec<RowPartition>,
    /// `[nrows, below.len()]`
    pub(super) sizes: Vec<usize>,
}

#[derive(Clone, Debug)]
enum Repr {
    Splits(ScalarBuffer<i64>),
    Uniform { row_length: usize, nrows: usize },
}

impl RowPartition {
    fn of(repr: Repr) -> RowPartition {
        RowPartition { repr, items: None }
    }

    pub(super) fn items(&self) -> Option<&Arc<ItemSizes>> {
        self.items.as_ref()
    }

    pub(super) fn with_items(self, items: Option<Arc<ItemSizes>>) -> RowPartition {
        RowPartition { items, ..self }
    }

    /// Whether both are clones of one partition. O(1).
    pub(super) fn is_clone_of(&self, other: &RowPartition) -> bool {
        match (&self.repr, &other.repr) {
            (Repr::Splits(a), Repr::Splits(b)) => a.ptr_eq(b),
            (Repr::Uniform { row_length, .. }, Repr::Uniform { row_length: length, .. }) => row_length == length,
            _ => false,
        }
    }

    /// From the offsets of the rows: `[nrows + 1]`. Source: `tf.RaggedTensor.from_row_splits`. Zero-copy; O(rows) to check.
    ///
    /// # Errors
    /// The splits are empty, do not start at 0, or decrease.
    pub fn from_row_splits(splits: impl Into<ScalarBuffer<i64>>) -> Result<RowPartition> {
        let (splits, encoding) = (splits.into(), PartitionEncoding::RowSplits);
        match splits.first() {
            None => return Err(InvalidPartition::Empty(encoding).error()),
            Some(0) => {}
            Some(first) => return Err(InvalidPartition::Start(encoding, *first).error()),
        }
        if let Some(at) = splits.windows(2).position(|w| w[1] < w[0]) {
            return Err(InvalidPartition::Decreasing { encoding, from: splits[at], to: splits[at + 1], position: at + 1 }.error());
        }
        Ok(RowPartition::of(Repr::Splits(splits)))
    }

    /// From the length of each row: `[nrows]`. Source: `tf.RaggedTensor.from_row_lengths`. O(rows).
    ///
    /// # Errors
    /// A negative length, or a sum that exceeds 63 bits.
    pub fn from_row_lengths(lengths: impl IntoIterator<Item = i64>) -> Result<RowPartition> {
        let lengths = lengths.into_iter();
        let mut splits = Vec::with_capacity(lengths.size_hint().0 + 1);
        let mut end = 0i64;
        splits.push(0);
        for length in lengths {
            if length < 0 {
                return Err(InvalidPartition::Negative(PartitionEncoding::RowLengths, length).error());
            }
            end = end.checked_add(length).ok_or_else(|| InvalidPartition::Overflow(PartitionEncoding::RowLengths).error())?;
            splits.push(end);
        }
        Ok(RowPartition::of(Repr::Splits(splits.into())))
    }

    /// Decodes any encoding. O(numbers + rows).
    ///
    /// ```
    /// use tatter::schema::PartitionEncoding;
    /// use tatter::tensor::{RowPartition, encoding::Extent};
    /// let rows = RowPartition::decode(PartitionEncoding::ValueRowids, &[0, 0, 2], Extent::of_values(3).with_nrows(Some(4)))?;
    /// assert_eq!(rows.row_splits().to_vec(), [0, 2, 2, 3, 3]);
    /// let error = RowPartition::decode(PartitionEncoding::RowSplits, &[0, 2, 1], Extent::of_values(1)).unwrap_err();
    /// assert_eq!(error.message(), "row_splits decrease from 2 to 1 at position 2");
    /// # Ok::<(), tatter::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// See [`PartitionEncoding::decode`].
    pub fn decode(encoding: PartitionEncoding, numbers: &[i64], extent: Extent) -> Result<RowPartition> {
        let mut splits = vec![0];
        encoding.decode(numbers, extent, &mut splits).map_err(InvalidPartition::error)?;
        Ok(RowPartition::of(Repr::Splits(splits.into())))
    }

    /// Appends rows `rows` in any encoding, relative to the start of these rows. O(numbers).
    pub fn encode(&self, encoding: PartitionEncoding, rows: Range<usize>, out: &mut Vec<i64>) {
        let base = self.start(rows.start);
        let start = |row: usize| (self.start(row) - base) as i64;
        match encoding {
            PartitionEncoding::RowSplits | PartitionEncoding::LodOffsets => out.extend((rows.start..=rows.end).map(start)),
            PartitionEncoding::RowLengths | PartitionEncoding::Lod => out.extend(rows.map(|row| self.row_length(row) as i64)),
            PartitionEncoding::RowStarts => out.extend(rows.map(start)),
            PartitionEncoding::RowLimits => out.extend(rows.map(|row| start(row + 1))),
            PartitionEncoding::ValueRowids => {
                for row in rows.clone() {
                    out.extend(std::iter::repeat_n((row - rows.start) as i64, self.row_length(row)));
                }
            }
            PartitionEncoding::UniformRowLength => out.extend(rows.take(1).map(|row| self.row_length(row) as i64)),
        }
    }

    /// Decodes the partitions of several records, where the rows `records` of `numbers` belong to one record each.
    /// Returns the partition of rows by record, and of values by row. `extent` is called for each record with its
    /// numbers. O(numbers + rows).
    ///
    /// # Errors
    /// See [`PartitionEncoding::decode`], with the record; or an error of `extent`.
    pub fn decode_records(
        encoding: PartitionEncoding,
        records: &RowPartition,
        numbers: &[i64],
        mut extent: impl FnMut(usize, &[i64]) -> Result<Extent>,
    ) -> Result<(RowPartition, RowPartition)> {
        let mut splits = Vec::with_capacity(numbers.len() + 1);
        let mut ends = Vec::with_capacity(records.nrows() + 1);
        splits.push(0);
        ends.push(0);
        for record in 0..records.nrows() {
            let own = &numbers[records.range(record)];
            let outcome = extent(record, own).and_then(|extent| encoding.decode(own, extent, &mut splits).map_err(InvalidPartition::error));
            outcome.map_err(|e| e.at_row(record))?;
            ends.push((splits.len() - 1) as i64);
        }
        let rows = RowPartition::of(Repr::Splits(splits.into()));
        let rows = match rows.common_row_length() {
            Some(row_length) if encoding == PartitionEncoding::UniformRowLength => RowPartition::uniform(row_length, rows.nrows())?,
            _ => rows,
        };
        Ok((RowPartition::of(Repr::Splits(ends.into())), rows))
    }

    /// A partition into rows of equal length. Source: `tf.RaggedTensor.from_uniform_row_length`. O(1).
    ///
    /// # Errors
    /// The number of values exceeds 63 bits.
    pub fn uniform(row_length: usize, nrows: usize) -> Result<RowPartition> {
        let nvals =
            row_length.checked_mul(nrows).ok_or_else(|| Error::data(format!("{nrows} rows of {row_length} values are too many")))?;
        as_i64(nvals)?;
        Ok(RowPartition::of(Repr::Uniform { row_length, nrows }))
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        match &self.repr {
            Repr::Splits(splits) => splits.len() - 1,
            Repr::Uniform { nrows, .. } => *nrows,
        }
    }

    /// Number of values.
    pub fn nvals(&self) -> usize {
        match &self.repr {
            Repr::Splits(splits) => splits[splits.len() - 1] as usize,
            Repr::Uniform { row_length, nrows } => row_length * nrows,
        }
    }

    /// The start of row `row`; for `row == nrows`, the end. O(1).
    #[inline]
    pub fn start(&self, row: usize) -> usize {
        match &self.repr {
            Repr::Splits(splits) => splits[row] as usize,
            Repr::Uniform { row_length, .. } => row_length * row,
        }
    }

    /// The values of row `row`. O(1).
    #[inline]
    pub fn range(&self, row: usize) -> Range<usize> {
        self.start(row)..self.start(row + 1)
    }

    /// The length of row `row`. O(1).
    #[inline]
    pub fn row_length(&self, row: usize) -> usize {
        match &self.repr {
            Repr::Splits(splits) => (splits[row + 1] - splits[row]) as usize,
            Repr::Uniform { row_length, .. } => *row_length,
        }
    }

    /// The uniform row length, if the partition was created as uniform. See also [`Self::common_row_length`].
    pub fn uniform_row_length(&self) -> Option<usize> {
        match &self.repr {
            Repr::Splits(_) => None,
            Repr::Uniform { row_length, .. } => Some(*row_length),
        }
    }

    /// The common length of all rows, however the partition was created; `None` if they differ. Without rows, that of a
    /// uniform partition. O(rows).
    pub fn common_row_length(&self) -> Option<usize> {
        if self.nrows() == 0 {
            return self.uniform_row_length();
        }
        let first = self.row_length(0);
        (1..self.nrows()).all(|row| self.row_length(row) == first).then_some(first)
    }

    /// The first row, among those in both partitions, whose lengths differ. O(rows).
    pub fn first_difference(&self, other: &RowPartition) -> Option<usize> {
        (0..self.nrows().min(other.nrows())).find(|row| self.row_length(*row) != other.row_length(*row))
    }

    /// The offsets, `[nrows + 1]`. Zero-copy, or O(nrows) for a uniform partition.
    pub fn row_splits(&self) -> ScalarBuffer<i64> {
        match &self.repr {
            Repr::Splits(splits) => splits.clone(),
            Repr::Uniform { row_length, nrows } => (0..=*nrows).map(|row| (row * row_length) as i64).collect::<Vec<_>>().into(),
        }
    }

    /// The length of each row, `[nrows]`. Source: `tf.RaggedTensor.row_lengths`.
    pub fn row_lengths(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        (0..self.nrows()).map(|row| self.row_length(row))
    }

    /// The row of each value, `[nvals]`. Source: `tf.RaggedTensor.value_rowids`. O(nrows + nvals).
    pub fn value_rowids(&self) -> Vec<i64> {
        let mut ids = Vec::with_capacity(self.nvals());
        for row in 0..self.nrows() {
            ids.resize(self.start(row + 1), row as i64);
        }
        ids
    }

    /// The length of the longest row; 0 without rows. O(rows), or O(1) if uniform.
    pub fn max_row_length(&self) -> usize {
        match &self.repr {
            Repr::Uniform { row_length, nrows } => {
                if *nrows == 0 {
                    0
                } else {
                    *row_length
                }
            }
            Repr::Splits(_) => self.row_lengths().max().unwrap_or(0),
        }
    }

    /// The partition of rows `rows`, and the values they cover. O(rows taken), or O(1) if uniform.
    ///
    /// ```
    /// use tatter::tensor::RowPartition;
    /// let (part, values) = RowPartition::from_row_lengths([2, 0, 1, 3])?.slice(1..4);
    /// assert_eq!((part, values), (RowPartition::from_row_lengths([0, 1, 3])?, 2..6));
    /// # Ok::<(), tatter::error::Error>(())
    /// ```
    pub fn slice(&self, rows: Range<usize>) -> (RowPartition, Range<usize>) {
        let values = self.start(rows.start)..self.start(rows.end);
        let repr = match &self.repr {
            Repr::Uniform { row_length, .. } => Repr::Uniform { row_length: *row_length, nrows: rows.len() },
            Repr::Splits(splits) if values.start == 0 => Repr::Splits(splits.slice(0, rows.end + 1).slice(rows.start, rows.len() + 1)),
            Repr::Splits(splits) => {
                let base = splits[rows.start];
                Repr::Splits(splits[rows.start..=rows.end].iter().map(|s| s - base).collect::<Vec<_>>().into())
            }
        };
        (RowPartition::of(repr), values)
    }

    /// The partition of the given rows, in that order and with repeats. O(rows).
    pub fn gather(&self, rows: &[usize]) -> RowPartition {
        match &self.repr {
            Repr::Uniform { row_length, .. } => RowPartition::of(Repr::Uniform { row_length: *row_length, nrows: rows.len() }),
            Repr::Splits(_) => {
                let mut splits = Vec::with_capacity(rows.len() + 1);
                let mut end = 0i64;
                splits.push(0);
                for &row in rows {
                    end += self.row_length(row) as i64;
                    splits.push(end);
                }
                RowPartition::of(Repr::Splits(splits.into()))
            }
        }
    }

    /// Concatenates partitions: `[sum of rows]`. The result is uniform if all are, with the same row length. O(rows), or
    /// O(parts) if it is uniform.
    ///
    /// # Errors
    /// A uniform result with more than 2^63 values.
    pub fn concat(parts: &[&RowPartition]) -> Result<RowPartition> {
        let nrows = parts.iter().map(|p| p.nrows()).sum();
        if let Some(row_length) = parts.first().and_then(|p| p.uniform_row_length())
            && parts.iter().all(|p| p.uniform_row_length() == Some(row_length))
        {
            return RowPartition::uniform(row_length, nrows);
        }
        let mut splits = Vec::with_capacity(nrows + 1);
        let mut end = 0i64;
        splits.push(0);
        for part in parts {
            match &part.repr {
                Repr::Splits(s) => splits.extend(s[1..].iter().map(|s| s + end)),
                Repr::Uniform { row_length, nrows } => splits.extend((1..=*nrows).map(|row| end + (row * row_length) as i64)),
            }
            end = splits[splits.len() - 1];
        }
        Ok(RowPartition::of(Repr::Splits(splits.into())))
    }

    /// The partition of the values of `inner` into the rows of `self`, merging two axes. `self.nvals()` must equal
    /// `inner.nrows()`. O(nrows), or O(1) if both are uniform.
    ///
    /// ```
    /// use tatter::tensor::RowPartition;
    /// let outer = RowPartition::from_row_lengths([3, 0, 1])?;
    /// let inner = RowPartition::from_row_lengths([2, 0, 1, 3])?;
    /// assert_eq!(outer.merge(&inner), RowPartition::from_row_lengths([3, 0, 3])?);
    /// # Ok::<(), tatter::error::Error>(())
    /// ```
    pub fn merge(&self, inner: &RowPartition) -> RowPartition {
        debug_assert_eq!(self.nvals(), inner.nrows());
        match (&self.repr, &inner.repr) {
            (Repr::Uniform { row_length: outer, nrows }, Repr::Uniform { row_length, .. }) => {
                RowPartition::of(Repr::Uniform { row_length: outer * row_length, nrows: *nrows })
            }
            _ => {
                let splits: Vec<i64> = (0..=self.nrows()).map(|row| inner.start(self.start(row)) as i64).collect();
                RowPartition::of(Repr::Splits(splits.into()))
            }
        }
    }
}

impl PartialEq for RowPartition {
    /// Compares rows, regardless of the encoding.
    fn eq(&self, other: &RowPartition) -> bool {
        if self.nrows() != other.nrows() {
            return false;
        }
        match (&self.repr, &other.repr) {
            (Repr::Splits(a), Repr::Splits(b)) => a.ptr_eq(b) || a == b,
            (Repr::Uniform { row_length: a, nrows }, Repr::Uniform { row_length: b, .. }) => a == b || *nrows == 0,
            _ => (0..=self.nrows()).all(|row| self.start(row) == other.start(row)),
        }
    }
}

fn as_i64(n: usize) -> Result<i64> {
    i64::try_from(n).map_err(|_| Error::data(format!("{n} values are too many")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_names_the_same_partition() {
        let rows = RowPartition::from_row_splits(vec![0, 2, 2, 3, 6]).unwrap();
        assert_eq!(rows, RowPartition::from_row_lengths([2, 0, 1, 3]).unwrap());
        for encoding in PartitionEncoding::VECTORS {
            let mut numbers = Vec::new();
            rows.encode(encoding, 0..4, &mut numbers);
            assert_eq!(rows, RowPartition::decode(encoding, &numbers, Extent::of_values(6)).unwrap(), "{encoding:?}: {numbers:?}");
        }
        assert_eq!(rows.value_rowids(), [0, 0, 2, 3, 3, 3]);
        assert_eq!(rows.row_lengths().collect::<Vec<_>>(), [2, 0, 1, 3]);
        assert_eq!(RowPartition::uniform(2, 3).unwrap(), RowPartition::from_row_lengths([2, 2, 2]).unwrap());
    }

    #[test]
    fn invalid_partitions_are_refused() {
        let (splits, lengths) = (PartitionEncoding::RowSplits, PartitionEncoding::RowLengths);
        let decreasing = InvalidPartition::Decreasing { encoding: splits, from: 3, to: 2, position: 2 };
        for (found, expected) in [
            (RowPartition::from_row_splits(Vec::<i64>::new()), InvalidPartition::Empty(splits).error()),
            (RowPartition::from_row_splits(vec![1, 2]), InvalidPartition::Start(splits, 1).error()),
            (RowPartition::from_row_splits(vec![0, 3, 2]), decreasing.error()),
            (RowPartition::from_row_lengths([1, -1]), InvalidPartition::Negative(lengths, -1).error()),
            (RowPartition::from_row_lengths([i64::MAX, 1]), InvalidPartition::Overflow(lengths).error()),
        ] {
            assert_eq!(found.unwrap_err().to_string(), expected.to_string());
        }
        let error = RowPartition::uniform(usize::MAX, 2).unwrap_err();
        assert_eq!(error.message(), "2 rows of 18446744073709551615 values are too many");
    }

    #[test]
    fn slicing_gathering_and_merging_keep_the_rows() {
        let rows = RowPartition::from_row_lengths([2, 0, 1, 3]).unwrap();
        let (part, values) = rows.slice(1..4);
        assert_eq!((part, values), (RowPartition::from_row_lengths([0, 1, 3]).unwrap(), 2..6));
        assert_eq!(rows.gather(&[3, 3, 0]), RowPartition::from_row_lengths([3, 3, 2]).unwrap());
        let outer = RowPartition::from_row_lengths([3, 0, 1]).unwrap();
        assert_eq!(outer.merge(&rows), RowPartition::from_row_lengths([3, 0, 3]).unwrap());
        assert_eq!(RowPartition::concat(&[&rows, &outer]).unwrap(), RowPartition::from_row_lengths([2, 0, 1, 3, 3, 0, 1]).unwrap());
    }
}
