//! Encodes a chunk into pieces of arrays. This part of writing runs on any thread.

use super::numbers::{bytes_of, little_endian, times_of};
use super::stored::{StoredLeaf, StoredSchema};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::format::{Encode, Encoded};
use crate::path::FieldPath;
use crate::schema::arrays::{ArrayForm, Contents, Stacking};
use crate::schema::filling::fill_itself_or_drop;
use crate::schema::{Field, Schema};
use crate::tensor::{RowPartition, Sparse, Tensor, row_of};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, NullBuffer};
use std::sync::Arc;

/// The piece that a chunk adds to one array.
#[derive(Debug)]
pub enum ArrayPiece {
    /// Little-endian values with this shape, and their CRC-32 if needed.
    Values { bytes: Buffer, shape: Vec<u64>, crc: Option<crc32fast::Hasher> },
    /// Row ends, relative to the start of the chunk.
    Ends(Vec<i64>),
    /// Indices with `width` components; the first component is the record, relative to the start of the chunk.
    Indices { values: Vec<i64>, width: usize },
    /// A shape accumulated over chunks: the first size is a sum, the others are maxima.
    Shape(Vec<i64>),
}

/// The pieces that a chunk adds to all arrays of a layout, in order.
#[derive(Debug)]
pub struct Pieces {
    pub nrecords: u64,
    pub pieces: Vec<ArrayPiece>,
}

/// Encodes chunks into pieces.
pub struct ArraysEncoder {
    pub schema: Arc<Schema>,
    pub layout: Arc<StoredSchema>,
    /// Whether a CRC-32 of the values is needed.
    pub checksums: bool,
}

impl Encode for ArraysEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let (origin, nrows) = (chunk.origin.clone(), chunk.nrows);
        let pieces = self.pieces(&chunk).map_err(|e| origin.resolve(e, nrows))?;
        Ok(Box::new(Pieces { nrecords: nrows as u64, pieces }))
    }
}

impl ArraysEncoder {
    fn pieces(&self, chunk: &Chunk) -> Result<Vec<ArrayPiece>> {
        let mut walk = ArrayWalk {
            stacking: self.layout.stacking,
            leaves: self.layout.leaves.iter(),
            checksums: self.checksums,
            pieces: Vec::with_capacity(self.layout.arrays.len()),
        };
        for (field, column) in self.schema.fields.iter().zip(&chunk.columns) {
            walk.field(field, column, &FieldPath::name(&field.name), Vec::new())?;
        }
        Ok(walk.pieces)
    }
}

struct ArrayWalk<'a> {
    stacking: Stacking,
    leaves: std::slice::Iter<'a, StoredLeaf>,
    checksums: bool,
    pieces: Vec<ArrayPiece>,
}

impl<'a> ArrayWalk<'a> {
    /// `above`: the partitions of the enclosing axes, outermost first.
    fn field(&mut self, field: &Field, tensor: &Tensor, path: &FieldPath, mut above: Vec<RowPartition>) -> Result<()> {
        let dims = field.ty.list_dims();
        let mut at = tensor;
        for _ in 0..dims.len() {
            let list = at.as_list()?;
            refuse_nulls(list.validity(), field, path, &above)?;
            above.push(list.partition().clone());
            at = list.values();
        }
        match at {
            Tensor::Struct(s) => {
                refuse_nulls(s.validity(), field, path, &above)?;
                let inner = field.ty.fields().unwrap_or_default();
                inner.iter().zip(s.fields()).try_for_each(|(f, t)| self.field(f, t, &path.join(&f.name), above.clone()))
            }
            Tensor::Leaf(array) => {
                let leaf = self.leaf(path)?;
                if leaf.stored.contents != Contents::Times {
                    refuse_nulls(array.nulls(), field, path, &above)?;
                }
                self.dense(leaf, array, &above).map_err(|e| e.in_field(path))
            }
            Tensor::Sparse(sparse) => {
                refuse_nulls(sparse.validity(), field, path, &above)?;
                above.push(sparse.entries().clone());
                refuse_nulls(sparse.values().nulls(), field, path, &above)?;
                let leaf = self.leaf(path)?;
                self.sparse(leaf, sparse)
            }
            Tensor::List(_) => Err(Error::internal("a list that its type does not have").in_field(path)),
        }
    }

