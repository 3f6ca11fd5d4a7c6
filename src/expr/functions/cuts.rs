//! Blocks of dense tensors, given by their start and size, and reversed parts of sequences.
//!
//! Semantics: `tf.slice`, `tf.strided_slice`, `tf.reverse_sequence`, `tf.ensure_shape`, `tf.signal.frame`,
//! `tf.unravel_index`.

use crate::error::{Error, Result};
use crate::expr::call::{Call, Function, Integer, positive_axis, static_ints};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::cast::{cast, i64s};
use crate::expr::kernels::level::{bounding_known, merged, partition_of, wrap};
use crate::expr::operand::OperandKind;
use crate::expr::types::shape;
use crate::printable::{counted, counted_axes};
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{ArrayRef, Int64Array};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["slice"],
        "input_|x|input, begin, size",
        "A block of a dense tensor: size items along each axis, starting at begin; a size of -1 takes all that remain.",
        [("slice([[1, 2, 3], [4, 5, 6]], [0, 1], [2, -1])", "[[2, 3], [5, 6]]")],
        block
    ),
    formula!(
        ["strided_slice"],
        "input_|x|input, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0, var=None",
        "The subscript x[begin:end:strides]. Bit i of begin_mask, end_mask, ellipsis_mask, new_axis_mask or shrink_axis_mask makes key i \
         a slice without begin, a slice without end, `...`, None or an index, respectively.",
        [("strided_slice([[1, 2, 3], [4, 5, 6]], [0, 2], [2, 0], [1, -1])", "[[3, 2], [6, 5]]")],
        strided
    ),
    function!(
        ["reverse_sequence"],
        "input|x, seq_lengths, seq_axis|seq_dim=None, batch_axis|batch_dim=None",
        "Reverse the first seq_lengths[i] items of seq_axis in each slice i of batch_axis.",
        [("reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1, batch_axis=0)", "[[2, 1, 3], [6, 5, 4]]")],
        reverse_sequence
    ),
    function!(
        ["ensure_shape"],
        "x, shape",
        "The tensor unchanged; fails if it does not have this shape. None matches any size.",
        [("ensure_shape([[1, 2]], [None, 2])", "[[1, 2]]")],
        ensure_shape
    ),
    formula!(
        ["signal.frame"],
        "signal|x, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1",
        "Windows of frame_length values, each starting frame_step values after the previous one, along a new axis. With pad_end, a window starts at every step, and pad_value follows the last value.",
        [
            ("signal.frame([1, 2, 3, 4, 5], 3, 1)", "[[1, 2, 3], [2, 3, 4], [3, 4, 5]]"),
            ("signal.frame([1, 2, 3, 4, 5], 2, 2, pad_end=True)", "[[1, 2], [3, 4], [5, 0]]")
        ],
        frame
    ),
    function!(
        ["unravel_index"],
        "indices, dims",
        "Convert flat indices to coordinates in a tensor of shape dims: one row of coordinates for each axis.",
        [("unravel_index([2, 5, 7], [3, 3])", "[[0, 1, 2], [2, 2, 1]]")],
        unravel_index
    ),
];

/// The type of argument 0, which must be dense.
fn dense(call: &Call) -> ExprResult<Type> {
    call.dense(call.operand(0)?, "x[1:, :2] slices ragged tensors")
}

/// The number of integers in argument `i`.
fn count(call: &Call, i: usize) -> ExprResult<usize> {
    let item = call.operand(i)?;
    let known = match (item.elements(), item.node().map(|node| node.ty.dims.as_slice())) {
        (Some(items), _) => Some(items.len()),
        (None, Some([Dim { size: Size::Known(n), .. }])) => usize::try_from(*n).ok(),
        _ => None,
    };
    known.ok_or_else(|| {
        let error = ExprError::at(
            item.span.clone(),
            format!("{}: the length of {} must be known before the first record is processed", call.name, call.param(i)),
        );
        error.help("write it as a list: [n, 2]")
    })
}

fn block(call: &Call) -> ExprResult<String> {
    let ty = dense(call)?;
    let (starts, sizes) = (static_ints(call.operand(1)?), static_ints(call.operand(2)?));
    for i in [1, 2] {
        let n = count(call, i)?;
        if n != ty.rank() {
            let (name, rank) = (call.param(i), ty.rank());
            return Err(call.error(format!(
                "slice: {name} has {}, but the tensor has {}",
                counted(n as u64, "number"),
                counted_axes(rank)
            )));
        }
    }
    let mut cut = "identity(input_)".to_owned();
    let known = |numbers: &Option<Vec<i64>>, axis: usize| numbers.as_ref().map(|numbers| numbers[axis]);
    // The inner axes first: a tensor without rows has no sizes to check against.
    for (axis, dim) in ty.dims.iter().enumerate().rev() {
        let length = if let Size::Known(n) = dim.size { i64::try_from(n).ok() } else { None };
        let (start, size) = (known(&starts, axis), known(&sizes, axis));
        if start == Some(0) && (size == Some(-1) || size.is_some() && size == length) {
            continue;
        }
        if let (Some(start), Some(size), Some(length)) = (start, size, length) {
            let end = if size == -1 { length } else { start.saturating_add(size) };
            if start < 0 || size < -1 || start > end || end > length {
                let message = format!("slice: {size} items starting at {start} exceed axis {axis}, which has {length}");
                return Err(call.error(message));
            }
            cut = format!("{cut}[{}{start}:{end}]", ":, ".repeat(axis));
            continue;
        }
        // Unlike the slices of Python, it must not go beyond the end.
        let length = format!("shape(identity(input_))[{axis}]");
        let start = format!("gather(range({length} + 1), begin[{axis}])");
        let end = match size {
            Some(-1) => length,
            // One item too many is as wrong as any number of them, but does not overflow.
            Some(_) => format!("{start} + minimum(size[{axis}], {length} + 1)"),
            None => {
                let size = format!("minimum(size[{axis}], {length} + 1)");
                format!("where(size[{axis}] == -1, cast({length}, int64), cast({start} + {size}, int64))")
            }
        };
        cut = format!("gather({cut}, range(cast({start}, int64), cast({end}, int64)), axis={axis})");
    }
    Ok(cut)
}

