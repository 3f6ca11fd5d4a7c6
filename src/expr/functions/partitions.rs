//! Ragged tensors from values and row partitions, in every encoding.
//!
//! Semantics: `tf.RaggedTensor.from_*`, `tf.experimental.RowPartition.from_*`. Partitions are always
//! checked, even with `validate=False`.

use super::decompose::rewrap;
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, Integer, static_int, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Args, Node, NodeKind};
use crate::expr::kernels::cast::i64s;
use crate::expr::kernels::level::merged;
use crate::expr::operand::{Operand, OperandKind};
use crate::schema::{DType, Dim, Literal, PartitionEncoding, Size, Type};
use crate::tensor::encoding::Extent;
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{ArrayRef, Int64Array};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["RaggedTensor.from_row_splits"],
        "values, row_splits, name, validate=True",
        "A ragged tensor from row_splits, the offsets at which rows start and end.",
        [("RaggedTensor.from_row_splits([3, 1, 4, 1], [0, 2, 2, 4])", "[[3, 1], [], [4, 1]]")],
        |c| compose(c, PartitionEncoding::RowSplits)
    ),
    function!(
        ["RaggedTensor.from_row_lengths"],
        "values, row_lengths, name, validate=True",
        "A ragged tensor with rows of the given lengths.",
        [("RaggedTensor.from_row_lengths([3, 1, 4], [2, 0, 1])", "[[3, 1], [], [4]]")],
        |c| compose(c, PartitionEncoding::RowLengths)
    ),
    function!(
        ["RaggedTensor.from_row_starts"],
        "values, row_starts, name, validate=True",
        "A ragged tensor from row_starts, the offset at which each row starts.",
        [("RaggedTensor.from_row_starts([3, 1, 4], [0, 2, 2])", "[[3, 1], [], [4]]")],
        |c| compose(c, PartitionEncoding::RowStarts)
    ),
    function!(
        ["RaggedTensor.from_row_limits"],
        "values, row_limits, name, validate=True",
        "A ragged tensor from row_limits, the offset at which each row ends.",
        [("RaggedTensor.from_row_limits([3, 1, 4], [2, 2, 3])", "[[3, 1], [], [4]]")],
        |c| compose(c, PartitionEncoding::RowLimits)
    ),
    function!(
        ["RaggedTensor.from_value_rowids"],
        "values, value_rowids, nrows=None, name, validate=True",
        "A ragged tensor from value_rowids, the row index of each value.",
        [("RaggedTensor.from_value_rowids([3, 1, 4], [0, 0, 2])", "[[3, 1], [], [4]]")],
        |c| compose(c, PartitionEncoding::ValueRowids)
    ),
    function!(
        ["RaggedTensor.from_uniform_row_length"],
        "values, uniform_row_length, nrows=None, validate=True",
        "A ragged tensor with rows of equal length.",
        [("RaggedTensor.from_uniform_row_length([3, 1, 4, 1], 2)", "[[3, 1], [4, 1]]")],
        |c| compose(c, PartitionEncoding::UniformRowLength)
    ),
    function!(
        ["RaggedTensor.from_nested_row_splits"],
        "flat_values, nested_row_splits, name, validate=True",
        "A ragged tensor from the row_splits of each ragged axis, outermost first.",
        [("RaggedTensor.from_nested_row_splits([3, 1, 4], [[0, 2], [0, 1, 3]])", "[[[3], [1, 4]]]")],
        |c| nested(c, PartitionEncoding::RowSplits)
    ),
    function!(
        ["RaggedTensor.from_nested_row_lengths"],
        "flat_values, nested_row_lengths, name, validate=True",
        "A ragged tensor from the row_lengths of each ragged axis, outermost first.",
        [("RaggedTensor.from_nested_row_lengths([3, 1, 4], [[2], [1, 2]])", "[[[3], [1, 4]]]")],
        |c| nested(c, PartitionEncoding::RowLengths)
    ),
    function!(
        ["RaggedTensor.from_nested_value_rowids"],
        "flat_values, nested_value_rowids, nested_nrows=None, name, validate=True",
        "A ragged tensor from the value_rowids of each ragged axis, outermost first.",
        [("RaggedTensor.from_nested_value_rowids([3, 1, 4], [[0, 0], [0, 1, 1]])", "[[[3], [1, 4]]]")],
        |c| nested(c, PartitionEncoding::ValueRowids)
    ),
    function!(
        ["RowPartition.from_row_splits"],
        "row_splits, validate=True, dtype=None, dtype_hint=None",
        "A row partition from row_splits, the offsets at which rows start and end.",
        [("RowPartition.from_row_splits([0, 2, 2, 4])", "[0, 2, 2, 4]")],
        |c| partition(c, PartitionEncoding::RowSplits, None, None)
    ),
    function!(
        ["RowPartition.from_row_lengths"],
        "row_lengths, validate=True, dtype=None, dtype_hint=None",
        "A row partition from row lengths.",
        [
            ("partition_outer_dimension([3, 1, 4], RowPartition.from_row_lengths([2, 0, 1]))", "[[3, 1], [], [4]]"),
            ("RowPartition.from_row_lengths([2, 0, 1]).value_rowids()", "[0, 0, 2]")
        ],
        |c| partition(c, PartitionEncoding::RowLengths, None, None)
    ),
    function!(
        ["RowPartition.from_row_starts"],
        "row_starts, nvals, validate=True, dtype=None, dtype_hint=None",
        "A row partition from row_starts, the offset at which each row starts.",
        [("RowPartition.from_row_starts([0, 2, 2], nvals=3).row_lengths()", "[2, 0, 1]")],
        |c| partition(c, PartitionEncoding::RowStarts, Some(1), None)
    ),
    function!(
        ["RowPartition.from_row_limits"],
        "row_limits, validate=True, dtype=None, dtype_hint=None",
        "A row partition from row_limits, the offset at which each row ends.",
        [("RowPartition.from_row_limits([2, 2, 3]).row_lengths()", "[2, 0, 1]")],
        |c| partition(c, PartitionEncoding::RowLimits, None, None)
    ),
    function!(
        ["RowPartition.from_value_rowids"],
        "value_rowids, nrows=None, validate=True, dtype=None, dtype_hint=None",
        "A row partition from value_rowids, the row index of each value.",
        [("RowPartition.from_value_rowids([0, 0, 2], nrows=4).row_lengths()", "[2, 0, 1, 0]")],
        |c| partition(c, PartitionEncoding::ValueRowids, None, Some(1))
    ),
    function!(
        ["RowPartition.from_uniform_row_length"],
        "uniform_row_length, nvals=None, nrows=None, validate=True, dtype=None, dtype_hint=None",
        "A row partition into rows of equal length.",
        [("RowPartition.from_uniform_row_length(2, nvals=4).row_splits()", "[0, 2, 4]")],
        |c| partition(c, PartitionEncoding::UniformRowLength, Some(1), Some(2))
    ),
    function!(
        ["offsets_in_rows"],
        "p|x|self",
        "The offset of each value within its row.",
        [("RowPartition.from_row_lengths([2, 0, 3]).offsets_in_rows()", "[0, 1, 0, 1, 2]")],
        offsets_in_rows
    ),
    function!(
        ["is_uniform"],
        "p|x|self",
        "Whether all rows are known to have the same length.",
        [("RowPartition.from_uniform_row_length(2, nvals=4).is_uniform()", "true")],
        |c| {
            let uniform = rows_in(c)?.ty.dims[1].size != Size::Ragged;
            Ok(OperandKind::Literal(Literal::Bool(uniform)))
        }
    ),
    function!(
        ["static_nrows"],
        "p|x|self",
        "The number of rows if it is known before the first record is processed, else None.",
        [("RowPartition.from_row_lengths([2, 0, 1]).static_nrows", "3")],
        |c| {
            let rows = rows_in(c)?;
            known_size(rows.ty.dims[0].size)
        }
    ),
    function!(
        ["static_nvals"],
        "p|x|self",
        "The number of values if it is known before the first record is processed, else None.",
        [("RowPartition.from_row_lengths([2, 0, 1]).static_nvals", "3")],
        |c| {
            let rows = rows_in(c)?;
            match (&rows.kind, rows.ty.dims[0].size, rows.ty.dims[1].size) {
                (NodeKind::Constant(tensor), ..) => known_size(Size::Known(tensor.levels(2)?.1.nrows() as u64)),
                (_, Size::Known(nrows), Size::Known(length)) => known_size(Size::Known(nrows.saturating_mul(length))),
                _ => known_size(Size::Ragged),
            }
        }
    ),
    function!(
        ["static_uniform_row_length"],
        "p|x|self",
        "The length of every row if it is known before the first record is processed, else None.",
        [("RowPartition.from_uniform_row_length(2, nvals=4).static_uniform_row_length", "2")],
        |c| {
            let rows = rows_in(c)?;
            known_size(rows.ty.dims[1].size)
        }
    ),
];

