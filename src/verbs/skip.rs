//! `skip N`: skips the first records.

use super::shared::count::number_of_records;
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Skips the first N records.
#[derive(clap::Args, Clone, Debug)]
pub struct Skip {
    /// Number of records to skip
    #[arg(value_name = "N", value_parser = number_of_records)]
    count: u64,
}

impl Verb for Skip {
    const NAME: &'static str = "skip";
    const SUMMARY: &'static str = "Skip the first N records";
    const ABOUT: &'static str = "\
All later records are written unchanged.";
    const MEANING: &'static str = "tf.data.Dataset.skip";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "skip the first two records",
            args: "skip 2",
            input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n",
            output: "{\"id\":3}\n",
        },
        Example {
            about: "only the second record",
            args: "skip 1 then head 1",
            input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n",
            output: "{\"id\":2}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(Rest { left: self.count })) })
    }

    fn demand(&self, after: Demand) -> Demand {
        Demand { records: after.records.map(|n| n.saturating_add(self.count)), ..after }
    }
}

struct Rest {
    left: u64,
}

impl Fold for Rest {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let skipped = chunk.nrows.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= skipped as u64;
        if skipped < chunk.nrows {
            out.push(chunk.slice(skipped, chunk.nrows - skipped));
        }
        Ok(Flow::More)
    }
}
