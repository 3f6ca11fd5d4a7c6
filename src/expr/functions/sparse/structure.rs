//! Changing the shape, order and selection of entries.
//!
//! Semantics: `tf.sparse.reorder`, `reset_shape`, `retain`, `reshape`, `transpose`,
//! `expand_dims`, `fill_empty_rows`.

use super::shared::{dim_of, is_vector, one_per_axis, plain, rows_of, size_of, sparse, with_dims};
use crate::error::Error;
use crate::expr::call::{Call, Function, Integer, cast_node, positive_axis, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::cast::bools;
use crate::expr::kernels::entries::{self, chosen, order, rebuilt, taken_indices};
use crate::expr::kernels::level::from_lengths;
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Dim, Type};
use crate::tensor::concat::concat_leaves;
use crate::tensor::gather::take;
use crate::tensor::limits::check_count;
use crate::tensor::transpose::is_permutation;
use crate::tensor::{Sparse, Tensor};
use arrow_array::BooleanArray;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sparse.reorder", "sparse_reorder"],
        "sp_input",
        "Sort the entries into row-major order.",
        [("sparse.reorder(SparseTensor([[1, 0], [0, 2]], [5, 7], [2, 3]))", "{[0, 2]: 7, [1, 0]: 5} of [2, 3]")],
        reorder
    ),
    function!(
        ["sparse.reset_shape", "sparse_reset_shape"],
        "sp_input, new_shape=None",
        "Replace the dense shape with one at least as large or, by default, with the smallest that holds the entries.",
        [("dense_shape(sparse.reset_shape(SparseTensor([[1, 0]], [5], [4, 9])))", "[2, 1]")],
        reset_shape
    ),
    function!(
        ["sparse.retain", "sparse_retain"],
        "sp_input, to_retain",
        "Keep the entries for which to_retain is true.",
        [("values(sparse.retain(sparse.from_dense([5, 0, 7]), [False, True]))", "[7]")],
        retain
    ),
    function!(
        ["sparse.reshape", "sparse_reshape"],
        "sp_input, shape",
        "Reshape a sparse tensor; one size may be -1, to be inferred.",
        [("indices(sparse.reshape(SparseTensor([[1, 2]], [5], [2, 3]), [-1]))", "[[5]]")],
        reshape
    ),
    function!(
        ["sparse.transpose", "sparse_transpose"],
        "sp_input, perm=None",
        "Permute the axes of a sparse tensor.",
        [("indices(sparse.transpose(SparseTensor([[0, 2], [1, 0]], [5, 7], [2, 3])))", "[[0, 1], [2, 0]]")],
        transpose
    ),
    function!(
        ["sparse.expand_dims"],
        "sp_input, axis=None",
        "Insert an axis of size 1, by default the last one.",
        [("indices(sparse.expand_dims(sparse.from_dense([0, 5]), 0))", "[[0, 1]]")],
        expand_dims
    ),
    function!(
        ["sparse.fill_empty_rows", "sparse_fill_empty_rows"],
        "sp_input, default_value -> sp_ordered_output, empty_row_indicator",
        "Insert an entry with default_value into every empty row; also returns which rows were empty.",
        [
            ("values(sparse.fill_empty_rows(sparse.from_dense([[5, 0], [0, 0]]), -1)[0])", "[5, -1]"),
            ("sparse.fill_empty_rows(sparse.from_dense([[5, 0], [0, 0]]), -1)[1]", "[false, true]")
        ],
        fill_empty_rows
    ),
];

fn reorder(call: &mut Call) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    call.one(x.ty.clone(), move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        let axes: Vec<usize> = (0..s.ndims()).collect();
        match order(s, &axes) {
            None => Ok(tensor.into_owned()),
            Some(places) => Ok(Tensor::Sparse(chosen(s, &places, s.entries().clone())?)),
        }
    })
}

