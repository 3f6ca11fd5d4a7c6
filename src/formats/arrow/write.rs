//! Encodes record batches on any thread and appends them in order.

use super::dictionaries::{Dictionaries, in_column, unexpected};
use super::message::MAGIC;
use super::padding;
use crate::chunk::Chunk;
use crate::error::{Error, Result, mismatch};
use crate::formats::columnar::facts;
use crate::formats::format::{Encode, Encoded, Grouping, Writer};
use crate::notice::Notices;
use crate::options::{Compression, Options};
use crate::path::quoted;
use crate::printable::shell_word;
use crate::schema::Schema;
use crate::schema::nested::children_of;
use crate::tensor::arrow::encoded::{Encodings, keys_only};
use crate::tensor::arrow::{ArrowForm, to_arrow, to_arrow_field};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteOptions, write_message};
use arrow_ipc::{Block, CompressionType, FooterBuilder, MetadataVersion};
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use flatbuffers::FlatBufferBuilder;
use std::io::Write;
use std::sync::Arc;

/// Maximum number of rows in a record batch.
const ROWS: usize = 1 << 16;
/// Maximum number of bytes in memory for a record batch.
const NBYTES: usize = 8 << 20;
/// The alignment of messages and buffers recommended by the format.
const ALIGNMENT: usize = 64;
/// Maximum depth of nested fields. Readers reject metadata with more than 64 nested tables, and the message, the schema
/// and the type of the innermost field are tables too; with a dictionary, there is one more.
const MAX_DEPTH: usize = 61;

/// Writes one stream or file.
pub struct ArrowWriter {
    /// Whether to write magic bytes and a footer.
    is_file: bool,
    encoder: Arc<BatchEncoder>,
    rows: usize,
    out: Option<Box<dyn Write + Send>>,
    /// Bytes written.
    at: usize,
    blocks: Vec<Block>,
    dictionary_blocks: Vec<Block>,
    /// The dictionaries at the start of an output, and the current ones.
    known: Dictionaries,
    dictionaries: Dictionaries,
    tracker: DictionaryTracker,
    notices: Notices,
    strict: bool,
}

struct BatchEncoder {
    schema: SchemaRef,
    /// The schema with the keys of dictionaries.
    keys: SchemaRef,
    options: IpcWriteOptions,
    has_dictionaries: bool,
    is_compressed: bool,
}

/// An encoded record batch.
enum PreparedBatch {
    Encoded(EncodedData),
    /// A batch with dictionaries, which depend on earlier batches.
    Arrays(RecordBatch),
}

