//! Selecting items by indices, masks and conditions.
//!
//! Semantics: `tf.gather`, `tf.gather_nd`, `tf.ragged.boolean_mask`, `tf.where`, `tf.dynamic_partition` on
//! tf.RaggedTensor. An out-of-range index is always an error.

use super::chosen;
use super::convert::zero_of;
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, as_node, cast_node, not_null, static_int};
use crate::expr::error::{ExprError, ExprResult, compare};
use crate::expr::kernels::broadcast::to_shape;
use crate::expr::kernels::cast::{bools, i64s};
use crate::expr::kernels::fill::Filled;
use crate::expr::kernels::level::{bounding_known, check_same, from_lengths, merged, record_of, with_sizes, wrap};
use crate::expr::kernels::slice::cut;
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::types::{last_ragged, outermost_uniform};
use crate::printable::{counted, counted_axes};
use crate::schema::{DType, Dim, Literal, Size, Type};
use crate::tensor::limits::check_count;
use crate::tensor::take::take_chosen;
use crate::tensor::{RowPartition, Tensor, row_of};
use arrow_array::{ArrayRef, Int64Array};
use arrow_buffer::BooleanBuffer;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["gather"],
        "params|x, indices, validate_indices=None, axis=None, batch_dims=0",
        "Select items of an axis by index.",
        [
            ("gather([\"a\", \"b\", \"c\"], [2, 0])", "[\"c\", \"a\"]"),
            ("gather([[1, 2], [3]], [[1, 0], [0]], batch_dims=1)", "[[2, 1], [3]]")
        ],
        |c| {
            if let Some(item) = c.given(2).filter(|item| !matches!(item.literal(), Some(Literal::None | Literal::Bool(_)))) {
                let error = ExprError::at(item.span.clone(), "the third argument of gather is validate_indices, as in TensorFlow");
                return Err(error.help("specify the axis: gather(x, indices, axis=1)"));
            }
            let axis = c.optional_int(3)?;
            let batch = c.optional_int(4)?.unwrap_or(0);
            gather(c, axis, batch)
        }
    ),
    formula!(
        ["nn.embedding_lookup"],
        "params, ids|indices, max_norm=None",
        "Look up rows of a table by id. A list of tables is treated as the parts of a single table. Rows are scaled down to a norm of at most max_norm.",
        [
            ("nn.embedding_lookup(constant([[1.0, 2.0], [3.0, 4.0]]), [1, 0])", "[[3.0, 4.0], [1.0, 2.0]]"),
            ("nn.embedding_lookup([[[1.0, 2.0]], [[3.0, 4.0]]], [1, 0])", "[[3.0, 4.0], [1.0, 2.0]]")
        ],
        embedding_lookup
    ),
    function!(
        ["gather_nd", "manip.gather_nd"],
        "params|x, indices, batch_dims=0, name, bad_indices_policy=\"\"",
        "Select items or slices by index vectors. If their size is not known before the first record, they must select single items. An index out of range is an error; with bad_indices_policy=\"IGNORE\", it selects 0 or an empty string.",
        [
            ("gather_nd([[1, 2], [3, 4]], [[1, 0], [0, 1]])", "[3, 2]"),
            ("gather_nd([1, 2], [[1], [5]], bad_indices_policy=\"IGNORE\")", "[2, 0]")
        ],
        gather_nd
    ),
    function!(
        ["ragged.boolean_mask", "boolean_mask"],
        "data|x|tensor, mask, axis=0",
        "Select items where a mask is true; the mask starts at the given axis.",
        [("ragged.boolean_mask([[1, 2], [3]], [[True, False], [True]])", "[[1], [3]]")],
        boolean_mask
    ),
    function!(
        ["where", "where_v2"],
        "condition, x|t=None, y|e=None",
        "x where the condition is true, else y; None for null. Without x and y, the indices where it is true or nonzero.",
        [
            ("where([True, False], [1, 2], 0)", "[1, 0]"),
            ("where([True, False], [1, 2], None)", "[1, null]"),
            ("where([[False], [True, False]])", "[[1, 0]]")
        ],
        choice
    ),
    function!(
        ["dynamic_partition"],
        "data, partitions, num_partitions",
        "Distribute items into a list of tensors, one for each partition.",
        [("dynamic_partition([1, 2, 3], [0, 1, 0], 2)[0]", "[1, 3]")],
        dynamic_partition
    ),
    function!(
        ["ragged.stack_dynamic_partitions"],
        "data, partitions, num_partitions",
        "Distribute items into the rows of a ragged tensor, one for each partition.",
        [("ragged.stack_dynamic_partitions([1, 2, 3], [0, 2, 0], 3)", "[[1, 3], [], [2]]")],
        stack_dynamic_partitions
    ),
];

