//! Decodes slices of leaves into fields.

use super::bind::{ArrayIndices, BoundField, BoundLeaf};
use super::block::LeafBlock;
use super::contents::Contents;
use super::element::Element;
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::printable::counted;
use crate::schema::arrays::Stacking;
use crate::schema::{DType, Dim, Element as Items, Field, Size};
use crate::tensor::{RowPartition, Sparse, Tensor, row_of};
use arrow_array::{ArrayRef, LargeBinaryArray, LargeStringArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use std::sync::Arc;

/// A leaf without its axes: their partitions, outermost first, and the tensor below them.
struct Flat {
    axes: Vec<RowPartition>,
    below: Tensor,
}

/// How the blocks of a field are combined.
pub struct FieldDecoder {
    field: Field,
    leaves: Vec<(BoundLeaf, Element)>,
    stacking: Stacking,
}

impl FieldDecoder {
    pub fn new(bound: &BoundField, contents: &Contents, stacking: Stacking) -> FieldDecoder {
        let element = |leaf: &BoundLeaf| match &leaf.parts {
            ArrayIndices::Ragged { values, .. } | ArrayIndices::Sparse { values, .. } => contents.arrays[*values].element.clone(),
        };
        let leaves = bound.leaves.iter().map(|leaf| (leaf.clone(), element(leaf))).collect();
        FieldDecoder { field: bound.field.clone(), leaves, stacking }
    }

    /// The leaves from which it takes blocks.
    pub fn nleaves(&self) -> usize {
        self.leaves.len()
    }

    /// Decodes the field for `nrecords` records.
    ///
    /// # Errors
    /// Text that is not valid UTF-8, sizes that differ from the type, or inconsistent fields of a structure. The error
    /// names the record.
    pub fn decode(&self, blocks: Vec<LeafBlock>, nrecords: usize) -> Result<Tensor> {
        let mut flats = Vec::with_capacity(blocks.len());
        for (block, (leaf, element)) in blocks.into_iter().zip(&self.leaves) {
            let flat = self.flat(block, leaf, element, nrecords);
            let flat = flat.map_err(|e| if self.stacking == Stacking::One { e.locate(|at| at.row = at.row.map(|_| 0)) } else { e });
            let flat = flat.map_err(|e| e.in_field(quoted(&leaf.name)))?;
            flats.push(flat);
        }
        let mut flats = flats.into_iter();
        let (outer, tensor) = assemble(&self.field, &mut flats, 0)?;
        debug_assert!(outer.is_empty());
        Ok(tensor)
    }

    fn flat(&self, block: LeafBlock, leaf: &BoundLeaf, element: &Element, nrecords: usize) -> Result<Flat> {
        match (block, &leaf.parts) {
            (LeafBlock::Ragged { splits, values, nvals }, ArrayIndices::Ragged { tail, text, .. }) => {
                let mut splits = splits;
                let ends = if *text { splits.pop() } else { None };
                let mut axes = Vec::with_capacity(leaf.dims.len());
                let below = match ends {
                    Some(ends) => Tensor::Leaf(texts(&leaf.dtype, ends, values).map_err(|e| at_record(e, &splits))?),
                    None => {
                        let size = tail.iter().product::<u64>() as usize;
                        let values = element.decode(values, nvals * size).map_err(|e| up(e, size.max(1)));
                        Tensor::Leaf(values.map_err(|e| at_record(e, &splits))?)
                    }
                };
                let first = splits.first().map_or(if *text { below.nrows() } else { nvals }, |s| s.len() - 1);
                // Axis 0 of a single record is the first axis of its arrays; a single string is one row.
                if self.stacking == Stacking::One && !leaf.dims.is_empty() {
                    axes.push(RowPartition::uniform(first, 1)?);
                }
                for splits in splits {
                    axes.push(RowPartition::from_row_splits(splits)?);
                }
                let mut rows = nvals;
                for size in tail {
                    let size = *size as usize;
                    axes.push(RowPartition::uniform(size, rows)?);
                    rows = rows.checked_mul(size).ok_or_else(|| Error::data("the result would have too many values"))?;
                }
                let axes = axes
                    .into_iter()
                    .zip(&leaf.dims)
                    .enumerate()
                    .map(|(number, (axis, dim))| sized(axis, dim).map_err(|e| e.on_axis(number)));
                Ok(Flat { axes: axes.collect::<Result<_>>()?, below })
            }
            (LeafBlock::Sparse { splits, indices, values, shapes }, ArrayIndices::Sparse { ndims, .. }) => {
                let entries = RowPartition::from_row_splits(splits)?;
                let values = element.decode(values, entries.nvals())?;
                if entries.nrows() != nrecords {
                    return Err(Error::internal("sparse tensors for other records"));
                }
                let known = |row: usize| {
                    let own = &shapes[row * ndims..(row + 1) * ndims];
                    own.iter()
                        .zip(&leaf.dims)
                        .all(|(n, dim)| !matches!(dim.size, Size::Known(size) if i64::try_from(size).ok() != Some(*n)))
                };
                if let Some(row) = (0..nrecords).find(|row| !known(*row)) {
                    return Err(Error::data(format!("found a dense_shape of {:?}", &shapes[row * ndims..(row + 1) * ndims])).at_row(row));
                }
                let sparse = Sparse::try_new(*ndims, entries, indices.into(), values, shapes.into(), None)?;
                Ok(Flat { axes: Vec::new(), below: Tensor::Sparse(sparse) })
            }
            _ => Err(Error::internal("a block of another array")),
        }
    }
}

/// Converts an error that names a value to its row, with `size` values per row.
fn up(error: Error, size: usize) -> Error {
    error.locate(|at| at.row = at.row.map(|row| row / size))
}

/// Converts an error that names an innermost row to its record.
fn at_record(error: Error, splits: &[Vec<i64>]) -> Error {
    error.locate(|at| {
        at.row = at.row.map(|row| {
            splits.iter().rev().fold(row, |row, splits| match RowPartition::from_row_splits(splits.clone()) {
                Ok(partition) if row < partition.nvals() => row_of(&partition, row),
                _ => row,
            })
        })
    })
}

/// Adds a uniform partition with rows of known size.
fn sized(axis: RowPartition, dim: &Dim) -> Result<RowPartition> {
    let Size::Known(size) = dim.size else { return Ok(axis) };
    match (0..axis.nrows()).find(|row| axis.row_length(*row) as u64 != size) {
        Some(row) => Err(Error::data(format!("a row has {}; expected {size}", counted(axis.row_length(row) as u64, "item")))),
        None => RowPartition::uniform(size as usize, axis.nrows()),
    }
}

fn texts(dtype: &DType, ends: Vec<i64>, bytes: arrow_buffer::MutableBuffer) -> Result<ArrayRef> {
    let bytes = Buffer::from(bytes);
    if ends.last().copied() != i64::try_from(bytes.len()).ok() {
        return Err(Error::internal("texts that do not end with their bytes"));
    }
    if *dtype == DType::Bytes {
        let array = LargeBinaryArray::try_new(OffsetBuffer::new(ends.into()), bytes, None);
        return Ok(Arc::new(array.map_err(|e| Error::data(e.to_string()))?));
    }
    let row = |ends: &[i64]| ends.windows(2).position(|w| std::str::from_utf8(&bytes[w[0] as usize..w[1] as usize]).is_err());
    match LargeStringArray::try_new(OffsetBuffer::new(ends.clone().into()), bytes.clone(), None) {
        Ok(array) => Ok(Arc::new(array)),
        Err(_) => Err(Error::data("a string is not valid UTF-8").at_row(row(&ends).unwrap_or(0)).help("read it as bytes: --schema")),
    }
}

/// Builds the field from its leaves, omitting the `depth` enclosing axes, and returns these axes.
fn assemble(field: &Field, flats: &mut dyn Iterator<Item = Flat>, depth: usize) -> Result<(Vec<RowPartition>, Tensor)> {
    let Items::Struct(inner) = &field.ty.element else {
        let mut flat = flats.next().ok_or_else(|| Error::internal("fewer leaves than fields"))?;
        let may_be_null = if field.ty.dims.is_empty() { field.ty.optional } else { field.ty.with_nulls };
        if !may_be_null && flat.below.validity().is_some() {
            let error = Error::data("contains NaT, but its type in the file or in --schema has no nulls");
            return Err(error.in_field(quoted(&field.name)).help("convert the array alone, or declare its type: optional"));
        }
        let own = flat.axes.split_off(depth.min(flat.axes.len()));
        let tensor = own.into_iter().rev().try_fold(flat.below, |below, axis| Tensor::list(axis, below, None))?;
        return Ok((flat.axes, tensor));
    };
    let below = depth + field.ty.dims.len();
    let (mut axes, mut fields): (Option<Vec<RowPartition>>, Vec<Tensor>) = (None, Vec::new());
    for member in inner {
        let (around, tensor) = assemble(member, flats, below)?;
        if axes.as_ref().is_some_and(|axes| *axes != around) || fields.first().is_some_and(|f: &Tensor| f.nrows() != tensor.nrows()) {
            let first = inner.first().map_or("", |f| f.name.as_str());
            return Err(Error::data(format!("the fields {first} and {} do not belong to the same structures", member.name))
                .in_field(quoted(&field.name)));
        }
        axes.get_or_insert(around);
        fields.push(tensor);
    }
    let mut axes = axes.unwrap_or_default();
    let nrows = fields.first().map_or(0, Tensor::nrows);
    let own = axes.split_off(depth.min(axes.len()));
    let structures = Tensor::structure(nrows, fields, None)?;
    let tensor = own.into_iter().rev().try_fold(structures, |below, axis| Tensor::list(axis, below, None))?;
    Ok((axes, tensor))
}
