//! Sorts records: in memory or, if that does not suffice, in a temporary file.
//!
//! Records that fill the memory are sorted and written as a run of small chunks; at the end the runs are merged,
//! several at a time. Runs follow input order, and of equal records the one from the earliest run comes first, so the
//! sort is stable and gives the same result as a sort in memory.

use super::memory::{Budget, Held, NumberedChunks, Slices, rows_per_chunk};
use super::spill::SpillFile;
use crate::chunk::Chunk;
use crate::chunk::weave::Weave;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::{DType, Field, Schema, Type};
use crate::tensor::Tensor;
use crate::tensor::order::sorted_rows;
use crate::tensor::sortable::sortable;
use crate::verbs::verb::Deferred;
use arrow_array::cast::AsArray;
use arrow_array::{Array, LargeBinaryArray, UInt64Array};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of runs merged at once.
const FAN_IN: usize = 64;
/// Bytes of a chunk in a run.
const MIN_BLOCK_NBYTES: usize = 4 << 10;
const MAX_BLOCK_NBYTES: usize = 2 << 20;

/// Records with the keys to sort them by.
pub struct Sorter {
    verb: &'static str,
    schema: Arc<Schema>,
    options: Options,
    /// For each key.
    descending: Vec<bool>,
    held: Held,
    /// The key values of the held records, for each key.
    keys: Vec<Vec<Tensor>>,
    /// Bytes that are held before they are written.
    room: u64,
    /// The runs written so far.
    runs: Option<Runs>,
    output: Option<Output>,
}

/// Sorted runs in a temporary file, with the chunks of each run. The last column is the key.
struct Runs {
    file: SpillFile,
    runs: Vec<Range<usize>>,
}

enum Output {
    Slices(Slices),
    Merge(Merge),
}

impl Sorter {
    /// Sorts records of this schema by keys that are passed along with them. `descending` has a flag for each key.
    pub fn new(verb: &'static str, schema: &Arc<Schema>, descending: &[bool], options: &Options) -> Sorter {
        Sorter {
            verb,
            schema: schema.clone(),
            options: options.clone(),
            descending: descending.to_vec(),
            held: Held::unlimited(options),
            keys: Vec::new(),
            room: Budget::room(options),
            runs: None,
            output: None,
        }
    }

    /// Adds records with the values of each key.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    pub fn push(&mut self, chunk: Chunk, keys: Vec<Tensor>) -> Result<()> {
        let nbytes = self.held.counted(&chunk) + keys.iter().map(|key| key.nbytes() as u64).sum::<u64>();
        if self.held.nrows() > 0 && self.held.nbytes() + nbytes > self.room {
            self.write_run()?;
        }
        self.keys.resize_with(keys.len(), Vec::new);
        for (values, key) in self.keys.iter_mut().zip(keys) {
            self.held.count(key.nbytes())?;
            values.push(key);
        }
        self.held.push_back(chunk)
    }

    /// The next sorted records, after all records have been added; `None` at the end.
    ///
    /// # Errors
    /// A temporary file cannot be written or read.
    pub fn next_deferred(&mut self) -> Result<Option<Deferred>> {
        let output = match &mut self.output {
            Some(output) => output,
            None => {
                let output = self.merged()?;
                self.output.insert(output)
            }
        };
        match output {
            Output::Slices(slices) => Ok(slices.next_deferred()),
            Output::Merge(merge) => merge.next_deferred(),
        }
    }

    /// Takes the held records, with the keys of their rows.
    fn take_held(&mut self) -> Result<(Vec<Chunk>, Vec<(Tensor, bool)>)> {
        let parts = self.held.take_parts();
        self.held.clear();
        let descending = self.descending.iter().copied().chain(std::iter::repeat(false));
        let key = |(values, descending): (Vec<Tensor>, bool)| Ok((Tensor::concat(&values.iter().collect::<Vec<_>>())?, descending));
        let keys = std::mem::take(&mut self.keys).into_iter().zip(descending);
        let keys = keys.filter(|(values, _)| !values.is_empty()).map(key).collect::<Result<_>>()?;
        Ok((parts, keys))
    }

    fn write_run(&mut self) -> Result<()> {
        let (parts, keys) = self.take_held()?;
        let runs = match &mut self.runs {
            Some(runs) => runs,
            None => self.runs.insert(Runs { file: new_file(&self.schema, &self.options)?, runs: Vec::new() }),
        };
        let order = sorted_rows(&keys)?;
        let parts = NumberedChunks::new(parts);
        let rows_per_block = rows_per_chunk(parts.nbytes(), parts.nrows(), block_nbytes(&self.options));
        let start = runs.file.len();
        for rows in order.chunks(rows_per_block) {
            let of_rows = |(key, descending): &(Tensor, bool)| Ok((key.gather(rows)?, *descending));
            let bytes = sortable(&keys.iter().map(of_rows).collect::<Result<Vec<_>>>()?)?;
            let mut block = parts.gather(rows)?;
            block.columns.push(Tensor::Leaf(Arc::new(bytes)));
            runs.file.append(&block)?;
        }
        runs.runs.push(start..runs.file.len());
        Ok(())
    }

    fn merged(&mut self) -> Result<Output> {
        if self.runs.is_none() {
            let (parts, keys) = self.take_held()?;
            let order = if parts.is_empty() { Vec::new() } else { sorted_rows(&keys)? };
            return Ok(Output::Slices(Slices::new(parts, order, &self.options)));
        }
        if self.held.nrows() > 0 {
            self.write_run()?;
        }
        let Some(mut runs) = self.runs.take() else { return Err(Error::internal("no runs")) };
        runs.file.remark(self.verb, &self.options)?;
        while runs.runs.len() > FAN_IN {
            runs = runs.merged(&self.schema, &self.options)?;
        }
        Ok(Output::Merge(Merge::new(Arc::new(runs.file), runs.runs, true, &self.options)?))
    }
}

