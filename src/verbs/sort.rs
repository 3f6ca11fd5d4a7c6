//! `sort --by EXPR`: sorts records.

use super::shared::args::split_commas;
use super::shared::sorter::Sorter;
use super::verb::{Bound, Deferred, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::expr::{ScalarExpr, bind_scalars, computable, names_used, negated};
use crate::options::Options;
use crate::path::FieldPath;
use crate::schema::Schema;
use crate::tensor::sortable::has_order;
use std::sync::Arc;

/// Sorts records by keys.
#[derive(clap::Args, Clone, Debug)]
pub struct Sort {
    /// Sort keys: fields or scalar expressions, such as label,-len(tokens); - for descending; may be repeated
    #[arg(long, value_name = "EXPR", required = true, allow_hyphen_values = true)]
    by: Vec<String>,
    /// Reverse the order of every key; also --reverse
    #[arg(long, short = 'r', alias = "reverse")]
    descending: bool,
}

impl Verb for Sort {
    const NAME: &'static str = "sort";
    const SUMMARY: &'static str = "Sort records";
    const ABOUT: &'static str = "\
Keeps all records in memory or, beyond --max-memory, in a temporary file (see --temp-dir), with the same result. The sort is \
stable: records with equal keys stay in order. A key written -KEY is sorted in descending order, whatever its type; but -a + b is an \
ordinary expression. NaN sorts after all numbers, and null after everything, even in descending order. Strings are compared by their bytes, which \
is the order of their code points; false sorts before true.";
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
        Example {
            about: "labels in descending order, ids in ascending order within each",
            args: "sort --by -label,id",
            input: "{\"id\": 3, \"label\": \"b\"}\n{\"id\": 2, \"label\": \"a\"}\n{\"id\": 1, \"label\": \"b\"}\n",
            output: "{\"id\":1,\"label\":\"b\"}\n{\"id\":3,\"label\":\"b\"}\n{\"id\":2,\"label\":\"a\"}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let (texts, descending): (Vec<&str>, Vec<bool>) = self.keys().unzip();
        let keys = bind_scalars(texts.iter().copied(), schema, options)?;
        for (text, key) in texts.into_iter().zip(&keys) {
            if let Some(dtype) = key.ty().dtype().filter(|dtype| !has_order(dtype)) {
                let field = FieldPath::parse(text).ok().filter(|path| schema.find(path).is_ok());
                let error = Error::usage(format!("{text} is {}, which cannot be sorted", key.ty()));
                return Err(error.help(computable(dtype, field.map(|path| path.to_string()).as_deref())));
            }
        }
        let fold = Sorted { keys, sorter: Sorter::new(Self::NAME, schema, &descending, options) };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let after = Demand { records: None, ..after };
        self.keys().fold(after, |after, (text, _)| match names_used(text, false) {
            Some(used) => after.and_fields(used.read),
            None => Demand::everything(),
        })
    }
}

impl Sort {
    /// The key expressions, in order, and whether each is descending.
    fn keys(&self) -> impl Iterator<Item = (&str, bool)> {
        self.by.iter().flat_map(|by| split_commas(by)).map(str::trim).map(|text| match negated(text) {
            Some(key) => (key, !self.descending),
            None => (text, self.descending),
        })
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
