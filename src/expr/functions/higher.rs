//! Higher-order functions, which take a lambda with a single expression or the name of a function.
//!
//! ```text
//! map_flat_values(lambda v: v * 2, x)     with_flat_values(x, flat_values(x) * 2)
//! map_fn(lambda row: reduce_sum(row), x)  the function for every item of axis 0
//! ```
//!
//! The function is bound once, to columns. For `map_fn`, the items of all records are the records of the body, which is
//! evaluated once per chunk, regardless of the number of items.
//!
//! Semantics: `tf.ragged.map_flat_values`, `tf.map_fn`, `tf.sparse.map_values`.

use super::decompose::{flat, rewrap, sparse_with_values, values_of};
use crate::error::{Error, mismatch};
use crate::expr::call::{Arg, Call, Function, as_node, cast_node, kept, kept_node, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Each, Node, NodeKind, Param};
use crate::expr::kernels::entries;
use crate::expr::kernels::level::{check_same, check_uniform};
use crate::expr::operand::{Operand, OperandKind, Spec};
use crate::expr::span::Span;
use crate::expr::types::{below_axes, below_structure, last_ragged};
use crate::schema::{DType, Dim, Literal, Size, Type};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["ragged.map_flat_values", "map_flat_values"],
        "op, *args, **kwargs",
        "Apply a function to the flat_values of ragged tensors with equal row partitions.",
        [
            ("ragged.map_flat_values(lambda v: v * 10, [[3, 1], [2]])", "[[30, 10], [20]]"),
            ("ragged.map_flat_values(tf.add, [[3, 1], [2]], 3)", "[[6, 4], [5]]")
        ],
        map_flat_values
    ),
    function!(
        ["map_fn", "vectorized_map"],
        "fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True, name, fn_output_signature=None",
        "Apply a function to each item along axis 0.",
        [
            ("map_fn(lambda row: reduce_sum(row), [[3, 1], [2]])", "[4, 2]"),
            ("map_fn(lambda n: range(n), [2, 0, 1], fn_output_signature=RaggedTensorSpec(shape=[None], dtype=int32))", "[[0, 1], [], [0]]")
        ],
        map_fn
    ),
    function!(
        ["sparse.map_values"],
        "op, *args, **kwargs",
        "Apply a function to the values of sparse tensors with equal indices.",
        [("sparse.map_values(lambda v: v + 1, sparse.from_dense([0, 5])).values", "[6]")],
        map_values
    ),
    function!(
        ["TensorSpec"],
        "shape=None, dtype=float32",
        "The type of a dense tensor, for functions that take a type as an argument.",
        [("map_fn(lambda x: x / 2, [2, 4], fn_output_signature=TensorSpec([], float64))", "[1.0, 2.0]")],
        |c| spec(c, false, 0, 1)
    ),
    function!(
        ["RaggedTensorSpec"],
        "shape=None, dtype=float32, ragged_rank=None, row_splits_dtype=int64, flat_values_spec=None",
        "The type of a ragged tensor, for functions that take a type as an argument.",
        [("map_fn(lambda n: range(n), [2, 1], fn_output_signature=RaggedTensorSpec([None], int32))", "[[0, 1], [0]]")],
        |c| spec(c, true, 0, 1)
    ),
];

fn spec(call: &mut Call, ragged: bool, shape: usize, dtype: usize) -> ExprResult<OperandKind> {
    let (shape, dtype) = (call.shape(shape)?, call.dtype(dtype)?.unwrap_or(DType::Float32));
    Ok(OperandKind::Spec(Spec { ragged, dtype, shape }))
}

/// The arguments after the function, and the keywords.
type Arguments = (Vec<Operand>, Vec<(String, Span, Operand)>);

