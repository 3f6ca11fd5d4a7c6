//! Arrow's nested types.

use arrow_schema::{DataType, FieldRef};
use std::sync::Arc;

/// The field for the items of a list, in any layout; `None` for other types.
pub fn list_item(ty: &DataType) -> Option<&FieldRef> {
    match ty {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

/// The type inside all lists and maps of a type: that of their items or entries.
pub fn innermost(mut ty: &DataType) -> &DataType {
    while let DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) | DataType::Map(item, _) = ty {
        ty = item.data_type();
    }
    ty
}

/// The fields of a nested type, in order. Unions and encodings count as values.
pub fn fields_of(ty: &DataType) -> Vec<&FieldRef> {
    match ty {
        DataType::Map(entries, _) => vec![entries],
        DataType::Struct(fields) => fields.iter().collect(),
        _ => list_item(ty).into_iter().collect(),
    }
}

/// The fields in a type, those of unions and encodings included.
pub fn children_of(ty: &DataType) -> Vec<&FieldRef> {
    match ty {
        DataType::RunEndEncoded(_, values) => vec![values],
        DataType::Union(fields, _) => fields.iter().map(|(_, f)| f).collect(),
        _ => fields_of(ty),
    }
}

/// A nested type with its fields changed; other types as they are. Unions and encodings count as values.
pub fn with_fields(ty: &DataType, mut change: impl FnMut(&FieldRef) -> FieldRef) -> DataType {
    match ty {
        DataType::List(f) => DataType::List(change(f)),
        DataType::LargeList(f) => DataType::LargeList(change(f)),
        DataType::ListView(f) => DataType::ListView(change(f)),
        DataType::LargeListView(f) => DataType::LargeListView(change(f)),
        DataType::FixedSizeList(f, size) => DataType::FixedSizeList(change(f), *size),
        DataType::Map(f, sorted) => DataType::Map(change(f), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(change).collect()),
        other => other.clone(),
    }
}

/// Replaces the types for which `change` returns another one, outermost first.
pub fn replaced(ty: &DataType, change: &impl Fn(&DataType) -> Option<DataType>) -> DataType {
    let inside = |f: &FieldRef| Arc::new(f.as_ref().clone().with_data_type(replaced(f.data_type(), change)));
    change(ty).unwrap_or_else(|| with_fields(ty, inside))
}
