//! Arrow's unions: an object with one key, the name of the member that holds the value: `{"count": 3}`.

use super::builder::{BuildOptions, Builder, LateErrors};
use super::cursor::Cursor;
use super::error::{Parse, ParseError};
use super::forms::{AS_ARROW, check_no_bytes, elements};
use super::keys::read_key;
use super::rules::Rules;
use crate::error::{Error, Result};
use crate::schema::Field;
use crate::schema::nested::fields_of;
use crate::tensor::Tensor;
use crate::tensor::arrow::{from_arrow, from_arrow_field, to_arrow};
use arrow_array::{Array, ArrayRef, LargeStringArray, UnionArray};
use arrow_schema::{DataType, FieldRef, UnionFields, UnionMode};
use std::collections::HashSet;
use std::sync::Arc;

/// The members of a union as fields, with their type ids and Arrow fields; `None` for other types.
///
/// # Errors
/// Members with the same name, or an unsupported type.
pub fn members(ty: &DataType) -> Option<Result<Vec<(i8, FieldRef, Field)>>> {
    let DataType::Union(fields, _) = ty else { return None };
    let mut names = HashSet::new();
    if let Some((_, twice)) = fields.iter().find(|(_, f)| !names.insert(f.name())) {
        return Some(Err(Error::usage(format!("two members of the union are named {:?}", twice.name()))));
    }
    Some(fields.iter().map(|(id, f)| Ok((id, f.clone(), from_arrow_field(f)?))).collect())
}

/// The values of a union as JSON. `write` returns the texts of some rows of a member.
///
/// # Errors
/// Those of `write`.
pub fn texts(array: &ArrayRef, write: impl Fn(&Tensor, &Field, &[usize]) -> Result<Vec<Vec<u8>>>) -> Result<LargeStringArray> {
    let union = array.as_any().downcast_ref::<UnionArray>().ok_or_else(|| Error::internal("the array of a union"))?;
    let mut out: Vec<Vec<u8>> = vec![Vec::new(); union.len()];
    for (id, arrow, field) in members(array.data_type()).ok_or_else(|| Error::internal("a union"))?? {
        let rows: Vec<usize> = (0..union.len()).filter(|row| union.type_id(*row) == id).collect();
        let offsets: Vec<usize> = rows.iter().map(|row| union.value_offset(*row)).collect();
        let tensor = from_arrow(union.child(id), &arrow)?;
        let mut key = Vec::new();
        super::text::write_string(field.name.as_bytes(), &mut key);
        for (row, text) in rows.iter().zip(write(&tensor, &field, &offsets)?) {
            out[*row] = [b"{", key.as_slice(), b":", text.as_slice(), b"}"].concat();
            check_no_bytes(&out[*row], "a union", AS_ARROW).map_err(|e| e.at_row(*row))?;
        }
    }
    let texts: Result<Vec<String>, _> = out.into_iter().map(String::from_utf8).collect();
    Ok(LargeStringArray::from(texts.map_err(|_| Error::internal("JSON that is not UTF-8"))?))
}

/// Unions under construction, over a column for each member.
pub struct UnionColumn<C> {
    rules: Rules,
    members: Vec<UnionChild<C>>,
    fields: UnionFields,
    mode: UnionMode,
    /// The member of each row, by its position.
    chosen: Vec<usize>,
    spelled: Vec<u8>,
}

struct UnionChild<C> {
    id: i8,
    arrow: FieldRef,
    name: String,
    column: C,
}

impl<C: Builder> UnionColumn<C> {
    /// A column of unions of that type.
    ///
    /// # Errors
    /// A member that cannot be read from JSON.
    pub fn new(ty: &DataType, rules: Rules, options: BuildOptions) -> Result<UnionColumn<C>> {
        let (DataType::Union(fields, mode), Some(found)) = (ty, members(ty)) else { return Err(Error::internal("a union")) };
        let member = |(id, arrow, field): (i8, FieldRef, Field)| {
            if is_encoded(arrow.data_type()) {
                return Err(Error::usage(format!("a union with {} cannot be read from JSON", arrow.data_type())));
            }
            let column = C::of(&field.ty, Some(&field), BuildOptions { declared: &[], ..options })?;
            Ok(UnionChild { id, arrow, name: field.name, column })
        };
        let members = found?.into_iter().map(member).collect::<Result<Vec<_>>>()?;
        if members.is_empty() {
            return Err(Error::usage("a union without members cannot be read from JSON"));
        }
        // A union itself has no nulls, so a null is that of a member.
        let rules = Rules { nullable: rules.nullable && members.iter().any(|m: &UnionChild<C>| m.column.nullable()), ..rules };
        Ok(UnionColumn { rules, members, fields: fields.clone(), mode: *mode, chosen: Vec::new(), spelled: Vec::new() })
    }

