//! `schema`: prints the types of the fields, in the notation or as code for another system.

mod arrow;
mod features;
mod json;
mod load;
mod sequences;
mod spec;

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::options::{OnError, Options};
use crate::schema::{Schema as Fields, notation};
use crate::screen;
use crate::verbs::verb::{Bound, Example, Flow, Operator, Report, Verb, Verdict};
use std::io::Write;
use std::sync::Arc;

/// Prints the types of the fields.
#[derive(clap::Args, Clone, Debug)]
pub struct Schema {
    /// Output format: the type notation, JSON, or code for another library [default: by the extension of the output, .json, otherwise text]
    #[arg(long = "as", value_name = "FORMAT", value_enum)]
    form: Option<Form>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Form {
    /// The notation that --schema reads
    Text,
    /// One JSON object, for programs
    Json,
    /// A pyarrow.schema
    Arrow,
    /// The feature specification for tf.io.parse_example or tf.io.parse_sequence_example
    Tf,
    /// RaggedTensorSpec, TensorSpec and SparseTensorSpec of one record
    TfSpec,
    /// Code that loads an npz or safetensors file with NumPy
    Numpy,
    /// Code that loads an npz or safetensors file with PyTorch
    Torch,
}

impl Verb for Schema {
    const NAME: &'static str = "schema";
    const SUMMARY: &'static str = "Print the types of the fields";
    const ABOUT: &'static str = "\
Prints the types of the records that reach this verb. It must be the last verb of a chain. Types are inferred from all records, not from a \
sample; if the file does not store them, all of it is read. --schema accepts this output, as text or JSON, directly (--schema \"$(tatter \
schema FILE)\") or from a file (--schema @types.txt).

    int64                   a scalar in each record
    int64[?]                a vector; its size may differ between records
    float32[4, 32]          sizes that are the same in all records
    int64[?, (?)]           axis 1 is ragged: its rows differ in size within a record
    {a: int64}[?]           a list of structures
    sparse<float32>[?, 9]   a sparse tensor
    optional int64          the field itself may be null
    int64[?] with nulls     values inside it may be null

--as json prints one JSON object, for other programs; arrow, tf, tf-spec, numpy and torch print Python code: a pyarrow schema, the \
feature_specification that reads the records from a TFRecord written by tatter, the specs of the tensors, and code that loads an npz of \
all records, or a safetensors file if the input is one.";
    const MEANING: &'static str = "tf.data.Dataset.element_spec, tf.io.parse_example";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "a vector of strings, a ragged matrix, structures",
            args: "schema",
            input: "{\"words\": [\"the\", \"big\", \"dog\"], \"m\": [[1, 2], []], \"docs\": [{\"title\": \"a\"}]}\n{\"words\": [], \"m\": [], \"docs\": []}\n",
            output: "words: string[?]\nm:     int64[?, (?)]\ndocs:  {title: string}[?]\n",
        },
        Example {
            about: "the feature specification for tf.io.parse_example",
            args: "schema --as tf",
            input: "{\"id\": 1, \"m\": [[1, 2], []]}\n",
            output: "import tensorflow as tf\n\nfeature_specification = {\n    \"id\": tf.io.FixedLenFeature([], tf.int64),\n    \
                     \"m\": tf.io.RaggedFeature(tf.int64, value_key=\"m\", \
                     partitions=[tf.io.RaggedFeature.RowLengths(\"m/row_lengths_1\")]),\n}\n",
        },
    ];
    const REPORTS: bool = true;
    const NEEDS_RECORDS: bool = false;

    fn bind(&self, schema: &Arc<Fields>, options: &Options) -> Result<Bound> {
        let form = self.form.unwrap_or(if options.output_extension() == Some("json") { Form::Json } else { Form::Text });
        if let (Some(format), false) = (&options.to, matches!(form, Form::Tf)) {
            let error = Error::usage(format!("`schema` prints text, not records: --to {format} has no effect"));
            return Err(error.help("choose its format with --as"));
        }
        let text = match form {
            Form::Text => {
                options.hints.take().into_iter().try_for_each(|hint| options.notices.add(hint, false))?;
                notation::fitted(schema, options.columns().unwrap_or(screen::DEFAULT))
            }
            Form::Json => json::object(schema),
            Form::Arrow => arrow::code(schema, options)?,
            Form::Tf if of_sequences(options) => sequences::code(schema),
            Form::Tf => features::code(schema),
            Form::TfSpec => spec::code(schema),
            Form::Numpy => load::numpy(schema, loaded(options)),
            Form::Torch => load::torch(schema, loaded(options)),
        };
        Ok(Bound {
            schema: Arc::new(Fields::default()),
            operator: Operator::Report(Box::new(Printed { text, reads_all: options.on_error != OnError::Fail })),
        })
    }
}

/// Whether the records are, or would be written as, tf.SequenceExamples.
fn of_sequences(options: &Options) -> bool {
    let sequences = |name: &str| name == "sequence-example";
    options.to.as_deref().map_or_else(|| options.source.is_some_and(sequences), sequences)
}

/// The kind of file that `--as numpy` and `--as torch` load.
fn loaded(options: &Options) -> load::File {
    if options.source == Some("safetensors") { load::File::Safetensors } else { load::File::Npz }
}

/// Text that is known before the first record.
struct Printed {
    text: String,
    /// Whether bad records are to be found.
    reads_all: bool,
}

impl Report for Printed {
    fn push(&mut self, _: &Chunk, _: &mut dyn Write) -> Result<Flow> {
        Ok(if self.reads_all { Flow::More } else { Flow::Done })
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<Verdict> {
        out.write_all(self.text.as_bytes()).map_err(Error::output)?;
        Ok(Verdict::Good)
    }
}

#[cfg(test)]
mod tests;
