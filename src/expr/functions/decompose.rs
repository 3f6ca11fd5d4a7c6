//! The components of a tensor: partitions in every encoding, flat values, counts.
//!
//! Semantics: the properties of `tf.RaggedTensor`.

use crate::error::Error;
use crate::expr::call::{Arg, Call, Function, INDEX_DTYPES, map_part};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Node;
use crate::expr::kernels::entries;
use crate::expr::kernels::level::{counts, from_lengths, merged, wrap};
use crate::expr::operand::{OperandKind, constant};
use crate::expr::types::{last_ragged, merged_dim};
use crate::schema::{DType, Dim, Literal, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{ArrayRef, Int64Array};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["values"],
        "x|rt_input|sp_input",
        "The concatenated rows of a ragged tensor, or the values of a sparse tensor or of maps.",
        [("values([[3, 1], [2]])", "[3, 1, 2]")],
        values
    ),
    function!(
        ["flat_values"],
        "x|rt_input",
        "The innermost values, with all ragged axes removed.",
        [("flat_values([[[3], [1, 2]], []])", "[3, 1, 2]")],
        |c| {
            let x = c.kept(0)?;
            merge(c, x, |dims| last_ragged(dims).unwrap_or(0))
        }
    ),
    function!(
        ["with_flat_values"],
        "x|rt_input, new_values|flat_values",
        "Replace the flat_values and keep the row partitions.",
        [("with_flat_values([[3, 1], [2]], [7, 8, 9])", "[[7, 8], [9]]")],
        with_flat_values
    ),
    function!(
        ["with_values"],
        "x|sp_input, new_values",
        "Replace the values of a ragged or sparse tensor and keep its row partition or indices.",
        [("with_values([[3, 1], [2]], [7, 8, 9])", "[[7, 8], [9]]")],
        with_values
    ),
    function!(
        ["row_splits"],
        "x|rt_input",
        "The offsets at which rows start and end: one more offset than there are rows.",
        [("row_splits([[3, 1], [], [2]])", "[0, 2, 2, 3]")],
        |c| { row_numbers(c, |n| n.map(|n| n + 1), |p, rows| std::iter::once(0).chain(rows.map(move |r| p.start(r + 1)))) }
    ),
    function!(
        ["row_starts"],
        "x|rt_input",
        "The offset at which each row starts.",
        [("row_starts([[3, 1], [], [2]])", "[0, 2, 2]")],
        |c| { row_numbers(c, |n| n, |p, rows| rows.map(move |r| p.start(r))) }
    ),
    function!(["row_limits"], "x|rt_input", "The offset at which each row ends.", [("row_limits([[3, 1], [], [2]])", "[2, 2, 3]")], |c| {
        row_numbers(c, |n| n, |p, rows| rows.map(move |r| p.start(r + 1)))
    }),
    function!(
        ["row_lengths"],
        "x|rt_input, axis=1",
        "The length of each row along an axis.",
        [("row_lengths([[3, 1], [], [2]])", "[2, 0, 1]"), ("row_lengths([[[3], [1, 2]], []], axis=2)", "[[1, 2], []]")],
        row_lengths
    ),
    function!(
        ["value_rowids"],
        "x|rt_input",
        "The row index of each value.",
        [("value_rowids([[3, 1], [], [2]])", "[0, 0, 2]")],
        value_rowids
    ),
    function!(["nrows"], "x|rt_input, out_type=None", "The number of rows: the size of axis 0.", [("nrows([[3, 1], [2]])", "2")], |c| {
        let dtype = c.index_dtype(1, DType::Int64, INDEX_DTYPES)?;
        count(c, &dtype)
    }),
    function!(["nvals"], "x|rt_input", "The total number of values in the rows.", [("nvals([[3, 1], [], [2]])", "3")], |c| {
        let x = rows(c)?;
        c.one(Type::tensor(DType::Int64, Vec::new()), move |args| Ok(counts(merged(&*x.of(args)?, 0, 2)?.row_lengths())))
    }),
    function!(["len"], "x", "The size of axis 0, or the number of items in a list.", [("len([3, 1, 2])", "3")], |c| {
        let item = c.operand(0)?;
        let items = match &item.kind {
            OperandKind::Dict(entries, _) => Some(entries.len()),
            _ => item.elements().map(|items| items.len()),
        };
        match items {
            Some(n) => Ok(OperandKind::Literal(Literal::Int(n as i128))),
            None => count(c, &DType::Int64),
        }
    }),
    function!(
        ["uniform_row_length"],
        "x|rt_input",
        "The length of the rows; axis 1 must be uniform.",
        [("uniform_row_length([[3, 1], [2, 4]])", "2")],
        uniform_row_length
    ),
    function!(
        ["ragged_rank"],
        "x|rt_input",
        "The number of row partitions: one for each axis from 1 to the innermost ragged axis.",
        [("ragged_rank(ragged.constant([[3, 1], [2]]))", "1")],
        |c| {
            let x = c.kept(0)?;
            integer(c, last_ragged(&x.ty.dims).unwrap_or(0), &DType::Int64)
        }
    ),
    function!(["rank"], "input|x", "The number of axes.", [("rank([[3, 1], [2]])", "2")], |c| {
        let x = c.any(0)?;
        integer(c, x.rank(), &DType::Int32)
    }),
    function!(["ndim"], "x", "The number of axes.", [("ndim([[3, 1], [2]])", "2")], |c| {
        let x = c.any(0)?;
        integer(c, x.rank(), &DType::Int32)
    }),
    function!(
        ["nested_row_splits"],
        "x|rt_input",
        "The row_splits of all ragged axes, outermost first.",
        [("nested_row_splits([[[3], [1, 2]], []])[1]", "[0, 1, 3]")],
        |c| { nested(c, 1, |p, rows| std::iter::once(0).chain(rows.clone().map(move |r| p.start(r + 1) - p.start(rows.start))).collect()) }
    ),
    function!(
        ["nested_row_lengths"],
        "x|rt_input",
        "The row_lengths of all ragged axes, outermost first.",
        [("nested_row_lengths([[[3], [1, 2]], []])[1]", "[1, 2]")],
        |c| { nested(c, 0, |p, rows| rows.map(|r| p.row_length(r)).collect()) }
    ),
    function!(
        ["nested_value_rowids"],
        "x|rt_input",
        "The value_rowids of all ragged axes, outermost first.",
        [("nested_value_rowids([[[3], [1, 2]], []])[1]", "[0, 1, 1]")],
        |c| { nested(c, 0, |p, rows| rows.clone().flat_map(|r| std::iter::repeat_n(r - rows.start, p.row_length(r))).collect()) }
    ),
    function!(["dtype"], "x", "The dtype of the values.", [("cast([1, 2], cast(3, float64).dtype)", "[1.0, 2.0]")], |c| {
        let x = c.any(0)?;
        Ok(OperandKind::DType(x.dtype()?.clone()))
    }),
    function!(["indices"], "sp_input|x", "The indices of a sparse tensor.", [("indices(sparse.from_dense([0, 5]))", "[[1]]")], |c| {
        let x = sparse(c)?;
        let n = x.ty.rank();
        let ty = Type::tensor(DType::Int64, vec![Dim::UNIFORM, Dim::known(n as u64)]);
        c.one(ty, move |args| {
            let tensor = x.of(args)?;
            let s = entries::sparse(&tensor)?;
            let flat: ArrayRef = Arc::new(Int64Array::new(s.indices().clone(), None));
            let inner = Tensor::list(RowPartition::uniform(n, s.entries().nvals())?, Tensor::Leaf(flat), None)?;
            Tensor::list(s.entries().clone(), inner, None)
        })
    }),
    function!(
        ["dense_shape"],
        "sp_input|x",
        "The dense shape of a sparse tensor.",
        [("dense_shape(sparse.from_dense([0, 5]))", "[2]")],
        |c| {
            let x = sparse(c)?;
            let n = x.ty.rank();
            c.one(Type::tensor(DType::Int64, vec![Dim::known(n as u64)]), move |args| {
                let tensor = x.of(args)?;
                let s = entries::sparse(&tensor)?;
                let flat: ArrayRef = Arc::new(Int64Array::new(s.dense_shape().clone(), None));
                Tensor::list(RowPartition::uniform(n, s.nrows())?, Tensor::Leaf(flat), None)
            })
        }
    ),
];

