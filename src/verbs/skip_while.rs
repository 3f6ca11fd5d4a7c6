//! `skip-while`: the records from the first on for which a condition is false.

use super::shared::prefix::{Prefix, prefix_demand};
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// The records from the first on for which a condition is false.
#[derive(clap::Args)]
pub struct SkipWhile {
    /// Expression that evaluates to one bool per record: 'step < 100'
    #[arg(value_name = "CONDITION")]
    condition: String,
}

impl Verb for SkipWhile {
    const NAME: &'static str = "skip-while";
    const SUMMARY: &'static str = "Skip leading records while a condition is true";
    const ABOUT: &'static str = "\
The condition is an expression that evaluates to one bool per record (see `tatter help functions`). The first record for which it is false is \
kept, and so are all later ones, for which the condition is no longer evaluated.";
    const MEANING: &'static str = "the complement of tf.data.Dataset.take_while";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "skip records up to a time",
            args: "skip-while 't < 5'",
            input: "{\"t\": 1}\n{\"t\": 4}\n{\"t\": 5}\n{\"t\": 2}\n",
            output: "{\"t\":5}\n{\"t\":2}\n",
        },
        Example {
            about: "skip leading empty records",
            args: "skip-while 'len(x) == 0'",
            input: "{\"x\": []}\n{\"x\": [1]}\n{\"x\": []}\n",
            output: "{\"x\":[1]}\n{\"x\":[]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let prefix = Prefix::bind(&self.condition, schema, options)?;
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(Skipping { prefix, done: false })) })
    }

    fn demand(&self, after: Demand) -> Demand {
        prefix_demand(&self.condition, after)
    }
}

struct Skipping {
    prefix: Prefix,
    /// Whether a record has been kept.
    done: bool,
}

impl Fold for Skipping {
    fn rejects_as_a_whole(&self) -> bool {
        true
    }

    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let skipped = if self.done { 0 } else { self.prefix.nrows(&chunk)? };
        if skipped < chunk.nrows {
            self.done = true;
            out.push(chunk.slice(skipped, chunk.nrows - skipped));
        }
        Ok(Flow::More)
    }
}
