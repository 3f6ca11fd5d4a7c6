//! Chunks that a verb holds, limited by `--max-memory`.

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::verbs::verb::Deferred;
use std::collections::VecDeque;
use std::sync::Arc;

/// Chunks in order; their rows and bytes are counted.
#[derive(Debug)]
pub struct Held {
    chunks: VecDeque<Chunk>,
    nrows: usize,
    budget: Budget,
    /// Bytes per row besides its values.
    row_nbytes: u64,
    /// Small chunks are merged to about this size.
    part_nbytes: Option<usize>,
    /// Of the chunks at the end that are smaller: how often each was merged, and their bytes together.
    small: VecDeque<u8>,
    small_nbytes: usize,
}

/// Chunks are merged to this size, so that rows taken from all of them do not cost more the more there are.
const PART_NBYTES: usize = 32 << 20;
/// That many chunks in turn that were merged equally often are merged, so that tiny ones do not pile up before they are that large.
const FAN_IN: usize = 128;

impl Held {
    /// Holds nothing yet. `verb` and `way_out` are used in the error at the limit.
    pub fn new(verb: impl Into<String>, way_out: &'static str, options: &Options) -> Held {
        Held {
            chunks: VecDeque::new(),
            nrows: 0,
            budget: Budget::new(verb, way_out, options),
            row_nbytes: 0,
            part_nbytes: None,
            small: VecDeque::new(),
            small_nbytes: 0,
        }
    }

    /// For verbs that emit the rows in another order: counts an index per row, and merges small chunks.
    pub fn for_reordering(self) -> Held {
        Held { row_nbytes: size_of::<usize>() as u64, part_nbytes: Some(PART_NBYTES), ..self }
    }

    /// For verbs that look at [`Held::nbytes`] and make room themselves; as [`Held::for_reordering`].
    pub fn unlimited(options: &Options) -> Held {
        let share = usize::try_from(Budget::limit(options) / 8).unwrap_or(usize::MAX);
        let options = Options { max_memory: u64::MAX, ..options.clone() };
        let held = Held::new(String::new(), "", &options).for_reordering();
        Held { part_nbytes: Some(share.min(PART_NBYTES)), ..held }
    }

    /// Bytes held, and counted besides.
    pub fn nbytes(&self) -> u64 {
        self.budget.used
    }

    /// What was counted besides the chunks is given back.
    pub fn clear(&mut self) {
        self.chunks.clear();
        self.small.clear();
        (self.nrows, self.small_nbytes) = (0, 0);
        self.budget.set(0);
    }

    /// Number of rows held.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Appends a chunk.
    ///
    /// # Errors
    /// More than `--max-memory` would be held.
    pub fn push_back(&mut self, chunk: Chunk) -> Result<()> {
        self.budget.take(self.counted(&chunk))?;
        self.nrows += chunk.nrows;
        let nbytes = chunk.nbytes();
        self.chunks.push_back(chunk);
        let Some(part_nbytes) = self.part_nbytes else { return Ok(()) };
        self.small_nbytes += nbytes;
        self.small.push_back(0);
        if self.small_nbytes >= part_nbytes {
            self.merge_last(self.small.len())?;
            self.small.clear();
            self.small_nbytes = 0;
        }
        while let Some(merged) = self.small.back().copied()
            && self.small.iter().rev().take_while(|other| **other == merged).count() == FAN_IN
        {
            self.merge_last(FAN_IN)?;
            self.small.truncate(self.small.len() - FAN_IN);
            self.small.push_back(merged + 1);
        }
        Ok(())
    }

    fn merge_last(&mut self, count: usize) -> Result<()> {
        let last = self.chunks.split_off(self.chunks.len().saturating_sub(count));
        self.chunks.push_back(Chunk::concat(&Vec::from(last))?);
        Ok(())
    }

    /// Rows of the first chunk.
    pub fn first_nrows(&self) -> Option<usize> {
        self.chunks.front().map(|chunk| chunk.nrows)
    }

    /// Removes the first chunk.
    pub fn pop_front(&mut self) -> Option<Chunk> {
        let chunk = self.chunks.pop_front()?;
        if self.small.len() > self.chunks.len() {
            self.small.pop_front();
            self.small_nbytes = self.small_nbytes.saturating_sub(chunk.nbytes());
        }
        self.nrows -= chunk.nrows;
        self.budget.give_back(self.counted(&chunk));
        Some(chunk)
    }

