//! A group of rows encoded on any thread, appended in order.

use super::lifted;
use super::schema::Layout;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::arrow::codec::Codec;
use crate::formats::{Encode, Encoded, Grouping, Writer};
use crate::options::Options;
use crate::path::quoted;
use crate::schema::Schema;
use crate::tensor::arrow::to_arrow;
use arrow_array::Array;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{Field, SchemaRef};
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

/// Rows in a row group, at most: what PyArrow writes.
const ROWS: usize = 1 << 20;
/// Bytes in memory of a row group, at most. Every row group has dictionaries of its own, so that small ones
/// make large files; every thread holds one, so that large ones take memory.
const NBYTES: usize = 72 << 20;
/// Rows that are encoded at a time. Where pages end depends on it, therefore on nothing else.
const WINDOW_ROWS: usize = 2048;

/// Writes one Parquet file.
pub struct ParquetWriter {
    encoder: Arc<GroupEncoder>,
    properties: Arc<WriterProperties>,
    layout: Layout,
    rows: usize,
    file: Option<SerializedFileWriter<Box<dyn Write + Send>>>,
}

struct GroupEncoder {
    memory: Vec<Field>,
    schema: SchemaRef,
    columns: ArrowRowGroupWriterFactory,
}

/// One encoded row group.
struct Group(Vec<ArrowColumnChunk>);

impl ParquetWriter {
    /// # Errors
    /// Usage errors: a field that Parquet cannot hold, wrong options.
    pub fn try_new(schema: &Arc<Schema>, options: &Options) -> Result<ParquetWriter> {
        let layout = Layout::of(schema, options.tensor_types)?;
        let compression = match Codec::from_options(options, Codec::Zstd(1))? {
            Codec::None => Compression::UNCOMPRESSED,
            Codec::Snappy => Compression::SNAPPY,
            Codec::Gzip => Compression::GZIP(GzipLevel::default()),
            Codec::Lz4 => Compression::LZ4_RAW,
            Codec::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level).map_err(|e| Error::usage(e.to_string()))?),
        };
        let mut properties = WriterProperties::builder()
            .set_compression(compression)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_max_row_group_row_count(None)
            .set_coerce_types(true)
            .set_created_by(concat!("tatter ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        add_encoded_arrow_schema_to_metadata(&layout.standard, &mut properties);
        let properties = Arc::new(properties);
        // The factory takes what it needs from a writer; this one writes to nowhere.
        let nowhere = SerializedFileWriter::new(std::io::sink(), layout.parquet.root_schema_ptr(), properties.clone()).map_err(lifted)?;
        let columns = ArrowRowGroupWriterFactory::new(&nowhere, layout.wide.clone());
        let encoder = Arc::new(GroupEncoder { memory: layout.memory.clone(), schema: layout.wide.clone(), columns });
        Ok(ParquetWriter { encoder, properties, layout, rows: options.row_group_rows.unwrap_or(ROWS).max(1), file: None })
    }

    fn file(&mut self) -> Result<&mut SerializedFileWriter<Box<dyn Write + Send>>> {
        self.file.as_mut().ok_or_else(|| Error::data("internal: the output has not been started"))
    }
}

impl Encode for GroupEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        self.encode_group(vec![chunk])
    }

    /// The chunks are not put together but encoded window after window, and let go on the way: a row group
    /// takes its memory once, not twice.
    fn encode_group(&self, chunks: Vec<Chunk>) -> Result<Encoded> {
        let mut chunks = VecDeque::from(chunks);
        chunks.retain(|chunk| chunk.nrows > 0);
        if chunks.is_empty() {
            return Ok(Box::new(Group(Vec::new())));
        }
        let mut writers = self.columns.create_column_writers(0).map_err(lifted)?;
        while let Some(window) = next_window(&mut chunks)? {
            let (origin, nrows) = (window.origin.clone(), window.nrows);
            self.write(window, &mut writers).map_err(|e| origin.resolve(e, nrows))?;
        }
        let columns = writers.into_iter().map(|w| w.close().map_err(lifted)).collect::<Result<_>>()?;
        Ok(Box::new(Group(columns)))
    }
}

/// The next [`WINDOW_ROWS`] rows, or what is left.
fn next_window(chunks: &mut VecDeque<Chunk>) -> Result<Option<Chunk>> {
    let (mut parts, mut nrows) = (Vec::new(), 0);
    while nrows < WINDOW_ROWS {
        let Some(chunk) = chunks.pop_front() else { break };
        let take = chunk.nrows.min(WINDOW_ROWS - nrows);
        if take < chunk.nrows {
            chunks.push_front(chunk.slice(take, chunk.nrows - take));
        }
        parts.push(chunk.slice(0, take));
        nrows += take;
    }
    if parts.is_empty() { Ok(None) } else { Chunk::concat(&parts).map(Some) }
}

impl GroupEncoder {
    fn write(&self, window: Chunk, writers: &mut [ArrowColumnWriter]) -> Result<()> {
        let mut writers = writers.iter_mut();
        for ((column, memory), field) in window.columns.into_iter().zip(&self.memory).zip(self.schema.fields()) {
            let in_field = |e: Error| e.in_field(quoted(field.name()));
            let mut array = to_arrow(&column, memory).map_err(in_field)?;
            if array.data_type() != field.data_type() {
                let strict = CastOptions { safe: false, ..Default::default() };
                array = cast_with_options(&array, field.data_type(), &strict).map_err(|e| in_field(Error::data(e.to_string())))?;
            }
            for leaf in compute_leaves(field, &array).map_err(lifted).map_err(in_field)? {
                let writer = writers.next().ok_or_else(|| Error::data("internal: more leaves than columns"))?;
                writer.write(&leaf).map_err(lifted).map_err(in_field)?;
            }
        }
        Ok(())
    }
}

impl Writer for ParquetWriter {
    fn grouping(&self) -> Option<Grouping> {
        Some(Grouping { rows: self.rows, nbytes: NBYTES })
    }

    fn encoder(&self) -> Arc<dyn Encode> {
        self.encoder.clone()
    }

    fn begin(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        let root = self.layout.parquet.root_schema_ptr();
        self.file = Some(SerializedFileWriter::new(out, root, self.properties.clone()).map_err(lifted)?);
        Ok(())
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        let Group(columns) = *encoded.downcast::<Group>().map_err(|_| Error::data("internal: no row group"))?;
        if columns.is_empty() {
            return Ok(());
        }
        let mut group = self.file()?.next_row_group().map_err(lifted)?;
        for column in columns {
            column.append_to_row_group(&mut group).map_err(lifted)?;
        }
        group.close().map_err(lifted)?;
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        // Flushes, too; taking the output out again would lose what kind of failure it was.
        self.file()?.finish().map_err(lifted)?;
        self.file = None;
        Ok(())
    }
}
