//! Row partitions as columns of integers, one partition in each record, in every encoding.
//!
//! Source of the meaning: `tf.RaggedTensor.from_row_splits` and its siblings, `nested_row_splits`;
//! Paddle's recursive sequence lengths (`lod`) and offsets (`lod_offsets`).

use super::RowPartition;
use crate::error::{Error, Result};
use std::ops::Range;

/// How a partition is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    RowSplits,
    RowLengths,
    RowStarts,
    RowLimits,
    ValueRowids,
    /// Recursive sequence lengths: row lengths by Paddle's name.
    Lod,
    /// Offsets: row splits by Paddle's name.
    LodOffsets,
}

impl Encoding {
    /// All encodings with their names.
    pub const NAMED: [(&'static str, Encoding); 7] = [
        ("row_splits", Encoding::RowSplits),
        ("row_lengths", Encoding::RowLengths),
        ("row_starts", Encoding::RowStarts),
        ("row_limits", Encoding::RowLimits),
        ("value_rowids", Encoding::ValueRowids),
        ("lod", Encoding::Lod),
        ("lod_offsets", Encoding::LodOffsets),
    ];

    /// The encoding of that name.
    pub fn from_name(name: &str) -> Option<Encoding> {
        Self::NAMED.iter().find(|(n, _)| *n == name).map(|(_, e)| *e)
    }

    /// As it is typed, and in the names of fields.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, e)| *e == self).map_or("", |(n, _)| n)
    }

    /// Writes down the partition of `rows`, counted from the start of these rows.
    pub fn encode(self, partition: &RowPartition, rows: Range<usize>, out: &mut Vec<i64>) {
        let base = partition.start(rows.start);
        let start = |row: usize| (partition.start(row) - base) as i64;
        match self {
            Encoding::RowSplits | Encoding::LodOffsets => out.extend((rows.start..=rows.end).map(start)),
            Encoding::RowLengths | Encoding::Lod => out.extend(rows.map(|row| partition.row_length(row) as i64)),
            Encoding::RowStarts => out.extend(rows.map(start)),
            Encoding::RowLimits => out.extend(rows.map(|row| start(row + 1))),
            Encoding::ValueRowids => {
                for row in rows.clone() {
                    out.extend(std::iter::repeat_n((row - rows.start) as i64, partition.row_length(row)));
                }
            }
        }
    }

    /// Reads the lengths of the rows of one record from its numbers: they cut exactly `nvals` values.
    /// Without `nrows` the last of value_rowids decides.
    ///
    /// # Errors
    /// They are no partition, or not one of so many values or rows.
    pub fn decode(self, numbers: &[i64], nvals: usize, nrows: Option<i64>, lengths: &mut Vec<i64>) -> Result<()> {
        let before = lengths.len();
        let partition = match self {
            Encoding::RowLengths | Encoding::Lod => RowPartition::from_row_lengths(numbers.iter().copied())?,
            Encoding::RowSplits | Encoding::LodOffsets => RowPartition::from_row_splits(numbers.to_vec())?,
            Encoding::RowStarts => RowPartition::from_row_starts(numbers, nvals)?,
            Encoding::RowLimits => RowPartition::from_row_limits(numbers, nvals)?,
            Encoding::ValueRowids => {
                let nrows = nrows.map(|n| usize::try_from(n).map_err(|_| Error::data(format!("nrows is {n}")))).transpose()?;
                RowPartition::from_value_rowids(numbers, nrows)?
            }
        };
        lengths.extend(partition.row_lengths().map(|n| n as i64));
        if partition.nvals() != nvals {
            return Err(Error::data(format!("{} end at {}, but there are {nvals} values", self.name(), partition.nvals())));
        }
        match nrows {
            Some(nrows) if nrows != (lengths.len() - before) as i64 => {
                Err(Error::data(format!("{} rows in {}, but there are to be {nrows}", lengths.len() - before, self.name())))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        // Rows 1 .. 4 of a partition: [] [c] [d e f]
        let partition = RowPartition::from_row_lengths([2, 0, 1, 3]).unwrap();
        for (name, encoding) in Encoding::NAMED {
            let (mut numbers, mut lengths) = (Vec::new(), Vec::new());
            encoding.encode(&partition, 1..4, &mut numbers);
            encoding.decode(&numbers, 4, Some(3), &mut lengths).unwrap();
            assert_eq!(lengths, [0, 1, 3], "{name}: {numbers:?}");
            assert!(encoding.decode(&numbers, 5, Some(3), &mut lengths).is_err() || encoding == Encoding::RowStarts, "{name}");
        }
    }
}
