//! Sizes of columns in memory, checked before anything is decompressed.
//!
//! A file of a few kilobytes can hold pages that expand to gigabytes, and a few bits per value can stand for the same
//! long entry of a dictionary. The sizes in the footer count neither, and can be false; the decoder allocates what the
//! page headers declare. Source: `PageHeader` and `Encodings` in the Parquet format.

use super::failure::lifted;
use super::footer::PageHeader;
use super::front_coded::{self, Entries};
use super::headers::{check_encoding, check_entries, headers};
use super::opened::Opened;
use crate::error::{Error, Result};
use crate::formats::columnar::adapt::{too_large, too_large_at_least};
use crate::formats::columnar::source::Source;
use crate::options::Options;
use crate::path::quoted;
use crate::tensor::arrow::LEAST;
use parquet::arrow::ProjectionMask;
use parquet::basic::Type as PhysicalType;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

/// Limits for pages and records.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum bytes of a record's values in one column.
    pub record_bytes: u64,
    /// Maximum bytes of a page; those that are in memory together take half of it.
    memory: u64,
    threads: u64,
}

/// The size of the chosen columns of a row group.
#[derive(Clone, Debug, Default)]
pub struct GroupSize {
    /// Approximate bytes in memory.
    pub memory: u64,
    /// Bytes in the file.
    pub file: u64,
    /// Whether its pages do not fit in memory once for each thread.
    pub is_heavy: bool,
    /// Leaf columns in which a record may exceed the limit.
    pub suspects: Arc<[Suspect]>,
}

/// A leaf column in which a record may exceed the limit.
#[derive(Clone, Copy, Debug)]
pub struct Suspect {
    pub leaf: usize,
    /// Whether a record may be too large to be decoded at all.
    pub is_dangerous: bool,
}

/// A dictionary is read in advance if its column could have at least this many bytes in memory.
const LARGE: u64 = 4 << 20;
/// If all values were the longest one, a range of rows may take this many times the memory planned for it.
const SKEW: u64 = 8;
/// A record that may take more than this part of the memory is measured before it is decoded.
const DANGER: u64 = 4;
/// Bytes of a value while the records of a column are measured.
const MEASURED: u64 = 44;
/// Bytes of the levels of a value in a repeated column while it is decoded, and of the offsets made of them.
const LEVELS: u64 = 8;
/// Pages up to this size in total are not counted.
const SMALL: u64 = 32 << 20;
/// A page has at most this many bytes beside its values, and for each value: levels, lengths and padding.
const BESIDE: u64 = 4 << 10;
const BESIDE_EACH: u64 = 16;

impl Limits {
    pub fn new(options: &Options) -> Limits {
        Limits { record_bytes: options.max_record_bytes, memory: options.max_memory, threads: options.threads as u64 }
    }

    /// The size of the columns of a row group, whose first record is number `first` from 0. Reads page headers and
    /// dictionaries.
    ///
    /// # Errors
    /// A page exceeds memory, or has a value that exceeds the limit for records.
    pub fn size(&self, opened: &Opened, group: usize, mask: &ProjectionMask, first: u64) -> Result<GroupSize> {
        let nrows = opened.rows.get(group).copied().unwrap_or(0);
        let (mut memory, mut file, mut pages, mut suspects) = (0u64, 0u64, 0u64, Vec::new());
        let columns = opened.metadata.metadata().row_group(group).columns().iter().enumerate();
        for (leaf, column) in columns.filter(|(leaf, _)| mask.leaf_included(*leaf)) {
            let size = self.column(&opened.source, column, nrows).map_err(|e| {
                let named = column.column_path().parts().first().map_or("", String::as_str);
                let within = |(start, end): (u64, u64)| (first.saturating_add(start), first.saturating_add(end));
                let records = e.location().records.map_or((first + 1, first + nrows.max(1)), within);
                e.in_field(quoted(named)).in_input(opened.name.clone()).locate(|at| at.records = Some(records))
            })?;
            pages = pages.saturating_add(size.pages);
            memory = memory.saturating_add(size.likely.max(size.most / SKEW));
            file = file.saturating_add(u64::try_from(column.compressed_size()).unwrap_or(0));
            if size.record > self.record_bytes {
                suspects.push(Suspect { leaf, is_dangerous: self.is_dangerous(size.record) });
            }
        }
        // The decoder holds a page of each column, and another one if records are measured.
        if pages > SMALL && pages > self.memory / 2 {
            let message =
                format!("the largest pages of the columns take {pages} bytes, more than half of the --max-memory limit of {}", self.memory);
            let error = Error::data(message).help("drop columns, or raise the limit with --max-memory");
            return Err(error.in_input(opened.name.clone()).locate(|at| at.records = Some((first + 1, first + nrows.max(1)))));
        }
        let is_heavy = pages.saturating_mul(2 * self.threads.max(1)) > self.memory;
        Ok(GroupSize { memory, file, is_heavy, suspects: suspects.into() })
    }

