//! The dictionaries of fields, which messages name by their ids.

use crate::schema::facts::Storage;
use crate::schema::{Element, Field};
use crate::tensor::arrow::encoded;
use arrow_array::{ArrayRef, new_empty_array};
use arrow_schema::{DataType, Field as ArrowField, Schema};
use std::collections::HashMap;

/// The id under which messages send the dictionary of a field.
#[expect(deprecated, reason = "no other way leads from a field to its dictionary")]
pub fn id(field: &ArrowField) -> Option<i64> {
    field.dict_id()
}

/// Sets the contents of the dictionaries of a field. A dictionary missing from a file without rows is empty.
pub fn learn(field: &mut Field, dictionaries: &HashMap<i64, ArrayRef>) {
    if let Storage::Arrow(stored) = &mut field.storage {
        let values = |f: &ArrowField| match f.data_type() {
            DataType::Dictionary(_, ty) => dictionaries.get(&id(f)?).cloned().or_else(|| Some(new_empty_array(ty))),
            _ => None,
        };
        let found: Option<Vec<ArrayRef>> = encoded::dictionaries(&stored.field).into_iter().map(values).collect();
        stored.dictionaries = found.unwrap_or_default().into();
    }
    if let Element::Struct(fields) = &mut field.ty.element {
        fields.iter_mut().for_each(|field| learn(field, dictionaries));
    }
}

/// The ids of the dictionaries of all columns, in order.
pub fn dictionary_ids(schema: &Schema) -> Vec<Option<i64>> {
    schema.fields().iter().flat_map(|field| encoded::dictionaries(field)).map(id).collect()
}
