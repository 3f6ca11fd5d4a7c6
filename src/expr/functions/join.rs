//! Tensors joined and split along an axis.
//!
//! Semantics: `tf.concat`, `tf.stack`, `tf.ragged.stack`, `tf.split`, `tf.unstack`.

use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, Integer, Integers, alike, static_int};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::kernels::join;
use crate::expr::kernels::level::{bounding_known, check_uniform, merged, record_of, with_sizes};
use crate::expr::kernels::slice::{self, Slice};
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::types::{self, last_ragged, outermost_uniform};
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::Tensor;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["concat"],
        "values, axis",
        "Concatenate tensors along an axis.",
        [
            ("concat([[[3], [1, 2]], [[4, 5], []]], axis=1)", "[[3, 4, 5], [1, 2]]"),
            ("concat([[[3]], [[4, 5], []]], axis=0)", "[[3], [4, 5], []]")
        ],
        |c| {
            let args = items_or_one(c, 0)?;
            let axis = c.int(1)?;
            concat(c, args, axis, false)
        }
    ),
    function!(
        ["stack"],
        "values, axis=0",
        "Stack tensors along a new axis.",
        [("stack([[1, 2], [3, 4]], axis=1)", "[[1, 3], [2, 4]]")],
        |c| stack(c, false)
    ),
    function!(
        ["ragged.stack"],
        "values, axis=0",
        "Stack tensors of any sizes along a new axis, as a ragged tensor.",
        [("ragged.stack([[1, 2], [3]])", "[[1, 2], [3]]")],
        |c| stack(c, true)
    ),
    function!(
        ["split"],
        "value|x, num_or_size_splits, axis=0, num=None",
        "Split along an axis.",
        [("split([1, 2, 3, 4], 2)[1]", "[3, 4]"), ("split([1, 2, 3, 4], [1, 3])[1]", "[2, 3, 4]")],
        split
    ),
    function!(
        ["unstack"],
        "value|x, num=None, axis=0",
        "Unpack an axis into a list of tensors.",
        [("unstack([[1, 2], [3, 4]], axis=1)[0]", "[1, 3]")],
        unstack
    ),
];

/// The tensors of a list, with one dtype.
///
/// # Errors
/// Not a list, an empty list, or tensors without a common dtype.
pub fn items(call: &mut Call, i: usize) -> ExprResult<Vec<Arg>> {
    let list = call.list(i).map_err(|error| {
        let strings = if call.name == "concat" { "; to join strings, use +" } else { "" };
        error.help(format!("put the tensors in a list: {}([x, y], ...){strings}", call.name))
    })?;
    if list.is_empty() {
        return Err(ExprError::at(call.operand(i)?.span.clone(), format!("{} needs at least one tensor", call.name)));
    }
    let nodes = alike(&list, &call.name, call.text())?;
    Ok(nodes.into_iter().map(|node| call.carry(node)).collect())
}

/// The tensors of a list; a tensor that is not in a list is the only one, as in TensorFlow.
fn items_or_one(call: &mut Call, i: usize) -> ExprResult<Vec<Arg>> {
    match call.operand(i)? {
        Operand { kind: OperandKind::Tensor(node), .. } if node.ty.rank() > 0 => Ok(vec![call.moved_nested(i)?]),
        _ => items(call, i),
    }
}

/// The common rank of all tensors.
///
/// # Errors
/// The ranks differ.
pub fn one_rank(call: &Call, args: &[Arg]) -> ExprResult<usize> {
    types::one_rank(&dims_of(args)).map_err(|i| {
        let (first, other) = (&args[0], &args[i]);
        ExprError::at(
            other.span.clone(),
            format!(
                "{} expects tensors of the same rank; this one has rank {}, but the first has {}",
                call.name,
                other.rank(),
                first.rank()
            ),
        )
    })
}

fn dims_of(args: &[Arg]) -> Vec<&[Dim]> {
    args.iter().map(|a| a.ty.dims.as_slice()).collect()
}

