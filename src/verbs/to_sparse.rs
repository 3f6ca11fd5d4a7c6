//! `to-sparse`: converts ragged and dense fields to sparse.

use super::shared::edit::{Edits, Scope, outer_rank};
use super::shared::fields::FieldArgs;
use super::shared::padding::{AxisSize, PaddingArgs};
use super::verb::{Bound, Example, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::printable::counted;
use crate::schema::{Dim, Element, Schema, Size, Type, every_field};
use crate::tensor::Tensor;
use crate::tensor::pad::{Target, first_too_large};
use crate::tensor::sparsify::sparse_of_ragged;
use std::sync::Arc;

/// Converts ragged and dense fields to sparse.
#[derive(clap::Args, Clone, Debug)]
pub struct ToSparse {
    #[command(flatten)]
    fields: FieldArgs,
    /// Dense shape, such as 'x=[?, 6]': `?` is the length of the longest row, and `6` exactly 6; longer rows are an error
    #[arg(long = "shape", value_name = "FIELD=[..]", value_parser = super::shared::padding::parse_shape)]
    shapes: Vec<super::shared::padding::Shape>,
}

impl Verb for ToSparse {
    const NAME: &'static str = "to-sparse";
    const SUMMARY: &'static str = "Convert ragged and dense fields to sparse";
    const ABOUT: &'static str = "\
Every value becomes an entry, including zeros (`sparse.from_dense` in `map` drops zeros). The dense shape is the bounding shape of \
each record, or the one given by --shape; nothing is truncated: a longer row is an error. A field inside structures becomes one sparse \
tensor in each structure. Nulls are an error.";
    const MEANING: &'static str = "tf.RaggedTensor.to_sparse";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "a ragged matrix as a sparse tensor in COO format",
            args: "to-sparse",
            input: "{\"x\": [[3, 1, 4], [], [1]]}\n",
            output: "{\"x\":{\"indices\":[[0,0],[0,1],[0,2],[2,0]],\"values\":[3,1,4,1],\"dense_shape\":[3,3]}}\n",
        },
        Example {
            about: "sparse batches of a known width",
            args: "to-sparse --shape 'x=[4]' then batch 2",
            input: "{\"x\": [7]}\n{\"x\": [8, 9]}\n",
            output: "{\"x\":{\"indices\":[[0,0],[1,0],[1,1]],\"values\":[7,8,9],\"dense_shape\":[2,4]}}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let padding = PaddingArgs::of_shapes(&self.shapes);
        let is_fit = |ty: &Type| matches!(&ty.element, Element::Value(dtype) if dtype.is_tensor()) && ty.rank() > 0;
        let mut paths = Vec::new();
        match self.fields.resolve(schema)? {
            Some(named) => {
                for path in named {
                    let (_, field) = schema.find(&path)?;
                    if !is_fit(&field.ty) && !field.ty.is_sparse() {
                        let error =
                            Error::usage(format!("is {}; only tensors of rank 1 or more can become sparse", field.ty)).in_field(&path);
                        return Err(error);
                    }
                    paths.push(path);
                }
            }
            None => every_field(&schema.fields, None, &mut |path, _| paths.push(path)),
        }
        let mut edits = Edits::new(schema);
        let mut worked = Vec::new();
        for path in paths {
            let (_, field) = schema.find(&path)?;
            if !is_fit(&field.ty) {
                continue;
            }
            let sizes = padding.shape(&path, field.ty.rank())?;
            self.edit(&mut edits, &path, sizes.map_or_else(|| vec![AxisSize::Longest; field.ty.rank()], <[_]>::to_vec))?;
            worked.push(path);
        }
        padding.check(schema, &worked)?;
        Ok(edits.bound())
    }

    fn demand(&self, after: Demand) -> Demand {
        self.fields.demand(after, &[])
    }
}

impl ToSparse {
    fn edit(&self, edits: &mut Edits, path: &FieldPath, sizes: Vec<AxisSize>) -> Result<()> {
        let outer = outer_rank(edits.schema(), path);
        let field = path.clone();
        edits.change(path, |ty| {
            let mut targets = Vec::new();
            let mut dims = Vec::new();
            for (size, dim) in sizes.iter().zip(&ty.dims) {
                let (target, dim) = match (size, dim.size) {
                    (AxisSize::Longest, Size::Known(n)) => (Target::Exact(usize::try_from(n).unwrap_or(usize::MAX)), dim.clone()),
                    (AxisSize::Longest, _) => (Target::Longest, Dim { size: Size::Uniform, label: dim.label.clone() }),
                    (AxisSize::Exact(n), _) => (Target::Exact(*n), Dim::known(*n as u64)),
                    (AxisSize::AtMost(n), _) => (Target::AtMost(*n), Dim::UNIFORM),
                    (AxisSize::Max, _) => {
                        return Err(Error::usage("`max` works only in to-dense; use a number"));
                    }
                };
                targets.push(target);
                dims.push(dim);
            }
            let dtype = ty.dtype().cloned().ok_or_else(|| Error::usage("has no values"))?;
            let sparse = Type::sparse(dtype, dims).with_optional(ty.optional);
            Ok((sparse, move |tensor: &Tensor, scope: &Scope| {
                scope.refuse_nulls(tensor, &field)?;
                if let Some((row, axis, size, most)) = first_too_large(tensor, &targets)? {
                    let error = Error::data(format!("found {}, but --shape allows only {most}", counted(size as u64, "item")))
                        .at_row(row)
                        .on_axis(outer + axis);
                    return Err(error.help("to-sparse does not truncate; use a larger --shape"));
                }
                sparse_of_ragged(tensor, &targets).map(Tensor::Sparse)
            }))
        })
    }
}
