//! Files of framed records.

use super::serialize::Serializer;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::appending::{Append, appending};
use crate::formats::format::{Encode, Encoded, Writer};
use crate::io::buffers::{Buffer, Buffers};
use crate::options::Options;
use crate::schema::Schema;
use std::io::Write;
use std::sync::Arc;

struct Encoder {
    serializer: Serializer,
    buffers: Buffers,
}

/// Framed records.
struct Frames(Buffer);

/// Appends framed records.
struct Framed;

/// A writer of TFRecords of tf.Example, tf.SequenceExample or raw bytes.
///
/// # Errors
/// A tf.Example cannot represent the schema.
pub fn writer(schema: &Arc<Schema>, options: &Options, sequences: bool) -> Result<Box<dyn Writer>> {
    Serializer::new(schema, options, sequences).map(writer_of)
}

/// A writer of the records that the serializer makes.
pub fn writer_of(serializer: Serializer) -> Box<dyn Writer> {
    appending(Arc::new(Encoder { serializer, buffers: Buffers::default() }), Framed)
}

impl Append for Framed {
    type Piece = Frames;

    fn append(&mut self, frames: Frames, out: &mut dyn Write) -> Result<()> {
        out.write_all(&frames.0).map_err(Error::output)
    }
}

impl Encode for Encoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        Ok(Box::new(Frames(self.serializer.frames(&chunk, self.buffers.empty())?)))
    }
}