    /// Bytes that a chunk counts.
    pub fn counted(&self, chunk: &Chunk) -> u64 {
        self.row_nbytes.saturating_mul(chunk.nrows as u64).saturating_add(chunk.nbytes() as u64)
    }

    /// Counts memory that the verb holds besides the chunks.
    ///
    /// # Errors
    /// More than `--max-memory` would be held.
    pub fn count(&mut self, nbytes: usize) -> Result<()> {
        self.budget.take(nbytes as u64)
    }

    /// Removes all chunks.
    pub fn take_parts(&mut self) -> Vec<Chunk> {
        std::iter::from_fn(|| self.pop_front()).collect()
    }

    /// Removes everything as one chunk; `None` if there is nothing.
    ///
    /// # Errors
    /// As [`Chunk::concat`].
    pub fn take_all(&mut self) -> Result<Option<Chunk>> {
        let parts = self.take_parts();
        if parts.is_empty() { Ok(None) } else { Chunk::concat(&parts).map(Some) }
    }
}

/// A copy of the rows: a few rows that are kept must not keep the whole chunk in memory.
///
/// # Errors
/// As [`Chunk::concat`].
pub fn owned(chunk: &Chunk) -> Result<Chunk> {
    // Two parts are always copied; one would be shared.
    let copy = Chunk::concat(&[chunk.clone(), chunk.slice(0, 0)])?;
    Ok(Chunk { origin: chunk.origin.clone(), ..copy })
}

/// Rows in a given order, emitted chunk by chunk, so that the rows held are never copied as a whole.
#[derive(Debug)]
pub struct Slices {
    parts: Arc<Parts>,
    /// Row indices, counted through all parts.
    order: Vec<usize>,
    given: usize,
    rows_per_chunk: usize,
}

/// Chunks whose rows are counted through all of them.
#[derive(Debug)]
pub struct Parts {
    chunks: Vec<Chunk>,
    /// The index of the first row of each chunk.
    starts: Vec<usize>,
}

impl Parts {
    /// The rows of all chunks.
    pub fn new(chunks: Vec<Chunk>) -> Parts {
        let starts = chunks.iter().scan(0, |end, part| Some(std::mem::replace(end, *end + part.nrows))).collect();
        Parts { chunks, starts }
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.chunks.iter().map(|p| p.nrows).sum()
    }

    /// Memory of all rows in bytes.
    pub fn nbytes(&self) -> usize {
        self.chunks.iter().map(Chunk::nbytes).sum()
    }

    /// The rows of these indices, in that order.
    ///
    /// # Errors
    /// As [`Chunk::interleave`].
    pub fn gather(&self, rows: &[usize]) -> Result<Chunk> {
        let locate = |row: &usize| {
            let part = self.starts.partition_point(|start| start <= row) - 1;
            (part, row - self.starts[part])
        };
        Chunk::interleave(&self.chunks, &rows.iter().map(locate).collect::<Vec<_>>())
    }
}

impl Slices {
    /// The rows of all parts in this order, in chunks of about 4 MiB, or of `--chunk-rows`.
    pub fn new(chunks: Vec<Chunk>, order: Vec<usize>, options: &Options) -> Slices {
        let parts = Parts::new(chunks);
        let by_size = rows_per_chunk(parts.nbytes(), parts.nrows(), 4 << 20);
        let rows_per_chunk = options.chunk_rows.unwrap_or(by_size).clamp(1, MAX_ROWS);
        Slices { parts: Arc::new(parts), order, given: 0, rows_per_chunk }
    }

    /// The next rows.
    ///
    /// # Errors
    /// As [`Chunk::interleave`].
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        self.next_deferred().map(|chunk| chunk()).transpose()
    }

    /// The next rows, to be taken on any thread.
    pub fn next_deferred(&mut self) -> Option<Deferred> {
        let end = self.order.len().min(self.given + self.rows_per_chunk);
        let rows = self.order[self.given..end].to_vec();
        self.given = end;
        let parts = self.parts.clone();
        (!rows.is_empty()).then(|| Box::new(move || parts.gather(&rows)) as Deferred)
    }
}

