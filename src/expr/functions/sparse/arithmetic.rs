//! Products and quotients of a sparse and a dense tensor, and functions applied to sparse values only.
//!
//! ```text
//! sp        . 2 .      y  [10 20 30]      sp * y    . 40 .      the entries stay, the dense tensor is
//!           3 . .                                   30 . .      repeated along its axes of size 1
//! ```
//!
//! Semantics: the operators of `tf.SparseTensor`; `tf.math.abs`, `negative`, `sign`, `square`,
//! `sqrt`, `sin`, `tanh`, `erf` of sparse tensors.

use super::shared::{dense, is_sparse, size_of, with_dtype};
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, cast_node, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Args, Node};
use crate::expr::kernels::cast::{cast, native};
use crate::expr::kernels::datum::Datum;
use crate::expr::kernels::elementwise::{self, Binary};
use crate::expr::kernels::entries::{self, dense_parts, visit_places, with_values};
use crate::expr::kernels::number::{Number, floats};
use crate::expr::operand::{Operand, OperandKind, constant};
use crate::expr::types::{promote, quotient, shape};
use crate::schema::{DType, Dim, Type};
use crate::tensor::gather::take;
use crate::tensor::{RowPartition, Sparse, Tensor, row_of};
use arrow_array::ArrayRef;
use std::borrow::Cow;

/// The product or quotient, if an operand is sparse; otherwise `None`.
///
/// # Errors
/// Two sparse operands, another operation, a sparse divisor, or a dense operand that does not broadcast to the sparse
/// shape.
pub fn with_dense(call: &mut Call, op: Binary) -> ExprResult<Option<OperandKind>> {
    let (a, b) = (call.operand(0)?.clone(), call.operand(1)?.clone());
    let (left, right) = (is_sparse(&a), is_sparse(&b));
    if !left && !right {
        return Ok(None);
    }
    let (name, help) = match op {
        Binary::Add => ("`+`", "use sparse.add(a, b)"),
        Binary::Subtract => ("`-`", "use sparse.add(a, -b)"),
        Binary::Maximum => ("maximum", "sparse.maximum(a, b) of two sparse tensors"),
        Binary::Minimum => ("minimum", "sparse.minimum(a, b) of two sparse tensors"),
        _ => ("this", "to change the entries: with_values(x, f(values(x))); to make it dense: sparse.to_dense(x)"),
    };
    if !matches!(op, Binary::Multiply | Binary::Divide) {
        let name = if call.name.starts_with('`') || name == "this" { call.name.clone() } else { name.to_owned() };
        return Err(call.error(format!("{name} does not work on sparse tensors")).help(help));
    }
    if left && right {
        return Err(call
            .error(format!("{} expects a sparse and a dense tensor; both of these are sparse", call.name))
            .help("make one of them dense: sparse.to_dense(x)"));
    }
    if op == Binary::Divide && right {
        return Err(call.error(format!("{}: a dense tensor cannot be divided by a sparse one, which is 0 nearly everywhere", call.name)));
    }
    let (sparse, other) = if left { (a, b) } else { (b, a) };
    broadcast(call, op, &sparse, &other).map(Some)
}

fn broadcast(call: &mut Call, op: Binary, sparse: &Operand, other: &Operand) -> ExprResult<OperandKind> {
    let (x, y) = operands(call, sparse, other)?;
    let y = dense(call, y)?;
    let dtype = x.dtype()?.clone();
    if !dtype.is_number() {
        return Err(call.error(format!("{} expects numbers, found {dtype}", call.name)));
    }
    let refused = || {
        ExprError::at(
            y.span.clone(),
            format!("{}: the dense shape {} does not broadcast to {}", call.name, shape(&y.ty.dims), shape(&x.ty.dims)),
        )
        .help("the axes of the dense tensor must have the sizes of the last axes of the sparse one, or size 1")
    };
    let Some(skipped) = x.rank().checked_sub(y.rank()) else {
        return Err(refused());
    };
    let misfit = |(d, s)| matches!((size_of(d), size_of(s)), (Some(m), Some(n)) if m != n && m != 1);
    if y.ty.dims.iter().zip(&x.ty.dims[skipped..]).any(misfit) {
        return Err(refused());
    }
    let result = if op == Binary::Divide { quotient(&dtype) } else { dtype };
    call.one(with_dtype(&x.ty, result.clone()), move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        let values = cast(s.values(), &result)?;
        let value = args.value(y.index)?;
        let by = if y.rank() == 0 && value.constant {
            Cow::Borrowed(value.tensor.as_leaf()?)
        } else {
            Cow::Owned(gathered(s, &y, skipped, args)?)
        };
        let scalar = y.rank() == 0 && value.constant;
        let by = cast(&by, &result)?;
        if op == Binary::Divide
            && !values.is_empty()
            && let Some(at) = zero_at(&by, &result)?
        {
            let row = row_of(s.entries(), at);
            let error = Error::data("division by zero: the dense tensor has a 0 where the sparse one has an entry");
            return Err(error.at_row(if scalar { 0 } else { row }));
        }
        let out = elementwise::binary(op, Datum { array: &values, scalar: false }, Datum { array: &by, scalar }).map_err(|(_, e)| e)?;
        with_values(s, out)
    })
}

