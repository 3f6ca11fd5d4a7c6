//! `assert-cardinality N`: fails unless there are N records.

use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Reason, Result, mismatch};
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Fails unless there are N records.
#[derive(clap::Args, Clone, Debug)]
pub struct AssertCardinality {
    /// Expected number of records
    #[arg(value_name = "N")]
    records: u64,
}

impl Verb for AssertCardinality {
    const NAME: &'static str = "assert-cardinality";
    const SUMMARY: &'static str = "Fail unless there are exactly N records";
    const ABOUT: &'static str = "\
Passes records on and fails at record N + 1, or at the end if there are fewer. A run that fails writes no output file; standard output may \
already contain records. If a later `head` stops reading early, the remaining records are not counted.";
    const MEANING: &'static str = "tf.data.experimental.assert_cardinality";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "as many as expected",
            args: "assert-cardinality 2",
            input: "{\"id\": 1}\n{\"id\": 2}\n",
            output: "{\"id\":1}\n{\"id\":2}\n",
        },
        Example {
            about: "every key once",
            args: "unique --by id then assert-cardinality 2 then count",
            input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 1}\n",
            output: "2\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let fold = Expected { records: self.records, seen: 0 };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        Demand { records: None, ..after }
    }
}

struct Expected {
    records: u64,
    seen: u64,
}

impl Fold for Expected {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let nrows = chunk.nrows;
        if let Some(surplus) = usize::try_from(self.records - self.seen).ok().filter(|left| *left < nrows) {
            out.extend((surplus > 0).then(|| chunk.slice(0, surplus)));
            let error = Error::data(mismatch(in_words(self.records), "more"));
            return Err(error.at_row(surplus).because(Reason::Cardinality));
        }
        self.seen += nrows as u64;
        out.push(chunk);
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        match self.seen == self.records {
            true => Ok(None),
            false => Err(Error::data(mismatch(in_words(self.records), self.seen))),
        }
    }
}

fn in_words(records: u64) -> String {
    if records == 1 { "1 record".to_owned() } else { format!("{records} records") }
}
