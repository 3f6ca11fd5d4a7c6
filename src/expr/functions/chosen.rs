//! The values of `where`: one of two, either of which may be null.
//!
//! ```text
//! c               T      F         m            [T F]
//! x               [1 2]  [3]       x            [1 2]
//! where(c, x, None)                where(m, x, None)
//!                 [1 2]  null                   [1 null]
//! ```
//!
//! Semantics: `tf.where` on tf.RaggedTensor, whose tensors have no nulls. A condition without axes chooses whole values.

use super::apply::{pointwise, value_by_value};
use crate::error::Result;
use crate::expr::call::{Arg, Call, alike, as_node, common_moved, is_of_structures, present};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Args, Node, Value};
use crate::expr::kernels::cast::bools;
use crate::expr::kernels::datum::{Datum, RowError};
use crate::expr::kernels::elementwise::choose;
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::types;
use crate::schema::Type;
use crate::tensor::Tensor;
use crate::tensor::nulls::null_at;
use arrow_array::{ArrayRef, new_null_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};

fn chosen(operands: &[Datum]) -> Result<ArrayRef, RowError> {
    choose(operands[0], operands[1], operands[2]).map_err(|e| (0, e))
}

/// Argument 1 where the condition is true, else argument 2.
pub fn one_of_two(call: &mut Call, condition: Arg) -> ExprResult<OperandKind> {
    let items = [call.operand(1)?.clone(), call.operand(2)?.clone()];
    if items.iter().all(is_of_structures) {
        return whole_structures(call, condition, &items);
    }
    let nodes = common_moved(&items, &call.name, call.text())?;
    let nodes = nodes.into_iter().map(|node| call.beside_bytes(node)).collect::<ExprResult<Vec<_>>>()?;
    let sizes = |node: &Node| node.ty.dims.iter().map(|dim| dim.size).collect::<Vec<_>>();
    let is_nullable = |node: &Node| node.ty.optional || node.ty.with_nulls;
    let (optional, nullable) = (nodes.iter().any(|node| node.ty.optional), nodes.iter().any(is_nullable));
    let has_axes = nodes.iter().any(|node| node.ty.rank() > 0);
    let by_record = has_axes && optional && condition.rank() == 0 && sizes(&nodes[0]) == sizes(&nodes[1]);
    // A null list has no shape for the values of the other.
    let usable = |node: Node| if by_record || node.ty.rank() == 0 { node } else { present(node) };
    let args: Vec<Arg> = nodes.into_iter().map(|node| call.push(usable(node))).collect();
    args.iter().try_for_each(|arg| call.plain(arg))?;
    let [x, y] = args.as_slice() else { return Err(call.internal("two operands")) };
    if by_record {
        return whole_rows(call, condition, x.clone(), y.clone());
    }
    if nullable {
        call.makes_nulls();
    }
    let dtype = x.dtype()?.clone();
    pointwise(call, [condition, x.clone(), y.clone()], dtype, |operands| chosen(&operands))
}

/// One of two structures, or lists of structures, for each record.
fn whole_structures(call: &mut Call, condition: Arg, items: &[Operand]) -> ExprResult<OperandKind> {
    if condition.rank() > 0 {
        let message = format!("where chooses between whole structures, with one bool for each record; this is {}", condition.ty);
        return Err(ExprError::at(condition.span.clone(), message));
    }
    let nodes = alike(items, &call.name, call.text())?;
    let args: Vec<Arg> = nodes.into_iter().map(|node| call.push(node)).collect();
    let [x, y] = args.as_slice() else { return Err(call.internal("two operands")) };
    if x.rank() != y.rank() {
        return Err(ExprError::at(y.span.clone(), format!("where: x has rank {}, y has rank {}", x.rank(), y.rank())));
    }
    let dims = types::either(&x.ty.dims, &y.ty.dims, false);
    let (optional, with_nulls) = (x.ty.optional || y.ty.optional, x.ty.with_nulls || y.ty.with_nulls);
    let ty = Type { dims, optional, with_nulls, ..x.ty.clone() };
    let (x, y) = (x.clone(), y.clone());
    call.one(ty, move |args| {
        let (conditions, a, b) = (condition.of(args)?, x.of(args)?, y.of(args)?);
        let bits = bools(conditions.as_leaf()?)?;
        let rows: Vec<usize> = (0..args.nrows).map(|row| if bits.value(row) { row } else { args.nrows + row }).collect();
        Tensor::concat(&[&a, &b])?.gather(&rows)
    })
}

