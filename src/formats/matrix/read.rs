//! The rows of a matrix as records.

use super::FIELD;
use super::rows::{sparse, summed};
use crate::chunk::{Decoded, Origin};
use crate::error::{Error, Result};
use crate::formats::columnar::adapt::{Columns, DecodedRows};
use crate::formats::format::{Request, Task, Tasks};
use crate::schema::{DType, Dim, Element, Field, Schema, Type};
use crate::tensor::gather::take;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{Array, ArrayRef};
use std::sync::Arc;

/// Maximum number of rows in a chunk, and approximate maximum number of entries.
const CHUNK_ROWS: usize = 8 << 10;
pub const CHUNK_ENTRIES: usize = 1 << 18;

/// Consecutive rows. Complex numbers have two columns, the real and the imaginary parts.
pub enum RowBlock {
    Sparse { splits: Vec<i64>, indices: Vec<i64>, values: Vec<ArrayRef> },
    Dense { nrows: usize, values: Vec<ArrayRef> },
}

impl RowBlock {
    fn nrows(&self) -> usize {
        match self {
            RowBlock::Sparse { splits, .. } => splits.len() - 1,
            RowBlock::Dense { nrows, .. } => *nrows,
        }
    }
}

/// The rows of a matrix, from the first to the last.
pub trait RowSource: Send {
    /// The next rows, at most `max_rows`; `None` at the end.
    ///
    /// # Errors
    /// Reading fails, or the matrix is inconsistent.
    fn next(&mut self, max_rows: usize) -> Result<Option<RowBlock>>;
}

/// The properties common to all rows.
#[derive(Clone, Debug)]
pub struct Shape {
    pub dtype: DType,
    pub ncolumns: u64,
    pub is_sparse: bool,
    pub is_complex: bool,
}

impl Shape {
    /// The field of the records.
    pub fn field(&self) -> Field {
        let dims = vec![Dim::known(self.ncolumns)];
        let element = if self.is_sparse { Element::Sparse(self.dtype.clone()) } else { Element::Value(self.dtype.clone()) };
        let ty = Type { element, dims, optional: false, with_nulls: false };
        let ty = match self.is_complex {
            true => Type::structure(vec![Field::new("real", ty.clone()), Field::new("imag", ty)], Vec::new()),
            false => ty,
        };
        Field::new(FIELD, ty)
    }

    fn tensor(&self, part: RowBlock, sums: bool) -> Result<Tensor> {
        let nrows = part.nrows();
        let n = i64::try_from(self.ncolumns).map_err(|_| Error::data("the number of columns does not fit in 63 bits"))?;
        let mut tensors = match part {
            RowBlock::Sparse { splits, indices, values } => {
                let one = |values: &ArrayRef| match sums {
                    true => summed(&splits, &indices, values, n),
                    false => sparse(splits.clone(), indices.clone(), values.clone(), vec![n; nrows]),
                };
                values.iter().map(one).collect::<Result<Vec<_>>>()?
            }
            RowBlock::Dense { values, .. } => {
                let length = usize::try_from(self.ncolumns).map_err(|_| Error::data("more columns than this machine can address"))?;
                let one = |values: ArrayRef| Tensor::list(RowPartition::uniform(length, nrows)?, Tensor::Leaf(values), None);
                values.into_iter().map(one).collect::<Result<Vec<_>>>()?
            }
        };
        match (self.is_complex, tensors.len()) {
            (true, 2) => Tensor::structure(nrows, tensors, None),
            (false, 1) => tensors.pop().ok_or_else(|| Error::internal("a matrix without values")),
            _ => Err(Error::internal("a matrix with other columns than its type")),
        }
    }
}

/// Cuts the rows into tasks.
struct Records {
    name: Arc<str>,
    source: Box<dyn RowSource>,
    decoder: Arc<Decoder>,
    first: u64,
    wanted: u64,
    chunk_rows: usize,
}

struct Decoder {
    shape: Shape,
    columns: Columns,
    sums: bool,
}

/// The records of a matrix.
///
/// # Errors
/// `schema` requests a field that does not exist.
pub fn tasks(name: &Arc<str>, shape: Shape, source: Box<dyn RowSource>, schema: &Schema, request: &Request) -> Result<Tasks<Decoded>> {
    let columns = Columns::plan(&[shape.field()], schema, request)?;
    Ok(Box::new(Records {
        name: name.clone(),
        source,
        decoder: Arc::new(Decoder { shape, columns, sums: request.options.sum_duplicates }),
        first: 0,
        wanted: request.records.unwrap_or(u64::MAX),
        chunk_rows: request.options.chunk_rows.unwrap_or(CHUNK_ROWS).clamp(1, CHUNK_ROWS),
    }))
}

