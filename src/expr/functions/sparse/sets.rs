//! Rows as sets or as sequences: set operations, and the edit distance.
//!
//! ```text
//! a  [[1 2] [3]]     b  [[2 5] [4]]     union  [[1 2 5] [3 4]]
//! ```
//!
//! Semantics: `tf.sets`, `tf.edit_distance`.

use super::shared::{check_order, dense, is_sparse, known_of, plain, said, sparse_of};
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::kernels::cast::dtype_of;
use crate::expr::kernels::compare::{Test, comparator, test};
use crate::expr::kernels::entries::{self, DenseRows, dense_parts, row_major, volume};
use crate::expr::kernels::level::from_lengths;
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Dim, Type};
use crate::tensor::concat::concat_leaves;
use crate::tensor::gather::take;
use crate::tensor::limits::check_count;
use crate::tensor::{Sparse, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Float32Array, Int32Array};
use std::cmp::Ordering;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sets.intersection", "sets.set_intersection"],
        "a, b, validate_indices=True",
        "The intersection of each row of a and the same row of b, sorted, as a sparse tensor.",
        [("sets.intersection([[1, 2, 2]], [[2, 3]])", "{[0, 0]: 2} of [1, 1]")],
        |c| operation(c, Operation::Intersection, 2)
    ),
    function!(
        ["sets.union", "sets.set_union"],
        "a, b, validate_indices=True",
        "The union of each row of a and the same row of b, sorted, as a sparse tensor.",
        [("sets.union([[2, 1]], [[2, 3]])", "{[0, 0]: 1, [0, 1]: 2, [0, 2]: 3} of [1, 3]")],
        |c| operation(c, Operation::Union, 2)
    ),
    function!(
        ["sets.difference", "sets.set_difference"],
        "a, b, aminusb=True, validate_indices=True",
        "The values in each row of a that are not in the same row of b, sorted, as a sparse tensor; the reverse with aminusb=False.",
        [("sets.difference([[2, 1]], [[2, 3]])", "{[0, 0]: 1} of [1, 1]")],
        |c| {
            let reverse = !c.flag(2, true)?;
            operation(c, if reverse { Operation::Reverse } else { Operation::Difference }, 3)
        }
    ),
    function!(
        ["sets.size", "sets.set_size"],
        "a, validate_indices=True",
        "The number of distinct values in each row of a sparse tensor (int32).",
        [("sets.size(sparse.from_dense([[2, 2, 0], [1, 0, 3]]))", "[1, 2]")],
        size
    ),
    function!(
        ["edit_distance"],
        "hypothesis, truth, normalize=True",
        "The Levenshtein distance of corresponding rows of two sparse tensors, divided by the length of the row of truth unless normalize=False.",
        [("edit_distance(sparse.from_dense([[\"a\", \"b\"]]), sparse.from_dense([[\"a\", \"c\"]]))", "[0.5]")],
        distance
    ),
];

#[derive(Clone, Copy)]
enum Operation {
    Intersection,
    Union,
    Difference,
    Reverse,
}

impl Operation {
    /// Whether the result has a value.
    fn keeps(self, in_a: bool, in_b: bool) -> bool {
        match self {
            Operation::Intersection => in_a && in_b,
            Operation::Union => true,
            Operation::Difference => in_a && !in_b,
            Operation::Reverse => in_b && !in_a,
        }
    }
}

/// The values of a tensor by row: all axes except the last number the rows of a record.
struct SetRows {
    /// The row of each value and its position among the values, row by row, record by record.
    members: Vec<(usize, usize)>,
    /// The start of each record in `members`, including the end.
    starts: Vec<usize>,
    values: ArrayRef,
}

impl SetRows {
    /// The rows of a sparse tensor, numbered as in these outer shapes, `ndims - 1` sizes per record.
    fn of_sparse(s: &Sparse, shapes: &[i64]) -> Result<SetRows> {
        let outer = s.ndims().saturating_sub(1);
        let axes: Vec<usize> = (0..outer).collect();
        let (mut members, mut starts) = (Vec::with_capacity(s.values().len()), vec![0]);
        for record in 0..s.nrows() {
            let shape = &shapes[record * outer..(record + 1) * outer];
            let weights = row_major(shape, &axes).ok_or_else(|| too_many(record))?;
            let first = members.len();
            members.extend(s.entries().range(record).map(|entry| {
                let row: i64 = s.index_of(entry).iter().zip(&weights).map(|(index, weight)| index * weight).sum();
                (usize::try_from(row).unwrap_or(0), entry)
            }));
            members[first..].sort_by_key(|(row, _)| *row);
            starts.push(members.len());
        }
        Ok(SetRows { members, starts, values: s.values().clone() })
    }

