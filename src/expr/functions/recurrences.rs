//! Recurrences: functions of an item and of what they returned for the item before.
//!
//! Semantics: `tf.scan`, `tf.foldl`, `tf.foldr`.

use super::higher::items_of;
use crate::expr::call::{Call, Function, as_node, cast_node, strict, strict_node};
use crate::expr::error::{ExprError, ExprResult, text_at};
use crate::expr::eval::{Node, NodeKind, Param};
use crate::expr::kernels::level::check_uniform;
use crate::expr::literal;
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::steps::{Order, Steps};
use crate::expr::types::promote;
use crate::schema::{DType, Dim, Size, Type};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["scan"],
        "fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True, reverse=False",
        "Apply a function of two arguments, its previous result and an item, to the items of axis 0 one after the other (from the last one with reverse=True); returns all results. The first call is given initializer or, without it, the first result is the first item.",
        [
            ("scan(lambda a, x: a + x, [1, 2, 3])", "[1, 3, 6]"),
            ("scan(lambda a, r: r + 0.5 * a, [1.0, 1.0, 4.0], initializer=0.0, reverse=True)", "[2.5, 3.0, 4.0]")
        ],
        |c| {
            let from_end = c.flag(7, false)?;
            steps(c, Order { from_end, all: true })
        }
    ),
    function!(
        ["foldl"],
        "fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False",
        "Like scan, but returns only the last result.",
        [("foldl(lambda a, x: a * 10 + x, [1, 2, 3])", "123")],
        |c| steps(c, Order { from_end: false, all: false })
    ),
    function!(
        ["foldr"],
        "fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False",
        "Like foldl, from the last item to the first.",
        [("foldr(lambda a, x: a * 10 + x, [1, 2, 3])", "321")],
        |c| steps(c, Order { from_end: true, all: false })
    ),
];

/// The tensors of a tuple, of several results or, with `lists`, of a list, or else the only one.
fn several(item: &Operand, lists: bool) -> (Vec<Operand>, bool) {
    let list = match &item.kind {
        OperandKind::Tuple(items) => Some(items.clone()),
        OperandKind::List(items) if lists => Some(items.clone()),
        OperandKind::Results(_) => item.elements(),
        _ => None,
    };
    list.map_or_else(|| (vec![item.clone()], false), |items| (items, true))
}

/// An argument of the function: a tensor, or a tuple of tensors.
fn argument(mut items: Vec<Operand>, is_tuple: bool, like: &Operand) -> Operand {
    if is_tuple { Operand { kind: OperandKind::Tuple(items), span: like.span.clone() } } else { items.remove(0) }
}

fn steps(call: &mut Call, order: Order) -> ExprResult<OperandKind> {
    let function = call.function(0)?;
    let elems = call.operand(1)?.clone();
    let (list, is_list) = several(&elems, !elems.is_literal());
    let over = list.iter().map(strict_node).collect::<ExprResult<Vec<_>>>()?;
    if over.is_empty() {
        return Err(ExprError::at(elems.span.clone(), format!("{} needs at least one tensor", call.name)));
    }
    let (rows, item_params, items) = items_of(&over, &call.name)?;
    let item_types: Vec<Type> = items.iter().filter_map(Operand::node).map(|node| node.ty.clone()).collect();
    let item = argument(items, is_list, &elems);
    let given = call.given(2).cloned();
    let (written, is_tuple) = given.as_ref().map_or((Vec::new(), is_list), |given| several(given, true));
    let like = item_types.first().and_then(Type::dtype).filter(|_| !is_tuple && !is_list);
    let mut initial = written.iter().map(|one| initial_node(one, like, call)).collect::<ExprResult<Vec<_>>>()?;
    if let (Some(given), true) = (&given, initial.is_empty()) {
        return Err(ExprError::at(given.span.clone(), format!("{}: the list of initial values is empty", call.name)));
    }
    let place = given.as_ref().unwrap_or(&elems);
    if written.iter().any(Operand::is_literal) {
        adapt(&written, &mut initial, |types| {
            let (_, operands) = parameters(types, place);
            Ok(several(&(function.apply)(vec![argument(operands, is_tuple, place), item.clone()], Vec::new())?, is_tuple).0)
        });
    }
    let before = if given.is_some() { initial.iter().map(|node| node.ty.clone()).collect() } else { item_types };
    let (mut params, results, types) = bound(before, |types| {
        let (params, operands) = parameters(types, place);
        let result = (function.apply)(vec![argument(operands, is_tuple, place), item.clone()], Vec::new())?;
        Ok((params, results_of(&result, types, is_tuple, call)?))
    })?;
    params.extend(item_params);
    let steps = Arc::new(Steps::new(over, initial, params, results, order));
    let mut out = Vec::with_capacity(types.len());
    for (i, ty) in types.into_iter().enumerate() {
        let ty = if order.all { Type { dims: [vec![rows.clone()], ty.dims.clone()].concat(), ..ty } } else { ty };
        let whole = Node { ty: ty.clone(), span: call.span.clone(), kind: NodeKind::Steps(steps.clone(), i) };
        let mut check = Call::operator(&call.name, call.span.clone(), call.text().clone());
        let (arg, dims) = (check.push(whole), ty.dims.clone());
        let kind = check.one(ty, move |args| {
            let tensor = arg.of(args)?.into_owned();
            check_uniform(&tensor, &dims)?;
            Ok(tensor)
        })?;
        out.push(Operand { kind, span: call.span.clone() });
    }
    Ok(if is_tuple { OperandKind::Tuple(out) } else { out.remove(0).kind })
}

