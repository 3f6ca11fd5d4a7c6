//! Reads the lines of a file as the rows of its matrix.

use super::banner::{Banner, Field, Symmetry};
use super::entries::Values;
use crate::chunk::Decoded;
use crate::decimal::integer;
use crate::error::{Error, Message, Result, mismatch};
use crate::formats::columnar::adapt::declared_over;
use crate::formats::format::{Inference, MAX_EMPTY_RECORDS, Reader, Request, Tasks};
use crate::formats::matrix::read::{HeldRows, RowBlock, RowSource, Shape, check_held, tasks};
use crate::io::Input;
use crate::schema::{DType, Schema};
use crate::tensor::gather::take;
use arrow_array::ArrayRef;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

/// Maximum length of an entry line.
const MAX_LINE_NBYTES: u64 = 64 << 10;
const BUFFER_NBYTES: usize = 1 << 20;
/// Number of entries between checks of the memory held.
const CHECKED_ENTRIES: u64 = 1 << 16;

pub struct MatrixReader {
    pub input: Arc<Input>,
}

/// The lines of a file.
struct Lines {
    stream: BufReader<Box<dyn Read + Send>>,
    name: Arc<str>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    /// The next line; `None` at the end.
    fn next(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        let nbytes = self.stream.by_ref().take(MAX_LINE_NBYTES).read_until(b'\n', &mut self.line);
        let nbytes = nbytes.map_err(|e| Error::io(&self.name, "cannot read", &e))?;
        self.number += 1;
        if nbytes as u64 == MAX_LINE_NBYTES && !self.line.ends_with(b"\n") {
            return Err(self.error("the line is too long for an entry"));
        }
        Ok((nbytes > 0).then_some(self.line.as_slice()))
    }

    /// The next line that is neither blank nor a comment.
    fn next_filled(&mut self) -> Result<bool> {
        while let Some(line) = self.next()? {
            if line.first() != Some(&b'%') && !line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn words(&self) -> impl Iterator<Item = &[u8]> {
        self.line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty())
    }

    fn error(&self, message: impl Into<Message>) -> Error {
        Error::data(message).locate(|at| at.line = Some(self.number))
    }

    fn expected(&self, what: &str) -> Error {
        let line = String::from_utf8_lossy(&self.line);
        self.error(mismatch(what, format_args!("`{}`", line.trim().chars().take(60).collect::<String>())))
    }
}

/// Whether values are read as float32, which rounds their text once.
fn is_declared_float32(request: &Request) -> bool {
    request.declared.fields.iter().any(|field| field.ty.dtype() == Some(&DType::Float32))
}

/// A file up to its first entry.
struct Opened {
    lines: Lines,
    banner: Banner,
    nrows: u64,
    ncolumns: u64,
    nentries: u64,
}

impl Opened {
    fn open(input: &Input) -> Result<Opened> {
        let stream = BufReader::with_capacity(BUFFER_NBYTES, input.open()?);
        let mut lines = Lines { stream, name: input.name().clone(), line: Vec::new(), number: 0 };
        let banner = Banner::parse(lines.next()?.unwrap_or_default())?;
        if !lines.next_filled()? {
            return Err(Error::data("the file ends before the line of sizes"));
        }
        let what = if banner.is_coordinate { "the numbers of rows, columns and entries" } else { "the numbers of rows and columns" };
        let sizes: Option<Vec<u64>> = lines.words().map(|word| whole(word).and_then(|n| u64::try_from(n).ok())).collect();
        let (nrows, ncolumns, nentries) = match (sizes.as_deref(), banner.is_coordinate) {
            (Some([nrows, ncolumns, nentries]), true) => (*nrows, *ncolumns, *nentries),
            (Some([nrows, ncolumns]), false) => (*nrows, *ncolumns, 0),
            _ => return Err(lines.expected(what)),
        };
        if banner.symmetry != Symmetry::General && nrows != ncolumns {
            return Err(lines.error(format!("a symmetric matrix must be square, but this one has the shape {nrows} x {ncolumns}")));
        }
        Ok(Opened { lines, banner, nrows, ncolumns, nentries })
    }

    fn shape(&self) -> Shape {
        let field = self.banner.field;
        Shape { dtype: field.dtype(), ncolumns: self.ncolumns, is_sparse: self.banner.is_coordinate, is_complex: field == Field::Complex }
    }

    fn rows(self, request: &Request) -> Result<Box<dyn RowSource>> {
        let is_coordinate = self.banner.is_coordinate;
        if is_coordinate { self.coordinate(request) } else { self.array(request) }
    }

