//! Operations on the levels of a tensor.

use crate::error::{Error, Result};
use crate::expr::types::last_ragged;
use crate::schema::{Dim, Size};
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Tensor, row_of};
use arrow_array::Int64Array;
use std::sync::Arc;

/// Merges the levels `from .. to` into one partition, from the rows of level `from` to the items of level `to`. Without
/// levels, one item per row. O(rows of level `from` x levels).
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

/// The row of the chunk that contains item `item` of level `level`. O(level x log rows).
pub fn record_of(tensor: &Tensor, level: usize, item: usize) -> usize {
    tensor.levels(level).map_or(0, |(partitions, _)| partitions.iter().rev().fold(item, |at, p| row_of(p, at)))
}

/// The row of the chunk that contains an item below these partitions, outermost first. O(levels x log rows).
pub fn record_below<'a>(partitions: impl DoubleEndedIterator<Item = &'a RowPartition>, item: usize) -> usize {
    partitions.rev().fold(item, |at, p| row_of(p, at))
}

/// Wraps a tensor in lists with these partitions, outermost first. O(levels).
///
/// # Errors
/// The partitions do not fit together.
pub fn wrap(partitions: impl DoubleEndedIterator<Item = RowPartition>, below: Tensor) -> Result<Tensor> {
    partitions.rev().try_fold(below, |inner, p| Tensor::list(p, inner, None))
}

/// A partition from row lengths known to be valid: `[nrows]`. O(rows).
///
/// # Errors
/// Too many values to count.
pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Result<RowPartition> {
    RowPartition::from_row_lengths(lengths.into_iter().map(|l| i64::try_from(l).unwrap_or(i64::MAX)))
}

/// The partition of an axis of that type, from row lengths known to fit it. O(rows), or O(1) if the size is known.
///
/// # Errors
/// See [`from_lengths`].
pub fn partition_of(dim: &Dim, lengths: Vec<usize>) -> Result<RowPartition> {
    match dim.size {
        Size::Known(n) => RowPartition::uniform(n as usize, lengths.len()),
        _ => from_lengths(lengths),
    }
}

/// The partitions of a dense shape given for each record, and the record of each value below them. `size` returns the
/// size of an axis in a record, which must agree with the known sizes of `dims`. O(values).
///
/// # Errors
/// Errors of `size`, or too many values to count.
pub fn dense_partitions(
    dims: &[Dim],
    nrecords: usize,
    size: impl Fn(usize, usize) -> Result<usize>,
) -> Result<(Vec<RowPartition>, Vec<usize>)> {
    let mut records: Vec<usize> = (0..nrecords).collect();
    let (mut partitions, mut emptied) = (Vec::with_capacity(dims.len()), Vec::new());
    for (axis, dim) in dims.iter().enumerate() {
        let (mut lengths, mut next) = (Vec::with_capacity(records.len()), Vec::new());
        for record in &records {
            let n = size(axis, *record)?;
            check_count(next.len().checked_add(n), *record)?;
            next.extend(std::iter::repeat_n(*record, n));
            lengths.push(n);
        }
        let is_emptied = lengths.contains(&0);
        partitions.push(partition_of(dim, lengths)?);
        let above = std::mem::replace(&mut records, next);
        if is_emptied && is_open_below(dims, axis) {
            emptied.push((axis, above));
        }
    }
    for (axis, records) in emptied.into_iter().rev() {
        let of_row = |row: usize, out: &mut [usize]| {
            out.iter_mut().enumerate().for_each(|(i, n)| *n = size(axis + 1 + i, records[row]).unwrap_or(0));
        };
        let partition = RowPartition::clone(&partitions[axis]);
        partitions[axis] = partition.with_sizes_below(&partitions[axis + 1..], of_row);
    }
    Ok((partitions, records))
}

/// Whether the size of an axis below `axis` may be lost with its last row.
fn is_open_below(dims: &[Dim], axis: usize) -> bool {
    dims.iter().skip(axis + 1).any(|dim| dim.size == Size::Uniform)
}