fn sparse(call: &mut Call) -> ExprResult<Arg> {
    let x = call.any(0)?;
    if x.ty.is_sparse() {
        return Ok(x);
    }
    Err(ExprError::at(x.span.clone(), format!("{} expects a sparse tensor, found {}", call.name, crate::expr::operand::describe(&x.ty))))
}

fn integer(call: &mut Call, n: usize, dtype: &DType) -> ExprResult<OperandKind> {
    let (ty, tensor) = crate::expr::literal::plain(&Literal::Int(n as i128), Some(dtype))?;
    Ok(OperandKind::Tensor(constant(tensor, ty, call.span.clone())))
}

/// Argument 0 as a tensor with rows: at least two axes.
fn rows(call: &mut Call) -> ExprResult<Arg> {
    let x = call.kept(0)?;
    if x.rank() < 2 {
        return Err(ExprError::at(x.span.clone(), format!("{} expects a tensor of rank 2 or higher, found {}", call.name, x.ty)));
    }
    Ok(x)
}

/// Merges axes 0 to `inner` into one.
fn merge(call: &mut Call, x: Arg, inner: fn(&[Dim]) -> usize) -> ExprResult<OperandKind> {
    let inner = inner(&x.ty.dims);
    let mut ty = x.ty.clone();
    if inner > 0 {
        ty.dims.splice(0..=inner, [merged_dim(&x.ty.dims[..=inner], true)]);
    }
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let (_, below) = tensor.levels(inner + 1)?;
        Tensor::list(merged(&tensor, 0, inner + 1)?, below.clone(), None)
    })
}

