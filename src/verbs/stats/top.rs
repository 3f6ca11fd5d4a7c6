//! The most frequent strings and integers, and all floats while they are few, in bounded memory.
//!
//! Counts are exact until the number of distinct values exceeds the capacity of the sketch. Then the rarer half is
//! dropped, and with it at most `floor` occurrences of any value (Misra and Gries, "Finding repeated elements", 1982,
//! with the smallest counts subtracted in batches): `floor <= 2 n / capacity` for n values. The sketch is defined by
//! the sequence of values: the counts of a part are added only where that gives the same result as adding its values
//! one by one. Floats are held only for exact quantiles: none is held once there are too many.

use super::distinct::{bits_of_hash, hash_bits, hash_bytes};
use super::tally::{Count, Tally};
use crate::tensor::hash::Identity;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;
use std::ops::ControlFlow;

/// Maximum number of bytes kept of a string.
const SHOWN: usize = 64;
/// Maximum number of distinct values held, for one field and for all fields together.
const MOST: usize = 1 << 16;
const MOST_IN_ALL: usize = 1 << 21;
const LEAST: usize = 1 << 10;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// An integer.
    Int(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// The first bytes of a string, and whether it is longer.
    Text(Box<[u8]>, bool),
}

/// The values held, in the order of their counts.
#[derive(Clone, Debug)]
enum Labels {
    /// Integers, which are recovered from the hash.
    Int,
    /// Unsigned integers, also recovered from the hash.
    Unsigned,
    /// Floats, as float64, also recovered from the hash.
    Float,
    /// Strings, of which the first bytes are kept.
    Text(Starts),
}

/// The first bytes of strings, concatenated: up to [`SHOWN`], and one more if a string is longer.
#[derive(Clone, Debug, Default)]
struct Starts {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Starts {
    fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(&string[..string.len().min(SHOWN + 1)]);
        self.ends.push(self.bytes.len() as u32);
    }

    fn get(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[number] as usize]
    }

    /// Keeps some of them; their numbers change.
    fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut kept = Starts::default();
        (0..self.ends.len()).filter(|number| keep(*number)).for_each(|number| kept.push(self.get(number)));
        *self = kept;
    }
}

/// How often each value of an array occurs: hash, key and count. The key is the bits of an integer or the row of a
/// string.
pub type ValueCounts = Vec<(u64, u64, u64)>;

/// The most frequent values of a field.
#[derive(Clone, Debug)]
pub struct Top {
    /// Maximum number of values held.
    capacity: usize,
    tally: Tally,
    /// Used instead for all numbers of a short column: their ranks, ascending, and counts.
    all: Vec<(u64, u64)>,
    labels: Labels,
    /// Maximum number of occurrences of a value that is not held.
    floor: u64,
    /// There were too many floats.
    is_abandoned: bool,
    /// Whether arrays are kept for [`Top::merge`], because this is a sketch of a part of the values.
    is_part: bool,
    parts: Vec<(ArrayRef, Option<ValueCounts>)>,
}

/// The number of distinct values held per field, given the number of fields.
pub fn capacity(nfields: usize) -> usize {
    (MOST_IN_ALL / nfields.max(1)).clamp(LEAST, MOST)
}

impl Top {
    /// An empty sketch.
    pub fn new(capacity: usize) -> Top {
        Top {
            capacity,
            tally: Tally::default(),
            all: Vec::new(),
            labels: Labels::Int,
            floor: 0,
            is_abandoned: false,
            is_part: false,
            parts: Vec::new(),
        }
    }

    /// An empty sketch for a part of the values, which will be merged.
    pub fn part(&self) -> Top {
        Top { is_part: true, ..Top::new(self.capacity) }
    }

    /// Maximum number of values held.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Adds the values of an array without nulls. `counts` are its counts, if known.
    pub fn add(&mut self, array: &ArrayRef, counts: Option<ValueCounts>) {
        if self.is_part {
            self.parts.push((array.clone(), counts));
        } else {
            self.absorb(array, counts);
        }
    }

    /// Adds the values of the next part.
    pub fn merge(&mut self, other: Top) {
        other.parts.into_iter().for_each(|(array, counts)| self.add(&array, counts));
    }

