//! Fill values for empty sequences and padding.

use super::shared::Sequences;
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::functions::convert::zero_of;
use crate::expr::kernels::broadcast;
use crate::expr::kernels::fill::Filled;
use crate::expr::kernels::level::bounding_known;
use crate::expr::types::shape;
use crate::schema::{Dim, Size};
use crate::tensor::Tensor;

/// Argument `i` as the fill value of a step: a single value or, with `whole`, a whole step; 0 if it was not given.
///
/// # Errors
/// A dtype that differs from that of `x`, or an invalid shape.
pub fn filling(call: &mut Call, i: usize, x: &Sequences, whole: bool) -> ExprResult<Arg> {
    let dtype = x.arg.dtype()?.clone();
    if call.given(i).is_none() {
        return zero_of(call, &dtype);
    }
    let filling = call.tensor_of(i, &dtype)?;
    let (dims, step) = (&filling.ty.dims, x.step());
    let fits = |(a, b): (&Dim, &Dim)| !matches!((a.size, b.size), (Size::Known(m), Size::Known(n)) if m != n);
    let is_one = dims.iter().all(|d| d.size == Size::Known(1)) && dims.len() < 2;
    let is_step = dims.len() == step.len() && dims.iter().zip(step).all(fits);
    if dims.is_empty() || (whole && (is_one || is_step)) {
        return Ok(filling);
    }
    let expected = if whole { format!("one value, or a step of shape {}", shape(step)) } else { "one value".to_owned() };
    Err(ExprError::at(filling.span.clone(), format!("{}: {} must be {expected}, not {}", call.name, call.param(i), filling.ty)))
}

impl Sequences {
    /// An empty builder for the steps of `steps` and the fill value. `tensor` is the tensor that contains `steps`.
    ///
    /// # Errors
    /// The fill value does not have the shape of a step.
    pub fn filled<'a>(&self, tensor: &Tensor, steps: &'a Tensor, filling: &Arg, args: &Args) -> Result<Filled<'a>> {
        let step = self.step();
        let open = step.iter().any(|d| !matches!(d.size, Size::Known(_)));
        let value = args.value(filling.index)?;
        let nrows = if open || !value.constant { args.nrows } else { 1 };
        let value = value.full(nrows)?;
        let one = if step.is_empty() {
            value.levels(filling.rank())?.1.clone()
        } else {
            let sizes = if open { bounding_known(tensor, &self.arg.ty.dims)? } else { Vec::new() };
            broadcast::to_shape(&value, &filling.ty.dims, step, nrows, |axis, record| match step[axis].size {
                Size::Known(n) => usize::try_from(n).map_err(|_| Error::data("the size is too large for this machine")),
                _ => Ok(sizes[self.axis + 1 + axis][record]),
            })?
        };
        Filled::new(steps, &one)
    }
}
