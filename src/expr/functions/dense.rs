//! Padding, shifting, linspace and binning of dense tensors, as formulas.
//!
//! Semantics: `tf.pad`, `tf.roll`, `tf.eye`, `tf.linspace`, `tf.histogram_fixed_width`.

use super::time::named;
use crate::expr::call::{Call, Function, as_node, common, static_int, static_ints};
use crate::expr::error::ExprResult;
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::types::quotient;
use crate::printable::counted_axes;
use crate::schema::{DType, Dim, Literal, Size, Type};

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["pad"],
        "tensor|x|input, paddings, mode=\"CONSTANT\", constant_values=0",
        "Pad each axis at the start and end with a constant, or with mirrored values (REFLECT, SYMMETRIC).",
        [("pad([1, 2], [[1, 2]])", "[0, 1, 2, 0, 0]"), ("pad([1, 2, 3], [[2, 0]], \"REFLECT\")", "[3, 2, 1, 2, 3]")],
        pad
    ),
    formula!(
        ["roll", "manip.roll"],
        "input|x, shift, axis",
        "Shift the items along one or more axes; items shifted off one end reappear at the other.",
        [("roll([1, 2, 3, 4], shift=1, axis=0)", "[4, 1, 2, 3]")],
        roll
    ),
    formula!(
        ["eye", "linalg.eye"],
        "num_rows, num_columns=None, batch_shape=None, dtype=float32",
        "A matrix with ones on the diagonal.",
        [("eye(2)", "[[1.0, 0.0], [0.0, 1.0]]")],
        |call| {
            let columns = if call.given(1).is_some() { "num_columns" } else { "num_rows" };
            let matrix = format!("one_hot(range(num_rows), {columns}, dtype=dtype)");
            Ok(match call.ints(2)? {
                None => matrix,
                Some(batch) => {
                    let sizes: String = batch.iter().map(|n| format!("{n}, ")).collect();
                    format!("broadcast_to({matrix}, [{sizes}num_rows, {columns}])")
                }
            })
        }
    ),
    formula!(
        ["linspace", "lin_space"],
        "start, stop, num, name, axis=0",
        "Evenly spaced numbers from start to stop; between tensors, along a new axis.",
        [
            ("linspace(0.0, 1.0, 5)", "[0.0, 0.25, 0.5, 0.75, 1.0]"),
            ("linspace([0.0, 1.0], [1.0, 5.0], 3)", "[[0.0, 1.0], [0.5, 3.0], [1.0, 5.0]]")
        ],
        linspace
    ),
    formula!(
        ["meshgrid"],
        "*args, indexing=\"xy\", sparse=False",
        "Coordinate grids, one for each vector. With indexing=\"xy\", the first two axes are swapped.",
        [
            ("meshgrid([1, 2, 3], [4, 5])[0]", "[[1, 2, 3], [1, 2, 3]]"),
            ("meshgrid([1, 2, 3], [4, 5], indexing=\"ij\")[1]", "[[4, 5], [4, 5], [4, 5]]")
        ],
        meshgrid
    ),
    formula!(
        ["histogram_fixed_width_bins"],
        "values|x, value_range, nbins=100, dtype=int32",
        "The bin (int32) of each value, with equal-width bins over a range. Values out of range fall into the first or last bin.",
        [("histogram_fixed_width_bins([0.0, 2.5, 9.0], [0.0, 5.0], nbins=5)", "[0, 2, 4]")],
        |call| Ok(format!("cast({}, int32)", bins(call)?))
    ),
    formula!(
        ["histogram_fixed_width"],
        "values|x, value_range, nbins=100, dtype=int32",
        "The number of values in each of nbins equal-width bins over a range.",
        [("histogram_fixed_width([0.0, 2.5, 9.0], [0.0, 5.0], nbins=5)", "[1, 0, 1, 0, 1]")],
        |call| {
            let number = |end: Operand| match end.kind {
                OperandKind::Literal(Literal::Int(n)) => Some(n as f64),
                OperandKind::Literal(Literal::Float(x)) => Some(x),
                _ => None,
            };
            let ends = call.operand(1)?.elements().and_then(|ends| ends.into_iter().map(number).collect::<Option<Vec<_>>>());
            if let Some([low, high]) = ends.as_deref()
                && low >= high
            {
                return Err(call.error(format!("histogram_fixed_width: the range from {low} to {high} must be increasing")));
            }
            let bins = bins_of_steps(call)?;
            Ok(format!("cast(math.bincount(reshape(cast({bins}, int32), [-1]), minlength=nbins, maxlength=nbins), dtype)"))
        }
    ),
];

/// The bin of each value, as a formula.
fn bins(call: &Call) -> ExprResult<String> {
    let ends = ends(call)?;
    Ok(format!("clip_by_value(floor(nbins * ((values - {ends}[0]) / ({ends}[1] - {ends}[0]))), 0, nbins - 1)"))
}

/// Like [`bins`], but with different rounding: TensorFlow's two functions differ at bin edges.
fn bins_of_steps(call: &Call) -> ExprResult<String> {
    let ends = format!("cast({}, float64)", ends(call)?);
    let step = format!("({ends}[1] / nbins - {ends}[0] / nbins)");
    Ok(format!("clip_by_value(floor((cast(values, float64) - {ends}[0]) / {step}), 0, nbins - 1)"))
}

