//! `assert`: fails the run at the first record for which a condition is false.

use super::verb::{Bound, Example, Map, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::expr::{ScalarExpr, bind_scalar, names_used};
use crate::options::Options;
use crate::printable::shell_word;
use crate::schema::Schema;
use std::sync::Arc;

/// Fails the run at the first record for which a condition is false.
#[derive(clap::Args)]
pub struct Assert {
    /// Expression that evaluates to one bool per record: 'len(tokens) <= 512'
    #[arg(value_name = "CONDITION")]
    condition: String,
    /// Error message [default: the condition]
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
}

impl Verb for Assert {
    const NAME: &'static str = "assert";
    const SUMMARY: &'static str = "Fail if a condition is false for any record";
    const ABOUT: &'static str = "\
The condition is an expression that evaluates to one bool per record (see `tatter help functions`). Records are passed on unchanged. The first \
record for which the condition is false ends the run with an error that names it (exit code 1); with --on-error skip, such records are \
dropped and counted.";
    const MEANING: &'static str = "tf.debugging.Assert";
    const COMPUTES: bool = true;
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "check lengths before training",
            args: "assert 'len(tokens) <= 3'",
            input: "{\"tokens\": [5, 2]}\n{\"tokens\": []}\n",
            output: "{\"tokens\":[5,2]}\n{\"tokens\":[]}\n",
        },
        Example {
            about: "drop and count the records that fail",
            args: "assert 'label >= 0' --message 'labels start at 0' then count --on-error skip --max-errors 1",
            input: "{\"label\": 1}\n{\"label\": -1}\n{\"label\": 0}\n",
            output: "2\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let condition = bind_scalar(&self.condition, schema, options)?.into_condition(&self.condition)?;
        let message = self.message.clone().unwrap_or_else(|| format!("assertion failed: {}", self.condition.trim()));
        let others = format!("to find all such records: filter {}", shell_word(&format!("not ({})", self.condition.trim())));
        Ok(Bound { schema: schema.clone(), operator: Operator::Map(Arc::new(Holds { condition, message, others })) })
    }

    fn demand(&self, after: Demand) -> Demand {
        match names_used(&self.condition, false) {
            Some(used) => after.and_fields(used.read),
            None => Demand::everything(),
        }
    }
}

struct Holds {
    condition: ScalarExpr,
    message: String,
    /// How to find the records for which it is false.
    others: String,
}

impl Map for Holds {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let rows = self.condition.rows_where_true(&chunk)?;
        match (0..chunk.nrows)
            .zip(&rows)
            .find(|(row, found)| row != *found)
            .map(|(row, _)| row)
            .or((rows.len() < chunk.nrows).then_some(rows.len()))
        {
            Some(row) => Err(Error::data(self.message.clone()).help(self.others.clone()).at_row(row)),
            None => Ok(chunk),
        }
    }
}
