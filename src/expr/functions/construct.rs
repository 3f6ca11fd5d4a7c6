//! Tensors from literals and sizes.
//!
//! Semantics: `tf.ragged.constant`, `tf.constant`, `tf.ragged.range`, `tf.fill`, `tf.one_hot`.

use super::apply::{unary, with_dtype};
use super::axes::transposed;
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, Integer, as_node, kept_node, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Node;
use crate::expr::kernels::cast::{Convert, i64s, native};
use crate::expr::kernels::level::{dense_partitions, from_lengths, merged, partition_of, wrap};
use crate::expr::kernels::number::{Number, numbers};
use crate::expr::literal;
use crate::expr::operand::{self, Operand, OperandKind};
use crate::expr::types::last_ragged;
use crate::schema::{DType, Dim, Literal, Size, Type};
use crate::tensor::concat::concat_leaves;
use crate::tensor::gather::take;
use crate::tensor::limits::{MAX_VALUES, TOO_MANY_VALUES, check_count};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["ragged.constant"],
        "pylist|pyval, dtype=None, ragged_rank=None, inner_shape=None, name, row_splits_dtype=int64",
        "A ragged tensor from a nested list.",
        [("ragged.constant([[3, 1], [], [2]])", "[[3, 1], [], [2]]")],
        ragged_constant
    ),
    function!(
        ["convert_to_tensor"],
        "value, dtype=None, dtype_hint=None",
        "A tensor from a value or nested list. Without dtype, it has dtype_hint if that can represent the values.",
        [("convert_to_tensor([1, 2], dtype_hint=float64)", "[1.0, 2.0]"), ("convert_to_tensor([1.5], dtype_hint=int32)", "[1.5]")],
        |c| {
            let (item, dtype) = (c.operand(0)?, c.dtype(1)?);
            if item.literal().is_none() {
                let node = as_node(item, dtype.as_ref())?;
                return match dtype.filter(|dtype| node.ty.dtype() != Some(dtype)) {
                    Some(dtype) => {
                        Err(c.error(format!("convert_to_tensor does not convert {} to {dtype}", node.ty)).help("use cast(x, dtype)"))
                    }
                    None => Ok(OperandKind::Tensor(node)),
                };
            }
            let literal = literal_of(c)?;
            let hinted = match (&dtype, c.dtype(2)?) {
                (None, Some(hint)) => literal::plain(&literal, Some(&hint)).ok(),
                _ => None,
            };
            let (ty, tensor) = hinted.map_or_else(|| literal::plain(&literal, dtype.as_ref()), Ok)?;
            Ok(OperandKind::Tensor(operand::constant(tensor, ty, c.span.clone())))
        }
    ),
    function!(
        ["constant"],
        "value, dtype=None, shape=None",
        "A tensor from a value or nested list. With a shape, the values are reshaped, or a single value is repeated to fill it.",
        [("constant([1, 2], dtype=float64)", "[1.0, 2.0]"), ("constant(7, shape=[2, 1])", "[[7], [7]]")],
        |c| {
            let (literal, dtype) = (literal_of(c)?, c.dtype(1)?);
            let (ty, tensor) = match sizes_of(c, 2)? {
                Some(shape) => literal::shaped(&literal, dtype.as_ref(), &shape)?,
                None => literal::plain(&literal, dtype.as_ref())?,
            };
            Ok(OperandKind::Tensor(operand::constant(tensor, ty, c.span.clone())))
        }
    ),
    function!(
        ["np.array", "np.asarray"],
        "object, dtype=None",
        "A tensor from a nested list, with NumPy's default dtypes: int64 and float64.",
        [("np.array([1.5, 2]).dtype.name", "\"float64\""), ("np.array([[1], [2]]).astype(\"int32\")", "[[1], [2]]")],
        numpy_array
    ),
    function!(
        ["CPUPlace", "CUDAPlace", "CUDAPinnedPlace"],
        "id=None",
        "A Paddle device. It has no effect and evaluates to None.",
        [("create_lod_tensor([[1], [2]], [[2]], fluid.CPUPlace())", "[[[1], [2]]]")],
        |_| Ok(OperandKind::Literal(Literal::None))
    ),
    function!(
        ["ragged.range"],
        "starts, limits=None, deltas=1, dtype=None, name, row_splits_dtype=int64",
        "A row of numbers from each start up to, but not including, its limit. A single argument is taken as the limits.",
        [("ragged.range([2, 0, 3])", "[[0, 1], [], [0, 1, 2]]"), ("ragged.range([0, 5], [3, 3], [1, -1])", "[[0, 1, 2], [5, 4]]")],
        |c| ranges(c, true).and_then(|kind| with_given_dtype(c, kind, 3))
    ),
    function!(
        ["range"],
        "start, limit=None, delta=1, dtype=None",
        "Numbers from start up to, but not including, limit.",
        [("range(3)", "[0, 1, 2]"), ("range(1, 6, 2)", "[1, 3, 5]")],
        |c| ranges(c, false)
    ),
    function!(["fill"], "dims, value, name", "A tensor filled with one value.", [("fill([2, 2], 7)", "[[7, 7], [7, 7]]")], |c| {
        let value = c.operand(1)?.clone();
        let node = kept_node(&value)?;
        filled(c, node)
    }),
    function!(["zeros"], "shape, dtype=float32, name", "A tensor of zeros.", [("zeros([2], int32)", "[0, 0]")], |c| constant_filled(c, 0)),
    function!(["ones"], "shape, dtype=float32, name", "A tensor of ones.", [("ones([2], int32)", "[1, 1]")], |c| constant_filled(c, 1)),
    function!(
        ["zeros_like"],
        "input|x|tensor, dtype=None, name",
        "A tensor of the same shape, filled with zeros or empty strings.",
        [("zeros_like([[3, 1], [2]])", "[[0, 0], [0]]")],
        |c| like(c, false)
    ),
    function!(
        ["ones_like"],
        "input|x|tensor, dtype=None, name",
        "A tensor of the same shape, filled with ones.",
        [("ones_like([[3, 1], [2]])", "[[1, 1], [1]]")],
        |c| like(c, true)
    ),
    function!(
        ["one_hot"],
        "indices, depth, on_value=None, off_value=None, axis=None, dtype=None",
        "A one-hot vector for each index.",
        [("one_hot([1, 0], 3, dtype=int32)", "[[0, 1, 0], [1, 0, 0]]")],
        one_hot
    ),
];

