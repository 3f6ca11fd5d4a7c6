//! Readers of row groups that hold few decompressors.
//!
//! The crate keeps a decompressor for each column chunk until its group has been read: about 100 kB for zstd, half a
//! gigabyte for 5,000 columns. Here the reader of a chunk is dropped with its decompressor as soon as its last page has
//! been read, which in wide files is usually the first.

use super::failure::lifted;
use super::opened::Opened;
use crate::error::Result;
use crate::formats::columnar::source::Source;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader, RowGroups, RowSelection};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

/// The types of the chosen columns.
///
/// # Errors
/// The schema has a type that Arrow does not have.
pub fn levels(metadata: &ArrowReaderMetadata, mask: ProjectionMask) -> Result<FieldLevels> {
    parquet_to_arrow_field_levels(metadata.parquet_schema(), mask, Some(metadata.schema().fields())).map_err(lifted)
}

/// Reads the selected rows of row groups, `batch_size` rows at a time.
///
/// # Errors
/// A column chunk is damaged.
pub fn reader(
    opened: &Opened,
    groups: Vec<usize>,
    levels: &FieldLevels,
    batch_size: usize,
    selection: Option<RowSelection>,
) -> Result<ParquetRecordBatchReader> {
    let groups = Groups { source: Arc::new(opened.source.clone()), metadata: opened.metadata.metadata().clone(), groups };
    // The decoder allocates a batch in advance.
    let batch_size = batch_size.min(groups.num_rows()).max(1);
    ParquetRecordBatchReader::try_new_with_row_groups(levels, &groups, batch_size, selection).map_err(lifted)
}

struct Groups {
    source: Arc<Source>,
    metadata: Arc<ParquetMetaData>,
    groups: Vec<usize>,
}

impl RowGroups for Groups {
    fn num_rows(&self) -> usize {
        self.row_groups().map(|group| usize::try_from(group.num_rows()).unwrap_or(0)).fold(0, usize::saturating_add)
    }

    fn column_chunks(&self, leaf: usize) -> ParquetResult<Box<dyn PageIterator>> {
        let (source, metadata, groups) = (self.source.clone(), self.metadata.clone(), self.groups.clone().into_iter());
        Ok(Box::new(Chunks { source, metadata, leaf, groups }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.groups.iter().map(|group| self.metadata.row_group(*group)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The chunks of a column.
struct Chunks {
    source: Arc<Source>,
    metadata: Arc<ParquetMetaData>,
    leaf: usize,
    groups: std::vec::IntoIter<usize>,
}

impl Iterator for Chunks {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.metadata.row_group(self.groups.next()?);
        let nrows = usize::try_from(group.num_rows()).unwrap_or(0);
        let pages = SerializedPageReader::new(self.source.clone(), group.column(self.leaf), nrows, None);
        Some(pages.map(|pages| Box::new(Pages { left: Some(pages), has_skipped: false }) as Box<dyn PageReader>))
    }
}

impl PageIterator for Chunks {}

/// The pages of a column chunk.
struct Pages {
    /// `None` after the last page.
    left: Option<SerializedPageReader<Source>>,
    /// A dictionary that was skipped can be asked for after the last page.
    has_skipped: bool,
}

impl Iterator for Pages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let Some(pages) = &mut self.left else { return Ok(None) };
        let page = pages.get_next_page()?;
        // An error is reported when the page is read.
        if !self.has_skipped && matches!(pages.peek_next_page(), Ok(None)) {
            self.left = None;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.left.as_mut().map_or(Ok(None), PageReader::peek_next_page)
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.has_skipped = true;
        self.left.as_mut().map_or(Ok(()), PageReader::skip_next_page)
    }

    fn supports_deferred_dictionary(&self) -> bool {
        true
    }

    fn take_deferred_dictionary(&mut self) -> ParquetResult<Option<Page>> {
        self.left.as_mut().map_or(Ok(None), PageReader::take_deferred_dictionary)
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        self.left.as_mut().map_or(Ok(true), PageReader::at_record_boundary)
    }
}
