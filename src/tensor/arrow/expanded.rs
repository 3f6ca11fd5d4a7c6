//! The size of rows once every row has its own values.
//!
//! Dictionaries, runs and views store a value once, however many rows refer to it, and nulls and empty lists take no space,
//! so a few bytes of a file can expand to any number of bytes in memory or as text.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, DictionaryArray, RunArray, downcast_dictionary_array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;
use std::ops::Range;
use std::slice::from_ref;

/// A list, a short string and a null count as at least this many bytes: the size of an offset in a file.
pub const LEAST: u64 = 4;
/// More views than this inside lists are not followed.
const MAX_VIEWS: usize = 1 << 24;

/// The bytes of an array's values when each row has its own. O(rows) for dictionaries, runs and views, otherwise
/// O(columns).
pub fn expanded_nbytes(array: &ArrayRef) -> u64 {
    of(array.as_ref(), from_ref(&(0..array.len())))
}

/// The bytes of the rows in all ranges.
fn of(array: &dyn Array, ranges: &[Range<usize>]) -> u64 {
    let n = ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.len() as u64));
    let least = n.saturating_mul(LEAST);
    match array.data_type() {
        DataType::Null => least,
        DataType::Boolean => n.div_ceil(8),
        DataType::Utf8 => between(array.as_string::<i32>().value_offsets(), ranges).max(least),
        DataType::LargeUtf8 => between(array.as_string::<i64>().value_offsets(), ranges).max(least),
        DataType::Binary => between(array.as_binary::<i32>().value_offsets(), ranges).max(least),
        DataType::LargeBinary => between(array.as_binary::<i64>().value_offsets(), ranges).max(least),
        DataType::Utf8View => of_views(array.as_string_view().views(), ranges).max(least),
        DataType::BinaryView => of_views(array.as_binary_view().views(), ranges).max(least),
        DataType::List(_) => of(array.as_list::<i32>().values(), &items(array.as_list::<i32>().value_offsets(), ranges)).max(least),
        DataType::LargeList(_) => of(array.as_list::<i64>().values(), &items(array.as_list::<i64>().value_offsets(), ranges)).max(least),
        DataType::Map(..) => of(array.as_map().entries(), &items(array.as_map().value_offsets(), ranges)).max(least),
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            viewed(array, list.offsets(), list.sizes(), ranges).map_or(u64::MAX, |items| of(list.values(), &items)).max(least)
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            viewed(array, list.offsets(), list.sizes(), ranges).map_or(u64::MAX, |items| of(list.values(), &items)).max(least)
        }
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or(0);
            let item = |at: usize| at.saturating_mul(size);
            let items: Vec<_> = ranges.iter().map(|range| item(range.start)..item(range.end)).collect();
            of(array.as_fixed_size_list().values(), &items).max(least)
        }
        DataType::Struct(_) => array.as_struct().columns().iter().fold(0, |sum: u64, c| sum.saturating_add(of(c, ranges))),
        DataType::Dictionary(..) => of_dictionary(array, ranges),
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => of_runs::<Int16Type>(array, ranges),
            DataType::Int32 => of_runs::<Int32Type>(array, ranges),
            _ => of_runs::<Int64Type>(array, ranges),
        },
        DataType::FixedSizeBinary(width) => n.saturating_mul(u64::try_from(*width).unwrap_or(0)),
        other => n.saturating_mul(other.primitive_width().unwrap_or(1) as u64),
    }
}

/// The bytes between the offsets of the rows.
fn between<O: ArrowNativeType>(offsets: &[O], ranges: &[Range<usize>]) -> u64 {
    items(offsets, ranges).iter().fold(0, |sum, range| sum.saturating_add(range.len() as u64))
}

/// The items of each range of lists.
fn items<O: ArrowNativeType>(offsets: &[O], ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let at = |row: usize| offsets.get(row).map_or(0, |offset| offset.as_usize());
    ranges.iter().map(|range| at(range.start)..at(range.end)).collect()
}

/// The lengths of views are their first four bytes.
fn of_views(views: &[u128], ranges: &[Range<usize>]) -> u64 {
    let views = ranges.iter().filter_map(|range| views.get(range.clone()));
    views.map(|views| views.iter().map(|view| u64::from(*view as u32)).sum::<u64>()).fold(0, u64::saturating_add)
}

/// The items of each list view; `None` if there are too many views.
fn viewed<O: ArrowNativeType>(array: &dyn Array, offsets: &[O], sizes: &[O], ranges: &[Range<usize>]) -> Option<Vec<Range<usize>>> {
    let n = ranges.iter().fold(0, |sum: usize, range| sum.saturating_add(range.len()));
    let item = |row: usize| {
        let (start, size) = (offsets.get(row)?.as_usize(), sizes.get(row)?.as_usize());
        (size > 0 && array.is_valid(row)).then(|| start..start.saturating_add(size))
    };
    (n <= MAX_VIEWS).then(|| ranges.iter().cloned().flatten().filter_map(item).collect())
}

fn of_dictionary(array: &dyn Array, ranges: &[Range<usize>]) -> u64 {
    downcast_dictionary_array!(
        array => of_keys(array, ranges),
        _ => u64::MAX,
    )
}

/// The entries to which the rows refer.
fn of_keys<K: ArrowDictionaryKeyType>(array: &DictionaryArray<K>, ranges: &[Range<usize>]) -> u64 {
    fn lengths<O: ArrowNativeType>(keys: impl Iterator<Item = usize>, offsets: &[O]) -> u64 {
        let length = |key: usize| Some(offsets.get(key.checked_add(1)?)?.as_usize().saturating_sub(offsets.get(key)?.as_usize()) as u64);
        keys.filter_map(length).fold(0, u64::saturating_add)
    }
    let n = ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.len() as u64));
    let nulls = array.keys().nulls().filter(|nulls| nulls.null_count() > 0);
    let rows = ranges.iter().cloned().flatten().filter(|row| nulls.is_none_or(|nulls| nulls.is_valid(*row)));
    let keys = rows.filter_map(|row| Some(array.keys().values().get(row)?.as_usize()));
    let values = array.values();
    let nbytes = match values.data_type() {
        DataType::Utf8 => lengths(keys, values.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => lengths(keys, values.as_string::<i64>().value_offsets()),
        DataType::Binary => lengths(keys, values.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => lengths(keys, values.as_binary::<i64>().value_offsets()),
        DataType::Utf8View | DataType::BinaryView => {
            keys.map(|key| of(values.as_ref(), from_ref(&(key..key + 1)))).fold(0, u64::saturating_add)
        }
        other => n.saturating_mul(other.primitive_width().unwrap_or_else(|| super::longest(values)) as u64),
    };
    nbytes.max(n.saturating_mul(LEAST))
}

fn of_runs<R: RunEndIndexType>(array: &dyn Array, ranges: &[Range<usize>]) -> u64 {
    let Some(runs) = array.as_any().downcast_ref::<RunArray<R>>() else { return u64::MAX };
    let (ends, offset) = (runs.run_ends().values(), runs.run_ends().offset());
    let mut nbytes = 0u64;
    for range in ranges {
        let mut at = offset + range.start;
        let first = ends.partition_point(|end| end.as_usize() <= at);
        for (run, end) in ends.iter().enumerate().skip(first) {
            let end = end.as_usize().min(offset + range.end);
            if at >= end {
                break;
            }
            nbytes = nbytes.saturating_add(of(runs.values().as_ref(), from_ref(&(run..run + 1))).saturating_mul((end - at) as u64));
            at = end;
        }
    }
    nbytes
}