/// One of two tensors with the same axes, of which whole rows may be null, for each record.
fn whole_rows(call: &mut Call, condition: Arg, x: Arg, y: Arg) -> ExprResult<OperandKind> {
    let dims = types::broadcast(&[&x.ty.dims, &y.ty.dims])?;
    let ty = Type { dims, optional: true, with_nulls: x.ty.with_nulls || y.ty.with_nulls, ..x.ty.clone() };
    let (own, at) = (ty.clone(), |arg: &Arg, index: usize| Arg { index, ..arg.clone() });
    let of = [at(&condition, 0), at(&x, 1), at(&y, 2)];
    call.one(ty, move |args| {
        let (conditions, a, b) = (condition.of(args)?, x.of(args)?, y.of(args)?);
        let valid = |tensor: &Tensor| tensor.validity().unwrap_or_else(|| NullBuffer::new_valid(args.nrows));
        let (of_a, of_b) = (valid(&a), valid(&b));
        // A null row takes the shape of the other.
        let both = Tensor::concat(&[&a, &b])?;
        let rows_of = |second: &dyn Fn(usize) -> bool| -> Result<Value> {
            let rows: Vec<usize> = (0..args.nrows).map(|row| if second(row) { args.nrows + row } else { row }).collect();
            both.gather(&rows)?.with_validity(None).map(Value::column)
        };
        let a = rows_of(&|row| of_a.is_null(row) && of_b.is_valid(row))?;
        let b = rows_of(&|row| of_b.is_valid(row))?;
        let bits = bools(conditions.as_leaf()?)?;
        let valid = BooleanBuffer::collect_bool(args.nrows, |row| if bits.value(row) { of_a.is_valid(row) } else { of_b.is_valid(row) });
        let values = vec![Value::column(conditions.as_ref().clone()), a, b];
        let out = value_by_value(&Args::new(args.nrows, values), &of, &chosen)?;
        null_at(&out, &own, &NullBuffer::new(valid))
    })
}

/// Argument `i` where the condition is `when`, else null.
pub fn or_null(call: &mut Call, condition: Arg, i: usize, when: bool) -> ExprResult<OperandKind> {
    let item = call.operand(i)?.clone();
    if condition.rank() == 0 && !item.is_literal() {
        return whole_or_null(call, condition, as_node(&item, None)?, when);
    }
    let nodes = common_moved(std::slice::from_ref(&item), &call.name, call.text())?;
    let Some(node) = nodes.into_iter().next() else { return Err(call.internal("an operand")) };
    if condition.rank() == 0 {
        return whole_or_null(call, condition, node, when);
    }
    let x = call.carry(call.beside_bytes(node)?);
    call.plain(&x)?;
    call.makes_nulls();
    let dtype = x.dtype()?.clone();
    let null = new_null_array(&dtype.arrow(), 1);
    pointwise(call, [condition, x], dtype, move |[condition, x]| {
        let none = Datum { array: &null, scalar: true };
        chosen(&if when { [condition, x, none] } else { [condition, none, x] })
    })
}

fn whole_or_null(call: &mut Call, condition: Arg, node: Node, when: bool) -> ExprResult<OperandKind> {
    if node.ty.is_sparse() {
        let error = ExprError::at(node.span.clone(), "where expects a ragged or dense tensor, found a sparse one");
        return Err(error);
    }
    let ty = Type { optional: true, ..node.ty.clone() };
    let (x, own) = (call.push(node), ty.clone());
    call.one(ty, move |args| {
        let conditions = condition.of(args)?;
        let bits = bools(conditions.as_leaf()?)?;
        let valid = BooleanBuffer::collect_bool(args.nrows, |row| bits.value(row) == when);
        null_at(&*x.of(args)?, &own, &NullBuffer::new(valid))
    })
}
