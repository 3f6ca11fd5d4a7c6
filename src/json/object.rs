//! Structures: one column for each field, with keys predicted from the previous object.

use super::builder::{BuildOptions, Builder, LateErrors};
use super::cursor::Cursor;
use super::error::{Cause, Fix, Parse, ParseError};
use super::forms::elements;
use super::keys::{Key, Keys};
use super::rules::Rules;
use super::settle::type_of;
use super::text::literal_text;
use crate::demand::Wanted;
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::schema::{DType, Field, MAX_FIELDS, field_near};
use crate::tensor::Tensor;
use crate::tensor::builder::Nulls;

/// The number of columns of a wide object.
const WIDE: usize = 64;

/// A column of structures under construction.
pub struct Object<C> {
    rules: Rules,
    nrows: usize,
    nulls: Nulls,
    keys: Keys,
    /// How the value of each key is handled.
    members: Vec<Member<C>>,
    /// The member for each field of the structure, in schema order.
    order: Vec<usize>,
    /// For the record only: errors of fields that become null because of them, if requested.
    field_errors: Option<Vec<ParseError>>,
    /// An error that a wider type would avoid, if bad records are skipped: another field can make the record bad under any type.
    held: Option<Box<ParseError>>,
    /// Fields that are null in the next record regardless of its contents.
    forced_nulls: Vec<usize>,
    /// The required fields: keys that are neither in these nor in the schema are skipped.
    ignores_unknown: Option<Wanted>,
    /// Whether nulls are appended late: to a column before its next value, and at the end. An object with a few of many keys
    /// then costs no more than these.
    is_wide: bool,
    /// In a wide object, the rows to make room for in a column with its first value.
    room: usize,
    /// The columns to fill in each object that does not have their key; in a wide object, only those that are required or have
    /// a default.
    filled: Vec<usize>,
    /// Name and key of the fields that are read from a key with another name.
    renamed: Vec<(String, String)>,
}

enum Member<C> {
    Column {
        column: C,
        /// The text of the default, which an absent value reads as.
        default: Option<Vec<u8>>,
    },
    /// The field is not required, and its value is skipped.
    Skipped,
}

impl<C: Builder> Object<C> {
    /// # Errors
    /// The type of a field cannot be read from JSON.
    pub fn new(fields: &[Field], rules: Rules, options: BuildOptions) -> Result<Object<C>> {
        let mut object = Object {
            rules,
            nrows: 0,
            nulls: Nulls::default(),
            keys: Keys::default(),
            members: Vec::new(),
            order: Vec::new(),
            field_errors: None,
            held: None,
            forced_nulls: Vec::new(),
            ignores_unknown: options.is_final.then(Wanted::none),
            is_wide: false,
            room: 0,
            filled: Vec::new(),
            renamed: Vec::new(),
        };
        for (number, field) in fields.iter().enumerate() {
            let member = Member::of(field, number, options)?;
            object.add(field, member, true)?;
        }
        object.decide_width();
        Ok(object)
    }

    /// The columns of the record, limited to required fields.
    ///
    /// # Errors
    /// See [`Object::new`].
    pub fn record(fields: &[Field], wanted: &Wanted, options: BuildOptions) -> Result<Object<C>> {
        let rules = Rules { nullable: false, declared: false, first_wins: options.first_wins };
        let mut object = Object::new(&[], rules, options)?;
        for (number, field) in fields.iter().enumerate() {
            if wanted.includes(&field.name) {
                let member = Member::of(field, number, options)?;
                object.add(field, member, true)?;
            } else {
                object.add(field, Member::Skipped, false)?;
            }
        }
        object.decide_width();
        object.ignores_unknown = Some(wanted.clone());
        object.field_errors = options.nulls.then(Vec::new);
        Ok(object)
    }

    fn decide_width(&mut self) {
        self.is_wide = self.order.len() >= WIDE;
        let is_filled = |id: &&usize| match &self.members[**id] {
            Member::Column { column, default } => !self.is_wide || default.is_some() || !column.nullable(),
            Member::Skipped => false,
        };
        self.filled = self.order.iter().filter(is_filled).copied().collect();
    }

