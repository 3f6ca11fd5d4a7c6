//! The table of distinct keys.

use super::memory::{Budget, owned};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::tensor::hash::{Identity, Words, row_hashes};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;

/// The distinct keys seen so far, numbered from 0 in order of first occurrence. Values are compared exactly
/// ([`crate::tensor::Tensor::keys_equal`]): nulls are equal to each other, and so are NaNs and the two zeros.
///
/// A key of one number of at most 64 bits is found by a word that no other value has ([`Words`]), so nothing else is read; other keys are
/// found by a hash and then compared.
pub struct KeyTable {
    /// The key with each word, or the latest key with each hash.
    last: HashMap<u64, u32, BuildHasherDefault<Identity>>,
    /// The key that is null, if keys have words.
    null: Option<u32>,
    /// If keys have hashes: for each key, the previous key with the same hash, or the key itself if there is none.
    before: Vec<u32>,
    /// If keys have hashes: the location of each key, which is a part and a row in it.
    at: Vec<(u32, u32)>,
    /// The number of keys.
    len: usize,
    parts: Vec<Chunk>,
    budget: Budget,
}

/// The keys of a chunk.
pub struct ChunkKeys {
    /// The key number of each row.
    pub numbers: Vec<u32>,
    /// The rows with new keys.
    pub fresh: Vec<usize>,
}

/// Approximate bytes per key in the table.
const KEY_NBYTES: u64 = 64;

/// The number of no key.
const UNKNOWN: u32 = u32::MAX;

impl KeyTable {
    /// An empty table. `verb` and `way_out` appear in the error when `--max-memory` is exceeded.
    pub fn new(verb: &'static str, way_out: &'static str, options: &Options) -> KeyTable {
        let budget = Budget::new(verb, way_out, options);
        KeyTable { last: HashMap::default(), null: None, before: Vec::new(), at: Vec::new(), len: 0, parts: Vec::new(), budget }
    }

    /// An empty table for a verb that checks [`KeyTable::nbytes`] itself.
    pub fn unlimited(options: &Options) -> KeyTable {
        KeyTable::new("", "", &Options { max_memory: u64::MAX, ..options.clone() })
    }

    /// Finds the key of each row and adds new keys. The columns of `keys` form the key, and have the same types in each call. Expected
    /// O(values).
    ///
    /// # Errors
    /// The distinct keys exceed `--max-memory`, or are too many.
    pub fn insert(&mut self, keys: &Chunk) -> Result<ChunkKeys> {
        let found = match Words::of(&keys.columns) {
            Some(words) => self.insert_words(&words)?,
            None => self.insert_hashed(keys)?,
        };
        if !found.fresh.is_empty() {
            let fresh = if found.fresh.len() == keys.nrows { owned(keys)? } else { keys.gather(&found.fresh)? };
            self.budget.take((fresh.nbytes() as u64).saturating_add(KEY_NBYTES.saturating_mul(fresh.nrows as u64)))?;
            self.parts.push(fresh);
        }
        Ok(found)
    }

    fn insert_words(&mut self, words: &Words) -> Result<ChunkKeys> {
        let mut found = ChunkKeys { numbers: self.numbers(words), fresh: Vec::new() };
        for (row, known) in found.numbers.iter_mut().enumerate().filter(|(_, known)| **known == UNKNOWN) {
            let number = number(self.len)?;
            *known = match words.get(row) {
                None => *self.null.get_or_insert(number),
                Some(word) => *self.last.entry(word).or_insert(number),
            };
            if *known == number {
                self.len += 1;
                found.fresh.push(row);
            }
        }
        Ok(found)
    }

    /// The key of each row, or [`UNKNOWN`]. A loop of its own, so that the reads of many rows wait for memory at the same time.
    fn numbers(&self, words: &Words) -> Vec<u32> {
        let mut numbers: Vec<u32> = words.words.iter().map(|word| self.last.get(word).copied().unwrap_or(UNKNOWN)).collect();
        words.nulls().for_each(|row| numbers[row] = self.null.unwrap_or(UNKNOWN));
        numbers
    }