fn numpy_array(call: &mut Call) -> ExprResult<OperandKind> {
    let given = call.dtype(1)?;
    if !call.operand(0)?.is_literal() {
        let node = strict_node(call.operand(0)?)?;
        return Ok(OperandKind::Tensor(match given {
            Some(dtype) => crate::expr::call::cast_node(node, &dtype, call.text())?,
            None => node,
        }));
    }
    let literal = literal_of(call)?;
    let (ty, tensor) = literal::plain(&literal, None)?;
    let dtype = match ty.dtype() {
        Some(DType::Int32 | DType::Int64) => Some(DType::Int64),
        Some(DType::Float32) => Some(DType::Float64),
        _ => None,
    };
    let (ty, tensor) = match dtype {
        Some(dtype) => literal::plain(&literal, Some(&dtype))?,
        None => (ty, tensor),
    };
    if let Some(axis) = ty.dims.iter().position(|d| d.size == Size::Ragged) {
        return Err(call.error(format!("np.array: the rows of axis {axis} differ in length")).help("ragged.constant([...])"));
    }
    let node = operand::constant(tensor, ty, call.span.clone());
    Ok(OperandKind::Tensor(match given {
        Some(dtype) => crate::expr::call::cast_node(node, &dtype, call.text())?,
        None => node,
    }))
}

