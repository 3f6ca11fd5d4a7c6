//! Converts Arrow fields to types.

use super::encoded::Encodings;
use super::extension::{self, TensorType, TensorTypes};
use super::note;
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::schema::facts::Storage;
use crate::schema::maps::ENTRY;
use crate::schema::{DType, Dim, Element, Field, MAX_FIELDS, Size, Type};
use arrow_schema::{DataType, Field as ArrowField, FieldRef, Fields};
use std::collections::HashSet;

/// Maximum nesting depth of structures and lists.
const MAX_DEPTH: usize = 128;

/// Which of several possible Arrow types to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrowForm {
    /// 64-bit offsets, as in memory, instead of the more widely supported types.
    pub wide: bool,
    /// Tensor extension types for dense fields.
    pub tensor_types: Option<TensorTypes>,
    /// The encodings to preserve, rather than writing plain values.
    pub encodings: Encodings,
}

/// The three components of a sparse tensor, if a structure has exactly that form: the dtype's field and the rank.
fn sparse_form(fields: &Fields) -> Option<(&FieldRef, usize)> {
    let [indices, values, shape] = <&[FieldRef; 3]>::try_from(fields.as_ref()).ok()?;
    let rank = |f: &ArrowField| match f.data_type() {
        DataType::FixedSizeList(item, rank) if *item.data_type() == DataType::Int64 => usize::try_from(*rank).ok(),
        _ => None,
    };
    let names = [indices.name(), values.name(), shape.name()];
    let (DataType::List(index) | DataType::LargeList(index)) = indices.data_type() else { return None };
    let (DataType::List(value) | DataType::LargeList(value)) = values.data_type() else { return None };
    let ranks = rank(index)?;
    (names == ["indices", "values", "dense_shape"] && rank(shape) == Some(ranks) && !value.data_type().is_nested())
        .then_some((value, ranks))
}

/// Whether an Arrow field is a named field or the item of a list. Only named fields have notes and sparse tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Field,
    Item,
}

/// How to read a field if its Arrow type is ambiguous.
pub(super) enum Reading {
    Plain,
    Sparse { ndims: usize },
    Tensor(TensorType),
}

/// How a field is read.
pub(super) fn reading(field: &ArrowField, role: Role) -> Reading {
    if let Some(tensor) = extension::of(field) {
        return Reading::Tensor(tensor);
    }
    if role == Role::Field
        && let DataType::Struct(fields) = field.data_type()
        && let Some((_, ndims)) = sparse_form(fields)
        && note::read(field.metadata()).is_some_and(|noted| noted.is_sparse() && noted.rank() == ndims)
    {
        return Reading::Sparse { ndims };
    }
    Reading::Plain
}

/// The field that represents an Arrow field. Dictionaries and run-end encoded values are read as plain values, maps as
/// lists of their entries, and types without a tensor equivalent unchanged.
///
/// # Errors
/// Excessive nesting, a structure with too many fields or repeated names, or a negative size.
pub fn from_arrow_field(field: &ArrowField) -> Result<Field> {
    named(field, 0)
}

fn named(field: &ArrowField, depth: usize) -> Result<Field> {
    let ty = read_type(field, Role::Field, depth).map_err(|e| e.in_field(quoted(field.name())))?;
    Ok(Field { storage: Storage::of(extension::in_logical_order(field)), ..Field::new(field.name(), ty) })
}

fn read_type(field: &ArrowField, role: Role, depth: usize) -> Result<Type> {
    if depth > MAX_DEPTH {
        return Err(Error::data(format!("nested more than {MAX_DEPTH} deep")));
    }
    let noted = if role == Role::Field { note::read(field.metadata()) } else { None };
    let plain = match reading(field, role) {
        Reading::Plain => plain_type(field, depth)?,
        Reading::Tensor(tensor) => {
            let item = match field.data_type() {
                DataType::FixedSizeList(item, _) => item,
                DataType::Struct(fields) => match fields.first().map(|f| f.data_type()) {
                    Some(DataType::List(item) | DataType::LargeList(item)) => item,
                    _ => return plain_type(field, depth),
                },
                _ => return plain_type(field, depth),
            };
            let value = read_type(item, Role::Item, depth + 1)?;
            Type { dims: tensor.dims(), optional: field.is_nullable(), with_nulls: value.optional, element: value.element }
        }
        Reading::Sparse { .. } => {
            let (Some(noted), DataType::Struct(fields)) = (&noted, field.data_type()) else { return plain_type(field, depth) };
            let Some((value, _)) = sparse_form(fields) else { return plain_type(field, depth) };
            let value = read_type(value, Role::Item, depth + 1)?;
            let Element::Value(dtype) = value.element else { return plain_type(field, depth) };
            let mut ty = Type::sparse(dtype, noted.dims.clone()).with_optional(field.is_nullable());
            ty.with_nulls = value.optional;
            return Ok(ty);
        }
    };
    Ok(match noted {
        Some(noted) => note::apply(plain, &noted),
        None => plain,
    })
}

