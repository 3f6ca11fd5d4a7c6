//! What the messages before the first record batch declare: the schema and the dictionaries.

use super::learned::learn;
use super::message::{Framed, Memory};
use crate::error::{Error, Result};
use crate::formats::columnar::adapt::inferred;
use crate::formats::columnar::contain::contain;
use crate::formats::columnar::names::{self, Renamed};
use crate::formats::columnar::wide_integers::{self, Place};
use crate::formats::format::{Inference, Request};
use crate::path::quoted;
use crate::schema::facts::Facts;
use crate::schema::{Field, Schema, columns};
use crate::tensor::arrow::field::check_number;
use crate::tensor::arrow::from_arrow_field;
use arrow_array::{Array, ArrayRef};
use arrow_ipc::reader::read_dictionary;
use arrow_schema::{ArrowError, FieldRef, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// The dictionaries of the batches that follow.
#[derive(Clone, Default)]
pub struct Dictionaries {
    pub by_id: HashMap<i64, ArrayRef>,
    /// Their bytes in memory.
    nbytes: u64,
}

impl Dictionaries {
    /// Decodes a dictionary, or an addition to one.
    ///
    /// # Errors
    /// It is damaged, or the dictionaries would exceed the memory limit.
    pub fn decode(&mut self, framed: &Framed, schema: &SchemaRef, memory: Memory) -> Result<()> {
        let message = framed.message()?;
        memory.check("a dictionary", framed.nbytes(), self.nbytes)?;
        let (version, body) = (message.version(), framed.load()?);
        let dictionary = message.header_as_dictionary_batch().ok_or_else(|| Error::data("a dictionary batch has no header"))?;
        let before = self.by_id.get(&dictionary.id()).map_or(0, |values| values.get_buffer_memory_size() as u64);
        let others = self.nbytes.saturating_add(if dictionary.isDelta() { before } else { 0 });
        memory.check("a dictionary", framed.decompressed(&body)?, others)?;
        let unreadable = |e: ArrowError| Error::data(format!("an Arrow dictionary cannot be read: {}", unexpected(e).message()));
        contain("an Arrow dictionary", || read_dictionary(&body, dictionary, schema, &mut self.by_id, &version).map_err(unreadable))?;
        let after = self.by_id.get(&dictionary.id()).map_or(0, |values| values.get_buffer_memory_size() as u64);
        self.nbytes = self.nbytes.saturating_sub(before).saturating_add(after);
        Ok(())
    }
}

/// What the schema message of an input declares.
#[derive(Clone)]
pub struct Known {
    pub name: Arc<str>,
    pub schema: SchemaRef,
    pub fields: Vec<Field>,
    pub arrow: Vec<FieldRef>,
    renamed: Renamed,
    /// The index of each column of 128-bit integers, and what they are read as.
    pub wide: Vec<(usize, String)>,
    /// The columns of 128-bit integers that are read as decimals.
    pub decimals: Vec<usize>,
}

impl Known {
    /// What the schema of an input says.
    ///
    /// # Errors
    /// Big-endian data, more fields than are supported, or a schema that is damaged or has a type that is not supported.
    pub fn new(name: Arc<str>, schema: arrow_ipc::Schema) -> Result<Known> {
        if schema.endianness() != arrow_ipc::Endianness::Little {
            return Err(Error::data("big-endian Arrow is not supported").help("convert it on the machine on which it was written"));
        }
        let (schema, places) = wide_integers::to_schema(schema).map_err(unexpected)?;
        let schema = Arc::new(schema);
        check_number(schema.fields())?;
        let mut fields: Vec<Field> = schema.fields().iter().map(|f| from_arrow_field(f)).collect::<Result<_>>()?;
        let arrow = schema.fields().iter().cloned().collect();
        let renamed = names::distinct_fields(&mut fields);
        let wide = places.iter().map(|place| {
            let (column, read) = (quoted(&fields[place.root()].name), if place.is_decimal() { "decimal128(38, 0)" } else { "bytes" });
            (place.root(), format!("{column}: {} is read as {read}", place.name()))
        });
        let wide = wide.collect();
        let decimals = places.iter().filter(|place| place.is_decimal()).map(Place::root).collect();
        Ok(Known { name, schema, fields, arrow, renamed, wide, decimals })
    }

    /// The same columns with the dictionary ids of another stream.
    pub fn with_ids_of(&self, next: Known) -> Known {
        Known { schema: next.schema, ..self.clone() }
    }

    /// The contents of dictionaries that precede the first batch.
    pub fn learn(&mut self, dictionaries: &HashMap<i64, ArrayRef>) {
        self.fields.iter_mut().for_each(|field| learn(field, dictionaries));
    }

    /// The schema of the records.
    ///
    /// # Errors
    /// A field had to be renamed, and notices are errors.
    pub fn inference(&self, request: &Request) -> Result<Inference> {
        names::announce(&self.name, &self.renamed, &request.options)?;
        let facts = Facts::of_file(self.schema.metadata().clone(), columns(&self.fields));
        inferred(request, Schema::with_facts(self.fields.clone(), facts))
    }
}

/// The messages after the schema, in order.
pub type Messages = Box<dyn Iterator<Item = Result<Framed>> + Send>;

/// The data error for what the Arrow library cannot read or write.
pub fn unexpected(error: ArrowError) -> Error {
    match error {
        ArrowError::IpcError(text) | ArrowError::ParseError(text) | ArrowError::InvalidArgumentError(text) => Error::data(text),
        other => Error::data(other.to_string()),
    }
}
