//! Padding makes ragged axes uniform in each record: shorter rows are padded, longer ones truncated.
//!
//! ```text
//! [2, (?)]   [[1 2 3] []]   ->   [2, 4]   [[1 2 3 0] [0 0 0 0]]
//! ```
//!
//! Semantics: `tf.RaggedTensor.to_tensor`, `tf.sparse.to_dense`, `sequence_pad`. The size of an axis is
//! that of the longest row before truncation along any other axis.

use super::runs::Runs;
use super::{RowPartition, Sparse, Tensor};
use crate::error::{Error, Result};
use arrow_array::{ArrayRef, BooleanArray, Int64Array};
use std::ops::Range;
use std::sync::Arc;

/// The target size of an axis, in each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The length of the longest row: `?`.
    Longest,
    /// The length of the longest row, but at most this: `<=512`.
    AtMost(usize),
    /// Exactly this: `512`.
    Exact(usize),
    /// The length of the longest row anywhere: `max`.
    Max(usize),
}

/// The side of each axis that is padded and, for rows that are too long, truncated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The end of a row.
    #[default]
    Right,
    /// The start of a row.
    Left,
}

impl Side {
    /// The items kept of a row that may have `size` items: those at the start or, with padding on the left, those at
    /// the end. O(1).
    pub fn kept(self, items: Range<usize>, size: usize) -> Range<usize> {
        let kept = items.len().min(size);
        match self {
            Side::Right => items.start..items.start + kept,
            Side::Left => items.end - kept..items.end,
        }
    }
}

/// How a field is padded.
#[derive(Clone, Debug)]
pub struct Padding {
    /// One for each axis that can change, outermost first. Axes below are unchanged and must be uniform.
    pub targets: Vec<Target>,
    /// Sizes that are not given explicitly are rounded up to a multiple of this.
    pub multiple_of: Option<usize>,
    /// The side to pad.
    pub side: Side,
    /// The padding values. Their number divides the number of values in an item below the padded axes.
    pub filling: ArrayRef,
    /// Maximum size in bytes of the result.
    pub max_nbytes: u64,
}

/// A tensor that has been padded, and what is needed to undo it.
#[derive(Debug)]
pub struct Padded {
    /// The padded tensor.
    pub tensor: Tensor,
    /// For each axis, the number of items kept of each row: `[.., size of the outer axis]`.
    pub lengths: Vec<Tensor>,
    /// Which items are not padding: a bool tensor with the padded axes.
    pub mask: Option<Tensor>,
}

impl Padding {
    fn size(&self, axis: usize, longest: usize) -> Result<usize> {
        let longest = if let Target::Max(anywhere) = self.targets[axis] { anywhere } else { longest };
        let rounded = match self.multiple_of {
            // A single axis is a sequence. With other axes below it, axis 0 counts rows, which are not rounded.
            Some(n) if axis > 0 || self.targets.len() == 1 => {
                longest.checked_next_multiple_of(n).ok_or_else(|| Error::data(format!("a size of {longest} cannot be rounded up")))?
            }
            _ => longest,
        };
        Ok(match self.targets[axis] {
            Target::Longest | Target::Max(_) => rounded,
            Target::AtMost(most) => rounded.min(most),
            Target::Exact(size) => size,
        })
    }

