//! `padded-batch N`: N consecutive records into one, padded.

use super::batch::{BatchSize, Batches, batched_schema, parse_size};
use super::edit::visit;
use super::fields::every_field;
use super::memory::Budget;
use super::pad_plan::{Dense, Plan};
use super::padding::{AxisSize, PaddingArgs};
use super::{Bound, Example, Flow, Fold, Map, Step, Verb};
use crate::chunk::Chunk;
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::schema::{DType, Field, Schema, Size};
use crate::tensor::Tensor;
use crate::tensor::pad::{Side, Target, first_too_large};
use std::sync::Arc;

/// N consecutive records into one, padded to the longest.
#[derive(clap::Args, Clone, Debug)]
pub struct PaddedBatch {
    /// Records in a batch, or all
    #[arg(value_name = "N|all", value_parser = parse_size)]
    size: BatchSize,
    #[command(flatten)]
    padding: PaddingArgs,
    /// Leave out a last batch that is not full
    #[arg(long)]
    drop_remainder: bool,
}

impl Verb for PaddedBatch {
    const NAME: &'static str = "padded-batch";
    const SUMMARY: &'static str = "Make N consecutive records one, padded to the longest";
    const ABOUT: &'static str = "\
Every field gains axis 0, the records of the batch, and every other axis gets one size: that of the longest \
record of the batch, or what --shape says of the record's own axes. Nothing is cut: a record that is larger than its \
shape is an error (`batch` then `to-dense --shape` cuts). Fields inside structures are padded likewise. Sparse \
fields, structured tensors and nulls are refused.";
    const MEANING: &'static str = "tf.data.Dataset.padded_batch";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "each batch is as wide as its longest record",
            args: "padded-batch 2",
            input: "{\"x\": [1], \"id\": 0}\n{\"x\": [2, 3, 4], \"id\": 1}\n{\"x\": [5, 6], \"id\": 2}\n{\"x\": [], \"id\": 3}\n",
            output: "{\"x\":[[1,0,0],[2,3,4]],\"id\":[0,1]}\n{\"x\":[[5,6],[0,0]],\"id\":[2,3]}\n",
        },
        Example {
            about: "all batches are 4 wide, padded with a word",
            args: "padded-batch 2 --shape 'words=[4]' --default 'words=<pad>' --drop-remainder",
            input: "{\"words\": [\"a\", \"b\"]}\n{\"words\": [\"c\"]}\n{\"words\": []}\n",
            output: "{\"words\":[[\"a\",\"b\",\"<pad>\",\"<pad>\"],[\"c\",\"<pad>\",\"<pad>\",\"<pad>\"]]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        if self.padding.has_max() {
            return Err(Error::usage("`max` is the longest of the whole input, but a batch is padded before that is known")
                .help("give a number, or let to-dense do it: batch N then to-dense --shape 'x=[?, max]'"));
        }
        if self.drop_remainder && self.size == BatchSize::All {
            return Err(Error::usage("`padded-batch all` makes one batch of all records: there is no remainder to drop"));
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
        Ok(Bound { schema: dense, step: Step::Fold(Box::new(PaddedBatches { batches, limits, edits: Box::new(edits) })) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let records = match (self.size, after.records) {
            (BatchSize::Of(n), Some(records)) => records.checked_mul(n as u64),
            _ => None,
        };
        // A record that is too large in a field is an error, whoever needs the field behind.
        Demand { records, fields: Wanted::All }
    }
}

/// What a field of a single record may be: never null, and at most so large.
pub struct RecordLimit {
    path: FieldPath,
    positions: Vec<usize>,
    /// None for a scalar or a structure.
    pub targets: Vec<Target>,
}

impl RecordLimit {
    fn check(&self, chunk: &Chunk) -> Result<()> {
        visit(chunk, &self.positions, &mut |tensor, scope| {
            match tensor {
                // The fields inside are looked at by themselves.
                Tensor::Struct(s) => {
                    let alone = Tensor::structure(tensor.nrows(), Vec::new(), s.validity().cloned())?;
                    return scope.refuse_nulls(&alone, &self.path);
                }
                _ => scope.refuse_nulls(tensor, &self.path)?,
            }
            match first_too_large(tensor, &self.targets)? {
                None => Ok(()),
                Some((row, axis, size, most)) => {
                    let error = Error::data(format!("{size} items do not fit the {most} of the shape")).at_row(row).on_axis(axis);
                    Err(error.help("nothing is cut here: allow more in --shape, or cut with batch N then to-dense --shape"))
                }
            }
        })
        .map_err(|e| e.in_field(&self.path))
    }
}

/// Refuses the first record that goes beyond one of the limits, wherever the chunk was cut.
///
/// # Errors
/// Names the row, and the null and how to fill it, or the axis, its size and the shape that would hold it.
pub fn check_records(limits: &[RecordLimit], chunk: &Chunk) -> Result<()> {
    let first = limits.iter().filter_map(|limit| limit.check(chunk).err()).min_by_key(|e| e.location().row);
    first.map_or(Ok(()), Err)
}

/// What is padded in batches of such records, and how large a record may be.
///
/// # Errors
/// Fields that cannot be padded; options that do not fit.
pub fn batch_plan(schema: &Schema, padding: &PaddingArgs, options: &Options) -> Result<(Plan, Vec<RecordLimit>)> {
    let mut found: Vec<(FieldPath, Field)> = Vec::new();
    every_field(&schema.fields, None, &mut |path, field| found.push((path, field.clone())));
    let (mut fields, mut limits) = (Vec::new(), Vec::new());
    for (path, Field { ty, .. }) in found {
        if ty.is_sparse() {
            return Err(Error::usage("is sparse, and only dense and ragged tensors are padded")
                .in_field(&path)
                .help(format!("make it dense first: to-dense -f {path}")));
        }
        if ty.fields().is_some() && ty.rank() > 0 {
            let error = Error::usage("is an arrangement of structures, and there is no filling for a structure").in_field(&path);
            return Err(error.help(format!("move its fields up first (promote), or leave it out: drop {path}")));
        }
        let positions = schema.find(&path)?.0;
        let Some(dtype) = ty.dtype().filter(|_| ty.rank() > 0) else {
            let is_tensor = ty.dtype().is_none_or(|d| d.is_tensor() || *d == DType::Null);
            if ty.optional && is_tensor {
                limits.push(RecordLimit { path, positions, targets: Vec::new() });
            }
            continue;
        };
        let own = padding.shape(&path, ty.rank())?.map_or_else(|| vec![AxisSize::Longest; ty.rank()], <[_]>::to_vec);
        let targets = own.iter().map(|size| match size {
            AxisSize::Longest | AxisSize::Max => Target::Longest,
            AxisSize::AtMost(n) => Target::AtMost(*n),
            AxisSize::Exact(n) => Target::Exact(*n),
        });
        limits.push(RecordLimit { path: path.clone(), positions, targets: targets.collect() });
        let filling = padding.filling(&path, dtype)?;
        let batch_axis = path.parent().is_none().then_some(AxisSize::Longest);
        fields.push(Dense { path, sizes: batch_axis.into_iter().chain(own).collect(), filling });
    }
    padding.check(schema, &fields.iter().map(|f| f.path.clone()).collect::<Vec<_>>())?;
    let plan = Plan {
        fields,
        checked: Vec::new(),
        side: Side::Right,
        multiple_of: None,
        lengths: false,
        mask: false,
        max_nbytes: Budget::limit(options),
    };
    Ok((plan, limits))
}

struct PaddedBatches {
    batches: Batches,
    limits: Vec<RecordLimit>,
    edits: Box<dyn Map>,
}

impl Fold for PaddedBatches {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        check_records(&self.limits, &chunk)?;
        let first = out.len();
        let flow = self.batches.push(chunk, out)?;
        for batch in out.split_off(first) {
            out.push(padded(self.edits.as_ref(), batch)?);
        }
        Ok(flow)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        self.batches.finish()?.map(|batch| padded(self.edits.as_ref(), batch)).transpose()
    }
}

/// The batch, padded; errors name the records of the batch.
///
/// # Errors
/// As the padding.
pub fn padded(edits: &dyn Map, batch: Chunk) -> Result<Chunk> {
    let (origin, nrows) = (batch.origin.clone(), batch.nrows);
    edits.apply(batch).map_err(|e| origin.resolve(e, nrows))
}
