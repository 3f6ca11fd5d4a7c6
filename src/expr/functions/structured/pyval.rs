//! Structured tensors from Python dictionaries and lists.
//!
//! Semantics: `tf.experimental.StructuredTensor.from_pyval`.

use crate::error::mismatch;
use crate::expr::call::{Call, Function, dtype_named, key_name, same_keys};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::level::from_lengths;
use crate::expr::literal;
use crate::expr::operand::{Operand, OperandKind, constant, entry};
use crate::expr::types::outermost_uniform;
use crate::printable::counted_axes;
use crate::schema::{Dim, Field, Literal, Size, Type};
use crate::tensor::{RowPartition, Tensor};

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["StructuredTensor.from_pyval"],
        "pyval, typespec=None",
        "A structured tensor from dictionaries and lists of dictionaries.",
        [("StructuredTensor.from_pyval([{\"a\": [1, 2]}, {\"a\": []}])[\"a\"]", "[[1, 2], []]")],
        from_pyval
    ),
    function!(
        ["StructuredTensor.Spec._from_fields_and_rank", "StructuredTensor.Spec"],
        "fields, rank=None",
        "The type of a structured tensor, for from_pyval: a dictionary of field types, which include the axes of the structured tensor.",
        [(
            "StructuredTensor.from_pyval({\"a\": 1}, typespec=StructuredTensor.Spec({\"a\": TensorSpec([], int64)}))[\"a\"].dtype == int64",
            "true"
        )],
        |c| Ok(c.operand(0)?.kind.clone())
    ),
];

fn from_pyval(call: &mut Call) -> ExprResult<OperandKind> {
    let item = call.operand(0)?.clone();
    let spec = call.given(1).cloned();
    let (ty, tensor) = python_value(&item, spec.as_ref(), 0).map_err(|e| e.or_at(item.span.clone()))?;
    if ty.fields().is_none() {
        fits(spec.as_ref(), &ty.dims, 0, &item)?;
    }
    Ok(OperandKind::Tensor(constant(tensor, ty, call.span.clone())))
}

/// The type of field `name` within the type of a structure.
fn spec_of<'a>(spec: Option<&'a Operand>, name: &str, item: &Operand) -> ExprResult<Option<&'a Operand>> {
    let Some(spec) = spec else { return Ok(None) };
    let OperandKind::Dict(fields, _) = &spec.kind else {
        return Err(ExprError::at(item.span.clone(), format!("these are structures; the typespec is {}", spec.describe())));
    };
    let missing = || ExprError::at(item.span.clone(), format!("the typespec has no field named `{name}`"));
    value_of(fields, name).map(Some).ok_or_else(missing)
}

fn value_of<'a>(dict: &'a [(Operand, Operand)], name: &str) -> Option<&'a Operand> {
    entry(dict, &Literal::String(name.to_owned()))
}

/// Checks that the fields of the typespec are the fields found.
fn all_found(spec: Option<&Operand>, names: &[String], item: &Operand) -> ExprResult<()> {
    let Some(OperandKind::Dict(fields, _)) = spec.map(|s| &s.kind) else { return Ok(()) };
    for (key, _) in fields {
        let name = key_name(key)?;
        if !names.contains(&name) {
            return Err(ExprError::at(item.span.clone(), format!("the field `{name}` of the typespec is missing")));
        }
    }
    Ok(())
}

