//! Padding of batches, for `padded-batch` and `bucket`.

use super::edit::{Scope, visit};
use super::memory::Budget;
use super::pad_plan::{PaddedField, PaddingPlan};
use super::padding::{AxisSize, PaddingArgs};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::printable::{counted, shell_word};
use crate::schema::{DType, Field, Schema, every_field, filling};
use crate::tensor::Tensor;
use crate::tensor::pad::{Side, Target, first_too_large};
use crate::verbs::verb::Map;
use std::sync::Arc;

/// The limits on a field of a single record: not null, and a maximum size for each axis.
pub struct RecordLimit {
    path: FieldPath,
    positions: Vec<usize>,
    /// See [`Scope::filling`](super::edit::Scope).
    filling: Option<Arc<str>>,
    /// The maximum sizes; empty for a scalar or a structure.
    pub targets: Vec<Target>,
}

impl RecordLimit {
    fn check(&self, chunk: &Chunk) -> Result<()> {
        visit(chunk, &self.positions, &mut |tensor, scope| {
            let scope = Scope { records: scope.records.clone(), filling: self.filling.clone() };
            match tensor {
                // The fields inside it have their own limits.
                Tensor::Struct(s) => {
                    let alone = Tensor::structure(tensor.nrows(), Vec::new(), s.validity().cloned())?;
                    return scope.refuse_nulls(&alone, &self.path);
                }
                _ => scope.refuse_nulls(tensor, &self.path)?,
            }
            match first_too_large(tensor, &self.targets)? {
                None => Ok(()),
                Some((row, axis, size, most)) => {
                    let error = Error::data(format!("found {}, but --shape allows only {most}", counted(size as u64, "item")))
                        .at_row(row)
                        .on_axis(axis);
                    Err(error.help("use a larger --shape, or truncate with: batch N then to-dense --shape"))
                }
            }
        })
        .map_err(|e| e.in_field(&self.path))
    }
}

/// Rejects the first record that exceeds a limit, however records are divided into chunks.
///
/// # Errors
/// Names the row and either the null and how to fill it, or the axis, its size and the limit.
pub fn check_records(limits: &[RecordLimit], chunk: &Chunk) -> Result<()> {
    let first = limits.iter().filter_map(|limit| limit.check(chunk).err()).min_by_key(|e| e.location().row);
    first.map_or(Ok(()), Err)
}

/// The padding of batches of these records, and the limits on each record.
///
/// # Errors
/// Fields that cannot be padded; invalid options.
pub fn batch_plan(schema: &Schema, padding: &PaddingArgs, options: &Options) -> Result<(PaddingPlan, Vec<RecordLimit>)> {
    let mut found: Vec<(FieldPath, Field)> = Vec::new();
    every_field(&schema.fields, None, &mut |path, field| found.push((path, field.clone())));
    let (mut fields, mut limits) = (Vec::new(), Vec::new());
    let filling = filling::filling(schema, found.iter().map(|(path, _)| path));
    for (path, Field { ty, .. }) in found {
        if ty.is_sparse() {
            return Err(Error::usage("is sparse; only dense and ragged fields can be padded")
                .in_field(&path)
                .help(format!("make it dense first: to-dense -f {}", shell_word(&path.to_string()))));
        }
        if ty.fields().is_some() && ty.rank() > 0 {
            let error = Error::usage("is a list of structures, and structures cannot be padded").in_field(&path);
            return Err(error.help(format!("promote its fields first, or leave it out: drop {}", shell_word(&path.to_string()))));
        }
        let positions = schema.find(&path)?.0;
        let Some(dtype) = ty.dtype().filter(|_| ty.rank() > 0) else {
            let is_checked = ty.dtype().is_none_or(|d| d.is_tensor() || matches!(d, DType::Null | DType::Arrow(_)));
            if ty.optional && is_checked {
                limits.push(RecordLimit { path, positions, filling: filling.clone(), targets: Vec::new() });
            }
            continue;
        };
        let own = padding.shape(&path, ty.rank())?.map_or_else(|| vec![AxisSize::Longest; ty.rank()], <[_]>::to_vec);
        let targets = own.iter().map(|size| match size {
            AxisSize::Longest | AxisSize::Max => Target::Longest,
            AxisSize::AtMost(n) => Target::AtMost(*n),
            AxisSize::Exact(n) => Target::Exact(*n),
        });
        limits.push(RecordLimit { path: path.clone(), positions, filling: filling.clone(), targets: targets.collect() });
        let filling = padding.wide_filling(&path, dtype)?;
        let batch_axis = path.parent().is_none().then_some(AxisSize::Longest);
        fields.push(PaddedField { path, sizes: batch_axis.into_iter().chain(own).collect(), filling });
    }
    padding.check(schema, &fields.iter().map(|f| f.path.clone()).collect::<Vec<_>>())?;
    let plan = PaddingPlan {
        fields,
        checked: Vec::new(),
        side: Side::Right,
        multiple_of: None,
        lengths: false,
        mask: false,
        max_nbytes: Budget::limit(options),
    };
    Ok((plan, limits))
}

/// Pads a batch; errors name the records of the batch.
///
/// # Errors
/// See [`Map::apply`] of the padding.
pub fn padded(edits: &dyn Map, batch: Chunk) -> Result<Chunk> {
    let (origin, nrows) = (batch.origin.clone(), batch.nrows);
    edits.apply(batch).map_err(|e| origin.resolve(e, nrows))
}
