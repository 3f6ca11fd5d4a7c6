//! Casts, and sums of several tensors.
//!
//! Semantics: `tf.saturate_cast`, `tf.bitcast`, `tf.debugging.check_numerics`, `tf.math.add_n`.

use super::apply::{pointwise_all, unary};
use crate::error::{Error, Result};
use crate::expr::call::{Call, Function, cast_node, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::cast::{dtype_of, native, saturated};
use crate::expr::kernels::datum::Datum;
use crate::expr::kernels::elementwise::{self, Binary};
use crate::expr::kernels::level::record_of;
use crate::expr::kernels::number::{floats, numbers};
use crate::expr::operand::OperandKind;
use crate::expr::types;
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::{MutableBuffer, ScalarBuffer};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["saturate_cast", "dtypes.saturate_cast"],
        "value|x, dtype",
        "Convert to another numeric dtype, clamping out-of-range values to its limits.",
        [("saturate_cast([300.0, -5.0], uint8)", "[255, 0]")],
        saturate_cast
    ),
    function!(
        ["bitcast"],
        "input|x, type|dtype",
        "Reinterpret the bytes as another numeric dtype. A different width adds or removes an innermost axis.",
        [("bitcast([1.0], int32)", "[1065353216]")],
        bitcast
    ),
    function!(
        ["debugging.check_numerics", "check_numerics"],
        "tensor|x, message=\"\"",
        "The tensor unchanged; fails with the message if a value is NaN or infinite.",
        [("debugging.check_numerics([1.5], \"bad\")", "[1.5]")],
        check_numerics
    ),
    function!(
        ["math.add_n", "add_n", "math.accumulate_n", "accumulate_n"],
        "inputs, shape=None, tensor_dtype=None",
        "The sum of tensors of the same shape.",
        [("math.add_n([[1, 2], [3, 4], [5, 6]])", "[9, 12]")],
        add_n
    ),
    function!(
        ["math.scalar_mul", "scalar_mul"],
        "scalar, x",
        "A scalar times a tensor of the same dtype.",
        [("math.scalar_mul(2, [1, 2])", "[2, 4]")],
        |c| {
            let args = c.promoted(&[0, 1])?;
            let [scalar, x] = args.as_slice() else { return Err(c.internal("two operands")) };
            if scalar.rank() > 0 {
                return Err(ExprError::at(scalar.span.clone(), format!("the scalar is {}", scalar.ty)));
            }
            c.check_dtype(x, "numbers", DType::is_number)?;
            pointwise_all(c, vec![scalar.clone(), x.clone()], |all| elementwise::binary(Binary::Multiply, all[0], all[1]))
        }
    ),
];

fn number_dtype(call: &Call) -> ExprResult<DType> {
    let dtype = call.dtype(1)?.ok_or_else(|| call.error(format!("{} needs a dtype", call.name)))?;
    if dtype.is_number() { Ok(dtype) } else { Err(call.error(format!("{} returns numbers, not {dtype}", call.name))) }
}

fn saturate_cast(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "numbers", DType::is_number)?;
    let dtype = number_dtype(call)?;
    let to = dtype.clone();
    unary(call, x, dtype, move |a| saturated(a, &to))
}

fn width(dtype: &DType) -> u64 {
    match dtype {
        DType::Int8 | DType::UInt8 => 1,
        DType::Int16 | DType::UInt16 | DType::Float16 => 2,
        DType::Int32 | DType::UInt32 | DType::Float32 => 4,
        _ => 8,
    }
}

fn bitcast(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "numbers", DType::is_number)?;
    let dtype = number_dtype(call)?;
    let (from, to) = (width(x.dtype()?), width(&dtype));
    let mut dims = x.ty.dims.clone();
    if from > to {
        dims.push(Dim::known(from / to));
    }
    let wanted = || format!("{to} bytes of {} become one {dtype}: the last axis must have {} values", x.ty, to / from);
    if from < to {
        match dims.pop().map(|dim| dim.size) {
            Some(Size::Uniform) => {}
            Some(Size::Known(n)) if n == to / from => {}
            _ => return Err(call.error(wanted())),
        }
    }
    let (rank, levels) = (x.rank(), dims.len().min(x.rank()));
    let misfit = wanted();
    call.one(Type::tensor(dtype.clone(), dims), move |args| {
        let tensor = x.of(args)?;
        if from < to
            && let Some(last) = tensor.levels(rank)?.0.last()
            && let Some(row) = (0..last.nrows()).find(|row| last.row_length(*row) as u64 != to / from)
        {
            return Err(Error::data(format!("{misfit}, not {}", last.row_length(row))).at_row(record_of(&tensor, levels, row)));
        }
        tensor.map_below(levels, &mut |t| {
            let (_, below) = t.levels(rank - levels)?;
            let flat = Tensor::Leaf(same_bytes(below.as_leaf()?, &dtype)?);
            if from > to { Tensor::list(RowPartition::uniform((from / to) as usize, t.nrows())?, flat, None) } else { Ok(flat) }
        })
    })
}