impl ArrowWriter {
    /// # Errors
    /// Usage errors: a field that cannot be written, or invalid options.
    pub fn try_new(is_file: bool, schema: &Arc<Schema>, options: &Options) -> Result<ArrowWriter> {
        let (codec, level) = match options.compression.unwrap_or(Compression::None) {
            Compression::None => (None, None),
            Compression::Lz4 => (Some(CompressionType::LZ4_FRAME), None),
            Compression::Zstd(level) => (Some(CompressionType::ZSTD), Some(level)),
            Compression::Snappy | Compression::Gzip => return Err(Error::usage("Arrow supports only lz4 and zstd compression")),
        };
        let form = ArrowForm { wide: false, tensor_types: options.tensor_types, encodings: Encodings::All };
        let field = |f| facts::encoded(f, to_arrow_field(f, form)?, form, true, options);
        let mut fields = schema.fields.iter().map(field).collect::<Result<Vec<_>>>()?;
        facts::announce_ids(&facts::distinct_ids(&mut fields), options)?;
        if let Some(field) = fields.iter().find(|f| has_dictionary_in_union(f.data_type(), false)) {
            return Err(Error::usage("a dictionary inside a type that is passed through unchanged cannot be written")
                .in_field(quoted(field.name()))
                .help(format!("leave it out: drop {}", shell_word(&quoted(field.name())))));
        }
        if let Some(field) = fields.iter().find(|field| depth(field.data_type()) > MAX_DEPTH) {
            let found = depth(field.data_type());
            let error = Error::usage(mismatch(format_args!("at most {MAX_DEPTH} nested Arrow fields, which readers accept"), found));
            return Err(error.in_field(quoted(field.name())).help("use --to jsonl or --to parquet"));
        }
        let mut write = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5).map_err(unexpected)?;
        write = write.try_with_compression(codec).and_then(|write| write.try_with_compression_level(level)).map_err(unexpected)?;
        let known = Dictionaries::new(&schema.fields, &fields, form, !is_file)?;
        let keys = |f: &ArrowField| f.clone().with_data_type(keys_only(f.data_type()));
        let encoder = Arc::new(BatchEncoder {
            keys: Arc::new(ArrowSchema::new(fields.iter().map(keys).collect::<Vec<_>>())),
            has_dictionaries: !known.is_empty(),
            is_compressed: codec.is_some(),
            schema: Arc::new(ArrowSchema::new_with_metadata(fields, facts::metadata(schema, options)?)),
            options: write,
        });
        Ok(ArrowWriter {
            is_file,
            encoder,
            rows: options.row_group_rows.unwrap_or(ROWS).max(1),
            out: None,
            at: 0,
            blocks: Vec::new(),
            dictionary_blocks: Vec::new(),
            known,
            dictionaries: Dictionaries::default(),
            tracker: DictionaryTracker::new(false),
            notices: options.notices.clone(),
            strict: options.strict,
        })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let out = self.out.as_mut().ok_or_else(|| Error::internal("the output has not been started"))?;
        out.write_all(bytes).map_err(Error::output)?;
        self.at += bytes.len();
        Ok(())
    }

    /// Writes a message without copying it, and returns its block.
    fn put_message(&mut self, message: EncodedData) -> Result<Block> {
        let out = self.out.as_mut().ok_or_else(|| Error::internal("the output has not been started"))?;
        let (metadata, body) = write_message(out, message, &self.encoder.options).map_err(|e| match e {
            ArrowError::IoError(_, source) => Error::output(source),
            other => unexpected(other),
        })?;
        let length = i32::try_from(metadata).map_err(|_| Error::data("the metadata size of a record batch does not fit in 31 bits"))?;
        let block = Block::new(self.at as i64, length, body as i64);
        self.at += metadata + body;
        Ok(block)
    }

    /// Writes the schema; its dictionaries are numbered from 0.
    fn put_schema(&mut self) -> Result<()> {
        self.tracker = DictionaryTracker::new(false);
        let encoder = self.encoder.clone();
        let generator = IpcDataGenerator::default();
        let schema = generator.schema_to_bytes_with_dictionary_tracker(&encoder.schema, &mut self.tracker, &encoder.options);
        self.put_message(schema).map(|_| ())
    }

    /// Writes a batch with the dictionaries of the output. In a stream, changed dictionaries precede it; in a file, the
    /// footer refers to them.
    fn put_arrays(&mut self, batch: &RecordBatch) -> Result<()> {
        let arrays = self.dictionaries.joined(batch.columns())?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = if self.is_file { self.encoder.keys.clone() } else { batch.schema() };
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options).map_err(unexpected)?;
        let (dictionaries, batch) = self.encoder.encode_batch(&batch, &mut self.tracker)?;
        dictionaries.into_iter().try_for_each(|dictionary| self.put_message(dictionary).map(|_| ()))?;
        let block = self.put_message(batch)?;
        self.blocks.push(block);
        Ok(())
    }

    /// Writes the dictionaries that have changed since they were last written.
    fn put_dictionaries(&mut self) -> Result<()> {
        let batch = self.dictionaries.empty_batch(&self.encoder.schema)?;
        let (dictionaries, _) = self.encoder.encode_batch(&batch, &mut self.tracker)?;
        for dictionary in dictionaries {
            let block = self.put_message(dictionary)?;
            self.dictionary_blocks.push(block);
        }
        Ok(())
    }

    /// Writes the final dictionaries of a file after the last batch.
    fn finish_dictionaries(&mut self) -> Result<()> {
        if self.dictionaries.is_empty() {
            return Ok(());
        }
        for column in self.dictionaries.reordered() {
            facts::announce_growth(column, &self.notices, self.strict)?;
        }
        if self.is_file && (self.dictionaries.have_grown() || self.dictionary_blocks.is_empty()) {
            self.dictionary_blocks.clear();
            self.tracker = DictionaryTracker::new(false);
            let mut unused = FlatBufferBuilder::new();
            IpcSchemaEncoder::new().with_dictionary_tracker(&mut self.tracker).schema_to_fb_offset(&mut unused, &self.encoder.schema);
            self.put_dictionaries()?;
        }
        Ok(())
    }

    fn footer(&self) -> Result<Vec<u8>> {
        let mut builder = FlatBufferBuilder::new();
        let dictionaries = builder.create_vector(&self.dictionary_blocks);
        let blocks = builder.create_vector(&self.blocks);
        let mut numbers = DictionaryTracker::new(false);
        let schema = IpcSchemaEncoder::new().with_dictionary_tracker(&mut numbers).schema_to_fb_offset(&mut builder, &self.encoder.schema);
        let mut footer = FooterBuilder::new(&mut builder);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(blocks);
        let root = footer.finish();
        builder.finish(root, None);
        let mut bytes = builder.finished_data().to_vec();
        let length =
            i32::try_from(bytes.len()).map_err(|_| Error::data("the footer size does not fit in 31 bits: too many record batches"))?;
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(MAGIC);
        Ok(bytes)
    }
}

