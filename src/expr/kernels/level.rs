//! Walks over the levels of a tensor.

use crate::error::{Error, Result};
use crate::tensor::{RowPartition, Tensor, row_of};

/// The levels `from .. to` merged into one partition: of the rows of level `from` into the items of level `to`.
///
/// # Errors
/// There are fewer levels.
pub fn merged(tensor: &Tensor, from: usize, to: usize) -> Result<RowPartition> {
    let (partitions, below) = tensor.levels(to)?;
    let nrows = partitions.get(from).map_or_else(|| below.nrows(), |p| p.nrows());
    match partitions.get(from..to) {
        Some([first, rest @ ..]) => Ok(rest.iter().fold((*first).clone(), |all, p| all.merge(p))),
        _ => RowPartition::uniform(1, nrows),
    }
}

/// The row of the chunk that item `item` of level `level` belongs to.
pub fn record_of(tensor: &Tensor, level: usize, item: usize) -> usize {
    tensor.levels(level).map_or(0, |(partitions, _)| partitions.iter().rev().fold(item, |at, p| row_of(p, at)))
}

/// The row of the chunk of an item below these partitions, outermost first.
pub fn record_below<'a>(partitions: impl DoubleEndedIterator<Item = &'a RowPartition>, item: usize) -> usize {
    partitions.rev().fold(item, |at, p| row_of(p, at))
}

/// Lists of these partitions, outermost first, around a tensor.
///
/// # Errors
/// They do not fit together.
pub fn wrap(partitions: impl DoubleEndedIterator<Item = RowPartition>, below: Tensor) -> Result<Tensor> {
    partitions.rev().try_fold(below, |inner, p| Tensor::list(p, inner, None))
}

/// The tensor below one list level.
///
/// # Errors
/// It has no axis.
pub fn inside(tensor: &Tensor) -> Result<(&RowPartition, &Tensor)> {
    let list = tensor.as_list()?;
    Ok((list.partition(), list.values()))
}

/// Row splits as they stand, owned: `[nrows + 1]`.
pub fn splits(partition: &RowPartition) -> Vec<i64> {
    partition.row_splits().to_vec()
}

/// A partition from row lengths that are known to be right.
///
/// # Errors
/// More values than can be counted.
pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Result<RowPartition> {
    RowPartition::from_row_lengths(lengths.into_iter().map(|l| i64::try_from(l).unwrap_or(i64::MAX)))
}

/// Limits how many values a function may make of one record's numbers: `fill`, `tile`, `range` ...
///
/// # Errors
/// More than 2^32 values.
pub fn check_count(count: Option<usize>, row: usize) -> Result<usize> {
    const MOST: usize = 1 << 28;
    count.filter(|n| *n <= MOST).ok_or_else(|| Error::data("the result would have more than 2^28 values").at_row(row))
}