    /// Number of rows so far.
    pub fn nrows(&self) -> usize {
        self.chosen.len()
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
        "an object with the name of a member of the union as its only key"
    }

    /// Appends a null, or a row that a null parent hides.
    pub fn push_null(&mut self) {
        let member = self.members.iter().position(|m| m.column.nullable()).unwrap_or(0);
        push_empty(&mut self.members[member].column);
        self.choose(member);
    }

    /// See [`Builder::push_blank`].
    pub fn push_blank(&mut self) {
        self.push_null();
    }

    /// Records that the value of the next row has been appended to that member.
    fn choose(&mut self, member: usize) {
        if self.mode == UnionMode::Sparse {
            let others = self.members.iter_mut().enumerate().filter(|(position, _)| *position != member);
            others.for_each(|(_, m)| push_empty(&mut m.column));
        }
        self.chosen.push(member);
    }

    /// See [`Builder::truncate`].
    pub fn truncate(&mut self, nrows: usize) {
        self.chosen.truncate(nrows);
        for (position, member) in self.members.iter_mut().enumerate() {
            let own = self.chosen.iter().filter(|chosen| **chosen == position).count();
            member.column.truncate(if self.mode == UnionMode::Sparse { nrows } else { own });
        }
    }

    /// See [`Builder::read_elements`].
    pub fn read_elements(&mut self, cursor: &mut Cursor) -> Parse<()> {
        elements(cursor, |cursor| self.read(cursor))
    }

    /// See [`Builder::read`].
    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let start = cursor.pos();
        if !cursor.take(b'{') {
            self.rules.expect_null(cursor, self.expected())?;
            self.push_null();
            return Ok(());
        }
        cursor.space();
        if cursor.peek() == b'}' {
            return Err(cursor.unexpected(self.expected()));
        }
        let key = read_key(cursor, &mut self.spelled)?;
        let Some(position) = self.members.iter().position(|m| m.name == key) else {
            let names: Vec<String> = self.members.iter().map(|m| format!("{:?}", m.name)).collect();
            return Err(ParseError::syntax(start, format!("the union has no member {key:?}; its members are {}", names.join(", "))));
        };
        let member = &mut self.members[position];
        member.column.forget_sizes();
        member.column.read(cursor).map_err(|e| e.in_field(&member.name))?;
        if cursor.more(b'}')? {
            return Err(ParseError::syntax(start, format!("expected {}", self.expected())));
        }
        self.choose(position);
        Ok(())
    }

    /// See [`Builder::finish`].
    pub fn finish(self, late: &mut LateErrors) -> Result<Tensor> {
        let is_sparse = self.mode == UnionMode::Sparse;
        let (mut counts, mut offsets) = (vec![0i32; self.members.len()], Vec::with_capacity(self.chosen.len()));
        for member in &self.chosen {
            offsets.push(counts[*member]);
            counts[*member] += 1;
        }
        let ids: Vec<i8> = self.chosen.iter().map(|member| self.members[*member].id).collect();
        let mut children = Vec::with_capacity(self.members.len());
        for (position, member) in self.members.into_iter().enumerate() {
            let first = late.len();
            let tensor = member.column.finish(late)?;
            for error in &mut late[first..] {
                let row = (0..self.chosen.len()).filter(|row| is_sparse || self.chosen[*row] == position).nth(error.row);
                error.row = row.unwrap_or(0);
            }
            children.push(to_arrow(&tensor, &member.arrow)?);
        }
        let offsets = (!is_sparse).then(|| offsets.into());
        let union = UnionArray::try_new(self.fields, ids.into(), offsets, children).map_err(|e| Error::internal(format!("{e}")))?;
        Ok(Tensor::Leaf(Arc::new(union)))
    }
}

fn push_empty(column: &mut impl Builder) {
    if column.nullable() {
        column.push_null();
    } else {
        column.push_blank();
    }
}

/// Whether it contains dictionaries or run-end encodings; values are read without them.
fn is_encoded(ty: &DataType) -> bool {
    match ty {
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => true,
        DataType::Union(fields, _) => fields.iter().any(|(_, f)| is_encoded(f.data_type())),
        _ => fields_of(ty).into_iter().any(|f| is_encoded(f.data_type())),
    }
}
