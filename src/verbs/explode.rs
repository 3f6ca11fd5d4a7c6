//! `explode F`: writes one record for each item of a field.

use super::shared::divided::PART_NBYTES;
use super::verb::{Bound, ChunkParts, Example, Map, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::schema::leaves::{Leaf, leaves};
use crate::schema::{DType, Element, Field, Schema, Type};
use crate::tensor::batch::{unbatch, unbatched_type};
use crate::tensor::{RowPartition, Tensor};
use arrow_buffer::NullBuffer;
use std::ops::Range;
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
FIELD loses axis 0, and all other fields are repeated. A record whose list is empty or null is dropped; with \
--keep-empty, it is kept, and the field is null. Items may be values, lists, structures or slices of a sparse tensor. \
Null items are kept. To split several fields together, item by item, use `unbatch`.";
    const MEANING: &'static str = "SQL's UNNEST";
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
        let (positions, field) = schema.find(&self.field).map_err(|error| match self.field.last().contains(',') {
            true => error.help("explode takes one field; to split the items of several lists together, use unbatch"),
            false => error,
        })?;
        check_parents(schema, &self.field)?;
        let ty = &field.ty;
        if ty.dims.is_empty() {
            if let Some(first) = ty.fields().and_then(|fields| fields.first()) {
                let inner = self.field.join(&first.name);
                let error = Error::usage("is a structure, not a list, and has no items to explode").in_field(&self.field);
                let error = error.help(format!("to turn its fields into fields of the record: promote {}", shell_word(&inner.to_string())));
                return Err(as_map(&self.field, ty).into_iter().fold(error, Error::help));
            }
            let error = Error::usage("is a scalar and has no items to explode").in_field(&self.field);
            let lists: Vec<String> =
                schema.fields.iter().filter(|f| f.ty.rank() > 0).take(5).map(|f| crate::path::quoted(&f.name)).collect();
            return Err(if lists.is_empty() { error } else { error.help(format!("fields with items: {}", lists.join(", "))) });
        }
        if ty.is_sparse() && ty.rank() == 1 {
            let error = Error::usage("is a sparse vector; its items would be sparse tensors of rank 0").in_field(&self.field);
            return Err(error.help(format!("make it dense first: to-dense -f {}", shell_word(&self.field.to_string()))));
        }
        let mut item = unbatched_type(ty);
        item.optional |= self.keep_empty;
        let mut output = schema.as_ref().clone();
        set_type(&mut output.fields, &positions, &item);
        let is_item = |leaf: &Leaf| leaf.path.names().starts_with(self.field.names());
        let is_short =
            |leaf: &Leaf| leaf.dims.is_empty() && leaf.field.ty.dtype().is_some_and(|dtype| dtype.is_number() || *dtype == DType::Bool);
        let grows = leaves(schema).iter().any(|leaf| !is_item(leaf) && !is_short(leaf));
        let step = Items { path: self.field.clone(), positions, item, keep_empty: self.keep_empty, grows };
        Ok(Bound { schema: Arc::new(output), operator: Operator::Map(Arc::new(step)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        // The number of records to read is unknown in advance.
        Demand { records: None, ..after }.and_fields(self.field.names().first().cloned())
    }
}

/// Advice to read an object of several fields, which have one type, as a map.
fn as_map(path: &FieldPath, ty: &Type) -> Option<String> {
    let fields = ty.fields().filter(|fields| fields.len() > 1)?;
    let known = || fields.iter().map(|field| &field.ty).filter(|ty| ty.dtype() != Some(&DType::Null));
    let first = known().next()?;
    if path.parent().is_some() || first.fields().is_some() || !known().all(|ty| ty.element == first.element && ty.dims == first.dims) {
        return None;
    }
    // A name that is not in every record may also have the value null.
    let (optional, with_nulls) = (fields.iter().any(|field| field.ty.optional), fields.iter().any(|field| field.ty.with_nulls));
    let value = Type { optional, with_nulls, ..first.clone() };
    let schema = format!("{}: {}map<string, {value}>", crate::path::quoted(path.last()), if ty.optional { "optional " } else { "" });
    Some(format!("if it is a JSON object whose names are data, read it as a map: --schema {}", shell_word(&schema)))
}

/// Rejects a field inside structures that have their own axes.
fn check_parents(schema: &Schema, path: &FieldPath) -> Result<()> {
    let mut at = path.parent();
    while let Some(parent) = at {
        let (_, field) = schema.find(&parent)?;
        if field.ty.rank() > 0 {
            let error = Error::usage(format!("is inside {parent}, which has its own axes")).in_field(path);
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
            *field = Field { ty: exploded.ty, storage: exploded.storage, ..field.clone() };
        }
        Element::Struct(inner) => set_type(inner, rest, ty),
        _ => {}
    }
}

#[derive(Clone)]
struct Items {
    path: FieldPath,
    positions: Vec<usize>,
    item: Type,
    keep_empty: bool,
    /// Whether there are other fields of unlimited size, which are repeated.
    grows: bool,
}

/// Chunks are not divided for less.
const SMALL_NBYTES: usize = 32 << 20;

impl Map for Items {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let (list, columns) = self.parts(&chunk)?;
        let origin = chunk.origin;
        let (rows, items) = self.items(list).map_err(|e| e.in_field(&self.path))?;
        let mut columns = columns.iter().map(|c| c.gather(&rows)).collect::<Result<Vec<_>>>()?;
        replace(&mut columns, &self.positions, items)?;
        Chunk::try_new(rows.len(), columns, origin.of_items(&rows))
    }

    fn keeps_rows(&self) -> bool {
        false
    }

    fn grows(&self) -> bool {
        self.grows
    }

    fn divided(&self, chunk: Chunk) -> Result<ChunkParts> {
        let (list, columns) = self.parts(&chunk)?;
        let (partition, nulls, nrows) = (nitems(&list)?, list.validity(), chunk.nrows);
        let length = |row: usize| if nulls.as_ref().is_some_and(|v| v.is_null(row)) { 0 } else { partition.row_length(row) };
        let longest = (0..nrows).map(length).max().unwrap_or(0);
        if columns.iter().map(Tensor::nbytes).sum::<usize>().saturating_mul(longest) <= SMALL_NBYTES {
            return Ok(Box::new(std::iter::once(Ok(chunk))));
        }
        let mut cuts = Vec::new();
        let (mut start, mut nbytes) = (0, 0usize);
        for row in 0..nrows {
            let (length, repeated) = (length(row), columns.iter().map(|c| c.slice(row, 1).nbytes()).sum::<usize>());
            let own = length.saturating_mul(repeated);
            if row > start && nbytes.saturating_add(own) > PART_NBYTES {
                cuts.push(Cut::Records(start..row));
                (start, nbytes) = (row, 0);
            }
            nbytes = nbytes.saturating_add(own);
            if own > SMALL_NBYTES && list.as_list().is_ok() {
                cuts.push(Cut::Items { row, length, step: (PART_NBYTES / repeated.max(1)).max(1) });
                (start, nbytes) = (row + 1, 0);
            }
        }
        if start < nrows {
            cuts.push(Cut::Records(start..nrows));
        }
        let items = self.clone();
        Ok(Box::new(cuts.into_iter().flat_map(move |cut| items.cut(&chunk, cut))))
    }
}

/// How to take parts from a chunk.
enum Cut {
    /// These records.
    Records(Range<usize>),
    /// A record with `length` items, `step` at a time.
    Items { row: usize, length: usize, step: usize },
}

/// The items of each row.
fn nitems(list: &Tensor) -> Result<RowPartition> {
    match list {
        Tensor::Sparse(s) => RowPartition::from_row_lengths((0..s.nrows()).map(|row| s.shape_of(row)[0])),
        other => Ok(other.as_list()?.partition().clone()),
    }
}

impl Items {
    /// The field, and all columns without it: it is not gathered, so its values are not repeated.
    fn parts(&self, chunk: &Chunk) -> Result<(Tensor, Vec<Tensor>)> {
        let mut columns = chunk.columns.clone();
        let nothing = Tensor::structure(chunk.nrows, Vec::new(), None)?;
        match replace(&mut columns, &self.positions, nothing)? {
            Some(list) => Ok((list, columns)),
            None => Err(Error::internal("no such field").in_field(&self.path)),
        }
    }

    /// The parts into which a chunk is cut.
    fn cut(&self, chunk: &Chunk, cut: Cut) -> ChunkParts {
        match cut {
            Cut::Records(rows) => Box::new(std::iter::once(Ok(chunk.slice(rows.start, rows.len())))),
            Cut::Items { row, length, step } => {
                let (items, record) = (self.clone(), chunk.slice(row, 1));
                let part = move |first| items.with_items(&record, first, step.min(length - first));
                Box::new((0..length).step_by(step).map(part))
            }
        }
    }

    /// A record with only these items.
    fn with_items(&self, record: &Chunk, first: usize, n: usize) -> Result<Chunk> {
        let (list, mut columns) = self.parts(record)?;
        let list = list.as_list()?;
        let items = list.values().slice(list.partition().start(0) + first, n);
        replace(&mut columns, &self.positions, Tensor::list(RowPartition::from_row_lengths([n as i64])?, items, None)?)?;
        Chunk::try_new(1, columns, record.origin.from_item(first as u64))
    }

    /// The source row of each item, and the items.
    fn items(&self, list: Tensor) -> Result<(Vec<usize>, Tensor)> {
        let nulls = list.validity();
        let partition = nitems(&list)?;
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

/// Replaces the tensor at these positions inside structures without axes, and returns the old tensor, null where a structure is.
fn replace(tensors: &mut [Tensor], positions: &[usize], new: Tensor) -> Result<Option<Tensor>> {
    let Some((first, rest)) = positions.split_first() else { return Ok(None) };
    let Some(tensor) = tensors.get_mut(*first) else { return Ok(None) };
    if rest.is_empty() {
        return Ok(Some(std::mem::replace(tensor, new)));
    }
    let (nrows, validity) = (tensor.nrows(), tensor.validity());
    let mut fields = tensor.as_struct()?.fields().to_vec();
    let old = replace(&mut fields, rest, new)?.map(|old| {
        let both = NullBuffer::union(old.validity().as_ref(), validity.as_ref());
        old.with_validity(both)
    });
    *tensor = Tensor::structure(nrows, fields, validity)?;
    old.transpose()
}
