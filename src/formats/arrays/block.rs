//! Reads the rows of arrays, some records at a time: row splits are decoded, values are only sliced.

use super::bind::{ArrayIndices, Bound, BoundLeaf};
use super::contents::{Contents, StoredArray};
use super::stream::{ArrayStream, IntegerStream};
use crate::error::{Error, Result, mismatch};
use crate::formats::columnar::source::Source;
use crate::io::Input;
use crate::printable::counted;
use crate::schema::arrays::Stacking;
use arrow_buffer::MutableBuffer;

/// Approximate bytes of values in a block; the last record can be longer.
const BLOCK_NBYTES: u64 = 8 << 20;

/// The contents of a block for one leaf.
pub enum LeafBlock {
    Ragged {
        /// The row splits of each level, starting at 0.
        splits: Vec<Vec<i64>>,
        values: MutableBuffer,
        nvals: usize,
    },
    Sparse {
        /// The end of each record's entries, starting with 0.
        splits: Vec<i64>,
        indices: Vec<i64>,
        values: MutableBuffer,
        shapes: Vec<i64>,
    },
}

/// Reads one leaf.
pub struct LeafReader {
    name: String,
    kind: BlockKind,
}

enum BlockKind {
    Ragged {
        levels: Vec<Level>,
        values: ArrayStream,
        /// The bytes of an item of the values, the number of items, and how many have not been read yet.
        item_nbytes: u64,
        total: u64,
        left: u64,
        /// The length of axis 0, if there is a single record.
        whole: Option<u64>,
    },
    Sparse(Box<SparseReader>),
}

struct Level {
    numbers: IntegerStream,
    /// The end of the last row.
    end: i64,
    /// The start of the block.
    base: i64,
}

struct SparseReader {
    indices: IntegerStream,
    values: ArrayStream,
    item_nbytes: u64,
    /// The dense shape without the record axis.
    shape: Vec<i64>,
    shapes: Option<IntegerStream>,
    one: bool,
    record: i64,
}

/// What is needed to open arrays.
pub struct Opening<'a> {
    pub input: &'a Input,
    pub source: Option<&'a Source>,
    pub contents: &'a Contents,
    pub bound: &'a Bound,
    /// The size limit of a record whose bytes are not stored in this form in the file.
    pub max_record_nbytes: u64,
}

impl LeafReader {
    /// # Errors
    /// Reading fails, or row splits do not start at 0.
    pub fn open(leaf: &BoundLeaf, opening: &Opening) -> Result<LeafReader> {
        let named = |number: usize, e: Error| e.in_field(crate::path::quoted(&opening.contents.arrays[number].name));
        let stream = |number: usize| {
            let found: &StoredArray = &opening.contents.arrays[number];
            ArrayStream::open(opening.input, opening.source, found, opening.max_record_nbytes).map_err(|e| named(number, e))
        };
        let numbers = |number: usize| Ok(IntegerStream::new(stream(number)?, &opening.contents.arrays[number].element));
        let one = opening.bound.stacking == Stacking::One;
        let kind = match &leaf.parts {
            ArrayIndices::Ragged { splits, values, tail, .. } => {
                let found = &opening.contents.arrays[*values];
                let levels = splits.iter().map(|number| {
                    let mut numbers = numbers(*number)?;
                    let first = numbers.peek().map_err(|e| named(*number, e))?;
                    if first != Some(0) {
                        let found =
                            first.map_or("are empty; expected them to start at 0".to_owned(), |n| format!("start at {n} instead of 0"));
                        return Err(Error::data(format!("row splits {found}"))).map_err(|e| named(*number, e));
                    }
                    let mut zero = Vec::new();
                    numbers.take(1, &mut zero)?;
                    Ok(Level { numbers, end: 0, base: 0 })
                });
                let levels: Vec<Level> = levels.collect::<Result<_>>()?;
                let left = found.shape.first().copied().unwrap_or(1);
                let whole = one.then(|| levels.first().map_or(left, |level| level.numbers.left()));
                BlockKind::Ragged {
                    levels,
                    values: stream(*values)?,
                    item_nbytes: tail.iter().product::<u64>() * found.element.nbytes() as u64,
                    total: left,
                    left,
                    whole,
                }
            }
            ArrayIndices::Sparse { indices, values, shape, shapes, .. } => {
                let own = opening.contents.dense_shape(*shape);
                BlockKind::Sparse(Box::new(SparseReader {
                    indices: numbers(*indices)?,
                    values: stream(*values)?,
                    item_nbytes: opening.contents.arrays[*values].element.nbytes() as u64,
                    shape: if one { own.to_vec() } else { own.get(1..).unwrap_or_default().to_vec() },
                    shapes: shapes.map(numbers).transpose()?,
                    one,
                    record: 0,
                }))
            }
        };
        Ok(LeafReader { name: leaf.name.clone(), kind })
    }

