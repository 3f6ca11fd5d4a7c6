//! Encodes the values of a leaf in a row group, page by page.

use super::codec::Codec;
use super::levels::{LeafRows, Slots};
use super::page::{EncodedChunk, PageInWork, Pages};
use super::range::ValueRange;
use super::{StorageKind, hybrid};
use crate::error::{Error, Result};
use crate::tensor::interner::{Numbers, Strings};
use arrow_array::cast::AsArray;
use arrow_array::types::ByteArrayType;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, GenericByteArray, OffsetSizeTrait, PrimitiveArray, downcast_primitive_array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;
use parquet::basic::Compression;
use parquet::file::properties::{DEFAULT_DATA_PAGE_ROW_COUNT_LIMIT, DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT, DEFAULT_PAGE_SIZE};
use parquet::schema::types::ColumnDescPtr;
use std::ops::Range;

/// Number of slots after which a page may end. Batches have this many slots, or fewer if strings are long, and consist
/// of whole rows.
const BATCH: usize = 1024;
/// Number of slots of a long row written at a time.
const PART: usize = 1 << 16;
/// Number of bytes after which a page or dictionary ends in the middle of a row. As the format requires, such a column
/// has no offset index.
const LONGEST_PAGE: usize = 8 * DEFAULT_PAGE_SIZE;

/// Writes the pages of a leaf.
pub struct ChunkWriter {
    kind: StorageKind,
    dictionary: Dictionary,
    page: PageInWork,
    /// The dictionary indices of a batch.
    numbers: Vec<u64>,
    range: ValueRange,
    pages: Pages,
    /// Which of the values that the dictionary starts with occur.
    occur: Vec<bool>,
    /// Whether a dictionary that has ended had other values too.
    grew: bool,
}

enum Dictionary {
    None,
    Numbers(Numbers),
    Strings(Strings),
}

impl Dictionary {
    fn count(&self) -> usize {
        match self {
            Dictionary::None => 0,
            Dictionary::Numbers(numbers) => numbers.values.len(),
            Dictionary::Strings(strings) => strings.count(),
        }
    }

    fn nbytes(&self, kind: StorageKind) -> usize {
        match self {
            Dictionary::None => 0,
            Dictionary::Numbers(numbers) => numbers.values.len() * kind.width(),
            Dictionary::Strings(strings) => strings.page.len(),
        }
    }

    /// Bit width of an index.
    fn width(&self) -> u8 {
        hybrid::width_of(self.count().saturating_sub(1)).max(1)
    }
}

impl ChunkWriter {
    /// `dictionary`: whether to start with dictionary encoding.
    pub fn new(column: ColumnDescPtr, kind: StorageKind, dictionary: bool, compression: Compression) -> ChunkWriter {
        let dictionary = match kind {
            StorageKind::Bytes { .. } if dictionary => Dictionary::Strings(Strings::new()),
            StorageKind::Signed { .. } | StorageKind::Unsigned { .. } | StorageKind::Float | StorageKind::Double if dictionary => {
                Dictionary::Numbers(Numbers::new())
            }
            _ => Dictionary::None,
        };
        ChunkWriter {
            kind,
            dictionary,
            page: PageInWork::default(),
            numbers: Vec::new(),
            range: ValueRange::default(),
            pages: Pages::new(column, compression),
            occur: Vec::new(),
            grew: false,
        }
    }

    /// Starts the dictionary with these values, whether they occur or not.
    pub fn start_with(&mut self, values: &ArrayRef) {
        self.push_values(values, 0..values.len());
        self.page = PageInWork::default();
        self.occur = vec![false; self.dictionary.count()];
    }

    /// Whether there are values besides those that the dictionary started with.
    pub fn has_grown(&self) -> bool {
        self.grew || self.dictionary.count() > self.occur.len()
    }

