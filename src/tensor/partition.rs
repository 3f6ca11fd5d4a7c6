//! How a sequence of values is cut into consecutive rows.
//!
//! One object behind all encodings of the field: row_splits, row_lengths, row_starts, row_limits,
//! value_rowids with nrows, uniform_row_length with nrows. Each is a constructor that checks, and a
//! view.
//!
//! ```text
//! values      [a b c d e f]
//! rows        [a b] [] [c] [d e f]
//! row_splits  [0 2 2 3 6]      row_lengths [2 0 1 3]      value_rowids [0 0 2 3 3 3]
//! ```
//!
//! Source of the meaning: `tf.experimental.RowPartition`, `tf.RaggedTensor.from_*`.

use crate::error::{Error, Result};
use arrow_buffer::ScalarBuffer;
use std::ops::Range;

/// A partition of `nvals` values into `nrows` rows; cheap to clone. Its row splits start at 0,
/// never decrease and end at `nvals`.
#[derive(Clone, Debug)]
pub struct RowPartition(Repr);

#[derive(Clone, Debug)]
enum Repr {
    Splits(ScalarBuffer<i64>),
    Uniform { row_length: usize, nrows: usize },
}

impl RowPartition {
    /// From the offsets of the rows: `[nrows + 1]`.
    ///
    /// # Errors
    /// No splits at all, a first one that is not 0, one that is less than the one before.
    pub fn from_row_splits(splits: impl Into<ScalarBuffer<i64>>) -> Result<RowPartition> {
        let splits = splits.into();
        match splits.first() {
            None => return Err(Error::data("row_splits are empty; they start with 0")),
            Some(0) => {}
            Some(first) => return Err(Error::data(format!("row_splits start at {first} instead of 0"))),
        }
        if let Some(at) = splits.windows(2).position(|w| w[1] < w[0]) {
            return Err(Error::data(format!("row_splits decrease from {} to {} at position {}", splits[at], splits[at + 1], at + 1)));
        }
        Ok(RowPartition(Repr::Splits(splits)))
    }

    /// From the length of each row: `[nrows]`.
    ///
    /// # Errors
    /// A negative length, or a sum beyond 63 bits.
    pub fn from_row_lengths(lengths: impl IntoIterator<Item = i64>) -> Result<RowPartition> {
        let lengths = lengths.into_iter();
        let mut splits = Vec::with_capacity(lengths.size_hint().0 + 1);
        let mut end = 0i64;
        splits.push(0);
        for (row, length) in lengths.enumerate() {
            if length < 0 {
                return Err(Error::data(format!("the row length {length} of row {row} is negative")));
            }
            end = end.checked_add(length).ok_or_else(|| Error::data("the sum of the row lengths is beyond 63 bits"))?;
            splits.push(end);
        }
        Ok(RowPartition(Repr::Splits(splits.into())))
    }

    /// From where each row starts, and the number of values: the last row ends there.
    ///
    /// # Errors
    /// A first start that is not 0, a decreasing one, one beyond the values; values but no rows.
    pub fn from_row_starts(starts: &[i64], nvals: usize) -> Result<RowPartition> {
        if starts.is_empty() && nvals > 0 {
            return Err(Error::data(format!("row_starts are empty, but there are {nvals} values")));
        }
        if let Some(first) = starts.first().filter(|s| **s != 0) {
            return Err(Error::data(format!("row_starts start at {first} instead of 0")));
        }
        let mut splits = starts.to_vec();
        splits.push(as_i64(nvals)?);
        Self::checked(splits, nvals, "row_starts")
    }

    /// From where each row ends.
    ///
    /// # Errors
    /// A decreasing limit, or a last one that is not the number of values.
    pub fn from_row_limits(limits: &[i64], nvals: usize) -> Result<RowPartition> {
        let mut splits = Vec::with_capacity(limits.len() + 1);
        splits.push(0);
        splits.extend_from_slice(limits);
        Self::checked(splits, nvals, "row_limits")
    }