/// Concatenates tensors along `axis`.
pub fn concat(call: &mut Call, args: Vec<Arg>, axis: i64, ragged: bool) -> ExprResult<OperandKind> {
    let rank = one_rank(call, &args)?;
    // Concatenating one tensor returns it unchanged along any axis; TensorFlow does not validate the axis then.
    let axis = if args.len() == 1 && rank > 0 { 0 } else { call.axis(1, axis, rank)? };
    let dims = types::joined(&dims_of(&args), axis, ragged).map_err(|e| e.or_at(call.span.clone()))?;
    args.iter().for_each(|arg| call.moves_below(arg, axis + 1));
    let ty = Type { dims: dims.clone(), ..args[0].ty.clone() };
    call.one(ty, move |a| {
        let tensors = args.iter().map(|arg| arg.of(a)).collect::<Result<Vec<_>>>()?;
        let tensors: Vec<&Tensor> = tensors.iter().map(std::convert::AsRef::as_ref).collect();
        let out = join::join(&tensors, axis)?;
        check_uniform(&out, &dims)?;
        with_sizes(out, &dims, || {
            let sizes = tensors.iter().zip(&args).map(|(t, arg)| bounding_known(t, &arg.ty.dims)).collect::<Result<Vec<_>>>()?;
            let joined = |at: usize, record: usize| {
                let own = sizes.iter().map(|sizes| sizes[at][record]);
                if at == axis { own.sum() } else { own.max().unwrap_or(0) }
            };
            Ok((0..rank).map(|at| (0..a.nrows).map(|record| joined(at, record)).collect()).collect())
        })
    })
}

fn stack(call: &mut Call, ragged: bool) -> ExprResult<OperandKind> {
    let args = if ragged { items_or_one(call, 0)? } else { items(call, 0)? };
    let rank = one_rank(call, &args)?;
    let axis = call.optional_int(1)?.unwrap_or(0);
    let axis = call.axis(1, axis, rank + 1)?;
    // A single tensor stays as dense as it was.
    let ragged = ragged && (args.len() > 1 || axis == 0);
    let dims = types::stacked(&dims_of(&args), axis, ragged).map_err(|e| e.or_at(call.span.clone()))?;
    args.iter().for_each(|arg| call.moves_below(arg, axis));
    if axis == 0 {
        call.makes_items();
    }
    let ty = Type { dims: dims.clone(), ..args[0].ty.clone() };
    call.one(ty, move |a| {
        let tensors = args.iter().map(|arg| arg.of(a)).collect::<Result<Vec<_>>>()?;
        let tensors: Vec<&Tensor> = tensors.iter().map(std::convert::AsRef::as_ref).collect();
        let out = join::stack(&tensors, axis)?;
        check_uniform(&out, &dims)?;
        with_sizes(out, &dims, || {
            let mut sizes = largest_sizes(&tensors, &args, a.nrows)?;
            sizes.insert(axis, vec![args.len(); a.nrows]);
            Ok(sizes)
        })
    })
}

/// The largest size of every axis among the tensors, for each record: `[rank][nrecords]`.
fn largest_sizes(tensors: &[&Tensor], args: &[Arg], nrecords: usize) -> Result<Vec<Vec<usize>>> {
    let mut largest = vec![vec![0; nrecords]; args.first().map_or(0, Arg::rank)];
    for (tensor, arg) in tensors.iter().zip(args) {
        for (largest, own) in largest.iter_mut().zip(bounding_known(tensor, &arg.ty.dims)?) {
            largest.iter_mut().zip(own).for_each(|(n, own)| *n = own.max(*n));
        }
    }
    Ok(largest)
}

