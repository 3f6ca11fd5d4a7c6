//! Tensors put together along an axis, and cut apart again.
//!
//! Source of the meaning: `tf.concat`, `tf.stack`, `tf.ragged.stack`, `tf.split`, `tf.unstack`.

use super::axes::expand;
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, static_int, strict};
use crate::expr::item::{Item, ItemKind};
use crate::expr::kernels::level::{check_same, check_uniform, from_lengths, record_of, wrap};
use crate::expr::kernels::ranges::{Run, take_runs};
use crate::expr::kernels::slice::{self, Slice};
use crate::expr::problem::{Bind, Problem};
use crate::expr::types::{last_ragged, outermost_uniform};
use crate::schema::{Dim, Size, Type};
use crate::tensor::{RowPartition, Tensor};

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["concat"],
        "values, axis",
        "Tensors one after the other along an axis.",
        [
            ("concat([[[3], [1, 2]], [[4, 5], []]], axis=1)", "[[3, 4, 5], [1, 2]]"),
            ("concat([[[3]], [[4, 5], []]], axis=0)", "[[3], [4, 5], []]")
        ],
        |c| {
            let args = items(c, 0)?;
            let axis = c.int(1)?;
            concat(c, args, axis, false)
        }
    ),
    function!(
        ["stack"],
        "values, axis=0",
        "Tensors side by side along a new axis.",
        [("stack([[1, 2], [3, 4]], axis=1)", "[[1, 3], [2, 4]]")],
        |c| stack(c, false)
    ),
    function!(
        ["ragged.stack"],
        "values, axis=0",
        "Tensors of any size side by side along a new axis.",
        [("ragged.stack([[1, 2], [3]])", "[[1, 2], [3]]")],
        |c| stack(c, true)
    ),
    function!(
        ["split"],
        "value|x, num_or_size_splits, axis=0",
        "Parts of an axis.",
        [("split([1, 2, 3, 4], 2)[1]", "[3, 4]"), ("split([1, 2, 3, 4], [1, 3])[1]", "[2, 3, 4]")],
        split
    ),
    function!(
        ["unstack"],
        "value|x, num=None, axis=0",
        "The items of an axis as tensors of their own.",
        [("unstack([[1, 2], [3, 4]], axis=1)[0]", "[1, 3]")],
        unstack
    ),
];

/// The tensors of a list, with one dtype. A single tensor whose first axis is known is a list of its items.
pub fn items(call: &mut Call, i: usize) -> Bind<Vec<Arg>> {
    let list = call.list(i)?;
    if list.is_empty() {
        return Err(Problem::at(call.item(i)?.span.clone(), format!("{} needs one tensor at least", call.name)));
    }
    if list.iter().all(|item| item.node().is_some_and(|n| n.ty.fields().is_some())) {
        return structures(call, &list);
    }
    call.promoted_items(&list)
}

/// Structures of one type.
fn structures(call: &mut Call, list: &[Item]) -> Bind<Vec<Arg>> {
    let mut out: Vec<Arg> = Vec::with_capacity(list.len());
    for item in list {
        let Some(node) = item.node() else { continue };
        let arg = call.push(strict(node.clone())?);
        if let Some(first) = out.first()
            && first.ty.element != arg.ty.element
        {
            return Err(Problem::at(
                item.span.clone(),
                format!("{} works on structures of one type; these have other fields or dtypes", call.name),
            ));
        }
        out.push(arg);
    }
    Ok(out)
}

/// The axes of tensors joined along `axis`. `ragged`: sizes may differ on all others.
fn joined_dims(args: &[Arg], axis: usize, ragged: bool) -> Bind<Vec<Dim>> {
    let rank = args[0].rank();
    let dense = !ragged && args.iter().all(|a| last_ragged(&a.ty.dims).is_none());
    (0..rank)
        .map(|i| {
            let sizes: Vec<Size> = args.iter().map(|a| a.ty.dims[i].size).collect();
            let known: Option<Vec<u64>> = sizes.iter().map(|s| if let Size::Known(n) = s { Some(*n) } else { None }).collect();
            if i == axis {
                return Ok(match known {
                    Some(known) => Dim::known(known.iter().sum()),
                    None if i == 0 || (dense && !sizes.contains(&Size::Ragged)) => Dim::UNIFORM,
                    None => Dim::RAGGED,
                });
            }
            if let Some(known) = &known
                && known.iter().all(|n| *n == known[0])
            {
                return Ok(Dim::known(known[0]));
            }
            if i < axis || dense {
                let mut some = sizes.iter().filter_map(|s| if let Size::Known(n) = s { Some(*n) } else { None });
                let first = some.next();
                if let (Some(a), Some(b)) = (first, some.find(|n| Some(*n) != first)) {
                    return Err(Problem::new(format!("axis {i} has {a} items here and {b} there; only axis {axis} may differ")));
                }
                if let Some(n) = first.filter(|_| i < axis || dense) {
                    return Ok(Dim::known(n));
                }
                return Ok(if sizes.contains(&Size::Ragged) && i > 0 { Dim::RAGGED } else { Dim::UNIFORM });
            }
            // Below the axis of a ragged result rows may have any length, unless inner axes are uniform in all of them.
            Ok(if sizes.iter().all(|s| *s == Size::Uniform) && i == 0 { Dim::UNIFORM } else { Dim::RAGGED })
        })
        .collect()
}

