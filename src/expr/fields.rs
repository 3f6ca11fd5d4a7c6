//! Fields of structures: finding, replacing and removing them.

use super::error::{ExprError, ExprResult};
use super::eval::{Node, NodeKind};
use super::nulls::UNNAMED;
use super::span::{Span, name_text};
use super::types::{below_axes, below_structure};
use crate::error::{Error, Reason, Result, nearest};
use crate::printable::{counted, counted_axes, is_or_are};
use crate::schema::{Dim, Element, Field, Size, Type};
use crate::tensor::Tensor;
use std::sync::Arc;

/// Finds a field of a structure by name.
pub fn field_of(node: &Node, name: &str) -> Option<Node> {
    Some(Place::of_node(node).field(name, node.span.clone())?.into_node())
}

/// A node before its type is copied: copying that of a structure of many fields, for each field that is used, would take
/// quadratic time.
pub struct Place<'a> {
    element: &'a Element,
    dims: Vec<Dim>,
    optional: bool,
    with_nulls: bool,
    span: Span,
    kind: NodeKind,
}

impl<'a> Place<'a> {
    /// A node of this type.
    pub fn new(ty: &'a Type, span: Span, kind: NodeKind) -> Place<'a> {
        Place { element: &ty.element, dims: ty.dims.clone(), optional: ty.optional, with_nulls: ty.with_nulls, span, kind }
    }

    /// That of a node.
    pub fn of_node(node: &'a Node) -> Place<'a> {
        Place::new(&node.ty, node.span.clone(), node.kind.clone())
    }

    /// The field of that name, if it is a structure that has it.
    pub fn field(self, name: &str, span: Span) -> Option<Place<'a>> {
        let Element::Struct(fields) = self.element else { return None };
        let position = fields.iter().position(|f| f.name == name)?;
        let field = &fields[position];
        let levels = self.dims.len();
        let mut dims = self.dims.clone();
        dims.extend(below_structure(&field.ty.dims, levels > 0));
        let inner_nulls = field.ty.optional || field.ty.with_nulls;
        let (optional, with_nulls) = if levels == 0 {
            (self.optional || field.ty.optional, field.ty.with_nulls)
        } else {
            (self.optional, self.with_nulls || inner_nulls)
        };
        let storage = field.storage_under(&self.dims);
        let path: Arc<str> = match &self.kind {
            NodeKind::Slot { name: outer, .. } | NodeKind::Field { name: outer, .. } => format!("{outer}.{}", name_text(name)).into(),
            // A field of a computed structure has no name that could be written in advice.
            NodeKind::Call(..) => UNNAMED.into(),
            _ => name_text(name).into(),
        };
        // The other fields are not needed any more.
        let own = Type { element: Element::Struct(Vec::new()), dims: self.dims, optional: self.optional, with_nulls: self.with_nulls };
        let of = Box::new(Node { ty: own, span: self.span, kind: self.kind });
        let kind = NodeKind::Field { of, levels, position, name: path, storage, is_map: field.is_map() };
        Some(Place { element: &field.ty.element, dims, optional, with_nulls, span, kind })
    }

    /// The types of the fields, if it is a structure.
    pub fn fields(&self) -> Option<&'a [Field]> {
        if let Element::Struct(fields) = self.element { Some(fields) } else { None }
    }

    /// The node with its type.
    pub fn into_node(self) -> Node {
        let Place { element, dims, optional, with_nulls, span, kind } = self;
        Node { ty: Type { element: element.clone(), dims, optional, with_nulls }, span, kind }
    }
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

/// Changes the type of a structure to that with `value` (or nothing) at the path `inner` inside it; `above` are the axes of the
/// enclosing structures. `path` receives the positions for [`with_field`].
///
/// # Errors
/// The path leads to no field or through something that is not a structure, or the value lacks axes of the enclosing structures.
pub fn put_field(
    ty: &mut Type,
    above: &[Size],
    name: &str,
    inner: &[String],
    value: Option<&Field>,
    path: &mut Vec<FieldIndex>,
) -> ExprResult<()> {
    if ty.fields().is_none() {
        return Err(ExprError::new(format!("{name} is not a structure but {ty}")).help("assign to another name"));
    }
    let mut above = above.to_vec();
    above.extend(ty.dims.iter().map(|d| d.size));
    let Element::Struct(fields) = &mut ty.element else { return Err(ExprError::internal("no structure")) };
    let [first, rest @ ..] = inner else {
        return Err(ExprError::new("an assignment needs a name"));
    };
    let position = fields.iter().position(|f| f.name == *first);
    path.push(FieldIndex { position: position.unwrap_or(fields.len()) });
    if !rest.is_empty() {
        let Some(position) = position else {
            return Err(unknown_in(fields, first, name));
        };
        put_field(&mut fields[position].ty, &above, &format!("{name}.{first}"), rest, value, path)?;
    } else {
        match (position, value) {
            (Some(position), None) => {
                fields.remove(position);
            }
            (None, None) => return Err(unknown_in(fields, first, name)),
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
    Ok(())
}

/// The structures with a value (or nothing) at the end of a path. The value has the axes of all enclosing structures. O(1) if
/// the structures are not shared.
///
/// # Errors
/// A row of the value has another length than the row of structures; the error names the row.
pub fn with_field(tensor: Tensor, path: &[FieldIndex], value: Option<&Tensor>) -> Result<Tensor> {
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
            let (partition, validity) = (list.partition().clone(), list.validity().cloned());
            let values = with_field(list.into_values(), path, below).map_err(|e| {
                let row = e.location().row.map(|r| crate::tensor::row_of(&partition, r));
                e.locate(|at| at.row = row)
            })?;
            Tensor::list(partition, values, validity)
        }
        Tensor::Struct(structure) => {
            let Some((first, rest)) = path.split_first() else {
                return Err(Error::internal("a path without names"));
            };
            let changed = match (rest.is_empty(), value) {
                (false, value) => structure.map_field(first.position, |inner| with_field(inner, rest, value))?,
                (true, None) => structure.without_field(first.position)?,
                (true, Some(value)) => structure.with_field(first.position, value.clone())?,
            };
            Ok(Tensor::Struct(changed))
        }
        _ => Err(Error::internal("no structure to update")),
    }
}
