//! Writes JSON Lines, or one array.

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::appending::{Append, appending};
use crate::formats::format::{Encode, Encoded, Writer};
use crate::io::buffers::{Buffer, Buffers};
use crate::json::write;
use crate::options::Options;
use crate::schema::Schema;
use std::io::Write;
use std::sync::Arc;

struct JsonEncoder {
    schema: Arc<Schema>,
    omit_null: bool,
    array: bool,
    buffers: Buffers,
}

/// Appends records, each on its own line.
struct Records;

/// Appends records to one array.
struct Array {
    is_empty: bool,
}

/// A writer of one output. `array`: all records in one array.
///
/// # Errors
/// JSON cannot represent the schema.
pub fn writer(schema: &Arc<Schema>, options: &Options, array: bool) -> Result<Box<dyn Writer>> {
    write::check(schema, options.omit_null)?;
    let encoder = Arc::new(JsonEncoder { schema: schema.clone(), omit_null: options.omit_null, array, buffers: Buffers::default() });
    Ok(if array { appending(encoder, Array { is_empty: true }) } else { appending(encoder, Records) })
}

impl Encode for JsonEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let mut out = self.buffers.empty();
        out.reserve(chunk.nbytes());
        let separator: &[u8] = if self.array { b",\n" } else { b"\n" };
        write::write_rows(&chunk.columns, chunk.nrows, &self.schema, self.omit_null, separator, &mut out)
            .map_err(|e| chunk.origin.resolve(e, chunk.nrows))?;
        if self.array {
            let nbytes = out.len().saturating_sub(separator.len());
            out.truncate(nbytes);
        }
        Ok(Box::new(out))
    }
}

impl Append for Records {
    type Piece = Buffer;

    fn append(&mut self, text: Buffer, out: &mut dyn Write) -> Result<()> {
        out.write_all(&text).map_err(Error::output)
    }
}

impl Append for Array {
    type Piece = Buffer;

    fn begin(&mut self, out: &mut dyn Write) -> Result<()> {
        out.write_all(b"[").map_err(Error::output)
    }

    fn append(&mut self, text: Buffer, out: &mut dyn Write) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let separator: &[u8] = if self.is_empty { b"\n" } else { b",\n" };
        self.is_empty = false;
        out.write_all(separator).and_then(|()| out.write_all(&text)).map_err(Error::output)
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        out.write_all(if self.is_empty { b"]\n" } else { b"\n]\n" }).map_err(Error::output)
    }
}
