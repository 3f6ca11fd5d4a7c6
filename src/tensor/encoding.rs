//! Decodes row partitions from any encoding, with a specific message for each error.
//!
//! TensorFlow checks partitions only under `validate=True`; here they are always checked.

use crate::error::Error;
use crate::printable::{counted, is_or_are};
use crate::schema::PartitionEncoding;
use std::fmt;

/// Constraints on a partition in addition to its encoded numbers.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The number of values that the rows must cover.
    pub nvals: usize,
    /// The number of rows, if given.
    pub nrows: Option<i64>,
    /// Maximum number of rows from encodings whose size does not grow with the rows (value_rowids, uniform_row_length).
    pub max_rows: usize,
}

impl Extent {
    /// A partition of `nvals` values, with the number of rows given by the encoding.
    pub fn of_values(nvals: usize) -> Extent {
        Extent { nvals, nrows: None, max_rows: nvals.saturating_mul(1 << 20).max(1 << 24) }
    }

    /// Adds a number of rows.
    #[must_use]
    pub fn with_nrows(self, nrows: Option<i64>) -> Extent {
        Extent { nrows, ..self }
    }
}

/// Why numbers are not a valid partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidPartition {
    /// There are no numbers, but the first one must be 0.
    Empty(PartitionEncoding),
    /// The first offset is not 0.
    Start(PartitionEncoding, i64),
    /// The number at `position` is less than the previous one.
    Decreasing {
        /// The encoding.
        encoding: PartitionEncoding,
        /// The previous number.
        from: i64,
        /// The number.
        to: i64,
        /// Its position.
        position: usize,
    },
    /// A length or row number is negative.
    Negative(PartitionEncoding, i64),
    /// The number of rows is negative.
    NegativeRows(i64),
    /// The sum of the lengths exceeds 63 bits.
    Overflow(PartitionEncoding),
    /// The rows cover `end` values, but there are `nvals`.
    Values {
        /// The encoding.
        encoding: PartitionEncoding,
        /// The number of values that the rows cover.
        end: i64,
        /// The number of values.
        nvals: usize,
    },
    /// A row number is not less than nrows.
    RowBeyond {
        /// The row number.
        row: i64,
        /// The number of rows.
        nrows: i64,
    },
    /// The encoding has `found` rows, but nrows differs.
    Rows {
        /// The encoding.
        encoding: PartitionEncoding,
        /// The number of rows in the encoding.
        found: usize,
        /// The number of rows.
        nrows: i64,
    },
    /// There are more rows than [`Extent::max_rows`].
    TooManyRows {
        /// The number of rows.
        nrows: i64,
        /// The number of values.
        nvals: usize,
    },
}

impl fmt::Display for InvalidPartition {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        use InvalidPartition::*;
        use PartitionEncoding as E;
        match *self {
            Empty(encoding) => write!(f, "{} are empty; the first must be 0", plural(encoding)),
            Start(encoding, first) => write!(f, "{} start at {first} instead of 0", plural(encoding)),
            Decreasing { encoding, from, to, position } => {
                write!(f, "{} decrease from {from} to {to} at position {position}", plural(encoding))
            }
            Negative(E::UniformRowLength, length) => write!(f, "uniform_row_length is {length}; it must not be negative"),
            Negative(encoding, number) => write!(f, "{} contain {number}; they must not be negative", plural(encoding)),
            NegativeRows(nrows) => write!(f, "nrows is {nrows}; it must not be negative"),
            Overflow(encoding) => write!(f, "the sum of {} exceeds 63 bits", encoding.name()),
            Values { encoding: E::UniformRowLength, end, nvals } => {
                let covered = counted(end.unsigned_abs(), "value");
                write!(f, "rows of equal length cover {covered}, but there {} {nvals}", is_or_are(nvals))
            }
            Values { encoding: E::ValueRowids, end, nvals } => write!(f, "found {end} value_rowids for {}", counted(nvals as u64, "value")),
            Values { encoding, end, nvals } => {
                let verb = match encoding {
                    E::RowLengths | E::Lod => "add up to",
                    E::RowStarts => "go up to",
                    _ => "end at",
                };
                let nvalues = counted(nvals as u64, "value");
                write!(f, "{} {verb} {end}, but there {} {nvalues}", plural(encoding), is_or_are(nvals))
            }
            RowBeyond { row, nrows } => write!(f, "value_rowids go up to {row}, but nrows is {nrows}"),
            Rows { encoding, found, nrows } => {
                write!(f, "{} make {}, but nrows is {nrows}", plural(encoding), counted(found as u64, "row"))
            }
            TooManyRows { nrows, nvals } => write!(f, "{nrows} rows are too many for {}", counted(nvals as u64, "value")),
        }
    }
}