/// Checks the axes of a tensor, below `outer` axes of structures, against its typespec.
fn fits(spec: Option<&Operand>, dims: &[Dim], outer: usize, item: &Operand) -> ExprResult<()> {
    let shape = match spec.map(|s| &s.kind) {
        Some(OperandKind::Spec(spec)) => match &spec.shape {
            Some(shape) => shape,
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    let known = |dim: &Dim| if let Size::Known(n) = dim.size { i64::try_from(n).ok() } else { None };
    let own = shape.get(outer..).unwrap_or_default();
    let same =
        shape.len() == outer + dims.len() && own.iter().zip(dims).all(|(n, dim)| n.is_none_or(|n| known(dim).is_none_or(|m| m == n)));
    if same {
        return Ok(());
    }
    let sizes: Vec<String> = shape.iter().map(|n| n.map_or("None".to_owned(), |n| n.to_string())).collect();
    Err(ExprError::at(
        item.span.clone(),
        format!("the typespec has the shape [{}]; this has {} or different sizes", sizes.join(", "), counted_axes(outer + dims.len())),
    ))
}

/// Converts a nested Python value: dicts become structures, lists of dicts structured tensors, other lists ragged
/// tensors.
fn python_value(item: &Operand, spec: Option<&Operand>, depth: usize) -> ExprResult<(Type, Tensor)> {
    if depth > crate::expr::syntax::MAX_DEPTH {
        return Err(ExprError::new("the value is nested too deeply"));
    }
    if let OperandKind::Dict(entries, _) = &item.kind {
        return dict_value(item, entries, spec, depth);
    }
    match depth_of_dicts(item)? {
        Some(levels) => dicts_value(item, levels, spec, depth),
        None => list_value(item, spec),
    }
}

/// Converts a dict.
fn dict_value(item: &Operand, entries: &[(Operand, Operand)], spec: Option<&Operand>, depth: usize) -> ExprResult<(Type, Tensor)> {
    let (mut fields, mut columns) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
    for (key, value) in entries {
        let name = key_name(key)?;
        let spec = spec_of(spec, &name, key)?;
        let (ty, tensor) = python_value(value, spec, depth + 1)?;
        if ty.fields().is_none() {
            fits(spec, &ty.dims, 0, value)?;
        }
        fields.push(Field::new(name, ty));
        columns.push(tensor);
    }
    let names: Vec<String> = fields.iter().map(|f| f.name.clone()).collect();
    all_found(spec, &names, item)?;
    Ok((Type::structure(fields, Vec::new()), Tensor::structure(1, columns, None)?))
}

/// Converts a value without dicts.
fn list_value(item: &Operand, spec: Option<&Operand>) -> ExprResult<(Type, Tensor)> {
    let literal = item.literal().ok_or_else(|| ExprError::at(item.span.clone(), mismatch("a nested value", item.describe())))?;
    let dtype = match spec.map(|s| &s.kind) {
        None => None,
        Some(OperandKind::Spec(spec)) => Some(spec.dtype.clone()),
        Some(OperandKind::DType(dtype)) => Some(dtype.clone()),
        Some(OperandKind::Literal(Literal::String(name))) => dtype_named(name),
        Some(_) => return Err(ExprError::at(item.span.clone(), "the typespec is for structures; this is a tensor")),
    };
    literal::ragged(&literal, dtype.as_ref(), None, None)
}

/// The values below `levels` levels of lists, and the lengths of the lists of each level.
fn levels_of(item: &Operand, levels: usize) -> ExprResult<(Vec<&Operand>, Vec<Vec<usize>>)> {
    let mut rows: Vec<&Operand> = vec![item];
    let mut lengths: Vec<Vec<usize>> = Vec::with_capacity(levels);
    for _ in 0..levels {
        let (mut below, mut level) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in rows {
            let items =
                list_of(row).ok_or_else(|| ExprError::at(row.span.clone(), "a list cannot mix lists of dictionaries with other values"))?;
            level.push(items.len());
            below.extend(items);
        }
        lengths.push(level);
        rows = below;
    }
    Ok((rows, lengths))
}

/// Converts dicts below `levels` levels of lists.
fn dicts_value(item: &Operand, levels: usize, spec: Option<&Operand>, depth: usize) -> ExprResult<(Type, Tensor)> {
    let (rows, lengths) = levels_of(item, levels)?;
    let dicts = rows
        .iter()
        .map(|row| {
            if let OperandKind::Dict(entries, _) = &row.kind {
                Ok(entries)
            } else {
                Err(ExprError::at(row.span.clone(), "a list cannot mix dictionaries with other values"))
            }
        })
        .collect::<ExprResult<Vec<_>>>()?;
    let names = dicts.first().map_or(Ok(Vec::new()), |d| d.iter().map(|(k, _)| key_name(k)).collect::<ExprResult<Vec<_>>>())?;
    all_found(spec, &names, item)?;
    same_keys(&names, dicts.iter().map(|dict| dict.as_slice()).zip(rows.iter().map(|row| &row.span)))?;
    let (mut fields, mut columns) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
    for name in &names {
        let values = dicts.iter().filter_map(|dict| value_of(dict, name).cloned()).collect();
        // The values of all dicts are bound as one list; its first axis is removed afterwards.
        let all = Operand { kind: OperandKind::List(values), span: item.span.clone() };
        let spec = spec_of(spec, name, item)?;
        let (ty, tensor) = python_value(&all, spec, depth + 1)?;
        let own = Type { dims: outermost_uniform(ty.dims.get(1..).unwrap_or_default().to_vec()), ..ty };
        if own.fields().is_none() {
            fits(spec, &own.dims, levels, item)?;
        }
        columns.push(tensor.levels(1)?.1.clone());
        fields.push(Field::new(name.clone(), own));
    }
    let mut tensor = Tensor::structure(dicts.len(), columns, None)?;
    let mut dims = Vec::with_capacity(levels);
    for (level, lengths) in lengths.iter().enumerate().rev() {
        let partition = match (level, lengths.first()) {
            (0, Some(n)) => RowPartition::uniform(*n, 1)?,
            _ => from_lengths(lengths.iter().copied())?,
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

/// The list depth of the dicts; `None` without dicts.
fn depth_of_dicts(item: &Operand) -> ExprResult<Option<usize>> {
    if let OperandKind::Dict(..) = item.kind {
        return Ok(Some(0));
    }
    let mut found = None;
    for inner in list_of(item).unwrap_or_default() {
        if let Some(depth) = depth_of_dicts(inner)? {
            if found.is_some_and(|f| f != depth + 1) {
                return Err(ExprError::at(inner.span.clone(), "the dictionaries are nested at different depths"));
            }
            found = Some(depth + 1);
        }
    }
    Ok(found)
}
