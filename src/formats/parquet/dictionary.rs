//! Decides whether to dictionary-encode a column in a row group.
//!
//! A writer that always starts with a dictionary pays twice for values that rarely repeat (ids, times, weights): each
//! value goes through a hash table, and the dictionary is added to indices that are as long as the values. Instead, the
//! number of distinct values among the first rows of a group predicts their number in the whole group.

use crate::tensor::interner::Numbers;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, ByteArrayType};
use arrow_array::{Array, ArrayRef, GenericByteArray, PrimitiveArray, downcast_primitive_array};
use arrow_schema::DataType;
use parquet::file::properties::DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;
use std::hash::{DefaultHasher, Hasher};

/// Maximum number of rows of a group to sample, and about their bytes.
pub const SAMPLE_ROWS: usize = 16_384;
pub const SAMPLE_NBYTES: usize = 32 << 20;
/// Number of values of a column to sample.
const SAMPLE_VALUES: usize = 16_384;
/// Fewer values are inconclusive, and their group is small, unless they have that many bytes.
const FEW_VALUES: usize = 1024;
const MANY_NBYTES: usize = 4 << 20;

/// Statistics of the first rows of a column.
#[derive(Default)]
pub struct Sample {
    /// A hash or the bits of each sampled value.
    seen: Vec<u64>,
    /// Number of values in all sampled rows.
    nvalues: usize,
    /// Number of bytes of the sampled values.
    nbytes: usize,
    /// Whether the type does not support dictionaries, or is unknown.
    strange: bool,
}

impl Sample {
    /// Samples the values of more rows.
    pub fn look(&mut self, values: &ArrayRef) {
        self.nvalues += values.len() - values.null_count();
        let room = SAMPLE_VALUES.saturating_sub(self.seen.len());
        let values = values.slice(0, room.min(values.len()));
        let values = values.as_ref();
        downcast_primitive_array!(
            values => self.numbers(values),
            DataType::Utf8 => self.texts(values.as_string::<i32>()),
            DataType::LargeUtf8 => self.texts(values.as_string::<i64>()),
            DataType::Binary => self.texts(values.as_binary::<i32>()),
            DataType::LargeBinary => self.texts(values.as_binary::<i64>()),
            _ => self.strange = true,
        );
    }

    fn numbers<T: ArrowPrimitiveType>(&mut self, values: &PrimitiveArray<T>) {
        let width = size_of::<T::Native>();
        if width > 8 {
            self.strange = true;
            return;
        }
        // Smaller integers are stored in four bytes.
        self.nbytes += (values.len() - values.null_count()) * width.max(4);
        let bytes = values.values().inner().as_slice();
        if let Some(nulls) = values.nulls() {
            let value = |row: usize| bytes[row * width..(row + 1) * width].iter().rev().fold(0, |bits, b| bits << 8 | u64::from(*b));
            return self.seen.extend(nulls.valid_indices().map(value));
        }
        match width {
            8 => self.seen.extend(bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b))),
            4 => self.seen.extend(bytes.as_chunks().0.iter().map(|b| u64::from(u32::from_le_bytes(*b)))),
            _ => self.seen.extend(bytes.chunks_exact(width).map(|b| b.iter().rev().fold(0, |bits, b| bits << 8 | u64::from(*b)))),
        }
    }

    fn texts<T: ByteArrayType>(&mut self, values: &GenericByteArray<T>) {
        for i in (0..values.len()).filter(|i| values.is_valid(*i)) {
            let value: &[u8] = values.value(i).as_ref();
            let mut hasher = DefaultHasher::new();
            hasher.write(value);
            self.seen.push(hasher.finish());
            self.nbytes += value.len() + 4;
        }
    }

    /// Whether more rows would hardly change the result.
    pub fn is_enough(&self) -> bool {
        self.strange || self.seen.len() >= SAMPLE_VALUES || self.nbytes >= MANY_NBYTES
    }

    /// Whether a dictionary makes the column smaller. The sample has the fraction `part` of the group's rows.
    pub fn pays(self, part: f64) -> bool {
        let nseen = self.seen.len();
        if self.strange || (nseen < FEW_VALUES && self.nbytes < MANY_NBYTES) {
            return true;
        }
        let ndistinct = Numbers::distinct(&self.seen);
        let width = self.nbytes as f64 / nseen as f64;
        let total = self.nvalues as f64 / part;
        let distinct = distinct_of(total, nseen as f64, ndistinct as f64);
        let dictionary = distinct * width;
        let indices = total * distinct.max(2.0).log2().ceil() / 8.0;
        dictionary <= DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT as f64 && dictionary + indices < total * width
    }
}