/// Reinterprets the bytes of numbers as another dtype.
fn same_bytes(array: &ArrayRef, dtype: &DType) -> Result<ArrayRef> {
    let own = dtype_of(array)?;
    let wrong = || Error::internal(format!("the bytes of {own}"));
    let bytes: MutableBuffer = numbers!(&own, T => {
        let values = array.as_any().downcast_ref::<PrimitiveArray<T>>().ok_or_else(wrong)?.values().inner();
        let mut bytes = MutableBuffer::new(values.len());
        bytes.extend_from_slice(values.as_slice());
        bytes
    }, return Err(wrong()));
    let len = bytes.len() / width(dtype) as usize;
    numbers!(dtype, T => Ok(Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::new(bytes.into(), 0, len), None)) as ArrayRef), Err(wrong()))
}

fn check_numerics(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "floats", DType::is_float)?;
    let message = call.string(1)?.unwrap_or_default();
    call.one(x.ty.clone(), move |args| {
        let tensor = x.of(args)?;
        let (_, below) = tensor.levels(x.rank())?;
        let array = below.as_leaf()?;
        let dtype = dtype_of(array)?;
        let bad = floats!(&dtype, T => native::<T>(array)?.iter().position(|v| !v.is_finite()).map(|i| (i, native::<T>(array).map(|v| v[i].is_nan()))),
            return Err(Error::internal("a test of other values")));
        match bad {
            None => Ok(tensor.into_owned()),
            Some((i, nan)) => {
                let what = if nan? { "NaN" } else { "an infinite value" };
                let text = if message.is_empty() { format!("the tensor has {what}") } else { format!("{message}: the tensor has {what}") };
                Err(Error::data(text).at_row(record_of(&tensor, x.rank(), i)))
            }
        }
    })
}

fn add_n(call: &mut Call) -> ExprResult<OperandKind> {
    let list = call.list(0)?;
    if list.is_empty() {
        return Err(call.error("add_n needs at least one tensor"));
    }
    if let [one] = list.as_slice() {
        let node = strict_node(one)?;
        let dtype = node.ty.dtype().cloned().unwrap_or(DType::Null);
        let x = call.push(node.clone());
        call.check_dtype(&x, "numbers", DType::is_number)?;
        return Ok(OperandKind::Tensor(cast_node(node, &dtype, call.text())?));
    }
    let args = call.promoted_items(&list)?;
    call.check_dtype(&args[0], "numbers", DType::is_number)?;
    if let Some(other) = args.iter().find(|a| a.rank() != args[0].rank()) {
        return Err(ExprError::at(
            other.span.clone(),
            format!(
                "add_n requires tensors of the same shape; these are {} and {}",
                types::shape(&args[0].ty.dims),
                types::shape(&other.ty.dims)
            ),
        ));
    }
    pointwise_all(call, args, |all| {
        let mut sum = elementwise::binary(Binary::Add, all[0], all[1])?;
        for next in &all[2..] {
            sum = elementwise::binary(Binary::Add, Datum { array: &sum, scalar: false }, *next)?;
        }
        Ok(sum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_their_order() {
        let array: ArrayRef = Arc::new(arrow_array::UInt16Array::from(vec![0x0201, 0x0403]));
        let bytes = same_bytes(&array, &DType::UInt8);
        assert_eq!(
            bytes.map(|a| native::<arrow_array::types::UInt8Type>(&a).map(<[u8]>::to_vec)).and_then(|v| v).ok(),
            Some(vec![1, 2, 3, 4])
        );
    }
}