/// A row partition, or a tensor with rows.
fn rows_in(call: &Call) -> ExprResult<Node> {
    let node = strict_node(call.operand(0)?)?;
    if node.ty.rank() < 2 || node.ty.is_sparse() {
        return Err(ExprError::at(node.span.clone(), format!("{} expects a partition, found {}", call.name, node.ty)));
    }
    Ok(node)
}

fn known_size(size: Size) -> ExprResult<OperandKind> {
    Ok(OperandKind::Literal(match size {
        Size::Known(n) => Literal::Int(n.into()),
        _ => Literal::None,
    }))
}

fn offsets_in_rows(call: &mut Call) -> ExprResult<OperandKind> {
    let rows = rows_in(call)?;
    let x = call.push(rows);
    call.one(Type::tensor(DType::Int64, vec![Dim::UNIFORM]), move |args| {
        let tensor = x.of(args)?;
        let (partitions, _) = tensor.levels(2)?;
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(partitions[1].row_lengths().flat_map(|n| 0..n as i64)));
        Tensor::list(merged(&tensor, 0, 2)?, Tensor::Leaf(values), None)
    })
}

/// Adds an outer axis: the rows into which the encoding divides axis 0.
fn compose(call: &mut Call, encoding: PartitionEncoding) -> ExprResult<OperandKind> {
    compose_from(call, encoding, 1, 2)
}

