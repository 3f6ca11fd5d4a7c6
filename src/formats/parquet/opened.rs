//! A file with its footer read.

use super::failure::{from_io, lifted};
use super::footer::{self, ENCRYPTED_MAGIC, MAGIC};
use super::int96::{self, Int96Columns};
use super::schema::widened;
use super::{categories, facts, logical};
use crate::error::{Error, Result};
use crate::formats::columnar::facts::not_text;
use crate::formats::columnar::names::{self, Renamed};
use crate::formats::columnar::source::Source;
use crate::formats::columnar::wide_integers::{self, Place};
use crate::path::quoted;
use crate::printable::shell_word;
use crate::schema::facts::{Facts, Storage};
use crate::schema::nested::innermost;
use crate::schema::{Element, Field, columns};
use crate::tensor::arrow::extension::in_logical_order;
use crate::tensor::arrow::field::check_number;
use crate::tensor::arrow::from_arrow_field;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

const NO_ENCRYPTION: &str = "decrypt the file first: encryption is not supported";

/// A file with its footer read.
pub struct Opened {
    pub name: Arc<str>,
    pub source: Source,
    pub metadata: ArrowReaderMetadata,
    /// The columns as decoded.
    pub arrow: Vec<FieldRef>,
    pub decoded: Vec<Field>,
    /// The same, but required if statistics prove that there are no nulls.
    pub fields: Vec<Field>,
    pub facts: Facts,
    pub renamed: Renamed,
    /// Why the Arrow schema stored in the file was not used, if it is unusable.
    pub unusable_schema: Option<String>,
    /// Number of rows in each row group.
    pub rows: Vec<u64>,
    /// Notices about columns that are not read exactly as declared, each with the index of its outermost column.
    remarks: Vec<(usize, String)>,
    /// The outermost columns that are encrypted.
    encrypted: HashSet<usize>,
    /// The first of the files that contain the rows, if this one only describes them.
    external: Option<String>,
    /// The columns that contain JSON, whose text the crate does not check.
    json: HashSet<String>,
    /// The columns of decimal128 that are decoded as decimal256.
    decimals: HashSet<String>,
}

