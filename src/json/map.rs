//! A column of maps with string keys, which are JSON objects.

use super::builder::{Builder, LateErrors, finish_below};
use super::cursor::Cursor;
use super::error::Parse;
use super::forms::elements;
use super::keys::{read_key, repeated};
use super::rules::Rules;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::builder::{Nulls, Splits, StringRows};
use arrow_array::LargeStringArray;
use arrow_buffer::OffsetBuffer;
use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::BuildHasher;
use std::sync::Arc;

/// Maps under construction, over a column of their values.
pub struct MapColumn<C> {
    rules: Rules,
    nulls: Nulls,
    splits: Splits,
    keys: StringRows,
    values: C,
    seen: SeenKeys,
    spelled: Vec<u8>,
}

impl<C: Builder> MapColumn<C> {
    /// A column of maps over a column of their values.
    pub fn new(rules: Rules, values: C) -> MapColumn<C> {
        MapColumn {
            rules,
            nulls: Nulls::default(),
            splits: Splits::default(),
            keys: StringRows::default(),
            values,
            seen: SeenKeys::default(),
            spelled: Vec::new(),
        }
    }

    /// Number of rows so far.
    pub fn nrows(&self) -> usize {
        self.splits.nrows()
    }

    /// Whether a row may be null.
    pub fn nullable(&self) -> bool {
        self.rules.nullable
    }

    /// Whether the type was given with `--schema`.
    pub fn declared(&self) -> bool {
        self.rules.declared
    }

    /// Describes a value in messages.
    pub fn expected(&self) -> &'static str {
        "an object, which is a map"
    }

    /// See [`Builder::push_null`].
    pub fn push_null(&mut self) {
        self.nulls.push(self.splits.nrows());
        self.push_blank();
    }

    /// See [`Builder::push_blank`].
    pub fn push_blank(&mut self) {
        self.splits.push_end(self.values.nrows());
    }

    /// See [`Builder::truncate`].
    pub fn truncate(&mut self, nrows: usize) {
        self.nulls.truncate(nrows);
        let nvals = self.splits.truncate(nrows);
        self.keys.truncate(nvals);
        self.values.truncate(nvals);
    }

    /// See [`Builder::read_elements`].
    pub fn read_elements(&mut self, cursor: &mut Cursor) -> Parse<()> {
        elements(cursor, |cursor| self.read(cursor))
    }

    /// See [`Builder::read`].
    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        if !cursor.take(b'{') {
            self.rules.expect_null(cursor, self.expected())?;
            self.push_null();
            return Ok(());
        }
        self.seen.begin();
        cursor.space();
        if !cursor.take(b'}') {
            loop {
                self.read_entry(cursor)?;
                if !cursor.more(b'}')? {
                    break;
                }
            }
        }
        self.splits.push_end(self.values.nrows());
        Ok(())
    }

    fn read_entry(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let start = cursor.pos();
        let name = read_key(cursor, &mut self.spelled)?;
        self.keys.push(name.as_bytes());
        if self.seen.is_repeated(&self.keys, self.splits.nvals()) {
            return Err(repeated(name, start));
        }
        self.values.forget_sizes();
        self.values.read(cursor).map_err(|e| e.in_field(name))
    }

    /// See [`Builder::finish`].
    pub fn finish(self, late: &mut LateErrors) -> Result<Tensor> {
        let nrows = self.splits.nrows();
        let partition = self.splits.finish()?;
        let values = finish_below(&partition, late, |late| self.values.finish(late))?;
        let (offsets, bytes) = self.keys.into_parts();
        let keys = LargeStringArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), None)
            .map_err(|e| Error::internal(format!("{e}")))?;
        let entries = Tensor::structure(partition.nvals(), vec![Tensor::Leaf(Arc::new(keys)), values], None)?;
        Tensor::list(partition, entries, self.nulls.finish(nrows))
    }
}

/// Maximum number of keys in an object that are compared pairwise.
const FEW: usize = 8;
/// Larger tables are not kept for the next object.
const MAX_KEPT: usize = 1 << 12;

/// Detects repeated keys of an object among the keys of a column.
#[derive(Default)]
struct SeenKeys {
    /// The rows of the current object's keys, by hash; with linear probing if hashes are equal.
    rows: HashMap<u64, usize>,
    hasher: RandomState,
}

impl SeenKeys {
    /// Resets to the start of an object.
    fn begin(&mut self) {
        if self.rows.capacity() > MAX_KEPT {
            self.rows = HashMap::new();
        } else if !self.rows.is_empty() {
            self.rows.clear();
        }
    }

    /// Whether the last key equals an earlier key, from row `first` on.
    fn is_repeated(&mut self, keys: &StringRows, first: usize) -> bool {
        let last = keys.nrows() - 1;
        if last - first < FEW {
            return (first..last).any(|row| keys.row(row) == keys.row(last));
        }
        let unseen = if self.rows.is_empty() { first } else { last };
        (unseen..=last).any(|row| !self.insert(keys, row))
    }

    fn insert(&mut self, keys: &StringRows, row: usize) -> bool {
        let mut hash = self.hasher.hash_one(keys.row(row));
        loop {
            match self.rows.entry(hash) {
                Entry::Vacant(free) => {
                    free.insert(row);
                    return true;
                }
                Entry::Occupied(other) if keys.row(*other.get()) == keys.row(row) => return false,
                Entry::Occupied(_) => hash = hash.wrapping_add(1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_key_is_found_among_few_and_many() {
        for nkeys in [2, FEW, FEW + 1, 1000] {
            for (again, expected) in [(Some(0), true), (Some(nkeys - 1), true), (None, false)] {
                let (mut keys, mut seen) = (StringRows::default(), SeenKeys::default());
                keys.push(b"0");
                seen.begin();
                for key in 0..nkeys {
                    keys.push(key.to_string().as_bytes());
                    assert!(!seen.is_repeated(&keys, 1));
                }
                keys.push(again.map_or_else(|| "new".to_owned(), |key| key.to_string()).as_bytes());
                assert_eq!(seen.is_repeated(&keys, 1), expected, "{nkeys} keys, {again:?}");
            }
        }
    }
}