/// The number of nested fields in a field of that type, including itself.
fn depth(ty: &DataType) -> usize {
    match ty {
        DataType::Dictionary(_, values) => (depth(values) + 1).max(2),
        _ => 1 + children_of(ty).into_iter().map(|f| depth(f.data_type())).max().unwrap_or(0),
    }
}

fn has_dictionary_in_union(ty: &DataType, in_union: bool) -> bool {
    let in_union = in_union || matches!(ty, DataType::Union(..));
    match ty {
        DataType::Dictionary(..) => in_union,
        _ => children_of(ty).into_iter().any(|f| has_dictionary_in_union(f.data_type(), in_union)),
    }
}

impl BatchEncoder {
    /// The dictionaries that are new to `tracker`, and the batch.
    fn encode_batch(&self, batch: &RecordBatch, tracker: &mut DictionaryTracker) -> Result<(Vec<EncodedData>, EncodedData)> {
        let generator = IpcDataGenerator::default();
        let (dictionaries, mut encoded) = generator.encode(batch, tracker, &self.options, &mut Default::default()).map_err(unexpected)?;
        if !self.is_compressed {
            padding::clear(&mut encoded, &batch.schema())?;
        }
        Ok((dictionaries, encoded))
    }
}

impl Encode for BatchEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let (nrows, fields) = (chunk.nrows, self.schema.fields());
        let arrays: Vec<ArrayRef> =
            chunk.columns.iter().zip(fields).map(|(c, f)| to_arrow(c, f).map_err(|e| in_column(e, f.name()))).collect::<Result<_>>()?;
        drop(chunk);
        let arrays = if self.is_compressed { arrays.into_iter().map(padding::cleared).collect::<Result<_>>()? } else { arrays };
        let options = RecordBatchOptions::new().with_row_count(Some(nrows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(unexpected)?;
        if self.has_dictionaries {
            return Ok(Box::new(PreparedBatch::Arrays(batch)));
        }
        let (_, batch) = self.encode_batch(&batch, &mut DictionaryTracker::new(false))?;
        Ok(Box::new(PreparedBatch::Encoded(batch)))
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
        self.dictionary_blocks.clear();
        if self.is_file {
            // Padded to 8 bytes, because a stream follows.
            self.put(MAGIC)?;
            self.put(&[0, 0])?;
        }
        self.put_schema()?;
        self.dictionaries = self.known.clone();
        if !self.dictionaries.is_empty() && self.dictionaries.are_known() { self.put_dictionaries() } else { Ok(()) }
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        match *encoded.downcast::<PreparedBatch>().map_err(|_| Error::internal("no record batch"))? {
            PreparedBatch::Encoded(batch) => {
                let block = self.put_message(batch)?;
                self.blocks.push(block);
                Ok(())
            }
            PreparedBatch::Arrays(batch) => self.put_arrays(&batch),
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.finish_dictionaries()?;
        self.put(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])?;
        if self.is_file {
            let footer = self.footer()?;
            self.put(&footer)?;
        }
        match self.out.take() {
            Some(mut out) => out.flush().map_err(Error::output),
            None => Ok(()),
        }
    }
}
