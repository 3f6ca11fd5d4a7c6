//! Encodes a chunk as features of tf.Examples: the inverse of the mapping that reads them.

use super::super::features::Encoding;
use super::super::names::{flat_values_name, row_lengths_name, shape_name, tensor_name};
use super::plan::{Plan, PlanLeaf, PlanNode};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::examples::flatten::{Feature, FeatureValues, merged, text};
use crate::path::FieldPath;
use crate::printable::{counted, shell_word};
use crate::schema::filling::fill_or_drop;
use crate::schema::{DType, Schema};
use crate::tensor::{RowPartition, Tensor, row_of};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_buffer::{Buffer, NullBuffer};
use std::io::Write;

/// The features of a chunk, in field order.
///
/// # Errors
/// A null.
pub fn flatten(plan: &Plan, schema: &Schema, chunk: &Chunk) -> Result<Vec<Feature>> {
    let mut features = Vec::new();
    for (node, column) in plan.nodes.iter().zip(&chunk.columns) {
        walk(schema, node, column.clone(), &[], &FieldPath::name(""), &mut features)?;
    }
    Ok(features)
}

/// `above`: the partitions of the enclosing sequences, outermost first.
fn walk(
    schema: &Schema,
    node: &PlanNode,
    tensor: Tensor,
    above: &[RowPartition],
    path: &FieldPath,
    features: &mut Vec<Feature>,
) -> Result<()> {
    let (levels, path) = match node {
        PlanNode::Struct(levels, inner) => (*levels, first_path(inner).and_then(FieldPath::parent).unwrap_or_else(|| path.clone())),
        PlanNode::Leaf(leaf) => (leaf.levels, leaf.path.clone()),
    };
    let mut above = above.to_vec();
    let mut tensor = tensor;
    for _ in 0..levels {
        let Tensor::List(list) = tensor else { return Err(Error::internal("a sequence that is not a list").in_field(&path)) };
        no_nulls(schema, list.validity(), &above, &path)?;
        above.push(list.partition().clone());
        tensor = list.into_values();
    }
    match (node, tensor) {
        (PlanNode::Leaf(leaf), tensor) => self::leaf(schema, leaf, tensor, &above, features),
        (PlanNode::Struct(_, inner), Tensor::Struct(s)) => {
            no_nulls(schema, s.validity(), &above, &path)?;
            inner.iter().zip(s.into_fields()).try_for_each(|(node, column)| walk(schema, node, column, &above, &path, features))
        }
        _ => Err(Error::internal("a tensor that is not of its type").in_field(&path)),
    }
}

/// The path of a field of a structure.
fn first_path(nodes: &[PlanNode]) -> Option<&FieldPath> {
    match nodes.first()? {
        PlanNode::Leaf(leaf) => Some(&leaf.path),
        PlanNode::Struct(_, inner) => first_path(inner),
    }
}

fn no_nulls(schema: &Schema, validity: Option<&NullBuffer>, above: &[RowPartition], path: &FieldPath) -> Result<()> {
    let Some(item) = validity.and_then(|validity| (0..validity.len()).find(|item| validity.is_null(*item))) else { return Ok(()) };
    let record = above.iter().rev().fold(item, |item, partition| row_of(partition, item));
    Err(Error::data("a TFDS dataset cannot store nulls").in_field(path).at_row(record).help(fill_or_drop(schema, path)))
}

fn leaf(schema: &Schema, leaf: &PlanLeaf, tensor: Tensor, above: &[RowPartition], features: &mut Vec<Feature>) -> Result<()> {
    let mut tensor = tensor;
    let mut inner: Vec<RowPartition> = Vec::new();
    let mut valid = None;
    let mut check = |validity: Option<&NullBuffer>, inner: &[RowPartition]| -> Result<()> {
        if leaf.optional && inner.is_empty() && above.is_empty() {
            valid = validity.cloned();
            return Ok(());
        }
        no_nulls(schema, validity, &[above, inner].concat(), &leaf.path)
    };
    let array = loop {
        match tensor {
            Tensor::List(list) => {
                check(list.validity(), &inner)?;
                inner.push(list.partition().clone());
                tensor = list.into_values();
            }
            Tensor::Leaf(array) => {
                check(array.nulls().filter(|nulls| nulls.null_count() > 0), &inner)?;
                break array;
            }
            _ => return Err(Error::internal("a tensor that is not of its type").in_field(&leaf.path)),
        }
    };
    let base = tensor_name(&leaf.key, leaf.has_sizes);
    // The items of a sequence that are packed are counted by their texts.
    if leaf.encoding == Encoding::None || above.is_empty() {
        rows_have_values(leaf, above, &inner)?;
    }
    if leaf.encoding == Encoding::None {
        let rows = merged(&[above, &inner].concat());
        return push(features, &base, values(&leaf.dtype, &array)?, rows, above, valid.as_ref());
    }
    let items = merged(&inner);
    let packed = packed(&leaf.dtype, &array, items.as_ref(), leaf.encoding == Encoding::Zlib)?;
    if leaf.has_sizes {
        let nitems = inner.first().map_or(0, RowPartition::nrows);
        let mut sizes = Vec::with_capacity(nitems * inner.len());
        for item in 0..nitems {
            let mut row = item;
            for (partition, known) in inner.iter().zip(&leaf.shape) {
                let range = if row < partition.nrows() { partition.range(row) } else { 0..0 };
                // Without rows, an unknown size is 0.
                sizes.push(known.map_or(range.len() as i64, |size| i64::try_from(size).unwrap_or(0)));
                row = if range.is_empty() { usize::MAX } else { range.start };
            }
        }
        let each = RowPartition::uniform(inner.len(), nitems)?;
        let rows = merged(&[above, &[each]].concat());
        push(features, &shape_name(&leaf.key), FeatureValues::Int64(sizes.into()), rows, above, valid.as_ref())?;
    }
    push(features, &base, packed, merged(above), above, valid.as_ref())
}

