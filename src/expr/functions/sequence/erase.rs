//! Removing steps from sequences.
//!
//! Semantics: Paddle's operator `sequence_erase`.

use super::shared::Sequences;
use crate::expr::call::{Call, Function, static_ints};
use crate::expr::error::{ExprError, ExprResult};
use crate::schema::DType;

pub static FUNCTIONS: &[Function] = &[formula!(
    ["sequence_erase"],
    "x|input, tokens",
    "Remove the steps whose value is one of the tokens.",
    [("sequence_erase([[2, 2, 6, 1], [3, 9, 6]], [2, 6])", "[[1], [3, 9]]")],
    erase
)];

fn erase(call: &Call) -> ExprResult<String> {
    let mut bound = Call::operator(&call.name, call.span.clone(), call.text().clone());
    let node = crate::expr::call::strict_node(call.operand(0)?)?;
    let arg = bound.push(node);
    let x = Sequences::in_arg(&bound, arg)?;
    x.one_value_a_step(&bound)?;
    bound.check_dtype(&x.arg, "integers", DType::is_integer)?;
    let tokens = call.operand(1)?;
    let Some(tokens) = static_ints(tokens).filter(|_| tokens.elements().is_some()) else {
        return Err(ExprError::at(tokens.span.clone(), "sequence_erase: tokens must be a list of integers"));
    };
    let mut kept = "(x == x)".to_owned();
    tokens.iter().for_each(|token| kept.push_str(&format!(" & (x != {token})")));
    // A step is a value, or axes of size 1 around it.
    let kept = x.step().iter().fold(kept, |kept, _| format!("reduce_all({kept}, axis=-1)"));
    Ok(format!("ragged.boolean_mask(x, {kept})"))
}