fn reset_shape(call: &mut Call) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    let rank = x.rank();
    if call.given(1).is_none() {
        return call.one(with_dims(&x.ty, vec![Dim::UNIFORM; rank]), move |args| {
            let tensor = x.of(args)?;
            let s = entries::sparse(&tensor)?;
            let mut shapes = vec![0i64; s.nrows() * rank];
            for (record, shape) in shapes.chunks_exact_mut(rank.max(1)).enumerate() {
                for entry in s.entries().range(record) {
                    shape.iter_mut().zip(s.index_of(entry)).for_each(|(size, i)| *size = (*size).max(i + 1));
                }
            }
            rebuilt(s, rank, s.indices().clone(), shapes)
        });
    }
    let shape = one_per_axis(call, 1, rank)?;
    let place = call.operand(1)?.span.clone();
    for (axis, (new, old)) in shape.iter().zip(&x.ty.dims).enumerate() {
        if let (Some(new), Some(old)) = (new.known(), size_of(old))
            && new < old
        {
            return Err(ExprError::at(
                place,
                format!("{}: new_shape has {new} items on axis {axis}, fewer than the {old} of the tensor", call.name),
            )
            .help("without new_shape, the result has the smallest shape that contains the entries; sparse.slice truncates"));
        }
    }
    let dims = shape.iter().map(Integer::dim).collect();
    call.one(with_dims(&x.ty, dims), move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        let shapes = rows_of(&shape, args)?;
        for (at, (new, old)) in shapes.iter().zip(s.dense_shape()).enumerate() {
            if new < old {
                let error = format!("new_shape has {new} items on axis {}, fewer than the {old} of the tensor", at % rank);
                return Err(Error::data(error).at_row(at / rank));
            }
        }
        rebuilt(s, rank, s.indices().clone(), shapes)
    })
}

fn retain(call: &mut Call) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    let item = call.operand(1)?.clone();
    let mask = cast_node(strict_node(&item)?, &DType::Bool, call.text())?;
    let mask = call.push(mask);
    call.plain(&mask)?;
    if mask.rank() != 1 {
        return Err(ExprError::at(
            mask.span.clone(),
            format!("{}: to_retain must be a vector of bools, not {}", call.name, super::shared::said(&mask)),
        ));
    }
    call.one(x.ty.clone(), move |args| {
        let (tensor, mask) = (x.of(args)?, mask.of(args)?);
        let (s, list) = (entries::sparse(&tensor)?, mask.as_list()?);
        if s.entries() != list.partition() {
            let row = s.entries().first_difference(list.partition()).unwrap_or(0);
            let (n, m) = (list.partition().row_length(row), s.entries().row_length(row));
            return Err(Error::data(format!("to_retain has {n} values for {m} entries")).at_row(row));
        }
        let bits = bools(list.values().as_leaf()?)?;
        let places: Vec<usize> = bits.set_indices().collect();
        let mut rest = places.as_slice();
        let lengths: Vec<usize> = (0..s.nrows())
            .map(|row| {
                let own = rest.partition_point(|place| *place < s.entries().start(row + 1));
                rest = &rest[own..];
                own
            })
            .collect();
        Ok(Tensor::Sparse(chosen(s, &places, from_lengths(lengths)?)?))
    })
}

fn reshape(call: &mut Call) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    let place = call.operand(1)?.span.clone();
    if !is_vector(call.operand(1)?) {
        return Err(ExprError::at(place, format!("{}: the shape must be a vector, such as [3, -1]", call.name)));
    }
    let shape = call.all_integers(1)?;
    let known: Option<Vec<i64>> = shape.iter().map(Integer::known).collect();
    let sizes: Option<Vec<i64>> = x.ty.dims.iter().map(size_of).collect();
    let dims: Vec<Dim> = match (&known, &sizes) {
        (Some(known), Some(sizes)) => {
            let new = new_shape(sizes, known).map_err(|e| ExprError::at(place, format!("{}: {e}", call.name)))?;
            new.into_iter().map(|n| dim_of(Some(n))).collect()
        }
        (known, _) => {
            if let Some(known) = known {
                check_open(known).map_err(|e| ExprError::at(place, format!("{}: {e}", call.name)))?;
            }
            shape.iter().map(|n| if n.known() == Some(-1) { Dim::UNIFORM } else { n.dim() }).collect()
        }
    };
    let rank = shape.len();
    call.one(with_dims(&x.ty, dims), move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        let wanted = rows_of(&shape, args)?;
        let mut shapes = Vec::with_capacity(wanted.len());
        let mut indices = Vec::with_capacity(s.entries().nvals() * rank);
        for record in 0..s.nrows() {
            let old = s.shape_of(record);
            let new = new_shape(old, &wanted[record * rank..(record + 1) * rank]).map_err(|e| Error::data(e).at_row(record))?;
            for entry in s.entries().range(record) {
                // The product of the sizes fits, so every position does too.
                let mut place = s.index_of(entry).iter().zip(old).fold(0u64, |place, (i, n)| place * *n as u64 + *i as u64);
                let at = indices.len();
                indices.resize(at + rank, 0i64);
                for axis in (0..rank).rev() {
                    let size = new[axis].max(1) as u64;
                    indices[at + axis] = (place % size) as i64;
                    place /= size;
                }
            }
            shapes.extend(new);
        }
        rebuilt(s, rank, indices, shapes)
    })
}