/// The flat values of a ragged tensor.
///
/// # Errors
/// A constant that has no flat values.
pub fn flat(call: &mut Call, node: Node) -> ExprResult<Node> {
    let x = call.push(node);
    let kind = merge(call, x, |dims| last_ragged(dims).unwrap_or(0))?;
    call.result(kind)
}

/// The values of a sparse tensor, or of a ragged tensor without its outermost partition.
///
/// # Errors
/// The tensor has no rows.
pub fn values_of(call: &mut Call, node: Node) -> ExprResult<Node> {
    let x = call.push(node);
    let kind = values_in(call, x)?;
    call.result(kind)
}

fn values(call: &mut Call) -> ExprResult<OperandKind> {
    if let Some(node) = map_part(call.operand(0)?, 1, false) {
        return Ok(OperandKind::Tensor(node));
    }
    let x = call.any(0)?;
    values_in(call, x)
}

fn values_in(call: &mut Call, x: Arg) -> ExprResult<OperandKind> {
    if !x.ty.is_sparse() {
        call.plain(&x)?;
        if x.rank() < 2 {
            return Err(ExprError::at(x.span.clone(), format!("values expects a tensor of rank 2 or higher, found {}", x.ty)));
        }
        return merge(call, x, |_| 1);
    }
    let ty = Type::tensor(x.dtype()?.clone(), vec![Dim::UNIFORM]);
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        Tensor::list(s.entries().clone(), Tensor::Leaf(s.values().clone()), None)
    })
}

