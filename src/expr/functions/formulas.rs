//! Norms, moments and related functions, as formulas over reductions.
//!
//! Semantics: `tf.norm`, `tf.math.reduce_euclidean_norm`, `tf.math.l2_normalize`, `tf.math.reduce_logsumexp`,
//! `tf.math.count_nonzero`, `tf.nn.moments`, `tf.nn.l2_loss`, `tf.clip_by_norm`.

use super::math::must_be_float;
use crate::expr::call::{Call, Function, as_node, static_ints};
use crate::expr::error::ExprResult;
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::types::last_ragged;
use crate::schema::{DType, Literal, Type};

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["norm", "linalg.norm"],
        "tensor|x, ord=\"euclidean\", axis=None, keepdims|keep_dims=False",
        "The norm of all values, or along an axis: Euclidean (2), sum of magnitudes (1), largest magnitude (math.inf), or any p above 0. With two axes, the matrix norm, where ord is \"fro\", 1 or math.inf.",
        [("norm([3.0, 4.0])", "5.0"), ("norm([[3.0, 4.0], [0.0, 1.0]], axis=1, ord=1)", "[7.0, 1.0]")],
        norm
    ),
    formula!(
        ["math.reduce_euclidean_norm"],
        "input_tensor|x, axis=None, keepdims=False",
        "Euclidean norm over axes: the square root of the sum of squares.",
        [("math.reduce_euclidean_norm([[3.0, 4.0], [0.0, 1.0]], 1)", "[5.0, 1.0]")],
        |call| {
            let squares = "reduce_sum(square(input_tensor), axis, keepdims)";
            // The root of integers is an integer, rounded down.
            Ok(match as_node(call.operand(0)?, None)?.ty.dtype().filter(|dtype| dtype.is_integer()) {
                Some(dtype) => format!("cast(sqrt(cast({squares}, float64)), {dtype})"),
                None => format!("sqrt({squares})"),
            })
        }
    ),
    formula!(
        ["math.l2_normalize", "nn.l2_normalize", "linalg.l2_normalize"],
        "x, axis|dim=None, epsilon=1e-12",
        "Divide values by their Euclidean norm.",
        [("math.l2_normalize([3.0, 4.0])", "[0.6, 0.8]")],
        |call| {
            check_float(call)?;
            text("x * math.rsqrt(maximum(reduce_sum(square(x), axis, True), epsilon))")
        }
    ),
    formula!(
        ["reduce_logsumexp", "math.reduce_logsumexp"],
        "input_tensor|x, axis|reduction_indices=None, keepdims|keep_dims=False",
        "log(sum(exp(x))) over axes.",
        [("reduce_logsumexp([0.0, 0.0, 0.0])", "1.0986123")],
        |_| {
            let greatest = |keepdims: &str| {
                let greatest = format!("reduce_max(input_tensor, axis, {keepdims})");
                format!("where(math.is_finite({greatest}), {greatest}, 0.0)")
            };
            let shifted = format!("exp(input_tensor - {})", greatest("True"));
            Ok(format!("math.log(reduce_sum({shifted}, axis, keepdims)) + {}", greatest("keepdims")))
        }
    ),
    formula!(
        ["math.count_nonzero", "count_nonzero"],
        "input|x|input_tensor, axis|reduction_indices=None, keepdims|keep_dims=False, dtype=int64",
        "The number of values, along axes, that are not 0, False or empty.",
        [("math.count_nonzero([[0, 1], [2, 3]])", "3"), ("math.count_nonzero([\"a\", \"\"])", "1")],
        |call| {
            text(match call.dtype(3)? {
                Some(DType::Bool) => "reduce_any(input != zeros_like(input), axis, keepdims)",
                _ => "reduce_sum(cast(input != zeros_like(input), dtype), axis, keepdims)",
            })
        }
    ),
    formula!(
        ["nn.moments"],
        "x, axes, shift=None, keepdims|keep_dims=False",
        "Mean and variance over axes.",
        [("nn.moments([1.0, 3.0], axes=0)[1]", "1.0")],
        |call| {
            const OF_DIFFERENCES: &str =
                "(reduce_mean(x, axes, keepdims), reduce_mean(math.squared_difference(x, reduce_mean(x, axes, True)), axes, keepdims))";
            let ty = as_node(call.operand(0)?, None)?.ty;
            text(match ty.dtype() {
                // math.reduce_variance would lose digits, as it does in TensorFlow.
                Some(DType::Float32 | DType::Float64) if ty.is_ragged() && has_means_of_rows(call.operand(1)?, &ty) => OF_DIFFERENCES,
                Some(DType::Float16) => {
                    "(cast(reduce_mean(cast(x, float32), axes, keepdims), float16), cast(math.reduce_variance(cast(x, float32), axes, keepdims), float16))"
                }
                // In integers, as the mean is.
                Some(dtype) if dtype.is_integer() && !ty.is_ragged() => OF_DIFFERENCES,
                _ => "(reduce_mean(x, axes, keepdims), math.reduce_variance(x, axes, keepdims))",
            })
        }
    ),
    formula!(
        ["nn.weighted_moments"],
        "x, axes, frequency_weights, keepdims|keep_dims=False",
        "Weighted mean and variance over axes.",
        [("nn.weighted_moments([1.0, 3.0, 9.0], [0], [1.0, 1.0, 0.0])[0]", "2.0")],
        |call| {
            let dtype = as_node(call.operand(0)?, None)?.ty.dtype().cloned().unwrap_or(DType::Float32);
            // Half-precision numbers are summed as float32.
            let wide = if dtype == DType::Float16 { DType::Float32 } else { dtype.clone() };
            let (x, weights) = (format!("cast(x, {wide})"), format!("cast(frequency_weights, {wide})"));
            let sums = |values: &str, keepdims: &str| format!("reduce_sum({values}, axes, {keepdims})");
            let total = |keepdims: &str| sums(&format!("({weights} + zeros_like({x}))"), keepdims);
            let mean = |keepdims: &str| format!("divide_no_nan({}, {})", sums(&format!("{weights} * {x}"), keepdims), total(keepdims));
            let squares = format!("{weights} * math.squared_difference({x}, {})", mean("True"));
            let variance = format!("divide_no_nan({}, {})", sums(&squares, "keepdims"), total("keepdims"));
            Ok(format!("(cast({}, {dtype}), cast({variance}, {dtype}))", mean("keepdims")))
        }
    ),
    formula!(
        ["nn.sufficient_statistics"],
        "x, axes, shift=None, keepdims|keep_dims=False",
        "The arguments of nn.normalize_moments: the number of values over axes, their sum, the sum of their squares, and shift (default 0), which is first subtracted from the values.",
        [("nn.sufficient_statistics([1.0, 3.0], [0])[2]", "10.0")],
        |call| {
            let (own, squares, shift) = match call.given(2).is_some() {
                true => ("x - shift", "math.squared_difference(x, shift)", "shift"),
                false => ("x", "square(x)", "cast(0, identity(x).dtype)"),
            };
            let ty = call.dense(call.operand(0)?, "to pad its rows: to_tensor(x)")?;
            let axes = static_ints(call.operand(1)?).ok_or_else(|| call.error("nn.sufficient_statistics: axes must be a list of axes"))?;
            let axes = axes.into_iter().map(|axis| call.axis(1, axis, ty.rank())).collect::<ExprResult<Vec<_>>>()?;
            let sizes: Vec<String> = axes.into_iter().map(|axis| format!("shape(identity(x))[{axis}]")).collect();
            let count = if sizes.is_empty() { "1".to_owned() } else { sizes.join(" * ") };
            Ok(format!(
                "(cast({count}, identity(x).dtype), reduce_sum({own}, axes, keepdims), reduce_sum({squares}, axes, keepdims), {shift})"
            ))
        }
    ),
    formula!(
        ["nn.normalize_moments"],
        "counts, mean_ss, variance_ss, shift",
        "Mean and variance from the results of nn.sufficient_statistics.",
        [("nn.normalize_moments(2.0, 4.0, 10.0, None)[1]", "1.0")],
        |call| {
            const MEAN: &str = "mean_ss * math.reciprocal(counts)";
            let shifted = if call.given(3).is_some() { " + shift" } else { "" };
            Ok(format!("({MEAN}{shifted}, variance_ss * math.reciprocal(counts) - square({MEAN}))"))
        }
    ),
    formula!(["nn.l2_loss"], "t|x", "Half the sum of squares.", [("nn.l2_loss([3.0, 4.0])", "12.5")], |call| {
        check_float(call)?;
        text("reduce_sum(square(t)) / 2.0")
    }),
    formula!(
        ["clip_by_norm"],
        "t|x, clip_norm, axes=None",
        "Scale values down so that their Euclidean norm is at most clip_norm.",
        [("clip_by_norm([3.0, 4.0], 1.0)", "[0.6, 0.8]")],
        |_| text("t * clip_norm / maximum(sqrt(reduce_sum(square(t), axes, True)), clip_norm)")
    ),
];

