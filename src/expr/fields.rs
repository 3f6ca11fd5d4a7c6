//! Fields of structures: finding, replacing and removing them.

use super::error::{ExprError, ExprResult};
use super::eval::{Node, NodeKind};
use super::nulls::UNNAMED;
use super::span::name_text;
use super::types::{below_axes, below_structure};
use crate::error::{Error, Reason, Result, nearest};
use crate::printable::{counted, counted_axes, is_or_are};
use crate::schema::{Element, Field, Size, Type};
use crate::tensor::Tensor;
use std::sync::Arc;

/// Finds a field of a structure by name.
pub fn field_of(node: &Node, name: &str) -> Option<Node> {
    let Element::Struct(fields) = &node.ty.element else {
        return None;
    };
    let position = fields.iter().position(|f| f.name == name)?;
    let field = &fields[position];
    let levels = node.ty.rank();
    let mut dims = node.ty.dims.clone();
    dims.extend(below_structure(&field.ty.dims, levels > 0));
    let inner_nulls = field.ty.optional || field.ty.with_nulls;
    let (optional, with_nulls) = if levels == 0 {
        (node.ty.optional || field.ty.optional, field.ty.with_nulls)
    } else {
        (node.ty.optional, node.ty.with_nulls || inner_nulls)
    };
    let ty = Type { element: field.ty.element.clone(), dims, optional, with_nulls };
    let is_map = field.is_map();
    let storage = field.storage_under(ty.dims.get(..levels).unwrap_or_default());
    let path: Arc<str> = match &node.kind {
        NodeKind::Slot { name: outer, .. } | NodeKind::Field { name: outer, .. } => format!("{outer}.{}", name_text(name)).into(),
        // A field of a computed structure has no name that could be written in advice.
        NodeKind::Call(..) => UNNAMED.into(),
        _ => name_text(name).into(),
    };
    // The other fields are not needed any more. Keeping all, for each that is used, would take quadratic time and memory.
    let own = Type { element: Element::Struct(Vec::new()), dims: node.ty.dims.clone(), ..node.ty };
    let of = Box::new(Node { ty: own, span: node.span.clone(), kind: node.kind.clone() });
    let kind = NodeKind::Field { of, levels, position, name: path, storage, is_map };
    Some(Node { ty, span: node.span.clone(), kind })
}

/// An error about a field that a structure does not have.
pub fn unknown_in(fields: &[Field], name: &str, outer: &str) -> ExprError {
    let place = if outer.is_empty() { String::new() } else { format!(" in {outer}") };
    let path = if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") };
    let error = ExprError::new(format!("unknown field `{name}`{place}")).because(Reason::UnknownField(path));
    match nearest(name, fields.iter().map(|f| f.name.as_str())) {
        Some(near) => error.help(format!("did you mean {}?", name_text(near))),
        None if matches!(fields, [key, value] if key.name == "key" && value.name == "value")
            && !outer.is_empty()
            && !outer.contains(' ') =>
        {
            error.help(format!("if {outer} is a map, the value of a key is {outer}[{name:?}]")).help("its fields are: key, value")
        }
        None => {
            let names: Vec<String> = fields.iter().take(20).map(|f| name_text(&f.name)).collect();
            error.help(match (names.is_empty(), outer.is_empty()) {
                (true, true) => "the records have no fields".to_owned(),
                (true, false) => "it has no fields".to_owned(),
                (false, true) => format!("the fields are: {}", names.join(", ")),
                (false, false) => format!("its fields are: {}", names.join(", ")),
            })
        }
    }
}

/// One level of the path to a field inside structures.
#[derive(Clone, Debug)]
pub struct FieldIndex {
    /// The position of the field in its structure, or the number of fields to append it.
    position: usize,
}

