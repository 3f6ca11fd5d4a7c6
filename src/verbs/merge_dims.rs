//! `merge-dims F OUTER INNER`: merges adjacent axes.

use super::shared::axes::own_axes;
use super::shared::edit::{Edits, Scope};
use super::verb::{Bound, Example, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::schema::{Schema, Type};
use crate::tensor::Tensor;
use crate::tensor::merge::{merge_axes, merged_dims};
use std::sync::Arc;

/// Merges adjacent axes into one.
#[derive(clap::Args, Clone, Debug)]
pub struct MergeDims {
    /// Field to change
    #[arg(value_name = "FIELD", value_parser = FieldPath::parse)]
    field: FieldPath,
    /// First axis to merge, from 0; negative axes count from the last
    #[arg(value_name = "OUTER", allow_negative_numbers = true)]
    outer: i64,
    /// Last axis to merge
    #[arg(value_name = "INNER", allow_negative_numbers = true)]
    inner: i64,
}

impl Verb for MergeDims {
    const NAME: &'static str = "merge-dims";
    const SUMMARY: &'static str = "Merge adjacent axes into one";
    const ABOUT: &'static str = "\
The values stay in order; only the boundaries between rows are removed. If the field is a structure, its structures \
are regrouped. Axes are numbered within the record and include those of enclosing structures. An axis of an enclosing \
structure is shared by all its fields, so merging it is an error; use `promote` instead. Nulls are an error.";
    const MEANING: &'static str = "tf.RaggedTensor.merge_dims, StructuredTensor.merge_dims";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "flatten sentences into one list of words",
            args: "merge-dims x 0 1",
            input: "{\"x\": [[\"John\", \"likes\"], [], [\"the\", \"big\", \"dog\"]]}\n",
            output: "{\"x\":[\"John\",\"likes\",\"the\",\"big\",\"dog\"]}\n",
        },
        Example {
            about: "the last two axes of a batch",
            args: "batch 2 then merge-dims x -2 -1",
            input: "{\"x\": [[1, 2], [3]]}\n{\"x\": [[4], []]}\n",
            output: "{\"x\":[[1,2,3],[4]]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let (outer, inner) = own_axes(schema, &self.field, self.outer, self.inner)?;
        let mut edits = Edits::new(schema);
        let path = self.field.clone();
        edits.change(&self.field, |ty| {
            if ty.is_sparse() {
                return Err(Error::usage("is sparse; to merge its axes, use sparse.reshape in `map`"));
            }
            let merged = Type { dims: merged_dims(&ty.dims, outer, inner), ..ty.clone() };
            Ok((merged, move |tensor: &Tensor, scope: &Scope| {
                scope.refuse_nulls(tensor, &path)?;
                merge_axes(tensor, outer, inner)
            }))
        })?;
        Ok(edits.bound())
    }

    fn demand(&self, after: Demand) -> Demand {
        after.and_fields(self.field.names().first().cloned())
    }
}
