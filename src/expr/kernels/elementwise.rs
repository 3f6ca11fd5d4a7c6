//! Arithmetic on flat values: one loop per operation and dtype.
//!
//! Semantics: `tf.math`. Integers wrap around, `//` rounds down, `%` has the sign of the divisor, and NaN
//! propagates through minimum and maximum.

use super::cast::{bools, cast, dtype_of, native};
use super::datum::{Datum, RowError, map, map_slow, texts, zip};
use super::number::{Number, common, numbers, wider};
use super::text::TextBuilder;
use crate::error::{Error, Result};
use crate::schema::DType;
use crate::schema::time::TimeType;
use crate::tensor::time::{ticks, times};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type, Int32Type, Int64Type, UInt8Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, make_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use half::f16;
use std::sync::Arc;

/// Binary operations that keep the dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    /// Floats only.
    Divide,
    DivideNoNan,
    FloorDivide,
    FloorModulo,
    TruncateDivide,
    TruncateModulo,
    Power,
    Minimum,
    Maximum,
    SquaredDifference,
    Atan2,
    LeftShift,
    RightShift,
    BitAnd,
    BitOr,
    BitXor,
}

/// Operations on bools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    And,
    Or,
    Xor,
}

fn whole(e: Error) -> RowError {
    (0, e)
}

/// Computes `a op b` element-wise: `[n]` and `[n]`, or a scalar, of one dtype to `[n]`. Strings are joined by `+`.
/// O(values).
///
/// # Errors
/// Integer division by zero, a negative exponent of an integer, or a shift beyond the width.
pub fn binary(op: Binary, a: Datum, b: Datum) -> Result<ArrayRef, RowError> {
    let dtype = dtype_of(a.array).map_err(whole)?;
    if matches!(dtype, DType::String | DType::Bytes) {
        return join(op, a, b, &dtype);
    }
    if matches!(op, Binary::LeftShift | Binary::RightShift | Binary::BitAnd | Binary::BitOr | Binary::BitXor) {
        let bits = 8 * a.array.data_type().primitive_width().unwrap_or(8) as i64;
        return match dtype {
            DType::Int32 => bitwise::<Int32Type>(op, a, b, bits),
            DType::Int64 => bitwise::<Int64Type>(op, a, b, bits),
            DType::UInt64 => bitwise::<UInt64Type>(op, a, b, bits),
            DType::UInt32 => through(&DType::Int64, a, b, |a, b| bitwise::<Int64Type>(op, a, b, bits)),
            _ if dtype.is_integer() => through(&DType::Int32, a, b, |a, b| bitwise::<Int32Type>(op, a, b, bits)),
            _ => Err(whole(Error::internal(format!("{op:?} of {dtype}")))),
        };
    }
    if let Some(wide) = wider(&dtype) {
        return match op {
            // Rounds after each of two steps, or once from float64.
            Binary::SquaredDifference if dtype.is_float() => {
                let difference = binary(Binary::Subtract, a, b)?;
                let difference = Datum { array: &difference, scalar: false };
                binary(Binary::Multiply, difference, difference)
            }
            // The quotient has the precision of the dtype before it is rounded.
            Binary::FloorDivide if dtype.is_float() => {
                float(Float::Floor, &through(&wide, a, b, |a, b| binary(Binary::Divide, a, b))?).map_err(whole)
            }
            Binary::TruncateDivide if dtype == DType::Float16 => {
                let quotients = through(&wide, a, b, |a, b| binary(Binary::Divide, a, b))?;
                let out = map(native::<Float16Type>(&quotients).map_err(whole)?, |x: f16| f16::from_f32(x.to_f32().trunc()));
                Ok(Arc::new(PrimitiveArray::<Float16Type>::new(out.into(), None)) as ArrayRef)
            }
            Binary::Atan2 => through(&DType::Float64, a, b, |a, b| binary(op, a, b)),
            _ => through(&wide, a, b, |a, b| binary(op, a, b)),
        };
    }
    if matches!(op, Binary::Divide | Binary::DivideNoNan | Binary::Atan2) {
        return match dtype {
            DType::Float32 => of_floats::<Float32Type>(op, a, b),
            DType::Float64 => of_floats::<Float64Type>(op, a, b),
            _ => Err(whole(Error::internal(format!("{op:?} of {dtype}")))),
        };
    }
    common!(&dtype, T => of_numbers::<T>(op, a, b, dtype.is_integer()), Err(whole(Error::internal(format!("{op:?} of {dtype}")))))
}