fn strided(call: &Call) -> ExprResult<String> {
    dense(call)?;
    let n = count(call, 1)?;
    if count(call, 2)? != n || (call.given(3).is_some() && count(call, 3)? != n) {
        return Err(call.error("strided_slice: begin, end and strides must have the same length"));
    }
    let mut masks = [0; 5];
    for (mask, i) in masks.iter_mut().zip(4..) {
        *mask = call.optional_int(i)?.unwrap_or(0);
    }
    let [begin, end, ellipsis, new_axis, shrink] = masks;
    let strides = call.given(3).and_then(static_ints);
    let keys = (0..n).map(|i| {
        let is_set = |mask: i64| i < 63 && mask >> i & 1 == 1;
        let part = |name: &str, is_open: bool| if is_open { String::new() } else { format!("{name}[{i}]") };
        Ok(if is_set(ellipsis) {
            "...".to_owned()
        } else if is_set(new_axis) {
            "None".to_owned()
        } else if is_set(shrink) {
            if strides.as_ref().is_some_and(|strides| strides.get(i).is_some_and(|stride| *stride < 1)) {
                return Err(call.error(format!("strided_slice: key {i} is an index, whose stride must be positive")));
            }
            format!("begin[{i}]")
        } else {
            let step = if call.given(3).is_some() { format!("strides[{i}]") } else { String::new() };
            format!("{}:{}:{step}", part("begin", is_set(begin)), part("end", is_set(end)))
        })
    });
    let keys = keys.collect::<ExprResult<Vec<String>>>()?;
    Ok(if keys.is_empty() { "identity(input_)".to_owned() } else { format!("identity(input_)[{}]", keys.join(", ")) })
}

fn reverse_sequence(call: &mut Call) -> ExprResult<OperandKind> {
    dense(call)?;
    let x = call.any(0)?;
    let rank = x.rank();
    let lengths = call.integers(1)?;
    if lengths.rank() != 1 {
        return Err(ExprError::at(lengths.span.clone(), format!("reverse_sequence: seq_lengths must be a vector, not {}", lengths.ty)));
    }
    let axis = |i: usize| -> ExprResult<usize> {
        let axis = call.optional_int(i)?.unwrap_or(0);
        positive_axis(axis, rank).ok_or_else(|| {
            call.error(format!("reverse_sequence: {} {axis} is out of range for a tensor with {}", call.param(i), counted_axes(rank)))
        })
    };
    if call.given(2).is_none() {
        return Err(call.error("reverse_sequence is missing the argument `seq_axis`"));
    }
    let (steps, batch) = (axis(2)?, axis(3)?);
    if steps == batch {
        return Err(call.error("reverse_sequence: seq_axis and batch_axis must be different"));
    }
    call.one(x.ty.clone(), move |args| {
        let (tensor, lengths) = (x.of(args)?, lengths.of(args)?);
        let list = lengths.as_list()?;
        let numbers = i64s(list.values().as_leaf()?)?;
        let sizes = bounding_known(&tensor, &x.ty.dims)?;
        let values = merged(&tensor, 0, rank)?;
        let mut order = Vec::with_capacity(values.nvals());
        for record in 0..values.nrows() {
            let own = &numbers[list.partition().range(record)];
            let (n, rows) = (sizes[steps][record], sizes[batch][record]);
            let range = values.range(record);
            if own.len() != rows && !(range.is_empty() && rows == 0) {
                return Err(Error::data(format!("found {} sequence lengths for {rows} slices", own.len())).at_row(record));
            }
            if let Some(bad) = own.iter().find(|length| !usize::try_from(**length).is_ok_and(|length| length <= n || rows == 0)) {
                return Err(
                    Error::data(format!("the sequence length {bad} is out of range for {}", counted(n as u64, "item"))).at_row(record)
                );
            }
            let stride = |axis: usize| sizes[axis + 1..].iter().map(|size| size[record]).product::<usize>();
            let (step, outer) = (stride(steps), stride(batch));
            order.extend(range.clone().map(|value| {
                let at = value - range.start;
                let (place, length) = (at / step % n, own[at / outer % rows] as usize);
                if place < length { value - place * step + (length - 1 - place) * step } else { value }
            }));
        }
        tensor.map_below(rank, &mut |t| t.gather(&order))
    })
}

