//! Encodes row groups on any thread and appends them in order.

use super::categories::WRITER;
use super::dictionary::{SAMPLE_NBYTES, SAMPLE_ROWS, Sample, leaves};
use super::encode::{ChunkWriter, Codec, EncodedChunk, StorageKind, kinds, leaves_of};
use super::failure::lifted;
use super::schema::OutputSchema;
use crate::chunk::{Chunk, GroupColumn, Origin, RowGroup};
use crate::error::{Error, Result};
use crate::formats::columnar::facts;
use crate::formats::format::{Encode, Encoded, Grouping, Writer};
use crate::notice::Notices;
use crate::options::{self, Options};
use crate::path::quoted;
use crate::schema;
use crate::tensor::arrow::encoded::dictionaries;
use crate::tensor::arrow::to_arrow;
use crate::tensor::{Tensor, row_of};
use arrow_array::cast::AsArray;
use arrow_array::types::Date64Type;
use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type, TypePtr};
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of rows in a row group, as written by PyArrow.
const ROWS: usize = 1 << 20;
/// Maximum bytes in memory of a row group. Each row group has its own dictionaries, so small groups make large files;
/// several groups are in progress at once, so large groups take memory.
const NBYTES: usize = 48 << 20;
/// Number of column shares that are encoded in parallel.
const SHARES: usize = 8;
/// Number of rows of a column encoded at a time: those with about that many bytes, so that copies are small enough to
/// reuse memory. Page boundaries depend on it, so it depends only on the rows of the group.
const WINDOW_ROWS: usize = 2048;
const WINDOW_NBYTES: usize = 1 << 20;
/// The number of leaves of a column from which on windows are larger, and how many times they may be. Each leaf costs time in
/// each window, however few rows it has.
const WINDOW_LEAVES: usize = 16;
const MOST_WINDOWS: usize = 16;

/// Writes one Parquet file.
pub struct ParquetWriter {
    encoder: Arc<GroupEncoder>,
    properties: Arc<WriterProperties>,
    output: OutputSchema,
    rows: usize,
    /// The columns of the current row group received so far.
    columns: Vec<DoneChunk>,
    file: Option<SerializedFileWriter<Box<dyn Write + Send>>>,
}

struct GroupEncoder {
    memory: Vec<Field>,
    schema: SchemaRef,
    columns: Vec<LoneColumn>,
    properties: WriterProperties,
    compression: Compression,
    notices: Notices,
    strict: bool,
}

/// A column in isolation.
struct LoneColumn {
    parquet: SchemaDescriptor,
    arrow: SchemaRef,
    /// How its leaves are stored; `None` if the parquet crate encodes them.
    kinds: Option<Vec<StorageKind>>,
    /// The values that the dictionary of each leaf starts with, if its source declares them.
    categories: Vec<Option<ArrayRef>>,
    /// Whether a dictionary is ordered.
    is_ordered: bool,
}

impl LoneColumn {
    fn all(output: &OutputSchema) -> Result<Vec<LoneColumn>> {
        let fields = output.wide.fields().iter().zip(output.standard.fields());
        let roots = output.parquet.root_schema().get_fields().iter().zip(fields).zip(&output.categories);
        let column = |((root, (field, written)), categories): ((&TypePtr, (&FieldRef, &FieldRef)), &Vec<Option<ArrayRef>>)| {
            let root = Type::group_type_builder("schema").with_fields(vec![root.clone()]).build().map_err(lifted)?;
            let parquet = SchemaDescriptor::new(Arc::new(root));
            let kinds = kinds(field, &parquet);
            let is_ordered = dictionaries(written).iter().any(|f| f.dict_is_ordered() == Some(true));
            let (arrow, categories) = (Arc::new(Schema::new(vec![field.clone()])), categories.clone());
            Ok(LoneColumn { parquet, arrow, kinds, categories, is_ordered })
        };
        roots.map(column).collect()
    }
}

/// Consecutive columns of an encoded row group.
struct RowGroupPart(Vec<DoneChunk>);

/// An encoded leaf of a row group.
enum DoneChunk {
    Own(EncodedChunk),
    Crate(ArrowColumnChunk),
}

