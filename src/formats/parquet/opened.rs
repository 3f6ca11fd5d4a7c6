//! A file with its footer read.

use super::failure::{from_io, lifted};
use super::footer::{self, MAGIC};
use super::schema::widened;
use super::{facts, int96, logical};
use crate::error::{Error, Result};
use crate::formats::columnar::facts::not_text;
use crate::formats::columnar::names::{self, Renamed};
use crate::formats::columnar::source::Source;
use crate::path::quoted;
use crate::schema::facts::{Facts, Storage};
use crate::schema::{Element, Field, columns};
use crate::tensor::arrow::field::check_number;
use crate::tensor::arrow::from_arrow_field;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

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
    /// The columns that contain JSON, whose text the crate does not check.
    json: HashSet<String>,
}

impl Opened {
    /// Reads the footer.
    ///
    /// # Errors
    /// The footer is damaged.
    pub fn new(name: Arc<str>, source: Source) -> Result<Opened> {
        let metadata = Arc::new(read_footer(&source)?);
        let rows = metadata.row_groups().iter().map(|g| u64::try_from(g.num_rows())).collect::<Result<Vec<_>, _>>();
        let rows = rows.map_err(|_| Error::data("a row group has a negative number of rows"))?;
        let total = rows.iter().try_fold(0u64, |sum, n| sum.checked_add(*n));
        if total != u64::try_from(metadata.file_metadata().num_rows()).ok() {
            return Err(Error::data(format!(
                "the footer claims {} rows, which is not the sum of its row groups",
                metadata.file_metadata().num_rows()
            )));
        }
        let written = facts::written_schema(&metadata);
        let footer = metadata;
        // A writer that supports Arrow's intervals records their kind.
        let is_interval = |field: &&ArrowField| matches!(field.data_type(), DataType::Interval(_));
        let metadata = match written.as_ref().is_some_and(|schema| schema.flattened_fields().iter().any(is_interval)) {
            true => footer.clone(),
            false => logical::without_intervals(&footer)?.map_or_else(|| footer.clone(), Arc::new),
        };
        let open = |skip| ArrowReaderMetadata::try_new(metadata.clone(), ArrowReaderOptions::new().with_skip_arrow_metadata(skip));
        let (found, unusable_schema) = match open(false) {
            Ok(found) => (found, None),
            Err(error) => (open(true).map_err(lifted)?, Some(lifted(error).message().to_owned())),
        };
        let file_metadata = found.schema().metadata().clone();
        let int96 = int96::types(&source, &footer)?;
        let stored = facts::Columns::completed(&footer, found.schema().fields(), written.as_ref(), &int96);
        let with = |fields: Fields| {
            ArrowReaderMetadata::try_new(metadata.clone(), ArrowReaderOptions::new().with_schema(Arc::new(ArrowSchema::new(fields))))
        };
        // If the crate rejects the wider type, values are converted after decoding.
        let metadata = with(stored.iter().map(|f| Arc::new(widened(f))).collect())
            .or_else(|_| with(stored.iter().cloned().collect()))
            .unwrap_or(found);
        check_number(metadata.schema().fields())?;
        let none = HashMap::new();
        let narrowed = facts::Columns::narrowed(metadata.metadata(), metadata.schema().fields(), &none);
        let arrow = metadata.schema().fields().iter().cloned().collect();
        let mut decoded: Vec<Field> = metadata.schema().fields().iter().map(|f| from_arrow_field(f)).collect::<Result<_>>()?;
        let mut fields: Vec<Field> = narrowed.iter().map(|f| from_arrow_field(f)).collect::<Result<_>>()?;
        for (field, stored) in fields.iter_mut().zip(&stored) {
            restore(field, stored);
        }
        let renamed = names::distinct_fields(&mut fields);
        names::distinct_fields(&mut decoded);
        let facts = Facts::of_file(file_metadata, columns(&fields));
        let json = logical::json_columns(metadata.parquet_schema());
        Ok(Opened { name, source, arrow, metadata, decoded, fields, facts, renamed, unusable_schema, rows, json })
    }

    /// The columns of a batch.
    ///
    /// # Errors
    /// The text of a column of JSON is not valid UTF-8.
    pub fn arrays(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()).filter(|(field, _)| self.json.contains(field.name()))
        {
            array.to_data().validate_full().map_err(|_| Error::data("the JSON is not valid UTF-8").in_field(quoted(field.name())))?;
        }
        Ok(batch.columns().to_vec())
    }
}

/// Fields are written in their stored form, not in their decoded form.
fn restore(field: &mut Field, stored: &FieldRef) {
    field.storage = Storage::of(stored.as_ref().clone());
    if let (Element::Struct(inner), true, DataType::Struct(all)) = (&mut field.ty.element, field.ty.dims.is_empty(), stored.data_type()) {
        inner.iter_mut().zip(all).for_each(|(field, stored)| restore(field, stored));
    }
}

fn read_footer(source: &Source) -> Result<ParquetMetaData> {
    let too_short = || Error::data(format!("{} bytes are too few for a Parquet file", source.nbytes()));
    let tail_at = source.nbytes().checked_sub(8).filter(|at| *at >= 4).ok_or_else(too_short)?;
    let tail = source.bytes(tail_at, 8).map_err(|e| from_io(&e))?;
    let (length, magic) = tail.split_at(4);
    if magic == b"PARE" {
        return Err(Error::data("the Parquet file is encrypted").help("decrypt it first: tatter does not support encryption"));
    }
    if magic != MAGIC {
        return Err(Error::data("the file has no Parquet footer at its end: it is truncated, or still being written"));
    }
    let length = <[u8; 4]>::try_from(length).map(u32::from_le_bytes).map_err(|_| too_short())?;
    let start = tail_at.checked_sub(u64::from(length)).filter(|at| *at >= 4);
    let start = start.ok_or_else(|| Error::data(format!("a footer of {length} bytes in a Parquet file of {}", source.nbytes())))?;
    let bytes = source.bytes(start, length as usize).map_err(|e| from_io(&e))?;
    footer::check(&bytes)?;
    let metadata = ParquetMetaDataReader::decode_metadata(&bytes).map_err(|e| match lifted(e) {
        e if e.message().contains("invalid utf-8") => not_text("the Parquet footer"),
        e => Error::data(format!("the Parquet footer is damaged: {}", e.message())),
    })?;
    check_single(source, &metadata, start)?;
    without_zero_offsets(metadata).map_err(lifted)
}

/// Checks that no other file ends between the last column chunk and the footer, as in concatenated files of equal size,
/// where the footer of the last locates the data of the first.
fn check_single(source: &Source, metadata: &ParquetMetaData, footer: u64) -> Result<()> {
    const STEP: u64 = 1 << 20;
    let ends = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns).map(|column| {
        let (start, length) =
            (column.data_page_offset().min(column.dictionary_page_offset().unwrap_or(i64::MAX)), column.compressed_size());
        u64::try_from(start.saturating_add(length)).unwrap_or(0)
    });
    let mut at = ends.max().unwrap_or(0).max(MAGIC.len() as u64);
    let between = [MAGIC, MAGIC].concat();
    while at + between.len() as u64 <= footer {
        let nbytes = STEP.min(footer - at);
        let bytes = source.bytes(at, nbytes as usize).map_err(|e| from_io(&e))?;
        if let Some(found) = memchr::memmem::find(&bytes, &between) {
            let end = at + (found + MAGIC.len()) as u64;
            return Err(Error::data(format!("another Parquet file ends at byte {end}: this is several files, concatenated"))
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