/// Checks one index against the number of items.
fn index_in(index: i64, length: usize) -> Result<usize> {
    usize::try_from(index)
        .ok()
        .filter(|i| *i < length)
        .ok_or_else(|| Error::data(format!("index {index} is out of range for {length} item{}", if length == 1 { "" } else { "s" })))
}

fn gather(call: &mut Call, axis: Option<i64>, batch: i64) -> ExprResult<OperandKind> {
    let x = call.moved(0)?;
    call.not_sparse(&x)?;
    let indices = call.integers(1)?;
    let ragged = last_ragged(&x.ty.dims).is_some() || last_ragged(&indices.ty.dims).is_some();
    // For dense tensors, negative batch_dims are also the default axis, which then counts from the last axis.
    let axis = axis.or(Some(batch).filter(|b| *b < 0 && !ragged));
    let batch = if batch < 0 { batch + indices.rank() as i64 } else { batch };
    let batch = usize::try_from(batch)
        .ok()
        .filter(|b| *b <= indices.rank() && *b < x.rank().max(1))
        .ok_or_else(|| call.error(format!("batch_dims {batch} is out of range")))?;
    let axis = call.axis(3, axis.unwrap_or(batch as i64), x.rank())?;
    if axis < batch {
        return Err(call.error(format!("axis {axis} must not be less than batch_dims {batch}")));
    }
    call.moves_below(&x, axis + 1);
    if axis == 0 && indices.rank() == 0 {
        call.takes_items();
    }
    let mut dims = x.ty.dims[..axis].to_vec();
    dims.extend(indices.ty.dims[batch..].iter().cloned());
    dims.extend(x.ty.dims[axis + 1..].iter().cloned());
    let dims = outermost_uniform(dims);
    let ty = Type { dims: dims.clone(), ..x.ty.clone() };
    call.one(ty, move |args| {
        let ids = indices.of(args)?;
        // A table that is the same for all records is not repeated.
        let table = args.value(x.index)?;
        if axis == 0 && table.constant && args.nrows != 1 {
            let list = table.tensor.as_list()?;
            let length = list.partition().row_length(0);
            let whole = merged(&ids, 0, indices.rank())?;
            let (partitions, below) = ids.levels(indices.rank())?;
            let places = i64s(below.as_leaf()?)?
                .iter()
                .enumerate()
                .map(|(i, index)| index_in(*index, length).map_err(|e| e.at_row(row_of(&whole, i))))
                .collect::<Result<Vec<_>>>()?;
            return wrap(partitions.into_iter().cloned(), list.values().gather(&places)?);
        }
        let tensor = x.of(args)?;
        check_same(&tensor, &ids, batch, "params and indices")?;
        let (outer, below) = tensor.levels(axis)?;
        let list = below.as_list()?;
        let (_, own) = ids.levels(batch)?;
        // For each row of the axis, the indices of its batch.
        let owners = merged(&tensor, batch, axis)?;
        let own = if axis == batch {
            own.clone()
        } else {
            let of_row: Vec<usize> = (0..owners.nrows()).flat_map(|b| std::iter::repeat_n(b, owners.row_length(b))).collect();
            own.gather(&of_row)?
        };
        let rank = indices.rank() - batch;
        let whole = merged(&own, 0, rank)?;
        let (partitions, flat) = own.levels(rank)?;
        let flat = i64s(flat.as_leaf()?)?;
        let mut places = Vec::with_capacity(flat.len());
        for row in 0..whole.nrows() {
            let length = list.partition().row_length(row);
            let start = list.partition().start(row);
            for index in &flat[whole.range(row)] {
                places.push(start + index_in(*index, length).map_err(|e| e.at_row(record_of(&tensor, axis, row)))?);
            }
        }
        let partitions: Vec<RowPartition> = outer.into_iter().cloned().chain(partitions.into_iter().cloned()).collect();
        with_sizes(wrap(partitions.into_iter(), list.values().gather(&places)?)?, &dims, || {
            let (mut sizes, of_ids) = (bounding_known(&tensor, &x.ty.dims)?, bounding_known(&ids, &indices.ty.dims)?);
            sizes.splice(axis..=axis, of_ids.into_iter().skip(batch));
            Ok(sizes)
        })
    })
}

