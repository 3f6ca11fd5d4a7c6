//! `filter`: keeps records for which a condition is true.

use super::verb::{Bound, Example, Map, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::expr::{ScalarExpr, bind_scalar, names_used};
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Keeps records for which a condition is true.
#[derive(clap::Args)]
pub struct Filter {
    /// Expression that evaluates to one bool per record: 'len(tokens) > 3 and label != 0'
    #[arg(value_name = "CONDITION")]
    condition: String,
}

impl Verb for Filter {
    const NAME: &'static str = "filter";
    const SUMMARY: &'static str = "Keep records for which a condition is true";
    const ABOUT: &'static str = "\
The condition is an expression that evaluates to one bool per record (see `tatter help functions`). `and` and `or` short-circuit \
in each record, so `len(x) > 0 and x[0] > 3` cannot fail.";
    const MEANING: &'static str = "tf.data.Dataset.filter";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "records with more than one value",
            args: "filter 'len(x) > 1'",
            input: "{\"x\":[1,2]}\n{\"x\":[]}\n{\"x\":[5]}\n",
            output: "{\"x\":[1,2]}\n",
        },
        Example {
            about: "the right side is not evaluated if there is no first token",
            args: "filter 'len(tokens) > 0 and tokens[0] > 3'",
            input: "{\"tokens\": [5, 2]}\n{\"tokens\": []}\n{\"tokens\": [1, 9]}\n",
            output: "{\"tokens\":[5,2]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let condition = bind_scalar(&self.condition, schema, options)?.into_condition(&self.condition)?;
        Ok(Bound { schema: schema.clone(), operator: Operator::Map(Arc::new(Keeps { condition })) })
    }

    fn demand(&self, after: Demand) -> Demand {
        // The number of records to read is unknown in advance.
        let after = Demand { records: None, ..after };
        match names_used(&self.condition, false) {
            Some(used) => after.and_fields(used.read),
            None => Demand::everything(),
        }
    }
}

struct Keeps {
    condition: ScalarExpr,
}

impl Map for Keeps {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let rows = self.condition.rows_where_true(&chunk)?;
        if rows.len() == chunk.nrows { Ok(chunk) } else { chunk.gather(&rows) }
    }

    fn keeps_count(&self) -> bool {
        false
    }
}
