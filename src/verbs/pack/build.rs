//! Builds rows from the sequences placed in them.

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::{FieldPath, quoted};
use crate::printable::counted;
use crate::tensor::concat::concat_leaves;
use crate::tensor::runs::Runs;
use crate::tensor::{RowPartition, Tensor};
use crate::verbs::shared::batches::batched_field;
use crate::verbs::shared::edit::Scope;
use crate::verbs::shared::packing::{OpenRows, PackedRow, Segment};
use crate::verbs::shared::pool::{Pool, RecordId};
use crate::verbs::verb::{Flow, Fold};
use arrow_array::{ArrayRef, Int64Array};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Approximate number of values emitted at a time.
const CHUNK_VALUES: usize = 1 << 19;
/// Number of chunks held before the pool is compacted.
const HELD_CHUNKS: usize = 8;

/// What to do with a sequence longer than a row.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Split it into pieces, each a separate segment
    Split,
    /// Drop it and print the number of dropped records
    Drop,
    /// Stop with an error
    Error,
}

/// How items of a split sequence are numbered.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Positions {
    /// From 0 in each piece
    #[default]
    Restart,
    /// From the position of the piece's first item in the sequence
    Continue,
}

/// What to do with an empty sequence.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Empty {
    /// Drop the record
    #[default]
    Drop,
    /// Keep it as a segment without items
    Keep,
    /// Stop with an error
    Error,
}

/// A field to pack.
#[derive(Debug)]
pub struct PackedField {
    /// The field.
    pub path: FieldPath,
    /// Its position in the record.
    pub position: usize,
    /// Number of values per item.
    pub block: usize,
    /// The values of one item, appended to each sequence.
    pub separator: Option<ArrayRef>,
    /// `[1]`: the padding value.
    pub filling: ArrayRef,
}

/// The layout of rows.
#[derive(Debug)]
pub struct RowLayout {
    /// The packed fields.
    pub packed: Vec<PackedField>,
    /// The names of all fields of the input.
    pub names: Arc<[String]>,
    /// Items per row.
    pub length: usize,
    /// Positions of the pieces of a split sequence.
    pub positions: Positions,
    /// See [`Scope::filling`].
    pub filling: Option<Arc<str>>,
}

/// The operator of `pack`.
pub struct Packing {
    layout: RowLayout,
    rows: OpenRows<RecordId>,
    /// The sequences of open rows, each as a separate row.
    pool: Pool,
    overflow: Overflow,
    empty: Empty,
    /// Rows to emit at the end of the input; `None` until then.
    rest: Option<VecDeque<PackedRow<RecordId>>>,
    /// Number of records dropped because they are too long.
    dropped: u64,
    /// Number of records dropped because their sequence is empty.
    nempty: u64,
    options: Options,
}

/// The sequences of a chunk, split into pieces that fit into rows.
struct Pieces {
    /// The row in the chunk and the number of items of each piece, without the separator.
    of: Vec<(usize, usize)>,
}

impl Packing {
    /// An operator without rows.
    pub fn new(
        layout: RowLayout,
        rows: OpenRows<RecordId>,
        pool: Pool,
        (overflow, empty): (Overflow, Empty),
        options: &Options,
    ) -> Packing {
        Packing { layout, rows, pool, overflow, empty, rest: None, dropped: 0, nempty: 0, options: options.clone() }
    }