/// The tuple of `*args` and the dict of `**kwargs`.
fn arguments(call: &Call) -> ExprResult<Arguments> {
    let positional = call.operand(1)?.elements().unwrap_or_default();
    let keywords = match &call.operand(2)?.kind {
        OperandKind::Dict(entries, _) => entries
            .iter()
            .filter_map(|(key, value)| match &key.kind {
                OperandKind::Literal(Literal::String(name)) => Some((name.clone(), key.span.clone(), value.clone())),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    Ok((positional, keywords))
}

/// Applies `change` to every tensor among the arguments for which `wanted` is true, also inside lists.
fn replaced(
    (positional, keywords): Arguments,
    wanted: &dyn Fn(&Type) -> bool,
    change: &mut dyn FnMut(&Operand, &Node) -> ExprResult<Node>,
) -> ExprResult<Arguments> {
    fn one(
        operand: Operand,
        wanted: &dyn Fn(&Type) -> bool,
        change: &mut dyn FnMut(&Operand, &Node) -> ExprResult<Node>,
    ) -> ExprResult<Operand> {
        let span = operand.span.clone();
        // A nested list with rows of different lengths is a ragged tensor.
        let node = match &operand.kind {
            OperandKind::Tensor(node) => Some(node.clone()),
            OperandKind::List(_) if operand.is_literal() && operand.literal() != Some(Literal::None) => as_node(&operand, None).ok(),
            _ => None,
        };
        if let Some(node) = node.filter(|node| wanted(&node.ty)) {
            return Ok(Operand { kind: OperandKind::Tensor(change(&operand, &node)?), span });
        }
        let kind = match operand.kind {
            OperandKind::List(items) => {
                OperandKind::List(items.into_iter().map(|item| one(item, wanted, change)).collect::<ExprResult<_>>()?)
            }
            OperandKind::Tuple(items) => {
                OperandKind::Tuple(items.into_iter().map(|item| one(item, wanted, change)).collect::<ExprResult<_>>()?)
            }
            kind => kind,
        };
        Ok(Operand { kind, span })
    }
    let positional = positional.into_iter().map(|o| one(o, wanted, change)).collect::<ExprResult<_>>()?;
    let keywords = keywords.into_iter().map(|(name, at, o)| Ok((name, at, one(o, wanted, change)?))).collect::<ExprResult<_>>()?;
    Ok((positional, keywords))
}

fn map_flat_values(call: &mut Call) -> ExprResult<OperandKind> {
    let op = call.function(0)?;
    let (mut ragged, text) = (Vec::new(), call.text().clone());
    let given = arguments(call)?;
    let (positional, keywords) = replaced(given, &|ty| last_ragged(&ty.dims).is_some() && ty.fields().is_none(), &mut |operand, _| {
        let node = kept_node(operand)?;
        let flat = flat(&mut Call::operator("flat_values", operand.span.clone(), text.clone()), node.clone())?;
        ragged.push(node);
        Ok(flat)
    })?;
    let result = (op.apply)(positional, keywords)?;
    let Some(first) = ragged.first() else {
        return Ok(result.kind);
    };
    let levels = last_ragged(&first.ty.dims).map_or(1, |last| last + 1);
    if let Some(other) = ragged.iter().find(|node| last_ragged(&node.ty.dims).map(|last| last + 1) != Some(levels)) {
        return Err(ExprError::at(other.span.clone(), format!("{}: the ragged tensors have different partitions", call.name)));
    }
    let first = same_partitions(call, &ragged, levels)?;
    let new = kept_node(&result)?;
    if new.ty.rank() == 0 {
        return Err(call.error(format!("{}: the function returns a single value; it must return one for each flat value", call.name)));
    }
    let new = call.push(new);
    rewrap(call, first, new, levels)
}

/// The first ragged tensor, after checking that all have the same partitions.
fn same_partitions(call: &mut Call, ragged: &[Node], levels: usize) -> ExprResult<Arg> {
    let [first, others @ ..] = ragged else {
        return Err(call.internal("no ragged tensor"));
    };
    if others.is_empty() {
        return Ok(call.push(first.clone()));
    }
    let mut check = Call::operator(&call.name, call.span.clone(), call.text().clone());
    let args: Vec<Arg> = ragged.iter().map(|node| check.push(node.clone())).collect();
    let ty = first.ty.clone();
    let checked = check.one(ty, move |values| {
        let tensors = args.iter().map(|arg| arg.of(values)).collect::<crate::error::Result<Vec<_>>>()?;
        for other in &tensors[1..] {
            check_same(&tensors[0], other, levels, "the ragged tensors")?;
        }
        Ok(tensors[0].as_ref().clone())
    })?;
    match checked {
        OperandKind::Tensor(node) => Ok(call.push(node)),
        _ => Err(call.internal("no tensor")),
    }
}

fn map_values(call: &mut Call) -> ExprResult<OperandKind> {
    let op = call.function(0)?;
    let (mut sparse, text) = (Vec::new(), call.text().clone());
    let given = arguments(call)?;
    let (positional, keywords) = replaced(given, &Type::is_sparse, &mut |operand, _| {
        let node = strict_node(operand)?;
        let values = values_of(&mut Call::operator("values", operand.span.clone(), text.clone()), node.clone())?;
        sparse.push(node);
        Ok(values)
    })?;
    let result = (op.apply)(positional, keywords)?;
    if sparse.is_empty() {
        return Err(call
            .error(format!("{} needs at least one sparse tensor", call.name))
            .help("to convert a dense tensor: sparse.from_dense(x)"));
    }
    let new = call.push(strict_node(&result)?);
    let args: Vec<Arg> = sparse.into_iter().map(|node| call.push(node)).collect();
    if args.len() > 1 {
        let mut check = Call::operator(&call.name, call.span.clone(), call.text().clone());
        let nodes = args.iter().map(|arg| check.push(call.node(arg))).collect::<Vec<_>>();
        let checked = check.one(args[0].ty.clone(), move |values| {
            let tensors = nodes.iter().map(|arg| arg.of(values)).collect::<crate::error::Result<Vec<_>>>()?;
            let first = entries::sparse(&tensors[0])?;
            for other in &tensors[1..] {
                let other = entries::sparse(other)?;
                if first.entries() != other.entries() || first.indices() != other.indices() {
                    let row = first.entries().first_difference(other.entries());
                    let row = row.or_else(|| {
                        (0..first.nrows()).find(|row| first.entries().range(*row).any(|e| first.index_of(e) != other.index_of(e)))
                    });
                    return Err(Error::data("the sparse tensors have different indices").at_row(row.unwrap_or(0)));
                }
            }
            Ok(tensors[0].as_ref().clone())
        })?;
        let OperandKind::Tensor(node) = checked else {
            return Err(call.internal("no tensor"));
        };
        let first = call.push(node);
        return sparse_with_values(call, first, new);
    }
    let first = args[0].clone();
    sparse_with_values(call, first, new)
}

fn map_fn(call: &mut Call) -> ExprResult<OperandKind> {
    let function = call.function(0)?;
    let elems = call.operand(1)?.clone();
    let signature = call.given(7).or_else(|| call.given(2)).cloned();
    // A tuple of tensors is one argument: a tuple of their items.
    let list = match &elems.kind {
        OperandKind::Tuple(items) => Some(items.clone()),
        OperandKind::List(items) if !elems.is_literal() => Some(items.clone()),
        OperandKind::Results(_) => elems.elements(),
        _ => None,
    };
    let over = list.as_ref().map_or_else(|| vec![elems.clone()], Clone::clone).iter().map(kept_node).collect::<ExprResult<Vec<_>>>()?;
    if over.is_empty() {
        return Err(ExprError::at(elems.span.clone(), format!("{} needs at least one tensor", call.name)));
    }
    let (rows, params, mut items) = items_of(&over, &call.name)?;
    let argument = match &list {
        None => items.remove(0),
        Some(_) => Operand { kind: OperandKind::Tuple(items), span: elems.span.clone() },
    };
    let result = (function.apply)(vec![argument], Vec::new())?;
    let several = result.elements().filter(|_| matches!(result.kind, OperandKind::Tuple(_) | OperandKind::Results(_)));
    let specs = match (&several, &signature) {
        (Some(results), Some(signature)) => {
            let specs = signature.elements().filter(|specs| specs.len() == results.len());
            let wrong = || ExprError::at(signature.span.clone(), format!("{}: the function returns {} results", call.name, results.len()));
            specs.ok_or_else(wrong)?.into_iter().map(Some).collect()
        }
        (Some(results), None) => vec![None; results.len()],
        (None, signature) => vec![signature.clone()],
    };
    let ragged = over.iter().any(|node| last_ragged(&node.ty.dims).is_some());
    let results = several.clone().unwrap_or_else(|| vec![result.clone()]);
    let wanted = specs.iter().map(|spec| Wanted::of(spec.as_ref(), ragged)).collect::<ExprResult<Vec<_>>>()?;
    let nodes = results.iter().zip(&wanted).map(|(result, wanted)| wanted.node(result)).collect::<ExprResult<Vec<_>>>()?;
    let types: Vec<Type> = nodes.iter().map(|node| node.ty.clone()).collect();
    let each = Arc::new(Each::new(over, params, nodes));
    let mut out = Vec::with_capacity(types.len());
    for (i, (ty, wanted)) in types.into_iter().zip(&wanted).enumerate() {
        let mut dims = vec![rows.clone()];
        dims.extend(if wanted.ragged { below_structure(&ty.dims, true) } else { ty.dims.clone() });
        let ty = Type { dims: dims.clone(), ..ty };
        let whole = Node { ty: ty.clone(), span: call.span.clone(), kind: NodeKind::Each(each.clone(), i) };
        let mut check = Call::operator(&call.name, call.span.clone(), call.text().clone());
        let arg = check.push(whole);
        let kind = check.one(ty, move |args| {
            let tensor = arg.of(args)?.into_owned();
            check_uniform(&tensor, &dims).map_err(|e| {
                e.help(
                    "a function that returns rows of different lengths needs fn_output_signature=RaggedTensorSpec(shape=[None], dtype=...)",
                )
            })?;
            Ok(tensor)
        })?;
        out.push(Operand { kind, span: call.span.clone() });
    }
    Ok(if several.is_some() { OperandKind::Tuple(out) } else { out.remove(0).kind })
}

/// The number of items in every tensor, and for each tensor a parameter for an item of it, and the item as an operand.
pub(super) fn items_of(over: &[Node], name: &str) -> ExprResult<(Dim, Vec<Param>, Vec<Operand>)> {
    let first = over.first().and_then(|node| node.ty.dims.first());
    let mut rows = Dim::of(first.map_or(Size::Uniform, |d| d.size));
    let (mut params, mut items) = (Vec::with_capacity(over.len()), Vec::with_capacity(over.len()));
    for node in over {
        let Some(dim) = node.ty.dims.first().filter(|_| !node.ty.is_sparse()) else {
            let message = format!("{name} expects a tensor with at least one axis, found {}", node.ty);
            return Err(ExprError::at(node.span.clone(), message));
        };
        match (dim.size, rows.size) {
            (Size::Known(a), Size::Known(b)) if a != b => {
                let message = format!("{name}: the tensors must have the same number of items; found {b} and {a}");
                return Err(ExprError::at(node.span.clone(), message));
            }
            (Size::Known(n), _) => rows = Dim::known(n),
            _ => {}
        }
        let ty = below_axes(&node.ty, 1);
        let param = Param::new("item");
        let item = Node { ty, span: node.span.clone(), kind: NodeKind::Param(param.clone()) };
        params.push(param);
        items.push(Operand { kind: OperandKind::Tensor(item), span: node.span.clone() });
    }
    Ok((rows, params, items))
}

/// The result type that `fn_output_signature` specifies.
struct Wanted {
    ragged: bool,
    dtype: Option<DType>,
}

impl Wanted {
    /// `ragged`: whether the tensors to which the function is applied are ragged.
    fn of(spec: Option<&Operand>, ragged: bool) -> ExprResult<Wanted> {
        let Some(spec) = spec.filter(|spec| !spec.is_none()) else {
            return Ok(Wanted { ragged, dtype: None });
        };
        match &spec.kind {
            OperandKind::DType(dtype) => Ok(Wanted { ragged: false, dtype: Some(dtype.clone()) }),
            OperandKind::Spec(found) => Ok(Wanted { ragged: found.ragged, dtype: Some(found.dtype.clone()) }),
            _ => Err(ExprError::at(spec.span.clone(), mismatch("a dtype, a TensorSpec or a RaggedTensorSpec", spec.describe()))),
        }
    }

    /// A result of the function as a tensor of the dtype.
    fn node(&self, result: &Operand) -> ExprResult<Node> {
        let node = as_node(result, self.dtype.as_ref())?;
        let node = kept(node)?;
        if node.ty.is_sparse() {
            return Err(ExprError::at(result.span.clone(), "the function returns a sparse tensor for each item; these cannot be combined"));
        }
        let is_text = |dtype: &DType| matches!(dtype, DType::String | DType::Bytes);
        match &self.dtype {
            // TensorFlow has a single dtype for both.
            Some(dtype) if is_text(dtype) && node.ty.dtype().is_some_and(is_text) => match dtype {
                DType::Bytes => cast_node(node, dtype, &Arc::from("")),
                _ => Ok(node),
            },
            Some(dtype) if node.ty.dtype().is_some_and(|d| d != dtype) => {
                Err(ExprError::at(result.span.clone(), format!("the function returns {}, but its output signature says {dtype}", node.ty))
                    .help(format!("convert the result of the function: cast(..., {dtype})")))
            }
            _ => Ok(node),
        }
    }
}