fn literal_of(call: &Call) -> ExprResult<Literal> {
    let item = call.operand(0)?;
    if let OperandKind::Tensor(_) = item.kind {
        return Err(ExprError::at(item.span.clone(), format!("{} takes literals; this is already a tensor", call.name)));
    }
    item.literal().ok_or_else(|| {
        ExprError::at(item.span.clone(), format!("{} takes literals, not {}", call.name, item.describe()))
            .help("stack([...]) and ragged.stack([...]) combine tensors")
    })
}

/// The sizes of a shape given as literals.
fn sizes_of(call: &Call, i: usize) -> ExprResult<Option<Vec<u64>>> {
    let of = |n: i64| u64::try_from(n).map_err(|_| call.error(format!("{} has the negative size {n}", call.param(i))));
    call.ints(i)?.map(|sizes| sizes.into_iter().map(of).collect()).transpose()
}

fn ragged_constant(call: &mut Call) -> ExprResult<OperandKind> {
    let literal = literal_of(call)?;
    let inner = sizes_of(call, 3)?;
    let dtype = call.dtype(1)?;
    let (ty, tensor) = literal::ragged(&literal, dtype.as_ref(), call.optional_int(2)?, inner.as_deref())?;
    Ok(OperandKind::Tensor(operand::constant(tensor, ty, call.span.clone())))
}

/// A result with the dtype requested by argument `i`.
fn with_given_dtype(call: &Call, kind: OperandKind, i: usize) -> ExprResult<OperandKind> {
    match (kind, call.dtype(i)?) {
        (OperandKind::Tensor(node), Some(dtype)) => Ok(OperandKind::Tensor(crate::expr::call::cast_node(node, &dtype, call.text())?)),
        (kind, _) => Ok(kind),
    }
}

/// `ragged.range`, and `range` for scalars.
fn ranges(call: &mut Call, ragged: bool) -> ExprResult<OperandKind> {
    let one = Operand { kind: OperandKind::Literal(Literal::Int(1)), span: call.span.clone() };
    let zero = Operand { kind: OperandKind::Literal(Literal::Int(0)), span: call.span.clone() };
    let (start, limit) = match call.given(1) {
        Some(limit) => (call.operand(0)?.clone(), limit.clone()),
        None => (zero, call.operand(0)?.clone()),
    };
    let delta = call.given(2).cloned().unwrap_or(one);
    // tf.range converts its arguments to the dtype; tf.ragged.range does not.
    let mut items = [start, limit, delta];
    if let (false, Some(dtype)) = (ragged, call.dtype(3)?) {
        for item in &mut items {
            item.kind = OperandKind::Tensor(crate::expr::call::cast_node(strict_node(item)?, &dtype, call.text())?);
        }
    }
    let args = call.promoted_items(&items)?;
    let dtype = args[0].dtype()?.clone();
    if !dtype.is_number() {
        return Err(call.error(format!("{} expects numbers, found {dtype}", call.name)));
    }
    let most = usize::from(ragged);
    if let Some(arg) = args.iter().find(|a| a.rank() > most) {
        let expected = if ragged { "scalars and vectors" } else { "scalars" };
        return Err(ExprError::at(arg.span.clone(), format!("{} expects {expected}, found {}", call.name, arg.ty)));
    }
    let known = args.iter().filter(|a| a.rank() == 1).find_map(|a| if let Size::Known(n) = a.ty.dims[0].size { Some(n) } else { None });
    let vectors = args.iter().any(|a| a.rank() == 1);
    let rows = match (vectors, known) {
        (false, _) => Dim::known(1),
        (true, Some(n)) => Dim::known(n),
        (true, None) => Dim::UNIFORM,
    };
    let dims = if ragged { vec![rows, Dim::RAGGED] } else { vec![Dim::UNIFORM] };
    call.one(Type::tensor(dtype.clone(), dims), move |a| {
        let tensors = args.iter().map(|arg| arg.of(a)).collect::<Result<Vec<_>>>()?;
        let columns = tensors
            .iter()
            .map(|t| match &**t {
                Tensor::List(list) => Ok((Some(list.partition()), list.values().as_leaf()?)),
                other => Ok((None, other.as_leaf()?)),
            })
            .collect::<Result<Vec<_>>>()?;
        numbers!(&dtype, T => rows_of_numbers::<T>(&columns, a.nrows, ragged, dtype.is_integer()), Err(Error::internal("a range of other values")))
    })
}

