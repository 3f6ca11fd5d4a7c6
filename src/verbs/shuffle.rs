//! `shuffle`: records in random order.

use super::shared::memory::{Held, Slices};
use super::shared::pool::{Place, Pool};
use super::shared::random::Random;
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Records in random order.
#[derive(clap::Args, Clone, Debug)]
pub struct Shuffle {
    /// Draw from the next N records only; holds no more than these
    #[arg(long, value_name = "N", value_parser = super::shared::args::positive)]
    buffer: Option<usize>,
}

impl Verb for Shuffle {
    const NAME: &'static str = "shuffle";
    const SUMMARY: &'static str = "Put the records in random order";
    const ABOUT: &'static str = "\
Holds all records in memory (see --max-memory) and gives them in an order that --seed decides alone: it is the \
same for any number of threads, any format and any version. Numbers come from ChaCha8 keyed with the seed; the order is \
that of Fisher and Yates from the last place on.\n\n\
With --buffer N only N records are held: each record given is drawn from a buffer of N and replaced by the next one \
of the input.";
    const MEANING: &'static str = "tf.data.Dataset.shuffle";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "an order that the seed decides",
            args: "shuffle --seed 7",
            input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n{\"id\": 4}\n{\"id\": 5}\n",
            output: "{\"id\":4}\n{\"id\":1}\n{\"id\":3}\n{\"id\":2}\n{\"id\":5}\n",
        },
        Example {
            about: "with a buffer of 2, a record comes at most one place too early",
            args: "shuffle --buffer 2 --seed 7",
            input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n{\"id\": 4}\n{\"id\": 5}\n",
            output: "{\"id\":2}\n{\"id\":3}\n{\"id\":1}\n{\"id\":5}\n{\"id\":4}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let random = Random::new(options.seed);
        let step: Box<dyn Fold> = match self.buffer {
            None => {
                let held = Held::new("shuffle", "shuffle within a window: --buffer 100000", options).with_row_nbytes(8);
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

    fn finish(&mut self) -> Result<Option<Chunk>> {
        let nrows = self.held.nrows();
        if nrows > 0 {
            self.slices = Some(Slices::new(self.held.take_parts(), self.random.permutation(nrows), &self.options));
        }
        self.slices.as_mut().map_or(Ok(None), Slices::next_chunk)
    }
}

struct Buffered {
    size: usize,
    pool: Pool,
    random: Random,
    /// Where the records of the buffer stand.
    slots: Vec<Place>,
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
        // Not for each chunk: it costs as much as the buffer is long.
        if self.pool.nrows() > self.size.saturating_add(self.size / 2).saturating_add(1) {
            self.pool.compact(&mut self.slots)?;
        }
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        let slices = self.slices.get_or_insert_with(|| {
            // As many left, so many to draw from.
            let mut order = Vec::with_capacity(self.slots.len());
            while !self.slots.is_empty() {
                let slot = self.random.below(self.slots.len() as u64) as usize;
                order.push(self.slots.swap_remove(slot));
            }
            self.pool.take(order, &self.options)
        });
        slices.next_chunk()
    }
}
