//! Axis numbers within the record, and the structures that own them.

use super::edit::outer_rank;
use crate::error::{Error, Result};
use crate::path::{FieldPath, quoted};
use crate::printable::shell_word;
use crate::schema::{Field, Schema};

/// Maps the axes `outer ..= inner` of the record to the field's own axes. Negative axes count from the last.
///
/// # Errors
/// Axes that do not exist, are in the wrong order, or belong to an enclosing structure; the last error suggests
/// `promote`.
pub fn own_axes(schema: &Schema, path: &FieldPath, outer: i64, inner: i64) -> Result<(usize, usize)> {
    let (_, field) = schema.find(path)?;
    let owned = outer_rank(schema, path);
    let rank = owned + field.ty.rank();
    let absolute = |axis: i64| {
        let counted = if axis < 0 { axis + rank as i64 } else { axis };
        usize::try_from(counted).ok().filter(|a| *a < rank).ok_or_else(|| {
            let error = match rank {
                0 => Error::usage(format!("is a scalar and has no axis {axis}")),
                1 => Error::usage(format!("has only axis 0; axis {axis} is out of range")),
                _ => Error::usage(format!("has axes 0 to {}; axis {axis} is out of range", rank - 1)),
            };
            error.in_field(path).help(format!("its type is {}", field.ty))
        })
    };
    let (first, last) = (absolute(outer)?, absolute(inner)?);
    if first > last {
        return Err(Error::usage(format!("OUTER axis {outer} must not be greater than INNER axis {inner}")).in_field(path));
    }
    if first < owned {
        return Err(owned_by_structure(schema, path, first));
    }
    Ok((first - owned, last - owned))
}

/// The error for an axis that belongs to an enclosing structure, where all its fields share it.
pub fn owned_by_structure(schema: &Schema, path: &FieldPath, axis: usize) -> Error {
    let owner = owner_of(schema, path, axis);
    let name = owner.as_ref().map_or_else(String::new, ToString::to_string);
    Error::usage(format!("this axis belongs to {name} and is shared by all its fields")).in_field(path).on_axis(axis).help(format!(
        "move the field out first: promote {} --as {}",
        shell_word(&path.to_string()),
        shell_word(&quoted(path.last()))
    ))
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
