//! `convert`: writes records unchanged, in another format.

use super::verb::{Bound, Example, Verb};
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Writes records unchanged.
#[derive(clap::Args, Clone, Debug)]
pub struct Convert {}

impl Verb for Convert {
    const NAME: &'static str = "convert";
    const SUMMARY: &'static str = "Write records unchanged, usually in another format";
    const ABOUT: &'static str = "\
The output format is given by --to or the output's extension; on standard output it is JSON Lines. Nothing is lost silently: a value that \
the output format cannot store either causes an error that names the field, or is changed with a notice (an error with --strict).";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "lists keep their lengths; null and the empty list stay distinct",
            args: "convert",
            input: "{\"id\": 1, \"tokens\": [5, 2]}\n{\"id\": 2, \"tokens\": []}\n{\"id\": 3, \"tokens\": null}\n",
            output: "{\"id\":1,\"tokens\":[5,2]}\n{\"id\":2,\"tokens\":[]}\n{\"id\":3,\"tokens\":null}\n",
        },
        Example {
            about: "types are inferred from all records: a single fraction makes the field float64",
            args: "convert",
            input: "{\"x\": 1}\n{\"x\": 1.5}\n",
            output: "{\"x\":1.0}\n{\"x\":1.5}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        Ok(Bound::unchanged(schema))
    }

    fn demand(&self, after: Demand) -> Demand {
        after
    }
}
