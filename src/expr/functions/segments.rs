//! Segment reductions, and conversions between row partitions and segment ids.
//!
//! Semantics: `tf.math.unsorted_segment_*`, `tf.math.segment_*`,
//! `tf.ragged.row_splits_to_segment_ids`.

use super::time_order::{Returned, by_order};
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, INDEX_DTYPES, static_int};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::cast::{cast, dtype_of, i64s};
use crate::expr::kernels::datum::Datum;
use crate::expr::kernels::elementwise;
use crate::expr::kernels::level::{check_same, from_lengths, item_size, merged};
use crate::expr::kernels::segment::{self, Reduce};
use crate::expr::operand::OperandKind;
use crate::expr::types::{last_ragged, quotient};
use crate::printable::counted_axes;
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["math.unsorted_segment_sum", "unsorted_segment_sum"],
        "data, segment_ids, num_segments",
        "Sum of each segment.",
        [("math.unsorted_segment_sum([1, 2, 3], [1, 0, 1], 2)", "[2, 4]")],
        |c| unsorted(c, Op::Plain(Reduce::Sum { wide: false, lone: false }))
    ),
    function!(
        ["math.unsorted_segment_prod", "unsorted_segment_prod"],
        "data, segment_ids, num_segments",
        "Product of each segment.",
        [("math.unsorted_segment_prod([1, 2, 3], [1, 0, 1], 2)", "[2, 3]")],
        |c| unsorted(c, Op::Plain(Reduce::Product))
    ),
    function!(
        ["math.unsorted_segment_max", "unsorted_segment_max"],
        "data, segment_ids, num_segments",
        "Maximum of each segment.",
        [("math.unsorted_segment_max([1, 2, 3], [1, 0, 1], 2)", "[2, 3]")],
        |c| { by_order(c, &[0], Returned::Values, |c, _| unsorted(c, Op::Plain(Reduce::Maximum { infinite: false, nan_stays: false }))) }
    ),
    function!(
        ["math.unsorted_segment_min", "unsorted_segment_min"],
        "data, segment_ids, num_segments",
        "Minimum of each segment.",
        [("math.unsorted_segment_min([1, 2, 3], [1, 0, 1], 2)", "[2, 1]")],
        |c| { by_order(c, &[0], Returned::Values, |c, _| unsorted(c, Op::Plain(Reduce::Minimum { infinite: false, nan_stays: false }))) }
    ),
    function!(
        ["math.unsorted_segment_mean", "unsorted_segment_mean"],
        "data, segment_ids, num_segments",
        "Mean of each segment.",
        [("math.unsorted_segment_mean([1.0, 2.0, 4.0], [1, 0, 1], 2)", "[2.0, 2.5]")],
        |c| unsorted(c, Op::Mean { lone: false })
    ),
    function!(
        ["math.unsorted_segment_sqrt_n", "unsorted_segment_sqrt_n"],
        "data, segment_ids, num_segments",
        "Sum of each segment, divided by the square root of its size.",
        [("math.unsorted_segment_sqrt_n([1.0, 2.0], [0, 1], 2)", "[1.0, 2.0]")],
        |c| unsorted(c, Op::SqrtN { lone: false })
    ),
    function!(
        ["math.segment_sum", "segment_sum"],
        "data, segment_ids",
        "Sum of each segment; segment_ids must be sorted.",
        [("math.segment_sum([1, 2, 3], [0, 0, 1])", "[3, 3]")],
        |c| sorted(c, Op::Plain(Reduce::Sum { wide: false, lone: true }))
    ),
    function!(
        ["math.segment_prod", "segment_prod"],
        "data, segment_ids",
        "Product of each segment; segment_ids must be sorted.",
        [("math.segment_prod([1, 2, 3], [0, 0, 1])", "[2, 3]")],
        |c| sorted(c, Op::Plain(Reduce::Product))
    ),
    function!(
        ["math.segment_max", "segment_max"],
        "data, segment_ids",
        "Maximum of each segment; segment_ids must be sorted.",
        [("math.segment_max([1, 2, 3], [0, 0, 1])", "[2, 3]")],
        |c| sorted_extreme(c, Reduce::Maximum { infinite: true, nan_stays: false })
    ),
    function!(
        ["math.segment_min", "segment_min"],
        "data, segment_ids",
        "Minimum of each segment; segment_ids must be sorted.",
        [("math.segment_min([1, 2, 3], [0, 0, 1])", "[1, 3]")],
        |c| sorted_extreme(c, Reduce::Minimum { infinite: true, nan_stays: false })
    ),
    function!(
        ["math.segment_mean", "segment_mean"],
        "data, segment_ids",
        "Mean of each segment; segment_ids must be sorted.",
        [("math.segment_mean([1.0, 2.0, 3.0], [0, 0, 1])", "[1.5, 3.0]")],
        |c| sorted(c, Op::Mean { lone: true })
    ),
    function!(
        ["ragged.row_splits_to_segment_ids"],
        "splits, name, out_type=None",
        "The row index of each value.",
        [("ragged.row_splits_to_segment_ids([0, 2, 2, 3])", "[0, 0, 2]")],
        to_segment_ids
    ),
    function!(
        ["ragged.segment_ids_to_row_splits"],
        "segment_ids, num_segments=None, out_type=None",
        "The row_splits of the segments.",
        [("ragged.segment_ids_to_row_splits([0, 0, 2])", "[0, 2, 2, 3]")],
        to_row_splits
    ),
];