/// Wraps `new`, which has one item per value, in the outer axes of `x`.
///
/// # Errors
/// The tensor is a scalar.
pub fn rewrap(call: &mut Call, x: Arg, new: Arg, levels: usize) -> ExprResult<OperandKind> {
    if new.rank() == 0 {
        return Err(ExprError::at(new.span.clone(), "the new values need an axis; this is a scalar"));
    }
    let mut dims = x.ty.dims[..levels].to_vec();
    dims.extend(new.ty.dims[1..].iter().cloned());
    let ty = Type { dims, ..new.ty.clone() };
    call.one(ty, move |args| {
        let (tensor, new) = (x.of(args)?, new.of(args)?);
        let whole = merged(&tensor, 0, levels)?;
        let list = new.as_list()?;
        if whole != *list.partition() {
            let row = whole.first_difference(list.partition()).unwrap_or(0);
            let (old, found) = (whole.row_length(row), list.partition().row_length(row));
            return Err(Error::data(format!("there are {found} new values, but {old} old ones")).at_row(row));
        }
        let (partitions, _) = tensor.levels(levels)?;
        wrap(partitions.into_iter().cloned(), list.values().clone())
    })
}

fn with_flat_values(call: &mut Call) -> ExprResult<OperandKind> {
    let (x, new) = (call.kept(0)?, call.any(1)?);
    let Some(last) = last_ragged(&x.ty.dims) else {
        return rewrap(call, x.clone(), new, 1.min(x.rank()));
    };
    rewrap(call, x, new, last + 1)
}

fn with_values(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.any(0)?;
    if !x.ty.is_sparse() {
        if x.rank() < 2 {
            return Err(ExprError::at(x.span.clone(), format!("with_values expects a tensor with rows, found {}", x.ty)));
        }
        let new = call.any(1)?;
        return rewrap(call, x, new, 2);
    }
    let new = call.tensor(1)?;
    sparse_with_values(call, x, new)
}

/// The sparse tensor with other values, one for each index.
///
/// # Errors
/// The values are not a vector.
pub fn sparse_with_values(call: &mut Call, x: Arg, new: Arg) -> ExprResult<OperandKind> {
    if new.rank() != 1 {
        return Err(ExprError::at(new.span.clone(), format!("the values of a sparse tensor must be a vector, not {}", new.ty)));
    }
    let ty = Type::sparse(new.dtype()?.clone(), x.ty.dims.clone());
    call.one(ty, move |args| {
        let (tensor, new) = (x.of(args)?, new.of(args)?);
        let s = entries::sparse(&tensor)?;
        let list = new.as_list()?;
        if list.partition() != s.entries() {
            let row = s.entries().first_difference(list.partition()).unwrap_or(0);
            let (old, found) = (s.entries().row_length(row), list.partition().row_length(row));
            return Err(Error::data(format!("found {found} new values for {old} indices")).at_row(row));
        }
        entries::with_values(s, list.values().as_leaf()?.clone())
    })
}

/// Offsets or indices for each record's rows on axis 1, relative to the record's first value.
fn row_numbers<I: Iterator<Item = usize> + 'static>(
    call: &mut Call,
    size: fn(Option<u64>) -> Option<u64>,
    numbers: fn(RowPartition, std::ops::Range<usize>) -> I,
) -> ExprResult<OperandKind> {
    let x = rows(call)?;
    let known = if let Size::Known(n) = x.ty.dims[0].size { size(Some(n)) } else { None };
    let extra = size(Some(0)).unwrap_or(0) as usize;
    let ty = Type::tensor(DType::Int64, vec![known.map_or(Dim::UNIFORM, Dim::known)]);
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let (partitions, _) = tensor.levels(2)?;
        let (outer, inner) = (partitions[0], partitions[1]);
        let mut out = Vec::with_capacity(inner.nrows() + extra * outer.nrows());
        for record in 0..outer.nrows() {
            let (own, _) = inner.slice(outer.range(record));
            let nrows = own.nrows();
            out.extend(numbers(own, 0..nrows));
        }
        Tensor::list(from_lengths(outer.row_lengths().map(|n| n + extra))?, counts(out), None)
    })
}

fn row_lengths(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.kept(0)?;
    let axis = call.optional_int(1)?.unwrap_or(1);
    let axis = call.axis(1, axis, x.rank())?;
    let ty = Type::tensor(DType::Int64, x.ty.dims[..axis].to_vec());
    call.one(ty, move |args| x.of(args)?.map_below(axis, &mut |t| Ok(counts(t.as_list()?.partition().row_lengths()))))
}