/// Computes an operation in a wider dtype and casts the result back.
fn through(wide: &DType, a: Datum, b: Datum, f: impl FnOnce(Datum, Datum) -> Result<ArrayRef, RowError>) -> Result<ArrayRef, RowError> {
    let dtype = dtype_of(a.array).map_err(whole)?;
    let (x, y) = (cast(a.array, wide).map_err(whole)?, cast(b.array, wide).map_err(whole)?);
    let out = f(Datum { array: &x, scalar: a.scalar }, Datum { array: &y, scalar: b.scalar })?;
    cast(&out, &dtype).map_err(whole)
}

fn of_numbers<T: Number>(op: Binary, a: Datum, b: Datum, integer: bool) -> Result<ArrayRef, RowError> {
    let x = (native::<T>(a.array).map_err(whole)?, a.scalar);
    let y = (native::<T>(b.array).map_err(whole)?, b.scalar);
    if integer && matches!(op, Binary::FloorDivide | Binary::FloorModulo | Binary::TruncateDivide | Binary::TruncateModulo) {
        let divides = !x.0.is_empty() && !y.0.is_empty();
        if divides && let Some(at) = y.0.iter().position(|v| *v == T::ZERO) {
            return Err((if y.1 { 0 } else { at }, Error::data("integer division by zero")));
        }
    }
    if integer
        && op == Binary::Power
        && !x.0.is_empty()
        && let Some(at) = y.0.iter().position(|v| *v < T::ZERO)
    {
        return Err((
            if y.1 { 0 } else { at },
            Error::data("an integer cannot be raised to a negative power").help("cast(x, float64) first"),
        ));
    }
    let out = match op {
        Binary::Add => zip(x, y, T::add),
        Binary::Subtract => zip(x, y, T::subtract),
        Binary::Multiply => zip(x, y, T::multiply),
        Binary::FloorDivide => zip(x, y, T::floor_divide),
        Binary::FloorModulo => zip(x, y, T::floor_modulo),
        Binary::TruncateDivide => zip(x, y, T::truncated_divide),
        Binary::TruncateModulo => zip(x, y, T::remainder),
        Binary::Power => zip(x, y, T::power),
        Binary::Minimum => zip(x, y, T::minimum),
        Binary::Maximum => zip(x, y, T::maximum),
        Binary::SquaredDifference => zip(x, y, |a, b| {
            let d = T::subtract(a, b);
            T::multiply(d, d)
        }),
        other => return Err(whole(Error::internal(format!("{other:?} of numbers")))),
    };
    Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)))
}

fn of_floats<T: Number>(op: Binary, a: Datum, b: Datum) -> Result<ArrayRef, RowError> {
    let x = (native::<T>(a.array).map_err(whole)?, a.scalar);
    let y = (native::<T>(b.array).map_err(whole)?, b.scalar);
    let out = match op {
        Binary::DivideNoNan => zip(x, y, |a, b| if b == T::ZERO { T::ZERO } else { T::divide(a, b) }),
        Binary::Atan2 => zip(x, y, |a, b| T::of_f64(T::to_f64(a).atan2(T::to_f64(b)))),
        _ => zip(x, y, T::divide),
    };
    Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)))
}

/// Values with `bits` bits each.
fn bitwise<T: Number + super::cast::Convert>(op: Binary, a: Datum, b: Datum, bits: i64) -> Result<ArrayRef, RowError> {
    let x = (native::<T>(a.array).map_err(whole)?, a.scalar);
    let y = (native::<T>(b.array).map_err(whole)?, b.scalar);
    // As in TensorFlow, a shift is clamped to the width.
    let is_unsigned = T::LOWEST == T::ZERO;
    let shift = |b: T::Native| match T::bits64(b) {
        count if is_unsigned && count < 0 => bits as u32 - 1,
        count => count.clamp(0, bits - 1) as u32,
    };
    let out = match op {
        Binary::LeftShift => zip(x, y, |a, b| T::from_bits64(T::bits64(a).wrapping_shl(shift(b)))),
        Binary::RightShift if is_unsigned => zip(x, y, |a, b| T::from_bits64((T::bits64(a) as u64).wrapping_shr(shift(b)) as i64)),
        Binary::RightShift => zip(x, y, |a, b| T::from_bits64(T::bits64(a).wrapping_shr(shift(b)))),
        Binary::BitAnd => zip(x, y, |a, b| T::from_bits64(T::bits64(a) & T::bits64(b))),
        Binary::BitOr => zip(x, y, |a, b| T::from_bits64(T::bits64(a) | T::bits64(b))),
        _ => zip(x, y, |a, b| T::from_bits64(T::bits64(a) ^ T::bits64(b))),
    };
    Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)))
}

