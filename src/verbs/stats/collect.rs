//! Collects the values of several chunks until they are worth summarizing.
//!
//! If there are few fields, the values become one chunk, which any thread summarizes. Many fields are divided into
//! shares. Any thread adds values to the summaries of a share, one thread at a time, because creating a summary of each
//! field for each part would cost more than the values themselves.

use super::pick::{Pick, joined, picked_columns, picked_fields, shares_of};
use super::summary::Summary;
use crate::chunk::{Chunk, Origin};
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::verbs::verb::{Deferred, Flow, Fold};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The minimum number of fields that are divided into shares.
const LEAST_FIELDS: usize = 256;
/// Bytes collected per field for a chunk, and for a part of a share.
const CHUNK_NBYTES: usize = 8 << 10;
const PART_NBYTES: usize = 4 << 10;
/// Number of shares.
const SHARES: usize = 16;
/// Total size of the values that summaries collect before adding them to their sketches, which is cheaper for many values at once.
const WAITING_NBYTES: usize = 96 << 20;
/// Parts of a share that may wait for the thread that adds; a thread with one more waits itself, which bounds the memory.
const MAX_WAITING: u64 = 4;

/// The summaries of all fields, in shares.
#[derive(Clone)]
pub struct Shares(Arc<Vec<Share>>);

struct Share {
    /// Its fields.
    picks: Vec<Pick>,
    state: Mutex<ShareState>,
    /// Signals that a part was added or that no thread is adding.
    added: Condvar,
}

/// A part of a share.
struct SharePart {
    /// The columns of each chunk.
    chunks: Vec<Vec<Tensor>>,
    is_last: bool,
}

/// Parts come from any thread in any order; they are added in their own order.
struct ShareState {
    /// Taken by a thread while it adds to them.
    summaries: Option<Vec<Summary>>,
    parts: BTreeMap<u64, SharePart>,
    next: u64,
    error: Option<Error>,
}

impl Shares {
    /// Empty summaries; `None` if there are few fields.
    pub fn new(fields: &[Summary]) -> Option<Shares> {
        let nleaves = fields.iter().map(Summary::nleaves).sum::<usize>();
        if nleaves < LEAST_FIELDS { None } else { Some(Shares::waiting(fields, WAITING_NBYTES / nleaves)) }
    }

    /// Empty summaries, each of which collects up to `most` bytes.
    fn waiting(fields: &[Summary], most: usize) -> Shares {
        let share = |picks: Vec<Pick>| {
            let mut summaries = picked_fields(fields, &picks);
            summaries.iter_mut().for_each(|summary| summary.wait(most));
            let state = ShareState { summaries: Some(summaries), parts: BTreeMap::new(), next: 0, error: None };
            Share { picks, state: Mutex::new(state), added: Condvar::new() }
        };
        Shares(Arc::new(shares_of(fields, SHARES).into_iter().map(share).collect()))
    }

    /// The summaries of all fields, after everything has been added.
    ///
    /// # Errors
    /// The values of a field cannot be summarized.
    pub fn take(&self) -> Result<Vec<Summary>> {
        let mut all = Vec::new();
        for share in self.0.iter() {
            let mut state = lock(&share.state);
            state.error.take().map_or(Ok(()), Err)?;
            let summaries = state.summaries.take().ok_or_else(|| Error::internal("summaries that are still added to"))?;
            joined(&mut all, summaries);
        }
        Ok(all)
    }
}

impl SharePart {
    fn add(&self, fields: &mut [Summary]) -> Result<()> {
        add(fields, &self.chunks.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let end = |field: &mut Summary| field.end().map_err(|e| e.in_field(&field.path));
        if self.is_last { fields.iter_mut().try_for_each(end) } else { Ok(()) }
    }
}

impl Share {
    /// Adds a part, and the parts after it that have already arrived. If another thread is adding, that thread adds it.
    fn add(&self, number: u64, part: SharePart) {
        let mut state = lock(&self.state);
        state.parts.insert(number, part);
        let Some(mut summaries) = state.summaries.take() else {
            while state.summaries.is_none() && number > state.next + MAX_WAITING {
                state = self.added.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            return;
        };
        let mut adding = Adding { share: self, done: false };
        loop {
            let next = state.next;
            let Some(part) = state.parts.remove(&next) else { break };
            state.next += 1;
            drop(state);
            let added = part.add(&mut summaries);
            drop(part);
            state = lock(&self.state);
            if let Err(error) = added {
                state.error.get_or_insert(error);
            }
            self.added.notify_all();
        }
        state.summaries = Some(summaries);
        adding.done = true;
        self.added.notify_all();
    }
}

/// Marks that a thread is adding to a share. If the thread panics, waiting threads are released.
struct Adding<'a> {
    share: &'a Share,
    done: bool,
}

impl Drop for Adding<'_> {
    fn drop(&mut self) {
        if !self.done {
            lock(&self.share.state).summaries = Some(Vec::new());
            self.share.added.notify_all();
        }
    }
}

/// Adds the columns of chunks, field by field.
///
/// # Errors
/// The values of a field cannot be summarized.
pub fn add(fields: &mut [Summary], chunks: &[&[Tensor]]) -> Result<()> {
    if chunks.is_empty() {
        return Ok(());
    }
    for (i, field) in fields.iter_mut().enumerate() {
        let parts: Vec<&Tensor> = chunks.iter().filter_map(|columns| columns.get(i)).collect();
        field.add(&Tensor::concat(&parts)?, None).map_err(|e| e.in_field(&field.path))?;
    }
    Ok(())
}