/// The name as a plural subject.
fn plural(encoding: PartitionEncoding) -> &'static str {
    match encoding {
        PartitionEncoding::Lod => "the lengths of lod",
        PartitionEncoding::UniformRowLength => "rows of one length",
        other => other.name(),
    }
}

impl InvalidPartition {
    /// The corresponding data error.
    pub fn error(self) -> Error {
        Error::data(self.to_string())
    }
}

impl PartitionEncoding {
    /// The number of values that one partition covers; `None` if the encoding does not determine it.
    pub fn nvals(self, numbers: &[i64], nrows: Option<i64>) -> Option<i64> {
        match self {
            PartitionEncoding::RowSplits | PartitionEncoding::LodOffsets => numbers.last().copied(),
            PartitionEncoding::RowLengths | PartitionEncoding::Lod => numbers.iter().try_fold(0i64, |all, n| all.checked_add(*n)),
            PartitionEncoding::RowLimits => Some(numbers.last().copied().unwrap_or(0)),
            PartitionEncoding::ValueRowids => i64::try_from(numbers.len()).ok(),
            PartitionEncoding::UniformRowLength => numbers.first()?.checked_mul(nrows?),
            PartitionEncoding::RowStarts => None,
        }
    }

    /// Decodes one partition: appends the end of each row to `splits`, relative to the last element of `splits`, which
    /// must not be empty. Returns the number of rows. On an error, `splits` is unchanged. O(numbers + rows).
    ///
    /// # Errors
    /// The numbers are not a valid partition of `extent.nvals` values into `extent.nrows` rows.
    pub fn decode(self, numbers: &[i64], extent: Extent, splits: &mut Vec<i64>) -> Result<usize, InvalidPartition> {
        let start = splits.len();
        let outcome = self.append(numbers, extent, splits).and_then(|()| match extent.nrows {
            Some(nrows) if nrows != (splits.len() - start) as i64 => {
                Err(InvalidPartition::Rows { encoding: self, found: splits.len() - start, nrows })
            }
            _ => Ok(splits.len() - start),
        });
        if outcome.is_err() {
            splits.truncate(start);
        }
        outcome
    }

    fn append(self, numbers: &[i64], extent: Extent, splits: &mut Vec<i64>) -> Result<(), InvalidPartition> {
        let base = splits.last().copied().unwrap_or(0);
        if let Some(nrows) = extent.nrows.filter(|n| *n < 0) {
            return Err(InvalidPartition::NegativeRows(nrows));
        }
        match self {
            PartitionEncoding::RowLengths | PartitionEncoding::Lod => self.append_lengths(numbers, base, extent.nvals, splits),
            PartitionEncoding::RowSplits | PartitionEncoding::LodOffsets => {
                let (first, limits) = numbers.split_first().ok_or(InvalidPartition::Empty(self))?;
                self.check_start(*first)?;
                let end = self.append_limits(limits, 1, base, splits)?;
                self.check_end(end, extent.nvals)
            }
            PartitionEncoding::RowLimits => {
                let end = self.append_limits(numbers, 0, base, splits)?;
                self.check_end(end, extent.nvals)
            }
            PartitionEncoding::RowStarts => {
                let Some((first, limits)) = numbers.split_first() else { return self.check_end(0, extent.nvals) };
                self.check_start(*first)?;
                let last = self.append_limits(limits, 1, base, splits)?;
                if last as u64 > extent.nvals as u64 {
                    return Err(InvalidPartition::Values { encoding: self, end: last, nvals: extent.nvals });
                }
                splits.push(base + extent.nvals as i64);
                Ok(())
            }
            PartitionEncoding::ValueRowids => self.append_rowids(numbers, base, extent, splits),
            PartitionEncoding::UniformRowLength => self.append_uniform(numbers.first().copied().unwrap_or(0), base, extent, splits),
        }
    }

    fn check_start(self, first: i64) -> Result<(), InvalidPartition> {
        if first == 0 { Ok(()) } else { Err(InvalidPartition::Start(self, first)) }
    }

    fn check_end(self, end: i64, nvals: usize) -> Result<(), InvalidPartition> {
        if end as u64 == nvals as u64 { Ok(()) } else { Err(InvalidPartition::Values { encoding: self, end, nvals }) }
    }

