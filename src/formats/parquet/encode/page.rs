//! Pages, and their descriptions in the footer.

use super::super::failure::lifted;
use super::codec::Codec;
use super::levels::Slots;
use super::range::ValueRange;
use super::{StorageKind, hybrid};
use crate::error::{Error, Result};
use crate::wire::{split_varint, varint};
use bytes::{Buf, Bytes};
use parquet::basic::{Compression, Encoding, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, LevelHistogram, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::ops::Range;

/// The page being filled.
#[derive(Default)]
pub struct PageInWork {
    repetition: Vec<u8>,
    definition: Vec<u8>,
    slots: usize,
    values: usize,
    /// Number of rows that start in it.
    pub rows: usize,
    /// Values: dictionary indices, plain values, or booleans.
    pub indices: Vec<u32>,
    pub plain: Vec<u8>,
    pub bits: Vec<u8>,
    pub nbytes_of_strings: i64,
}

impl PageInWork {
    /// Appends slots, and returns the number of their values.
    pub fn push_levels(&mut self, slots: &Slots, part: Range<usize>) -> usize {
        let (count, max) = (part.len(), slots.max_definition);
        let repetition = if slots.max_repetition > 0 { &slots.repetition[part.clone()] } else { &[] };
        let definition = if max > 0 { &slots.definition[part] } else { &[] };
        let values = if max > 0 { number_of(definition, max) } else { count };
        self.rows += if slots.max_repetition > 0 { number_of(repetition, 0) } else { count };
        self.repetition.extend_from_slice(repetition);
        self.definition.extend_from_slice(definition);
        self.slots += count;
        self.values += values;
        values
    }
}

/// Finished pages.
pub struct Pages {
    column: ColumnDescPtr,
    compression: Compression,
    dictionary: Option<([Bytes; 2], PageWriteSpec)>,
    /// The headers and bytes of the data pages.
    bytes: VecDeque<Bytes>,
    nbytes: u64,
    specs: Vec<PageWriteSpec>,
    rows: Vec<usize>,
    nbytes_of_strings: Vec<i64>,
    encodings: Vec<PageEncodingStats>,
    nulls: usize,
    repetition: Option<LevelHistogram>,
    definition: Option<LevelHistogram>,
    /// Whether a page ends in the middle of a row.
    splits_rows: bool,
}

impl Pages {
    pub fn new(column: ColumnDescPtr, compression: Compression) -> Pages {
        Pages {
            compression,
            dictionary: None,
            bytes: VecDeque::new(),
            nbytes: 0,
            specs: Vec::new(),
            rows: Vec::new(),
            nbytes_of_strings: Vec::new(),
            encodings: Vec::new(),
            nulls: 0,
            repetition: LevelHistogram::try_new(column.max_rep_level()),
            definition: LevelHistogram::try_new(column.max_def_level()),
            column,
            splits_rows: false,
        }
    }

    /// Ends a data page unless it is empty. `in_row`: in the middle of a row.
    pub fn end_page(&mut self, page: &mut PageInWork, index_width: u8, in_row: bool, codec: &mut Codec) -> Result<()> {
        if page.slots == 0 {
            return Ok(());
        }
        let mut body = std::mem::take(&mut codec.body);
        body.clear();
        for (levels, histogram) in [(&mut page.repetition, &mut self.repetition), (&mut page.definition, &mut self.definition)] {
            if let Some(histogram) = histogram {
                level_section(levels, histogram, &mut body);
                levels.clear();
            }
        }
        let encoding = if page.indices.is_empty() { Encoding::PLAIN } else { Encoding::RLE_DICTIONARY };
        if !page.indices.is_empty() {
            body.push(index_width);
            hybrid::encode(&page.indices, index_width, &mut body);
            page.indices.clear();
        }
        body.extend(page.bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit)));
        page.bits.clear();
        // Without levels, the values are compressed directly.
        let whole = if body.is_empty() {
            &page.plain
        } else {
            body.extend_from_slice(&page.plain);
            &body
        };
        let size = whole.len();
        let compressed = codec.compress(whole)?;
        codec.body = body;
        let page_done = Page::DataPage {
            buf: compressed.into(),
            num_values: page.slots as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        page.plain.clear();
        let (bytes, mut spec) = with_header(page_done, size)?;
        spec.offset = self.nbytes;
        self.nbytes += spec.bytes_written;
        self.bytes.extend(bytes);
        self.specs.push(spec);
        self.count_encoding(PageType::DATA_PAGE, encoding);
        self.nulls += page.slots - page.values;
        self.rows.push(page.rows);
        self.nbytes_of_strings.push(page.nbytes_of_strings);
        self.splits_rows |= in_row;
        (page.slots, page.values, page.rows, page.nbytes_of_strings) = (0, 0, 0, 0);
        Ok(())
    }

    fn count_encoding(&mut self, page_type: PageType, encoding: Encoding) {
        match self.encodings.iter_mut().find(|stats| stats.page_type == page_type && stats.encoding == encoding) {
            Some(stats) => stats.count += 1,
            None => self.encodings.push(PageEncodingStats { page_type, encoding, count: 1 }),
        }
    }

    /// Writes the dictionary of `count` values, which comes first in the column chunk.
    pub fn end_dictionary(&mut self, page: Vec<u8>, count: usize, codec: &mut Codec) -> Result<()> {
        let size = page.len();
        let buf = codec.compress(&page)?.into();
        let page = Page::DictionaryPage { buf, num_values: count as u32, encoding: Encoding::PLAIN, is_sorted: false };
        let page = with_header(page, size)?;
        let stats = PageEncodingStats { page_type: PageType::DICTIONARY_PAGE, encoding: Encoding::PLAIN, count: 1 };
        self.encodings.insert(0, stats);
        self.dictionary = Some(page);
        Ok(())
    }

    /// Finishes the column chunk.
    pub fn finish(mut self, kind: StorageKind, range: ValueRange) -> Result<EncodedChunk> {
        let (dictionary, first) = self.dictionary.unzip();
        let start = first.as_ref().map_or(0, |spec| spec.bytes_written) as i64;
        dictionary.into_iter().flatten().rev().for_each(|bytes| self.bytes.push_front(bytes));
        let all = || self.specs.iter().chain(&first);
        let compressed: usize = all().map(|spec| spec.compressed_size).sum();
        let is_bytes = matches!(kind, StorageKind::Bytes { .. });
        let metadata = ColumnChunkMetaData::builder(self.column.clone())
            .set_compression(self.compression)
            .set_encodings(self.encodings.iter().map(|stats| stats.encoding).chain([Encoding::RLE]).collect())
            .set_page_encoding_stats(self.encodings)
            .set_total_compressed_size(compressed as i64)
            .set_total_uncompressed_size(all().map(|spec| spec.uncompressed_size as i64).sum())
            .set_num_values(self.specs.iter().map(|spec| i64::from(spec.num_values)).sum())
            .set_dictionary_page_offset(first.is_some().then_some(0))
            .set_data_page_offset(start)
            .set_statistics(range.statistics(kind, self.nulls as u64))
            .set_unencoded_byte_array_data_bytes(is_bytes.then(|| self.nbytes_of_strings.iter().sum()))
            .set_repetition_level_histogram(self.repetition)
            .set_definition_level_histogram(self.definition)
            .build()
            .map_err(lifted)?;
        let mut offsets = OffsetIndexBuilder::new();
        for ((spec, rows), nbytes) in self.specs.iter().zip(&self.rows).zip(&self.nbytes_of_strings) {
            offsets.append_row_count(*rows as i64);
            offsets.append_offset_and_size(start + spec.offset as i64, spec.compressed_size as i32);
            offsets.append_unencoded_byte_array_data_bytes(is_bytes.then_some(*nbytes));
        }
        let close = ColumnCloseResult {
            bytes_written: compressed as u64,
            rows_written: self.rows.iter().sum::<usize>() as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: (!self.splits_rows).then(|| offsets.build()),
        };
        Ok(EncodedChunk { bytes: self.bytes, close })
    }
}