    fn leaf(&mut self, path: &FieldPath) -> Result<&'a StoredLeaf> {
        self.leaves.next().ok_or_else(|| Error::internal("a leaf without a place").in_field(path))
    }

    fn values(&mut self, bytes: Buffer, shape: Vec<u64>) {
        let crc = self.checksums.then(|| {
            let mut crc = crc32fast::Hasher::new();
            crc.update(&bytes);
            crc
        });
        self.pieces.push(ArrayPiece::Values { bytes, shape, crc });
    }

    fn dense(&mut self, leaf: &StoredLeaf, array: &ArrayRef, above: &[RowPartition]) -> Result<()> {
        let one = self.stacking == Stacking::One;
        // Axis 0 of a single record is the first axis of its arrays and needs no row splits.
        let inner = if one { above.get(1..).unwrap_or_default() } else { above };
        let text = leaf.stored.contents.is_text();
        let levels = match leaf.stored.form {
            ArrayForm::Ragged { levels } => levels - usize::from(text),
            _ => 0,
        };
        let (split, tail) = inner.split_at_checked(levels).ok_or_else(|| Error::internal("fewer axes than row splits"))?;
        let mut ends: Vec<Vec<i64>> = split.iter().map(row_ends).collect();
        if text {
            let (bytes, own) = text_of(array)?;
            self.values(bytes.clone(), vec![bytes.len() as u64]);
            ends.push(own);
        } else {
            let nrows = tail.first().map_or(array.len(), RowPartition::nrows);
            let shape = if one && above.is_empty() {
                Vec::new()
            } else {
                let sizes = tail.iter().map(|p| p.common_row_length().or((p.nrows() == 0).then_some(0)).map(|n| n as u64));
                let sizes: Option<Vec<u64>> = std::iter::once(Some(nrows as u64)).chain(sizes).collect();
                sizes.ok_or_else(|| Error::internal("an axis of one size with rows that differ"))?
            };
            let bytes = match leaf.stored.contents {
                Contents::Times => times_of(array).map_err(|e| e.locate(|at| at.row = at.row.map(|row| record_of(row, above))))?,
                _ => bytes_of(array)?,
            };
            self.values(bytes, shape);
        }
        self.pieces.extend(ends.into_iter().map(ArrayPiece::Ends));
        Ok(())
    }

    fn sparse(&mut self, leaf: &StoredLeaf, sparse: &Sparse) -> Result<()> {
        let (ndims, nrows, entries) = (sparse.ndims(), sparse.nrows(), sparse.entries());
        let shape: Vec<i64> = match self.stacking {
            Stacking::One => sparse.shape_of(0).to_vec(),
            Stacking::Records => {
                let largest = |axis: usize| (0..nrows).map(|row| sparse.shape_of(row)[axis]).max().unwrap_or(0);
                std::iter::once(nrows as i64).chain((0..ndims).map(largest)).collect()
            }
        };
        let nvals = entries.nvals() as u64;
        if self.stacking == Stacking::Records {
            let mut values = Vec::with_capacity(entries.nvals() * (ndims + 1));
            for row in 0..nrows {
                for entry in entries.range(row) {
                    values.push(row as i64);
                    values.extend_from_slice(sparse.index_of(entry));
                }
            }
            self.pieces.push(ArrayPiece::Indices { values, width: ndims + 1 });
        } else {
            self.values(little_endian(sparse.indices().inner().clone(), 8), vec![nvals, ndims as u64]);
        }
        self.values(bytes_of(sparse.values())?, vec![nvals]);
        self.pieces.push(ArrayPiece::Shape(shape));
        if matches!(leaf.stored.form, ArrayForm::Sparse { shapes: true }) {
            self.values(little_endian(sparse.dense_shape().inner().clone(), 8), vec![nrows as u64, ndims as u64]);
        }
        Ok(())
    }
}

fn refuse_nulls(validity: Option<&NullBuffer>, field: &Field, path: &FieldPath, above: &[RowPartition]) -> Result<()> {
    let Some(validity) = validity.filter(|v| v.null_count() > 0) else { return Ok(()) };
    let item = (0..validity.len()).find(|i| validity.is_null(*i)).unwrap_or(0);
    let record = record_of(item, above);
    let message = if above.is_empty() { "is null, which arrays cannot store" } else { "contains a null, which arrays cannot store" };
    Err(Error::data(message).in_field(path).at_row(record).help(fill_itself_or_drop(field, path)))
}

/// The record of an item below these partitions.
fn record_of(item: usize, above: &[RowPartition]) -> usize {
    above.iter().rev().fold(item, |item, partition| row_of(partition, item))
}

fn row_ends(partition: &RowPartition) -> Vec<i64> {
    (1..=partition.nrows()).map(|row| partition.start(row) as i64).collect()
}

/// The bytes of all strings, and the end of each.
fn text_of(array: &ArrayRef) -> Result<(Buffer, Vec<i64>)> {
    let (offsets, bytes) = if let Some(text) = array.as_string_opt::<i64>() {
        (text.offsets(), text.values())
    } else if let Some(bytes) = array.as_binary_opt::<i64>() {
        (bytes.offsets(), bytes.values())
    } else {
        return Err(Error::internal("neither text nor bytes"));
    };
    let (start, end) = (offsets[0], offsets[offsets.len() - 1]);
    let own = bytes.slice_with_length(start as usize, (end - start) as usize);
    Ok((own, offsets[1..].iter().map(|at| at - start).collect()))
}
