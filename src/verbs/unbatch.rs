//! `unbatch`: splits records along axis 0.

use super::verb::{Bound, Example, Map, Operator, Verb};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::{FieldPath, in_expression, quoted};
use crate::printable::{shell_quoted, shell_word};
use crate::schema::{Dim, Field, Schema, Size};
use crate::tensor::RowPartition;
use crate::tensor::batch::{outer_partition, unbatch, unbatched_type};
use std::sync::Arc;

/// Splits records along axis 0.
#[derive(clap::Args, Clone, Debug)]
pub struct Unbatch {}

impl Verb for Unbatch {
    const NAME: &'static str = "unbatch";
    const SUMMARY: &'static str = "Split records along axis 0";
    const ABOUT: &'static str = "\
The inverse of `batch`: every field loses axis 0, and each of its items becomes a record. All fields of a record must \
have the same size along axis 0; a scalar has no axis 0, so repeat it for each item or drop it first. A structured tensor is split into \
structures, a sparse tensor into slices.";
    const MEANING: &'static str = "tf.data.Dataset.unbatch, from_tensor_slices";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "one record into four, as from_tensor_slices does",
            args: "unbatch",
            input: "{\"colors\": [[\"red\", \"blue\"], [\"orange\"], [\"black\", \"yellow\"], [\"green\"]], \"lengths\": [[7], [], [1, 3], [3, 5, 2]]}\n",
            output: "{\"colors\":[\"red\",\"blue\"],\"lengths\":[7]}\n{\"colors\":[\"orange\"],\"lengths\":[]}\n\
                     {\"colors\":[\"black\",\"yellow\"],\"lengths\":[1,3]}\n{\"colors\":[\"green\"],\"lengths\":[3,5,2]}\n",
        },
        Example {
            about: "one record per structure",
            args: "select docs then unbatch",
            input: "{\"id\": 7, \"docs\": [{\"title\": \"a\", \"tokens\": [1, 2]}, {\"title\": \"b\", \"tokens\": []}]}\n",
            output: "{\"docs\":{\"title\":\"a\",\"tokens\":[1,2]}}\n{\"docs\":{\"title\":\"b\",\"tokens\":[]}}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        if schema.fields.is_empty() {
            return Err(Error::usage("the records have no fields to unbatch"));
        }
        let mut known: Option<(&str, u64)> = None;
        for field in &schema.fields {
            let name = quoted(&field.name);
            if field.ty.is_sparse() && field.ty.rank() == 1 {
                let error = Error::usage("is a sparse vector; its items would be sparse tensors of rank 0").in_field(&name);
                return Err(error.help(format!("make it dense first: to-dense -f {}", shell_word(&name))));
            }
            match field.ty.dims.first() {
                None => {
                    let what = if field.ty.fields().is_some() { "a structure" } else { "a scalar" };
                    let error = Error::usage(format!("is {what} and has no axis 0")).in_field(&name);
                    let advice = promoted(field, schema).or_else(|| repeated(schema));
                    let or = if advice.is_some() { "or " } else { "" };
                    let drop = format!("{or}drop it first: drop {}", shell_word(&name.to_string()));
                    return Err(advice.into_iter().fold(error, Error::help).help(drop));
                }
                Some(Dim { size: Size::Known(size), .. }) => match known {
                    Some((other, n)) if n != *size => {
                        let error = format!("has {size} items along axis 0, but {} has {n}", quoted(other));
                        return Err(Error::usage(error)
                            .in_field(name)
                            .help("all fields of a record are unbatched together: drop one of them"));
                    }
                    _ => known = Some((&field.name, *size)),
                },
                Some(_) => {}
            }
        }
        let fields = schema.fields.iter().map(|f| f.with_outer_axes(unbatched_type(&f.ty)));
        let step = Split { names: super::shared::batches::names(schema) };
        Ok(Bound { schema: Arc::new(Schema::new(fields.collect())), operator: Operator::Map(Arc::new(step)) })
    }
}

/// Advice to give each item the scalars of its record.
fn repeated(schema: &Schema) -> Option<String> {
    let list = schema.fields.iter().find(|field| field.ty.rank() > 0 && !field.ty.is_sparse() && !field.ty.optional)?;
    let scalars: Vec<&Field> = schema.fields.iter().filter(|field| field.ty.dims.is_empty()).collect();
    if scalars.iter().any(|field| field.ty.dtype().is_none_or(|dtype| !dtype.is_tensor()) || field.ty.optional) {
        return None;
    }
    let list = in_expression(&list.name);
    let repeat = |field: &&Field| format!("{0} = repeat([{0}], len({list}))", in_expression(&field.name));
    let map = shell_word(&scalars.iter().map(repeat).collect::<Vec<_>>().join("; "));
    Some(format!("to repeat it for each item: map {map} then unbatch"))
}

/// Advice to turn the sequences in a structure into fields of the record.
fn promoted(field: &Field, schema: &Schema) -> Option<String> {
    let verbs = schema.moved_out(&FieldPath::name(&*field.name), |part| part.ty.rank() > 0)?;
    Some(format!("move its sequences out first: {verbs}"))
}

struct Split {
    names: Arc<[String]>,
}

impl Map for Split {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let mut first: Option<(RowPartition, &str)> = None;
        for (column, name) in chunk.columns.iter().zip(self.names.iter()) {
            let partition = outer_partition(column).map_err(|e| {
                let (filling, dropped) = (shell_quoted(&format!("{}=[]", quoted(name))), shell_word(&quoted(name)));
                e.in_field(quoted(name)).help(format!("fill it first: fill-null {filling}; or drop the field: drop {dropped}"))
            })?;
            match &first {
                None => first = Some((partition, name)),
                Some((other, _)) if partition == *other => {}
                Some((other, other_name)) => {
                    let row = (0..chunk.nrows).find(|row| partition.row_length(*row) != other.row_length(*row)).unwrap_or(0);
                    let (n, m) = (partition.row_length(row), other.row_length(row));
                    let error =
                        format!("has {n} {} along axis 0, but {} has {m}", if n == 1 { "item" } else { "items" }, quoted(other_name));
                    return Err(Error::data(error)
                        .in_field(quoted(name))
                        .at_row(row)
                        .help("all fields of a record are unbatched together: drop one of them"));
                }
            }
        }
        let Some((partition, _)) = first else {
            return Chunk::try_new(0, Vec::new(), chunk.origin);
        };
        let rows: Vec<usize> = partition.value_rowids().into_iter().map(|row| row as usize).collect();
        let columns = chunk.columns.into_iter().zip(self.names.iter());
        let columns = columns.map(|(c, name)| unbatch(c).map_err(|e| e.in_field(quoted(name)))).collect::<Result<_>>()?;
        Chunk::try_new(rows.len(), columns, chunk.origin.of_items(&rows))
    }

    fn keeps_rows(&self) -> bool {
        false
    }
}
