//! Types that Arrow cannot express, stored in the field's metadata in type notation.

use crate::schema::{DType, Element, Size, Type, notation};
use arrow_schema::Metadata;

/// The metadata key.
pub use crate::schema::facts::NOTED_TYPE as KEY;

/// The note for a field's own axes and items; fields of structures have separate notes.
pub fn write(ty: &Type) -> String {
    let mut own = ty.clone();
    if own.element != Element::Value(DType::Null) {
        own.optional = false;
        own.with_nulls = false;
    }
    if let Element::Struct(fields) = &mut own.element {
        fields.clear();
    }
    own.to_string()
}

/// The type in the note of a field, if it has a valid one.
pub fn read(metadata: &Metadata) -> Option<Type> {
    let text = metadata.get(KEY)?;
    let schema = notation::parse(&format!("x: {text}")).ok()?;
    match <[_; 1]>::try_from(schema.fields) {
        Ok([field]) => Some(field.ty),
        Err(_) => None,
    }
}

/// `plain`, the type given by the Arrow type alone, extended by the note; unchanged if they disagree.
pub fn apply(plain: Type, noted: &Type) -> Type {
    let same_sizes = plain.dims.len() == noted.dims.len()
        && plain.dims.iter().zip(&noted.dims).all(|(p, n)| match (p.size, n.size) {
            (Size::Known(p), Size::Known(n)) => p == n,
            (Size::Known(_), _) | (_, Size::Known(_)) => false,
            _ => true,
        });
    let element = match (&plain.element, &noted.element) {
        (Element::Value(DType::String), Element::Value(DType::Json)) => Element::Value(DType::Json),
        (Element::Value(p), Element::Value(n)) if p == n => plain.element.clone(),
        (Element::Struct(_), Element::Struct(_)) => plain.element.clone(),
        _ => return plain,
    };
    if !same_sizes {
        return plain;
    }
    // Arrow's null type is nullable, regardless of the field.
    let nulls = if element == Element::Value(DType::Null) { noted } else { &plain };
    Type { element, dims: noted.dims.clone(), optional: nulls.optional, with_nulls: nulls.with_nulls }
}
