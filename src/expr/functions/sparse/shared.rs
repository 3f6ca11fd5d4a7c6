//! Shared by the functions of sparse tensors: arguments, shapes, messages.

use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Integer, cast_node, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Args, Node};
use crate::expr::operand::{Operand, describe};
use crate::expr::types::{last_ragged, promote};
use crate::schema::{DType, Dim, Element, Size, Type};
use crate::tensor::{Sparse, Tensor};
use std::borrow::Cow;

/// Argument `i` as a sparse tensor.
///
/// # Errors
/// The argument is not a sparse tensor.
pub fn sparse(call: &mut Call, i: usize) -> ExprResult<Arg> {
    let item = call.operand(i)?.clone();
    sparse_of(call, &item)
}

/// An item as a sparse tensor.
///
/// # Errors
/// The item is not a sparse tensor.
pub fn sparse_of(call: &mut Call, item: &Operand) -> ExprResult<Arg> {
    let node = sparse_node(call, item)?;
    Ok(call.push(node))
}

/// An item as a sparse tensor node, not yet an argument.
///
/// # Errors
/// The item is not a sparse tensor.
fn sparse_node(call: &Call, item: &Operand) -> ExprResult<Node> {
    let node = item.node().map(|_| strict_node(item)).transpose()?;
    let node = node.filter(|node| node.ty.is_sparse()).ok_or_else(|| {
        ExprError::at(item.span.clone(), format!("{} expects a sparse tensor, found {}", call.name, item.describe()))
            .help("to keep only nonzero values: sparse.from_dense(x); to keep all values: to_sparse(x)")
    })?;
    call.beside_bytes(node)
}

/// Whether argument `i` is a sparse tensor.
pub fn is_sparse_item(call: &Call, i: usize) -> ExprResult<bool> {
    Ok(is_sparse(call.operand(i)?))
}

/// Rejects tensors that are not dense.
///
/// # Errors
/// The tensor is ragged or sparse.
pub fn dense(call: &Call, arg: Arg) -> ExprResult<Arg> {
    call.plain(&arg)?;
    match last_ragged(&arg.ty.dims) {
        None => Ok(arg),
        Some(axis) => Err(ExprError::at(arg.span.clone(), format!("{} expects a dense tensor, but axis {axis} is ragged", call.name))
            .help("to pad the rows: to_tensor(x); to make a sparse tensor: to_sparse(x)")),
    }
}

/// Sparse tensors with one dtype, promoted as in NumPy.
///
/// # Errors
/// Not sparse tensors, or strings mixed with numbers.
pub fn common(call: &mut Call, items: &[Operand]) -> ExprResult<Vec<Arg>> {
    let mut dtype: Option<DType> = None;
    let mut nodes = Vec::with_capacity(items.len());
    for item in items {
        let node = sparse_node(call, item)?;
        let found = node.ty.dtype().cloned().ok_or_else(|| call.internal("a sparse tensor without a dtype"))?;
        dtype = Some(match dtype {
            None => found,
            Some(before) => promote(&before, &found)
                .ok_or_else(|| ExprError::at(item.span.clone(), format!("{} cannot combine {before} and {found}", call.name)))?,
        });
        nodes.push(node);
    }
    let dtype = dtype.ok_or_else(|| call.error(format!("{} needs at least one sparse tensor", call.name)))?;
    nodes
        .into_iter()
        .map(|node| {
            let node = cast_node(node, &dtype, call.text())?;
            Ok(call.push(node))
        })
        .collect()
}

/// Rejects tensors of different rank, and known sizes that differ.
///
/// # Errors
/// The shapes differ.
pub fn same_shape(call: &Call, a: &Arg, b: &Arg) -> ExprResult<()> {
    if a.rank() != b.rank() {
        return Err(call.error(format!("{} expects tensors of the same rank; these have rank {} and {}", call.name, a.rank(), b.rank())));
    }
    for (axis, (m, n)) in a.ty.dims.iter().zip(&b.ty.dims).enumerate() {
        if let (Size::Known(m), Size::Known(n)) = (m.size, n.size)
            && m != n
        {
            return Err(call.error(format!("{} expects tensors of the same shape; axis {axis} has {m} and {n} items", call.name)));
        }
    }
    Ok(())
}

