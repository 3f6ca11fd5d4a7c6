//! Ragged to dense and sparse, and back.
//!
//! Semantics: `tf.RaggedTensor.to_tensor`, `from_tensor`, `to_sparse`, `from_sparse`.

use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, Integer};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::kernels::broadcast;
use crate::expr::kernels::cast::i64s;
use crate::expr::kernels::fill::Filled;
use crate::expr::kernels::level::{bounding_known, bounding_rows};
use crate::expr::kernels::level::{from_lengths, merged, partition_of, wrap};
use crate::expr::kernels::slice::{self, Slice};
use crate::expr::literal::zero;
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::types::{self, last_ragged};
use crate::printable::{counted, counted_axes};
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::limits::check_count;
use crate::tensor::{Sparse, Tensor};

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["to_tensor", "ragged.to_tensor", "RaggedTensor.to_tensor"],
        "x|rt_input, default_value=None, name, shape=None",
        "Convert to a dense tensor. Short rows are padded; with a shape, longer rows are truncated.",
        [
            ("to_tensor([[3, 1], [], [2]])", "[[3, 1], [0, 0], [2, 0]]"),
            ("to_tensor([[3, 1], [2]], default_value=-1, shape=[None, 3])", "[[3, 1, -1], [2, -1, -1]]")
        ],
        to_tensor
    ),
    function!(
        ["RaggedTensor.from_tensor"],
        "tensor|x, lengths=None, padding=None, ragged_rank=1, name, row_splits_dtype=int64",
        "Convert a dense tensor to a ragged one, with rows of the given lengths or with trailing padding removed.",
        [
            ("RaggedTensor.from_tensor([[3, 1], [2, 0]], padding=0)", "[[3, 1], [2]]"),
            ("RaggedTensor.from_tensor([[3, 1], [2, 0]], lengths=[1, 0])", "[[3], []]")
        ],
        from_tensor
    ),
    function!(
        ["to_sparse", "RaggedTensor.to_sparse"],
        "x|rt_input",
        "Convert to a sparse tensor of the bounding shape.",
        [("to_sparse([[3, 1], [2]])", "{[0, 0]: 3, [0, 1]: 1, [1, 0]: 2} of [2, 2]")],
        to_sparse
    ),
    function!(
        ["RaggedTensor.from_sparse"],
        "st_input|x, name, row_splits_dtype=int64",
        "Convert a sparse matrix whose rows have no gaps to a ragged tensor.",
        [("RaggedTensor.from_sparse(to_sparse([[3, 1], [], [2]]))", "[[3, 1], [], [2]]")],
        from_sparse
    ),
];

