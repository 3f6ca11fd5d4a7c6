//! Dense tensors padded, shifted, made of numbers at equal distances, and values put into bins: formulas.
//!
//! Source of the meaning: `tf.pad`, `tf.roll`, `tf.eye`, `tf.linspace`, `tf.searchsorted`, `tf.histogram_fixed_width`.

use crate::expr::call::{Call, Function, as_node, static_ints};
use crate::expr::error::ExprResult;
use crate::schema::{DType, Type};

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["pad"],
        "tensor|x, paddings, mode=\"CONSTANT\", constant_values=0",
        "Add items before and after each axis: a constant, or the values mirrored (REFLECT, SYMMETRIC).",
        [("pad([1, 2], [[1, 2]])", "[0, 1, 2, 0, 0]"), ("pad([1, 2, 3], [[2, 0]], \"REFLECT\")", "[3, 2, 1, 2, 3]")],
        pad
    ),
    formula!(
        ["roll"],
        "input|x, shift, axis",
        "Shift the items of an axis; what leaves it at one end comes in at the other.",
        [("roll([1, 2, 3, 4], shift=1, axis=0)", "[4, 1, 2, 3]")],
        |call| {
            dense(call)?;
            let size = "shape(identity(input))[axis]";
            Ok(format!("gather(input, floormod(range({size}) - shift, maximum({size}, 1)), axis=axis)"))
        }
    ),
    formula!(
        ["eye", "linalg.eye"],
        "num_rows, num_columns=None, batch_shape=None, dtype=float32",
        "A matrix with ones on the diagonal.",
        [("eye(2)", "[[1.0, 0.0], [0.0, 1.0]]")],
        |call| {
            if call.given(2).is_some() {
                return Err(call.error("eye: batch_shape is not supported").help("broadcast_to(eye(n), [batch, n, n]) repeats the matrix"));
            }
            let columns = if call.given(1).is_some() { "num_columns" } else { "num_rows" };
            Ok(format!("one_hot(range(num_rows), {columns}, dtype=dtype)"))
        }
    ),
    formula!(
        ["linspace", "lin_space"],
        "start, stop, num",
        "Numbers from start to stop at equal distances.",
        [("linspace(0.0, 1.0, 5)", "[0.0, 0.25, 0.5, 0.75, 1.0]")],
        |call| {
            let num = call.int(2)?;
            Ok(match num {
                ..1 => return Err(call.error(format!("linspace: num is {num}; it must be at least 1"))),
                1 => "stack([start])".to_owned(),
                _ => "concat([stack([start]), start + (stop - start) / (num - 1) * cast(range(1, num - 1), float32), stack([stop])], 0)"
                    .to_owned(),
            })
        }
    ),
    formula!(
        ["searchsorted"],
        "sorted_sequence, values, side=\"left\", out_type=int32",
        "The position at which each value fits into a sorted row: before equal ones, or with side=\"right\" after them.",
        [
            ("searchsorted([10, 20, 30], [5, 20, 35])", "[0, 1, 3]"),
            ("searchsorted([10, 20, 30], [5, 20, 35], side=\"right\")", "[0, 2, 3]")
        ],
        |call| {
            let is_before = match call.string(2)?.as_deref() {
                None | Some("left") => "<",
                Some("right") => "<=",
                Some(_) => return Err(call.error("searchsorted: side is \"left\" or \"right\"")),
            };
            Ok(format!("reduce_sum(cast(expand_dims(sorted_sequence, -2) {is_before} expand_dims(values, -1), out_type), -1)"))
        }
    ),
    formula!(
        ["histogram_fixed_width_bins"],
        "values|x, value_range, nbins=100, dtype=int32",
        "The bin of each value, of bins of equal width over a range; values beyond it are in the first or last bin.",
        [("histogram_fixed_width_bins([0.0, 2.5, 9.0], [0.0, 5.0], nbins=5)", "[0, 2, 4]")],
        |_| Ok(format!("cast({BINS}, dtype)"))
    ),
    formula!(
        ["histogram_fixed_width"],
        "values|x, value_range, nbins=100, dtype=int32",
        "How many values are in each of the bins of equal width over a range.",
        [("histogram_fixed_width([0.0, 2.5, 9.0], [0.0, 5.0], nbins=5)", "[1, 0, 1, 0, 1]")],
        |_| Ok(format!("cast(math.bincount(cast({BINS}, int32), minlength=nbins, maxlength=nbins), dtype)"))
    ),
];

