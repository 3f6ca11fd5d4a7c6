//! Tensors to Arrow arrays and back. Values are shared; list offsets change width.

use super::Tensor;
use crate::error::{Error, Result};
use crate::schema::{Field, Type};
use arrow_array::ArrayRef;

/// The Arrow field that a field is written as.
pub fn to_arrow_field(field: &Field) -> arrow_schema::Field {
    let _ = field;
    arrow_schema::Field::new("", arrow_schema::DataType::Null, true)
}

/// The field that an Arrow field is read as.
pub fn from_arrow_field(field: &arrow_schema::Field) -> Result<Field> {
    Err(Error::data(format!("{field}")))
}

/// The Arrow array of `to_arrow_field`'s type.
pub fn to_arrow(tensor: &Tensor, ty: &Type) -> Result<ArrayRef> {
    Err(Error::data(format!("{} {ty}", tensor.nrows())))
}

/// The tensor of an Arrow array whose field reads as `ty`.
pub fn from_arrow(array: &ArrayRef, ty: &Type) -> Result<Tensor> {
    Err(Error::data(format!("{} {ty}", array.len())))
}