fn gather_nd(call: &mut Call) -> ExprResult<OperandKind> {
    let ignores = ignores_bad_indices(call, 3)?;
    let x = if ignores { call.any(0)? } else { call.moved(0)? };
    let indices = call.integers(1)?;
    let batch = call.optional_int(2)?.unwrap_or(0);
    let ragged = last_ragged(&x.ty.dims).is_some();
    if batch != 0 && (ragged || last_ragged(&indices.ty.dims).is_some()) {
        return Err(call.error("gather_nd does not support batch_dims for ragged tensors").help("to make it dense: to_tensor(x)"));
    }
    let most = x.rank().min(indices.rank()).saturating_sub(1);
    let Some(batch) = usize::try_from(batch).ok().filter(|batch| *batch <= most) else {
        return Err(call.error(format!("gather_nd: batch_dims is {batch}; expected 0 to {most}, because both tensors need these axes")));
    };
    let Some((last, outer)) = indices.ty.dims.split_last() else {
        return Err(ExprError::at(indices.span.clone(), "an index must be a vector, not a scalar"));
    };
    if x.rank() == 0 {
        return Err(ExprError::at(x.span.clone(), "gather_nd needs a tensor with at least one axis; this is a scalar"));
    }
    let axes_left = x.rank() - batch;
    let depth = match last.size {
        Size::Known(depth) => usize::try_from(depth).unwrap_or(usize::MAX),
        Size::Uniform => axes_left,
        Size::Ragged => {
            let error = ExprError::at(indices.span.clone(), format!("all indices must have the same size; this is {}", indices.ty));
            return Err(error.help("if they do: to_tensor(indices)"));
        }
    };
    if ignores && ragged {
        return Err(call.error("gather_nd does not support bad_indices_policy for ragged tensors").help("to make it dense: to_tensor(x)"));
    }
    let zero = match x.ty.dtype() {
        Some(dtype) if ignores => Some(zero_of(call, &dtype.clone())?),
        _ => None,
    };
    if depth > axes_left {
        return Err(ExprError::at(
            indices.span.clone(),
            format!("an index has {}, but the tensor has {}", counted(depth as u64, "number"), counted_axes(axes_left)),
        ));
    }
    let mut dims = outer.to_vec();
    // As in TensorFlow, an index of one number into a ragged tensor counts as a list of one index.
    let listed = ragged && outer.is_empty() && depth == 1;
    if listed {
        dims.push(Dim::known(1));
    }
    dims.extend(x.ty.dims[batch + depth..].iter().cloned());
    let ty = Type { dims: outermost_uniform(dims), ..x.ty.clone() };
    let levels = indices.rank() - 1;
    call.moves_below(&x, batch + depth);
    if levels == 0 && !listed {
        call.takes_items();
    }
    call.one(ty, move |args| {
        let (tensor, ids) = (x.of(args)?, indices.of(args)?);
        let (partitions, vectors) = ids.levels(levels)?;
        let vectors = vectors.as_list()?;
        let flat = i64s(vectors.values().as_leaf()?)?;
        check_sizes(vectors.partition(), depth).map_err(|(vector, e)| e.at_row(record_of(&ids, levels, vector)))?;
        check_same(&tensor, &ids, batch, "tensor and indices")?;
        let (axes, below) = tensor.levels(batch + depth)?;
        // The vectors of each record, or of each row of the batch axes.
        let whole = merged(&ids, batch, levels)?;
        let mut places = Vec::with_capacity(whole.nvals());
        for row in 0..whole.nrows() {
            for vector in whole.range(row) {
                let numbers = &flat[vector * depth..(vector + 1) * depth];
                match item_below(&axes[batch..], row, numbers) {
                    Ok(at) => places.push(Ok(at)),
                    Err(_) if zero.is_some() => places.push(Err(record_of(&ids, batch, row))),
                    Err((axis, e)) => return Err(e.on_axis(batch + axis).at_row(record_of(&ids, batch, row))),
                }
            }
        }
        let gathered = match &zero {
            Some(zero) => {
                let (first, sizes) = (batch + depth, bounding_known(&tensor, &x.ty.dims)?);
                let of_record = |axis: usize, record: usize| Ok(sizes[first + axis][record]);
                gathered_or_zero(below, &places, &to_shape(&*zero.of(args)?, &[], &x.ty.dims[first..], args.nrows, of_record)?)?
            }
            None => below.gather(&places.iter().flatten().copied().collect::<Vec<_>>())?,
        };
        let gathered = if listed { Tensor::list(RowPartition::uniform(1, places.len())?, gathered, None)? } else { gathered };
        wrap(partitions.into_iter().cloned(), gathered)
    })
}