    /// The rows of a set operand, and its outer shapes, in which -1 is an unknown size. `validate`: the entries must be in order.
    fn of(arg: &Arg, validate: bool, args: &Args) -> Result<(SetRows, Vec<i64>)> {
        let tensor = arg.of(args)?;
        let outer = arg.rank() - 1;
        if arg.ty.is_sparse() {
            let s = entries::sparse(&tensor)?;
            if validate {
                check_order(s, "to take them in any order")?;
            }
            let shapes: Vec<i64> = (0..s.nrows()).flat_map(|record| s.shape_of(record)[..outer].iter().copied()).collect();
            return Ok((SetRows::of_sparse(s, &shapes)?, shapes));
        }
        let (values, starts, all) = dense_parts(&tensor, &arg.ty.dims)?;
        let (mut members, mut shapes) = (Vec::with_capacity(values.len()), Vec::with_capacity(args.nrows * outer));
        for record in 0..args.nrows {
            let shape = &all[record * (outer + 1)..(record + 1) * (outer + 1)];
            let width = usize::try_from(shape[outer]).unwrap_or(0).max(1);
            shapes.extend_from_slice(&shape[..outer]);
            members.extend((starts[record]..starts[record + 1]).map(|value| ((value - starts[record]) / width, value)));
        }
        Ok((SetRows { members, starts, values: values.clone() }, shapes))
    }

    /// The values of the next row of a record, if it is `row`; moves `at` past them.
    fn take(&self, record: usize, row: usize, at: &mut usize) -> &[(usize, usize)] {
        let own = &self.members[*at..self.starts[record + 1]];
        let n = own.iter().take_while(|(other, _)| *other == row).count();
        *at += n;
        &own[..n]
    }

    /// The number of the next row of a record.
    fn next(&self, record: usize, at: usize) -> Option<usize> {
        (at < self.starts[record + 1]).then(|| self.members[at].0)
    }
}

fn too_many(record: usize) -> Error {
    Error::data("there are too many rows to count").at_row(record)
}

/// The rows that either of two tensors has values in, each with its values in both.
fn each_row(a: &SetRows, b: &SetRows, record: usize, mut visit: impl FnMut(usize, &[(usize, usize)], &[(usize, usize)])) {
    let (mut i, mut j) = (a.starts[record], b.starts[record]);
    while let Some(row) = a.next(record, i).into_iter().chain(b.next(record, j)).min() {
        let own = a.take(record, row, &mut i);
        visit(row, own, b.take(record, row, &mut j));
    }
}

/// Argument `i` of a set operation: a sparse or dense tensor of integers or text.
fn operand(call: &mut Call, i: usize) -> ExprResult<Arg> {
    let item = call.operand(i)?.clone();
    let arg = if is_sparse(&item) {
        sparse_of(call, &item)?
    } else {
        let arg = call.tensor(i)?;
        dense(call, arg)?
    };
    call.check_dtype(&arg, "integers and strings", |d| d.is_integer() || matches!(d, DType::String | DType::Bytes))?;
    if arg.rank() < 2 {
        return Err(ExprError::at(arg.span.clone(), format!("{} expects a tensor of rank 2 or higher, found {}", call.name, said(&arg))));
    }
    Ok(arg)
}

