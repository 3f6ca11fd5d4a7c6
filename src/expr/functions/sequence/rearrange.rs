//! Reordering, concatenating and slicing sequences.

use super::fill::filling;
use super::shared::Sequences;
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::functions::join::items;
use crate::expr::functions::lines::Softmax;
use crate::expr::kernels::cast::i64s;
use crate::expr::kernels::join::join;
use crate::expr::kernels::level::{check_same, check_uniform, from_lengths, merged, record_of};
use crate::expr::kernels::lines::replaced;
use crate::expr::kernels::slice::{self, Slice};
use crate::expr::operand::OperandKind;
use crate::expr::types::shape;
use crate::printable::counted;
use crate::schema::{DType, Dim, Size};
use crate::tensor::limits::check_count;
use crate::tensor::take::{Native, native};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::ArrayRef;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sequence_concat"],
        "input",
        "Concatenate corresponding sequences of several tensors.",
        [("sequence_concat([[[1, 2], [3]], [[4], [5, 6]]])", "[[1, 2, 4], [3, 5, 6]]")],
        concat
    ),
    function!(
        ["sequence_reverse"],
        "x",
        "Reverse the steps of each sequence.",
        [("sequence_reverse([[1, 2, 3], [4]])", "[[3, 2, 1], [4]]")],
        reverse
    ),
    function!(
        ["sequence_slice"],
        "input|x, offset, length",
        "Slice each sequence by offset and length.",
        [("sequence_slice([[1, 2, 3], [4, 5]], [[0], [1]], [[2], [1]])", "[[1, 2], [5]]")],
        cut
    ),
    function!(
        ["sequence_reshape"],
        "input|x, new_dim",
        "Regroup the values of each sequence into steps of new_dim values.",
        [(
            "sequence_reshape([[[1, 2], [3, 4]], [[5, 6], [7, 8], [9, 10], [11, 12]]], 4)",
            "[[[1, 2, 3, 4]], [[5, 6, 7, 8], [9, 10, 11, 12]]]"
        )],
        reshape
    ),
    function!(
        ["sequence_enumerate"],
        "input|x, win_size, pad_value=0",
        "For each step, the window of steps that starts there, padded with pad_value.",
        [("sequence_enumerate([[1, 2, 3], [4]], win_size=2)", "[[[1, 2], [2, 3], [3, 0]], [[4, 0]]]")],
        enumerate
    ),
    function!(
        ["sequence_softmax"],
        "input|x",
        "Softmax of each sequence.",
        [("sequence_softmax([[0.0, 0.0], [5.0]])", "[[0.5, 0.5], [1.0]]")],
        softmax
    ),
];

fn concat(call: &mut Call) -> ExprResult<OperandKind> {
    let all = items(call, 0)?.into_iter().map(|arg| Sequences::in_arg(call, arg)).collect::<ExprResult<Vec<_>>>()?;
    let first = &all[0];
    let mut dims = first.arg.ty.dims.clone();
    for other in &all[1..] {
        let found = &other.arg.ty.dims;
        let meet = |(a, b): (&mut Dim, &Dim)| match (a.size, b.size) {
            (Size::Known(m), Size::Known(n)) => m == n,
            // A size known for only one of the inputs is checked for each record.
            (Size::Uniform, Size::Known(_)) => {
                *a = b.clone();
                true
            }
            _ => true,
        };
        if other.axis != first.axis || found.len() != dims.len() || !dims.iter_mut().zip(found).all(meet) {
            return Err(ExprError::at(
                other.arg.span.clone(),
                format!(
                    "sequence_concat expects tensors of the same shape except along the sequence axis; this one is {}, but the first is {}",
                    shape(found),
                    shape(&first.arg.ty.dims)
                ),
            ));
        }
    }
    // Sequences of known length in all inputs become ragged rows again.
    dims[first.axis] = Dim::RAGGED;
    let (axis, ty) = (first.axis, first.with_dims(dims.clone()));
    call.one(ty, move |args| {
        let tensors = all.iter().map(|x| x.arg.of(args)).collect::<Result<Vec<_>>>()?;
        let out = join(&tensors.iter().map(AsRef::as_ref).collect::<Vec<_>>(), axis)?;
        check_uniform(&out, &dims)?;
        known_sizes(out, &dims)
    })
}

/// The tensor, with its uniform axes represented as such.
fn known_sizes(tensor: Tensor, dims: &[Dim]) -> Result<Tensor> {
    (0..dims.len()).try_fold(tensor, |tensor, axis| match dims[axis].size {
        Size::Known(n) => tensor.map_below(axis, &mut |t| {
            t.clone().with_row_length(n as usize).map_err(|e| {
                let row = e.location().row.map(|row| record_of(&tensor, axis, row));
                e.locate(|at| at.row = row)
            })
        }),
        _ => Ok(tensor),
    })
}