/// The header of a page, with a checksum, and the bytes of the page. `size` is the uncompressed size.
fn with_header(page: Page, size: usize) -> Result<([Bytes; 2], PageWriteSpec)> {
    let bytes = page.buffer().clone();
    let mut out = TrackedWrite::new(Start::default());
    let mut spec = SerializedPageWriter::new(&mut out).write_page(CompressedPage::new(page, size)).map_err(lifted)?;
    let start = out.into_inner().map_err(lifted)?.0;
    let header = start.get(..spec.compressed_size - bytes.len()).and_then(|header| with_checksum(header, crc32fast::hash(&bytes)));
    let header = header.ok_or_else(|| Error::internal("a page has an unexpected header"))?;
    let growth = header.len() + bytes.len() - spec.compressed_size;
    spec.compressed_size += growth;
    spec.uncompressed_size += growth;
    spec.bytes_written += growth as u64;
    Ok(([header.into(), bytes], spec))
}

/// The first bytes of what is written; a page header fits.
#[derive(Default)]
struct Start(Vec<u8>);

impl Write for Start {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        const HEADER_NBYTES: usize = 128;
        let room = HEADER_NBYTES.saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..room.min(bytes.len())]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Inserts the checksum into a page header, which the parquet crate writes without one: field 4 of the structure, after
