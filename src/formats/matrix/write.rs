//! Shared by the writers of matrices.

use super::value::is_writable;
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::printable::shell_word;
use crate::schema::{Field, Schema};

/// The single field of the records: a sparse vector of numbers.
///
/// # Errors
/// There is another field, or the field has another type; the error has advice.
pub fn the_sparse_field<'a>(schema: &'a Schema, format: &str) -> Result<&'a Field> {
    let is_row = |field: &Field| field.ty.is_sparse() && field.ty.rank() == 1 && field.ty.dtype().is_some_and(is_writable);
    match schema.fields.as_slice() {
        [field] if is_row(field) => Ok(field),
        [field] => {
            let error = Error::usage(format!("{format} stores one sparse vector per record, but {} is {}", quoted(&field.name), field.ty));
            Err(error.help(match field.ty.rank() {
                1 if !field.ty.is_sparse() && field.ty.dtype().is_some_and(is_writable) => {
                    format!("make it sparse: to-sparse -f {}", shell_word(&quoted(&field.name)))
                }
                _ => "for other tensors, use npz or safetensors".to_owned(),
            }))
        }
        fields => {
            let error = Error::usage(format!("{format} stores one sparse vector per record, but the records have {} fields", fields.len()));
            Err(match fields.iter().find(|f| is_row(f)) {
                Some(field) => error.help(format!("keep only that field: select {}", shell_word(&quoted(&field.name)))),
                None => error.help("make a field sparse with to-sparse, and select it"),
            })
        }
    }
}