/// `partition_outer_dimension`, given a partition or exactly one encoding.
pub fn partition_outer_dimension(call: &mut Call) -> ExprResult<OperandKind> {
    const ENCODINGS: [(usize, PartitionEncoding); 6] = [
        (1, PartitionEncoding::RowSplits),
        (2, PartitionEncoding::RowLengths),
        (3, PartitionEncoding::RowStarts),
        (4, PartitionEncoding::RowLimits),
        (5, PartitionEncoding::ValueRowids),
        (7, PartitionEncoding::UniformRowLength),
    ];
    if let Some(item) = call.given(1)
        && let OperandKind::Partition(node) = &item.kind
    {
        let rows = node.clone();
        let rows = call.push(rows);
        let values = call.nested(0)?;
        return rewrap(call, rows, values, 2);
    }
    let mut given = ENCODINGS.iter().filter(|(i, _)| call.given(*i).is_some());
    match (given.next(), given.next()) {
        (Some((i, encoding)), None) => {
            let (i, encoding) = (*i, *encoding);
            compose_from(call, encoding, i, 6)
        }
        (None, _) => Err(call.error("specify the partition: row_lengths=, row_splits=, ...")),
        _ => Err(call.error("specify the partition in only one encoding")),
    }
}

fn compose_from(call: &mut Call, encoding: PartitionEncoding, at: usize, nrows_at: usize) -> ExprResult<OperandKind> {
    let values = call.nested(0)?;
    let numbers = if encoding == PartitionEncoding::UniformRowLength { call.scalar_integer(at)? } else { call.integers(at)? };
    check_vector(&numbers, encoding)?;
    let with_nrows =
        matches!(encoding, PartitionEncoding::ValueRowids | PartitionEncoding::UniformRowLength) && call.given(nrows_at).is_some();
    let nrows = if with_nrows { Some(call.integer(nrows_at)?) } else { None };
    let static_nrows = nrows.as_ref().and_then(Integer::known);
    let static_length = if encoding == PartitionEncoding::UniformRowLength { static_int(call.operand(at)?) } else { None };
    let mut ty = composed(&values, &numbers, encoding, call)?;
    if let Some(n) = static_nrows.and_then(|n| u64::try_from(n).ok()) {
        ty.dims[0] = Dim::known(n);
    }
    if let Some(length) = static_length {
        let length = u64::try_from(length).map_err(|_| call.error(format!("uniform_row_length is {length}; it must not be negative")))?;
        ty.dims[1] = Dim::known(length);
        if let (Size::Known(n), None) = (values.ty.dims[0].size, static_nrows)
            && length > 0
        {
            ty.dims[0] = Dim::known(n / length);
        }
    } else if encoding == PartitionEncoding::UniformRowLength {
        ty.dims[1] = Dim::UNIFORM;
    }
    call.one(ty, move |args| cut(&*values.of(args)?, args, &numbers, nrows.as_ref(), encoding))
}

