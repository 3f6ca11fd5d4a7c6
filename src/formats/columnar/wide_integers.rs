//! 128-bit integers, which Polars writes and the Arrow crate does not have. In a schema they become 64-bit integers
//! that the crate accepts, and then a type of the same size.

use crate::schema::nested::with_fields;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{Field as IpcField, Int, Schema as IpcSchema, root_as_message, root_as_schema};
use arrow_schema::{ArrowError, DECIMAL128_MAX_PRECISION, DataType, Schema};
use std::sync::Arc;

/// Where a schema has such an integer.
pub struct Place {
    /// The index of the outermost field, then of the fields inside it.
    path: Vec<usize>,
    /// The offset of its width in the message.
    at: usize,
    is_signed: bool,
}

impl Place {
    /// The index of the outermost field.
    pub fn root(&self) -> usize {
        self.path.first().copied().unwrap_or(0)
    }

    /// The name of the type.
    pub fn name(&self) -> &'static str {
        if self.is_signed { "int128" } else { "uint128" }
    }

    /// Whether it is read as a number: a decimal has the same bytes.
    pub fn is_decimal(&self) -> bool {
        self.is_signed && self.path.len() == 1
    }

    fn data_type(&self) -> DataType {
        if self.is_decimal() { DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0) } else { DataType::FixedSizeBinary(16) }
    }
}

/// The message of a schema with 64-bit integers instead; `None` if there are none.
pub fn narrowed(message: &[u8]) -> Option<(Vec<u8>, Vec<Place>)> {
    narrowed_schema(root_as_message(message).ok()?.header_as_schema()?)
}

fn narrowed_schema(schema: IpcSchema) -> Option<(Vec<u8>, Vec<Place>)> {
    let mut places = Vec::new();
    for (i, field) in schema.fields()?.iter().enumerate() {
        find(field, &mut vec![i], &mut places)?;
    }
    if places.is_empty() {
        return None;
    }
    let mut bytes = schema._tab.buf().to_vec();
    for place in &places {
        bytes.get_mut(place.at..place.at + 4)?.copy_from_slice(&64i32.to_le_bytes());
    }
    Some((bytes, places))
}

/// `None` if the values of a dictionary have such a type, which is not supported.
fn find(field: IpcField, path: &mut Vec<usize>, places: &mut Vec<Place>) -> Option<()> {
    if let Some(int) = field.type_as_int().filter(|int| int.bitWidth() == 128) {
        if field.dictionary().is_some() {
            return None;
        }
        let at = int._tab.loc() + usize::from(int._tab.vtable().get(Int::VT_BITWIDTH));
        places.push(Place { path: path.clone(), at, is_signed: int.is_signed() });
    }
    for (i, child) in field.children().iter().flatten().enumerate() {
        path.push(i);
        find(child, path, places)?;
        path.pop();
    }
    Some(())
}

/// Converts a schema, in which such integers become decimals or binary values, and returns their positions.
///
/// # Errors
/// See [`try_fb_to_schema`].
pub fn to_schema(schema: IpcSchema) -> Result<(Schema, Vec<Place>), ArrowError> {
    let Some((mut bytes, places)) = narrowed_schema(schema) else { return Ok((try_fb_to_schema(schema)?, Vec::new())) };
    // The offset of the root comes first.
    let root = u32::try_from(schema._tab.loc()).unwrap_or(u32::MAX);
    if let Some(start) = bytes.get_mut(..4) {
        start.copy_from_slice(&root.to_le_bytes());
    }
    let narrow = root_as_schema(&bytes).map_err(|e| ArrowError::ParseError(e.to_string()))?;
    let converted = try_fb_to_schema(narrow)?;
    let all = DataType::Struct(converted.fields().clone());
    let all = places.iter().fold(all, |all, place| retyped(&all, &place.path, &place.data_type()));
    let DataType::Struct(fields) = all else { return Ok((converted, Vec::new())) };
    Ok((Schema::new_with_metadata(fields, converted.metadata().clone()), places))
}

/// The type with another one at that position.
fn retyped(own: &DataType, path: &[usize], ty: &DataType) -> DataType {
    let Some((first, rest)) = path.split_first() else { return ty.clone() };
    let mut places = 0..;
    with_fields(own, |field| {
        if places.next() != Some(*first) {
            return field.clone();
        }
        Arc::new(field.as_ref().clone().with_data_type(retyped(field.data_type(), rest, ty)))
    })
}
