//! Batches of consecutive records.

use super::edit::{shown, visit};
use super::memory::Held;
use crate::chunk::Chunk;
use crate::error::{Error, Reason, Result, mismatch};
use crate::options::Options;
use crate::path::quoted;
use crate::printable::shell_word;
use crate::schema::{Schema, Size};
use crate::tensor::batch::{batch, batched_type};
use crate::tensor::{RowPartition, Tensor};
use crate::verbs::verb::{Flow, Fold};
use arrow_array::Array;
use arrow_schema::DataType;
use std::sync::Arc;

/// Maximum number of records in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchSize {
    /// This many records.
    Of(usize),
    /// All records.
    All,
}

/// Parses `32` or `all`.
///
/// # Errors
/// Any other text, or zero.
pub fn parse_size(text: &str) -> Result<BatchSize, Error> {
    match (text, text.parse::<usize>()) {
        ("all", _) => Ok(BatchSize::All),
        (_, Ok(n)) if n > 0 && i64::try_from(n).is_ok() => Ok(BatchSize::Of(n)),
        (_, Ok(0)) => Err(Error::usage("a batch size must be at least 1; use `all` for one batch of all records")),
        _ => Err(Error::usage(mismatch("a number of records, or `all`", format_args!("`{text}`")))),
    }
}

/// The schema of batches of these records.
pub fn batched_schema(schema: &Schema, size: Size) -> Arc<Schema> {
    let fields = schema.fields.iter().map(|f| f.with_outer_axes(batched_type(&f.ty, size)));
    Arc::new(Schema::new(fields.collect()))
}

/// The field names of the record, for messages.
pub fn names(schema: &Schema) -> Arc<[String]> {
    schema.fields.iter().map(|f| f.name.clone()).collect()
}

/// Batches of consecutive rows of the chunk, as one chunk.
///
/// # Errors
/// See [`batch()`].
pub fn batched_chunk(chunk: &Chunk, partition: &RowPartition, names: &[String]) -> Result<Chunk> {
    let column = |(column, name): (&Tensor, &String)| batched_field(column, partition, name);
    let columns = chunk.columns.iter().zip(names).map(column).collect::<Result<_>>();
    let columns = columns.map_err(|e| chunk.origin.resolve(e, chunk.nrows))?;
    Chunk::try_new(partition.nrows(), columns, chunk.origin.merged((0..partition.nrows()).map(|i| partition.range(i))))
}

/// The rows of a field, partitioned into batches.
///
/// # Errors
/// See [`batch()`].
pub fn batched_field(column: &Tensor, partition: &RowPartition, name: &str) -> Result<Tensor> {
    batch(column, partition).map_err(|e| {
        let name = quoted(name);
        let e = match (e.reason(), column) {
            (Some(Reason::SingleNull), Tensor::Sparse(sparse)) => {
                let value = match sparse.values().data_type() {
                    DataType::LargeUtf8 | DataType::LargeBinary => "\"\"",
                    DataType::Boolean => "False",
                    _ => "0",
                };
                e.help(format!("fill it first: fill-null {}", shell_word(&format!("{name}={value}"))))
            }
            _ => e,
        };
        e.in_field(name)
    })
}

/// Finds the ends of batches: after a number of rows, or before a field would exceed its limit of values.
struct Boundaries {
    rows: usize,
    /// The position of a field, and the maximum number of its values.
    limits: Vec<(Vec<usize>, u64)>,
    /// Number of values in the open batch so far, for each limit.
    open: Vec<u64>,
    open_rows: usize,
}

