//! Conversion of sparse tensors to dense tensors.
//!
//! Semantics: `tf.sparse.to_dense`, `tf.sparse.to_indicator`, `tf.compat.v1.sparse_to_dense`.

use super::shared::{check_order, dense, is_vector, one_per_axis, plain, rows_of, said, sparse};
use crate::error::{Error, Result, mismatch};
use crate::expr::call::{Arg, Call, Function, Integer, index_node, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::kernels::cast::{dtype_of, i64s, native};
use crate::expr::kernels::entries::{self, DenseRows, row_major, visit_places};
use crate::expr::kernels::number::numbers;
use crate::expr::operand::{Operand, OperandKind};
use crate::printable::counted_axes;
use crate::schema::{DType, Dim, Literal, Size, Type};
use crate::tensor::concat::concat_leaves;
use crate::tensor::gather::take;
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sparse.to_dense", "sparse_tensor_to_dense"],
        "sp_input, default_value=None, validate_indices=True",
        "Convert to a dense tensor, with default_value (0, empty or False) elsewhere. Entries must be in row-major order \
         (see sparse.reorder).",
        [("sparse.to_dense(SparseTensor([[0, 1], [1, 0]], [5, 7], [2, 2]), default_value=-1)", "[[-1, 5], [7, -1]]")],
        to_dense
    ),
    function!(
        ["sparse.to_indicator", "sparse_to_indicator"],
        "sp_input, vocab_size",
        "Convert rows of integers to rows of vocab_size bools.",
        [("sparse.to_indicator(sparse.from_dense([[3, 1]]), 4)", "[[false, true, false, true]]")],
        to_indicator
    ),
    function!(
        ["sparse_to_dense"],
        "sparse_indices, output_shape, sparse_values, default_value=0, validate_indices=True",
        "A dense tensor from indices and values; a single value is used for all indices.",
        [("sparse_to_dense([1, 3], [5], 9)", "[0, 9, 0, 9, 0]")],
        sparse_to_dense
    ),
];

fn to_dense(call: &mut Call) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    let dtype = x.dtype()?.clone();
    let default = default_value(call, 1, &dtype, true)?;
    let validate = call.flag(2, true)?;
    let dims: Vec<Dim> = x.ty.dims.iter().map(plain).collect();
    call.one(Type::tensor(dtype, dims), move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        filled(s, &x.ty.dims, &default, validate, args)
    })
}

/// Argument `i` as a single value of that dtype; 0, an empty string or false if it was not given.
fn default_value(call: &mut Call, i: usize, dtype: &DType, of_any: bool) -> ExprResult<Arg> {
    if call.given(i).is_none() {
        if !of_any && !dtype.is_number() {
            return Err(call.error(format!("{}: the default_value 0 is not a {dtype}", call.name)).help(if *dtype == DType::Bool {
                "default_value=False"
            } else {
                "default_value=\"\""
            }));
        }
        let (ty, tensor) = crate::expr::literal::plain(&crate::expr::literal::zero(dtype)?, Some(dtype))?;
        return Ok(call.push(crate::expr::operand::constant(tensor, ty, call.span.clone())));
    }
    let default = call.tensor_of(i, dtype)?;
    if default.rank() > 0 {
        return Err(ExprError::at(
            default.span.clone(),
            format!("{}: default_value must be a single value, not {}", call.name, said(&default)),
        ));
    }
    Ok(default)
}

