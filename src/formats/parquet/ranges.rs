//! Divides a file into ranges of rows, one for each task.

use super::lanes::GroupLanes;
use super::opened::Opened;
use super::sizes::{GroupSize, Limits, Suspect};
use crate::demand::RecordNumbers;
use crate::error::{Error, Result};
use crate::formats::format::Request;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use std::ops::Range;
use std::sync::Arc;

/// Approximate bytes in memory decoded by one task.
const TASK_NBYTES: u64 = 8 << 20;
/// A row group up to this size is one task, because skipping rows inside it has a cost.
const WHOLE_NBYTES: u64 = 32 << 20;
/// Number of rows of a task without columns, and maximum number for any other task.
const TASK_ROWS: u64 = 1 << 20;
/// If at least one in this many rows is required, a large row group is read range by range.
const DENSE: u64 = 4;

/// Consecutive rows: all rows of some row groups, or a range of rows in one.
pub struct RowRange {
    /// From 0, within the file.
    pub first: u64,
    pub groups: Range<usize>,
    /// The number of rows of the groups to skip, and then to read.
    pub skip: u64,
    pub nrows: u64,
    /// The required rows of the range, numbered from 1; `None` for all.
    pub only: Option<RecordNumbers>,
    /// Approximate number of bytes in the file.
    pub nbytes: u64,
    /// The readers of a large row group, and the index of the range.
    pub shared: Option<(Arc<GroupLanes>, usize)>,
    /// Leaf columns of a group in which a record may exceed the limit.
    pub suspects: Vec<(usize, Arc<[Suspect]>)>,
}

impl RowRange {
    /// The selection of rows to read from the group.
    ///
    /// # Errors
    /// More rows than can be addressed.
    pub fn selection(&self) -> Result<RowSelection> {
        let size = |n: u64| usize::try_from(n).map_err(|_| Error::data("a row group has too many rows"));
        let mut selectors = Vec::new();
        let mut at = 0;
        let all = RecordNumbers::range(1..=self.nrows);
        for range in self.only.as_ref().unwrap_or(&all).ranges() {
            let (start, end) = (self.skip + range.start() - 1, self.skip + range.end());
            selectors.extend([RowSelector::skip(size(start - at)?), RowSelector::select(size(end - start)?)]);
            at = end;
        }
        Ok(RowSelection::from(selectors))
    }
}

/// Divides a file into tasks.
pub struct RowRanges {
    opened: Arc<Opened>,
    mask: ProjectionMask,
    first: u64,
    group: usize,
    /// Number of rows of the current group already assigned.
    within: u64,
    left: u64,
    /// The numbers of the required rows; `None` for all.
    only: Option<Arc<RecordNumbers>>,
    /// The columns to read.
    roots: Vec<usize>,
    /// The readers of the current group.
    lanes: Option<Arc<GroupLanes>>,
    limits: Limits,
    /// The size of a group, the last one asked for.
    size: Option<(usize, GroupSize)>,
}

impl Iterator for RowRanges {
    type Item = Result<RowRange>;

    fn next(&mut self) -> Option<Result<RowRange>> {
        loop {
            let mut range = match self.cut().transpose()? {
                Ok(range) => range,
                Err(error) => {
                    self.left = 0;
                    return Some(Err(error));
                }
            };
            if let Some(only) = &self.only {
                let last = range.first + range.nrows;
                let Some(wanted) = only.within(range.first + 1..=last, 1) else { continue };
                range.only = Some(wanted).filter(|wanted| wanted.count() < range.nrows);
            }
            return Some(Ok(range));
        }
    }
}

impl RowRanges {
    /// The requested rows.
    pub fn new(opened: Arc<Opened>, mask: ProjectionMask, roots: &[usize], request: &Request) -> RowRanges {
        RowRanges {
            opened,
            mask,
            first: 0,
            group: 0,
            within: 0,
            left: request.records.unwrap_or(u64::MAX),
            only: request.only.clone(),
            roots: roots.to_vec(),
            lanes: None,
            limits: Limits::new(&request.options),
            size: None,
        }
    }

    /// The size of the current group.
    fn size(&mut self, first: u64) -> Result<GroupSize> {
        if let Some((_, size)) = self.size.as_ref().filter(|(group, _)| *group == self.group) {
            return Ok(size.clone());
        }
        let size = self.limits.size(&self.opened, self.group, &self.mask, first)?;
        Ok(self.size.insert((self.group, size)).1.clone())
    }

