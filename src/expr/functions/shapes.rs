//! Shapes and sizes of tensors and types, and broadcast shapes.
//!
//! Semantics: `tf.shape`, `tf.size`, `tf.RaggedTensor.bounding_shape`, `tf.broadcast_dynamic_shape`.

use crate::error::{Error, Result};
use crate::expr::call::{Call, Function, INDEX_DTYPES, Integer, as_node, cast_node, nth};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Node;
use crate::expr::kernels::cast::{cast, i64s};
use crate::expr::kernels::entries;
use crate::expr::kernels::level::{bounding_known, bounding_rows, counts, merged};
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::types::last_ragged;
use crate::schema::{DType, Dim, Literal, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{ArrayRef, Int64Array};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(["size"], "input|x, out_type=None", "The number of values.", [("size([[3, 1], [2]])", "3")], size),
    function!(
        ["bounding_shape"],
        "x|rt_input, axis=None, out_type=None",
        "The shape of the smallest dense tensor that can hold the ragged tensor.",
        [("bounding_shape([[3, 1], [], [2]])", "[3, 2]"), ("bounding_shape([[3, 1], [], [2]], axis=1)", "2")],
        bounding_shape
    ),
    function!(
        ["shape"],
        "input|x, out_type=None",
        "The shape of a dense or sparse tensor.",
        [("shape([[3, 1], [2, 4]])", "[2, 2]")],
        shape
    ),
    formula!(
        ["shape_n"],
        "input, out_type=None",
        "The shape of each tensor in a list.",
        [("shape_n([[1, 2], [3, 4, 5]])[1]", "[3]")],
        |call| {
            let shapes: Vec<String> = (0..call.list(0)?.len()).map(|i| format!("shape(input[{i}], out_type)")).collect();
            Ok(format!("[{}]", shapes.join(", ")))
        }
    ),
    function!(
        ["get_shape"],
        "x|input",
        "The static shape: the size of each axis, or None for a ragged axis; `x.shape`.",
        [("ragged.constant([[3, 1], []]).shape[0]", "2"), ("reshape([1, 2, 3, 4], constant([[7, 8], [9, 6]]).shape)", "[[1, 2], [3, 4]]")],
        type_shape
    ),
    function!(["as_list"], "shape", "The sizes of a shape as a list.", [("constant([[3, 1], [2, 4]]).shape.as_list()", "[2, 2]")], |c| Ok(
        OperandKind::List(sizes_of(c, 0)?)
    )),
    function!(
        ["broadcast_static_shape"],
        "shape_x, shape_y",
        "The shape that results from broadcasting two shapes.",
        [("broadcast_static_shape([2, 1], [3])", "[2, 3]")],
        broadcast_shapes
    ),
    function!(
        ["broadcast_dynamic_shape"],
        "shape_x, shape_y",
        "The shape vector that results from broadcasting two shape vectors.",
        [("broadcast_dynamic_shape([2, 1], [3])", "[2, 3]")],
        |c| {
            let int64 = |item: &Operand| item.node().is_some_and(|node| node.ty.dtype() == Some(&DType::Int64));
            let dtype = if int64(c.operand(0)?) || int64(c.operand(1)?) { DType::Int64 } else { DType::Int32 };
            let sizes = match broadcast_shapes(c)? {
                OperandKind::Shape(sizes) => OperandKind::List(sizes),
                other => other,
            };
            let sizes = as_node(&Operand { kind: sizes, span: c.span.clone() }, Some(&dtype))?;
            Ok(OperandKind::Tensor(cast_node(sizes, &dtype, c.text())?))
        }
    ),
];

fn size(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.sized(0)?;
    let dtype = call.index_dtype(1, DType::Int32, INDEX_DTYPES)?;
    if x.ty.is_sparse() {
        return call.one(Type::tensor(dtype.clone(), Vec::new()), move |args| {
            let tensor = x.of(args)?;
            let s = entries::sparse(&tensor)?;
            let sizes = (0..s.nrows()).map(|record| {
                let size = entries::volume(s.shape_of(record)).filter(|n| i64::try_from(*n).is_ok());
                size.ok_or_else(|| Error::data("the dense shape has more than 2^63 values").at_row(record))
            });
            let sizes = counts(sizes.collect::<Result<Vec<_>>>()?);
            Ok(Tensor::Leaf(sizes_as(sizes.as_leaf()?, &dtype, 1)?))
        });
    }
    call.one(Type::tensor(dtype.clone(), Vec::new()), move |args| {
        let whole = merged(&*x.of(args)?, 0, x.rank())?;
        let lengths = counts(whole.row_lengths());
        Ok(Tensor::Leaf(cast(lengths.as_leaf()?, &dtype)?))
    })
}

