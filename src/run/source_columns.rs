//! `--source`: adds the origin of each record as fields. The reader of an input is wrapped in one that adds them, so no
//! other part of a run is affected.

use super::hive::{self, Constant};
use crate::chunk::{Decoded, Rows};
use crate::demand::Wanted;
use crate::error::{Error, Result};
use crate::formats::{Format, Inference, Numbered, Observed, Reader, Request, Task, Tasks};
use crate::io::Input;
use crate::options::{Options, SourceColumn};
use crate::path::quoted;
use crate::schema::{DType, Field, Schema, Type};
use crate::tensor::Tensor;
use arrow_array::{ArrayRef, Int64Array, LargeStringArray};
use std::any::Any;
use std::sync::Arc;

/// The reader, with these fields appended.
///
/// # Errors
/// The format does not provide the requested origin.
pub fn with_source(reader: Box<dyn Reader>, input: &Input, format: &dyn Format, options: &Options) -> Result<Box<dyn Reader>> {
    let columns = &options.source_columns;
    let added: Vec<(String, Added)> = columns.0.iter().flat_map(|(name, column)| added(name, *column, input, options)).collect();
    if added.is_empty() {
        return Ok(reader);
    }
    if format.name() == "none" {
        return Err(Error::usage("--source adds the origin of records, but --from none reads no file"));
    }
    if columns.wants_byte() && !format.has_offsets() {
        let error = Error::usage(format!("--source byte: {} files do not store where each record starts", format.name()));
        return Err(error.in_input(input.name().clone()).help("leave it out: --source file,record"));
    }
    Ok(Box::new(SourceReader { reader, name: input.name().clone(), columns: added.into() }))
}

/// A field that is added.
#[derive(Clone, Debug)]
enum Added {
    File,
    Record,
    Byte,
    /// The same value in all records of an input.
    Constant(Type, Constant),
}

/// The fields, by name, that one word of `--source` adds to the records of an input.
fn added(name: &str, column: SourceColumn, input: &Input, options: &Options) -> Vec<(String, Added)> {
    let one = |added| vec![(name.to_owned(), added)];
    match column {
        SourceColumn::File => one(Added::File),
        SourceColumn::Record => one(Added::Record),
        SourceColumn::Byte => one(Added::Byte),
        SourceColumn::Hive => {
            let constants = hive::constants(&options.hive_fields, input);
            constants.into_iter().map(|(field, value)| (field.name, Added::Constant(field.ty, value))).collect()
        }
    }
}

impl Added {
    fn ty(&self) -> Type {
        match self {
            Added::File => Type::tensor(DType::String, Vec::new()),
            Added::Record | Added::Byte => Type::tensor(DType::Int64, Vec::new()),
            Added::Constant(ty, _) => ty.clone(),
        }
    }
}

type Columns = Arc<[(String, Added)]>;

struct SourceReader {
    reader: Box<dyn Reader>,
    name: Arc<str>,
    columns: Columns,
}

/// The schema of the records, extended by the fields.
fn extended(columns: &Columns, mut schema: Schema) -> Result<Schema> {
    for (name, column) in columns.iter() {
        let rename = match column {
            Added::File => "choose another name: --source source_file=file",
            Added::Record => "choose another name: --source source_record=record",
            Added::Byte => "choose another name: --source source_byte=byte",
            Added::Constant(..) => "to use the values in the files, leave out hive",
        };
        if schema.index_of(name).is_some() {
            let error = Error::usage(format!("--source: the records already have a field named {}", quoted(name)));
            return Err(error.help(rename));
        }
        schema.fields.push(Field::new(name.clone(), column.ty()));
    }
    Ok(schema)
}

