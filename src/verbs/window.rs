//! `window`: groups records into sliding windows.

use super::shared::batches::{batched_chunk, batched_schema, names};
use super::shared::memory::{Budget, NumberedChunks};
use super::shared::windowing::Windowing;
use super::verb::{Bound, Deferred, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::{Schema, Size};
use crate::tensor::RowPartition;
use std::collections::VecDeque;
use std::sync::Arc;

/// Groups consecutive records into sliding windows.
#[derive(clap::Args, Clone, Debug)]
pub struct Window {
    #[command(flatten)]
    windowing: Windowing,
}

impl Verb for Window {
    const NAME: &'static str = "window";
    const SUMMARY: &'static str = "Group records into sliding windows";
    const ABOUT: &'static str = "\
A window of W records (--size), K apart (--stride), starts at every S-th record (--shift). Every field gains axis 0, the records of the window, as \
with `batch`. Windows at the end of the input may contain fewer records; with --drop-remainder, they are dropped, and the size of axis 0 is \
known. The records of one window are kept in memory (see --max-memory). For windows over a list inside each record, use `windows`.";
    const MEANING: &'static str = "tf.data.Dataset.window";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "windows of three records, each starting one record after the previous one",
            args: "window --size 3 --shift 1 --drop-remainder",
            input: "{\"x\": 1}\n{\"x\": 2}\n{\"x\": 3}\n{\"x\": 4}\n{\"x\": 5}\n",
            output: "{\"x\":[1,2,3]}\n{\"x\":[2,3,4]}\n{\"x\":[3,4,5]}\n",
        },
        Example {
            about: "every second record; the last window is short",
            args: "window --size 2 --shift 3 --stride 2",
            input: "{\"x\": 1}\n{\"x\": 2}\n{\"x\": 3}\n{\"x\": 4}\n{\"x\": 5}\n",
            output: "{\"x\":[1,3]}\n{\"x\":[4]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let size = if self.windowing.drop_remainder { Size::Known(self.windowing.size as u64) } else { Size::Uniform };
        let fold = OpenWindows {
            names: names(schema),
            windowing: self.windowing,
            chunks: VecDeque::new(),
            first: 0,
            end: 0,
            next: 0,
            budget: Budget::new(Self::NAME, "make the windows smaller", options),
            deferred: Vec::new(),
        };
        Ok(Bound { schema: batched_schema(schema, size), operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        Demand { records: None, ..after }
    }
}

/// Approximate bytes of the windows in a chunk.
const NBYTES: usize = 4 << 20;

struct OpenWindows {
    names: Arc<[String]>,
    windowing: Windowing,
    /// The records of open windows.
    chunks: VecDeque<Chunk>,
    /// The number of the first record held, and the number after the last.
    first: usize,
    end: usize,
    /// The start of the next window.
    next: usize,
    budget: Budget,
    /// Windows to be gathered.
    deferred: Vec<Deferred>,
}

impl Fold for OpenWindows {
    fn push(&mut self, chunk: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        self.budget.take(chunk.nbytes() as u64)?;
        self.end += chunk.nrows;
        self.chunks.push_back(chunk);
        self.drop_front();
        let span = (self.windowing.size - 1).saturating_mul(self.windowing.stride).saturating_add(1);
        if self.next.saturating_add(span) <= self.end {
            let count = (self.end - span - self.next) / self.windowing.shift() + 1;
            self.windows(count)?;
        }
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        if self.windowing.drop_remainder || self.next >= self.end {
            return Ok(None);
        }
        self.windows(1)?;
        self.deferred.pop().map(|chunk| chunk()).transpose()
    }

    /// There may be many times as many records in windows as in the input.
    fn deferred(&mut self) -> Vec<Deferred> {
        std::mem::take(&mut self.deferred)
    }
}

impl OpenWindows {
    /// Prepares the next windows.
    fn windows(&mut self, count: usize) -> Result<()> {
        let parts = Arc::new(NumberedChunks::new(self.chunks.iter().cloned().collect()));
        // Each record of a window also takes an index while it is gathered.
        let record_nbytes = parts.nbytes() / parts.nrows().max(1) + size_of::<usize>();
        let at_once = (NBYTES / record_nbytes.saturating_mul(self.windowing.size).max(1)).max(1);
        for start in (0..count).step_by(at_once) {
            let after = self.next.saturating_add(self.windowing.shift().saturating_mul(at_once.min(count - start)));
            let starts = (self.next - self.first..after - self.first).step_by(self.windowing.shift());
            self.next = after;
            let (parts, names, nrows) = (parts.clone(), self.names.clone(), self.end - self.first);
            let (size, stride) = (self.windowing.size, self.windowing.stride);
            self.deferred.push(Box::new(move || {
                let (mut rows, mut lengths) = (Vec::new(), Vec::new());
                for start in starts {
                    let before = rows.len();
                    rows.extend((start..nrows).step_by(stride).take(size));
                    lengths.push((rows.len() - before) as i64);
                }
                let is_even = lengths.iter().all(|length| *length == lengths[0]);
                let partition = match lengths.first() {
                    Some(length) if is_even => RowPartition::uniform(usize::try_from(*length).unwrap_or(0), lengths.len())?,
                    _ => RowPartition::from_row_lengths(lengths)?,
                };
                batched_chunk(&parts.gather(&rows)?, &partition, &names)
            }));
        }
        self.drop_front();
        Ok(())
    }

    /// Drops chunks that end before the next window.
    fn drop_front(&mut self) {
        while let Some(chunk) = self.chunks.pop_front_if(|chunk| self.first + chunk.nrows <= self.next) {
            self.first += chunk.nrows;
            self.budget.give_back(chunk.nbytes() as u64);
        }
    }
}
