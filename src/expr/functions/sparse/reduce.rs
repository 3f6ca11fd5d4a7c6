//! Sums and maxima along axes.
//!
//! Only entries take part; a result without entries is 0. A dense result is accumulated in place, in any entry order;
//! for a sparse result, entries are sorted by the remaining axes.
//!
//! Semantics: `tf.sparse.reduce_sum`, `reduce_max`, and their `_sparse` forms.

use super::shared::{numbers as check_numbers, plain, sparse};
use crate::error::{Error, Result};
use crate::expr::call::{Call, Function};
use crate::expr::error::ExprResult;
use crate::expr::kernels::cast::{dtype_of, native};
use crate::expr::kernels::entries::{self, DenseRows, Indices, order, row_major, visit_places};
use crate::expr::kernels::level::from_lengths;
use crate::expr::kernels::number::{Number, numbers};
use crate::expr::operand::OperandKind;
use crate::schema::{Dim, Type};
use crate::tensor::{Sparse, Tensor};
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sparse.reduce_sum", "sparse_reduce_sum"],
        "sp_input, axis|reduction_axes=None, keepdims|keep_dims=None, output_is_sparse=False",
        "Sum of the entries over axes, or 0 where there are none.",
        [
            ("sparse.reduce_sum(sparse.from_dense([[1, 0, 1], [0, 1, 0]]), axis=1)", "[2, 1]"),
            ("sparse.reduce_sum(sparse.from_dense([[1, 0, 1], [0, 0, 0]]), axis=1, output_is_sparse=True)", "{[0]: 2} of [2]")
        ],
        |c| {
            let sparse = c.flag(3, false)?;
            reduce(c, Op::Sum, sparse)
        }
    ),
    function!(
        ["sparse.reduce_max", "sparse_reduce_max"],
        "sp_input, axis|reduction_axes=None, keepdims|keep_dims=None, output_is_sparse=False",
        "Maximum of the entries over axes, or 0 where there are none.",
        [("sparse.reduce_max(sparse.from_dense([[-3, 0], [0, 0]]), axis=1)", "[-3, 0]")],
        |c| {
            let sparse = c.flag(3, false)?;
            reduce(c, Op::Max, sparse)
        }
    ),
    function!(
        ["sparse.reduce_sum_sparse", "sparse_reduce_sum_sparse"],
        "sp_input, axis|reduction_axes=None, keepdims|keep_dims=None",
        "sparse.reduce_sum with output_is_sparse=True.",
        [("values(sparse.reduce_sum_sparse(sparse.from_dense([[1, 0, 1], [0, 0, 0]]), axis=1))", "[2]")],
        |c| reduce(c, Op::Sum, true)
    ),
    function!(
        ["sparse.reduce_max_sparse", "sparse_reduce_max_sparse"],
        "sp_input, axis|reduction_axes=None, keepdims|keep_dims=None",
        "sparse.reduce_max with output_is_sparse=True.",
        [("values(sparse.reduce_max_sparse(sparse.from_dense([[1, 0, 4], [0, 0, 0]]), axis=1))", "[4]")],
        |c| reduce(c, Op::Max, true)
    ),
];

#[derive(Clone, Copy, PartialEq)]
enum Op {
    Sum,
    Max,
}

impl Op {
    /// Combines the result with another entry. A later NaN wins, as in TensorFlow.
    #[inline]
    fn with<T: Number>(self, before: T::Native, value: T::Native) -> T::Native {
        match self {
            Op::Sum => T::add(before, value),
            Op::Max if value < before => before,
            Op::Max => value,
        }
    }
}

