//! Structured tensors: fields taken, put, moved; structures made of fields.
//!
//! Source of the meaning: `tf.experimental.StructuredTensor`.

use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, Integer, as_node, static_ints, strict, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Node;
use crate::expr::fields::{FieldIndex, field_of, type_with_field, unknown_in, with_field};
use crate::expr::kernels::level::{check_count, check_same, check_uniform, dense_partitions, from_lengths, merged, wrap};
use crate::expr::operand::{Operand, OperandKind, describe};
use crate::expr::types::outermost_uniform;
use crate::schema::{DType, Dim, Field, Literal, Size, Type};
use crate::tensor::{RowPartition, Tensor};

pub static FUNCTIONS: &[Function] = &[
    function!(["field_value"], "st|x|self, field_name|path", "A field by name or path.", [], |c| {
        let node = structure(c)?;
        let path = path_of(c, 1)?;
        Ok(OperandKind::Tensor(walk(&node, &path).map_err(|e| e.or_at(c.span.clone()))?))
    }),
    function!(
        ["with_updates"],
        "st|x|self, updates, validate=False",
        "Add, replace (by name or path) or, with None, remove fields; a function changes the old value.",
        [],
        with_updates
    ),
    function!(["promote"], "st|x|self, source_path, new_name", "Copy a field to its grandparent, merging the axes between.", [], promote),
    function!(
        ["partition_outer_dimension"],
        "st|x|self, row_splits|row_partition=None, row_lengths=None, row_starts=None, row_limits=None, value_rowids=None, nrows=None, uniform_row_length=None",
        "Partition axis 0 into rows, by a RowPartition or one of the encodings.",
        [("partition_outer_dimension([3, 1, 4], row_lengths=[2, 0, 1])", "[[3, 1], [], [4]]")],
        super::partitions::partition_outer_dimension
    ),
    function!(
        ["StructuredTensor.from_fields"],
        "fields, shape=(), nrows=None, row_partitions=None, validate=False",
        "A structured tensor from its fields, which share the axes of the shape.",
        [],
        |c| {
            let rank = c.shape(1)?.map_or(0, |shape| shape.len());
            from_fields(c, rank)
        }
    ),
    function!(
        ["StructuredTensor.from_fields_and_rank"],
        "fields, rank, validate=False, dtype=None",
        "A structured tensor from its fields, which share the first rank axes.",
        [],
        |c| {
            let rank = c.int(1)?;
            let rank = usize::try_from(rank).map_err(|_| c.error(format!("the rank {rank} is negative")))?;
            // Only scalars make a scalar of rank 1, as in TensorFlow.
            let scalars = match &c.operand(0)?.kind {
                OperandKind::Dict(fields) if !fields.is_empty() => fields
                    .iter()
                    .map(|(_, value)| Ok(as_node(value, None)?.ty.rank() == 0))
                    .collect::<ExprResult<Vec<_>>>()?
                    .iter()
                    .all(|s| *s),
                _ => false,
            };
            from_fields(c, if scalars { rank.saturating_sub(1) } else { rank })
        }
    ),
    function!(
        ["StructuredTensor.from_shape"],
        "ragged_shape",
        "Structures without fields, of a given shape.",
        [("len(StructuredTensor.from_shape([2, (3, 1)]))", "2")],
        from_shape
    ),
    function!(
        ["DynamicRaggedShape.from_lengths"],
        "lengths",
        "A shape with a size, or the lengths of the rows, for each axis.",
        [("StructuredTensor.from_shape(DynamicRaggedShape.from_lengths([2, (3, 1)])).nrows()", "2")],
        |c| {
            c.list(0)?;
            Ok(c.operand(0)?.kind.clone())
        }
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
        "The partitions between the axes, the outermost first.",
        [("row_partitions(StructuredTensor.from_pyval([[{\"a\": 1}], []]))[0].row_splits()", "[0, 1, 1]")],
        row_partitions
    ),
    function!(
        ["StructuredTensor.from_pyval"],
        "pyval, typespec=None",
        "A structured tensor from dictionaries and lists of dictionaries.",
        [("StructuredTensor.from_pyval([{\"a\": [1, 2]}, {\"a\": []}])[\"a\"]", "[[1, 2], []]")],
        from_pyval
    ),
];