/// Checks that index vectors have `depth` numbers each.
fn check_sizes(vectors: &RowPartition, depth: usize) -> Result<(), (usize, Error)> {
    let Some(other) = (0..vectors.nrows()).find(|vector| vectors.row_length(*vector) != depth) else { return Ok(()) };
    let found = counted(vectors.row_length(other) as u64, "number");
    let error = Error::data(format!("an index has {found}, but the tensor has {}", counted_axes(depth)));
    Err((other, error.help("to select slices, declare the length of an index: ensure_shape(indices, [None, 1])")))
}

/// The item that an index selects below row `row` of these axes; an error has the axis.
fn item_below(axes: &[&RowPartition], row: usize, numbers: &[i64]) -> Result<usize, (usize, Error)> {
    axes.iter().zip(numbers).enumerate().try_fold(row, |at, (axis, (partition, index))| {
        let index = index_in(*index, partition.row_length(at)).map_err(|e| (axis, e))?;
        Ok(partition.start(at) + index)
    })
}

/// The items at `places`; instead of one out of range, the row of `zeros` of its record.
fn gathered_or_zero(items: &Tensor, places: &[Result<usize, usize>], zeros: &Tensor) -> Result<Tensor> {
    let mut out = Filled::new(items, zeros)?;
    for place in places {
        match *place {
            Ok(at) => out.copy(at, at + 1),
            Err(record) => out.fill(record, 1),
        }
    }
    out.finish()
}

/// Whether argument `i`, TensorFlow's bad_indices_policy, lets a function ignore indices that are out of range.
///
/// # Errors
/// Another policy.
pub fn ignores_bad_indices(call: &Call, i: usize) -> ExprResult<bool> {
    match call.string(i)?.as_deref() {
        None | Some("" | "DEFAULT" | "ERROR") => Ok(false),
        Some("IGNORE") => Ok(true),
        Some(other) => Err(call.error(format!("{}: bad_indices_policy must be \"ERROR\" or \"IGNORE\", not {other:?}", call.name))),
    }
}

