//! Fields written in the form in which their file stores them.

use super::field::{ArrowForm, from_arrow_field};
use super::{encoded, extension};
use crate::schema::facts::is_of_the_type;
use crate::schema::nested::{innermost, list_item, with_fields};
use crate::schema::{Element, Field, Type};
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field as ArrowField, FieldRef, Metadata};
use std::sync::Arc;

/// The field as stored in its file, if its type is still the stored one.
pub fn field(field: &Field, form: ArrowForm) -> Option<ArrowField> {
    let stored = field.storage.arrow()?;
    if form.tensor_types.is_some_and(|kinds| extension::applies(&field.ty, kinds)) && extension::of(stored).is_none() {
        return None;
    }
    let read = from_arrow_field(stored).ok()?;
    if !holds(&read.ty.clone().with_optional(true), &field.ty) {
        return None;
    }
    let stored = in_form(stored, form);
    let nullable = stored.is_nullable() || field.ty.optional;
    Some(stored.with_name(&field.name).with_nullable(nullable))
}

/// The metadata of the stored field that is valid regardless of the type.
pub fn metadata(field: &Field) -> Metadata {
    let Some(stored) = field.storage.arrow() else { return Metadata::default() };
    let kept = stored.metadata().iter().filter(|(key, _)| !is_of_the_type(key));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The extension type of the stored field, if the field, as changed by a verb, does not preserve it.
pub fn lost(field: &Field) -> Option<String> {
    let stored = field.storage.arrow()?;
    let items = std::iter::successors(Some(stored), |f| list_item(f.data_type()).map(|item| item.as_ref()));
    let name = items.filter_map(|f| f.metadata().get(extension::NAME)).next()?;
    let form = ArrowForm::default();
    (self::field(field, form).is_none()
        && from_arrow_field(stored).is_ok_and(|read| read.ty.element != field.ty.element || read.ty.dims != field.ty.dims))
    .then(|| name.clone())
}

/// Whether a stored type holds all values of `ty`: the same type, except that it can have nulls where `ty` has none.
fn holds(stored: &Type, ty: &Type) -> bool {
    let nulls = (stored.optional || !ty.optional) && (stored.with_nulls || !ty.with_nulls);
    let element = match (&stored.element, &ty.element) {
        (Element::Struct(a), Element::Struct(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name && holds(&a.ty, &b.ty))
        }
        (a, b) => a == b,
    };
    nulls && element && stored.dims == ty.dims
}

/// An encoding of the stored field that is not preserved, so that plain values are written.
pub fn lost_encoding(field: &Field, form: ArrowForm) -> Option<DataType> {
    self::field(field, form)?;
    form.encodings.first_lost(field.storage.arrow()?.data_type()).cloned()
}

/// The dictionaries of the fields that are dictionaries in `arrow`, the written form of the field, depth first; `None`
/// if the file does not declare them.
pub fn dictionaries(field: &Field, arrow: &ArrowField, form: ArrowForm) -> Vec<Option<ArrayRef>> {
    let known = field.storage.dictionaries();
    let count = encoded::dictionaries(arrow).len();
    if count > 0 && known.len() == count && self::field(field, form).is_some() {
        return known.iter().cloned().map(Some).collect();
    }
    // A structure that a verb has changed is written field by field.
    match (&field.ty.element, innermost(arrow.data_type())) {
        (Element::Struct(own), DataType::Struct(fields)) if own.len() == fields.len() => {
            own.iter().zip(fields).flat_map(|(field, arrow)| dictionaries(field, arrow, form)).collect()
        }
        _ => vec![None; count],
    }
}

/// The stored field with the types that are written: encodings that are not preserved become plain values, and memory
/// has 64-bit offsets.
fn in_form(field: &ArrowField, form: ArrowForm) -> ArrowField {
    let ty = type_in_form(field.data_type(), form);
    field.clone().with_data_type(ty)
}

fn type_in_form(ty: &DataType, form: ArrowForm) -> DataType {
    let item = |f: &FieldRef| Arc::new(in_form(f, form));
    match ty {
        DataType::Utf8 | DataType::Utf8View if form.wide => DataType::LargeUtf8,
        DataType::Binary | DataType::BinaryView if form.wide => DataType::LargeBinary,
        DataType::List(f) | DataType::ListView(f) | DataType::LargeListView(f) | DataType::LargeList(f) if form.wide => {
            DataType::LargeList(item(f))
        }
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) if form.encodings.keep(ty) => ty.clone(),
        DataType::Dictionary(_, values) => type_in_form(values, form),
        DataType::RunEndEncoded(_, values) => type_in_form(values.data_type(), form),
        other => with_fields(other, item),
    }
}