    /// Appends some rows.
    ///
    /// # Errors
    /// The codec fails.
    pub fn write(&mut self, leaf: &LeafRows, codec: &mut Codec) -> Result<()> {
        let slots = &leaf.slots;
        let batch = batch_size(&leaf.values);
        let (mut ranges, mut current) = (slots.ranges.iter(), 0..0);
        let mut at = 0;
        while at < slots.count {
            let row_end = slots.row_end(at + batch);
            while at < row_end {
                let part = at..row_end.min(at + PART);
                at = part.end;
                let mut missing = self.page.push_levels(slots, part);
                while missing > 0 {
                    if current.is_empty() {
                        current = ranges.next().cloned().ok_or_else(|| Error::internal("fewer values than levels"))?;
                    }
                    let end = current.end.min(current.start + missing);
                    self.push_values(&leaf.values, current.start..end);
                    missing -= end - current.start;
                    current.start = end;
                }
                if at == row_end || self.page_nbytes().max(self.dictionary.nbytes(self.kind)) >= LONGEST_PAGE {
                    self.end_batch(at < row_end, codec)?;
                }
            }
        }
        Ok(())
    }

    fn push_values(&mut self, array: &ArrayRef, range: Range<usize>) {
        let (array, before) = (array.as_ref(), self.page.indices.len());
        match array.data_type() {
            DataType::Boolean => {
                let values = array.as_boolean();
                self.numbers.clear();
                self.numbers.extend(range.map(|i| u64::from(values.value(i))));
                self.range.see_numbers(self.kind, &self.numbers);
                self.page.bits.extend(self.numbers.iter().map(|bit| *bit as u8));
            }
            DataType::Utf8 => self.push_strings(array.as_string::<i32>(), range),
            DataType::LargeUtf8 => self.push_strings(array.as_string::<i64>(), range),
            DataType::Binary => self.push_strings(array.as_binary::<i32>(), range),
            DataType::LargeBinary => self.push_strings(array.as_binary::<i64>(), range),
            _ => {
                self.numbers.clear();
                downcast_primitive_array!(
                    array => self.push_numbers(array, range),
                    _ => {}
                );
            }
        }
        if !self.occur.is_empty() {
            for index in &self.page.indices[before..] {
                if let Some(occurs) = self.occur.get_mut(*index as usize) {
                    *occurs = true;
                }
            }
        }
    }

    fn push_numbers<T: ArrowPrimitiveType>(&mut self, array: &PrimitiveArray<T>, range: Range<usize>) {
        let width = size_of::<T::Native>();
        let bytes = &array.values().inner().as_slice()[range.start * width..range.end * width];
        copy_numbers(bytes, width, self.kind, &mut self.numbers);
        if let Dictionary::Numbers(dictionary) = &mut self.dictionary {
            return dictionary.intern(&self.numbers, &mut self.page.indices);
        }
        self.range.see_numbers(self.kind, &self.numbers);
        if cfg!(target_endian = "little") && width == self.kind.width() {
            return self.page.plain.extend_from_slice(bytes);
        }
        plain_numbers(self.kind, &self.numbers, &mut self.page.plain);
    }

    fn push_strings<T: ByteArrayType>(&mut self, array: &GenericByteArray<T>, range: Range<usize>) {
        let (offsets, bytes) = (array.value_offsets(), array.value_data());
        let mut start = offsets[range.start].as_usize();
        self.page.nbytes_of_strings += (offsets[range.end].as_usize() - start) as i64;
        let ends = offsets[range.start + 1..=range.end].iter().map(|end| end.as_usize());
        if let Dictionary::Strings(dictionary) = &mut self.dictionary {
            self.page.indices.extend(ends.map(|end| dictionary.intern(bytes, std::mem::replace(&mut start, end), end)));
            return;
        }
        for end in ends {
            let string = &bytes[std::mem::replace(&mut start, end)..end];
            self.range.see_string(string);
            self.page.plain.extend_from_slice(&(string.len() as u32).to_le_bytes());
            self.page.plain.extend_from_slice(string);
        }
    }

    /// Approximate bytes of the values in the page.
    fn page_nbytes(&self) -> usize {
        self.page.plain.len() + self.page.bits.len() / 8 + self.page.indices.len() * usize::from(self.dictionary.width()) / 8
    }

    /// Ends the page if it is full. If the dictionary has become too large, it gets no further pages.
    fn end_batch(&mut self, in_row: bool, codec: &mut Codec) -> Result<()> {
        let is_large = self.dictionary.nbytes(self.kind) > DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;
        let is_full = self.page.rows >= DEFAULT_DATA_PAGE_ROW_COUNT_LIMIT || self.page_nbytes() >= DEFAULT_PAGE_SIZE;
        if is_large || is_full {
            self.pages.end_page(&mut self.page, self.dictionary.width(), in_row, codec)?;
        }
        if is_large {
            self.end_dictionary(codec)?;
        }
        Ok(())
    }