/// The values of the entries at their positions, with the record's default elsewhere. The last of several values at one
/// position wins.
///
/// # Errors
/// See [`check_order`], if `validate` is set; also a shape that takes too much memory.
fn filled(s: &Sparse, dims: &[Dim], default: &Arg, validate: bool, args: &Args) -> Result<Tensor> {
    let rows = DenseRows::new(dims, s.dense_shape(), s.nrows())?;
    let axes: Vec<usize> = (0..s.ndims()).collect();
    let weights = |record: usize| row_major(s.shape_of(record), &axes).ok_or_else(|| Error::internal("places beyond 63 bits"));
    let starts = |record: usize| rows.starts[record];
    let default = args.value(default.index)?;
    let (one, default) = (default.constant, default.tensor.as_leaf()?);
    let dtype = dtype_of(s.values())?;
    // Positions of sorted, distinct entries increase across all records.
    let (mut next, mut unordered) = (0, false);
    let values = numbers!(&dtype, T => {
        let (values, default) = (native::<T>(s.values())?, native::<T>(default)?);
        let mut out = if one {
            vec![default.first().copied().unwrap_or_default(); rows.nvals()]
        } else {
            let mut out = Vec::with_capacity(rows.nvals());
            (0..s.nrows()).for_each(|record| out.resize(rows.starts[record + 1], default[record]));
            out
        };
        visit_places(s, &starts, &weights, |entry, place| {
            unordered |= place < next;
            next = place + 1;
            out[place] = values[entry];
        })?;
        Arc::new(PrimitiveArray::<T>::new(out.into(), None)) as ArrayRef
    }, {
        // The values, followed by the defaults.
        let nvals = s.values().len();
        let mut places = Vec::with_capacity(rows.nvals());
        (0..s.nrows()).for_each(|record| places.resize(rows.starts[record + 1], nvals + if one { 0 } else { record }));
        visit_places(s, &starts, &weights, |entry, place| {
            unordered |= place < next;
            next = place + 1;
            places[place] = entry;
        })?;
        take(&concat_leaves(&[s.values(), default])?, &places)?
    });
    if validate && unordered {
        check_order(s, "to use the last value at each index")?;
    }
    rows.wrap(values)
}

fn to_indicator(call: &mut Call) -> ExprResult<OperandKind> {
    let item = call.operand(0)?.clone();
    let x = sparse(call, 0)?;
    call.check_dtype(&x, "numbers and bools", |d| d.is_number() || *d == DType::Bool)?;
    if x.rank() == 0 {
        return Err(ExprError::at(x.span.clone(), format!("{}: a tensor without axes has no rows", call.name)));
    }
    let ids = index_node(strict_node(&item)?, call.text())?;
    let x = call.push(ids);
    let vocabulary = call.integer(1)?;
    if vocabulary.known().is_some_and(|n| n < 0) {
        return Err(ExprError::at(call.operand(1)?.span.clone(), format!("{}: vocab_size is negative", call.name)));
    }
    let rank = x.rank();
    let mut dims: Vec<Dim> = x.ty.dims[..rank - 1].iter().map(plain).collect();
    dims.push(vocabulary.dim());
    call.one(Type::tensor(DType::Bool, dims.clone()), move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        let sizes = vocabulary.of(args)?;
        let mut shapes = s.dense_shape().to_vec();
        for record in 0..s.nrows() {
            shapes[record * rank + rank - 1] = sizes.size(record, "vocab_size")? as i64;
        }
        let rows = DenseRows::new(&dims, &shapes, s.nrows())?;
        let ids = i64s(s.values())?;
        for record in 0..s.nrows() {
            if let Some(id) = ids[s.entries().range(record)].iter().find(|id| **id < 0 || **id >= sizes.at(record)) {
                return Err(Error::data(format!("the value {id} is out of range [0, {})", sizes.at(record))).at_row(record));
            }
        }
        let outer: Vec<usize> = (0..rank).collect();
        let weights = |record: usize| {
            let mut weights =
                row_major(&shapes[record * rank..(record + 1) * rank], &outer).ok_or_else(|| Error::internal("places beyond 63 bits"))?;
            weights[rank - 1] = 0;
            Ok(weights)
        };
        let mut out = vec![false; rows.nvals()];
        visit_places(s, &|record| rows.starts[record], &weights, |entry, place| out[place + ids[entry] as usize] = true)?;
        rows.wrap(Arc::new(BooleanArray::from(out)))
    })
}

