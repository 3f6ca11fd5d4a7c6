//! Sparse tensors: `{"indices": [[0, 2], [1, 0]], "values": [1.5, 2.5], "dense_shape": [2, 3]}`.

use super::column::Level;
use super::cursor::Cursor;
use super::leaf::{self, Leaf};
use super::trouble::{Class, Fix, Parse, Trouble};
use crate::error::{Error, Result};
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::Sparse;
use crate::tensor::builder::{Nulls, Splits};

pub const KEYS: [&str; 3] = ["indices", "values", "dense_shape"];

/// A column of sparse tensors under construction.
pub struct SparseColumn {
    level: Level,
    dims: Vec<Dim>,
    nulls: Nulls,
    entries: Splits,
    indices: Vec<i64>,
    values: Leaf,
    shapes: Vec<i64>,
}

impl SparseColumn {
    /// # Errors
    /// The dtype cannot be read from JSON, or there is no dimension.
    pub fn new(ty: &Type, dtype: &DType, level: Level) -> Result<SparseColumn> {
        if ty.dims.is_empty() {
            return Err(Error::usage("a sparse tensor needs dimensions, as in sparse<float32>[?, 1000]"));
        }
        Ok(SparseColumn {
            level,
            dims: ty.dims.clone(),
            nulls: Nulls::default(),
            entries: Splits::default(),
            indices: Vec::new(),
            values: Leaf::new(dtype, Level { nullable: ty.with_nulls, ..level })?,
            shapes: Vec::new(),
        })
    }

    pub fn nrows(&self) -> usize {
        self.entries.nrows()
    }

    pub fn nullable(&self) -> bool {
        self.level.nullable
    }

    pub fn declared(&self) -> bool {
        self.level.declared
    }

    pub fn push_null(&mut self) {
        self.nulls.push(self.nrows());
        self.push_blank();
    }

    pub fn push_blank(&mut self) {
        self.shapes.extend(self.dims.iter().map(|d| if let Size::Known(n) = d.size { n as i64 } else { 0 }));
        self.entries.push_end(self.values.nrows());
    }

    pub fn truncate(&mut self, nrows: usize) {
        self.nulls.truncate(nrows);
        let nvals = self.entries.truncate(nrows);
        self.values.truncate(nvals);
        self.indices.truncate(nvals * self.dims.len());
        self.shapes.truncate(nrows * self.dims.len());
    }

    /// # Errors
    /// Not for data.
    pub fn finish(self) -> Result<Sparse> {
        let nrows = self.entries.nrows();
        let values = self.values.finish(&mut Vec::new())?;
        let nulls = self.nulls.finish(nrows);
        Sparse::try_new(self.dims.len(), self.entries.finish()?, self.indices.into(), values, self.shapes.into(), nulls)
    }

    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let expected = "a sparse tensor {\"indices\": ..., \"values\": ..., \"dense_shape\": ...}";
        let start = cursor.pos();
        if cursor.take_word("null") {
            if !self.level.nullable {
                cursor.set_pos(start);
                return Err(self.level.null(cursor, expected));
            }
            self.push_null();
            return Ok(());
        }
        if cursor.peek() != b'{' {
            return Err(self.level.unexpected(cursor, expected));
        }
        let ndims = self.dims.len();
        let (mut seen, mut entries) = ([false; 3], 0);
        let class = if self.level.declared { Class::Bad } else { Class::Wider };
        let wrong = |message: String| Trouble::new(start, class, message, Fix::None);
        let not_sparse = |found: String| wrong(format!("expected {expected}, found {found}"));
        cursor.advance(1);
        cursor.space();
        loop {
            let key = KEYS.iter().position(|key| cursor.take_bytes(format!("\"{key}\"").as_bytes()));
            let Some(key) = key.filter(|key| !seen[*key]) else {
                let mut whole = cursor.clone();
                whole.set_pos(start);
                whole.skip_value()?;
                return Err(not_sparse("an object with other keys".to_owned()));
            };
            seen[key] = true;
            cursor.colon()?;
            match key {
                0 => entries = self.read_indices(cursor).map_err(|t| t.in_field("indices"))?,
                1 => {
                    open(cursor)?;
                    if !cursor.take(b']') {
                        self.values.read_items(cursor).map_err(|t| t.in_list())?;
                    }
                }
                _ => read_integers(cursor, &mut self.shapes).map_err(|t| t.in_field("dense_shape"))?,
            }
            if !cursor.more(b'}')? {
                break;
            }
        }
        if seen != [true; 3] {
            return Err(not_sparse("an object without all three keys".to_owned()));
        }
        let nvals = self.values.nrows() - self.entries.nvals();
        if entries != nvals {
            return Err(wrong(format!("a sparse tensor has {entries} indices for {nvals} values")));
        }
        let shape = &self.shapes[(self.nrows() * ndims).min(self.shapes.len())..];
        if shape.len() != ndims {
            return Err(wrong(format!("expected a dense_shape of {ndims} sizes, found {}", shape.len())));
        }
        for (axis, (size, dim)) in shape.iter().zip(&self.dims).enumerate() {
            if *size < 0 {
                return Err(Trouble::syntax(start, format!("dense_shape holds the negative size {size}")));
            }
            if let Size::Known(known) = dim.size
                && u64::try_from(*size) != Ok(known)
            {
                return Err(wrong(format!("expected {known} as size {axis} of dense_shape, found {size}")));
            }
        }
        let first = self.entries.nvals() * ndims;
        for index in self.indices[first..].chunks_exact(ndims) {
            if index.iter().zip(shape).any(|(i, n)| *i < 0 || i >= n) {
                return Err(Trouble::syntax(start, format!("the index {index:?} is outside the dense_shape {shape:?}")));
            }
        }
        self.entries.push_end(self.values.nrows());
        Ok(())
    }

    /// Gives the number of entries.
    fn read_indices(&mut self, cursor: &mut Cursor) -> Parse<usize> {
        let ndims = self.dims.len();
        let mut entries = 0;
        open(cursor)?;
        if cursor.take(b']') {
            return Ok(0);
        }
        leaf::items(cursor, |cursor| {
            let start = cursor.pos();
            let before = self.indices.len();
            read_integers(cursor, &mut self.indices)?;
            let found = self.indices.len() - before;
            if found != ndims {
                let class = if self.level.declared { Class::Bad } else { Class::Wider };
                return Err(Trouble::new(start, class, format!("expected an index of {ndims} numbers, found {found}"), Fix::None));
            }
            entries += 1;
            Ok(())
        })?;
        Ok(entries)
    }
}