fn structure(call: &Call) -> ExprResult<Node> {
    let item = call.operand(0)?;
    let node = as_node(item, None)?;
    if node.ty.fields().is_none() {
        return Err(ExprError::at(item.span.clone(), format!("{} works on structures; this is {}", call.name, describe(&node.ty))));
    }
    Ok(node)
}

/// The names that an item is: one string, or several.
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
    path.iter().try_fold(node.clone(), |node, name| {
        field_of(&node, name).ok_or_else(|| match node.ty.fields() {
            Some(fields) => unknown_in(fields, name, ""),
            None => ExprError::new(format!("there is no field `{name}`: {} is not a structure", describe(&node.ty))),
        })
    })
}

fn with_updates(call: &mut Call) -> ExprResult<OperandKind> {
    let whole = strict(structure(call)?)?;
    let mut ty = whole.ty.clone();
    let st = call.push(whole.clone());
    let updates = call.operand(1)?.clone();
    let OperandKind::Dict(entries) = &updates.kind else {
        return Err(ExprError::at(updates.span.clone(), format!("the updates are a dict of names and values, not {}", updates.describe())));
    };
    let mut paths: Vec<Vec<String>> = Vec::with_capacity(entries.len());
    for (key, _) in entries {
        let path = names_of(key)
            .filter(|p| !p.is_empty())
            .ok_or_else(|| ExprError::at(key.span.clone(), format!("expected a name or a tuple of names, found {}", key.describe())))?;
        if let Some(other) = paths.iter().find(|p| p.starts_with(&path) || path.starts_with(p)) {
            return Err(ExprError::at(key.span.clone(), format!("{} and {} can't be updated together", other.join("."), path.join("."))));
        }
        paths.push(path);
    }
    let mut steps: Vec<(Vec<FieldIndex>, Option<Arg>)> = Vec::with_capacity(entries.len());
    for ((_, value), path) in entries.iter().zip(&paths) {
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
            let node = strict_node(value)?;
            Some(call.push(node))
        };
        let mut placed = Vec::new();
        ty = type_with_field(&ty, &[], "the structure", path, arg.as_ref().map(|a| &a.ty), &mut placed)
            .map_err(|e| e.or_at(value.span.clone()))?;
        steps.push((placed, arg));
    }
    call.one(ty, move |args| {
        steps.iter().try_fold(st.of(args)?.into_owned(), |tensor, (path, arg)| match arg {
            Some(arg) => with_field(&tensor, path, Some(&*arg.of(args)?)),
            None => with_field(&tensor, path, None),
        })
    })
}

fn promote(call: &mut Call) -> ExprResult<OperandKind> {
    let node = strict(structure(call)?)?;
    let item = call.operand(1)?.clone();
    let path = names_of(&item).filter(|_| item.elements().is_some() && !matches!(item.kind, OperandKind::Literal(_))).unwrap_or_default();
    if path.len() < 2 {
        return Err(ExprError::at(item.span.clone(), "the path to promote has at least two names: (\"docs\", \"tokens\")"));
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
    let mut placed = Vec::new();
    let ty = type_with_field(&node.ty, &[], "the structure", &target, Some(&value_ty), &mut placed)?;
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
        with_field(&*st.of(args)?, &placed, Some(&new))
    })
}

