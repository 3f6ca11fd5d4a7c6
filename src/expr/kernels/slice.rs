//! Python slices applied to rows.

use crate::error::{Error, Result};
use crate::tensor::take::{Native, Run, native, push_reversed, push_row, take_runs, with_room};
use crate::tensor::{List, RowPartition, Tensor};

/// `start:stop:step`, where the step is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    pub start: Option<i64>,
    pub stop: Option<i64>,
    pub step: i64,
}

impl Slice {
    /// The first item and the number of items in a row of that length, as in Python's `slice.indices`. O(1).
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

/// The items that a slice takes from each row, as `x[:, start:stop:step]` does: their partition and values. `of_row` returns
/// the slice for a row. O(rows + values taken).
///
/// # Errors
/// Only if memory runs out.
pub fn rows(partition: &RowPartition, values: &Tensor, of_row: impl Fn(usize) -> Slice) -> Result<(RowPartition, Tensor)> {
    let nrows = partition.nrows();
    if nrows == 0 {
        // Without rows there is nothing to cut, but a uniform axis still gets its new size.
        let out = match partition.uniform_row_length() {
            Some(length) => RowPartition::uniform(of_row(0).of_row(length).1, 0)?,
            None => RowPartition::from_row_splits(vec![0])?,
        };
        return Ok((out, values.clone()));
    }
    let mut end = 0;
    let mut splits: Vec<i64> = Vec::with_capacity(nrows + 1);
    splits.push(0);
    let mut uniform = partition.uniform_row_length().map(|length| of_row(0).of_row(length).1);
    let mut next = |row: usize| {
        let slice = of_row(row);
        let (first, count) = slice.of_row(partition.row_length(row));
        uniform = uniform.filter(|n| *n == count);
        end += count as i64;
        splits.push(end);
        (partition.start(row) + first, count, slice.step)
    };
    let values = if (0..nrows).all(|row| of_row(row).step == 1) {
        let mut runs: Vec<Run> = Vec::with_capacity(nrows);
        for row in 0..nrows {
            let (start, count, _) = next(row);
            match runs.last_mut() {
                _ if count == 0 => {}
                Some(last) if last.end == start => last.end += count,
                _ => runs.push(Run { part: 0, start, end: start + count }),
            }
        }
        take_runs(&[values], &runs)?
    } else {
        let strides: Vec<(usize, usize, i64)> = (0..nrows).map(&mut next).filter(|(_, count, _)| *count > 0).collect();
        take_strides(values, &strides)?
    };
    let out = match uniform {
        Some(n) => RowPartition::uniform(n, nrows)?,
        None => RowPartition::from_row_splits(splits)?,
    };
    Ok((out, values))
}

/// The items that `cut` takes from each row of a list, as a list. Null rows stay null; rows left without items remember the sizes
/// of those they had.
/// O(rows) and the cost of `cut`.
///
/// # Errors
/// Those of `cut`.
pub fn cut(list: &List, cut: impl FnOnce(&RowPartition, &Tensor) -> Result<(RowPartition, Tensor)>) -> Result<Tensor> {
    let (partition, values) = cut(list.partition(), list.values())?;
    let partition = partition.with_item_sizes(&values, |row, sizes| list.item_sizes(row, sizes));
    Tensor::list(partition, values, list.validity().cloned())
}

/// Like [`rows`], with the same slice for every row. O(rows + values taken).
///
/// # Errors
/// See [`rows`].
pub fn each_row(partition: &RowPartition, values: &Tensor, slice: Slice) -> Result<(RowPartition, Tensor)> {
    if let Tensor::Leaf(array) = values
        && matches!(slice.step, 1 | -1)
        && partition.nrows() > 0
    {
        let (splits, slice) = (partition.row_splits(), Ends::new(slice));
        let mut end = 0;
        let new: Vec<i64> = std::iter::once(0)
            .chain(splits.windows(2).map(|w| {
                let (first, after) = slice.of(w[1] - w[0]);
                end += after - first;
                end
            }))
            .collect();
        if let Some(out) = native(&[array], &Ended { splits: &splits, slice, len: end as usize }) {
            let partition = match partition.uniform_row_length() {
                Some(_) => RowPartition::uniform(new[1] as usize, partition.nrows())?,
                None => RowPartition::from_row_splits(new)?,
            };
            return Ok((partition, Tensor::Leaf(out)));
        }
    }
    rows(partition, values, |_| slice)
}

/// A slice with step 1 or -1, as the items between two bounds.
#[derive(Clone, Copy)]
struct Ends {
    first: Option<i64>,
    after: Option<i64>,
    reversed: bool,
}

impl Ends {
    fn new(slice: Slice) -> Ends {
        let Slice { start, stop, step } = slice;
        // `start:stop:-1` takes the items after `stop` up to `start`.
        let next = |v: i64| if v == -1 { None } else { Some(v.saturating_add(1)) };
        match step {
            -1 => Ends { first: stop.map(|s| next(s).unwrap_or(i64::MAX)), after: start.and_then(next), reversed: true },
            _ => Ends { first: start, after: stop, reversed: false },
        }
    }

