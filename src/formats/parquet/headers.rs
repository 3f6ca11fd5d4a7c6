//! The headers of pages, checked before the pages are decoded.

use super::failure::damaged;
use super::footer::{PageHeader, page_header};
use crate::error::Result;
use crate::formats::columnar::source::Source;
use parquet::basic::{Encoding, EncodingMask, Type as PhysicalType};
use parquet::file::metadata::ColumnChunkMetaData;
use std::ops::Range;

/// Bytes of a page header to read first, and at most; statistics can make it long.
const HEADER: usize = 256;
const LONGEST_HEADER: usize = 1 << 20;

/// A data page must have an encoding that the footer lists for its column, if it lists those of data pages: values
/// decoded with another one would be garbage.
///
/// # Errors
/// The encoding is not one of these.
pub fn check_encoding(page: &PageHeader, column: &ColumnChunkMetaData) -> Result<()> {
    let (Some(number), Some(listed)) = (page.encoding, column.page_encoding_stats_mask()) else { return Ok(()) };
    // The decoder reports unknown encodings.
    let bit = u32::try_from(number).ok().and_then(|number| 1i32.checked_shl(number));
    let Some(encoding) = bit.and_then(|bit| EncodingMask::try_new(bit).ok()?.encodings().next()) else { return Ok(()) };
    let is_listed = |encoding| listed.is_set(encoding);
    let has_dictionary = is_listed(Encoding::RLE_DICTIONARY) || is_listed(Encoding::PLAIN_DICTIONARY);
    if is_listed(encoding) || page.has_indices() && has_dictionary {
        return Ok(());
    }
    let listed = listed.encodings().map(|encoding| encoding.to_string()).collect::<Vec<_>>().join(", ");
    Err(damaged(&format!("its encoding is {encoding}, but the footer lists {listed}")))
}

/// Checks the dictionary of a column whose pages are decoded before their sizes are needed.
///
/// # Errors
/// It cannot have as many entries as it claims.
pub fn check_dictionary(source: &Source, column: &ColumnChunkMetaData) -> Result<()> {
    headers(source, column).try_for_each(|page| check_entries(&page, column))
}

/// The headers of the pages of a column chunk, up to one that is unreadable, for which the decoder reports an error.
pub fn headers<'a>(source: &'a Source, column: &ColumnChunkMetaData) -> impl Iterator<Item = PageHeader> + use<'a> {
    let start = [column.dictionary_page_offset(), Some(column.data_page_offset())].into_iter().flatten().min().unwrap_or(0);
    let mut at = u64::try_from(start).unwrap_or(0);
    let end = at.saturating_add(u64::try_from(column.compressed_size()).unwrap_or(0));
    std::iter::from_fn(move || {
        let page = (at < end).then(|| header(source, at..end))??;
        at = at.saturating_add(page.length).saturating_add(page.compressed);
        Some(page)
    })
}

/// A dictionary must have enough bytes for its entries, all of which the decoder allocates in advance.
///
/// # Errors
/// There are too few bytes.
pub fn check_entries(page: &PageHeader, column: &ColumnChunkMetaData) -> Result<()> {
    // PLAIN: strings have at least their length.
    let width = match column.column_type() {
        PhysicalType::BOOLEAN => return Ok(()),
        PhysicalType::INT32 | PhysicalType::FLOAT | PhysicalType::BYTE_ARRAY => 4,
        PhysicalType::INT64 | PhysicalType::DOUBLE => 8,
        PhysicalType::INT96 => 12,
        PhysicalType::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.column_descr().type_length()).unwrap_or(0),
    };
    match page.nentries.saturating_mul(width) > page.uncompressed {
        true => Err(damaged(&format!("its dictionary of {} bytes cannot have {} entries", page.uncompressed, page.nentries))),
        false => Ok(()),
    }
}

/// The page header at the start of the rest of a column chunk.
fn header(source: &Source, rest: Range<u64>) -> Option<PageHeader> {
    let longest = usize::try_from(rest.end - rest.start).unwrap_or(LONGEST_HEADER).min(LONGEST_HEADER);
    let mut length = HEADER.min(longest);
    loop {
        let mut bytes = vec![0; length];
        let n = source.read_at(&mut bytes, rest.start).ok()?;
        bytes.truncate(n);
        if let Some(found) = page_header(&bytes) {
            return Some(found);
        }
        if n < length || length >= longest {
            return None;
        }
        length = (length * 16).min(longest);
    }
}