impl Opened {
    /// Reads the footer.
    ///
    /// # Errors
    /// The footer is damaged.
    pub fn new(name: Arc<str>, source: Source) -> Result<Opened> {
        let (metadata, encrypted) = read_footer(&source)?;
        let external = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns).find_map(external).map(str::to_owned);
        let nleaves = metadata.file_metadata().schema_descr().num_columns();
        if let Some(group) = metadata.row_groups().iter().find(|group| group.num_columns() != nleaves) {
            return Err(Error::data(format!("a row group has {} columns, but the schema has {nleaves}", group.num_columns())));
        }
        let unreadable = if external.is_some() { (0..nleaves).collect() } else { encrypted.clone() };
        let (metadata, wide_integers) = match wide_integers_of(&metadata) {
            Some((changed, places)) => (Arc::new(changed), places),
            None => (Arc::new(metadata), Vec::new()),
        };
        let rows = rows_of(&metadata)?;
        let written = facts::written_schema(&metadata);
        let footer = metadata;
        // A writer that supports Arrow's intervals records their kind.
        let is_interval = |field: &&ArrowField| matches!(field.data_type(), DataType::Interval(_));
        let keeps_intervals = written.as_ref().is_some_and(|schema| schema.flattened_fields().iter().any(is_interval));
        let metadata = logical::with_known_types(&footer, keeps_intervals)?.map_or_else(|| footer.clone(), Arc::new);
        let open = |skip| ArrowReaderMetadata::try_new(metadata.clone(), ArrowReaderOptions::new().with_skip_arrow_metadata(skip));
        let (found, unusable_schema) = match open(false) {
            Ok(found) => (found, None),
            Err(error) => (open(true).map_err(lifted)?, Some(lifted(error).message().to_owned())),
        };
        let file_metadata = found.schema().metadata().clone();
        let int96 = int96::columns(&source, &footer, &unreadable)?;
        let stored = facts::Columns::completed(&footer, found.schema().fields(), written.as_ref(), &int96.types);
        let with = |fields: Fields| {
            ArrowReaderMetadata::try_new(metadata.clone(), ArrowReaderOptions::new().with_schema(Arc::new(ArrowSchema::new(fields))))
        };
        // If the crate rejects the wider type, values are converted after decoding.
        let decimals = long_decimals(&metadata);
        let metadata = with(stored.iter().map(|f| with_decimals(&Arc::new(widened(f)), &decimals, true)).collect())
            .or_else(|_| with(stored.iter().cloned().collect()))
            .unwrap_or(found);
        check_number(metadata.schema().fields())?;
        let arrow: Vec<FieldRef> = metadata.schema().fields().iter().map(|f| with_decimals(f, &decimals, false)).collect();
        let none = HashMap::new();
        let narrowed = facts::Columns::narrowed(metadata.metadata(), &arrow, &none);
        let mut decoded: Vec<Field> = arrow.iter().map(|f| from_arrow_field(f)).collect::<Result<_>>()?;
        let mut fields: Vec<Field> = narrowed.iter().map(|f| from_arrow_field(f)).collect::<Result<_>>()?;
        for (field, stored) in fields.iter_mut().zip(&stored) {
            restore(field, stored);
        }
        categories::learn(&mut fields, &stored, &source, metadata.metadata(), &unreadable);
        let renamed = names::distinct_fields(&mut fields);
        names::distinct_fields(&mut decoded);
        let facts = Facts::of_file(file_metadata, columns(&fields));
        let json = logical::json_columns(metadata.parquet_schema());
        let root_of = |leaf: usize| metadata.parquet_schema().get_column_root_idx(leaf);
        let remarks = remarks(&footer, &int96, &wide_integers, root_of);
        let remarks = remarks.into_iter().map(|(root, text)| {
            let column = fields.get(root).map_or_else(String::new, |field| quoted(&field.name));
            (root, format!("{name}: {column}: {text}"))
        });
        let remarks = remarks.collect();
        let encrypted =
            encrypted.iter().filter(|leaf| **leaf < metadata.parquet_schema().num_columns()).map(|leaf| root_of(*leaf)).collect();
        Ok(Opened {
            name,
            source,
            arrow,
            metadata,
            decoded,
            fields,
            facts,
            renamed,
            unusable_schema,
            rows,
            remarks,
            encrypted,
            external,
            json,
            decimals,
        })
    }

    /// The notices about columns.
    pub fn remarks(&self, roots: &[usize]) -> impl Iterator<Item = &str> {
        self.remarks.iter().filter(|(root, _)| roots.contains(root)).map(|(_, text)| text.as_str())
    }

    /// Checks that columns are in the file, and not encrypted.
    ///
    /// # Errors
    /// The first that is encrypted; the rows are in other files.
    pub fn check_readable(&self, roots: &[usize]) -> Result<()> {
        if let (Some(file), false) = (&self.external, roots.is_empty()) {
            let error = Error::data(format!("the file describes the rows of other files, such as {}", quoted(file)));
            return Err(error.in_input(self.name.clone()).help("pass those files, or their directory, instead"));
        }
        let Some(root) = roots.iter().find(|root| self.encrypted.contains(root)) else { return Ok(()) };
        let name = quoted(&self.fields[*root].name);
        let error = Error::data("the column is encrypted").in_field(&name).in_input(self.name.clone());
        Err(error.help(format!("{NO_ENCRYPTION}; or leave the column out: drop {}", shell_word(&name))))
    }

    /// The columns of a batch.
    ///
    /// # Errors
    /// The text of a column of JSON is not valid UTF-8, or a decimal has too many digits.
    pub fn arrays(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()).filter(|(field, _)| self.json.contains(field.name()))
        {
            array.to_data().validate_full().map_err(|_| Error::data("the JSON is not valid UTF-8").in_field(quoted(field.name())))?;
        }
        let narrow = |(field, array): (&FieldRef, &ArrayRef)| match (self.decimals.contains(field.name()), field.data_type()) {
            (true, DataType::Decimal256(precision, scale)) => {
                let options = CastOptions { safe: false, ..Default::default() };
                let narrowed = cast_with_options(array, &DataType::Decimal128(*precision, *scale), &options);
                narrowed.map_err(|e| Error::data(e.to_string()).in_field(quoted(field.name())))
            }
            _ => Ok(array.clone()),
        };
        batch.schema_ref().fields().iter().zip(batch.columns()).map(narrow).collect()
    }
}

/// The columns of decimals with as many bytes as the writer chose, by name. Its values can be longer than a decimal128 if their
/// sign is repeated.
fn long_decimals(metadata: &ParquetMetaData) -> HashSet<String> {
    let schema = metadata.file_metadata().schema_descr();
    let is_long = |leaf: &usize| {
        let (column, root) = (schema.column(*leaf), schema.get_column_root(*leaf));
        root.is_primitive() && column.physical_type() == PhysicalType::BYTE_ARRAY && column.converted_type() == ConvertedType::DECIMAL
    };
    (0..schema.num_columns()).filter(is_long).map(|leaf| schema.get_column_root(leaf).name().to_owned()).collect()
}

