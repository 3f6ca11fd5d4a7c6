//! The `--schema` that an error suggests.

use super::error::{Fix, ParseError};
use crate::error::nearest;
use crate::path::{in_expression, quoted};
use crate::printable::shell_word;
use crate::schema::notation;
use crate::schema::{DType, Element, Field, Schema, Size, Type};

/// `--schema '...'`, ready to paste into a shell.
pub fn schema_option(schema: &Schema) -> String {
    notation::schema_option(&schema.to_string())
}

/// The part of the schema to declare so that the record can be read.
pub fn fixed(schema: &Schema, error: &ParseError) -> Option<Schema> {
    if matches!(error.fix, Fix::None | Fix::Framing) {
        return None;
    }
    let names: Vec<&str> = error.path().collect();
    Some(Schema::new(vec![fixed_field(&schema.fields, &names, error, false)?]))
}

/// The whole field, changed so that the value can be read. The error names the field itself first.
pub fn fixed_whole(field: &Field, error: &ParseError) -> Option<Field> {
    let names: Vec<&str> = error.path().collect();
    fixed_field(std::slice::from_ref(field), &names, error, true)
}

/// The type of the field that the error names.
pub fn type_at<'a>(schema: &'a Schema, error: &ParseError) -> Option<&'a Type> {
    let mut at: Option<&Type> = None;
    for name in error.path() {
        let fields = at.map_or(Some(schema.fields.as_slice()), Type::fields)?;
        at = Some(&fields.iter().find(|field| is_named(field, name))?.ty);
    }
    at
}

/// The verb that converts values of the type in `fixed` to the declared type of a field of the record: text to numbers, and floats
/// to integers.
pub fn conversion(schema: &Schema, error: &ParseError, fixed: &Schema) -> Option<String> {
    let names: Vec<&str> = error.path().collect();
    let ([declared], [field]) = (names.as_slice(), fixed.fields.as_slice()) else { return None };
    let to = type_at(schema, error)?.dtype().filter(|dtype| dtype.is_number())?;
    match field.ty.dtype()? {
        DType::String => {
            let name = in_expression(declared);
            Some(format!("map {}", shell_word(&format!("{name} = strings.to_number({name}, {to})"))))
        }
        DType::Float64 if to.is_integer() => Some(format!("cast {}", shell_word(&format!("{}={to}", quoted(declared))))),
        _ => None,
    }
}

/// A field beside the one that the error names, with a similar name.
pub fn near(schema: &Schema, error: &ParseError) -> Option<String> {
    let names: Vec<&str> = error.path().collect();
    let (name, parents) = names.split_last()?;
    let mut beside = schema.fields.as_slice();
    for parent in parents {
        beside = beside.iter().find(|field| is_named(field, parent))?.ty.fields()?;
    }
    let others = beside.iter().map(Field::source_name).filter(|other| other != name);
    Some([parents, &[nearest(name, others)?]].concat().into_iter().map(quoted).collect::<Vec<_>>().join("."))
}

/// Whether the input has the field under this name.
fn is_named(field: &Field, name: &str) -> bool {
    field.source_name() == name
}

/// `whole`: with the fields beside those that the error names.
fn fixed_field(fields: &[Field], names: &[&str], error: &ParseError, whole: bool) -> Option<Field> {
    let (name, below) = names.split_first()?;
    let Some(field) = fields.iter().find(|field| is_named(field, name)) else {
        return match &error.fix {
            Fix::New(ty) if below.is_empty() => Some(new_field(fields, name, ty)),
            _ => None,
        };
    };
    let mut field = field.clone();
    if !below.is_empty() {
        if let Element::Struct(inner) = &mut field.ty.element {
            let fixed = fixed_field(inner, below, error, whole)?;
            match inner.iter_mut().find(|field| whole && field.name == fixed.name) {
                Some(field) => *field = fixed,
                None if whole => inner.push(fixed),
                None => *inner = vec![fixed],
            }
        }
        return Some(field);
    }
    let ty = &mut field.ty;
    match &error.fix {
        Fix::None | Fix::Framing | Fix::New(_) => return None,
        Fix::Dtype(dtype) => {
            ty.element = if ty.is_sparse() { Element::Sparse(dtype.clone()) } else { Element::Value(dtype.clone()) };
        }
        // A union can be null only through a member that may be.
        Fix::Nullable | Fix::Absent if error.depth == 0 && ty.optional => return None,
        Fix::Nullable | Fix::Absent if error.depth == 0 => ty.optional = true,
        Fix::Nullable | Fix::Absent => ty.with_nulls = true,
        Fix::Json => {
            let depth = if ty.is_sparse() { 0 } else { error.depth };
            ty.element = Element::Value(DType::Json);
            ty.dims.truncate(depth);
            // The declared sizes may not be those of the values either.
            for (axis, dim) in ty.dims.iter_mut().enumerate().filter(|(_, dim)| matches!(dim.size, Size::Known(_))) {
                dim.size = if axis == 0 { Size::Uniform } else { Size::Ragged };
            }
        }
        Fix::Seen(seen) | Fix::Instead(seen) => *ty = at_depth(ty, error.depth, seen),
    }
    Some(field)
}

/// A field for a key that the schema does not have. Its name may be that of a field which is read from another key.
fn new_field(fields: &[Field], key: &str, ty: &Type) -> Field {
    if !fields.iter().any(|field| field.name == key) {
        return Field::new(key, ty.clone());
    }
    let is_free = |name: &String| !fields.iter().any(|field| field.name == *name || field.source_name() == name);
    let name = (2..).map(|n| format!("{key}_{n}")).find(is_free).unwrap_or_default();
    let mut field = Field::new(name, ty.clone());
    field.source.values = Some(key.to_owned());
    field
}

fn at_depth(outer: &Type, depth: usize, inner: &Type) -> Type {
    let mut dims = outer.dims[..depth.min(outer.dims.len())].to_vec();
    dims.extend(inner.dims.iter().cloned());
    for dim in dims.iter_mut().skip(1).filter(|d| d.size == Size::Uniform) {
        dim.size = Size::Ragged;
    }
    Type { element: inner.element.clone(), dims, optional: outer.optional, with_nulls: outer.with_nulls || inner.with_nulls }
}