fn to_tensor(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.kept(0)?;
    let dtype = x.dtype()?.clone();
    let rank = x.rank();
    let shape = match call.integer_list(2)? {
        None => vec![None; rank],
        Some(shape) if shape.len() == rank => shape,
        Some(shape) => {
            let place = call.operand(2)?.span.clone();
            return Err(ExprError::at(
                place,
                format!("the shape has {}, but the tensor has {}", counted(shape.len() as u64, "size"), counted_axes(rank)),
            ));
        }
    };
    if let Some(negative) = shape.iter().flatten().filter_map(Integer::known).find(|n| *n < 0) {
        return Err(ExprError::at(call.operand(2)?.span.clone(), format!("the size {negative} is negative"))
            .help("None means the size of the longest row"));
    }
    let last = last_ragged(&x.ty.dims).unwrap_or_else(|| rank.saturating_sub(1));
    let default = if call.given(1).is_some() { call.tensor_of(1, &dtype)? } else { zero_of(call, &dtype)? };
    let inner = &x.ty.dims[(last + 1).min(rank)..];
    let fits = |(d, i): (&Dim, &Dim)| match (d.size, i.size) {
        (Size::Known(a), Size::Known(b)) => a == b || a == 1,
        _ => true,
    };
    let offset = inner.len().checked_sub(default.rank());
    if offset.is_none_or(|offset| !default.ty.dims.iter().zip(&inner[offset..]).all(fits)) {
        return Err(ExprError::at(
            default.span.clone(),
            format!(
                "the default has shape {}, which does not broadcast to values of shape {}",
                types::shape(&default.ty.dims),
                types::shape(inner)
            ),
        ));
    }
    let mut dims = Vec::with_capacity(rank);
    for (axis, (dim, wanted)) in x.ty.dims.iter().zip(&shape).enumerate() {
        dims.push(match (wanted, dim.size) {
            (Some(Integer::Known(n)), Size::Known(k)) if axis > last && k != *n as u64 => {
                return Err(ExprError::at(
                    call.operand(2)?.span.clone(),
                    format!("all rows of axis {axis} have {k} items; the shape says {n}"),
                ));
            }
            (Some(Integer::Of(arg)), Size::Known(_)) if axis > last => {
                return Err(ExprError::at(arg.span.clone(), format!("axis {axis} has a fixed size, which the shape cannot change")));
            }
            (Some(n), _) => n.dim(),
            (None, Size::Known(k)) => Dim::known(k),
            (None, _) => Dim::UNIFORM,
        });
    }
    // Beside a default for whole items, these are copied whole; otherwise the inner axes are padded like the ragged axes.
    let levels = if default.rank() > 0 { last + 1 } else { rank };
    call.one(Type::tensor(dtype, dims.clone()), move |args| {
        let tensor = x.of(args)?;
        let longest = bounding_known(&tensor, &x.ty.dims)?;
        let sizes: Vec<Vec<usize>> = shape
            .iter()
            .zip(&longest)
            .map(|(wanted, longest)| match wanted {
                Some(n) => {
                    let sizes = n.of(args)?;
                    let size = |record| match sizes.at(record) {
                        -1 => Ok(longest[record]),
                        _ => sizes.size(record, "the size"),
                    };
                    (0..args.nrows).map(size).collect()
                }
                None => Ok(longest.clone()),
            })
            .collect::<Result<_>>()?;
        for axis in levels..rank {
            if let Some(record) = (0..args.nrows).find(|r| longest[axis][*r] > 0 && longest[axis][*r] != sizes[axis][*r]) {
                let (found, size) = (longest[axis][record], sizes[axis][record]);
                return Err(Error::data(format!("all rows of axis {axis} have {found} items; the shape says {size}")).at_row(record));
            }
        }
        let default = spread(&default, args, &dims[levels..], &sizes[levels..])?;
        pad(&tensor, levels, &sizes, &dims, &default)
    })
}

/// The zero of a dtype, as an argument.
pub fn zero_of(call: &mut Call, dtype: &DType) -> ExprResult<Arg> {
    let (ty, tensor) = crate::expr::literal::plain(&zero(dtype)?, Some(dtype))?;
    Ok(call.push(crate::expr::operand::constant(tensor, ty, call.span.clone())))
}

/// The default value, with one row per record, broadcast to the sizes of the inner axes, `[axis][record]`. Where there are no items,
/// it has its own.
fn spread(default: &Arg, args: &Args, inner: &[Dim], sizes: &[Vec<usize>]) -> Result<Tensor> {
    let tensor = default.of(args)?.into_owned();
    let is_known = |(a, b): (&Dim, &Dim)| a.size == b.size && matches!(a.size, Size::Known(_));
    if inner.is_empty() || default.rank() == inner.len() && default.ty.dims.iter().zip(inner).all(is_known) {
        return Ok(tensor);
    }
    let own = bounding_known(&tensor, &default.ty.dims)?;
    let missing = inner.len() - default.rank();
    broadcast::to_shape(&tensor, &default.ty.dims, inner, args.nrows, |axis, record| {
        let own = axis.checked_sub(missing).map_or(1, |axis| own[axis][record]);
        Ok(if sizes[axis][record] == 0 && inner[axis].size == Size::Uniform { own } else { sizes[axis][record] })
    })
}