/// The tensor, in which rows without items remember the sizes of the uniform axes below: `sizes` gives those of all axes for each
/// record, `[rank][nrecords]`. O(rows), or O(1) if no such axis is open.
///
/// # Errors
/// Those of `sizes`, or fewer axes.
pub fn with_sizes(tensor: Tensor, dims: &[Dim], sizes: impl FnOnce() -> Result<Vec<Vec<usize>>>) -> Result<Tensor> {
    if !is_open_below(dims, 0) {
        return Ok(tensor);
    }
    let (partitions, below) = tensor.levels(dims.len())?;
    if partitions.iter().take(dims.len() - 1).all(|p| (0..p.nrows()).all(|row| p.row_length(row) > 0)) {
        return Ok(tensor);
    }
    let (sizes, mut partitions, below) = (sizes()?, partitions.into_iter().cloned().collect::<Vec<_>>(), below.clone());
    let (mut validities, mut level) = (Vec::with_capacity(dims.len()), &tensor);
    for _ in dims {
        let list = level.as_list()?;
        validities.push(list.validity().cloned());
        level = list.values();
    }
    for axis in (0..partitions.len() - 1).rev() {
        let of_row = |row: usize, out: &mut [usize]| {
            let record = record_below(partitions[..axis].iter(), row);
            out.iter_mut().enumerate().for_each(|(i, n)| *n = sizes[axis + 1 + i][record]);
        };
        partitions[axis] = partitions[axis].clone().with_sizes_below(&partitions[axis + 1..], of_row);
    }
    partitions.into_iter().zip(validities).rev().try_fold(below, |inner, (partition, validity)| Tensor::list(partition, inner, validity))
}

/// Checks that the axes that are uniform in `dims` have a single size in each record. O(rows).
///
/// # Errors
/// The rows differ; the error names the row of the chunk.
pub fn check_uniform(tensor: &Tensor, dims: &[Dim]) -> Result<()> {
    for (axis, dim) in dims.iter().enumerate().skip(1) {
        if dim.size == Size::Ragged {
            continue;
        }
        let owners = merged(tensor, 0, axis)?;
        let (_, below) = tensor.levels(axis)?;
        let partition = below.as_list()?.partition();
        if partition.uniform_row_length().is_some() {
            continue;
        }
        for record in 0..owners.nrows() {
            let mut rows = owners.range(record).map(|row| partition.row_length(row));
            let Some(first) = rows.next() else { continue };
            if let Some(other) = rows.find(|l| *l != first) {
                return Err(Error::data(format!("rows have {first} and {other} items on axis {axis}, which is uniform"))
                    .at_row(record)
                    .help("for rows of different lengths, use ragged.stack or a ragged tensor"));
            }
        }
    }
    Ok(())
}

/// Checks that two tensors have the same rows on their first `levels` axes. O(rows). `what`: the two, in the message.
///
/// # Errors
/// The rows differ; the error names the row of the chunk.
pub fn check_same(a: &Tensor, b: &Tensor, levels: usize, what: &str) -> Result<()> {
    let ((p, _), (q, _)) = (a.levels(levels)?, b.levels(levels)?);
    for axis in 0..levels {
        if p[axis] != q[axis] {
            let row = p[axis].first_difference(q[axis]).unwrap_or(0);
            let (m, n) = (p[axis].row_length(row), q[axis].row_length(row));
            return Err(Error::data(format!("{what} differ on axis {axis}: {m} and {n} items")).at_row(record_of(a, axis, row)));
        }
    }
    Ok(())
}

/// Wraps each item in a list of length 1, adding an axis of size 1: `[n, (a), ...]` to `[n, 1, (a), ...]` at axis 0. Source:
/// `tf.expand_dims`. Zero-copy.
///
/// # Errors
/// There are fewer levels.
pub fn expand(tensor: &Tensor, axis: usize) -> Result<Tensor> {
    let out = tensor.map_below(axis, &mut |t| Tensor::list(RowPartition::uniform(1, t.nrows())?, t.clone(), None))?;
    out.with_axis_inserted(tensor, axis, 1)
}