    /// From the row of each value, which must not decrease. Without `nrows` the last id decides.
    ///
    /// # Errors
    /// A decreasing or negative id, or an id that is not below `nrows`.
    pub fn from_value_rowids(ids: &[i64], nrows: Option<usize>) -> Result<RowPartition> {
        if let Some(at) = ids.windows(2).position(|w| w[1] < w[0]) {
            return Err(Error::data(format!("value_rowids decrease from {} to {} at position {}", ids[at], ids[at + 1], at + 1)));
        }
        if let Some(first) = ids.first().filter(|id| **id < 0) {
            return Err(Error::data(format!("value_rowids hold the negative id {first}")));
        }
        let least = match ids.last() {
            Some(last) => usize::try_from(*last).ok().and_then(|l| l.checked_add(1)),
            None => Some(0),
        };
        let least = least.ok_or_else(|| Error::data("a value_rowid is too large"))?;
        let nrows = nrows.unwrap_or(least);
        if nrows < least {
            return Err(Error::data(format!("value_rowids go up to {}, but nrows is {nrows}", least - 1)));
        }
        if nrows > ids.len().saturating_mul(1 << 20).max(1 << 24) {
            return Err(Error::data(format!("nrows is {nrows} for {} values", ids.len())));
        }
        let mut splits = vec![0i64; nrows + 1];
        for &id in ids {
            splits[id as usize + 1] += 1;
        }
        for row in 0..nrows {
            splits[row + 1] += splits[row];
        }
        Ok(RowPartition(Repr::Splits(splits.into())))
    }

    /// All rows of one length.
    ///
    /// # Errors
    /// More values than a number of 63 bits can count.
    pub fn uniform(row_length: usize, nrows: usize) -> Result<RowPartition> {
        let nvals =
            row_length.checked_mul(nrows).ok_or_else(|| Error::data(format!("{nrows} rows of {row_length} values are too many")))?;
        as_i64(nvals)?;
        Ok(RowPartition(Repr::Uniform { row_length, nrows }))
    }

    fn checked(splits: Vec<i64>, nvals: usize, what: &str) -> Result<RowPartition> {
        if let Some(at) = splits.windows(2).position(|w| w[1] < w[0]) {
            return Err(Error::data(format!("{what}: a row would start at {} and end at {}", splits[at], splits[at + 1])));
        }
        let end = splits.last().copied().unwrap_or(0);
        if usize::try_from(end).ok() != Some(nvals) {
            return Err(Error::data(format!("{what} end at {end}, but there are {nvals} values")));
        }
        Ok(RowPartition(Repr::Splits(splits.into())))
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        match &self.0 {
            Repr::Splits(splits) => splits.len() - 1,
            Repr::Uniform { nrows, .. } => *nrows,
        }
    }

    /// Number of values.
    pub fn nvals(&self) -> usize {
        match &self.0 {
            Repr::Splits(splits) => splits[splits.len() - 1] as usize,
            Repr::Uniform { row_length, nrows } => row_length * nrows,
        }
    }

    /// Where row `row` starts; `row` may be `nrows`, for the end.
    #[inline]
    pub fn start(&self, row: usize) -> usize {
        match &self.0 {
            Repr::Splits(splits) => splits[row] as usize,
            Repr::Uniform { row_length, .. } => row_length * row,
        }
    }

    /// The values of row `row`.
    #[inline]
    pub fn range(&self, row: usize) -> Range<usize> {
        self.start(row)..self.start(row + 1)
    }

    /// The length of row `row`.
    #[inline]
    pub fn row_length(&self, row: usize) -> usize {
        match &self.0 {
            Repr::Splits(splits) => (splits[row + 1] - splits[row]) as usize,
            Repr::Uniform { row_length, .. } => *row_length,
        }
    }

    /// The one length, where the partition was made as a uniform one. See also [`Self::common_row_length`].
    pub fn uniform_row_length(&self) -> Option<usize> {
        match &self.0 {
            Repr::Splits(_) => None,
            Repr::Uniform { row_length, .. } => Some(*row_length),
        }
    }

    /// The length that all rows have, however the partition was made; `None` if they differ or there are no rows.
    pub fn common_row_length(&self) -> Option<usize> {
        if self.nrows() == 0 {
            return self.uniform_row_length();
        }
        let first = self.row_length(0);
        (1..self.nrows()).all(|row| self.row_length(row) == first).then_some(first)
    }

    /// The first row whose length is another one in `other`, of those that both have.
    pub fn first_difference(&self, other: &RowPartition) -> Option<usize> {
        (0..self.nrows().min(other.nrows())).find(|row| self.row_length(*row) != other.row_length(*row))
    }

    /// The offsets, `[nrows + 1]`: shared, or O(nrows) for a uniform partition.
    pub fn row_splits(&self) -> ScalarBuffer<i64> {
        match &self.0 {
            Repr::Splits(splits) => splits.clone(),
            Repr::Uniform { row_length, nrows } => (0..=*nrows).map(|row| (row * row_length) as i64).collect::<Vec<_>>().into(),
        }
    }

    /// The length of each row, `[nrows]`.
    pub fn row_lengths(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        (0..self.nrows()).map(|row| self.row_length(row))
    }

    /// The row of each value, `[nvals]`. O(nvals).
    pub fn value_rowids(&self) -> Vec<i64> {
        let mut ids = Vec::with_capacity(self.nvals());
        for row in 0..self.nrows() {
            ids.resize(self.start(row + 1), row as i64);
        }
        ids
    }