fn plain_type(field: &ArrowField, depth: usize) -> Result<Type> {
    let optional = field.is_nullable();
    let value = |dtype| Ok(Type::tensor(dtype, Vec::new()).with_optional(optional));
    match field.data_type() {
        DataType::List(item) | DataType::LargeList(item) | DataType::ListView(item) | DataType::LargeListView(item) => {
            Ok(rows_of(Dim::UNIFORM, read_type(item, Role::Item, depth + 1)?, optional))
        }
        DataType::FixedSizeList(item, size) => {
            let size = u64::try_from(*size).map_err(|_| Error::data(format!("a fixed-size list has the negative size {size}")))?;
            Ok(rows_of(Dim::known(size), read_type(item, Role::Item, depth + 1)?, optional))
        }
        DataType::Map(item, _) => Ok(rows_of(Dim::UNIFORM, entry_type(item, depth + 1)?, optional)),
        DataType::Struct(fields) => {
            check_names(fields)?;
            let fields = fields.iter().map(|f| named(f, depth + 1)).collect::<Result<_>>()?;
            Ok(Type::structure(fields, Vec::new()).with_optional(optional))
        }
        DataType::Dictionary(_, values) => plain_type(&field.clone().with_data_type(values.as_ref().clone()), depth + 1),
        DataType::RunEndEncoded(_, values) => plain_type(&field.clone().with_data_type(values.data_type().clone()), depth + 1),
        other => value(value_dtype(other, field)),
    }
}

/// The type of the entries of a map, whatever their names in the file. Entries and their keys are never null.
fn entry_type(entries: &ArrowField, depth: usize) -> Result<Type> {
    let (DataType::Struct(fields), true) = (entries.data_type(), depth <= MAX_DEPTH) else {
        return Err(Error::data("the entries of a map are not structures, or are nested too deeply"));
    };
    let [key, value] =
        <&[FieldRef; 2]>::try_from(fields.as_ref()).map_err(|_| Error::data("the entries of a map are not a key and a value"))?;
    let key = named(&key.as_ref().clone().with_name(ENTRY[0]).with_nullable(false), depth + 1)?;
    let value = named(&value.as_ref().clone().with_name(ENTRY[1]), depth + 1)?;
    Ok(Type::structure(vec![key, value], Vec::new()))
}

/// Checks that a structure does not have too many fields.
///
/// # Errors
/// There are too many fields.
pub fn check_number(fields: &Fields) -> Result<()> {
    match fields.len() > MAX_FIELDS {
        true => Err(Error::data(format!("a structure has {} fields; at most 10,000 are supported", fields.len()))),
        false => Ok(()),
    }
}

/// Checks that a structure does not have too many fields or repeated names.
///
/// # Errors
/// There are too many fields, or a name is repeated.
fn check_names(fields: &Fields) -> Result<()> {
    check_number(fields)?;
    let mut seen = HashSet::new();
    match fields.iter().find(|f| !seen.insert(f.name())) {
        Some(twice) => Err(Error::data(format!("two fields are named {}", quoted(twice.name())))),
        None => Ok(()),
    }
}

/// The type of lists of `item`. An unknown size of the item's first axis becomes ragged below another axis.
fn rows_of(dim: Dim, item: Type, optional: bool) -> Type {
    let mut dims = vec![dim];
    dims.extend(item.dims.into_iter().map(|d| if d.size == Size::Uniform { Dim { size: Size::Ragged, ..d } } else { d }));
    Type { element: item.element, dims, optional, with_nulls: item.optional || item.with_nulls }
}

fn value_dtype(ty: &DataType, field: &ArrowField) -> DType {
    match ty {
        DataType::Null => DType::Null,
        DataType::Boolean => DType::Bool,
        DataType::Int8 => DType::Int8,
        DataType::Int16 => DType::Int16,
        DataType::Int32 => DType::Int32,
        DataType::Int64 => DType::Int64,
        DataType::UInt8 => DType::UInt8,
        DataType::UInt16 => DType::UInt16,
        DataType::UInt32 => DType::UInt32,
        DataType::UInt64 => DType::UInt64,
        DataType::Float16 => DType::Float16,
        DataType::Float32 => DType::Float32,
        DataType::Float64 => DType::Float64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if extension::is_json(field) => DType::Json,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DType::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => DType::Bytes,
        other => DType::Arrow(Box::new(other.clone())),
    }
}
