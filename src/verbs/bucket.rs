//! `bucket`: groups records of similar length into batches.

use super::shared::batch_padding::{RecordLimit, batch_plan, check_records, padded};
use super::shared::batches::{batched_chunk, batched_schema, names};
use super::shared::edit::Edits;
use super::shared::memory::{Budget, owned};
use super::shared::pad_plan::PaddingPlan;
use super::shared::padding::{AxisSize, PaddingArgs};
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Result};
use crate::expr::{ScalarExpr, bind_scalar, names_used};
use crate::options::Options;
use crate::schema::{DType, Schema, Size};
use crate::tensor::RowPartition;
use crate::tensor::pad::Target;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_cast::cast;
use arrow_schema::DataType;
use std::sync::Arc;

/// Groups records of similar length into batches.
#[derive(clap::Args, Clone, Debug)]
pub struct Bucket {
    /// Length of a record: len(tokens), a field, or any integer expression
    #[arg(long, value_name = "EXPR")]
    by: String,
    /// Bucket boundaries, as 10,20: below 10, 10 to 19, 20 and above
    #[arg(long, value_name = "N,..", value_parser = parse_boundaries)]
    boundaries: Numbers,
    /// Batch size of each bucket, one more than boundaries
    #[arg(long, value_name = "N,..", value_parser = parse_sizes)]
    batch_sizes: Numbers,
    /// Pad each batch to its longest record
    #[arg(long)]
    pad: bool,
    /// Pad each batch to the bucket's boundary minus 1; every length must be below the last boundary
    #[arg(long)]
    pad_to_boundary: bool,
    #[command(flatten)]
    padding: PaddingArgs,
    /// Drop the batches at the end that are not full
    #[arg(long)]
    drop_remainder: bool,
}

#[derive(Clone, Debug)]
struct Numbers(Vec<usize>);

fn numbers(text: &str) -> Result<Vec<usize>, Error> {
    let number = |part: &str| part.trim().parse::<usize>().ok().filter(|n| i64::try_from(*n).is_ok());
    text.split(',').map(|part| number(part).ok_or_else(|| Error::usage("expected numbers, as 10,20"))).collect()
}

fn parse_boundaries(text: &str) -> Result<Numbers, Error> {
    numbers(text).map(Numbers)
}

fn parse_sizes(text: &str) -> Result<Numbers, Error> {
    let numbers = numbers(text)?;
    if numbers.contains(&0) {
        return Err(Error::usage("a batch size must be at least 1"));
    }
    Ok(Numbers(numbers))
}