    /// Makes the first `targets.len()` axes of `tensor` uniform within each record. `records` partitions its rows by
    /// record. `[n, (a), (b), d]` -> `[n, A, B, d]`. O(values out).
    ///
    /// ```
    /// use tatter::tensor::pad::{Padding, Side, Target};
    /// use tatter::tensor::{RowPartition, Tensor};
    /// # use arrow_array::Int64Array;
    /// # use std::sync::Arc;
    /// let rows = Tensor::list(RowPartition::from_row_lengths([2, 1])?, Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1, 4]))), None)?;
    /// let padding = Padding {
    ///     targets: vec![Target::Longest],
    ///     multiple_of: None,
    ///     side: Side::Right,
    ///     filling: Arc::new(Int64Array::from(vec![0])),
    ///     max_nbytes: 1 << 20,
    /// };
    /// // A batch of two rows: [3, 1], [4] -> [3, 1], [4, 0]
    /// let padded = padding.apply(&rows, &RowPartition::uniform(2, 1)?, false, false)?;
    /// assert_eq!(padded.tensor.as_list()?.values().first_difference(&Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1, 4, 0])))), None);
    /// # Ok::<(), tatter::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fewer axes, axes below that are not uniform, or a result beyond the limit.
    pub fn apply(&self, tensor: &Tensor, records: &RowPartition, with_lengths: bool, with_mask: bool) -> Result<Padded> {
        let depth = self.targets.len();
        let (partitions, below) = tensor.levels(depth)?;
        let (inner, leaf) = uniform_block(below)?;
        let sizes = self.sizes(&partitions, records)?;
        // Items without values still count, whether kept or padded.
        let block = inner.max(1);
        let axes = self.axes(&sizes, records, inner, leaf)?;
        let layout = Layout { partitions: &partitions, records, sizes: &sizes, side: self.side };
        let mut runs = Runs::new();
        layout.rows(depth - 1, |rows, size| match rows {
            Rows::Kept(items) => {
                let filled = (size - items.len()) * block;
                if self.side == Side::Left {
                    runs.fill(filled);
                }
                runs.copy(items.start * block, items.len() * block);
                if self.side == Side::Right {
                    runs.fill(filled);
                }
            }
            Rows::Padding(nrows) => runs.fill(nrows * size * block),
        });
        let values = if inner == 0 { leaf.slice(0, 0) } else { runs.apply(leaf, &self.filling)? };
        let values = with_leaf(below, Tensor::Leaf(values), axes.last().map_or(0, RowPartition::nvals))?;
        let mask = with_mask.then(|| {
            let bits = Tensor::Leaf(Arc::new(BooleanArray::new(runs.is_copied(block), None)));
            below_axes(&axes, bits, tensor)
        });
        let lengths = if with_lengths { layout.lengths(&axes, tensor)? } else { Vec::new() };
        Ok(Padded { tensor: below_axes(&axes, values, tensor)?, lengths, mask: mask.transpose()? })
    }

    /// The sizes of all axes in each record, record by record.
    fn sizes(&self, partitions: &[&RowPartition], records: &RowPartition) -> Result<Vec<usize>> {
        let mut sizes = Vec::with_capacity(records.nrows() * self.targets.len());
        for record in 0..records.nrows() {
            let mut rows = records.range(record);
            for (axis, partition) in partitions.iter().enumerate() {
                let longest = longest(partition, rows.clone());
                sizes.push(self.size(axis, longest).map_err(|e| e.at_row(rows.start))?);
                rows = partition.start(rows.start)..partition.start(rows.end);
            }
        }
        Ok(sizes)
    }

    /// The uniform partitions of the result, checked against the memory limit.
    fn axes(&self, sizes: &[usize], records: &RowPartition, inner: usize, leaf: &ArrayRef) -> Result<Vec<RowPartition>> {
        let depth = self.targets.len();
        let each = super::shared::leaf_nbytes(&self.filling).div_ceil(self.filling.len().max(1)).max(1) as u64;
        let limit = self.max_nbytes.saturating_add(super::shared::leaf_nbytes(leaf) as u64);
        let mut total = 0u64;
        for (record, own) in sizes.chunks_exact(depth).enumerate() {
            let mut rows = records.row_length(record) as u64;
            for size in own {
                // Includes the splits and lengths of resulting rows: a size of 0 further in does not reduce their
                // number.
                total = total.saturating_add(rows.saturating_mul(8));
                rows = rows.saturating_mul(*size as u64);
            }
            total = total.saturating_add(rows.saturating_mul((inner as u64).saturating_mul(each)));
            if total > limit {
                let shape: Vec<String> = own.iter().map(ToString::to_string).collect();
                let error = Error::data(format!("padding it to [{}] needs more memory than is allowed", shape.join(", ")));
                let row = records.start(record);
                let is_given = |target: &Target| matches!(target, Target::Exact(_));
                let smaller = match self.targets.iter().any(is_given) {
                    true => "choose a smaller --shape",
                    false => "truncate it with to-dense --shape",
                };
                let fewer = "pad fewer records at a time with smaller batches or --chunk-rows, or raise the limit with --max-memory";
                return Err(error.at_row(row).help(format!("{smaller}, {fewer}")));
            }
        }
        (0..depth)
            .map(|axis| {
                let rows =
                    |record: usize| sizes[record * depth..record * depth + axis].iter().product::<usize>() * records.row_length(record);
                if let Target::Exact(size) = self.targets[axis] {
                    return RowPartition::uniform(size, (0..records.nrows()).map(rows).sum());
                }
                let lengths =
                    (0..records.nrows()).flat_map(|record| std::iter::repeat_n(sizes[record * depth + axis] as i64, rows(record)));
                RowPartition::from_row_lengths(lengths)
            })
            .collect()
    }
}

