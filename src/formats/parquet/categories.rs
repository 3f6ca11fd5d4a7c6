//! The values of dictionaries, such as the categories of pandas, in their order and whether they occur or not. In Parquet
//! they are only in the dictionary pages, so a column starts its dictionary with them.

use super::encode::{StorageKind, leaf_types};
use super::footer;
use crate::formats::columnar::source::Source;
use crate::schema::facts::Storage;
use crate::schema::{Element, Field};
use crate::tensor::arrow::encoded::{self, Encodings};
use crate::tensor::arrow::{ArrowForm, stored};
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, LargeBinaryArray, PrimitiveArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field as ArrowField, FieldRef};
use bytes::Bytes;
use parquet::basic::Type as PhysicalType;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;
use parquet::file::serialized_reader::SerializedPageReader;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The prefix of the writer name in files written by tatter.
pub const WRITER: &str = "tatter ";
/// The most bytes of all dictionary pages that are compared, so that opening a file takes little time.
const COMPARED_NBYTES: u64 = 64 << 20;
/// What reading a page costs besides its bytes.
const PAGE_NBYTES: u64 = 8 << 10;
/// The most bytes of the header of a dictionary page, which has no statistics.
const HEADER_NBYTES: usize = 256;

/// The values that the dictionary of each leaf of a field starts with, and whether no declared value is left out. The field
/// is written as `wide`, and as `own` in the stored Arrow schema. `is_own`: the parquet crate does not encode it.
pub fn of(field: &Field, own: &ArrowField, wide: &ArrowField, form: ArrowForm, is_own: bool) -> (Vec<Option<ArrayRef>>, bool) {
    let (mut types, mut memory) = (Vec::new(), Vec::new());
    leaf_types(own, &mut types);
    leaf_types(wide, &mut memory);
    let mut known = stored::dictionaries(field, own, form).into_iter();
    let mut is_complete = true;
    let starts = types.iter().zip(&memory).map(|(ty, memory)| {
        let values = if Encodings::Dictionaries.keep(ty) { known.next().flatten()? } else { return None };
        let start = cast(&values, memory)
            .filter(|values| is_own && values.null_count() == 0 && StorageKind::has_dictionary(memory) && is_small(values));
        is_complete &= start.is_some();
        start
    });
    let starts = starts.collect();
    (starts, is_complete)
}

fn cast(values: &ArrayRef, ty: &DataType) -> Option<ArrayRef> {
    cast_with_options(values, ty, &CastOptions { safe: false, ..Default::default() }).ok()
}

/// Whether the values fit in a dictionary page, with the length of each string.
fn is_small(values: &ArrayRef) -> bool {
    let nbytes = values.to_data().get_slice_memory_size().unwrap_or(usize::MAX);
    nbytes.saturating_add(4 * values.len()) <= DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT
}

/// Adds the dictionaries in the file to the fields that are stored as dictionaries, unless row groups have different ones
/// or there are too many to compare. The values of ordered dictionaries are those of the file only if its writer lists them in
/// their order: others list them as they occur.
pub fn learn(fields: &mut [Field], stored: &[FieldRef], source: &Source, metadata: &ParquetMetaData, encrypted: &BTreeSet<usize>) {
    let mut types = Vec::new();
    stored.iter().for_each(|field| leaf_types(field, &mut types));
    if types.len() == metadata.file_metadata().schema_descr().num_columns() {
        let (mut leaf, left) = (0, Cell::new(COMPARED_NBYTES));
        let writer = metadata.file_metadata().created_by().unwrap_or_default();
        fields.iter_mut().for_each(|field| {
            learn_field(field, &mut leaf, writer, &|leaf, ty| {
                if encrypted.contains(&leaf) { None } else { values(source, metadata, leaf, ty, &left) }
            })
        });
    }
}

