//! Assembles structures from the columns of their leaves.

use super::features::RowError;
use super::mapping::{Leaf, Node};
use super::wire::DecodeError;
use crate::error::{Error, Result};
use crate::tensor::{RowPartition, Tensor, row_of};
use arrow_buffer::{BooleanBuffer, NullBuffer};

impl Node {
    /// The leaves below, in order.
    pub fn leaves(&self) -> Vec<&Leaf> {
        match self {
            Node::Leaf(leaf) => vec![leaf],
            Node::Struct { fields, .. } => fields.iter().flat_map(Node::leaves).collect(),
        }
    }

    fn path(&self) -> &str {
        match self {
            Node::Leaf(leaf) => &leaf.path,
            Node::Struct { path, .. } => path,
        }
    }

    fn optional(&self) -> bool {
        match self {
            Node::Leaf(leaf) => leaf.optional,
            Node::Struct { optional, .. } => *optional,
        }
    }
}

/// The tensor of a field, given those of its leaves; `None` if records do not fit, with the reasons in `errors`.
///
/// # Errors
/// Only internal errors.
pub fn assemble(node: &Node, leaves: Vec<Tensor>, errors: &mut Vec<RowError>) -> Result<Option<Tensor>> {
    build(node, leaves, &[], None, errors)
}

fn internal() -> Error {
    Error::internal("a structure without leaves")
}

/// `above` has the partitions of the enclosing axes, outermost first, which map an element to its record. `alive`: the
/// records that are not null at an outer level.
fn build(
    node: &Node,
    mut leaves: Vec<Tensor>,
    above: &[RowPartition],
    alive: Option<&NullBuffer>,
    errors: &mut Vec<RowError>,
) -> Result<Option<Tensor>> {
    let Node::Struct { path, levels, optional, fields } = node else {
        return Ok(leaves.pop());
    };
    let validity = if above.is_empty() && *optional { any_valid(&leaves) } else { None };
    let alive = NullBuffer::union(alive, validity.as_ref());
    let (mut above, outside) = (above.to_vec(), above.len());
    for _ in 0..*levels {
        let mut first: Option<RowPartition> = None;
        let mut items = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            if above.is_empty() && !lives(&leaf, alive.as_ref(), path, errors) {
                return Ok(None);
            }
            let Tensor::List(list) = leaf else { return Err(internal()) };
            let expected = first.get_or_insert_with(|| list.partition().clone());
            if let Some(row) = first_difference(expected, list.partition()) {
                let what = format!(
                    "its fields have different numbers of items: {} and {}",
                    expected.row_length(row),
                    list.partition().row_length(row)
                );
                let record = above.iter().rev().fold(row, |row, p| row_of(p, row));
                errors.push(RowError {
                    row: record,
                    field: path.clone(),
                    error: DecodeError { at: 0, what: what.into(), widens: false },
                    null: false,
                });
                return Ok(None);
            }
            items.push(list.into_values());
        }
        above.push(first.ok_or_else(internal)?);
        leaves = items;
    }
    let nrows = leaves.first().map_or(0, Tensor::nrows);
    let mut rest = leaves.into_iter();
    let mut built = Vec::with_capacity(fields.len());
    for field in fields {
        let own: Vec<Tensor> = rest.by_ref().take(field.leaves().len()).collect();
        let Some(mut tensor) = build(field, own, &above, alive.as_ref(), errors)? else {
            return Ok(None);
        };
        if above.is_empty() && !field.optional() {
            if !lives(&tensor, alive.as_ref(), field.path(), errors) {
                return Ok(None);
            }
            tensor = tensor.with_validity(None)?;
        }
        built.push(tensor);
    }
    let inner = if above.len() == outside { validity.clone() } else { None };
    let mut tensor = Tensor::structure(nrows, built, inner)?;
    for (level, partition) in above.drain(outside..).enumerate().rev() {
        tensor = Tensor::list(partition, tensor, if level == 0 { validity.clone() } else { None })?;
    }
    Ok(Some(tensor))
}

/// The records that have any of the leaves.
fn any_valid(leaves: &[Tensor]) -> Option<NullBuffer> {
    let validities = leaves.iter().map(Tensor::validity).collect::<Option<Vec<_>>>()?;
    let nrows = leaves.first().map_or(0, Tensor::nrows);
    Some(NullBuffer::new(BooleanBuffer::collect_bool(nrows, |row| validities.iter().any(|v| v.is_valid(row)))))
}

/// Whether the tensor is null only where an enclosing structure is. If not, the first such record is bad.
fn lives(tensor: &Tensor, alive: Option<&NullBuffer>, path: &str, errors: &mut Vec<RowError>) -> bool {
    let Some(validity) = tensor.validity() else { return true };
    let missing = (0..validity.len()).find(|row| validity.is_null(*row) && alive.is_none_or(|a| a.is_valid(*row)));
    if let Some(row) = missing {
        let what = "the record lacks this field, but has other fields of the structure".into();
        errors.push(RowError { row, field: path.to_owned(), error: DecodeError { at: 0, what, widens: false }, null: false });
    }
    missing.is_none()
}

fn first_difference(a: &RowPartition, b: &RowPartition) -> Option<usize> {
    if a == b {
        return None;
    }
    Some((0..a.nrows().min(b.nrows())).find(|row| a.row_length(*row) != b.row_length(*row)).unwrap_or(0))
}
