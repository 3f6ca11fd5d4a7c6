//! Functions of sequences, Paddle's LoD-Tensors: a file per idea, and what they share.
//!
//! ```text
//! x   float32[2, (?), 1]   [[[1] [2]] [[3] [4] [5]]]      two sequences, of two and of three steps
//! LoD lengths [[2 3]]      offsets [[0 2 5]]              one level for each axis below the first
//! ```
//! A LoD-Tensor is a ragged tensor. Its innermost ragged axis cuts steps into sequences, the axes
//! below are those of a step: `[w]`, or none. The functions work on these sequences, wherever they
//! stand; what Paddle does on one level only works on the innermost of several. A result without LoD
//! is dense.
//!
//! Source of the meaning: `paddle.static.nn.sequence_*` of PaddlePaddle 2.6 in static graph mode.

pub mod expand;
mod fill;
pub mod levels;
pub mod pad;
pub mod pool;
pub mod rearrange;
pub mod scatter;

use crate::error::Result;
use crate::expr::call::{Arg, Call};
use crate::expr::kernels::level::merged;
use crate::expr::problem::{Bind, Problem};
use crate::expr::types::last_ragged;
use crate::schema::{Dim, Size, Type};
use crate::tensor::{List, RowPartition, Tensor, row_of};

/// An argument that holds sequences.
#[derive(Clone, Debug)]
struct Sequences {
    arg: Arg,
    /// The innermost ragged axis: the steps of a sequence. It is never axis 0.
    axis: usize,
}

/// The sequences of all records of a chunk.
struct Cut<'a> {
    /// The levels above the sequences, outermost first.
    outer: Vec<&'a RowPartition>,
    /// Which sequences belong to which record.
    records: RowPartition,
    /// Which steps belong to which sequence, and the steps.
    list: &'a List,
}

impl Sequences {
    /// Argument `i`, of any dtype.
    fn of(call: &mut Call, i: usize) -> Bind<Sequences> {
        let arg = call.tensor(i)?;
        Sequences::in_arg(call, arg)
    }

    fn in_arg(call: &Call, arg: Arg) -> Bind<Sequences> {
        match last_ragged(&arg.ty.dims) {
            Some(axis) => Ok(Sequences { arg, axis }),
            None => Err(Problem::at(
                arg.span.clone(),
                format!("{} works on sequences, the rows of a ragged axis; this is {}", call.name, arg.ty),
            )
            .help("create_lod_tensor(x, [[2, 1]]) cuts rows into sequences, --schema 'x: float32[?, (?)]' reads them, `batch` makes them of records")),
        }
    }

    /// The axes above the steps.
    fn outer(&self) -> &[Dim] {
        &self.arg.ty.dims[..self.axis]
    }

    /// The axes of a step.
    fn step(&self) -> &[Dim] {
        &self.arg.ty.dims[self.axis + 1..]
    }

    /// The type of a tensor of these axes with the dtype of this one.
    fn with_dims(&self, dims: Vec<Dim>) -> Type {
        Type { dims, ..self.arg.ty.clone() }
    }

    /// The type of the same sequences with steps of so many values.
    fn with_steps(&self, width: usize) -> Type {
        let mut dims = self.arg.ty.dims[..=self.axis].to_vec();
        dims.push(Dim::known(width as u64));
        self.with_dims(dims)
    }

    /// Refuses steps that are known to hold more than one value.
    fn one_value_a_step(&self, call: &Call) -> Bind<()> {
        if self.step().iter().any(|d| matches!(d.size, Size::Known(n) if n != 1)) {
            return Err(Problem::at(
                self.arg.span.clone(),
                format!("{} works on steps of one value; these are of shape {}", call.name, crate::expr::types::shape(self.step())),
            ));
        }
        Ok(())
    }

    fn cut<'a>(&self, tensor: &'a Tensor) -> Result<Cut<'a>> {
        let (outer, below) = tensor.levels(self.axis)?;
        Ok(Cut { outer, records: merged(tensor, 0, self.axis)?, list: below.as_list()? })
    }
}

/// `1 step`, `2 steps`, for messages.
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

impl Cut<'_> {
    /// The record that holds a sequence, and the number of the sequence there.
    fn place_of(&self, sequence: usize) -> (usize, usize) {
        let record = row_of(&self.records, sequence);
        (record, sequence - self.records.start(record))
    }

    /// The levels above the sequences around one item for each sequence.
    fn around(&self, items: Tensor) -> Result<Tensor> {
        crate::expr::kernels::level::wrap(self.outer.iter().map(|p| (*p).clone()), items)
    }
}
