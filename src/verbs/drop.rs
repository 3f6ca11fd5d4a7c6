//! `drop a,b.c`: drops fields.

use super::shared::choose::Choice;
use super::shared::fields::Patterns;
use super::verb::{Bound, Example, Operator, Verb};
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Drops fields.
#[derive(clap::Args, Clone, Debug)]
pub struct Drop {
    /// Fields, such as a,b.c; `*` matches any characters in a name
    #[arg(value_name = "FIELDS", value_parser = Patterns::parse)]
    fields: Patterns,
}

impl Verb for Drop {
    const NAME: &'static str = "drop";
    const SUMMARY: &'static str = "Drop fields";
    const ABOUT: &'static str = "\
All other fields are kept. A field inside structures is named by its path; a structure whose fields are all dropped remains, without \
fields.";
    const MEANING: &'static str = "tf.experimental.StructuredTensor.with_updates({field: None})";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "drop one field",
            args: "drop tokens",
            input: "{\"id\": 1, \"label\": \"a\", \"tokens\": [5, 2]}\n",
            output: "{\"id\":1,\"label\":\"a\"}\n",
        },
        Example {
            about: "a field of every document",
            args: "drop docs.title",
            input: "{\"docs\": [{\"title\": \"a\", \"tokens\": [1, 2]}, {\"title\": \"b\", \"tokens\": []}]}\n",
            output: "{\"docs\":[{\"tokens\":[1,2]},{\"tokens\":[]}]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let choice = Choice::all_but(&schema.fields, &self.fields.resolve(schema)?);
        Ok(Bound { schema: Arc::new(choice.schema(schema)), operator: Operator::Map(Arc::new(choice)) })
    }

    fn drops(&self) -> Vec<String> {
        self.fields.whole().unwrap_or_default()
    }

    fn demand(&self, after: Demand) -> Demand {
        after.and_fields(self.fields.wanted())
    }
}