/// Estimates the number of distinct values among `total`, given `distinct` values among the first `seen`. Assumes draws
/// from equally likely values: `n` draws from `m` values find `m * (1 - exp(-n / m))` of them.
fn distinct_of(total: f64, seen: f64, distinct: f64) -> f64 {
    let met = |m: f64, n: f64| m * (1.0 - (-n / m).exp());
    let (mut low, mut high) = (distinct.max(1.0), distinct.max(1.0));
    while met(high, seen) < distinct && high < total * 16.0 {
        high *= 2.0;
    }
    for _ in 0..40 {
        let middle = low.midpoint(high);
        if met(middle, seen) < distinct { low = middle } else { high = middle }
    }
    met(high, total)
}

/// The leaf arrays inside an array, in Parquet column order, restricted to the parts that its rows refer to.
pub fn leaves(array: &ArrayRef, out: &mut Vec<ArrayRef>) {
    match array.data_type() {
        DataType::Struct(_) => array.as_struct().columns().iter().for_each(|column| leaves(column, out)),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let (start, end) = (list.offsets()[0] as usize, list.offsets()[list.len()] as usize);
            leaves(&list.values().slice(start, end - start), out);
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let (start, end) = (list.offsets()[0] as usize, list.offsets()[list.len()] as usize);
            leaves(&list.values().slice(start, end - start), out);
        }
        DataType::FixedSizeList(..) => leaves(array.as_fixed_size_list().values(), out),
        DataType::Map(..) => {
            let map = array.as_map();
            let (start, end) = (map.offsets()[0] as usize, map.offsets()[map.len()] as usize);
            map.entries().columns().iter().for_each(|column| leaves(&column.slice(start, end - start), out));
        }
        _ => out.push(array.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, StringArray};
    use std::sync::Arc;

    fn pays(values: ArrayRef, part: f64) -> bool {
        let mut sample = Sample::default();
        sample.look(&values);
        sample.pays(part)
    }

    #[test]
    fn values_that_repeat_pay() {
        let every = |n: i64, of: i64| Arc::new(Int64Array::from_iter_values((0..n).map(|i| i * 7919 % of))) as ArrayRef;
        assert!(pays(every(16_384, 100), 0.1));
        assert!(pays(every(16_384, 5000), 0.1));
        assert!(!pays(every(16_384, 1 << 40), 0.1), "all differ");
        assert!(!pays(every(16_384, 1 << 40), 1.0), "all differ, and there are no more");
        assert!(pays(every(1000, 1 << 40), 1.0), "too few to tell");
        let long = |of: usize| Arc::new(StringArray::from_iter_values((0..500).map(|i| format!("{:9999}", i % of)))) as ArrayRef;
        assert!(pays(long(3), 0.1) && !pays(long(500), 0.1), "few, but long");
        let words = |of: usize| Arc::new(StringArray::from_iter_values((0..16_384).map(|i| format!("word{}", i % of)))) as ArrayRef;
        assert!(pays(words(3000), 0.01));
        assert!(!pays(words(1 << 20), 0.01));
    }

    #[test]
    fn distinct_values_are_foreseen() {
        assert!((distinct_of(1e6, 16_384.0, 100.0) - 100.0).abs() < 1.0);
        assert!(distinct_of(1e6, 16_384.0, 16_384.0) > 9e5);
        let half = distinct_of(1e6, 16_384.0, 16_384.0 * 0.63);
        assert!((16_000.0..18_000.0).contains(&half), "{half}");
    }
}
