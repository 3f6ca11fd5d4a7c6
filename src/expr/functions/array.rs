//! Tensors put together, cut apart and given other axes.
//!
//! Source of the meaning: `tf.concat`, `tf.stack`, `tf.tile` and their like on tf.RaggedTensor.

use super::apply::{unary, with_dtype};
use super::decompose::merged_dim;
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, cast_node, positive_axis};
use crate::expr::constant;
use crate::expr::item::{Item, ItemKind};
use crate::expr::kernels::level::{check_count, check_same, check_uniform, from_lengths, merged, record_of, wrap};
use crate::expr::kernels::ranges::{Run, take_runs};
use crate::expr::kernels::slice::{self, Slice};
use crate::expr::problem::{Bind, Problem};
use crate::expr::types::{last_ragged, outermost_uniform};
use crate::schema::{DType, Dim, Literal, Size, Type};
use crate::tensor::{RowPartition, Tensor};

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["cast", "dtypes.cast"],
        "x, dtype",
        "Another dtype: floats are cut towards zero, integers wrap, what is not 0 is true.",
        [("cast([1.9, -1.9], int32)", "[1, -1]")],
        |c| {
            let node = crate::expr::call::strict(crate::expr::call::as_node(c.item(0)?, None)?)?;
            let dtype = c.dtype(1)?.ok_or_else(|| c.problem("cast needs a dtype"))?;
            if node.ty.dtype().is_none() || node.ty.is_sparse() {
                return Err(Problem::at(node.span.clone(), "cast works on ragged and dense tensors"));
            }
            Ok(ItemKind::Tensor(cast_node(node, &dtype, c.text())?))
        }
    ),
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
        ["tile"],
        "input|x, multiples",
        "Every axis so many times.",
        [("tile(ragged.constant([[3, 1], []]), [1, 2])", "[[3, 1, 3, 1], []]")],
        tile
    ),
    function!(
        ["repeat"],
        "input|x, repeats, axis=None",
        "Every item of an axis so many times.",
        [("repeat([1, 2], 2, axis=0)", "[1, 1, 2, 2]")],
        repeat
    ),
    function!(["expand_dims"], "input|x, axis", "A new axis of one item.", [("expand_dims([1, 2], axis=1)", "[[1], [2]]")], |c| {
        let x = c.any(0)?;
        let axis = c.int(1)?;
        let axis = c.axis(1, axis, x.rank() + 1)?;
        let mut ty = x.ty.clone();
        ty.dims.insert(axis, Dim::known(1));
        c.one(ty, move |args| expand(&*x.of(args)?, axis))
    }),
    function!(["squeeze"], "input|x, axis=None", "Without axes of one item.", [("squeeze([[[1, 2]]], axis=[0, 1])", "[1, 2]")], squeeze),
    function!(
        ["merge_dims"],
        "x|value|self, outer_axis, inner_axis",
        "A range of axes as one.",
        [("merge_dims([[[3], [1, 2]], []], 0, 1)", "[[3], [1, 2]]"), ("merge_dims([[[3], [1, 2]], []], 1, 2)", "[[3, 1, 2], []]")],
        merge_dims
    ),
    function!(
        ["reverse"],
        "tensor|x, axis",
        "The items of axes from the last to the first.",
        [("reverse([[3, 1], [2]], axis=[1])", "[[1, 3], [2]]")],
        |c| {
            let x = c.any(0)?;
            let axes = c.ints(1)?.ok_or_else(|| c.problem("reverse needs its axes"))?;
            let axes = axes.into_iter().map(|a| c.axis(1, a, x.rank())).collect::<Bind<Vec<_>>>()?;
            let back = Slice { start: None, stop: None, step: -1 };
            c.one(x.ty.clone(), move |args| {
                axes.iter().try_fold(x.of(args)?.into_owned(), |tensor, axis| {
                    tensor.map_below(*axis, &mut |t| {
                        let list = t.as_list()?;
                        let (partition, values) = slice::rows(list.partition(), list.values(), |_| back)?;
                        Tensor::list(partition, values, None)
                    })
                })
            })
        }
    ),
    function!(
        ["zeros_like"],
        "input|x, dtype=None",
        "Zeros (or empty strings) in the same shape.",
        [("zeros_like([[3, 1], [2]])", "[[0, 0], [0]]")],
        |c| like(c, false)
    ),
    function!(["ones_like"], "input|x, dtype=None", "Ones in the same shape.", [("ones_like([[3, 1], [2]])", "[[1, 1], [1]]")], |c| like(
        c, true
    )),
    function!(
        ["reshape"],
        "tensor|x, shape",
        "The values in a dense shape; one size may be -1.",
        [("reshape([1, 2, 3, 4], [2, -1])", "[[1, 2], [3, 4]]")],
        reshape
    ),
    function!(
        ["broadcast_to"],
        "input|x, shape",
        "Repeated up to a dense shape.",
        [("broadcast_to([1, 2], [2, 2])", "[[1, 2], [1, 2]]")],
        broadcast_to
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
    function!(
        ["one_hot"],
        "indices, depth, on_value=None, off_value=None, axis=None, dtype=None",
        "A vector with a one at each index.",
        [("one_hot([1, 0], 3, dtype=int32)", "[[0, 1, 0], [1, 0, 0]]")],
        one_hot
    ),
    function!(
        ["matmul", "linalg.matmul"],
        "a, b, transpose_a=False, transpose_b=False",
        "The product of two matrices; `a @ b`.",
        [("matmul([[1, 2], [3, 4]], [[5], [6]])", "[[17], [39]]")],
        matmul
    ),
    function!(
        ["transpose"],
        "a|x, perm=None",
        "The axes of a dense tensor in another order.",
        [("transpose([[1, 2], [3, 4]])", "[[1, 3], [2, 4]]")],
        transpose
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
        let arg = call.push(crate::expr::call::strict(node.clone())?);
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

fn expand(tensor: &Tensor, axis: usize) -> Result<Tensor> {
    tensor.map_below(axis, &mut |t| Tensor::list(RowPartition::uniform(1, t.nrows())?, t.clone(), None))
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

fn tile(call: &mut Call) -> Bind<ItemKind> {
    let x = call.any(0)?;
    let multiples = call.ints(1)?.ok_or_else(|| call.problem("tile needs its multiples"))?;
    if multiples.len() != x.rank() {
        return Err(Problem::at(call.item(1)?.span.clone(), format!("{} multiples for a tensor of {} axes", multiples.len(), x.rank())));
    }
    let multiples = multiples
        .into_iter()
        .map(|m| usize::try_from(m).map_err(|_| call.problem(format!("the multiple {m} is negative"))))
        .collect::<Bind<Vec<_>>>()?;
    let mut ty = x.ty.clone();
    for (dim, m) in ty.dims.iter_mut().zip(&multiples) {
        dim.label = None;
        if let Size::Known(n) = dim.size {
            dim.size = Size::Known(n.saturating_mul(*m as u64));
        }
    }
    call.one(ty, move |args| {
        multiples.iter().enumerate().rev().try_fold(x.of(args)?.into_owned(), |tensor, (axis, m)| {
            if *m == 1 { Ok(tensor) } else { repeated_rows(&tensor, axis, |_| *m, false) }
        })
    })
}

/// The items of each row of `axis` again and again (or each item by itself); `times` is asked by record.
fn repeated_rows(tensor: &Tensor, axis: usize, times: impl Fn(usize) -> usize, each: bool) -> Result<Tensor> {
    let owners = merged(tensor, 0, axis)?;
    tensor.map_below(axis, &mut |t| {
        let list = t.as_list()?;
        let partition = list.partition();
        let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(partition.nrows()));
        for record in 0..owners.nrows() {
            let m = times(record);
            for row in owners.range(record) {
                let range = partition.range(row);
                check_count(range.len().checked_mul(m).and_then(|n| n.checked_add(places.len())), record)?;
                if each {
                    places.extend(range.clone().flat_map(|i| std::iter::repeat_n(i, m)));
                } else {
                    for _ in 0..m {
                        places.extend(range.clone());
                    }
                }
                lengths.push(range.len() * m);
            }
        }
        let out = match (partition.uniform_row_length(), lengths.first()) {
            (Some(_), Some(first)) if lengths.iter().all(|l| l == first) => RowPartition::uniform(*first, lengths.len())?,
            _ => from_lengths(lengths)?,
        };
        Tensor::list(out, list.values().gather(&places)?, None)
    })
}

fn repeat(call: &mut Call) -> Bind<ItemKind> {
    let x = call.any(0)?;
    let times = call.scalar_integer(1)?;
    let known = crate::expr::call::static_int(call.item(1)?);
    let axis = match call.optional_int(2)? {
        Some(axis) => call.axis(2, axis, x.rank())?,
        None if x.rank() == 1 => 0,
        None => return Err(call.problem("repeat needs an axis")),
    };
    let mut ty = x.ty.clone();
    ty.dims[axis] = match (ty.dims[axis].size, known.and_then(|k| u64::try_from(k).ok())) {
        (Size::Known(n), Some(k)) => Dim::known(n.saturating_mul(k)),
        (Size::Known(_), None) => Dim::UNIFORM,
        (other, _) => Dim::of(other),
    };
    call.one(ty, move |args| {
        let times = times.of(args)?;
        let times = crate::expr::kernels::cast::i64s(times.as_leaf()?)?;
        if let Some(row) = times.iter().position(|t| *t < 0) {
            return Err(Error::data(format!("repeats is {}; it can't be negative", times[row])).at_row(row));
        }
        repeated_rows(&*x.of(args)?, axis, |record| times[record] as usize, true)
    })
}

fn squeeze(call: &mut Call) -> Bind<ItemKind> {
    let x = call.any(0)?;
    let mut axes = match call.ints(1)? {
        Some(axes) => axes.into_iter().map(|a| call.axis(1, a, x.rank())).collect::<Bind<Vec<_>>>()?,
        None if last_ragged(&x.ty.dims).is_some() => return Err(call.problem("squeeze of a ragged tensor needs its axis")),
        None => (0..x.rank()).filter(|i| x.ty.dims[*i].size == Size::Known(1)).collect(),
    };
    axes.sort_unstable_by(|a, b| b.cmp(a));
    axes.dedup();
    let mut ty = x.ty.clone();
    for axis in &axes {
        if let Size::Known(n) = ty.dims[*axis].size
            && n != 1
        {
            return Err(call.problem(format!("axis {axis} has {n} items; squeeze takes away axes of one")));
        }
        ty.dims.remove(*axis);
    }
    ty.dims = outermost_uniform(ty.dims);
    call.one(ty, move |args| {
        axes.iter().try_fold(x.of(args)?.into_owned(), |tensor, axis| {
            let whole = tensor.clone();
            tensor.map_below(*axis, &mut |t| {
                let list = t.as_list()?;
                let partition = list.partition();
                match (0..partition.nrows()).find(|r| partition.row_length(*r) != 1) {
                    None => Ok(list.values().clone()),
                    Some(row) => {
                        Err(Error::data(format!("axis {axis} has {} items; squeeze takes away axes of one", partition.row_length(row)))
                            .at_row(record_of(&whole, *axis, row)))
                    }
                }
            })
        })
    })
}

fn merge_dims(call: &mut Call) -> Bind<ItemKind> {
    let x = call.any(0)?;
    let (outer, inner) = (call.int(1)?, call.int(2)?);
    let (outer, inner) = (call.axis(1, outer, x.rank())?, call.axis(2, inner, x.rank())?);
    if outer > inner {
        return Err(call.problem(format!("outer_axis {outer} lies below inner_axis {inner}")));
    }
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

fn like(call: &mut Call, ones: bool) -> Bind<ItemKind> {
    let x = call.tensor(0)?;
    let dtype = call.dtype(1)?.unwrap_or(x.dtype()?.clone());
    let literal = match (&dtype, ones) {
        (DType::Bool, _) => Literal::Bool(ones),
        (DType::String | DType::Bytes, true) => return Err(call.problem("there is no one among strings")),
        (_, true) => Literal::Int(1),
        (_, false) => constant::zero(&dtype)?,
    };
    let one = constant::leaf(&[&literal], &dtype)?;
    unary(call, x, dtype, move |a| crate::tensor::gather::take(&one, &vec![0; a.len()]))
}

fn reshape(call: &mut Call) -> Bind<ItemKind> {
    let x = call.any(0)?;
    let shape = call.ints(1)?.ok_or_else(|| call.problem("reshape needs a shape"))?;
    if shape.iter().filter(|n| **n < 0).count() > 1 || shape.iter().any(|n| *n < -1) {
        return Err(Problem::at(call.item(1)?.span.clone(), "one size at most may be open, written -1"));
    }
    let known = shape.iter().filter(|n| **n >= 0).try_fold(1usize, |all, n| all.checked_mul(usize::try_from(*n).ok()?));
    let known = known.ok_or_else(|| call.problem("the shape is too large"))?;
    let total = merged_dim(&x.ty.dims, true);
    let mut dims = Vec::with_capacity(shape.len());
    for size in &shape {
        dims.push(match (u64::try_from(*size), total.size) {
            (Ok(n), _) => Dim::known(n),
            (Err(_), Size::Known(all)) if known > 0 && all % known as u64 == 0 => Dim::known(all / known as u64),
            _ => Dim::UNIFORM,
        });
    }
    if let Size::Known(all) = total.size
        && !x.ty.dims.is_empty()
        && (if shape.contains(&-1) { known == 0 || all % known as u64 != 0 } else { all != known as u64 })
    {
        return Err(call.problem(format!("{all} values do not fill the shape {shape:?}")));
    }
    let ty = Type { dims: dims.clone(), ..x.ty.clone() };
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let whole = merged(&tensor, 0, x.rank())?;
        let (_, below) = tensor.levels(x.rank())?;
        let mut open = Vec::with_capacity(whole.nrows());
        for record in 0..whole.nrows() {
            let n = whole.row_length(record);
            let fits = if shape.contains(&-1) { known > 0 && n % known == 0 } else { n == known };
            if !fits {
                return Err(Error::data(format!("{n} values do not fill the shape {shape:?}")).at_row(record));
            }
            open.push(n.checked_div(known).unwrap_or(0));
        }
        let mut partitions = Vec::with_capacity(shape.len());
        let mut records: Vec<usize> = (0..whole.nrows()).collect();
        for (size, dim) in shape.iter().zip(&dims) {
            let lengths: Vec<usize> = records.iter().map(|r| usize::try_from(*size).unwrap_or(open[*r])).collect();
            records = records.iter().zip(&lengths).flat_map(|(r, n)| std::iter::repeat_n(*r, *n)).collect();
            partitions.push(match dim.size {
                Size::Known(n) => RowPartition::uniform(n as usize, lengths.len())?,
                _ => from_lengths(lengths)?,
            });
        }
        wrap(partitions.into_iter(), below.clone())
    })
}

fn broadcast_to(call: &mut Call) -> Bind<ItemKind> {
    let x = call.tensor(0)?;
    let shape = call.ints(1)?.ok_or_else(|| call.problem("broadcast_to needs a shape"))?;
    let sizes =
        shape.iter().map(|n| u64::try_from(*n).map_err(|_| call.problem(format!("the size {n} is negative")))).collect::<Bind<Vec<_>>>()?;
    if sizes.iter().try_fold(1u64, |all, n| all.checked_mul(*n)).is_none_or(|n| n > 1 << 28) {
        return Err(call.problem("the result would have more than 2^28 values"));
    }
    let target: Vec<Dim> = sizes.iter().map(|n| Dim::known(*n)).collect();
    let dims = crate::expr::types::broadcast(&[&x.ty.dims, &target])?;
    if dims.len() != target.len() || dims.iter().zip(&target).any(|(a, b)| a.size != b.size && a.size != Size::Ragged) {
        return Err(call.problem(format!(
            "{} can't be broadcast to {}",
            crate::expr::types::shape(&x.ty.dims),
            crate::expr::types::shape(&target)
        )));
    }
    let ty = Type { dims, ..x.ty.clone() };
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let mut count = args.nrows;
        let partitions = sizes
            .iter()
            .map(|n| {
                let p = RowPartition::uniform(*n as usize, count)?;
                count = p.nvals();
                Ok(p)
            })
            .collect::<Result<Vec<_>>>()?;
        let frame = wrap(partitions.into_iter(), Tensor::Leaf(crate::expr::kernels::segment::ones(count)))?;
        let aligned = crate::expr::kernels::broadcast::align(&[(&frame, &target), (&tensor, &x.ty.dims)])?;
        let flat = aligned.flat(1, &tensor, x.rank())?;
        aligned.wrap(flat)
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
    let parts: Vec<Option<usize>> = match crate::expr::call::static_int(&item) {
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
    let equal = crate::expr::call::static_int(&item).is_some();
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

fn one_hot(call: &mut Call) -> Bind<ItemKind> {
    let x = call.integers(0)?;
    let depth = call.int(1)?;
    let depth = usize::try_from(depth).map_err(|_| call.problem(format!("the depth {depth} is negative")))?;
    let axis = call.optional_int(4)?.unwrap_or(-1);
    if axis != -1 && positive_axis(axis, x.rank() + 1) != Some(x.rank()) {
        return Err(call.problem("one_hot puts the new axis last"));
    }
    let item = |i: usize, default: i128, call: &Call| {
        call.given(i).cloned().unwrap_or(Item { kind: ItemKind::Literal(Literal::Int(default)), span: call.span.clone() })
    };
    let (on, off) = (item(2, 1, call), item(3, 0, call));
    let dtype = call.dtype(5)?.or_else(|| [&on, &off].iter().find_map(|i| i.node().and_then(|n| n.ty.dtype().cloned())));
    let dtype = match dtype {
        Some(dtype) => dtype,
        None if call.given(2).is_some() || call.given(3).is_some() => {
            constant::own_dtype(&[on.literal(), off.literal()].into_iter().flatten().collect::<Vec<_>>())?
        }
        None => DType::Float32,
    };
    let values = [&on, &off]
        .iter()
        .map(|i| {
            let literal = i.literal().ok_or_else(|| Problem::at(i.span.clone(), "expected a literal"))?;
            let literal = match (&dtype, &literal) {
                (DType::Bool, Literal::Int(n)) => Literal::Bool(*n != 0),
                _ => literal,
            };
            constant::leaf(&[&literal], &dtype).map_err(|e| e.or_at(i.span.clone()))
        })
        .collect::<Bind<Vec<_>>>()?;
    let both = crate::tensor::concat::concat_leaves(&values.iter().collect::<Vec<_>>())?;
    let mut ty = with_dtype(&x.ty, dtype);
    ty.dims.push(Dim::known(depth as u64));
    call.one(ty, move |args| {
        x.of(args)?.map_below(x.rank(), &mut |t| {
            let indices = crate::expr::kernels::cast::i64s(t.as_leaf()?)?;
            check_count(indices.len().checked_mul(depth), 0)?;
            let mut places = vec![1usize; indices.len() * depth];
            for (i, index) in indices.iter().enumerate() {
                if let Some(k) = usize::try_from(*index).ok().filter(|k| *k < depth) {
                    places[i * depth + k] = 0;
                }
            }
            let values = Tensor::Leaf(crate::tensor::gather::take(&both, &places)?);
            Tensor::list(RowPartition::uniform(depth, indices.len())?, values, None)
        })
    })
}

/// Rows and columns of two dense matrices in each record.
fn matmul(call: &mut Call) -> Bind<ItemKind> {
    use crate::expr::kernels::cast::native;
    use crate::expr::kernels::number::{Number, numbers};
    use arrow_array::{ArrayRef, PrimitiveArray};
    let (ta, tb) = (call.flag(2, false)?, call.flag(3, false)?);
    let mut args = call.promoted(&[0, 1])?;
    for (i, transposed) in [(0, ta), (1, tb)] {
        if args[i].rank() != 2 || last_ragged(&args[i].ty.dims).is_some() {
            return Err(Problem::at(args[i].span.clone(), format!("{} works on dense matrices; this is {}", call.name, args[i].ty)));
        }
        if transposed {
            args[i].ty.dims.reverse();
        }
    }
    let dtype = args[0].dtype()?.clone();
    if !dtype.is_number() {
        return Err(call.problem(format!("{} works on numbers; these are {dtype}", call.name)));
    }
    if let (Size::Known(m), Size::Known(n)) = (args[0].ty.dims[1].size, args[1].ty.dims[0].size)
        && m != n
    {
        return Err(call.problem(format!("rows of {m} items do not meet columns of {n}")));
    }
    let dims = vec![args[0].ty.dims[0].clone(), args[1].ty.dims[1].clone()];
    call.one(Type::tensor(dtype.clone(), dims.clone()), move |a| {
        let (x, y) = (args[0].of(a)?, args[1].of(a)?);
        let (sx, sy) = (super::decompose::bounding(&x, 2)?, super::decompose::bounding(&y, 2)?);
        let ((px, vx), (py, vy)) = (x.levels(2)?, y.levels(2)?);
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        let mut out = Vec::new();
        for record in 0..a.nrows {
            let (mut m, mut k) = (sx[0][record], sx[1][record]);
            let (mut k2, mut n) = (sy[0][record], sy[1][record]);
            if ta {
                std::mem::swap(&mut m, &mut k);
            }
            if tb {
                std::mem::swap(&mut k2, &mut n);
            }
            if k != k2 {
                return Err(Error::data(format!("rows of {k} items do not meet columns of {k2}")).at_row(record));
            }
            check_count(m.checked_mul(n).and_then(|c| c.checked_add(out.len())), record)?;
            let (bx, by) = (px[1].start(px[0].start(record)), py[1].start(py[0].start(record)));
            for i in 0..m {
                for j in 0..n {
                    let at_x = move |l: usize| bx + if ta { l * m + i } else { i * k + l };
                    let at_y = move |l: usize| by + if tb { j * k + l } else { l * n + j };
                    out.push((at_x(0), if k > 1 { at_x(1) - at_x(0) } else { 0 }, at_y(0), if k > 1 { at_y(1) - at_y(0) } else { 0 }, k));
                }
            }
            rows.push(m);
            columns.extend(std::iter::repeat_n(n, m));
        }
        let flat = numbers!(&dtype, T => {
            let (p, q) = (native::<T>(vx.as_leaf()?)?, native::<T>(vy.as_leaf()?)?);
            let values: Vec<_> = out
                .iter()
                .map(|(x, dx, y, dy, k)| (0..*k).fold(<T as Number>::ZERO, |sum, l| <T as Number>::add(sum, <T as Number>::multiply(p[x + l * dx], q[y + l * dy]))))
                .collect();
            std::sync::Arc::new(PrimitiveArray::<T>::new(values.into(), None)) as ArrayRef
        }, return Err(Error::data("internal: a product of other values")));
        wrap([from_lengths(rows)?, from_lengths(columns)?].into_iter(), Tensor::Leaf(flat))
    })
}

fn transpose(call: &mut Call) -> Bind<ItemKind> {
    let x = call.any(0)?;
    if x.ty.is_sparse() {
        return Err(Problem::at(x.span.clone(), "this is a sparse tensor").help("sparse.transpose(x)"));
    }
    if let Some(axis) = last_ragged(&x.ty.dims) {
        return Err(Problem::at(x.span.clone(), format!("transpose works on dense tensors; axis {axis} of this is ragged")));
    }
    let rank = x.rank();
    let perm = match call.ints(1)? {
        None => (0..rank).rev().collect::<Vec<_>>(),
        Some(perm) => perm.into_iter().map(|a| call.axis(1, a, rank)).collect::<Bind<Vec<_>>>()?,
    };
    let mut sorted = perm.clone();
    sorted.sort_unstable();
    if sorted != (0..rank).collect::<Vec<_>>() {
        return Err(call.problem(format!("{perm:?} does not name each of the {rank} axes once")));
    }
    let mut ty = x.ty.clone();
    ty.dims = perm.iter().map(|a| x.ty.dims[*a].clone()).collect();
    let dims = ty.dims.clone();
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let sizes = super::decompose::bounding(&tensor, rank)?;
        let whole = merged(&tensor, 0, rank)?;
        let (_, below) = tensor.levels(rank)?;
        let mut places = Vec::with_capacity(whole.nvals());
        for record in 0..args.nrows {
            let shape: Vec<usize> = sizes.iter().map(|s| s[record]).collect();
            let total = whole.row_length(record);
            let mut strides = vec![1usize; rank];
            for axis in (0..rank.saturating_sub(1)).rev() {
                strides[axis] = strides[axis + 1] * shape[axis + 1];
            }
            let mut index = vec![0usize; rank];
            for _ in 0..total {
                places.push(whole.start(record) + perm.iter().zip(&index).map(|(a, i)| strides[*a] * i).sum::<usize>());
                for axis in (0..rank).rev() {
                    index[axis] += 1;
                    if index[axis] < shape[perm[axis]] {
                        break;
                    }
                    index[axis] = 0;
                }
            }
        }
        let mut partitions = Vec::with_capacity(rank);
        let mut records: Vec<usize> = (0..args.nrows).collect();
        for (a, dim) in perm.iter().zip(&dims) {
            let lengths: Vec<usize> = records.iter().map(|r| sizes[*a][*r]).collect();
            records = records.iter().zip(&lengths).flat_map(|(r, n)| std::iter::repeat_n(*r, *n)).collect();
            partitions.push(match dim.size {
                Size::Known(n) => RowPartition::uniform(n as usize, lengths.len())?,
                _ => from_lengths(lengths)?,
            });
        }
        wrap(partitions.into_iter(), below.gather(&places)?)
    })
}