    /// Stores the counts of all numbers of a column, in ascending order. Nothing may be added afterwards.
    pub fn hold_all(&mut self, array: &ArrayRef, counts: &ValueCounts) {
        self.labels = labels(array);
        self.all = counts.iter().map(|(_, bits, count)| (self.rank(*bits), *count)).collect();
    }

    fn absorb(&mut self, array: &ArrayRef, counts: Option<ValueCounts>) {
        if self.is_abandoned {
            return;
        }
        if self.tally.counts().is_empty() {
            self.labels = labels(array);
        }
        if let Some(counts) = counts {
            let held = self.tally.counts().len();
            let fits = held + counts.len() <= self.capacity
                || held + counts.iter().filter(|(hash, ..)| self.tally.find(*hash).is_none()).count() <= self.capacity;
            if fits {
                counts.into_iter().for_each(|(hash, key, count)| self.count(array, hash, key, count));
                return;
            }
        }
        let _ = for_each_value(array, |hash, key| {
            self.count(array, hash, key, 1);
            if self.tally.counts().len() > self.capacity {
                if matches!(self.labels, Labels::Float) {
                    self.is_abandoned = true;
                    self.tally = Tally::default();
                    return ControlFlow::Break(());
                }
                self.drop_rare();
            }
            ControlFlow::Continue(())
        });
    }

    #[inline]
    fn count(&mut self, array: &ArrayRef, hash: u64, key: u64, count: u64) {
        if self.tally.add(hash, count, self.floor, self.capacity + 1)
            && let Labels::Text(labels) = &mut self.labels
        {
            labels.push(string(array, key));
        }
    }

    fn drop_rare(&mut self) {
        let most = |count: &Count| count.seen + count.missed;
        let mut counts: Vec<Reverse<u64>> = self.tally.counts().iter().map(|count| Reverse(most(count))).collect();
        let middle = self.capacity / 2;
        self.floor = counts.select_nth_unstable(middle).1.0;
        let floor = self.floor;
        if let Labels::Text(labels) = &mut self.labels {
            let counts = self.tally.counts();
            labels.retain(|number| most(&counts[number]) > floor);
        }
        self.tally.retain(|count| most(count) > floor);
    }

    /// Whether all values are held, so that the counts are exact.
    pub fn is_exact(&self) -> bool {
        self.floor == 0 && !self.is_abandoned
    }

    /// Maximum error of a count, which is never too high.
    pub fn error(&self) -> u64 {
        self.floor
    }

    /// The number of values held.
    pub fn len(&self) -> usize {
        self.all.len() + self.tally.counts().len()
    }

    /// How often a value occurs, given its hash; 0 if it is not held.
    pub fn get(&self, hash: u64) -> u64 {
        if let Some(number) = self.tally.find(hash) {
            return self.tally.counts()[number].seen;
        }
        let rank = self.rank(bits_of_hash(hash));
        self.all.binary_search_by_key(&rank, |(rank, _)| *rank).map_or(0, |number| self.all[number].1)
    }

    /// The numbers held, in ascending order, with their counts.
    pub fn numbers(&self) -> Vec<(f64, u64)> {
        if matches!(self.labels, Labels::Text(..)) {
            return Vec::new();
        }
        let mut all: Vec<(u64, u64)> = self.ranked().collect();
        all.sort_unstable();
        let value = |rank: u64| match self.labels {
            Labels::Int => unranked(rank) as f64,
            Labels::Float => f64::from_bits(if rank >> 63 == 1 { rank ^ (1 << 63) } else { !rank }),
            _ => rank as f64,
        };
        all.into_iter().map(|(rank, seen)| (value(rank), seen)).collect()
    }

    /// The ranks of the numbers held, with their counts.
    fn ranked(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let held = self.tally.counts().iter().map(|count| (self.rank(bits_of_hash(count.hash)), count.seen));
        self.all.iter().copied().chain(held)
    }

    /// The rank of a number, given its bits: larger numbers have larger ranks.
    fn rank(&self, bits: u64) -> u64 {
        match self.labels {
            Labels::Int => bits ^ (1 << 63),
            Labels::Float if bits >> 63 == 1 => !bits,
            Labels::Float => bits ^ (1 << 63),
            _ => bits,
        }
    }

