//! Padding and unpadding of sequences, and masks.

use super::fill::filling;
use super::shared::Sequences;
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, Integer, Integers, as_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::kernels::cast::{can_cast, cast, i64s};
use crate::expr::kernels::elementwise::{self, Float};
use crate::expr::kernels::level::{merged, partition_of};
use crate::expr::kernels::slice::{self, Slice};
use crate::expr::operand::OperandKind;
use crate::expr::types::last_ragged;
use crate::printable::counted;
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{ArrayRef, BooleanArray, Int64Array};
use arrow_buffer::BooleanBufferBuilder;
use std::borrow::Cow;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sequence_pad"],
        "x, pad_value, maxlen=None -> out, length",
        "Pad sequences to maxlen (default: the length of the longest); also returns the original lengths.",
        [("sequence_pad([[1, 2], [3, 4, 5]], 0)[0]", "[[1, 2, 0], [3, 4, 5]]"), ("sequence_pad([[1, 2], [3]], 0, maxlen=4)[1]", "[2, 1]")],
        sequence_pad
    ),
    function!(
        ["sequence_unpad"],
        "x, length",
        "Remove padding: keep the first length[i] steps of row i, as a sequence.",
        [("sequence_unpad([[1, 2, 0], [3, 4, 5]], [2, 3])", "[[[1], [2]], [[3], [4], [5]]]")],
        sequence_unpad
    ),
    function!(
        ["sequence_mask"],
        "x|lengths, maxlen=None, dtype=\"int64\"",
        "A mask for each sequence length: ones for its steps, then zeros up to maxlen (default: the largest length).",
        [
            ("sequence_mask([2, 0, 3])", "[[1, 1, 0], [0, 0, 0], [1, 1, 1]]"),
            ("sequence_mask([2], maxlen=4, dtype=\"bool\")", "[[true, true, false, false]]")
        ],
        |c| mask(c, DType::Int64, true)
    ),
    function!(
        ["tf.sequence_mask"],
        "lengths|x, maxlen=None, dtype=bool",
        "TensorFlow's sequence_mask, which returns bools by default.",
        [("tf.sequence_mask([1, 2])", "[[true, false], [true, true]]")],
        |c| mask(c, DType::Bool, false)
    ),
];

/// The maximum length, if given.
fn maxlen(call: &mut Call, i: usize) -> ExprResult<Option<Integer>> {
    if call.given(i).is_none() { Ok(None) } else { call.integer(i).map(Some) }
}

fn sequence_pad(call: &mut Call) -> ExprResult<OperandKind> {
    let x = Sequences::of(call, 0)?;
    call.operand(1)?;
    let filling = filling(call, 1, &x, true)?;
    // Paddle uses -1 for an unspecified length.
    let size = maxlen(call, 2)?.filter(|n| n.known() != Some(-1));
    if let Some(negative) = size.as_ref().and_then(Integer::known).filter(|n| *n < 0) {
        return Err(ExprError::at(call.operand(2)?.span.clone(), format!("sequence_pad: maxlen {negative} is negative")));
    }
    let padded = size.as_ref().map_or(Dim::UNIFORM, Integer::dim);
    let outer = x.outer().to_vec();
    let dims = [&outer[..], std::slice::from_ref(&padded), x.step()].concat();
    let types = vec![x.with_dims(dims), Type::tensor(DType::Int64, outer)];
    call.several(types, move |args| {
        let tensor = x.arg.of(args)?;
        let cut = x.cut(&tensor)?;
        let (sequences, steps) = (cut.list.partition(), cut.list.values());
        let width = merged(steps, 0, x.step().len())?.max_row_length();
        let wanted = size.as_ref().map(|n| n.of(args)).transpose()?;
        let mut out = x.filled(&tensor, steps, &filling, args)?;
        let (mut lengths, mut nvals) = (Vec::with_capacity(sequences.nrows()), 0usize);
        for record in 0..cut.records.nrows() {
            let own = cut.records.range(record);
            let longest = own.clone().map(|s| sequences.row_length(s)).max().unwrap_or(0);
            let size = padded_size(wanted.as_ref(), record, longest)?;
            let more = own.len().checked_mul(size.max(1)).and_then(|n| n.checked_mul(width.max(1)));
            nvals = check_count(more.and_then(|more| more.checked_add(nvals)), record)?;
            for range in own.map(|s| sequences.range(s)) {
                out.copy(range.start, range.end);
                out.fill(record, size - range.len());
                lengths.push(size);
            }
        }
        let rows = Tensor::list(partition_of(&padded, lengths)?, out.finish()?, None)?;
        let lengths: ArrayRef = Arc::new(Int64Array::from_iter_values(sequences.row_lengths().map(|n| n as i64)));
        Ok(vec![cut.around(rows)?, cut.around(Tensor::Leaf(lengths))?])
    })
}

