//! `show`: prints records the way TensorFlow prints tensors.

mod array;
mod tensor;
mod values;

use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path;
use crate::printable::{one_line, printable};
use crate::schema::Schema;
use crate::verbs::shared::count::number_of_records;
use crate::verbs::verb::{Bound, Example, Flow, Operator, Report, Verb, Verdict};
use std::io::Write;
use std::sync::Arc;

/// Prints records as tensors.
#[derive(clap::Args, Clone, Debug)]
pub struct Show {
    /// Number of records
    #[arg(short = 'n', value_name = "N", default_value_t = 10, value_parser = number_of_records)]
    count: u64,
}

impl Verb for Show {
    const NAME: &'static str = "show";
    const SUMMARY: &'static str = "Print records the way TensorFlow prints tensors";
    const ABOUT: &'static str = "\
Ends a chain and prints the first N records that reach it, one field per line, with an empty line between records; \
then reading stops. Axes are numbered within the record. Arrays of more than 1000 values are shortened to three items at \
each end of an axis, and lines are 75 characters wide, as NumPy prints them.

Values that are not tensors are printed as Python values: None, a list that contains nulls, an Arrow timestamp.";
    const MEANING: &'static str = "the printed form of tf.Tensor, tf.RaggedTensor, tf.SparseTensor and StructuredTensor";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "a string, a vector, a ragged matrix",
            args: "show",
            input: "{\"who\": \"John\", \"ids\": [3, 1], \"m\": [[1, 2], []]}\n",
            output: "who: <tf.Tensor: shape=(), dtype=string, numpy=b'John'>\n\
                     ids: <tf.Tensor: shape=(2,), dtype=int64, numpy=array([3, 1])>\n\
                     m: <tf.RaggedTensor [[1, 2], []]>\n",
        },
        Example {
            about: "the first batch",
            args: "batch 2 then show -n 1",
            input: "{\"words\": [\"John\"]}\n{\"words\": [\"a\", \"big\", \"dog\"]}\n{\"words\": []}\n",
            output: "words: <tf.RaggedTensor [[b'John'], [b'a', b'big', b'dog']]>\n",
        },
    ];
    const REPORTS: bool = true;

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let shown = Shown { schema: schema.clone(), left: self.count, any: false };
        Ok(Bound { schema: Arc::new(Schema::default()), operator: Operator::Report(Box::new(shown)) })
    }

    fn demand(&self, _: Demand) -> Demand {
        Demand { records: Some(self.count), ..Demand::everything() }
    }
}

struct Shown {
    schema: Arc<Schema>,
    left: u64,
    any: bool,
}

impl Report for Shown {
    fn wants(&self) -> Option<u64> {
        Some(self.left)
    }

    fn push(&mut self, chunk: &Chunk, out: &mut dyn Write) -> Result<Flow> {
        for row in 0..chunk.nrows {
            if self.left == 0 {
                break;
            }
            let mut text = if self.any { "\n".to_owned() } else { String::new() };
            for (field, column) in self.schema.fields.iter().zip(&chunk.columns) {
                let value = tensor::text(column, &field.ty, row).map_err(|e| e.in_field(path::quoted(&field.name)))?;
                text.push_str(&format!("{}: {value}\n", one_line(&path::quoted(&field.name))));
            }
            out.write_all(printable(&text).as_bytes()).map_err(Error::output)?;
            self.any = true;
            self.left -= 1;
        }
        Ok(if self.left == 0 { Flow::Done } else { Flow::More })
    }

    fn finish(&mut self, _: &mut dyn Write) -> Result<Verdict> {
        Ok(Verdict::Good)
    }
}