fn split(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.moved_nested(0)?;
    if x.rank() == 0 && matches!(x.ty.dtype(), Some(DType::String | DType::Bytes)) {
        let error = ExprError::at(call.span.clone(), "split divides tensors along an axis; this is a string");
        return Err(error.help("to split text: strings.split(x, sep=\"-\")"));
    }
    let axis = call.optional_int(2)?.unwrap_or(0);
    let axis = call.axis(2, axis, x.rank())?;
    call.moves_below(&x, axis + 1);
    let dim = x.ty.dims[axis].size;
    if dim == Size::Ragged {
        // A single part is the tensor itself.
        if static_int(call.operand(1)?) == Some(1) {
            return call.several(vec![x.ty.clone()], move |args| Ok(vec![x.of(args)?.into_owned()]));
        }
        return Err(call.error(format!("axis {axis} is ragged; split divides uniform axes")));
    }
    let parts = SplitSizes::new(call, dim)?;
    if let SplitSizes::Sized(sizes) = &parts
        && last_ragged(&x.ty.dims).is_some()
        && sizes.iter().filter_map(Integer::known).any(|n| n < 0)
    {
        return Err(ExprError::at(call.operand(1)?.span.clone(), "split of a ragged tensor needs the size of every part; one may be -1"));
    }
    let types = parts
        .dims(dim)
        .into_iter()
        .map(|dim| {
            let mut ty = x.ty.clone();
            ty.dims[axis] = dim;
            ty
        })
        .collect();
    call.several(types, move |args| {
        let tensor = x.of(args)?;
        let owners = merged(&tensor, 0, axis)?;
        let (_, below) = tensor.levels(axis)?;
        let list = below.as_list()?;
        // The end of each part within each row.
        let mut ends: Vec<Vec<usize>> = vec![Vec::with_capacity(list.partition().nrows()); parts.len()];
        let sizes = parts.of(args)?;
        for record in 0..owners.nrows() {
            for row in owners.range(record) {
                let mut end = 0;
                for (part, n) in sizes.row(record, list.partition().row_length(row))?.into_iter().enumerate() {
                    end += n;
                    ends[part].push(end);
                }
            }
        }
        let size = |part: usize, record: usize, all: usize| sizes.row(record, all).ok().and_then(|row| row.get(part).copied());
        (0..parts.len())
            .map(|part| {
                let first = |row: usize| if part == 0 { 0 } else { ends[part - 1].get(row).copied().unwrap_or(0) };
                let end = |row: usize| ends[part].get(row).copied().unwrap_or(0);
                let of_row = |row: usize| Slice { start: Some(first(row) as i64), stop: Some(end(row) as i64), step: 1 };
                let out = slice::cut(list, |partition, values| slice::rows(partition, values, of_row))?;
                let out = tensor.map_below(axis, &mut |_| Ok(out.clone()))?;
                out.with_sizes_cut(&tensor, axis, &|record, all| size(part, record, all).unwrap_or(0))
            })
            .collect()
    })
}

/// The parts into which an axis is split.
enum SplitSizes {
    /// A number of parts of equal size.
    Equal(usize),
    /// Parts of these sizes; -1 takes the remainder.
    Sized(Vec<Integer>),
}

/// The sizes of the parts, for every record.
enum Sizes {
    Equal(usize),
    Sized(Vec<Integers>),
}

impl SplitSizes {
    fn new(call: &mut Call, dim: Size) -> ExprResult<SplitSizes> {
        let item = call.operand(1)?.clone();
        let Some(n) = static_int(&item) else {
            if item.node().is_some_and(|node| node.ty.rank() == 0) {
                return Err(ExprError::at(item.span.clone(), "the number of parts must be known before the first record is processed"));
            }
            let sizes = call.all_integers(1)?;
            let known: Option<Vec<i64>> = sizes.iter().map(Integer::known).collect();
            if let Some(known) = known {
                if let Some(negative) = known.iter().find(|n| **n < -1) {
                    return Err(call.error(format!("the size {negative} is negative")));
                }
                if let Size::Known(all) = dim {
                    row_of_parts(&known, usize::try_from(all).unwrap_or(usize::MAX)).map_err(|e| ExprError::at(item.span.clone(), e))?;
                }
            }
            return Ok(SplitSizes::Sized(sizes));
        };
        let n = usize::try_from(n)
            .ok()
            .filter(|n| (1..=10_000).contains(n))
            .ok_or_else(|| ExprError::at(item.span.clone(), format!("{n} is not a valid number of parts")))?;
        match dim {
            Size::Known(all) if all % n as u64 != 0 => {
                Err(ExprError::at(item.span.clone(), format!("{all} items cannot be split into {n} equal parts")))
            }
            _ => Ok(SplitSizes::Equal(n)),
        }
    }

    fn len(&self) -> usize {
        match self {
            SplitSizes::Equal(n) => *n,
            SplitSizes::Sized(sizes) => sizes.len(),
        }
    }