fn sparse_to_dense(call: &mut Call) -> ExprResult<OperandKind> {
    let place = call.operand(1)?.span.clone();
    if !is_vector(call.operand(1)?) {
        return Err(ExprError::at(place, format!("{}: output_shape must be a vector, such as [3, 4]", call.name)));
    }
    let rank = call.all_integers(1)?.len();
    let shape = one_per_axis(call, 1, rank)?;
    if let Some(n) = shape.iter().filter_map(Integer::known).find(|n| *n < 0) {
        return Err(ExprError::at(place, format!("{}: the size {n} in output_shape is negative", call.name)));
    }
    let indices = call.integers(0)?;
    let indices = dense(call, indices)?;
    let columns = match indices.rank() {
        0 | 1 => Some(1),
        2 => match indices.ty.dims[1].size {
            Size::Known(n) => usize::try_from(n).ok(),
            _ => None,
        },
        n => {
            return Err(ExprError::at(
                indices.span.clone(),
                format!("{}: sparse_indices must be a number, a vector or a matrix; this has {}", call.name, counted_axes(n)),
            ));
        }
    };
    if let Some(columns) = columns.filter(|n| *n != rank) {
        return Err(ExprError::at(place, format!("{}: output_shape has {rank} sizes for indices of length {columns}", call.name)));
    }
    let values = values_of(call)?;
    if values.rank() > 1 {
        return Err(ExprError::at(
            values.span.clone(),
            format!("{}: sparse_values must be a vector or a single value, not {}", call.name, said(&values)),
        ));
    }
    let dtype = values.dtype()?.clone();
    let default = default_value(call, 3, &dtype, false)?;
    let validate = call.flag(4, true)?;
    let dims: Vec<Dim> = shape.iter().map(Integer::dim).collect();
    call.one(Type::tensor(dtype, dims.clone()), move |args| {
        let (tensor, values) = (indices.of(args)?, values.of(args)?);
        let (_, below) = tensor.levels(indices.rank())?;
        let entries = match indices.rank() {
            0 => RowPartition::uniform(1, args.nrows)?,
            _ => tensor.as_list()?.partition().clone(),
        };
        let flat = i64s(below.as_leaf()?)?;
        if flat.len() != entries.nvals() * rank {
            return Err(Error::data(format!("found {} numbers in the indices of {} entries of rank {rank}", flat.len(), entries.nvals())));
        }
        let values = match &*values {
            Tensor::List(list) => {
                if let Some(row) = entries.first_difference(list.partition()) {
                    let (n, m) = (list.partition().row_length(row), entries.row_length(row));
                    return Err(Error::data(mismatch("one value for each index", format_args!("{n} for {m}"))).at_row(row));
                }
                list.values().as_leaf()?.clone()
            }
            // A single value for all indices of a record.
            one => {
                let records: Vec<usize> = entries.value_rowids().into_iter().map(|r| r as usize).collect();
                take(one.as_leaf()?, &records)?
            }
        };
        let shapes = rows_of(&shape, args)?;
        let s = Sparse::try_new(rank, entries, flat.to_vec().into(), values, shapes.into(), None)?;
        filled(&s, &dims, &default, validate, args)
    })
}

/// The argument sparse_values. Literals take the dtype of default_value if it is a tensor.
fn values_of(call: &mut Call) -> ExprResult<Arg> {
    let item: Operand = call.operand(2)?.clone();
    let of_default = call.given(3).and_then(|d| d.node()).and_then(|n| n.ty.dtype().cloned());
    match (&item.kind, of_default) {
        (OperandKind::Literal(Literal::Int(_)) | OperandKind::List(_), Some(dtype)) if item.is_literal() && dtype.is_number() => {
            call.tensor_of(2, &dtype)
        }
        _ => call.tensor(2),
    }
}
