//! The items of axes again and again, or backwards.
//!
//! Source of the meaning: `tf.tile`, `tf.repeat`, `tf.broadcast_to`, `tf.reverse`.

use crate::error::{Error, Result};
use crate::expr::call::{Call, Function, static_int};
use crate::expr::item::ItemKind;
use crate::expr::kernels::broadcast::to_shape;
use crate::expr::kernels::cast::i64s;
use crate::expr::kernels::level::{check_count, from_lengths, merged};
use crate::expr::kernels::slice::{self, Slice};
use crate::expr::problem::{Bind, Problem};
use crate::expr::types::{self, broadcast};
use crate::schema::{Dim, Size, Type};
use crate::tensor::{RowPartition, Tensor};

pub static FUNCTIONS: &[Function] = &[
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
    function!(
        ["broadcast_to"],
        "input|x, shape",
        "Repeated up to a dense shape.",
        [("broadcast_to([1, 2], [2, 2])", "[[1, 2], [1, 2]]")],
        broadcast_to
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
];

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
    let known = static_int(call.item(1)?);
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
        let times = i64s(times.as_leaf()?)?;
        if let Some(row) = times.iter().position(|t| *t < 0) {
            return Err(Error::data(format!("repeats is {}; it can't be negative", times[row])).at_row(row));
        }
        repeated_rows(&*x.of(args)?, axis, |record| times[record] as usize, true)
    })
}

fn broadcast_to(call: &mut Call) -> Bind<ItemKind> {
    let x = call.tensor(0)?;
    let shape = call.ints(1)?.ok_or_else(|| call.problem("broadcast_to needs a shape"))?;
    let sizes = shape
        .iter()
        .map(|n| usize::try_from(*n).map_err(|_| call.problem(format!("the size {n} is negative"))))
        .collect::<Bind<Vec<_>>>()?;
    if sizes.iter().try_fold(1usize, |all, n| all.checked_mul(*n)).is_none_or(|n| n > 1 << 28) {
        return Err(call.problem("the result would have more than 2^28 values"));
    }
    let target: Vec<Dim> = sizes.iter().map(|n| Dim::known(*n as u64)).collect();
    let dims = broadcast(&[&x.ty.dims, &target])?;
    if dims.len() != target.len() || dims.iter().zip(&target).any(|(a, b)| a.size != b.size && a.size != Size::Ragged) {
        return Err(call.problem(format!("{} can't be broadcast to {}", types::shape(&x.ty.dims), types::shape(&target))));
    }
    let ty = Type { dims, ..x.ty.clone() };
    call.one(ty, move |args| to_shape(&*x.of(args)?, &x.ty.dims, &sizes, args.nrows))
}
