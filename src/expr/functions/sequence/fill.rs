//! Steps put together from those of a tensor and from a filling: for empty sequences, and for padding.

use super::super::convert::zero_of;
use super::super::decompose::bounding_known;
use super::Sequences;
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call};
use crate::expr::eval::Args;
use crate::expr::kernels::broadcast;
use crate::expr::problem::{Bind, Problem};
use crate::expr::types::shape;
use crate::schema::{Dim, Size};
use crate::tensor::Tensor;
use crate::tensor::take::{Run, take_runs};

/// Argument `i` as what a step is filled with: one value, or with `whole` a step; 0 where it was not given.
///
/// # Errors
/// Another dtype than that of `x`, or another shape.
pub fn filling(call: &mut Call, i: usize, x: &Sequences, whole: bool) -> Bind<Arg> {
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
    Err(Problem::at(filling.span.clone(), format!("{}: {} must be {expected}; this is {}", call.name, call.param(i), filling.ty)))
}

/// Steps in the making.
pub struct Filled<'a> {
    steps: &'a Tensor,
    /// So many copies of the filling of each record, or of the one filling.
    filling: Tensor,
    copies: usize,
    per_record: bool,
    runs: Vec<Run>,
}

impl<'a> Filled<'a> {
    /// No steps yet. `tensor` is the one that `steps` are the steps of.
    ///
    /// # Errors
    /// A filling that has not the shape of a step.
    pub fn new(x: &Sequences, tensor: &Tensor, steps: &'a Tensor, filling: &Arg, args: &Args) -> Result<Filled<'a>> {
        let step = x.step();
        let open = step.iter().any(|d| !matches!(d.size, Size::Known(_)));
        let value = args.value(filling.index)?;
        let per_record = open || !value.constant;
        let nrows = if per_record { args.nrows } else { 1 };
        let value = value.full(nrows)?;
        let one = if step.is_empty() {
            value.levels(filling.rank())?.1.clone()
        } else {
            let sizes = if open { bounding_known(tensor, &x.arg.ty.dims)? } else { Vec::new() };
            broadcast::to_shape(&value, &filling.ty.dims, step, nrows, |axis, record| match step[axis].size {
                Size::Known(n) => usize::try_from(n).map_err(|_| Error::data("a size beyond this machine")),
                _ => Ok(sizes[x.axis + 1 + axis][record]),
            })?
        };
        // Several copies, so that few runs fill a long sequence; not so many that they take more room than the steps.
        let copies = (steps.nrows() / nrows.max(1)).clamp(1, 64);
        let rows: Vec<usize> = (0..nrows).flat_map(|row| std::iter::repeat_n(row, copies)).collect();
        let filling = if copies == 1 { one } else { one.gather(&rows)? };
        Ok(Filled { steps, filling, copies, per_record, runs: Vec::new() })
    }

    /// Goes on with the steps `start .. end`.
    pub fn copy(&mut self, start: usize, end: usize) {
        match self.runs.last_mut() {
            _ if start == end => {}
            Some(last) if last.part == 0 && last.end == start => last.end = end,
            _ => self.runs.push(Run { part: 0, start, end }),
        }
    }

    /// Goes on with so many fillings of a record.
    pub fn fill(&mut self, record: usize, mut times: usize) {
        let start = if self.per_record { record * self.copies } else { 0 };
        while times > 0 {
            let some = times.min(self.copies);
            self.runs.push(Run { part: 1, start, end: start + some });
            times -= some;
        }
    }

    /// All steps.
    ///
    /// # Errors
    /// A failure of memory only.
    pub fn finish(self) -> Result<Tensor> {
        take_runs(&[self.steps, &self.filling], &self.runs)
    }
}