/// The padded length of the sequences of a record.
fn padded_size(wanted: Option<&Integers>, record: usize, longest: usize) -> Result<usize> {
    let Some(wanted) = wanted.filter(|n| n.at(record) != -1) else { return Ok(longest) };
    let size = wanted.size(record, "maxlen")?;
    if size < longest {
        return Err(Error::data(format!("maxlen is {size}, but a sequence has {}", counted(longest as u64, "step")))
            .at_row(record)
            .help("sequence_pad does not truncate; take x[:, :n] first, or use `to-dense --shape`"));
    }
    Ok(size)
}

fn sequence_unpad(call: &mut Call) -> ExprResult<OperandKind> {
    let (x, length) = (call.tensor(0)?, call.integers(1)?);
    if let Some(axis) = last_ragged(&x.ty.dims) {
        return Err(ExprError::at(x.span.clone(), format!("sequence_unpad expects a dense tensor, but axis {axis} is ragged")));
    }
    if x.rank() < 2 {
        return Err(ExprError::at(x.span.clone(), format!("sequence_unpad expects a tensor of rank 2 or higher, found {}", x.ty)));
    }
    if length.rank() != 1 {
        return Err(ExprError::at(length.span.clone(), format!("sequence_unpad: length must be a vector, not {}", length.ty)));
    }
    if let (Size::Known(n), Size::Known(m)) = (x.ty.dims[0].size, length.ty.dims[0].size)
        && n != m
    {
        return Err(ExprError::at(length.span.clone(), format!("sequence_unpad: found {m} lengths for {}", counted(n, "row"))));
    }
    let mut dims = x.ty.dims.clone();
    dims[1] = Dim::RAGGED;
    if dims.len() == 2 {
        dims.push(Dim::known(1));
    }
    call.one(Type { dims, ..x.ty.clone() }, move |args| {
        let (tensor, length) = (x.of(args)?, length.of(args)?);
        let (outer, rows) = (tensor.as_list()?, length.as_list()?);
        let numbers = i64s(rows.values().as_leaf()?)?;
        let list = outer.values().as_list()?;
        let records = outer.partition();
        for record in 0..records.nrows() {
            let (own, given) = (records.range(record), rows.partition().range(record));
            if own.len() != given.len() {
                return Err(Error::data(format!("{} for {}", counted(given.len() as u64, "length"), counted(own.len() as u64, "row")))
                    .at_row(record));
            }
            for (row, length) in own.clone().zip(&numbers[given]) {
                let there = list.partition().row_length(row);
                if !(0..=there as i64).contains(length) {
                    let error =
                        format!("length {length} does not fit row {}, which has {}", row - own.start, counted(there as u64, "step"));
                    return Err(Error::data(error).at_row(record));
                }
            }
        }
        let stop = |row: usize| numbers.get(row).copied().unwrap_or(0);
        let (partition, steps) = slice::rows(list.partition(), list.values(), |row| Slice { start: None, stop: Some(stop(row)), step: 1 })?;
        let steps = if x.rank() > 2 { steps } else { Tensor::list(RowPartition::uniform(1, steps.nrows())?, steps, None)? };
        Tensor::list(records.clone(), Tensor::list(partition, steps, None)?, None)
    })
}

