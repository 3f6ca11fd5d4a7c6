//! Shared by the sequence functions: an argument that holds sequences, and its rows.

use crate::error::Result;
use crate::expr::call::{Arg, Call};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::level::merged;
use crate::expr::types::last_ragged;
use crate::schema::{Dim, Size, Type};
use crate::tensor::{List, RowPartition, Tensor, row_of};

/// An argument that holds sequences.
#[derive(Clone, Debug)]
pub struct Sequences {
    pub arg: Arg,
    /// The innermost ragged axis: the steps of a sequence. It is never axis 0.
    pub axis: usize,
}

/// The sequences of all records of a chunk.
pub struct Cut<'a> {
    /// The levels above the sequences, outermost first.
    pub outer: Vec<&'a RowPartition>,
    /// The partition of sequences by record.
    pub records: RowPartition,
    /// The partition of steps by sequence, and the steps.
    pub list: &'a List,
}

impl Sequences {
    /// Argument `i`, of any dtype.
    pub fn of(call: &mut Call, i: usize) -> ExprResult<Sequences> {
        let arg = call.kept(i)?;
        Sequences::in_arg(call, arg)
    }

    pub fn in_arg(call: &Call, arg: Arg) -> ExprResult<Sequences> {
        match last_ragged(&arg.ty.dims) {
            Some(axis) => Ok(Sequences { arg, axis }),
            None => Err(ExprError::at(
                arg.span.clone(),
                format!("{} expects sequences (rows of a ragged axis), found {}", call.name, arg.ty),
            )
            .help("to split rows into sequences: create_lod_tensor(x, [[2, 1]]); to read sequences: --schema 'x: float32[?, (?)]'; to combine records into sequences: batch")),
        }
    }

    /// The axes above the steps.
    pub fn outer(&self) -> &[Dim] {
        &self.arg.ty.dims[..self.axis]
    }

    /// The axes of a step.
    pub fn step(&self) -> &[Dim] {
        &self.arg.ty.dims[self.axis + 1..]
    }

    /// A type with these axes and the dtype of this tensor.
    pub fn with_dims(&self, dims: Vec<Dim>) -> Type {
        Type { dims, ..self.arg.ty.clone() }
    }

    /// The type of the same sequences, with steps of this width.
    pub fn with_steps(&self, width: usize) -> Type {
        let mut dims = self.arg.ty.dims[..=self.axis].to_vec();
        dims.push(Dim::known(width as u64));
        self.with_dims(dims)
    }

    /// Rejects steps that are known to hold more than one value.
    pub fn one_value_a_step(&self, call: &Call) -> ExprResult<()> {
        if self.step().iter().any(|d| matches!(d.size, Size::Known(n) if n != 1)) {
            return Err(ExprError::at(
                self.arg.span.clone(),
                format!("{} expects steps of one value; these have shape {}", call.name, crate::expr::types::shape(self.step())),
            ));
        }
        Ok(())
    }

    pub fn cut<'a>(&self, tensor: &'a Tensor) -> Result<Cut<'a>> {
        let (outer, below) = tensor.levels(self.axis)?;
        Ok(Cut { outer, records: merged(tensor, 0, self.axis)?, list: below.as_list()? })
    }
}

impl Cut<'_> {
    /// The record that holds a sequence, and the index of the sequence in it.
    pub fn place_of(&self, sequence: usize) -> (usize, usize) {
        let record = row_of(&self.records, sequence);
        (record, sequence - self.records.start(record))
    }

    /// Wraps one item per sequence in the levels above the sequences.
    pub fn around(&self, items: Tensor) -> Result<Tensor> {
        crate::expr::kernels::level::wrap(self.outer.iter().map(|p| (*p).clone()), items)
    }
}