/// the type and the two sizes. In Thrift's compact protocol, a field starts with the distance of its number from the one
/// before (4 bits) and its type (4 bits). `None` if the header is not of that form.
fn with_checksum(header: &[u8], checksum: u32) -> Option<Vec<u8>> {
    const INT32: u8 = 5;
    const NEXT: u8 = 1 << 4;
    let mut rest = header;
    for _ in 0..3 {
        let after = rest.strip_prefix(&[NEXT | INT32])?;
        rest = split_varint(after)?.1;
    }
    let (next, after) = rest.split_first()?;
    let mut out = header[..header.len() - rest.len()].to_vec();
    out.push(NEXT | INT32);
    let signed = i64::from(checksum as i32);
    varint(&mut out, (signed << 1 ^ signed >> 63) as u64);
    out.push(next.checked_sub(NEXT).filter(|next| *next >= NEXT)?);
    out.extend_from_slice(after);
    Some(out)
}

/// The number of levels with that value.
fn number_of(levels: &[u8], wanted: u8) -> usize {
    memchr::memchr_iter(wanted, levels).count()
}

/// Levels in page form: a four-byte length, followed by runs.
fn level_section(levels: &[u8], histogram: &mut LevelHistogram, out: &mut Vec<u8>) {
    let max = histogram.len() - 1;
    let mut rest = levels.len();
    for level in 1..=max {
        let count = number_of(levels, level as u8);
        histogram.increment_by(level as i16, count as i64);
        rest -= count;
    }
    histogram.increment_by(0, rest as i64);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    hybrid::encode(levels, hybrid::width_of(max), out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// A column chunk to append to a row group.
pub struct EncodedChunk {
    /// The headers and bytes of the dictionary page, if any, and the data pages.
    bytes: VecDeque<Bytes>,
    close: ColumnCloseResult,
}

impl EncodedChunk {
    /// # Errors
    /// Writing fails.
    pub fn append_to<W: Write + Send>(self, group: &mut SerializedRowGroupWriter<W>) -> ParquetResult<()> {
        group.append_column(&ChunkBytes(self.bytes), self.close)
    }
}

struct ChunkBytes(VecDeque<Bytes>);

impl Read for ChunkBytes {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.0.front().is_some_and(Bytes::is_empty) {
            self.0.pop_front();
        }
        let Some(first) = self.0.front_mut() else { return Ok(0) };
        let nbytes = first.len().min(into.len());
        first.copy_to_slice(&mut into[..nbytes]);
        Ok(nbytes)
    }
}

impl Length for ChunkBytes {
    fn len(&self) -> u64 {
        self.0.iter().map(|bytes| bytes.len() as u64).sum()
    }
}

impl ChunkReader for ChunkBytes {
    type T = ChunkBytes;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        if start > 0 {
            return Err(ParquetError::General("a column chunk is read from its start".to_owned()));
        }
        Ok(ChunkBytes(self.0.clone()))
    }

    fn get_bytes(&self, _: u64, _: usize) -> ParquetResult<Bytes> {
        Err(ParquetError::General("a column chunk is read as a whole".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ChunkWriter, leaves_of};
    use super::*;
    use crate::tensor::concat::concat_leaves;
    use arrow_array::builder::{Int64Builder, LargeListBuilder, StringBuilder};
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, ArrayRef, RecordBatch};
    use arrow_schema::{Field, Schema};
    use parquet::arrow::ArrowSchemaConverter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::file::writer::SerializedFileWriter;
    use std::sync::Arc;

    /// Reads back windows of a column, with the encodings and the offset index of its first leaf.
    fn read_back(windows: &[ArrayRef], kind: StorageKind, compression: Compression) -> (ArrayRef, ColumnChunkMetaData) {
        let field = Field::new("a", windows[0].data_type().clone(), true);
        let schema = Schema::new(vec![field.clone()]);
        let descriptor = ArrowSchemaConverter::new().convert(&schema).unwrap();
        let mut codec = Codec::new(compression).unwrap();
        let mut writer = ChunkWriter::new(descriptor.column(0), kind, true, compression);
        for window in windows {
            writer.write(&leaves_of(&field, window)[0], &mut codec).unwrap();
        }
        let mut file = SerializedFileWriter::new(Vec::new(), descriptor.root_schema_ptr(), Arc::default()).unwrap();
        let mut group = file.next_row_group().unwrap();
        writer.finish(&mut codec).unwrap().append_to(&mut group).unwrap();
        group.close().unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file.into_inner().unwrap())).unwrap();
        let metadata = reader.metadata().row_group(0).column(0).clone();
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        let columns: Vec<&ArrayRef> = batches.iter().map(|batch| batch.column(0)).collect();
        (concat_leaves(&columns).unwrap(), metadata)
    }

    #[test]
    fn a_row_of_many_pages() {
        let mut lists = LargeListBuilder::new(Int64Builder::new());
        for row in 0..5i64 {
            let length = if row == 2 { 3_000_000 } else { row };
            (0..length).for_each(|i| lists.values().append_value((i + row) << 20));
            lists.append(row != 3);
        }
        let list: ArrayRef = Arc::new(lists.finish());
        let (back, metadata) = read_back(std::slice::from_ref(&list), StorageKind::Signed { nbytes: 8 }, Compression::SNAPPY);
        // The hidden elements of a null are not written.
        let (back, list) = (back.as_list::<i32>(), list.as_list::<i64>());
        assert_eq!(back.nulls(), list.nulls());
        assert!((0..5).filter(|row| list.is_valid(*row)).all(|row| back.value(row) == list.value(row)));
        assert!(metadata.offset_index_range().is_none(), "rows are split");
    }

    #[test]
    fn a_dictionary_that_becomes_too_large_is_given_up() {
        let windows: Vec<ArrayRef> = (0..12)
            .map(|window| {
                let mut strings = StringBuilder::new();
                for row in 0..5000 {
                    match row % 7 {
                        0 => strings.append_null(),
                        1 => strings.append_value("again"),
                        _ => strings.append_value(format!("{} of {window}: {}", row, "é".repeat(row % 40))),
                    }
                }
                Arc::new(strings.finish()) as ArrayRef
            })
            .collect();
        let all = concat_leaves(&windows.iter().collect::<Vec<_>>()).unwrap();
        for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW] {
            let (back, metadata) = read_back(&windows, StorageKind::Bytes { utf8: true }, compression);
            assert_eq!(&back, &all);
            let encodings = metadata.page_encoding_stats_mask().unwrap();
            assert!(encodings.is_set(Encoding::PLAIN) && encodings.is_set(Encoding::RLE_DICTIONARY));
            assert_eq!(metadata.statistics().unwrap().null_count_opt(), Some(all.null_count() as u64));
            assert!(metadata.offset_index_range().is_some());
        }
    }
}