    /// The first item in a row of that length, and the end.
    #[inline]
    fn of(&self, length: i64) -> (i64, i64) {
        let place = |v: i64| if v < 0 { v.saturating_add(length).max(0) } else { v.min(length) };
        let first = self.first.map_or(0, place);
        (first, self.after.map_or(length, place).max(first))
    }
}

struct Ended<'a> {
    splits: &'a [i64],
    slice: Ends,
    len: usize,
}

impl Native for Ended<'_> {
    fn run<N: Copy>(&self, values: &[&[N]]) -> Vec<N> {
        let mut out = with_room(self.len);
        for w in self.splits.windows(2) {
            let (first, after) = self.slice.of(w[1] - w[0]);
            let (start, end) = ((w[0] + first) as usize, (w[0] + after) as usize);
            if self.slice.reversed { push_reversed(&mut out, values[0], start, end) } else { push_row(&mut out, values[0], start, end) }
        }
        out
    }
}

/// The items at `start`, `start + step`, ..., this many from each row.
fn take_strides(values: &Tensor, strides: &[(usize, usize, i64)]) -> Result<Tensor> {
    let mut places: Vec<usize> = Vec::with_capacity(strides.iter().map(|(_, count, _)| count).sum());
    for (start, count, step) in strides {
        let width = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
        if *step > 0 {
            places.extend((0..*count).map(|i| start + i * width));
        } else {
            places.extend((0..*count).map(|i| start - i * width));
        }
    }
    values.gather(&places)
}

/// The item at `of_row` in each row, as `x[:, i]`: `[n, (a), ...]` to `[n, ...]`. Negative indices count from the end.
/// O(values taken).
///
/// # Errors
/// A row is too short; the error names the row.
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
                let slice = if index == -1 { "-1:".to_owned() } else { format!("{index}:{}", index.saturating_add(1)) };
                let error = Error::data(format!("index {index} is out of range for {items}"));
                return Err((row, error.help(format!("a slice also works for short rows: x[{slice}]"))));
            }
        }
    }
    values.gather(&places).map_err(|e| (0, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_between_ends_are_those_of_pythons_rules() {
        let bounds: Vec<Option<i64>> = (-6..=6).map(Some).chain([None, Some(i64::MIN), Some(i64::MAX)]).collect();
        for length in 0..5i64 {
            for (start, stop, step) in bounds.iter().flat_map(|a| bounds.iter().flat_map(move |b| [(*a, *b, 1), (*a, *b, -1)])) {
                let slice = Slice { start, stop, step };
                let (first, count) = slice.of_row(length as usize);
                let (low, high) = Ends::new(slice).of(length);
                let expected = if step == 1 { first as i64..(first + count) as i64 } else { (first + 1 - count) as i64..first as i64 + 1 };
                assert!(if count == 0 { low == high } else { (low..high) == expected }, "{slice:?} of {length}: {low}..{high}");
            }
        }
    }
}
