//! `batch N`: groups consecutive records into batches.

use super::shared::batches::{BatchSize, Batches, batched_schema, parse_size};
use super::shared::fields::split_assignment;
use super::verb::{Bound, Example, Operator, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result, mismatch};
use crate::options::Options;
use crate::path::FieldPath;
use crate::schema::{Schema, Size};
use std::sync::Arc;

/// Groups N consecutive records into a batch.
#[derive(clap::Args, Clone, Debug)]
pub struct Batch {
    /// Records per batch, or all
    #[arg(value_name = "N|all", value_parser = parse_size)]
    size: BatchSize,
    /// Drop the last batch if it has fewer than N records
    #[arg(long)]
    drop_remainder: bool,
    /// At most N values of FIELD per batch; may be repeated
    #[arg(long, value_name = "FIELD=N", value_parser = parse_limit)]
    max_values: Vec<Limit>,
}

#[derive(Clone, Debug)]
struct Limit {
    path: FieldPath,
    nvals: u64,
}

fn parse_limit(text: &str) -> Result<Limit, Error> {
    let (field, number) = split_assignment(text, "FIELD=N, such as tokens=4096")?;
    match number.trim().parse() {
        Ok(nvals) if nvals > 0 => Ok(Limit { path: FieldPath::parse(field)?, nvals }),
        _ => Err(Error::usage(mismatch(format_args!("a number of values, such as {field}=4096"), format_args!("`{number}`")))),
    }
}

impl Verb for Batch {
    const NAME: &'static str = "batch";
    const SUMMARY: &'static str = "Group N consecutive records into a batch";
    const ABOUT: &'static str = "\
Every field gains axis 0, the records of the batch. Axes whose size may differ between records become ragged: `[?]` becomes `[?, (?)]`; \
axes of known size stay uniform: `[4]` becomes `[?, 4]`. Structures become structured tensors; a sparse tensor gains a leading axis, \
and its other sizes are the largest of the batch. Nulls are kept.

With --max-values, a batch also ends before a record that would bring the number of values in FIELD (counting all its axes) above the \
limit; a record above the limit becomes a separate batch. `batch all` keeps all records in memory (see --max-memory). With \
--drop-remainder and without --max-values, every batch has N records, and the size of axis 0 is known.";
    const MEANING: &'static str = "tf.data.Dataset.batch, ragged_batch";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "two records per batch",
            args: "batch 2",
            input: "{\"colors\": [\"red\", \"blue\"], \"lengths\": [7]}\n{\"colors\": [\"orange\"], \"lengths\": []}\n\
                    {\"colors\": [\"black\", \"yellow\"], \"lengths\": [1, 3]}\n{\"colors\": [\"green\"], \"lengths\": [3, 5, 2]}\n",
            output: "{\"colors\":[[\"red\",\"blue\"],[\"orange\"]],\"lengths\":[[7],[]]}\n\
                     {\"colors\":[[\"black\",\"yellow\"],[\"green\"]],\"lengths\":[[1,3],[3,5,2]]}\n",
        },
        Example {
            about: "at most 5 tokens per batch, any number of records",
            args: "batch all --max-values tokens=5",
            input: "{\"tokens\": [1, 2]}\n{\"tokens\": [3]}\n{\"tokens\": [4, 5, 6]}\n{\"tokens\": [7, 7, 7, 7, 7, 7]}\n{\"tokens\": []}\n",
            output: "{\"tokens\":[[1,2],[3]]}\n{\"tokens\":[[4,5,6]]}\n{\"tokens\":[[7,7,7,7,7,7]]}\n{\"tokens\":[[]]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let is_known = self.drop_remainder && self.max_values.is_empty();
        if is_known && self.size == BatchSize::All {
            return Err(Error::usage("`batch all` makes a single batch of all records, so there is no remainder to drop"));
        }
        let size = match self.size {
            BatchSize::Of(n) if is_known => Size::Known(n as u64),
            _ => Size::Uniform,
        };
        for (n, limit) in self.max_values.iter().enumerate() {
            if self.max_values[..n].iter().any(|other| other.path == limit.path) {
                return Err(Error::usage(format!("--max-values appears twice for {}", limit.path)));
            }
        }
        let limits = self.max_values.iter().map(|limit| Ok((schema.find(&limit.path)?.0, limit.nvals))).collect::<Result<Vec<_>>>()?;
        let batches = Batches::new("batch", self.size, self.drop_remainder, schema, options).with_limits(limits);
        Ok(Bound { schema: batched_schema(schema, size), operator: Operator::Fold(Box::new(batches)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let records = match (self.size, after.records) {
            (BatchSize::Of(n), Some(records)) if self.max_values.is_empty() => records.checked_mul(n as u64),
            _ => None,
        };
        let limited = self.max_values.iter().filter_map(|limit| limit.path.names().first().cloned());
        Demand { records, ..after }.and_fields(limited)
    }
}