/// Maps lengths `[...]` to a mask `[..., maxlen]`. Paddle treats a negative `maxlen` as unspecified and rejects 0;
/// TensorFlow uses it as a size.
fn mask(call: &mut Call, default: DType, paddle: bool) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "lengths", DType::is_number)?;
    let dtype = call.dtype(2)?.unwrap_or(default);
    if !can_cast(&DType::Bool, &dtype) {
        return Err(ExprError::at(call.operand(2)?.span.clone(), format!("{}: a mask cannot have the dtype {dtype}", call.name)));
    }
    let size = maxlen(call, 1)?;
    let known = size.as_ref().and_then(Integer::known);
    if let Some(n) = known
        && (n == 0 && paddle || n < 0 && !paddle)
    {
        return Err(ExprError::at(call.operand(1)?.span.clone(), format!("{}: maxlen cannot be {n}", call.name)));
    }
    let size = size.filter(|_| known.is_none_or(|n| n >= 0));
    // The lengths are converted to the dtype of maxlen, which is int32 for a literal in its range.
    let narrow = match call.given(1).filter(|_| !paddle) {
        Some(item) => as_node(item, None)?.ty.dtype().cloned().filter(|dtype| dtype.is_integer()),
        None => None,
    };
    let last = size.as_ref().map_or(Dim::UNIFORM, Integer::dim);
    let mut dims = x.ty.dims.clone();
    dims.push(last.clone());
    call.one(Type::tensor(dtype.clone(), dims), move |args| {
        let tensor = x.of(args)?;
        let wanted = size.as_ref().map(|n| n.of(args)).transpose()?;

        let lengths = match &narrow {
            Some(narrow) => Cow::Owned(tensor.map_below(x.rank(), &mut |t| Ok(Tensor::Leaf(cast(t.as_leaf()?, narrow)?)))?),
            None => tensor,
        };
        masked(&lengths, &x, wanted.as_ref(), &last, &dtype, args, paddle)
    })
}

fn masked(tensor: &Tensor, x: &Arg, wanted: Option<&Integers>, last: &Dim, dtype: &DType, args: &Args, paddle: bool) -> Result<Tensor> {
    let records = merged(tensor, 0, x.rank())?;
    let (_, below) = tensor.levels(x.rank())?;
    // A step counts if its index is below the length, which can be fractional. TensorFlow converts the lengths to the
    // dtype of maxlen, which is an integer; without it, the steps are those below the largest length. Paddle truncates
    // the largest length.
    let values = below.as_leaf()?;
    let truncated = cast(values, &DType::Int64)?;
    let (whole, counts) = match x.ty.dtype() {
        Some(d) if d.is_float() && (paddle || wanted.is_none()) => {
            let above = cast(&elementwise::float(Float::Ceil, values)?, &DType::Int64)?;
            (if paddle { truncated } else { above.clone() }, above)
        }
        _ => (truncated.clone(), truncated),
    };
    let (whole, counts) = (i64s(&whole)?, i64s(&counts)?);
    let (mut lengths, mut bits) = (Vec::with_capacity(counts.len()), BooleanBufferBuilder::new(0));
    for record in 0..args.nrows {
        let own = records.range(record);
        let size = match wanted.map(|n| n.at(record)).filter(|n| *n >= 0 || !paddle) {
            Some(0) if paddle => return Err(Error::data("maxlen cannot be 0").at_row(record)),
            Some(n) => usize::try_from(n).map_err(|_| Error::data(format!("maxlen {n} is negative")).at_row(record))?,
            None => whole[own.clone()].iter().copied().max().map_or(0, |n| usize::try_from(n.max(0)).unwrap_or(usize::MAX)),
        };
        check_count(own.len().checked_mul(size.max(1)).and_then(|n| n.checked_add(bits.len())), record)?;
        for count in &counts[own] {
            let ones = usize::try_from((*count).max(0)).unwrap_or(usize::MAX).min(size);
            bits.append_n(ones, true);
            bits.append_n(size - ones, false);
            lengths.push(size);
        }
    }
    let flat: ArrayRef = Arc::new(BooleanArray::new(bits.finish(), None));
    let rows = Tensor::list(partition_of(last, lengths)?, Tensor::Leaf(cast(&flat, dtype)?), None)?;
    tensor.map_below(x.rank(), &mut |_| Ok(rows.clone()))
}