/// Tensors one after the other along `axis`.
pub fn concat(call: &mut Call, args: Vec<Arg>, axis: i64, ragged: bool) -> Bind<ItemKind> {
    let rank = args[0].rank();
    if let Some(other) = args.iter().find(|a| a.rank() != rank) {
        return Err(Problem::at(
            other.span.clone(),
            format!("{} works on tensors of one rank; this has {} axes, the first {rank}", call.name, other.rank()),
        ));
    }
    let axis = call.axis(1, axis, rank)?;
    let dims = joined_dims(&args, axis, ragged).map_err(|e| e.or_at(call.span.clone()))?;
    let ty = Type { dims: dims.clone(), ..args[0].ty.clone() };
    call.one(ty, move |a| {
        let tensors = args.iter().map(|arg| arg.of(a)).collect::<Result<Vec<_>>>()?;
        let tensors: Vec<&Tensor> = tensors.iter().map(std::convert::AsRef::as_ref).collect();
        let out = join(&tensors, axis)?;
        check_uniform(&out, &dims)?;
        Ok(out)
    })
}

/// The kernel of `concat`: rows of level `axis` joined; the levels above are the same.
///
/// # Errors
/// They differ; the row is named.
pub fn join(tensors: &[&Tensor], axis: usize) -> Result<Tensor> {
    let Some((first, rest)) = tensors.split_first() else {
        return Err(Error::data("internal: nothing to join"));
    };
    for other in rest {
        check_same(first, other, axis, "the rows to join")?;
    }
    if rest.is_empty() {
        return Ok((*first).clone());
    }
    let (outer, _) = first.levels(axis)?;
    let lists = tensors.iter().map(|t| t.levels(axis).and_then(|(_, below)| below.as_list())).collect::<Result<Vec<_>>>()?;
    let values: Vec<&Tensor> = lists.iter().map(|l| l.values()).collect();
    let nrows = lists[0].partition().nrows();
    let uniform: Option<usize> = lists.iter().try_fold(0usize, |all, l| l.partition().uniform_row_length().map(|n| all + n));
    let mut runs = Vec::with_capacity(nrows * lists.len());
    for row in 0..nrows {
        for (part, list) in lists.iter().enumerate() {
            let range = list.partition().range(row);
            if !range.is_empty() {
                runs.push(Run { part, start: range.start, end: range.end });
            }
        }
    }
    let partition = match uniform {
        Some(n) => RowPartition::uniform(n, nrows)?,
        None => from_lengths((0..nrows).map(|row| lists.iter().map(|l| l.partition().row_length(row)).sum()))?,
    };
    let joined = take_runs(&values, &runs)?;
    wrap(outer.into_iter().cloned(), Tensor::list(partition, joined, None)?)
}

fn stack(call: &mut Call, ragged: bool) -> Bind<ItemKind> {
    let mut args = items(call, 0)?;
    let rank = args[0].rank();
    if let Some(other) = args.iter().find(|a| a.rank() != rank) {
        return Err(Problem::at(
            other.span.clone(),
            format!("{} works on tensors of one rank; this has {} axes, the first {rank}", call.name, other.rank()),
        ));
    }
    let axis = call.optional_int(1)?.unwrap_or(0);
    let axis = call.axis(1, axis, rank + 1)?;
    let dense = !ragged && args.iter().all(|a| last_ragged(&a.ty.dims).is_none());
    for arg in &mut args {
        arg.ty.dims.insert(axis, Dim::known(1));
        // What was the first axis is now an inner one: stacked rows of different lengths are ragged.
        if axis == 0 && !dense && rank > 0 && arg.ty.dims[1].size == Size::Uniform {
            arg.ty.dims[1] = Dim::RAGGED;
        }
    }
    let dims = joined_dims(&args, axis, ragged).map_err(|e| e.or_at(call.span.clone()))?;
    let ty = Type { dims: dims.clone(), ..args[0].ty.clone() };
    call.one(ty, move |a| {
        let tensors = args.iter().map(|arg| expand(&*arg.of(a)?, axis)).collect::<Result<Vec<_>>>()?;
        let out = join(&tensors.iter().collect::<Vec<_>>(), axis)?;
        check_uniform(&out, &dims)?;
        Ok(out)
    })
}

