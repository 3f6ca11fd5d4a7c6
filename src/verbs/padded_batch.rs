//! `padded-batch N`: groups consecutive records into padded batches.

use super::shared::batch_padding::{RecordLimit, batch_plan, check_records, padded};
use super::shared::batches::{BatchSize, Batches, batched_schema, parse_size};
use super::shared::divided::by_rows;
use super::shared::padding::PaddingArgs;
use super::verb::{Bound, Deferred, Example, Flow, Fold, Map, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::{Schema, Size};
use std::sync::Arc;

/// Groups N consecutive records into a batch, padded to the longest.
#[derive(clap::Args, Clone, Debug)]
pub struct PaddedBatch {
    /// Records per batch, or all
    #[arg(value_name = "N|all", value_parser = parse_size)]
    size: BatchSize,
    #[command(flatten)]
    padding: PaddingArgs,
    /// Drop the last batch if it has fewer than N records
    #[arg(long)]
    drop_remainder: bool,
}

impl Verb for PaddedBatch {
    const NAME: &'static str = "padded-batch";
    const SUMMARY: &'static str = "Group N consecutive records into a padded batch";
    const ABOUT: &'static str = "\
Every field gains axis 0, the records of the batch, and every other axis is padded to one size: the size of the longest \
record in the batch, or the size given by --shape for the axes of a record. Nothing is truncated: a record larger than \
its shape is an error (to truncate, use `batch` then `to-dense --shape`). Fields inside structures are padded too. \
Sparse fields, structured tensors and nulls are rejected.";
    const MEANING: &'static str = "tf.data.Dataset.padded_batch";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "each batch is as wide as its longest record",
            args: "padded-batch 2",
            input: "{\"x\": [1], \"id\": 0}\n{\"x\": [2, 3, 4], \"id\": 1}\n{\"x\": [5, 6], \"id\": 2}\n{\"x\": [], \"id\": 3}\n",
            output: "{\"x\":[[1,0,0],[2,3,4]],\"id\":[0,1]}\n{\"x\":[[5,6],[0,0]],\"id\":[2,3]}\n",
        },
        Example {
            about: "every batch is 4 wide, padded with a string",
            args: "padded-batch 2 --shape 'words=[4]' --default 'words=<pad>' --drop-remainder",
            input: "{\"words\": [\"a\", \"b\"]}\n{\"words\": [\"c\"]}\n{\"words\": []}\n",
            output: "{\"words\":[[\"a\",\"b\",\"<pad>\",\"<pad>\"],[\"c\",\"<pad>\",\"<pad>\",\"<pad>\"]]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        if self.padding.has_max() {
            return Err(Error::usage(
                "`max` is the length of the longest row in the whole input, which is not known when a batch is padded",
            )
            .help("use a number, or pad with to-dense: batch N then to-dense --shape 'x=[?, max]'"));
        }
        if self.drop_remainder && self.size == BatchSize::All {
            return Err(Error::usage("`padded-batch all` makes a single batch of all records, so there is no remainder to drop"));
        }
        let size = match self.size {
            BatchSize::Of(n) if self.drop_remainder => Size::Known(n as u64),
            _ => Size::Uniform,
        };
        let batched = batched_schema(schema, size);
        let (plan, limits) = batch_plan(schema, &self.padding, options)?;
        let edits = plan.edits(&batched, None)?;
        let dense = Arc::new(edits.schema().clone());
        let batches = Batches::new("padded-batch", self.size, self.drop_remainder, schema, options);
        Ok(Bound {
            schema: dense,
            operator: Operator::Fold(Box::new(PaddedBatches {
                batches,
                limits,
                edits: Arc::new(edits),
                ready: Vec::new(),
                complete: match self.size {
                    BatchSize::Of(n) if self.drop_remainder => Some(n),
                    _ => None,
                },
                nrows: 0,
                late: None,
            })),
        })
    }

    fn demand(&self, after: Demand) -> Demand {
        let records = match (self.size, after.records) {
            (BatchSize::Of(n), Some(records)) => records.checked_mul(n as u64),
            _ => None,
        };
        // A record that exceeds the limits in any field is an error, whether or not the field is needed later.
        Demand { records, fields: Wanted::All }
    }
}

struct PaddedBatches {
    batches: Batches,
    limits: Vec<RecordLimit>,
    edits: Arc<dyn Map>,
    /// Batches to be padded.
    ready: Vec<Chunk>,
    /// The size of a batch, if a smaller one is dropped.
    complete: Option<usize>,
    /// The number of records so far.
    nrows: usize,
    /// The error for a record of the current batch, and the number of the record that completes the batch. Records of a batch
    /// that is dropped may exceed the limits.
    late: Option<(usize, Error)>,
}

impl PaddedBatches {
    /// Checks the records of complete batches.
    fn check(&mut self, chunk: &Chunk) -> Result<()> {
        let end = self.nrows + chunk.nrows;
        match &self.late {
            Some((complete, error)) if end >= *complete => return Err(error.clone()),
            Some(_) => {}
            None => {
                if let Err(error) = check_records(&self.limits, chunk) {
                    let (Some(size), Some(row)) = (self.complete, error.location().row) else { return Err(error) };
                    let complete = ((self.nrows + row) / size + 1) * size;
                    if end >= complete {
                        return Err(error);
                    }
                    self.late = Some((complete, chunk.origin.resolve(error, chunk.nrows)));
                }
            }
        }
        self.nrows = end;
        Ok(())
    }
}

/// How many times larger padded rows are assumed to be.
const GROWTH: usize = 8;

impl Fold for PaddedBatches {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        self.check(&chunk)?;
        let first = out.len();
        let flow = self.batches.push(chunk, out)?;
        self.ready.extend(out.split_off(first));
        Ok(flow)
    }

    /// Padding can take many times the memory of the batches.
    fn deferred(&mut self) -> Vec<Deferred> {
        let parts = self.ready.drain(..).flat_map(|batches| by_rows(batches, GROWTH));
        let padding = |batches: Chunk| {
            let edits = self.edits.clone();
            Box::new(move || padded(edits.as_ref(), batches)) as Deferred
        };
        parts.map(padding).collect()
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        self.batches.finish()?.map(|batch| padded(self.edits.as_ref(), batch)).transpose()
    }
}