/// The encoder for the leaves of a column.
enum Writers {
    Own(Vec<ChunkWriter>),
    Crate(Vec<ArrowColumnWriter>),
}

impl ParquetWriter {
    /// # Errors
    /// Usage errors: a field that Parquet cannot hold, or invalid options.
    pub fn try_new(schema: &Arc<schema::Schema>, options: &Options) -> Result<ParquetWriter> {
        let output = OutputSchema::of(schema, options)?;
        let compression = match options.compression.unwrap_or(options::Compression::Zstd(options::Compression::ZSTD_LEVEL)) {
            options::Compression::None => Compression::UNCOMPRESSED,
            options::Compression::Snappy => Compression::SNAPPY,
            options::Compression::Gzip => Compression::GZIP(GzipLevel::default()),
            options::Compression::Lz4 => Compression::LZ4_RAW,
            options::Compression::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level).map_err(|e| Error::usage(e.to_string()))?),
        };
        // Properties common to all columns; the rest is in the footer.
        let of_columns = || {
            WriterProperties::builder()
                .set_compression(compression)
                .set_statistics_enabled(EnabledStatistics::Chunk)
                .set_max_row_group_row_count(None)
                .set_coerce_types(true)
        };
        let pairs = output.standard.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        let mut properties =
            of_columns().set_key_value_metadata(Some(pairs)).set_created_by(format!("{WRITER}{}", env!("CARGO_PKG_VERSION"))).build();
        add_encoded_arrow_schema_to_metadata(&output.standard, &mut properties);
        let properties = Arc::new(properties);
        let encoder = Arc::new(GroupEncoder {
            memory: output.memory.clone(),
            schema: output.wide.clone(),
            columns: LoneColumn::all(&output)?,
            properties: of_columns().build(),
            compression,
            notices: options.notices.clone(),
            strict: options.strict,
        });
        Ok(ParquetWriter {
            encoder,
            properties,
            output,
            rows: options.row_group_rows.unwrap_or(ROWS).max(1),
            columns: Vec::new(),
            file: None,
        })
    }

    fn file(&mut self) -> Result<&mut SerializedFileWriter<Box<dyn Write + Send>>> {
        self.file.as_mut().ok_or_else(|| Error::internal("the output has not been started"))
    }
}

impl Encode for GroupEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        self.encode_group(vec![chunk])
    }

    fn encode_group(&self, chunks: Vec<Chunk>) -> Result<Encoded> {
        let mut group = RowGroup::default();
        chunks.into_iter().try_for_each(|chunk| group.push(chunk))?;
        self.encode_columns(group, 0)
    }

    /// Columns are encoded one at a time, window by window, and released on the way. A row group is held in memory only
    /// once, and only one column at a time has encoder buffers.
    fn encode_columns(&self, columns: RowGroup, first: usize) -> Result<Encoded> {
        let (origins, columns) = columns.into_parts();
        let (rows, mut encoded) = (GroupOrigin(origins), Vec::new());
        let mut codec = Codec::new(self.compression)?;
        for (index, column) in (first..).zip(columns) {
            self.encode_column(index, column, &rows, &mut codec, &mut encoded)?;
        }
        Ok(Box::new(RowGroupPart(encoded)))
    }
}

/// Parquet stores dates as days.
fn whole_days(tensor: &Tensor) -> Result<()> {
    const DAY: i64 = 86_400_000;
    let array = match tensor {
        Tensor::Leaf(array) => array,
        Tensor::List(list) => {
            let partition = list.partition();
            let (start, end) = (partition.start(0), partition.start(partition.nrows()));
            let outer = |e: Error| e.locate(|at| at.row = at.row.map(|row| row_of(partition, start + row)));
            return whole_days(&list.values().slice(start, end - start)).map_err(outer);
        }
        Tensor::Struct(structure) => return structure.fields().iter().try_for_each(whole_days),
        Tensor::Sparse(_) => return Ok(()),
    };
    match array.as_primitive_opt::<Date64Type>() {
        Some(dates) => match (0..dates.len()).find(|i| dates.is_valid(*i) && dates.value(*i) % DAY != 0) {
            Some(row) => Err(Error::data(format!(
                "a date64 of {} ms is not a whole number of days, and Parquet stores dates as days",
                dates.value(row)
            ))
            .at_row(row)
            .help("write Arrow: --to arrow-file")),
            None => Ok(()),
        },
        None => Ok(()),
    }
}

