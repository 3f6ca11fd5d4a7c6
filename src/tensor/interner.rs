//! Maps values to dictionary indices, in order of first occurrence.
//!
//! Keys are 64 bits. Numbers are their own keys, and so are strings of up to seven bytes, with their length in the top
//! byte, so most words never access the text of the dictionary. Only longer strings are hashed into a key and compared.

use super::short::same;
use std::hash::{BuildHasher, RandomState};

/// Numbers below this use a separate table, without hashing.
const DIRECT: u64 = 1 << 17;
const EMPTY: u32 = u32::MAX;
const FIRST_SLOTS: usize = 1024;
/// The top byte in the keys of long strings.
const HASHED: u64 = 0xff << 56;

/// A key, its index, and the position of its text in the dictionary, if it is compared.
#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u64,
    index: u32,
    text: u32,
}

/// Keys with open addressing.
#[derive(Clone, Debug)]
struct Table {
    slots: Vec<Slot>,
    count: usize,
    seed: u64,
}

impl Table {
    fn new() -> Table {
        Table { slots: Vec::new(), count: 0, seed: RandomState::new().hash_one(0) | 1 }
    }

    /// The index of a key, if `is_same` confirms the match; `new` is the slot for a new key.
    #[inline]
    fn index_of(&mut self, new: Slot, is_same: impl Fn(Slot) -> bool) -> u32 {
        if self.count * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = mixed(new.key, self.seed) as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.index == EMPTY {
                *slot = new;
                self.count += 1;
                return new.index;
            }
            if slot.key == new.key && is_same(*slot) {
                return slot.index;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(FIRST_SLOTS);
        let old = std::mem::replace(&mut self.slots, vec![Slot { key: 0, index: EMPTY, text: 0 }; size]);
        for slot in old.into_iter().filter(|slot| slot.index != EMPTY) {
            let mut at = mixed(slot.key, self.seed) as usize & (size - 1);
            while self.slots[at].index != EMPTY {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = slot;
        }
    }
}

#[inline]
fn mixed(key: u64, seed: u64) -> u64 {
    let product = u128::from(key ^ seed) * u128::from(seed ^ 0x9E37_79B9_7F4A_7C15);
    product as u64 ^ (product >> 64) as u64
}

/// Distinct numbers, as their bits.
#[derive(Debug)]
pub struct Numbers {
    table: Table,
    direct: Vec<u32>,
    /// The numbers by index.
    pub values: Vec<u64>,
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::new()
    }
}

impl Numbers {
    /// No numbers.
    pub fn new() -> Numbers {
        Numbers { table: Table::new(), direct: Vec::new(), values: Vec::new() }
    }

    /// Appends the index of each number to `indices`. Expected O(numbers).
    pub fn intern(&mut self, numbers: &[u64], indices: &mut Vec<u32>) {
        indices.extend(numbers.iter().map(|number| {
            let next = self.values.len() as u32;
            let index = if *number < DIRECT {
                self.direct(*number as usize, next)
            } else {
                self.table.index_of(Slot { key: *number, index: next, text: 0 }, |_| true)
            };
            if index == next {
                self.values.push(*number);
            }
            index
        }));
    }

    /// Number of distinct numbers. Expected O(numbers).
    pub fn distinct(numbers: &[u64]) -> usize {
        let mut interner = Numbers::new();
        interner.intern(numbers, &mut Vec::with_capacity(numbers.len()));
        interner.values.len()
    }

    #[inline]
    fn direct(&mut self, number: usize, next: u32) -> u32 {
        if number >= self.direct.len() {
            self.direct.resize((number + 1).next_power_of_two(), EMPTY);
        }
        let index = &mut self.direct[number];
        if *index == EMPTY {
            *index = next;
        }
        *index
    }
}

/// Distinct strings, in the layout of a Parquet dictionary page: each preceded by its four-byte length.
#[derive(Clone, Debug)]
pub struct Strings {
    table: Table,
    /// The strings, with their lengths.
    pub page: Vec<u8>,
    /// The end of each string in the page.
    ends: Vec<usize>,
}

impl Default for Strings {
    fn default() -> Strings {
        Strings::new()
    }
}

impl Strings {
    /// No strings.
    pub fn new() -> Strings {
        Strings { table: Table::new(), page: Vec::new(), ends: Vec::new() }
    }

