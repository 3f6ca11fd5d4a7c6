//! JSON in a field: text that is parsed as values of a declared type, and values that are written as text.
//!
//! `cast x=TYPE` parses, because PostgreSQL's and DuckDB's casts of text to `json` do: a string holds the text of a value,
//! not a value to be quoted. So `x=json` keeps the text of a string, which must be JSON, and writes all other values. It
//! writes a list as one text, because texts of single numbers are of no use; a type with axes and fields reads it back. A
//! json field becomes a string by its text, not by parsing a string in it.

use super::target::Target;
use crate::error::{Error, Result};
use crate::json::texts::{self, JsonTexts};
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::schema::{DType, Element, Field, Schema, Size, Type, notation};
use crate::tensor::Tensor;
use crate::verbs::shared::edit::{Edits, Scope};
use std::sync::Arc;

/// A cast from or to JSON text.
pub enum Json {
    /// Parses each text as a value of this type.
    Parse(Box<Field>),
    /// Writes the values.
    Write,
    /// Keeps the texts of a json field, as strings that may be null.
    Text,
}

impl Json {
    /// How a field of type `from` is cast, if text is parsed or written.
    ///
    /// # Errors
    /// A type that only text can be parsed as, for a field that is no text.
    pub fn of(from: &Type, to: &Target) -> Result<Option<Json>> {
        let dtype = from.dtype().filter(|_| !from.is_sparse());
        let is_text = dtype.is_some_and(|d| matches!(d, DType::String | DType::Bytes | DType::Json | DType::Null));
        match to {
            Target::DType(DType::String | DType::Bytes) => Ok(None),
            Target::DType(to) if dtype == Some(&DType::Json) => {
                Ok(Some(Json::Parse(Box::new(Field::new("", Type::tensor(to.clone(), Vec::new()))))))
            }
            Target::DType(_) => Ok(None),
            Target::Declared(to) => {
                let is_json = to.ty.rank() == 0 && to.ty.dtype() == Some(&DType::Json);
                let is_string = from.rank() == 0 && dtype.is_some_and(|d| matches!(d, DType::String | DType::Bytes));
                let is_optional_string = to.ty.rank() == 0 && to.ty.dtype() == Some(&DType::String) && to.default.is_none();
                match () {
                    () if is_optional_string && dtype == Some(&DType::Json) => Ok(Some(Json::Text)),
                    () if is_json && !is_string => Ok(Some(Json::Write)),
                    () if is_text => Ok(Some(Json::Parse(to.clone()))),
                    () => Err(not_text(from, to)),
                }
            }
        }
    }

    /// Changes the field.
    ///
    /// # Errors
    /// JSON cannot represent the type.
    pub fn edit(self, edits: &mut Edits, path: &FieldPath) -> Result<()> {
        edits.accept_nulls(path);
        match self {
            Json::Parse(declared) => parse(edits, path, *declared),
            Json::Write => write(edits, path),
            Json::Text => edits.change(path, |ty| {
                let mut strings = Type { element: Element::Value(DType::String), ..ty.clone() };
                *(if ty.rank() == 0 { &mut strings.optional } else { &mut strings.with_nulls }) = true;
                Ok((strings, |texts: &Tensor, _: &Scope| Ok(texts.clone())))
            }),
        }
    }
}

/// The error for a field that is no text.
fn not_text(from: &Type, to: &Field) -> Error {
    let what = if from.fields().is_some() { "a structure".to_owned() } else { from.to_string() };
    let error = Error::usage(format!("is {what}, which cannot be cast to {}: only text is parsed", notation::typed(to)));
    match &to.ty.element {
        Element::Value(_) if from.fields().is_none() => error.help("of other fields, cast changes only the dtype; the axes are unchanged"),
        _ => error.help("the types are strings, bytes and json; cast other fields one by one, each to a dtype"),
    }
}

/// The command that declares a type.
fn command(path: &FieldPath, declared: &Field) -> String {
    format!("cast {}", shell_word(&format!("{path}={}", notation::typed(declared))))
}

fn parse(edits: &mut Edits, path: &FieldPath, declared: Field) -> Result<()> {
    edits.beside(path, |fields, position| {
        let field = &mut fields[position];
        let levels = field.ty.rank();
        if levels > 0 && declared.ty.is_sparse() {
            return Err(Error::usage("is a list; the items of a list cannot be sparse tensors"));
        }
        *field = parsed(field, &declared);
        let texts = JsonTexts::new(path, declared, command)?;
        let path = path.clone();
        Ok(Box::new(move |mut tensors: Vec<Tensor>, scope: &Scope| {
            let tensor = &tensors[position];
            if has_null_list(tensor) {
                scope.refuse_nulls(tensor, &path)?;
            }
            tensors[position] = tensor.map_below(levels, &mut |texts_below| texts.parse(texts_below.as_leaf()?))?;
            Ok(tensors)
        }))
    })
}

/// The field with values of the declared type in place of its texts.
fn parsed(field: &Field, declared: &Field) -> Field {
    let outer = &field.ty;
    let storage = declared.storage_under(&outer.dims);
    let mut ty = declared.ty.clone();
    if outer.rank() > 0 {
        // Sizes that are the same in each text differ between texts.
        let inner = ty.dims.iter_mut().filter(|dim| dim.size == Size::Uniform);
        inner.for_each(|dim| dim.size = Size::Ragged);
        ty.dims.splice(0..0, outer.dims.iter().cloned());
        ty.with_nulls |= ty.optional;
        ty.optional = outer.optional;
    }
    let field = Field { storage, ..Field::new(field.name.clone(), ty) };
    Schema::new(vec![field.clone()]).plain().fields.pop().unwrap_or(field)
}

/// Whether a list is null, at any level.
fn has_null_list(tensor: &Tensor) -> bool {
    let Tensor::List(list) = tensor else { return false };
    list.validity().is_some_and(|nulls| nulls.null_count() > 0) || has_null_list(list.values())
}

fn write(edits: &mut Edits, path: &FieldPath) -> Result<()> {
    edits.beside(path, |fields, position| {
        let field = fields[position].clone();
        texts::check(&field, path)?;
        fields[position] = Field::new(field.name.clone(), texts::text_type(&field.ty));
        let path = path.clone();
        Ok(Box::new(move |mut tensors: Vec<Tensor>, _: &Scope| {
            tensors[position] = Tensor::Leaf(Arc::new(texts::written(&tensors[position], &field, &path)?));
            Ok(tensors)
        }))
    })
}
