//! Chunks that a verb holds, limited by `--max-memory`.

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::verbs::verb::Deferred;
use std::collections::VecDeque;
use std::sync::Arc;

/// A queue of chunks with row and byte counts.
#[derive(Debug)]
pub struct Held {
    chunks: VecDeque<Chunk>,
    nrows: usize,
    budget: Budget,
    /// Additional bytes counted per row.
    row_nbytes: u64,
    /// Small chunks are merged to about this size.
    part_nbytes: Option<usize>,
    /// For the small chunks at the end: how often each was merged, and their total bytes.
    small: VecDeque<u8>,
    small_nbytes: usize,
}

/// Chunks are merged up to this size, so that gathering rows from all of them does not get slower with their number.
const PART_NBYTES: usize = 32 << 20;
/// This many consecutive chunks that were merged equally often are merged, so that tiny chunks do not accumulate.
const FAN_IN: usize = 128;

impl Held {
    /// Holds nothing yet. `verb` and `way_out` appear in the error when the limit is exceeded.
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

    /// For verbs that emit the rows in another order: also counts an index per row, and merges small chunks.
    fn for_reordering(self) -> Held {
        Held { row_nbytes: size_of::<usize>() as u64, part_nbytes: Some(PART_NBYTES), ..self }
    }

    /// Like [`Held::for_reordering`], for verbs that check [`Held::nbytes`] and make room themselves.
    pub fn unlimited(options: &Options) -> Held {
        let share = usize::try_from(Budget::limit(options) / 8).unwrap_or(usize::MAX);
        let options = Options { max_memory: u64::MAX, ..options.clone() };
        let held = Held::new(String::new(), "", &options).for_reordering();
        Held { part_nbytes: Some(share.min(PART_NBYTES)), ..held }
    }

    /// Bytes held, including memory counted separately.
    pub fn nbytes(&self) -> u64 {
        self.budget.used
    }

    /// Drops all chunks and releases all counted memory.
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
        let Some(part_nbytes) = self.part_nbytes else { return chunk.hold(&mut self.chunks) };
        self.chunks.push_back(chunk);
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

    /// Bytes counted for a chunk.
    pub fn counted(&self, chunk: &Chunk) -> u64 {
        self.row_nbytes.saturating_mul(chunk.nrows as u64).saturating_add(chunk.nbytes() as u64)
    }

    /// Counts memory that the verb holds in addition to the chunks.
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

    /// Removes everything as one chunk; `None` if nothing is held.
    ///
    /// # Errors
    /// See [`Chunk::concat`].
    pub fn take_all(&mut self) -> Result<Option<Chunk>> {
        let parts = self.take_parts();
        if parts.is_empty() { Ok(None) } else { Chunk::concat(&parts).map(Some) }
    }
}

/// A copy of the rows, so that a few kept rows do not keep the whole chunk in memory.
///
/// # Errors
/// See [`Chunk::concat`].
pub fn owned(chunk: &Chunk) -> Result<Chunk> {
    // Concatenating two parts always copies; a single part would be shared.
    let copy = Chunk::concat(&[chunk.clone(), chunk.slice(0, 0)])?;
    Ok(Chunk { origin: chunk.origin.clone(), ..copy })
}

/// Rows in a given order, emitted chunk by chunk, so that the held rows are never copied all at once.
#[derive(Debug)]
pub struct Slices {
    parts: Arc<NumberedChunks>,
    /// Row indices across all parts.
    order: Vec<usize>,
    given: usize,
    rows_per_chunk: usize,
}

/// Chunks whose rows are numbered across all of them.
#[derive(Debug)]
pub struct NumberedChunks {
    chunks: Vec<Chunk>,
    /// The index of the first row of each chunk.
    starts: Vec<usize>,
}

impl NumberedChunks {
    /// The rows of all chunks.
    pub fn new(chunks: Vec<Chunk>) -> NumberedChunks {
        let starts = chunks.iter().scan(0, |end, part| Some(std::mem::replace(end, *end + part.nrows))).collect();
        NumberedChunks { chunks, starts }
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.chunks.iter().map(|p| p.nrows).sum()
    }

    /// Bytes of all rows.
    pub fn nbytes(&self) -> usize {
        self.chunks.iter().map(Chunk::nbytes).sum()
    }

    /// The rows at these indices, in this order.
    ///
    /// # Errors
    /// See [`Chunk::interleave`].
    pub fn gather(&self, rows: &[usize]) -> Result<Chunk> {
        let locate = |row: &usize| {
            let part = self.starts.partition_point(|start| start <= row) - 1;
            (part, row - self.starts[part])
        };
        Chunk::interleave(&self.chunks, &rows.iter().map(locate).collect::<Vec<_>>())
    }
}

impl Slices {
    /// The rows of all parts in this order, in chunks of about 4 MiB, or 16 MiB if that is only a few rows, or of `--chunk-rows`.
    pub fn new(chunks: Vec<Chunk>, order: Vec<usize>, options: &Options) -> Slices {
        let parts = NumberedChunks::new(chunks);
        // Records with thousands of fields: each chunk costs some time for every column, however few its rows.
        let few = rows_per_chunk(parts.nbytes(), parts.nrows(), 16 << 20).min(256);
        let by_size = rows_per_chunk(parts.nbytes(), parts.nrows(), 4 << 20).max(few);
        let rows_per_chunk = options.chunk_rows.unwrap_or(by_size).clamp(1, MAX_ROWS);
        Slices { parts: Arc::new(parts), order, given: 0, rows_per_chunk }
    }

    /// The next rows.
    ///
    /// # Errors
    /// See [`Chunk::interleave`].
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        self.next_deferred().map(|chunk| chunk()).transpose()
    }

    /// The next rows, which any thread can gather.
    pub fn next_deferred(&mut self) -> Option<Deferred> {
        let end = self.order.len().min(self.given + self.rows_per_chunk);
        let rows = self.order[self.given..end].to_vec();
        self.given = end;
        let parts = self.parts.clone();
        (!rows.is_empty()).then(|| Box::new(move || parts.gather(&rows)) as Deferred)
    }
}

/// Maximum number of rows in a chunk.
const MAX_ROWS: usize = 1 << 16;

/// The number of rows that take about `wanted` bytes, if all rows take `nbytes`.
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
    /// A budget with nothing in use. The limit is `--max-memory`.
    pub fn new(verb: impl Into<String>, way_out: &'static str, options: &Options) -> Budget {
        Budget { verb: verb.into(), way_out, limit: Budget::limit(options), used: 0 }
    }

    /// `--max-memory` in bytes.
    pub fn limit(options: &Options) -> u64 {
        options.max_memory
    }

    /// Bytes that a verb may hold before it writes them to a temporary file. The rest is working memory.
    pub fn room(options: &Options) -> u64 {
        let limit = Budget::limit(options);
        limit - (limit / 2).min(256 << 20)
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// The limit would be exceeded.
    pub fn take(&mut self, nbytes: u64) -> Result<()> {
        self.used = self.used.saturating_add(nbytes);
        if self.used > self.limit {
            let error = format!("{} needs more than {} of memory", self.verb, human(self.limit));
            return Err(Error::data(error).help(self.way_out).help("or raise the limit with --max-memory"));
        }
        Ok(())
    }

    /// Whether the limit allows these bytes too.
    pub fn has_room_for(&self, nbytes: u64) -> bool {
        self.used.saturating_add(nbytes) <= self.limit
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

/// Formats a number of bytes.
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