/// The product of the sizes, if it fits in 63 bits.
fn product<'a>(mut sizes: impl Iterator<Item = &'a i64>) -> Option<i64> {
    sizes.try_fold(1i64, |all, n| all.checked_mul(*n))
}

/// The shape with -1 replaced.
fn new_shape(old: &[i64], wanted: &[i64]) -> std::result::Result<Vec<i64>, String> {
    let too_large = || format!("the shape {old:?} has more than 2^63 values");
    let total = product(old.iter()).ok_or_else(too_large)?;
    check_open(wanted)?;
    let known = product(wanted.iter().filter(|n| **n != -1)).ok_or_else(too_large)?;
    let open = wanted.iter().filter(|n| **n == -1).count();
    match open {
        0 if known == total => Ok(wanted.to_vec()),
        0 => Err(format!("{total} values of shape {old:?} do not fit the shape {wanted:?}")),
        _ if known == 0 => Err(format!("the size -1 cannot be inferred in the shape {wanted:?}, which has no values")),
        _ if total % known == 0 => Ok(wanted.iter().map(|n| if *n == -1 { total / known } else { *n }).collect()),
        _ => Err(format!("{total} values of shape {old:?} cannot be reshaped to {wanted:?}")),
    }
}

/// Checks that a shape has nonnegative sizes and at most one -1.
fn check_open(wanted: &[i64]) -> std::result::Result<(), String> {
    if let Some(n) = wanted.iter().find(|n| **n < -1) {
        return Err(format!("the size {n} is negative; only -1, the remaining size, is allowed"));
    }
    match wanted.iter().filter(|n| **n == -1).count() {
        0 | 1 => Ok(()),
        n => Err(format!("at most one size can be -1; there are {n} in {wanted:?}")),
    }
}

fn transpose(call: &mut Call) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    let rank = x.rank();
    let perm: Vec<usize> = match call.ints(1)? {
        None => (0..rank).rev().collect(),
        Some(perm) => {
            let found: Option<Vec<usize>> = perm.iter().map(|a| usize::try_from(*a).ok()).collect();
            found.filter(|perm| perm.len() == rank && is_permutation(perm)).ok_or_else(|| {
                let place = call.given(1).map_or(call.span.clone(), |item| item.span.clone());
                ExprError::at(
                    place,
                    format!("{}: perm is {perm:?}; it must contain each axis from 0 to {} once", call.name, rank.saturating_sub(1)),
                )
            })?
        }
    };
    let dims = perm.iter().map(|axis| plain(&x.ty.dims[*axis])).collect();
    call.one(with_dims(&x.ty, dims), move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        let permuted = |numbers: &[i64]| permuted(numbers, &perm);
        let shapes = permuted(s.dense_shape());
        match order(s, &perm) {
            None => rebuilt(s, rank, permuted(s.indices()), shapes),
            Some(places) => {
                let indices = permuted(&taken_indices(s.indices(), rank, &places));
                let values = take(s.values(), &places)?;
                Ok(Tensor::Sparse(Sparse::try_new(rank, s.entries().clone(), indices.into(), values, shapes.into(), None)?))
            }
        }
    })
}

/// Permutes the components of indices or shapes.
fn permuted(numbers: &[i64], perm: &[usize]) -> Vec<i64> {
    fn of_rank<const N: usize>(numbers: &[i64], perm: &[usize]) -> Vec<i64> {
        let mut from = [0usize; N];
        from.copy_from_slice(perm);
        let turned = |index: &[i64; N]| from.map(|axis| index[axis]);
        numbers.as_chunks::<N>().0.iter().map(turned).collect::<Vec<_>>().into_flattened()
    }
    match perm.len() {
        2 => of_rank::<2>(numbers, perm),
        3 => of_rank::<3>(numbers, perm),
        rank => numbers.chunks_exact(rank.max(1)).flat_map(|index| perm.iter().map(|axis| index[*axis])).collect(),
    }
}

