//! `repeat N`: all records, N times.

use super::shared::queue::Queue;
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::notice::Tally;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// All records, several times.
#[derive(clap::Args, Clone, Debug)]
pub struct Repeat {
    /// Number of times to write each record
    #[arg(value_name = "N")]
    times: usize,
}

impl Verb for Repeat {
    const NAME: &'static str = "repeat";
    const SUMMARY: &'static str = "Repeat all records N times";
    const ABOUT: &'static str = "\
Writes all records in order, N times. The records are kept in memory or, beyond --max-memory, in temporary files (see --temp-dir). \
--summary counts the repeated records. Later verbs see one stream: `repeat 3 then shuffle` shuffles all three copies together; `shuffle \
then repeat 3` produces the same order three times. Random functions draw different numbers in each repetition.";
    const MEANING: &'static str = "tf.data.Dataset.repeat";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "every record twice",
            args: "repeat 2",
            input: "{\"id\": 1}\n{\"id\": 2}\n",
            output: "{\"id\":1}\n{\"id\":2}\n{\"id\":1}\n{\"id\":2}\n",
        },
        Example {
            about: "enough records for the last batch",
            args: "repeat 2 then batch 3 then head 1",
            input: "{\"id\": 1}\n{\"id\": 2}\n",
            output: "{\"id\":[1,2,1]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let fold =
            Rounds { times: self.times, queue: Queue::new(Self::NAME, schema, options), left: None, repeated: options.repeated.clone() };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        after
    }
}

struct Rounds {
    times: usize,
    /// The records of one round.
    queue: Queue,
    /// Records still to be repeated, once all have been read.
    left: Option<usize>,
    repeated: Tally,
}

impl Fold for Rounds {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        if self.times == 0 {
            return Ok(Flow::Done);
        }
        if self.times > 1 {
            self.queue.push_back(again(&chunk))?;
        }
        out.push(chunk);
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        let nrows = self.queue.nrows();
        let left = *self.left.get_or_insert_with(|| nrows.saturating_mul(self.times.saturating_sub(1)));
        if left == 0 {
            return Ok(None);
        }
        let Some(chunk) = self.queue.pop_front()? else { return Ok(None) };
        // The last round does not need to keep anything.
        if left > nrows {
            self.queue.push_back(again(&chunk))?;
        }
        // A chunk from a temporary file can have records of two rounds.
        let chunk = chunk.slice(0, chunk.nrows.min(left));
        self.left = Some(left - chunk.nrows);
        self.repeated.add(chunk.nrows as u64);
        Ok(Some(chunk))
    }
}

/// The same records for the next round.
fn again(chunk: &Chunk) -> Chunk {
    Chunk { origin: chunk.origin.again(chunk.nrows), ..chunk.clone() }
}
