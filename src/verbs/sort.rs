//! `sort --by EXPR`: sorts records.

use super::shared::args::split_commas;
use super::shared::sorter::Sorter;
use super::verb::{Bound, Deferred, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::expr::{ScalarExpr, bind_scalar, names_used};
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Sorts records by keys.
#[derive(clap::Args, Clone, Debug)]
pub struct Sort {
    /// Sort keys: fields or scalar expressions, as label,len(tokens); may be repeated
    #[arg(long, value_name = "EXPR", required = true)]
    by: Vec<String>,
    /// Sort in descending order; also --reverse
    #[arg(long, short = 'r', alias = "reverse")]
    descending: bool,
}

impl Verb for Sort {
    const NAME: &'static str = "sort";
    const SUMMARY: &'static str = "Sort records";
    const ABOUT: &'static str = "\
Holds all records in memory; beyond --max-memory it continues in a temporary file (see --temp-dir), with the same result. \
The sort is stable: records with equal keys stay in order. NaN sorts \
after all numbers and null after everything, with --descending too. Strings are compared by their bytes, which is the \
order of their code points; false sorts before true.";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "longest first",
            args: "sort --by 'len(tokens)' --descending",
            input: "{\"id\": 1, \"tokens\": [5]}\n{\"id\": 2, \"tokens\": [1, 2, 3]}\n{\"id\": 3, \"tokens\": []}\n",
            output: "{\"id\":2,\"tokens\":[1,2,3]}\n{\"id\":1,\"tokens\":[5]}\n{\"id\":3,\"tokens\":[]}\n",
        },
        Example {
            about: "by one field, then by another; nulls last",
            args: "sort --by label,id",
            input: "{\"id\": 3, \"label\": \"b\"}\n{\"id\": 2, \"label\": null}\n{\"id\": 1, \"label\": \"b\"}\n{\"id\": 0, \"label\": \"a\"}\n",
            output: "{\"id\":0,\"label\":\"a\"}\n{\"id\":1,\"label\":\"b\"}\n{\"id\":3,\"label\":\"b\"}\n{\"id\":2,\"label\":null}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let mut keys = Vec::new();
        for text in self.keys() {
            let key = bind_scalar(text, schema, options)?;
            if key.ty().dtype().is_some_and(|d| !d.is_tensor() && d.time().is_none() && *d != crate::schema::DType::Null) {
                return Err(Error::usage(format!("{text} is {}, which cannot be sorted", key.ty())));
            }
            keys.push(key);
        }
        let fold = Sorted { keys, sorter: Sorter::new(Self::NAME, schema, self.descending, options) };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let after = Demand { records: None, ..after };
        self.keys().fold(after, |after, text| match names_used(text, false) {
            Some(used) => after.and_fields(used.read),
            None => Demand::everything(),
        })
    }
}

impl Sort {
    /// The key expressions, in order.
    fn keys(&self) -> impl Iterator<Item = &str> {
        self.by.iter().flat_map(|by| split_commas(by)).map(str::trim)
    }
}

struct Sorted {
    keys: Vec<ScalarExpr>,
    sorter: Sorter,
}

impl Fold for Sorted {
    fn push(&mut self, chunk: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        let keys = self.keys.iter().map(|key| key.eval(&chunk)).collect::<Result<_>>()?;
        self.sorter.push(chunk, keys)?;
        Ok(Flow::More)
    }

    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        self.sorter.next_deferred()
    }
}
