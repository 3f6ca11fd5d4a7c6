//! The records of least rank of each key: `tail --by`, `sample --by` and `sample --weights`.

use super::key_table::KeyTable;
use super::keys::{KeyField, key_columns};
use super::memory::{Slices, owned};
use super::pool::{Pool, RecordId};
use crate::chunk::Chunk;
use crate::error::Result;
use crate::options::Options;
use std::collections::BinaryHeap;

/// How many records of each key are kept.
#[derive(Clone, Copy, Debug)]
pub enum Share {
    /// At most this many. Others are not held.
    Most(usize),
    /// This fraction of them, rounded to the nearest number, halves to the even one. All records are held.
    Fraction(f64),
}

/// Keeps the records of least rank of each key; of equal ranks, the first.
pub struct LeastOfEach {
    /// The fields of the key. Without any, all records have the same.
    keys: Vec<KeyField>,
    share: Share,
    table: KeyTable,
    /// By key number: the ranks of the records kept, greatest first, with their places in `kept`.
    groups: Vec<BinaryHeap<(u64, usize)>>,
    kept: Vec<RecordId>,
    pool: Pool,
    options: Options,
    slices: Option<Slices>,
}

/// Approximate bytes for a record that is kept, besides its values.
const KEPT_NBYTES: u64 = 48;

impl LeastOfEach {
    /// `verb` and `way_out` appear in the error when `--max-memory` is exceeded.
    pub fn new(verb: impl Into<String>, way_out: &'static str, share: Share, keys: Vec<KeyField>, options: &Options) -> LeastOfEach {
        LeastOfEach {
            keys,
            share,
            table: KeyTable::unlimited(options),
            groups: Vec::new(),
            kept: Vec::new(),
            pool: Pool::new(verb, way_out, options),
            options: options.clone(),
            slices: None,
        }
    }

    /// Takes the next records with their ranks. Those without a rank are not kept.
    ///
    /// # Errors
    /// More than `--max-memory` would be held.
    pub fn push(&mut self, chunk: Chunk, ranks: impl Iterator<Item = Option<u64>>) -> Result<()> {
        let kept = self.kept.len();
        if self.pool.nrows() > kept.saturating_add(kept / 4) && !self.pool.has_room_for(&chunk) {
            self.compact()?;
        }
        let before = self.beside_nbytes();
        let numbers = match self.keys.is_empty() {
            true => vec![0; chunk.nrows],
            false => self.table.insert(&key_columns(&self.keys, &chunk)?)?.numbers,
        };
        self.groups.resize_with(self.table.len().max(1), BinaryHeap::new);
        let most = match self.share {
            Share::Most(most) => most,
            Share::Fraction(_) => usize::MAX,
        };
        let part = self.pool.next_part();
        let mut places = Vec::new();
        for (row, (key, rank)) in numbers.into_iter().zip(ranks).enumerate() {
            let Some(rank) = rank else { continue };
            let group = &mut self.groups[key as usize];
            let place = if group.len() < most {
                self.kept.push((part, row));
                group.push((rank, self.kept.len() - 1));
                self.kept.len() - 1
            } else {
                let Some(mut greatest) = group.peek_mut().filter(|greatest| rank < greatest.0) else { continue };
                greatest.0 = rank;
                self.kept[greatest.1] = (part, row);
                greatest.1
            };
            places.push(place);
        }
        if !places.is_empty() {
            self.hold(chunk, places)?;
        }
        self.pool.count(self.beside_nbytes() - before)?;
        let (held, kept) = (self.pool.nrows(), self.kept.len());
        if held > kept.saturating_mul(2).saturating_add(1024) {
            self.compact()?;
        }
        Ok(())
    }

    /// Holds the records of a chunk at these places of `kept`; other records only if they are few.
    fn hold(&mut self, chunk: Chunk, mut places: Vec<usize>) -> Result<()> {
        places.sort_unstable_by_key(|place| (self.kept[*place].1, *place));
        places.dedup();
        let chunk = if places.len() > chunk.nrows / 2 {
            chunk
        } else {
            let rows: Vec<usize> = places.iter().map(|place| self.kept[*place].1).collect();
            places.iter().enumerate().for_each(|(row, place)| self.kept[*place].1 = row);
            owned(&chunk.gather(&rows)?)?
        };
        self.pool.add(chunk)
    }

    fn compact(&mut self) -> Result<()> {
        self.pool.compact(&mut self.kept)?;
        self.pool.count(self.beside_nbytes())
    }

    /// Bytes held besides the records.
    fn beside_nbytes(&self) -> u64 {
        self.table.nbytes().saturating_add(KEPT_NBYTES.saturating_mul(self.kept.len() as u64))
    }

    /// The kept records, in the order of the input. Called after the last record until it returns `None`.
    ///
    /// # Errors
    /// None that depend on the data.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        if self.slices.is_none() {
            let mut kept = std::mem::take(&mut self.kept);
            if let Share::Fraction(fraction) = self.share {
                kept = chosen(std::mem::take(&mut self.groups), fraction).map(|place| kept[place]).collect();
            }
            self.groups = Vec::new();
            kept.sort_unstable();
            self.slices = Some(self.pool.take(kept, &self.options));
        }
        self.slices.as_mut().map_or(Ok(None), Slices::next_chunk)
    }
}

/// The places of the records of least rank, this fraction of each group.
fn chosen(groups: Vec<BinaryHeap<(u64, usize)>>, fraction: f64) -> impl Iterator<Item = usize> {
    groups.into_iter().flat_map(move |group| {
        let count = (fraction * group.len() as f64).round_ties_even() as usize;
        group.into_sorted_vec().into_iter().take(count).map(|(_, place)| place)
    })
}