/// Collects chunks.
pub struct Collector {
    shares: Option<Shares>,
    /// With shares, the columns that the report still needs.
    kept: Vec<usize>,
    /// Number of fields.
    nleaves: usize,
    chunks: Vec<Chunk>,
    nbytes: usize,
    /// Number of parts given to each share.
    parts: u64,
    ready: Vec<Deferred>,
}

impl Collector {
    /// Collects chunks of these fields. With shares, the values go to the shares, and the chunks emitted have only the
    /// columns `kept`.
    pub fn new(fields: &[Summary], shares: Option<Shares>, kept: Vec<usize>) -> Collector {
        let nleaves = fields.iter().map(Summary::nleaves).sum();
        Collector { shares, kept, nleaves, chunks: Vec::new(), nbytes: 0, parts: 0, ready: Vec::new() }
    }

    /// Emits what has been collected.
    fn give(&mut self, is_last: bool) {
        let chunks = std::mem::take(&mut self.chunks);
        self.nbytes = 0;
        let Some(shares) = &self.shares else {
            self.ready.push(Box::new(move || Chunk::concat(&chunks)));
            return;
        };
        let number = self.parts;
        self.parts += 1;
        let keep = |chunk: &Chunk| -> Result<Chunk> {
            let columns = self.kept.iter().filter_map(|column| chunk.columns.get(*column)).cloned();
            Chunk::try_new(chunk.nrows, columns.collect(), Origin::default())
        };
        let mut kept: Result<Vec<Chunk>> = chunks.iter().map(keep).collect();
        for at in 0..shares.0.len() {
            let columns = chunks.iter().map(|chunk| picked_columns(&chunk.columns, &shares.0[at].picks)).collect::<Result<_>>();
            let shares = shares.clone();
            // The first chunk has all records; the others are empty.
            let none = kept.as_ref().map_or_else(|_| Vec::new(), |kept| kept.iter().take(1).map(|chunk| chunk.slice(0, 0)).collect());
            let given = std::mem::replace(&mut kept, Ok(none));
            self.ready.push(Box::new(move || {
                shares.0[at].add(number, SharePart { chunks: columns?, is_last });
                Chunk::concat(&given?)
            }));
        }
    }
}

impl Fold for Collector {
    fn push(&mut self, chunk: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        let least = if self.shares.is_some() { PART_NBYTES } else { CHUNK_NBYTES };
        // Given before the chunk is added, so that there is always a last part.
        if self.nbytes / self.nleaves.max(1) >= least {
            self.give(false);
        }
        self.nbytes += chunk.nbytes();
        self.chunks.push(chunk);
        Ok(Flow::More)
    }

    fn deferred(&mut self) -> Vec<Deferred> {
        std::mem::take(&mut self.ready)
    }

    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        if !self.chunks.is_empty() {
            self.give(true);
            self.ready.reverse();
        }
        Ok(self.ready.pop())
    }
}

fn lock(state: &Mutex<ShareState>) -> MutexGuard<'_, ShareState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::top::Top;
    use super::*;
    use crate::schema::{DType, Field, Type};
    use arrow_array::Int64Array;

    #[test]
    fn parts_from_any_thread_are_added_in_order() {
        const FIELDS: usize = 300;
        let chunk = |number: i64, nrows: i64| {
            let column = |field: i64| -> Tensor {
                Tensor::Leaf(Arc::new(Int64Array::from_iter_values((0..nrows).map(|row| (number * 7919 + row * row) % (field + 5)))))
            };
            Chunk::try_new(nrows as usize, (0..FIELDS as i64).map(column).collect(), Origin::default()).unwrap()
        };
        let chunks: Vec<Chunk> = (0..40).map(|number| chunk(number, 30 + number)).collect();
        let field = |number: usize| Field::new(format!("f{number}"), Type::tensor(DType::Int64, Vec::new()));
        // The sketch holds fewer values than there are, so order matters.
        let empty: Vec<Summary> = (0..FIELDS).map(|n| Summary::new(&field(n), None, 0, &Top::new(16), &|_| true)).collect();
        let shown = |all: &[Summary]| -> Vec<String> {
            all.iter()
                .map(|s| format!("{} {:?} {:?} {:?}", s.values.count, s.values.distinct(), s.values.top.first(20), s.values.range))
                .collect()
        };
        for most in [1 << 12, 1 << 20] {
            let mut one_by_one = empty.clone();
            one_by_one.iter_mut().for_each(|summary| summary.wait(most));
            chunks.iter().for_each(|chunk| add(&mut one_by_one, &[&chunk.columns]).unwrap());
            one_by_one.iter_mut().for_each(|summary| summary.end().unwrap());

            let shares = Shares::waiting(&empty, most);
            let mut collector = Collector::new(&empty, Some(shares.clone()), vec![3]);
            let mut ready = Vec::new();
            for chunk in &chunks {
                assert_eq!(collector.push(chunk.clone(), &mut Vec::new()).unwrap(), Flow::More);
                ready.append(&mut collector.deferred());
            }
            while let Some(last) = collector.finish_deferred().unwrap() {
                ready.push(last);
            }
            assert!(ready.len() > 2 * SHARES, "{}", ready.len());
            let (mut first, second): (Vec<_>, Vec<_>) = ready.into_iter().enumerate().partition(|(number, _)| number % 3 == 0);
            first.reverse();
            let records = |parts: Vec<(usize, Deferred)>| parts.into_iter().map(|(_, part)| part().unwrap().nrows).sum::<usize>();
            let nrows = std::thread::scope(|scope| {
                let other = scope.spawn(move || records(first));
                records(second) + other.join().unwrap()
            });
            assert_eq!(nrows, chunks.iter().map(|chunk| chunk.nrows).sum::<usize>());
            assert_eq!(shown(&shares.take().unwrap()), shown(&one_by_one));
        }
    }
}