/// The range limits, directly in the dtype of the values: going through float32 would lose digits.
fn ends(call: &Call) -> ExprResult<String> {
    if let Some(OperandKind::Literal(Literal::Int(n))) = call.given(2).map(|nbins| &nbins.kind)
        && *n < 1
    {
        return Err(call.error(format!("{}: nbins is {n}; it must be positive", call.name)));
    }
    let conversion = if call.operand(1)?.is_literal() { "constant" } else { "cast" };
    Ok(format!("{conversion}(value_range, identity(values).dtype)"))
}

/// The type of argument 0, whose rows must have equal lengths.
fn dense(call: &Call) -> ExprResult<Type> {
    let ty = as_node(call.operand(0)?, None)?.ty;
    if ty.is_sparse() || ty.is_ragged() {
        return Err(call.error(format!("{} expects a dense tensor, found {ty}", call.name)).help("to pad its rows: to_tensor(x)"));
    }
    Ok(ty)
}

fn roll(call: &Call) -> ExprResult<String> {
    dense(call)?;
    let once = |input: &str, shift: &str, axis: &str| {
        let size = format!("shape(identity({input}))[{axis}]");
        format!("gather({input}, floormod(range({size}) - {shift}, maximum({size}, 1)), axis={axis})")
    };
    if call.operand(2)?.elements().is_none() {
        return Ok(once("input", "shift", "axis"));
    }
    match (static_ints(call.operand(1)?), static_ints(call.operand(2)?)) {
        (Some(shifts), Some(axes)) if shifts.len() == axes.len() => {
            let pairs = shifts.iter().zip(&axes);
            Ok(pairs.fold("input".to_owned(), |rolled, (shift, axis)| once(&rolled, &shift.to_string(), &axis.to_string())))
        }
        _ => Err(call.error("roll: shift and axis must be integers, or lists of the same length")),
    }
}

fn linspace(call: &Call) -> ExprResult<String> {
    let (num, axis) = (static_int(call.operand(2)?), if call.given(3).is_some() { call.int(3)? } else { 0 });
    // Both ends have the dtype of their quotient, and one shape.
    let items = [call.operand(0)?.clone(), call.operand(1)?.clone()];
    let nodes = common(&items, "linspace", call.text())?;
    let dtype = quotient(nodes[0].ty.dtype().unwrap_or(&DType::Float32));
    let converted = |i: usize, name: &str| format!("{}({name}, {dtype})", if items[i].is_literal() { "constant" } else { "cast" });
    let (mut start, mut stop) = (converted(0, "start"), converted(1, "stop"));
    let rank = nodes.iter().map(|node| node.ty.rank()).max().unwrap_or(0) as i64 + 1;
    if nodes[0].ty.dims != nodes[1].ty.dims {
        (start, stop) = (format!("({start} + zeros_like({stop}))"), format!("({stop} + zeros_like({start}))"));
    }
    let ends = |what: &str| format!("expand_dims({what}, {axis})");
    let between = |steps: &str| {
        let at = if axis < 0 { axis + rank } else { axis };
        let sizes: Vec<&str> = (0..rank).map(|other| if other == at { "-1" } else { "1" }).collect();
        let numbers = format!("reshape(cast(range(1, {steps}), {dtype}), [{}])", sizes.join(", "));
        format!("{} + expand_dims(({stop} - {start}) / cast({steps}, {dtype}), {axis}) * {numbers}", ends(&start))
    };
    let all = |steps: &str| format!("concat([{}, {}, {}], {axis})", ends(&start), between(steps), ends(&stop));
    Ok(match num {
        Some(num @ ..0) => return Err(call.error(format!("linspace: num is {num}; it must not be negative"))),
        Some(0) => format!("gather({}, range(0), axis={axis})", ends(&start)),
        Some(1) => ends(&start),
        Some(_) => all("(num - 1)"),
        None => format!("gather({}, range(num), axis={axis})", all("maximum(num - 1, 1)")),
    })
}

fn meshgrid(call: &Call) -> ExprResult<String> {
    let count = call.operand(0)?.elements().map_or(0, |args| args.len());
    let exchanged = match call.string(1)?.as_deref() {
        None | Some("xy") => count > 1,
        Some("ij") => false,
        Some(_) => return Err(call.error("meshgrid: indexing must be \"xy\" or \"ij\"")),
    };
    let is_sparse = call.flag(2, false)?;
    // The axis of each vector.
    let mut axes: Vec<usize> = (0..count).collect();
    if exchanged {
        axes.swap(0, 1);
    }
    let sizes: Vec<String> = axes.iter().map(|arg| format!("size(args[{arg}])")).collect();
    let grid = |arg: usize| {
        let shape: Vec<&str> = axes.iter().map(|other| if *other == arg { "-1" } else { "1" }).collect();
        let along = format!("reshape(args[{arg}], [{}])", shape.join(", "));
        if is_sparse { along } else { format!("broadcast_to({along}, [{}])", sizes.join(", ")) }
    };
    let grids: String = (0..count).map(|arg| format!("{}, ", grid(arg))).collect();
    Ok(format!("({grids})"))
}

