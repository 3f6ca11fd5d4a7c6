//! Converts tensors to Arrow arrays of the type given by [`super::to_arrow_field`].

use super::encoded::leaf;
use super::extension::{TensorLayout, TensorType};
use super::field::{Reading, Role, reading};
use super::leaf::{too_many, unexpected};
use crate::error::{Error, Result};
use crate::schema::nested::list_item;
use crate::tensor::{List, RowPartition, Sparse, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::{
    ArrayRef, FixedSizeListArray, Int32Array, Int64Array, LargeListArray, LargeListViewArray, ListArray, ListViewArray, MapArray,
    OffsetSizeTrait, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef};
use std::sync::Arc;

/// The rows of a tensor as an array of `field`'s type, where `field` was created by [`super::to_arrow_field`] for the
/// tensor's type. Values are shared; offsets are copied if they become narrower.
///
/// # Errors
/// More values than 32-bit offsets can address, or a tensor that does not match the field (a bug).
pub fn to_arrow(tensor: &Tensor, field: &Field) -> Result<ArrayRef> {
    export(tensor, field, Role::Field)
}

fn export(tensor: &Tensor, field: &Field, role: Role) -> Result<ArrayRef> {
    match (reading(field, role), tensor) {
        (Reading::Sparse { .. }, Tensor::Sparse(sparse)) => sparse_array(sparse, field),
        // Written fields are in logical order.
        (Reading::Tensor(ty @ TensorType { layout: TensorLayout::Fixed, .. }), _) => {
            let (list, values) = merged(tensor, ty.rank())?;
            rows(&list, plain(&values, item_of(field)?)?, tensor.validity(), field.data_type())
        }
        (Reading::Tensor(ty @ TensorType { layout: TensorLayout::Variable, .. }), _) => variable_shape(tensor, ty.rank(), field),
        _ => plain(tensor, field),
    }
}

fn plain(tensor: &Tensor, field: &Field) -> Result<ArrayRef> {
    match (tensor, field.data_type()) {
        (Tensor::Leaf(array), ty) => leaf(array, ty),
        (Tensor::List(list), DataType::Map(entries, sorted)) => map(list, entries, *sorted),
        (Tensor::List(list), ty) => {
            let values = export(list.values(), item_of(field)?, Role::Item)?;
            rows(list.partition(), values, list.validity().cloned(), ty)
        }
        (Tensor::Struct(s), DataType::Struct(fields)) if fields.len() == s.fields().len() => {
            if fields.is_empty() {
                return Ok(Arc::new(StructArray::new_empty_fields(tensor.nrows(), s.validity().cloned())));
            }
            let columns =
                s.fields().iter().zip(fields).map(|(t, f)| to_arrow(t, f).map_err(|e| e.in_field(f.name()))).collect::<Result<_>>()?;
            Ok(Arc::new(StructArray::try_new(fields.clone(), columns, s.validity().cloned()).map_err(unexpected)?))
        }
        (_, ty) => Err(Error::internal(format!("no {ty} can be made of this tensor"))),
    }
}

fn map(list: &List, entries: &FieldRef, sorted: bool) -> Result<ArrayRef> {
    let values = plain(list.values(), entries)?;
    let offsets = OffsetBuffer::new(narrow(&list.partition().row_splits())?);
    let values = values.as_struct_opt().ok_or_else(|| Error::internal("the entries of a map are structures"))?.clone();
    Ok(Arc::new(MapArray::try_new(entries.clone(), offsets, values, list.validity().cloned(), sorted).map_err(unexpected)?))
}

fn item_of(field: &Field) -> Result<&FieldRef> {
    list_item(field.data_type()).ok_or_else(|| Error::internal(format!("{} is no list", field.data_type())))
}

/// An array of lists with type `ty`.
fn rows(partition: &RowPartition, values: ArrayRef, validity: Option<NullBuffer>, ty: &DataType) -> Result<ArrayRef> {
    Ok(match ty {
        DataType::FixedSizeList(item, size) => {
            if usize::try_from(*size).ok() != partition.uniform_row_length() {
                return Err(Error::internal(format!("rows that are not of the known size {size}")));
            }
            let array = FixedSizeListArray::try_new_with_length(item.clone(), *size, values, validity, partition.nrows());
            Arc::new(array.map_err(unexpected)?)
        }
        DataType::LargeList(item) => {
            let offsets = OffsetBuffer::new(partition.row_splits());
            Arc::new(LargeListArray::try_new(item.clone(), offsets, values, validity).map_err(unexpected)?)
        }
        DataType::List(item) => {
            let offsets = narrow(&partition.row_splits())?;
            Arc::new(ListArray::try_new(item.clone(), OffsetBuffer::new(offsets), values, validity).map_err(unexpected)?)
        }
        DataType::LargeListView(item) => {
            let (starts, sizes) = views(&partition.row_splits());
            Arc::new(LargeListViewArray::try_new(item.clone(), starts, sizes, values, validity).map_err(unexpected)?)
        }
        DataType::ListView(item) => {
            let (starts, sizes) = views(&narrow(&partition.row_splits())?);
            Arc::new(ListViewArray::try_new(item.clone(), starts, sizes, values, validity).map_err(unexpected)?)
        }
        other => return Err(Error::internal(format!("{other} is no list"))),
    })
}

/// The start and length of each row.
fn views<O: OffsetSizeTrait>(splits: &ScalarBuffer<O>) -> (ScalarBuffer<O>, ScalarBuffer<O>) {
    let starts = splits.slice(0, splits.len().saturating_sub(1));
    let sizes = splits.windows(2).map(|w| w[1] - w[0]).collect();
    (starts, sizes)
}

fn narrow(splits: &[i64]) -> Result<ScalarBuffer<i32>> {
    match splits.last() {
        Some(last) if i32::try_from(*last).is_err() => Err(too_many(*last as u64)),
        _ => Ok(splits.iter().map(|s| *s as i32).collect()),
    }
}

fn sparse_array(sparse: &Sparse, field: &Field) -> Result<ArrayRef> {
    let DataType::Struct(fields) = field.data_type() else { return Err(Error::internal("a sparse tensor is a structure")) };
    let [indices, values, shape] =
        <&[FieldRef; 3]>::try_from(fields.as_ref()).map_err(|_| Error::internal("a sparse tensor has three components"))?;
    let index_item = item_of(indices)?;
    let numbers = |buffer: &ScalarBuffer<i64>| Arc::new(Int64Array::new(buffer.clone(), None)) as ArrayRef;
    let index_rows = RowPartition::uniform(sparse.ndims(), sparse.entries().nvals())?;
    let shape_rows = RowPartition::uniform(sparse.ndims(), sparse.nrows())?;
    let columns = vec![
        rows(sparse.entries(), rows(&index_rows, numbers(sparse.indices()), None, index_item.data_type())?, None, indices.data_type())?,
        rows(sparse.entries(), leaf(sparse.values(), item_of(values)?.data_type())?, None, values.data_type())?,
        rows(&shape_rows, numbers(sparse.dense_shape()), None, shape.data_type())?,
    ];
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, sparse.validity().cloned()).map_err(unexpected)?))
}