/// Pads and truncates the first `levels` axes to `sizes[axis][record]`. `default` has one row per record.
fn pad(tensor: &Tensor, levels: usize, sizes: &[Vec<usize>], dims: &[Dim], default: &Tensor) -> Result<Tensor> {
    const NOTHING: usize = usize::MAX;
    let nrecords = tensor.nrows();
    let (partitions, below) = tensor.levels(levels)?;
    let Some((last, outer)) = partitions.split_last() else { return Ok(below.clone()) };
    // The record and the item for each position.
    let mut places: Vec<(usize, usize)> = (0..nrecords).map(|r| (r, r)).collect();
    let mut out = Vec::with_capacity(levels);
    for (axis, partition) in outer.iter().enumerate() {
        let mut next = Vec::with_capacity(places.len());
        let mut lengths = Vec::with_capacity(places.len());
        for (record, item) in &places {
            let size = sizes[axis][*record];
            check_count(next.len().checked_add(size), *record)?;
            let range = if *item == NOTHING { 0..0 } else { partition.range(*item) };
            next.extend((0..size).map(|i| (*record, if i < range.len() { range.start + i } else { NOTHING })));
            lengths.push(size);
        }
        out.push(partition_of(&dims[axis], lengths)?);
        places = next;
    }
    // The innermost rows are copied and padded in bulk.
    let (axis, mut nvals) = (levels - 1, 0usize);
    let mut rows = Filled::new(below, default)?;
    let mut lengths = Vec::with_capacity(places.len());
    for (record, item) in places {
        let size = sizes[axis][record];
        nvals = check_count(nvals.checked_add(size), record)?;
        let range = if item == NOTHING { 0..0 } else { last.range(item) };
        let kept = range.len().min(size);
        rows.copy(range.start, range.start + kept);
        rows.fill(record, size - kept);
        lengths.push(size);
    }
    out.push(partition_of(&dims[axis], lengths)?);
    wrap(out.into_iter(), rows.finish()?)
}

fn from_tensor(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.kept(0)?;
    if let Some(axis) = last_ragged(&x.ty.dims) {
        return Err(ExprError::at(x.span.clone(), format!("from_tensor expects a dense tensor, but axis {axis} is ragged")));
    }
    if x.rank() < 2 {
        return Err(ExprError::at(x.span.clone(), format!("from_tensor expects a tensor of rank 2 or higher, found {}", x.ty)));
    }
    if call.given(1).is_some() && call.given(2).is_some() {
        return Err(call.error("specify lengths or padding, not both"));
    }
    let rank = call.optional_int(3)?.unwrap_or(1);
    let axis = usize::try_from(rank)
        .ok()
        .filter(|r| *r > 0 && *r < x.rank())
        .ok_or_else(|| call.error(format!("ragged_rank {rank} must be from 1 to {}", x.rank() - 1)))?;
    if let Some(item) = call.given(1).cloned() {
        let nested =
            item.elements().filter(|items| items.iter().any(|i| i.elements().is_some() || i.node().is_some_and(|n| n.ty.rank() == 1)));
        let vectors: Vec<Operand> = nested.unwrap_or_else(|| vec![item.clone()]);
        let first = if vectors.len() > 1 { 1 } else { axis };
        if first + vectors.len() > x.rank() {
            return Err(ExprError::at(
                item.span.clone(),
                format!("found {} of lengths for a tensor with {}", counted(vectors.len() as u64, "level"), counted_axes(x.rank())),
            ));
        }
        let lengths = vectors.iter().map(|v| call.integers_of(v)).collect::<ExprResult<Vec<_>>>()?;
        if let Some(bad) = lengths.iter().find(|l| l.rank() != 1) {
            return Err(ExprError::at(bad.span.clone(), format!("lengths must be a vector, not {}", bad.ty)));
        }
        if let (Size::Known(a), Size::Known(b)) = (lengths[0].ty.dims[0].size, x.ty.dims[0].size)
            && first == 1
            && a != b
        {
            return Err(ExprError::at(item.span.clone(), format!("found {a} lengths for {b} rows")));
        }
        let mut ty = x.ty.clone();
        for dim in &mut ty.dims[first..first + lengths.len()] {
            *dim = Dim::RAGGED;
        }
        return call.one(ty, move |args| {
            lengths
                .iter()
                .enumerate()
                .try_fold(x.of(args)?.into_owned(), |tensor, (i, lengths)| cut(&tensor, first + i, &*lengths.of(args)?))
        });
    }
    if call.given(2).is_some() {
        let padding = call.tensor_of(2, &x.dtype()?.clone())?;
        let inner = &x.ty.dims[axis + 1..];
        if padding.rank() != inner.len()
            || padding.ty.dims.iter().zip(inner).any(|(a, b)| matches!((a.size, b.size), (Size::Known(m), Size::Known(n)) if m != n))
        {
            return Err(ExprError::at(
                padding.span.clone(),
                format!(
                    "the padding has shape {}, but a value has shape {}",
                    crate::expr::types::shape(&padding.ty.dims),
                    crate::expr::types::shape(inner)
                ),
            ));
        }
        let mut ty = x.ty.clone();
        ty.dims[axis] = Dim::RAGGED;
        return call.one(ty, move |args| strip(&*x.of(args)?, axis, &*padding.of(args)?));
    }
    call.one(x.ty.clone(), move |args| Ok(x.of(args)?.into_owned()))
}