    /// The most frequent strings or integers with their hashes and counts. Among equal counts, the smallest value comes
    /// first.
    pub fn first(&self, most: usize) -> Vec<(u64, Label, u64)> {
        if matches!(self.labels, Labels::Float) {
            return Vec::new();
        }
        let counts = self.tally.counts();
        let Labels::Text(labels) = &self.labels else {
            let keys = self.ranked().map(|(rank, seen)| (Reverse(seen), rank));
            let of_rank = |(Reverse(seen), rank)| match self.labels {
                Labels::Unsigned => (hash_bits(rank), Label::Unsigned(rank), seen),
                _ => (hash_bits(unranked(rank) as u64), Label::Int(unranked(rank)), seen),
            };
            return least(keys.collect(), most, Ord::cmp).into_iter().map(of_rank).collect();
        };
        // Most strings differ in their first eight bytes.
        let keys = (0..counts.len()).map(|number| (Reverse(counts[number].seen), prefix(labels.get(number)), number));
        let order = |a: &(Reverse<u64>, u64, usize), b: &(Reverse<u64>, u64, usize)| {
            let least = || labels.get(a.2).cmp(labels.get(b.2)).then_with(|| counts[a.2].hash.cmp(&counts[b.2].hash));
            (a.0, a.1).cmp(&(b.0, b.1)).then_with(least)
        };
        let of_number = |(Reverse(seen), _, number): (Reverse<u64>, u64, usize)| {
            let start = labels.get(number);
            let label = Label::Text(start[..start.len().min(SHOWN)].into(), start.len() > SHOWN);
            (counts[number].hash, label, seen)
        };
        least(keys.collect(), most, order).into_iter().map(of_number).collect()
    }
}

/// The first eight bytes of a string as a number. Strings with different prefixes are ordered like the prefixes.
#[inline]
pub fn prefix(string: &[u8]) -> u64 {
    match string.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => string.iter().rev().fold(0, |prefix, byte| prefix >> 8 | u64::from(*byte) << 56),
    }
}

fn labels(array: &ArrayRef) -> Labels {
    match array.data_type() {
        DataType::LargeUtf8 | DataType::LargeBinary => Labels::Text(Starts::default()),
        DataType::UInt64 => Labels::Unsigned,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Labels::Float,
        _ => Labels::Int,
    }
}

/// The integer with that rank.
fn unranked(rank: u64) -> i64 {
    (rank ^ (1 << 63)) as i64
}

/// The first `most` in that order.
fn least<T>(mut all: Vec<T>, most: usize, order: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if (1..all.len()).contains(&most) {
        all.select_nth_unstable_by(most - 1, &order);
    }
    all.truncate(most);
    all.sort_unstable_by(order);
    all
}

/// The key of a finite float: the bits of float64, with one zero. NaN and infinities have none.
#[inline]
pub fn float_key(x: f64) -> Option<u64> {
    x.is_finite().then(|| (x + 0.0).to_bits())
}

/// Calls `each` with the hash and key of every value until it breaks. O(values).
fn for_each_value(array: &ArrayRef, mut each: impl FnMut(u64, u64) -> ControlFlow<()>) -> ControlFlow<()> {
    let mut float = |x: f64| float_key(x).map_or(ControlFlow::Continue(()), |key| each(hash_bits(key), key));
    match array.data_type() {
        DataType::Float16 => return array.as_primitive::<Float16Type>().values().iter().try_for_each(|x| float(x.to_f64())),
        DataType::Float32 => return array.as_primitive::<Float32Type>().values().iter().try_for_each(|x| float(f64::from(*x))),
        DataType::Float64 => return array.as_primitive::<Float64Type>().values().iter().try_for_each(|x| float(*x)),
        _ => {}
    }
    macro_rules! integers {
        ($($variant:ident => $t:ty),*) => {
            match array.data_type() {
                $(DataType::$variant => array.as_primitive::<$t>().values().iter().try_for_each(|x| each(hash_bits(*x as u64), *x as u64)),)*
                DataType::LargeUtf8 => (0u64..).zip(array.as_string::<i64>().iter().flatten()).try_for_each(|(row, text)| each(hash_bytes(text.as_bytes()), row)),
                DataType::LargeBinary => (0u64..).zip(array.as_binary::<i64>().iter().flatten()).try_for_each(|(row, bytes)| each(hash_bytes(bytes), row)),
                _ => ControlFlow::Continue(()),
            }
        };
    }
    integers!(Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
        UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type)
}

