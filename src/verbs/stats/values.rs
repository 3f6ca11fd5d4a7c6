//! The summary of single values: count, nulls, range, moments, distinct and frequent values, histogram bins.

use super::bins::Bins;
use super::distinct::{Distinct, hash_bits, hash_bytes};
use super::moments::Moments;
use super::sizes::Sizes;
use super::top::{self, Top, ValueCounts, float_key, prefix};
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::concat::concat_leaves;
use crate::tensor::text::is_time;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, make_array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;

/// Maximum number of bytes kept of the smallest and largest string.
pub const SHOWN: usize = 64;

/// The summary of the values of one field.
#[derive(Clone, Debug)]
pub struct ValueSummary {
    /// Number of values that are not null.
    pub count: u64,
    /// Number of nulls.
    pub nulls: u64,
    /// Number of NaN.
    pub nan: u64,
    /// Number of infinite values.
    pub infinite: u64,
    /// Number of true bools.
    pub trues: u64,
    /// The smallest and largest value.
    pub range: Option<Range>,
    /// The histogram of numbers.
    pub bins: Bins,
    /// Mean and standard deviation of the finite numbers.
    pub moments: Moments,
    /// `None` for types of values that are not examined.
    distinct: Option<Distinct>,
    /// The most frequent strings and integers.
    pub top: Top,
    /// Lengths of strings and bytes.
    pub bytes: Option<Sizes>,
    /// Values collected to be summarized together; `None` if they are summarized immediately.
    waiting: Option<Waiting>,
}

/// Collected values without nulls, in order.
#[derive(Clone, Debug)]
struct Waiting {
    arrays: Vec<ArrayRef>,
    nbytes: usize,
    /// Number of bytes at which they are summarized.
    most: usize,
}

/// Memory of an array in addition to its values.
const ARRAY_NBYTES: usize = 256;

/// The least and the greatest value. NaN is neither.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// Bools.
    Bool(bool, bool),
    /// Integers.
    Int(i128, i128),
    /// Dates, times and durations, as they are stored.
    Time(i128, i128),
    /// Floats.
    Float(f64, f64),
    /// Strings and bytes, compared by their bytes.
    Bytes(Vec<u8>, Vec<u8>),
}

impl Range {
    fn merged(self, other: Range) -> Range {
        match (self, other) {
            (Range::Bool(a, b), Range::Bool(c, d)) => Range::Bool(a & c, b | d),
            (Range::Int(a, b), Range::Int(c, d)) => Range::Int(a.min(c), b.max(d)),
            (Range::Time(a, b), Range::Time(c, d)) => Range::Time(a.min(c), b.max(d)),
            (Range::Float(a, b), Range::Float(c, d)) => Range::Float(least(a, c), greatest(b, d)),
            (Range::Bytes(a, b), Range::Bytes(c, d)) => Range::Bytes(a.min(c), b.max(d)),
            (own, _) => own,
        }
    }
}

/// The smaller of two values. -0.0 is less than 0.0, so that the result does not depend on the order.
fn least(a: f64, b: f64) -> f64 {
    if a.total_cmp(&b).is_le() { a } else { b }
}

fn greatest(a: f64, b: f64) -> f64 {
    if a.total_cmp(&b).is_ge() { a } else { b }
}