const BINS: &str = "clip_by_value(floor(nbins * ((values - value_range[0]) / (value_range[1] - value_range[0]))), 0, nbins - 1)";

/// The type of argument 0, which must have rows of equal length.
fn dense(call: &Call) -> ExprResult<Type> {
    let ty = as_node(call.operand(0)?, None)?.ty;
    if ty.is_sparse() || ty.is_ragged() {
        return Err(call.error(format!("{} works on dense tensors; this is {ty}", call.name)).help("to_tensor(x) pads its rows"));
    }
    Ok(ty)
}

fn pad(call: &Call) -> ExprResult<String> {
    let ty = dense(call)?;
    let mode = call.string(2)?.unwrap_or_default().to_uppercase();
    let pairs = call.list(1)?.iter().map(|pair| static_ints(pair).filter(|ints| ints.len() == 2)).collect::<Option<Vec<_>>>();
    let Some(pairs) = pairs.filter(|pairs| pairs.iter().flatten().all(|n| *n >= 0)) else {
        return Err(call.error("pad: paddings is a list of two sizes for each axis, as [[0, 0], [1, 2]]"));
    };
    if pairs.len() != ty.rank() {
        return Err(call.error(format!("pad: paddings are given for {} axes, but the tensor has {}", pairs.len(), ty.rank())));
    }
    let is_text = matches!(ty.dtype(), Some(DType::String | DType::Bytes));
    let constant = if is_text && call.given(3).is_none() { "\"\"" } else { "constant_values" };
    let mut padded = "tensor".to_owned();
    for (axis, pair) in pairs.iter().enumerate().filter(|(_, pair)| pair.iter().any(|n| *n > 0)) {
        let (before, after) = (pair[0], pair[1]);
        let size = format!("shape(identity(tensor))[{axis}]");
        padded = match mode.as_str() {
            "" | "CONSTANT" => {
                // Axes before this one are padded already.
                let sizes = |n: i64| {
                    let of = |(other, pair): (usize, &Vec<i64>)| match other.cmp(&axis) {
                        std::cmp::Ordering::Equal => n.to_string(),
                        std::cmp::Ordering::Less => format!("shape(identity(tensor))[{other}] + {}", pair[0] + pair[1]),
                        std::cmp::Ordering::Greater => format!("shape(identity(tensor))[{other}]"),
                    };
                    pairs.iter().enumerate().map(of).collect::<Vec<_>>().join(", ")
                };
                let value = format!("cast({constant}, identity(tensor).dtype)");
                let of = |n: i64| if n > 0 { Some(format!("fill([{}], {value})", sizes(n))) } else { None };
                let parts = [of(before), Some(padded), of(after)];
                format!("concat([{}], {axis})", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
            }
            "REFLECT" => format!(
                "gather({padded}, concat([range({before}, 0, -1), range({size}), range({size} - 2, {size} - 2 - {after}, -1)], 0), axis={axis})"
            ),
            "SYMMETRIC" => format!(
                "gather({padded}, concat([range({before} - 1, -1, -1), range({size}), range({size} - 1, {size} - 1 - {after}, -1)], 0), axis={axis})"
            ),
            _ => return Err(call.error("pad: mode is \"CONSTANT\", \"REFLECT\" or \"SYMMETRIC\"")),
        };
    }
    Ok(padded)
}
