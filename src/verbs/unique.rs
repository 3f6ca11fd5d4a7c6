//! `unique`: the first record of each key.

use super::shared::first_of_each::FirstOfEach;
use super::shared::keys::Keys;
use super::verb::{Bound, Example, Operator, Verb};
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// The first record of each key.
#[derive(clap::Args, Clone, Debug)]
pub struct Unique {
    /// Fields to compare [default: all]
    #[arg(long, value_name = "FIELDS", value_parser = Keys::parse)]
    by: Option<Keys>,
}

impl Verb for Unique {
    const NAME: &'static str = "unique";
    const SUMMARY: &'static str = "Drop duplicate records";
    const ABOUT: &'static str = "\
Keeps the first of the records that are equal in all fields (with --by, in those fields), in input order. Values are compared exactly, lists and structures included; nulls equal \
each other, NaNs equal each other, and 0.0 equals -0.0. The distinct keys are kept in memory (with --by, only the fields named). Beyond \
--max-memory, records with new keys are set aside in a temporary file (see --temp-dir) until all input is read.";
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
        let keys = self.by.as_ref().map(|by| by.fields(schema, Self::NAME)).transpose()?;
        let fold = FirstOfEach::new(Self::NAME, 1, keys, schema, options);
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
