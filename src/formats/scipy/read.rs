//! Reads the arrays of a matrix as rows.

use crate::chunk::Decoded;
use crate::error::{Error, Result};
use crate::formats::arrays::archive;
use crate::formats::arrays::contents::{Contents, StoredArray};
use crate::formats::arrays::stream::{ArrayStream, IntegerStream};
use crate::formats::columnar::adapt::declared_over;
use crate::formats::columnar::source::Source;
use crate::formats::format::{Inference, Reader, Request, Tasks};
use crate::formats::matrix::read::{CHUNK_ENTRIES, HeldRows, RowBlock, RowSource, Shape, check_held, tasks};
use crate::io::Input;
use crate::schema::{DType, Schema};
use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use std::sync::Arc;

/// Maximum length of a format name.
const MAX_FORMAT_NBYTES: u64 = 64;

/// Whether the arrays are those of a matrix.
pub fn is_matrix(contents: &Contents) -> bool {
    let names = contents.by_name();
    let has = |name: &str| names.contains_key(name) || contents.unusable.iter().any(|(other, _)| other == name);
    let is_one = |name: &str| names.get(name).is_some_and(|at| contents.arrays[*at].shape.iter().product::<u64>() == 1);
    contents.embedded.is_none() && is_one("format") && has("shape") && has("data") && !contents.arrays.iter().any(|a| a.name.contains('/'))
}

pub struct MatrixReader {
    pub input: Arc<Input>,
}

/// An open archive.
struct Archive<'a> {
    input: &'a Input,
    contents: Contents,
    source: Source,
    form: MatrixForm,
    nrows: u64,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq)]
enum MatrixForm {
    Csr,
    Csc,
    Coo,
}