    /// The lengths of the sequences. Checks all fields, so that the error names the first bad record.
    fn lengths(&self, chunk: &Chunk) -> Result<RowPartition> {
        let packed = &self.layout.packed;
        let mut errors: Vec<Error> = Vec::new();
        let scope = Scope { records: RowPartition::uniform(1, chunk.nrows)?, filling: self.layout.filling.clone() };
        for field in packed {
            let refused = scope.refuse_nulls(&chunk.columns[field.position], &field.path);
            errors.extend(refused.err().map(|e| e.in_field(&field.path)));
        }
        let first = chunk.columns[packed[0].position].as_list()?.partition().clone();
        for field in &packed[1..] {
            let other = chunk.columns[field.position].as_list()?.partition();
            if let Some(row) = (0..chunk.nrows).find(|row| other.row_length(*row) != first.row_length(*row)) {
                let (n, m) = (other.row_length(row), first.row_length(row));
                let error = format!("has {n} {}, but {} has {m}", if n == 1 { "item" } else { "items" }, packed[0].path);
                let error = Error::data(error).in_field(&field.path).at_row(row);
                errors.push(error.help("fields packed together must have the same length; select them with -f"));
            }
        }
        let more = usize::from(self.has_separator());
        let is_long = |row: &usize| first.row_length(*row) > 0 && first.row_length(*row) + more > self.layout.length;
        if self.overflow == Overflow::Error
            && let Some(row) = (0..chunk.nrows).find(is_long)
        {
            let and = if more > 0 { " and a separator" } else { "" };
            let error = format!("{} items{and} do not fit in a row of {}", first.row_length(row), self.layout.length);
            let error = Error::data(error).in_field(&packed[0].path).at_row(row);
            errors.push(error.help("split it with --overflow split, drop it with --overflow drop, or use a larger --length"));
        }
        if self.empty == Empty::Error
            && let Some(row) = (0..chunk.nrows).find(|row| first.row_length(*row) == 0)
        {
            let error = Error::data("is empty, which --empty error does not allow").in_field(&packed[0].path).at_row(row);
            errors.push(error.help("drop such records with --empty drop, or keep them with --empty keep"));
        }
        errors.into_iter().min_by_key(|e| e.location().row).map_or(Ok(first), Err)
    }

    fn has_separator(&self) -> bool {
        self.layout.packed[0].separator.is_some()
    }

    /// Emits some of the finished rows.
    fn give(&self, rows: &[PackedRow<RecordId>], out: &mut Vec<Chunk>) -> Result<()> {
        for rows in rows.chunks(self.rows_per_chunk()) {
            out.push(self.layout.build(rows, &self.pool)?);
        }
        Ok(())
    }

    fn rows_per_chunk(&self) -> usize {
        self.options.chunk_rows.unwrap_or((CHUNK_VALUES / self.layout.length).max(1)).max(1)
    }
}

impl Fold for Packing {
    fn rejects_as_a_whole(&self) -> bool {
        true
    }

    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let lengths = self.lengths(&chunk)?;
        let more = usize::from(self.has_separator());
        let part = self.pool.next_part();
        let (mut pieces, mut closed) = (Pieces { of: Vec::new() }, Vec::new());
        for row in 0..chunk.nrows {
            let mut items = lengths.row_length(row);
            if items == 0 && self.empty != Empty::Keep {
                self.nempty += 1;
                continue;
            }
            if items + more > self.layout.length && self.overflow == Overflow::Drop {
                self.dropped += 1;
                continue;
            }
            let mut id = |len: usize| {
                pieces.of.push((row, len.min(items)));
                items -= len.min(items);
                (part, pieces.of.len() - 1)
            };
            self.rows.push(lengths.row_length(row) + more, &mut id, &mut closed);
        }
        if !pieces.of.is_empty() {
            self.pool.add(self.layout.cut(&chunk, &pieces)?)?;
        }
        self.give(&closed, out)?;
        if self.pool.next_part() >= HELD_CHUNKS && self.pool.nrows() > 2 * self.rows.open_count() {
            let mut ids: Vec<RecordId> = self.rows.open_segments().map(|s| s.id).collect();
            self.pool.compact(&mut ids)?;
            self.rows.open_segments().zip(ids).for_each(|(segment, id)| segment.id = id);
        }
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        if self.rest.is_none() && self.dropped > 0 {
            let (records, length) = (counted(self.dropped, "record"), self.layout.length);
            self.options.notices.add(format!("pack: dropped {records} longer than a row of {length}"), false)?;
        }
        if self.rest.is_none() && self.nempty > 0 {
            let records = counted(self.nempty, "record");
            self.options.notices.add(format!("pack: dropped {records} with an empty sequence; --empty keep keeps them"), false)?;
        }
        let n = self.rows_per_chunk();
        let rest = self.rest.get_or_insert_with(|| self.rows.finish().into());
        let rows: Vec<PackedRow<RecordId>> = rest.drain(..n.min(rest.len())).collect();
        if rows.is_empty() { Ok(None) } else { self.layout.build(&rows, &self.pool).map(Some) }
    }
}

