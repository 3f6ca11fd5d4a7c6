//! Functions that rearrange axes and keep the values.
//!
//! Semantics: `tf.expand_dims`, `tf.squeeze`, `tf.reshape`, `tf.transpose`, `RaggedTensor.merge_dims`.

use crate::error::{Error, Result};
use crate::expr::call::{Call, Function, Integer};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::level::{bounding_known, dense_partitions, expand, merged, record_of, wrap};
use crate::expr::operand::OperandKind;
use crate::expr::types::{last_ragged, merged_dim, outermost_uniform};
use crate::printable::counted;
use crate::schema::{Dim, Size, Type};
use crate::tensor::Tensor;
use crate::tensor::transpose::{is_permutation, transposed_places};

pub static FUNCTIONS: &[Function] = &[
    function!(["expand_dims"], "input|x, axis", "Insert an axis of size 1.", [("expand_dims([1, 2], axis=1)", "[[1], [2]]")], |c| {
        let x = c.moved_nested(0)?;
        c.moves_below(&x, 0);
        let axis = c.int(1)?;
        let axis = c.axis(1, axis, x.rank() + 1)?;
        let mut ty = x.ty.clone();
        ty.dims.insert(axis, Dim::known(1));
        c.one(ty, move |args| expand(&*x.of(args)?, axis))
    }),
    function!(
        ["squeeze"],
        "input|x, axis|squeeze_dims=None",
        "Remove axes of size 1.",
        [("squeeze([[[1, 2]]], axis=[0, 1])", "[1, 2]")],
        squeeze
    ),
    function!(
        ["merge_dims"],
        "x|value|self, outer_axis, inner_axis",
        "Merge a range of axes into one.",
        [("merge_dims([[[3], [1, 2]], []], 0, 1)", "[[3], [1, 2]]"), ("merge_dims([[[3], [1, 2]], []], 1, 2)", "[[3, 1, 2], []]")],
        merge_dims
    ),
    function!(
        ["reshape", "manip.reshape"],
        "tensor|x, shape",
        "Reshape to a dense shape; one size may be -1, to be inferred.",
        [("reshape([1, 2, 3, 4], [2, -1])", "[[1, 2], [3, 4]]")],
        reshape
    ),
    function!(
        ["transpose"],
        "a|x, perm=None, conjugate=False",
        "Permute the axes of a dense tensor.",
        [("transpose([[1, 2], [3, 4]])", "[[1, 3], [2, 4]]")],
        transpose
    ),
];

fn squeeze(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.moved_nested(0)?;
    let mut axes = match call.ints(1)?.filter(|axes| !axes.is_empty() || last_ragged(&x.ty.dims).is_some()) {
        Some(axes) => axes.into_iter().map(|a| call.axis(1, a, x.rank())).collect::<ExprResult<Vec<_>>>()?,
        None if last_ragged(&x.ty.dims).is_some() => return Err(call.error("squeeze of a ragged tensor needs an axis")),
        None => (0..x.rank()).filter(|i| x.ty.dims[*i].size == Size::Known(1)).collect(),
    };
    if let (true, true, Some(axis)) = (call.given(1).is_none(), axes.is_empty(), x.ty.dims.iter().position(|dim| dim.size == Size::Uniform))
    {
        let error =
            call.error(format!("squeeze: the size of axis {axis} is not known, and the number of axes must not depend on the record"));
        return Err(error.help(format!("specify the axes to remove: axis=[{axis}]")));
    }
    axes.sort_unstable_by(|a, b| b.cmp(a));
    axes.dedup();
    if axes.contains(&0) {
        call.takes_items();
    }
    let mut ty = x.ty.clone();
    for axis in &axes {
        if let Size::Known(n) = ty.dims[*axis].size
            && n != 1
        {
            return Err(call.error(format!("squeeze: axis {axis} must have size 1, not {n}")));
        }
        ty.dims.remove(*axis);
    }
    ty.dims = outermost_uniform(ty.dims);
    call.one(ty, move |args| {
        axes.iter().try_fold(x.of(args)?.into_owned(), |tensor, axis| {
            let whole = tensor.clone();
            let squeezed = tensor.map_below(*axis, &mut |t| {
                let list = t.as_list()?;
                let partition = list.partition();
                match (0..partition.nrows()).find(|r| partition.row_length(*r) != 1) {
                    None => Ok(list.values().clone()),
                    Some(row) => {
                        Err(Error::data(format!("axis {axis} has size {}; squeeze removes only axes of size 1", partition.row_length(row)))
                            .at_row(record_of(&whole, *axis, row)))
                    }
                }
            })?;
            squeezed.with_axis_removed(&tensor, *axis)
        })
    })
}

fn merge_dims(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.moved_nested(0)?;
    let (outer, inner) = (call.int(1)?, call.int(2)?);
    let (outer, inner) = (call.axis(1, outer, x.rank())?, call.axis(2, inner, x.rank())?);
    if outer > inner {
        return Err(call.error(format!("outer_axis {outer} must not be greater than inner_axis {inner}")));
    }
    call.moves_below(&x, inner + 1);
    let mut ty = x.ty.clone();
    ty.dims.splice(outer..=inner, [merged_dim(&x.ty.dims[outer..=inner], outer == 0)]);
    call.one(ty, move |args| {
        x.of(args)?.map_below(outer, &mut |t| {
            let levels = inner - outer + 1;
            let (_, below) = t.levels(levels)?;
            Tensor::list(merged(t, 0, levels)?, below.clone(), None)
        })
    })
}

