//! `unique`: the first record of each key.

use super::shared::memory::{Budget, owned};
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::{FieldPath, quoted};
use crate::schema::Schema;
use crate::tensor::Tensor;
use crate::tensor::hash::row_hashes;
use std::collections::HashMap;
use std::sync::Arc;

/// The first record of each key.
#[derive(clap::Args, Clone, Debug)]
pub struct Unique {
    /// The fields that make records equal [default: all]
    #[arg(long, value_name = "FIELDS", value_parser = parse)]
    by: Option<Keys>,
}

#[derive(Clone, Debug)]
struct Keys(Vec<FieldPath>);

fn parse(text: &str) -> Result<Keys, Error> {
    FieldPath::parse_list(text).map(Keys)
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
        let mut keys = Vec::new();
        for path in self.by.iter().flat_map(|keys| &keys.0) {
            match schema.find(path)?.0.as_slice() {
                [position] => keys.push(*position),
                _ => {
                    let error = Error::usage("is inside a structure; a key is a field of the record").in_field(path);
                    return Err(error.help(format!("copy it first: map '{0} = {path}' then unique --by {0}", quoted(path.last()))));
                }
            }
        }
        if self.by.is_none() {
            keys = (0..schema.fields.len()).collect();
        }
        keys.sort_unstable();
        keys.dedup();
        let way_out = "compare fewer fields: unique --by FIELDS; or sort by the key and take each group's first: sort, then implode";
        let fold = Seen { keys, rows: HashMap::new(), held: Vec::new(), budget: Budget::new("unique", way_out, options) };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let after = Demand { records: None, ..after };
        match &self.by {
            Some(by) => after.and_fields(by.0.iter().filter_map(|path| path.names().first().cloned())),
            None => Demand::everything(),
        }
    }
}

struct Seen {
    /// The fields of the key.
    keys: Vec<usize>,
    /// The rows of `held` by the hash of their key; the first is enough for nearly all.
    rows: HashMap<u64, Vec<(u32, u32)>>,
    /// The key columns of the records that were kept.
    held: Vec<Vec<Tensor>>,
    budget: Budget,
}

/// Bytes that the table takes for one row, about.
const ROW_NBYTES: u64 = 56;

impl Fold for Seen {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let columns: Vec<Tensor> = self.keys.iter().map(|k| chunk.columns[*k].clone()).collect();
        let hashes = row_hashes(&columns, chunk.nrows);
        // Rows of this chunk are compared where they are; those that are new are copied together at its end.
        let part = u32::try_from(self.held.len()).map_err(|_| Error::data("unique: too many chunks"))?;
        let mut fresh: Vec<usize> = Vec::new();
        for (row, hash) in hashes.iter().enumerate() {
            let known = self.rows.entry(*hash).or_default();
            let equal = |(at, of): &(u32, u32)| {
                if *at == part {
                    columns.iter().all(|c| c.rows_equal(fresh[*of as usize], c, row))
                } else {
                    self.held[*at as usize].iter().zip(&columns).all(|(a, b)| a.rows_equal(*of as usize, b, row))
                }
            };
            if !known.iter().any(equal) {
                known.push((part, u32::try_from(fresh.len()).map_err(|_| Error::data("unique: too many records in a chunk"))?));
                fresh.push(row);
            }
        }
        if fresh.is_empty() {
            return Ok(Flow::More);
        }
        let kept = if fresh.len() == chunk.nrows { chunk } else { chunk.gather(&fresh)? };
        let keys = kept.with_columns(self.keys.iter().map(|k| kept.columns[*k].clone()).collect())?;
        let keys = owned(&keys)?;
        self.budget.take((keys.nbytes() as u64).saturating_add(ROW_NBYTES.saturating_mul(keys.nrows as u64)))?;
        self.held.push(keys.columns);
        out.push(kept);
        Ok(Flow::More)
    }
}