/// The type of a structure with `value` (or nothing) at the path `inner` inside it; `above` are the axes of the enclosing structures.
/// `path` receives the positions for [`with_field`].
///
/// # Errors
/// The path leads to no field or through something that is not a structure, or the value lacks axes of the enclosing structures.
pub fn type_with_field(
    ty: &Type,
    above: &[Size],
    name: &str,
    inner: &[String],
    value: Option<&Field>,
    path: &mut Vec<FieldIndex>,
) -> ExprResult<Type> {
    let Element::Struct(fields) = &ty.element else {
        return Err(ExprError::new(format!("{name} is not a structure but {ty}")).help("assign to another name"));
    };
    let mut above = above.to_vec();
    above.extend(ty.dims.iter().map(|d| d.size));
    let mut fields = fields.clone();
    let [first, rest @ ..] = inner else {
        return Err(ExprError::new("an assignment needs a name"));
    };
    let position = fields.iter().position(|f| f.name == *first);
    path.push(FieldIndex { position: position.unwrap_or(fields.len()) });
    if !rest.is_empty() {
        let Some(position) = position else {
            return Err(unknown_in(&fields, first, name));
        };
        fields[position].ty = type_with_field(&fields[position].ty.clone(), &above, &format!("{name}.{first}"), rest, value, path)?;
    } else {
        match (position, value) {
            (Some(position), None) => {
                fields.remove(position);
            }
            (None, None) => return Err(unknown_in(&fields, first, name)),
            (_, Some(value)) => {
                let storage = value.storage_below(above.len());
                let value = &value.ty;
                if value.is_sparse() && !above.is_empty() || value.rank() < above.len() {
                    let found =
                        if value.rank() == 0 && value.fields().is_none() { format!("a scalar ({value})") } else { value.to_string() };
                    return Err(ExprError::new(format!("the value is {found}, but {name} has {}", counted_axes(above.len())))
                        .help("the leading axes of a field must match those of its structures")
                        .help("for a value in each structure: row_lengths(x) instead of len(x), reduce_sum(x, axis=-1) instead of reduce_sum(x)"));
                }
                let own = below_axes(value, above.len());
                let field = Field { storage, ..Field::new(first, own) };
                match position {
                    Some(position) => fields[position] = field,
                    None => fields.push(field),
                }
            }
        }
    }
    Ok(Type { element: Element::Struct(fields), ..ty.clone() })
}

/// The structures with a value (or nothing) at the end of a path. The value has the axes of all enclosing structures. The other fields
/// are shared, not copied.
///
/// # Errors
/// A row of the value has another length than the row of structures; the error names the row.
pub fn with_field(tensor: &Tensor, path: &[FieldIndex], value: Option<&Tensor>) -> Result<Tensor> {
    match tensor {
        Tensor::List(list) => {
            let below = match value {
                None => None,
                Some(value) => {
                    let inner = value.as_list()?;
                    if inner.partition() != list.partition() {
                        let row = list.partition().first_difference(inner.partition()).unwrap_or(0);
                        return Err(Error::data(format!(
                            "a row of the value has {}, but there {} {}",
                            counted(inner.partition().row_length(row) as u64, "item"),
                            is_or_are(list.partition().row_length(row)),
                            counted(list.partition().row_length(row) as u64, "structure")
                        ))
                        .at_row(row));
                    }
                    Some(inner.values())
                }
            };
            let values = with_field(list.values(), path, below).map_err(|e| {
                let row = e.location().row.map(|r| crate::tensor::row_of(list.partition(), r));
                e.locate(|at| at.row = row)
            })?;
            Ok(Tensor::List(list.with_values(values)?))
        }
        Tensor::Struct(structure) => {
            let Some((first, rest)) = path.split_first() else {
                return Err(Error::internal("a path without names"));
            };
            let mut fields = structure.fields().to_vec();
            match (rest.is_empty(), value) {
                (false, value) => {
                    let inner = fields.get(first.position).ok_or_else(|| Error::internal("no such field"))?;
                    fields[first.position] = with_field(inner, rest, value)?;
                }
                (true, None) => {
                    fields.remove(first.position);
                }
                (true, Some(value)) if first.position < fields.len() => fields[first.position] = value.clone(),
                (true, Some(value)) => fields.push(value.clone()),
            }
            Tensor::structure(tensor.nrows(), fields, structure.validity().cloned())
        }
        _ => Err(Error::internal("no structure to update")),
    }
}
