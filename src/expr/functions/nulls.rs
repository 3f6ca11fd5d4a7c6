//! Nulls: testing, replacing, removing and making them. Functions that select or move whole values carry them; all others
//! reject them.
//!
//! ```text
//! x                        [1 null] null [3]      level 0: the field, level 1: its items, ...
//! is_null(x)               [F T]    null [F]
//! is_null(x, level=0)      F        T    F
//! fill_null(x, 0)          [1 0]    null [3]
//! fill_null(x, [])         [1 null] []   [3]
//! drop_null(x)             [1]      null [3]
//! null_if(x, 3)            [1 null] null [null]
//! ```
//!
//! Semantics: Arrow's validity bitmaps. TensorFlow's tensors have no nulls.

use super::apply::pointwise;
use super::time::{texts_of, times_of_literal};
use crate::error::Result;
use crate::expr::call::{Arg, Call, Function, as_maps, as_node, is_map, is_of_times, moved_node, not_null, strict};
use crate::expr::error::{ExprError, ExprResult, conversion, text_at};
use crate::expr::eval::{Node, NodeKind};
use crate::expr::kernels::compare::compare;
use crate::expr::kernels::datum::Datum;
use crate::expr::kernels::elementwise::choose;
use crate::expr::kernels::level::{from_lengths, record_of};
use crate::expr::kernels::time::time_of;
use crate::expr::operand::{Operand, OperandKind, describe};
use crate::expr::syntax::Compare;
use crate::expr::types::promote;
use crate::schema::{DType, Dim, Element, Literal, Size, Type};
use crate::tensor::Tensor;
use crate::tensor::nulls::{Filling, all_known, fill_values};
use crate::tensor::time::ticks;
use arrow_array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow_buffer::BooleanBuffer;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["is_null"],
        "x, level=None",
        "Whether values are null. Level 0 tests the field, level 1 its items, and so on.",
        [("is_null([[3, 1], [2]])", "[[false, false], [false]]"), ("is_null([3, 1], level=0)", "false")],
        is_null
    ),
    function!(
        ["fill_null"],
        "x, value",
        "Replace null values with a value. Null lists stay null; the value [] replaces only null lists, including null lists of structures. Write times as text.",
        [("fill_null([3, 1], 0)", "[3, 1]")],
        fill_null
    ),
    function!(
        ["drop_null"],
        "x, level=None",
        "Remove null values, or the null items at the given level.",
        [("drop_null([[3, 1], [2]])", "[[3, 1], [2]]")],
        drop_null
    ),
    function!(
        ["null_if"],
        "x, value",
        "Null where x equals the value, else x. For null under any other condition: where(condition, None, x).",
        [("null_if([3, -1, 2], -1)", "[3, null, 2]")],
        null_if
    ),
];

/// Argument 0, which may have nulls and foreign dtypes.
fn nullable(call: &mut Call) -> ExprResult<(Node, Arg)> {
    let node = as_node(call.operand(0)?, None)?;
    let arg = call.push(node.clone());
    Ok((node, arg))
}

/// The number of levels that can hold nulls: the field, then the items of each axis. Sparse tensors have only the first
/// level.
fn levels(ty: &Type) -> usize {
    if ty.is_sparse() { 0 } else { ty.rank() }
}

fn level(call: &Call, ty: &Type, least: usize) -> ExprResult<usize> {
    let most = levels(ty);
    let Some(level) = call.optional_int(1)? else {
        return Ok(most);
    };
    usize::try_from(level).ok().filter(|n| (least..=most).contains(n)).ok_or_else(|| {
        let span = call.given(1).map_or(call.span.clone(), |o: &Operand| o.span.clone());
        ExprError::at(span, format!("{}: level must be from {least} to {most}, not {level}", call.name))
            .help("level 0 is the whole field, level 1 the items of its first axis")
    })
}

/// The type with replaced values; those at `level` are not null.
fn without(ty: &Type, level: usize, element: Element, dims: Vec<Dim>) -> Type {
    Type { element, optional: ty.optional && level > 0, with_nulls: ty.with_nulls && level > 1, dims }
}

