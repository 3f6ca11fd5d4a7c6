//! A field that is a number in each record.

use super::keys::KeyField;
use crate::chunk::Chunk;
use crate::error::{Error, Message, Reason, Result};
use crate::expr::{computable, valueless};
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::schema::filling::filling;
use crate::schema::{DType, Schema};
use crate::tensor::Tensor;
use std::sync::Arc;

/// A field that is a number in each record. It can be inside structures that each record has once.
#[derive(Clone, Debug)]
pub struct NumberField {
    field: KeyField,
    /// Whether it is a float; otherwise an integer.
    pub is_float: bool,
    /// The arguments of the `fill-null` for its nulls, if it can be null.
    filling: Option<Arc<str>>,
}

impl NumberField {
    /// Finds the field. The advice names `command`, which takes the name of a field, such as `sample 10 --weights`.
    ///
    /// # Errors
    /// A field that does not exist or has another type.
    pub fn find(path: &FieldPath, schema: &Schema, command: &str) -> Result<NumberField> {
        let field = KeyField::find(path, schema, command)?;
        let ty = &field.field.ty;
        let dtype = ty.dtype().filter(|_| ty.dims.is_empty());
        let is_float = match dtype {
            Some(DType::Float16 | DType::Float32 | DType::Float64) => true,
            Some(dtype) if dtype.is_integer() => false,
            _ => {
                let error = Error::usage(format!("is {ty}; expected a number in each record")).in_field(path);
                let is_list_of_numbers = !ty.dims.is_empty() && ty.dtype().is_some_and(|d| d.is_tensor() && *d != DType::String);
                return Err(match is_list_of_numbers {
                    _ if dtype == Some(&DType::Null) => error.help(valueless(path, ty)),
                    _ if ty.dims.is_empty() && dtype.is_some_and(|dtype| !dtype.is_tensor()) => {
                        let name = path.to_string();
                        dtype.map(|dtype| computable(dtype, Some(&name))).into_iter().fold(error, Error::help)
                    }
                    true => {
                        let map = shell_word(&format!("n = reduce_sum({})", path.in_expression()));
                        let error = error.because(Reason::NotScalar(path.names().to_vec()));
                        error.help(format!("sum the list first: map {map} then {command} n"))
                    }
                    false => error,
                });
            }
        };
        Ok(NumberField { filling: filling(schema, [path]), field, is_float })
    }

    /// The numbers of the records.
    ///
    /// # Errors
    /// The chunk has another schema.
    pub fn of(&self, chunk: &Chunk) -> Result<Tensor> {
        self.field.of(chunk)
    }

    /// An error for the number in this row of a chunk.
    pub fn error_at(&self, row: usize, message: impl Into<Message>) -> Error {
        Error::data(message).in_field(&self.field.path).at_row(row)
    }

    /// The error for a null in this row of a chunk.
    pub fn null_at(&self, row: usize) -> Error {
        let fill = self.filling.as_ref().map(|pairs| format!("fill it first: fill-null {}", shell_word(pairs)));
        fill.into_iter().fold(self.error_at(row, "is null"), Error::help)
    }

    /// Its path.
    pub fn path(&self) -> &FieldPath {
        &self.field.path
    }
}
