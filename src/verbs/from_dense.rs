//! `from-dense`: removes padding.

use super::shared::edit::{Edits, Kernel, Scope, outer_rank};
use super::shared::fields::{FieldArgs, Patterns};
use super::verb::{Bound, Example, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result, mismatch};
use crate::options::Options;
use crate::path::FieldPath;
use crate::printable::counted;
use crate::schema::literal::parse_literal_for;
use crate::schema::{DType, Dim, Field, Literal, Schema, Type, every_field};
use crate::tensor::literal::literal_array;
use crate::tensor::pad::Side;
use crate::tensor::trim::{lengths_without, shorten};
use crate::tensor::{Tensor, ints};
use std::sync::Arc;

/// Removes padding from rows.
#[derive(clap::Args, Clone, Debug)]
pub struct FromDense {
    #[command(flatten)]
    fields: FieldArgs,
    /// Remove this value from the end of each row
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, conflicts_with = "lengths")]
    padding: Option<String>,
    /// Fields that contain the row lengths, one for each axis, such as x/lengths
    #[arg(long, value_name = "FIELD,..", value_parser = Patterns::parse)]
    lengths: Option<Patterns>,
    /// Axis from which --padding removes values [default: 1, or 0 for a vector]
    #[arg(long, value_name = "K", conflicts_with = "lengths")]
    ragged_rank: Option<usize>,
    /// Side of a row that is padded
    #[arg(long, value_name = "SIDE", default_value = "right", value_parser = ["left", "right"])]
    side: String,
}

impl Verb for FromDense {
    const NAME: &'static str = "from-dense";
    const SUMMARY: &'static str = "Remove padding from rows";
    const ABOUT: &'static str = "\
With --padding V, values equal to V are removed from the end of every row along axis 1 (see --ragged-rank), or from its start with --side \
left; a vector counts as one row. Other occurrences are kept, and NaN never matches. With --lengths FIELD, each row is truncated to its \
length and keeps its first values (with --side left, its last ones). The rank of a lengths field determines the axis that it \
measures: a scalar is the length of a vector (axis 0), a vector the row lengths of a matrix (axis 1). For several axes, name one field for each, in the form that `to-dense --lengths` writes. A length greater \
than the row's size is treated as that size, a negative length as 0. Nulls are an error.";
    const MEANING: &'static str = "tf.RaggedTensor.from_tensor, sequence_unpad";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "remove trailing zeros; other zeros stay",
            args: "from-dense --padding 0",
            input: "{\"x\": [[5, 7, 0], [0, 3, 0], [6, 0, 0]]}\n",
            output: "{\"x\":[[5,7],[0,3],[6]]}\n",
        },
        Example {
            about: "round trip with lengths",
            args: "to-dense --lengths then from-dense -f x --lengths x/lengths then select x",
            input: "{\"x\": [[1, 0], [], [2, 3, 0]]}\n",
            output: "{\"x\":[[1,0],[],[2,3,0]]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let side = if self.side == "left" { Side::Left } else { Side::Right };
        let named = self.fields.resolve(schema)?;
        let mut edits = Edits::new(schema);
        match (&self.padding, &self.lengths) {
            (Some(text), _) => {
                let mut paths = Vec::new();
                every_field(&schema.fields, None, &mut |path, field| {
                    let is_meant = match &named {
                        Some(named) => named.contains(&path),
                        None => fits(text, &field.ty, axis_of(&field.ty, self.ragged_rank)),
                    };
                    if is_meant {
                        paths.push(path);
                    }
                });
                for path in paths {
                    strip(&mut edits, &path, text, self.ragged_rank, side)?;
                }
            }
            (None, Some(lengths)) => {
                let Some([path]) = named.as_deref() else {
                    return Err(Error::usage("--lengths needs exactly one field").help("specify it: from-dense -f x --lengths x/lengths"));
                };
                let mut given = lengths.resolve(schema)?;
                // Innermost axis first, because the lengths are those of padded rows.
                given.sort_by_key(|lengths| std::cmp::Reverse(schema.find(lengths).map_or(0, |(_, f)| f.ty.rank())));
                for lengths in given {
                    cut(&mut edits, path, &lengths, side)?;
                }
            }
            (None, None) => {
                return Err(Error::usage("either --padding VALUE or --lengths FIELD is required"));
            }
        }
        Ok(edits.bound())
    }

    fn demand(&self, after: Demand) -> Demand {
        let lengths = self.lengths.iter().flat_map(Patterns::wanted).collect::<Vec<_>>();
        self.fields.demand(after.and_fields(lengths), &[])
    }
}

