//! `explode F`: writes one record for each item of a field.

use super::verb::{Bound, Example, Map, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::schema::{Element, Field, Schema, Type};
use crate::tensor::batch::{unbatch, unbatched_type};
use crate::tensor::{RowPartition, Tensor};
use std::sync::Arc;

/// Writes one record for each item of a field.
#[derive(clap::Args, Clone, Debug)]
pub struct Explode {
    /// Field to explode
    #[arg(value_name = "FIELD", value_parser = FieldPath::parse)]
    field: FieldPath,
    /// Keep records without items, with a null in FIELD
    #[arg(long)]
    keep_empty: bool,
}

impl Verb for Explode {
    const NAME: &'static str = "explode";
    const SUMMARY: &'static str = "Write one record for each item of a field";
    const ABOUT: &'static str = "\
The field loses axis 0 and all other fields are repeated. A record whose list is empty or null is dropped; with \
--keep-empty it is kept, and the field is null. Items may be values, lists, structures or slices of a sparse tensor. \
Null items are kept. To split several fields together, item by item, use `unbatch`.";
    const MEANING: &'static str = "unnest";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "one record per document",
            args: "explode docs",
            input: "{\"id\": 1, \"docs\": [{\"title\": \"a\"}, {\"title\": \"b\"}]}\n{\"id\": 2, \"docs\": []}\n",
            output: "{\"id\":1,\"docs\":{\"title\":\"a\"}}\n{\"id\":1,\"docs\":{\"title\":\"b\"}}\n",
        },
        Example {
            about: "keep records without words",
            args: "explode words --keep-empty",
            input: "{\"id\": 1, \"words\": [\"big\", \"dog\"]}\n{\"id\": 2, \"words\": []}\n",
            output: "{\"id\":1,\"words\":\"big\"}\n{\"id\":1,\"words\":\"dog\"}\n{\"id\":2,\"words\":null}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let (positions, field) = schema.find(&self.field)?;
        check_parents(schema, &self.field)?;
        let ty = &field.ty;
        if ty.dims.is_empty() {
            let error = Error::usage("is a scalar and has no items to explode").in_field(&self.field);
            let lists: Vec<String> =
                schema.fields.iter().filter(|f| f.ty.rank() > 0).take(5).map(|f| crate::path::quoted(&f.name)).collect();
            return Err(if lists.is_empty() { error } else { error.help(format!("fields with items: {}", lists.join(", "))) });
        }
        if ty.is_sparse() && ty.rank() == 1 {
            let error = Error::usage("is a sparse vector; its items would be sparse tensors of rank 0").in_field(&self.field);
            return Err(error.help(format!("make it dense first: to-dense -f {}", self.field)));
        }
        let mut item = unbatched_type(ty);
        item.optional |= self.keep_empty;
        let mut output = schema.as_ref().clone();
        set_type(&mut output.fields, &positions, &item);
        let step = Items { path: self.field.clone(), positions, item, keep_empty: self.keep_empty };
        Ok(Bound { schema: Arc::new(output), operator: Operator::Map(Arc::new(step)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        // The number of records to read is unknown in advance.
        Demand { records: None, ..after }.and_fields(self.field.names().first().cloned())
    }
}

/// Rejects a field inside structures that have their own axes.
fn check_parents(schema: &Schema, path: &FieldPath) -> Result<()> {
    let mut at = path.parent();
    while let Some(parent) = at {
        let (_, field) = schema.find(&parent)?;
        if field.ty.rank() > 0 {
            let error = Error::usage(format!("is inside {parent}, which has axes itself")).in_field(path);
            return Err(error.help(format!("explode those first: explode {parent}")));
        }
        at = parent.parent();
    }
    Ok(())
}

fn set_type(fields: &mut [Field], positions: &[usize], ty: &Type) {
    let Some((first, rest)) = positions.split_first() else { return };
    let Some(field) = fields.get_mut(*first) else { return };
    match &mut field.ty.element {
        _ if rest.is_empty() => {
            let exploded = field.with_outer_axes(ty.clone());
            // File metadata of the whole field, such as its comment, also applies to its items.
            let storage = if exploded.is_map() { exploded.storage } else { field.storage.clone() };
            *field = Field { ty: exploded.ty, storage, ..field.clone() };
        }
        Element::Struct(inner) => set_type(inner, rest, ty),
        _ => {}
    }
}

struct Items {
    path: FieldPath,
    positions: Vec<usize>,
    item: Type,
    keep_empty: bool,
}

impl Map for Items {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let Chunk { nrows, mut columns, origin } = chunk;
        // The field itself is not gathered, so its values are not repeated.
        let nothing = Tensor::structure(nrows, Vec::new(), None)?;
        let Some(list) = replace(&mut columns, &self.positions, nothing)? else {
            return Err(Error::internal("no such field").in_field(&self.path));
        };
        let (rows, items) = self.items(list).map_err(|e| e.in_field(&self.path))?;
        let mut columns = columns.iter().map(|c| c.gather(&rows)).collect::<Result<Vec<_>>>()?;
        replace(&mut columns, &self.positions, items)?;
        Chunk::try_new(rows.len(), columns, origin.gather(&rows))
    }

    fn keeps_rows(&self) -> bool {
        false
    }
}

impl Items {
    /// The source row of each item, and the items.
    fn items(&self, list: Tensor) -> Result<(Vec<usize>, Tensor)> {
        let nulls = list.validity();
        let partition = match &list {
            Tensor::Sparse(s) => RowPartition::from_row_lengths((0..s.nrows()).map(|row| s.shape_of(row)[0]))?,
            other => other.as_list()?.partition().clone(),
        };
        // A null row of known size has items, which are skipped.
        let hidden = |row: usize| nulls.as_ref().is_some_and(|v| v.is_null(row)) && partition.row_length(row) > 0;
        let any_hidden = (0..partition.nrows()).any(hidden);
        let values = unbatch(list.clone())?;
        if !self.keep_empty && !any_hidden {
            return Ok((partition.value_rowids().into_iter().map(|row| row as usize).collect(), values));
        }
        let none = values.nrows();
        let (mut rows, mut numbers) = (Vec::with_capacity(none), Vec::with_capacity(none));
        for row in 0..partition.nrows() {
            if hidden(row) || partition.row_length(row) == 0 {
                if self.keep_empty {
                    rows.push(row);
                    numbers.push(none);
                }
                continue;
            }
            numbers.extend(partition.range(row));
            rows.resize(numbers.len(), row);
        }
        let null_item = Tensor::nulls(&self.item, 1)?;
        let items = if self.keep_empty { Tensor::concat(&[&values, &null_item])? } else { values };
        Ok((rows, items.gather(&numbers)?))
    }
}

/// Replaces the tensor at these positions inside structures without axes, and returns the old tensor.
fn replace(tensors: &mut [Tensor], positions: &[usize], new: Tensor) -> Result<Option<Tensor>> {
    let Some((first, rest)) = positions.split_first() else { return Ok(None) };
    let Some(tensor) = tensors.get_mut(*first) else { return Ok(None) };
    if rest.is_empty() {
        return Ok(Some(std::mem::replace(tensor, new)));
    }
    let (nrows, validity) = (tensor.nrows(), tensor.validity());
    let mut fields = tensor.as_struct()?.fields().to_vec();
    let old = replace(&mut fields, rest, new)?;
    *tensor = Tensor::structure(nrows, fields, validity)?;
    Ok(old)
}