/// The origin of a group's rows: the rows of each chunk, and their origin.
struct GroupOrigin(Vec<(usize, Origin)>);

impl GroupOrigin {
    fn count(&self) -> usize {
        self.0.iter().map(|(nrows, _)| nrows).sum()
    }

    /// Converts the row of a window named by an error to a record.
    fn resolve(&self, window: Range<usize>, error: Error) -> Error {
        let (mut start, mut parts) = (0, Vec::new());
        for (nrows, origin) in &self.0 {
            let (from, to) = (window.start.clamp(start, start + nrows), window.end.clamp(start, start + nrows));
            if from < to {
                parts.push(Chunk { nrows: to - from, columns: Vec::new(), origin: origin.slice(from - start, to - from) });
            }
            start += nrows;
        }
        Origin::concat(&parts).resolve(error, window.len())
    }
}

/// The rows in a window of a column with that many leaves.
fn window_rows(column: &GroupColumn, nleaves: usize) -> usize {
    let most = WINDOW_NBYTES * (nleaves / WINDOW_LEAVES).clamp(1, MOST_WINDOWS);
    (most / column.row_nbytes()).clamp(1, WINDOW_ROWS)
}

impl GroupEncoder {
    fn encode_column(
        &self,
        index: usize,
        mut column: GroupColumn,
        rows: &GroupOrigin,
        codec: &mut Codec,
        encoded: &mut Vec<DoneChunk>,
    ) -> Result<()> {
        let window_rows = window_rows(&column, self.columns[index].parquet.columns().len());
        // The rows that are sampled are held as arrays.
        let sample_rows = (SAMPLE_NBYTES / column.row_nbytes()).clamp(1, SAMPLE_ROWS);
        let mut seen = 0;
        let mut next = || -> Result<Option<ArrayRef>> {
            let Some(window) = column.next_rows(window_rows)? else { return Ok(None) };
            let range = seen..seen + window.nrows();
            seen = range.end;
            self.array(index, &window).map(Some).map_err(|e| rows.resolve(range, e))
        };
        let mut samples: Vec<Sample> = self.columns[index].parquet.columns().iter().map(|_| Sample::default()).collect();
        let (mut first, mut sampled) = (Vec::new(), 0);
        while sampled < sample_rows
            && !samples.iter().all(Sample::is_enough)
            && let Some(array) = next()?
        {
            let mut columns = Vec::new();
            leaves(&array, &mut columns);
            samples.iter_mut().zip(&columns).for_each(|(sample, column)| sample.look(column));
            sampled += array.len();
            first.push(array);
        }
        if first.is_empty() && rows.count() == 0 {
            return Ok(());
        }
        let part = sampled as f64 / rows.count() as f64;
        let mut writers = self.column_writers(index, samples.into_iter().map(|sample| sample.pays(part)).collect())?;
        for array in first {
            self.write(index, &array, &mut writers, codec)?;
        }
        while let Some(array) = next()? {
            self.write(index, &array, &mut writers, codec)?;
        }
        if seen != rows.count() {
            return Err(Error::internal(format!("{seen} rows of a column were encoded in a group of {}", rows.count())));
        }
        match writers {
            Writers::Own(writers) => {
                let column = &self.columns[index];
                if column.is_ordered && writers.iter().zip(&column.categories).any(|(w, start)| start.is_some() && w.has_grown()) {
                    facts::announce_growth(self.schema.field(index).name(), &self.notices, self.strict)?;
                }
                for writer in writers {
                    encoded.push(DoneChunk::Own(writer.finish(codec)?));
                }
            }
            Writers::Crate(writers) => {
                for writer in writers {
                    encoded.push(DoneChunk::Crate(writer.close().map_err(lifted)?));
                }
            }
        }
        Ok(())
    }

