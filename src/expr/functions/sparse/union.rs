//! Element-wise functions of two sparse tensors of the same shape, and sums of a sparse and a dense tensor.
//!
//! The entries of both are merged in index order; an index that is missing in one of them counts as 0 there.
//!
//! Semantics: `tf.sparse.add`, `maximum`, `minimum`.

use super::arithmetic::meeting;
use super::shared::is_sparse;
use super::shared::{common, dense, known_of, numbers as check_numbers, same_shape, shapes_differ, sparse, with_dims};
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, cast_node, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::kernels::cast::{dtype_of, native};
use crate::expr::kernels::entries::{self, dense_parts, row_major, visit_places};
use crate::expr::kernels::level::from_lengths;
use crate::expr::kernels::number::{Number, numbers};
use crate::expr::operand::{Operand, OperandKind};
use crate::schema::{Element, Type};
use crate::tensor::{Sparse, Tensor};
use arrow_array::{ArrayRef, PrimitiveArray};
use std::cmp::Ordering;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sparse.add", "sparse_add"],
        "a, b, threshold|thresh=0",
        "Add two sparse tensors, dropping sums with a magnitude below threshold, or a sparse and a dense tensor.",
        [
            ("sparse.add(SparseTensor([[0], [2]], [1, 2], [4]), SparseTensor([[2], [3]], [5, 6], [4]))", "{[0]: 1, [2]: 7, [3]: 6} of [4]"),
            ("sparse.add(sparse.from_dense([0, 5]), [1, 1])", "[1, 6]")
        ],
        add
    ),
    function!(
        ["sparse.maximum", "sparse_maximum"],
        "sp_a|a, sp_b|b",
        "Element-wise maximum of two sparse tensors; missing entries count as 0.",
        [("values(sparse.maximum(SparseTensor([[0], [2]], [-1, 2], [4]), SparseTensor([[2]], [5], [4])))", "[0, 5]")],
        |c| of_two(c, Op::Maximum)
    ),
    function!(
        ["sparse.minimum", "sparse_minimum"],
        "sp_a|a, sp_b|b",
        "Element-wise minimum of two sparse tensors; missing entries count as 0.",
        [("values(sparse.minimum(SparseTensor([[0], [2]], [-1, 2], [4]), SparseTensor([[2]], [5], [4])))", "[-1, 2]")],
        |c| of_two(c, Op::Minimum)
    ),
];

#[derive(Clone, Copy, PartialEq)]
enum Op {
    Add,
    Maximum,
    Minimum,
}

fn of_two(call: &mut Call, op: Op) -> ExprResult<OperandKind> {
    let items = [call.operand(0)?.clone(), call.operand(1)?.clone()];
    merge(call, op, &items)
}

fn merge(call: &mut Call, op: Op, items: &[Operand]) -> ExprResult<OperandKind> {
    let args = common(call, items)?;
    let [a, b] = args.as_slice() else {
        return Err(call.internal("two operands"));
    };
    let (a, b) = (a.clone(), b.clone());
    check_numbers(call, &a)?;
    same_shape(call, &a, &b)?;
    let dtype = a.dtype()?.clone();
    let threshold = if op == Op::Add && call.given(2).is_some() { Some(call.tensor_of(2, &dtype)?) } else { None };
    if let Some(other) = threshold.as_ref().filter(|t| t.rank() > 0) {
        return Err(ExprError::at(
            other.span.clone(),
            format!("{}: threshold must be a single number, not {}", call.name, super::shared::said(other)),
        ));
    }
    let ty = with_dims(&a.ty, known_of(&a.ty.dims, &b.ty.dims));
    call.one(ty, move |args| {
        let (x, y) = (a.of(args)?, b.of(args)?);
        let (x, y) = (entries::sparse(&x)?, entries::sparse(&y)?);
        let least = threshold.as_ref().map(|t| t.of(args)).transpose()?;
        let least = least.as_ref().map(|t| t.as_leaf()).transpose()?;
        let dtype = dtype_of(x.values())?;
        numbers!(&dtype, T => merged::<T>(op, x, y, least), Err(Error::internal("a sum of other values")))
    })
}

