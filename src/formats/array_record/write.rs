//! Chunks of records, compressed on any thread and appended in order.

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::examples::serialize::Serializer;
use crate::formats::format::{Encode, Encoded, Grouping, Writer};
use crate::formats::riegeli::{Codec, Packed, RecordFile};
use crate::options::{Compression, Options};
use crate::schema::Schema;
use std::io::Write;
use std::sync::Arc;

/// The default Zstandard level, which is that of ArrayRecord.
const ZSTD_LEVEL: i32 = 3;
/// Minimum number of records encoded at a time if chunks hold several.
const ROWS: usize = 64;

/// A writer of one file.
///
/// # Errors
/// A schema that tf.Examples cannot hold, or a codec that Riegeli does not have.
pub fn writer(schema: &Arc<Schema>, options: &Options) -> Result<Box<dyn Writer>> {
    let codec = match options.compression {
        None => Codec::Zstd(ZSTD_LEVEL),
        Some(Compression::Zstd(level)) => Codec::Zstd(level),
        Some(Compression::None) => Codec::None,
        Some(Compression::Snappy) => Codec::Snappy,
        Some(Compression::Gzip | Compression::Lz4) => {
            return Err(Error::usage("--compression: an ArrayRecord supports only zstd, snappy or none"));
        }
    };
    let group = options.row_group_rows.unwrap_or(1).max(1);
    let encoder = Arc::new(Encoder { serializer: Serializer::new(schema, options, false)?, group, codec });
    Ok(Box::new(ArrayWriter { encoder, file: None }))
}

struct ArrayWriter {
    encoder: Arc<Encoder>,
    file: Option<RecordFile>,
}

struct Encoder {
    serializer: Serializer,
    /// Records in a chunk.
    group: usize,
    codec: Codec,
}

impl Writer for ArrayWriter {
    fn grouping(&self) -> Option<Grouping> {
        // Readers find a record by dividing its number, so every chunk except the last has the same number of records.
        let group = self.encoder.group;
        (group > 1).then(|| Grouping { rows: group.saturating_mul(ROWS.div_ceil(group)), nbytes: usize::MAX, shares: 1 })
    }

    fn encoder(&self) -> Arc<dyn Encode> {
        self.encoder.clone()
    }

    fn begin(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        self.file = Some(RecordFile::begin(out, self.encoder.group, self.encoder.codec)?);
        Ok(())
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        match (encoded.downcast::<Vec<Packed>>(), &mut self.file) {
            (Ok(chunks), Some(file)) => chunks.iter().try_for_each(|chunk| file.write(chunk)),
            _ => Err(Error::internal("chunks of another format")),
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.file.take().map_or(Ok(()), RecordFile::finish)
    }
}

impl Encode for Encoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let records = self.serializer.payloads(&chunk)?;
        Ok(Box::new(Packed::chunks(&records.bytes, &records.payloads, self.group, self.codec)?))
    }
}
