//! Sparse tensors from components, from dense tensors, and with a diagonal of ones.
//!
//! Semantics: `tf.SparseTensor`, `tf.sparse.from_dense`, `tf.sparse.eye`.

use super::shared::{dense, dim_of, is_vector, said};
use crate::error::{Error, Result, mismatch};
use crate::expr::call::{Call, Function, Integer};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::cast::{bools, cast, dtype_of, native};
use crate::expr::kernels::entries::dense_parts;
use crate::expr::kernels::level::from_lengths;
use crate::expr::kernels::number::{Number, numbers};
use crate::expr::kernels::text::Texts;
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::gather::take;
use crate::tensor::limits::check_count;
use crate::tensor::{Sparse, Tensor};
use arrow_array::{ArrayRef, Int64Array};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["SparseTensor", "sparse.SparseTensor", "SparseTensorValue"],
        "indices, values, dense_shape|shape",
        "A sparse tensor from indices (one row for each value), values and dense shape.",
        [("SparseTensor(indices=[[0, 1], [2, 0]], values=[5, 7], dense_shape=[3, 2])", "{[0, 1]: 5, [2, 0]: 7} of [3, 2]")],
        construct
    ),
    function!(
        ["sparse.from_dense"],
        "tensor|x",
        "Convert a dense tensor to a sparse one, omitting zeros, empty strings and False.",
        [("sparse.from_dense([[0, 3], [0, 0]])", "{[0, 1]: 3} of [2, 2]")],
        from_dense
    ),
    function!(
        ["sparse.eye"],
        "num_rows, num_columns=None, dtype=\"float32\"",
        "A sparse matrix with ones on the diagonal.",
        [("sparse.eye(2, 3, dtype=int32)", "{[0, 0]: 1, [1, 1]: 1} of [2, 3]")],
        eye
    ),
];

fn construct(call: &mut Call) -> ExprResult<OperandKind> {
    let shape = call.all_integers(2)?;
    let place = call.operand(2)?.span.clone();
    if !is_vector(call.operand(2)?) {
        return Err(ExprError::at(place, format!("{}: dense_shape must be a vector, such as [3, 4]", call.name)));
    }
    if shape.is_empty() {
        return Err(ExprError::at(place, format!("{}: dense_shape is empty; a sparse tensor has at least one axis", call.name)));
    }
    let rank = shape.len();
    if let Some(n) = shape.iter().filter_map(Integer::known).find(|n| *n < 0) {
        return Err(ExprError::at(place, format!("{}: the size {n} in dense_shape is negative", call.name)));
    }
    let indices = call.integers(0)?;
    // `[]` means no indices, of any rank.
    let none = indices.rank() == 1 && matches!(indices.ty.dims[0].size, Size::Known(0));
    let fits = indices.rank() == 2 && !matches!(indices.ty.dims[1].size, Size::Known(n) if n != rank as u64);
    if !none && !fits {
        return Err(ExprError::at(
            indices.span.clone(),
            format!(
                "{}: indices must have shape [?, {rank}], with a number for each size in dense_shape; this is {}",
                call.name,
                said(&indices)
            ),
        ));
    }
    let indices = dense(call, indices)?;
    let values = call.tensor(1)?;
    if values.rank() != 1 {
        return Err(ExprError::at(values.span.clone(), format!("{}: values must be a vector, not {}", call.name, said(&values))));
    }
    let ty = Type::sparse(values.dtype()?.clone(), shape.iter().map(Integer::dim).collect());
    call.one(ty, move |args| {
        let (tensor, list) = (indices.of(args)?, values.of(args)?);
        let list = list.as_list()?;
        let entries = tensor.as_list()?.partition().clone();
        if !none
            && let Some((record, n)) = dense_parts(&tensor, &indices.ty.dims)?
                .2
                .chunks_exact(2)
                .enumerate()
                .find_map(|(record, s)| (s[0] > 0 && s[1] != rank as i64).then_some((record, s[1])))
        {
            return Err(Error::data(format!("an index has {n} numbers, but dense_shape has {rank} sizes")).at_row(record));
        }
        if entries != *list.partition() {
            let row = entries.first_difference(list.partition()).unwrap_or(0);
            let (n, m) = (entries.row_length(row), list.partition().row_length(row));
            return Err(Error::data(mismatch("one index for each value", format_args!("{n} for {m}"))).at_row(row));
        }
        let (_, below) = tensor.levels(indices.rank())?;
        let flat = native::<arrow_array::types::Int64Type>(below.as_leaf()?)?.to_vec();
        let shapes = super::shared::rows_of(&shape, args)?;
        Ok(Tensor::Sparse(Sparse::try_new(rank, entries, flat.into(), list.values().as_leaf()?.clone(), shapes.into(), None)?))
    })
}

