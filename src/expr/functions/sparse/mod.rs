//! Functions of sparse tensors: an index, a value and a dense shape for what is not the default.
//!
//! ```text
//! indices      [[0 1] [2 0]]          . a .
//! values       [  a     b  ]          . . .
//! dense_shape  [3 3]                  b . .
//! ```
//!
//! Source of the meaning: `tf.sparse`, `tf.SparseTensor`. Entries may stand in any order and an index
//! twice, as there; what needs the canonical order says so. Every kernel is one walk over the entries of
//! a chunk, on the columns of [`crate::tensor::Sparse`].
//!
//! - [`construct`]: SparseTensor, from_dense, eye, the accessors' kin.
//! - [`structure`]: other shapes, orders and choices of the same entries.
//! - [`join`]: concat, slice, split.
//! - [`dense`]: to_dense, to_indicator, sparse_to_dense.
//! - [`arithmetic`], [`union`], [`matrix`], [`softmax`]: numbers.
//! - [`reduce`], [`count`], [`segments`]: sums, greatest values, counts.
//! - [`cross`]: combinations of values.

pub mod arithmetic;
pub mod construct;
pub mod count;
pub mod cross;
pub mod dense;
pub mod join;
pub mod matrix;
pub mod reduce;
pub mod segments;
pub mod softmax;
pub mod structure;
pub mod union;

use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Integer, cast_node, strict_node};
use crate::expr::eval::{Args, Node};
use crate::expr::item::{Item, describe};
use crate::expr::problem::{Bind, Problem};
use crate::expr::types::{last_ragged, promote};
use crate::schema::{DType, Dim, Element, Size, Type};
use crate::tensor::Tensor;
use std::borrow::Cow;

/// Argument `i` as a sparse tensor.
///
/// # Errors
/// It is something else.
fn sparse(call: &mut Call, i: usize) -> Bind<Arg> {
    let item = call.item(i)?.clone();
    sparse_of(call, &item)
}

/// An item as a sparse tensor.
///
/// # Errors
/// It is something else.
fn sparse_of(call: &mut Call, item: &Item) -> Bind<Arg> {
    let node = sparse_node(call, item)?;
    Ok(call.push(node))
}

/// An item that is a sparse tensor, before it is an argument.
///
/// # Errors
/// It is something else.
fn sparse_node(call: &Call, item: &Item) -> Bind<Node> {
    let node = item.node().map(|_| strict_node(item)).transpose()?;
    node.filter(|node| node.ty.is_sparse()).ok_or_else(|| {
        Problem::at(item.span.clone(), format!("{} works on sparse tensors; this is {}", call.name, item.describe()))
            .help("sparse.from_dense(x) keeps what is not 0, to_sparse(x) every value")
    })
}

/// Whether argument `i` is a sparse tensor.
fn is_sparse_item(call: &Call, i: usize) -> Bind<bool> {
    Ok(arithmetic::is_sparse(call.item(i)?))
}

/// Refuses what is not dense.
///
/// # Errors
/// It is ragged or sparse.
fn dense(call: &Call, arg: Arg) -> Bind<Arg> {
    call.plain(&arg)?;
    match last_ragged(&arg.ty.dims) {
        None => Ok(arg),
        Some(axis) => Err(Problem::at(arg.span.clone(), format!("{} works on dense tensors; axis {axis} of this is ragged", call.name))
            .help("to_tensor(x) fills up the rows, to_sparse(x) makes a sparse tensor")),
    }
}

/// Sparse tensors of one dtype: they are promoted as NumPy does.
///
/// # Errors
/// No sparse tensors; strings beside numbers.
fn common(call: &mut Call, items: &[Item]) -> Bind<Vec<Arg>> {
    let mut dtype: Option<DType> = None;
    let mut nodes = Vec::with_capacity(items.len());
    for item in items {
        let node = sparse_node(call, item)?;
        let found = node.ty.dtype().cloned().ok_or_else(|| call.internal("a sparse tensor without a dtype"))?;
        dtype = Some(match dtype {
            None => found,
            Some(before) => promote(&before, &found)
                .ok_or_else(|| Problem::at(item.span.clone(), format!("{} can't work on {before} and {found} together", call.name)))?,
        });
        nodes.push(node);
    }
    let dtype = dtype.ok_or_else(|| call.problem(format!("{} needs one sparse tensor at least", call.name)))?;
    nodes
        .into_iter()
        .map(|node| {
            let node = cast_node(node, &dtype, call.text())?;
            Ok(call.push(node))
        })
        .collect()
}

