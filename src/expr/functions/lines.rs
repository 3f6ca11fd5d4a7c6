//! Functions along an axis whose results depend on all values of a line.
//!
//! Semantics: `tf.nn.softmax`, `tf.nn.log_softmax`, `tf.math.cumsum`, `tf.math.cumprod`.

use super::math::floats;
use crate::expr::call::{Arg, Call, Function};
use crate::expr::error::ExprResult;
use crate::expr::kernels::lines::{AlongLine, Line, replaced, replaced_padded};
use crate::expr::kernels::number::Number;
use crate::expr::operand::OperandKind;
use crate::expr::types::last_ragged;
use crate::schema::DType;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["nn.softmax", "math.softmax"],
        "logits|x, axis|dim=-1",
        "Softmax of each row.",
        [("nn.softmax([[0.0, 0.0], [5.0]])", "[[0.5, 0.5], [1.0]]")],
        |c| softmax(c, false)
    ),
    function!(
        ["nn.log_softmax", "math.log_softmax"],
        "logits|x, axis|dim=-1",
        "Logarithm of the softmax of each row.",
        [("nn.log_softmax([[5.0], [-3.0]])", "[[0.0], [0.0]]")],
        |c| softmax(c, true)
    ),
    function!(
        ["math.cumsum", "cumsum"],
        "x, axis=0, exclusive=False, reverse=False",
        "Cumulative sums.",
        [("math.cumsum([1, 2, 3])", "[1, 3, 6]"), ("math.cumsum([[1, 2], [3]], axis=-1)", "[[1, 3], [3]]")],
        |c| running(c, false)
    ),
    function!(
        ["math.cumprod", "cumprod"],
        "x, axis=0, exclusive=False, reverse=False",
        "Cumulative products.",
        [("math.cumprod([1, 2, 3])", "[1, 2, 6]")],
        |c| running(c, true)
    ),
    function!(
        ["math.cumulative_logsumexp"],
        "x, axis=0, exclusive=False, reverse=False",
        "Cumulative log(sum(exp(x))).",
        [("math.cumulative_logsumexp([1.0, 2.0, 3.0])", "[1.0, 2.3132617, 3.407606]")],
        |c| {
            let x = floats(c)?;
            let (exclusive, reverse) = (c.flag(2, false)?, c.flag(3, false)?);
            let axis = axis_of(c, 1, 0, &x)?;
            along(c, x, axis, RunningLogSumExp { exclusive, reverse })
        }
    ),
];

/// The axis given by argument `i`; for a ragged tensor, only the last axis.
///
/// # Errors
/// The axis is out of range, or is not the last axis of a ragged tensor.
pub fn axis_of(call: &Call, i: usize, default: i64, x: &Arg) -> ExprResult<usize> {
    let axis = call.optional_int(i)?.unwrap_or(default);
    let axis = call.axis(i, axis, x.rank())?;
    if axis + 1 < x.rank() && last_ragged(&x.ty.dims).is_some() {
        return Err(call.error(format!("{} of a ragged tensor works along its last axis", call.name)).help("axis=-1"));
    }
    Ok(axis)
}

fn along(call: &mut Call, x: Arg, axis: usize, with: impl AlongLine + 'static) -> ExprResult<OperandKind> {
    call.one(x.ty.clone(), move |args| replaced(&*x.of(args)?, axis, x.rank(), &with))
}

/// Exponentials normalized to a sum of 1, or their logarithms.
pub struct Softmax {
    pub log: bool,
}

fn softmax(call: &mut Call, log: bool) -> ExprResult<OperandKind> {
    let x = floats(call)?;
    if x.rank() == 0 {
        return Err(call.error("softmax works along an axis; a scalar has none"));
    }
    let axis = call.optional_int(1)?.unwrap_or(-1);
    let axis = call.axis(1, axis, x.rank())?;
    if let Some(last) = last_ragged(&x.ty.dims).filter(|last| axis < *last) {
        return Err(call.error(format!("{} works along the last ragged axis, {last}, or along one below it", call.name)));
    }
    along(call, x, axis, Softmax { log })
}