    fn insert_hashed(&mut self, keys: &Chunk) -> Result<ChunkKeys> {
        let part = number(self.parts.len())?;
        let mut found = ChunkKeys { numbers: Vec::with_capacity(keys.nrows), fresh: Vec::new() };
        for (row, hash) in row_hashes(&keys.columns, keys.nrows).into_iter().enumerate() {
            let next = number(self.len)?;
            let known = match self.last.entry(hash) {
                Entry::Vacant(entry) => {
                    entry.insert(next);
                    self.before.push(next);
                    None
                }
                Entry::Occupied(mut entry) => {
                    let (parts, at, before) = (&self.parts, &self.at, &self.before);
                    // Rows of this chunk are compared in place; the new rows are copied together at the end.
                    let equal = |key: u32| {
                        let (of, place) = at[key as usize];
                        if of == part {
                            keys.columns.iter().all(|c| c.keys_equal(found.fresh[place as usize], c, row))
                        } else {
                            parts[of as usize].columns.iter().zip(&keys.columns).all(|(a, b)| a.keys_equal(place as usize, b, row))
                        }
                    };
                    let earlier = |key: &u32| Some(before[*key as usize]).filter(|b| b != key);
                    let known = std::iter::successors(Some(*entry.get()), earlier).find(|key| equal(*key));
                    if known.is_none() {
                        self.before.push(entry.insert(next));
                    }
                    known
                }
            };
            if known.is_none() {
                self.at.push((part, number(found.fresh.len())?));
                self.len += 1;
                found.fresh.push(row);
            }
            found.numbers.push(known.unwrap_or(next));
        }
        Ok(found)
    }

    /// The key number of each row, if it is in the table. The table does not change. Expected O(values).
    pub fn find(&self, keys: &Chunk) -> Vec<Option<u32>> {
        if let Some(words) = Words::of(&keys.columns) {
            return self.numbers(&words).into_iter().map(|number| (number != UNKNOWN).then_some(number)).collect();
        }
        let hashes = row_hashes(&keys.columns, keys.nrows);
        let find = |row: usize| {
            let earlier = |key: &u32| Some(self.before[*key as usize]).filter(|b| b != key);
            std::iter::successors(self.last.get(&hashes[row]).copied(), earlier).find(|key| {
                let (part, place) = self.at[*key as usize];
                self.parts[part as usize].columns.iter().zip(&keys.columns).all(|(a, b)| a.keys_equal(place as usize, b, row))
            })
        };
        (0..keys.nrows).map(find).collect()
    }

    /// Approximate bytes in use.
    pub fn nbytes(&self) -> u64 {
        self.budget.used()
    }

    /// The number of distinct keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Removes and returns the keys, in number order.
    pub fn take_parts(&mut self) -> Vec<Chunk> {
        std::mem::take(&mut self.parts)
    }
}

/// A number of a key, a part or a row, which is not [`UNKNOWN`].
fn number(n: usize) -> Result<u32> {
    u32::try_from(n).ok().filter(|n| *n != UNKNOWN).ok_or_else(|| Error::data("more than 4,294,967,295 distinct keys"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Origin;
    use crate::tensor::Tensor;
    use arrow_array::{ArrayRef, Float32Array, Int64Array, LargeStringArray, UInt8Array};
    use std::sync::Arc;

    /// Each row's key number, inserted in chunks of two rows and then found again.
    #[test]
    fn keys_are_numbered_in_order_of_first_occurrence() {
        let cases: Vec<(ArrayRef, Vec<u32>)> = vec![
            (Arc::new(Int64Array::from(vec![Some(7), None, Some(0), Some(7), None, Some(i64::MIN)])), vec![0, 1, 2, 0, 1, 3]),
            (Arc::new(UInt8Array::from(vec![1, 1, 255, 0, 255, 1])), vec![0, 0, 1, 2, 1, 0]),
            (
                Arc::new(Float32Array::from(vec![Some(0.0), Some(f32::NAN), Some(-0.0), Some(-f32::NAN), None, Some(1.0)])),
                vec![0, 1, 0, 1, 2, 3],
            ),
            (Arc::new(LargeStringArray::from(vec![Some("a"), Some(""), None, Some("a"), Some(""), None])), vec![0, 1, 2, 0, 1, 2]),
        ];
        for (array, expected) in cases {
            let chunk = |from: usize| Chunk::try_new(2, vec![Tensor::Leaf(array.slice(from, 2))], Origin::default()).unwrap();
            let mut table = KeyTable::unlimited(&Options::default());
            let numbers: Vec<u32> = [0, 2, 4].iter().flat_map(|from| table.insert(&chunk(*from)).unwrap().numbers).collect();
            assert_eq!(numbers, expected);
            assert_eq!(table.len(), expected.iter().max().map_or(0, |n| *n as usize + 1));
            let found: Vec<u32> = [0, 2, 4].iter().flat_map(|from| table.find(&chunk(*from))).map(Option::unwrap).collect();
            assert_eq!(found, expected);
            assert_eq!(table.take_parts().iter().map(|part| part.nrows).sum::<usize>(), table.len());
        }
    }
}