    fn append_lengths(self, lengths: &[i64], base: i64, nvals: usize, splits: &mut Vec<i64>) -> Result<(), InvalidPartition> {
        // Branch-free: a negative length or an overflowing sum sets a sign bit.
        let (mut end, mut signs) = (0i64, 0i64);
        splits.extend(lengths.iter().map(|length| {
            end = end.wrapping_add(*length);
            signs |= length | end;
            base.wrapping_add(end)
        }));
        if signs < 0 {
            return Err(self.invalid_lengths(lengths));
        }
        self.check_end(end, nvals)
    }

    #[cold]
    fn invalid_lengths(self, lengths: &[i64]) -> InvalidPartition {
        match lengths.iter().find(|length| **length < 0) {
            Some(length) => InvalidPartition::Negative(self, *length),
            None => InvalidPartition::Overflow(self),
        }
    }

    /// Appends row ends, the first of which is the number at `position`. Returns the last one.
    fn append_limits(self, limits: &[i64], position: usize, base: i64, splits: &mut Vec<i64>) -> Result<i64, InvalidPartition> {
        let (mut last, mut signs) = (0i64, 0i64);
        splits.extend(limits.iter().map(|limit| {
            signs |= limit | limit.wrapping_sub(last);
            last = *limit;
            base.wrapping_add(*limit)
        }));
        if signs < 0 {
            return Err(self.decreasing(limits, position));
        }
        Ok(last)
    }

    #[cold]
    fn decreasing(self, limits: &[i64], position: usize) -> InvalidPartition {
        let before = std::iter::once(0).chain(limits.iter().copied());
        let found = before.zip(limits).enumerate().find(|(_, (from, to))| *to < from);
        let (i, (from, to)) = found.unwrap_or((0, (0, &0)));
        InvalidPartition::Decreasing { encoding: self, from, to: *to, position: position + i }
    }

    fn append_rowids(self, ids: &[i64], base: i64, extent: Extent, splits: &mut Vec<i64>) -> Result<(), InvalidPartition> {
        if let Some(at) = ids.windows(2).position(|w| w[1] < w[0]) {
            return Err(InvalidPartition::Decreasing { encoding: self, from: ids[at], to: ids[at + 1], position: at + 1 });
        }
        if let Some(first) = ids.first().filter(|id| **id < 0) {
            return Err(InvalidPartition::Negative(self, *first));
        }
        if ids.len() != extent.nvals {
            return Err(InvalidPartition::Values { encoding: self, end: ids.len() as i64, nvals: extent.nvals });
        }
        let least = ids.last().map_or(0, |last| last.saturating_add(1));
        let nrows = extent.nrows.unwrap_or(least);
        if nrows < least {
            return Err(InvalidPartition::RowBeyond { row: least - 1, nrows });
        }
        reserve_rows(nrows, extent, splits)?;
        let mut row = 0;
        for (i, id) in ids.iter().enumerate() {
            while row < *id {
                splits.push(base + i as i64);
                row += 1;
            }
        }
        let end = base + extent.nvals as i64;
        splits.extend((row..nrows).map(|_| end));
        Ok(())
    }

    fn append_uniform(self, length: i64, base: i64, extent: Extent, splits: &mut Vec<i64>) -> Result<(), InvalidPartition> {
        if length < 0 {
            return Err(InvalidPartition::Negative(self, length));
        }
        let nrows = extent.nrows.unwrap_or((extent.nvals as i64).checked_div(length).unwrap_or(0));
        self.check_end(nrows.checked_mul(length).ok_or(InvalidPartition::Overflow(self))?, extent.nvals)?;
        reserve_rows(nrows, extent, splits)?;
        splits.extend((1..=nrows).map(|row| base + row * length));
        Ok(())
    }
}

