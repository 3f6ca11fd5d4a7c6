//! `shuffle`: writes records in random order.

use super::shared::memory::{Held, Slices};
use super::shared::pool::{Pool, RecordId};
use super::verb::{Bound, Deferred, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::random::Random;
use crate::schema::Schema;
use std::sync::Arc;

/// Writes records in random order.
#[derive(clap::Args, Clone, Debug)]
pub struct Shuffle {
    /// Draw from a buffer of N records instead of from all
    #[arg(long, value_name = "N", value_parser = super::shared::args::positive)]
    buffer: Option<usize>,
    /// Seed of the random numbers [default: the global --seed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Verb for Shuffle {
    const NAME: &'static str = "shuffle";
    const SUMMARY: &'static str = "Shuffle records";
    const ABOUT: &'static str = "\
Holds all records in memory (see --max-memory) and writes them in an order that depends only on --seed and the number \
of records: it is the same for any number of threads, any format and any version. The order is a Fisher-Yates shuffle \
with random numbers of ChaCha8 keyed with the seed.

With --buffer N only N records are held: each record written is drawn from the buffer and replaced by the next record \
of the input.";
    const MEANING: &'static str = "tf.data.Dataset.shuffle";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "the order depends on the seed",
            args: "shuffle --seed 7",
            input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n{\"id\": 4}\n{\"id\": 5}\n",
            output: "{\"id\":4}\n{\"id\":1}\n{\"id\":3}\n{\"id\":2}\n{\"id\":5}\n",
        },
        Example {
            about: "with a buffer of 2, records move forward by at most one position",
            args: "shuffle --buffer 2 --seed 7",
            input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n{\"id\": 4}\n{\"id\": 5}\n",
            output: "{\"id\":2}\n{\"id\":3}\n{\"id\":1}\n{\"id\":5}\n{\"id\":4}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let random = Random::new(self.seed.unwrap_or(options.seed));
        let step: Box<dyn Fold> = match self.buffer {
            None => {
                let held = Held::new("shuffle", "shuffle within a window: --buffer 100000", options).for_reordering();
                Box::new(Whole { held, random, options: options.clone(), slices: None })
            }
            Some(size) => {
                let pool = Pool::new("the buffer of shuffle", "make the buffer smaller", options);
                Box::new(Buffered { size, pool, random, slots: Vec::new(), options: options.clone(), slices: None })
            }
        };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(step) })
    }

    fn demand(&self, after: Demand) -> Demand {
        Demand { records: None, ..after }
    }
}

struct Whole {
    held: Held,
    random: Random,
    options: Options,
    slices: Option<Slices>,
}

impl Fold for Whole {
    fn push(&mut self, chunk: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        self.held.push_back(chunk)?;
        Ok(Flow::More)
    }

    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        let nrows = self.held.nrows();
        if nrows > 0 {
            self.slices = Some(Slices::new(self.held.take_parts(), self.random.permutation(nrows), &self.options));
        }
        Ok(self.slices.as_mut().and_then(Slices::next_deferred))
    }
}

struct Buffered {
    size: usize,
    pool: Pool,
    random: Random,
    /// The records of the buffer.
    slots: Vec<RecordId>,
    options: Options,
    slices: Option<Slices>,
}

impl Fold for Buffered {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let (part, nrows) = (self.pool.next_part(), chunk.nrows);
        self.pool.add(chunk)?;
        let mut given = Vec::new();
        for row in 0..nrows {
            if self.slots.len() < self.size {
                self.slots.push((part, row));
                continue;
            }
            let slot = self.random.below(self.size as u64) as usize;
            given.push(std::mem::replace(&mut self.slots[slot], (part, row)));
        }
        if !given.is_empty() {
            out.push(self.pool.gather(&given)?);
        }
        // Not for each chunk: it costs time in proportion to the buffer.
        if self.pool.nrows() > self.size.saturating_add(self.size / 2).saturating_add(1) {
            self.pool.compact(&mut self.slots)?;
        }
        Ok(Flow::More)
    }

    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        let slices = self.slices.get_or_insert_with(|| {
            // Draws from those left.
            let mut order = Vec::with_capacity(self.slots.len());
            while !self.slots.is_empty() {
                let slot = self.random.below(self.slots.len() as u64) as usize;
                order.push(self.slots.swap_remove(slot));
            }
            self.pool.take(order, &self.options)
        });
        Ok(slices.next_deferred())
    }
}
