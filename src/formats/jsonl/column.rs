//! Columns under construction: a tree that mirrors the type, filled straight from the text.
//!
//! Each level appends one row for each value it reads. Nothing is known of records here; a record
//! that turns out to be bad halfway is cut off again by [`Column::truncate`].

use super::cursor::Cursor;
use super::leaf::{self, Leaf};
use super::object::Object;
use super::sparse::SparseColumn;
use super::trouble::{Class, Fix, Parse, Trouble};
use crate::error::Result;
use crate::schema::{Element, Field, Size, Type};
use crate::tensor::builder::{Nulls, Splits};
use crate::tensor::{RowPartition, Tensor};

/// What a level allows, and how its surprises are to be taken.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// A row may be null.
    pub nullable: bool,
    /// The type was asked for with `--schema`: what does not fit is wrong.
    pub declared: bool,
    /// The first type seen holds: what clashes with it is left out as wrong.
    pub first_wins: bool,
}

impl Level {
    /// Something that wider inference would hold.
    #[cold]
    pub fn wider(&self, cursor: &Cursor, expected: &str, fix: Fix) -> Box<Trouble> {
        let class = if self.declared { Class::Bad } else { Class::Wider };
        Trouble::new(cursor.pos(), class, format!("expected {expected}, found {}", cursor.found()), fix)
    }

    /// Something that no type of values holds together with what was seen before.
    #[cold]
    pub fn clash(&self, cursor: &Cursor, expected: &str) -> Box<Trouble> {
        let class = if self.declared || self.first_wins { Class::Bad } else { Class::Clash };
        Trouble::new(cursor.pos(), class, format!("expected {expected}, found {}", cursor.found()), Fix::Json)
    }

    #[cold]
    pub fn null(&self, cursor: &Cursor, expected: &str) -> Box<Trouble> {
        let class = if self.declared { Class::Bad } else { Class::Wider };
        Trouble::new(cursor.pos(), class, format!("expected {expected}, found null"), Fix::Nullable)
    }

    /// Neither null nor what is expected: bad text, or a clash.
    #[cold]
    pub fn unexpected(&self, cursor: &Cursor, expected: &str) -> Box<Trouble> {
        match cursor.clone().skip_value() {
            Ok(()) => self.clash(cursor, expected),
            Err(trouble) => trouble,
        }
    }
}

/// A column under construction.
pub enum Column {
    Leaf(Leaf),
    List(Box<List>),
    Object(Box<Object>),
    Sparse(Box<SparseColumn>),
}

/// One axis under construction.
pub struct List {
    level: Level,
    size: Size,
    /// An inner axis of one size inside each row of the outermost axis: the size, once it is known.
    uniform: Option<Option<usize>>,
    /// A level below is of that kind.
    uniform_below: bool,
    nulls: Nulls,
    splits: Splits,
    values: Column,
}

/// How the columns of a run are built.
#[derive(Clone, Copy)]
pub struct Manner<'a> {
    /// What `--schema` says of the fields at hand.
    pub declared: &'a [Field],
    pub first_wins: bool,
}

impl Column {
    /// An empty column of that type. `declared`: what `--schema` says of the field, if it does.
    ///
    /// # Errors
    /// The type cannot be read from JSON.
    pub fn of(ty: &Type, declared: Option<&Field>, manner: Manner) -> Result<Column> {
        let fixed = declared.is_some();
        let level = Level { nullable: ty.optional, declared: fixed, first_wins: manner.first_wins };
        let item = Level { nullable: ty.with_nulls, ..level };
        let dims = ty.list_dims();
        let innermost = if dims.is_empty() { level } else { item };
        let mut column = match &ty.element {
            Element::Value(dtype) => Column::Leaf(Leaf::new(dtype, innermost)?),
            Element::Sparse(dtype) => Column::Sparse(Box::new(SparseColumn::new(ty, dtype, level)?)),
            Element::Struct(fields) => {
                let declared = declared.and_then(|f| f.ty.fields()).unwrap_or(&[]);
                Column::Object(Box::new(Object::new(fields, innermost, Manner { declared, ..manner })?))
            }
        };
        let mut uniform_below = false;
        for (axis, dim) in dims.iter().enumerate().rev() {
            let uniform = (axis > 0 && dim.size == Size::Uniform).then_some(None);
            column = Column::List(Box::new(List {
                level: if axis == 0 { level } else { item },
                size: dim.size,
                uniform,
                uniform_below,
                nulls: Nulls::default(),
                splits: Splits::default(),
                values: column,
            }));
            uniform_below |= uniform.is_some();
        }
        Ok(column)
    }

    pub fn nrows(&self) -> usize {
        match self {
            Column::Leaf(leaf) => leaf.nrows(),
            Column::List(list) => list.splits.nrows(),
            Column::Object(object) => object.nrows(),
            Column::Sparse(sparse) => sparse.nrows(),
        }
    }