/// Whether a writer lists the values of a dictionary of that type in their order.
fn lists_in_order(writer: &str, dictionary: &DataType) -> bool {
    let DataType::Dictionary(_, values) = dictionary else { return false };
    // Arrow's C++ library writes other types without their dictionary.
    let is_text = matches!(values.as_ref(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary);
    writer.starts_with(WRITER) || writer.starts_with("parquet-cpp-arrow ") && is_text
}

fn learn_field(field: &mut Field, leaf: &mut usize, writer: &str, values: &dyn Fn(usize, &DataType) -> Option<ArrayRef>) {
    let first = *leaf;
    if let Storage::Arrow(stored) = &mut field.storage {
        let mut types = Vec::new();
        leaf_types(&stored.field, &mut types);
        *leaf += types.len();
        let dictionaries = encoded::dictionaries(&stored.field);
        let is_listed = |field: &&ArrowField| field.dict_is_ordered() != Some(true) || lists_in_order(writer, field.data_type());
        if !dictionaries.is_empty() && dictionaries.iter().all(is_listed) {
            let found = types.iter().enumerate().filter(|(_, ty)| Encodings::Dictionaries.keep(ty)).map(|(i, ty)| match ty {
                DataType::Dictionary(_, value) => values(first + i, value),
                _ => None,
            });
            let found: Option<Vec<ArrayRef>> = found.collect();
            stored.dictionaries = found.unwrap_or_default().into();
        }
    }
    if let Element::Struct(fields) = &mut field.ty.element {
        let mut leaf = first;
        fields.iter_mut().for_each(|field| learn_field(field, &mut leaf, writer, values));
    }
}

/// The values of a dictionary that all row groups have; `None` if there is none, or if it is damaged, which is reported when
/// it is needed.
fn values(source: &Source, metadata: &ParquetMetaData, leaf: usize, ty: &DataType, left: &Cell<u64>) -> Option<ArrayRef> {
    let mut common: Option<(Bytes, u32)> = None;
    for group in metadata.row_groups().iter().filter(|group| group.num_rows() > 0) {
        let page = page(source, group, leaf, left)?;
        match &common {
            Some(common) if *common != page => return None,
            _ => common = Some(page),
        }
    }
    let (bytes, count) = common?;
    cast(&plain(&bytes, count as usize, metadata.file_metadata().schema_descr().column(leaf).physical_type())?, ty)
}

/// The dictionary page of a column, and the number of its values. `left`: how many bytes may still be read.
fn page(source: &Source, group: &RowGroupMetaData, leaf: usize, left: &Cell<u64>) -> Option<(Bytes, u32)> {
    let column = group.columns().get(leaf)?;
    left.set(left.get().checked_sub(PAGE_NBYTES)?);
    let start = u64::try_from(column.dictionary_page_offset()?).ok()?;
    let length = usize::try_from(source.nbytes().checked_sub(start)?).unwrap_or(usize::MAX).min(HEADER_NBYTES);
    let header = footer::page_header(&source.bytes(start, length).ok()?)?;
    if header.uncompressed > DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT as u64 {
        return None;
    }
    left.set(left.get().checked_sub(header.uncompressed)?);
    let nrows = usize::try_from(group.num_rows()).ok()?;
    match SerializedPageReader::new(Arc::new(source.clone()), column, nrows, None).ok()?.get_next_page().ok()?? {
        Page::DictionaryPage { buf, num_values, .. } => Some((buf, num_values)),
        _ => None,
    }
}

/// Decodes values in plain encoding.
fn plain(bytes: &[u8], count: usize, ty: PhysicalType) -> Option<ArrayRef> {
    fn numbers<T: ArrowPrimitiveType, const N: usize>(
        bytes: &[u8],
        count: usize,
        number: impl Fn([u8; N]) -> T::Native,
    ) -> Option<ArrayRef> {
        let (chunks, rest) = bytes.as_chunks::<N>();
        (chunks.len() == count && rest.is_empty())
            .then(|| Arc::new(PrimitiveArray::<T>::from_iter_values(chunks.iter().map(|chunk| number(*chunk)))) as ArrayRef)
    }
    match ty {
        PhysicalType::INT32 => numbers::<Int32Type, 4>(bytes, count, i32::from_le_bytes),
        PhysicalType::INT64 => numbers::<Int64Type, 8>(bytes, count, i64::from_le_bytes),
        PhysicalType::FLOAT => numbers::<Float32Type, 4>(bytes, count, f32::from_le_bytes),
        PhysicalType::DOUBLE => numbers::<Float64Type, 8>(bytes, count, f64::from_le_bytes),
        PhysicalType::BYTE_ARRAY => {
            let (mut strings, mut rest) = (Vec::new(), bytes);
            while let Some((length, after)) = rest.split_first_chunk::<4>() {
                let (string, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                strings.push(string);
                rest = after;
            }
            (strings.len() == count && rest.is_empty()).then(|| Arc::new(LargeBinaryArray::from_vec(strings)) as ArrayRef)
        }
        _ => None,
    }
}