fn from_fields(call: &mut Call, rank: usize) -> ExprResult<OperandKind> {
    let item = call.operand(0)?.clone();
    let OperandKind::Dict(entries) = &item.kind else {
        return Err(ExprError::at(item.span.clone(), format!("the fields are a dict of names and values, not {}", item.describe())));
    };
    let own_shape = call.param(1) == "shape";
    let shape = if own_shape { call.shape(1)? } else { None };
    let nrows = if own_shape && call.given(2).is_some() { Some(call.integer(2)?) } else { None };
    let mut fields: Vec<Field> = Vec::with_capacity(entries.len());
    let mut args: Vec<Arg> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let name = key_name(key)?;
        let node = strict_node(value)?;
        let arg = call.push(node);
        if arg.rank() < rank || (rank > 0 && arg.ty.is_sparse()) {
            return Err(ExprError::at(
                value.span.clone(),
                format!("a field of structures of rank {rank} has these axes first; this is {}", describe(&arg.ty)),
            ));
        }
        let mut own = arg.ty.clone();
        if !own.is_sparse() {
            own.dims = outermost_uniform(own.dims.split_off(rank));
        }
        fields.push(Field::new(name, own));
        args.push(arg);
    }
    let mut dims: Vec<Dim> = match args.first() {
        Some(first) => first.ty.dims[..rank].to_vec(),
        None if rank == 0 => Vec::new(),
        None => return empty_structures(call, shape.as_deref(), nrows),
    };
    for (axis, dim) in dims.iter_mut().enumerate() {
        for arg in &args {
            if let Size::Known(n) = arg.ty.dims[axis].size {
                if let Size::Known(m) = dim.size
                    && m != n
                {
                    return Err(ExprError::at(arg.span.clone(), format!("this has {n} items on axis {axis}, others {m}")));
                }
                *dim = Dim::known(n);
            }
        }
        let wanted = shape.as_ref().and_then(|s| s.get(axis).copied().flatten());
        if let (Some(wanted), Size::Known(n)) = (wanted, dim.size)
            && u64::try_from(wanted) != Ok(n)
        {
            return Err(call.error(format!("the shape says {wanted} items on axis {axis}; the fields have {n}")));
        }
        let wanted = wanted.or_else(|| nrows.as_ref().filter(|_| axis == 0).and_then(Integer::known));
        if let Some(wanted) = wanted.and_then(|n| u64::try_from(n).ok()) {
            if let Size::Known(n) = dim.size
                && n != wanted
            {
                return Err(call.error(format!("nrows is {wanted}; the fields have {n} rows")));
            }
            // The rows are checked against the shape, which makes the axis uniform.
            *dim = Dim::known(wanted);
        }
    }
    let sizes = dims.clone();
    call.one(Type::structure(fields, dims), move |a| {
        let tensors = args.iter().map(|arg| arg.of(a)).collect::<Result<Vec<_>>>()?;
        let Some(first) = tensors.first() else {
            return Tensor::structure(a.nrows, Vec::new(), None);
        };
        for other in &tensors[1..] {
            check_same(first, other, rank, "the fields")?;
        }
        let (outer, below) = first.levels(rank)?;
        let nrows = below.nrows();
        let below = tensors.iter().map(|t| t.levels(rank).map(|(_, below)| below.clone())).collect::<Result<Vec<_>>>()?;
        if nrows != below.first().map_or(nrows, Tensor::nrows) {
            return Err(Error::internal("fields of other lengths"));
        }
        let out = wrap(outer.into_iter().cloned(), Tensor::structure(nrows, below, None)?)?;
        check_uniform(&out, &sizes)?;
        Ok(out)
    })
}

fn from_pyval(call: &mut Call) -> ExprResult<OperandKind> {
    let item = call.operand(0)?.clone();
    let dtype = match call.given(1) {
        None => None,
        Some(_) => call.dtype(1)?,
    };
    let (ty, tensor) = python_value(&item, dtype.as_ref(), 0).map_err(|e| e.or_at(item.span.clone()))?;
    Ok(OperandKind::Tensor(crate::expr::operand::constant(tensor, ty, call.span.clone())))
}