/// Checks that the entries of each record are in row-major order, as TensorFlow does where a function has `validate_indices`.
///
/// # Errors
/// Entries that are not in row-major order, or a repeated index.
pub fn check_order(s: &Sparse, otherwise: &str) -> Result<()> {
    for record in 0..s.nrows() {
        for entry in s.entries().range(record).skip(1) {
            let (before, index) = (s.index_of(entry - 1), s.index_of(entry));
            if before >= index {
                let at = entry - s.entries().start(record);
                let what = if before == index { "occurs twice" } else { "is out of order" };
                return Err(Error::data(format!("index {index:?} of entry {at} {what}"))
                    .at_row(record)
                    .help(format!("to sort them: sparse.reorder(x); {otherwise}: validate_indices=False")));
            }
        }
    }
    Ok(())
}

/// The axes, with the size known if either tensor's size is known.
pub fn known_of(a: &[Dim], b: &[Dim]) -> Vec<Dim> {
    a.iter().zip(b).map(|(a, b)| if let Size::Known(_) = a.size { plain(a) } else { plain(b) }).collect()
}

/// The axis without its label.
pub fn plain(dim: &Dim) -> Dim {
    Dim::of(dim.size)
}

/// The known size of an axis.
pub fn size_of(dim: &Dim) -> Option<i64> {
    match dim.size {
        Size::Known(n) => i64::try_from(n).ok(),
        _ => None,
    }
}

/// An axis of that size, or of unknown size.
pub fn dim_of(size: Option<i64>) -> Dim {
    size.and_then(|n| u64::try_from(n).ok()).map_or(Dim::UNIFORM, Dim::known)
}

/// The type with other axes.
pub fn with_dims(ty: &Type, dims: Vec<Dim>) -> Type {
    Type { dims, ..ty.clone() }
}

/// The sparse type with another dtype.
pub fn with_dtype(ty: &Type, dtype: DType) -> Type {
    Type { element: Element::Sparse(dtype), ..ty.clone() }
}

/// Rejects dtypes that are not numeric.
pub fn numbers(call: &Call, arg: &Arg) -> ExprResult<()> {
    call.check_dtype(arg, "numbers", DType::is_number)
}

/// The integers of every record: `numbers[i]` at `[record * numbers.len() + i]`.
pub fn rows_of(numbers: &[Integer], args: &Args) -> Result<Vec<i64>> {
    let columns = numbers.iter().map(|n| n.of(args)).collect::<Result<Vec<_>>>()?;
    Ok((0..args.nrows).flat_map(|record| columns.iter().map(move |c| c.at(record))).collect())
}

/// Whether an item is a list or a tensor with one axis.
pub fn is_vector(item: &Operand) -> bool {
    item.elements().is_some() || item.node().is_some_and(|n| n.ty.rank() == 1)
}

/// Argument `i` as one integer for each axis of `x`.
///
/// # Errors
/// A different number of integers.
pub fn one_per_axis(call: &mut Call, i: usize, rank: usize) -> ExprResult<Vec<Integer>> {
    let numbers = call.all_integers(i)?;
    let vector = is_vector(call.operand(i)?);
    if numbers.len() != rank || !vector {
        let what = call.operand(i)?.describe();
        let found = if vector { format!("{}", numbers.len()) } else { what };
        return Err(ExprError::at(
            call.operand(i)?.span.clone(),
            format!("{}: {} must have a number for each axis ({rank}), not {found}", call.name, call.param(i)),
        ));
    }
    Ok(numbers)
}

/// A constant tensor is not repeated: its row 0 serves all records.
pub struct TensorRows<'a> {
    pub tensor: Cow<'a, Tensor>,
    pub constant: bool,
}

impl<'a> TensorRows<'a> {
    pub fn of(arg: &Arg, args: &'a Args) -> Result<TensorRows<'a>> {
        let value = args.value(arg.index)?;
        Ok(TensorRows { tensor: Cow::Borrowed(&value.tensor), constant: value.constant })
    }

    /// The row of a record.
    pub fn at(&self, record: usize) -> usize {
        if self.constant { 0 } else { record }
    }
}

/// The error for different dense shapes of two tensors in a record.
pub fn shapes_differ(a: &[i64], b: &[i64], record: usize) -> Error {
    Error::data(format!("the shapes differ: {a:?} and {b:?}")).at_row(record)
}

/// Describes a type for messages.
pub fn said(arg: &Arg) -> String {
    describe(&arg.ty)
}

/// Whether an item is a sparse tensor.
pub fn is_sparse(item: &Operand) -> bool {
    item.node().is_some_and(|n| n.ty.is_sparse())
}