    /// The number of distinct strings. O(1).
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The strings by index, in order of first occurrence.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).map(|index| string_at(&self.page, &self.ends, index))
    }

    /// The index of the string in a range of `bytes`, which is the number of previous strings if it is new. Expected
    /// O(bytes), and O(1) for up to seven bytes.
    #[inline]
    pub fn intern(&mut self, bytes: &[u8], start: usize, end: usize) -> u32 {
        let next = self.ends.len() as u32;
        let length = end - start;
        let index = if length < 8 {
            let word = match bytes.get(start..start + 8) {
                Some(word) => word.try_into().map_or(0, u64::from_le_bytes) & !(u64::MAX << (8 * length)),
                None => bytes[start..end].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
            };
            self.table.index_of(Slot { key: word | (length as u64) << 56, index: next, text: 0 }, |_| true)
        } else {
            let string = &bytes[start..end];
            let key = hash(string, self.table.seed) | HASHED;
            let (page, ends) = (&self.page, &self.ends);
            let text = u32::try_from(page.len() + 4).unwrap_or(u32::MAX);
            self.table.index_of(Slot { key, index: next, text }, |slot| match page.get(slot.text as usize..) {
                Some(text) if slot.text < u32::MAX => {
                    text.get(..length).is_some_and(|text| same(text, string)) && length_before(page, slot.text as usize) == length
                }
                _ => string_at(page, ends, slot.index as usize) == string,
            })
        };
        if index == next {
            self.page.extend_from_slice(&(length as u32).to_le_bytes());
            self.page.extend_from_slice(&bytes[start..end]);
            self.ends.push(self.page.len());
        }
        index
    }
}

/// The length that precedes a string of the page.
#[inline]
fn length_before(page: &[u8], text: usize) -> usize {
    page.get(text - 4..text).and_then(|length| length.try_into().ok()).map_or(usize::MAX, |length| u32::from_le_bytes(length) as usize)
}

fn string_at<'a>(page: &'a [u8], ends: &[usize], index: usize) -> &'a [u8] {
    let start = index.checked_sub(1).map_or(0, |before| ends[before]) + 4;
    &page[start..ends[index]]
}

/// A hash of eight or more bytes.
fn hash(string: &[u8], seed: u64) -> u64 {
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let last = word(&string[string.len() - 8..]);
    let whole = string.chunks_exact(8).fold(string.len() as u64, |hash, bytes| mixed(hash ^ word(bytes), seed).wrapping_add(hash));
    mixed(whole ^ last, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_index() {
        let mut numbers = Numbers::new();
        let mut indices = Vec::new();
        let values: Vec<u64> = (0..20_000u64).map(|i| i % 5000 * 0x1_0001_0001).collect();
        numbers.intern(&values, &mut indices);
        assert_eq!((numbers.values.len(), Numbers::distinct(&values)), (5000, 5000));
        assert!(values.iter().zip(&indices).all(|(value, index)| numbers.values[*index as usize] == *value));
    }

    #[test]
    fn strings_of_any_length() {
        let text = "abcdefgh\0\0\0\0ijklmnopqrstuvwxyz0123456789";
        let bytes = text.as_bytes();
        let mut strings = Strings::new();
        for _ in 0..2 {
            for length in 0..=bytes.len() {
                for start in 0..=bytes.len() - length {
                    let index = strings.intern(bytes, start, start + length) as usize;
                    assert_eq!(string_at(&strings.page, &strings.ends, index), &bytes[start..start + length]);
                }
            }
        }
        let mut all: Vec<&[u8]> = strings.iter().collect();
        assert_eq!(all.len(), strings.count());
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), strings.count());
    }
}