fn reserve_rows(nrows: i64, extent: Extent, splits: &mut Vec<i64>) -> Result<(), InvalidPartition> {
    match usize::try_from(nrows) {
        Ok(n) if n <= extent.max_rows => splits.reserve(n),
        _ => return Err(InvalidPartition::TooManyRows { nrows, nvals: extent.nvals }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::RowPartition;
    use PartitionEncoding::*;

    #[test]
    fn a_partition_is_appended_or_nothing_is() {
        type Case = (PartitionEncoding, &'static [i64], usize, Option<i64>, Result<&'static [i64], &'static str>);
        let cases: &[Case] = &[
            (RowLengths, &[2, 0, 1], 3, None, Ok(&[12, 12, 13])),
            (RowLengths, &[2, 0, 1], 3, Some(3), Ok(&[12, 12, 13])),
            (RowLengths, &[2, 0, 1], 3, Some(4), Err("row_lengths make 3 rows, but nrows is 4")),
            (RowLengths, &[], 0, None, Ok(&[])),
            (RowLengths, &[], 3, None, Err("row_lengths add up to 0, but there are 3 values")),
            (RowLengths, &[-1, 4], 3, None, Err("row_lengths contain -1; they must not be negative")),
            (RowLengths, &[i64::MAX, i64::MAX, 5], 3, None, Err("the sum of row_lengths exceeds 63 bits")),
            (RowSplits, &[0, 2, 2, 3], 3, None, Ok(&[12, 12, 13])),
            (RowSplits, &[], 0, None, Err("row_splits are empty; the first must be 0")),
            (RowSplits, &[0], 0, None, Ok(&[])),
            (RowSplits, &[1, 3], 3, None, Err("row_splits start at 1 instead of 0")),
            (RowSplits, &[0, 2, 1, 3], 3, None, Err("row_splits decrease from 2 to 1 at position 2")),
            (RowSplits, &[0, 5], 3, None, Err("row_splits end at 5, but there are 3 values")),
            (RowStarts, &[0, 2, 2], 3, None, Ok(&[12, 12, 13])),
            (RowStarts, &[0, 7], 3, None, Err("row_starts go up to 7, but there are 3 values")),
            (RowStarts, &[], 0, None, Ok(&[])),
            (RowStarts, &[], 3, None, Err("row_starts go up to 0, but there are 3 values")),
            (RowLimits, &[2, 2, 3], 3, None, Ok(&[12, 12, 13])),
            (RowLimits, &[1, 2], 3, None, Err("row_limits end at 2, but there are 3 values")),
            (RowLimits, &[-1, 3], 3, None, Err("row_limits decrease from 0 to -1 at position 0")),
            (ValueRowids, &[0, 0, 2], 3, None, Ok(&[12, 12, 13])),
            (ValueRowids, &[1, 1, 2], 3, Some(5), Ok(&[10, 12, 13, 13, 13])),
            (ValueRowids, &[], 0, Some(2), Ok(&[10, 10])),
            (ValueRowids, &[0, 2], 3, None, Err("found 2 value_rowids for 3 values")),
            (ValueRowids, &[-1, 0], 2, None, Err("value_rowids contain -1; they must not be negative")),
            (ValueRowids, &[0, 4], 2, Some(3), Err("value_rowids go up to 4, but nrows is 3")),
            (ValueRowids, &[0, 4], 2, Some(-3), Err("nrows is -3; it must not be negative")),
            (ValueRowids, &[0, 0, i64::MAX], 3, None, Err("9223372036854775807 rows are too many for 3 values")),
            (UniformRowLength, &[2], 4, None, Ok(&[12, 14])),
            (UniformRowLength, &[0], 0, Some(2), Ok(&[10, 10])),
            (UniformRowLength, &[2], 5, None, Err("rows of equal length cover 4 values, but there are 5")),
            (UniformRowLength, &[-2], 4, None, Err("uniform_row_length is -2; it must not be negative")),
            (UniformRowLength, &[0], 0, Some(i64::MAX), Err("9223372036854775807 rows are too many for 0 values")),
            (Lod, &[3, 1], 3, None, Err("the lengths of lod add up to 4, but there are 3 values")),
            (LodOffsets, &[0, 2], 3, None, Err("lod_offsets end at 2, but there are 3 values")),
        ];
        for (encoding, numbers, nvals, nrows, expected) in cases {
            let mut splits = vec![0, 10];
            let found = encoding.decode(numbers, Extent::of_values(*nvals).with_nrows(*nrows), &mut splits);
            match expected {
                Ok(rows) => {
                    assert_eq!(found, Ok(rows.len()), "{encoding:?} {numbers:?}");
                    assert_eq!(splits[2..], **rows, "{encoding:?} {numbers:?}");
                }
                Err(message) => {
                    assert_eq!(found.unwrap_err().to_string(), *message, "{encoding:?} {numbers:?}");
                    assert_eq!(splits, [0, 10], "{encoding:?} {numbers:?}");
                }
            }
        }
    }

    #[test]
    fn decoding_inverts_encoding() {
        // Rows 1 .. 4 of a partition: [] [c] [d e f]
        let partition = RowPartition::from_row_lengths([2, 0, 1, 3]).unwrap();
        for encoding in PartitionEncoding::VECTORS {
            let (mut numbers, mut splits) = (Vec::new(), vec![0]);
            partition.encode(encoding, 1..4, &mut numbers);
            encoding.decode(&numbers, Extent::of_values(4).with_nrows(Some(3)), &mut splits).unwrap();
            assert_eq!(splits, [0, 0, 1, 4], "{encoding:?}: {numbers:?}");
        }
    }
}
