//! The writer of formats whose records are lines.

use super::format::{Encode, Encoded, Writer};
use crate::error::{Error, Result};
use std::io::Write;
use std::sync::Arc;

/// Writes a header, followed by the lines that an encoder produces as `Vec<u8>`.
pub struct LineWriter {
    encoder: Arc<dyn Encode>,
    header: Vec<u8>,
    out: Box<dyn Write + Send>,
}

impl LineWriter {
    /// A writer with the lines that precede those of the records.
    pub fn new(encoder: Arc<dyn Encode>, header: Vec<u8>) -> LineWriter {
        LineWriter { encoder, header, out: Box::new(std::io::sink()) }
    }
}

impl Writer for LineWriter {
    fn encoder(&self) -> Arc<dyn Encode> {
        self.encoder.clone()
    }

    fn begin(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        self.out = out;
        self.out.write_all(&self.header).map_err(|e| failed(&e))
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        let lines = encoded.downcast::<Vec<u8>>().map_err(|_| Error::internal("no lines to write"))?;
        self.out.write_all(&lines).map_err(|e| failed(&e))
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush().map_err(|e| failed(&e))
    }
}

fn failed(source: &std::io::Error) -> Error {
    Error::io("the output", "writing", source)
}