impl Verb for Bucket {
    const NAME: &'static str = "bucket";
    const SUMMARY: &'static str = "Group records of similar length into batches";
    const ABOUT: &'static str = "\
Each record goes into a bucket by its length; a length equal to a boundary belongs to the next bucket. A bucket is \
written as a batch as soon as it holds its batch size; what is left at the end is written in the order of the buckets. \
With --pad every batch is padded to its longest record, with --pad-to-boundary to the bucket's boundary minus 1; \
--shape and --default work as in `padded-batch`.";
    const MEANING: &'static str = "tf.data.Dataset.bucket_by_sequence_length";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "short and long records in separate batches of two",
            args: "bucket --by 'len(x)' --boundaries 3 --batch-sizes 2,2",
            input: "{\"x\": [1]}\n{\"x\": [2, 2, 2]}\n{\"x\": [3, 3]}\n{\"x\": [4, 4, 4, 4]}\n{\"x\": []}\n",
            output: "{\"x\":[[1],[3,3]]}\n{\"x\":[[2,2,2],[4,4,4,4]]}\n{\"x\":[[]]}\n",
        },
        Example {
            about: "the same, padded",
            args: "bucket --by 'len(x)' --boundaries 3 --batch-sizes 2,2 --pad --default x=-1",
            input: "{\"x\": [1]}\n{\"x\": [2, 2, 2]}\n{\"x\": [3, 3]}\n{\"x\": [4, 4, 4, 4]}\n{\"x\": []}\n",
            output: "{\"x\":[[1,-1],[3,3]]}\n{\"x\":[[2,2,2,-1],[4,4,4,4]]}\n{\"x\":[[]]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let (boundaries, sizes) = (&self.boundaries.0, &self.batch_sizes.0);
        if sizes.len() != boundaries.len() + 1 {
            let error = format!("expected {} batch sizes, one more than boundaries, found {}", boundaries.len() + 1, sizes.len());
            return Err(Error::usage(error).help("one size per bucket: one for each boundary, and one for longer records"));
        }
        let pads = self.pad || self.pad_to_boundary;
        if !pads && !self.padding.is_empty() {
            return Err(Error::usage("--shape and --default need --pad or --pad-to-boundary"));
        }
        if self.padding.has_max() {
            return Err(Error::usage("`max` is the longest of the whole input, which is not known when a batch is padded"));
        }
        let by = bind_scalar(&self.by, schema, options)?;
        if !by.ty().dtype().is_some_and(DType::is_integer) {
            return Err(Error::usage(format!("--by {}: expected an integer, found {}", self.by, by.ty()))
                .help("the length of a field is len(FIELD)"));
        }
        let batched = batched_schema(schema, Size::Uniform);
        let mut padders = Vec::new();
        let mut dense = batched.clone();
        if pads {
            let (plan, limits) = batch_plan(schema, &self.padding, options)?;
            dense = Arc::new(plan.edits(&batched, None)?.schema().clone());
            match self.pad_to_boundary {
                false => padders.push((plan.edits(&batched, None)?, limits)),
                true => {
                    for boundary in boundaries {
                        padders.push(to_boundary(schema, &batched, &self.padding, options, *boundary)?);
                    }
                }
            }
        }
        let buckets = sizes.iter().map(|size| Open { size: *size, parts: Vec::new(), nrows: 0 }).collect();
        let fold = Buckets {
            by,
            text: self.by.clone(),
            boundaries: boundaries.clone(),
            buckets,
            padders,
            to_boundary: self.pad_to_boundary,
            drop_remainder: self.drop_remainder,
            names: names(schema),
            budget: Budget::new("bucket", "use smaller batches", options),
            left: 0,
        };
        Ok(Bound { schema: dense, operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        if self.pad || self.pad_to_boundary {
            return Demand { records: None, fields: Wanted::All };
        }
        match names_used(&self.by, false) {
            Some(used) => Demand { records: None, ..after }.and_fields(used.read),
            None => Demand::everything(),
        }
    }
}

/// How batches are padded whose records are all shorter than `boundary`.
fn to_boundary(
    schema: &Schema,
    batched: &Schema,
    padding: &PaddingArgs,
    options: &Options,
    boundary: usize,
) -> Result<(Edits, Vec<RecordLimit>)> {
    let (mut plan, mut limits) = batch_plan(schema, padding, options)?;
    let most = boundary.saturating_sub(1);
    let mut maxima = Vec::new();
    for (field, limit) in plan.fields.iter_mut().zip(&mut limits) {
        let (_, known) = schema.find(&field.path)?;
        // The batch axis, if the field has it, comes first.
        let batch_axes = field.sizes.len() - known.ty.rank();
        for (axis, dim) in known.ty.dims.iter().enumerate() {
            if field.sizes[batch_axes + axis] == AxisSize::Longest && !matches!(dim.size, Size::Known(_)) {
                field.sizes[batch_axes + axis] = AxisSize::Max;
                limit.targets[axis] = Target::Exact(most);
            }
        }
        maxima.push(vec![most; field.sizes.len()]);
    }
    let edits = PaddingPlan { ..plan }.edits(batched, Some(&maxima))?;
    Ok((edits, limits))
}

/// Records of one bucket that are not a full batch yet.
struct Open {
    size: usize,
    parts: Vec<Chunk>,
    nrows: usize,
}

struct Buckets {
    by: ScalarExpr,
    text: String,
    boundaries: Vec<usize>,
    buckets: Vec<Open>,
    /// None: batches are not padded; one for all, or one for each boundary.
    padders: Vec<(Edits, Vec<RecordLimit>)>,
    to_boundary: bool,
    drop_remainder: bool,
    names: Arc<[String]>,
    budget: Budget,
    /// The next bucket to empty at the end.
    left: usize,
}

impl Buckets {
    /// The bucket of each row.
    fn numbers(&self, chunk: &Chunk) -> Result<Vec<usize>> {
        let lengths = self.by.eval(chunk)?;
        let lengths = cast(lengths.as_leaf()?, &DataType::Int64).map_err(|e| Error::data(e.to_string()))?;
        let lengths = lengths.as_primitive::<Int64Type>();
        (0..chunk.nrows)
            .map(|row| {
                if lengths.is_null(row) {
                    let error = Error::data(format!("--by {} is null", self.text)).at_row(row);
                    return Err(error.help("fill it first with fill-null, or leave such records out with filter"));
                }
                let length = lengths.value(row);
                // As in TensorFlow: the first boundary above the length; boundaries need not increase.
                let is_above = |b: &usize| i64::try_from(*b).map_or(true, |b| length < b);
                let number = self.boundaries.iter().position(is_above).unwrap_or(self.boundaries.len());
                if self.to_boundary && number == self.boundaries.len() {
                    let last = self.boundaries.last().copied().unwrap_or(0);
                    let error = Error::data(format!("a length of {length} is not below the last boundary, {last}")).at_row(row);
                    return Err(error.help("--pad-to-boundary needs a boundary above the longest record; add one"));
                }
                Ok(number)
            })
            .collect()
    }

    /// A batch of the records of a bucket.
    fn close(&mut self, number: usize) -> Result<Option<Chunk>> {
        let open = &mut self.buckets[number];
        if open.nrows == 0 {
            return Ok(None);
        }
        let parts = std::mem::take(&mut open.parts);
        open.nrows = 0;
        self.budget.give_back(parts.iter().map(|p| p.nbytes() as u64).sum());
        let records = Chunk::concat(&parts)?;
        let padder = if self.to_boundary { self.padders.get(number) } else { self.padders.first() };
        if let Some((_, limits)) = padder {
            check_records(limits, &records).map_err(|e| records.origin.resolve(e, records.nrows))?;
        }
        let batch = batched_chunk(&records, &RowPartition::uniform(records.nrows, 1)?, &self.names)?;
        match padder {
            Some((edits, _)) => padded(edits, batch).map(Some),
            None => Ok(Some(batch)),
        }
    }

    fn add(&mut self, number: usize, part: Chunk) -> Result<()> {
        self.budget.take(part.nbytes() as u64)?;
        self.buckets[number].nrows += part.nrows;
        self.buckets[number].parts.push(part);
        Ok(())
    }
}

impl Fold for Buckets {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let numbers = self.numbers(&chunk)?;
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); self.buckets.len()];
        for (row, number) in numbers.into_iter().enumerate() {
            waiting[number].push(row);
            if self.buckets[number].nrows + waiting[number].len() == self.buckets[number].size {
                let rows = std::mem::take(&mut waiting[number]);
                self.add(number, chunk.gather(&rows)?)?;
                out.extend(self.close(number)?);
            }
        }
        for (number, rows) in waiting.into_iter().enumerate() {
            if !rows.is_empty() {
                self.add(number, owned(&chunk.gather(&rows)?)?)?;
            }
        }
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        while !self.drop_remainder && self.left < self.buckets.len() {
            self.left += 1;
            if let Some(batch) = self.close(self.left - 1)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}
