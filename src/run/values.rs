//! The outputs of a split by key values, each opened with its first record.

use super::encode::new_writer;
use super::progress::Progress;
use super::targets::Targets;
use crate::error::Result;
use crate::formats::{Format, Writer};
use crate::io::{Distribution, Outputs, ReadFile};
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Opens per-value outputs, in order of their first records.
pub struct Values<'a> {
    /// The format of all of them.
    pub format: &'static dyn Format,
    /// The schema of the records.
    pub schema: Arc<Schema>,
    /// The options of the run; the output name contains `{}`.
    pub options: &'a Options,
    /// The files that are read, which must not be replaced.
    pub read: &'a [ReadFile],
    /// The progress bar.
    pub progress: &'a Progress,
    /// The outputs so far.
    pub outputs: Vec<Arc<Outputs>>,
}

impl Values<'_> {
    /// A writer for the next output, for the value with that name.
    ///
    /// # Errors
    /// The file exists and must be kept, is an input, or cannot be written.
    pub fn open(&mut self, name: &str) -> Result<Box<dyn Writer>> {
        let output = Arc::new(Targets::of_value(name, self.format, self.options)?);
        // Kept even if it cannot be written: with all others open, there may be no file descriptor left for removing
        // its temporary file.
        self.outputs.push(output.clone());
        if !self.options.in_place {
            output.refuse_inputs(self.read)?;
        }
        let mut writer = new_writer(self.format, &self.schema, self.options, Distribution::Single)?;
        writer.begin(self.progress.counted(output.create(0)?))?;
        if let Some(second) = output.create_second(0)? {
            writer.begin_second(self.progress.counted(second))?;
        }
        Ok(writer)
    }
}