/// Whether the means over these axes of a ragged tensor broadcast with its values: the reduced axes hold all ragged ones after the
/// first of them.
fn has_means_of_rows(axes: &Operand, ty: &Type) -> bool {
    let (Some(axes), Some(last)) = (static_ints(axes), last_ragged(&ty.dims)) else { return false };
    let axes: Vec<i64> = axes.into_iter().map(|axis| if axis < 0 { axis + ty.rank() as i64 } else { axis }).collect();
    axes.iter().min().is_some_and(|first| (*first..=last as i64).all(|axis| axes.contains(&axis)))
}

fn text(formula: &str) -> ExprResult<String> {
    Ok(formula.to_owned())
}

/// The squares of integers would wrap around.
fn check_float(call: &Call) -> ExprResult<()> {
    let node = as_node(call.operand(0)?, None)?;
    must_be_float(call, node.ty.dtype().unwrap_or(&DType::Null), &node.span)
}

fn norm(call: &Call) -> ExprResult<String> {
    let axes = call.given(2).filter(|axis| axis.elements().is_some()).and_then(static_ints);
    let is_matrix = axes.as_ref().is_some_and(|axes| axes.len() == 2);
    let wrong =
        || call.error("norm: ord must be \"euclidean\", a number above 0 or math.inf; \"fro\" is for matrices, with a list of two axes");
    // By default, the Euclidean norm of a vector or matrix.
    let ord = match call.given(1).map(|item| &item.kind) {
        None => None,
        Some(OperandKind::Literal(Literal::String(name))) if name == "euclidean" || (name == "fro" && is_matrix) => None,
        Some(OperandKind::Literal(Literal::Int(n))) => Some(*n as f64),
        Some(OperandKind::Literal(Literal::Float(x))) => Some(*x),
        Some(_) => return Err(wrong()),
    };
    if let Some([rows, columns]) = axes.as_deref() {
        if rows == columns {
            return Err(call.error("norm: the two axes of a matrix must be different"));
        }
        // Matrix norms: the largest column or row sum of magnitudes.
        let largest = |summed: i64, compared: i64| {
            let sums = format!("reduce_max(reduce_sum(abs(tensor), {summed}, True), {compared}, True)");
            if call.flag(3, false)? { Ok(sums) } else { Ok(format!("squeeze({sums}, axis)")) }
        };
        return match ord {
            None => text("sqrt(reduce_sum(square(tensor), axis, keepdims))"),
            Some(1.0) => largest(*rows, *columns),
            Some(f64::INFINITY) => largest(*columns, *rows),
            Some(_) => Err(call.error("norm: for a matrix, ord must be \"euclidean\", \"fro\", 1 or math.inf")),
        };
    }
    match ord {
        None | Some(2.0) => text("sqrt(reduce_sum(square(tensor), axis, keepdims))"),
        Some(1.0) => text("reduce_sum(abs(tensor), axis, keepdims)"),
        Some(f64::INFINITY) => text("reduce_max(abs(tensor), axis, keepdims)"),
        Some(ord) if ord > 0.0 => Ok(format!("reduce_sum(abs(tensor) ** {ord:?}, axis, keepdims) ** (1.0 / {ord:?})")),
        Some(_) => Err(wrong()),
    }
}