fn longest(partition: &RowPartition, rows: Range<usize>) -> usize {
    rows.map(|row| partition.row_length(row)).max().unwrap_or(0)
}

/// The number of values in an item below the padded axes, and the flat values.
fn uniform_block(below: &Tensor) -> Result<(usize, &ArrayRef)> {
    match below {
        Tensor::List(list) => {
            let size = list.partition().uniform_row_length().ok_or_else(|| Error::data("an axis below the padded ones is not uniform"))?;
            let (inner, leaf) = uniform_block(list.values())?;
            Ok((size.checked_mul(inner).ok_or_else(|| Error::data("the result would have too many values"))?, leaf))
        }
        other => Ok((1, other.as_leaf()?)),
    }
}

/// The uniform axes of `below` with another number of rows and other flat values.
fn with_leaf(below: &Tensor, leaf: Tensor, nrows: usize) -> Result<Tensor> {
    match below {
        Tensor::List(list) => {
            let size = list.partition().uniform_row_length().unwrap_or(0);
            let partition = RowPartition::uniform(size, nrows)?;
            let values = with_leaf(list.values(), leaf, partition.nvals())?;
            Tensor::list(partition, values, None)
        }
        _ => Ok(leaf),
    }
}

/// Wraps `values` in `axes`, with the validity of the rows of `like`.
fn below_axes(axes: &[RowPartition], values: Tensor, like: &Tensor) -> Result<Tensor> {
    let tensor = axes.iter().rev().try_fold(values, |below, axis| Tensor::list(axis.clone(), below, None))?;
    if axes.is_empty() { Ok(tensor) } else { tensor.with_validity(like.validity()) }
}

/// The rows of a ragged tensor where they are in the padded one.
struct Layout<'a> {
    /// The padded axes, outermost first.
    partitions: &'a [&'a RowPartition],
    records: &'a RowPartition,
    /// The sizes of all axes in each record.
    sizes: &'a [usize],
    side: Side,
}

/// Rows of an axis in the padded tensor.
enum Rows {
    /// A row, with the items that are kept.
    Kept(Range<usize>),
    /// A number of rows that are padding.
    Padding(usize),
}

impl Layout<'_> {
    /// Visits the rows of an axis in order, with their size in the padded tensor.
    fn rows(&self, axis: usize, mut visit: impl FnMut(Rows, usize)) {
        for (record, sizes) in self.sizes.chunks_exact(self.partitions.len()).enumerate() {
            let sizes = &sizes[..=axis];
            for row in self.records.range(record) {
                self.below(row, 0, sizes, &mut visit);
            }
        }
    }

    /// The rows of the last of the axes that have `sizes` within a row of the axis `level`.
    fn below(&self, row: usize, level: usize, sizes: &[usize], visit: &mut impl FnMut(Rows, usize)) {
        let items = self.side.kept(self.partitions[level].range(row), sizes[level]);
        let [inner @ .., last] = &sizes[level + 1..] else { return visit(Rows::Kept(items), sizes[level]) };
        let nrows = (sizes[level] - items.len()) * inner.iter().product::<usize>();
        if self.side == Side::Left {
            visit(Rows::Padding(nrows), *last);
        }
        for item in items {
            self.below(item, level + 1, sizes, visit);
        }
        if self.side == Side::Right {
            visit(Rows::Padding(nrows), *last);
        }
    }

    /// For each axis, the number of items kept of each row of the padded tensor; `axes` are its partitions.
    fn lengths(&self, axes: &[RowPartition], like: &Tensor) -> Result<Vec<Tensor>> {
        let of_axis = |axis: usize| {
            let mut out: Vec<i64> = Vec::with_capacity(axes[axis].nrows());
            self.rows(axis, |rows, _| match rows {
                Rows::Kept(items) => out.push(items.len() as i64),
                Rows::Padding(nrows) => out.resize(out.len() + nrows, 0),
            });
            let values: ArrayRef = Arc::new(Int64Array::from(out));
            match axis {
                0 => Tensor::Leaf(values).with_validity(like.validity()),
                _ => below_axes(&axes[..axis], Tensor::Leaf(values), like),
            }
        };
        (0..self.partitions.len()).map(of_axis).collect()
    }
}