    fn coordinate(mut self, request: &Request) -> Result<Box<dyn RowSource>> {
        check_held(self.nrows.saturating_mul(16), request)?;
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Values::new(self.banner.field));
        let is_float32 = is_declared_float32(request);
        let lines = &mut self.lines;
        for entry in 0..self.nentries {
            if entry % CHECKED_ENTRIES == 0 {
                check_held(self.nrows.saturating_mul(16).saturating_add(48 * rows.len() as u64), request)?;
            }
            if !lines.next_filled()? {
                return Err(Error::data(format!("the file ends after {entry} of {} entries", self.nentries)));
            }
            let mut words = lines.words();
            let mut index = |size: u64| words.next().and_then(whole).filter(|n| *n >= 1 && *n as u64 <= size).map(|n| n - 1);
            let (Some(row), Some(column)) = (index(self.nrows), index(self.ncolumns)) else {
                return Err(lines.expected(&format!("a row from 1 to {} and a column from 1 to {}", self.nrows, self.ncolumns)));
            };
            if let Err(what) = values.push(&mut words, is_float32) {
                return Err(lines.expected(&format!("{what} after row and column")));
            }
            if words.next().is_some() {
                return Err(lines.expected("nothing after the value"));
            }
            rows.push(row);
            columns.push(column);
            if self.banner.symmetry != Symmetry::General && row != column {
                values.mirror(self.banner.symmetry).map_err(|what| lines.expected(what))?;
                rows.push(column);
                columns.push(row);
            }
        }
        self.end()?;
        let nrows = usize::try_from(self.nrows).map_err(|_| Error::data("more rows than this machine can address"))?;
        Ok(Box::new(HeldRows::of_entries(nrows, &rows, columns, values.arrays())?))
    }

    /// Checks that nothing follows the last entry.
    fn end(&mut self) -> Result<()> {
        match self.lines.next_filled()? {
            true => Err(self.lines.expected("the end of the file after the last entry")),
            false => Ok(()),
        }
    }

    fn array(mut self, request: &Request) -> Result<Box<dyn RowSource>> {
        let too_many = || Error::data("more values than this machine can address");
        let total = self.nrows.checked_mul(self.ncolumns).ok_or_else(too_many)?;
        if total == 0 && self.nrows > MAX_EMPTY_RECORDS {
            return Err(Error::data(format!("{} empty records are too many", self.nrows)));
        }
        check_held(total.saturating_mul(32), request)?;
        let (nrows, ncolumns) = (usize::try_from(self.nrows), usize::try_from(self.ncolumns));
        let (Ok(nrows), Ok(ncolumns)) = (nrows, ncolumns) else { return Err(too_many()) };
        let mut values = Values::new(self.banner.field);
        let is_float32 = is_declared_float32(request);
        // The position in file order of each value of the matrix.
        let mut order = vec![0; nrows * ncolumns];
        let mut next = 0;
        for column in 0..ncolumns {
            let first = match self.banner.symmetry {
                Symmetry::General => 0,
                _ => column,
            };
            for row in first..nrows {
                let is_diagonal = row == column;
                if self.banner.symmetry == Symmetry::Skew && is_diagonal {
                    values.zero();
                } else {
                    if !self.lines.next_filled()? {
                        return Err(Error::data(format!("the file ends before the value of row {} and column {}", row + 1, column + 1)));
                    }
                    let mut words = self.lines.words();
                    let pushed = values.push(&mut words, is_float32);
                    if let Err(what) = pushed.and_then(|()| words.next().map_or(Ok(()), |_| Err("one value on each line"))) {
                        return Err(self.lines.expected(what));
                    }
                }
                order[row * ncolumns + column] = next;
                next += 1;
                if self.banner.symmetry != Symmetry::General && !is_diagonal {
                    values.mirror(self.banner.symmetry).map_err(|what| self.lines.expected(what))?;
                    order[column * ncolumns + row] = next;
                    next += 1;
                }
            }
        }
        self.end()?;
        let values = values.arrays().iter().map(|values| take(values, &order)).collect::<Result<_>>()?;
        Ok(Box::new(HeldArray { values, ncolumns, left: nrows, next: 0 }))
    }
}

fn whole(word: &[u8]) -> Option<i64> {
    integer(word).filter(|(_, length)| *length == word.len()).map(|(n, _)| n)
}

/// A dense matrix in memory, in row order.
struct HeldArray {
    values: Vec<ArrayRef>,
    ncolumns: usize,
    left: usize,
    next: usize,
}

impl RowSource for HeldArray {
    fn next(&mut self, max_rows: usize) -> Result<Option<RowBlock>> {
        let nrows = max_rows.min(self.left);
        if nrows == 0 {
            return Ok(None);
        }
        let values = self.values.iter().map(|values| values.slice(self.next * self.ncolumns, nrows * self.ncolumns)).collect();
        (self.left, self.next) = (self.left - nrows, self.next + nrows);
        Ok(Some(RowBlock::Dense { nrows, values }))
    }
}

impl Reader for MatrixReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let opened = Opened::open(&self.input).map_err(|e| e.in_input(self.input.name().clone()))?;
        Ok(Inference::Known(declared_over(&request.declared, Schema::new(vec![opened.shape().field()]))))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let name = self.input.name().clone();
        let opened = Opened::open(&self.input).and_then(|opened| Ok((opened.shape(), opened.rows(request)?)));
        let (shape, rows) = opened.map_err(|e| e.in_input(name.clone()))?;
        tasks(&name, shape, rows, schema, request)
    }
}