/// Concatenates strings element-wise.
fn join(op: Binary, a: Datum, b: Datum, dtype: &DType) -> Result<ArrayRef, RowError> {
    if op != Binary::Add {
        return Err(whole(Error::internal(format!("{op:?} of {dtype}"))));
    }
    let (x, y) = (texts(a).map_err(whole)?, texts(b).map_err(whole)?);
    let len = if a.scalar { b.array.len() } else { a.array.len() };
    let mut out = TextBuilder::with_capacity(len, 0);
    for i in 0..len {
        out.bytes.extend_from_slice(x(i));
        out.push(y(i));
    }
    out.finish(dtype).map_err(whole)
}

/// Computes `a op b` on bools: `[n]` and `[n]`, or a scalar, to `[n]`. Source: `tf.math.logical_and`, `logical_or`,
/// `logical_xor`. O(values), 64 at a time.
///
/// # Errors
/// Other dtypes, which is a bug.
pub fn logic(op: Logic, a: Datum, b: Datum) -> Result<ArrayRef> {
    let (x, y) = (bools(a.array)?, bools(b.array)?);
    let len = if a.scalar { y.len() } else { x.len() };
    let spread = |bits: &BooleanBuffer, scalar: bool| {
        if scalar && len != 1 { BooleanBuffer::collect_bool(len, |_| bits.value(0)) } else { bits.clone() }
    };
    let (x, y) = (spread(x, a.scalar), spread(y, b.scalar));
    let bits = match op {
        Logic::And => &x & &y,
        Logic::Or => &x | &y,
        Logic::Xor => &x ^ &y,
    };
    Ok(Arc::new(BooleanArray::new(bits, None)))
}

/// Unary operations on integers and floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Negative,
    Absolute,
    Sign,
    Square,
    Relu,
    Relu6,
    Invert,
    /// Halves to even; integers are unchanged.
    Round,
}

/// Computes `op a` element-wise.
///
/// # Errors
/// Other dtypes, which is a bug.
pub fn unary(op: Unary, array: &ArrayRef) -> Result<ArrayRef> {
    let dtype = dtype_of(array)?;
    if op == Unary::Round {
        return if dtype.is_integer() { Ok(array.clone()) } else { float(Float::Rint, array) };
    }
    if dtype == DType::Bool {
        let bits = bools(array)?;
        return Ok(Arc::new(BooleanArray::new(!bits, None)));
    }
    let wrong = || Error::internal(format!("{op:?} of {dtype}"));
    if let Some(wide) = wider(&dtype).filter(|_| op != Unary::Invert || dtype.is_integer()) {
        return cast(&unary(op, &cast(array, &wide)?)?, &dtype);
    }
    if op == Unary::Invert {
        fn inverted<T: ArrowPrimitiveType<Native: std::ops::Not<Output = T::Native>>>(array: &ArrayRef) -> Result<ArrayRef> {
            let out = map(native::<T>(array)?, |v| !v);
            Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)))
        }
        return match dtype {
            DType::UInt8 => inverted::<UInt8Type>(array),
            DType::Int32 => inverted::<Int32Type>(array),
            DType::Int64 => inverted::<Int64Type>(array),
            DType::UInt64 => inverted::<UInt64Type>(array),
            _ => Err(wrong()),
        };
    }
    common!(&dtype, T => unary_number::<T>(op, array), Err(wrong()))
}

fn unary_number<T: Number>(op: Unary, array: &ArrayRef) -> Result<ArrayRef> {
    let values = native::<T>(array)?;
    let out: Vec<T::Native> = match op {
        Unary::Negative => map(values, T::negative),
        Unary::Absolute => map(values, T::absolute),
        Unary::Sign => map(values, T::sign),
        Unary::Square => map(values, |v| T::multiply(v, v)),
        Unary::Relu => map(values, |v| if v < T::ZERO { T::ZERO } else { v }),
        Unary::Relu6 => {
            let six = T::of_f64(6.0);
            map(values, |v| {
                if v < T::ZERO {
                    T::ZERO
                } else if v > six {
                    six
                } else {
                    v
                }
            })
        }
        Unary::Invert | Unary::Round => return Err(Error::internal("not here")),
    };
    Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)))
}