    fn column(&self, source: &Source, column: &ColumnChunkMetaData, nrows: u64) -> Result<ColumnSize> {
        let claimed = u64::try_from(column.uncompressed_size()).unwrap_or(0);
        let is_repeated = column.column_descr().max_rep_level() > 0;
        let pages = self.pages(source, column, nrows)?;
        let width = match column.column_type() {
            PhysicalType::BOOLEAN => 1,
            PhysicalType::INT32 | PhysicalType::FLOAT => 4,
            PhysicalType::BYTE_ARRAY => 12,
            PhysicalType::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.column_descr().type_length()).unwrap_or(0).max(8),
            _ => 8,
        };
        let nvalues = u64::try_from(column.num_values()).unwrap_or(0);
        let plain = nvalues.saturating_mul(width).max(claimed).max(pages.total);
        let mut size = ColumnSize {
            likely: plain,
            most: plain,
            record: pages.nbytes.max(pages.dictionary),
            pages: pages.nbytes.saturating_add(pages.dictionary),
        };
        if column.column_type() == PhysicalType::BYTE_ARRAY {
            self.add_shared(&mut size, &pages, plain, source, column, nrows)?;
        }
        if is_repeated {
            size.record = size.most.saturating_add(nvalues.saturating_mul(LEVELS));
            let least = nvalues.saturating_mul(width.min(LEAST));
            if nrows == 1 && least > self.record_bytes {
                return Err(too_large_at_least(least, self.record_bytes));
            }
            // As many values are measured together.
            let together = if nrows == 1 { nvalues } else { pages.nvalues };
            let measured = together.saturating_mul(MEASURED);
            if size.record > self.record_bytes && measured > self.memory {
                let what = if nrows == 1 { "record" } else { "page" };
                let message = format!(
                    "checking the size of a {what} of {together} values takes about {measured} bytes, more than the --max-memory limit of {}",
                    self.memory
                );
                return Err(Error::data(message).help("drop the column, or raise the limit with --max-memory or --max-record-bytes"));
            }
        }
        Ok(size)
    }

    /// The sizes of the pages of a column, by their headers.
    ///
    /// # Errors
    /// A page exceeds memory, or has a value that exceeds the limit for records.
    fn pages(&self, source: &Source, column: &ColumnChunkMetaData, nrows: u64) -> Result<PageSizes> {
        let mut pages = PageSizes::default();
        // The records before a page.
        let mut nbefore = 0u64;
        let is_repeated = column.column_descr().max_rep_level() > 0;
        for page in headers(source, column) {
            self.check_records(&page, nrows).map_err(|e| match is_repeated || page.nvalues == 0 {
                true => e,
                false => e.locate(|at| at.records = Some((nbefore + 1, nbefore + page.nvalues))),
            })?;
            if page.uncompressed > self.memory {
                let message = format!("a page of {} bytes exceeds the --max-memory limit of {} bytes", page.uncompressed, self.memory);
                return Err(Error::data(message).help("drop the column, or raise the limit with --max-memory"));
            }
            check_encoding(&page, column)?;
            check_entries(&page, column)?;
            nbefore = nbefore.saturating_add(page.nvalues);
            if page.encoding == Some(front_coded::ENCODING) {
                pages.nshared = pages.nshared.saturating_add(page.nvalues.saturating_mul(page.uncompressed));
            }
            pages.total = pages.total.saturating_add(page.uncompressed);
            if page.nvalues > 0 {
                pages.nindices = pages.nindices.saturating_add(if page.has_indices() { page.nvalues } else { 0 });
                (pages.nvalues, pages.nbytes) = (pages.nvalues.max(page.nvalues), pages.nbytes.max(page.uncompressed));
            } else {
                pages.dictionary = pages.dictionary.max(page.uncompressed);
            }
        }
        Ok(pages)
    }

    /// Adds the bytes of values that are stored once for many: entries of a dictionary, and starts of strings. `plain`: the
    /// size without them.
    fn add_shared(
        &self,
        size: &mut ColumnSize,
        pages: &PageSizes,
        plain: u64,
        source: &Source,
        column: &ColumnChunkMetaData,
        nrows: u64,
    ) -> Result<()> {
        if pages.nindices.saturating_mul(pages.total) > LARGE
            && let Some(entries) = Entries::of_dictionary(source, column, nrows)?
        {
            size.likely = plain.saturating_add(pages.nindices.saturating_mul(entries.total.div_ceil(entries.count.max(1))));
            size.most = plain.saturating_add(pages.nindices.saturating_mul(entries.longest));
            size.record = pages.nbytes.max(entries.longest);
        }
        if pages.nshared > LARGE {
            let entries = Entries::front_coded(source, column, nrows)?;
            size.likely = size.likely.saturating_add(entries.total);
            size.most = size.most.saturating_add(entries.count.saturating_mul(entries.longest));
            size.record = size.record.max(entries.longest);
            let least = entries.total / nrows.max(1);
            if least > self.record_bytes {
                return Err(too_large_at_least(least, self.record_bytes));
            }
            // To measure records makes all values of a record.
            if column.column_descr().max_rep_level() > 0 && self.is_dangerous(entries.total) {
                let message =
                    format!("the strings of lists in a row group take {} bytes, more than a quarter of --max-memory", entries.total);
                return Err(Error::data(message).help("drop the column, or raise the limit with --max-memory"));
            }
        }
        Ok(())
    }

    /// Checks that the values of a page can be those of records within the limit. Any value, or record, has at least its
    /// share of the page.
    fn check_records(&self, page: &PageHeader, nrows: u64) -> Result<()> {
        if page.uncompressed <= SMALL {
            // The records are measured, so that a bad one can be skipped.
            return Ok(());
        }
        let n = page.nvalues.max(page.nentries).max(1);
        let values = page.uncompressed.saturating_sub(BESIDE).saturating_sub(n.saturating_mul(BESIDE_EACH));
        let nrecords = if page.nvalues > 0 { n.min(page.nrows.unwrap_or(nrows)) } else { n };
        let least = values / nrecords.max(1);
        if least > self.record_bytes { Err(too_large_at_least(least, self.record_bytes)) } else { Ok(()) }
    }

    /// Whether a record with values of that size is too large to be decoded.
    pub fn is_dangerous(&self, nbytes: u64) -> bool {
        nbytes > self.memory / DANGER
    }

    /// The error for a record whose values in a column take too many bytes.
    pub fn too_large(&self, nbytes: u64) -> Error {
        too_large(nbytes, self.record_bytes)
    }
}