/// Rows whose number is found from that of their values must have values.
fn rows_have_values(leaf: &PlanLeaf, above: &[RowPartition], inner: &[RowPartition]) -> Result<()> {
    let (open, outer) = match above {
        [outer @ .., rows] => (Some(rows), outer),
        [] => {
            let axis = leaf.shape.iter().position(Option::is_none).unwrap_or(inner.len());
            (inner.get(axis), &inner[..axis])
        }
    };
    let Some(rows) = open.filter(|_| !leaf.has_sizes && leaf.shape.contains(&Some(0))) else { return Ok(()) };
    let Some(row) = (0..rows.nrows()).find(|row| rows.row_length(*row) > 0) else { return Ok(()) };
    let n = counted(rows.row_length(row) as u64, "row");
    let record = outer.iter().rev().fold(row, |row, partition| row_of(partition, row));
    let error = Error::data(format!("a TFDS record cannot store {n} of size 0: they would read back as none")).in_field(&leaf.path);
    Err(error.at_row(record).help(format!("leave it out: drop {}", shell_word(&leaf.path.to_string()))))
}

/// Adds a feature, with the row lengths of the enclosing sequences.
fn push(
    features: &mut Vec<Feature>,
    base: &str,
    values: FeatureValues,
    rows: Option<RowPartition>,
    above: &[RowPartition],
    valid: Option<&NullBuffer>,
) -> Result<()> {
    let name = flat_values_name(base, above.len());
    features.push(Feature { name, values, steps: None, rows, valid: valid.cloned() });
    for (level, partition) in above.iter().enumerate().skip(1) {
        let lengths: Vec<i64> = partition.row_lengths().map(|n| n as i64).collect();
        features.push(Feature {
            name: row_lengths_name(base, level),
            values: FeatureValues::Int64(lengths.into()),
            steps: None,
            rows: merged(&above[..level]),
            valid: None,
        });
    }
    Ok(())
}

fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::internal(format!("{error}"))
}

/// The values of an array as feature values; for uint64, the bits.
fn values(dtype: &DType, array: &ArrayRef) -> Result<FeatureValues> {
    let cast = |to| arrow_cast::cast(array, &to).map_err(internal);
    Ok(match dtype {
        DType::String | DType::Json | DType::Bytes => text(array),
        DType::UInt64 => FeatureValues::Int64(array.as_primitive::<UInt64Type>().values().iter().map(|v| v.cast_signed()).collect()),
        DType::Float16 | DType::Float32 => {
            FeatureValues::Float(cast(arrow_schema::DataType::Float32)?.as_primitive::<Float32Type>().values().clone())
        }
        _ => FeatureValues::Int64(cast(arrow_schema::DataType::Int64)?.as_primitive::<Int64Type>().values().clone()),
    })
}

/// Tensors as bytes: one for each row of `items`, or for each value.
fn packed(dtype: &DType, array: &ArrayRef, items: Option<&RowPartition>, zlib: bool) -> Result<FeatureValues> {
    fn bytes<T: ArrowPrimitiveType>(array: &ArrayRef) -> (Buffer, usize) {
        (array.as_primitive::<T>().values().inner().clone(), size_of::<T::Native>())
    }
    let (data, width) = match dtype {
        DType::Bool => (Buffer::from_vec(array.as_boolean().values().iter().map(u8::from).collect::<Vec<u8>>()), 1),
        DType::Int8 => bytes::<Int8Type>(array),
        DType::Int16 => bytes::<Int16Type>(array),
        DType::Int32 => bytes::<Int32Type>(array),
        DType::Int64 => bytes::<Int64Type>(array),
        DType::UInt8 => bytes::<UInt8Type>(array),
        DType::UInt16 => bytes::<UInt16Type>(array),
        DType::UInt32 => bytes::<UInt32Type>(array),
        DType::UInt64 => bytes::<UInt64Type>(array),
        DType::Float16 => bytes::<Float16Type>(array),
        DType::Float32 => bytes::<Float32Type>(array),
        DType::Float64 => bytes::<Float64Type>(array),
        other => return Err(Error::internal(format!("a tensor of {other} as bytes"))),
    };
    let nitems = items.map_or(array.len(), RowPartition::nrows);
    let range = |item: usize| items.map_or(item..item + 1, |partition| partition.range(item));
    let mut offsets = Vec::with_capacity(nitems + 1);
    offsets.push(0i64);
    if !zlib {
        let first = if nitems == 0 { 0 } else { range(0).start };
        offsets[0] = (first * width) as i64;
        offsets.extend((0..nitems).map(|item| (range(item).end * width) as i64));
        return Ok(FeatureValues::Bytes(offsets.into(), data));
    }
    let mut out = Vec::new();
    for item in 0..nitems {
        let range = range(item);
        let mut encoder = flate2::write::ZlibEncoder::new(&mut out, flate2::Compression::default());
        let written = encoder.write_all(&data[range.start * width..range.end * width]).and_then(|()| encoder.finish().map(drop));
        written.map_err(|e| Error::internal(format!("zlib: {e}")))?;
        offsets.push(out.len() as i64);
    }
    Ok(FeatureValues::Bytes(offsets.into(), Buffer::from_vec(out)))
}