/// A number of at most 64 bits.
trait Number: Copy {
    fn bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;
    fn to_f64(self) -> f64;
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            fn bits(self) -> u64 {
                self as u64
            }
            fn from_bits(bits: u64) -> $t {
                bits as $t
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

/// Integers are counted in an array if that needs at most this many elements per value.
const DENSE: usize = 4;

/// How often each integer between the smallest and the largest, `span` apart, occurs.
fn dense_counts<T: Number>(values: &[T], least: u64, span: usize) -> ValueCounts {
    let mut counts = vec![0u32; span + 1];
    values.iter().for_each(|x| counts[x.bits().wrapping_sub(least) as usize] += 1);
    let all = (0u64..).map(|offset| least.wrapping_add(offset)).zip(counts).filter(|(_, count)| *count > 0);
    all.map(|(bits, count)| (hash_bits(bits), bits, u64::from(count))).collect()
}

/// Maximum number of other integers that are sorted for counting.
const SORTED: usize = 1 << 13;

/// How often each integer occurs, in ascending order.
fn sorted_counts<T: Number + Ord>(values: &[T]) -> ValueCounts {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    counts_of_runs(&sorted, |x| x.bits())
}

/// How often each of these sorted values occurs.
fn counts_of_runs<T: Copy + PartialEq>(sorted: &[T], bits: impl Fn(T) -> u64) -> ValueCounts {
    let run = |run: &[T]| (hash_bits(bits(run[0])), bits(run[0]), run.len() as u64);
    let mut counts = ValueCounts::with_capacity(sorted.len());
    counts.extend(sorted.chunk_by(|a, b| a == b).map(run));
    counts
}

/// How often each float occurs, in ascending order, given their keys.
fn sorted_float_counts(keys: impl Iterator<Item = u64>) -> ValueCounts {
    let mut sorted: Vec<f64> = keys.map(f64::from_bits).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    counts_of_runs(&sorted, f64::to_bits)
}

/// The integers that times are stored as.
fn stored(times: &ArrayRef, integers: DataType) -> Result<ArrayRef> {
    let data = times.to_data().into_builder().data_type(integers).build();
    data.map(make_array).map_err(|e| Error::internal(e.to_string()))
}

impl ValueSummary {
    /// An empty summary; `top` is an empty sketch.
    pub fn new(top: Top) -> ValueSummary {
        ValueSummary {
            count: 0,
            nulls: 0,
            nan: 0,
            infinite: 0,
            trues: 0,
            range: None,
            bins: Bins::default(),
            moments: Moments::default(),
            distinct: None,
            top,
            bytes: None,
            waiting: None,
        }
    }

    /// Collects up to `most` bytes of values before summarizing them, which is cheaper and makes the summary of a short
    /// column exact. Values must be added in order, and [`ValueSummary::end`] must be called after the last.
    pub fn wait(&mut self, most: usize) {
        self.waiting = Some(Waiting { arrays: Vec::new(), nbytes: 0, most });
    }

    /// Whether the values are dates, times or durations.
    pub fn are_times(&self) -> bool {
        matches!(self.range, Some(Range::Time(..)))
    }

    /// The number of distinct values, and whether it is exact; `None` for values that are not examined.
    pub fn distinct(&self) -> Option<(u64, bool)> {
        if self.top.len() > 0 && self.top.is_exact() {
            // Numbers that are not finite are not held.
            let others = match self.range {
                Some(Range::Float(least, greatest)) => {
                    u64::from(least == f64::NEG_INFINITY) + u64::from(greatest == f64::INFINITY) + u64::from(self.nan > 0)
                }
                _ => 0,
            };
            return Some((self.top.len() as u64 + others, true));
        }
        // An estimate can exceed the number of values.
        self.distinct.as_ref().map(Distinct::count).map(|(count, is_exact)| (count.min(self.count), is_exact))
    }

    /// Adds the values of an array. O(values).
    ///
    /// # Errors
    /// See [`take`](crate::tensor::gather::take).
    pub fn add(&mut self, array: &ArrayRef) -> Result<()> {
        let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
        let valid;
        let array = match &nulls {
            None => array,
            Some(nulls) => {
                self.nulls += nulls.null_count() as u64;
                let rows: Vec<usize> = nulls.valid_indices().collect();
                valid = crate::tensor::gather::take(array, &rows)?;
                &valid
            }
        };
        let Some(waiting) = &mut self.waiting else { return self.add_valid(array, false) };
        // Concatenation copies two arrays, but shares one, whose memory may belong to all columns.
        waiting.arrays.push(concat_leaves(&[array, &array.slice(0, 0)])?);
        waiting.nbytes += Tensor::Leaf(array.clone()).nbytes() + ARRAY_NBYTES;
        if waiting.nbytes >= waiting.most { self.add_waiting(false) } else { Ok(()) }
    }

    /// Summarizes the remaining values. No more may be added.
    ///
    /// # Errors
    /// As [`ValueSummary::add`].
    pub fn end(&mut self) -> Result<()> {
        let is_all = self.count == 0;
        self.add_waiting(is_all)
    }

    fn add_waiting(&mut self, is_all: bool) -> Result<()> {
        let Some(waiting) = &mut self.waiting else { return Ok(()) };
        waiting.nbytes = 0;
        if self.count == 0 {
            // A longer column will not be exact anyway, and its sketches need memory too.
            waiting.most /= 4;
        }
        let arrays = std::mem::take(&mut waiting.arrays);
        match &arrays.iter().collect::<Vec<_>>()[..] {
            [] => Ok(()),
            arrays => self.add_valid(&concat_leaves(arrays)?, is_all),
        }
    }

    /// Summarizes values without nulls; `is_all`: these are all values of the column.
    fn add_valid(&mut self, array: &ArrayRef, is_all: bool) -> Result<()> {
        self.count += array.len() as u64;
        match array.data_type() {
            DataType::Boolean => self.add_bools(array),
            DataType::Int8 => self.add_integers::<Int8Type>(array, is_all, Range::Int),
            DataType::Int16 => self.add_integers::<Int16Type>(array, is_all, Range::Int),
            DataType::Int32 => self.add_integers::<Int32Type>(array, is_all, Range::Int),
            DataType::Int64 => self.add_integers::<Int64Type>(array, is_all, Range::Int),
            DataType::UInt8 => self.add_integers::<UInt8Type>(array, is_all, Range::Int),
            DataType::UInt16 => self.add_integers::<UInt16Type>(array, is_all, Range::Int),
            DataType::UInt32 => self.add_integers::<UInt32Type>(array, is_all, Range::Int),
            DataType::UInt64 => self.add_integers::<UInt64Type>(array, is_all, Range::Int),
            DataType::Float16 => self.add_floats(array, is_all, array.as_primitive::<Float16Type>().values().iter().map(|x| x.to_f64())),
            DataType::Float32 => self.add_floats(array, is_all, array.as_primitive::<Float32Type>().values().iter().map(|x| f64::from(*x))),
            DataType::Float64 => self.add_floats(array, is_all, array.as_primitive::<Float64Type>().values().iter().copied()),
            DataType::LargeUtf8 => {
                let texts = array.as_string::<i64>();
                self.add_texts(array, is_all, texts.offsets(), |row| texts.value(row).as_bytes());
            }
            DataType::LargeBinary => {
                let texts = array.as_binary::<i64>();
                self.add_texts(array, is_all, texts.offsets(), |row| texts.value(row));
            }
            ty if is_time(ty) => match ty.primitive_width() {
                Some(4) => self.add_integers::<Int32Type>(&stored(array, DataType::Int32)?, is_all, Range::Time),
                _ => self.add_integers::<Int64Type>(&stored(array, DataType::Int64)?, is_all, Range::Time),
            },
            _ => {}
        }
        Ok(())
    }

    fn widen(&mut self, range: Range) {
        self.range = Some(match self.range.take() {
            Some(own) => own.merged(range),
            None => range,
        });
    }

    fn hashes(&mut self) -> &mut Distinct {
        self.distinct.get_or_insert_default()
    }

    fn add_distinct(&mut self, counts: &ValueCounts, is_all: bool) {
        if is_all {
            self.distinct = Some(Distinct::exact(counts.len()));
        } else {
            self.hashes().extend(counts.iter().map(|(hash, ..)| *hash));
        }
    }

    fn add_bools(&mut self, array: &ArrayRef) {
        let bits = array.as_boolean();
        let (trues, falses) = (bits.true_count() as u64, bits.false_count() as u64);
        self.trues += trues;
        for (value, count) in [(false, falses), (true, trues)] {
            if count > 0 {
                self.widen(Range::Bool(value, value));
                self.bins.add(f64::from(u8::from(value)), count);
                self.hashes().extend([hash_bits(u64::from(value))]);
            }
        }
    }

    fn add_integers<T: ArrowPrimitiveType<Native: Number + Ord + Into<i128>>>(
        &mut self,
        array: &ArrayRef,
        is_all: bool,
        range: fn(i128, i128) -> Range,
    ) {
        let values = array.as_primitive::<T>().values();
        let (Some(least), Some(greatest)) = (values.iter().min(), values.iter().max()) else { return };
        self.widen(range((*least).into(), (*greatest).into()));
        // The extremes first, so that the bins get their final width at once.
        [least, greatest].iter().for_each(|x| self.bins.add(x.to_f64(), 0));
        let span = greatest.bits().wrapping_sub(least.bits());
        let counts = match usize::try_from(span) {
            Ok(span) if span / DENSE < values.len() => Some(dense_counts(values, least.bits(), span)),
            _ if is_all || values.len() <= SORTED => Some(sorted_counts(values)),
            _ => top::count(values.iter().map(|x| (hash_bits(x.bits()), x.bits())), self.top.capacity()),
        };
        match &counts {
            Some(counts) => {
                for (_, bits, count) in counts {
                    let value = T::Native::from_bits(*bits);
                    self.bins.add(value.to_f64(), *count);
                    self.moments.add_integer(value.into(), *count);
                }
                self.add_distinct(counts, is_all);
            }
            None => {
                for value in values {
                    self.bins.add(value.to_f64(), 1);
                    self.moments.add_integer((*value).into(), 1);
                }
                self.hashes().extend(values.iter().map(|x| hash_bits(x.bits())));
            }
        }
        if let (true, Some(counts)) = (is_all, &counts) {
            self.top.hold_all(array, counts);
            return;
        }
        let capacity = self.top.capacity();
        self.top.add(array, counts.filter(|counts| counts.len() <= capacity));
    }

    fn add_floats(&mut self, array: &ArrayRef, is_all: bool, values: impl Iterator<Item = f64> + Clone) {
        let numbers = values.clone().filter(|x| !x.is_nan());
        let range = numbers.clone().fold(None, |range, x| Some(range.map_or((x, x), |(a, b)| (least(a, x), greatest(b, x)))));
        if let Some((a, b)) = range {
            self.widen(Range::Float(a, b));
        }
        let mut count = 0;
        for x in numbers {
            count += 1;
            if x.is_infinite() {
                self.infinite += 1;
            } else {
                self.bins.add(x, 1);
                self.moments.add_float(x);
            }
        }
        self.nan += (values.clone().count() - count) as u64;
        // All NaNs count as one value, and so do both zeros.
        let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { (x + 0.0).to_bits() };
        self.hashes().extend(values.clone().map(|x| hash_bits(bits(x))));
        let keys = values.filter_map(float_key);
        if is_all {
            self.top.hold_all(array, &sorted_float_counts(keys));
        } else {
            // Counting takes time that is lost if most values are distinct.
            let most = (array.len() / 8).min(self.top.capacity());
            let counts = top::count(keys.map(|key| (hash_bits(key), key)), most);
            self.top.add(array, counts);
        }
    }

    fn add_texts<'a>(&mut self, array: &ArrayRef, is_all: bool, offsets: &OffsetBuffer<i64>, text: impl Fn(usize) -> &'a [u8]) {
        let bytes = self.bytes.get_or_insert_default();
        offsets.lengths().for_each(|n| bytes.add(n));
        let texts = || (0..array.len()).map(&text);
        // One of each value is enough, unless there are too many distinct values.
        let counts = top::count_texts(texts(), self.top.capacity());
        match &counts {
            Some(counts) => {
                self.add_distinct(counts, is_all);
                self.widen_texts(counts.iter().map(|(_, row, _)| text(*row as usize)));
            }
            None => {
                self.hashes().extend(texts().map(hash_bytes));
                self.widen_texts(texts());
            }
        }
        self.top.add(array, counts);
    }

    fn widen_texts<'a>(&mut self, texts: impl Iterator<Item = &'a [u8]>) {
        // Most strings differ in their first eight bytes.
        let mut texts = texts.map(|text| (prefix(text), text));
        let Some(first) = texts.next() else { return };
        let (least, greatest) = texts.fold((first, first), |(least, greatest), text| (least.min(text), greatest.max(text)));
        // The prefix of the least string is the least of the prefixes.
        let start = |(_, text): (u64, &[u8])| text[..text.len().min(SHOWN + 1)].to_vec();
        self.widen(Range::Bytes(start(least), start(greatest)));
    }

