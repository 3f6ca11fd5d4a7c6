//! A large row group, read once by all tasks that share it.
//!
//! Parquet is read from the start of a row group. A task for rows in the middle would have to skip all rows before
//! them, which makes the total time quadratic. Therefore each lane of columns has one reader that advances through the
//! group range by range. A task takes its range from each lane; if a lane has not advanced that far, the task reads on and
//! leaves the ranges of other tasks for them.

use super::failure::damaged;
use super::measure::Measures;
use super::opened::Opened;
use super::row_groups;
use super::sizes::{Limits, Suspect};
use crate::demand::RecordNumbers;
use crate::error::{Error, Result};
use crate::formats::columnar::lanes::{self, Lanes};
use arrow_array::ArrayRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The readers of one row group.
pub struct GroupLanes {
    opened: Arc<Opened>,
    group: usize,
    /// The number of the group's first record, from 0.
    first: u64,
    limits: Limits,
    /// Number of rows in a range; the last can be shorter.
    range_rows: usize,
    /// The required rows of the group; no task requests a range without any. `None` for all.
    only: Option<RecordNumbers>,
    lanes: Lanes<Lane>,
}

/// The columns of a range of rows, and an error for each record that exceeds the limit.
pub type RangeColumns = (Vec<ArrayRef>, Vec<Error>);

/// Some of the columns.
struct Lane {
    roots: Vec<usize>,
    suspects: Vec<Suspect>,
    reader: Option<(ParquetRecordBatchReader, Measures)>,
    /// Why the reader stopped.
    failed: Option<Error>,
    /// The number of the next range from the reader.
    next: usize,
    /// Ranges read ahead for other tasks.
    ready: BTreeMap<usize, RangeColumns>,
}

impl GroupLanes {
    /// The columns `roots` of a row group, whose first record is number `first`, in ranges of `range_rows` rows. Reads
    /// nothing yet.
    pub fn new(
        opened: Arc<Opened>,
        (group, first): (usize, u64),
        roots: &[usize],
        suspects: &[Suspect],
        range_rows: usize,
        only: Option<RecordNumbers>,
        limits: Limits,
    ) -> GroupLanes {
        let schema = opened.metadata.parquet_schema();
        let lanes = shares(&opened.metadata, group, roots).into_iter().map(|part| {
            let roots = roots[part].to_vec();
            let suspects = suspects.iter().copied().filter(|suspect| roots.contains(&schema.get_column_root_idx(suspect.leaf)));
            let suspects = suspects.collect();
            Lane { roots, suspects, reader: None, failed: None, next: 0, ready: BTreeMap::new() }
        });
        let lanes = Lanes::new(lanes);
        GroupLanes { opened, group, first, limits, range_rows, only, lanes }
    }

    /// The columns of a range, in the order of the roots, and the errors for its records that exceed the limit.
    ///
    /// # Errors
    /// Pages are damaged, or have fewer rows than the footer declares.
    pub fn take(&self, range: usize) -> Result<RangeColumns> {
        let parts = self.lanes.visit(range, |lane| self.read(lane, range))?.into_iter().collect::<Result<Vec<_>>>()?;
        let (arrays, large): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        Ok((arrays.concat(), large.concat()))
    }

    fn read(&self, lane: &mut Lane, range: usize) -> Result<RangeColumns> {
        loop {
            if let Some(part) = lane.ready.remove(&range) {
                return Ok(part);
            }
            if let Some(error) = &lane.failed {
                return Err(error.clone());
            }
            let part = self.next(lane).inspect_err(|error| lane.failed = Some(error.clone()))?;
            if self.is_wanted(lane.next) {
                lane.ready.insert(lane.next, part);
            }
            lane.next += 1;
        }
    }

    /// The next range of a lane.
    fn next(&self, lane: &mut Lane) -> Result<RangeColumns> {
        let (reader, measures) = match &mut lane.reader {
            Some(reader) => reader,
            None => {
                let metadata = &self.opened.metadata;
                let mask = ProjectionMask::roots(metadata.parquet_schema(), lane.roots.iter().copied());
                let levels = row_groups::levels(metadata, mask)?;
                let reader = row_groups::reader(&self.opened, vec![self.group], &levels, self.range_rows, None)?;
                let measures = Measures::new(self.opened.clone(), (self.group, self.first), 0, lane.suspects.clone(), self.limits)?;
                lane.reader.insert((reader, measures))
            }
        };
        measures.before(self.range_rows)?;
        let batch = reader.next().ok_or_else(stopped)?.map_err(|e| damaged(&e.to_string()))?;
        let large = measures.after(self.range_rows, batch.get_array_memory_size())?;
        Ok((self.opened.arrays(&batch)?, large))
    }

    fn is_wanted(&self, range: usize) -> bool {
        let (first, rows) = (range as u64 * self.range_rows as u64, self.range_rows as u64);
        self.only.as_ref().is_none_or(|only| only.within(first + 1..=first + rows, 1).is_some())
    }
}

fn stopped() -> Error {
    Error::data("a row group ends before its last row: one of its pages is damaged")
}

/// Divides the columns by their size in the file, in order.
fn shares(metadata: &ArrowReaderMetadata, group: usize, roots: &[usize]) -> Vec<Range<usize>> {
    let schema = metadata.parquet_schema();
    let mut nbytes = vec![0u64; schema.root_schema().get_fields().len()];
    for (leaf, column) in metadata.metadata().row_group(group).columns().iter().enumerate() {
        nbytes[schema.get_column_root_idx(leaf)] += u64::try_from(column.compressed_size()).unwrap_or(0).max(1);
    }
    let sizes: Vec<u64> = roots.iter().map(|root| nbytes.get(*root).copied().unwrap_or(1)).collect();
    lanes::shares(&sizes)
}
