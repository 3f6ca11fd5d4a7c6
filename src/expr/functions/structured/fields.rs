//! Reading and updating the fields of structures, and comparing structures.
//!
//! Semantics: `tf.experimental.StructuredTensor`.

use crate::error::mismatch;
use crate::expr::call::{Arg, Call, Function, as_node, check_name, field_of_value, strict, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Node;
use crate::expr::fields::{FieldIndex, Place, put_field, unknown_in, with_field};
use crate::expr::kernels::level::merged;
use crate::expr::operand::{Operand, OperandKind, describe};
use crate::schema::{DType, Dim, Field, Literal, Size, Type};
use crate::tensor::Tensor;

pub static FUNCTIONS: &[Function] = &[
    function!(["field_value"], "st|x|self, field_name|path", "The value of a field, given its name or path.", [], |c| {
        let node = structure(c)?;
        let path = path_of(c, 1)?;
        Ok(OperandKind::Tensor(walk(&node, &path).map_err(|e| e.or_at(c.span.clone()))?))
    }),
    function!(
        ["with_updates"],
        "st|x|self, updates, validate=False",
        "Add or replace fields, by name or path. None removes a field; a function is applied to the old value.",
        [],
        with_updates
    ),
    function!(
        ["promote"],
        "st|x|self, source_path, new_name",
        "Copy a field one level up, merging its first axis with those of its structure.",
        [],
        promote
    ),
    function!(
        ["partition_outer_dimension"],
        "st|x|self, row_splits|row_partition=None, row_lengths=None, row_starts=None, row_limits=None, value_rowids=None, nrows=None, uniform_row_length=None",
        "Partition axis 0 into rows, given a RowPartition or one of its encodings.",
        [("partition_outer_dimension([3, 1, 4], row_lengths=[2, 0, 1])", "[[3, 1], [], [4]]")],
        crate::expr::functions::partitions::partition_outer_dimension
    ),
    function!(
        ["field_names"],
        "st|x|self",
        "The names of the fields.",
        [("field_names(StructuredTensor.from_pyval({\"a\": 1, \"b\": 2}))", "[\"a\", \"b\"]")],
        field_names
    ),
    function!(
        ["row_partitions"],
        "st|x|self",
        "The row partitions of the shape, outermost first.",
        [("row_partitions(StructuredTensor.from_pyval([[{\"a\": 1}], []]))[0].row_splits()", "[0, 1, 1]")],
        row_partitions
    ),
];

fn structure(call: &Call) -> ExprResult<Node> {
    let item = call.operand(0)?;
    let node = as_node(item, None)?;
    if node.ty.fields().is_none() {
        return Err(ExprError::at(item.span.clone(), format!("{} expects structures, found {}", call.name, describe(&node.ty))));
    }
    Ok(node)
}

/// The field names given by an item: one string, or several.
fn names_of(item: &Operand) -> Option<Vec<String>> {
    match item.literal()? {
        Literal::String(name) => Some(vec![name]),
        Literal::List(names) => names.into_iter().map(|n| if let Literal::String(s) = n { Some(s) } else { None }).collect(),
        _ => None,
    }
}

fn path_of(call: &Call, i: usize) -> ExprResult<Vec<String>> {
    let item = call.operand(i)?;
    names_of(item).ok_or_else(|| {
        ExprError::at(
            item.span.clone(),
            format!("{}: {} must be a name or a tuple of names, not {}", call.name, call.param(i), item.describe()),
        )
    })
}

/// The field at the end of a path.
fn walk(node: &Node, path: &[String]) -> ExprResult<Node> {
    let mut place = Place::of_node(node);
    for name in path {
        let Some(fields) = place.fields() else {
            return Err(ExprError::new(format!("unknown field `{name}`: {} is not a structure", describe(&place.into_node().ty))));
        };
        place = place.field(name, node.span.clone()).ok_or_else(|| unknown_in(fields, name, ""))?;
    }
    Ok(place.into_node())
}

/// Checks the last name of a path, unless the field exists. Source: `StructuredTensor.from_fields`.
fn check_new(whole: &Node, path: &[String]) -> ExprResult<()> {
    match path.last() {
        Some(name) if walk(whole, path).is_err() => check_name(name),
        _ => Ok(()),
    }
}

fn with_updates(call: &mut Call) -> ExprResult<OperandKind> {
    let whole = strict(structure(call)?)?;
    let mut ty = whole.ty.clone();
    let st = call.push(whole.clone());
    let updates = call.operand(1)?.clone();
    let OperandKind::Dict(entries, _) = &updates.kind else {
        return Err(ExprError::at(
            updates.span.clone(),
            format!("the updates must be a dict of names and values, not {}", updates.describe()),
        ));
    };
    let mut paths: Vec<Vec<String>> = Vec::with_capacity(entries.len());
    for (key, _) in entries {
        let path = names_of(key)
            .filter(|p| !p.is_empty())
            .ok_or_else(|| ExprError::at(key.span.clone(), mismatch("a name or a tuple of names", key.describe())))?;
        if let Some(other) = paths.iter().find(|p| p.starts_with(&path) || path.starts_with(p)) {
            return Err(ExprError::at(key.span.clone(), format!("{} and {} cannot be updated together", other.join("."), path.join("."))));
        }
        paths.push(path);
    }
    let mut steps: Vec<(Vec<FieldIndex>, Option<Arg>)> = Vec::with_capacity(entries.len());
    for ((key, value), path) in entries.iter().zip(&paths) {
        let changed = match &value.kind {
            OperandKind::Function(function) => {
                let old = walk(&whole, path).map_err(|e| e.or_at(value.span.clone()))?;
                let old = Operand { kind: OperandKind::Tensor(old), span: value.span.clone() };
                Some((function.apply)(vec![old], Vec::new())?)
            }
            _ => None,
        };
        let value = changed.as_ref().unwrap_or(value);
        let arg = if value.is_none() {
            None
        } else {
            check_new(&whole, path).map_err(|e| e.or_at(key.span.clone()))?;
            let node = strict_node(value)?;
            let field = field_of_value(&node);
            Some((call.push(node), field))
        };
        let mut placed = Vec::new();
        put_field(&mut ty, &[], "the structure", path, arg.as_ref().map(|(_, field)| field), &mut placed)
            .map_err(|e| e.or_at(value.span.clone()))?;
        steps.push((placed, arg.map(|(arg, _)| arg)));
    }
    call.one(ty, move |args| {
        steps.iter().try_fold(st.of(args)?.into_owned(), |tensor, (path, arg)| match arg {
            Some(arg) => with_field(tensor, path, Some(&*arg.of(args)?)),
            None => with_field(tensor, path, None),
        })
    })
}

fn promote(call: &mut Call) -> ExprResult<OperandKind> {
    let node = strict(structure(call)?)?;
    let item = call.operand(1)?.clone();
    let path = names_of(&item).filter(|_| item.elements().is_some() && !matches!(item.kind, OperandKind::Literal(_))).unwrap_or_default();
    if path.len() < 2 {
        return Err(ExprError::at(item.span.clone(), "the path to promote must have at least two names: (\"docs\", \"tokens\")"));
    }
    let name = call.string(2)?.ok_or_else(|| call.error("promote needs a new name"))?;
    let value = walk(&node, &path).map_err(|e| e.or_at(item.span.clone()))?;
    let parent = walk(&node, &path[..path.len() - 1]).map_err(|e| e.or_at(item.span.clone()))?.ty.rank();
    let grandparent = walk(&node, &path[..path.len() - 2]).map_err(|e| e.or_at(item.span.clone()))?.ty.rank();
    let mut value_ty = value.ty.clone();
    let inner = if value_ty.is_sparse() { 0 } else { parent.min(value_ty.rank().saturating_sub(1)) };
    let merge = (inner > grandparent).then_some((grandparent, inner));
    if let Some((outer, inner)) = merge {
        let dim = crate::expr::types::merged_dim(&value_ty.dims[outer..=inner], outer == 0);
        value_ty.dims.splice(outer..=inner, [dim]);
    }
    let mut target = path[..path.len() - 2].to_vec();
    target.push(name);
    check_new(&node, &target).map_err(|e| e.or_at(call.operand(2).map_or_else(|_| call.span.clone(), |item| item.span.clone())))?;
    let mut placed = Vec::new();
    let mut ty = node.ty.clone();
    put_field(&mut ty, &[], "the structure", &target, Some(&Field::new("", value_ty)), &mut placed)?;
    let (st, value) = (call.push(node), call.push(value));
    call.one(ty, move |args| {
        let mut new = value.of(args)?.into_owned();
        if let Some((outer, inner)) = merge {
            new = new.map_below(outer, &mut |t| {
                let levels = inner - outer + 1;
                let (_, below) = t.levels(levels)?;
                Tensor::list(merged(t, 0, levels)?, below.clone(), None)
            })?;
        }
        with_field(st.of(args)?.into_owned(), &placed, Some(&new))
    })
}

fn field_names(call: &mut Call) -> ExprResult<OperandKind> {
    let node = structure(call)?;
    let names = node.ty.fields().unwrap_or_default().iter();
    Ok(OperandKind::Tuple(
        names.map(|f| Operand { kind: OperandKind::Literal(Literal::String(f.name.clone())), span: call.span.clone() }).collect(),
    ))
}

/// A RowPartition for every axis after the first.
fn row_partitions(call: &mut Call) -> ExprResult<OperandKind> {
    let node = strict_node(call.operand(0)?)?;
    if node.ty.is_sparse() {
        return Err(ExprError::at(node.span.clone(), "a sparse tensor has no row partitions"));
    }
    let mut all = Vec::new();
    for axis in 1..node.ty.rank() {
        let mut inner = Call::operator(&call.name, call.span.clone(), call.text().clone());
        let x = inner.push(node.clone());
        let rows = if axis == 1 { node.ty.dims[0].clone() } else { Dim::UNIFORM };
        let row = if let Size::Known(_) = node.ty.dims[axis].size { node.ty.dims[axis].clone() } else { Dim::RAGGED };
        let kind = inner.one(Type::tensor(DType::Int64, vec![Dim::of(rows.size), Dim::of(row.size)]), move |args| {
            let tensor = x.of(args)?;
            let outer = merged(&tensor, 0, axis)?;
            let (partitions, _) = tensor.levels(axis + 1)?;
            let inner = partitions[axis].clone();
            let whole = outer.merge(&inner);
            let numbers: Vec<i64> = (0..whole.nrows()).flat_map(|record| 0..whole.row_length(record) as i64).collect();
            let values: arrow_array::ArrayRef = std::sync::Arc::new(arrow_array::Int64Array::from(numbers));
            Tensor::list(outer, Tensor::list(inner, Tensor::Leaf(values), None)?, None)
        })?;
        let OperandKind::Tensor(partition) = kind else {
            return Err(call.internal("a partition that is not a tensor"));
        };
        all.push(Operand { kind: OperandKind::Partition(partition), span: call.span.clone() });
    }
    Ok(OperandKind::Tuple(all))
}

/// Whether two structures are equal, for each record; `None` if neither is a structure.
pub fn equal(call: &mut Call, negate: bool) -> ExprResult<Option<OperandKind>> {
    let is_structure = |item: &Operand| item.node().is_some_and(|n| n.ty.fields().is_some());
    let (a, b) = (call.operand(0)?.clone(), call.operand(1)?.clone());
    match (is_structure(&a), is_structure(&b)) {
        (false, false) => return Ok(None),
        (true, true) => {}
        (left, _) => {
            let other = if left { &b } else { &a };
            return Err(ExprError::at(
                other.span.clone(),
                format!("a structure can only be compared with a structure; this is {}", other.describe()),
            ));
        }
    }
    let (a, b) = (strict_node(&a)?, strict_node(&b)?);
    let (x, y) = (call.push(a), call.push(b));
    let same = x.rank() == y.rank() && same_fields(&x.ty, &y.ty);
    call.one(Type::tensor(DType::Bool, Vec::new()), move |args| {
        let (a, b) = (x.of(args)?, y.of(args)?);
        let rows: Vec<bool> = (0..args.nrows).map(|row| (same && a.rows_equal(row, &b, row)) != negate).collect();
        Ok(Tensor::Leaf(std::sync::Arc::new(arrow_array::BooleanArray::from(rows))))
    })
    .map(Some)
}

/// Whether two types have the same fields with the same dtypes.
fn same_fields(a: &Type, b: &Type) -> bool {
    match (a.fields(), b.fields()) {
        (Some(a), Some(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name && a.ty.rank() == b.ty.rank() && same_fields(&a.ty, &b.ty))
        }
        (None, None) => a.element == b.element,
        _ => false,
    }
}
