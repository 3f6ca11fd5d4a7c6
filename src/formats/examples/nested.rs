//! Tensors with several axes.

use super::arrange::{Arrange, known_count};
use super::features::Features;
use super::mapping::{AxisRows, Leaf};
use super::values::Append;
use super::wire::{self, DecodeError, FeatureKind, Parse, fail};
use crate::error::{Error, Result, mismatch};
use crate::schema::Size;
use crate::tensor::encoding::{Extent, InvalidPartition};
use crate::tensor::{RowPartition, Tensor};
use arrow_buffer::NullBuffer;

/// The features with partitions.
pub fn stored(axes: &[AxisRows]) -> Vec<usize> {
    axes.iter().filter_map(|a| if let AxisRows::Stored(_, feature) = a { Some(*feature) } else { None }).collect()
}

/// Several axes, split by known sizes or by partitions stored in other features.
pub struct Nested {
    axes: Vec<AxisRows>,
    /// For each axis, its row splits or its number of rows.
    levels: Vec<Level>,
    outer: Vec<i64>,
    numbers: Vec<i64>,
}

#[derive(Clone)]
enum Level {
    Splits(Vec<i64>),
    Rows(usize),
}

impl Level {
    fn nrows(&self) -> usize {
        match self {
            Level::Splits(splits) => splits.len() - 1,
            Level::Rows(n) => *n,
        }
    }
    fn truncate(&mut self, nrows: usize) {
        match self {
            Level::Splits(splits) => splits.truncate(nrows + 1),
            Level::Rows(n) => *n = nrows,
        }
    }
}

impl Nested {
    /// Axes 1, 2, ..., outermost first.
    pub fn new(axes: &[AxisRows]) -> Nested {
        let levels = axes.iter().map(|a| if let AxisRows::Every(_) = a { Level::Rows(0) } else { Level::Splits(vec![0]) }).collect();
        Nested { axes: axes.to_vec(), levels, outer: vec![0], numbers: Vec::new() }
    }

    fn split(&mut self, leaf: &Leaf, features: &Features, row: usize, n: usize) -> Parse<usize> {
        let mut items = n;
        for i in (0..self.axes.len()).rev() {
            items = match (self.axes[i], &mut self.levels[i]) {
                (AxisRows::Stored(encoding, feature), Level::Splits(splits)) => {
                    let span = features.span(feature, row);
                    let at = span.start;
                    self.numbers.clear();
                    match wire::list(features.bytes, span)? {
                        None => {}
                        Some((FeatureKind::Int64, list)) => wire::int64s(list, &mut self.numbers)?,
                        Some((found, _)) => return fail(at, mismatch("a partition in an int64_list", found.described())),
                    }
                    let first = splits.len();
                    // A missing or empty feature means a record without rows, in every encoding.
                    if items > 0 || !self.numbers.is_empty() {
                        let extent = Extent { nvals: items, nrows: None, max_rows: features.max_rows };
                        encoding.decode(&self.numbers, extent, splits).map_err(|invalid| {
                            let more = if let InvalidPartition::TooManyRows { .. } = invalid { " (--max-record-bytes)" } else { "" };
                            DecodeError { at, what: format!("{invalid}{more}").into(), widens: false }
                        })?;
                    }
                    if leaf.dims.get(i + 1).is_some_and(|d| d.size == Size::Uniform)
                        && splits[first - 1..].windows(3).any(|w| w[1] - w[0] != w[2] - w[1])
                    {
                        return fail(at, format!("axis {} has rows of different lengths inside the record", i + 1));
                    }
                    splits.len() - first
                }
                (AxisRows::Rest, Level::Splits(splits)) => {
                    let rows = known_count(&leaf.dims[..=i]).unwrap_or(0);
                    if (rows == 0 && items > 0) || (rows > 0 && !items.is_multiple_of(rows)) {
                        return fail(0, format!("{items} values cannot be divided into {rows} rows of the same size"));
                    }
                    let (size, mut end) = (items.checked_div(rows).unwrap_or(0) as i64, splits.last().copied().unwrap_or(0));
                    splits.extend((0..rows).map(|_| {
                        end += size;
                        end
                    }));
                    rows
                }
                (AxisRows::Every(size), Level::Rows(rows)) => {
                    if (size == 0 && items > 0) || (size > 0 && !items.is_multiple_of(size)) {
                        return fail(0, format!("{items} values cannot be divided into rows of {size}"));
                    }
                    let found = items.checked_div(size).unwrap_or(0);
                    *rows += found;
                    found
                }
                _ => items,
            };
        }
        match leaf.dims.first().map(|d| d.size) {
            Some(Size::Known(size)) if size != items as u64 => fail(0, mismatch(format_args!("{size} rows"), items)),
            _ => Ok(items),
        }
    }
}

impl Arrange for Nested {
    fn companions(&self) -> Vec<usize> {
        stored(&self.axes)
    }
    fn accept(&mut self, leaf: &Leaf, features: &Features, row: usize, n: usize) -> Parse<()> {
        let before: Vec<usize> = self.levels.iter().map(Level::nrows).collect();
        match self.split(leaf, features, row, n) {
            Ok(items) => {
                self.outer.push(self.outer.last().copied().unwrap_or(0) + items as i64);
                Ok(())
            }
            Err(error) => {
                for (level, nrows) in self.levels.iter_mut().zip(before) {
                    level.truncate(nrows);
                }
                Err(error)
            }
        }
    }
    fn empty(&mut self, leaf: &Leaf) -> usize {
        // A known size has its rows even if the record is null; the innermost rows hold filler values.
        let mut items = match leaf.dims.first().map(|d| d.size) {
            Some(Size::Known(n)) => usize::try_from(n).unwrap_or(0),
            _ => 0,
        };
        self.outer.push(self.outer.last().copied().unwrap_or(0) + items as i64);
        for (axis, level) in self.axes.iter().zip(&mut self.levels) {
            match (axis, level) {
                (AxisRows::Every(size), Level::Rows(rows)) => {
                    *rows += items;
                    items *= size;
                }
                (_, Level::Splits(splits)) => {
                    let end = splits.last().copied().unwrap_or(0);
                    splits.resize(splits.len() + items, end);
                    items = 0;
                }
                _ => {}
            }
        }
        items
    }
    fn finish(self, nrows: usize, values: impl Append, nulls: Option<NullBuffer>, leaf: &Leaf) -> Result<Tensor> {
        let mut tensor = values.finish(None)?;
        for (axis, level) in self.axes.iter().zip(self.levels).rev() {
            let partition = match (axis, level) {
                (_, Level::Splits(splits)) => RowPartition::from_row_splits(splits)?,
                (AxisRows::Every(size), Level::Rows(rows)) => RowPartition::uniform(*size, rows)?,
                (AxisRows::Stored(..) | AxisRows::Rest, Level::Rows(_)) => {
                    return Err(Error::internal("a stored partition without splits"));
                }
            };
            tensor = Tensor::list(partition, tensor, None)?;
        }
        let outer = match leaf.dims.first().map(|d| d.size) {
            Some(Size::Known(n)) => RowPartition::uniform(usize::try_from(n).unwrap_or(0), nrows)?,
            _ => RowPartition::from_row_splits(self.outer)?,
        };
        Tensor::list(outer, tensor, nulls)
    }
}
