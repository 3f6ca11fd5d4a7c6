//! Losses of predictions, given the labels, as formulas.
//!
//! Semantics: `tf.nn`.

use crate::expr::call::{Call, Function};
use crate::expr::error::ExprResult;
use crate::schema::{DType, Size, Type};

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["nn.softmax_cross_entropy_with_logits"],
        "labels, logits, axis|dim=-1",
        "Cross entropy between the softmax of each row of logits and a row of probabilities.",
        [("nn.softmax_cross_entropy_with_logits([0.0, 1.0], [1.0, 1.0])", "0.6931472")],
        alike: [0, 1],
        |call| {
            let (labels, logits) = pair(call)?;
            let is_repeated = |(label, logit): (&_, &_)| matches!((label, logit), (n, Size::Known(1)) if *n != Size::Known(1));
            let sizes = |ty: &Type| ty.dims.iter().map(|dim| dim.size).collect::<Vec<_>>();
            if labels.rank() != logits.rank() || sizes(&labels).iter().zip(&sizes(&logits)).any(is_repeated) {
                return Err(call.error(format!("{}: the labels {labels} do not fit the logits {logits}", call.name)));
            }
            Ok("reduce_sum(cast(labels, identity(logits).dtype) * -nn.log_softmax(logits, axis), axis)".to_owned())
        }
    ),
    formula!(
        ["nn.sparse_softmax_cross_entropy_with_logits"],
        "labels, logits",
        "Cross entropy between the softmax of each row of logits and the index of the correct class.",
        [("nn.sparse_softmax_cross_entropy_with_logits(1, [1.0, 1.0])", "0.6931472")],
        |call| {
            let (labels, logits) = pair(call)?;
            let rank = labels.rank();
            if logits.rank() != rank + 1 {
                return Err(call.error(format!("{} expects one label for each row of logits, found {labels} and {logits}", call.name)));
            }
            Ok(format!("0.0 - gather(nn.log_softmax(logits), labels, axis={rank}, batch_dims={rank})"))
        }
    ),
    formula!(
        ["nn.weighted_cross_entropy_with_logits"],
        "labels, logits, pos_weight",
        "Sigmoid cross entropy of the logits, given the labels, in which positive labels are weighted by pos_weight.",
        [("nn.weighted_cross_entropy_with_logits([1.0], [0.0], 2.0)", "[1.3862944]")],
        alike: [0, 1, 2],
        |call| {
            same_shape(call)?;
            let weight = "(1.0 + (pos_weight - 1.0) * labels)";
            Ok(format!("(1.0 - labels) * logits + {weight} * (math.log1p(exp(-abs(logits))) + nn.relu(-logits))"))
        }
    ),
    formula!(
        ["nn.log_poisson_loss"],
        "targets, log_input, compute_full_loss=False",
        "The loss exp(log_input) - targets * log_input; the full loss adds an approximation of log(targets!).",
        [("nn.log_poisson_loss([1.0], [0.0])", "[1.0]")],
        alike: [0, 1],
        |call| {
            same_shape(call)?;
            let loss = "exp(log_input) - log_input * targets";
            let factorial = "targets * math.log(targets) - targets + 0.5 * math.log(2.0 * math.pi * targets)";
            Ok(match call.flag(2, false)? {
                true => format!("{loss} + where((targets >= 0.0) & (targets <= 1.0), zeros_like(targets), {factorial})"),
                false => loss.to_owned(),
            })
        }
    ),
];

/// The types of arguments 0 and 1, of which the second holds dense floats.
fn pair(call: &Call) -> ExprResult<(Type, Type)> {
    let [labels, logits] = [0, 1].map(|i| call.dense(call.operand(i)?, "to pad its rows: to_tensor(x)"));
    let (labels, logits) = (labels?, logits?);
    if !logits.dtype().is_some_and(DType::is_float) || logits.rank() == 0 {
        return Err(call.error(format!("{} expects rows of logits, found {logits}", call.name)));
    }
    Ok((labels, logits))
}

/// Rejects arguments 0 and 1 of different shapes.
fn same_shape(call: &Call) -> ExprResult<()> {
    let [a, b] = [0, 1].map(|i| call.dense(call.operand(i)?, "flat_values(x) is dense"));
    let (a, b) = (a?, b?);
    let differ = a.dims.iter().zip(&b.dims).any(|(m, n)| matches!((m.size, n.size), (Size::Known(m), Size::Known(n)) if m != n));
    if a.rank() != b.rank() || differ {
        return Err(call.error(format!("{} expects tensors of the same shape, found {a} and {b}", call.name)));
    }
    Ok(())
}