impl RowLayout {
    /// The chunk with one row per piece. Packed fields are split and all others are repeated. Values of packed fields
    /// are not moved unless records have been dropped.
    fn cut(&self, chunk: &Chunk, pieces: &Pieces) -> Result<Chunk> {
        let rows: Vec<usize> = pieces.of.iter().map(|(row, _)| *row).collect();
        let is_whole = rows.len() == chunk.nrows && rows.iter().enumerate().all(|(i, row)| i == *row);
        let origin = chunk.origin.of_items(&rows);
        if is_whole {
            return Ok(Chunk { origin, ..chunk.clone() });
        }
        let mut kept = rows.clone();
        kept.dedup();
        let columns = chunk.columns.iter().enumerate().map(|(position, column)| {
            if !self.packed.iter().any(|p| p.position == position) {
                return column.gather(&rows);
            }
            let own = column.gather(&kept)?;
            let partition = RowPartition::from_row_lengths(pieces.of.iter().map(|(_, items)| *items as i64))?;
            Tensor::list(partition, own.as_list()?.values().clone(), None)
        });
        Chunk::try_new(rows.len(), columns.collect::<Result<_>>()?, origin)
    }

    /// Builds a chunk with one record per packed row.
    fn build(&self, rows: &[PackedRow<RecordId>], pool: &Pool) -> Result<Chunk> {
        let segments = || rows.iter().flat_map(|row| row.segments.iter());
        let ids: Vec<RecordId> = segments().map(|s| s.id).collect();
        let sequences = pool.gather(&ids)?;
        let groups = RowPartition::from_row_lengths(rows.iter().map(|row| row.segments.len() as i64))?;
        let packed: HashMap<usize, &PackedField> = self.packed.iter().map(|field| (field.position, field)).collect();
        let column = |(position, column): (usize, &Tensor)| {
            let made = match packed.get(&position) {
                Some(field) => self.row_values(field, column, rows),
                None => batched_field(column, &groups, &self.names[position]),
            };
            made.map_err(|e| sequences.origin.resolve(e.in_field(quoted(&self.names[position])), sequences.nrows))
        };
        let mut columns = sequences.columns.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let (mut ids, mut positions) = (Vec::with_capacity(rows.len() * self.length), Vec::with_capacity(rows.len() * self.length));
        for (number, row) in rows.iter().enumerate() {
            for (segment, id) in row.segments.iter().zip(1i64..) {
                ids.resize(ids.len() + segment.len, id);
                let start = if self.positions == Positions::Continue { segment.start as i64 } else { 0 };
                positions.extend(start..start + segment.len as i64);
            }
            ids.resize((number + 1) * self.length, 0);
            positions.resize((number + 1) * self.length, 0);
        }
        let partition = RowPartition::uniform(self.length, rows.len())?;
        for numbers in [ids, positions] {
            columns.push(Tensor::list(partition.clone(), Tensor::Leaf(Arc::new(Int64Array::from(numbers))), None)?);
        }
        let origin = sequences.origin.merged((0..rows.len()).map(|row| groups.range(row)));
        Chunk::try_new(rows.len(), columns, origin)
    }

    /// The values of one packed field: sequences, separators, padding.
    fn row_values(&self, field: &PackedField, sequences: &Tensor, rows: &[PackedRow<RecordId>]) -> Result<Tensor> {
        let list = sequences.as_list()?;
        let (mut leaf, mut inner) = (list.values(), Vec::new());
        while let Tensor::List(below) = leaf {
            inner.push(below.partition().uniform_row_length().unwrap_or(1));
            leaf = below.values();
        }
        let values = leaf.as_leaf()?;
        let nvals = values.len();
        let values = match &field.separator {
            Some(separator) => &concat_leaves(&[values, separator])?,
            None => values,
        };
        let mut runs = Runs::new();
        let mut sequence = 0;
        for row in rows {
            for Segment { len, .. } in &row.segments {
                let items = list.partition().range(sequence);
                runs.copy(items.start * field.block, items.len() * field.block);
                if items.len() < *len {
                    runs.copy(nvals, field.block);
                }
                sequence += 1;
            }
            runs.fill((self.length - row.used) * field.block);
        }
        let mut levels = vec![RowPartition::uniform(self.length, rows.len())?];
        for size in inner {
            levels.push(RowPartition::uniform(size, levels.last().map_or(0, RowPartition::nvals))?);
        }
        let leaf = Tensor::Leaf(runs.apply(values, &field.filling)?);
        levels.into_iter().rev().try_fold(leaf, |below, level| Tensor::list(level, below, None))
    }
}