impl<'a> Archive<'a> {
    fn open(input: &'a Input) -> Result<Archive<'a>> {
        let contents = archive::contents(input)?;
        let source = Source::new(input.file()?).map_err(|e| Error::io(input.name(), "cannot read", &e))?;
        let shape = Shape { dtype: DType::Null, ncolumns: 0, is_sparse: true, is_complex: false };
        let mut archive = Archive { input, contents, source, form: MatrixForm::Csr, nrows: 0, shape };
        archive.form = match archive.format()?.as_str() {
            "csr" => MatrixForm::Csr,
            "csc" => MatrixForm::Csc,
            "coo" => MatrixForm::Coo,
            other => {
                return Err(Error::data(format!("the sparse format {other} is not supported: expected csr, csc or coo"))
                    .help("in Python: scipy.sparse.save_npz(\"x.npz\", matrix.tocsr())"));
            }
        };
        let mut sizes = Vec::new();
        let mut numbers = archive.numbers("shape")?;
        if numbers.left() != 2 {
            return Err(Error::data(format!("a matrix must have two axes, but this shape has {}", numbers.left())));
        }
        numbers.take(2, &mut sizes)?;
        let size = |n: &i64| u64::try_from(*n).map_err(|_| Error::data(format!("the matrix has the invalid size {n}")));
        (archive.nrows, archive.shape.ncolumns) = (size(&sizes[0])?, size(&sizes[1])?);
        let data = archive.array("data")?;
        archive.shape.dtype = data.element.dtype();
        if !archive.shape.dtype.is_number() && archive.shape.dtype != DType::Bool {
            return Err(Error::data(format!("the matrix contains {}, not numbers", archive.shape.dtype)));
        }
        Ok(archive)
    }

    fn array(&self, name: &str) -> Result<&StoredArray> {
        if let Some(found) = self.contents.arrays.iter().find(|a| a.name == name) {
            return Ok(found);
        }
        Err(match self.contents.unusable.iter().find(|(other, _)| other == name) {
            Some((_, error)) => {
                error.clone().help("in Python: scipy.sparse.save_npz(\"real.npz\", matrix.real), and the same for matrix.imag")
            }
            None => Error::data(format!("the sparse matrix has no array named {name}")),
        })
    }

    fn vector(&self, name: &str) -> Result<&StoredArray> {
        let array = self.array(name)?;
        match array.shape.len() {
            1 => Ok(array),
            axes => Err(Error::data(format!("the array {name} of a sparse matrix has {axes} axes, not one"))),
        }
    }

    fn stream(&self, array: &StoredArray) -> Result<ArrayStream> {
        ArrayStream::open(self.input, Some(&self.source), array, u64::MAX)
    }

    fn format(&self) -> Result<String> {
        let array = self.array("format")?;
        if array.nbytes > MAX_FORMAT_NBYTES || !matches!(array.element.dtype(), DType::String | DType::Bytes) {
            return Err(Error::data("the array `format` of a sparse matrix does not name a format"));
        }
        let values = array.element.decode(self.stream(array)?.take(array.nbytes)?, 1)?;
        Ok(match array.element.dtype() {
            DType::String => values.as_string::<i64>().value(0).to_owned(),
            _ => String::from_utf8_lossy(values.as_binary::<i64>().value(0)).into_owned(),
        })
    }

    /// The integers of an array.
    fn numbers(&self, name: &str) -> Result<IntegerStream> {
        let array = self.vector(name)?;
        if !array.element.dtype().is_integer() {
            return Err(Error::data(format!("the array {name} of a sparse matrix contains {}, not integers", array.element.dtype())));
        }
        Ok(IntegerStream::new(self.stream(array)?, &array.element))
    }

    fn all(&self, name: &str) -> Result<Vec<i64>> {
        let mut numbers = self.numbers(name)?;
        let mut all = Vec::new();
        while numbers.left() > 0 {
            numbers.take(numbers.left().min(CHUNK_ENTRIES as u64), &mut all)?;
        }
        Ok(all)
    }

    fn values(&self) -> Result<ArrayRef> {
        let data = self.vector("data")?;
        data.element.decode(self.stream(data)?.take(data.nbytes)?, data.shape.first().copied().unwrap_or(0) as usize)
    }

    /// Checks that the arrays of entries have the same length.
    fn check_lengths(&self, others: &[&str]) -> Result<u64> {
        let nentries = self.vector("data")?.shape.first().copied().unwrap_or(0);
        for name in others {
            let length = self.vector(name)?.shape.first().copied().unwrap_or(0);
            if length != nentries {
                return Err(Error::data(format!("the sparse matrix has {nentries} values in data, but {length} numbers in {name}")));
            }
        }
        Ok(nentries)
    }

    fn rows(&self, request: &Request) -> Result<Box<dyn RowSource>> {
        if self.form == MatrixForm::Csr {
            self.check_lengths(&["indices"])?;
            let indptr = self.numbers("indptr")?;
            self.check_indptr(&indptr, self.nrows)?;
            let data = self.vector("data")?;
            return Ok(Box::new(CsrRows {
                nrows: self.nrows,
                left: self.nrows,
                max_row_bytes: request.options.max_record_bytes,
                at: None,
                indptr,
                indices: self.numbers("indices")?,
                element: data.element.clone(),
                values: self.stream(data)?,
            }));
        }
        let others: &[&str] = if self.form == MatrixForm::Csc { &["indices"] } else { &["row", "col"] };
        let nentries = self.check_lengths(others)?;
        let splits = self.nrows.max(if self.form == MatrixForm::Csc { self.shape.ncolumns } else { 0 });
        check_held(nentries.saturating_mul(32).saturating_add(splits.saturating_mul(16)), request)?;
        let nrows = usize::try_from(self.nrows).map_err(|_| Error::data("more rows than this machine can address"))?;
        let (rows, columns) = match self.form {
            MatrixForm::Coo => (self.all("row")?, self.all("col")?),
            _ => {
                self.check_indptr(&self.numbers("indptr")?, self.shape.ncolumns)?;
                (self.all("indices")?, self.columns(nentries)?)
            }
        };
        Ok(Box::new(HeldRows::of_entries(nrows, &rows, columns, vec![self.values()?])?))
    }

    fn check_indptr(&self, indptr: &IntegerStream, n: u64) -> Result<()> {
        match n.checked_add(1) == Some(indptr.left()) {
            true => Ok(()),
            false => Err(Error::data(format!("the array indptr of a sparse matrix has {} numbers for {n} rows or columns", indptr.left()))),
        }
    }

    /// The column of each entry of CSC.
    fn columns(&self, nentries: u64) -> Result<Vec<i64>> {
        let mut columns = Vec::new();
        for (column, ends) in self.all("indptr")?.windows(2).enumerate() {
            if ends[0] > ends[1] || ends[0] != columns.len() as i64 || ends[1] > nentries as i64 {
                return Err(bad_indptr(ends[0], ends[1]));
            }
            columns.resize(ends[1] as usize, column as i64);
        }
        if columns.len() as u64 != nentries {
            return Err(Error::data(format!("the array indptr ends at {}, but there are {nentries} values", columns.len())));
        }
        Ok(columns)
    }
}

fn bad_indptr(start: i64, end: i64) -> Error {
    Error::data(format!("the array indptr of a sparse matrix goes from {start} to {end}"))
}

/// The rows of CSR, read sequentially.
struct CsrRows {
    nrows: u64,
    left: u64,
    /// Maximum memory for a row, whose entries can be compressed to almost nothing.
    max_row_bytes: u64,
    /// The end of the last row; `None` before the first.
    at: Option<i64>,
    indptr: IntegerStream,
    indices: IntegerStream,
    element: crate::formats::arrays::element::Element,
    values: ArrayStream,
}

impl RowSource for CsrRows {
    fn next(&mut self, max_rows: usize) -> Result<Option<RowBlock>> {
        let mut taken = Vec::new();
        let start = match self.at {
            Some(at) => at,
            None => {
                self.indptr.take(1, &mut taken)?;
                taken.first().copied().filter(|first| *first == 0).ok_or_else(|| Error::data("the array indptr does not start at 0"))?
            }
        };
        let mut splits = vec![0];
        let mut end = start;
        while self.left > 0 && splits.len() <= max_rows {
            let Some(next) = self.indptr.peek()? else { break };
            if next < end {
                return Err(bad_indptr(end, next));
            }
            if splits.len() > 1 && next - start > CHUNK_ENTRIES as i64 {
                break;
            }
            let nbytes = ((next - end) as u64).saturating_mul(8 + self.element.nbytes() as u64);
            if nbytes > self.max_row_bytes {
                let record = self.nrows - self.left + 1;
                let error = Error::too_large(format_args!("the row has {nbytes}"), self.max_row_bytes);
                return Err(error.locate(|at| at.records = Some((record, record))));
            }
            if next - start > self.indices.left() as i64 {
                return Err(Error::data(format!("the array indptr points to {next}, beyond the last value")));
            }
            taken.clear();
            self.indptr.take(1, &mut taken)?;
            self.left -= 1;
            end = next;
            splits.push(end - start);
        }
        self.at = Some(end);
        if splits.len() == 1 {
            // The bytes after the last row are not part of the matrix.
            return Ok(None);
        }
        let count = (end - start) as u64;
        let mut indices = Vec::new();
        self.indices.take(count, &mut indices)?;
        let values = self.values.take(count * self.element.nbytes() as u64)?;
        if self.values.is_over() {
            self.values.finish()?;
        }
        Ok(Some(RowBlock::Sparse { splits, indices, values: vec![self.element.decode(values, count as usize)?] }))
    }
}

impl Reader for MatrixReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let archive = Archive::open(&self.input).map_err(|e| e.in_input(self.input.name().clone()))?;
        Ok(Inference::Known(declared_over(&request.declared, Schema::new(vec![archive.shape.field()]))))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let name = self.input.name().clone();
        let opened = Archive::open(&self.input).and_then(|archive| Ok((archive.rows(request)?, archive.shape.clone())));
        let (rows, shape) = opened.map_err(|e| e.in_input(name.clone()))?;
        tasks(&name, shape, rows, schema, request)
    }
}