fn rows_of_numbers<T: Convert + Number>(
    columns: &[(Option<&RowPartition>, &ArrayRef)],
    nrecords: usize,
    ragged: bool,
    integer: bool,
) -> Result<Tensor> {
    let values = columns.iter().map(|(_, a)| native::<T>(a)).collect::<Result<Vec<_>>>()?;
    let mut out: Vec<T::Native> = Vec::new();
    let (mut lengths, mut rows) = (Vec::new(), Vec::with_capacity(nrecords));
    for record in 0..nrecords {
        let counts: Vec<usize> = columns.iter().filter_map(|(p, _)| p.map(|p| p.row_length(record))).collect();
        let n = counts.first().copied().unwrap_or(1);
        if let Some(other) = counts.iter().find(|c| **c != n) {
            return Err(
                Error::data(format!("starts, limits and deltas must have the same size; found {n} and {other} items")).at_row(record)
            );
        }
        rows.push(n);
        for i in 0..n {
            let at = |k: usize| values[k][columns[k].0.map_or(record, |p| p.start(record) + i)];
            let (start, limit, delta) = (at(0), at(1), at(2));
            if delta == T::ZERO {
                return Err(Error::data("the delta of a range must not be 0").at_row(record));
            }
            let up = delta > T::ZERO;
            // Comparisons with NaN are false, which gives an empty row.
            let runs = if up { start < limit } else { start > limit };
            let against = if up { start > limit } else { start < limit };
            if against && !ragged {
                return Err(Error::data(format!("a range from {start:?} to {limit:?} cannot have the delta {delta:?}")).at_row(record));
            }
            let count = if !runs {
                0.0
            } else if integer {
                let (s, l, d) = (exact::<T>(start), exact::<T>(limit), exact::<T>(delta));
                ((l - s + d - d.signum()) / d) as f64
            } else {
                // Rounded to the dtype at each step.
                T::to_f64(T::divide(T::subtract(limit, start), delta)).abs().ceil()
            };
            let count = check_count((count < 1e18).then_some(count as usize).and_then(|c| c.checked_add(out.len())), record)? - out.len();
            if ragged || integer {
                // As tf.ragged.range does.
                out.extend(std::iter::successors(Some(start), |value| Some(T::add(*value, delta))).take(count));
            } else {
                out.extend((0..count).map(|i| T::add(start, T::multiply(T::of_f64(i as f64), delta))));
            }
            lengths.push(count);
        }
    }
    let flat = Tensor::Leaf(Arc::new(PrimitiveArray::<T>::new(out.into(), None)));
    let inner = Tensor::list(from_lengths(lengths)?, flat, None)?;
    if ragged { Tensor::list(from_lengths(rows)?, inner, None) } else { Ok(inner) }
}

fn exact<T: Convert + Number>(v: T::Native) -> i128 {
    let bits = T::bits64(v);
    if T::LOWEST == T::ZERO { i128::from(bits as u64) } else { i128::from(bits) }
}

fn constant_filled(call: &mut Call, value: i128) -> ExprResult<OperandKind> {
    let dtype = call.dtype(1)?.unwrap_or(DType::Float32);
    let literal = match dtype {
        DType::Bool => Literal::Bool(value != 0),
        DType::String | DType::Bytes if value == 0 => literal::zero(&dtype)?,
        _ => Literal::Int(value),
    };
    let (ty, tensor) = literal::plain(&literal, Some(&dtype))?;
    filled(call, operand::constant(tensor, ty, call.span.clone()))
}

