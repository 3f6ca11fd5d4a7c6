//! One axis of a column.

use super::builder::{Builder, LateErrors, finish_below};
use super::cursor::Cursor;
use super::error::{Fix, Parse, ParseError};
use super::forms::elements;
use super::rules::Rules;
use crate::error::{Result, mismatch};
use crate::printable::counted;
use crate::schema::{Dim, Size};
use crate::tensor::builder::{Nulls, Splits};
use crate::tensor::{RowPartition, Tensor};

/// One axis under construction, over a column of its elements.
pub struct List<C> {
    rules: Rules,
    size: Size,
    /// For an inner axis that is uniform within each row of the outermost axis: the size, once known.
    uniform: Option<Option<usize>>,
    /// Whether a lower level is of that kind.
    uniform_below: bool,
    nulls: Nulls,
    splits: Splits,
    values: C,
}

impl<C: Builder> List<C> {
    /// Axis `axis` of a field, with size `dim`, over `values`.
    pub fn new(rules: Rules, axis: usize, dim: &Dim, uniform_below: bool, values: C) -> List<C> {
        let uniform = (axis > 0 && dim.size == Size::Uniform).then_some(None);
        List { rules, size: dim.size, uniform, uniform_below, nulls: Nulls::default(), splits: Splits::default(), values }
    }

    /// Whether this level or a lower one is uniform within each row of the outermost axis.
    pub fn is_uniform(&self) -> bool {
        self.uniform.is_some()
    }

    /// Number of rows so far.
    pub fn nrows(&self) -> usize {
        self.splits.nrows()
    }

    /// Whether a row may be null.
    pub fn nullable(&self) -> bool {
        self.rules.nullable
    }

    /// Whether the type was given with `--schema`.
    pub fn declared(&self) -> bool {
        self.rules.declared
    }

    /// Describes a value in messages.
    pub fn expected(&self) -> &'static str {
        "a list"
    }

    /// See [`Builder::push_null`].
    pub fn push_null(&mut self) {
        self.nulls.push(self.splits.nrows());
        self.push_blank();
    }

    /// See [`Builder::push_nulls`].
    pub fn push_nulls(&mut self, n: usize) {
        if let Size::Known(_) = self.size {
            return (0..n).for_each(|_| self.push_null());
        }
        self.nulls.push_run(self.splits.nrows(), n);
        self.splits.push_empty(n);
    }

    /// See [`Builder::push_blank`].
    pub fn push_blank(&mut self) {
        if let Size::Known(size) = self.size {
            for _ in 0..size {
                self.values.push_blank();
            }
        }
        self.splits.push_end(self.values.nrows());
    }

    /// See [`Builder::truncate`].
    pub fn truncate(&mut self, nrows: usize) {
        self.nulls.truncate(nrows);
        let nvals = self.splits.truncate(nrows);
        self.values.truncate(nvals);
    }

    /// See [`Builder::reserve`].
    pub fn reserve(&mut self, nrows: usize) {
        self.splits.reserve(nrows);
    }

    /// See [`Builder::reserve_as_before`].
    pub fn reserve_as_before(&mut self, seen: usize, left: usize) {
        self.values.reserve_as_before(seen, left);
    }

    /// See [`Builder::forget_sizes`].
    pub fn forget_sizes(&mut self) {
        if self.uniform.is_some() {
            self.uniform = Some(None);
        }
        if self.uniform_below {
            self.values.forget_sizes();
        }
    }

    /// See [`Builder::read_elements`].
    pub fn read_elements(&mut self, cursor: &mut Cursor) -> Parse<()> {
        elements(cursor, |cursor| self.read(cursor))
    }

    /// See [`Builder::read`].
    #[inline]
    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let start = cursor.pos();
        if !cursor.take(b'[') {
            return self.read_other(cursor);
        }
        if self.uniform.is_none() && self.uniform_below {
            self.values.forget_sizes();
        }
        cursor.space();
        if !cursor.take(b']') {
            self.values.read_elements(cursor).map_err(ParseError::in_list)?;
        }
        let end = self.values.nrows();
        if self.uniform.is_some() || matches!(self.size, Size::Known(_)) {
            self.check_size(end - self.splits.nvals(), start)?;
        }
        self.splits.push_end(end);
        Ok(())
    }

    #[cold]
    fn read_other(&mut self, cursor: &mut Cursor) -> Parse<()> {
        self.rules.expect_null(cursor, self.expected())?;
        self.push_null();
        Ok(())
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
        let message = mismatch(format_args!("a list of {}", counted(expected, "item")), size);
        let error = ParseError::new(start, self.rules.misfit(), message, Fix::None);
        Err(match self.size {
            Size::Known(_) => {
                error.help("declare lists of different lengths with `?`, rows of different lengths within a record with `(?)`")
            }
            _ => error.help("declare rows of different lengths within a record with `(?)` instead of `?`"),
        })
    }

    /// See [`Builder::finish`].
    pub fn finish(self, late: &mut LateErrors) -> Result<Tensor> {
        let nrows = self.splits.nrows();
        let partition = match self.size {
            Size::Known(size) => RowPartition::uniform(usize::try_from(size).unwrap_or(usize::MAX), nrows)?,
            _ => self.splits.finish()?,
        };
        let values = finish_below(&partition, late, |late| self.values.finish(late))?;
        Tensor::list(partition, values, self.nulls.finish(nrows))
    }
}