fn mask_of(call: &mut Call, i: usize) -> ExprResult<Arg> {
    let mask = call.tensor(i)?;
    if mask.dtype()? != &DType::Bool {
        return Err(ExprError::at(mask.span.clone(), format!("{}: the {} must be bool, not {}", call.name, call.param(i), mask.ty))
            .help(compare(call.text(), &mask.span, "!=", mask.ty.dtype())));
    }
    Ok(mask)
}

/// The number of bits set before each of these positions, which must not exceed the number of bits.
fn set_before(bits: &BooleanBuffer, places: &[i64]) -> Vec<i64> {
    let mut words = Vec::with_capacity(bits.len() / 64 + 2);
    let mut before = Vec::with_capacity(words.capacity());
    let mut sum = 0;
    for word in bits.bit_chunks().iter_padded() {
        words.push(word);
        before.push(sum);
        sum += i64::from(word.count_ones());
    }
    words.push(0);
    before.push(sum);
    let of = |place: &i64| {
        let (word, bit) = ((place / 64) as usize, place % 64);
        before[word] + i64::from((words[word] & ((1 << bit) - 1)).count_ones())
    };
    places.iter().map(of).collect()
}

fn boolean_mask(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.moved(0)?;
    call.not_sparse(&x)?;
    let mask = mask_of(call, 1)?;
    let levels = mask.rank();
    let ragged = last_ragged(&x.ty.dims).is_some() || last_ragged(&mask.ty.dims).is_some();
    let axis = match call.optional_int(2)? {
        None | Some(0) => 0,
        Some(axis) if !ragged => call.axis(2, axis, x.rank())?,
        Some(_) => return Err(call.error("axis= works only with dense tensors")),
    };
    if levels == 0 || axis + levels > x.rank() {
        return Err(ExprError::at(
            mask.span.clone(),
            format!("the mask has {}, but the tensor has {}", counted_axes(levels), x.rank() - axis),
        ));
    }
    for (i, (a, b)) in x.ty.dims[axis..].iter().zip(&mask.ty.dims).enumerate() {
        if let (Size::Known(m), Size::Known(n)) = (a.size, b.size)
            && m != n
        {
            let error =
                format!("the mask has {n} items on axis {i}, but the tensor has {m}{}", if axis == 0 { "" } else { " on the masked axis" });
            return Err(ExprError::at(mask.span.clone(), error));
        }
    }
    // tf.boolean_mask of a dense tensor flattens the result to one row; tf.ragged.boolean_mask keeps the rows.
    let flat = call.name == "boolean_mask" && levels > 1 && !ragged;
    call.moves_below(&x, axis + levels);
    let mut ty = x.ty.clone();
    ty.dims[axis + levels - 1] = if levels == 1 { Dim::UNIFORM } else { Dim::RAGGED };
    if flat {
        ty.dims.splice(axis..axis + levels, [Dim::UNIFORM]);
    }
    call.one(ty, move |args| {
        let (tensor, mask) = (x.of(args)?, mask.of(args)?);
        if axis == 0 {
            return masked(&tensor, &mask, levels, flat);
        }
        // The mask of the record for each item above the axis.
        let owners = merged(&tensor, 0, axis)?;
        let (_, rows) = tensor.levels(axis)?;
        for record in (0..owners.nrows()).filter(|record| owners.row_length(*record) > 0) {
            let (row, mask) = (rows.gather(&[owners.start(record)])?, mask.gather(&[record])?);
            if check_same(&row, &mask, levels, "tensor and mask").is_err() {
                return Err(Error::data("the mask and the axis it is applied to have different sizes").at_row(record));
            }
        }
        let mask = mask.gather(&owners.value_rowids().into_iter().map(|record| record as usize).collect::<Vec<_>>())?;
        tensor.map_below(axis, &mut |t| masked(t, &mask, levels, flat))
    })
}