/// The sizes of the pages of a column.
#[derive(Default)]
struct PageSizes {
    /// The sum of their bytes.
    total: u64,
    /// The most values in a data page.
    nvalues: u64,
    /// The most bytes of a data page.
    nbytes: u64,
    /// The bytes of the dictionary.
    dictionary: u64,
    /// The values that are indices in the dictionary.
    nindices: u64,
    /// The most bytes of values that repeat the start of the one before.
    nshared: u64,
}

/// Approximate bytes of a column in memory.
struct ColumnSize {
    likely: u64,
    /// If all values from the dictionary were the longest one.
    most: u64,
    /// No record can have more.
    record: u64,
    /// Bytes of the largest data page and the dictionary.
    pages: u64,
}

impl Entries {
    /// The entries of a dictionary. `None` if the column does not begin with one.
    fn of_dictionary(source: &Source, column: &ColumnChunkMetaData, nrows: u64) -> Result<Option<Entries>> {
        // The decoder reports errors in an unreadable page.
        let Ok(Some(Page::DictionaryPage { buf, .. })) = pages(source, column, nrows)?.get_next_page() else { return Ok(None) };
        let (mut rest, mut entries) = (buf.as_ref(), Entries::default());
        // PLAIN: each value after its length.
        while let Some((length, after)) = rest.split_first_chunk() {
            let length = u32::from_le_bytes(*length);
            let Some(after) = after.get(length as usize..) else { break };
            rest = after;
            entries.add(Entries { count: 1, total: length.into(), longest: length.into() });
        }
        Ok(Some(entries))
    }

    /// The values of the pages in which strings repeat the start of the one before.
    fn front_coded(source: &Source, column: &ColumnChunkMetaData, nrows: u64) -> Result<Entries> {
        let (mut pages, mut entries) = (pages(source, column, nrows)?, Entries::default());
        while let Ok(Some(page)) = pages.get_next_page() {
            entries.add(front_coded::sizes(&page, column.column_descr()).unwrap_or_default());
        }
        Ok(entries)
    }
}

fn pages(source: &Source, column: &ColumnChunkMetaData, nrows: u64) -> Result<SerializedPageReader<Source>> {
    let nrows = usize::try_from(nrows).unwrap_or(usize::MAX);
    SerializedPageReader::new(Arc::new(source.clone()), column, nrows, None).map_err(lifted)
}