/// Rows in a chunk, at most.
const MAX_ROWS: usize = 1 << 16;

/// Rows of about `wanted` bytes, where all take `nbytes`.
pub fn rows_per_chunk(nbytes: usize, nrows: usize, wanted: usize) -> usize {
    (wanted / (nbytes / nrows.max(1)).max(1)).clamp(1, MAX_ROWS)
}

/// Bytes in use, limited by `--max-memory`.
#[derive(Debug)]
pub struct Budget {
    verb: String,
    way_out: &'static str,
    limit: u64,
    used: u64,
}

impl Budget {
    /// Nothing is used yet. The limit is `--max-memory`.
    pub fn new(verb: impl Into<String>, way_out: &'static str, options: &Options) -> Budget {
        Budget { verb: verb.into(), way_out, limit: Budget::limit(options), used: 0 }
    }

    /// `--max-memory` in bytes.
    pub fn limit(options: &Options) -> u64 {
        options.max_memory
    }

    /// Bytes that a verb holds before it writes them to a temporary file: the rest is for what it does with them.
    pub fn room(options: &Options) -> u64 {
        let limit = Budget::limit(options);
        limit - (limit / 2).min(256 << 20)
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// More than the limit would be used.
    pub fn take(&mut self, nbytes: u64) -> Result<()> {
        self.used = self.used.saturating_add(nbytes);
        if self.used > self.limit {
            let error = format!("{} needs more than {} of memory", self.verb, human(self.limit));
            return Err(Error::data(error).help(self.way_out).help("or raise the limit with --max-memory"));
        }
        Ok(())
    }

    /// The bytes in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Sets the bytes in use.
    pub fn set(&mut self, nbytes: u64) {
        self.used = nbytes;
    }

    /// Subtracts bytes.
    pub fn give_back(&mut self, nbytes: u64) {
        self.used = self.used.saturating_sub(nbytes);
    }
}

/// A number of bytes in words.
pub fn human(nbytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.iter().find(|(_, bits)| nbytes >> bits > 0) {
        Some((unit, bits)) => {
            let tenths = nbytes.saturating_mul(10) >> bits;
            if tenths.is_multiple_of(10) { format!("{} {unit}", tenths / 10) } else { format!("{}.{} {unit}", tenths / 10, tenths % 10) }
        }
        None => format!("{nbytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Origin;
    use crate::tensor::Tensor;
    use arrow_array::Int64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    #[test]
    fn tiny_chunks_are_merged_in_order() {
        let chunk = |i: i64| {
            let column = Tensor::Leaf(Arc::new(Int64Array::from_iter_values([i])));
            Chunk::try_new(1, vec![column], Origin::consecutive("a".into(), i as u64 + 1)).unwrap()
        };
        let mut held = Held::unlimited(&Options::default());
        for i in 0..20_000 {
            held.push_back(chunk(i)).unwrap();
        }
        assert_eq!(held.pop_front().map(|first| first.nrows), Some(FAN_IN * FAN_IN));
        for i in 20_000..20_500 {
            held.push_back(chunk(i)).unwrap();
        }
        assert_eq!(held.nrows(), 20_500 - FAN_IN * FAN_IN);
        let parts = held.take_parts();
        assert!(parts.len() < 3 * FAN_IN, "{}", parts.len());
        let all = Chunk::concat(&parts).unwrap();
        let values = all.columns[0].as_leaf().unwrap().as_primitive::<Int64Type>().values().to_vec();
        assert!(values.into_iter().eq((FAN_IN * FAN_IN) as i64..20_500));
        assert_eq!(all.origin.records(0..1).map(|(first, _)| first), Some((FAN_IN * FAN_IN) as u64 + 1));
    }

    #[test]
    fn the_limit_is_a_message() {
        let options = Options { max_memory: 3 << 19, ..Options::default() };
        let mut budget = Budget::new("sort", "sort parts", &options);
        assert!(budget.take(1 << 20).is_ok());
        budget.give_back(1 << 19);
        let error = budget.take(1 << 21).expect_err("too much");
        assert_eq!(error.to_string(), "sort needs more than 1.5 MiB of memory\n  sort parts\n  or raise the limit with --max-memory");
    }
}
