//! The decoded columns of a block of records, and the origin of each record.

mod origin;
mod rest;
mod row_group;
pub mod weave;

pub use origin::{Origin, RowSource, Rows, Shifted};
pub use rest::Rest;
pub use row_group::{GroupColumn, RowGroup};

use crate::error::{Error, Result};
use crate::schema::Schema;
use crate::tensor::Tensor;
use crate::tensor::take::{Run, take_runs};
use std::collections::VecDeque;
use std::ops::Range;

/// Consecutive records of the stream: one column for each field of the stage's schema, in order.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Number of records.
    pub nrows: usize,
    /// The columns, with `nrows` rows each.
    pub columns: Vec<Tensor>,
    /// The origin of the records.
    pub origin: Origin,
}

impl Chunk {
    /// A chunk with these columns.
    ///
    /// # Errors
    /// A column has a different number of rows.
    pub fn try_new(nrows: usize, columns: Vec<Tensor>, origin: Origin) -> Result<Chunk> {
        if let Some(column) = columns.iter().find(|c| c.nrows() != nrows) {
            return Err(Error::internal(format!("a column of {} rows in a chunk of {nrows} records", column.nrows())));
        }
        Ok(Chunk { nrows, columns, origin })
    }

    /// The same records with other columns.
    ///
    /// # Errors
    /// A column has a different number of rows.
    pub fn with_columns(&self, columns: Vec<Tensor>) -> Result<Chunk> {
        Chunk::try_new(self.nrows, columns, self.origin.clone())
    }

    /// Records `start .. start + len`. Zero-copy for values.
    pub fn slice(&self, start: usize, len: usize) -> Chunk {
        if start == 0 && len == self.nrows {
            return self.clone();
        }
        Chunk { nrows: len, columns: self.columns.iter().map(|c| c.slice(start, len)).collect(), origin: self.origin.slice(start, len) }
    }

    /// How many records to process at a time so that their results take about `limit` bytes, judging by `nbytes` for
    /// some of them; all if `nbytes` fails for them.
    pub fn rows_by_trial(&self, limit: usize, nbytes: impl Fn(&Chunk) -> Option<usize>) -> usize {
        const TRIAL: usize = 16;
        if self.nrows <= TRIAL {
            return self.nrows.max(1);
        }
        let starts = [0, (self.nrows - TRIAL) / 2, self.nrows - TRIAL];
        let most = starts.iter().filter_map(|start| nbytes(&self.slice(*start, TRIAL))).max().unwrap_or(0);
        (limit.saturating_mul(TRIAL) / most.max(1)).clamp(1, self.nrows)
    }

    /// The records with these indices, in that order.
    ///
    /// # Errors
    /// See [`Tensor::gather`].
    pub fn gather(&self, rows: &[usize]) -> Result<Chunk> {
        Ok(Chunk {
            nrows: rows.len(),
            columns: self.columns.iter().map(|c| c.gather(rows)).collect::<Result<_>>()?,
            origin: self.origin.gather(rows),
        })
    }

    /// The records at these positions, in that order: the index of the part, and the row in it. The parts have the same
    /// schema. O(values taken), regardless of the number of parts.
    ///
    /// # Errors
    /// There are no parts, or parts of different kinds.
    pub fn interleave(parts: &[Chunk], positions: &[(usize, usize)]) -> Result<Chunk> {
        let Some(first) = parts.first() else {
            return Err(Error::internal("nothing to choose from"));
        };
        if positions.is_empty() {
            return Ok(first.slice(0, 0));
        }
        let mut numbers = vec![None; parts.len()];
        positions.iter().for_each(|(part, _)| numbers[*part] = Some(0));
        let used: Vec<usize> = (0..parts.len()).filter(|part| numbers[*part].is_some()).collect();
        if used.len() < parts.len() {
            used.iter().enumerate().for_each(|(number, part)| numbers[*part] = Some(number));
            let positions: Vec<_> = positions.iter().filter_map(|(part, row)| Some((numbers[*part]?, *row))).collect();
            return Chunk::interleave(&used.iter().map(|part| parts[*part].clone()).collect::<Vec<_>>(), &positions);
        }
        let mut runs: Vec<Run> = Vec::with_capacity(positions.len());
        for (part, row) in positions {
            match runs.last_mut() {
                Some(last) if last.part == *part && last.end == *row => last.end += 1,
                _ => runs.push(Run { part: *part, start: *row, end: row + 1 }),
            }
        }
        let column = |i: usize| take_runs(&parts.iter().filter_map(|p| p.columns.get(i)).collect::<Vec<_>>(), &runs);
        let columns = (0..first.columns.len()).map(column).collect::<Result<_>>()?;
        Ok(Chunk { nrows: positions.len(), columns, origin: Origin::interleave(parts, positions) })
    }

    /// All records of the parts, in order. The parts have the same schema.
    ///
    /// # Errors
    /// See [`Tensor::concat`].
    pub fn concat(parts: &[Chunk]) -> Result<Chunk> {
        let Some(first) = parts.first() else {
            return Err(Error::internal("there are no chunks to concatenate"));
        };
        if parts.len() == 1 {
            return Ok(first.clone());
        }
        let columns = (0..first.columns.len())
            .map(|i| Tensor::concat(&parts.iter().filter_map(|p| p.columns.get(i)).collect::<Vec<_>>()))
            .collect::<Result<_>>()?;
        Ok(Chunk { nrows: parts.iter().map(|p| p.nrows).sum(), columns, origin: Origin::concat(parts) })
    }