fn bounding_shape(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    let rank = x.rank();
    let dtype = call.index_dtype(2, DType::Int64, INDEX_DTYPES)?;
    let single = matches!(call.given(1), Some(item) if item.elements().is_none());
    let axes: Vec<usize> = match call.ints(1)? {
        None => (0..rank).collect(),
        Some(axes) => axes
            .into_iter()
            .map(|a| {
                usize::try_from(a).ok().filter(|a| *a < rank).ok_or_else(|| {
                    let place = call.given(1).map_or(call.span.clone(), |i: &Operand| i.span.clone());
                    ExprError::at(place, format!("axis {a} is out of range [0, {rank})"))
                })
            })
            .collect::<ExprResult<_>>()?,
    };
    let dims = if single { Vec::new() } else { vec![Dim::known(axes.len() as u64)] };
    call.one(Type::tensor(dtype.clone(), dims), move |args| {
        let tensor = x.of(args)?;
        let sizes = bounding_rows(&tensor, &x.ty.dims)?;
        let out = counts((0..args.nrows).flat_map(|r| axes.iter().map(|a| sizes[*a][r]).collect::<Vec<_>>()));
        let out = Tensor::Leaf(cast(out.as_leaf()?, &dtype)?);
        if single { Ok(out) } else { Tensor::list(RowPartition::uniform(axes.len(), args.nrows)?, out, None) }
    })
}

/// Sizes of sparse tensors, which can exceed 31 bits, in the requested dtype. Each record has `each` sizes.
fn sizes_as(sizes: &ArrayRef, dtype: &DType, each: usize) -> Result<ArrayRef> {
    let narrow = cast(sizes, dtype)?;
    let (before, after) = (i64s(sizes)?, cast(&narrow, &DType::Int64)?);
    match before.iter().zip(i64s(&after)?).position(|(a, b)| a != b) {
        None => Ok(narrow),
        Some(at) => Err(Error::data(format!("the size {} is too large for {dtype}", before[at]))
            .at_row(at / each.max(1))
            .help("use out_type=int64, or dense_shape(x)")),
    }
}

fn shape(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.any(0)?;
    if x.ty.is_sparse() {
        let dtype = call.index_dtype(1, DType::Int32, INDEX_DTYPES)?;
        let rank = x.rank();
        return call.one(Type::tensor(dtype.clone(), vec![Dim::known(rank as u64)]), move |args| {
            let tensor = x.of(args)?;
            let sizes: ArrayRef = Arc::new(Int64Array::new(entries::sparse(&tensor)?.dense_shape().clone(), None));
            Tensor::list(RowPartition::uniform(rank, args.nrows)?, Tensor::Leaf(sizes_as(&sizes, &dtype, rank)?), None)
        });
    }
    if last_ragged(&x.ty.dims).is_some() {
        return type_shape(call);
    }
    let rank = x.rank();
    let dtype = call.index_dtype(1, DType::Int32, INDEX_DTYPES)?;
    call.one(Type::tensor(dtype.clone(), vec![Dim::known(rank as u64)]), move |args| {
        let tensor = x.of(args)?;
        let sizes = bounding_known(&tensor, &x.ty.dims)?;
        let out = counts((0..args.nrows).flat_map(|r| sizes.iter().map(move |sizes| sizes[r])));
        let out = cast(out.as_leaf()?, &dtype)?;
        Tensor::list(RowPartition::uniform(rank, args.nrows)?, Tensor::Leaf(out), None)
    })
}

/// The static shape. Sizes that differ between records are computed.
fn type_shape(call: &mut Call) -> ExprResult<OperandKind> {
    if let OperandKind::Shape(_) = call.operand(0)?.kind {
        return Ok(call.operand(0)?.kind.clone());
    }
    let x = call.any(0)?;
    let (rank, dims, span) = (x.rank(), x.ty.dims.clone(), call.span.clone());
    let mut whole: Option<Node> = None;
    let mut sizes = Vec::with_capacity(rank);
    for (axis, dim) in dims.iter().enumerate() {
        let kind = match dim.size {
            Size::Known(n) => OperandKind::Literal(Literal::Int(n.into())),
            Size::Ragged => OperandKind::Literal(Literal::None),
            Size::Uniform => {
                if whole.is_none() {
                    let x = x.clone();
                    let kind = call.one(Type::tensor(DType::Int32, vec![Dim::known(rank as u64)]), move |args| {
                        let tensor = x.of(args)?;
                        let sizes: ArrayRef = if x.ty.is_sparse() {
                            Arc::new(Int64Array::new(entries::sparse(&tensor)?.dense_shape().clone(), None))
                        } else {
                            let sizes = bounding_known(&tensor, &x.ty.dims)?;
                            counts((0..args.nrows).flat_map(|r| sizes.iter().map(move |s| s[r]))).as_leaf()?.clone()
                        };
                        Tensor::list(RowPartition::uniform(rank, args.nrows)?, Tensor::Leaf(sizes_as(&sizes, &DType::Int32, rank)?), None)
                    })?;
                    whole = Some(call.result(kind)?);
                }
                match &whole {
                    Some(whole) => OperandKind::Tensor(nth(whole, axis as i64, call.text())?),
                    None => return Err(call.internal("a shape without sizes")),
                }
            }
        };
        sizes.push(Operand { kind, span: span.clone() });
    }
    Ok(OperandKind::Shape(sizes))
}

