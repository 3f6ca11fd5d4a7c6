//! Encodes rows as lines.

use super::names::{INDEX_BASE, LABEL, QID};
use crate::chunk::Chunk;
use crate::decimal::put_integer;
use crate::error::{Error, Result};
use crate::formats::dense_shape;
use crate::formats::format::{Encode, Encoded, Writer};
use crate::formats::lines;
use crate::formats::matrix::value::{NumberTexts, is_writable};
use crate::options::Options;
use crate::path::{in_expression, quoted};
use crate::printable::shell_word;
use crate::schema::filling::null_refused;
use crate::schema::{Element, Field, Schema};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The parts of a record that a line holds: positions among the columns.
struct LineEncoder {
    label: usize,
    qid: Option<usize>,
    features: usize,
    schema: Arc<Schema>,
    base: i64,
}

/// # Errors
/// The records are not a label, an optional qid, and one sparse field.
pub fn writer(schema: &Arc<Schema>, options: &Options) -> Result<Box<dyn Writer>> {
    let is_number = |field: &Field| matches!(&field.ty.element, Element::Value(dtype) if is_writable(dtype));
    let mut features = None;
    for (at, field) in schema.fields.iter().enumerate() {
        let ty = &field.ty;
        let fits = match field.name.as_str() {
            LABEL => is_number(field) && ty.rank() <= 1,
            QID => is_number(field) && ty.rank() == 0 && ty.dtype().is_some_and(|dtype| dtype.is_integer()),
            _ => ty.is_sparse() && ty.rank() == 1 && ty.dtype().is_some_and(is_writable) && features.replace(at).is_none(),
        };
        if !fits {
            let error =
                Error::usage(format!("a libsvm line has a label, a qid and one sparse vector, but {} is {ty}", quoted(&field.name)));
            let error = match field.name.as_str() {
                LABEL => error.help("a label must be a number or a list of numbers: cast it"),
                _ if ty.is_sparse() => error.help(format!("leave it out: drop {}", shell_word(&quoted(&field.name)))),
                _ if is_number(field) && ty.rank() == 0 => error.help(format!("if it is the label: rename {}=label", quoted(&field.name))),
                _ if is_number(field) && ty.rank() == 1 => {
                    let name = in_expression(&field.name);
                    error.help(format!(
                        "convert it to sparse, without zeros: map {}",
                        shell_word(&format!("{name} = sparse.from_dense({name})"))
                    ))
                }
                _ => error.help(format!("leave it out: drop {}", shell_word(&quoted(&field.name)))),
            };
            return Err(error);
        }
    }
    if schema.fields.is_empty() {
        // An input without a line says nothing of fields, and has no line to write.
        return Ok(lines::writer(Arc::new(NoLines), Vec::new()));
    }
    let (Some(features), Some(label)) = (features, schema.index_of(LABEL)) else { return Err(lacks(features.is_some())) };
    dense_shape::note(&schema.fields[features], "libsvm", options)?;
    let base = options.index_base.or_else(|| schema.facts.metadata.get(INDEX_BASE)?.parse().ok()).unwrap_or(1);
    let encoder = Arc::new(LineEncoder { label, qid: schema.index_of(QID), features, schema: schema.clone(), base });
    Ok(lines::writer(encoder, Vec::new()))
}

/// The error for records without one of the fields.
fn lacks(has_features: bool) -> Error {
    match has_features {
        false => Error::usage("libsvm needs a sparse field with one axis").help("make one: to-sparse"),
        true => Error::usage("libsvm needs a field called label").help("rename a field (rename y=label) or add one (map label=0)"),
    }
}

/// Encodes no records, whose fields are not known.
struct NoLines;

impl Encode for NoLines {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        if chunk.nrows == 0 { Ok(Box::new(Vec::<u8>::new())) } else { Err(lacks(false)) }
    }
}

impl LineEncoder {
    fn column<'a>(&self, chunk: &'a Chunk, at: usize) -> Result<&'a Tensor> {
        let column = chunk.columns.get(at).ok_or_else(|| Error::internal("a column is missing"))?;
        let null = if Some(at) == self.qid { None } else { column.first_null_row() };
        match null {
            Some(row) => Err(null_refused("libsvm", &self.schema.fields[at], row)),
            None => Ok(column),
        }
    }
}

impl Encode for LineEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let label = self.column(&chunk, self.label)?;
        let (partition, labels) = match label {
            Tensor::List(list) => (Some(list.partition()), list.values().as_leaf()?),
            other => (None, other.as_leaf()?),
        };
        let labels = NumberTexts::of(labels)?;
        let qid = match self.qid {
            Some(at) => {
                let column = self.column(&chunk, at)?;
                Some((column.validity(), NumberTexts::of(column.as_leaf()?)?))
            }
            None => None,
        };
        let Tensor::Sparse(features) = self.column(&chunk, self.features)? else {
            return Err(Error::internal("features that are not sparse"));
        };
        let values = NumberTexts::of(features.values())?;
        let mut out = Vec::with_capacity(16 * features.indices().len() + 8 * chunk.nrows);
        for row in 0..chunk.nrows {
            let start = out.len();
            let own = partition.map_or(row..row + 1, |partition| partition.range(row));
            for (number, at) in own.enumerate() {
                if number > 0 {
                    out.push(b',');
                }
                labels.put(at, &mut out);
            }
            if let Some((validity, qids)) = &qid
                && validity.as_ref().is_none_or(|v| v.is_valid(row))
            {
                out.extend_from_slice(b" qid:");
                qids.put(row, &mut out);
            }
            for entry in features.entries().range(row) {
                out.push(b' ');
                let index = features.indices()[entry].checked_add(self.base);
                put_integer(index.ok_or_else(|| Error::data("an index does not fit in 63 bits").at_row(row))?, &mut out);
                out.push(b':');
                values.put(entry, &mut out);
            }
            if out.len() == start {
                return Err(Error::data("a record without labels and values would become a blank line, which is not read as a record")
                    .at_row(row)
                    .help("drop such records with filter"));
            }
            out.push(b'\n');
        }
        Ok(Box::new(out))
    }
}
