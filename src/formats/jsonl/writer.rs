//! Writes JSON Lines, or one array.

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::format::{Encode, Encoded, Writer};
use crate::io::buffers::{Buffer, Buffers};
use crate::json::write;
use crate::options::Options;
use crate::schema::Schema;
use std::io::Write;
use std::sync::Arc;

/// Writes one output.
pub struct JsonWriter {
    encoder: Arc<JsonEncoder>,
    out: Option<Box<dyn Write + Send>>,
    array: bool,
    written: bool,
}

struct JsonEncoder {
    schema: Arc<Schema>,
    omit_null: bool,
    array: bool,
    buffers: Buffers,
}

impl JsonWriter {
    /// `array`: all records in one array.
    ///
    /// # Errors
    /// JSON cannot represent the schema.
    pub fn boxed(schema: &Arc<Schema>, options: &Options, array: bool) -> Result<Box<dyn Writer>> {
        write::check(schema, options.omit_null)?;
        let encoder = Arc::new(JsonEncoder { schema: schema.clone(), omit_null: options.omit_null, array, buffers: Buffers::default() });
        Ok(Box::new(JsonWriter { encoder, out: None, array, written: false }))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.out {
            Some(out) => out.write_all(bytes).map_err(|e| Error::io("output", "cannot write", &e)),
            None => Ok(()),
        }
    }
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

impl Writer for JsonWriter {
    fn encoder(&self) -> Arc<dyn Encode> {
        self.encoder.clone()
    }

    fn begin(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        self.out = Some(out);
        if self.array { self.put(b"[") } else { Ok(()) }
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        let Ok(text) = encoded.downcast::<Buffer>() else {
            return Err(Error::internal("no text to write"));
        };
        if self.array && !text.is_empty() {
            self.put(if self.written { b",\n" } else { b"\n" })?;
            self.written = true;
        }
        self.put(&text)
    }

    fn finish(&mut self) -> Result<()> {
        if self.array {
            self.put(if self.written { b"\n]\n" } else { b"]\n" })?;
        }
        match &mut self.out {
            Some(out) => out.flush().map_err(|e| Error::io("output", "cannot write", &e)),
            None => Ok(()),
        }
    }
}
