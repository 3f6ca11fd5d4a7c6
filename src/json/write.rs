//! Encodes columns as text. Their arrays are inspected once, and rows are then written in sequence.

use super::cursor::Cursor;
use super::forms::{AS_ARROW, SPARSE_KEYS, check_no_bytes, quote_non_finite};
use super::text::{special, write_bytes, write_integers, write_string};
use super::union;
use crate::decimal::Numbers;
use crate::error::{Error, Result};
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::schema::notation::{name_text, schema_option};
use crate::schema::{DType, Element, Field, Schema, Type};
use crate::tensor::text::{has_text, to_text, uuids};
use crate::tensor::{List, Sparse, Struct, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, LargeBinaryArray, LargeStringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use std::ops::Range;

/// Checks that JSON can represent the records of a schema, so that they read back unchanged.
///
/// # Errors
/// An Arrow type without a text form, or a structure that would read back as a sparse tensor.
pub fn check(schema: &Schema, omit_null: bool) -> Result<()> {
    schema.fields.iter().try_for_each(|f| check_field(f, &FieldPath::name(&f.name), omit_null))
}

/// Checks one field; see [`check`].
///
/// # Errors
/// See [`check`].
pub fn check_field(field: &Field, path: &FieldPath, omit_null: bool) -> Result<()> {
    if let Element::Value(DType::Arrow(arrow)) = &field.ty.element
        && let Some(members) = union::members(arrow)
    {
        let members = members.map_err(|e| e.in_field(path).help(format!("leave it out: drop {}", shell_word(&path.to_string()))))?;
        return members.iter().try_for_each(|(_, _, member)| check_field(member, path, omit_null));
    }
    match &field.ty.element {
        Element::Value(DType::Arrow(arrow)) if !has_text(arrow) => Err(Error::usage(format!("{} cannot be written as JSON", field.ty))
            .in_field(path)
            .help(format!("leave it out: drop {}", shell_word(&path.to_string())))),
        Element::Struct(fields) => {
            if field.ty.dims.is_empty() && reads_as_sparse(fields, omit_null) {
                let (when, help) = match fields.len() > SPARSE_KEYS.len() {
                    true => (", without the fields that --omit-null leaves out", "write nulls: without --omit-null".to_owned()),
                    false => ("", format!("declare it: {}", schema_option(&format!("{}: sparse<int64>[?, ?]", name_text(&field.name))))),
                };
                let text = format!("a structure of indices, values and dense_shape would read back as a sparse tensor{when}");
                return Err(Error::usage(text).in_field(path).help(format!("rename one of them; or {help}")));
            }
            fields.iter().try_for_each(|f| check_field(f, &path.join(&f.name), omit_null))
        }
        _ => Ok(()),
    }
}

/// Whether the object of these fields can be mistaken for a sparse tensor; with `omit_null`, without fields that are null.
fn reads_as_sparse(fields: &[Field], omit_null: bool) -> bool {
    let is_part = |f: &Field| SPARSE_KEYS.contains(&f.name.as_str());
    fields.iter().all(|f| is_part(f) || (omit_null && f.ty.optional))
        && SPARSE_KEYS.iter().all(|key| {
            fields.iter().any(|f| {
                let rank = if *key == "indices" { 2 } else { 1 };
                let dtype = f.ty.dtype().is_some_and(|d| *key == "values" || d.is_integer() || *d == DType::Null);
                f.name == *key && f.ty.rank() == rank && dtype && !f.ty.is_sparse()
            })
        })
}

/// Writes records, each followed by `separator`.
///
/// # Errors
/// JSON cannot represent a value; the error names the row and the field.
pub fn write_rows(columns: &[Tensor], nrows: usize, schema: &Schema, omit_null: bool, separator: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut fields = Vec::with_capacity(schema.fields.len());
    for (field, column) in schema.fields.iter().zip(columns) {
        fields.push(EncodedMember::of(field, column, &FieldPath::name(&field.name), omit_null)?);
    }
    let record = Object { fields, omit_null };
    for row in 0..nrows {
        record.write(row, out).map_err(|e| e.at_row(row))?;
        out.extend_from_slice(separator);
    }
    Ok(())
}

/// One row of a tensor as JSON, for messages. `ty` can have more or fewer list levels than the tensor.
pub fn value_text(tensor: &Tensor, ty: &Type, row: usize) -> String {
    let mut out = Vec::new();
    let written = Encoder::of(tensor, ty, &FieldPath::name(""), false).and_then(|values| values.write(row, &mut out));
    match written {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(_) => "a value without a textual form".to_owned(),
    }
}

/// A level of a tensor, prepared for writing.
enum View<'a> {
    Null,
    Bool(&'a BooleanArray),
    Numbers(Numbers<'a>),
    String(&'a LargeStringArray),
    Bytes(&'a LargeBinaryArray),
    Json(&'a LargeStringArray, FieldPath),
    Arrow(LargeStringArray),
    Union(LargeStringArray),
    List(&'a List, Box<Encoder<'a>>),
    Map(&'a List, &'a LargeStringArray, Box<Encoder<'a>>, FieldPath),
    Object(Object<'a>, FieldPath),
    Sparse(&'a Sparse, Box<Encoder<'a>>),
}

/// A level with its nulls.
pub struct Encoder<'a> {
    nulls: Option<NullBuffer>,
    view: View<'a>,
}

struct Object<'a> {
    fields: Vec<EncodedMember<'a>>,
    omit_null: bool,
}

struct EncodedMember<'a> {
    /// The key, with its colon.
    key: Vec<u8>,
    values: Encoder<'a>,
}

impl<'a> EncodedMember<'a> {
    fn of(field: &Field, tensor: &'a Tensor, path: &FieldPath, omit_null: bool) -> Result<EncodedMember<'a>> {
        let mut key = Vec::new();
        write_string(field.name.as_bytes(), &mut key);
        key.push(b':');
        Ok(EncodedMember { key, values: Encoder::of_field(tensor, field, path, omit_null)? })
    }
}

impl<'a> Encoder<'a> {
    /// The values of a field, prepared for writing.
    ///
    /// # Errors
    /// JSON cannot represent the type.
    pub fn of_field(tensor: &'a Tensor, field: &Field, path: &FieldPath, omit_null: bool) -> Result<Encoder<'a>> {
        match field.map_fields() {
            Some((key, value)) if key.ty == Type::tensor(DType::String, Vec::new()) => Encoder::of_maps(tensor, value, path, omit_null),
            _ if field.is_uuid() => Encoder::of_uuids(tensor, path),
            _ => Encoder::of(tensor, &field.ty, path, omit_null),
        }
    }

    /// UUIDs inside any number of lists.
    fn of_uuids(tensor: &'a Tensor, path: &FieldPath) -> Result<Encoder<'a>> {
        let nulls = tensor.validity();
        let view = match tensor {
            Tensor::List(list) => View::List(list, Box::new(Encoder::of_uuids(list.values(), path)?)),
            other => View::Arrow(uuids(other.as_leaf()?).map_err(|e| e.in_field(path))?),
        };
        Ok(Encoder { nulls, view })
    }

    /// Maps with string keys, inside any number of lists.
    fn of_maps(tensor: &'a Tensor, value: &Field, path: &FieldPath, omit_null: bool) -> Result<Encoder<'a>> {
        let list = tensor.as_list().map_err(|_| Error::internal("the tensor is not of its type").in_field(path))?;
        let view = match list.values() {
            Tensor::Struct(entries) => {
                let [keys, values] = <&[Tensor; 2]>::try_from(entries.fields()).map_err(|_| Error::internal("a map of key and value"))?;
                let values = Encoder::of_field(values, value, &path.join(&value.name), omit_null)?;
                View::Map(list, keys.as_leaf()?.as_string::<i64>(), Box::new(values), path.clone())
            }
            lists => View::List(list, Box::new(Encoder::of_maps(lists, value, path, omit_null)?)),
        };
        Ok(Encoder { nulls: list.validity().cloned(), view })
    }

    fn of(tensor: &'a Tensor, ty: &Type, path: &FieldPath, omit_null: bool) -> Result<Encoder<'a>> {
        let nulls = match tensor {
            Tensor::Leaf(array) => array.nulls().cloned(),
            other => other.validity(),
        };
        let view = match (tensor, &ty.element) {
            (Tensor::List(list), _) => View::List(list, Box::new(Encoder::of(list.values(), ty, path, omit_null)?)),
            (Tensor::Struct(structure), Element::Struct(fields)) => {
                View::Object(Object::of(structure, fields, path, omit_null)?, path.clone())
            }
            (Tensor::Sparse(sparse), Element::Sparse(dtype)) => {
                let values = Encoder { nulls: sparse.values().nulls().cloned(), view: leaf(sparse.values(), dtype, path)? };
                View::Sparse(sparse, Box::new(values))
            }
            (Tensor::Leaf(array), Element::Value(dtype)) => leaf(array, dtype, path)?,
            _ => return Err(Error::internal("the tensor is not of its type").in_field(path)),
        };
        Ok(Encoder { nulls: nulls.filter(|n| n.null_count() > 0), view })
    }

    fn is_null(&self, row: usize) -> bool {
        matches!(self.view, View::Null) || self.nulls.as_ref().is_some_and(|n| n.is_null(row))
    }

    /// Writes the value of a row.
    ///
    /// # Errors
    /// JSON cannot represent a value.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        if self.is_null(row) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        match &self.view {
            View::Null => out.extend_from_slice(b"null"),
            View::Bool(values) => out.extend_from_slice(if values.value(row) { b"true" } else { b"false" }),
            View::Numbers(numbers) => numbers.put(row, special, out),
            View::String(values) => write_string(values.value(row).as_bytes(), out),
            View::Arrow(values) => write_string(values.value(row).as_bytes(), out),
            View::Union(values) => out.extend_from_slice(values.value(row).as_bytes()),
            View::Bytes(values) => write_bytes(values.value(row), out),
            View::Json(values, path) => write_json(values.value(row), path, out)?,
            View::List(list, values) => values.write_list(list.partition().range(row), out)?,
            View::Map(list, keys, values, path) => write_map(list.partition().range(row), keys, values, path, out)?,
            View::Object(object, path) => {
                let start = out.len();
                object.write(row, out)?;
                check_no_bytes(&out[start..], "a structure", "rename its field").map_err(|e| e.in_field(path))?;
            }
            View::Sparse(sparse, values) => write_sparse(sparse, values, row, out)?,
        }
        Ok(())
    }

    fn write_list(&self, elements: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'[');
        let before = out.len();
        match &self.view {
            View::Numbers(numbers) if self.nulls.is_none() => numbers.put_each(elements, special, b',', out),
            _ => {
                for element in elements {
                    self.write(element, out)?;
                    out.push(b',');
                }
            }
        }
        if out.len() > before {
            out.pop();
        }
        out.push(b']');
        Ok(())
    }
}

fn leaf<'a>(array: &'a ArrayRef, dtype: &DType, path: &FieldPath) -> Result<View<'a>> {
    Ok(match dtype {
        DType::Null => View::Null,
        DType::Bool => View::Bool(array.as_boolean()),
        DType::String => View::String(array.as_string::<i64>()),
        DType::Bytes => View::Bytes(array.as_binary::<i64>()),
        DType::Json => View::Json(array.as_string::<i64>(), path.clone()),
        DType::Arrow(arrow) if matches!(arrow.as_ref(), DataType::Union(..)) => View::Union(
            union::texts(array, |tensor, field, rows| {
                let member = Encoder::of_field(tensor, field, path, false)?;
                let text = |row: &usize| {
                    let mut out = Vec::new();
                    member.write(*row, &mut out).map(|()| out)
                };
                rows.iter().map(text).collect()
            })
            .map_err(|e| e.in_field(path))?,
        ),
        DType::Arrow(_) => View::Arrow(to_text(array).map_err(|e| e.in_field(path))?),
        _ => View::Numbers(Numbers::of(array).ok_or_else(|| Error::internal("the tensor is not of its type").in_field(path))?),
    })
}

impl<'a> Object<'a> {
    fn of(structure: &'a Struct, fields: &[Field], path: &FieldPath, omit_null: bool) -> Result<Object<'a>> {
        let members = structure.fields().iter().zip(fields);
        let fields = members.map(|(t, f)| EncodedMember::of(f, t, &path.join(&f.name), omit_null)).collect::<Result<_>>()?;
        Ok(Object { fields, omit_null })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'{');
        let before = out.len();
        for member in &self.fields {
            if self.omit_null && member.values.is_null(row) {
                continue;
            }
            out.extend_from_slice(&member.key);
            member.values.write(row, out)?;
            out.push(b',');
        }
        if out.len() > before {
            out.pop();
        }
        out.push(b'}');
        Ok(())
    }
}

/// The entries of a map, as one object.
fn write_map(entries: Range<usize>, keys: &LargeStringArray, values: &Encoder, path: &FieldPath, out: &mut Vec<u8>) -> Result<()> {
    let mut sorted: Vec<&str> = entries.clone().map(|entry| keys.value(entry)).collect();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::data(format!("the map contains the key {:?} twice, which a JSON object cannot", twice[0]))
            .in_field(path)
            .help("write the entries as a list: --schema with the type {key: string, value: ...}[?] instead of map<string, ...>"));
    }
    let start = out.len();
    out.push(b'{');
    for (i, entry) in entries.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_string(keys.value(entry).as_bytes(), out);
        out.push(b':');
        values.write(entry, out)?;
    }
    out.push(b'}');
    check_no_bytes(&out[start..], "a map", AS_ARROW).map_err(|e| e.in_field(path))
}

/// A value kept as text: unchanged, but on one line.
fn write_json(text: &str, path: &FieldPath, out: &mut Vec<u8>) -> Result<()> {
    let mut cursor = Cursor::new(text.as_bytes(), 0, false);
    cursor.space();
    let start = cursor.pos();
    let whole = cursor.skip_value().and_then(|()| {
        let end = cursor.pos();
        cursor.space();
        if cursor.rest().is_empty() { Ok(end) } else { Err(cursor.unexpected("the end of the value")) }
    });
    let end = whole.map_err(|e| Error::data(format!("the text is not valid JSON: {}", e.message)).in_field(path))?;
    let before = out.len();
    quote_non_finite(&text.as_bytes()[start..end], out);
    // Inside strings, newlines are escaped, so a bare newline is whitespace.
    out[before..].iter_mut().filter(|b| matches!(b, b'\n' | b'\r')).for_each(|b| *b = b' ');
    Ok(())
}

fn write_sparse(sparse: &Sparse, values: &Encoder, row: usize, out: &mut Vec<u8>) -> Result<()> {
    let entries = sparse.entries().range(row);
    out.extend_from_slice(b"{\"indices\":[");
    for (i, entry) in entries.clone().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_integers(sparse.index_of(entry), out);
    }
    out.extend_from_slice(b"],\"values\":");
    values.write_list(entries, out)?;
    out.extend_from_slice(b",\"dense_shape\":");
    write_integers(sparse.shape_of(row), out);
    out.push(b'}');
    Ok(())
}
