//! `unique`: the first record of each key.

use super::shared::keys::{KeyTable, Keys};
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// The first record of each key.
#[derive(clap::Args, Clone, Debug)]
pub struct Unique {
    /// The fields that make records equal [default: all]
    #[arg(long, value_name = "FIELDS", value_parser = Keys::parse)]
    by: Option<Keys>,
}

impl Verb for Unique {
    const NAME: &'static str = "unique";
    const SUMMARY: &'static str = "Drop duplicate records";
    const ABOUT: &'static str = "\
Keeps the first record of each key, in the order of the input. Values are compared exactly, lists and structures included; \
nulls are equal to each other, and so are NaN. The distinct keys are held in memory (see --max-memory): with --by, those \
fields only.";
    const MEANING: &'static str = "tf.data.Dataset.unique";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "drop records that are equal in all fields",
            args: "unique",
            input: "{\"x\": [1, 2]}\n{\"x\": [1]}\n{\"x\": [1, 2]}\n",
            output: "{\"x\":[1,2]}\n{\"x\":[1]}\n",
        },
        Example {
            about: "keep the first event of each user",
            args: "unique --by user",
            input: "{\"user\": \"a\", \"t\": 1}\n{\"user\": \"b\", \"t\": 2}\n{\"user\": \"a\", \"t\": 3}\n",
            output: "{\"user\":\"a\",\"t\":1}\n{\"user\":\"b\",\"t\":2}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let keys = match &self.by {
            Some(by) => by.positions(schema, Self::NAME)?,
            None => (0..schema.fields.len()).collect(),
        };
        let way_out = "compare fewer fields: unique --by FIELDS; or sort by the key and take each group's first: sort, then implode";
        let fold = Seen { keys, table: KeyTable::new(Self::NAME, way_out, options) };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let after = Demand { records: None, ..after };
        match &self.by {
            Some(by) => after.and_fields(by.names()),
            None => Demand::everything(),
        }
    }
}

struct Seen {
    /// The fields of the key.
    keys: Vec<usize>,
    table: KeyTable,
}

impl Fold for Seen {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let keys = chunk.with_columns(self.keys.iter().map(|k| chunk.columns[*k].clone()).collect())?;
        let fresh = self.table.insert(&keys)?.fresh;
        if fresh.len() == chunk.nrows {
            out.push(chunk);
        } else if !fresh.is_empty() {
            out.push(chunk.gather(&fresh)?);
        }
        Ok(Flow::More)
    }
}
