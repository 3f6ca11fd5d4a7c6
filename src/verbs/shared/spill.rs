//! Chunks in a temporary file, for what exceeds `--max-memory`.
//!
//! Each chunk is a complete Arrow IPC stream, compressed with lz4, so that chunks can be read individually. Three more
//! columns store the origin of the records.

use super::memory::{human, rows_per_chunk};
use crate::chunk::{Chunk, Origin, RowSource, Shifted};
use crate::error::{Error, Result};
use crate::io::{scratch, scratch_directory};
use crate::options::Options;
use crate::schema::Field;
use crate::tensor::arrow::{ArrowForm, from_arrow, to_arrow, to_arrow_field};
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field as ArrowField, FieldRef, Schema as ArrowSchema, SchemaRef};
use std::fs::File;
use std::io::Cursor;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Approximate size in bytes of a chunk that can be read individually.
const BLOCK_NBYTES: usize = 1 << 20;

/// Chunks of one schema in a temporary file, which is deleted when the process ends.
pub struct SpillFile {
    file: File,
    directory: PathBuf,
    /// The fields of the records.
    fields: Vec<FieldRef>,
    /// The columns in the file: those of the records, then the file that each record comes from, and its first and last
    /// record number there.
    stored: SchemaRef,
    /// The location of each chunk.
    spans: Vec<Span>,
    nbytes: u64,
    /// The input files that records come from.
    inputs: Vec<Shifted>,
}

#[derive(Clone, Copy)]
struct Span {
    start: u64,
    nbytes: usize,
    nrows: usize,
}

impl SpillFile {
    /// An empty file for records of these fields.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn new(fields: &[Field], options: &Options) -> Result<SpillFile> {
        let form = ArrowForm { wide: true, ..ArrowForm::default() };
        let fields: Vec<FieldRef> = fields.iter().map(|f| to_arrow_field(f, form).map(Arc::new)).collect::<Result<_>>()?;
        let number = |(name, dtype): (&str, DataType)| Arc::new(ArrowField::new(name, dtype, true));
        let sources = [
            ("input", DataType::UInt32),
            ("first record", DataType::UInt64),
            ("last record", DataType::UInt64),
            ("item", DataType::UInt64),
        ];
        let stored: Vec<FieldRef> = fields.iter().cloned().chain(sources.map(number)).collect();
        Ok(SpillFile {
            file: scratch(options)?,
            directory: scratch_directory(options),
            fields,
            stored: Arc::new(ArrowSchema::new(stored)),
            spans: Vec::new(),
            nbytes: 0,
            inputs: Vec::new(),
        })
    }

    /// Appends a chunk. O(values).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, chunk: &Chunk) -> Result<()> {
        let positions: Vec<u32> = chunk.origin.files().into_iter().map(|file| self.position(file)).collect();
        let arrays = chunk.columns.iter().zip(&self.fields).map(|(column, field)| to_arrow(column, field));
        let mut arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        let sources: Vec<RowSource> = (0..chunk.nrows).map(|row| chunk.origin.source(row)).collect();
        let position = |file: u32| positions.get(file as usize).copied().unwrap_or_default();
        arrays.push(Arc::new(UInt32Array::from_iter_values(sources.iter().map(|source| position(source.0)))));
        arrays.push(Arc::new(UInt64Array::from_iter_values(sources.iter().map(|source| source.1))));
        arrays.push(Arc::new(UInt64Array::from_iter_values(sources.iter().map(|source| source.2))));
        arrays.push(Arc::new(UInt64Array::from_iter_values((0..chunk.nrows).map(|row| chunk.origin.item(row)))));
        let batch = RecordBatch::try_new(self.stored.clone(), arrays).map_err(unexpected)?;
        let bytes = encoded(&batch).map_err(unexpected)?;
        self.file.write_all_at(&bytes, self.nbytes).map_err(|e| self.failed("cannot write", &e))?;
        self.spans.push(Span { start: self.nbytes, nbytes: bytes.len(), nrows: chunk.nrows });
        self.nbytes += bytes.len() as u64;
        Ok(())
    }

    /// Appends the rows of a chunk as chunks of about [`BLOCK_NBYTES`]. O(values).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append_all(&mut self, chunk: &Chunk) -> Result<()> {
        let nrows = rows_per_chunk(chunk.nbytes(), chunk.nrows, BLOCK_NBYTES);
        (0..chunk.nrows).step_by(nrows).try_for_each(|start| self.append(&chunk.slice(start, nrows.min(chunk.nrows - start))))
    }

    /// Reads the chunk with that number. O(values).
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self, number: usize) -> Result<Chunk> {
        let span = self.spans.get(number).copied().ok_or_else(|| Error::internal(format!("no chunk {number} in a temporary file")))?;
        let mut bytes = vec![0; span.nbytes];
        self.file.read_exact_at(&mut bytes, span.start).map_err(|e| self.failed("cannot read", &e))?;
        let mut batches = StreamReader::try_new(Cursor::new(bytes), None).map_err(unexpected)?;
        let batch = batches.next().ok_or_else(|| Error::internal("a temporary file without a record batch"))?.map_err(unexpected)?;
        let arrays = batch.columns();
        let (records, sources) = arrays.split_at_checked(self.fields.len()).ok_or_else(|| Error::internal("columns are missing"))?;
        let columns = records.iter().zip(&self.fields).map(|(array, field)| from_arrow(array, field)).collect::<Result<_>>()?;
        Chunk::try_new(span.nrows, columns, self.origin(sources))
    }

    /// The number of chunks.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Number of rows of the chunk with that number.
    pub fn nrows(&self, number: usize) -> usize {
        self.spans.get(number).map_or(0, |span| span.nrows)
    }

    /// Size of the file in bytes.
    pub fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// The rows of all chunks.
    pub fn total_rows(&self) -> usize {
        self.spans.iter().map(|span| span.nrows).sum()
    }

    /// Reports the file, for `--verbose`.
    ///
    /// # Errors
    /// None: remarks never fail.
    pub fn remark(&self, verb: &str, options: &Options) -> Result<()> {
        let directory = self.directory.display();
        options
            .remarks
            .add(format!("{verb} exceeded {} of memory and continued in a temporary file in {directory}", human(options.max_memory)), false)
    }

    /// The index of a file among the input files, adding it if it is new.
    fn position(&mut self, file: Shifted) -> u32 {
        let known = self.inputs.iter().position(|known| *known == file);
        known.unwrap_or_else(|| {
            self.inputs.push(file);
            self.inputs.len() - 1
        }) as u32
    }

    /// The origin stored in the source columns.
    fn origin(&self, columns: &[ArrayRef]) -> Origin {
        let [file, first, last, items] = columns else { return Origin::default() };
        let numbers = |column: &ArrayRef| column.as_primitive::<UInt64Type>().values().clone();
        let (first, last) = (numbers(first), numbers(last));
        let records = first.iter().zip(last.iter());
        let rows: Vec<RowSource> =
            file.as_primitive::<UInt32Type>().values().iter().zip(records).map(|(file, (first, last))| (*file, *first, *last)).collect();
        Origin::of_sources(&self.inputs, &rows, &numbers(items))
    }

    fn failed(&self, doing: &str, error: &std::io::Error) -> Error {
        Error::io(&self.directory.display().to_string(), &format!("{doing} a temporary file"), error)
            .help("choose a directory with more space: --temp-dir DIR")
    }
}

fn encoded(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME))?;
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options)?;
    writer.write(batch)?;
    writer.into_inner()
}

fn unexpected(error: ArrowError) -> Error {
    Error::internal(format!("a temporary file: {error}"))
}