fn check_vector(numbers: &Arg, encoding: PartitionEncoding) -> ExprResult<()> {
    if encoding != PartitionEncoding::UniformRowLength && numbers.rank() != 1 {
        return Err(ExprError::at(numbers.span.clone(), format!("a partition must be a vector of integers, not {}", numbers.ty)));
    }
    Ok(())
}

fn composed(values: &Arg, numbers: &Arg, encoding: PartitionEncoding, call: &Call) -> ExprResult<Type> {
    if values.rank() == 0 {
        return Err(ExprError::at(values.span.clone(), format!("{} needs values with an axis; this is a scalar", call.name)));
    }
    let rows = match (encoding, numbers.ty.dims.first().map(|d| d.size)) {
        (PartitionEncoding::RowSplits, Some(Size::Known(n))) => Dim::known(n.saturating_sub(1)),
        (PartitionEncoding::RowLengths | PartitionEncoding::RowStarts | PartitionEncoding::RowLimits, Some(Size::Known(n))) => {
            Dim::known(n)
        }
        _ => Dim::UNIFORM,
    };
    let mut ty = values.ty.clone();
    ty.dims.splice(0..1, [rows, Dim::RAGGED]);
    Ok(ty)
}

/// `RowPartition.from_*`. The partition is represented as a ragged tensor of value indices.
fn partition(call: &mut Call, encoding: PartitionEncoding, nvals_at: Option<usize>, nrows_at: Option<usize>) -> ExprResult<OperandKind> {
    let numbers = if encoding == PartitionEncoding::UniformRowLength { call.scalar_integer(0)? } else { call.integers(0)? };
    check_vector(&numbers, encoding)?;
    let mut integer = |i: Option<usize>| i.filter(|i| call.given(*i).is_some()).map(|i| call.integer(i)).transpose();
    let (nvals, nrows) = (integer(nvals_at)?, integer(nrows_at)?);
    if encoding == PartitionEncoding::UniformRowLength && nvals.is_none() && nrows.is_none() {
        return Err(call.error(format!("{} needs nvals= or nrows=", call.name)));
    }
    let whole = Arg { ty: Type::tensor(DType::Int64, vec![Dim::UNIFORM]), ..numbers.clone() };
    let mut ty = composed(&whole, &numbers, encoding, call)?;
    let known = |n: &Option<Integer>| n.as_ref().and_then(Integer::known).and_then(|n| u64::try_from(n).ok());
    let length = if encoding == PartitionEncoding::UniformRowLength {
        static_int(call.operand(0)?).and_then(|n| u64::try_from(n).ok())
    } else {
        None
    };
    if let Some(n) = known(&nrows).or_else(|| known(&nvals)?.checked_div(length?)) {
        ty.dims[0] = Dim::known(n);
    }
    if encoding == PartitionEncoding::UniformRowLength {
        ty.dims[1] = length.map_or(Dim::UNIFORM, Dim::known);
    }
    let bound = call.one(ty, move |args| {
        let nvals = nvals.as_ref().map(|n| n.of(args)).transpose()?;
        let (mut all, mut values) = (0usize, Vec::new());
        let (rows, inner) = rows_of(args, args.nrows, &numbers, nrows.as_ref(), encoding, |record, own, nrows| {
            let n = nvals.as_ref().map(|n| n.at(record)).or_else(|| encoding.nvals(own, nrows));
            let n = n
                .and_then(|n| usize::try_from(n).ok())
                .ok_or_else(|| Error::data("the numbers are not a valid partition").at_row(record))?;
            all = check_count(all.checked_add(n), record)?;
            values.extend(0..n as i64);
            Ok(n)
        })?;
        let values: ArrayRef = Arc::new(Int64Array::from(values));
        Tensor::list(rows, Tensor::list(inner, Tensor::Leaf(values), None)?, None)
    })?;
    match bound {
        OperandKind::Tensor(node) => Ok(OperandKind::Partition(node)),
        other => Ok(other),
    }
}

