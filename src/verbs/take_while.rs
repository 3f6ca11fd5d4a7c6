//! `take-while`: the records up to the first for which a condition is false.

use super::shared::prefix::{Prefix, prefix_demand};
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// The records up to the first for which a condition is false.
#[derive(clap::Args)]
pub struct TakeWhile {
    /// Expression that evaluates to one bool per record: 'step < 100'
    #[arg(value_name = "CONDITION")]
    condition: String,
}

impl Verb for TakeWhile {
    const NAME: &'static str = "take-while";
    const SUMMARY: &'static str = "Keep leading records while a condition is true";
    const ABOUT: &'static str = "\
The condition is an expression that evaluates to one bool per record (see `tatter help functions`). The first record for which it is false \
ends the stream, and no more input is read.";
    const MEANING: &'static str = "tf.data.Dataset.take_while";
    const COMPUTES: bool = true;
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "keep records up to a time",
            args: "take-while 't < 5'",
            input: "{\"t\": 1}\n{\"t\": 4}\n{\"t\": 5}\n{\"t\": 2}\n",
            output: "{\"t\":1}\n{\"t\":4}\n",
        },
        Example {
            about: "keep records up to the first empty one",
            args: "take-while 'len(x) > 0'",
            input: "{\"x\": [1]}\n{\"x\": []}\n{\"x\": [2]}\n",
            output: "{\"x\":[1]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let prefix = Prefix::bind(&self.condition, schema, options)?;
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(Taking(prefix))) })
    }

    fn demand(&self, after: Demand) -> Demand {
        // Records after the first N kept records are never needed.
        let records = after.records;
        Demand { records, ..prefix_demand(&self.condition, after) }
    }
}

struct Taking(Prefix);

impl Fold for Taking {
    fn judges_next(&self) -> bool {
        true
    }

    fn rejects_as_a_whole(&self) -> bool {
        true
    }

    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let taken = self.0.nrows(&chunk)?;
        if taken > 0 {
            out.push(chunk.slice(0, taken));
        }
        Ok(if taken < chunk.nrows { Flow::Done } else { Flow::More })
    }
}