/// The longest row of every axis, for each record: `[rank][nrecords]`. Source: `tf.RaggedTensor.bounding_shape`. O(rows).
///
/// # Errors
/// There are fewer axes.
pub fn bounding(tensor: &Tensor, rank: usize) -> Result<Vec<Vec<usize>>> {
    let (partitions, _) = tensor.levels(rank)?;
    (0..rank)
        .map(|axis| {
            let owners = merged(tensor, 0, axis)?;
            Ok((0..owners.nrows()).map(|r| owners.range(r).map(|row| partitions[axis].row_length(row)).max().unwrap_or(0)).collect())
        })
        .collect()
}

/// The size of one of the `inner` innermost axes of `rank` in a record, the outermost of them: that of its first row, or if there is
/// none, that it would have. O(rank).
pub fn item_size(tensor: &Tensor, record: usize, rank: usize, inner: usize) -> usize {
    let mut sizes = vec![0; rank.saturating_sub(1)];
    if let Tensor::List(list) = tensor {
        list.item_sizes(record, &mut sizes);
    }
    rank.checked_sub(1 + inner).and_then(|axis| sizes.get(axis)).copied().unwrap_or(0)
}

/// The longest row of every axis, for each record, with the sizes of uniform axes also where there are no rows:
/// `[rank][nrecords]`. O(rows).
///
/// # Errors
/// There are fewer axes.
pub fn bounding_known(tensor: &Tensor, dims: &[Dim]) -> Result<Vec<Vec<usize>>> {
    let mut sizes = bounding(tensor, dims.len())?;
    let mut own = vec![0; dims.len().saturating_sub(1)];
    for (axis, dim) in dims.iter().enumerate() {
        match dim.size {
            Size::Known(n) => sizes[axis].fill(usize::try_from(n).unwrap_or(usize::MAX)),
            Size::Uniform if axis > 0 => {
                let list = tensor.as_list()?;
                for (record, size) in sizes[axis].iter_mut().enumerate().filter(|(_, size)| **size == 0) {
                    list.item_sizes(record, &mut own);
                    *size = own[axis - 1];
                }
            }
            _ => {}
        }
    }
    Ok(sizes)
}

/// The longest row of every axis, for each record: `[rank][nrecords]`. Axes of the flat values have their known size
/// even where there are no values; axes of rows do not. O(rows).
///
/// # Errors
/// There are fewer axes.
pub fn bounding_rows(tensor: &Tensor, dims: &[Dim]) -> Result<Vec<Vec<usize>>> {
    let inner = last_ragged(dims).map_or(0, |last| last + 1);
    let mut sizes = bounding(tensor, inner)?;
    sizes.extend(bounding_known(tensor, dims)?.into_iter().skip(inner));
    Ok(sizes)
}

/// Checks the sizes of axes of known size. O(rows).
///
/// # Errors
/// A row has a different length; the error names the row of the chunk.
pub fn check_known(tensor: &Tensor, dims: &[Dim]) -> Result<()> {
    let (partitions, _) = tensor.levels(dims.len())?;
    for (axis, (partition, dim)) in partitions.iter().zip(dims).enumerate() {
        let Size::Known(n) = dim.size else { continue };
        if let Some(row) = (0..partition.nrows()).find(|row| partition.row_length(*row) as u64 != n) {
            let found = partition.row_length(row);
            return Err(Error::data(format!("axis {axis} has size {found}, not {n}")).at_row(record_of(tensor, axis, row)));
        }
    }
    Ok(())
}

/// Counts as int64 values: `[n]`.
pub fn counts(values: impl IntoIterator<Item = usize>) -> Tensor {
    Tensor::Leaf(Arc::new(Int64Array::from_iter_values(values.into_iter().map(|v| v as i64))))
}