fn cut(values: &Tensor, args: &Args, numbers: &Arg, nrows: Option<&Integer>, encoding: PartitionEncoding) -> Result<Tensor> {
    let list = values.as_list()?;
    let (outer, below) = (list.partition(), list.values());
    let (rows, inner) = rows_of(args, outer.nrows(), numbers, nrows, encoding, |record, _, _| Ok(outer.row_length(record)))?;
    Tensor::list(rows, Tensor::list(inner, below.clone(), None)?, None)
}

/// The rows of every record and the values of every row. `nvals` returns the number of values of a record, given its
/// encoding and nrows.
fn rows_of(
    args: &Args,
    nrecords: usize,
    numbers: &Arg,
    nrows: Option<&Integer>,
    encoding: PartitionEncoding,
    mut nvals: impl FnMut(usize, &[i64], Option<i64>) -> Result<usize>,
) -> Result<(RowPartition, RowPartition)> {
    let numbers = numbers.of(args)?;
    let (owners, numbers) = match &*numbers {
        Tensor::List(n) => (n.partition().clone(), n.values().as_leaf()?.clone()),
        other => (RowPartition::uniform(1, other.nrows())?, other.as_leaf()?.clone()),
    };
    let numbers = i64s(&numbers)?;
    let nrows = nrows.map(|n| n.of(args)).transpose()?;
    debug_assert_eq!(owners.nrows(), nrecords);
    RowPartition::decode_records(encoding, &owners, numbers, |record, own| {
        let nrows = nrows.as_ref().map(|n| n.at(record));
        Ok(Extent::of_values(nvals(record, own, nrows)?).with_nrows(nrows))
    })
}

/// Adds several partitions above axis 0, outermost first.
pub fn nested(call: &mut Call, encoding: PartitionEncoding) -> ExprResult<OperandKind> {
    let mut values = call.nested(0)?;
    let first = values.clone();
    let partitions: Vec<Operand> = call.list(1)?;
    let nrows: Option<Vec<Operand>> =
        if encoding == PartitionEncoding::ValueRowids && call.given(2).is_some() { Some(call.list(2)?) } else { None };
    if nrows.as_ref().is_some_and(|n| n.len() != partitions.len()) {
        return Err(call.error(format!("{} partitions need as many nrows", partitions.len())));
    }
    let mut steps = Vec::new();
    for (i, item) in partitions.iter().enumerate().rev() {
        let numbers = call.integers_of(item)?;
        check_vector(&numbers, encoding)?;
        let rows = match &nrows {
            Some(all) => Some(call.integer_of(&all[i])?),
            None => None,
        };
        values.ty = composed(&values, &numbers, encoding, call)?;
        if let Some(n) = rows.as_ref().and_then(Integer::known).and_then(|n| u64::try_from(n).ok()) {
            values.ty.dims[0] = Dim::known(n);
        }
        steps.push((numbers, rows));
    }
    call.one(values.ty, move |args| {
        steps
            .iter()
            .try_fold(first.of(args)?.into_owned(), |tensor, (numbers, nrows)| cut(&tensor, args, numbers, nrows.as_ref(), encoding))
    })
}