    /// The axes of the parts.
    fn dims(&self, dim: Size) -> Vec<Dim> {
        match (self, dim) {
            (SplitSizes::Equal(n), Size::Known(all)) => vec![Dim::known(all / *n as u64); *n],
            (SplitSizes::Equal(n), _) => vec![Dim::UNIFORM; *n],
            (SplitSizes::Sized(sizes), Size::Known(all)) => {
                let known: Option<Vec<i64>> = sizes.iter().map(Integer::known).collect();
                let row = known.and_then(|known| row_of_parts(&known, usize::try_from(all).ok()?).ok());
                row.map_or_else(|| sizes.iter().map(Integer::dim).collect(), |row| row.into_iter().map(|n| Dim::known(n as u64)).collect())
            }
            (SplitSizes::Sized(sizes), _) => sizes.iter().map(Integer::dim).collect(),
        }
    }

    fn of(&self, args: &Args) -> Result<Sizes> {
        Ok(match self {
            SplitSizes::Equal(n) => Sizes::Equal(*n),
            SplitSizes::Sized(sizes) => Sizes::Sized(sizes.iter().map(|n| n.of(args)).collect::<Result<_>>()?),
        })
    }
}

impl Sizes {
    /// The sizes of the parts of a row.
    fn row(&self, record: usize, length: usize) -> Result<Vec<usize>> {
        match self {
            Sizes::Equal(n) if length.is_multiple_of(*n) => Ok(vec![length / n; *n]),
            Sizes::Equal(n) => Err(Error::data(format!("{length} items cannot be split into {n} equal parts")).at_row(record)),
            Sizes::Sized(sizes) => {
                let sizes: Vec<i64> = sizes.iter().map(|n| n.at(record)).collect();
                row_of_parts(&sizes, length).map_err(|e| Error::data(e).at_row(record))
            }
        }
    }
}

/// The sizes of parts that add up to a row. At most one is -1 and takes the remainder.
fn row_of_parts(sizes: &[i64], length: usize) -> Result<Vec<usize>, String> {
    let sum = sizes.iter().filter(|n| **n >= 0).try_fold(0usize, |all, n| all.checked_add(usize::try_from(*n).ok()?));
    let sum = sum.ok_or_else(|| format!("the sizes {sizes:?} are too large"))?;
    let rest = length.checked_sub(sum);
    let rest = match (sizes.iter().filter(|n| **n < 0).count(), rest) {
        (0, Some(0)) => 0,
        (1, Some(rest)) if sizes.contains(&-1) => rest,
        _ => return Err(format!("{length} items cannot be split into parts of {sizes:?}")),
    };
    Ok(sizes.iter().map(|n| usize::try_from(*n).unwrap_or(rest)).collect())
}

fn unstack(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.moved_nested(0)?;
    let axis = call.optional_int(2)?.unwrap_or(0);
    let axis = call.axis(2, axis, x.rank())?;
    let known = match (x.ty.dims[axis].size, call.optional_int(1)?) {
        (Size::Known(n), _) => n,
        (Size::Uniform, Some(n)) if n >= 0 => n as u64,
        _ => {
            return Err(call
                .error(format!(
                    "unstack returns one tensor for each item, but the size of axis {axis} is not known before the first record is processed"
                ))
                .help("set it with num="));
        }
    };
    if known > 10_000 {
        return Err(call.error(format!("{known} tensors are too many")));
    }
    call.moves_below(&x, axis + 1);
    let mut ty = x.ty.clone();
    ty.dims.remove(axis);
    if axis == 0 {
        ty.dims = outermost_uniform(ty.dims);
        call.takes_items();
    }
    call.several(vec![ty; known as usize], move |args| {
        let tensor = x.of(args)?;
        (0..known as i64)
            .map(|i| {
                let out = tensor.map_below(axis, &mut |t| {
                    let list = t.as_list()?;
                    slice::items(list.partition(), list.values(), |_| i).map_err(|(row, e)| e.at_row(record_of(&tensor, axis, row)))
                })?;
                out.with_axis_removed(&tensor, axis)
            })
            .collect()
    })
}
