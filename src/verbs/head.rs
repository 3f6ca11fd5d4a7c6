//! `head N`: the first records.

use super::shared::count::RecordCount;
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// The first N records.
#[derive(clap::Args, Clone, Debug)]
pub struct Head {
    #[command(flatten)]
    count: RecordCount,
}

impl Verb for Head {
    const NAME: &'static str = "head";
    const SUMMARY: &'static str = "Keep the first N records";
    const ABOUT: &'static str = "\
Reading stops as soon as N records have been written, so the first records of a huge file or an endless pipe appear immediately. \
Types are inferred from these records only, unless an earlier verb, such as `map`, `cast` or `filter`, computes with values \
or chooses records.";
    const MEANING: &'static str = "tf.data.Dataset.take";
    const OPTIONAL_ARGUMENT: bool = true;
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "the first two records",
            args: "head 2",
            input: "{\"id\": 1, \"tokens\": [5, 2]}\n{\"id\": 2, \"tokens\": []}\n{\"id\": 3, \"tokens\": [7]}\n",
            output: "{\"id\":1,\"tokens\":[5,2]}\n{\"id\":2,\"tokens\":[]}\n",
        },
        Example {
            about: "the first batch",
            args: "batch 2 then head 1",
            input: "{\"tokens\": [5, 2]}\n{\"tokens\": []}\n{\"tokens\": [7]}\n",
            output: "{\"tokens\":[[5,2],[]]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(First { left: self.count.check()? })) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let count = self.count.records();
        Demand { records: Some(after.records.map_or(count, |n| n.min(count))), ..after }
    }
}

struct First {
    left: u64,
}

impl Fold for First {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let nrows = chunk.nrows.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= nrows as u64;
        if nrows > 0 {
            out.push(chunk.slice(0, nrows));
        }
        Ok(if self.left == 0 { Flow::Done } else { Flow::More })
    }
}
