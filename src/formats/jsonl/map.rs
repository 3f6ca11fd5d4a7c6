//! A column of maps with string keys: in JSON an object whose keys are the map's.

use super::builder::{Builder, LateErrors};
use super::cursor::Cursor;
use super::error::{Parse, ParseError};
use super::forms::elements;
use super::rules::Rules;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::builder::{Nulls, Splits, Texts};
use arrow_array::LargeStringArray;
use arrow_buffer::OffsetBuffer;
use std::collections::HashSet;
use std::sync::Arc;

/// Maps under construction, over a column of their values.
pub struct MapColumn<C> {
    rules: Rules,
    nulls: Nulls,
    splits: Splits,
    keys: Texts,
    values: C,
    /// The keys of the object at hand.
    seen: HashSet<Vec<u8>>,
    spelled: Vec<u8>,
}

impl<C: Builder> MapColumn<C> {
    /// Maps to the values of a column.
    pub fn new(rules: Rules, values: C) -> MapColumn<C> {
        MapColumn {
            rules,
            nulls: Nulls::default(),
            splits: Splits::default(),
            keys: Texts::default(),
            values,
            seen: HashSet::new(),
            spelled: Vec::new(),
        }
    }

    /// Rows so far.
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

    /// What a value looks like, for messages.
    pub fn expected(&self) -> &'static str {
        "an object, which is a map"
    }

    /// As [`Builder::push_null`].
    pub fn push_null(&mut self) {
        self.nulls.push(self.splits.nrows());
        self.push_blank();
    }

    /// As [`Builder::push_blank`].
    pub fn push_blank(&mut self) {
        self.splits.push_end(self.values.nrows());
    }

    /// As [`Builder::truncate`].
    pub fn truncate(&mut self, nrows: usize) {
        self.nulls.truncate(nrows);
        let nvals = self.splits.truncate(nrows);
        self.keys.truncate(nvals);
        self.values.truncate(nvals);
    }

    /// As [`Builder::read_elements`].
    pub fn read_elements(&mut self, cursor: &mut Cursor) -> Parse<()> {
        elements(cursor, |cursor| self.read(cursor))
    }

    /// As [`Builder::read`].
    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        if !cursor.take(b'{') {
            if self.rules.take_null(cursor, self.expected())? {
                self.push_null();
                return Ok(());
            }
            return Err(self.rules.unexpected(cursor, self.expected()));
        }
        self.seen.clear();
        cursor.space();
        if !cursor.take(b'}') {
            loop {
                self.read_entry(cursor)?;
                if !cursor.more(b'}')? {
                    break;
                }
            }
        }
        self.splits.push_end(self.values.nrows());
        Ok(())
    }

    fn read_entry(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let start = cursor.pos();
        if cursor.peek() != b'"' {
            return Err(cursor.unexpected("a key in double quotes"));
        }
        self.spelled.clear();
        cursor.string(&mut self.spelled)?;
        cursor.colon()?;
        let name = std::str::from_utf8(&self.spelled).map_err(|_| ParseError::syntax(start, "the key is not UTF-8"))?;
        if !self.seen.insert(self.spelled.clone()) {
            return Err(ParseError::syntax(start, format!("the key \"{name}\" occurs twice in one object"))
                .help("the intended value is ambiguous; leave such records out with --on-error skip"));
        }
        self.values.forget_sizes();
        self.values.read(cursor).map_err(|e| e.in_field(name))?;
        self.keys.push(&self.spelled);
        Ok(())
    }

    /// As [`Builder::finish`].
    pub fn finish(self, late: &mut LateErrors) -> Result<Tensor> {
        let nrows = self.splits.nrows();
        let partition = self.splits.finish()?;
        let first = late.len();
        let values = self.values.finish(late)?;
        for error in &mut late[first..] {
            error.row = crate::tensor::row_of(&partition, error.row);
        }
        let (offsets, bytes) = self.keys.into_parts();
        let keys = LargeStringArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), None)
            .map_err(|e| Error::internal(format!("{e}")))?;
        let entries = Tensor::structure(partition.nvals(), vec![Tensor::Leaf(Arc::new(keys)), values], None)?;
        Tensor::list(partition, entries, self.nulls.finish(nrows))
    }
}