fn split(call: &mut Call) -> Bind<ItemKind> {
    let x = call.any(0)?;
    let axis = call.optional_int(2)?.unwrap_or(0);
    let axis = call.axis(2, axis, x.rank())?;
    let dim = x.ty.dims[axis].size;
    if dim == Size::Ragged {
        return Err(call.problem(format!("axis {axis} is ragged; split works on uniform axes")));
    }
    let item = call.item(1)?.clone();
    // Each part's size: known, or an equal share of what each record has.
    let parts: Vec<Option<usize>> = match static_int(&item) {
        Some(n) => {
            let n = usize::try_from(n)
                .ok()
                .filter(|n| (1..=10_000).contains(n))
                .ok_or_else(|| Problem::at(item.span.clone(), format!("{n} is no number of parts")))?;
            if let Size::Known(all) = dim
                && all % n as u64 != 0
            {
                return Err(Problem::at(item.span.clone(), format!("{all} items can't be split into {n} equal parts")));
            }
            vec![if let Size::Known(all) = dim { Some((all / n as u64) as usize) } else { None }; n]
        }
        None => {
            let sizes = call.ints(1)?.unwrap_or_default();
            let mut sizes = sizes
                .into_iter()
                .map(|n| {
                    if n == -1 {
                        Ok(None)
                    } else {
                        usize::try_from(n).map(Some).map_err(|_| call.problem(format!("the size {n} is negative")))
                    }
                })
                .collect::<Bind<Vec<_>>>()?;
            let sum: usize = sizes.iter().flatten().sum();
            if let (Size::Known(all), Some(open)) = (dim, sizes.iter_mut().find(|s| s.is_none())) {
                *open = (all as usize).checked_sub(sum);
            }
            if let Size::Known(all) = dim
                && sizes.iter().map(|s| s.unwrap_or(0)).sum::<usize>() != all as usize
            {
                return Err(Problem::at(item.span.clone(), format!("the sizes sum up to {sum}, but there are {all} items")));
            }
            sizes
        }
    };
    let types = parts
        .iter()
        .map(|size| {
            let mut ty = x.ty.clone();
            ty.dims[axis] = size.map_or(Dim::UNIFORM, |n| Dim::known(n as u64));
            ty
        })
        .collect();
    let equal = static_int(&item).is_some();
    call.several(types, move |args| {
        let tensor = x.of(args)?;
        let (_, below) = tensor.levels(axis)?;
        let partition = below.as_list()?.partition().clone();
        let n = parts.len();
        let sum: usize = parts.iter().flatten().sum();
        for row in 0..partition.nrows() {
            let length = partition.row_length(row);
            let fits = if equal {
                length % n == 0
            } else if parts.contains(&None) {
                length >= sum
            } else {
                length == sum
            };
            if !fits {
                let wanted = if equal { format!("{n} equal parts") } else { format!("parts of {sum} items together") };
                return Err(Error::data(format!("{length} items can't be split into {wanted}")).at_row(record_of(&tensor, axis, row)));
            }
        }
        let size = |part: usize, length: usize| parts[part].unwrap_or(if equal { length / n } else { length - sum });
        (0..n)
            .map(|part| {
                tensor.map_below(axis, &mut |t| {
                    let list = t.as_list()?;
                    let (p, values) = slice::rows(list.partition(), list.values(), |row| {
                        let length = if list.partition().nrows() == 0 { 0 } else { list.partition().row_length(row) };
                        let start: usize = (0..part).map(|i| size(i, length)).sum();
                        Slice { start: Some(start as i64), stop: Some((start + size(part, length)) as i64), step: 1 }
                    })?;
                    Tensor::list(p, values, None)
                })
            })
            .collect()
    })
}

fn unstack(call: &mut Call) -> Bind<ItemKind> {
    let x = call.any(0)?;
    let axis = call.optional_int(2)?.unwrap_or(0);
    let axis = call.axis(2, axis, x.rank())?;
    let known = match (x.ty.dims[axis].size, call.optional_int(1)?) {
        (Size::Known(n), _) => n,
        (Size::Uniform, Some(n)) if n >= 0 => n as u64,
        _ => {
            return Err(call
                .problem(format!("axis {axis} has no known size; unstack gives one tensor for each item"))
                .help("num= says how many"));
        }
    };
    if known > 10_000 {
        return Err(call.problem(format!("{known} tensors are too many")));
    }
    let mut ty = x.ty.clone();
    ty.dims.remove(axis);
    if axis == 0 {
        ty.dims = outermost_uniform(ty.dims);
    }
    call.several(vec![ty; known as usize], move |args| {
        let tensor = x.of(args)?;
        (0..known as i64)
            .map(|i| {
                tensor.map_below(axis, &mut |t| {
                    let list = t.as_list()?;
                    slice::items(list.partition(), list.values(), |_| i).map_err(|(row, e)| e.at_row(record_of(&tensor, axis, row)))
                })
            })
            .collect()
    })
}