/// The first bytes of a string, and whether it is longer.
fn string(array: &ArrayRef, row: u64) -> &[u8] {
    match array.data_type() {
        DataType::LargeUtf8 => array.as_string::<i64>().value(row as usize).as_bytes(),
        _ => array.as_binary::<i64>().value(row as usize),
    }
}

/// How often each string occurs; `None` if there are more than `most` distinct strings.
pub fn count_texts<'a>(texts: impl Iterator<Item = &'a [u8]>, most: usize) -> Option<ValueCounts> {
    count((0u64..).zip(texts).map(|(row, text)| (hash_bytes(text), row)), most)
}

/// How often each hash occurs, with the key of its first occurrence; `None` if there are more than `most` distinct
/// hashes.
pub fn count(hashes: impl Iterator<Item = (u64, u64)>, most: usize) -> Option<ValueCounts> {
    let expected = hashes.size_hint().0.min(most).min(LEAST);
    let mut places: HashMap<u64, u32, BuildHasherDefault<Identity>> =
        HashMap::with_capacity_and_hasher(expected, BuildHasherDefault::default());
    let mut counts = ValueCounts::with_capacity(expected);
    for (hash, key) in hashes {
        match places.entry(hash) {
            Entry::Occupied(entry) => counts[*entry.get() as usize].2 += 1,
            Entry::Vacant(_) if counts.len() == most => return None,
            Entry::Vacant(entry) => {
                entry.insert(counts.len() as u32);
                counts.push((hash, key, 1));
            }
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int64Array;
    use std::sync::Arc;

    /// Numbers of which few are frequent: i occurs about n / i times.
    fn skewed(n: usize) -> Vec<i64> {
        let mut state = 7u64;
        let mut next = || {
            state = hash_bits(state);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..n).map(|_| ((n as f64).powf(next())) as i64).collect()
    }

    fn add(top: &mut Top, values: &[i64], with_counts: bool) {
        let array: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        let hashes = values.iter().map(|x| (hash_bits(*x as u64), *x as u64));
        let counts = with_counts.then(|| count(hashes, top.capacity())).flatten();
        top.add(&array, counts);
    }

    #[test]
    fn counts_are_within_their_bound_and_parts_change_nothing() {
        let values = skewed(50_000);
        let mut exact: HashMap<i64, u64> = HashMap::new();
        values.iter().for_each(|x| *exact.entry(*x).or_default() += 1);
        for capacity in [64, 512, 1 << 16] {
            let mut whole = Top::new(capacity);
            add(&mut whole, &values, false);
            assert!(whole.error() <= 2 * values.len() as u64 / capacity as u64, "{}", whole.error());
            assert_eq!(whole.is_exact(), exact.len() <= capacity);
            for (_, label, count) in whole.first(usize::MAX) {
                let Label::Int(value) = label else { unreachable!() };
                assert!(count <= exact[&value] && exact[&value] <= count + whole.error(), "{value}: {count} of {}", exact[&value]);
            }
            let frequent = exact.iter().filter(|(_, count)| **count > whole.error());
            frequent.for_each(|(value, _)| assert!(whole.get(hash_bits(*value as u64)) > 0, "{value} is not held"));
            let shown = |top: &Top| top.first(50).into_iter().map(|(_, label, count)| (label, count)).collect::<Vec<_>>();
            for size in [1, 100, 7777] {
                let mut parts = Top::new(capacity);
                for values in values.chunks(size) {
                    let mut part = parts.part();
                    add(&mut part, values, true);
                    parts.merge(part);
                }
                assert_eq!((shown(&parts), parts.error()), (shown(&whole), whole.error()), "{capacity} {size}");
            }
        }
    }
}