/// The field as decoded, if it is one of these decimals: as decimal256, or as decimal128 again.
fn with_decimals(field: &FieldRef, decimals: &HashSet<String>, long: bool) -> FieldRef {
    let ty = match field.data_type() {
        _ if !decimals.contains(field.name()) => return field.clone(),
        DataType::Decimal128(precision, scale) if long => DataType::Decimal256(*precision, *scale),
        DataType::Decimal256(precision, scale) if !long && *precision <= DECIMAL128_MAX_PRECISION => {
            DataType::Decimal128(*precision, *scale)
        }
        _ => return field.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(ty))
}

/// The metadata with a stored Arrow schema that can be read, if it has 128-bit integers, and their positions.
fn wide_integers_of(metadata: &ParquetMetaData) -> Option<(ParquetMetaData, Vec<Place>)> {
    let file = metadata.file_metadata();
    let mut pairs = file.key_value_metadata()?.clone();
    let pair = pairs.iter_mut().find(|pair| pair.key == ARROW_SCHEMA_META_KEY)?;
    let (message, places) = wide_integers::narrowed(&facts::stored_message(pair.value.as_ref()?)?)?;
    pair.value = Some(BASE64_STANDARD.encode(message));
    Some((with_file(metadata, file.num_rows(), Some(pairs)), places))
}

/// The metadata with another number of rows and other pairs of keys and values.
fn with_file(metadata: &ParquetMetaData, nrows: i64, pairs: Option<Vec<KeyValue>>) -> ParquetMetaData {
    let file = metadata.file_metadata();
    let (version, schema) = (file.version(), file.schema_descr_ptr());
    let file = FileMetaData::new(version, nrows, file.created_by().map(str::to_owned), pairs, schema, file.column_orders().cloned());
    ParquetMetaData::new(file, metadata.row_groups().to_vec())
}

/// Number of rows in each row group.
fn rows_of(metadata: &ParquetMetaData) -> Result<Vec<u64>> {
    let rows = metadata.row_groups().iter().map(|g| u64::try_from(g.num_rows())).collect::<Result<Vec<_>, _>>();
    let rows = rows.map_err(|_| Error::data("a row group has a negative number of rows"))?;
    let total = rows.iter().try_fold(0u64, |sum, n| sum.checked_add(*n));
    let claimed = metadata.file_metadata().num_rows();
    if total != u64::try_from(claimed).ok() {
        return Err(Error::data(format!("the footer claims {claimed} rows, but its row groups have a different total")));
    }
    Ok(rows)
}

/// What is not read exactly as declared, each with the index of its outermost column.
fn remarks(
    footer: &ParquetMetaData,
    int96: &Int96Columns,
    wide_integers: &[Place],
    root_of: impl Fn(usize) -> usize,
) -> Vec<(usize, String)> {
    let cut = int96
        .cut
        .iter()
        .map(|(leaf, unit)| (root_of(*leaf), format!("INT96 timestamps are truncated to {unit}: their range does not fit finer units")));
    let wide = wide_integers.iter().map(|place| (place.root(), format!("{} is read as bytes", place.name())));
    let leaves = footer.file_metadata().schema_descr().columns().iter().enumerate();
    let unknown = leaves
        .filter(|(_, c)| logical::is_unknown(c.self_type()))
        .map(|(leaf, c)| (root_of(leaf), format!("its logical type is unknown: it is read as {}", c.physical_type())));
    cut.chain(wide).chain(unknown).collect()
}

/// Early versions of parquet-rs leave the number of rows of the file at zero.
fn with_number_of_rows(metadata: ParquetMetaData) -> ParquetMetaData {
    let file = metadata.file_metadata();
    let total = metadata.row_groups().iter().try_fold(0i64, |sum, group| sum.checked_add(group.num_rows()));
    match total {
        Some(total) if file.num_rows() == 0 && total != 0 => with_file(&metadata, total, file.key_value_metadata().cloned()),
        _ => metadata,
    }
}

/// Fields are written in their stored form, not in their decoded form.
fn restore(field: &mut Field, stored: &FieldRef) {
    field.storage = Storage::of(in_logical_order(stored));
    // The fields of a changed structure are written one by one.
    if let (Element::Struct(inner), DataType::Struct(all)) = (&mut field.ty.element, innermost(stored.data_type()))
        && inner.len() == all.len()
    {
        inner.iter_mut().zip(all).for_each(|(field, stored)| restore(field, stored));
    }
}

