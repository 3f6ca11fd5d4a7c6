//! The leaves of a schema, with all axes above each: the view of containers without structures.

use super::{Dim, Element, Field, Schema, Size, Type};
use crate::path::FieldPath;

/// A field that is not a structure.
pub struct Leaf<'a> {
    /// The names on its path, joined by dots.
    pub name: String,
    /// The same as a path.
    pub path: FieldPath,
    /// The field itself.
    pub field: &'a Field,
    /// The axes of the enclosing structures, followed by its own. Below another axis, an unknown size is ragged.
    pub dims: Vec<Dim>,
    /// Whether it, or an enclosing structure without axes, can be null as a whole.
    pub optional: bool,
    /// Whether nulls are allowed below the top level, in the enclosing structures or in the field.
    pub with_nulls: bool,
}

/// All leaves, in order.
pub fn leaves(schema: &Schema) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    collect(&schema.fields, None, &Type::structure(Vec::new(), Vec::new()), &mut found);
    found
}

/// `outer` is a structure type without fields, with the axes and nulls above.
fn collect<'a>(fields: &'a [Field], parent: Option<&FieldPath>, outer: &Type, found: &mut Vec<Leaf<'a>>) {
    for field in fields {
        let ty = &field.ty;
        let path = parent.map_or_else(|| FieldPath::name(&field.name), |p| p.join(&field.name));
        let at_top = outer.dims.is_empty();
        let mut around = Type::structure(Vec::new(), below(&outer.dims, &ty.dims));
        around.optional = outer.optional || (at_top && ty.optional);
        around.with_nulls = outer.with_nulls || ty.with_nulls || (!at_top && ty.optional);
        match &ty.element {
            Element::Struct(inner) => collect(inner, Some(&path), &around, found),
            _ => {
                let name = path.names().join(".");
                found.push(Leaf { name, path, field, dims: around.dims, optional: around.optional, with_nulls: around.with_nulls });
            }
        }
    }
}

/// The axes of a field, below those of its structure.
pub fn below(outer: &[Dim], own: &[Dim]) -> Vec<Dim> {
    let inner = own.iter().enumerate().map(|(axis, dim)| {
        let ragged = axis == 0 && !outer.is_empty() && dim.size == Size::Uniform;
        if ragged { Dim { size: Size::Ragged, label: dim.label.clone() } } else { dim.clone() }
    });
    outer.iter().cloned().chain(inner).collect()
}