    fn end_dictionary(&mut self, codec: &mut Codec) -> Result<()> {
        let count = self.dictionary.count();
        let mut page = Vec::new();
        self.grew = self.has_grown();
        let occurs = std::mem::take(&mut self.occur);
        let occurs = |index: &usize| occurs.get(*index).copied().unwrap_or(true);
        match std::mem::replace(&mut self.dictionary, Dictionary::None) {
            Dictionary::Numbers(numbers) => {
                let values: Vec<u64> = (0..numbers.values.len()).filter(occurs).map(|index| numbers.values[index]).collect();
                self.range.see_numbers(self.kind, &values);
                plain_numbers(self.kind, &numbers.values, &mut page);
            }
            Dictionary::Strings(strings) => {
                let values = strings.iter().enumerate().filter(|(index, _)| occurs(index));
                values.for_each(|(_, string)| self.range.see_string(string));
                page = strings.page;
            }
            Dictionary::None => {}
        }
        if count > 0 { self.pages.end_dictionary(page, count, codec) } else { Ok(()) }
    }

    /// Finishes the column chunk.
    ///
    /// # Errors
    /// The codec fails.
    pub fn finish(mut self, codec: &mut Codec) -> Result<EncodedChunk> {
        self.pages.end_page(&mut self.page, self.dictionary.width(), false, codec)?;
        self.end_dictionary(codec)?;
        self.pages.finish(self.kind, self.range)
    }
}

impl Slots {
    /// The first row end at or after `at`.
    fn row_end(&self, at: usize) -> usize {
        let at = at.min(self.count);
        self.repetition
            .get(at..)
            .and_then(|levels| memchr::memchr(0, levels))
            .map_or(if self.max_repetition > 0 { self.count } else { at }, |n| at + n)
    }
}

/// The number of slots with about a page of strings. It depends only on the values, not on their allocation, because
/// pages must start at the same rows in every run.
fn batch_size(array: &ArrayRef) -> usize {
    let nbytes = match array.data_type() {
        DataType::Utf8 => span(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => span(array.as_string::<i64>().value_offsets()),
        DataType::Binary => span(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => span(array.as_binary::<i64>().value_offsets()),
        _ => return BATCH,
    };
    // Each string is stored after its length.
    let width = nbytes / array.len().max(1) + size_of::<u32>();
    (DEFAULT_PAGE_SIZE / width).clamp(1, BATCH)
}

/// Number of bytes between the first and the last offset.
fn span<O: OffsetSizeTrait>(offsets: &[O]) -> usize {
    match offsets {
        [first, .., last] => last.as_usize().saturating_sub(first.as_usize()),
        _ => 0,
    }
}

fn copy_numbers(bytes: &[u8], width: usize, kind: StorageKind, out: &mut Vec<u64>) {
    // Signed numbers keep their sign.
    let signed = matches!(kind, StorageKind::Signed { .. });
    match (width, signed) {
        (8, _) => out.extend(bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b))),
        (4, true) => out.extend(bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b) as u64)),
        (4, false) => out.extend(bytes.as_chunks().0.iter().map(|b| u64::from(u32::from_le_bytes(*b)))),
        (2, true) => out.extend(bytes.as_chunks().0.iter().map(|b| i16::from_le_bytes(*b) as u64)),
        (2, false) => out.extend(bytes.as_chunks().0.iter().map(|b| u64::from(u16::from_le_bytes(*b)))),
        (_, true) => out.extend(bytes.iter().map(|b| *b as i8 as u64)),
        (_, false) => out.extend(bytes.iter().map(|b| u64::from(*b))),
    }
}

fn plain_numbers(kind: StorageKind, numbers: &[u64], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + numbers.len() * kind.width(), 0);
    let out = &mut out[start..];
    if kind.width() == 8 {
        out.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(bytes, number)| *bytes = number.to_le_bytes());
    } else {
        out.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(bytes, number)| *bytes = (*number as u32).to_le_bytes());
    }
}