    /// Appends the value that stands at the cursor.
    ///
    /// # Errors
    /// Bad text, or a value of another type; part of it may have been appended.
    #[inline]
    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        match self {
            Column::Leaf(leaf) => leaf.read(cursor),
            Column::List(list) => list.read(cursor),
            Column::Object(object) => object.read(cursor),
            Column::Sparse(sparse) => sparse.read(cursor),
        }
    }

    pub fn nullable(&self) -> bool {
        match self {
            Column::Leaf(leaf) => leaf.nullable(),
            Column::List(list) => list.level.nullable,
            Column::Object(object) => object.nullable(),
            Column::Sparse(sparse) => sparse.nullable(),
        }
    }

    /// Appends a null.
    pub fn push_null(&mut self) {
        match self {
            Column::Leaf(leaf) => leaf.push_null(),
            Column::List(list) => {
                list.nulls.push(list.splits.nrows());
                list.push_blank();
            }
            Column::Object(object) => object.push_null(),
            Column::Sparse(sparse) => sparse.push_null(),
        }
    }

    /// Appends what stands below a null: zero, an empty string, an empty list.
    pub fn push_blank(&mut self) {
        match self {
            Column::Leaf(leaf) => leaf.push_blank(),
            Column::List(list) => list.push_blank(),
            Column::Object(object) => object.push_blank(),
            Column::Sparse(sparse) => sparse.push_blank(),
        }
    }

    /// Cuts the column back to `nrows` whole rows.
    pub fn truncate(&mut self, nrows: usize) {
        match self {
            Column::Leaf(leaf) => leaf.truncate(nrows),
            Column::List(list) => {
                list.nulls.truncate(nrows);
                let nvals = list.splits.truncate(nrows);
                list.values.truncate(nvals);
            }
            Column::Object(object) => object.truncate(nrows),
            Column::Sparse(sparse) => sparse.truncate(nrows),
        }
    }

    /// The tensor. Rows that turn out to be bad only now (of foreign types) go into `bad`, as rows
    /// of this column with what is wrong.
    ///
    /// # Errors
    /// Not for data.
    pub fn finish(self, bad: &mut Vec<(usize, String)>) -> Result<Tensor> {
        match self {
            Column::Leaf(leaf) => leaf.finish(bad).map(Tensor::Leaf),
            Column::List(list) => list.finish(bad),
            Column::Object(object) => object.finish(bad),
            Column::Sparse(sparse) => sparse.finish().map(Tensor::Sparse),
        }
    }

    fn forget_sizes(&mut self) {
        if let Column::List(list) = self {
            if list.uniform.is_some() {
                list.uniform = Some(None);
            }
            if list.uniform_below {
                list.values.forget_sizes();
            }
        }
    }

    /// Whether the type was asked for with `--schema`.
    pub fn declared(&self) -> bool {
        match self {
            Column::Leaf(leaf) => leaf.declared(),
            Column::List(list) => list.level.declared,
            Column::Object(object) => object.declared(),
            Column::Sparse(sparse) => sparse.declared(),
        }
    }

    /// What a value of the column looks like, for messages.
    pub fn expected(&self) -> String {
        match self {
            Column::Leaf(leaf) => leaf.expected().to_owned(),
            Column::List(_) => "a list".to_owned(),
            Column::Object(_) => "an object".to_owned(),
            Column::Sparse(_) => "a sparse tensor".to_owned(),
        }
    }
}

impl List {
    fn push_blank(&mut self) {
        if let Size::Known(size) = self.size {
            for _ in 0..size {
                self.values.push_blank();
            }
        }
        self.splits.push_end(self.values.nrows());
    }

    #[inline]
    fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let start = cursor.pos();
        if !cursor.take(b'[') {
            return self.read_no_list(cursor);
        }
        if self.uniform.is_none() && self.uniform_below {
            self.values.forget_sizes();
        }
        cursor.space();
        if !cursor.take(b']') {
            match &mut self.values {
                Column::Leaf(leaf) => leaf.read_items(cursor),
                Column::List(list) => leaf::items(cursor, |cursor| list.read(cursor)),
                Column::Object(object) => leaf::items(cursor, |cursor| object.read(cursor)),
                Column::Sparse(sparse) => leaf::items(cursor, |cursor| sparse.read(cursor)),
            }
            .map_err(Trouble::in_list)?;
        }
        let (begin, end) = (self.splits.nvals(), self.values.nrows());
        if self.uniform.is_some() || matches!(self.size, Size::Known(_)) {
            self.check_size(end - begin, start)?;
        }
        self.splits.push_end(end);
        Ok(())
    }

    #[cold]
    fn read_no_list(&mut self, cursor: &mut Cursor) -> Parse<()> {
        if cursor.take_word("null") {
            if !self.level.nullable {
                cursor.set_pos(cursor.pos() - 4);
                return Err(self.level.null(cursor, "a list"));
            }
            self.nulls.push(self.splits.nrows());
            self.push_blank();
            return Ok(());
        }
        Err(self.level.unexpected(cursor, "a list"))
    }

    fn check_size(&mut self, size: usize, start: usize) -> Parse<()> {
        let expected = match (self.size, &mut self.uniform) {
            (Size::Known(known), _) if known == size as u64 => return Ok(()),
            (Size::Known(known), _) => known,
            (_, Some(known @ None)) => {
                *known = Some(size);
                return Ok(());
            }
            (_, Some(Some(known))) if *known == size => return Ok(()),
            (_, Some(Some(known))) => *known as u64,
            (_, None) => return Ok(()),
        };
        let class = if self.level.declared { Class::Bad } else { Class::Wider };
        let message = format!("expected a list of {expected} {}, found {size}", if expected == 1 { "item" } else { "items" });
        let trouble = Trouble::new(start, class, message, Fix::None);
        Err(match self.size {
            Size::Known(_) => {
                trouble.help("lists of different lengths are declared with `?`, rows that differ inside one record with `(?)`")
            }
            _ => trouble.help("rows that differ inside one record are declared with `(?)` instead of `?`"),
        })
    }

    fn finish(self, bad: &mut Vec<(usize, String)>) -> Result<Tensor> {
        let nrows = self.splits.nrows();
        let partition = match self.size {
            Size::Known(size) => RowPartition::uniform(usize::try_from(size).unwrap_or(usize::MAX), nrows)?,
            _ => self.splits.finish()?,
        };
        let first = bad.len();
        let values = self.values.finish(bad)?;
        for (row, _) in &mut bad[first..] {
            *row = crate::tensor::row_of(&partition, *row);
        }
        Tensor::list(partition, values, self.nulls.finish(nrows))
    }
}