/// `validate` is the place of the argument validate_indices.
fn operation(call: &mut Call, op: Operation, validate: usize) -> ExprResult<OperandKind> {
    let validate = call.flag(validate, true)?;
    // Literals take the dtype of the other operand.
    let (a, b) = match (call.operand(0)?.node().is_some(), call.operand(1)?.node().map(|node| node.ty.dtype().cloned())) {
        (false, Some(Some(dtype))) => (typed(call, 0, &dtype)?, operand(call, 1)?),
        _ => {
            let a = operand(call, 0)?;
            let dtype = a.dtype()?.clone();
            let b = if call.operand(1)?.is_literal() { typed(call, 1, &dtype)? } else { operand(call, 1)? };
            (a, b)
        }
    };
    if a.rank() != b.rank() || a.dtype()? != b.dtype()? {
        let (a, b) = (said(&a), said(&b));
        return Err(call.error(format!("{} expects tensors of the same rank and dtype, found {a} and {b}", call.name)));
    }
    let outer = a.rank() - 1;
    let mut dims = known_of(&a.ty.dims[..outer], &b.ty.dims[..outer]);
    dims.push(Dim::UNIFORM);
    call.one(Type::sparse(a.dtype()?.clone(), dims), move |args| {
        let ((x, x_shapes), (y, y_shapes)) = (SetRows::of(&a, validate, args)?, SetRows::of(&b, validate, args)?);
        let own = x.values.len();
        let both = concat_leaves(&[&x.values, &y.values])?;
        let order = comparator(&both)?;
        let (mut indices, mut places, mut lengths, mut shapes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut row_values: Vec<usize> = Vec::new();
        for record in 0..args.nrows {
            let range = record * outer..(record + 1) * outer;
            let (m, n) = (&x_shapes[range.clone()], &y_shapes[range]);
            if m.iter().zip(n).any(|(m, n)| m != n && *m >= 0 && *n >= 0) {
                return Err(Error::data(format!("the rows have the shapes {m:?} and {n:?}")).at_row(record));
            }
            let shape: Vec<i64> = m.iter().zip(n).map(|(m, n)| *m.max(n).max(&0)).collect();
            let (before, mut most) = (places.len(), 0);
            each_row(&x, &y, record, |row, a, b| {
                row_values.clear();
                row_values.extend(a.iter().map(|(_, value)| *value).chain(b.iter().map(|(_, value)| own + value)));
                row_values.sort_unstable_by(|i, j| order(*i, *j));
                let mut count = 0i64;
                for same in row_values.chunk_by(|i, j| order(*i, *j) == Ordering::Equal) {
                    if op.keeps(same.iter().any(|i| *i < own), same.iter().any(|i| *i >= own)) {
                        push_index(row, &shape, &mut indices);
                        indices.push(count);
                        places.push(same[0]);
                        count += 1;
                    }
                }
                most = most.max(count);
            });
            lengths.push(places.len() - before);
            shapes.extend(shape);
            shapes.push(most);
        }
        let values = take(&both, &places)?;
        Ok(Tensor::Sparse(Sparse::try_new(outer + 1, from_lengths(lengths)?, indices.into(), values, shapes.into(), None)?))
    })
}

/// A literal argument with the dtype of the other operand.
fn typed(call: &mut Call, i: usize, dtype: &DType) -> ExprResult<Arg> {
    let arg = call.tensor_of(i, dtype)?;
    if arg.rank() < 2 {
        return Err(ExprError::at(arg.span.clone(), format!("{} expects a tensor of rank 2 or higher, found {}", call.name, said(&arg))));
    }
    dense(call, arg)
}

/// Appends the indices of row number `row` in a shape.
fn push_index(row: usize, shape: &[i64], out: &mut Vec<i64>) {
    let at = out.len();
    let mut rest = row as i64;
    for size in shape.iter().rev() {
        let size = (*size).max(1);
        out.push(rest % size);
        rest /= size;
    }
    out[at..].reverse();
}

fn size(call: &mut Call) -> ExprResult<OperandKind> {
    let (a, validate) = (operand(call, 0)?, call.flag(1, true)?);
    if !a.ty.is_sparse() {
        return Err(ExprError::at(a.span.clone(), format!("{} expects a sparse tensor, found {}", call.name, said(&a))));
    }
    let dims: Vec<Dim> = a.ty.dims[..a.rank() - 1].iter().map(plain).collect();
    call.one(Type::tensor(DType::Int32, dims.clone()), move |args| {
        let (rows, shapes) = SetRows::of(&a, validate, args)?;
        let order = comparator(&rows.values)?;
        let out = DenseRows::new(&dims, &shapes, args.nrows)?;
        let mut counts = vec![0i32; out.nvals()];
        let mut own = Vec::new();
        for record in 0..args.nrows {
            let mut at = rows.starts[record];
            while let Some(row) = rows.next(record, at) {
                own.clear();
                own.extend(rows.take(record, row, &mut at).iter().map(|(_, value)| *value));
                own.sort_unstable_by(|i, j| order(*i, *j));
                counts[out.starts[record] + row] = own.chunk_by(|i, j| order(*i, *j) == Ordering::Equal).count() as i32;
            }
        }
        out.wrap(Arc::new(Int32Array::from(counts)))
    })
}

fn distance(call: &mut Call) -> ExprResult<OperandKind> {
    let args = [call.operand(0)?.clone(), call.operand(1)?.clone()].map(|item| sparse_of(call, &item));
    let [a, b] = args;
    let (a, b) = (a?, b?);
    if a.rank() != b.rank() || a.rank() < 2 || a.dtype()? != b.dtype()? {
        let (a, b) = (said(&a), said(&b));
        return Err(
            call.error(format!("edit_distance expects two sparse tensors of the same dtype and rank, at least 2, found {a} and {b}"))
        );
    }
    let normalize = call.flag(2, true)?;
    let outer = a.rank() - 1;
    let larger = |(a, b): (&Dim, &Dim)| match (super::shared::size_of(a), super::shared::size_of(b)) {
        (Some(m), Some(n)) => super::shared::dim_of(Some(m.max(n))),
        _ => Dim::UNIFORM,
    };
    let dims: Vec<Dim> = a.ty.dims[..outer].iter().zip(&b.ty.dims[..outer]).map(larger).collect();
    call.one(Type::tensor(DType::Float32, dims.clone()), move |args| {
        let (hypothesis, truth) = (a.of(args)?, b.of(args)?);
        let (x, y) = (entries::sparse(&hypothesis)?, entries::sparse(&truth)?);
        let mut shapes = Vec::with_capacity(args.nrows * outer);
        for record in 0..args.nrows {
            let sizes = x.shape_of(record)[..outer].iter().zip(&y.shape_of(record)[..outer]);
            shapes.extend(sizes.map(|(m, n)| *m.max(n)));
            check_count(volume(&shapes[record * outer..]), record)?;
        }
        let (x, y) = (SetRows::of_sparse(x, &shapes)?, SetRows::of_sparse(y, &shapes)?);
        let own = x.values.len();
        let both = concat_leaves(&[&x.values, &y.values])?;
        let order = comparator(&both)?;
        // NaN equals nothing, not even itself.
        let nan = if dtype_of(&both)?.is_float() { Some(test(Test::Nan, &both)?) } else { None };
        let nan = nan.as_ref().map(AsArray::as_boolean);
        let same = |i: usize, j: usize| order(i, j) == Ordering::Equal && !nan.is_some_and(|nan| nan.value(i));
        let out = DenseRows::new(&dims, &shapes, args.nrows)?;
        let mut distances = vec![0f32; out.nvals()];
        let mut costs = Vec::new();
        for record in 0..args.nrows {
            each_row(&x, &y, record, |row, a, b| {
                let n = levenshtein(a.len(), b.len(), &mut costs, |i, j| same(a[i].1, own + b[j].1));
                distances[out.starts[record] + row] = match (normalize, b.len()) {
                    (false, _) => n as f32,
                    (true, 0) => f32::INFINITY,
                    (true, length) => n as f32 / length as f32,
                };
            });
        }
        out.wrap(Arc::new(Float32Array::from(distances)))
    })
}

/// The least number of insertions, deletions and substitutions. `costs` is room for one row of the table.
fn levenshtein(m: usize, n: usize, costs: &mut Vec<usize>, same: impl Fn(usize, usize) -> bool) -> usize {
    costs.clear();
    costs.extend(0..=n);
    for i in 0..m {
        // The cost of the pair before both.
        let mut diagonal = costs[0];
        costs[0] = i + 1;
        for j in 0..n {
            let substituted = diagonal + usize::from(!same(i, j));
            diagonal = costs[j + 1];
            costs[j + 1] = substituted.min(diagonal + 1).min(costs[j] + 1);
        }
    }
    costs[n]
}