    fn add(&mut self, field: &Field, member: Member<C>, has_column: bool) -> Result<()> {
        if !field.source.split_by.is_empty() || !field.source.at.is_empty() {
            return Err(
                Error::usage("`split by` and `at` are for TFRecord: in JSON a list or a sparse tensor is one value").in_field(&field.name)
            );
        }
        let key = field.source_name();
        if has_column {
            self.order.push(self.members.len());
        }
        if key != field.name {
            self.renamed.push((field.name.clone(), key.to_owned()));
        }
        self.keys.add(key);
        self.members.push(member);
        Ok(())
    }

    /// Number of rows so far.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Whether the type was given with `--schema`.
    pub fn declared(&self) -> bool {
        self.rules.declared
    }

    /// Whether a row may be null.
    pub fn nullable(&self) -> bool {
        self.rules.nullable
    }

    /// Describes a value in messages.
    pub fn expected(&self) -> &'static str {
        "an object"
    }

    /// See [`Builder::read_elements`].
    pub fn read_elements(&mut self, cursor: &mut Cursor) -> Parse<()> {
        elements(cursor, |cursor| self.read(cursor))
    }

    /// See [`Builder::read`].
    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let start = cursor.pos();
        if !cursor.take(b'{') {
            return self.read_other(cursor);
        }
        self.keys.begin();
        self.held = None;
        let mut found = 0;
        cursor.space();
        if !cursor.take(b'}') {
            loop {
                let key_start = cursor.pos();
                match self.keys.read(cursor)? {
                    Key::Known(id) => match &mut self.members[id] {
                        Member::Column { column, .. } if !self.forced_nulls.is_empty() && self.forced_nulls.contains(&id) => {
                            found += 1;
                            cursor.skip_value()?;
                            fill_up(column, self.nrows, self.room);
                            column.push_null();
                        }
                        Member::Column { column, default } => {
                            found += 1;
                            if self.is_wide {
                                fill_up(column, self.nrows, self.room);
                            }
                            let start = cursor.pos();
                            if let Err(error) = read_value(cursor, column, default.as_deref()) {
                                let error = error.in_field(self.keys.name(id));
                                self.recover(cursor, id, start, error)?;
                            }
                        }
                        Member::Skipped => cursor.skip_value().map_err(|e| e.in_field(self.keys.name(id)))?,
                    },
                    Key::New(name) => self.read_unknown(cursor, name, key_start)?,
                }
                if !cursor.more(b'}')? {
                    break;
                }
            }
        }
        if let Some(error) = self.held.take() {
            return Err(error);
        }
        if found < self.order.len() {
            self.fill_missing(start)?;
        }
        self.nrows += 1;
        Ok(())
    }

    /// Goes on after a value of field `id`, at `start`, that cannot be read: it becomes null, or the error is held.
    ///
    /// # Errors
    /// The error itself, if it decides about the record.
    #[cold]
    #[inline(never)]
    fn recover(&mut self, cursor: &mut Cursor, id: usize, start: usize, error: Box<ParseError>) -> Parse<()> {
        if self.holds(&error) {
            cursor.set_pos(start);
            self.held.get_or_insert(error);
            return cursor.skip_value().map_err(|e| e.in_field(self.keys.name(id)));
        }
        let Member::Column { column, .. } = &mut self.members[id] else { return Err(error) };
        let Some(errors) = self.field_errors.as_mut().filter(|_| error.cause == Cause::Invalid) else { return Err(error) };
        cursor.set_pos(start);
        cursor.skip_value().map_err(|e| e.in_field(self.keys.name(id)))?;
        if !column.nullable() {
            let cause = if column.declared() { Cause::Invalid } else { Cause::Wider };
            let mut error = error;
            (error.cause, error.fix) = (cause, Fix::Nullable);
            return Err(error);
        }
        column.truncate(self.nrows);
        column.push_null();
        errors.push(*error);
        Ok(())
    }

    /// Whether errors in the fields that follow matter more.
    fn holds(&self, error: &ParseError) -> bool {
        self.rules.first_wins && self.field_errors.is_none() && error.cause != Cause::Invalid
    }

    /// The errors of fields that were set to null in the record just read.
    pub fn take_field_errors(&mut self) -> Vec<ParseError> {
        self.field_errors.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Sets the columns at these positions to null in the next record.
    pub fn force_nulls(&mut self, columns: Vec<usize>) {
        self.forced_nulls = columns.into_iter().filter_map(|column| self.order.get(column).copied()).collect();
    }

    /// Sets the fields with these names to null in the next record, with those that are set to null already. Returns whether
    /// all of them may be null; otherwise, nothing changes.
    #[cold]
    pub fn force_nulls_by_name<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> bool {
        let id = |name: &str| {
            let id = self.keys.find(name)?;
            matches!(&self.members[id], Member::Column { column, .. } if column.nullable()).then_some(id)
        };
        let found: Option<Vec<usize>> = names.map(id).collect();
        let Some(found) = found else { return false };
        self.forced_nulls.extend(found);
        true
    }

    #[cold]
    fn read_other(&mut self, cursor: &mut Cursor) -> Parse<()> {
        self.rules.expect_null(cursor, self.expected())?;
        self.push_null();
        Ok(())
    }

    /// Handles a key that the schema does not have.
    #[cold]
    #[inline(never)]
    fn read_unknown(&mut self, cursor: &mut Cursor, name: String, key_start: usize) -> Parse<()> {
        if self.ignores_unknown.as_ref().is_some_and(|wanted| !wanted.includes(&name)) {
            if self.keys.len() < MAX_FIELDS {
                let id = self.keys.add(&name);
                self.members.push(Member::Skipped);
                self.keys.mark(id, key_start)?;
            }
            return cursor.skip_value().map_err(|e| e.in_field(&name));
        }
        cursor.clone().skip_value().map_err(|e| e.in_field(&name))?;
        let fix = Fix::New(type_of(&mut cursor.clone()).with_optional(true));
        let error = match self.renamed.iter().find(|(field, _)| *field == name) {
            Some((field, key)) => {
                let text = format!("no field is read from this key: the schema reads the field {} from {}", quoted(field), quoted(key));
                ParseError::new(key_start, Cause::Invalid, text, fix)
            }
            None => ParseError::new(key_start, Cause::Wider, "this field is new: no earlier record has it", fix),
        };
        let error = error.in_field(&name);
        if self.holds(&error) {
            self.held.get_or_insert(error);
            return cursor.skip_value().map_err(|e| e.in_field(&name));
        }
        Err(error)
    }

    /// A field missing from the object is null or has its default.
    #[inline(never)]
    fn fill_missing(&mut self, start: usize) -> Parse<()> {
        for &id in &self.filled {
            if self.keys.has(id) {
                continue;
            }
            let Member::Column { column, default } = &mut self.members[id] else { continue };
            if let Some(default) = default {
                column.read(&mut Cursor::new(default, 0, false)).map_err(|e| bad_default(e, start).in_field(self.keys.name(id)))?;
            } else if column.nullable() {
                column.push_null();
            } else {
                return Err(absent(column, start).in_field(self.keys.name(id)));
            }
        }
        Ok(())
    }

    /// See [`Builder::push_null`].
    pub fn push_null(&mut self) {
        self.nulls.push(self.nrows);
        self.push_blank();
    }

    /// See [`Builder::push_nulls`].
    pub fn push_nulls(&mut self, n: usize) {
        self.nulls.push_run(self.nrows, n);
        (0..n).for_each(|_| self.push_blank());
    }

    /// See [`Builder::push_blank`].
    pub fn push_blank(&mut self) {
        for &id in &self.filled {
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

    /// See [`Builder::truncate`].
    pub fn truncate(&mut self, nrows: usize) {
        self.nrows = self.nrows.min(nrows);
        self.nulls.truncate(nrows);
        for member in &mut self.members {
            if let Member::Column { column, .. } = member {
                column.truncate(nrows);
            }
        }
    }

    /// See [`Builder::reserve`].
    pub fn reserve(&mut self, nrows: usize) {
        if self.is_wide {
            self.room = nrows;
            return;
        }
        for member in &mut self.members {
            if let Member::Column { column, .. } = member {
                column.reserve(nrows);
            }
        }
    }

    /// See [`Builder::reserve_as_before`].
    pub fn reserve_as_before(&mut self, seen: usize, left: usize) {
        for member in &mut self.members {
            if let Member::Column { column, .. } = member
                && (column.nrows() > 0 || !self.is_wide)
            {
                column.reserve_as_before(seen, left);
            }
        }
    }

    /// The columns, in schema order.
    ///
    /// # Errors
    /// Never caused by data.
    pub fn finish_fields(mut self, late: &mut LateErrors) -> Result<Vec<Tensor>> {
        let mut fields = Vec::with_capacity(self.order.len());
        // A tensor of nulls for each dtype, which columns without a value share.
        let mut nulls: Vec<(DType, Tensor)> = Vec::new();
        for id in self.order {
            if let Member::Column { mut column, .. } = std::mem::replace(&mut self.members[id], Member::Skipped) {
                let dtype = if column.nrows() == 0 && self.nrows > 0 { column.leaf_dtype().cloned() } else { None };
                if let Some((_, tensor)) = nulls.iter().find(|(known, _)| Some(known) == dtype.as_ref()) {
                    fields.push(tensor.clone());
                    continue;
                }
                let first = late.len();
                fill_up(&mut column, self.nrows, 0);
                let tensor = column.finish(late)?;
                nulls.extend(dtype.map(|dtype| (dtype, tensor.clone())));
                for error in &mut late[first..] {
                    error.column = fields.len();
                    error.names.push(self.keys.name(id).to_owned());
                }
                fields.push(tensor);
            }
        }
        Ok(fields)
    }

    /// # Errors
    /// Never caused by data.
    pub fn finish(mut self, late: &mut LateErrors) -> Result<Tensor> {
        let nrows = self.nrows;
        let nulls = std::mem::take(&mut self.nulls).finish(nrows);
        Tensor::structure(nrows, self.finish_fields(late)?, nulls)
    }
}

impl<C: Builder> Member<C> {
    fn of(field: &Field, number: usize, options: BuildOptions) -> Result<Member<C>> {
        // A declared structure can leave fields to inference; only the fields that it names are declared.
        let declared = field_near(options.declared, number, |f| f.name == field.name);
        let (column, default) = column_of(field, declared, options)?;
        Ok(Member::Column { column, default })
    }
}

/// An empty column for a field, and the text of its default. `declared`: the field in `--schema`, if any.
///
/// # Errors
/// The type cannot be read from JSON, or the default does not fit it.
pub fn column_of<C: Builder>(field: &Field, declared: Option<&Field>, options: BuildOptions) -> Result<(C, Option<Vec<u8>>)> {
    let mut column = C::of(&field.ty, declared, options).map_err(|e| e.in_field(&field.name))?;
    let default = field.default.as_ref().map(literal_text);
    if let Some(default) = &default {
        let read = column.read(&mut Cursor::new(default, 0, false));
        read.map_err(|t| Error::usage(format!("the default does not fit the type: {}", t.message)).in_field(&field.name))?;
        column.truncate(0);
    }
    Ok((column, default))
}

/// Appends nulls up to `nrows` rows, after making `room` in a column without rows.
#[inline(always)]
fn fill_up(column: &mut impl Builder, nrows: usize, room: usize) {
    let n = column.nrows();
    if n == 0 && room > 0 {
        column.reserve(room);
    }
    if n < nrows {
        column.push_nulls(nrows - n);
    }
}

/// Appends the value at the cursor; null has the value of the default, if there is one.
#[inline(always)]
pub fn read_value(cursor: &mut Cursor, column: &mut impl Builder, default: Option<&[u8]>) -> Parse<()> {
    if let Some(default) = default
        && cursor.take_word("null")
    {
        return column.read(&mut Cursor::new(default, 0, false));
    }
    column.read(cursor)
}

#[cold]
fn bad_default(mut error: Box<ParseError>, start: usize) -> Box<ParseError> {
    error.pos = start;
    error
}

#[cold]
fn absent(column: &impl Builder, start: usize) -> Box<ParseError> {
    let cause = if column.declared() { Cause::Invalid } else { Cause::Wider };
    ParseError::new(start, cause, format!("expected {}, but the field is absent", column.expected()), Fix::Absent)
}
