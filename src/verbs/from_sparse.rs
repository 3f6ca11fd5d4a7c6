//! `from-sparse`: converts right-ragged sparse fields to ragged.

use super::shared::edit::{Edits, Scope};
use super::shared::fields::FieldArgs;
use super::shared::memory::Budget;
use super::verb::{Bound, Example, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::{Dim, Element, Schema, Size, Type, every_field};
use crate::tensor::Tensor;
use crate::tensor::sparsify::ragged_of_sparse;
use std::sync::Arc;

/// Converts right-ragged sparse fields to ragged.
#[derive(clap::Args, Clone, Debug)]
pub struct FromSparse {
    #[command(flatten)]
    fields: FieldArgs,
}

impl Verb for FromSparse {
    const NAME: &'static str = "from-sparse";
    const SUMMARY: &'static str = "Convert sparse fields to ragged";
    const ABOUT: &'static str = "\
Rows must be right-ragged: the entries of each row have the indices 0, 1, 2 ..., in order and without gaps. Matrices \
become `[?, (?)]`, vectors `[?]`; sparse tensors of higher rank are an error. To convert other sparse tensors, use \
`to-dense`.";
    const MEANING: &'static str = "tf.RaggedTensor.from_sparse";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "a sparse matrix as rows; an empty row stays",
            args: "from-sparse",
            input: "{\"x\": {\"indices\": [[0, 0], [0, 1], [2, 0]], \"values\": [3, 1, 4], \"dense_shape\": [3, 4]}}\n",
            output: "{\"x\":[[3,1],[],[4]]}\n",
        },
        Example {
            about: "round trip",
            args: "to-sparse then from-sparse",
            input: "{\"x\": [[\"a\", \"b\"], [\"c\"]]}\n",
            output: "{\"x\":[[\"a\",\"b\"],[\"c\"]]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let named = self.fields.resolve(schema)?;
        let mut paths = Vec::new();
        every_field(&schema.fields, None, &mut |path, field| {
            let is_meant = match &named {
                Some(named) => named.contains(&path),
                None => field.ty.is_sparse(),
            };
            if is_meant {
                paths.push(path);
            }
        });
        let max_rows = usize::try_from(Budget::limit(options) / 16).unwrap_or(usize::MAX);
        let mut edits = Edits::new(schema);
        for path in paths {
            let field = path.clone();
            edits.change(&path, |ty| {
                let (Element::Sparse(dtype), 1 | 2) = (&ty.element, ty.rank()) else {
                    return Err(Error::usage(format!("is {ty}; only sparse vectors and matrices can become ragged")));
                };
                let outer = if ty.rank() == 1 { Dim::UNIFORM } else { ty.dims[0].clone() };
                let known = if let Size::Known(n) = outer.size { usize::try_from(n).ok() } else { None };
                let dims = [outer].into_iter().chain((ty.rank() == 2).then_some(Dim::RAGGED));
                let ragged = Type::tensor(dtype.clone(), dims.collect()).with_optional(ty.optional);
                Ok((ragged, move |tensor: &Tensor, scope: &Scope| {
                    scope.refuse_nulls(tensor, &field)?;
                    let Tensor::Sparse(sparse) = tensor else {
                        return Err(Error::data("is not sparse"));
                    };
                    let ragged = ragged_of_sparse(sparse, max_rows)?;
                    match known {
                        Some(n) => ragged.with_row_length(n),
                        None => Ok(ragged),
                    }
                }))
            })?;
        }
        Ok(edits.bound())
    }

    fn demand(&self, after: Demand) -> Demand {
        self.fields.demand(after, &[])
    }
}
