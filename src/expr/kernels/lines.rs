//! The lines of values along an axis.
//!
//! ```text
//! x  [[1 2 3] [4 5 6]]     along axis 0  1 4, 2 5, 3 6     along axis 1  1 2 3, 4 5 6
//! ```

use super::cast::{dtype_of, native};
use super::level::{bounding, merged};
use super::number::{Number, numbers};
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::limits::check_count;
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;

/// One line in the flat values. It is never empty.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    start: usize,
    stride: usize,
    pub length: usize,
}

impl Line {
    /// The position of its value `i` among the flat values.
    #[inline]
    pub fn at(&self, i: usize) -> usize {
        self.start + i * self.stride
    }

    /// The inverse of [`Line::at`].
    #[inline]
    pub fn index(&self, place: usize) -> usize {
        (place - self.start) / self.stride.max(1)
    }
}

/// The lines along an axis of a tensor of that rank, which must be dense below the axis, so that the values of a line are
/// equally far apart. O(lines).
///
/// # Errors
/// There is no such axis, which is a bug.
pub fn lines(tensor: &Tensor, axis: usize, rank: usize) -> Result<Vec<Line>> {
    let (_, below) = tensor.levels(axis)?;
    let partition = below.as_list()?.partition();
    let inner = merged(below, 1, rank - axis)?;
    let mut lines = Vec::with_capacity(partition.nrows());
    for row in 0..partition.nrows() {
        let range = partition.range(row);
        if range.is_empty() {
            continue;
        }
        let stride = inner.row_length(range.start);
        lines.extend((0..stride).map(|i| Line { start: inner.start(range.start) + i, stride, length: range.len() }));
    }
    Ok(lines)
}

/// Computes new numbers line by line.
pub trait AlongLine: Send + Sync {
    /// Writes the new values of a line to the positions of the old ones.
    fn line<T: Number>(&self, line: Line, values: &[T::Native], out: &mut [T::Native]);
}

/// Replaces the numbers of a tensor line by line along an axis; shape and dtype stay. O(values) and the cost of `with`.
///
/// # Errors
/// Values that are not numbers, which is a bug.
pub fn replaced(tensor: &Tensor, axis: usize, rank: usize, with: &impl AlongLine) -> Result<Tensor> {
    let lines = lines(tensor, axis, rank)?;
    tensor.map_below(rank, &mut |t| {
        let array = t.as_leaf()?;
        let dtype = dtype_of(array)?;
        let out = numbers!(&dtype, T => {
            let values = native::<T>(array)?;
            let mut out = vec![<T as Number>::ZERO; values.len()];
            lines.iter().for_each(|line| with.line::<T>(*line, values, &mut out));
            Arc::new(PrimitiveArray::<T>::new(out.into(), None)) as ArrayRef
        }, return Err(Error::internal(format!("lines of {dtype}"))));
        Ok(Tensor::Leaf(out))
    })
}

/// Like [`replaced`], along any axis of a ragged tensor. A line has a value for each position of the padded tensor, 0
/// where there is none; results at those positions are discarded. O(values of the padded tensor).
///
/// # Errors
/// See [`replaced`]; also a padded tensor with too many values to count.
pub fn replaced_padded(tensor: &Tensor, axis: usize, rank: usize, with: &impl AlongLine) -> Result<Tensor> {
    let sizes = bounding(tensor, rank)?;
    let whole = merged(tensor, 0, rank)?;
    // The position of each value in the padded tensors, record by record.
    let (mut places, mut lines, mut end) = (Vec::with_capacity(whole.nvals()), Vec::new(), 0usize);
    let (partitions, _) = tensor.levels(rank)?;
    for record in 0..whole.nrows() {
        let shape: Vec<usize> = sizes.iter().map(|s| s[record]).collect();
        let volume = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n)).and_then(|n| n.checked_add(end));
        let after = check_count(volume, record)?;
        let mut rows = vec![(record, 0usize)];
        for (partition, size) in partitions.iter().zip(&shape) {
            rows =
                rows.iter().flat_map(|(row, at)| partition.range(*row).enumerate().map(move |(i, item)| (item, at * size + i))).collect();
        }
        places.extend(rows.iter().map(|(_, at)| end + at));
        let stride: usize = shape[axis + 1..].iter().product();
        let length = shape[axis];
        if length > 0 && after > end {
            let blocks = (after - end) / (stride * length);
            let starts = (0..blocks).flat_map(|block| (0..stride).map(move |i| block * stride * length + i));
            lines.extend(starts.map(|start| Line { start: end + start, stride, length }));
        }
        end = after;
    }
    tensor.map_below(rank, &mut |t| {
        let array = t.as_leaf()?;
        let dtype = dtype_of(array)?;
        let out = numbers!(&dtype, T => {
            let mut padded = vec![<T as Number>::ZERO; end];
            places.iter().zip(native::<T>(array)?).for_each(|(place, v)| padded[*place] = *v);
            let mut out = padded.clone();
            lines.iter().for_each(|line| with.line::<T>(*line, &padded, &mut out));
            Arc::new(PrimitiveArray::<T>::from_iter_values(places.iter().map(|place| out[*place]))) as ArrayRef
        }, return Err(Error::internal(format!("lines of {dtype}"))));
        Ok(Tensor::Leaf(out))
    })
}
