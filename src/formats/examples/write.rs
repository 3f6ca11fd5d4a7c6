//! Files of framed records.

use super::serialize::Serializer;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::format::{Encode, Encoded, Writer};
use crate::io::buffers::{Buffer, Buffers};
use crate::options::Options;
use crate::schema::Schema;
use std::io::Write;
use std::sync::Arc;

/// Writes TFRecords of tf.Example, tf.SequenceExample or raw bytes.
pub struct TfRecordWriter {
    encoder: Arc<Encoder>,
    out: Option<Box<dyn Write + Send>>,
}

struct Encoder {
    serializer: Serializer,
    buffers: Buffers,
}

/// Framed records.
struct Frames(Buffer);

impl TfRecordWriter {
    /// # Errors
    /// A tf.Example cannot represent the schema.
    pub fn new(schema: &Arc<Schema>, options: &Options, sequences: bool) -> Result<TfRecordWriter> {
        Serializer::new(schema, options, sequences).map(TfRecordWriter::of)
    }

    /// A writer of the records that it makes.
    pub fn of(serializer: Serializer) -> TfRecordWriter {
        TfRecordWriter { encoder: Arc::new(Encoder { serializer, buffers: Buffers::default() }), out: None }
    }
}

impl Writer for TfRecordWriter {
    fn encoder(&self) -> Arc<dyn Encode> {
        self.encoder.clone()
    }

    fn begin(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        self.out = Some(out);
        Ok(())
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        let (Ok(frames), Some(out)) = (encoded.downcast::<Frames>(), &mut self.out) else {
            return Err(Error::internal("frames of another format"));
        };
        out.write_all(&frames.0).map_err(Error::output)
    }

    fn finish(&mut self) -> Result<()> {
        match self.out.take() {
            Some(mut out) => out.flush().map_err(Error::output),
            None => Ok(()),
        }
    }
}

impl Encode for Encoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        Ok(Box::new(Frames(self.serializer.frames(&chunk, self.buffers.empty())?)))
    }
}