/// The sizes of a shape, or of a vector of known size.
fn sizes_of(call: &Call, i: usize) -> ExprResult<Vec<Operand>> {
    let item = call.operand(i)?;
    if let Some(sizes) = item.elements() {
        return Ok(sizes);
    }
    let wrong = || ExprError::at(item.span.clone(), format!("{}: {} must be a shape, not {}", call.name, call.param(i), item.describe()));
    let node = as_node(item, None)?;
    let [dim] = node.ty.dims.as_slice() else { return Err(wrong()) };
    let Size::Known(n) = dim.size else { return Err(wrong()) };
    (0..n as i64).map(|k| Ok(Operand { kind: OperandKind::Tensor(nth(&node, k, call.text())?), span: item.span.clone() })).collect()
}

/// Matches the sizes from the last axis: they must be equal, or one of them 1.
fn broadcast_shapes(call: &mut Call) -> ExprResult<OperandKind> {
    let (x, y) = (sizes_of(call, 0)?, sizes_of(call, 1)?);
    let rank = x.len().max(y.len());
    let one = Operand { kind: OperandKind::Literal(Literal::Int(1)), span: call.span.clone() };
    let at = |sizes: &[Operand], axis: usize| {
        (axis + sizes.len()).checked_sub(rank).and_then(|i| sizes.get(i).cloned()).unwrap_or_else(|| one.clone())
    };
    let mut pairs = Vec::with_capacity(rank);
    for axis in 0..rank {
        let (a, b) = (at(&x, axis), at(&y, axis));
        if a.is_none() || b.is_none() {
            // A ragged axis is kept; the other shape must have one item there, or the same ragged axis.
            pairs.push((None, None));
            continue;
        }
        pairs.push((Some(call.integer_of(&a)?), Some(call.integer_of(&b)?)));
    }
    let mut sizes = Vec::with_capacity(rank);
    for (axis, (a, b)) in pairs.into_iter().enumerate() {
        let (Some(a), Some(b)) = (a, b) else {
            sizes.push(Operand { kind: OperandKind::Literal(Literal::None), span: call.span.clone() });
            continue;
        };
        let kind = match (a.known(), b.known()) {
            (Some(m), Some(n)) if m == n || m == 1 || n == 1 => OperandKind::Literal(Literal::Int(if m == 1 { n } else { m }.into())),
            (Some(m), Some(n)) => {
                return Err(call.error(format!("the shapes do not broadcast: axis {axis} has {m} and {n} items")));
            }
            _ => {
                let mut inner = Call::operator(&call.name, call.span.clone(), call.text().clone());
                let number = |call: &mut Call, n: &Integer, from: &Call| -> Integer {
                    match n {
                        Integer::Known(n) => Integer::Known(*n),
                        Integer::Of(arg) => Integer::Of(call.push(from.node(arg))),
                    }
                };
                let (a, b) = (number(&mut inner, &a, call), number(&mut inner, &b, call));
                inner.one(Type::tensor(DType::Int64, Vec::new()), move |args| {
                    let (a, b) = (a.of(args)?, b.of(args)?);
                    let sizes = (0..args.nrows)
                        .map(|row| match (a.at(row), b.at(row)) {
                            (m, n) if m == n || n == 1 => Ok(m),
                            (1, n) => Ok(n),
                            (m, n) => {
                                Err(Error::data(format!("the shapes do not broadcast: axis {axis} has {m} and {n} items")).at_row(row))
                            }
                        })
                        .collect::<Result<Vec<i64>>>()?;
                    Ok(Tensor::Leaf(Arc::new(Int64Array::from(sizes))))
                })?
            }
        };
        sizes.push(Operand { kind, span: call.span.clone() });
    }
    Ok(OperandKind::Shape(sizes))
}