fn reshape(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.moved_nested(0)?;
    let shape = call.all_integers(1)?;
    let place = call.operand(1)?.span.clone();
    let known: Option<Vec<i64>> = shape.iter().map(Integer::known).collect();
    let mut dims: Vec<Dim> = shape.iter().map(Integer::dim).collect();
    if shape.iter().filter_map(Integer::known).filter(|n| *n < 0).count() > 1 || shape.iter().filter_map(Integer::known).any(|n| n < -1) {
        return Err(ExprError::at(place, "at most one size can be -1"));
    }
    if let (Some(known), Size::Known(all)) = (&known, merged_dim(&x.ty.dims, true).size)
        && !x.ty.dims.is_empty()
    {
        let sizes: Vec<usize> = x.ty.dims.iter().map(|dim| if let Size::Known(n) = dim.size { n as usize } else { 0 }).collect();
        let filled = filled(known, usize::try_from(all).unwrap_or(usize::MAX), &sizes)
            .ok_or_else(|| ExprError::at(place, format!("cannot reshape {} to {known:?}", counted(all, "value"))))?;
        dims = filled.into_iter().map(|n| Dim::known(n as u64)).collect();
    }
    let ty = Type { dims: dims.clone(), ..x.ty.clone() };
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let whole = merged(&tensor, 0, x.rank())?;
        let (_, below) = tensor.levels(x.rank())?;
        let numbers = shape.iter().map(|n| n.of(args)).collect::<Result<Vec<_>>>()?;
        // The sizes of the inner axes matter only if a record has no values.
        let empty = (0..whole.nrows()).any(|record| whole.row_length(record) == 0);
        let sizes = if empty { bounding_known(&tensor, &x.ty.dims)? } else { Vec::new() };
        let shapes = (0..whole.nrows())
            .map(|record| {
                let shape: Vec<i64> = numbers.iter().map(|n| n.at(record)).collect();
                let sizes: Vec<usize> = sizes.iter().map(|s| s[record]).collect();
                filled(&shape, whole.row_length(record), &sizes).ok_or_else(|| {
                    let values = counted(whole.row_length(record) as u64, "value");
                    Error::data(format!("cannot reshape {values} to {shape:?}")).at_row(record)
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let (partitions, _) = dense_partitions(&dims, whole.nrows(), |axis, record| Ok(shapes[record][axis]))?;
        wrap(partitions.into_iter(), below.clone())
    })
}

/// The sizes of a shape filled by `n` values, including the size given as -1. If another axis is empty, -1 takes what
/// the other sizes of the tensor, `sizes`, leave.
fn filled(shape: &[i64], n: usize, sizes: &[usize]) -> Option<Vec<usize>> {
    let known = shape.iter().filter(|s| **s >= 0).try_fold(1usize, |all, s| all.checked_mul(usize::try_from(*s).ok()?))?;
    match shape.iter().filter(|s| **s < 0).count() {
        0 if known != n => return None,
        0 | 1 => {}
        _ => return None,
    }
    let some = |all: &mut dyn Iterator<Item = usize>| all.filter(|n| *n > 0).try_fold(1usize, |all, n| all.checked_mul(n));
    let open = match (n, known) {
        (0, 0) => Some(some(&mut sizes.iter().copied())? / some(&mut shape.iter().filter_map(|s| usize::try_from(*s).ok()))?),
        _ => n.checked_div(known).filter(|_| n.is_multiple_of(known)),
    };
    shape.iter().map(|s| if *s == -1 { open } else { usize::try_from(*s).ok() }).collect()
}

fn transpose(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.moved_nested(0)?;
    if x.ty.is_sparse() {
        return Err(ExprError::at(x.span.clone(), "transpose expects a dense tensor, found a sparse one").help("use sparse.transpose(x)"));
    }
    if let Some(axis) = last_ragged(&x.ty.dims) {
        return Err(ExprError::at(x.span.clone(), format!("transpose expects a dense tensor, but axis {axis} is ragged")));
    }
    let rank = x.rank();
    let perm = match call.ints(1)? {
        None => (0..rank).rev().collect::<Vec<_>>(),
        Some(perm) => perm.into_iter().map(|a| call.axis(1, a, rank)).collect::<ExprResult<Vec<_>>>()?,
    };
    if perm.len() != rank || !is_permutation(&perm) {
        return Err(call.error(format!("perm is {perm:?}; it must contain each axis from 0 to {} once", rank.saturating_sub(1))));
    }
    let mut ty = x.ty.clone();
    ty.dims = perm.iter().map(|a| x.ty.dims[*a].clone()).collect();
    let dims = ty.dims.clone();
    call.one(ty, move |args| transposed(&*x.of(args)?, &perm, &dims))
}

/// Permutes the axes of a dense tensor by `perm`; `dims` are the axes of the result.
///
/// # Errors
/// Only if memory runs out.
pub fn transposed(tensor: &Tensor, perm: &[usize], dims: &[Dim]) -> Result<Tensor> {
    let rank = perm.len();
    let mut own = dims.to_vec();
    perm.iter().zip(dims).for_each(|(axis, dim)| own[*axis] = dim.clone());
    let sizes = bounding_known(tensor, &own)?;
    let whole = merged(tensor, 0, rank)?;
    let (_, below) = tensor.levels(rank)?;
    let places = transposed_places(&whole, &sizes, perm);
    let (partitions, _) = dense_partitions(dims, whole.nrows(), |axis, record| Ok(sizes[perm[axis]][record]))?;
    wrap(partitions.into_iter(), below.gather(&places)?)
}
