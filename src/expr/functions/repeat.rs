//! Repeating, tiling and reversing along axes.
//!
//! Semantics: `tf.tile`, `tf.repeat`, `tf.broadcast_to`, `tf.reverse`.

use crate::error::{Error, Result};
use crate::expr::call::{Call, Function, Integer, static_int};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::broadcast::to_shape;
use crate::expr::kernels::cast::i64s;
use crate::expr::kernels::level::{from_lengths, merged};
use crate::expr::kernels::slice::{self, Slice};
use crate::expr::operand::OperandKind;
use crate::expr::types::{self, broadcast, last_ragged, merged_dim};
use crate::printable::{counted, counted_axes};
use crate::schema::{Dim, Size, Type};
use crate::tensor::limits::{MAX_VALUES, TOO_MANY_VALUES, check_count};
use crate::tensor::{RowPartition, Tensor};
use std::borrow::Cow;
use std::ops::Range;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["tile", "manip.tile"],
        "input|x, multiples",
        "Repeat the tensor along each axis.",
        [("tile(ragged.constant([[3, 1], []]), [1, 2])", "[[3, 1, 3, 1], []]")],
        tile
    ),
    function!(
        ["repeat"],
        "input|x, repeats, axis=None",
        "Repeat the items of an axis.",
        [("repeat([1, 2], 2, axis=0)", "[1, 1, 2, 2]"), ("repeat([1, 2, 3], [2, 0, 1], axis=0)", "[1, 1, 3]")],
        repeat
    ),
    function!(
        ["broadcast_to"],
        "input|x, shape",
        "Broadcast to a dense shape.",
        [("broadcast_to([1, 2], [2, 2])", "[[1, 2], [1, 2]]")],
        broadcast_to
    ),
    function!(
        ["reverse", "manip.reverse", "reverse_v2"],
        "tensor|x, axis",
        "Reverse the order of items along axes.",
        [("reverse([[3, 1], [2]], axis=[1])", "[[1, 3], [2]]")],
        |c| {
            let x = c.moved_nested(0)?;
            c.moves_below(&x, 0);
            let axes = c.ints(1)?.ok_or_else(|| c.error("reverse needs its axes"))?;
            // TensorFlow does not check the axes of a scalar.
            let axes = if x.rank() == 0 { Vec::new() } else { axes };
            let mut axes = axes.into_iter().map(|a| c.axis(1, a, x.rank())).collect::<ExprResult<Vec<_>>>()?;
            axes.sort_unstable();
            // A ragged tensor is reversed once along a repeated axis; a dense tensor rejects repeated axes.
            if let Some(w) = axes.windows(2).find(|w| w[0] == w[1] && last_ragged(&x.ty.dims).is_none()) {
                return Err(c.error(format!("reverse: axis {} appears twice", w[0])));
            }
            axes.dedup();
            let back = Slice { start: None, stop: None, step: -1 };
            c.one(x.ty.clone(), move |args| {
                axes.iter().try_fold(x.of(args)?.into_owned(), |tensor, axis| {
                    let reversed = tensor.map_below(*axis, &mut |t| {
                        let list = t.as_list()?;
                        let (partition, values) = slice::each_row(list.partition(), list.values(), back)?;
                        let partition = partition.with_item_sizes(&values, |row, sizes| list.item_sizes(row, sizes));
                        Tensor::list(partition, values, list.validity().cloned())
                    })?;
                    reversed.with_sizes_cut(&tensor, *axis, &|_, size| size)
                })
            })
        }
    ),
];

fn tile(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.moved_nested(0)?;
    call.moves_below(&x, 0);
    let multiples = call.all_integers(1)?;
    let place = call.operand(1)?.span.clone();
    if multiples.len() != x.rank() {
        return Err(ExprError::at(
            place,
            format!("found {} for a tensor with {}", counted(multiples.len() as u64, "multiple"), counted_axes(x.rank())),
        ));
    }
    if let Some(m) = multiples.iter().filter_map(Integer::known).find(|m| *m < 0) {
        return Err(ExprError::at(place, format!("the multiple {m} is negative")));
    }
    let mut ty = x.ty.clone();
    for (dim, m) in ty.dims.iter_mut().zip(&multiples) {
        *dim = times(dim, m);
    }
    call.one(ty, move |args| {
        multiples.iter().enumerate().rev().try_fold(x.of(args)?.into_owned(), |tensor, (axis, m)| {
            if m.known() == Some(1) {
                return Ok(tensor);
            }
            let m = m.of(args)?;
            // A negative multiple is refused where there is a row, and repeats nothing where there is none.
            let resized = |record: usize, size: usize| m.size(record, "the multiple").map_or(0, |m| size.saturating_mul(m));
            repeated_rows(&tensor, axis, &resized, |record, range, places| {
                let m = m.size(record, "the multiple")?;
                check_count(range.len().checked_mul(m).and_then(|n| n.checked_add(places.len())), record)?;
                (0..m).for_each(|_| places.extend(range.clone()));
                Ok(())
            })
        })
    })
}

/// An axis and how often it is repeated.
fn times(dim: &Dim, m: &Integer) -> Dim {
    match (dim.size, m.known().and_then(|m| u64::try_from(m).ok())) {
        (Size::Known(n), Some(m)) => Dim::known(n.saturating_mul(m)),
        (Size::Known(_), None) => Dim::UNIFORM,
        (other, _) => Dim::of(other),
    }
}