/// Refuses tensors of another rank, and shapes that differ where they are known.
///
/// # Errors
/// They differ.
fn same_shape(call: &Call, a: &Arg, b: &Arg) -> Bind<()> {
    if a.rank() != b.rank() {
        return Err(call.problem(format!("{} works on tensors of one shape; these have {} and {} axes", call.name, a.rank(), b.rank())));
    }
    for (axis, (m, n)) in a.ty.dims.iter().zip(&b.ty.dims).enumerate() {
        if let (Size::Known(m), Size::Known(n)) = (m.size, n.size)
            && m != n
        {
            return Err(call.problem(format!("{} works on tensors of one shape; axis {axis} has {m} and {n} items", call.name)));
        }
    }
    Ok(())
}

/// The axes that are of one known size where either says so.
fn known_of(a: &[Dim], b: &[Dim]) -> Vec<Dim> {
    a.iter().zip(b).map(|(a, b)| if let Size::Known(_) = a.size { plain(a) } else { plain(b) }).collect()
}

/// The axis without a label.
fn plain(dim: &Dim) -> Dim {
    Dim::of(dim.size)
}

/// The known size of an axis.
fn size_of(dim: &Dim) -> Option<i64> {
    match dim.size {
        Size::Known(n) => i64::try_from(n).ok(),
        _ => None,
    }
}

/// An axis of that size, of open size if it is not known.
fn dim_of(size: Option<i64>) -> Dim {
    size.and_then(|n| u64::try_from(n).ok()).map_or(Dim::UNIFORM, Dim::known)
}

/// The type with other axes.
fn with_dims(ty: &Type, dims: Vec<Dim>) -> Type {
    Type { dims, ..ty.clone() }
}

/// The sparse type of another dtype.
fn with_dtype(ty: &Type, dtype: DType) -> Type {
    Type { element: Element::Sparse(dtype), ..ty.clone() }
}

/// Refuses what is no number.
fn numbers(call: &Call, arg: &Arg) -> Bind<()> {
    call.check_dtype(arg, "numbers", DType::is_number)
}

/// Integers of every record, `numbers[i]` at `[record * numbers.len() + i]`.
fn rows_of(numbers: &[Integer], args: &Args) -> Result<Vec<i64>> {
    let columns = numbers.iter().map(|n| n.of(args)).collect::<Result<Vec<_>>>()?;
    Ok((0..args.nrows).flat_map(|record| columns.iter().map(move |c| c.at(record))).collect())
}

/// Whether an item is a list or a tensor of one axis.
fn is_vector(item: &Item) -> bool {
    item.elements().is_some() || item.node().is_some_and(|n| n.ty.rank() == 1)
}

/// Argument `i` as one integer for each axis of `x`.
///
/// # Errors
/// Another number of integers.
fn one_per_axis(call: &mut Call, i: usize, rank: usize) -> Bind<Vec<Integer>> {
    let numbers = call.all_integers(i)?;
    let vector = is_vector(call.item(i)?);
    if numbers.len() != rank || !vector {
        let what = call.item(i)?.describe();
        let found = if vector { format!("{}", numbers.len()) } else { what };
        return Err(Problem::at(
            call.item(i)?.span.clone(),
            format!("{}: {} takes one number for each of the {rank} axes, not {found}", call.name, call.param(i)),
        ));
    }
    Ok(numbers)
}

/// A tensor that is one row for all records is not repeated: row 0 stands for each.
struct Rows<'a> {
    tensor: Cow<'a, Tensor>,
    constant: bool,
}

impl<'a> Rows<'a> {
    fn of(arg: &Arg, args: &'a Args) -> Result<Rows<'a>> {
        let value = args.value(arg.index)?;
        Ok(Rows { tensor: Cow::Borrowed(&value.tensor), constant: value.constant })
    }

    /// The row that stands for a record.
    fn at(&self, record: usize) -> usize {
        if self.constant { 0 } else { record }
    }
}

/// The dense shapes of two tensors of a record differ.
fn shapes_differ(a: &[i64], b: &[i64], record: usize) -> Error {
    Error::data(format!("the shapes differ: {a:?} and {b:?}")).at_row(record)
}

/// A type in the words of messages.
fn said(arg: &Arg) -> String {
    describe(&arg.ty)
}
