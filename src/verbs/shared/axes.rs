//! Axis numbers as `field_value` counts them, and which of them a structure owns.

use super::edit::outer_rank;
use crate::error::{Error, Result};
use crate::path::FieldPath;
use crate::schema::{Field, Schema};

/// The own axes of a field that `outer ..= inner` stand for, with the numbers that the user gave:
/// negative ones count from the last.
///
/// # Errors
/// Axes that are not there, in the wrong order, or owned by a structure around the field: that
/// names `promote`.
pub fn own_axes(schema: &Schema, path: &FieldPath, outer: i64, inner: i64) -> Result<(usize, usize)> {
    let (_, field) = schema.find(path)?;
    let owned = outer_rank(schema, path);
    let rank = owned + field.ty.rank();
    let absolute = |axis: i64| {
        let counted = if axis < 0 { axis + rank as i64 } else { axis };
        usize::try_from(counted).ok().filter(|a| *a < rank).ok_or_else(|| {
            let error = match rank {
                0 => Error::usage(format!("is a scalar: it has no axis {axis}")),
                1 => Error::usage(format!("has one axis, 0; there is no axis {axis}")),
                _ => Error::usage(format!("has the axes 0 to {}; there is no axis {axis}", rank - 1)),
            };
            error.in_field(path).help(format!("its type is {}", field.ty))
        })
    };
    let (first, last) = (absolute(outer)?, absolute(inner)?);
    if first > last {
        return Err(Error::usage(format!("the outer axis {outer} is behind the inner axis {inner}")).in_field(path));
    }
    if first < owned {
        return Err(owned_by_structure(schema, path, first));
    }
    Ok((first - owned, last - owned))
}

/// That an axis belongs to a structure, so that one field cannot change it alone.
pub fn owned_by_structure(schema: &Schema, path: &FieldPath, axis: usize) -> Error {
    let owner = owner_of(schema, path, axis);
    let name = owner.as_ref().map_or_else(String::new, ToString::to_string);
    Error::usage(format!("this axis belongs to the structures of {name}: all their fields share it"))
        .in_field(path)
        .on_axis(axis)
        .help(format!("move the field up first: promote {path} --as {}", crate::path::quoted(path.last())))
}

fn owner_of(schema: &Schema, path: &FieldPath, axis: usize) -> Option<FieldPath> {
    let (mut fields, mut seen, mut at): (&[Field], usize, Option<FieldPath>) = (&schema.fields, 0, None);
    for name in path.names() {
        let field = fields.iter().find(|f| f.name == *name)?;
        at = Some(at.map_or_else(|| FieldPath::name(name), |p| p.join(name)));
        seen += field.ty.rank();
        if axis < seen {
            return at;
        }
        fields = field.ty.fields().unwrap_or(&[]);
    }
    at
}
