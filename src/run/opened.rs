//! An input with the reader of its format.

use super::format;
use super::source_columns::with_source;
use crate::chunk::Decoded;
use crate::error::{Error, Result};
use crate::formats::format::{Request, Tasks};
use crate::formats::{Format, Reader};
use crate::io::Input;
use crate::options::Options;
use crate::schema::{Field, Schema, Source};
use std::sync::Arc;

/// An input with the reader of its format.
pub struct Opened {
    /// The input.
    pub input: Arc<Input>,
    /// Its format.
    pub format: &'static dyn Format,
    /// The reader of the format, until a run takes it.
    reader: Option<Box<dyn Reader>>,
    /// The number of its records, if inference counted them.
    pub nrecords: Option<u64>,
}

impl Opened {
    /// The reader of the format.
    ///
    /// # Errors
    /// The reader was taken and the input was not opened again, which is a bug.
    pub fn reader(&mut self) -> Result<&mut Box<dyn Reader>> {
        self.reader.as_mut().ok_or_else(|| Error::internal("an input is read twice"))
    }

    /// See [`Reader::read`]. Where the fields of another input are stored in it does not concern this one.
    ///
    /// # Errors
    /// See [`Reader::read`].
    pub fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let is_foreign = |field: &Field| !field.source.is_empty() && request.declared.index_of(&field.name).is_none();
        if self.format.has_features() || !schema.fields.iter().any(is_foreign) {
            return self.reader()?.read(schema, request);
        }
        let mut own = schema.as_ref().clone();
        own.fields.iter_mut().filter(|field| is_foreign(field)).for_each(|field| field.source = Source::default());
        self.reader()?.read(&Arc::new(own), request)
    }

    /// Moves the input with its reader out of this one.
    pub fn take(&mut self) -> Opened {
        Opened { reader: self.reader.take(), ..self.closed() }
    }

    /// A copy of the input, to be opened again.
    pub fn closed(&self) -> Opened {
        Opened { input: self.input.clone(), format: self.format, reader: None, nrecords: self.nrecords }
    }

    /// Opens a regular file again, from the start.
    ///
    /// # Errors
    /// See [`open`].
    pub fn reopen(&mut self, options: &Options) -> Result<()> {
        *self = Opened { nrecords: self.nrecords, ..open(self.input.clone(), options)? };
        Ok(())
    }
}

/// Opens an input.
///
/// # Errors
/// The format is unknown, or can only be written.
pub fn open(input: Arc<Input>, options: &Options) -> Result<Opened> {
    let format = format::of_input(&input, options).map_err(|e| input.among_others(e))?;
    let reader = format
        .reader(input.clone(), options)
        .unwrap_or_else(|| Err(Error::usage(format!("{} can only be written, not read", format.name())).in_input(input.name().clone())))?;
    let reader = with_source(reader, &input, format, options)?;
    Ok(Opened { input, format, reader: Some(reader), nrecords: None })
}