/// A nested Python value: dicts are structures, lists of dicts structured tensors, other lists ragged ones.
fn python_value(item: &Operand, dtype: Option<&DType>, depth: usize) -> ExprResult<(Type, Tensor)> {
    if depth > crate::expr::syntax::MAX_DEPTH {
        return Err(ExprError::new("the value is nested too deep"));
    }
    if let OperandKind::Dict(entries) = &item.kind {
        let (mut fields, mut columns) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
        for (key, value) in entries {
            let (ty, tensor) = python_value(value, dtype, depth + 1)?;
            fields.push(Field::new(key_name(key)?, ty));
            columns.push(tensor);
        }
        return Ok((Type::structure(fields, Vec::new()), Tensor::structure(1, columns, None)?));
    }
    let Some(levels) = depth_of_dicts(item)? else {
        let literal = item
            .literal()
            .ok_or_else(|| ExprError::at(item.span.clone(), format!("expected a nested value, found {}", item.describe())))?;
        return crate::expr::literal::ragged(&literal, dtype, None, None);
    };
    let mut rows: Vec<&Operand> = vec![item];
    let mut lengths: Vec<Vec<usize>> = Vec::with_capacity(levels);
    for _ in 0..levels {
        let (mut below, mut level) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in rows {
            let items = list_of(row).ok_or_else(|| ExprError::at(row.span.clone(), "a list holds lists of dicts and other values"))?;
            level.push(items.len());
            below.extend(items);
        }
        lengths.push(level);
        rows = below;
    }
    let dicts = rows
        .iter()
        .map(|row| {
            if let OperandKind::Dict(entries) = &row.kind {
                Ok(entries)
            } else {
                Err(ExprError::at(row.span.clone(), "a list holds dicts and other values"))
            }
        })
        .collect::<ExprResult<Vec<_>>>()?;
    let names = dicts.first().map_or(Ok(Vec::new()), |d| d.iter().map(|(k, _)| key_name(k)).collect::<ExprResult<Vec<_>>>())?;
    let (mut fields, mut columns) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
    for name in &names {
        let values = dicts
            .iter()
            .zip(&rows)
            .map(|(dict, row)| {
                let found = dict.iter().find(|(k, _)| matches!(&k.kind, OperandKind::Literal(Literal::String(s)) if s == name));
                match found {
                    Some((_, value)) if dict.len() == names.len() => Ok(value.clone()),
                    _ => Err(ExprError::at(
                        row.span.clone(),
                        format!("all dictionaries of a list must have the same keys: {}", names.join(", ")),
                    )),
                }
            })
            .collect::<ExprResult<Vec<_>>>()?;
        // The values of all dicts are one list: its first axis is taken off again.
        let all = Operand { kind: OperandKind::List(values), span: item.span.clone() };
        let (ty, tensor) = python_value(&all, dtype, depth + 1)?;
        let own = Type { dims: outermost_uniform(ty.dims.get(1..).unwrap_or_default().to_vec()), ..ty };
        columns.push(tensor.levels(1)?.1.clone());
        fields.push(Field::new(name.clone(), own));
    }
    let mut tensor = Tensor::structure(dicts.len(), columns, None)?;
    let mut dims = Vec::with_capacity(levels);
    for (level, lengths) in lengths.iter().enumerate().rev() {
        let partition = match (level, lengths.first()) {
            (0, Some(n)) => crate::tensor::RowPartition::uniform(*n, 1)?,
            _ => crate::expr::kernels::level::from_lengths(lengths.iter().copied())?,
        };
        dims.insert(0, if level == 0 { Dim::known(partition.nvals() as u64) } else { Dim::RAGGED });
        tensor = Tensor::list(partition, tensor, None)?;
    }
    Ok((Type::structure(fields, dims), tensor))
}

fn list_of(item: &Operand) -> Option<&[Operand]> {
    match &item.kind {
        OperandKind::List(items) | OperandKind::Tuple(items) => Some(items),
        _ => None,
    }
}

/// Structures without fields, of a shape whose first size may be given as `nrows`.
fn empty_structures(call: &mut Call, shape: Option<&[Option<i64>]>, nrows: Option<Integer>) -> ExprResult<OperandKind> {
    let mut sizes: Vec<Option<Integer>> = shape.unwrap_or_default().iter().map(|n| n.map(Integer::Known)).collect();
    if let (Some(first), Some(nrows)) = (sizes.first_mut(), nrows) {
        if let (Some(Integer::Known(a)), Some(b)) = (&first, nrows.known())
            && *a != b
        {
            return Err(call.error(format!("the shape says {a} rows; nrows is {b}")));
        }
        first.get_or_insert(nrows);
    }
    let sizes: Option<Vec<Integer>> = sizes.into_iter().collect();
    let sizes =
        sizes.ok_or_else(|| call.error("structures without fields need a shape of known sizes").help("nrows= gives the size of axis 0"))?;
    let dims: Vec<Dim> = sizes.iter().map(Integer::dim).collect();
    let frame = dims.clone();
    call.one(Type::structure(Vec::new(), dims), move |args| {
        let numbers = sizes.iter().map(|n| n.of(args)).collect::<Result<Vec<_>>>()?;
        let (partitions, records) = dense_partitions(&frame, args.nrows, |axis, record| numbers[axis].size(record, "the size"))?;
        wrap(partitions.into_iter(), Tensor::structure(records.len(), Vec::new(), None)?)
    })
}