fn pad(call: &Call) -> ExprResult<String> {
    let ty = dense(call)?;
    let mode = call.string(2)?.unwrap_or_default().to_uppercase();
    let pairs = paddings(call, ty.rank())?;
    let constant = match ty.dtype() {
        _ if call.given(3).is_some() => "constant_values",
        Some(dtype) if dtype.time().is_some() && ["", "CONSTANT"].contains(&mode.as_str()) => {
            return Err(call.error("pad: times need a value to be padded with").help("write it as text: constant_values=\"1970-01-01\""));
        }
        Some(DType::String | DType::Bytes) => "\"\"",
        Some(DType::Bool) => "False",
        _ => "0",
    };
    let is_literal = call.given(3).is_none_or(|value| matches!(value.kind, OperandKind::Literal(_)));
    // Another dtype is promoted.
    let is_other = !is_literal && call.given(3).and_then(Operand::node).is_some_and(|node| node.ty.dtype() != ty.dtype());
    let mut padded = "tensor".to_owned();
    for (axis, [before, after]) in pairs.iter().enumerate().filter(|(_, pair)| pair.iter().any(|n| n != "0")) {
        let size = format!("shape(identity(tensor))[{axis}]");
        padded = match mode.as_str() {
            "" | "CONSTANT" => {
                // Axes before this one are already padded.
                let sizes = |n: &str| {
                    let of = |(other, pair): (usize, &[String; 2])| match other.cmp(&axis) {
                        std::cmp::Ordering::Equal => n.to_owned(),
                        std::cmp::Ordering::Less => format!("shape(identity(tensor))[{other}] + {} + {}", pair[0], pair[1]),
                        std::cmp::Ordering::Greater => format!("shape(identity(tensor))[{other}]"),
                    };
                    pairs.iter().enumerate().map(of).collect::<Vec<_>>().join(", ")
                };
                // Converted directly to the tensor's dtype: going through float32 would lose digits.
                let value = match ty.dtype() {
                    Some(DType::String | DType::Bytes) => constant.to_owned(),
                    Some(dtype) if dtype.time().is_some() => format!("cast({constant}, \"{}\")", named(dtype)),
                    _ if is_other => constant.to_owned(),
                    _ => format!("{}({constant}, identity(tensor).dtype)", if is_literal { "constant" } else { "cast" }),
                };
                let of = |n: &str| if n == "0" { None } else { Some(format!("fill([{}], {value})", sizes(n))) };
                let parts = [of(before), Some(padded), of(after)];
                format!("concat([{}], {axis})", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
            }
            "REFLECT" => format!(
                "gather({padded}, concat([range({before}, 0, -1), range({size}), range({size} - 2, {size} - 2 - {after}, -1)], 0), axis={axis})"
            ),
            "SYMMETRIC" => format!(
                "gather({padded}, concat([range({before} - 1, -1, -1), range({size}), range({size} - 1, {size} - 1 - {after}, -1)], 0), axis={axis})"
            ),
            _ => return Err(call.error("pad: mode must be \"CONSTANT\", \"REFLECT\" or \"SYMMETRIC\"")),
        };
    }
    Ok(padded)
}

/// The sizes before and after each axis, as formulas.
fn paddings(call: &Call, rank: usize) -> ExprResult<Vec<[String; 2]>> {
    let item = call.operand(1)?;
    let wrong = || call.error("pad: paddings must be a list with two sizes for each axis, such as [[0, 0], [1, 2]]");
    let pairs = match (item.elements(), item.node()) {
        (Some(pairs), _) => pairs.iter().map(|pair| Some((pair.elements()?.len(), static_ints(pair)))).collect::<Option<Vec<_>>>(),
        (None, Some(node)) => match node.ty.dims.as_slice() {
            [Dim { size: Size::Known(n), .. }, Dim { size: Size::Known(k), .. }] if *n as usize <= rank + 1 => {
                Some(vec![(*k as usize, None); *n as usize])
            }
            [_, _] => {
                return Err(call
                    .error(format!("pad: the shape of paddings must be known before the first record is processed; these are {}", node.ty))
                    .help("write them as a list: [[0, n], [1, 2]]"));
            }
            _ => None,
        },
        _ => None,
    };
    let pairs = pairs.filter(|pairs| pairs.iter().all(|(n, _)| *n == 2)).ok_or_else(wrong)?;
    if pairs.len() != rank {
        return Err(call.error(format!("pad: paddings are given for {}, but the tensor has {rank}", counted_axes(pairs.len()))));
    }
    let sizes = |(axis, (_, known)): (usize, &(usize, Option<Vec<i64>>))| match known.as_deref() {
        Some([before, after]) if *before >= 0 && *after >= 0 => Ok([before.to_string(), after.to_string()]),
        Some(_) => Err(wrong()),
        None => Ok([0, 1].map(|side| format!("paddings[{axis}][{side}]"))),
    };
    pairs.iter().enumerate().map(sizes).collect()
}