    /// Adds a part to those held, and joins small ones: each chunk takes some memory for every column, however few its rows.
    /// Parts of about the same size are joined, so that a row is copied only a few times.
    ///
    /// # Errors
    /// See [`Chunk::concat`].
    pub fn hold(self, parts: &mut VecDeque<Chunk>) -> Result<()> {
        let mut last = self;
        while let Some(before) = parts.back()
            && before.nrows <= 2 * last.nrows
            && is_small(before.nrows + last.nrows, || before.nbytes() + last.nbytes())
        {
            last = Chunk::concat(&[before.clone(), last])?;
            parts.pop_back();
        }
        parts.push_back(last);
        Ok(())
    }

    /// Whether it may be joined with others.
    fn is_small(&self) -> bool {
        is_small(self.nrows, || self.nbytes())
    }

    /// Size of the columns in memory, in bytes. It does not depend on chunk boundaries.
    pub fn nbytes(&self) -> usize {
        self.columns.iter().map(Tensor::nbytes).sum()
    }

    /// Checks every column against the stage's schema.
    ///
    /// # Errors
    /// An internal error: invalid data is rejected earlier.
    pub fn check(&self, schema: &Schema) -> Result<()> {
        if self.columns.len() != schema.fields.len() {
            return Err(Error::internal(format!("{} columns for {} fields", self.columns.len(), schema.fields.len())));
        }
        for (column, field) in self.columns.iter().zip(&schema.fields) {
            if column.nrows() != self.nrows {
                return Err(Error::internal(format!("{} rows in a chunk of {}", column.nrows(), self.nrows)).in_field(&field.name));
            }
            column
                .check(&field.ty)
                .map_err(|e| Error::internal(format!("{} {}", e.field().unwrap_or(""), e.message())).in_field(&field.name))?;
        }
        Ok(())
    }
}

/// Whether chunks of that size together should be one.
fn is_small(nrows: usize, nbytes: impl FnOnce() -> usize) -> bool {
    nrows <= 512 && nbytes() <= 64 << 10
}

/// Consecutive ranges with about the same sum, at most `shares` of them.
pub fn even_shares(sizes: &[u64], shares: usize) -> Vec<Range<usize>> {
    // Sizes that a damaged file claims can add up to more than any number.
    let total = sizes.iter().fold(0u64, |sum, size| sum.saturating_add(*size));
    let share = total.div_ceil(shares.max(1) as u64).max(1);
    let (mut ranges, mut start, mut sum) = (Vec::new(), 0, 0u64);
    for (i, size) in sizes.iter().enumerate() {
        sum = sum.saturating_add(*size);
        if sum >= share && ranges.len() + 1 < shares {
            ranges.push(start..i + 1);
            (start, sum) = (i + 1, 0);
        }
    }
    if start < sizes.len() {
        ranges.push(start..sizes.len());
    }
    ranges
}

/// A record that could not be used, for `--on-error`.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What was wrong, with the input, the record and the position in it.
    pub error: Error,
    /// Size of the record in the input, in bytes.
    pub length: u64,
    /// The record as it appears in the input, if available.
    pub raw: Option<Vec<u8>>,
    /// Whether the record is kept, with null for the unreadable field.
    pub kept: bool,
}

/// The result of decoding a block: the good records, and the bad ones that were skipped.
#[derive(Debug)]
pub struct Decoded {
    /// The records.
    pub chunk: Chunk,
    /// In order. With `--on-error fail`, decoding stops at the first.
    pub faults: Vec<Fault>,
    /// Size of the block in the input, for progress.
    pub nbytes: u64,
    /// The byte offset of each record in the input; empty for formats that do not report it.
    pub offsets: Vec<u64>,
}

impl Decoded {
    /// Appends records that follow these and are all bad.
    pub fn append_bad(&mut self, bad: Decoded) {
        self.nbytes += bad.nbytes;
        self.faults.extend(bad.faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int64Array;
    use std::sync::Arc;

    fn chunk(values: Vec<i64>) -> Chunk {
        let nrows = values.len();
        Chunk::try_new(nrows, vec![Tensor::Leaf(Arc::new(Int64Array::from(values)))], Origin::default()).unwrap()
    }

    #[test]
    fn small_parts_are_joined_in_order() {
        let mut parts = VecDeque::new();
        for i in 0..5000 {
            chunk(vec![i]).hold(&mut parts).unwrap();
        }
        chunk((5000..9000).collect()).hold(&mut parts).unwrap();
        assert!(parts.len() < 25, "{}", parts.len());
        let all = Chunk::concat(&Vec::from(parts)).unwrap();
        assert_eq!(all.columns[0].first_difference(&chunk((0..9000).collect()).columns[0]), None);
    }

    #[test]
    fn a_few_rows_do_not_keep_all_in_memory() {
        let whole = chunk((0..100_000).collect());
        for (rows, is_shared) in [(vec![7], false), (vec![7, 8, 9], false), ((0..50_000).collect(), true)] {
            let kept = whole.gather(&rows).unwrap();
            let memory = kept.columns[0].as_leaf().unwrap().get_buffer_memory_size();
            assert_eq!(memory >= 100_000 * 8, is_shared, "{} rows: {memory} bytes", rows.len());
        }
    }

    #[test]
    fn shares_are_even() {
        assert_eq!(even_shares(&[1, 1, 1, 1], 2), [0..2, 2..4]);
        assert_eq!(even_shares(&[100, 1, 1], 3), [0..1, 1..3]);
        assert_eq!(even_shares(&[1, 100, 1], 8), [0..2, 2..3]);
        assert_eq!(even_shares(&[5], 8), std::slice::from_ref(&(0..1)));
        assert!(even_shares(&[], 8).is_empty());
        assert_eq!(even_shares(&[1, u64::MAX, u64::MAX, 1], 2), [0..2, 2..4]);
        let many = even_shares(&[1; 3000], 8);
        assert_eq!((many.len(), many.last().cloned()), (8, Some(2625..3000)));
    }
}
