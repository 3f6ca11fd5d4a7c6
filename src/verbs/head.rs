//! `head N`: the first records.

use super::shared::count::RecordCount;
use super::shared::first_of_each::FirstOfEach;
use super::shared::keys::Keys;
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// The first N records, or those of each key.
#[derive(clap::Args, Clone, Debug)]
pub struct Head {
    #[command(flatten)]
    count: RecordCount,
    /// Keep the first N records of each combination of values of these fields
    #[arg(long, value_name = "FIELDS", value_parser = Keys::parse)]
    by: Option<Keys>,
}

impl Verb for Head {
    const NAME: &'static str = "head";
    const SUMMARY: &'static str = "Keep the first N records";
    const ABOUT: &'static str = "\
Reading stops as soon as N records have been written, so the first records of a huge file or an endless pipe appear immediately. \
Types are inferred from these records only, unless an earlier verb, such as `map`, `cast` or `filter`, computes with values \
or chooses records, or a verb names a field that does not occur in them.

With --by, all input is read, and the first N records of each key are passed on as they come. Keys are compared as in `unique`. The distinct \
keys are kept in memory. Beyond --max-memory, records with new keys are set aside in a temporary file (see --temp-dir) until all input is \
read. For the N largest of each key, sort first: sort --by -x then head 3 --by user.";
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
        Example {
            about: "at most two events of each user",
            args: "head 2 --by user",
            input: "{\"user\": \"a\", \"t\": 1}\n{\"user\": \"a\", \"t\": 2}\n{\"user\": \"b\", \"t\": 3}\n{\"user\": \"a\", \"t\": 4}\n",
            output: "{\"user\":\"a\",\"t\":1}\n{\"user\":\"a\",\"t\":2}\n{\"user\":\"b\",\"t\":3}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let count = self.count.check()?;
        let keys = self.by.as_ref().map(|by| by.fields(schema, &format!("head {count}"))).transpose()?;
        let fold: Box<dyn Fold> = match keys {
            Some(keys) if count > 0 => Box::new(FirstOfEach::new(Self::NAME, count, Some(keys), schema, options)),
            _ => Box::new(First { left: count }),
        };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(fold) })
    }

    fn demand(&self, after: Demand) -> Demand {
        if let Some(by) = &self.by {
            return Demand { records: None, ..after }.and_fields(by.names());
        }
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
