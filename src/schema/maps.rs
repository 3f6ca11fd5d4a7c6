//! Maps: structured tensors of `{key, value}` that columnar files and JSON represent as maps.
//!
//! A map does not have a separate type: verbs see its entries, `{key: string, value: int64}[?]`. That they form a map
//! is a property of the field's storage, which is valid while the innermost axis is the axis of the entries.

use super::facts::Storage;
use super::{Dim, Element, Field, Size, Type};

/// The names of the fields of an entry.
pub const ENTRY: [&str; 2] = ["key", "value"];

/// The type of the entries of maps; `dims` are the axes of the maps themselves.
pub fn entries(key: Field, value: Field, mut dims: Vec<Dim>) -> Type {
    dims.push(if dims.is_empty() { Dim::UNIFORM } else { Dim::RAGGED });
    Type::structure(vec![key, value], dims)
}

impl Field {
    /// Whether the field holds maps, or lists of maps. The innermost axis is the axis of the entries.
    pub fn is_map(&self) -> bool {
        self.map_fields().is_some()
    }

    /// The field with type `ty`, which adds or removes an axis around unchanged values. Maps remain maps, and UUIDs UUIDs.
    pub fn with_outer_axes(&self, mut ty: Type) -> Field {
        let rank = ty.rank();
        let is_map = self.is_map() && rank > 0;
        // Entries are never null.
        ty.with_nulls &= !(is_map && rank == 1);
        let field = Field::new(self.name.clone(), ty);
        let storage = match &self.storage {
            Storage::Arrow(_) | Storage::WithoutMetadata(_) if rank > self.ty.rank() => match field.ty.dims.first().map(|dim| dim.size) {
                Some(Size::Known(size)) => self.storage.list(i32::try_from(size).ok()),
                _ => self.storage.list(None),
            },
            Storage::Arrow(_) | Storage::WithoutMetadata(_) => self.storage.item(field.ty.with_nulls),
            _ if is_map => Storage::Map { declared: false, rank },
            _ => Storage::default(),
        };
        Field { storage, ..field }
    }

    /// The storage of the field below more axes: those of the structures or keys around it.
    pub fn storage_under(&self, outer: &[Dim]) -> Storage {
        match &self.storage {
            Storage::Map { .. } if !outer.is_empty() => Storage::Map { declared: false, rank: self.ty.rank() + outer.len() },
            storage => outer.iter().rev().fold(storage.clone(), |storage, dim| match dim.size {
                Size::Known(size) => storage.list(i32::try_from(size).ok()),
                _ => storage.list(None),
            }),
        }
    }

    /// The storage of the values below the first `levels` axes of the field.
    pub fn storage_below(&self, levels: usize) -> Storage {
        match &self.storage {
            Storage::Map { rank, .. } if levels > 0 => match rank.checked_sub(levels).filter(|rank| *rank > 0) {
                Some(rank) => Storage::Map { declared: false, rank },
                None => Storage::default(),
            },
            storage => (0..levels).fold(storage.clone(), |storage, _| storage.item(self.ty.with_nulls)),
        }
    }

    /// The fields for keys and values, if the field holds maps.
    pub fn map_fields(&self) -> Option<(&Field, &Field)> {
        let Element::Struct(fields) = &self.ty.element else { return None };
        let [key, value] = fields.as_slice() else { return None };
        let rank = self.ty.rank();
        let size = if rank == 1 { Size::Uniform } else { Size::Ragged };
        let entries = self.ty.dims.last().is_some_and(|dim| *dim == Dim::of(size)) && !(rank == 1 && self.ty.with_nulls);
        (self.storage.is_map(rank) && entries && [&key.name, &value.name] == ENTRY).then_some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use crate::schema::notation::parse;

    #[test]
    fn a_map_is_one_while_its_entries_lie_on_the_innermost_axis() {
        let field = parse("m: map<string, int64>[?]").unwrap().fields.remove(0);
        assert_eq!(field.ty.to_string(), "{key: string, value: int64}[?, (?)]");
        assert!(field.is_map());
        let mut merged = field.clone();
        merged.ty.dims.remove(0);
        assert!(!merged.is_map());
        let mut renamed = field;
        if let crate::schema::Element::Struct(fields) = &mut renamed.ty.element {
            fields[0].name = "k".to_owned();
        }
        assert!(!renamed.is_map());
        assert!(!parse("m: {key: string, value: int64}[?]").unwrap().fields[0].is_map());
    }
}