fn is_null(call: &mut Call) -> ExprResult<OperandKind> {
    let (node, x) = nullable(call)?;
    let level = level(call, &node.ty, 0)?;
    let ty = without(&node.ty, level, Element::Value(DType::Bool), node.ty.dims[..level].to_vec());
    call.one(ty, move |args| {
        x.of(args)?.map_below(level, &mut |t| {
            let bits = match t.validity() {
                Some(validity) => !validity.inner(),
                None => BooleanBuffer::new_unset(t.nrows()),
            };
            Ok(Tensor::Leaf(Arc::new(BooleanArray::new(bits, None))))
        })
    })
}

fn drop_null(call: &mut Call) -> ExprResult<OperandKind> {
    let (node, x) = nullable(call)?;
    if levels(&node.ty) == 0 {
        return Err(ExprError::at(
            x.span.clone(),
            format!("drop_null expects a tensor with at least one axis, found {}", describe(&node.ty)),
        )
        .help(format!("filter 'not is_null({})' drops records", text_at(call.text(), &x.span))));
    }
    let level = level(call, &node.ty, 1)?;
    let mut dims = node.ty.dims.clone();
    dims[level - 1] = if level == 1 { Dim::UNIFORM } else { Dim::RAGGED };
    let ty = Type { with_nulls: node.ty.with_nulls && (level > 1 || level < levels(&node.ty)), dims, ..node.ty.clone() };
    call.one(ty, move |args| {
        x.of(args)?.map_below(level - 1, &mut |t| {
            let list = t.as_list()?;
            let Some(nulls) = list.values().validity() else { return Ok(t.clone()) };
            let partition = list.partition();
            let lengths = (0..partition.nrows()).map(|row| partition.range(row).filter(|i| nulls.is_valid(*i)).count());
            let kept: Vec<usize> = (0..partition.nrows()).flat_map(|row| partition.range(row)).filter(|i| nulls.is_valid(*i)).collect();
            Tensor::list(from_lengths(lengths)?, list.values().gather(&kept)?, list.validity().cloned())
        })
    })
}

fn fill_null(call: &mut Call) -> ExprResult<OperandKind> {
    let value = call.operand(1)?.clone();
    let node = as_node(call.operand(0)?, None)?;
    let node = if node.ty.dtype() == Some(&DType::Null) { taken(call, node, &value)? } else { node };
    let x = call.push(node.clone());
    let is_empty_list = value.elements().is_some_and(|items| items.is_empty());
    if (node.ty.fields().is_some() && !(is_empty_list && node.ty.rank() > 0)) || node.ty.is_sparse() {
        return Err(ExprError::at(x.span.clone(), format!("fill_null expects a tensor, found {}", describe(&node.ty)))
            .help("fill its fields: st.a = fill_null(st.a, 0); or leave it out: drop_null(st)"));
    }
    if is_empty_list {
        let filled = fill_lists(call, &node, x, &value)?;
        return Ok(if is_map(&node) { as_maps(filled) } else { filled });
    }
    let filler = filler_of(call, &node, &value)?;
    if filler.ty.fields().is_some() && node.ty.fields().is_none() {
        let message = format!("fill_null: the value must be {}, not {}", describe(&node.ty), describe(&filler.ty));
        return Err(ExprError::at(value.span.clone(), message));
    }
    let element = filler.ty.element.clone();
    let rank = filler.ty.rank();
    let Some(level) = node.ty.rank().checked_sub(rank) else {
        return Err(ExprError::at(value.span.clone(), format!("fill_null: the value has rank {rank}, but x has rank {}", node.ty.rank())));
    };
    if let Some(misfit) = misfit(call, &node, &value) {
        return Err(misfit);
    }
    // A single value that is the same for all records also fills lists of known size.
    if rank == 0 && filler.is_constant() {
        let dims = node.ty.dims.clone();
        let mut ty = without(&node.ty, level, element, dims.clone());
        if all_known(&dims) {
            (ty.optional, ty.with_nulls) = (false, false);
        }
        let filler = call.push(filler);
        return call.one(ty, move |args| {
            let filling = Filling::Value(args.value(filler.index)?.tensor.as_leaf()?.clone());
            fill_values(&*x.of(args)?, &dims, &filling)
        });
    }
    let mut dims = node.ty.dims.clone();
    for (axis, (own, other)) in dims[level..].iter_mut().zip(&filler.ty.dims).enumerate() {
        match (own.size, other.size) {
            (Size::Known(a), Size::Known(b)) if a != b => {
                return Err(ExprError::at(
                    value.span.clone(),
                    format!("fill_null: the value has {b} items on axis {axis}, {} has {a}", node.ty),
                ));
            }
            (Size::Known(_), Size::Known(_)) | (Size::Ragged, _) => {}
            _ => *own = if level + axis == 0 { Dim::UNIFORM } else { Dim::RAGGED },
        }
    }
    let ty = without(&node.ty, level, element, dims);
    let ty = Type { with_nulls: node.ty.with_nulls && (level > 1 || rank > 0), ..ty };
    let filler = call.push(filler);
    call.one(ty, move |args| {
        let (tensor, filler) = (x.of(args)?, filler.of(args)?);
        tensor.map_below(level, &mut |t| {
            let Some(nulls) = t.validity() else { return Ok(t.clone()) };
            let n = t.nrows();
            let places: Vec<usize> = (0..n).map(|i| if nulls.is_valid(i) { i } else { n + record_of(&tensor, level, i) }).collect();
            Tensor::concat(&[t, &*filler])?.gather(&places)
        })
    })
}