/// Truncates the rows of axis `axis` to these lengths, clamped to the range from 0 to the row length.
fn cut(tensor: &Tensor, axis: usize, lengths: &Tensor) -> Result<Tensor> {
    let owners = merged(tensor, 0, axis)?;
    let list = lengths.as_list()?;
    if *list.partition() != owners {
        let row = owners.first_difference(list.partition()).unwrap_or(0);
        return Err(
            Error::data(format!("found {} lengths for {} rows", list.partition().row_length(row), owners.row_length(row))).at_row(row)
        );
    }
    let lengths = i64s(list.values().as_leaf()?)?;
    tensor.map_below(axis, &mut |t| {
        let list = t.as_list()?;
        let (partition, values) = slice::rows(list.partition(), list.values(), |row| Slice {
            start: None,
            stop: Some(lengths.get(row).map_or(0, |l| (*l).max(0))),
            step: 1,
        })?;
        Tensor::list(partition, values, None)
    })
}

/// Removes trailing `padding` from the rows of axis `axis`.
fn strip(tensor: &Tensor, axis: usize, padding: &Tensor) -> Result<Tensor> {
    let owners = merged(tensor, 0, axis)?;
    let mut records = Vec::with_capacity(owners.nvals());
    for record in 0..owners.nrows() {
        records.extend(std::iter::repeat_n(record, owners.row_length(record)));
    }
    tensor.map_below(axis, &mut |t| {
        let list = t.as_list()?;
        let (partition, values) = slice::rows(list.partition(), list.values(), |row| {
            if row >= list.partition().nrows() {
                return Slice { start: None, stop: Some(0), step: 1 };
            }
            let range = list.partition().range(row);
            let record = records.get(row).copied().unwrap_or(0);
            let kept = range.clone().rev().take_while(|i| is_padding(list.values(), *i, padding, record)).count();
            Slice { start: None, stop: Some((range.len() - kept) as i64), step: 1 }
        })?;
        Tensor::list(partition, values, None)
    })
}

/// NaN never matches as padding, because it is not equal to itself.
fn is_padding(values: &Tensor, i: usize, padding: &Tensor, record: usize) -> bool {
    if let (Tensor::Leaf(v), Tensor::Leaf(p)) = (values, padding) {
        use crate::expr::kernels::compare::compare;
        use crate::expr::kernels::datum::Datum;
        use crate::expr::syntax::Compare;
        let (a, b) = (v.slice(i, 1), p.slice(record, 1));
        return compare(Compare::Equal, Datum { array: &a, scalar: false }, Datum { array: &b, scalar: false })
            .is_ok_and(|c| arrow_array::cast::AsArray::as_boolean(&c).value(0));
    }
    match (values, padding) {
        (Tensor::List(v), Tensor::List(p)) => {
            let (a, b) = (v.partition().range(i), p.partition().range(record));
            a.len() == b.len() && a.zip(b).all(|(i, j)| is_padding(v.values(), i, p.values(), j))
        }
        _ => false,
    }
}

