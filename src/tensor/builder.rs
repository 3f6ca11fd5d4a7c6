//! Columns under construction, for readers that decode row by row.
//!
//! Each can be truncated to an earlier number of rows, so that a record that turns out to be invalid leaves no trace.

use super::RowPartition;
use crate::error::Result;
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use std::ops::Range;

/// The null rows. Other rows cost nothing.
#[derive(Clone, Debug, Default)]
pub struct Nulls {
    runs: Vec<Range<usize>>,
}

impl Nulls {
    /// Marks row `row` as null. Rows must be marked in increasing order. Amortized O(1).
    #[inline]
    pub fn push(&mut self, row: usize) {
        self.push_run(row, 1);
    }

    /// Marks `n` rows from `row` on as null.
    pub fn push_run(&mut self, row: usize, n: usize) {
        match self.runs.last_mut() {
            Some(last) if last.end >= row => last.end = last.end.max(row + n),
            _ => self.runs.push(row..row + n),
        }
    }

    /// Discards rows from `nrows` on.
    pub fn truncate(&mut self, nrows: usize) {
        self.runs.truncate(self.runs.partition_point(|run| run.start < nrows));
        if let Some(last) = self.runs.last_mut() {
            last.end = last.end.min(nrows);
        }
    }

    /// The validity of `nrows` rows; `None` if none is null.
    pub fn finish(self, nrows: usize) -> Option<NullBuffer> {
        if self.runs.is_empty() {
            return None;
        }
        let mut bits = BooleanBufferBuilder::new(nrows);
        for run in self.runs {
            bits.append_n(run.start - bits.len(), true);
            bits.append_n(run.len(), false);
        }
        bits.append_n(nrows - bits.len(), true);
        Some(NullBuffer::new(bits.finish()))
    }
}

/// The row ends of a list level.
#[derive(Clone, Debug)]
pub struct Splits {
    splits: Vec<i64>,
}

impl Default for Splits {
    fn default() -> Splits {
        Splits { splits: vec![0] }
    }
}

impl Splits {
    /// Ends a row at value `nvals`; ends must not decrease.
    #[inline]
    pub fn push_end(&mut self, nvals: usize) {
        self.splits.push(nvals as i64);
    }

    /// Ends `n` empty rows.
    pub fn push_empty(&mut self, n: usize) {
        self.splits.resize(self.splits.len() + n, self.nvals() as i64);
    }

    /// Reserves room for that many more rows.
    pub fn reserve(&mut self, nrows: usize) {
        self.splits.reserve_exact(nrows);
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.splits.len() - 1
    }

    /// The end of the last row.
    #[inline]
    pub fn nvals(&self) -> usize {
        self.splits.last().map_or(0, |end| *end as usize)
    }

    /// Discards rows from `nrows` on, and returns the number of remaining values.
    pub fn truncate(&mut self, nrows: usize) -> usize {
        self.splits.truncate(nrows + 1);
        self.nvals()
    }

    /// The partition of [`Splits::nvals`] values.
    ///
    /// # Errors
    /// The ends decrease.
    pub fn finish(self) -> Result<RowPartition> {
        RowPartition::from_row_splits(self.splits)
    }
}

/// Estimates the number of values in `left` rows, if `seen` rows have `count`. Adds an eighth to avoid reallocation,
/// unless there is at most one value per row.
pub fn as_before(count: usize, seen: usize, left: usize) -> usize {
    if count <= seen {
        return left;
    }
    (count as f64 / seen.max(1) as f64 * left as f64 * 1.125) as usize
}

/// Strings or bytes. Text written to `bytes` belongs to the row that ends next.
#[derive(Clone, Debug)]
pub struct StringRows {
    /// The bytes of all rows, including the unfinished one.
    pub bytes: Vec<u8>,
    offsets: Vec<i64>,
}

impl Default for StringRows {
    fn default() -> StringRows {
        StringRows { bytes: Vec::new(), offsets: vec![0] }
    }
}

impl StringRows {
    /// Ends the current row.
    #[inline]
    pub fn end(&mut self) {
        self.offsets.push(self.bytes.len() as i64);
    }

    /// Appends `n` empty rows.
    pub fn push_empty(&mut self, n: usize) {
        self.offsets.resize(self.offsets.len() + n, self.bytes.len() as i64);
    }

    /// Appends a whole row.
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.end();
    }

    /// Reserves room for the ends of that many more rows.
    pub fn reserve(&mut self, nrows: usize) {
        self.offsets.reserve_exact(nrows);
    }

    /// Reserves room for `left` more rows, assuming they are like the `seen` rows so far.
    pub fn reserve_as_before(&mut self, seen: usize, left: usize) {
        self.offsets.reserve_exact(as_before(self.nrows(), seen, left));
        self.bytes.reserve_exact(as_before(self.bytes.len(), seen, left));
    }

    /// Number of finished rows.
    pub fn nrows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The text of a finished row; empty for other rows.
    pub fn row(&self, row: usize) -> &[u8] {
        let end = |row: usize| self.offsets.get(row).map_or(0, |end| *end as usize);
        self.bytes.get(end(row)..end(row + 1)).unwrap_or(&[])
    }

    /// Discards rows from `nrows` on, including any unfinished row.
    pub fn truncate(&mut self, nrows: usize) {
        self.offsets.truncate(nrows + 1);
        self.bytes.truncate(self.offsets.last().map_or(0, |end| *end as usize));
    }

    /// The offsets and the bytes, in the layout of Arrow's large strings.
    pub fn into_parts(self) -> (Vec<i64>, Vec<u8>) {
        (self.offsets, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_record_leaves_no_trace() {
        let (mut nulls, mut splits, mut texts) = (Nulls::default(), Splits::default(), StringRows::default());
        for row in 0..4 {
            texts.push(b"ab");
            splits.push_end(2 * (row + 1));
            if row % 2 == 1 {
                nulls.push(row);
            }
        }
        texts.bytes.extend_from_slice(b"half");
        nulls.truncate(3);
        texts.truncate(3);
        assert_eq!(splits.truncate(3), 6);
        assert_eq!(texts.into_parts(), (vec![0, 2, 4, 6], b"ababab".to_vec()));
        assert_eq!(splits.finish().unwrap(), RowPartition::uniform(2, 3).unwrap());
        assert_eq!(nulls.finish(3).unwrap().iter().collect::<Vec<_>>(), [true, false, true]);
        assert!(Nulls::default().finish(3).is_none());
    }
}