impl Iterator for Records {
    type Item = Result<Task<Decoded>>;

    fn next(&mut self) -> Option<Self::Item> {
        let max_rows = self.chunk_rows.min(usize::try_from(self.wanted).unwrap_or(usize::MAX));
        if max_rows == 0 {
            return None;
        }
        let origin = Origin::consecutive(self.name.clone(), self.first + 1);
        let part = match self.source.next(max_rows) {
            Ok(part) => part?,
            Err(error) => {
                self.wanted = 0;
                return Some(Err(error.in_input(self.name.clone())));
            }
        };
        let nrows = part.nrows();
        self.first += nrows as u64;
        self.wanted -= nrows as u64;
        let decoder = self.decoder.clone();
        Some(Ok(Box::new(move || {
            let tensor = decoder.shape.tensor(part, decoder.sums).map_err(|e| origin.resolve(e.in_field(FIELD), nrows))?;
            let nbytes = tensor.nbytes() as u64;
            decoder.columns.decoded(DecodedRows::new(nrows, origin, nbytes), |_| Ok(tensor.clone()))
        })))
    }
}

/// A matrix held in memory, in row order.
pub struct HeldRows {
    splits: Vec<i64>,
    indices: Vec<i64>,
    values: Vec<ArrayRef>,
    next: usize,
}

impl HeldRows {
    /// Builds it from entries in any order; entries of a row keep their order. O(rows + entries).
    ///
    /// # Errors
    /// A row index is out of range.
    pub fn of_entries(nrows: usize, rows: &[i64], columns: Vec<i64>, values: Vec<ArrayRef>) -> Result<HeldRows> {
        let mut splits = vec![0i64; nrows + 1];
        for row in rows {
            match usize::try_from(*row).ok().filter(|row| *row < nrows) {
                Some(row) => splits[row + 1] += 1,
                None => return Err(Error::data(format!("found an entry in row {row} of a matrix with {nrows} rows"))),
            }
        }
        for row in 0..nrows {
            splits[row + 1] += splits[row];
        }
        if rows.is_sorted() {
            return Ok(HeldRows { splits, indices: columns, values, next: 0 });
        }
        let mut ends = splits.clone();
        let mut order = vec![0; rows.len()];
        for (entry, row) in rows.iter().enumerate() {
            let end = &mut ends[*row as usize];
            order[*end as usize] = entry;
            *end += 1;
        }
        let indices = order.iter().map(|entry| columns[*entry]).collect();
        Ok(HeldRows { splits, indices, values: values.iter().map(|values| take(values, &order)).collect::<Result<_>>()?, next: 0 })
    }
}

impl RowSource for HeldRows {
    fn next(&mut self, max_rows: usize) -> Result<Option<RowBlock>> {
        let nrows = self.splits.len() - 1;
        if self.next == nrows {
            return Ok(None);
        }
        let end = cut(&self.splits[self.next..], max_rows) + self.next;
        let (first, last) = (self.splits[self.next] as usize, self.splits[end] as usize);
        let splits = self.splits[self.next..=end].iter().map(|split| split - first as i64).collect();
        self.next = end;
        let values = self.values.iter().map(|values| values.slice(first, last - first)).collect();
        Ok(Some(RowBlock::Sparse { splits, indices: self.indices[first..last].to_vec(), values }))
    }
}

/// The number of rows of these splits that form a chunk; at least one.
pub fn cut(splits: &[i64], max_rows: usize) -> usize {
    let most = max_rows.min(splits.len().saturating_sub(1)).max(1);
    let limit = splits.first().copied().unwrap_or(0).saturating_add(CHUNK_ENTRIES as i64);
    splits[1..=most].partition_point(|end| *end <= limit).max(1)
}

/// Rejects a size beyond `--max-memory`.
///
/// # Errors
/// The size is too large.
pub fn check_held(nbytes: u64, request: &Request) -> Result<()> {
    let limit = request.options.max_memory;
    if nbytes <= limit {
        return Ok(());
    }
    let size = match nbytes {
        u64::MAX => "more bytes than this machine can address".to_owned(),
        _ => format!("at least {nbytes} bytes, more than the --max-memory limit of {limit}"),
    };
    Err(Error::data(format!("a matrix that is not stored by rows is read into memory: it takes {size}"))
        .help("raise the limit with --max-memory")
        .help("or store it by rows, in Python: scipy.sparse.save_npz(\"x.npz\", matrix.tocsr())"))
}
