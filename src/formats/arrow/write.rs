//! Record batches encoded on any thread, appended in order.

use super::message::MAGIC;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::columnar::facts;
use crate::formats::format::{Encode, Encoded, Grouping, Writer};
use crate::options::{Compression, Options};
use crate::path::quoted;
use crate::schema::Schema;
use crate::tensor::arrow::{Form, to_arrow, to_arrow_field};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteOptions, write_message};
use arrow_ipc::{Block, CompressionType, FooterBuilder, MetadataVersion};
use arrow_schema::{ArrowError, DataType, Schema as ArrowSchema, SchemaRef};
use flatbuffers::FlatBufferBuilder;
use std::io::Write;
use std::sync::Arc;

/// Rows in a record batch, at most.
const ROWS: usize = 1 << 16;
/// Bytes in memory of a record batch, at most.
const NBYTES: usize = 8 << 20;
/// Where messages and buffers start: the alignment that the format recommends.
const ALIGNMENT: usize = 64;

/// Writes one stream or file.
pub struct ArrowWriter {
    /// With magic bytes and a footer.
    is_file: bool,
    encoder: Arc<BatchEncoder>,
    rows: usize,
    out: Option<Box<dyn Write + Send>>,
    /// Bytes written.
    at: usize,
    blocks: Vec<Block>,
}

struct BatchEncoder {
    schema: SchemaRef,
    options: IpcWriteOptions,
}

/// One encoded message with the lengths of its metadata and its body.
struct Batch {
    bytes: Vec<u8>,
    metadata: usize,
    body: usize,
}

impl ArrowWriter {
    /// # Errors
    /// Usage errors: a field that cannot be written, wrong options.
    pub fn try_new(is_file: bool, schema: &Arc<Schema>, options: &Options) -> Result<ArrowWriter> {
        let (codec, level) = match options.compression.unwrap_or(Compression::None) {
            Compression::None => (None, None),
            Compression::Lz4 => (Some(CompressionType::LZ4_FRAME), None),
            Compression::Zstd(level) => (Some(CompressionType::ZSTD), Some(level)),
            Compression::Snappy | Compression::Gzip => return Err(Error::usage("Arrow compresses with lz4 or zstd only")),
        };
        let form = Form { wide: false, tensor_types: options.tensor_types, dictionaries: false };
        let fields = schema.fields.iter().map(|f| to_arrow_field(f, form)).collect::<Result<Vec<_>>>()?;
        if let Some(field) = fields.iter().find(|f| has_dictionary(f.data_type())) {
            return Err(Error::usage("a dictionary inside a type that is carried unchanged is not written")
                .in_field(quoted(field.name()))
                .help(format!("leave it out: drop {}", quoted(field.name()))));
        }
        let mut write = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5).map_err(unexpected)?;
        write = write.try_with_compression(codec).and_then(|write| write.try_with_compression_level(level)).map_err(unexpected)?;
        let encoder = Arc::new(BatchEncoder {
            schema: Arc::new(ArrowSchema::new_with_metadata(fields, facts::metadata(schema, options)?)),
            options: write,
        });
        Ok(ArrowWriter { is_file, encoder, rows: options.row_group_rows.unwrap_or(ROWS).max(1), out: None, at: 0, blocks: Vec::new() })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let out = self.out.as_mut().ok_or_else(|| Error::internal("the output has not been started"))?;
        out.write_all(bytes).map_err(|e| Error::io("the output", "writing", &e))?;
        self.at += bytes.len();
        Ok(())
    }

    fn footer(&self) -> Result<Vec<u8>> {
        let mut builder = FlatBufferBuilder::new();
        let dictionaries = builder.create_vector::<Block>(&[]);
        let blocks = builder.create_vector(&self.blocks);
        let schema = IpcSchemaEncoder::new().schema_to_fb_offset(&mut builder, &self.encoder.schema);
        let mut footer = FooterBuilder::new(&mut builder);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(blocks);
        let root = footer.finish();
        builder.finish(root, None);
        let mut bytes = builder.finished_data().to_vec();
        let length = i32::try_from(bytes.len()).map_err(|_| Error::data("a footer beyond 31 bits: too many record batches"))?;
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(MAGIC);
        Ok(bytes)
    }
}

fn has_dictionary(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(..) => true,
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::FixedSizeList(f, _)
        | DataType::Map(f, _)
        | DataType::RunEndEncoded(_, f) => has_dictionary(f.data_type()),
        DataType::ListView(f) | DataType::LargeListView(f) => has_dictionary(f.data_type()),
        DataType::Struct(fields) => fields.iter().any(|f| has_dictionary(f.data_type())),
        DataType::Union(fields, _) => fields.iter().any(|(_, f)| has_dictionary(f.data_type())),
        _ => false,
    }
}

impl BatchEncoder {
    fn message(&self, data: EncodedData) -> Result<Batch> {
        let mut bytes = Vec::with_capacity(data.ipc_message.len() + data.arrow_data.len() + 2 * ALIGNMENT);
        let (metadata, body) = write_message(&mut bytes, data, &self.options).map_err(unexpected)?;
        Ok(Batch { bytes, metadata, body })
    }
}

impl Encode for BatchEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let (nrows, fields) = (chunk.nrows, self.schema.fields());
        let arrays: Vec<ArrayRef> = chunk
            .columns
            .iter()
            .zip(fields)
            .map(|(c, f)| to_arrow(c, f).map_err(|e| e.in_field(quoted(f.name()))))
            .collect::<Result<_>>()?;
        drop(chunk);
        let options = RecordBatchOptions::new().with_row_count(Some(nrows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(unexpected)?;
        let mut none = DictionaryTracker::new(false);
        let (_, data) =
            IpcDataGenerator::default().encode(&batch, &mut none, &self.options, &mut Default::default()).map_err(unexpected)?;
        Ok(Box::new(self.message(data)?))
    }
}

impl Writer for ArrowWriter {
    fn grouping(&self) -> Option<Grouping> {
        Some(Grouping { rows: self.rows, nbytes: NBYTES, shares: 1 })
    }

    fn encoder(&self) -> Arc<dyn Encode> {
        self.encoder.clone()
    }

    fn begin(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        (self.out, self.at) = (Some(out), 0);
        self.blocks.clear();
        if self.is_file {
            // Padded to 8 bytes: what follows is a stream.
            self.put(MAGIC)?;
            self.put(&[0, 0])?;
        }
        let mut none = DictionaryTracker::new(false);
        let schema =
            IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(&self.encoder.schema, &mut none, &self.encoder.options);
        let schema = self.encoder.message(schema)?;
        self.put(&schema.bytes)
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        let batch = encoded.downcast::<Batch>().map_err(|_| Error::internal("no record batch"))?;
        let metadata = i32::try_from(batch.metadata).map_err(|_| Error::data("metadata of a record batch beyond 31 bits"))?;
        self.blocks.push(Block::new(self.at as i64, metadata, batch.body as i64));
        self.put(&batch.bytes)
    }

    fn finish(&mut self) -> Result<()> {
        self.put(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])?;
        if self.is_file {
            let footer = self.footer()?;
            self.put(&footer)?;
        }
        match self.out.take() {
            Some(mut out) => out.flush().map_err(|e| Error::io("the output", "writing", &e)),
            None => Ok(()),
        }
    }
}

fn unexpected(error: ArrowError) -> Error {
    Error::data(error.to_string())
}