fn expand_dims(call: &mut Call) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    let rank = x.rank();
    let axis = call.optional_int(1)?.unwrap_or(-1);
    let axis = positive_axis(axis, rank + 1).ok_or_else(|| {
        let place = call.given(1).map_or(call.span.clone(), |item| item.span.clone());
        ExprError::at(
            place,
            format!("{}: axis {axis} is out of range: the new axis must be from 0 to {rank}, or from -1 to -{}", call.name, rank + 1),
        )
    })?;
    let mut dims: Vec<Dim> = x.ty.dims.iter().map(plain).collect();
    dims.insert(axis, Dim::known(1));
    call.one(with_dims(&x.ty, dims), move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        let with = |numbers: &[i64], n: usize, new: i64| -> Vec<i64> {
            let mut out = Vec::with_capacity(numbers.len() + n);
            for i in 0..n {
                let own = &numbers[i * rank..(i + 1) * rank];
                out.extend_from_slice(&own[..axis]);
                out.push(new);
                out.extend_from_slice(&own[axis..]);
            }
            out
        };
        let indices = with(s.indices(), s.entries().nvals(), 0);
        rebuilt(s, rank + 1, indices, with(s.dense_shape(), s.nrows(), 1))
    })
}

fn fill_empty_rows(call: &mut Call) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    let rank = x.rank();
    let default = call.tensor_of(1, &x.dtype()?.clone())?;
    if default.rank() != 0 {
        return Err(ExprError::at(
            default.span.clone(),
            format!("{}: default_value must be a single value, not {}", call.name, super::shared::said(&default)),
        ));
    }
    let Some(rows) = x.ty.dims.first().map(plain) else {
        return Err(ExprError::at(x.span.clone(), format!("{}: a tensor without axes has no rows", call.name)));
    };
    let types = vec![x.ty.clone(), Type::tensor(DType::Bool, vec![rows])];
    call.several(types, move |args| {
        let (tensor, default) = (x.of(args)?, default.of(args)?);
        let s = entries::sparse(&tensor)?;
        let nvals = s.entries().nvals();
        let sorted = order(s, &[0]);
        let (mut places, mut indices) = (Vec::with_capacity(nvals), Vec::with_capacity(nvals * rank));
        let (mut lengths, mut row_counts, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        for record in 0..s.nrows() {
            let own = s.entries().range(record);
            let nrows = usize::try_from(s.shape_of(record)[0]).unwrap_or(usize::MAX);
            let most = nrows.checked_add(own.len()).and_then(|n| n.checked_add(places.len())).and_then(|n| n.checked_mul(rank));
            check_count(most, record)?;
            let (before, mut at) = (places.len(), own.start);
            for row in 0..nrows as i64 {
                let first = at;
                match &sorted {
                    // Sorted rows are copied whole.
                    None => {
                        while at < own.end && s.indices()[at * rank] == row {
                            at += 1;
                        }
                        places.extend(first..at);
                        indices.extend_from_slice(&s.indices()[first * rank..at * rank]);
                    }
                    Some(sorted) => {
                        while at < own.end && s.index_of(sorted[at])[0] == row {
                            places.push(sorted[at]);
                            indices.extend_from_slice(s.index_of(sorted[at]));
                            at += 1;
                        }
                    }
                }
                empty.push(at == first);
                if at == first {
                    places.push(nvals + record);
                    indices.push(row);
                    indices.resize(indices.len() + rank - 1, 0);
                }
            }
            lengths.push(places.len() - before);
            row_counts.push(nrows);
        }
        let values = take(&concat_leaves(&[s.values(), default.as_leaf()?])?, &places)?;
        let filled = Sparse::try_new(rank, from_lengths(lengths)?, indices.into(), values, s.dense_shape().clone(), None)?;
        let rows = crate::expr::kernels::level::partition_of(&x.ty.dims[0], row_counts)?;
        let indicator = Tensor::list(rows, Tensor::Leaf(Arc::new(BooleanArray::from(empty))), None)?;
        Ok(vec![Tensor::Sparse(filled), indicator])
    })
}
