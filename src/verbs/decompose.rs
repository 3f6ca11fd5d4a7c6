//! `decompose F --encoding E`: splits a ragged field into flat values and row partitions.

use super::shared::args::parse_encoding;
use super::shared::edit::{Edits, Kernel, Scope};
use super::verb::{Bound, Example, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::schema::{DType, Dim, Field, PartitionEncoding, Schema, Type};
use crate::tensor::merge::{merge_axes, merged_dims};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::Int64Array;
use std::sync::Arc;

/// Splits a ragged field into flat values and row partitions.
#[derive(clap::Args, Clone, Debug)]
pub struct Decompose {
    /// Field to split
    #[arg(value_name = "FIELD", value_parser = FieldPath::parse)]
    field: FieldPath,
    /// Encoding of the partitions: row_lengths, row_splits, row_starts, row_limits, value_rowids, lod, lod_offsets
    #[arg(long, value_name = "E", value_parser = parse_encoding)]
    encoding: PartitionEncoding,
}

impl Verb for Decompose {
    const NAME: &'static str = "decompose";
    const SUMMARY: &'static str = "Split a ragged field into flat values and row partitions";
    const ABOUT: &'static str = "\
FIELD is replaced by FIELD/values, a vector, and one field per axis after the first, outermost first: FIELD/E_1, FIELD/E_2 ..., including \
uniform axes. With value_rowids, FIELD/nrows_1 ... contain the number of rows of each partition. `lod` is Paddle's name for row lengths, `lod_offsets` for \
row splits. `compose` is the inverse. Nulls are an error.";
    const MEANING: &'static str =
        "tf.RaggedTensor.nested_row_splits, nested_row_lengths, nested_value_rowids; Paddle's recursive_sequence_lengths";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "the lengths of articles and sentences, level by level",
            args: "decompose words --encoding lod",
            input: "{\"words\": [[[\"a\", \"b\", \"c\"], [\"d\"]], [[\"e\", \"f\"]]]}\n",
            output: "{\"words/values\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\"],\"words/lod_1\":[2,1],\"words/lod_2\":[3,1,2]}\n",
        },
        Example {
            about: "the row of each value",
            args: "decompose x --encoding value_rowids",
            input: "{\"x\": [[3, 1], [], [4]]}\n",
            output: "{\"x/values\":[3,1,4],\"x/value_rowids_1\":[0,0,2],\"x/nrows_1\":3}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let mut edits = Edits::new(schema);
        let (encoding, path) = (self.encoding, self.field.clone());
        edits.beside(&self.field, move |fields: &mut Vec<Field>, position| {
            let Field { name, ty, .. } = fields[position].clone();
            if ty.rank() < 2 || ty.is_sparse() {
                return Err(Error::usage(format!("is {ty}; only a field of rank 2 or more has row partitions")));
            }
            let axes = ty.rank() - 1;
            let vector = Type { dims: merged_dims(&ty.dims, 0, axes), ..ty };
            let mut parts = vec![Field::new(format!("{name}/values"), vector)];
            for level in 1..=axes {
                let numbers = Type::tensor(DType::Int64, vec![Dim::UNIFORM]);
                parts.push(Field::new(format!("{name}/{}_{level}", encoding.name()), numbers));
                if encoding == PartitionEncoding::ValueRowids {
                    parts.push(Field::new(format!("{name}/nrows_{level}"), Type::tensor(DType::Int64, Vec::new())));
                }
            }
            fields.splice(position..=position, parts);
            Ok(Box::new(move |mut tensors: Vec<Tensor>, scope: &Scope| {
                scope.refuse_nulls(&tensors[position], &path)?;
                let parts = decomposed(&tensors[position], axes, encoding)?;
                tensors.splice(position..=position, parts);
                Ok(tensors)
            }) as Kernel)
        })?;
        Ok(edits.bound())
    }

    fn demand(&self, after: Demand) -> Demand {
        let name = self.field.names().first().cloned();
        let added = name.iter().map(|name| format!("{name}/*")).collect::<Vec<_>>();
        after.and_fields(name.into_iter().chain(added))
    }
}

/// Flat values, followed by the partition of each axis after the first.
fn decomposed(tensor: &Tensor, axes: usize, encoding: PartitionEncoding) -> Result<Vec<Tensor>> {
    let (partitions, _) = tensor.levels(axes + 1)?;
    let mut parts = vec![merge_axes(tensor, 0, axes)?];
    // The rows of each level that belong to one record.
    let mut rows = partitions[0].clone();
    for partition in &partitions[1..] {
        let (mut numbers, mut ends) = (Vec::new(), Vec::with_capacity(tensor.nrows()));
        for record in 0..tensor.nrows() {
            let before = numbers.len();
            partition.encode(encoding, rows.range(record), &mut numbers);
            ends.push((numbers.len() - before) as i64);
        }
        parts.push(Tensor::list(RowPartition::from_row_lengths(ends)?, Tensor::Leaf(Arc::new(Int64Array::from(numbers))), None)?);
        if encoding == PartitionEncoding::ValueRowids {
            parts.push(Tensor::Leaf(Arc::new(Int64Array::from_iter_values(rows.row_lengths().map(|n| n as i64)))));
        }
        rows = rows.merge(partition);
    }
    Ok(parts)
}