fn open(cursor: &mut Cursor) -> Parse<()> {
    if !cursor.take(b'[') {
        return Err(cursor.unexpected("a list"));
    }
    cursor.space();
    Ok(())
}

fn read_integers(cursor: &mut Cursor, out: &mut Vec<i64>) -> Parse<()> {
    open(cursor)?;
    if cursor.take(b']') {
        return Ok(());
    }
    leaf::items(cursor, |cursor| match cursor.short_integer() {
        Some(value) => {
            out.push(value);
            Ok(())
        }
        None => Err(cursor.unexpected("an integer")),
    })
}

/// The rank of the sparse tensor that stands here; `None` if the object has another form. The
/// indices may be outside: that is an error of the tensor, not another form.
pub fn rank_of(cursor: &mut Cursor) -> Option<usize> {
    let (mut rank, mut entries, mut values, mut shape) = (None, 0, 0, None);
    let mut seen = 0;
    cursor.advance(1);
    cursor.space();
    loop {
        let key = KEYS.iter().position(|key| cursor.take_bytes(format!("\"{key}\"").as_bytes()))?;
        seen |= 1 << key;
        cursor.colon().ok()?;
        open(cursor).ok()?;
        match key {
            _ if key < 2 && cursor.take(b']') => {}
            0 => leaf::items(cursor, |cursor| {
                let mut index = Vec::new();
                read_integers(cursor, &mut index)?;
                if *rank.get_or_insert(index.len()) != index.len() {
                    return Err(cursor.unexpected("indices of one length"));
                }
                entries += 1;
                Ok(())
            })
            .ok()?,
            1 => leaf::items(cursor, |cursor| {
                values += 1;
                if matches!(cursor.peek(), b'[' | b'{') {
                    return Err(cursor.unexpected("a single value"));
                }
                cursor.skip_value()
            })
            .ok()?,
            _ => {
                let mut sizes = Vec::new();
                if !cursor.take(b']') {
                    leaf::items(cursor, |cursor| {
                        sizes.push(cursor.short_integer().ok_or_else(|| cursor.unexpected("an integer"))?);
                        Ok(())
                    })
                    .ok()?;
                }
                shape = Some(sizes.len());
            }
        }
        if !cursor.more(b'}').ok()? {
            break;
        }
    }
    let shape = shape.filter(|n| *n > 0 && *n <= 64)?;
    (seen == 7 && entries == values && rank.unwrap_or(shape) == shape).then_some(shape)
}