/// Replaces the items of each row of `axis`; null rows stay null. `write` gets the record and the items of the row, and appends the new
/// items. `resized` gives the record's size of the axis where it has no rows.
fn repeated_rows(
    tensor: &Tensor,
    axis: usize,
    resized: &dyn Fn(usize, usize) -> usize,
    write: impl Fn(usize, Range<usize>, &mut Vec<usize>) -> Result<()>,
) -> Result<Tensor> {
    let owners = merged(tensor, 0, axis)?;
    let repeated = tensor.map_below(axis, &mut |t| {
        let list = t.as_list()?;
        let partition = list.partition();
        let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(partition.nrows()));
        for record in 0..owners.nrows() {
            for row in owners.range(record) {
                let before = places.len();
                write(record, partition.range(row), &mut places)?;
                lengths.push(places.len() - before);
            }
        }
        let out = match (partition.uniform_row_length(), lengths.first()) {
            (Some(_), Some(first)) if lengths.iter().all(|l| l == first) => RowPartition::uniform(*first, lengths.len())?,
            _ => from_lengths(lengths)?,
        };
        let values = list.values().gather(&places)?;
        Tensor::list(out.with_item_sizes(&values, |row, sizes| list.item_sizes(row, sizes)), values, list.validity().cloned())
    })?;
    repeated.with_sizes_cut(tensor, axis, resized)
}

fn repeat(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.moved_nested(0)?;
    // A scalar is repeated as a vector with one item.
    let axis = match call.optional_int(2)? {
        Some(axis) => call.axis(2, axis, x.rank().max(1))?,
        None => 0,
    };
    if x.rank() == 0 {
        call.makes_items();
    }
    let flattened = x.rank() == 0 || (call.given(2).is_none() && x.rank() > 1);
    if flattened {
        call.plain(&x)?;
    } else {
        call.moves_below(&x, axis + 1);
    }
    let known = static_int(call.operand(1)?);
    let repeats = call.integers(1)?;
    if repeats.rank() > 1 {
        return Err(ExprError::at(
            repeats.span.clone(),
            format!("repeats must be an integer or a vector with one for each item, not {}", repeats.ty),
        ));
    }
    let mut ty = x.ty.clone();
    if flattened {
        // Without an axis, all values form one row.
        ty.dims = vec![merged_dim(&x.ty.dims, true)];
    }
    ty.dims[axis] = match (repeats.rank(), known) {
        (0, Some(m)) => times(&ty.dims[axis], &Integer::Known(m)),
        _ if ty.dims[axis].size == Size::Ragged => Dim::RAGGED,
        _ => Dim::UNIFORM,
    };
    call.one(ty, move |args| {
        let tensor = repeats.of(args)?;
        let (own, numbers) = match &*tensor {
            Tensor::List(list) => (Some(list.partition()), i64s(list.values().as_leaf()?)?),
            other => (None, i64s(other.as_leaf()?)?),
        };
        let whole = x.of(args)?;
        let whole = if flattened {
            let (_, below) = whole.levels(x.rank())?;
            Cow::Owned(Tensor::list(merged(&whole, 0, x.rank())?, below.clone(), None)?)
        } else {
            whole
        };
        let repeats_of = |record: usize| &numbers[own.map_or(record..record + 1, |p| p.range(record))];
        let resized = |record: usize, size: usize| match repeats_of(record) {
            [n] => size.saturating_mul(usize::try_from(*n).unwrap_or(0)),
            all => all.iter().map(|n| usize::try_from(*n).unwrap_or(0)).fold(0, usize::saturating_add),
        };
        repeated_rows(&whole, axis, &resized, |record, range, places| {
            let repeats = repeats_of(record);
            if own.is_some() && repeats.len() != range.len() && repeats.len() != 1 {
                return Err(Error::data(format!(
                    "found {} for {}",
                    counted(repeats.len() as u64, "repeat"),
                    counted(range.len() as u64, "item")
                ))
                .at_row(record));
            }
            for (i, item) in range.enumerate() {
                let n = repeats[if repeats.len() == 1 { 0 } else { i }];
                let n = usize::try_from(n).map_err(|_| Error::data(format!("repeats is {n}; it must not be negative")).at_row(record))?;
                check_count(n.checked_add(places.len()), record)?;
                places.extend(std::iter::repeat_n(item, n));
            }
            Ok(())
        })
    })
}

fn broadcast_to(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.kept(0)?;
    let shape = call.all_integers(1)?;
    let place = call.operand(1)?.span.clone();
    if let Some(n) = shape.iter().filter_map(Integer::known).find(|n| *n < 0) {
        return Err(ExprError::at(place, format!("the size {n} is negative")));
    }
    if shape.iter().filter_map(Integer::known).try_fold(1i64, |all, n| all.checked_mul(n)).is_none_or(|n| n > MAX_VALUES as i64) {
        return Err(call.error(TOO_MANY_VALUES));
    }
    let target: Vec<Dim> = shape.iter().map(Integer::dim).collect();
    let dims = broadcast(&[&x.ty.dims, &target])?;
    let grows = |(a, b): (&Dim, &Dim)| a.size == b.size || a.size == Size::Ragged || b.size == Size::Uniform;
    if dims.len() != target.len() || !dims.iter().zip(&target).all(grows) {
        return Err(call.error(format!("{} cannot be broadcast to {}", types::shape(&x.ty.dims), types::shape(&target))));
    }
    let ty = Type { dims, ..x.ty.clone() };
    call.one(ty, move |args| {
        let sizes = shape.iter().map(|n| n.of(args)).collect::<Result<Vec<_>>>()?;
        to_shape(&*x.of(args)?, &x.ty.dims, &target, args.nrows, |axis, record| sizes[axis].size(record, "the size"))
    })
}