/// The records, with their numbers as a column.
pub fn numbered(schema: &Schema) -> Arc<Schema> {
    let mut fields = schema.fields.clone();
    fields.push(Field::new(String::new(), Type::tensor(DType::UInt64, Vec::new())));
    Arc::new(Schema::new(fields))
}

/// A column of numbers.
pub fn numbers(values: impl IntoIterator<Item = u64>) -> Tensor {
    Tensor::Leaf(Arc::new(UInt64Array::from_iter_values(values)))
}

/// A file of records with their keys.
fn new_file(schema: &Schema, options: &Options) -> Result<SpillFile> {
    let mut fields = schema.fields.clone();
    fields.push(Field::new(String::new(), Type::tensor(DType::Bytes, Vec::new())));
    SpillFile::new(&fields, options)
}

/// Half of the memory is for the chunks of all runs.
fn block_nbytes(options: &Options) -> usize {
    let share = Budget::limit(options) / (2 * FAN_IN as u64);
    usize::try_from(share).unwrap_or(usize::MAX).clamp(MIN_BLOCK_NBYTES, MAX_BLOCK_NBYTES)
}

impl Runs {
    /// Merges the runs into fewer runs in another file.
    fn merged(self, schema: &Schema, options: &Options) -> Result<Runs> {
        let mut merged = Runs { file: new_file(schema, options)?, runs: Vec::new() };
        let file = Arc::new(self.file);
        for group in self.runs.chunks(FAN_IN) {
            let mut merge = Merge::new(file.clone(), group.to_vec(), false, options)?;
            let start = merged.file.len();
            while let Some(block) = merge.next_deferred()? {
                merged.file.append(&block()?)?;
            }
            merged.runs.push(start..merged.file.len());
        }
        Ok(merged)
    }
}

/// Merges some runs.
struct Merge {
    file: Arc<SpillFile>,
    cursors: Vec<RunCursor>,
    /// The cursors that are not at their end, as a binary heap with the least record first.
    heap: Vec<usize>,
    weave: Weave,
    /// Whether the last column, the key, is omitted.
    drops_key: bool,
    rows_per_chunk: usize,
    chunk_nbytes: usize,
}

/// The position of the merge in a run.
struct RunCursor {
    /// The chunks not read yet.
    left: Range<usize>,
    keys: LargeBinaryArray,
    row: usize,
    /// The first bytes of the key.
    prefix: u64,
}

impl RunCursor {
    fn key(&self) -> &[u8] {
        self.keys.value(self.row)
    }

    fn set_prefix(&mut self) {
        let key = self.key();
        let mut bytes = [0; 8];
        let n = key.len().min(8);
        bytes[..n].copy_from_slice(&key[..n]);
        self.prefix = u64::from_be_bytes(bytes);
    }
}

impl Merge {
    fn new(file: Arc<SpillFile>, runs: Vec<Range<usize>>, drops_key: bool, options: &Options) -> Result<Merge> {
        let chunk_nbytes = block_nbytes(options);
        let rows_per_chunk = if drops_key { options.chunk_rows.unwrap_or(1 << 16).max(1) } else { 1 << 16 };
        let cursors = runs.into_iter().map(|left| RunCursor { left, keys: LargeBinaryArray::new_null(0), row: 0, prefix: 0 });
        let cursors: Vec<RunCursor> = cursors.collect();
        let weave = Weave::new(cursors.len());
        let mut merge = Merge { file, heap: Vec::new(), weave, drops_key, rows_per_chunk, chunk_nbytes, cursors };
        for run in 0..merge.cursors.len() {
            if merge.load(run)? {
                merge.heap.push(run);
                merge.rise(merge.heap.len() - 1);
            }
        }
        Ok(merge)
    }

    /// Reads the next chunk of a run; `false` at its end.
    fn load(&mut self, run: usize) -> Result<bool> {
        let cursor = &mut self.cursors[run];
        let Some(number) = cursor.left.next() else {
            self.weave.set(run, None);
            return Ok(false);
        };
        let mut chunk = self.file.read(number)?;
        let key = chunk.columns.last().ok_or_else(|| Error::internal("a run without keys"))?;
        (cursor.keys, cursor.row) = (key.as_leaf()?.as_binary::<i64>().clone(), 0);
        cursor.set_prefix();
        if self.drops_key {
            chunk.columns.pop();
        }
        self.weave.set(run, Some(chunk));
        Ok(true)
    }

    fn next_deferred(&mut self) -> Result<Option<Deferred>> {
        while self.weave.nrows() < self.rows_per_chunk && self.weave.nbytes() < self.chunk_nbytes {
            let Some(run) = self.heap.first().copied() else { break };
            self.weave.record(run, self.cursors[run].row)?;
            self.cursors[run].row += 1;
            if self.cursors[run].row < self.cursors[run].keys.len() {
                self.cursors[run].set_prefix();
            } else if !self.load(run)? {
                self.heap.swap_remove(0);
            }
            self.sink();
        }
        Ok(self.weave.take().map(|chunk| Box::new(chunk) as Deferred))
    }

    fn is_less(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.cursors[a], &self.cursors[b]);
        let order = x.prefix.cmp(&y.prefix).then_with(|| x.key().cmp(y.key()));
        order.then(a.cmp(&b)) == Ordering::Less
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.is_less(self.heap[at], self.heap[(at - 1) / 2]) {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// Sifts the first entry of the heap down.
    fn sink(&mut self) {
        let mut at = 0;
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_less(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }
}
