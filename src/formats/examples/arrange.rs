//! The interface for arranging the values of records in tensors, and simple implementations.

use super::features::Features;
use super::mapping::Leaf;
use super::values::Append;
use super::wire::{DecodeError, Parse};
use crate::error::{Result, mismatch};
use crate::schema::{Dim, Size};
use crate::tensor::{RowPartition, Tensor};
use arrow_buffer::NullBuffer;

/// Arranges the values of records in a tensor.
pub trait Arrange {
    /// The features used besides that of the values.
    fn companions(&self) -> Vec<usize>;
    /// Arranges the `n` values that record `row` has appended.
    fn accept(&mut self, leaf: &Leaf, features: &Features, row: usize, n: usize) -> Parse<()>;
    /// Adds a record without values. Returns the number of filler values needed.
    fn empty(&mut self, leaf: &Leaf) -> usize;
    /// The tensor of all records.
    fn finish(self, nrows: usize, values: impl Append, nulls: Option<NullBuffer>, leaf: &Leaf) -> Result<Tensor>;
}

/// The number of values in a record, if all axes have known sizes.
pub fn known_count(dims: &[Dim]) -> Option<usize> {
    dims.iter().try_fold(1usize, |n, d| match d.size {
        Size::Known(size) => n.checked_mul(usize::try_from(size).ok()?),
        _ => None,
    })
}

/// Scalars, and tensors whose sizes are all known.
pub struct Fixed {
    count: usize,
    sizes: Vec<usize>,
}

impl Fixed {
    /// `count` values per record, with these dimensions.
    pub fn new(count: usize, dims: &[Dim]) -> Fixed {
        let size = |d: &Dim| if let Size::Known(n) = d.size { usize::try_from(n).unwrap_or(0) } else { 0 };
        Fixed { count, sizes: dims.iter().map(size).collect() }
    }
}

impl Arrange for Fixed {
    fn companions(&self) -> Vec<usize> {
        Vec::new()
    }
    fn accept(&mut self, leaf: &Leaf, _: &Features, _: usize, n: usize) -> Parse<()> {
        if n == self.count {
            return Ok(());
        }
        let what = if leaf.dims.is_empty() {
            mismatch("a single value", n)
        } else {
            mismatch(format_args!("{} values for the shape {:?}", self.count, self.sizes), n)
        };
        Err(DecodeError { at: 0, what, widens: leaf.inferred })
    }
    fn empty(&mut self, _: &Leaf) -> usize {
        self.count
    }
    fn finish(self, nrows: usize, values: impl Append, nulls: Option<NullBuffer>, _: &Leaf) -> Result<Tensor> {
        if self.sizes.is_empty() {
            return values.finish(nulls);
        }
        let mut tensor = values.finish(None)?;
        for axis in (0..self.sizes.len()).rev() {
            let rows = self.sizes[..axis].iter().product::<usize>() * nrows;
            let validity = if axis == 0 { nulls.clone() } else { None };
            tensor = Tensor::list(RowPartition::uniform(self.sizes[axis], rows)?, tensor, validity)?;
        }
        Ok(tensor)
    }
}

/// `[?]`.
pub struct Vectors {
    splits: Vec<i64>,
}

impl Default for Vectors {
    fn default() -> Vectors {
        Vectors { splits: vec![0] }
    }
}

impl Arrange for Vectors {
    fn companions(&self) -> Vec<usize> {
        Vec::new()
    }
    fn accept(&mut self, _: &Leaf, _: &Features, _: usize, n: usize) -> Parse<()> {
        self.splits.push(self.splits.last().copied().unwrap_or(0) + n as i64);
        Ok(())
    }
    fn empty(&mut self, _: &Leaf) -> usize {
        self.splits.push(self.splits.last().copied().unwrap_or(0));
        0
    }
    fn finish(self, _: usize, values: impl Append, nulls: Option<NullBuffer>, _: &Leaf) -> Result<Tensor> {
        Tensor::list(RowPartition::from_row_splits(self.splits)?, values.finish(None)?, nulls)
    }
}