/// The first `levels` axes as one partition, and the values below.
fn merged(tensor: &Tensor, levels: usize) -> Result<(RowPartition, Tensor)> {
    let (partitions, below) = tensor.levels(levels)?;
    let mut level = tensor.as_list()?;
    for _ in 1..levels {
        level = level.values().as_list()?;
        if level.validity().is_some() {
            return Err(Error::data("a row inside a tensor is null, which the tensor extension types do not support")
                .help("write without --tensor-types"));
        }
    }
    let mut partitions = partitions.into_iter();
    let first = partitions.next().cloned().ok_or_else(|| Error::internal("a scalar is no tensor of known rank"))?;
    Ok((partitions.fold(first, |outer, inner| outer.merge(inner)), below.clone()))
}

/// `struct<data, shape>`: the sizes of each record. An axis below an empty one has size 0, unless its size is known.
fn variable_shape(tensor: &Tensor, rank: usize, field: &Field) -> Result<ArrayRef> {
    let DataType::Struct(fields) = field.data_type() else {
        return Err(Error::internal("a tensor of variable shape is a structure"));
    };
    let [data, shape] = <&[FieldRef; 2]>::try_from(fields.as_ref()).map_err(|_| Error::internal("data and shape are expected"))?;
    let (partition, values) = merged(tensor, rank)?;
    let nrows = tensor.nrows();
    let mut sizes = vec![0i32; nrows.checked_mul(rank).ok_or_else(|| too_many(nrows as u64))?];
    let mut firsts: Vec<usize> = (0..=nrows).collect();
    let mut level = tensor;
    for axis in 0..rank {
        let list: &List = level.as_list()?;
        for row in 0..nrows {
            let (start, end) = (firsts[row], firsts[row + 1]);
            let size = match list.partition().uniform_row_length() {
                Some(size) => size,
                None if start < end => list.partition().row_length(start),
                None => 0,
            };
            if list.partition().uniform_row_length().is_none() && (start..end).any(|r| list.partition().row_length(r) != size) {
                return Err(Error::data("the rows of a uniform axis differ in length").at_row(row).on_axis(axis));
            }
            sizes[row * rank + axis] = i32::try_from(size).map_err(|_| too_many(size as u64))?;
        }
        for first in &mut firsts {
            *first = list.partition().start(*first);
        }
        level = list.values();
    }
    let columns = vec![
        rows(&partition, plain(&values, item_of(data)?)?, None, data.data_type())?,
        rows(&RowPartition::uniform(rank, nrows)?, Arc::new(Int32Array::from(sizes)), None, shape.data_type())?,
    ];
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, tensor.validity()).map_err(unexpected)?))
}