fn merged<T: Number>(op: Op, x: &Sparse, y: &Sparse, least: Option<&ArrayRef>) -> Result<Tensor> {
    let rank = x.ndims();
    let (p, q) = (native::<T>(x.values())?, native::<T>(y.values())?);
    let least = least.map(native::<T>).transpose()?;
    let n = p.len() + q.len();
    let (mut indices, mut values, mut lengths) = (Vec::with_capacity(n * rank), Vec::with_capacity(n), Vec::with_capacity(x.nrows()));
    let of = |a: T::Native, b: T::Native| match op {
        Op::Add => T::add(a, b),
        Op::Maximum => T::maximum(a, b),
        Op::Minimum => T::minimum(a, b),
    };
    // Adding nothing leaves the value unchanged, even -0.0.
    let alone = |a: T::Native| if op == Op::Add { a } else { of(a, T::ZERO) };
    for record in 0..x.nrows() {
        if x.shape_of(record) != y.shape_of(record) {
            return Err(shapes_differ(x.shape_of(record), y.shape_of(record), record));
        }
        let least = least.map_or(T::ZERO, |l| l[record]);
        let (mut left, mut right) = (x.entries().range(record), y.entries().range(record));
        let before = values.len();
        loop {
            let order = match (left.is_empty(), right.is_empty()) {
                (true, true) => break,
                (false, true) => Ordering::Less,
                (true, false) => Ordering::Greater,
                (false, false) => x.index_of(left.start).cmp(y.index_of(right.start)),
            };
            let (index, value) = match order {
                Ordering::Less => (x.index_of(left.start), alone(p[left.start])),
                Ordering::Greater => (y.index_of(right.start), alone(q[right.start])),
                Ordering::Equal => (x.index_of(left.start), of(p[left.start], q[right.start])),
            };
            // Only sums are compared with the threshold; NaN is below every threshold.
            if op != Op::Add || order != Ordering::Equal || T::absolute(value) >= least {
                indices.extend_from_slice(index);
                values.push(value);
            }
            left.start += usize::from(order != Ordering::Greater);
            right.start += usize::from(order != Ordering::Less);
        }
        lengths.push(values.len() - before);
    }
    let values: ArrayRef = Arc::new(PrimitiveArray::<T>::new(values.into(), None));
    Ok(Tensor::Sparse(Sparse::try_new(rank, from_lengths(lengths)?, indices.into(), values, x.dense_shape().clone(), None)?))
}

fn add(call: &mut Call) -> ExprResult<OperandKind> {
    let items = [call.operand(0)?.clone(), call.operand(1)?.clone()];
    match (is_sparse(&items[0]), is_sparse(&items[1])) {
        (true, true) => merge(call, Op::Add, &items),
        (true, false) => add_dense(call, 0, 1),
        (false, true) => add_dense(call, 1, 0),
        (false, false) => {
            Err(call.error(format!("{} expects sparse tensors; neither of these is one", call.name)).help("to add dense tensors: a + b"))
        }
    }
}

/// The dense sum of the sparse argument `i` and the dense argument `j`.
fn add_dense(call: &mut Call, i: usize, j: usize) -> ExprResult<OperandKind> {
    let (sparse_item, dense_item) = (call.operand(i)?.clone(), call.operand(j)?.clone());
    let x = sparse(call, i)?;
    check_numbers(call, &x)?;
    let own = x.dtype()?.clone();
    // A literal takes the dtype of the sparse tensor.
    let y = if dense_item.is_literal() { call.tensor_of(j, &own)? } else { call.tensor(j)? };
    check_numbers(call, &y)?;
    let wide = meeting(call, &own, y.dtype()?)?;
    let (x, y) = if *y.dtype()? == wide && own == wide {
        (x, y)
    } else {
        let (a, b) =
            (cast_node(strict_node(&sparse_item)?, &wide, call.text())?, cast_node(strict_node(&dense_item)?, &wide, call.text())?);
        (call.push(a), call.push(b))
    };
    let y = dense(call, y)?;
    same_shape(call, &x, &y)?;
    let dims = known_of(&y.ty.dims, &x.ty.dims);
    let ty = Type { element: Element::Value(wide), dims, ..y.ty.clone() };
    call.one(ty, move |args| sum_dense(&x, &y, args))
}

fn sum_dense(x: &Arg, y: &Arg, args: &Args) -> Result<Tensor> {
    let (tensor, other) = (x.of(args)?, y.of(args)?);
    let s = entries::sparse(&tensor)?;
    let rank = y.rank();
    let (values, starts, shapes) = dense_parts(&other, &y.ty.dims)?;
    for record in 0..s.nrows() {
        let own = &shapes[record * rank..(record + 1) * rank];
        if own.iter().zip(s.shape_of(record)).any(|(n, m)| n != m && *n != -1) {
            return Err(shapes_differ(s.shape_of(record), own, record));
        }
    }
    let axes: Vec<usize> = (0..rank).collect();
    let weights = |record: usize| row_major(s.shape_of(record), &axes).ok_or_else(|| Error::internal("places beyond 63 bits"));
    let dtype = dtype_of(values)?;
    let sums = numbers!(&dtype, T => {
        let mut out = native::<T>(values)?.to_vec();
        let own = native::<T>(s.values())?;
        visit_places(s, &|record| starts[record], &weights, |entry, place| out[place] = <T as Number>::add(out[place], own[entry]))?;
        Arc::new(PrimitiveArray::<T>::new(out.into(), None)) as ArrayRef
    }, return Err(Error::internal("a sum of other values")));
    // The shape is that of the sparse tensor; a size known for either operand is known for both.
    let dims = known_of(&y.ty.dims, &x.ty.dims);
    entries::DenseRows::new(&dims, s.dense_shape(), s.nrows())?.wrap(sums)
}