/// Operations on floats that keep the dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Float {
    Floor,
    Ceil,
    Rint,
    Exp,
    Expm1,
    Log,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Sqrt,
    Rsqrt,
    Reciprocal,
    Sigmoid,
    LogSigmoid,
    Softplus,
    Softsign,
    Elu,
    Selu,
    Erf,
    Erfc,
    Lgamma,
}

/// The factors of the scaled exponential linear unit above and below 0.
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_ALPHA: f64 = 1.758_099_340_847_376_9;

/// Subnormal results become 0, as in TensorFlow, whose threads flush them.
macro_rules! flushed {
    ($t:ty, $x:expr) => {{
        let x: $t = $x;
        if x.abs() < <$t>::MIN_POSITIVE { 0.0 } else { x }
    }};
}

macro_rules! float_loop {
    ($op:expr, $values:expr, $t:ty, $erf:path, $erfc:path, $lgamma:expr) => {{
        let v = $values;
        match $op {
            Float::Floor => map(v, <$t>::floor),
            Float::Ceil => map(v, <$t>::ceil),
            Float::Rint => map(v, <$t>::round_ties_even),
            Float::Exp => map_slow(v, |x| flushed!($t, x.exp())),
            Float::Expm1 => map_slow(v, <$t>::exp_m1),
            Float::Log => map_slow(v, <$t>::ln),
            Float::Log1p => map_slow(v, <$t>::ln_1p),
            Float::Sin => map_slow(v, <$t>::sin),
            Float::Cos => map_slow(v, <$t>::cos),
            Float::Tan => map_slow(v, <$t>::tan),
            Float::Asin => map_slow(v, <$t>::asin),
            Float::Acos => map_slow(v, <$t>::acos),
            Float::Atan => map_slow(v, <$t>::atan),
            Float::Sinh => map_slow(v, <$t>::sinh),
            Float::Cosh => map_slow(v, <$t>::cosh),
            Float::Tanh => map_slow(v, <$t>::tanh),
            // Avoids overflow of 2x.
            Float::Asinh => {
                map_slow(v, |x| if x.abs() > 1e9 { (x.abs().ln() + std::f64::consts::LN_2 as $t).copysign(x) } else { x.asinh() })
            }
            Float::Acosh => map_slow(v, |x: $t| {
                // Near 1, the digits of the distance from 1 count.
                let above = x - 1.0;
                match x {
                    x if x < 1.0 => <$t>::NAN,
                    x if x > 1e9 => x.ln() + std::f64::consts::LN_2 as $t,
                    _ => (above + (above * (above + 2.0)).sqrt()).ln_1p(),
                }
            }),
            // The logarithm of the library loses digits near -1.
            Float::Atanh => map_slow(v, |x: $t| x.abs().atanh().copysign(x)),
            Float::Sqrt => map(v, <$t>::sqrt),
            Float::Rsqrt => map(v, |x| 1.0 / x.sqrt()),
            Float::Reciprocal => map(v, <$t>::recip),
            Float::Sigmoid => map_slow(v, |x| if x.is_nan() { x } else { flushed!($t, 1.0 / (1.0 + (-x).exp())) }),
            Float::LogSigmoid => map_slow(v, |x| if x.is_nan() { x } else { -flushed!($t, (-x).max(0.0) + (-x.abs()).exp().ln_1p()) }),
            Float::Softplus => map_slow(v, |x| if x.is_nan() { x } else { flushed!($t, x.max(0.0) + (-x.abs()).exp().ln_1p()) }),
            Float::Softsign => map(v, |x| x / (1.0 + x.abs())),
            // Not `exp_m1`: TensorFlow rounds the exponential.
            Float::Elu => map_slow(v, |x| if x < 0.0 { x.exp() - 1.0 } else { x }),
            Float::Selu => map_slow(v, |x| if x < 0.0 { SELU_ALPHA as $t * (x.exp() - 1.0) } else { SELU_SCALE as $t * x }),
            Float::Erf => map_slow(v, $erf),
            Float::Erfc => map_slow(v, |x| flushed!($t, $erfc(x))),
            Float::Lgamma => map_slow(v, $lgamma),
        }
    }};
}

