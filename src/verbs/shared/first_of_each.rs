//! The first records of each key: all of `unique`, and `head --by`.

use super::distinct::{FirstInChunk, among_first};
use super::key_table::KeyTable;
use super::keys::{KeyField, key_columns};
use super::memory::{Budget, owned};
use super::sorter::{Sorter, numbered, numbers};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::Schema;
use crate::tensor::hash::row_hashes;
use crate::verbs::verb::{Deferred, Flow, Fold, Map};
use std::sync::Arc;

/// Passes on the first `most` records of each key, in input order. Keeps the keys in memory and, if they become too many, also the
/// records whose keys are not among them.
pub struct FirstOfEach {
    verb: &'static str,
    schema: Arc<Schema>,
    options: Options,
    /// The fields of the key; `None` for all.
    keys: Option<Vec<KeyField>>,
    most: u64,
    table: KeyTable,
    /// The number of records passed on, by key number; not needed for a single one.
    counts: Vec<u64>,
    /// Number of records so far.
    nrows: u64,
    /// Once there are too many keys.
    spilled: Option<Spilled>,
}

/// Records that wait in temporary files for the end of the input.
struct Spilled {
    /// Records with keys that are not in the table and their numbers, sorted by the hash of the key; `None` once read.
    others: Option<Sorter>,
    /// The first records of each key, sorted by number.
    firsts: Sorter,
}

impl FirstOfEach {
    /// `most` is at least 1, and `keys` is `None` for all fields.
    pub fn new(verb: &'static str, most: u64, keys: Option<Vec<KeyField>>, schema: &Arc<Schema>, options: &Options) -> FirstOfEach {
        FirstOfEach {
            verb,
            schema: schema.clone(),
            options: options.clone(),
            keys,
            most,
            table: KeyTable::unlimited(options),
            counts: Vec::new(),
            nrows: 0,
            spilled: None,
        }
    }

    fn keys_of(&self, chunk: &Chunk) -> Result<Chunk> {
        match &self.keys {
            Some(keys) => key_columns(keys, chunk),
            None => Ok(chunk.clone()),
        }
    }

    /// Of these rows and their key numbers, those that are among the first of their keys.
    fn counted(&mut self, rows: impl Iterator<Item = (usize, u32)>) -> Vec<usize> {
        self.counts.resize(self.table.len(), 0);
        among_first(rows, self.most, &mut self.counts)
    }

    /// Sets aside the records whose keys are not in the table.
    fn spill(&mut self, chunk: &Chunk, keys: &Chunk, first: u64) -> Result<()> {
        let found = self.table.find(keys);
        let known: Vec<usize> = match self.most {
            1 => Vec::new(),
            _ => self.counted(found.iter().enumerate().filter_map(|(row, key)| Some((row, (*key)?)))),
        };
        let rows: Vec<usize> = found.iter().enumerate().filter(|(_, key)| key.is_none()).map(|(row, _)| row).collect();
        let numbers_of = |rows: &[usize]| numbers(rows.iter().map(|row| first + *row as u64));
        let spilled = self.spilled.get_or_insert_with(|| Spilled {
            others: Some(Sorter::new(self.verb, &numbered(&self.schema), &[], &self.options)),
            firsts: Sorter::new(self.verb, &self.schema, &[], &self.options),
        });
        if !known.is_empty() {
            spilled.firsts.push(chunk.gather(&known)?, vec![numbers_of(&known)])?;
        }
        if let (Some(others), false) = (&mut spilled.others, rows.is_empty()) {
            let mut chunk = chunk.gather(&rows)?;
            let positions = numbers_of(&rows);
            let hashes = numbers(row_hashes(&keys.gather(&rows)?.columns, rows.len()));
            chunk.columns.push(positions.clone());
            others.push(chunk, vec![hashes, positions])?;
        }
        Ok(())
    }
}

impl Fold for FirstOfEach {
    fn before(&self) -> Option<(Arc<dyn Map>, Arc<Schema>)> {
        let map = FirstInChunk { keys: self.keys.clone(), most: self.most, options: self.options.clone() };
        Some((Arc::new(map), self.schema.clone()))
    }

    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let keys = self.keys_of(&chunk)?;
        let first = self.nrows;
        self.nrows += chunk.nrows as u64;
        if self.spilled.is_some() || self.table.nbytes() >= Budget::room(&self.options) {
            self.spill(&chunk, &keys, first)?;
            return Ok(Flow::More);
        }
        let found = self.table.insert(&keys)?;
        let rows = match self.most {
            1 => found.fresh,
            _ => self.counted(found.numbers.into_iter().enumerate()),
        };
        if rows.len() == chunk.nrows {
            out.push(chunk);
        } else if !rows.is_empty() {
            out.push(chunk.gather(&rows)?);
        }
        Ok(Flow::More)
    }

    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        let Some(mut spilled) = self.spilled.take() else { return Ok(None) };
        if let Some(mut others) = spilled.others.take() {
            // The distinct keys with this hash, each from its first record, and their counts. There is hardly ever more than one.
            let (mut hash, mut known): (u64, Vec<(Chunk, u64)>) = (0, Vec::new());
            while let Some(chunk) = others.next_deferred()? {
                let mut chunk = chunk()?;
                let number = chunk.columns.pop().ok_or_else(|| Error::internal("records without numbers"))?;
                let keys = self.keys_of(&chunk)?;
                let mut rows = Vec::new();
                for (row, of_row) in row_hashes(&keys.columns, keys.nrows).into_iter().enumerate() {
                    if of_row != hash {
                        (hash, known) = (of_row, Vec::new());
                    }
                    let is_equal = |key: &Chunk| key.columns.iter().zip(&keys.columns).all(|(a, b)| a.keys_equal(0, b, row));
                    match known.iter_mut().find(|(key, _)| is_equal(key)) {
                        Some((_, count)) if *count == self.most => continue,
                        Some((_, count)) => *count += 1,
                        None => known.push((keys.slice(row, 1), 1)),
                    }
                    rows.push(row);
                }
                known = known.into_iter().map(|(key, count)| Ok((owned(&key)?, count))).collect::<Result<_>>()?;
                spilled.firsts.push(chunk.gather(&rows)?, vec![number.gather(&rows)?])?;
            }
        }
        self.spilled.insert(spilled).firsts.next_deferred()
    }
}
