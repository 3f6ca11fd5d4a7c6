//! An input with the reader of its format.

use super::format;
use super::source_columns::with_source;
use crate::error::{Error, Result};
use crate::formats::{Format, Reader};
use crate::io::Input;
use crate::options::Options;
use std::sync::Arc;

/// An input with the reader of its format.
pub struct Opened {
    /// The input.
    pub input: Arc<Input>,
    /// Its format.
    pub format: &'static dyn Format,
    /// The reader of the format, until a run takes it.
    reader: Option<Box<dyn Reader>>,
}

impl Opened {
    /// The reader of the format.
    ///
    /// # Errors
    /// The reader was taken and the input was not opened again, which is a bug.
    pub fn reader(&mut self) -> Result<&mut Box<dyn Reader>> {
        self.reader.as_mut().ok_or_else(|| Error::internal("an input is read twice"))
    }

    /// Moves the input with its reader out of this one.
    pub fn take(&mut self) -> Opened {
        Opened { reader: self.reader.take(), ..self.closed() }
    }

    /// A copy of the input, to be opened again.
    pub fn closed(&self) -> Opened {
        Opened { input: self.input.clone(), format: self.format, reader: None }
    }

    /// Opens a regular file again, from the start.
    ///
    /// # Errors
    /// See [`open`].
    pub fn reopen(&mut self, options: &Options) -> Result<()> {
        *self = open(self.input.clone(), options)?;
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
    Ok(Opened { input, format, reader: Some(reader) })
}
