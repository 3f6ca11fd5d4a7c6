//! The writer of formats whose records are lines.

use super::format::{Encode, Encoded, Writer};
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::printable::BYTE_ORDER_MARK;
use std::io::Write;
use std::sync::Arc;

/// Writes a header, followed by the lines that an encoder produces as `Vec<u8>`.
pub struct LineWriter {
    encoder: Arc<dyn Encode>,
    header: Vec<u8>,
    out: Box<dyn Write + Send>,
    /// Whether nothing has been written yet.
    is_start: bool,
}

impl LineWriter {
    /// A writer with the lines that precede those of the records.
    pub fn new(encoder: Arc<dyn Encode>, header: Vec<u8>) -> LineWriter {
        LineWriter { encoder, header, out: Box::new(std::io::sink()), is_start: true }
    }
}

impl Writer for LineWriter {
    fn encoder(&self) -> Arc<dyn Encode> {
        self.encoder.clone()
    }

    fn begin(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        self.out = out;
        self.is_start = self.header.is_empty();
        self.out.write_all(&self.header).map_err(Error::output)
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        let lines = encoded.downcast::<Vec<u8>>().map_err(|_| Error::internal("no lines to write"))?;
        if self.is_start && lines.starts_with(BYTE_ORDER_MARK) {
            let error = Error::data("the output would start with U+FEFF, which readers would drop as a byte order mark");
            return Err(error.help(Hint::to_write_jsonl("")));
        }
        self.is_start &= lines.is_empty();
        self.out.write_all(&lines).map_err(Error::output)
    }

    fn finish(&mut self) -> Result<()> {
        self.encoder.finish()?;
        self.out.flush().map_err(Error::output)
    }
}