/// A tensor filled with one value. Sizes may differ between records.
fn filled(call: &mut Call, value: Node) -> ExprResult<OperandKind> {
    let sizes = call.all_integers(0)?;
    let value = call.push(value);
    if value.rank() != 0 {
        return Err(ExprError::at(value.span.clone(), format!("{} takes a single value; this is {}", call.name, value.ty)));
    }
    if sizes.iter().filter_map(Integer::known).any(|n| n < 0) {
        return Err(ExprError::at(call.operand(0)?.span.clone(), "a size must not be negative"));
    }
    let known = sizes.iter().filter_map(Integer::known).try_fold(1i64, |all, n| all.checked_mul(n));
    if known.is_none_or(|n| n > MAX_VALUES as i64) {
        return Err(call.error(TOO_MANY_VALUES));
    }
    let dims: Vec<Dim> = sizes.iter().map(Integer::dim).collect();
    let ty = Type { dims: dims.clone(), ..value.ty.clone() };
    call.one(ty, move |args| {
        let sizes = sizes.iter().map(|n| n.of(args)).collect::<Result<Vec<_>>>()?;
        let (partitions, records) = dense_partitions(&dims, args.nrows, |axis, record| sizes[axis].size(record, "the size"))?;
        wrap(partitions.into_iter(), value.of(args)?.gather(&records)?)
    })
}

fn like(call: &mut Call, ones: bool) -> ExprResult<OperandKind> {
    let x = call.any(0)?;
    let structure = x.ty.fields().is_some();
    if !structure {
        call.plain(&x)?;
    }
    let dtype = match call.dtype(1)? {
        Some(dtype) => dtype,
        // One number for each structure, as in TensorFlow.
        None if structure => DType::Float32,
        None => x.dtype()?.clone(),
    };
    let literal = match (&dtype, ones) {
        (DType::Bool, _) => Literal::Bool(ones),
        (DType::String | DType::Bytes, true) => return Err(call.error("ones cannot have a string dtype")),
        (_, true) => Literal::Int(1),
        (_, false) => literal::zero(&dtype)?,
    };
    let one = literal::leaf(&[&literal], &dtype)?;
    if structure {
        let ty = Type::tensor(dtype, x.ty.dims.clone());
        return call.one(ty, move |args| x.of(args)?.map_below(x.rank(), &mut |t| Ok(Tensor::Leaf(take(&one, &vec![0; t.nrows()])?))));
    }
    unary(call, x, dtype, move |a| take(&one, &vec![0; a.len()]))
}

