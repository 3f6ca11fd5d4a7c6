//! What functions of several families share: value by value operations on one, two or three tensors.

use crate::error::Result;
use crate::expr::call::{Arg, Call};
use crate::expr::eval::Args;
use crate::expr::item::ItemKind;
use crate::expr::kernels::broadcast::align;
use crate::expr::kernels::elementwise::{Flaw, Operand};
use crate::expr::kernels::level::record_of;
use crate::expr::problem::Bind;
use crate::expr::types;
use crate::schema::{DType, Dim, Element, Type};
use crate::tensor::Tensor;
use arrow_array::ArrayRef;

/// The type of a tensor with another dtype.
pub fn with_dtype(ty: &Type, dtype: DType) -> Type {
    Type { element: Element::Value(dtype), ..ty.clone() }
}

/// A function of one tensor, value by value.
///
/// # Errors
/// As [`Call::one`].
pub fn unary(call: &mut Call, x: Arg, dtype: DType, f: impl Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync + 'static) -> Bind<ItemKind> {
    call.one(with_dtype(&x.ty, dtype), move |args| x.of(args)?.map_below(x.rank(), &mut |t| Ok(Tensor::Leaf(f(t.as_leaf()?)?))))
}

/// A function of two tensors of one dtype, value by value, broadcast against each other.
///
/// # Errors
/// Shapes that do not broadcast; as [`Call::one`].
pub fn binary(
    call: &mut Call,
    a: Arg,
    b: Arg,
    dtype: DType,
    f: impl Fn(Operand, Operand) -> Result<ArrayRef, Flaw> + Send + Sync + 'static,
) -> Bind<ItemKind> {
    let dims = types::broadcast(&[&a.ty.dims, &b.ty.dims])?;
    call.one(Type::tensor(dtype, dims), move |args| two(args, &a, &b, &f))
}

fn is_scalar_constant(args: &Args, arg: &Arg) -> Result<bool> {
    Ok(arg.rank() == 0 && args.value(arg.index)?.constant)
}

fn two(args: &Args, a: &Arg, b: &Arg, f: &dyn Fn(Operand, Operand) -> Result<ArrayRef, Flaw>) -> Result<Tensor> {
    // A constant beside a tensor stands everywhere, whatever the shape.
    let one = |shaped: &Arg, scalar: &Arg, scalar_first: bool| -> Result<Tensor> {
        let tensor = shaped.of(args)?;
        let constant = &args.value(scalar.index)?.tensor;
        tensor.map_below(shaped.rank(), &mut |t| {
            let (x, y) = (Operand { array: t.as_leaf()?, scalar: false }, Operand { array: constant.as_leaf()?, scalar: true });
            let out = if scalar_first { f(y, x) } else { f(x, y) };
            Ok(Tensor::Leaf(out.map_err(|(i, e)| e.at_row(record_of(&tensor, shaped.rank(), i)))?))
        })
    };
    if is_scalar_constant(args, b)? {
        return one(a, b, false);
    }
    if is_scalar_constant(args, a)? {
        return one(b, a, true);
    }
    let (x, y) = (a.of(args)?, b.of(args)?);
    let aligned = align(&[(&x, a.ty.dims.as_slice()), (&y, b.ty.dims.as_slice())])?;
    let (p, q) = (aligned.flat(0, &x, a.rank())?, aligned.flat(1, &y, b.rank())?);
    let out = f(Operand { array: p.as_leaf()?, scalar: false }, Operand { array: q.as_leaf()?, scalar: false })
        .map_err(|(i, e)| e.at_row(aligned.record_of(i)))?;
    aligned.wrap(Tensor::Leaf(out))
}

/// A function of three tensors, value by value, broadcast against each other.
///
/// # Errors
/// Shapes that do not broadcast; as [`Call::one`].
pub fn ternary(
    call: &mut Call,
    of: [Arg; 3],
    dtype: DType,
    f: impl Fn(&ArrayRef, &ArrayRef, &ArrayRef) -> Result<ArrayRef, Flaw> + Send + Sync + 'static,
) -> Bind<ItemKind> {
    let all: Vec<&[Dim]> = of.iter().map(|a| a.ty.dims.as_slice()).collect();
    let dims = types::broadcast(&all)?;
    call.one(Type::tensor(dtype, dims), move |args| {
        let tensors = of.iter().map(|a| a.of(args)).collect::<Result<Vec<_>>>()?;
        let operands: Vec<(&Tensor, &[Dim])> = tensors.iter().zip(&of).map(|(t, a)| (t.as_ref(), a.ty.dims.as_slice())).collect();
        let aligned = align(&operands)?;
        let flat = (0..3).map(|i| aligned.flat(i, &tensors[i], of[i].rank())).collect::<Result<Vec<_>>>()?;
        let out = f(flat[0].as_leaf()?, flat[1].as_leaf()?, flat[2].as_leaf()?).map_err(|(i, e)| e.at_row(aligned.record_of(i)))?;
        aligned.wrap(Tensor::Leaf(out))
    })
}
