//! The last stateless step of a run: encodes records, or digests them for a report.

use super::first_bad::first_bad;
use super::work::{Load, Work};
use crate::chunk::Chunk;
use crate::error::{Error, Kind, Result};
use crate::formats::{Encode, Encoded, Format, Writer};
use crate::io::{Distribution, Outputs};
use crate::options::Options;
use crate::path::FieldPath;
use crate::printable::{listed, shell_word};
use crate::schema::leaves::leaves;
use crate::schema::{Element, Field, Schema};
use crate::verbs::Digest;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The last operation on chunks, on any thread.
pub enum Last {
    /// Encodes chunks in the output format.
    Encode(Encoder),
    /// Digests chunks for a report.
    Digest(Arc<dyn Digest>),
}

impl Last {
    /// Encodes or digests the chunks of a work item.
    pub fn apply(&self, mut work: Work) -> Work {
        let digest = match self {
            Last::Encode(encoder) => return encoder.encode(work),
            Last::Digest(digest) => digest,
        };
        let chunk = match work.take_load() {
            Load::Chunk(chunk) => chunk,
            other => return Work { load: other, ..work },
        };
        match digest.digest(&chunk) {
            Ok(digest) => work.load = Load::Digest { digest, nrows: chunk.nrows as u64 },
            Err(error) => work.error = Some(first_bad(&chunk, error, |part| digest.digest(&part)).1),
        }
        work
    }
}

/// Encodes chunks and groups. A stateless node, fused with the maps before it.
pub struct Encoder {
    /// The encoder of the output format.
    pub encode: Arc<dyn Encode>,
    /// For outputs with one record each, which the encoding thread writes itself.
    pub per_record: Option<PerRecord>,
}

/// Everything needed to write a whole output.
pub struct PerRecord {
    /// The output format.
    pub format: &'static dyn Format,
    /// The schema of the records.
    pub schema: Arc<Schema>,
    /// The options of the run.
    pub options: Arc<Options>,
    /// The output files.
    pub outputs: Arc<Outputs>,
}

impl Encoder {
    /// Encodes the chunks of a work item.
    pub fn encode(&self, mut work: Work) -> Work {
        let rows_of = |chunks: &[Chunk]| chunks.iter().map(|c| c.nrows as u64).sum();
        let (nrows, encoded) = match work.take_load() {
            Load::Chunk(chunk) => (chunk.nrows as u64, self.encode_group(0, vec![chunk])),
            Load::Group { target, chunks } => (rows_of(&chunks), self.encode_group(target, chunks)),
            Load::Columns { target, columns, first, nrows, .. } => {
                (nrows, self.encode.encode_columns(columns, first).map(|encoded| vec![(target, encoded)]))
            }
            other => return Work { load: other, ..work },
        };
        match encoded {
            Ok(parts) => work.load = Load::Encoded { parts, nrows },
            Err(error) => work.error = Some(error),
        }
        work
    }

    fn encode_group(&self, target: u64, chunks: Vec<Chunk>) -> Result<Vec<(u64, Encoded)>> {
        let Some(whole) = &self.per_record else {
            let encoded = self.encode.encode_group(chunks.clone()).map_err(|error| self.first_error(&chunks, error))?;
            return Ok(vec![(target, encoded)]);
        };
        let chunk = Chunk::concat(&chunks)?;
        let (origin, nrows) = (chunk.origin.clone(), chunk.nrows);
        for row in 0..nrows {
            let mut writer = new_writer(whole.format, &whole.schema, &whole.options, Distribution::PerRecord)?;
            writer.begin(whole.outputs.create(target + row as u64)?)?;
            if let Some(second) = whole.outputs.create_second(target + row as u64)? {
                writer.begin_second(second)?;
            }
            let encoded = writer.encoder().encode(chunk.slice(row, 1)).map_err(|e| origin.slice(row, 1).resolve(e, 1))?;
            writer.write(encoded)?;
            writer.finish()?;
        }
        Ok(Vec::new())
    }

    /// The error for the first record that cannot be encoded; `error` is that of all chunks.
    fn first_error(&self, chunks: &[Chunk], error: Error) -> Error {
        let failed = chunks.iter().find_map(|chunk| Some((chunk, self.encode.encode(chunk.clone()).err()?)));
        failed.map_or(error, |(chunk, error)| first_bad(chunk, error, |part| self.encode.encode(part)).1)
    }
}