fn value_rowids(call: &mut Call) -> ExprResult<OperandKind> {
    let x = rows(call)?;
    let dim = merged_dim(&x.ty.dims[..2], true);
    call.one(Type::tensor(DType::Int64, vec![dim]), move |args| {
        let tensor = x.of(args)?;
        let (partitions, _) = tensor.levels(2)?;
        let (outer, inner) = (partitions[0], partitions[1]);
        let mut out = Vec::with_capacity(inner.nvals());
        for record in 0..outer.nrows() {
            let range = outer.range(record);
            for row in range.clone() {
                out.extend(std::iter::repeat_n(row - range.start, inner.row_length(row)));
            }
        }
        Tensor::list(outer.merge(inner), counts(out), None)
    })
}

fn count(call: &mut Call, dtype: &DType) -> ExprResult<OperandKind> {
    let x = call.rows_of(0)?;
    if x.rank() == 0 || x.ty.is_sparse() {
        let error = ExprError::at(
            x.span.clone(),
            format!("{} expects a tensor with at least one axis, found {}", call.name, crate::expr::operand::describe(&x.ty)),
        );
        return Err(match x.ty.dtype() {
            Some(DType::String) if x.rank() == 0 => error.help("for the number of bytes in a string: strings.length(x)"),
            _ => error,
        });
    }
    let to = dtype.clone();
    call.one(Type::tensor(dtype.clone(), Vec::new()), move |args| {
        let tensor = x.of(args)?;
        let lengths = counts(tensor.as_list()?.partition().row_lengths());
        Ok(Tensor::Leaf(crate::expr::kernels::cast::cast(lengths.as_leaf()?, &to)?))
    })
}

fn uniform_row_length(call: &mut Call) -> ExprResult<OperandKind> {
    let x = rows(call)?;
    match x.ty.dims[1].size {
        Size::Known(n) => integer(call, usize::try_from(n).unwrap_or(usize::MAX), &DType::Int64),
        Size::Ragged => Err(ExprError::at(x.span.clone(), "the rows are ragged: they have no single length")
            .help("for the length of each row: row_lengths(x)")),
        Size::Uniform => call.one(Type::tensor(DType::Int64, Vec::new()), move |args| {
            let tensor = x.of(args)?;
            let (partitions, _) = tensor.levels(2)?;
            Ok(counts((0..partitions[0].nrows()).map(|r| {
                let range = partitions[0].range(r);
                if range.is_empty() { 0 } else { partitions[1].row_length(range.start) }
            })))
        }),
    }
}

/// One vector for each ragged level. It has `extra` more numbers than there are rows (or items, for `value_rowids`).
fn nested(call: &mut Call, extra: usize, numbers: fn(&RowPartition, std::ops::Range<usize>) -> Vec<usize>) -> ExprResult<OperandKind> {
    let x = rows(call)?;
    let Some(last) = last_ragged(&x.ty.dims) else {
        return Err(ExprError::at(x.span.clone(), format!("{} expects a ragged tensor, but no axis is ragged", call.name)));
    };
    let by_items = call.name.ends_with("value_rowids");
    let types = (1..=last)
        .map(|axis| {
            let dim = merged_dim(&x.ty.dims[..axis + usize::from(by_items)], true);
            let dim = match dim.size {
                Size::Known(n) => Dim::known(n + extra as u64),
                _ => dim,
            };
            Type::tensor(DType::Int64, vec![dim])
        })
        .collect();
    call.several(types, move |args| {
        let tensor = x.of(args)?;
        let (partitions, _) = tensor.levels(last + 1)?;
        (1..=last)
            .map(|axis| {
                let owners = merged(&tensor, 0, axis)?;
                let (mut out, mut lengths) = (Vec::new(), Vec::with_capacity(owners.nrows()));
                for record in 0..owners.nrows() {
                    let own = numbers(partitions[axis], owners.range(record));
                    lengths.push(own.len());
                    out.extend(own);
                }
                Tensor::list(from_lengths(lengths)?, counts(out), None)
            })
            .collect()
    })
}