fn literal(text: &str, dtype: &DType) -> Result<Literal> {
    parse_literal_for(text, Some(dtype))
        .map_err(|_| Error::usage(mismatch(format_args!("a value of {dtype}"), format_args!("`{text}`")).prefixed("--padding")))
}

/// The axis from which padding is removed. The values of a vector are one row.
fn axis_of(ty: &Type, ragged_rank: Option<usize>) -> usize {
    match ragged_rank {
        None | Some(1) if ty.rank() == 1 => 0,
        given => given.unwrap_or(1),
    }
}

/// Whether the field has the axis, and a dtype that the padding value fits.
fn fits(text: &str, ty: &Type, axis: usize) -> bool {
    let Some(dtype) = ty.dtype().filter(|d| d.is_tensor() && !ty.is_sparse()) else { return false };
    let is_text = matches!(dtype, DType::String | DType::Bytes);
    let is_number = crate::schema::literal::parse_literal(text).is_ok_and(|l| !matches!(l, Literal::String(_) | Literal::Bytes(_)));
    axis < ty.rank() && is_text != is_number && literal(text, dtype).is_ok_and(|l| literal_array(&l, dtype).is_ok())
}

fn shortened(dims: &[Dim], axis: usize) -> Vec<Dim> {
    let mut dims = dims.to_vec();
    dims[axis] = if axis == 0 { Dim::UNIFORM } else { Dim::RAGGED };
    dims
}

fn check_type(ty: &Type, axis: usize) -> Result<&DType> {
    let dtype = ty
        .dtype()
        .filter(|d| d.is_tensor() && !ty.is_sparse())
        .ok_or_else(|| Error::usage(format!("is {ty}, which cannot have padding")))?;
    if axis >= ty.rank() {
        return Err(Error::usage(format!("is {ty}, which has no axis {axis}")));
    }
    Ok(dtype)
}

fn strip(edits: &mut Edits, path: &FieldPath, text: &str, ragged_rank: Option<usize>, side: Side) -> Result<()> {
    let field = path.clone();
    edits.change(path, |ty| {
        let axis = axis_of(ty, ragged_rank);
        let dtype = check_type(ty, axis)?;
        let padding = literal_array(&literal(text, dtype)?, dtype)?;
        let stripped = Type { dims: shortened(&ty.dims, axis), ..ty.clone() };
        Ok((stripped, move |tensor: &Tensor, scope: &Scope| {
            scope.refuse_nulls(tensor, &field)?;
            tensor.map_below(axis, &mut |rows| shorten(rows, &lengths_without(rows, &padding, side)?, side))
        }))
    })
}

fn cut(edits: &mut Edits, path: &FieldPath, lengths: &FieldPath, side: Side) -> Result<()> {
    if lengths.parent() != path.parent() {
        return Err(Error::usage(format!("the lengths of {path} must be in the same structure as the field")).in_field(lengths));
    }
    let outer = outer_rank(edits.schema(), path);
    let (field, by) = (path.clone(), lengths.clone());
    edits.beside(path, move |fields: &mut Vec<Field>, position| {
        let other = fields.iter().position(|f| f.name == by.last()).unwrap_or(position);
        let axis = fields[other].ty.rank();
        if !fields[other].ty.dtype().is_some_and(DType::is_integer) || fields[other].ty.is_sparse() {
            return Err(Error::usage(format!("is {}; lengths must be integers", fields[other].ty)).in_field(&by));
        }
        check_type(&fields[position].ty, axis)?;
        let dims = shortened(&fields[position].ty.dims, axis);
        fields[position].ty.dims = dims;
        Ok(Box::new(move |mut tensors: Vec<Tensor>, scope: &Scope| {
            scope.refuse_nulls(&tensors[position], &field)?;
            scope.refuse_nulls(&tensors[other], &by)?;
            let (own, _) = tensors[position].levels(axis)?;
            let (rows, leaf) = tensors[other].levels(axis)?;
            for (level, (a, b)) in own.iter().zip(&rows).enumerate() {
                if a != b {
                    let row = (0..a.nrows()).find(|row| a.row_length(*row) != b.row_length(*row)).unwrap_or(0);
                    let error = format!(
                        "contains the lengths of {}, but {field} has {}",
                        counted(b.row_length(row) as u64, "row"),
                        a.row_length(row)
                    );
                    let top = own[..level].iter().rev().fold(row, |row, partition| crate::tensor::row_of(partition, row));
                    return Err(Error::data(error).in_field(&by).at_row(top).on_axis(outer + level));
                }
            }
            let lengths: Vec<usize> = ints::saturated(leaf.as_leaf()?)?.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
            tensors[position] = tensors[position].map_below(axis, &mut |rows| shorten(rows, &lengths, side))?;
            Ok(tensors)
        }) as Kernel)
    })
}
