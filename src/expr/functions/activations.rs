//! Neural network activations, element-wise.
//!
//! Semantics: `tf.nn`.

use super::apply::unary;
use super::join::concat;
use super::math::{float, must_be_float};
use super::special::two;
use crate::expr::call::{Call, Function, as_node, cast_node, strict_node};
use crate::expr::error::ExprResult;
use crate::expr::eval::Node;
use crate::expr::kernels::elementwise::{self, Float, Unary};
use crate::expr::kernels::special::{self as kernel, mapped};
use crate::expr::operand::{Operand, OperandKind};
use crate::schema::{DType, Dim, Literal, Size};

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["nn.gelu"],
        "features|x, approximate=False",
        "Gaussian error linear unit: x times the standard normal cumulative distribution function at x.",
        [("nn.gelu([0.0, 1.0])", "[0.0, 0.8413447]")],
        |c| {
            check_float(c)?;
            // Rounded to the dtype at each step, as in TensorFlow, which converts the constants to float32 before it
            // casts them.
            Ok(if c.flag(1, false)? {
                "0.5 * features * (1.0 + tanh(0.7978845608028654 * (features + cast(constant(0.044715), identity(features).dtype) * pow(features, 3.0))))"
            } else {
                "0.5 * features * math.erfc(-features * cast(constant(0.7071067811865476), identity(features).dtype))"
            }
            .to_owned())
        }
    ),
    formula!(
        ["nn.silu", "nn.swish"],
        "features|x, beta=1.0",
        "x * sigmoid(beta * x).",
        [("nn.silu([0.0, 1.0])", "[0.0, 0.7310586]")],
        |c| {
            check_float(c)?;
            Ok("features * math.sigmoid(beta * features)".to_owned())
        }
    ),
    function!(
        ["nn.crelu"],
        "features|x, axis=-1",
        "Concatenation of max(x, 0) and max(-x, 0) along an axis.",
        [("nn.crelu([-1.0, 2.0])", "[0.0, 2.0, 1.0, 0.0]")],
        crelu
    ),
    function!(["nn.selu"], "features|x", "Scaled exponential linear unit.", [("nn.selu([0.0, 1.0])", "[0.0, 1.050701]")], |c| {
        float(c, Float::Selu)
    }),
    function!(
        ["nn.leaky_relu"],
        "features|x, alpha=0.2",
        "x where it is positive, else alpha * x; for integers, the result is float32.",
        [("nn.leaky_relu([-1.0, 2.0], alpha=0.5)", "[-0.5, 2.0]")],
        |c| {
            // In TensorFlow, this is a float32 attribute of the kernel.
            let alpha = f64::from(number(c, 1, 0.2)? as f32);
            let node = strict_node(c.operand(0)?)?;
            let integer = node.ty.dtype().is_some_and(DType::is_integer);
            let node = if integer { cast_node(node, &DType::Float32, c.text())? } else { node };
            let x = c.push(node);
            c.plain(&x)?;
            c.check_dtype(&x, "numbers", DType::is_float)?;
            let dtype = x.dtype()?.clone();
            unary(c, x, dtype, move |a| mapped(|v| if v < 0.0 { v * alpha } else { v }, a))
        }
    ),
    function!(
        ["nn.sigmoid_cross_entropy_with_logits"],
        "labels, logits",
        "Sigmoid cross entropy of the logits, given the labels.",
        [("nn.sigmoid_cross_entropy_with_logits(labels=[0.5], logits=[0.0])", "[0.6931472]")],
        |c| {
            let (labels, logits) = (as_node(c.operand(0)?, None)?.ty, as_node(c.operand(1)?, None)?.ty);
            let unequal = |(a, b): (&Dim, &Dim)| matches!((a.size, b.size), (Size::Known(m), Size::Known(n)) if m != n);
            if labels.rank() != logits.rank() || labels.dims.iter().zip(&logits.dims).any(unequal) {
                return Err(c.error(format!("the labels and the logits must have the same shape; these are {labels} and {logits}")));
            }
            two(c, kernel::sigmoid_cross_entropy)
        }
    ),
];

/// As in TensorFlow, integers have no such functions.
fn check_float(call: &Call) -> ExprResult<()> {
    let node = as_node(call.operand(0)?, None)?;
    must_be_float(call, node.ty.dtype().unwrap_or(&DType::Null), &node.span)
}

fn crelu(call: &mut Call) -> ExprResult<OperandKind> {
    let node = strict_node(call.operand(0)?)?;
    let axis = call.optional_int(1)?.unwrap_or(-1);
    let half = |call: &mut Call, ops: &'static [Unary]| -> ExprResult<Node> {
        let x = call.push(node.clone());
        call.plain(&x)?;
        call.check_dtype(&x, "numbers", DType::is_number)?;
        let dtype = x.dtype()?.clone();
        let kind = unary(call, x, dtype, move |a| ops.iter().try_fold(a.clone(), |a, op| elementwise::unary(*op, &a)))?;
        call.result(kind)
    };
    let halves = [half(call, &[Unary::Relu])?, half(call, &[Unary::Negative, Unary::Relu])?];
    let halves = halves.map(|node| call.push(node));
    concat(call, halves.into(), axis, false)
}

/// Argument `i` as a number known before the first record.
fn number(call: &Call, i: usize, default: f64) -> ExprResult<f64> {
    match call.given(i).map(|item: &Operand| &item.kind) {
        None => Ok(default),
        Some(OperandKind::Literal(Literal::Float(x))) => Ok(*x),
        Some(OperandKind::Literal(Literal::Int(n))) => Ok(*n as f64),
        Some(_) => Err(call.error(format!("{}: {} must be a number known before the first record is processed", call.name, call.param(i)))),
    }
}