/// The items of each row where the row's mask is true.
fn masked(tensor: &Tensor, mask: &Tensor, levels: usize, flat: bool) -> Result<Tensor> {
    check_same(tensor, mask, levels, "tensor and mask")?;
    let (_, bits) = mask.levels(levels)?;
    let bits = bools(bits.as_leaf()?)?;
    let kept = tensor.map_below(levels - 1, &mut |t| {
        cut(t.as_list()?, |partition, values| {
            let splits = RowPartition::from_row_splits(set_before(bits, &partition.row_splits()))?;
            Ok((splits, take_chosen(values, bits)?))
        })
    })?;
    if !flat {
        return Ok(kept);
    }
    let (_, below) = kept.levels(levels)?;
    let (rows, list) = (merged(&kept, 0, levels)?, tensor.as_list()?);
    let mut sizes = Vec::new();
    let rows = rows.with_item_sizes(below, |record, out| {
        sizes.resize(levels - 1 + out.len(), 0);
        list.item_sizes(record, &mut sizes);
        out.copy_from_slice(&sizes[levels - 1..]);
    });
    Tensor::list(rows, below.clone(), None)
}

fn choice(call: &mut Call) -> ExprResult<OperandKind> {
    let item = as_node(call.operand(0)?, None)?;
    if call.given(1).is_none() && call.given(2).is_none() && item.ty.dtype().is_some_and(DType::is_number) && !item.ty.is_sparse() {
        let nonzero = cast_node(not_null(item), &DType::Bool, call.text())?;
        let nonzero = call.push(nonzero);
        return coordinates(call, nonzero);
    }
    let condition = mask_of(call, 0)?;
    match (call.given(1).is_some(), call.given(2).is_some()) {
        (true, true) => chosen::one_of_two(call, condition),
        (true, false) if call.is_none(2) => chosen::or_null(call, condition, 1, true),
        (false, true) if call.is_none(1) => chosen::or_null(call, condition, 2, false),
        (false, false) => coordinates(call, condition),
        _ => {
            let error = call.error("where needs both x and y, or neither");
            Err(error.help("for null where the condition is false: where(condition, x, None)"))
        }
    }
}

/// The index of each true value, of shape `[?, rank]`.
fn coordinates(call: &mut Call, condition: Arg) -> ExprResult<OperandKind> {
    let rank = condition.rank();
    if rank == 0 {
        return Err(ExprError::at(condition.span.clone(), "a scalar has no indices; where needs at least one axis")
            .help("to choose one of two values: where(condition, x, y)"));
    }
    let ty = Type::tensor(DType::Int64, vec![Dim::UNIFORM, Dim::known(rank as u64)]);
    call.one(ty, move |args| {
        let tensor = condition.of(args)?;
        let whole = merged(&tensor, 0, rank)?;
        let (partitions, below) = tensor.levels(rank)?;
        let bits = bools(below.as_leaf()?)?;
        let (mut out, mut lengths) = (Vec::new(), Vec::with_capacity(whole.nrows()));
        for record in 0..whole.nrows() {
            let mut n = 0;
            for value in whole.range(record).filter(|v| bits.value(*v)) {
                let at = out.len();
                let mut item = value;
                for partition in partitions.iter().rev() {
                    let row = row_of(partition, item);
                    out.push((item - partition.start(row)) as i64);
                    item = row;
                }
                out[at..].reverse();
                n += 1;
            }
            lengths.push(n);
        }
        let partition = from_lengths(lengths)?;
        let flat: ArrayRef = Arc::new(Int64Array::from(out));
        Tensor::list(partition.clone(), Tensor::list(RowPartition::uniform(rank, partition.nvals())?, Tensor::Leaf(flat), None)?, None)
    })
}

/// The positions of the items of a tensor by record and partition.
struct Places {
    /// Where the items of each partition of each record start in `order`, and the end of the last.
    starts: Vec<usize>,
    order: Vec<usize>,
}

impl Places {
    /// The items of partition number `i`, counted over all records.
    fn of(&self, i: usize) -> &[usize] {
        &self.order[self.starts[i]..self.starts[i + 1]]
    }
}