/// The error for the first field that a format cannot hold, with up to 20 further messages for other fields.
fn with_other_fields(error: Error, schema: &Schema, refused: &dyn Fn(&Arc<Schema>) -> Option<Error>) -> Error {
    let others = schema.fields.iter().flat_map(|field| refused_inside(field.clone(), refused));
    let others: Vec<Error> = others.filter(|other| other.field() != error.field()).collect();
    if error.field().is_none() || others.is_empty() {
        return error;
    }
    let mut fields: Vec<String> = [&error].into_iter().chain(&others).filter_map(|e| e.field().map(str::to_owned)).collect();
    // A structure that would be left without fields is dropped as a whole.
    let all: HashSet<String> = fields.iter().cloned().collect();
    let around = |field: &str| field.match_indices('.').map(|(at, _)| field[..at].to_owned()).filter(|outer| all.contains(outer)).collect();
    let outer: HashMap<&String, Vec<String>> = all.iter().map(|field| (field, around(field))).collect();
    let with_inner: HashSet<&str> = outer.values().flatten().map(String::as_str).collect();
    fields.retain(|field| outer[field].is_empty());
    // Fields with the same error share a line.
    let mut lines: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut line_of: HashMap<&str, usize> = HashMap::new();
    let named = others.iter().filter_map(|other| Some((other.field()?, other.message())));
    for (field, message) in named.filter(|(field, _)| !with_inner.contains(field)) {
        let line = *line_of.entry(message).or_insert(lines.len());
        if line == lines.len() {
            lines.push((message, Vec::new()));
        }
        lines[line].1.push(field);
    }
    let more: usize = lines.iter().skip(20).map(|(_, fields)| fields.len()).sum();
    let line = |(message, fields): &(&str, Vec<&str>)| {
        let fields = listed(fields.iter().map(|field| (*field).to_owned()), MOST_LISTED);
        if *message == error.message() { format!("also {fields}") } else { format!("also {fields}: {message}") }
    };
    let lines: Vec<String> = lines.iter().take(20).map(line).collect();
    let error = lines.into_iter().fold(error, Error::help);
    let error = if more > 0 { error.help(format!("and {more} more fields")) } else { error };
    if fields.len() > MOST_LISTED {
        return error.help("choose the other fields with select");
    }
    error.help(format!("to drop all of them: drop {}", shell_word(&fields.join(","))))
}

/// The most fields listed in a message.
const MOST_LISTED: usize = 50;

/// The most fields that are looked for inside one field.
const MOST_REFUSED: usize = 1000;

/// The errors of a field and those inside it, each after the ones before have been dropped.
fn refused_inside(field: Field, refused: &dyn Fn(&Arc<Schema>) -> Option<Error>) -> Vec<Error> {
    let (mut fields, mut errors) = (vec![field], Vec::new());
    while !fields.is_empty() && errors.len() < MOST_REFUSED {
        let Some(error) = refused(&Arc::new(Schema::new(fields.clone()))) else { break };
        let Some(path) = error.field().and_then(|path| FieldPath::parse(path).ok()) else { break };
        errors.push(error);
        if !removed(&mut fields, path.names()) {
            break;
        }
    }
    errors
}

/// Removes the field at that path, if there is one.
fn removed(fields: &mut Vec<Field>, path: &[String]) -> bool {
    let Some((name, rest)) = path.split_first() else { return false };
    let Some(at) = fields.iter().position(|field| field.name == *name) else { return false };
    match (&mut fields[at].ty.element, rest) {
        (_, []) => {
            fields.remove(at);
            true
        }
        (Element::Struct(inner), rest) => removed(inner, rest),
        _ => false,
    }
}

/// A writer of that format, or an error if the format is read-only.
///
/// # Errors
/// The format cannot be written, or cannot hold the schema.
pub fn new_writer(
    format: &'static dyn Format,
    schema: &Arc<Schema>,
    options: &Options,
    distribution: Distribution,
) -> Result<Box<dyn Writer>> {
    let schema = &schema.with_valid_facts();
    if !format.is_text()
        && let Some(leaf) = leaves(schema).into_iter().find(|leaf| leaf.field.ty.is_sparse() && leaf.field.ty.dims.is_empty())
    {
        let error = Error::usage(format!("{} cannot store a sparse tensor without axes", format.name())).in_field(leaf.path);
        return Err(error.help("convert it to its single value with sparse.to_dense in `map`, or write JSON Lines"));
    }
    let writer = |schema: &Arc<Schema>| {
        if distribution == Distribution::PerRecord { format.record_writer(schema, options) } else { format.writer(schema, options) }
    };
    if let Some(Err(error)) = writer(schema)
        && error.kind() == Kind::Usage
    {
        return Err(with_other_fields(error, schema, &|schema| writer(schema).and_then(Result::err)));
    }
    writer(schema).unwrap_or_else(|| {
        Err(Error::usage(format!("{} can only be read, not written", format.name())).help("choose another format with --to"))
    })
}