/// A tensor of dtype null, as one of the type of the value that replaces its nulls: that of its values, and the axes of a value
/// that has more.
fn taken(call: &Call, node: Node, value: &Operand) -> ExprResult<Node> {
    let is_empty_list = value.elements().is_some_and(|items| items.is_empty());
    let mut to = Type { optional: true, with_nulls: true, ..node.ty.clone() };
    if is_empty_list && to.dims.is_empty() {
        to.dims.push(Dim::UNIFORM);
    }
    if !is_empty_list && !node.ty.is_sparse() {
        let filler = as_node(value, None)?.ty;
        let Some(dtype) = filler.dtype().filter(|_| !filler.is_sparse()) else { return Ok(node) };
        to.element = Element::Value(dtype.clone());
        to.dims.extend(filler.dims.into_iter().skip(node.ty.rank()));
    }
    let (from, ty) = (node.ty.clone(), Type { optional: node.ty.optional, with_nulls: node.ty.with_nulls, ..to.clone() });
    let mut taking = Call::operator(&call.name, node.span.clone(), call.text().clone());
    let x = taking.push(node);
    let kind = taking.one(ty, move |args| x.of(args)?.widen(&from, &to))?;
    taking.result(kind)
}

/// The dtype of the values of a tensor, if there are any.
fn dtype_of_values(node: &Node) -> Option<&DType> {
    node.ty.dtype().filter(|dtype| **dtype != DType::Null)
}

/// The error of a literal that a float dtype cannot hold.
fn misfit(call: &Call, node: &Node, value: &Operand) -> Option<ExprError> {
    let literal = value.literal().filter(|_| dtype_of_values(node).is_some_and(DType::is_float))?;
    literal.misfit(&node.ty).map(|misfit| ExprError::at(value.span.clone(), format!("{}: {misfit}", call.name)))
}