    /// The size of every record in bytes, if it is the same for all records.
    pub fn fixed_nbytes(&self) -> Option<u64> {
        match &self.kind {
            BlockKind::Ragged { levels, item_nbytes, whole: None, .. } if levels.is_empty() => Some(*item_nbytes),
            _ => None,
        }
    }

    /// An empty block.
    pub fn begin(&mut self) -> LeafBlock {
        match &mut self.kind {
            BlockKind::Ragged { levels, .. } => {
                levels.iter_mut().for_each(|level| level.base = level.end);
                LeafBlock::Ragged { splits: levels.iter().map(|_| vec![0]).collect(), values: MutableBuffer::new(0), nvals: 0 }
            }
            BlockKind::Sparse(_) => {
                LeafBlock::Sparse { splits: vec![0], indices: Vec::new(), values: MutableBuffer::new(0), shapes: Vec::new() }
            }
        }
    }

    /// Adds `count` records to a block: the ends of their rows, not yet their values. Returns the number of value
    /// bytes.
    ///
    /// # Errors
    /// Row splits that decrease or exceed the values, or indices that are not ordered by record.
    pub fn rows(&mut self, count: u64, block: &mut LeafBlock) -> Result<u64> {
        self.rows_of(count, block).map_err(|e| e.in_field(crate::path::quoted(&self.name)))
    }

    fn rows_of(&mut self, count: u64, block: &mut LeafBlock) -> Result<u64> {
        match (&mut self.kind, block) {
            (BlockKind::Ragged { levels, item_nbytes, total, left, whole, .. }, LeafBlock::Ragged { splits, nvals, .. }) => {
                let mut items = whole.unwrap_or(count);
                for (level, splits) in levels.iter_mut().zip(splits) {
                    items = level.rows(items, splits)?;
                }
                if items > *left {
                    let end = (*total - *left).saturating_add(items);
                    return Err(Error::data(format!("row splits reach value {end}, but there are only {total}")));
                }
                *left -= items;
                *nvals += usize::try_from(items).map_err(|_| Error::data("more values than this machine can address"))?;
                items.checked_mul(*item_nbytes).ok_or_else(|| Error::data("the number of bytes does not fit in 63 bits"))
            }
            (BlockKind::Sparse(sparse), LeafBlock::Sparse { splits, indices, shapes, .. }) => sparse.rows(count, splits, indices, shapes),
            _ => Err(Error::internal("a block of another array")),
        }
    }

    /// Reads the values of a block.
    ///
    /// # Errors
    /// Reading fails.
    pub fn values(&mut self, block: &mut LeafBlock) -> Result<()> {
        let read = match (&mut self.kind, block) {
            (BlockKind::Ragged { values, item_nbytes, .. }, LeafBlock::Ragged { nvals, values: into, .. }) => {
                values.take(*nvals as u64 * *item_nbytes).map(|bytes| *into = bytes)
            }
            (BlockKind::Sparse(sparse), LeafBlock::Sparse { splits, values: into, .. }) => {
                let nvals = splits.last().copied().unwrap_or(0).unsigned_abs();
                sparse.values.take(nvals * sparse.item_nbytes).map(|bytes| *into = bytes)
            }
            _ => Err(Error::internal("a block of another array")),
        };
        read.map_err(|e| e.in_field(crate::path::quoted(&self.name)))
    }

    /// Checks that everything has been read after the last record.
    ///
    /// # Errors
    /// Something is left, because row splits end before the values do.
    pub fn finish(&mut self) -> Result<()> {
        self.finish_all().map_err(|e| e.in_field(crate::path::quoted(&self.name)))
    }

    fn finish_all(&mut self) -> Result<()> {
        match &mut self.kind {
            BlockKind::Ragged { levels, values, left, .. } => {
                for (number, level) in levels.iter_mut().enumerate() {
                    if level.numbers.left() > 0 {
                        return Err(Error::data(format!("row_splits_{number} has {} extra rows", level.numbers.left())));
                    }
                    level.numbers.finish()?;
                }
                if *left > 0 {
                    return Err(Error::data(format!("its row splits end {} too early", counted(*left, "value"))));
                }
                values.finish()
            }
            BlockKind::Sparse(sparse) => {
                if sparse.indices.left() > 0 || !sparse.values.is_over() {
                    return Err(Error::data("indices continue after the last record"));
                }
                if sparse.shapes.as_ref().is_some_and(|shapes| shapes.left() > 0) {
                    return Err(Error::data("dense_shapes continue after the last record"));
                }
                sparse.indices.finish()?;
                sparse.values.finish()?;
                sparse.shapes.iter_mut().try_for_each(IntegerStream::finish)
            }
        }
    }
}

