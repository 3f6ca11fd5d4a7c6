//! Structures: one column for each field, keys found by prediction.

use super::column::{Column, Level, Manner};
use super::cursor::Cursor;
use super::keys::{Key, Keys};
use super::observe;
use super::trouble::{Class, Fix, Parse, Trouble};
use super::write::literal_text;
use crate::demand::Wanted;
use crate::error::{Error, Result};
use crate::schema::Field;
use crate::tensor::Tensor;
use crate::tensor::builder::Nulls;

/// Most fields of one structure.
pub const MAX_FIELDS: usize = 10_000;

/// A column of structures under construction.
pub struct Object {
    level: Level,
    nrows: usize,
    nulls: Nulls,
    keys: Keys,
    /// What becomes of the value of each key.
    members: Vec<Member>,
    /// Of the structure's fields, in the schema's order: the member of each.
    order: Vec<usize>,
    /// Keys of which the schema knows nothing are left alone.
    ignores_unknown: Option<Wanted>,
}

enum Member {
    Column {
        column: Column,
        /// The text of the value that a missing one reads as.
        default: Option<Vec<u8>>,
    },
    /// Not wanted: its value is skipped.
    Skipped,
}

impl Object {
    /// # Errors
    /// A field's type cannot be read from JSON.
    pub fn new(fields: &[Field], level: Level, manner: Manner) -> Result<Object> {
        let mut object = Object {
            level,
            nrows: 0,
            nulls: Nulls::default(),
            keys: Keys::default(),
            members: Vec::new(),
            order: Vec::new(),
            ignores_unknown: None,
        };
        for field in fields {
            let member = Member::of(field, manner)?;
            object.add(field, member, true)?;
        }
        Ok(object)
    }

    /// The record itself: only the columns that are wanted.
    ///
    /// # Errors
    /// As [`Object::new`].
    pub fn record(fields: &[Field], wanted: &Wanted, manner: Manner) -> Result<Object> {
        let level = Level { nullable: false, declared: false, first_wins: manner.first_wins };
        let mut object = Object::new(&[], level, manner)?;
        for field in fields {
            if wanted.includes(&field.name) {
                let member = Member::of(field, manner)?;
                object.add(field, member, true)?;
            } else {
                object.add(field, Member::Skipped, false)?;
            }
        }
        object.ignores_unknown = Some(wanted.clone());
        Ok(object)
    }

    fn add(&mut self, field: &Field, member: Member, has_column: bool) -> Result<()> {
        if !field.source.split_by.is_empty() || !field.source.at.is_empty() {
            return Err(Error::usage("JSON has its lists and sparse tensors in one value: `split by` and `at` are for TFRecord")
                .in_field(&field.name));
        }
        let key = field.source.values.as_deref().unwrap_or(&field.name);
        if has_column {
            self.order.push(self.members.len());
        }
        self.keys.add(key);
        self.members.push(member);
        Ok(())
    }

    pub fn nrows(&self) -> usize {
        self.nrows
    }

    pub fn declared(&self) -> bool {
        self.level.declared
    }