/// The places of the items; `counts` are the numbers of partitions of the records. O(items + partitions).
fn places_of(data: &Tensor, partitions: &Tensor, levels: usize, counts: &[usize]) -> Result<Places> {
    check_same(data, partitions, levels, "data and partitions")?;
    let whole = merged(data, 0, levels)?;
    let (_, ids) = partitions.levels(levels)?;
    let ids = i64s(ids.as_leaf()?)?;
    let mut all = 0;
    for (record, n) in counts.iter().enumerate() {
        all = check_count(n.checked_add(all), record)?;
    }
    // The number of the partition of each item, counted over all records.
    let mut numbers = Vec::with_capacity(whole.nvals());
    let mut starts = vec![0; all + 1];
    let mut first = 0;
    for (record, n) in counts.iter().enumerate() {
        for id in &ids[whole.range(record)] {
            let known = usize::try_from(*id).ok().filter(|id| id < n);
            let number = first + known.ok_or_else(|| Error::data(format!("partition {id} is out of range [0, {n})")).at_row(record))?;
            starts[number + 1] += 1;
            numbers.push(number);
        }
        first += n;
    }
    for i in 0..all {
        starts[i + 1] += starts[i];
    }
    let (mut next, mut order) = (starts.clone(), vec![0; numbers.len()]);
    for (value, number) in (whole.start(0)..).zip(numbers) {
        order[next[number]] = value;
        next[number] += 1;
    }
    Ok(Places { starts, order })
}

/// The data and the partitions, arguments 0 and 1, with the number of axes of the partitions.
fn partitioned(call: &mut Call) -> ExprResult<(Arg, Arg, usize)> {
    let (x, ids) = (call.moved(0)?, call.integers(1)?);
    let levels = ids.rank();
    if levels > x.rank() {
        let message = format!("the partitions have {}, but the data has {}", counted_axes(levels), x.rank());
        return Err(ExprError::at(ids.span.clone(), message));
    }
    call.moves_below(&x, levels);
    Ok((x, ids, levels))
}

fn dynamic_partition(call: &mut Call) -> ExprResult<OperandKind> {
    let (x, ids, levels) = partitioned(call)?;
    let n = call.int(2)?;
    let n = usize::try_from(n)
        .ok()
        .filter(|n| (1..=10_000).contains(n))
        .ok_or_else(|| call.error(format!("{n} is not a valid number of partitions")))?;
    let mut ty = x.ty.clone();
    ty.dims.splice(0..levels, [Dim::UNIFORM]);
    call.several(vec![ty; n], move |args| {
        let (tensor, ids) = (x.of(args)?, ids.of(args)?);
        let places = places_of(&tensor, &ids, levels, &vec![n; args.nrows])?;
        let (_, below) = tensor.levels(levels)?;
        (0..n)
            .map(|part| {
                let parts = (0..args.nrows).map(|record| places.of(record * n + part));
                let flat: Vec<usize> = parts.clone().flatten().copied().collect();
                let lengths = parts.map(<[usize]>::len);
                Tensor::list(from_lengths(lengths)?, below.gather(&flat)?, None)
            })
            .collect()
    })
}