    /// The next range of rows.
    fn cut(&mut self) -> Result<Option<RowRange>> {
        self.pass_unwanted();
        let start = self.group;
        let (mut nrows, mut memory, mut file) = (0u64, 0u64, 0u64);
        let mut suspects = Vec::new();
        while self.left > 0 && self.group < self.opened.rows.len() {
            let rows = self.opened.rows[self.group];
            let size = match self.size(self.first + nrows) {
                // The groups before this one come first, as one range.
                Err(_) if nrows > 0 => break,
                size => size?,
            };
            let (all_memory, all_file, is_heavy) = (size.memory, size.file, size.is_heavy);
            let suspect = Some((self.group, size.suspects)).filter(|(_, leaves)| !leaves.is_empty());
            let rest = rows - self.within;
            let share = |nbytes: u64, part: u64| (u128::from(nbytes) * u128::from(part) / u128::from(rows.max(1))) as u64;
            let first = self.first + nrows;
            let wanted = self.only.as_ref().map(|only| only.within(first + 1..=first.saturating_add(rest).max(first + 1), 1));
            let nwanted = wanted.as_ref().map_or(rest, |wanted| wanted.as_ref().map_or(0, RecordNumbers::count));
            if self.within == 0 && all_memory <= WHOLE_NBYTES && rows <= TASK_ROWS {
                // Small row groups share a task, unless only some of their rows are required.
                let is_full = memory.saturating_add(all_memory) > TASK_NBYTES || nrows + rows > TASK_ROWS;
                if nrows > 0 && (is_full || nwanted < rest) {
                    break;
                }
                let taken = rest.min(self.left);
                (nrows, memory, file) = (nrows + taken, memory.saturating_add(all_memory), file.saturating_add(share(all_file, taken)));
                self.left -= taken;
                self.group += 1;
                suspects.extend(suspect);
                if nwanted < rest {
                    break;
                }
                continue;
            }
            if nrows > 0 {
                break;
            }
            // Each selection of rows has its own pages in memory.
            let is_dense = nwanted >= rest / DENSE || is_heavy;
            let (taken, shared) = match wanted.flatten().filter(|_| self.lanes.is_none() && (!is_dense || self.within > 0)) {
                // As many required rows as make up a task.
                Some(wanted) => {
                    let tasks = share(all_memory, nwanted).div_ceil(TASK_NBYTES).max(1);
                    let last = wanted.nth(nwanted.div_ceil(tasks).max(1) - 1).unwrap_or(rest);
                    (last.min(rest).min(self.left), None)
                }
                None => {
                    let tasks = all_memory.div_ceil(TASK_NBYTES).max(rows.div_ceil(TASK_ROWS)).max(1);
                    let range_rows = rows.div_ceil(tasks).max(1);
                    let taken = range_rows.min(rest).min(self.left);
                    (taken, self.lanes(range_rows, taken < range_rows.min(rest), suspect.as_ref().map_or(&[], |(_, leaves)| leaves)))
                }
            };
            let (first, skip) = (self.first, self.within);
            self.within += taken;
            self.left -= taken;
            self.first += taken;
            if self.within >= rows {
                (self.group, self.within) = (self.group + 1, 0);
                self.lanes = None;
            }
            let nbytes = share(all_file, taken);
            suspects.extend(suspect);
            return Ok(Some(RowRange { first, groups: start..start + 1, skip, nrows: taken, only: None, nbytes, shared, suspects }));
        }
        if self.group == start {
            return Ok(None);
        }
        let cut =
            RowRange { first: self.first, groups: start..self.group, skip: 0, nrows, only: None, nbytes: file, shared: None, suspects };
        self.first += nrows;
        Ok(Some(cut))
    }

    /// Skips the remaining rows of row groups without required rows; skips all if there are none.
    fn pass_unwanted(&mut self) {
        let Some(only) = &self.only else { return };
        while let Some(rows) = self.opened.rows.get(self.group) {
            let rest = rows - self.within;
            match only.from(self.first + 1) {
                None => self.left = 0,
                Some(next) if *next.start() > self.first + rest => {}
                Some(_) => return,
            }
            self.left = self.left.saturating_sub(rest);
            self.first += rest;
            (self.group, self.within) = (self.group + 1, 0);
            self.lanes = None;
        }
    }

    /// The readers shared by the ranges of the current group. `only_part`: only part of this range is read.
    fn lanes(&mut self, range_rows: u64, only_part: bool, suspects: &[Suspect]) -> Option<(Arc<GroupLanes>, usize)> {
        if self.roots.is_empty() || self.lanes.is_none() && (self.within > 0 || only_part) {
            return None;
        }
        let rows = usize::try_from(range_rows).ok()?;
        let range = usize::try_from(self.within / range_rows).ok()?;
        let opened = &self.opened;
        let last = self.first.saturating_add(opened.rows.get(self.group).copied().unwrap_or(0)).max(self.first + 1);
        let only = self.only.as_ref().and_then(|only| only.within(self.first + 1..=last, 1));
        let new = || {
            Arc::new(GroupLanes::new(
                opened.clone(),
                (self.group, self.first - self.within),
                &self.roots,
                suspects,
                rows,
                only,
                self.limits,
            ))
        };
        Some((self.lanes.get_or_insert_with(new).clone(), range))
    }
}