/// The operands with one dtype. A literal takes the dtype of the sparse tensor if it can.
fn operands(call: &mut Call, sparse: &Operand, other: &Operand) -> ExprResult<(Arg, Arg)> {
    let x = super::shared::sparse_of(call, sparse)?;
    let dtype = x.dtype()?.clone();
    // The sparse values stand in for the sparse tensor: they have its dtype and are promoted as tensors, not as
    // literals.
    let stand_in = Operand { kind: OperandKind::Tensor(empty_of(&dtype, call)?), span: sparse.span.clone() };
    let y = call.promoted_items(&[stand_in, other.clone()])?.pop().ok_or_else(|| call.internal("two operands"))?;
    let wide = y.dtype()?.clone();
    if wide == dtype {
        return Ok((x, y));
    }
    let node = strict_node(sparse)?;
    let node = cast_node(node, &wide, call.text())?;
    Ok((call.push(node), y))
}

/// An empty tensor of a dtype that is not a literal.
fn empty_of(dtype: &DType, call: &Call) -> ExprResult<Node> {
    let ty = Type::tensor(dtype.clone(), vec![Dim::known(0)]);
    let none = Tensor::Leaf(arrow_array::new_empty_array(&dtype.arrow()));
    let tensor = Tensor::list(RowPartition::uniform(0, 1)?, none, None)?;
    Ok(constant(tensor, ty, call.span.clone()))
}

/// The value of the dense tensor at each entry.
fn gathered(s: &Sparse, y: &Arg, skipped: usize, args: &Args) -> Result<ArrayRef> {
    let rows = super::shared::TensorRows::of(y, args)?;
    let rank = y.rank();
    let (values, starts, shapes) = dense_parts(&rows.tensor, &y.ty.dims)?;
    let weights = |record: usize| {
        let (own, row) = (&s.shape_of(record)[skipped..], rows.at(record));
        let shape = &shapes[row * rank..(row + 1) * rank];
        let mut weights = vec![0; s.ndims()];
        let mut step = 1;
        for axis in (0..rank).rev() {
            if shape[axis] != 1 && shape[axis] != own[axis] && shape[axis] != -1 {
                let error = format!("the dense shape {shape:?} does not broadcast to the shape {:?}", s.shape_of(record));
                return Err(Error::data(error).at_row(record));
            }
            weights[skipped + axis] = if shape[axis] == 1 { 0 } else { step };
            step *= shape[axis].max(0);
        }
        Ok(weights)
    };
    let mut places = Vec::with_capacity(s.entries().nvals());
    visit_places(s, &|record| starts[rows.at(record)], &weights, |_, place| places.push(place))?;
    take(values, &places)
}

/// The position of the first 0.
fn zero_at(values: &ArrayRef, dtype: &DType) -> Result<Option<usize>> {
    floats!(dtype, T => Ok(native::<T>(values)?.iter().position(|v| *v == <T as Number>::ZERO)), Ok(None))
}

/// An element-wise function of the values of argument 0 if it is sparse; otherwise `None`.
///
/// # Errors
/// A dtype that `fits` rejects.
pub fn of_values(
    call: &mut Call,
    expected: &str,
    fits: fn(&DType) -> bool,
    f: impl Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync + 'static,
) -> ExprResult<Option<OperandKind>> {
    if !is_sparse(call.operand(0)?) {
        return Ok(None);
    }
    let x = super::shared::sparse(call, 0)?;
    call.check_dtype(&x, expected, fits)?;
    call.one(x.ty.clone(), move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        with_values(s, f(s.values())?)
    })
    .map(Some)
}

/// The promoted dtype of two tensors.
///
/// # Errors
/// Strings mixed with numbers.
pub fn meeting(call: &Call, a: &DType, b: &DType) -> ExprResult<DType> {
    promote(a, b).ok_or_else(|| call.error(format!("{} cannot combine {a} and {b}", call.name)))
}