/// Structures without fields, of a size or the lengths of the rows for each axis.
fn from_shape(call: &mut Call) -> ExprResult<OperandKind> {
    let item = call.operand(0)?.clone();
    let wrong = |e: &Operand| ExprError::at(e.span.clone(), format!("expected a size or a list of row lengths, found {}", e.describe()));
    let lengths = item.elements().ok_or_else(|| wrong(&item))?;
    let (mut dims, mut partitions, mut rows) = (Vec::with_capacity(lengths.len()), Vec::with_capacity(lengths.len()), 1usize);
    for axis in &lengths {
        let sizes = static_ints(axis).ok_or_else(|| wrong(axis))?;
        let sizes = sizes.into_iter().map(|n| usize::try_from(n).map_err(|_| wrong(axis))).collect::<ExprResult<Vec<_>>>()?;
        let uniform = axis.elements().is_none() && axis.node().is_none_or(|node| node.ty.rank() == 0);
        let partition = match sizes.as_slice() {
            [n] if uniform => RowPartition::uniform(*n, rows)?,
            sizes if sizes.len() == rows => from_lengths(sizes.iter().copied())?,
            sizes => return Err(ExprError::at(axis.span.clone(), format!("{} row lengths for {rows} rows", sizes.len()))),
        };
        check_count(Some(partition.nvals()), 0)?;
        rows = partition.nvals();
        dims.push(if uniform { Dim::known(sizes[0] as u64) } else { Dim::RAGGED });
        partitions.push(partition);
    }
    let tensor = wrap(partitions.into_iter(), Tensor::structure(rows, Vec::new(), None)?)?;
    let ty = Type::structure(Vec::new(), outermost_uniform(dims));
    Ok(OperandKind::Tensor(crate::expr::operand::constant(tensor, ty, call.span.clone())))
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

/// Whether two structures are equal, in each record; `None` where neither is a structure.
pub fn equal(call: &mut Call, negate: bool) -> ExprResult<Option<OperandKind>> {
    let is_structure = |item: &Operand| item.node().is_some_and(|n| n.ty.fields().is_some());
    let (a, b) = (call.operand(0)?.clone(), call.operand(1)?.clone());
    match (is_structure(&a), is_structure(&b)) {
        (false, false) => return Ok(None),
        (true, true) => {}
        (left, _) => {
            let other = if left { &b } else { &a };
            return Err(ExprError::at(other.span.clone(), format!("a structure compares with a structure; this is {}", other.describe())));
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

/// How many lists deep the dicts lie; `None` without dicts.
fn depth_of_dicts(item: &Operand) -> ExprResult<Option<usize>> {
    if let OperandKind::Dict(_) = item.kind {
        return Ok(Some(0));
    }
    let mut found = None;
    for inner in list_of(item).unwrap_or_default() {
        if let Some(depth) = depth_of_dicts(inner)? {
            if found.is_some_and(|f| f != depth + 1) {
                return Err(ExprError::at(inner.span.clone(), "the dicts lie at different depths"));
            }
            found = Some(depth + 1);
        }
    }
    Ok(found)
}

fn key_name(key: &Operand) -> ExprResult<String> {
    let OperandKind::Literal(Literal::String(name)) = &key.kind else {
        return Err(ExprError::at(key.span.clone(), format!("expected a name, found {}", key.describe())));
    };
    let mut letters = name.chars();
    if letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(name.clone());
    }
    Err(ExprError::at(key.span.clone(), format!("{name:?} is not a valid field name: use letters, digits and _")))
}
