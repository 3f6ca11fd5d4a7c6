//! `--source`: adds the origin of each record as fields. The reader of an input is wrapped in one that adds them, so no
//! other part of a run is affected.

use crate::chunk::{Decoded, Rows};
use crate::demand::Wanted;
use crate::error::{Error, Result};
use crate::formats::{Format, Inference, Numbered, Observed, Reader, Request, Task, Tasks};
use crate::io::Input;
use crate::options::{Options, SourceColumn, SourceColumns};
use crate::path::quoted;
use crate::schema::{DType, Field, Schema, Type};
use crate::tensor::Tensor;
use arrow_array::{Int64Array, LargeStringArray};
use std::any::Any;
use std::sync::Arc;

/// The reader, with these fields appended.
///
/// # Errors
/// The format does not provide the requested origin.
pub fn with_source(reader: Box<dyn Reader>, input: &Input, format: &dyn Format, options: &Options) -> Result<Box<dyn Reader>> {
    let columns = &options.source_columns;
    if columns.0.is_empty() {
        return Ok(reader);
    }
    if format.name() == "none" {
        return Err(Error::usage("--source adds the origin of records, but --from none reads no file"));
    }
    if columns.wants_byte() && !format.has_offsets() {
        let error = Error::usage(format!("--source byte: {} files do not store where each record starts", format.name()));
        return Err(error.in_input(input.name().clone()).help("leave it out: --source file,record"));
    }
    Ok(Box::new(SourceReader { reader, name: input.name().clone(), columns: columns.clone() }))
}

struct SourceReader {
    reader: Box<dyn Reader>,
    name: Arc<str>,
    columns: SourceColumns,
}

/// The schema of the records, extended by the fields.
fn extended(columns: &SourceColumns, mut schema: Schema) -> Result<Schema> {
    for (name, column) in &columns.0 {
        if schema.index_of(name).is_some() {
            let what = match column {
                SourceColumn::File => "file",
                SourceColumn::Record => "record",
                SourceColumn::Byte => "byte",
            };
            let error = Error::usage(format!("--source: the records already have a field named {}", quoted(name)));
            return Err(error.help(format!("choose another name: --source source_{what}={what}")));
        }
        let dtype = if *column == SourceColumn::File { DType::String } else { DType::Int64 };
        schema.fields.push(Field::new(name.clone(), Type::tensor(dtype, Vec::new())));
    }
    Ok(schema)
}

impl Reader for SourceReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let is_declared = |name: &String| request.declared.index_of(name).is_some();
        let mut own = request.clone();
        if let Wanted::Matching(names) = &mut own.wanted {
            self.columns.0.iter().for_each(|(name, _)| names.remove(name));
            // Finds own fields with the names of the added ones, unless --schema makes it unnecessary to look at the records.
            if names.is_empty() || !names.plain().is_some_and(|names| names.iter().all(is_declared)) {
                names.extend(self.columns.0.iter().map(|(name, _)| name.clone()));
            }
        }
        Ok(match self.reader.infer(&own)? {
            Inference::Known(schema) => Inference::Known(extended(&self.columns, schema)?),
            Inference::Scan(tasks) => {
                let columns = self.columns.clone();
                Inference::Scan(Box::new(tasks.map(move |task| {
                    let (task, columns) = (task?, columns.clone());
                    let task: Task<Box<dyn Observed>> = Box::new(move || Ok(Box::new(SeenWithSource { observed: task()?, columns })));
                    Ok(task)
                })))
            }
        })
    }

    fn numbered(&mut self, request: &Request) -> Result<Option<Numbered>> {
        self.reader.numbered(request)
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let is_added = |name: &str| self.columns.0.iter().any(|(own, _)| own == name);
        let mut own = schema.as_ref().clone();
        own.fields.retain(|field| !is_added(&field.name));
        // Only these fields of the schema, in schema order.
        let added = schema.fields.iter().filter(|field| is_added(&field.name) && request.wanted.includes(&field.name));
        let column = |field: &Field| self.columns.0.iter().find(|(name, _)| *name == field.name).map(|(_, column)| *column);
        let added: Arc<[SourceColumn]> = added.filter_map(column).collect();
        let name = self.name.clone();
        Ok(Box::new(self.reader.read(&Arc::new(own), request)?.map(move |task| {
            let (task, name, added) = (task?, name.clone(), added.clone());
            let task: Task<Decoded> = Box::new(move || add(task()?, &name, &added));
            Ok(task)
        })))
    }
}

fn add(mut decoded: Decoded, name: &str, added: &[SourceColumn]) -> Result<Decoded> {
    let chunk = &mut decoded.chunk;
    let nrows = chunk.nrows;
    // Each shard of a dataset has its own name.
    let file = chunk.origin.input.clone();
    let file = file.as_deref().unwrap_or(name);
    for column in added {
        chunk.columns.push(Tensor::Leaf(match column {
            SourceColumn::File => Arc::new(LargeStringArray::from_iter_values(std::iter::repeat_n(file, nrows))),
            SourceColumn::Record => {
                let number = |row: usize| match &chunk.origin.rows {
                    Rows::From(first) => Some(first + row as u64),
                    _ => chunk.origin.records(row..row + 1).map(|(first, _)| first),
                };
                let numbers: Option<Vec<i64>> = (0..nrows).map(|row| number(row).map(|n| n as i64)).collect();
                Arc::new(Int64Array::from(numbers.ok_or_else(|| Error::internal("a record without a number"))?))
            }
            SourceColumn::Byte if decoded.offsets.len() == nrows => {
                Arc::new(decoded.offsets.iter().map(|offset| *offset as i64).collect::<Int64Array>())
            }
            SourceColumn::Byte => return Err(Error::internal("records without the bytes at which they start")),
        }));
    }
    Ok(decoded)
}

/// The observed types of the records, and the fields.
struct SeenWithSource {
    observed: Box<dyn Observed>,
    columns: SourceColumns,
}

impl Observed for SeenWithSource {
    fn merge(&mut self, other: Box<dyn Observed>) {
        if let Ok(other) = other.into_any().downcast::<SeenWithSource>() {
            self.observed.merge(other.observed);
        }
    }

    fn nrecords(&self) -> Option<u64> {
        self.observed.nrecords()
    }

    fn schema(&self, request: &Request) -> Result<Schema> {
        extended(&self.columns, self.observed.schema(request)?)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