impl Boundaries {
    /// The rows before which a batch ends, including `nrows` if a batch ends with the chunk.
    fn ends(&mut self, chunk: &Chunk) -> Result<Vec<usize>> {
        if self.limits.is_empty() {
            let first = self.rows - self.open_rows;
            let cuts: Vec<usize> =
                std::iter::successors(Some(first), |cut| cut.checked_add(self.rows)).take_while(|cut| *cut <= chunk.nrows).collect();
            self.open_rows = cuts.last().map_or(self.open_rows + chunk.nrows, |last| chunk.nrows - last);
            return Ok(cuts);
        }
        let counts: Vec<RowPartition> = self.limits.iter().map(|(at, _)| values_of_rows(chunk, at)).collect::<Result<_>>()?;
        self.open.resize(self.limits.len(), 0);
        let mut cuts = Vec::new();
        for row in 0..chunk.nrows {
            let is_over = |i: usize| self.open[i].saturating_add(counts[i].row_length(row) as u64) > self.limits[i].1;
            if self.open_rows > 0 && (0..counts.len()).any(is_over) {
                cuts.push(row);
                self.open_rows = 0;
                self.open.fill(0);
            }
            self.open_rows += 1;
            for (open, count) in self.open.iter_mut().zip(&counts) {
                *open = open.saturating_add(count.row_length(row) as u64);
            }
            if self.open_rows == self.rows {
                cuts.push(row + 1);
                self.open_rows = 0;
                self.open.fill(0);
            }
        }
        Ok(cuts)
    }
}

/// Partitions a field's flat values by the records of the chunk.
fn values_of_rows(chunk: &Chunk, positions: &[usize]) -> Result<RowPartition> {
    let mut partition = RowPartition::uniform(1, chunk.nrows)?;
    visit(chunk, positions, &mut |tensor, scope| {
        partition = scope.records.clone();
        let mut tensor = tensor.clone();
        while let Tensor::List(_) = &tensor {
            // A null row of known size has values.
            let shown = shown(&tensor, &partition)?;
            let list = shown.as_ref().map_or(&tensor, |(tensor, _)| tensor).as_list()?;
            partition = shown.as_ref().map_or(&partition, |(_, records)| records).merge(list.partition());
            tensor = list.values().clone();
        }
        if let Tensor::Sparse(sparse) = &tensor {
            partition = partition.merge(sparse.entries());
        }
        Ok(())
    })?;
    Ok(partition)
}

/// Groups consecutive records into batches.
pub struct Batches {
    names: Arc<[String]>,
    boundaries: Boundaries,
    /// The rows in the open batch.
    held: Held,
    drop_remainder: bool,
}

impl Fold for Batches {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let cuts = self.boundaries.ends(&chunk)?;
        let (Some(first), Some(last)) = (cuts.first().copied(), cuts.last().copied()) else {
            self.held.push_back(chunk)?;
            return Ok(Flow::More);
        };
        let mut start = 0;
        if self.held.nrows() > 0 {
            self.held.push_back(chunk.slice(0, first))?;
            out.extend(self.close()?);
            start = first;
        }
        let lengths = std::iter::once(start).chain(cuts.iter().copied().filter(|cut| *cut > start)).collect::<Vec<_>>();
        if lengths.len() > 1 {
            let partition = if self.boundaries.limits.is_empty() {
                RowPartition::uniform(self.boundaries.rows, lengths.len() - 1)?
            } else {
                RowPartition::from_row_lengths(lengths.windows(2).map(|w| (w[1] - w[0]) as i64))?
            };
            out.push(batched_chunk(&chunk.slice(start, last - start), &partition, &self.names)?);
        }
        if last < chunk.nrows {
            self.held.push_back(chunk.slice(last, chunk.nrows - last))?;
        }
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        if self.drop_remainder { Ok(None) } else { self.close() }
    }
}

impl Batches {
    /// Batches of `size` records. `name` is the verb, for messages.
    pub fn new(verb: &str, size: BatchSize, drop_remainder: bool, schema: &Schema, options: &Options) -> Batches {
        let (rows, name) = match size {
            BatchSize::Of(n) => (n, format!("{verb} {n}")),
            BatchSize::All => (usize::MAX, format!("{verb} all")),
        };
        let boundaries = Boundaries { rows, limits: Vec::new(), open: Vec::new(), open_rows: 0 };
        let held = Held::new(name, "use smaller batches", options);
        Batches { names: names(schema), boundaries, held, drop_remainder }
    }

    /// Also ends a batch before the field at a position would exceed its limit of values.
    pub fn with_limits(mut self, limits: Vec<(Vec<usize>, u64)>) -> Batches {
        self.boundaries.limits = limits;
        self
    }

    /// The open batch as a chunk of one row.
    fn close(&mut self) -> Result<Option<Chunk>> {
        let Some(chunk) = self.held.take_all()? else { return Ok(None) };
        let partition = RowPartition::uniform(chunk.nrows, 1)?;
        batched_chunk(&chunk, &partition, &self.names).map(Some)
    }
}
