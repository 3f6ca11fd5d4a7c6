//! `shuffle`: writes records in random order.

use super::shared::memory::{Budget, Held, Slices};
use super::shared::pool::{Pool, RecordId};
use super::shared::seed::Seed;
use super::shared::sorter::Sorter;
use super::shared::spill::SpillFile;
use super::verb::{Bound, Deferred, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::random::{Random, Stream};
use crate::schema::Schema;
use crate::tensor::Tensor;
use arrow_array::UInt32Array;
use std::sync::Arc;

/// Writes records in random order.
#[derive(clap::Args, Clone, Debug)]
pub struct Shuffle {
    /// Draw from a buffer of N records instead of from all records
    #[arg(long, value_name = "N", value_parser = super::shared::args::positive)]
    buffer: Option<usize>,
    #[command(flatten)]
    seed: Seed,
}

impl Verb for Shuffle {
    const NAME: &'static str = "shuffle";
    const SUMMARY: &'static str = "Shuffle records";
    const ABOUT: &'static str = "\
Buffers all records in memory or, beyond --max-memory, in a temporary file (see --temp-dir), and writes them in an order that depends only \
on --seed and the number of records: it is the same for any number of threads, any format and any version of tatter. The order is that of a \
Fisher-Yates shuffle, with ChaCha8 random numbers seeded with --seed.

If `shuffle` is the first verb, it needs no temporary file for TFRecords with an index next to each (`tatter index x.tfrecord` creates \
x.tfrecord.idx), ArrayRecords, and TFDS directories whose shards are either of these: records beyond --max-memory are read one by one in \
the new order, using 12 bytes of memory for each. If a `head` follows, only the records it keeps are read, from Parquet and Arrow files \
too, provided that the types are known without reading records: the input stores them, or all needed fields have a type in --schema. The \
order is the same.

With --buffer N, only N records are kept: each record written is drawn from the buffer and replaced by the next record of the input.";
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
        let random = self.random(options);
        let step: Box<dyn Fold> = match self.buffer {
            None => {
                let held = Held::unlimited(options);
                Box::new(Whole { schema: schema.clone(), random, options: options.clone(), held, written: None, output: None })
            }
            Some(size) => {
                let pool = Pool::new("the buffer of shuffle", "make the buffer smaller", options);
                Box::new(Buffered { size, pool, random, slots: Vec::new(), options: options.clone(), slices: None })
            }
        };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(step) })
    }

    fn draw(&self, nrecords: u64, options: &Options) -> Option<Vec<u32>> {
        let mut order: Vec<u32> = (0..u32::try_from(nrecords).ok()?).collect();
        self.random(options).permute(&mut order);
        self.buffer.is_none().then_some(order)
    }

    fn demand(&self, after: Demand) -> Demand {
        Demand { records: None, ..after }
    }
}

impl Shuffle {
    fn random(&self, options: &Options) -> Random {
        self.seed.random(Stream::Shuffle, options)
    }
}

struct Whole {
    schema: Arc<Schema>,
    random: Random,
    options: Options,
    held: Held,
    /// Earlier records in order, spilled to a file.
    written: Option<SpillFile>,
    output: Option<Output>,
}

enum Output {
    Slices(Slices),
    Sorter(Box<Sorter>),
}

impl Fold for Whole {
    fn push(&mut self, chunk: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        if self.held.nrows() > 0 && self.held.nbytes() + self.held.counted(&chunk) > Budget::room(&self.options) {
            self.write()?;
        }
        self.held.push_back(chunk)?;
        Ok(Flow::More)
    }

    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        let output = match &mut self.output {
            Some(output) => output,
            None => {
                let output = self.shuffled()?;
                self.output.insert(output)
            }
        };
        match output {
            Output::Slices(slices) => Ok(slices.next_deferred()),
            Output::Sorter(sorter) => sorter.next_deferred(),
        }
    }
}

impl Whole {
    fn write(&mut self) -> Result<()> {
        let written = match &mut self.written {
            Some(written) => written,
            None => self.written.insert(SpillFile::new(&self.schema.fields, &self.options)?),
        };
        for part in self.held.take_parts() {
            written.append_all(&part)?;
        }
        Ok(())
    }

    fn shuffled(&mut self) -> Result<Output> {
        if self.written.is_none() {
            let nrows = self.held.nrows();
            return Ok(Output::Slices(Slices::new(self.held.take_parts(), self.random.permutation(nrows), &self.options)));
        }
        self.write()?;
        let Some(written) = self.written.take() else { return Err(Error::internal("nothing was written")) };
        written.remark(Shuffle::NAME, &self.options)?;
        let places = self.places(written.total_rows())?;
        // Sorts each record into its new position.
        let mut sorter = Sorter::new(Shuffle::NAME, &self.schema, &[], &self.options);
        let mut start = 0;
        for number in 0..written.len() {
            let chunk = written.read(number)?;
            let places_of_chunk = places.iter().skip(start).take(chunk.nrows).copied();
            let key = Tensor::Leaf(Arc::new(UInt32Array::from_iter_values(places_of_chunk)));
            start += chunk.nrows;
            sorter.push(chunk, vec![key])?;
        }
        Ok(Output::Sorter(Box::new(sorter)))
    }

    /// The position of each record: the inverse of the permutation.
    fn places(&mut self, nrows: usize) -> Result<Vec<u32>> {
        let too_many = || Error::data("more than 4,294,967,295 records").help(WITHIN_A_WINDOW);
        let nrows = u32::try_from(nrows).map_err(|_| too_many())?;
        let mut order: Vec<u32> = (0..nrows).collect();
        self.random.permute(&mut order);
        let mut places = vec![0; order.len()];
        for (record, place) in order.iter().zip(0u32..) {
            places[*record as usize] = place;
        }
        Ok(places)
    }
}

const WITHIN_A_WINDOW: &str = "shuffle within a window: --buffer 100000";

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
        // Not done for each chunk, because the cost is proportional to the buffer.
        if self.pool.nrows() > self.size.saturating_add(self.size / 2).saturating_add(1) {
            self.pool.compact(&mut self.slots)?;
        }
        Ok(Flow::More)
    }

    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        let slices = self.slices.get_or_insert_with(|| {
            // Draws from the remaining records.
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
