//! Element-wise operations shared by several families of functions.

use crate::error::Result;
use crate::expr::call::{Arg, Call};
use crate::expr::error::ExprResult;
use crate::expr::eval::Args;
use crate::expr::kernels::broadcast::align;
use crate::expr::kernels::datum::{Datum, RowError};
use crate::expr::kernels::level::record_of;
use crate::expr::operand::OperandKind;
use crate::expr::types;
use crate::schema::{DType, Dim, Element, Type};
use crate::tensor::Tensor;
use arrow_array::ArrayRef;
use std::borrow::Cow;

/// The type of a tensor with another dtype.
pub fn with_dtype(ty: &Type, dtype: DType) -> Type {
    Type { element: Element::Value(dtype), ..ty.clone() }
}

/// An element-wise function of one tensor.
///
/// # Errors
/// See [`Call::one`].
pub fn unary(
    call: &mut Call,
    x: Arg,
    dtype: DType,
    f: impl Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync + 'static,
) -> ExprResult<OperandKind> {
    pointwise(call, [x], dtype, move |[x]| f(x.array).map_err(|e| (0, e)))
}

/// An element-wise function of tensors with these dtypes, broadcast against each other. A constant scalar combined with
/// a tensor reaches `f` as a single value; at least one operand is not a scalar.
///
/// # Errors
/// Shapes that do not broadcast; see also [`Call::one`].
pub fn pointwise<const N: usize>(
    call: &mut Call,
    of: [Arg; N],
    dtype: DType,
    f: impl Fn([Datum; N]) -> Result<ArrayRef, RowError> + Send + Sync + 'static,
) -> ExprResult<OperandKind> {
    let all: Vec<&[Dim]> = of.iter().map(|a| a.ty.dims.as_slice()).collect();
    let dims = types::broadcast(&all)?;
    let f = move |operands: &[Datum]| f(std::array::from_fn(|i| operands[i]));
    call.one(Type::tensor(dtype, dims), move |args| value_by_value(args, &of, &f))
}

/// An element-wise function of any number of tensors of one dtype, which is kept; see [`pointwise`].
///
/// # Errors
/// See [`pointwise`].
pub fn pointwise_all(
    call: &mut Call,
    of: Vec<Arg>,
    f: impl Fn(&[Datum]) -> Result<ArrayRef, RowError> + Send + Sync + 'static,
) -> ExprResult<OperandKind> {
    let all: Vec<&[Dim]> = of.iter().map(|a| a.ty.dims.as_slice()).collect();
    let dims = types::broadcast(&all)?;
    let dtype = of.first().ok_or_else(|| call.internal("no operands"))?.dtype()?.clone();
    call.one(Type::tensor(dtype, dims), move |args| value_by_value(args, &of, &f))
}

/// The values that `f` computes from those of the arguments `of`, broadcast against each other.
///
/// # Errors
/// Rows that do not broadcast, or errors of `f`.
pub fn value_by_value(args: &Args, of: &[Arg], f: &dyn Fn(&[Datum]) -> Result<ArrayRef, RowError>) -> Result<Tensor> {
    let mut scalar = of.iter().map(|a| Ok(a.rank() == 0 && args.value(a.index)?.constant)).collect::<Result<Vec<_>>>()?;
    if scalar.iter().all(|s| *s) {
        scalar.fill(false);
    }
    let tensor = |(a, scalar): (&Arg, &bool)| if *scalar { Ok(Cow::Borrowed(&args.value(a.index)?.tensor)) } else { a.of(args) };
    let tensors = of.iter().zip(&scalar).map(tensor).collect::<Result<Vec<_>>>()?;
    let shaped: Vec<usize> = (0..scalar.len()).filter(|i| !scalar[*i]).collect();
    if let [i] = shaped.as_slice() {
        let (tensor, rank) = (&tensors[*i], of[*i].rank());
        return tensor.map_below(rank, &mut |below| {
            let mut operands = Vec::with_capacity(of.len());
            for (tensor, scalar) in tensors.iter().zip(&scalar) {
                operands.push(Datum { array: if *scalar { tensor.as_leaf()? } else { below.as_leaf()? }, scalar: *scalar });
            }
            f(&operands).map(Tensor::Leaf).map_err(|(at, e)| e.at_row(record_of(tensor, rank, at)))
        });
    }
    let operands: Vec<_> = shaped.iter().map(|i| (tensors[*i].as_ref(), of[*i].ty.dims.as_slice())).collect();
    let aligned = align(&operands)?;
    let mut flat: Vec<Tensor> = tensors.iter().map(|t| t.as_ref().clone()).collect();
    for (k, i) in shaped.iter().enumerate() {
        flat[*i] = aligned.flat(k, &tensors[*i], of[*i].rank())?;
    }
    let mut operands = Vec::with_capacity(of.len());
    for (tensor, scalar) in flat.iter().zip(&scalar) {
        operands.push(Datum { array: tensor.as_leaf()?, scalar: *scalar });
    }
    let out = f(&operands).map_err(|(at, e)| e.at_row(aligned.record_of(at)))?;
    aligned.wrap(Tensor::Leaf(out))
}