fn ensure_shape(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    let Some(sizes) = call.shape(1)? else { return call.one(x.ty.clone(), move |args| Ok(x.of(args)?.into_owned())) };
    let wrong = |call: &Call| call.error(format!("ensure_shape: the shape {} is not compatible with this one", shape(&x.ty.dims)));
    if sizes.len() != x.rank() {
        return Err(wrong(call));
    }
    let mut dims = x.ty.dims.clone();
    for (dim, size) in dims.iter_mut().zip(sizes) {
        let Some(size) = size else { continue };
        let Ok(size) = u64::try_from(size) else { return Err(wrong(call)) };
        match dim.size {
            Size::Known(n) if n == size => {}
            Size::Uniform => *dim = Dim::known(size),
            _ => return Err(wrong(call)),
        }
    }
    let ty = Type::tensor(x.dtype()?.clone(), dims);
    call.one(ty.clone(), move |args| x.of(args)?.widen(&x.ty, &ty))
}

fn frame(call: &Call) -> ExprResult<String> {
    let ty = dense(call)?;
    let (length, step) = (call.int(1)?, call.int(2)?);
    if length < 0 || step < 1 {
        return Err(call.error("signal.frame: frame_length must be at least 0, and frame_step at least 1"));
    }
    let axis = call.axis(5, call.optional_int(5)?.unwrap_or(-1), ty.rank())?;
    let size = format!("shape(identity(signal))[{axis}]");
    let (count, signal) = match call.flag(3, false)? {
        false => (format!("maximum(({size} - {length}) // {step} + 1, 0)"), "signal".to_owned()),
        true => {
            let count = format!("(({size} + {} - 1) // {step})", step);
            let paddings = format!("{}[0, maximum(({count} - 1) * {step} + {length} - {size}, 0)]", "[0, 0], ".repeat(axis));
            let inner = ", [0, 0]".repeat(ty.rank() - 1 - axis);
            let value = if call.given(4).is_some() { ", constant_values=pad_value" } else { "" };
            (count, format!("pad(signal, [{paddings}{inner}]{value})"))
        }
    };
    Ok(format!("gather({signal}, expand_dims(range({count}) * {step}, 1) + range({length}), axis={axis})"))
}

fn unravel_index(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "int32 and int64", |dtype| matches!(dtype, DType::Int32 | DType::Int64))?;
    let sizes = call.all_integers(1)?;
    if let Some(known) = sizes.iter().map(Integer::known).collect::<Option<Vec<_>>>() {
        product(&known).map_err(|why| call.error(format!("unravel_index: {why}")))?;
    }
    if x.rank() > 1 {
        return Err(call.error(format!("unravel_index expects an index or a vector of them, found {}", x.ty)));
    }
    let dtype = x.dtype()?.clone();
    let dims = [Dim::known(sizes.len() as u64)].into_iter().chain(x.ty.dims.iter().cloned()).collect();
    call.one(Type::tensor(dtype.clone(), dims), move |args| {
        let (tensor, rank) = (x.of(args)?, x.rank());
        let rows = merged(&tensor, 0, rank)?;
        let wide = cast(tensor.levels(rank)?.1.as_leaf()?, &DType::Int64)?;
        let indices = i64s(&wide)?;
        let all = sizes.iter().map(|n| n.of(args)).collect::<Result<Vec<_>>>()?;
        let mut out = Vec::with_capacity(indices.len() * sizes.len());
        let mut lengths = Vec::with_capacity(rows.nrows() * sizes.len());
        for record in 0..rows.nrows() {
            let sizes: Vec<i64> = all.iter().map(|n| n.at(record)).collect();
            let total = product(&sizes).map_err(|why| Error::data(why).at_row(record))?;
            let own = &indices[rows.range(record)];
            if let Some(bad) = own.iter().find(|index| !(0..total).contains(*index)) {
                return Err(Error::data(format!("index {bad} is out of range for {total} values")).at_row(record));
            }
            let mut stride = total;
            for size in &sizes {
                stride /= size.max(&1);
                out.extend(own.iter().map(|index| index / stride.max(1) % size.max(&1)));
                lengths.push(own.len());
            }
        }
        let values = cast(&(Arc::new(Int64Array::from(out)) as ArrayRef), &dtype)?;
        let axes = RowPartition::uniform(sizes.len(), rows.nrows())?;
        let inner = if rank == 1 { vec![partition_of(&x.ty.dims[0], lengths)?] } else { Vec::new() };
        wrap([axes].into_iter().chain(inner), Tensor::Leaf(values))
    })
}

/// The number of values of a tensor with axes of these sizes.
fn product(sizes: &[i64]) -> Result<i64, &'static str> {
    let total = sizes.iter().try_fold(1i64, |all, size| all.checked_mul((*size).max(0)));
    total.ok_or("the tensor would have more than 2^63 values")
}