/// How the values of a segment are combined.
#[derive(Clone, Copy, PartialEq)]
pub enum Op {
    Plain(Reduce<'static>),
    /// An empty segment gives 0.
    Zeroed(Reduce<'static>),
    /// An empty segment gives 0. `lone`: see [`Reduce::Sum`].
    Mean {
        lone: bool,
    },
    SqrtN {
        lone: bool,
    },
    /// An empty segment gives NaN.
    RaggedMean,
    RaggedSqrtN,
}

impl Op {
    fn of_ragged(self) -> Op {
        match self {
            Op::Mean { .. } => Op::RaggedMean,
            Op::SqrtN { .. } => Op::RaggedSqrtN,
            other => other,
        }
    }

    /// The divisor of the sum of that many values.
    fn divisor(self, count: f64) -> f64 {
        match self {
            Op::Plain(_) | Op::Zeroed(_) => 1.0,
            Op::Mean { .. } => count.max(1.0),
            Op::SqrtN { .. } => count.max(1.0).sqrt(),
            Op::RaggedMean => count,
            Op::RaggedSqrtN => count.sqrt(),
        }
    }
}

fn operands(call: &mut Call, op: Op) -> ExprResult<(Arg, Arg)> {
    let (x, ids) = (call.tensor(0)?, call.integers(1)?);
    match op {
        Op::SqrtN { .. } => call.check_dtype(&x, "floats", DType::is_float)?,
        _ => call.check_dtype(&x, "numbers", DType::is_number)?,
    }
    if ids.rank() > x.rank() {
        return Err(ExprError::at(ids.span.clone(), format!("the ids have {}, but the data has {}", counted_axes(ids.rank()), x.rank())));
    }
    for (axis, (a, b)) in x.ty.dims.iter().zip(&ids.ty.dims).enumerate() {
        if let (Size::Known(m), Size::Known(n)) = (a.size, b.size)
            && m != n
        {
            return Err(ExprError::at(ids.span.clone(), format!("found {n} ids for {m} items on axis {axis}")));
        }
    }
    Ok((x, ids))
}

/// The axes of a segment's slice, after the segment axis.
fn slice_dims(x: &Arg, levels: usize) -> Vec<Dim> {
    let mut dims = x.ty.dims[levels..].to_vec();
    let ragged_below = last_ragged(&x.ty.dims).is_some_and(|last| last > levels);
    if let Some(first) = dims.first_mut()
        && ragged_below
    {
        *first = Dim::RAGGED;
    }
    dims
}

fn unsorted(call: &mut Call, op: Op) -> ExprResult<OperandKind> {
    let (x, ids) = operands(call, op)?;
    if ids.rank() == 0 && last_ragged(&x.ty.dims).is_some() {
        return Err(ExprError::at(ids.span.clone(), "a ragged tensor needs an id for each of its rows; this is a single id"));
    }
    let known = static_int(call.operand(2)?);
    let count = call.scalar_integer(2)?;
    let inner = slice_dims(&x, ids.rank());
    let mut dims = vec![known.and_then(|n| u64::try_from(n).ok()).map_or(Dim::UNIFORM, Dim::known)];
    dims.extend(inner.iter().cloned());
    // The mean of integers is a float.
    let dtype = if matches!(op, Op::Mean { .. }) { quotient(x.dtype()?) } else { x.dtype()?.clone() };
    // For ragged tensors, TensorFlow divides by the actual counts, so empty segments give NaN.
    let op = if last_ragged(&x.ty.dims).is_some() { op.of_ragged() } else { op };
    let ty = Type::tensor(dtype.clone(), dims);
    call.one(ty, move |args| {
        let counts = count.of(args)?;
        let counts = i64s(counts.as_leaf()?)?
            .iter()
            .enumerate()
            .map(|(r, n)| usize::try_from(*n).map_err(|_| Error::data(format!("num_segments is {n}; it must not be negative")).at_row(r)));
        let counts = counts.collect::<Result<Vec<_>>>()?;
        reduced(op, (&*x.of(args)?, &dtype), &*ids.of(args)?, ids.rank(), &inner, counts)
    })
}

/// The extreme of each segment. Zero, the extreme of an empty segment, would be a time.
fn sorted_extreme(call: &mut Call, reduce: Reduce<'static>) -> ExprResult<OperandKind> {
    by_order(call, &[0], Returned::Values, |c, are_times| sorted(c, if are_times { Op::Plain(reduce) } else { Op::Zeroed(reduce) }))
}

fn sorted(call: &mut Call, op: Op) -> ExprResult<OperandKind> {
    let (x, ids) = operands(call, op)?;
    if ids.rank() != 1 {
        return Err(ExprError::at(ids.span.clone(), format!("ids must be a vector, not {}", ids.ty)));
    }
    let inner = slice_dims(&x, 1);
    let mut dims = vec![Dim::UNIFORM];
    dims.extend(inner.iter().cloned());
    let dtype = x.dtype()?.clone();
    let ty = Type::tensor(dtype.clone(), dims);
    call.one(ty, move |args| {
        let tensor = ids.of(args)?;
        let list = tensor.as_list()?;
        let numbers = i64s(list.values().as_leaf()?)?;
        let counts = (0..list.partition().nrows())
            .map(|record| {
                let own = &numbers[list.partition().range(record)];
                if let Some(w) = own.windows(2).find(|w| w[1] < w[0]) {
                    return Err(Error::data(format!("the segment ids decrease from {} to {}", w[0], w[1]))
                        .at_row(record)
                        .help("for ids in any order, use math.unsorted_segment_*"));
                }
                if own.first().is_some_and(|first| *first < 0) {
                    return Err(Error::data("a segment id is negative").at_row(record));
                }
                Ok(own.last().map_or(0, |last| (*last as usize).saturating_add(1)))
            })
            .collect::<Result<Vec<_>>>()?;
        reduced(op, (&*x.of(args)?, &dtype), &tensor, 1, &inner, counts)
    })
}

/// Combines the items of each record by segment; `counts` gives the number of segments of each record. Means and
/// similar operations divide in the given dtype.
///
/// # Errors
/// Data and ids with different rows, or a segment id beyond the count.
pub fn reduced(op: Op, (data, dtype): (&Tensor, &DType), ids: &Tensor, levels: usize, inner: &[Dim], counts: Vec<usize>) -> Result<Tensor> {
    check_same(data, ids, levels, "data and ids")?;
    let mut total = 0usize;
    for (record, n) in counts.iter().enumerate() {
        total = check_count(total.checked_add(*n), record)?;
    }
    let owners = from_lengths(counts)?;
    let whole = merged(data, 0, levels)?;
    let (_, flat) = ids.levels(levels)?;
    let numbers = i64s(flat.as_leaf()?)?;
    // If all values of a record are omitted, an additional segment preserves the sizes of its uniform axes.
    let spare = inner.iter().any(|dim| dim.size == Size::Uniform) && numbers.iter().any(|id| *id < 0);
    let all = if spare { from_lengths(owners.row_lengths().map(|n| n + 1))? } else { owners.clone() };
    let (mut kept, mut segments) = (Vec::with_capacity(numbers.len()), Vec::with_capacity(numbers.len()));
    for record in 0..whole.nrows() {
        for item in whole.range(record) {
            // Values with negative ids are omitted.
            let id = match usize::try_from(numbers[item]) {
                Ok(id) => id,
                Err(_) if spare => owners.row_length(record),
                Err(_) => continue,
            };
            if id >= owners.row_length(record) && numbers[item] >= 0 {
                return Err(Error::data(format!("segment {id} is out of range [0, {})", owners.row_length(record))).at_row(record));
            }
            kept.push(item);
            segments.push(all.start(record) + id);
        }
    }
    let (_, below) = data.levels(levels)?;
    let below = if kept.len() == below.nrows() { below.clone() } else { below.gather(&kept)? };
    let absent = |record: usize, axes: usize| item_size(data, record, levels + inner.len(), axes);
    let run = |reduce: Reduce, values: &Tensor| segment::aggregate(reduce, values, inner, &segments, &all, &absent);
    let counts = || {
        let counts = run(Reduce::Count, &below)?;
        let (_, counts) = counts.levels(inner.len())?;
        Ok::<_, Error>(counts.as_leaf()?.as_primitive::<Float64Type>().values().clone())
    };
    let out = match op {
        Op::Plain(reduce) => run(reduce, &below)?,
        Op::Zeroed(reduce) => {
            let counts = counts()?;
            run(reduce, &below)?.map_below(inner.len(), &mut |t| {
                let empty: ArrayRef = Arc::new(BooleanArray::from_iter(counts.iter().map(|n| Some(*n == 0.0))));
                let zero = cast(&(Arc::new(Int64Array::from(vec![0])) as ArrayRef), &dtype_of(t.as_leaf()?)?)?;
                let datum = |array, scalar| Datum { array, scalar };
                Ok(Tensor::Leaf(elementwise::choose(datum(&empty, false), datum(&zero, true), datum(t.as_leaf()?, false))?))
            })?
        }
        Op::Mean { .. } | Op::SqrtN { .. } | Op::RaggedMean | Op::RaggedSqrtN => {
            let lone = matches!(op, Op::Mean { lone: true } | Op::SqrtN { lone: true });
            let counts = counts()?;
            let divisors: ArrayRef = Arc::new(Float64Array::from_iter_values(counts.iter().map(|n| op.divisor(*n))));
            let sums = |data: &Tensor| run(Reduce::Sum { wide: false, lone }, data);
            segment::means(&sums, (&below, inner.len()), inner.len(), (&counts, &divisors), dtype)?
        }
    };
    if spare {
        let rows: Vec<usize> = (0..owners.nrows()).flat_map(|r| all.start(r)..all.start(r) + owners.row_length(r)).collect();
        return Tensor::list(owners, out.gather(&rows)?, None);
    }
    Tensor::list(owners, out, None)
}

/// The dtype of the result: that of the tensor, or int64 for literals.
fn dtype_of_vector(call: &Call) -> ExprResult<DType> {
    Ok(match &call.operand(0)?.kind {
        OperandKind::Tensor(node) => node.ty.dtype().cloned().unwrap_or(DType::Int64),
        _ => DType::Int64,
    })
}

fn to_segment_ids(call: &mut Call) -> ExprResult<OperandKind> {
    let own = dtype_of_vector(call)?;
    let splits = call.integers(0)?;
    if splits.rank() != 1 {
        return Err(ExprError::at(splits.span.clone(), format!("row splits must be a vector, not {}", splits.ty)));
    }
    let dtype = call.index_dtype(1, own, INDEX_DTYPES)?;
    call.one(Type::tensor(dtype.clone(), vec![Dim::UNIFORM]), move |args| {
        let tensor = splits.of(args)?;
        let list = tensor.as_list()?;
        let numbers = i64s(list.values().as_leaf()?)?;
        let (mut out, mut lengths) = (Vec::new(), Vec::new());
        for record in 0..list.partition().nrows() {
            let own = numbers[list.partition().range(record)].to_vec();
            let partition = RowPartition::from_row_splits(own).map_err(|e| e.at_row(record))?;
            check_count(partition.nvals().checked_add(out.len()), record)?;
            lengths.push(partition.nvals());
            out.extend(partition.value_rowids());
        }
        let flat: ArrayRef = Arc::new(Int64Array::from(out));
        Tensor::list(from_lengths(lengths)?, Tensor::Leaf(cast(&flat, &dtype)?), None)
    })
}

fn to_row_splits(call: &mut Call) -> ExprResult<OperandKind> {
    let own = dtype_of_vector(call)?;
    let ids = call.integers(0)?;
    if ids.rank() != 1 {
        return Err(ExprError::at(ids.span.clone(), format!("segment ids must be a vector, not {}", ids.ty)));
    }
    let known = call.given(1).and_then(static_int);
    let count = if call.given(1).is_some() { Some(call.scalar_integer(1)?) } else { None };
    let dtype = call.index_dtype(2, own, INDEX_DTYPES)?;
    let dim = known.and_then(|n| u64::try_from(n).ok()).map_or(Dim::UNIFORM, |n| Dim::known(n.saturating_add(1)));
    call.one(Type::tensor(dtype.clone(), vec![dim]), move |args| {
        let tensor = ids.of(args)?;
        let list = tensor.as_list()?;
        let numbers = i64s(list.values().as_leaf()?)?;
        let counts_tensor = count.as_ref().map(|c| c.of(args)).transpose()?;
        let counts = counts_tensor.as_ref().map(|t| t.as_leaf().and_then(i64s)).transpose()?;
        let (mut out, mut lengths) = (Vec::new(), Vec::new());
        for record in 0..list.partition().nrows() {
            let own = &numbers[list.partition().range(record)];
            let wanted = match counts {
                Some(counts) => counts[record],
                None => own.iter().max().map_or(0, |m| m.saturating_add(1)),
            };
            let n = check_count(usize::try_from(wanted).ok().and_then(|n| n.checked_add(out.len() + 1)), record)? - out.len() - 1;
            let mut splits = vec![0i64; n + 1];
            for id in own {
                let id = usize::try_from(*id).map_err(|_| Error::data(format!("the segment id {id} is negative")).at_row(record))?;
                // Values of later segments are not counted.
                if id < n {
                    splits[id + 1] += 1;
                }
            }
            for i in 0..n {
                splits[i + 1] += splits[i];
            }
            lengths.push(n + 1);
            out.extend(splits);
        }
        let flat: ArrayRef = Arc::new(Int64Array::from(out));
        Tensor::list(from_lengths(lengths)?, Tensor::Leaf(cast(&flat, &dtype)?), None)
    })
}