/// The first row of a tensor `[n, (a), (b), ...]` that exceeds the target size along an axis: row, axis, size, target. O(rows of the
/// axes).
///
/// # Errors
/// The tensor has fewer axes than there are targets.
pub fn first_too_large(tensor: &Tensor, targets: &[Target]) -> Result<Option<(usize, usize, usize, usize)>> {
    let (partitions, _) = tensor.levels(targets.len())?;
    let mut rows = RowPartition::uniform(1, tensor.nrows())?;
    let mut found: Option<(usize, usize, usize, usize)> = None;
    for (axis, (partition, target)) in partitions.iter().zip(targets).enumerate() {
        if let Target::Exact(size) | Target::AtMost(size) = target
            && let Some(item) = (0..partition.nrows()).find(|item| partition.row_length(*item) > *size)
        {
            let row = super::row_of(&rows, item);
            if found.is_none_or(|(first, ..)| row < first) {
                found = Some((row, axis, partition.row_length(item), *size));
            }
        }
        rows = rows.merge(partition);
    }
    Ok(found)
}

/// Sparse tensors as dense ones: `[n, (a), (b)]` with `ndims` axes, with the sizes of each dense shape or of the
/// targets. Source: `tf.sparse.to_dense`. O(values out).
///
/// # Errors
/// Entries that are out of order or repeated, or a result beyond the limit.
pub fn dense_of_sparse(sparse: &Sparse, padding: &Padding, records: &RowPartition) -> Result<Tensor> {
    let ndims = sparse.ndims();
    let mut sizes = Vec::with_capacity(records.nrows() * ndims);
    for record in 0..records.nrows() {
        for axis in 0..ndims {
            let longest = records.range(record).map(|row| sparse.shape_of(row)[axis]).max().unwrap_or(0);
            sizes.push(padding.size(axis, usize::try_from(longest).map_err(|_| Error::data("the size is too large for this machine"))?)?);
        }
    }
    let axes = padding.axes(&sizes, records, 1, sparse.values())?;
    let mut runs = Runs::new();
    for (record, sizes) in sizes.chunks_exact(ndims).enumerate() {
        for row in records.range(record) {
            sparse_row(sparse, row, sizes, &mut runs)?;
        }
    }
    let values = Tensor::Leaf(runs.apply(sparse.values(), &padding.filling)?);
    below_axes(&axes, values, &Tensor::Sparse(sparse.clone()))
}