    pub fn nullable(&self) -> bool {
        self.level.nullable
    }

    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let start = cursor.pos();
        if !cursor.take(b'{') {
            return self.read_no_object(cursor);
        }
        self.keys.begin();
        let mut found = 0;
        cursor.space();
        if !cursor.take(b'}') {
            loop {
                let key_start = cursor.pos();
                match self.keys.read(cursor)? {
                    Key::Known(id) => match &mut self.members[id] {
                        Member::Column { column, default } => {
                            found += 1;
                            read_value(cursor, column, default.as_deref()).map_err(|t| t.in_field(self.keys.name(id)))?;
                        }
                        Member::Skipped => cursor.skip_value().map_err(|t| t.in_field(self.keys.name(id)))?,
                    },
                    Key::New(name) => self.read_unknown(cursor, name, key_start)?,
                }
                if !cursor.more(b'}')? {
                    break;
                }
            }
        }
        if found < self.order.len() {
            self.fill_missing(cursor, start)?;
        }
        self.nrows += 1;
        Ok(())
    }

    #[cold]
    fn read_no_object(&mut self, cursor: &mut Cursor) -> Parse<()> {
        if cursor.take_word("null") {
            if !self.level.nullable {
                cursor.set_pos(cursor.pos() - 4);
                return Err(self.level.null(cursor, "an object"));
            }
            self.push_null();
            return Ok(());
        }
        Err(self.level.unexpected(cursor, "an object"))
    }

    /// A key that the schema does not have.
    #[cold]
    #[inline(never)]
    fn read_unknown(&mut self, cursor: &mut Cursor, name: String, key_start: usize) -> Parse<()> {
        if self.ignores_unknown.as_ref().is_some_and(|wanted| !wanted.includes(&name)) {
            if self.keys.len() < MAX_FIELDS {
                let id = self.keys.add(&name);
                self.members.push(Member::Skipped);
                self.keys.mark(id, key_start)?;
            }
            return cursor.skip_value().map_err(|t| t.in_field(&name));
        }
        let start = cursor.pos();
        cursor.clone().skip_value().map_err(|t| t.in_field(&name))?;
        let ty = observe::type_of(&mut cursor.clone());
        cursor.set_pos(start);
        let trouble = Trouble::new(key_start, Class::Wider, "this field is new: no record before has it", Fix::New(ty.with_optional(true)));
        Err(trouble.in_field(&name))
    }

    /// What the object does not have is null, or the default.
    #[inline(never)]
    fn fill_missing(&mut self, cursor: &Cursor, start: usize) -> Parse<()> {
        for &id in &self.order {
            if self.keys.has(id) {
                continue;
            }
            let Member::Column { column, default } = &mut self.members[id] else { continue };
            if let Some(default) = default {
                column.read(&mut Cursor::new(default, 0, false)).map_err(|t| missing_default(t, start).in_field(self.keys.name(id)))?;
            } else if column.nullable() {
                column.push_null();
            } else {
                let _ = cursor;
                return Err(absent(column, start).in_field(self.keys.name(id)));
            }
        }
        Ok(())
    }

    pub fn push_null(&mut self) {
        self.nulls.push(self.nrows);
        self.push_blank();
    }

    pub fn push_blank(&mut self) {
        for &id in &self.order {
            if let Member::Column { column, .. } = &mut self.members[id] {
                if column.nullable() {
                    column.push_null();
                } else {
                    column.push_blank();
                }
            }
        }
        self.nrows += 1;
    }

    pub fn truncate(&mut self, nrows: usize) {
        self.nrows = nrows;
        self.nulls.truncate(nrows);
        for member in &mut self.members {
            if let Member::Column { column, .. } = member {
                column.truncate(nrows);
            }
        }
    }

    /// The columns, in the schema's order.
    ///
    /// # Errors
    /// Not for data.
    pub fn finish_fields(mut self, bad: &mut Vec<(usize, String)>) -> Result<Vec<Tensor>> {
        let mut fields = Vec::with_capacity(self.order.len());
        for id in self.order {
            if let Member::Column { column, .. } = std::mem::replace(&mut self.members[id], Member::Skipped) {
                fields.push(column.finish(bad)?);
            }
        }
        Ok(fields)
    }

    /// # Errors
    /// Not for data.
    pub fn finish(mut self, bad: &mut Vec<(usize, String)>) -> Result<Tensor> {
        let nrows = self.nrows;
        let nulls = std::mem::take(&mut self.nulls).finish(nrows);
        Tensor::structure(nrows, self.finish_fields(bad)?, nulls)
    }
}

impl Member {
    fn of(field: &Field, manner: Manner) -> Result<Member> {
        // A declared structure may leave fields to inference: they are declared only if named.
        let declared = manner.declared.iter().find(|f| f.name == field.name);
        let mut column = Column::of(&field.ty, declared, manner).map_err(|e| e.in_field(&field.name))?;
        let default = field.default.as_ref().map(literal_text);
        if let Some(default) = &default {
            let read = column.read(&mut Cursor::new(default, 0, false));
            read.map_err(|t| Error::usage(format!("the default is no value of the type: {}", t.message)).in_field(&field.name))?;
            column.truncate(0);
        }
        Ok(Member::Column { column, default })
    }
}

#[inline(always)]
fn read_value(cursor: &mut Cursor, column: &mut Column, default: Option<&[u8]>) -> Parse<()> {
    if let Some(default) = default
        && cursor.take_word("null")
    {
        return column.read(&mut Cursor::new(default, 0, false));
    }
    column.read(cursor)
}

#[cold]
fn missing_default(mut trouble: Box<Trouble>, start: usize) -> Box<Trouble> {
    trouble.pos = start;
    trouble
}

#[cold]
fn absent(column: &Column, start: usize) -> Box<Trouble> {
    let class = if column.declared() { Class::Bad } else { Class::Wider };
    Trouble::new(start, class, format!("expected {}, but the field is absent", column.expected()), Fix::Nullable)
}
