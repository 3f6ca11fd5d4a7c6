//! Structures made of fields.

use super::level::{check_known, check_same, check_uniform, wrap};
use crate::error::{Error, Result};
use crate::schema::Dim;
use crate::tensor::Tensor;

/// Structures with these fields, which share the axes `dims`. Without fields: one for each of `nrows` rows.
///
/// # Errors
/// The shared axes differ between the fields or from `dims`.
pub fn with_fields(fields: &[&Tensor], dims: &[Dim], nrows: usize) -> Result<Tensor> {
    let Some((first, others)) = fields.split_first() else {
        return Tensor::structure(nrows, Vec::new(), None);
    };
    let rank = dims.len();
    others.iter().try_for_each(|other| check_same(first, other, rank, "the fields"))?;
    let (outer, below) = first.levels(rank)?;
    let nrows = below.nrows();
    let below = fields.iter().map(|t| t.levels(rank).map(|(_, below)| below.clone())).collect::<Result<Vec<_>>>()?;
    if below.iter().any(|field| field.nrows() != nrows) {
        return Err(Error::internal("fields of other lengths"));
    }
    let out = wrap(outer.into_iter().cloned(), Tensor::structure(nrows, below, None)?)?;
    check_uniform(&out, dims)?;
    check_known(&out, dims)?;
    Ok(out)
}