fn reduce(call: &mut Call, op: Op, to_sparse: bool) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    check_numbers(call, &x)?;
    let rank = x.rank();
    let reduced: Vec<usize> = match call.ints(1)? {
        None => (0..rank).collect(),
        Some(axes) => axes.into_iter().map(|axis| call.axis(1, axis, rank)).collect::<ExprResult<_>>()?,
    };
    let keepdims = call.flag(2, false)?;
    let kept: Vec<usize> = (0..rank).filter(|axis| !reduced.contains(axis)).collect();
    // The axes of the result: a remaining axis, or one of size 1.
    let axes: Vec<Option<usize>> =
        (0..rank).map(|axis| Some(axis).filter(|axis| kept.contains(axis))).filter(|axis| keepdims || axis.is_some()).collect();
    let dims: Vec<Dim> = axes.iter().map(|axis| axis.map_or(Dim::known(1), |axis| plain(&x.ty.dims[axis]))).collect();
    let dtype = x.dtype()?.clone();
    let ty = if to_sparse { Type::sparse(dtype, dims.clone()) } else { Type::tensor(dtype, dims.clone()) };
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        let shapes: Vec<i64> =
            (0..s.nrows()).flat_map(|record| axes.iter().map(move |axis| axis.map_or(1, |axis| s.shape_of(record)[axis]))).collect();
        let dtype = dtype_of(s.values())?;
        let other = || Error::internal("a reduction of other values");
        if to_sparse {
            let groups = Groups::new(s, &kept);
            let values = numbers!(&dtype, T => groups.values::<T>(op, s)?, return Err(other()));
            let indices: Vec<i64> = groups
                .firsts
                .iter()
                .flat_map(|first| axes.iter().map(move |axis| axis.map_or(0, |axis| s.index_of(*first)[axis])))
                .collect();
            return Ok(Tensor::Sparse(Sparse::try_new(
                axes.len(),
                from_lengths(groups.lengths)?,
                indices.into(),
                values,
                shapes.into(),
                None,
            )?));
        }
        let rows = DenseRows::new(&dims, &shapes, s.nrows())?;
        let values = numbers!(&dtype, T => in_place::<T>(op, s, &kept, &rows)?, return Err(other()));
        rows.wrap(values)
    })
}

fn in_place<T: Number>(op: Op, s: &Sparse, kept: &[usize], rows: &DenseRows) -> Result<ArrayRef> {
    let values = native::<T>(s.values())?;
    let weights = |record: usize| row_major(s.shape_of(record), kept).ok_or_else(|| Error::internal("places beyond 63 bits"));
    let starts = |record: usize| rows.starts[record];
    let mut out = vec![T::ZERO; rows.nvals()];
    match op {
        Op::Sum => visit_places(s, &starts, &weights, |entry, place| out[place] = T::add(out[place], values[entry]))?,
        Op::Max => {
            let mut seen = vec![false; out.len()];
            visit_places(s, &starts, &weights, |entry, place| {
                out[place] = if seen[place] { op.with::<T>(out[place], values[entry]) } else { values[entry] };
                seen[place] = true;
            })?;
        }
    }
    Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)))
}

/// Runs of entries that agree on the remaining axes.
struct Groups {
    /// The permutation that sorts the entries by these axes; `None` if they are sorted.
    sorted: Option<Vec<usize>>,
    /// The end of each run, in that order.
    ends: Vec<usize>,
    /// The first entry of each run.
    firsts: Vec<usize>,
    /// The number of runs in each record.
    lengths: Vec<usize>,
}

impl Groups {
    fn new(s: &Sparse, kept: &[usize]) -> Groups {
        let sorted = order(s, kept);
        let entry = |at: usize| sorted.as_ref().map_or(at, |sorted| sorted[at]);
        let (mut ends, mut firsts, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(s.nrows()));
        let mut keys = Vec::new();
        for record in 0..s.nrows() {
            let (range, before) = (s.entries().range(record), firsts.len());
            let counted = Indices::of(s).places(record, kept, &mut keys).is_some();
            let agree = |a: usize, b: usize| match counted {
                true => keys[a - range.start] == keys[b - range.start],
                false => kept.iter().all(|axis| s.index_of(a)[*axis] == s.index_of(b)[*axis]),
            };
            for at in range.clone() {
                if at == range.start || !agree(entry(at - 1), entry(at)) {
                    if at > range.start {
                        ends.push(at);
                    }
                    firsts.push(entry(at));
                }
            }
            if !range.is_empty() {
                ends.push(range.end);
            }
            lengths.push(firsts.len() - before);
        }
        Groups { sorted, ends, firsts, lengths }
    }

    fn values<T: Number>(&self, op: Op, s: &Sparse) -> Result<ArrayRef> {
        let values = native::<T>(s.values())?;
        let entry = |at: usize| self.sorted.as_ref().map_or(at, |sorted| sorted[at]);
        let mut at = 0;
        let out: Vec<T::Native> = self
            .ends
            .iter()
            .map(|end| {
                let first = values[entry(at)];
                let result = (at + 1..*end).fold(first, |before, at| op.with::<T>(before, values[entry(at)]));
                at = *end;
                result
            })
            .collect();
        Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)))
    }
}
