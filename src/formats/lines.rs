//! The writer of formats whose records are lines.

use super::appending::{Append, appending};
use super::format::{Encode, Writer};
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::printable::BYTE_ORDER_MARK;
use std::io::Write;
use std::sync::Arc;

struct Lines {
    header: Vec<u8>,
    /// Whether nothing has been written yet.
    is_start: bool,
}

/// Writes `header`, followed by the lines that the encoder makes as `Vec<u8>`.
pub fn writer(encoder: Arc<dyn Encode>, header: Vec<u8>) -> Box<dyn Writer> {
    appending(encoder, Lines { is_start: header.is_empty(), header })
}

impl Append for Lines {
    type Piece = Vec<u8>;

    fn begin(&mut self, out: &mut dyn Write) -> Result<()> {
        out.write_all(&self.header).map_err(Error::output)
    }

    fn append(&mut self, lines: Vec<u8>, out: &mut dyn Write) -> Result<()> {
        if self.is_start && lines.starts_with(BYTE_ORDER_MARK) {
            let error = Error::data("the output would start with U+FEFF, which readers would drop as a byte order mark");
            return Err(error.help(Hint::to_write_jsonl("")));
        }
        self.is_start &= lines.is_empty();
        out.write_all(&lines).map_err(Error::output)
    }
}
