//! `select a,b.c`: keeps only these fields.

use super::shared::choose::Choice;
use super::shared::fields::Patterns;
use super::verb::{Bound, Example, Operator, Verb};
use crate::demand::{Demand, Wanted};
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Keeps only these fields, in this order.
#[derive(clap::Args, Clone, Debug)]
pub struct Select {
    /// Fields, such as a,b.c; `*` matches any characters in a name
    #[arg(value_name = "FIELDS", value_parser = Patterns::parse)]
    fields: Patterns,
}

impl Verb for Select {
    const NAME: &'static str = "select";
    const SUMMARY: &'static str = "Keep only these fields, in this order";
    const ABOUT: &'static str = "\
A field inside structures is named by its path: `docs.tokens` keeps only the tokens of each document. Fields that are \
not kept are never parsed. A name needs backquotes only if it contains one of `. , = *` or a backquote.";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "two fields, in this order",
            args: "select label,id",
            input: "{\"id\": 1, \"label\": \"a\", \"tokens\": [5, 2]}\n{\"id\": 2, \"label\": \"b\", \"tokens\": []}\n",
            output: "{\"label\":\"a\",\"id\":1}\n{\"label\":\"b\",\"id\":2}\n",
        },
        Example {
            about: "a field of every document, and all fields that end with id",
            args: "select 'docs.tokens,*id'",
            input: "{\"id\": 7, \"docs\": [{\"title\": \"a\", \"tokens\": [1, 2]}, {\"title\": \"b\", \"tokens\": []}], \"doc_id\": 9}\n",
            output: "{\"docs\":[{\"tokens\":[1,2]},{\"tokens\":[]}],\"id\":7,\"doc_id\":9}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let choice = Choice::only(&schema.fields, &self.fields.resolve(schema)?);
        Ok(Bound { schema: Arc::new(choice.schema(schema)), operator: Operator::Map(Arc::new(choice)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        Demand { fields: Wanted::matching(self.fields.wanted()), ..after }
    }
}
