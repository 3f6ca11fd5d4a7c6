//! `enumerate`: numbers the records.

use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::{new_name, quoted};
use crate::schema::{DType, Field, Schema, Type};
use crate::tensor::Tensor;
use arrow_array::Int64Array;
use std::sync::Arc;

/// Numbers the records.
#[derive(clap::Args, Clone, Debug)]
pub struct Enumerate {
    /// Number of the first record
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    start: i64,
    /// Name of the new field
    #[arg(long = "as", value_name = "NAME", value_parser = new_name, default_value = "index")]
    name: String,
}

impl Verb for Enumerate {
    const NAME: &'static str = "enumerate";
    const SUMMARY: &'static str = "Number the records";
    const ABOUT: &'static str = "\
Adds an int64 scalar as the first field, `index` (see --as): 0, 1, 2, ..., or from N with --start N. The numbers follow the order of the stream at this point of the \
chain: after `filter` or `shuffle`, they count the remaining records in their new order.";
    const MEANING: &'static str = "tf.data.Dataset.enumerate";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "number the records from 0",
            args: "enumerate",
            input: "{\"tokens\": [5, 2]}\n{\"tokens\": []}\n",
            output: "{\"index\":0,\"tokens\":[5,2]}\n{\"index\":1,\"tokens\":[]}\n",
        },
        Example {
            about: "number the records that pass a filter, from 1",
            args: "filter 'x > 3' then enumerate --start 1 --as i",
            input: "{\"x\": 5}\n{\"x\": 1}\n{\"x\": 7}\n",
            output: "{\"i\":1,\"x\":5}\n{\"i\":2,\"x\":7}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        if schema.index_of(&self.name).is_some() {
            return Err(Error::usage(format!("the records already have a field named {}", quoted(&self.name)))
                .help("choose another name for the new field: --as NAME"));
        }
        let mut fields = vec![Field::new(self.name.clone(), Type::tensor(DType::Int64, Vec::new()))];
        fields.extend(schema.fields.iter().cloned());
        Ok(Bound { schema: Arc::new(Schema::new(fields)), operator: Operator::Fold(Box::new(Numbers { next: Some(self.start) })) })
    }

    fn demand(&self, after: Demand) -> Demand {
        // The new field is not read, but an existing field with its name must be found, so that the clash is reported.
        after.and_fields([self.name.clone()])
    }
}

struct Numbers {
    /// `None` past the largest int64.
    next: Option<i64>,
}

impl Fold for Numbers {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let last = self.next.and_then(|first| first.checked_add(i64::try_from(chunk.nrows.saturating_sub(1)).ok()?));
        let (Some(first), Some(last)) = (self.next, last) else {
            return Err(Error::data("the number of a record exceeds the range of int64").help("start with a smaller number: --start N"));
        };
        self.next = last.checked_add(1);
        let mut columns = vec![Tensor::Leaf(Arc::new(Int64Array::from_iter_values(first..=last)))];
        columns.extend(chunk.columns.iter().cloned());
        out.push(chunk.with_columns(columns)?);
        Ok(Flow::More)
    }
}