fn from_dense(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    let x = dense(call, x)?;
    let rank = x.rank();
    if rank == 0 {
        return Err(ExprError::at(x.span.clone(), format!("{}: a scalar cannot be converted to a sparse tensor", call.name)));
    }
    let ty = Type::sparse(x.dtype()?.clone(), x.ty.dims.iter().map(super::shared::plain).collect());
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let (values, starts, mut shapes) = dense_parts(&tensor, &x.ty.dims)?;
        shapes.iter_mut().for_each(|size| *size = (*size).max(0));
        let places = nonzero(values)?;
        let (mut lengths, mut indices) = (Vec::with_capacity(args.nrows), Vec::with_capacity(places.len() * rank));
        let mut rest = places.as_slice();
        for record in 0..args.nrows {
            let own = rest.partition_point(|place| *place < starts[record + 1]);
            let shape = &shapes[record * rank..(record + 1) * rank];
            // Positions increase, so indices before the last axis change only when its row ends.
            let size = shape[rank - 1].max(1) as usize;
            let (mut row, mut end) = (0, size);
            let mut prefix = vec![0i64; rank - 1];
            for place in &rest[..own] {
                let place = place - starts[record];
                if place >= end {
                    row = place / size;
                    end = (row + 1) * size;
                    let mut left = row;
                    for (i, size) in prefix.iter_mut().zip(shape).rev() {
                        *i = (left % size.max(&1).unsigned_abs() as usize) as i64;
                        left /= size.max(&1).unsigned_abs() as usize;
                    }
                }
                indices.extend_from_slice(&prefix);
                indices.push((place - row * size) as i64);
            }
            lengths.push(own);
            rest = &rest[own..];
        }
        Ok(Tensor::Sparse(Sparse::try_new(rank, from_lengths(lengths)?, indices.into(), take(values, &places)?, shapes.into(), None)?))
    })
}

/// The positions of values that are not 0, empty or false. NaN counts as nonzero.
fn nonzero(values: &ArrayRef) -> Result<Vec<usize>> {
    if let Ok(texts) = Texts::of(values) {
        return Ok((0..texts.len()).filter(|i| !texts.get(*i).is_empty()).collect());
    }
    let dtype = dtype_of(values)?;
    numbers!(&dtype, T => {
        let values = native::<T>(values)?;
        // Branch-free: the comparison result is added to the count.
        let (mut places, mut n) = (vec![0; values.len()], 0);
        for (i, value) in values.iter().enumerate() {
            places[n] = i;
            n += usize::from(*value != <T as Number>::ZERO);
        }
        places.truncate(n);
        Ok(places)
    }, Ok(bools(values)?.set_indices().collect()))
}

fn eye(call: &mut Call) -> ExprResult<OperandKind> {
    let rows = call.integer(0)?;
    let columns = if call.given(1).is_some() { call.integer(1)? } else { rows.clone() };
    for (i, n) in [(0, &rows), (1, &columns)] {
        if n.known().is_some_and(|n| n < 0) {
            let place = call.given(i).map_or(call.span.clone(), |item| item.span.clone());
            return Err(ExprError::at(place, format!("{}: {} is negative", call.name, call.param(i))));
        }
    }
    let dtype = call.dtype(2)?.unwrap_or(DType::Float32);
    if !dtype.is_number() && dtype != DType::Bool {
        return Err(call.error(format!("{}: ones must be numbers or bools, not {dtype}", call.name)));
    }
    let dims: Vec<Dim> = vec![dim_of(rows.known()), dim_of(columns.known())];
    call.one(Type::sparse(dtype.clone(), dims), move |args| {
        let (m, n) = (rows.of(args)?, columns.of(args)?);
        let (mut lengths, mut shapes, mut all) = (Vec::new(), Vec::new(), 0usize);
        for record in 0..args.nrows {
            let own = m.size(record, "num_rows")?.min(n.size(record, "num_columns")?);
            all = check_count(all.checked_add(own), record)?;
            check_count(all.checked_mul(4), record)?;
            lengths.push(own);
            shapes.extend([m.at(record), n.at(record)]);
        }
        let indices: Vec<i64> = lengths.iter().flat_map(|n| (0..*n as i64).flat_map(|i| [i, i])).collect();
        let ones: ArrayRef = Arc::new(Int64Array::from(vec![1; all]));
        Ok(Tensor::Sparse(Sparse::try_new(2, from_lengths(lengths)?, indices.into(), cast(&ones, &dtype)?, shapes.into(), None)?))
    })
}
