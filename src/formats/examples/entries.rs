//! Sparse columns: tf.io.VarLenFeature, tf.io.SparseFeature, and tatter's own layout.

use super::arrange::Arrange;
use super::features::Features;
use super::mapping::Leaf;
use super::values::Append;
use super::wire::{self, FeatureKind, Parse, fail};
use crate::error::{Error, Result, mismatch};
use crate::schema::Size;
use crate::tensor::gather::take;
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_array::Array;
use arrow_buffer::NullBuffer;

/// One sparse tensor in each record.
pub struct Entries {
    features: Vec<usize>,
    sorted: bool,
    ndims: usize,
    ends: Vec<i64>,
    indices: Vec<i64>,
    shapes: Vec<i64>,
    /// Entry i of the result is entry `order[i]` of the input; empty if already sorted.
    order: Vec<usize>,
    numbers: Vec<Vec<i64>>,
}

impl Entries {
    /// `features` hold the indices, one for each axis. `sorted`: whether to sort them.
    pub fn new(features: &[usize], sorted: bool, ndims: usize) -> Entries {
        let numbers = vec![Vec::new(); ndims];
        Entries {
            features: features.to_vec(),
            sorted,
            ndims,
            ends: vec![0],
            indices: Vec::new(),
            shapes: Vec::new(),
            order: Vec::new(),
            numbers,
        }
    }

    fn read(&mut self, leaf: &Leaf, features: &Features, row: usize, n: usize) -> Parse<Vec<i64>> {
        for (axis, numbers) in self.numbers.iter_mut().enumerate() {
            numbers.clear();
            let Some(feature) = self.features.get(axis) else {
                numbers.extend(0..n as i64);
                continue;
            };
            let span = features.span(*feature, row);
            let at = span.start;
            match wire::list(features.bytes, span)? {
                None => {}
                Some((FeatureKind::Int64, list)) => wire::int64s(list, numbers)?,
                Some((found, _)) => return fail(at, mismatch("indices in an int64_list", found.described())),
            }
            if numbers.len() != n {
                return fail(at, format!("found {} indices along axis {axis} for {n} values", numbers.len()));
            }
        }
        let mut shape = Vec::with_capacity(self.ndims);
        for (axis, (numbers, dim)) in self.numbers.iter().zip(&leaf.dims).enumerate() {
            let size = match dim.size {
                Size::Known(size) => i64::try_from(size).unwrap_or(i64::MAX),
                _ => numbers.iter().max().map_or(0, |m| m.saturating_add(1)),
            };
            if let Some(index) = numbers.iter().find(|i| **i < 0 || **i >= size) {
                return fail(0, format!("the index {index} along axis {axis} is outside the size {size}"));
            }
            shape.push(size);
        }
        Ok(shape)
    }
}

impl Arrange for Entries {
    fn companions(&self) -> Vec<usize> {
        self.features.clone()
    }
    fn accept(&mut self, leaf: &Leaf, features: &Features, row: usize, n: usize) -> Parse<()> {
        let shape = self.read(leaf, features, row, n)?;
        self.shapes.extend(shape);
        let first = self.ends.last().copied().unwrap_or(0) as usize;
        let index = |entry: usize| self.numbers.iter().map(move |axis| axis[entry]);
        let mut order: Vec<usize> = (0..n).collect();
        if self.sorted {
            order.sort_by(|a, b| index(*a).cmp(index(*b)));
        }
        for entry in &order {
            self.indices.extend(index(*entry));
        }
        if !self.order.is_empty() || order.windows(2).any(|w| w[1] < w[0]) {
            let known = self.order.len();
            self.order.extend(known..first);
            self.order.extend(order.iter().map(|i| first + i));
        }
        self.ends.push((first + n) as i64);
        Ok(())
    }
    fn empty(&mut self, leaf: &Leaf) -> usize {
        self.ends.push(self.ends.last().copied().unwrap_or(0));
        self.shapes.extend(leaf.dims.iter().map(|d| if let Size::Known(n) = d.size { i64::try_from(n).unwrap_or(i64::MAX) } else { 0 }));
        0
    }
    fn finish(self, _: usize, values: impl Append, nulls: Option<NullBuffer>, _: &Leaf) -> Result<Tensor> {
        let Tensor::Leaf(mut values) = values.finish(None)? else {
            return Err(Error::internal("the values of a sparse tensor are no tensors"));
        };
        if !self.order.is_empty() {
            let known = self.order.len();
            let order: Vec<usize> = self.order.into_iter().chain(known..values.len()).collect();
            values = take(&values, &order)?;
        }
        let entries = RowPartition::from_row_splits(self.ends)?;
        Ok(Tensor::Sparse(Sparse::try_new(self.ndims, entries, self.indices.into(), values, self.shapes.into(), nulls)?))
    }
}
