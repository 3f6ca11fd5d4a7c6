//! The dense_shape of sparse tensors in formats that do not store it.

use crate::error::Result;
use crate::options::Options;
use crate::path::quoted;
use crate::schema::{Field, Size};

/// Notes that the dense_shape of each record is lost, if the type of the field does not give it.
///
/// # Errors
/// The notice itself, under `--strict`.
pub fn note(field: &Field, format: &str, options: &Options) -> Result<()> {
    if !field.ty.is_sparse() || field.ty.dims.iter().all(|dim| matches!(dim.size, Size::Known(_))) {
        return Ok(());
    }
    options.notices.add(format!("{}: {format} does not store the dense_shape of each record", quoted(&field.name)), options.strict)
}