impl Level {
    /// Reads the next `count` rows and returns their number of items.
    fn rows(&mut self, count: u64, splits: &mut Vec<i64>) -> Result<u64> {
        if count > self.numbers.left() {
            return Err(Error::data(format!("row splits reach row {count}, but only {} are left", self.numbers.left())));
        }
        let (start, from) = (self.end, splits.len());
        self.numbers.take(count, splits)?;
        for split in &mut splits[from..] {
            if *split < self.end {
                return Err(Error::data(format!("row splits decrease from {} to {split}", self.end)));
            }
            self.end = *split;
            *split -= self.base;
        }
        Ok((self.end - start).unsigned_abs())
    }
}

impl SparseReader {
    fn rows(&mut self, count: u64, splits: &mut Vec<i64>, indices: &mut Vec<i64>, shapes: &mut Vec<i64>) -> Result<u64> {
        let ndims = self.shape.len();
        let mut taken = 0u64;
        for _ in 0..count {
            let mut entries = splits.last().copied().unwrap_or(0);
            if self.one {
                let all = self.indices.left() / ndims.max(1) as u64;
                self.indices.take(all * ndims as u64, indices)?;
                (entries, taken) = (entries + all as i64, taken + all);
            } else {
                let mut index = Vec::with_capacity(ndims + 1);
                while self.indices.peek()? == Some(self.record) {
                    index.clear();
                    self.indices.take(1 + ndims as u64, &mut index)?;
                    indices.extend_from_slice(&index[1..]);
                    (entries, taken) = (entries + 1, taken + 1);
                }
                if let Some(next) = self.indices.peek()?.filter(|next| *next < self.record) {
                    let found = format_args!("record {next} after record {}", self.record);
                    let error = Error::data(mismatch("indices in the order of the records", found));
                    return Err(error.help("sort the entries by record: order = numpy.argsort(indices[:, 0], kind=\"stable\")"));
                }
            }
            splits.push(entries);
            match &mut self.shapes {
                Some(all) => all.take(ndims as u64, shapes)?,
                None => shapes.extend_from_slice(&self.shape),
            }
            self.record += 1;
        }
        Ok(taken * (self.item_nbytes + 8 * ndims as u64))
    }
}

/// Slices several leaves side by side.
pub struct Blocks {
    leaves: Vec<LeafReader>,
    /// Records not sliced yet, and how many of them are needed.
    left: u64,
    wanted: u64,
    chunk_rows: u64,
    finished: bool,
}

impl Blocks {
    pub fn new(leaves: Vec<LeafReader>, nrecords: u64, wanted: u64, chunk_rows: Option<usize>) -> Blocks {
        Blocks { leaves, left: nrecords, wanted, chunk_rows: chunk_rows.map_or(1 << 20, |n| n.max(1) as u64), finished: false }
    }

    /// Nothing may remain after the last record.
    fn finish(&mut self) -> Result<()> {
        if self.left > 0 || std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        self.leaves.iter_mut().try_for_each(LeafReader::finish)
    }

    /// The next records: their number, their bytes, and the contents of each leaf.
    ///
    /// # Errors
    /// The arrays are inconsistent or cannot be read.
    pub fn next(&mut self) -> Result<Option<(u64, u64, Vec<LeafBlock>)>> {
        let most = self.left.min(self.wanted).min(self.chunk_rows);
        if most == 0 {
            return self.finish().map(|()| None);
        }
        let mut blocks: Vec<LeafBlock> = self.leaves.iter_mut().map(LeafReader::begin).collect();
        let fixed: u64 = self.leaves.iter().filter_map(LeafReader::fixed_nbytes).fold(0, u64::saturating_add);
        let mut nrecords = BLOCK_NBYTES.checked_div(fixed).map_or(most, |n| n.clamp(1, most));
        let mut nbytes = 0u64;
        let is_fixed: Vec<bool> = self.leaves.iter().map(|leaf| leaf.fixed_nbytes().is_some()).collect();
        if is_fixed.contains(&false) {
            let mut record = 0;
            while record < nrecords && nbytes.saturating_add(fixed.saturating_mul(record)) < BLOCK_NBYTES {
                for ((leaf, block), _) in self.leaves.iter_mut().zip(&mut blocks).zip(&is_fixed).filter(|(_, fixed)| !**fixed) {
                    // Splits take memory too.
                    nbytes = nbytes.saturating_add(leaf.rows(1, block)?).saturating_add(8);
                }
                record += 1;
            }
            nrecords = record;
        }
        for ((leaf, block), fixed) in self.leaves.iter_mut().zip(&mut blocks).zip(&is_fixed) {
            if *fixed {
                nbytes = nbytes.saturating_add(leaf.rows(nrecords, block)?);
            }
            leaf.values(block)?;
        }
        self.left -= nrecords;
        self.wanted -= nrecords;
        self.finish()?;
        Ok(Some((nrecords, nbytes, blocks)))
    }
}