fn reverse(call: &mut Call) -> ExprResult<OperandKind> {
    let x = Sequences::of(call, 0)?;
    call.one(x.arg.ty.clone(), move |args| {
        x.arg.of(args)?.map_below(x.axis, &mut |t| {
            let list = t.as_list()?;
            let backwards = Slice { start: None, stop: None, step: -1 };
            let (_, steps) = slice::each_row(list.partition(), list.values(), backwards)?;
            Tensor::list(list.partition().clone(), steps, None)
        })
    })
}

/// A number for each sequence of `x`: `[n]`, or `[n, 1]` as in Paddle.
fn each_sequence(call: &mut Call, i: usize, x: &Sequences) -> ExprResult<Arg> {
    let numbers = call.integers(i)?;
    let dims = &numbers.ty.dims;
    let fits = |(a, b): (&Dim, &Dim)| !matches!((a.size, b.size), (Size::Known(m), Size::Known(n)) if m != n);
    let one = dims.get(x.axis).is_none_or(|d| !matches!(d.size, Size::Known(n) if n != 1));
    let rank = dims.len();
    if !(rank == x.axis || rank == x.axis + 1) || !one || !dims.iter().zip(x.outer()).all(fits) {
        return Err(ExprError::at(
            numbers.span.clone(),
            format!(
                "{}: {} must have one number per sequence (shape {}); this is {}",
                call.name,
                call.param(i),
                shape(x.outer()),
                numbers.ty
            ),
        ));
    }
    Ok(numbers)
}

/// The numbers for each sequence.
///
/// # Errors
/// A record has a different number of them.
fn numbers_of(numbers: &Tensor, arg: &Arg, tensor: &Tensor, x: &Sequences, what: &str) -> Result<ArrayRef> {
    check_same(tensor, numbers, x.axis, &format!("the sequences and their {what}"))?;
    let (_, each) = numbers.levels(x.axis)?;
    if arg.rank() > x.axis {
        let list = each.as_list()?;
        if let Some(row) = (0..list.partition().nrows()).find(|row| list.partition().row_length(*row) != 1) {
            let error = format!("found {} numbers for the {what} of one sequence", list.partition().row_length(row));
            return Err(Error::data(error).at_row(record_of(numbers, x.axis, row)));
        }
    }
    Ok(numbers.levels(arg.rank())?.1.as_leaf()?.clone())
}

fn cut(call: &mut Call) -> ExprResult<OperandKind> {
    let x = Sequences::of(call, 0)?;
    let (offset, length) = (each_sequence(call, 1, &x)?, each_sequence(call, 2, &x)?);
    call.one(x.arg.ty.clone(), move |args| {
        let tensor = x.arg.of(args)?;
        let sequences = x.cut(&tensor)?;
        let (offsets, lengths) = (
            numbers_of(&*offset.of(args)?, &offset, &tensor, &x, "offsets")?,
            numbers_of(&*length.of(args)?, &length, &tensor, &x, "lengths")?,
        );
        let (offsets, lengths) = (i64s(&offsets)?, i64s(&lengths)?);
        let partition = sequences.list.partition();
        for (s, (offset, length)) in offsets.iter().zip(lengths).enumerate() {
            let there = partition.row_length(s);
            if *offset < 0 || *length < 0 || offset.checked_add(*length).is_none_or(|end| end > there as i64) {
                let (record, sequence) = sequences.place_of(s);
                let error = format!(
                    "offset {offset} and length {length} do not fit sequence {sequence}, which has {}",
                    counted(there as u64, "step")
                );
                return Err(Error::data(error).at_row(record));
            }
        }
        let (partition, steps) = slice::rows(partition, sequences.list.values(), |s| {
            let (start, length) = (offsets.get(s).copied().unwrap_or(0), lengths.get(s).copied().unwrap_or(0));
            Slice { start: Some(start), stop: Some(start.saturating_add(length)), step: 1 }
        })?;
        sequences.around(Tensor::list(partition, steps, None)?)
    })
}

/// Argument 1: the number of values in a step of the result.
fn width(call: &mut Call, least: usize) -> ExprResult<usize> {
    let width = call.int(1)?;
    usize::try_from(width).ok().filter(|n| *n >= least).ok_or_else(|| {
        let place = call.given(1).map_or(call.span.clone(), |item| item.span.clone());
        ExprError::at(place, format!("{}: {} is {width}; it must be at least {least}", call.name, call.param(1)))
    })
}

