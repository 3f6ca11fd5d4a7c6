//! One of the two datasets that are compared.

use crate::chunk::{Chunk, Decoded, Rest};
use crate::error::{Error, Kind, Result};
use crate::io::STANDARD_INPUT;
use crate::options::Options;
use crate::printable::{one_line, shell_word};
use crate::run::records::Records;
use crate::schema::Schema;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::sync::Arc;

/// One of the two streams.
pub struct Side<'a> {
    name: String,
    /// The options of the command.
    pub options: &'a Options,
    records: Box<dyn Iterator<Item = Result<Decoded>>>,
    /// The records read but not compared yet.
    pub chunk: Option<Rest>,
}

impl Side<'_> {
    /// The records under a schema.
    pub fn new<'a>(records: Records, name: &OsStr, schema: &Arc<Schema>, options: &'a Options) -> Side<'a> {
        Side { name: name.display().to_string(), options, records: Box::new(records.read(schema.clone())), chunk: None }
    }

    /// The name in the report.
    pub fn shown(&self) -> Cow<'_, str> {
        shown(&self.name)
    }

    /// The next records.
    ///
    /// # Errors
    /// A bad record.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        let is_there = self.fill()?;
        Ok(self.chunk.as_mut().filter(|_| is_there).map(|rest| rest.take(rest.nrows())))
    }

    /// Whether there are records to compare, in `chunk`.
    ///
    /// # Errors
    /// A bad record.
    pub fn fill(&mut self) -> Result<bool> {
        while self.chunk.as_ref().is_none_or(|rest| rest.nrows() == 0) {
            let Some(decoded) = self.records.next() else { return Ok(false) };
            // Records that do not fit a common inferred schema: bad data.
            let decoded = decoded.map_err(|e| if e.kind() == Kind::Widened { e.with_kind(Kind::Data) } else { e });
            let decoded = decoded.map_err(|e| unreadable(e, self.name.as_ref(), self.options))?;
            if let Some(fault) = decoded.faults.into_iter().next() {
                return Err(unreadable(fault.error, self.name.as_ref(), self.options));
            }
            self.chunk = Some(Rest::of(decoded.chunk));
        }
        Ok(true)
    }
}

/// The name of an input in the report.
pub fn shown(name: &str) -> Cow<'_, str> {
    if name == "-" { Cow::Borrowed(STANDARD_INPUT) } else { one_line(name) }
}

/// The error for a bad record of one of the two.
pub fn unreadable(error: Error, name: &OsStr, options: &Options) -> Error {
    let mut words = shell_word(&name.display().to_string());
    if let Some(format) = &options.from {
        words.push_str(&format!(" --from {format}"));
    }
    if let Some(schema) = &options.schema {
        words.push_str(&format!(" --schema {}", shell_word(&schema.display().to_string())));
    }
    error.whole_input(&words)
}
