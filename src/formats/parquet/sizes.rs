//! Checks the sizes of pages before they are decompressed.
//!
//! A file of a few kilobytes can hold pages that expand to gigabytes. The sizes in its footer can be false, but the
//! decoder allocates what the page headers declare. Source: `PageHeader` in `parquet.thrift`.

use super::footer::page_sizes;
use crate::error::{Error, Result};
use crate::formats::columnar::source::Source;
use crate::options::Options;
use parquet::file::metadata::ColumnChunkMetaData;

/// Limits for pages.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum bytes of a record's values in one column.
    record_bytes: u64,
    /// Maximum bytes of a page.
    memory: u64,
}

/// Bytes of a page header to read first, and at most; statistics can make it long.
const HEADER: usize = 256;
const LONGEST_HEADER: usize = 1 << 20;

impl Limits {
    pub fn new(options: &Options) -> Limits {
        Limits { record_bytes: options.max_record_bytes, memory: options.max_memory }
    }

    /// Checks the pages of a column in a row group of `nrows` rows. One short read per page.
    ///
    /// # Errors
    /// The values of a record exceed the limit for records, or a page exceeds memory.
    pub fn check(&self, source: &Source, column: &ColumnChunkMetaData, nrows: u64) -> Result<()> {
        let most = self.record_bytes.saturating_mul(nrows.max(1));
        self.check_total(u64::try_from(column.uncompressed_size()).unwrap_or(0), most, nrows)?;
        let start = [column.dictionary_page_offset(), Some(column.data_page_offset())].into_iter().flatten().min().unwrap_or(0);
        let mut at = u64::try_from(start).unwrap_or(0);
        let end = at.saturating_add(u64::try_from(column.compressed_size()).unwrap_or(0));
        let mut total = 0u64;
        while at < end {
            // The decoder reports errors in an unreadable header.
            let Some((header, uncompressed, compressed)) = header(source, at) else { return Ok(()) };
            if uncompressed > self.memory {
                let error = Error::data(format!("a page of {uncompressed} bytes is larger than --max-memory of {} bytes", self.memory));
                return Err(error.help("leave the column out, or allow more with --max-memory"));
            }
            total = total.saturating_add(uncompressed);
            self.check_total(total, most, nrows)?;
            at = at.saturating_add(header).saturating_add(compressed);
        }
        Ok(())
    }

    fn check_total(&self, total: u64, most: u64, nrows: u64) -> Result<()> {
        if total <= most {
            return Ok(());
        }
        let records = if nrows == 1 { "one record".to_owned() } else { format!("{nrows} records") };
        let message = format!("the values of {records} take {total} bytes, more than the {} of --max-record-bytes each", self.record_bytes);
        Err(Error::data(message).help("leave the column out, or allow more with --max-record-bytes"))
    }
}

/// The length of the page header at an offset in the file, and the uncompressed and compressed size of the page.
fn header(source: &Source, at: u64) -> Option<(u64, u64, u64)> {
    let mut length = HEADER;
    loop {
        let mut bytes = vec![0; length];
        let n = source.read_at(&mut bytes, at).ok()?;
        bytes.truncate(n);
        if let Some(found) = page_sizes(&bytes) {
            return Some(found);
        }
        if n < length || length >= LONGEST_HEADER {
            return None;
        }
        length *= 16;
    }
}