fn reshape(call: &mut Call) -> ExprResult<OperandKind> {
    let x = Sequences::of(call, 0)?;
    let width = width(call, 1)?;
    if x.step().len() > 1 {
        return Err(ExprError::at(
            x.arg.span.clone(),
            format!("sequence_reshape expects steps with at most one axis; these have shape {}", shape(x.step())),
        )
        .help("to merge two axes into one: merge_dims(x, -2, -1)"));
    }
    call.one(x.with_steps(width), move |args| {
        let tensor = x.arg.of(args)?;
        let cut = x.cut(&tensor)?;
        let inner = x.step().len();
        let blocks = merged(cut.list.values(), 0, inner)?;
        let sequences = cut.list.partition();
        let mut lengths = Vec::with_capacity(sequences.nrows());
        for s in 0..sequences.nrows() {
            let steps = sequences.range(s);
            let nvals = blocks.start(steps.end) - blocks.start(steps.start);
            if nvals % width != 0 {
                let (record, sequence) = cut.place_of(s);
                return Err(Error::data(format!("sequence {sequence} has {}: not a multiple of {width}", counted(nvals as u64, "value")))
                    .at_row(record));
            }
            lengths.push(nvals / width);
        }
        let sequences = from_lengths(lengths)?;
        let (_, flat) = cut.list.values().levels(inner)?;
        let steps = Tensor::list(RowPartition::uniform(width, sequences.nvals())?, flat.clone(), None)?;
        cut.around(Tensor::list(sequences, steps, None)?)
    })
}

fn enumerate(call: &mut Call) -> ExprResult<OperandKind> {
    let x = Sequences::of(call, 0)?;
    x.one_value_a_step(call)?;
    let width = width(call, 2)?;
    let padding = filling(call, 2, &x, false)?;
    call.one(x.with_steps(width), move |args| {
        let tensor = x.arg.of(args)?;
        let cut = x.cut(&tensor)?;
        let inner = x.step().len();
        let blocks = merged(cut.list.values(), 0, inner)?;
        if let Some(step) = (0..blocks.nrows()).find(|step| blocks.row_length(*step) != 1) {
            let error = format!("sequence_enumerate expects steps of one value; this has {}", blocks.row_length(step));
            return Err(Error::data(error).at_row(record_of(&tensor, x.axis + 1, step)));
        }
        let nsteps = blocks.nrows();
        if nsteps > 0 {
            check_count(nsteps.checked_mul(width), record_of(&tensor, x.axis + 1, nsteps - 1))?;
        }
        let (_, flat) = cut.list.values().levels(inner)?;
        let (flat, padding) = (flat.as_leaf()?, padding.of(args)?);
        let windows = Windows { records: &cut.records, sequences: cut.list.partition(), width };
        let values = match native(&[flat, padding.as_leaf()?], &windows) {
            Some(values) => Tensor::Leaf(values),
            None => Tensor::concat(&[&Tensor::Leaf(flat.clone()), &padding])?.gather(&windows.places(nsteps))?,
        };
        let steps = Tensor::list(RowPartition::uniform(width, nsteps)?, values, None)?;
        cut.around(Tensor::list(cut.list.partition().clone(), steps, None)?)
    })
}

/// The windows of all steps.
struct Windows<'a> {
    records: &'a RowPartition,
    sequences: &'a RowPartition,
    width: usize,
}

impl Windows<'_> {
    /// Calls `f` with the existing steps of each window, the number of missing steps, and the record.
    fn each(&self, mut f: impl FnMut(std::ops::Range<usize>, usize, usize)) {
        for record in 0..self.records.nrows() {
            for range in self.records.range(record).map(|s| self.sequences.range(s)) {
                for start in range.clone() {
                    let end = range.end.min(start + self.width);
                    f(start..end, self.width - (end - start), record);
                }
            }
        }
    }

    /// The position of each value. The padding of a record is stored after the `nsteps` steps.
    fn places(&self, nsteps: usize) -> Vec<usize> {
        let mut out = Vec::with_capacity(nsteps * self.width);
        self.each(|steps, missing, record| {
            out.extend(steps);
            out.extend(std::iter::repeat_n(nsteps + record, missing));
        });
        out
    }
}

impl Native for Windows<'_> {
    fn run<N: Copy>(&self, values: &[&[N]]) -> Vec<N> {
        let mut out = Vec::with_capacity(values[0].len() * self.width);
        self.each(|steps, missing, record| {
            out.extend_from_slice(&values[0][steps]);
            out.resize(out.len() + missing, values[1][record]);
        });
        out
    }
}

fn softmax(call: &mut Call) -> ExprResult<OperandKind> {
    let x = Sequences::of(call, 0)?;
    call.check_dtype(&x.arg, "floats", DType::is_float)?;
    call.one(x.arg.ty.clone(), move |args| replaced(&*x.arg.of(args)?, x.axis, x.arg.rank(), &Softmax { log: false }))
}