/// The value that replaces nulls or is replaced by them, which has the dtype of the others.
fn filler_of(call: &Call, node: &Node, value: &Operand) -> ExprResult<Node> {
    let dtype = dtype_of_values(node);
    let texts = value.literal().filter(|literal| texts_of(literal).is_some());
    let filler = match (dtype.filter(|dtype| dtype.time().is_some()), texts) {
        (Some(dtype), Some(texts)) => {
            times_of_literal(&texts, value, &format!("{}: ", call.name), &|texts| time_of(texts, &dtype.arrow()))?
        }
        _ => {
            let filler = as_node(value, dtype)?;
            if is_of_times(&filler) && filler.ty.dtype() == dtype { not_null(filler) } else { strict(filler)? }
        }
    };
    if let (Some(dtype), Some(found)) = (dtype, filler.ty.dtype())
        && dtype != found
    {
        if let (Some(Literal::Float(_)), Some(misfit)) = (value.literal(), misfit(call, node, value)) {
            return Err(misfit);
        }
        let error = ExprError::at(value.span.clone(), format!("{}: value must be {dtype}, not {}", call.name, value.describe()));
        return Err(match dtype.time() {
            Some(time) => error.help(format!("write it as text, such as {}", time.zero_literal())),
            None if value.is_literal() && !(dtype.is_number() && found.is_number()) => error,
            // A cast of the value would change it.
            None if value.is_literal() => match (&node.kind, promote(dtype, found)) {
                (NodeKind::Slot { name, .. }, Some(wide)) if node.ty.rank() == 0 && call.name == "fill_null" => {
                    let value = text_at(call.text(), &value.span);
                    error.help(format!("to get {wide}: where(is_null({name}), {value}, fill_null({name}, 0))"))
                }
                _ => error,
            },
            None => error.help_if(conversion(call.text(), &value.span, found, dtype)),
        });
    }
    Ok(filler)
}

/// Replaces null lists with empty lists, at all levels.
fn fill_lists(call: &mut Call, node: &Node, x: Arg, value: &Operand) -> ExprResult<OperandKind> {
    let dims = node.ty.dims.clone();
    if all_known(&dims) {
        let what = if dims.is_empty() { "single values" } else { "lists of a fixed size" };
        return Err(ExprError::at(value.span.clone(), format!("fill_null: [] cannot replace {what}")).help("fill_null(x, 0)"));
    }
    let ty = Type { optional: false, ..node.ty.clone() };
    call.one(ty, move |args| -> Result<Tensor> { fill_values(&*x.of(args)?, &dims, &Filling::Lists) })
}

fn null_if(call: &mut Call) -> ExprResult<OperandKind> {
    let node = moved_node(call.operand(0)?)?;
    let is_time = is_of_times(&node);
    let value = call.operand(1)?.clone();
    if let Some(Literal::Float(number)) = value.literal()
        && number.is_nan()
    {
        let x = text_at(call.text(), &node.span);
        let error = ExprError::at(value.span.clone(), format!("{}: NaN is not equal to any value, not even to NaN", call.name));
        return Err(error.help(format!("where(math.is_nan({x}), None, {x})")));
    }
    let filler = filler_of(call, &node, &value)?;
    let x = call.carry(node);
    call.plain(&x)?;
    if filler.ty.rank() > x.rank() {
        let (rank, own) = (filler.ty.rank(), x.rank());
        return Err(ExprError::at(value.span.clone(), format!("{}: the value has rank {rank}, x has rank {own}", call.name)));
    }
    let value = call.push(filler);
    call.makes_nulls();
    let dtype = x.dtype()?.clone();
    pointwise(call, [x, value], dtype, move |[x, value]| null_where_equal(x, value, is_time).map_err(|e| (0, e)))
}

/// `x`, but null where it is equal to `value`. Times, of one type, are compared by their counts.
fn null_where_equal(x: Datum, value: Datum, are_times: bool) -> Result<ArrayRef> {
    let equal = if are_times {
        let counts: [ArrayRef; 2] = [Arc::new(ticks(x.array)?), Arc::new(ticks(value.array)?)];
        let [a, b] = [Datum { array: &counts[0], scalar: x.scalar }, Datum { array: &counts[1], scalar: value.scalar }];
        compare(Compare::Equal, a, b)?
    } else {
        compare(Compare::Equal, x, value)?
    };
    let null = new_null_array(x.array.data_type(), 1);
    choose(Datum { array: &equal, scalar: false }, Datum { array: &null, scalar: true }, x)
}