fn stack_dynamic_partitions(call: &mut Call) -> ExprResult<OperandKind> {
    let (x, ids, levels) = partitioned(call)?;
    let known = static_int(call.operand(2)?);
    let n = call.scalar_integer(2)?;
    let mut ty = x.ty.clone();
    let rows = known.and_then(|n| u64::try_from(n).ok()).map_or(Dim::UNIFORM, Dim::known);
    ty.dims.splice(0..levels, [rows, Dim::RAGGED]);
    call.one(ty, move |args| {
        let (tensor, ids, counts) = (x.of(args)?, ids.of(args)?, n.of(args)?);
        let counts = i64s(counts.as_leaf()?)?
            .iter()
            .enumerate()
            .map(|(record, n)| {
                usize::try_from(*n).map_err(|_| Error::data(format!("num_partitions is {n}; it must not be negative")).at_row(record))
            })
            .collect::<Result<Vec<_>>>()?;
        let places = places_of(&tensor, &ids, levels, &counts)?;
        let (_, below) = tensor.levels(levels)?;
        let lengths: Vec<usize> = (0..places.starts.len() - 1).map(|i| places.of(i).len()).collect();
        let flat = places.order;
        let outer = match known.and_then(|n| usize::try_from(n).ok()) {
            Some(n) => RowPartition::uniform(n, args.nrows)?,
            None => from_lengths(counts)?,
        };
        Tensor::list(outer, Tensor::list(from_lengths(lengths)?, below.gather(&flat)?, None)?, None)
    })
}

/// As in TensorFlow, the tables of a list hold consecutive ids, with one more in each of the first tables if they do
/// not divide evenly.
fn embedding_lookup(call: &Call) -> ExprResult<String> {
    let mut rows = None;
    let table = match call.operand(0)?.elements() {
        Some(parts) if parts.is_empty() => return Err(call.error("nn.embedding_lookup needs a table")),
        Some(parts) if parts.len() == 1 => "params[0]",
        Some(parts) => {
            let size = |part: &Operand| Ok(as_node(part, None)?.ty.dims.first().map(|dim| dim.size));
            let sizes = parts.iter().map(size).collect::<ExprResult<Vec<_>>>()?;
            let known = |size: &Option<Size>| if let Some(Size::Known(n)) = size { Some(*n) } else { None };
            if let Some(sizes) = sizes.iter().map(known).collect::<Option<Vec<u64>>>() {
                rows = places(&sizes).map_err(|why| call.error(format!("nn.embedding_lookup: {why}")))?;
            }
            "concat(params, 0)"
        }
        None => "params",
    };
    let found = match rows {
        None => format!("gather({table}, ids)"),
        Some(rows) => format!("gather({table}, gather({rows:?}, ids))"),
    };
    if call.given(2).is_none() {
        return Ok(found);
    }
    let ids = as_node(call.operand(1)?, None)?.ty;
    let first = match call.operand(0)?.elements().and_then(|parts| parts.into_iter().next()) {
        Some(part) => as_node(&part, None)?.ty,
        None => as_node(call.operand(0)?, None)?.ty,
    };
    // The rows of ragged ids are clipped as a list of rows.
    let outer = if ids.is_ragged() { 1 } else { ids.rank() };
    let axes: Vec<usize> = (outer..(outer + first.rank()).saturating_sub(1)).collect();
    if ids.is_ragged() {
        let flat = found.replace("ids)", "flat_values(ids))");
        return Ok(format!("with_flat_values(ids, clip_by_norm({flat}, max_norm, axes={axes:?}))"));
    }
    Ok(format!("clip_by_norm({found}, max_norm, axes={axes:?})"))
}

/// The row of each id in the tables of these sizes, one after the other; -1 if its table is too small. `None` if the rows
/// are divided evenly, so that each id is its row.
fn places(sizes: &[u64]) -> Result<Option<Vec<i64>>, String> {
    let (all, n) = (sizes.iter().sum::<u64>(), sizes.len() as u64);
    let (each, extra) = (all / n, all % n);
    let wanted = |table: u64| each + u64::from(table < extra);
    if (0..n).zip(sizes).all(|(table, size)| *size == wanted(table)) {
        return Ok(None);
    }
    if all > 10_000 {
        return Err(format!("{all} rows are not divided evenly among the tables: {sizes:?}"));
    }
    let mut start = 0;
    let mut rows = Vec::with_capacity(all as usize);
    for (table, size) in (0..n).zip(sizes) {
        rows.extend((0..wanted(table)).map(|row| if row < *size { (start + row) as i64 } else { -1 }));
        start += size;
    }
    Ok(Some(rows))
}