impl AlongLine for Softmax {
    fn line<T: Number>(&self, line: Line, values: &[T::Native], out: &mut [T::Native]) {
        // Rounded to the dtype at each step, as in TensorFlow.
        let most = (0..line.length).fold(f64::NEG_INFINITY, |most, i| most.max(T::to_f64(values[line.at(i)])));
        let scaled = |i: usize| T::of_f64(T::to_f64(values[line.at(i)]) - most);
        for i in 0..line.length {
            out[line.at(i)] = T::of_f64(T::to_f64(scaled(i)).exp());
        }
        let sum = T::to_f64(sum_by_lanes::<T>(line.length, |i| out[line.at(i)]));
        let (log, factor) = (T::of_f64(sum.ln()), T::of_f64(sum.recip()));
        for i in 0..line.length {
            let at = line.at(i);
            out[at] = if self.log { T::subtract(scaled(i), log) } else { T::multiply(out[at], factor) };
        }
    }
}

/// The sum of floats in the order of TensorFlow's vectorized loops, which matters for results near 0: the lanes of a
/// vector register are summed, using four registers in turn, and the remaining values one by one.
fn sum_by_lanes<T: Number>(n: usize, value: impl Fn(usize) -> T::Native) -> T::Native {
    const REGISTERS: usize = 4;
    let width = if size_of::<T::Native>() == 8 { 4 } else { 8 };
    let blocks = n / width;
    let even = blocks / REGISTERS * REGISTERS;
    let mut lanes = [[T::ZERO; 8]; REGISTERS];
    let add = |block: usize, sums: &mut [T::Native; 8]| {
        for (lane, sum) in sums.iter_mut().enumerate().take(width) {
            *sum = T::add(*sum, value(block * width + lane));
        }
    };
    (0..even).for_each(|block| add(block, &mut lanes[block % REGISTERS]));
    let [mut sums, second, third, fourth] = lanes;
    for register in [second, third, fourth] {
        sums.iter_mut().zip(register).for_each(|(sum, other)| *sum = T::add(*sum, other));
    }
    (even..blocks).for_each(|block| add(block, &mut sums));
    let sum = if size_of::<T::Native>() == 2 {
        // float16 is summed across lanes without rounding.
        T::of_f64(sums.iter().map(|sum| T::to_f64(*sum)).sum())
    } else {
        let mut half = width / 2;
        while half > 0 {
            let (low, high) = sums.split_at_mut(half);
            low.iter_mut().zip(high).for_each(|(a, b)| *a = T::add(*a, *b));
            half /= 2;
        }
        sums[0]
    };
    let rest = (blocks * width..n).fold(T::ZERO, |rest, i| T::add(rest, value(i)));
    T::add(rest, sum)
}

struct Running {
    product: bool,
    exclusive: bool,
    reverse: bool,
}

fn running(call: &mut Call, product: bool) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "numbers", DType::is_number)?;
    let (exclusive, reverse) = (call.flag(2, false)?, call.flag(3, false)?);
    let axis = call.optional_int(1)?.unwrap_or(0);
    let axis = call.axis(1, axis, x.rank())?;
    if !product && last_ragged(&x.ty.dims).is_some_and(|last| axis < last) {
        let with = Running { product, exclusive, reverse };
        return call.one(x.ty.clone(), move |args| replaced_padded(&*x.of(args)?, axis, x.rank(), &with));
    }
    let axis = if product { axis_of(call, 1, 0, &x)? } else { axis };
    along(call, x, axis, Running { product, exclusive, reverse })
}

struct RunningLogSumExp {
    exclusive: bool,
    reverse: bool,
}

impl AlongLine for RunningLogSumExp {
    fn line<T: Number>(&self, line: Line, values: &[T::Native], out: &mut [T::Native]) {
        let mut all = f64::NEG_INFINITY;
        for i in 0..line.length {
            let at = line.at(if self.reverse { line.length - 1 - i } else { i });
            let value = T::to_f64(values[at]);
            let (low, high) = if all < value { (all, value) } else { (value, all) };
            // The difference of two equal infinities is NaN.
            let next = if low == high { high + std::f64::consts::LN_2 } else { high + (low - high).exp().ln_1p() };
            let next = T::to_f64(T::of_f64(next));
            out[at] = T::of_f64(if self.exclusive { all } else { next });
            all = next;
        }
    }
}

impl AlongLine for Running {
    fn line<T: Number>(&self, line: Line, values: &[T::Native], out: &mut [T::Native]) {
        let mut all = if self.product { T::ONE } else { T::ZERO };
        for i in 0..line.length {
            let at = line.at(if self.reverse { line.length - 1 - i } else { i });
            let next = if self.product { T::multiply(all, values[at]) } else { T::add(all, values[at]) };
            out[at] = if self.exclusive { all } else { next };
            all = next;
        }
    }
}
