//! Python's slices, on splits.

use super::level::from_lengths;
use super::ranges::{Run, take_runs};
use crate::error::{Error, Result};
use crate::tensor::{RowPartition, Tensor};

/// `start:stop:step`; the step is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    pub start: Option<i64>,
    pub stop: Option<i64>,
    pub step: i64,
}

impl Slice {
    /// First item and number of items of a row of that length, as Python counts them.
    pub fn of_row(&self, length: usize) -> (usize, usize) {
        let n = length as i64;
        let (low, high) = if self.step > 0 { (0, n) } else { (-1, n - 1) };
        let clamp = |v: i64| {
            let v = if v < 0 { v.saturating_add(n) } else { v };
            v.clamp(low, high)
        };
        let start = self.start.map_or(if self.step > 0 { low } else { high }, clamp);
        let stop = self.stop.map_or(if self.step > 0 { high } else { low }, clamp);
        let span = if self.step > 0 { stop - start } else { start - stop };
        if span <= 0 {
            return (0, 0);
        }
        let step = self.step.unsigned_abs();
        ((start.max(0)) as usize, ((span as u64 - 1) / step + 1) as usize)
    }
}

/// The items that a slice takes of each row: their partition, and their values. `of_row` gives the slice of a row.
///
/// # Errors
/// A failure of memory only.
pub fn rows(partition: &RowPartition, values: &Tensor, of_row: impl Fn(usize) -> Slice) -> Result<(RowPartition, Tensor)> {
    let nrows = partition.nrows();
    if nrows == 0 {
        let row = of_row(0);
        // No row is there to cut, but a uniform axis has its new size all the same.
        let out = match partition.uniform_row_length() {
            Some(length) => RowPartition::uniform(row.of_row(length).1, 0)?,
            None => partition.clone(),
        };
        return Ok((out, values.clone()));
    }
    let mut lengths = Vec::with_capacity(nrows);
    let values = if of_row(0).step == 1 {
        let mut runs: Vec<Run> = Vec::with_capacity(nrows);
        for row in 0..nrows {
            let (first, count) = of_row(row).of_row(partition.row_length(row));
            lengths.push(count);
            let start = partition.start(row) + first;
            match runs.last_mut() {
                _ if count == 0 => {}
                Some(last) if last.end == start => last.end += count,
                _ => runs.push(Run { part: 0, start, end: start + count }),
            }
        }
        take_runs(&[values], &runs)?
    } else {
        let mut places: Vec<usize> = Vec::with_capacity(partition.nvals());
        for row in 0..nrows {
            let slice = of_row(row);
            let (first, count) = slice.of_row(partition.row_length(row));
            lengths.push(count);
            let start = partition.start(row) + first;
            let step = usize::try_from(slice.step.unsigned_abs()).unwrap_or(usize::MAX);
            if slice.step > 0 {
                places.extend((0..count).map(|i| start + i * step));
            } else {
                places.extend((0..count).map(|i| start - i * step));
            }
        }
        values.gather(&places)?
    };
    let out = match (partition.uniform_row_length(), lengths.first()) {
        (Some(_), Some(first)) if lengths.iter().all(|l| l == first) => RowPartition::uniform(*first, nrows)?,
        _ => from_lengths(lengths)?,
    };
    Ok((out, values))
}

/// The item at `of_row` of each row; negative numbers count from its end.
///
/// # Errors
/// A row that is too short: its number is the error's row.
pub fn items(partition: &RowPartition, values: &Tensor, of_row: impl Fn(usize) -> i64) -> Result<Tensor, (usize, Error)> {
    let mut places = Vec::with_capacity(partition.nrows());
    for row in 0..partition.nrows() {
        let length = partition.row_length(row);
        let index = of_row(row);
        let at = if index < 0 { index.checked_add(length as i64) } else { Some(index) };
        match at.and_then(|i| usize::try_from(i).ok()).filter(|i| *i < length) {
            Some(i) => places.push(partition.start(row) + i),
            None => {
                let items = if length == 1 { "1 item".to_owned() } else { format!("{length} items") };
                return Err((row, Error::data(format!("index {index} is out of range of {items}"))));
            }
        }
    }
    values.gather(&places).map_err(|e| (0, e))
}
