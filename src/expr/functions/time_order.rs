//! Functions that depend only on the order of values, of times: they compute with the counts of their finest unit.
//!
//! Semantics: `pyarrow.compute.min_max`, `sort_indices`. TensorFlow has no times.

use super::apply::with_dtype;
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call};
use crate::expr::error::ExprResult;
use crate::expr::eval::{Args, Node};
use crate::expr::kernels::level::record_of;
use crate::expr::operand::{OperandKind, result};
use crate::schema::DType;
use crate::tensor::Tensor;
use crate::tensor::time::times;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

/// What a function of ordered values returns first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Values of the arguments, which are times again.
    Values,
    /// Positions, or other numbers.
    Numbers,
}

/// Binds a function of which the arguments `which` may be times. `bind` also gets whether they are.
///
/// # Errors
/// Times beside other values, or an error of `bind`.
pub fn by_order(
    call: &mut Call,
    which: &[usize],
    returned: Returned,
    bind: impl Fn(&mut Call, bool) -> ExprResult<OperandKind>,
) -> ExprResult<OperandKind> {
    let Some(dtype) = call.count_times(which)? else { return bind(call, false) };
    let found = bind(call, true)?;
    if returned == Returned::Numbers {
        return Ok(found);
    }
    match found {
        OperandKind::Tensor(node) => {
            let (counts, ty) = counted(call, node, &dtype);
            call.one(ty, move |args| times_of(args, &counts, &dtype))
        }
        OperandKind::Results(results) => {
            let nodes = (0..results.outputs.len()).filter_map(|i| result(&results, i, call.span.clone()).node().cloned());
            let mut nodes = nodes.collect::<Vec<_>>().into_iter();
            let Some(first) = nodes.next() else { return Err(call.internal("a function without results")) };
            let (counts, ty) = counted(call, first, &dtype);
            let others: Vec<Arg> = nodes.map(|node| call.push(node)).collect();
            let types = std::iter::once(ty).chain(others.iter().map(|arg| arg.ty.clone())).collect();
            call.several(types, move |args| {
                let others = others.iter().map(|arg| arg.of(args).map(std::borrow::Cow::into_owned));
                std::iter::once(times_of(args, &counts, &dtype)).chain(others).collect()
            })
        }
        _ => Err(call.internal("a function of ordered values that returns no tensor")),
    }
}

fn counted(call: &mut Call, node: Node, dtype: &DType) -> (Arg, crate::schema::Type) {
    let counts = call.push(node);
    let ty = with_dtype(&counts.ty, dtype.clone());
    (counts, ty)
}

/// The times of these counts. A row without times gives the least or the greatest count, which is not a time.
fn times_of(args: &Args, counts: &Arg, dtype: &DType) -> Result<Tensor> {
    let (tensor, rank, to) = (counts.of(args)?, counts.rank(), dtype.arrow());
    tensor.map_below(rank, &mut |t| {
        let counts = t.as_leaf()?.as_primitive::<Int64Type>();
        let extreme = |count: &i64| [i64::MIN, i64::MAX].contains(count);
        if let Some(at) = counts.values().iter().position(extreme).filter(|at| counts.is_valid(*at)) {
            return Err(Error::data("the earliest or latest of no times is undefined").at_row(record_of(&tensor, rank, at)));
        }
        Ok(Tensor::Leaf(times(counts, &to)?))
    })
}