impl Reader for SourceReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let is_declared = |name: &String| request.declared.index_of(name).is_some();
        let mut own = without_constants(&self.columns, request)?;
        if let Wanted::Matching(names) = &mut own.wanted {
            self.columns.iter().for_each(|(name, _)| names.remove(name));
            // Finds own fields with the names of the added ones, unless --schema makes it unnecessary to look at the records.
            if names.is_empty() || !names.plain().is_some_and(|names| names.iter().all(is_declared)) {
                names.extend(self.columns.iter().map(|(name, _)| name.clone()));
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
        let column = |field: &Field| self.columns.iter().find(|(name, _)| *name == field.name).map(|(_, column)| column.clone());
        let mut own = schema.as_ref().clone();
        own.fields.retain(|field| column(field).is_none());
        // Only these fields of the schema, at their places among those that are read.
        let read = schema.fields.iter().filter(|field| request.wanted.includes(&field.name)).enumerate();
        let added: Arc<[(usize, Added)]> = read.filter_map(|(place, field)| Some((place, column(field)?))).collect();
        let name = self.name.clone();
        let request = without_constants(&self.columns, request)?;
        Ok(Box::new(self.reader.read(&Arc::new(own), &request)?.map(move |task| {
            let (task, name, added) = (task?, name.clone(), added.clone());
            let task: Task<Decoded> = Box::new(move || add(task()?, &name, &added));
            Ok(task)
        })))
    }
}

/// The request for the records themselves: no file stores the fields that directories name.
///
/// # Errors
/// `--schema` gives such a field another type.
fn without_constants(columns: &Columns, request: &Request) -> Result<Request> {
    let mut declared = request.declared.as_ref().clone();
    for (name, added) in columns.iter().filter(|(_, added)| matches!(added, Added::Constant(..))) {
        let Some(field) = declared.fields.iter().find(|field| field.name == *name) else { continue };
        let ty = added.ty();
        if (field.ty.dtype(), field.ty.rank()) != (ty.dtype(), 0) || (ty.optional && !field.ty.optional) {
            let name = quoted(name);
            let error = Error::usage(format!("--schema says {}, but in the names of directories this is {ty}", field.ty)).in_field(&name);
            return Err(error.help(format!("leave it out of --schema; to change the type, use cast: cast {name}=TYPE")));
        }
        declared.fields.retain(|field| field.name != *name);
    }
    Ok(Request { declared: Arc::new(declared), ..request.clone() })
}

fn add(mut decoded: Decoded, name: &str, added: &[(usize, Added)]) -> Result<Decoded> {
    let chunk = &mut decoded.chunk;
    let nrows = chunk.nrows;
    // Each shard of a dataset has its own name.
    let file = chunk.origin.input.clone();
    let file = file.as_deref().unwrap_or(name);
    for (place, column) in added {
        let array: ArrayRef = match column {
            Added::File => Arc::new(LargeStringArray::from_iter_values(std::iter::repeat_n(file, nrows))),
            Added::Record => {
                let number = |row: usize| match &chunk.origin.rows {
                    Rows::From(first) => Some(first + row as u64),
                    _ => chunk.origin.records(row..row + 1).map(|(first, _)| first),
                };
                let numbers: Option<Vec<i64>> = (0..nrows).map(|row| number(row).map(|n| n as i64)).collect();
                Arc::new(Int64Array::from(numbers.ok_or_else(|| Error::internal("a record without a number"))?))
            }
            Added::Byte if decoded.offsets.len() == nrows => {
                Arc::new(decoded.offsets.iter().map(|offset| *offset as i64).collect::<Int64Array>())
            }
            Added::Byte => return Err(Error::internal("records without the bytes at which they start")),
            Added::Constant(_, Constant::Integer(value)) => Arc::new(std::iter::repeat_n(*value, nrows).collect::<Int64Array>()),
            Added::Constant(_, Constant::Text(value)) => {
                Arc::new(std::iter::repeat_n(value.as_deref(), nrows).collect::<LargeStringArray>())
            }
        };
        // They stand in the order of the schema, in which fields of other files may follow.
        chunk.columns.insert((*place).min(chunk.columns.len()), Tensor::Leaf(array));
    }
    Ok(decoded)
}

/// The observed types of the records, and the fields.
struct SeenWithSource {
    observed: Box<dyn Observed>,
    columns: Columns,
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
        extended(&self.columns, self.observed.schema(&without_constants(&self.columns, request)?)?)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
