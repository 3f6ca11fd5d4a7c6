//! `merge-dims F OUTER INNER`: a range of axes becomes one.

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

/// A range of axes becomes one.
#[derive(clap::Args, Clone, Debug)]
pub struct MergeDims {
    /// The field
    #[arg(value_name = "FIELD", value_parser = FieldPath::parse)]
    field: FieldPath,
    /// The first axis of the range, from 0; negative ones count from the last
    #[arg(value_name = "OUTER", allow_negative_numbers = true)]
    outer: i64,
    /// The last axis of the range
    #[arg(value_name = "INNER", allow_negative_numbers = true)]
    inner: i64,
}

impl Verb for MergeDims {
    const NAME: &'static str = "merge-dims";
    const SUMMARY: &'static str = "Flatten a range of axes into one";
    const ABOUT: &'static str = "\
The values stay in their order, only the borders between rows go. The field may be structured: then its \
structures are regrouped. Axes are counted inside the record, those of the structures around the field \
first; these belong to all their fields together, so merging them is refused and `promote` is the way. Nulls \
are refused.";
    const MEANING: &'static str = "tf.RaggedTensor.merge_dims, StructuredTensor.merge_dims";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "sentences of words become one list of words",
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
                return Err(Error::usage("is sparse: the axes of a sparse tensor are merged by sparse.reshape in `map`"));
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