/// The value before the first step. A number takes the dtype of the items if that holds it.
fn initial_node(item: &Operand, like: Option<&DType>, call: &Call) -> ExprResult<Node> {
    let node = strict(as_node(item, like.filter(|_| item.is_literal()))?)?;
    if node.ty.is_sparse() || node.ty.dtype().is_none() {
        return Err(ExprError::at(item.span.clone(), format!("{}: the initial value must be a tensor, not {}", call.name, node.ty)));
    }
    // A fraction beside integers, as in arithmetic.
    let is_fraction = item.is_literal() && node.ty.dtype() == Some(&DType::Float32) && like.is_some_and(DType::is_integer);
    if is_fraction { cast_node(node, &DType::Float64, call.text()) } else { Ok(node) }
}

/// Gives initial values that are literals the dtypes of the results for them, if those hold them. These depend on each other, so
/// that this takes at most one round for each, and one in which nothing changes.
fn adapt(written: &[Operand], initial: &mut [Node], mut results: impl FnMut(&[Type]) -> ExprResult<Vec<Operand>>) {
    for _ in 0..=initial.len() {
        let types: Vec<Type> = initial.iter().map(|node| node.ty.clone()).collect();
        // An error is found again, and reported, with the dtypes of the literals as they are then.
        let Ok(results) = results(&types) else { return };
        let mut is_changed = false;
        for ((one, node), result) in written.iter().zip(&mut *initial).zip(&results) {
            let (Some(literal), Ok(result)) = (one.literal(), as_node(result, node.ty.dtype())) else { continue };
            let wider = result.ty.dtype().filter(|dtype| node.ty.dtype() != Some(*dtype) && literal::holds(dtype, &literal));
            if let Some(adapted) = wider.and_then(|dtype| strict(as_node(one, Some(dtype)).ok()?).ok()) {
                (*node, is_changed) = (adapted, true);
            }
        }
        if !is_changed {
            return;
        }
    }
}

/// Parameters for values of these types, and the values as operands.
fn parameters(types: &[Type], like: &Operand) -> (Vec<Param>, Vec<Operand>) {
    let one = |ty: &Type| {
        let param = Param::new("previous");
        let node = Node { ty: ty.clone(), span: like.span.clone(), kind: NodeKind::Param(param.clone()) };
        (param, Operand { kind: OperandKind::Tensor(node), span: like.span.clone() })
    };
    types.iter().map(one).unzip()
}

/// Binds the function to values of types that all steps have: an axis whose size changes has an unknown one.
fn bound(
    mut types: Vec<Type>,
    mut bind: impl FnMut(&[Type]) -> ExprResult<(Vec<Param>, Vec<Node>)>,
) -> ExprResult<(Vec<Param>, Vec<Node>, Vec<Type>)> {
    loop {
        let (params, results) = bind(&types)?;
        let merged: Vec<Type> = types.iter().zip(&results).map(|(ty, node)| open(ty, &node.ty)).collect();
        if merged == types {
            return Ok((params, results, types));
        }
        types = merged;
    }
}

/// The type, with an unknown size for each axis whose size differs.
fn open(ty: &Type, other: &Type) -> Type {
    let dims = ty.dims.iter().zip(&other.dims).map(|(a, b)| match (a.size, b.size) {
        (Size::Ragged, _) | (_, Size::Ragged) => Dim::RAGGED,
        (m, n) if m == n => a.clone(),
        _ => Dim::UNIFORM,
    });
    Type { dims: dims.collect(), ..ty.clone() }
}

/// The results of a step, with the dtypes and ranks of the previous values.
fn results_of(result: &Operand, types: &[Type], is_tuple: bool, call: &Call) -> ExprResult<Vec<Node>> {
    let (results, returns_tuple) = several(result, is_tuple);
    if returns_tuple != is_tuple || results.len() != types.len() {
        let message = match types.len() {
            _ if !is_tuple => format!("{}: the function must return one tensor, as its first argument is", call.name),
            n => format!("{}: the function must return a tuple of {n} tensors, as its first argument is", call.name),
        };
        let error = ExprError::at(result.span.clone(), message);
        return Err(if is_tuple { error.help("for a vector as initial value: constant([0, 0])") } else { error });
    }
    results
        .iter()
        .zip(types)
        .map(|(result, ty)| {
            let node = strict(as_node(result, ty.dtype())?)?;
            if node.ty.dtype() != ty.dtype() || node.ty.is_sparse() || node.ty.rank() != ty.rank() {
                let message = format!("{}: the function returns {}, but its first argument is {ty}", call.name, node.ty);
                let widens = |to: &DType| ty.dtype().and_then(|from| promote(from, to)).is_some_and(|wide| wide == *to);
                return Err(ExprError::at(result.span.clone(), message).help(match (node.ty.dtype(), call.given(2)) {
                    (Some(dtype), Some(given)) if node.ty.rank() == ty.rank() && !is_tuple && widens(dtype) => {
                        format!("set initializer=cast({}, {dtype})", text_at(call.text(), &given.span))
                    }
                    (Some(dtype), _) if node.ty.rank() == ty.rank() => format!("set initializer= to a value of dtype {dtype}"),
                    _ => "the results of all steps must have the same dtype and number of axes".to_owned(),
                }));
            }
            Ok(node)
        })
        .collect()
}