/// The metadata, and the leaves that are encrypted.
fn read_footer(source: &Source) -> Result<(ParquetMetaData, BTreeSet<usize>)> {
    let too_short = || source.too_short("a Parquet file");
    let tail_at = source.nbytes().checked_sub(8).filter(|at| *at >= 4).ok_or_else(too_short)?;
    let tail = source.bytes(tail_at, 8).map_err(|e| from_io(&e))?;
    let (length, magic) = tail.split_at(4);
    if magic == ENCRYPTED_MAGIC {
        return Err(Error::data("the Parquet file is encrypted").help(NO_ENCRYPTION));
    }
    if magic != MAGIC {
        return Err(Error::data("the file has no Parquet footer at its end: it is truncated, or still being written")
            .help("write or download it again: without the footer, nothing can be read"));
    }
    let length = <[u8; 4]>::try_from(length).map(u32::from_le_bytes).map_err(|_| too_short())?;
    let start = tail_at.checked_sub(u64::from(length)).filter(|at| *at >= 4);
    let start =
        start.ok_or_else(|| Error::data(format!("the footer claims {length} bytes, but the Parquet file has only {}", source.nbytes())))?;
    let bytes = source.bytes(start, length as usize).map_err(|e| from_io(&e))?;
    let checked = footer::check(&bytes)?;
    let metadata = ParquetMetaDataReader::decode_metadata(&checked.decodable(bytes)).map_err(|e| match lifted(e) {
        e if e.message().contains("invalid utf-8") => not_text("the Parquet footer"),
        e => Error::data(format!("the Parquet footer is damaged: {}", e.message())),
    })?;
    check_single(source, &metadata, start)?;
    Ok((with_number_of_rows(without_zero_offsets(metadata).map_err(lifted)?), checked.encrypted))
}

/// The name of the file that contains a column chunk, if it is another one.
fn external(column: &ColumnChunkMetaData) -> Option<&str> {
    column.file_path().filter(|path| !path.is_empty())
}

/// Checks that no other file ends between what the footer locates and the footer itself, as in concatenated files of equal
/// size, where the footer of the last locates the data of the first. Values in data and indexes may look like the end of a file.
fn check_single(source: &Source, metadata: &ParquetMetaData, footer: u64) -> Result<()> {
    const STEP: u64 = 1 << 20;
    let columns = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let ends = columns.filter(|column| external(column).is_none()).flat_map(|column| {
        let data = column.data_page_offset().min(column.dictionary_page_offset().unwrap_or(i64::MAX));
        let index = |offset: Option<i64>, length: Option<i32>| (offset.unwrap_or(0), length.map_or(0, i64::from));
        let parts = [
            (data, column.compressed_size()),
            index(column.column_index_offset(), column.column_index_length()),
            index(column.offset_index_offset(), column.offset_index_length()),
            index(column.bloom_filter_offset(), column.bloom_filter_length()),
        ];
        parts.map(|(start, length)| u64::try_from(start.saturating_add(length)).unwrap_or(0))
    });
    let mut at = ends.max().unwrap_or(0).max(MAGIC.len() as u64);
    let between = [MAGIC, MAGIC].concat();
    while at + between.len() as u64 <= footer {
        let nbytes = STEP.min(footer - at);
        let bytes = source.bytes(at, nbytes as usize).map_err(|e| from_io(&e))?;
        if let Some(found) = memchr::memmem::find(&bytes, &between) {
            let end = at + (found + MAGIC.len()) as u64;
            return Err(Error::data(format!("another Parquet file ends at byte {end}: several files were concatenated"))
                .help("pass them as several inputs instead"));
        }
        at += if nbytes < STEP { nbytes } else { nbytes - (between.len() as u64 - 1) };
    }
    Ok(())
}

/// Some writers set the offset of a missing dictionary page to zero.
fn without_zero_offsets(metadata: ParquetMetaData) -> parquet::errors::Result<ParquetMetaData> {
    let is_zero = |column: &ColumnChunkMetaData| column.dictionary_page_offset() == Some(0);
    if !metadata.row_groups().iter().any(|group| group.columns().iter().any(is_zero)) {
        return Ok(metadata);
    }
    let mended = |column: &ColumnChunkMetaData| match is_zero(column) {
        true => column.clone().into_builder().set_dictionary_page_offset(None).build(),
        false => Ok(column.clone()),
    };
    let groups = metadata.row_groups().iter().map(|group| {
        let columns = group.columns().iter().map(mended).collect::<parquet::errors::Result<_>>()?;
        group.clone().into_builder().set_column_metadata(columns).build()
    });
    let groups = groups.collect::<parquet::errors::Result<_>>()?;
    Ok(metadata.into_builder().set_row_groups(groups).build())
}