fn to_sparse(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    let rank = x.rank();
    if rank == 0 {
        return Err(ExprError::at(x.span.clone(), "a scalar cannot be converted to a sparse tensor"));
    }
    let rows = last_ragged(&x.ty.dims).map_or(0, |last| last + 1);
    let exist = |outer: &[Dim]| outer.iter().all(|d| matches!(d.size, Size::Known(1..)));
    let dims = x.ty.dims.iter().enumerate().map(|(axis, dim)| match dim.size {
        // The known size of rows is their bounding size only if there are rows.
        Size::Known(n) if axis >= rows || exist(&x.ty.dims[..axis]) => Dim::known(n),
        _ => Dim::UNIFORM,
    });
    let dims = dims.collect();
    call.one(Type::sparse(x.dtype()?.clone(), dims), move |args| {
        let tensor = x.of(args)?;
        let sizes = bounding_rows(&tensor, &x.ty.dims)?;
        let (partitions, below) = tensor.levels(rank)?;
        // The index of each item, `axis + 1` integers each, level by level.
        let mut indices: Vec<i64> = Vec::new();
        for (axis, partition) in partitions.iter().enumerate() {
            let mut next = Vec::with_capacity(partition.nvals() * (axis + 1));
            for row in 0..partition.nrows() {
                for i in 0..partition.row_length(row) {
                    next.extend_from_slice(&indices[row * axis..(row + 1) * axis]);
                    next.push(i as i64);
                }
            }
            indices = next;
        }
        let shapes: Vec<i64> = (0..args.nrows).flat_map(|r| sizes.iter().map(move |s| s[r] as i64)).collect();
        let entries = merged(&tensor, 0, rank)?;
        Ok(Tensor::Sparse(Sparse::try_new(rank, entries, indices.into(), below.as_leaf()?.clone(), shapes.into(), None)?))
    })
}

fn from_sparse(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.any(0)?;
    if !x.ty.is_sparse() {
        return Err(ExprError::at(
            x.span.clone(),
            format!("from_sparse expects a sparse tensor, found {}", crate::expr::operand::describe(&x.ty)),
        ));
    }
    if x.rank() != 2 {
        return Err(ExprError::at(x.span.clone(), format!("from_sparse expects a sparse matrix; this has {}", counted_axes(x.rank()))));
    }
    let rows = if let Size::Known(n) = x.ty.dims[0].size { Dim::known(n) } else { Dim::UNIFORM };
    call.one(Type::tensor(x.dtype()?.clone(), vec![rows, Dim::RAGGED]), move |args| {
        let tensor = x.of(args)?;
        let Tensor::Sparse(s) = &*tensor else { return Err(Error::internal("a sparse tensor")) };
        let (mut rows, mut lengths) = (Vec::with_capacity(s.nrows()), Vec::new());
        for record in 0..s.nrows() {
            let nrows = check_count(
                s.shape_of(record).first().and_then(|n| usize::try_from(*n).ok()).and_then(|n| n.checked_add(lengths.len())),
                record,
            )? - lengths.len();
            let mut own = vec![0usize; nrows];
            let mut at = 0;
            for entry in s.entries().range(record) {
                let (Some(row), Some(column)) =
                    (s.index_of(entry).first().and_then(|i| usize::try_from(*i).ok()), s.index_of(entry).get(1))
                else {
                    return Err(Error::internal("an index of two numbers"));
                };
                if row < at || own[row] as i64 != *column {
                    return Err(Error::data(format!("the index [{row}, {column}] leaves a gap or is out of order")).at_row(record).help(
                        "rows of a ragged tensor are filled from the left: columns 0, 1, 2 ...; to sort the entries: sparse.reorder(x)",
                    ));
                }
                at = row;
                own[row] += 1;
            }
            rows.push(nrows);
            lengths.extend(own);
        }
        wrap([from_lengths(rows)?, from_lengths(lengths)?].into_iter(), Tensor::Leaf(s.values().clone()))
    })
}