/// Computes `op a` element-wise, in the same dtype; float16 is computed in float32. Source: `tf.math`, `tf.nn`. O(values).
///
/// # Errors
/// Other dtypes, which is a bug.
pub fn float(op: Float, array: &ArrayRef) -> Result<ArrayRef> {
    match dtype_of(array)? {
        DType::Float64 => {
            let out = float_loop!(op, native::<Float64Type>(array)?, f64, libm::erf, libm::erfc, libm::lgamma);
            Ok(Arc::new(PrimitiveArray::<Float64Type>::new(out.into(), None)))
        }
        DType::Float32 => {
            let out =
                float_loop!(op, native::<Float32Type>(array)?, f32, libm::erff, libm::erfcf, |x: f32| libm::lgamma(f64::from(x)) as f32);
            Ok(Arc::new(PrimitiveArray::<Float32Type>::new(out.into(), None)))
        }
        DType::Float16 if matches!(op, Float::Elu | Float::Selu) => {
            // Rounded at each step, as in TensorFlow.
            let values = native::<Float16Type>(array)?;
            let scaled = |scale: f64, x: f16| if op == Float::Selu { f16::from_f64(scale) * x } else { x };
            let out = map_slow(values, |x| {
                if x < f16::ZERO { scaled(SELU_ALPHA, f16::from_f32(x.to_f32().exp()) - f16::ONE) } else { scaled(SELU_SCALE, x) }
            });
            Ok(Arc::new(PrimitiveArray::<Float16Type>::new(out.into(), None)))
        }
        DType::Float16 => cast(&float(op, &cast(array, &DType::Float32)?)?, &DType::Float16),
        other => Err(Error::internal(format!("{op:?} of {other}"))),
    }
}

/// The values of `a` where `condition` is true, else those of `b`, and their nulls: `[n]`, where each operand is `[n]` or a scalar.
/// Source: `tf.where`. O(values).
///
/// # Errors
/// Different dtypes, which is a bug.
pub fn choose(condition: Datum, a: Datum, b: Datum) -> Result<ArrayRef> {
    if TimeType::of(a.array.data_type()).is_some() && a.array.data_type() == b.array.data_type() {
        let counts: [ArrayRef; 2] = [Arc::new(ticks(a.array)?), Arc::new(ticks(b.array)?)];
        let [x, y] = [Datum { array: &counts[0], scalar: a.scalar }, Datum { array: &counts[1], scalar: b.scalar }];
        return times(choose(condition, x, y)?.as_primitive(), a.array.data_type());
    }
    let len = [condition, a, b].iter().filter(|o| !o.scalar).map(|o| o.array.len()).max().unwrap_or(0);
    let bits = match bools(condition.array)? {
        bit if condition.scalar => &BooleanBuffer::collect_bool(len, |_| bit.value(0)),
        bits => bits,
    };
    let chosen = chosen(bits, a, b)?;
    if a.array.null_count() == 0 && b.array.null_count() == 0 {
        return Ok(chosen);
    }
    let is_valid = |of: Datum, k: usize| of.array.is_valid(if of.scalar { 0 } else { k });
    let valid = BooleanBuffer::collect_bool(len, |k| is_valid(if bits.value(k) { a } else { b }, k));
    let data = chosen.to_data().into_builder().nulls(Some(NullBuffer::new(valid))).build();
    data.map(make_array).map_err(|e| Error::internal(e.to_string()))
}

/// The values of `a` where the bit is set, else those of `b`, also below nulls.
fn chosen(bits: &BooleanBuffer, a: Datum, b: Datum) -> Result<ArrayRef> {
    let (dtype, len) = (dtype_of(a.array)?, bits.len());
    let (i, j) = (|k: usize| if a.scalar { 0 } else { k }, |k: usize| if b.scalar { 0 } else { k });
    match dtype {
        DType::Bool => {
            let (x, y) = (bools(a.array)?, bools(b.array)?);
            Ok(Arc::new(BooleanArray::new(
                BooleanBuffer::collect_bool(len, |k| if bits.value(k) { x.value(i(k)) } else { y.value(j(k)) }),
                None,
            )))
        }
        DType::String | DType::Bytes => {
            let (x, y) = (texts(a)?, texts(b)?);
            let mut out = TextBuilder::with_capacity(len, 0);
            (0..len).for_each(|k| out.push(if bits.value(k) { x(k) } else { y(k) }));
            out.finish(&dtype)
        }
        _ => numbers!(&dtype, T => {
            let (x, y) = (native::<T>(a.array)?, native::<T>(b.array)?);
            let mut out = vec![<T as Number>::ZERO; len];
            for (k, o) in out.iter_mut().enumerate() {
                *o = if bits.value(k) { x[i(k)] } else { y[j(k)] };
            }
            Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)) as ArrayRef)
        }, Err(Error::internal(format!("a choice of {dtype}")))),
    }
}
