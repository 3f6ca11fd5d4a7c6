//! Empty tensors, rows of nulls, and rows with a single value.

use super::{RowPartition, Sparse, Tensor};
use crate::error::{Error, Result};
use crate::schema::{DType, Element, Field, Size, Type};
use arrow_array::{Array, ArrayRef, make_array, new_empty_array, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

impl Tensor {
    /// A tensor of this type without rows. O(levels and fields of the type).
    ///
    /// # Errors
    /// None for in-memory types.
    pub fn empty(ty: &Type) -> Result<Tensor> {
        Tensor::nulls(ty, 0)
    }

    /// `nrows` null rows of this type, even if it is not optional. Values below them are null where the type allows it,
    /// otherwise empty or zero. O(rows x product of the known sizes).
    ///
    /// # Errors
    /// A known size so large that values cannot be counted.
    pub fn nulls(ty: &Type, nrows: usize) -> Result<Tensor> {
        fill(ty, ty.list_dims().len(), nrows, true)
    }

    /// `nrows` rows that stand for nothing: null if the type allows it, otherwise empty or zero.
    ///
    /// # Errors
    /// As for [`Tensor::nulls`].
    pub fn fillers(ty: &Type, nrows: usize) -> Result<Tensor> {
        fill(ty, ty.list_dims().len(), nrows, ty.optional)
    }
}

fn fill(ty: &Type, levels: usize, nrows: usize, null: bool) -> Result<Tensor> {
    let validity = (nrows > 0 && null).then(|| NullBuffer::new_null(nrows));
    if levels > 0 {
        let dims = ty.list_dims();
        let partition = match dims[dims.len() - levels].size {
            Size::Known(size) => {
                RowPartition::uniform(usize::try_from(size).map_err(|_| Error::data("the size is too large for this machine"))?, nrows)?
            }
            _ => RowPartition::from_row_splits(vec![0i64; nrows + 1])?,
        };
        let values = fill(ty, levels - 1, partition.nvals(), ty.with_nulls)?;
        return Tensor::list(partition, values, validity);
    }
    match &ty.element {
        Element::Value(dtype) => Ok(Tensor::Leaf(leaf(dtype, nrows, null)?)),
        Element::Struct(fields) => {
            let field = |f: &Field| fill(&f.ty, f.ty.list_dims().len(), nrows, f.ty.optional);
            Tensor::structure(nrows, fields.iter().map(field).collect::<Result<_>>()?, validity)
        }
        Element::Sparse(dtype) => {
            let ndims = ty.rank();
            let shape: Vec<i64> = ty.dims.iter().map(|d| if let Size::Known(n) = d.size { n as i64 } else { 0 }).collect();
            let shapes = shape.iter().copied().cycle().take(ndims * nrows).collect::<Vec<_>>();
            let none = RowPartition::from_row_splits(vec![0i64; nrows + 1])?;
            Ok(Tensor::Sparse(Sparse::try_new(ndims, none, Vec::new().into(), new_empty_array(&dtype.arrow()), shapes.into(), validity)?))
        }
    }
}

fn leaf(dtype: &DType, nrows: usize, null: bool) -> Result<ArrayRef> {
    if nrows == 0 {
        return Ok(new_empty_array(&dtype.arrow()));
    }
    if null { Ok(new_null_array(&dtype.arrow(), nrows)) } else { zeros(&dtype.arrow(), nrows) }
}

/// Zeros, empty strings, or whatever is the first value of a type; nulls of types without values, and of unions, which have
/// only those of their members.
fn zeros(ty: &DataType, nrows: usize) -> Result<ArrayRef> {
    let nulls = new_null_array(ty, nrows);
    let data = nulls.to_data();
    let children = match ty {
        DataType::Null | DataType::Union(..) => return Ok(nulls),
        DataType::Dictionary(_, values) => vec![zeros(values, 1)?.to_data()],
        DataType::RunEndEncoded(_, values) => vec![data.child_data()[0].clone(), zeros(values.data_type(), 1)?.to_data()],
        _ => data.child_data().to_vec(),
    };
    // The values under nulls are zeros and empty strings.
    Ok(make_array(data.into_builder().nulls(None).child_data(children).build().map_err(|e| Error::data(e.to_string()))?))
}
