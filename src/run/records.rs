//! The records of inputs as one stream, for commands that are not chains of verbs.

use super::inference::infer;
use super::inputs::Inputs;
use super::setup;
use crate::chunk::Decoded;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::ffi::OsStr;
use std::sync::Arc;

/// One dataset, opened.
pub struct Records {
    inputs: Inputs,
    options: Arc<Options>,
}

impl Records {
    /// Opens a file, a glob or a set of shards; `-` is standard input.
    ///
    /// # Errors
    /// The input cannot be opened, or its format is unknown.
    pub fn open(file: impl AsRef<OsStr>, options: &Options) -> Result<Records> {
        let options = setup::setup(options.clone())?;
        Ok(Records { inputs: Inputs::open(&[file.as_ref().to_owned()], options.clone())?, options })
    }

    /// Whether the dataset has splits.
    pub fn has_splits(&self) -> bool {
        self.inputs.have_splits()
    }

    /// The schema of all records or, for a pipe, of its first `--infer-bytes`.
    ///
    /// # Errors
    /// The input cannot be read, or its records have no common type.
    pub fn schema(&mut self) -> Result<Schema> {
        let sample = (!self.inputs.are_regular()).then_some(self.options.infer_bytes);
        self.inputs.remember(sample.unwrap_or(0));
        let schema = infer(&mut self.inputs, &Demand::everything(), sample, self.options.threads);
        self.inputs.remember(0);
        Ok(schema?.schema)
    }

    /// The records under the given schema, one block at a time.
    pub fn read(self, schema: Arc<Schema>) -> impl Iterator<Item = Result<Decoded>> {
        self.inputs.into_decoded(schema, Demand::everything())
    }
}