    /// Adds the summary of other values.
    pub fn merge(&mut self, other: ValueSummary) {
        self.count += other.count;
        self.nulls += other.nulls;
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.trues += other.trues;
        self.bins.merge(other.bins);
        self.moments.merge(&other.moments);
        self.top.merge(other.top);
        if let Some(range) = other.range {
            self.widen(range);
        }
        if let Some(theirs) = other.distinct {
            self.hashes().merge(theirs);
        }
        if let Some(theirs) = other.bytes {
            self.bytes.get_or_insert_default().merge(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float64Array, Int64Array};
    use std::sync::Arc;

    #[test]
    fn few_floats_are_held_whatever_the_parts() {
        let prices = [0.5, 9.99, 19.99, -1e300, f64::NAN, 1299.0, -0.0, f64::INFINITY, 0.0];
        let held = [(-1e300, 8), (0.0, 16), (0.5, 8), (9.99, 8), (19.99, 8), (1299.0, 8)];
        let values: Vec<f64> = prices.repeat(8);
        let many: Vec<f64> = (0..50).map(f64::from).collect();
        for size in [1, 7, 60, 72] {
            let mut whole = ValueSummary::new(Top::new(40));
            let add = |whole: &mut ValueSummary, values: &[f64]| {
                let mut part = ValueSummary::new(whole.top.part());
                part.add(&(Arc::new(Float64Array::from(values.to_vec())) as ArrayRef)).unwrap();
                whole.merge(part);
            };
            values.chunks(size).for_each(|values| add(&mut whole, values));
            assert!(whole.top.is_exact());
            assert_eq!((whole.top.numbers(), whole.distinct()), (held.to_vec(), Some((8, true))), "{size}");
            many.chunks(size).for_each(|values| add(&mut whole, values));
            assert!(!whole.top.is_exact(), "{size}");
            assert_eq!((whole.top.len(), whole.distinct()), (0, Some((57, true))));
        }
        let mut short = ValueSummary::new(Top::new(2));
        short.wait(1 << 20);
        values.chunks(10).for_each(|values| short.add(&(Arc::new(Float64Array::from(values.to_vec())) as ArrayRef)).unwrap());
        short.end().unwrap();
        assert_eq!(short.top.numbers(), held);
    }

    #[test]
    fn there_are_never_more_distinct_values_than_values() {
        let mut is_estimated = false;
        for n in (2000..6000).step_by(100) {
            let mut summary = ValueSummary::new(Top::new(1024));
            let array: ArrayRef = Arc::new(Int64Array::from_iter_values((0..n).map(|i| i * 7919)));
            summary.add(&array).unwrap();
            let (distinct, is_exact) = summary.distinct().unwrap();
            is_estimated |= !is_exact;
            assert!(distinct <= summary.count, "{distinct} of {n}");
        }
        assert!(is_estimated);
    }
}
