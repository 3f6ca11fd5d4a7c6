//! A large row group, read once by all the tasks that share it.
//!
//! Parquet is read from the start of a row group: a task that wanted rows in its middle would have to skip all
//! rows before them, which makes the time quadratic. So the columns of a group are divided into lanes, each with
//! one reader that goes through the group from range to range. A task takes the part of its own range from each
//! lane; where a lane has not come that far, the task reads on and leaves what belongs to other tasks for them.
//! No task ever waits for one that has not started, and threads work on different lanes at a time.
//!
//! This is the one place in a format that has locks: what is shared is a position in a file.

use super::failure::{damaged, lifted};
use crate::chunk::even_shares;
use crate::demand::Numbers;
use crate::error::{Error, Result};
use crate::formats::columnar::source::Source;
use arrow_array::ArrayRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, TryLockError};

/// More readers than threads that use them cost memory and bring nothing.
const MAX_LANES: usize = 8;

/// The readers of one row group.
pub struct Lanes {
    source: Source,
    metadata: ArrowReaderMetadata,
    group: usize,
    /// Rows of a range; the last may be shorter.
    range_rows: usize,
    /// The rows of the group that are wanted; no task asks for a range without any. `None`: all.
    only: Option<Numbers>,
    lanes: Vec<Mutex<Lane>>,
}

/// Some of the columns.
struct Lane {
    roots: Vec<usize>,
    reader: Option<ParquetRecordBatchReader>,
    /// The number of the range that the reader gives next.
    next: usize,
    /// Ranges that other tasks will ask for.
    ready: BTreeMap<usize, Vec<ArrayRef>>,
}

impl Lanes {
    /// The columns `roots` of a row group in ranges of `range_rows` rows. Nothing is read yet.
    pub fn new(
        source: Source,
        metadata: ArrowReaderMetadata,
        group: usize,
        roots: &[usize],
        range_rows: usize,
        only: Option<Numbers>,
    ) -> Lanes {
        let lanes = shares(&metadata, group, roots)
            .into_iter()
            .map(|part| Mutex::new(Lane { roots: roots[part].to_vec(), reader: None, next: 0, ready: BTreeMap::new() }));
        let lanes = lanes.collect();
        Lanes { source, metadata, group, range_rows, only, lanes }
    }

    /// The columns of a range, in the order of the roots.
    ///
    /// # Errors
    /// Damaged pages; fewer rows than the footer promises.
    pub fn take(&self, range: usize) -> Result<Vec<ArrayRef>> {
        let mut parts: Vec<Option<Vec<ArrayRef>>> = self.lanes.iter().map(|_| None).collect();
        let first = range % self.lanes.len().max(1);
        while parts.iter().any(Option::is_none) {
            let mut busy = None;
            for i in (first..self.lanes.len()).chain(0..first) {
                if parts[i].is_some() {
                    continue;
                }
                match self.lanes[i].try_lock() {
                    Ok(mut lane) => parts[i] = Some(self.read(&mut lane, range)?),
                    Err(TryLockError::WouldBlock) => busy = Some(i),
                    Err(TryLockError::Poisoned(_)) => return Err(stopped()),
                }
            }
            if let Some(i) = busy {
                parts[i] = Some(self.read(&mut *self.lanes[i].lock().map_err(|_| stopped())?, range)?);
            }
        }
        Ok(parts.into_iter().flatten().flatten().collect())
    }

    fn read(&self, lane: &mut Lane, range: usize) -> Result<Vec<ArrayRef>> {
        loop {
            if let Some(arrays) = lane.ready.remove(&range) {
                return Ok(arrays);
            }
            let reader = match &mut lane.reader {
                Some(reader) => reader,
                None => {
                    let mask = ProjectionMask::roots(self.metadata.parquet_schema(), lane.roots.iter().copied());
                    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.source.clone(), self.metadata.clone());
                    let builder = builder.with_row_groups(vec![self.group]).with_projection(mask).with_batch_size(self.range_rows);
                    lane.reader.insert(builder.build().map_err(lifted)?)
                }
            };
            let batch = reader.next().ok_or_else(stopped)?.map_err(|e| damaged(&e.to_string()))?;
            if self.is_wanted(lane.next) {
                lane.ready.insert(lane.next, batch.columns().to_vec());
            }
            lane.next += 1;
        }
    }
}

impl Lanes {
    fn is_wanted(&self, range: usize) -> bool {
        let (first, rows) = (range as u64 * self.range_rows as u64, self.range_rows as u64);
        self.only.as_ref().is_none_or(|only| only.within(first + 1..=first + rows, 1).is_some())
    }
}

fn stopped() -> Error {
    Error::data("a row group ends before its last row: one of its pages is damaged")
}

/// The columns divided by their bytes in the file, in order.
fn shares(metadata: &ArrowReaderMetadata, group: usize, roots: &[usize]) -> Vec<Range<usize>> {
    let schema = metadata.parquet_schema();
    let mut nbytes = vec![0u64; schema.root_schema().get_fields().len()];
    for (leaf, column) in metadata.metadata().row_group(group).columns().iter().enumerate() {
        nbytes[schema.get_column_root_idx(leaf)] += u64::try_from(column.compressed_size()).unwrap_or(0).max(1);
    }
    let sizes: Vec<u64> = roots.iter().map(|root| nbytes.get(*root).copied().unwrap_or(1)).collect();
    even_shares(&sizes, MAX_LANES)
}