    /// A window of a column as an Arrow array.
    fn array(&self, index: usize, window: &Tensor) -> Result<ArrayRef> {
        let field = self.schema.field(index);
        let in_field = |e: Error| e.in_field(quoted(field.name()));
        whole_days(window).map_err(in_field)?;
        let mut array = to_arrow(window, &self.memory[index]).map_err(in_field)?;
        if array.data_type() != field.data_type() {
            let strict = CastOptions { safe: false, ..Default::default() };
            let beyond = |_| {
                let error = Error::data("a time in seconds is outside the range of milliseconds, in which Parquet stores it");
                in_field(error.help("write Arrow: --to arrow-file"))
            };
            array = cast_with_options(&array, field.data_type(), &strict).map_err(beyond)?;
        }
        Ok(array)
    }

    /// A writer for each leaf of a column, without dictionaries if they do not pay off.
    fn column_writers(&self, index: usize, pays: Vec<bool>) -> Result<Writers> {
        let LoneColumn { parquet, arrow, kinds, categories, .. } = &self.columns[index];
        if let Some(kinds) = kinds {
            let columns = parquet.columns().iter().zip(kinds).zip(pays).enumerate();
            let writer = |(leaf, ((column, kind), pays)): (usize, ((&ColumnDescPtr, &StorageKind), bool))| {
                let categories = categories.get(leaf).and_then(Option::as_ref);
                let mut writer = ChunkWriter::new(column.clone(), *kind, pays || categories.is_some(), self.compression);
                if let Some(values) = categories {
                    writer.start_with(values);
                }
                writer
            };
            return Ok(Writers::Own(columns.map(writer).collect()));
        }
        let mut properties = self.properties.clone().into_builder();
        for (pays, column) in pays.into_iter().zip(parquet.columns()) {
            if !pays {
                properties = properties.set_column_dictionary_enabled(column.path().clone(), false);
            }
        }
        // The factory takes its configuration from a writer; this one discards its output.
        let nowhere =
            SerializedFileWriter::new(std::io::sink(), parquet.root_schema_ptr(), Arc::new(properties.build())).map_err(lifted)?;
        ArrowRowGroupWriterFactory::new(&nowhere, arrow.clone()).create_column_writers(0).map(Writers::Crate).map_err(lifted)
    }

    fn write(&self, index: usize, array: &ArrayRef, writers: &mut Writers, codec: &mut Codec) -> Result<()> {
        let field = self.schema.field(index);
        let in_field = |e: Error| e.in_field(quoted(field.name()));
        let writers = match writers {
            Writers::Own(writers) => {
                let mut leaves = leaves_of(field, array).into_iter().zip(writers);
                return leaves.try_for_each(|(leaf, writer)| writer.write(&leaf, codec)).map_err(in_field);
            }
            Writers::Crate(writers) => writers,
        };
        let mut writers = writers.iter_mut();
        for leaf in compute_leaves(field, array).map_err(lifted).map_err(in_field)? {
            let writer = writers.next().ok_or_else(|| Error::internal("more leaves than columns"))?;
            writer.write(&leaf).map_err(lifted).map_err(in_field)?;
        }
        Ok(())
    }
}

impl Writer for ParquetWriter {
    fn grouping(&self) -> Option<Grouping> {
        Some(Grouping { rows: self.rows, nbytes: NBYTES, shares: SHARES })
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
        let RowGroupPart(columns) = *encoded.downcast::<RowGroupPart>().map_err(|_| Error::internal("no row group"))?;
        self.columns.extend(columns);
        if self.columns.is_empty() || self.columns.len() < self.output.parquet.num_columns() {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.columns);
        let mut group = self.file()?.next_row_group().map_err(lifted)?;
        for column in columns {
            match column {
                DoneChunk::Own(chunk) => chunk.append_to(&mut group),
                DoneChunk::Crate(chunk) => chunk.append_to_row_group(&mut group),
            }
            .map_err(lifted)?;
        }
        group.close().map_err(lifted)?;
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if !self.columns.is_empty() {
            return Err(Error::internal("the columns of a row group are incomplete"));
        }
        // Also flushes. Taking the output out again would lose the error kind.
        self.file()?.finish().map_err(lifted)?;
        self.file = None;
        Ok(())
    }
}
