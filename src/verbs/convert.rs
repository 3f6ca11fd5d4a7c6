//! `convert`: records unchanged, from one format into another.

use super::shared::unchanged::Unchanged;
use super::verb::{Bound, Example, Operator, Verb};
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Records unchanged.
#[derive(clap::Args, Clone, Debug)]
pub struct Convert {}

impl Verb for Convert {
    const NAME: &'static str = "convert";
    const SUMMARY: &'static str = "Write the records unchanged, in another format";
    const ABOUT: &'static str = "\
The output's format is that of its extension, or --to; JSON lines on standard output. Nothing is lost \
silently: what the format cannot hold is an error that names the field and the way out.";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "every list keeps its own length, null stays apart from the empty list",
            args: "convert",
            input: "{\"id\": 1, \"tokens\": [5, 2]}\n{\"id\": 2, \"tokens\": []}\n{\"id\": 3, \"tokens\": null}\n",
            output: "{\"id\":1,\"tokens\":[5,2]}\n{\"id\":2,\"tokens\":[]}\n{\"id\":3,\"tokens\":null}\n",
        },
        Example {
            about: "types are inferred from all records: one fraction makes the field float64",
            args: "convert",
            input: "{\"x\": 1}\n{\"x\": 1.5}\n",
            output: "{\"x\":1.0}\n{\"x\":1.5}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        Ok(Bound { schema: schema.clone(), operator: Operator::Map(Arc::new(Unchanged)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        after
    }
}