    /// The length of the longest row; 0 without rows.
    pub fn max_row_length(&self) -> usize {
        match &self.0 {
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

    /// The partition of rows `rows` alone, and the values they cover.
    pub fn slice(&self, rows: Range<usize>) -> (RowPartition, Range<usize>) {
        let values = self.start(rows.start)..self.start(rows.end);
        let repr = match &self.0 {
            Repr::Uniform { row_length, .. } => Repr::Uniform { row_length: *row_length, nrows: rows.len() },
            Repr::Splits(splits) if values.start == 0 => Repr::Splits(splits.slice(0, rows.end + 1).slice(rows.start, rows.len() + 1)),
            Repr::Splits(splits) => {
                let base = splits[rows.start];
                Repr::Splits(splits[rows.start..=rows.end].iter().map(|s| s - base).collect::<Vec<_>>().into())
            }
        };
        (RowPartition(repr), values)
    }

    /// The partition of the given rows in that order (with repeats). O(rows).
    pub fn gather(&self, rows: &[usize]) -> RowPartition {
        match &self.0 {
            Repr::Uniform { row_length, .. } => RowPartition(Repr::Uniform { row_length: *row_length, nrows: rows.len() }),
            Repr::Splits(_) => {
                let mut splits = Vec::with_capacity(rows.len() + 1);
                let mut end = 0i64;
                splits.push(0);
                for &row in rows {
                    end += self.row_length(row) as i64;
                    splits.push(end);
                }
                RowPartition(Repr::Splits(splits.into()))
            }
        }
    }

    /// One partition of all rows, one after the other; uniform if all are, with one row length.
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
            match &part.0 {
                Repr::Splits(s) => splits.extend(s[1..].iter().map(|s| s + end)),
                Repr::Uniform { row_length, nrows } => splits.extend((1..=*nrows).map(|row| end + (row * row_length) as i64)),
            }
            end = splits[splits.len() - 1];
        }
        Ok(RowPartition(Repr::Splits(splits.into())))
    }

    /// The partition of the values of `inner` into the rows of `self`: two axes merged into one.
    /// `self.nvals()` must be `inner.nrows()`. O(nrows), or nothing if both are uniform.
    pub fn merge(&self, inner: &RowPartition) -> RowPartition {
        debug_assert_eq!(self.nvals(), inner.nrows());
        match (&self.0, &inner.0) {
            (Repr::Uniform { row_length: outer, nrows }, Repr::Uniform { row_length, .. }) => {
                RowPartition(Repr::Uniform { row_length: outer * row_length, nrows: *nrows })
            }
            _ => {
                let splits: Vec<i64> = (0..=self.nrows()).map(|row| inner.start(self.start(row)) as i64).collect();
                RowPartition(Repr::Splits(splits.into()))
            }
        }
    }
}

impl PartialEq for RowPartition {
    /// The same rows, however they are encoded.
    fn eq(&self, other: &RowPartition) -> bool {
        if self.nrows() != other.nrows() {
            return false;
        }
        match (&self.0, &other.0) {
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
        assert_eq!(rows, RowPartition::from_row_starts(&[0, 2, 2, 3], 6).unwrap());
        assert_eq!(rows, RowPartition::from_row_limits(&[2, 2, 3, 6], 6).unwrap());
        assert_eq!(rows, RowPartition::from_value_rowids(&[0, 0, 2, 3, 3, 3], None).unwrap());
        assert_eq!(rows.value_rowids(), [0, 0, 2, 3, 3, 3]);
        assert_eq!(rows.row_lengths().collect::<Vec<_>>(), [2, 0, 1, 3]);
        assert_eq!(RowPartition::uniform(2, 3).unwrap(), RowPartition::from_row_lengths([2, 2, 2]).unwrap());
    }

    #[test]
    fn what_is_no_partition_is_refused() {
        assert!(RowPartition::from_row_splits(Vec::<i64>::new()).is_err());
        assert!(RowPartition::from_row_splits(vec![1, 2]).is_err());
        assert!(RowPartition::from_row_splits(vec![0, 3, 2]).is_err());
        assert!(RowPartition::from_row_lengths([1, -1]).is_err());
        assert!(RowPartition::from_row_starts(&[0, 7], 6).is_err());
        assert!(RowPartition::from_row_starts(&[], 6).is_err());
        assert!(RowPartition::from_row_limits(&[2, 5], 6).is_err());
        assert!(RowPartition::from_value_rowids(&[1, 0], None).is_err());
        assert!(RowPartition::from_value_rowids(&[0, 4], Some(3)).is_err());
        assert!(RowPartition::uniform(usize::MAX, 2).is_err());
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
