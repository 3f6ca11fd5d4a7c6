//! A group of rows encoded on any thread, appended in order.

use super::dictionary::{SAMPLE_ROWS, Sample, leaves};
use super::failure::lifted;
use super::schema::OutputSchema;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::format::{Encode, Encoded, Grouping, Writer};
use crate::options::{self, Options};
use crate::path::quoted;
use crate::schema::Schema;
use crate::tensor::arrow::to_arrow;
use arrow_array::cast::AsArray;
use arrow_array::types::Date64Type;
use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{Field, SchemaRef};
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescriptor;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

/// Rows in a row group, at most: what PyArrow writes.
const ROWS: usize = 1 << 20;
/// Bytes in memory of a row group, at most. Every row group has dictionaries of its own, so that small ones
/// make large files; every thread holds one, so that large ones take memory.
const NBYTES: usize = 48 << 20;
/// Rows that are encoded at a time. Where pages end depends on it, therefore on nothing else.
const WINDOW_ROWS: usize = 2048;

/// Writes one Parquet file.
pub struct ParquetWriter {
    encoder: Arc<GroupEncoder>,
    properties: Arc<WriterProperties>,
    output: OutputSchema,
    rows: usize,
    file: Option<SerializedFileWriter<Box<dyn Write + Send>>>,
}

struct GroupEncoder {
    memory: Vec<Field>,
    schema: SchemaRef,
    parquet: SchemaDescriptor,
    properties: Arc<WriterProperties>,
}

/// One encoded row group.
struct Group(Vec<ArrowColumnChunk>);

impl ParquetWriter {
    /// # Errors
    /// Usage errors: a field that Parquet cannot hold, wrong options.
    pub fn try_new(schema: &Arc<Schema>, options: &Options) -> Result<ParquetWriter> {
        let output = OutputSchema::of(schema, options)?;
        let compression = match options.compression.unwrap_or(options::Compression::Zstd(options::Compression::ZSTD_LEVEL)) {
            options::Compression::None => Compression::UNCOMPRESSED,
            options::Compression::Snappy => Compression::SNAPPY,
            options::Compression::Gzip => Compression::GZIP(GzipLevel::default()),
            options::Compression::Lz4 => Compression::LZ4_RAW,
            options::Compression::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level).map_err(|e| Error::usage(e.to_string()))?),
        };
        let pairs = output.standard.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        let mut properties = WriterProperties::builder()
            .set_compression(compression)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_max_row_group_row_count(None)
            .set_coerce_types(true)
            .set_key_value_metadata(Some(pairs))
            .set_created_by(concat!("tatter ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        add_encoded_arrow_schema_to_metadata(&output.standard, &mut properties);
        let properties = Arc::new(properties);
        let encoder = Arc::new(GroupEncoder {
            memory: output.memory.clone(),
            schema: output.wide.clone(),
            parquet: output.parquet.clone(),
            properties: properties.clone(),
        });
        Ok(ParquetWriter { encoder, properties, output, rows: options.row_group_rows.unwrap_or(ROWS).max(1), file: None })
    }

    fn file(&mut self) -> Result<&mut SerializedFileWriter<Box<dyn Write + Send>>> {
        self.file.as_mut().ok_or_else(|| Error::internal("the output has not been started"))
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
        let nrows: usize = chunks.iter().map(|c| c.nrows).sum();
        let mut first = Vec::new();
        while first.len() * WINDOW_ROWS < SAMPLE_ROWS
            && let Some(window) = next_window(&mut chunks)?
        {
            first.push(self.arrays(window)?);
        }
        let mut writers = self.column_writers(&first, nrows)?;
        for arrays in first {
            self.write(arrays, &mut writers)?;
        }
        while let Some(window) = next_window(&mut chunks)? {
            self.write(self.arrays(window)?, &mut writers)?;
        }
        let columns = writers.into_iter().map(|w| w.close().map_err(lifted)).collect::<Result<_>>()?;
        Ok(Box::new(Group(columns)))
    }
}

/// Parquet stores dates as days.
fn whole_days(array: &ArrayRef) -> Result<()> {
    const DAY: i64 = 86_400_000;
    match array.as_primitive_opt::<Date64Type>() {
        Some(dates) => match (0..dates.len()).find(|i| dates.is_valid(*i) && dates.value(*i) % DAY != 0) {
            Some(row) => {
                Err(Error::data(format!("date64 of {} ms is not a whole day, and Parquet stores dates as days", dates.value(row)))
                    .at_row(row)
                    .help("write Arrow: --to arrow-file"))
            }
            None => Ok(()),
        },
        None => Ok(()),
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
    /// The window as Arrow has it, column by column.
    fn arrays(&self, window: Chunk) -> Result<Vec<ArrayRef>> {
        let (origin, nrows) = (window.origin, window.nrows);
        let mut arrays = Vec::with_capacity(window.columns.len());
        for ((column, memory), field) in window.columns.into_iter().zip(&self.memory).zip(self.schema.fields()) {
            let in_field = |e: Error| origin.resolve(e.in_field(quoted(field.name())), nrows);
            let mut array = to_arrow(&column, memory).map_err(in_field)?;
            whole_days(&array).map_err(in_field)?;
            if array.data_type() != field.data_type() {
                let strict = CastOptions { safe: false, ..Default::default() };
                array = cast_with_options(&array, field.data_type(), &strict).map_err(|e| in_field(Error::data(e.to_string())))?;
            }
            arrays.push(array);
        }
        Ok(arrays)
    }

    /// A writer for each column of a group, whose first windows are given; without dictionaries where they do not pay.
    fn column_writers(&self, first: &[Vec<ArrayRef>], nrows: usize) -> Result<Vec<ArrowColumnWriter>> {
        let mut samples: Vec<Sample> = self.parquet.columns().iter().map(|_| Sample::default()).collect();
        for arrays in first {
            let mut columns = Vec::new();
            arrays.iter().for_each(|array| leaves(array, &mut columns));
            samples.iter_mut().zip(&columns).for_each(|(sample, column)| sample.look(column));
        }
        let seen: usize = first.iter().filter_map(|arrays| arrays.first()).map(|a| a.len()).sum();
        let mut properties = self.properties.as_ref().clone().into_builder();
        for (sample, column) in samples.into_iter().zip(self.parquet.columns()) {
            if !sample.pays(seen as f64 / nrows as f64) {
                properties = properties.set_column_dictionary_enabled(column.path().clone(), false);
            }
        }
        // The factory takes what it needs from a writer; this one writes to nowhere.
        let nowhere =
            SerializedFileWriter::new(std::io::sink(), self.parquet.root_schema_ptr(), Arc::new(properties.build())).map_err(lifted)?;
        ArrowRowGroupWriterFactory::new(&nowhere, self.schema.clone()).create_column_writers(0).map_err(lifted)
    }

    fn write(&self, arrays: Vec<ArrayRef>, writers: &mut [ArrowColumnWriter]) -> Result<()> {
        let mut writers = writers.iter_mut();
        for (array, field) in arrays.iter().zip(self.schema.fields()) {
            let in_field = |e: Error| e.in_field(quoted(field.name()));
            for leaf in compute_leaves(field, array).map_err(lifted).map_err(in_field)? {
                let writer = writers.next().ok_or_else(|| Error::internal("more leaves than columns"))?;
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
        let root = self.output.parquet.root_schema_ptr();
        self.file = Some(SerializedFileWriter::new(out, root, self.properties.clone()).map_err(lifted)?);
        Ok(())
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        let Group(columns) = *encoded.downcast::<Group>().map_err(|_| Error::internal("no row group"))?;
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
