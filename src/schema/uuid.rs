//! UUIDs: Arrow's extension type over 16 bytes. A property of the field's storage; `arrow<uuid>` in the notation.

use super::facts::{EXTENSION, Storage};
use super::nested::list_item;
use super::{DType, Element, Field, Size, Type};
use arrow_schema::{DataType, Field as ArrowField, Metadata};
use std::sync::Arc;

const NAME: &str = "arrow.uuid";
/// The storage type.
pub const BYTES: DataType = DataType::FixedSizeBinary(16);

/// The storage of a UUID field with the axes and nulls of `ty`.
pub fn storage(ty: &Type) -> Storage {
    let metadata: Metadata = [(EXTENSION[0].to_owned(), NAME.to_owned()), (EXTENSION[1].to_owned(), String::new())].into_iter().collect();
    let is_nullable = if ty.dims.is_empty() { ty.optional } else { ty.with_nulls };
    let mut field = ArrowField::new("element", BYTES, is_nullable).with_metadata(metadata);
    for (axis, dim) in ty.dims.iter().enumerate().rev() {
        let is_nullable = if axis == 0 { ty.optional } else { ty.with_nulls };
        let item = Arc::new(field);
        let list = match dim.size {
            Size::Known(size) => DataType::FixedSizeList(item, i32::try_from(size).unwrap_or(i32::MAX)),
            _ => DataType::List(item),
        };
        field = ArrowField::new("element", list, is_nullable);
    }
    Storage::of(field)
}

impl Field {
    /// Whether the innermost values are UUIDs.
    pub fn is_uuid(&self) -> bool {
        let mut stored = match (&self.ty.element, self.storage.arrow()) {
            (Element::Value(DType::Arrow(ty)), Some(stored)) if **ty == BYTES => stored,
            _ => return false,
        };
        while let Some(item) = list_item(stored.data_type()) {
            stored = item;
        }
        stored.metadata().get(EXTENSION[0]).is_some_and(|name| name == NAME)
    }
}

#[cfg(test)]
mod tests {
    use crate::schema::notation::parse;

    #[test]
    fn the_notation_is_printed_and_parsed() {
        for text in
            ["u: arrow<uuid>", "u: optional arrow<uuid>[?, (?)] with nulls", "s: {u: arrow<uuid>[2]}[?]", "m: map<string, arrow<uuid>>"]
        {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert!(parse("u: arrow< uuid >").unwrap().fields[0].is_uuid());
        assert!(!parse("u: arrow<fixed_size_binary[16]>").unwrap().fields[0].is_uuid());
    }
}