fn one_hot(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.integers(0)?;
    let depth = call.integer(1)?;
    if let Some(n) = depth.known().filter(|n| *n < 0) {
        return Err(call.error(format!("the depth {n} is negative")));
    }
    let axis = call.optional_int(4)?.unwrap_or(-1);
    let rank = x.rank();
    if axis < -1 {
        return Err(call.error(format!("one_hot: axis is {axis}; it must be -1 or from 0 to {rank}")));
    }
    let axis = call.axis(4, axis, rank + 1)?;
    let nragged = last_ragged(&x.ty.dims).map_or(0, |at| at + 1);
    if axis < nragged {
        return Err(call.error(format!("one_hot of a ragged tensor adds the new axis after the ragged ones: axis {nragged} to {rank}")));
    }
    let item = |i: usize, default: i128, call: &Call| {
        call.given(i).cloned().unwrap_or(Operand { kind: OperandKind::Literal(Literal::Int(default)), span: call.span.clone() })
    };
    let (on, off) = (item(2, 1, call), item(3, 0, call));
    // As in TensorFlow, neither becomes the other.
    let is_bool = |i: usize| match (&call.given(i)?.kind, i) {
        (_, 5) => call.dtype(5).ok().flatten().map(|dtype| dtype == DType::Bool),
        (OperandKind::Literal(Literal::None), _) => None,
        (OperandKind::Literal(literal), _) => Some(matches!(literal, Literal::Bool(_))),
        (OperandKind::Tensor(node), _) => Some(node.ty.dtype() == Some(&DType::Bool)),
        _ => None,
    };
    let given: Vec<(usize, bool)> = [2, 3, 5].into_iter().filter_map(|i| Some((i, is_bool(i)?))).collect();
    if let Some(pair) = given.windows(2).find(|pair| pair[0].1 != pair[1].1) {
        let says = |(i, is_bool): (usize, bool)| format!("{} is {}", call.param(i), if is_bool { "bool" } else { "not" });
        let (bool, other) = if pair[0].1 { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
        return Err(call.error(format!("one_hot: {}, but {}", says(bool), says(other))));
    }
    let dtype = call.dtype(5)?.or_else(|| [&on, &off].iter().find_map(|i| i.node().and_then(|n| n.ty.dtype().cloned())));
    let dtype = match dtype {
        Some(dtype) => dtype,
        None if call.given(2).is_some() || call.given(3).is_some() => {
            literal::own_dtype(&[on.literal(), off.literal()].into_iter().flatten().collect::<Vec<_>>())?
        }
        None => DType::Float32,
    };
    let [on, off] = [(on, 2), (off, 3)].map(|(item, i)| on_or_off(call, &item, i, &dtype));
    let (on, off) = (on?, off?);
    let mut ty = with_dtype(&x.ty, dtype);
    let last = depth.dim();
    ty.dims.insert(axis, last.clone());
    let dims = ty.dims.clone();
    // The new axis is created last and then moved to its position.
    let perm: Vec<usize> = (nragged..axis).chain([rank]).chain(axis..rank).map(|at| at - nragged).collect();
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let owners = merged(&tensor, 0, x.rank())?;
        let depth = depth.of(args)?;
        let (on, off) = (args.value(on.index)?, args.value(off.index)?);
        // The on values, then the off values; a constant is the same for all records.
        let both = concat_leaves(&[on.tensor.as_leaf()?, off.tensor.as_leaf()?])?;
        let first_off = on.tensor.nrows();
        let place = |constant: bool, record: usize| if constant { 0 } else { record };
        let out = tensor.map_below(rank, &mut |t| {
            let indices = i64s(t.as_leaf()?)?;
            let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(indices.len()));
            for record in 0..owners.nrows() {
                let depth = depth.size(record, "the depth")?;
                check_count(owners.row_length(record).checked_mul(depth).and_then(|n| n.checked_add(places.len())), record)?;
                for i in owners.range(record) {
                    let start = places.len();
                    places.resize(start + depth, first_off + place(off.constant, record));
                    if let Some(k) = usize::try_from(indices[i]).ok().filter(|k| *k < depth) {
                        places[start + k] = place(on.constant, record);
                    }
                    lengths.push(depth);
                }
            }
            Tensor::list(partition_of(&last, lengths)?, Tensor::Leaf(take(&both, &places)?), None)
        })?;
        if axis == rank { Ok(out) } else { out.map_below(nragged, &mut |t| transposed(t, &perm, &dims[nragged..])) }
    })
}

/// The value of [`one_hot`] on or off: argument `i`, or its default.
fn on_or_off(call: &mut Call, item: &Operand, i: usize, dtype: &DType) -> ExprResult<Arg> {
    let Some(literal) = item.literal() else {
        let arg = call.tensor_of(i, dtype)?;
        if arg.rank() > 0 {
            return Err(ExprError::at(item.span.clone(), format!("{}: {} is a single value, not {}", call.name, call.param(i), arg.ty)));
        }
        return Ok(arg);
    };
    let literal = match (dtype, &literal) {
        (DType::Bool, Literal::Int(n)) => Literal::Bool(*n != 0),
        _ => literal,
    };
    let value = literal::leaf(&[&literal], dtype).map_err(|e| e.or_at(item.span.clone()))?;
    Ok(call.push(operand::constant(Tensor::Leaf(value), Type::tensor(dtype.clone(), Vec::new()), item.span.clone())))
}