fn sparse_row(sparse: &Sparse, row: usize, sizes: &[usize], runs: &mut Runs) -> Result<()> {
    let total: usize = sizes.iter().product();
    let (mut next, mut last): (usize, Option<&[i64]>) = (0, None);
    for entry in sparse.entries().range(row) {
        let index = sparse.index_of(entry);
        if last.is_some_and(|last| last >= index) {
            let how = if last == Some(index) { "occurs twice" } else { "is out of order" };
            let error = Error::data(format!("the index {index:?} {how}")).at_row(row);
            return Err(error.help("`validate` lists such entries; sparse.reorder in `map` sorts them"));
        }
        last = Some(index);
        if index.iter().zip(sizes).any(|(i, size)| *i >= *size as i64) {
            continue;
        }
        let place = index.iter().zip(sizes).fold(0, |place, (i, size)| place * size + *i as usize);
        runs.fill(place - next);
        runs.copy(entry, 1);
        next = place + 1;
    }
    runs.fill(total - next);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ragged() -> Tensor {
        // One record: [[1 2 3] [] [4]]
        let values = Tensor::Leaf(Arc::new(Int64Array::from(vec![1, 2, 3, 4])));
        let rows = Tensor::list(RowPartition::from_row_lengths([3, 0, 1]).unwrap(), values, None).unwrap();
        Tensor::list(RowPartition::uniform(3, 1).unwrap(), rows, None).unwrap()
    }

    fn padding(targets: Vec<Target>, side: Side) -> Padding {
        Padding { targets, multiple_of: None, side, filling: Arc::new(Int64Array::from(vec![0])), max_nbytes: 1 << 30 }
    }

    fn flat(tensor: &Tensor, levels: usize) -> Vec<i64> {
        let (_, leaf) = tensor.levels(levels).unwrap();
        leaf.as_leaf().unwrap().as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec()
    }

    #[test]
    fn rows_are_filled_and_cut() {
        let one = RowPartition::uniform(1, 1).unwrap();
        use Target::*;
        for (targets, side, want, lengths) in [
            (vec![Longest, Longest], Side::Right, vec![1, 2, 3, 0, 0, 0, 4, 0, 0], vec![3, 0, 1]),
            (vec![Longest, Longest], Side::Left, vec![1, 2, 3, 0, 0, 0, 0, 0, 4], vec![3, 0, 1]),
            (vec![Exact(4), AtMost(2)], Side::Right, vec![1, 2, 0, 0, 4, 0, 0, 0], vec![2, 0, 1, 0]),
            (vec![Exact(4), AtMost(2)], Side::Left, vec![0, 0, 2, 3, 0, 0, 0, 4], vec![0, 2, 0, 1]),
            (vec![Exact(1), Longest], Side::Left, vec![0, 0, 4], vec![1]),
            (vec![Exact(1), Longest], Side::Right, vec![1, 2, 3], vec![3]),
            (vec![Exact(0), Longest], Side::Right, vec![], vec![]),
        ] {
            let padded = padding(targets.clone(), side).apply(&ragged(), &one, true, true).unwrap();
            assert_eq!(flat(&padded.tensor, 2), want, "{targets:?}");
            assert_eq!(flat(&padded.lengths[1], 1), lengths, "{targets:?}");
            assert_eq!(padded.mask.unwrap().levels(2).unwrap().1.nrows(), want.len());
        }
    }

    #[test]
    fn items_without_values_are_kept_and_filled() {
        // One record: [[[] []] [[]]], of type [?, (?), 0].
        let none = Tensor::Leaf(Arc::new(Int64Array::from(Vec::<i64>::new())));
        let items = Tensor::list(RowPartition::uniform(0, 3).unwrap(), none, None).unwrap();
        let rows = Tensor::list(RowPartition::from_row_lengths([2, 1]).unwrap(), items, None).unwrap();
        let tensor = Tensor::list(RowPartition::uniform(2, 1).unwrap(), rows, None).unwrap();
        let one = RowPartition::uniform(1, 1).unwrap();
        let padded = padding(vec![Target::Longest; 2], Side::Right).apply(&tensor, &one, true, true).unwrap();
        assert_eq!(padded.tensor.levels(2).unwrap().1.nrows(), 4);
        let mask = padded.mask.unwrap();
        let bits = mask.levels(2).unwrap().1.as_leaf().unwrap().clone();
        assert_eq!(bits.as_ref(), &BooleanArray::from(vec![true, true, true, false]));
    }

    #[test]
    fn sizes_are_rounded_up_but_the_number_of_rows_is_not() {
        let one = RowPartition::uniform(1, 1).unwrap();
        let rounded = Padding { multiple_of: Some(4), ..padding(vec![Target::Longest; 2], Side::Right) };
        let padded = rounded.apply(&ragged(), &one, false, false).unwrap();
        let (axes, _) = padded.tensor.levels(2).unwrap();
        assert_eq!((axes[0].row_length(0), axes[1].row_length(0)), (3, 4));
    }

    #[test]
    fn too_much_padding_is_an_error() {
        let one = RowPartition::uniform(1, 1).unwrap();
        let error = padding(vec![Target::Exact(usize::MAX), Target::Exact(usize::MAX)], Side::Right).apply(&ragged(), &one, false, false);
        assert!(error.unwrap_err().message().starts_with("padding it to [18446744073709551615, "));
    }
}
