//! Shared by the string functions: producing a value, a string or a row of values for each string.

use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call};
use crate::expr::error::ExprResult;
use crate::expr::eval::Args;
use crate::expr::functions::apply::with_dtype;
use crate::expr::kernels::datum::RowError;
use crate::expr::kernels::level::{from_lengths, record_of};
use crate::expr::kernels::text::{TextBuilder, Texts};
use crate::expr::operand::OperandKind;
use crate::expr::types::outermost_uniform;
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::Tensor;
use arrow_array::ArrayRef;

pub fn is_text(dtype: &DType) -> bool {
    matches!(dtype, DType::String | DType::Bytes)
}

/// Argument `i` as strings or bytes.
pub fn text(call: &mut Call, i: usize) -> ExprResult<Arg> {
    let x = call.tensor(i)?;
    call.check_dtype(&x, "strings", is_text)?;
    Ok(x)
}

/// Computes a value of `dtype` for each string.
pub fn flat(
    call: &mut Call,
    x: Arg,
    dtype: DType,
    f: impl Fn(Texts) -> Result<ArrayRef, RowError> + Send + Sync + 'static,
) -> ExprResult<OperandKind> {
    call.one(with_dtype(&x.ty, dtype), move |args| {
        let tensor = x.of(args)?;
        tensor.map_below(x.rank(), &mut |t| {
            let out = f(Texts::of(t.as_leaf()?)?).map_err(|(i, e)| e.at_row(record_of(&tensor, x.rank(), i)))?;
            Ok(Tensor::Leaf(out))
        })
    })
}

/// Computes a string for each string; `f` appends it.
pub fn each(
    call: &mut Call,
    x: Arg,
    dtype: DType,
    f: impl Fn(&[u8], &mut Vec<u8>) -> Result<()> + Send + Sync + 'static,
) -> ExprResult<OperandKind> {
    let to = dtype.clone();
    flat(call, x, dtype, move |texts| {
        let mut out = TextBuilder::with_capacity(texts.len(), texts.nbytes());
        for (i, text) in texts.iter().enumerate() {
            f(text, &mut out.bytes).map_err(|e| (i, e))?;
            out.end();
        }
        out.finish(&to).map_err(|e| (0, e))
    })
}

/// Computes a row for each string, adding one axis. `f` pushes the length of each row and returns the values of all
/// rows, one array for each dtype. If the new axis is uniform, all rows of a record must have the same length.
pub fn rows(
    call: &mut Call,
    x: Arg,
    axis: Dim,
    dtypes: &[DType],
    f: impl Fn(Texts, &mut Vec<usize>) -> Result<Vec<ArrayRef>, RowError> + Send + Sync + 'static,
) -> ExprResult<OperandKind> {
    let mut dims = x.ty.dims.clone();
    let is_uniform = axis.size != Size::Ragged;
    dims.push(axis);
    let dims = outermost_uniform(dims);
    let types: Vec<Type> = dtypes.iter().map(|d| Type::tensor(d.clone(), dims.clone())).collect();
    let all = move |args: &Args| {
        let tensor = x.of(args)?;
        let (_, below) = tensor.levels(x.rank())?;
        let mut lengths = Vec::with_capacity(below.nrows());
        let columns = f(Texts::of(below.as_leaf()?)?, &mut lengths).map_err(|(i, e)| e.at_row(record_of(&tensor, x.rank(), i)))?;
        if is_uniform && x.rank() > 0 {
            let record = |i| record_of(&tensor, x.rank(), i);
            let differs = (1..lengths.len()).find(|i| lengths[*i] != lengths[i - 1] && record(*i) == record(i - 1));
            if let Some(i) = differs {
                let found = format!("the strings of a record give {} and {} values", lengths[i - 1], lengths[i]);
                return Err(Error::data(found).at_row(record(i)));
            }
        }
        let partition = from_lengths(lengths)?;
        columns
            .into_iter()
            .map(|values| {
                let row = Tensor::list(partition.clone(), Tensor::Leaf(values), None)?;
                tensor.map_below(x.rank(), &mut |_| Ok(row.clone()))
            })
            .collect::<Result<Vec<_>>>()
    };
    match types.as_slice() {
        [one] => call.one(one.clone(), move |args| Ok(all(args)?.swap_remove(0))),
        _ => call.several(types, all),
    }
}
