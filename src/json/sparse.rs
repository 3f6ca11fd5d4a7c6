//! Sparse tensors: `{"indices": [[0, 2], [1, 0]], "values": [1.5, 2.5], "dense_shape": [2, 3]}`.

use super::builder::{LateErrors, finish_below};
use super::cursor::Cursor;
use super::error::{Fix, Parse, ParseError};
use super::forms::{elements, open_list, read_integers, sparse_key};
use super::leaf::Leaf;
use super::rules::Rules;
use crate::error::{Error, Message, Result, mismatch};
use crate::printable::counted;
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::builder::{Nulls, Splits};
use crate::tensor::{Sparse, Tensor};

const EXPECTED: &str = "a sparse tensor {\"indices\": ..., \"values\": ..., \"dense_shape\": ...}";

/// A column of sparse tensors under construction.
pub struct SparseColumn {
    rules: Rules,
    dims: Vec<Dim>,
    nulls: Nulls,
    entries: Splits,
    indices: Vec<i64>,
    values: Leaf,
    shapes: Vec<i64>,
}

impl SparseColumn {
    /// An empty column of type `ty`.
    ///
    /// # Errors
    /// The dtype cannot be read from JSON, or the rank is 0.
    pub fn new(ty: &Type, dtype: &DType, rules: Rules) -> Result<SparseColumn> {
        if ty.dims.is_empty() {
            return Err(Error::usage("a sparse tensor needs axes, as in sparse<float32>[?, 1000]"));
        }
        Ok(SparseColumn {
            rules,
            dims: ty.dims.clone(),
            nulls: Nulls::default(),
            entries: Splits::default(),
            indices: Vec::new(),
            values: Leaf::new(dtype, Rules { nullable: ty.with_nulls, ..rules })?,
            shapes: Vec::new(),
        })
    }

    /// Number of rows so far.
    pub fn nrows(&self) -> usize {
        self.entries.nrows()
    }

    /// Describes a value in messages.
    pub fn expected(&self) -> &'static str {
        EXPECTED
    }

    /// See [`super::builder::Builder::read_elements`].
    pub fn read_elements(&mut self, cursor: &mut Cursor) -> Parse<()> {
        elements(cursor, |cursor| self.read(cursor))
    }

    /// Whether a row may be null.
    pub fn nullable(&self) -> bool {
        self.rules.nullable
    }

    /// Whether the type was given with `--schema`.
    pub fn declared(&self) -> bool {
        self.rules.declared
    }

    /// See [`super::builder::Builder::push_null`].
    pub fn push_null(&mut self) {
        self.nulls.push(self.nrows());
        self.push_blank();
    }

    /// See [`super::builder::Builder::push_blank`].
    pub fn push_blank(&mut self) {
        self.shapes.extend(self.dims.iter().map(|d| if let Size::Known(n) = d.size { n as i64 } else { 0 }));
        self.entries.push_end(self.values.nrows());
    }

    /// See [`super::builder::Builder::truncate`].
    pub fn truncate(&mut self, nrows: usize) {
        self.nulls.truncate(nrows);
        let nvals = self.entries.truncate(nrows);
        self.values.truncate(nvals);
        self.indices.truncate(nvals * self.dims.len());
        self.shapes.truncate(nrows * self.dims.len());
    }

    /// See [`super::builder::Builder::finish`].
    pub fn finish(self, late: &mut LateErrors) -> Result<Tensor> {
        let nrows = self.entries.nrows();
        let entries = self.entries.finish()?;
        let Tensor::Leaf(values) = finish_below(&entries, late, |late| self.values.finish(late))? else {
            return Err(Error::internal("the values of a sparse tensor are not leaves"));
        };
        let nulls = self.nulls.finish(nrows);
        let sparse = Sparse::try_new(self.dims.len(), entries, self.indices.into(), values, self.shapes.into(), nulls)?;
        Ok(Tensor::Sparse(sparse))
    }

    /// See [`super::builder::Builder::read`].
    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let start = cursor.pos();
        if cursor.peek() != b'{' {
            if self.rules.take_null(cursor, EXPECTED)? {
                self.push_null();
                return Ok(());
            }
            return Err(self.rules.unexpected(cursor, EXPECTED));
        }
        let ndims = self.dims.len();
        let (mut seen, mut entries) = ([false; 3], 0);
        let misfit = self.rules.misfit();
        let wrong = |message: Message| ParseError::new(start, misfit, message, Fix::None);
        let not_sparse = |found: &str| wrong(mismatch(EXPECTED, found));
        cursor.advance(1);
        cursor.space();
        loop {
            let Some(key) = sparse_key(cursor).filter(|key| !seen[*key]) else {
                let mut whole = cursor.clone();
                whole.set_pos(start);
                whole.skip_value()?;
                return Err(not_sparse("an object with other keys"));
            };
            seen[key] = true;
            cursor.colon()?;
            match key {
                0 => entries = self.read_indices(cursor).map_err(|t| t.in_field("indices"))?,
                1 => {
                    open_list(cursor)?;
                    if !cursor.take(b']') {
                        self.values.read_elements(cursor).map_err(|t| t.in_list())?;
                    }
                }
                _ => read_integers(cursor, &mut self.shapes).map_err(|t| t.in_field("dense_shape"))?,
            }
            if !cursor.more(b'}')? {
                break;
            }
        }
        if seen != [true; 3] {
            return Err(not_sparse("an object without all three keys"));
        }
        let nvals = self.values.nrows() - self.entries.nvals();
        if entries != nvals {
            return Err(wrong(format!("a sparse tensor has {entries} indices for {nvals} values").into()));
        }
        let shape = &self.shapes[(self.nrows() * ndims).min(self.shapes.len())..];
        if shape.len() != ndims {
            let message = mismatch(format_args!("a dense_shape of {}", counted(ndims as u64, "size")), shape.len());
            return Err(ParseError::new(start, self.rules.contradiction(), message, Fix::None));
        }
        for (axis, (size, dim)) in shape.iter().zip(&self.dims).enumerate() {
            if *size < 0 {
                return Err(ParseError::syntax(start, format!("dense_shape contains the negative size {size}")));
            }
            if let Size::Known(known) = dim.size
                && u64::try_from(*size) != Ok(known)
            {
                return Err(wrong(mismatch(format_args!("{known} as size {axis} of dense_shape"), size)));
            }
        }
        let first = self.entries.nvals() * ndims;
        for index in self.indices[first..].chunks_exact(ndims) {
            if index.iter().zip(shape).any(|(i, n)| *i < 0 || i >= n) {
                return Err(ParseError::syntax(start, format!("the index {index:?} is outside the dense_shape {shape:?}")));
            }
        }
        self.entries.push_end(self.values.nrows());
        Ok(())
    }

    /// Returns the number of entries.
    fn read_indices(&mut self, cursor: &mut Cursor) -> Parse<usize> {
        let ndims = self.dims.len();
        let mut entries = 0;
        open_list(cursor)?;
        if cursor.take(b']') {
            return Ok(0);
        }
        elements(cursor, |cursor| {
            let start = cursor.pos();
            let before = self.indices.len();
            read_integers(cursor, &mut self.indices)?;
            let found = self.indices.len() - before;
            if found != ndims {
                let message = mismatch(format_args!("an index of {}", counted(ndims as u64, "number")), found);
                return Err(ParseError::new(start, self.rules.contradiction(), message, Fix::None));
            }
            entries += 1;
            Ok(())
        })?;
        Ok(entries)
    }
}
