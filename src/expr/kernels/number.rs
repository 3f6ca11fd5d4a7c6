//! The numeric types that kernels work on, and the dispatch from dtypes to them.

use crate::schema::DType;
use arrow_array::ArrowPrimitiveType;
use arrow_array::types::*;
use half::f16;

/// A native number with TensorFlow's arithmetic: integers wrap around, floor division rounds down, NaN propagates.
pub trait Number: ArrowPrimitiveType<Native: Copy + PartialEq + PartialOrd + Send + Sync + 'static> + 'static {
    const ZERO: Self::Native;
    const ONE: Self::Native;
    /// The smallest finite value.
    const LOWEST: Self::Native;
    /// The largest finite value.
    const HIGHEST: Self::Native;
    /// The identity of maximum: minus infinity for floats.
    const BOTTOM: Self::Native;
    /// The identity of minimum.
    const TOP: Self::Native;
    /// The smallest magnitude that TensorFlow keeps; smaller results of special functions become 0.
    const TINIEST: f64;
    /// Whether sums wrap around, so that order does not matter.
    const WRAPS: bool;
    fn add(a: Self::Native, b: Self::Native) -> Self::Native;
    fn subtract(a: Self::Native, b: Self::Native) -> Self::Native;
    fn multiply(a: Self::Native, b: Self::Native) -> Self::Native;
    /// Rounded towards minus infinity. Integers: `b` is not 0.
    fn floor_divide(a: Self::Native, b: Self::Native) -> Self::Native;
    /// With the sign of `b`. Integers: `b` is not 0.
    fn floor_modulo(a: Self::Native, b: Self::Native) -> Self::Native;
    /// Rounded towards zero for integers, where `b` is not 0.
    fn divide(a: Self::Native, b: Self::Native) -> Self::Native;
    /// Rounded towards zero. Integers: `b` is not 0.
    fn truncated_divide(a: Self::Native, b: Self::Native) -> Self::Native;
    /// With the sign of `a`. Integers: `b` is not 0.
    fn remainder(a: Self::Native, b: Self::Native) -> Self::Native;
    /// Integers: `b` is not negative.
    fn power(a: Self::Native, b: Self::Native) -> Self::Native;
    /// The first of equal values, such as 0.0 and -0.0, as in TensorFlow's scalar loops; its vectorized loops, whose results
    /// would depend on the place of a value, take the second. A NaN stays.
    fn minimum(a: Self::Native, b: Self::Native) -> Self::Native;
    /// See [`Number::minimum`].
    fn maximum(a: Self::Native, b: Self::Native) -> Self::Native;
    fn negative(a: Self::Native) -> Self::Native;
    fn absolute(a: Self::Native) -> Self::Native;
    fn sign(a: Self::Native) -> Self::Native;
    fn to_f64(a: Self::Native) -> f64;
    fn of_f64(a: f64) -> Self::Native;
    /// Total order, NaN last.
    fn order(a: &Self::Native, b: &Self::Native) -> std::cmp::Ordering;
}

macro_rules! integer {
    ($arrow:ty, $native:ty, $signed:literal) => {
        impl Number for $arrow {
            const ZERO: $native = 0;
            const ONE: $native = 1;
            const LOWEST: $native = <$native>::MIN;
            const HIGHEST: $native = <$native>::MAX;
            const BOTTOM: $native = <$native>::MIN;
            const TOP: $native = <$native>::MAX;
            const TINIEST: f64 = 0.0;
            const WRAPS: bool = true;
            #[inline]
            fn add(a: $native, b: $native) -> $native {
                a.wrapping_add(b)
            }
            #[inline]
            fn subtract(a: $native, b: $native) -> $native {
                a.wrapping_sub(b)
            }
            #[inline]
            fn multiply(a: $native, b: $native) -> $native {
                a.wrapping_mul(b)
            }
            #[inline]
            fn floor_divide(a: $native, b: $native) -> $native {
                let quotient = a.wrapping_div(b);
                #[allow(unused_comparisons)]
                if $signed && (a.wrapping_rem(b) != 0) && ((a < 0) != (b < 0)) { quotient.wrapping_sub(1) } else { quotient }
            }
            #[inline]
            fn floor_modulo(a: $native, b: $native) -> $native {
                let rest = a.wrapping_rem(b);
                #[allow(unused_comparisons)]
                if $signed && rest != 0 && ((rest < 0) != (b < 0)) { rest.wrapping_add(b) } else { rest }
            }
            #[inline]
            fn divide(a: $native, b: $native) -> $native {
                a.wrapping_div(b)
            }
            #[inline]
            fn truncated_divide(a: $native, b: $native) -> $native {
                a.wrapping_div(b)
            }
            #[inline]
            fn remainder(a: $native, b: $native) -> $native {
                a.wrapping_rem(b)
            }
            #[inline]
            fn power(a: $native, b: $native) -> $native {
                let (mut base, mut exponent, mut out) = (a, b, 1 as $native);
                #[allow(unused_comparisons)]
                while exponent > 0 {
                    if exponent & 1 == 1 {
                        out = out.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    exponent >>= 1;
                }
                out
            }
            #[inline]
            fn minimum(a: $native, b: $native) -> $native {
                a.min(b)
            }
            #[inline]
            fn maximum(a: $native, b: $native) -> $native {
                a.max(b)
            }
            #[inline]
            fn negative(a: $native) -> $native {
                (0 as $native).wrapping_sub(a)
            }
            #[inline]
            fn absolute(a: $native) -> $native {
                #[allow(unused_comparisons)]
                if a < 0 { (0 as $native).wrapping_sub(a) } else { a }
            }
            #[inline]
            fn sign(a: $native) -> $native {
                #[allow(unused_comparisons)]
                if a > 0 {
                    1
                } else if a < 0 {
                    (0 as $native).wrapping_sub(1)
                } else {
                    0
                }
            }
            #[inline]
            fn to_f64(a: $native) -> f64 {
                a as f64
            }
            #[inline]
            fn of_f64(a: f64) -> $native {
                a as $native
            }
            #[inline]
            fn order(a: &$native, b: &$native) -> std::cmp::Ordering {
                a.cmp(b)
            }
        }
    };
}

integer!(Int8Type, i8, true);
integer!(Int16Type, i16, true);
integer!(Int32Type, i32, true);
integer!(Int64Type, i64, true);
integer!(UInt8Type, u8, false);
integer!(UInt16Type, u16, false);
integer!(UInt32Type, u32, false);
integer!(UInt64Type, u64, false);

/// A float of any width; `W` is the type it is computed in.
macro_rules! float {
    ($arrow:ty, $native:ty, $wide:ty, $up:expr, $down:expr) => {
        impl Number for $arrow {
            const ZERO: $native = <$native as FloatConstants>::ZERO;
            const ONE: $native = <$native as FloatConstants>::ONE;
            const LOWEST: $native = <$native>::MIN;
            const HIGHEST: $native = <$native>::MAX;
            const BOTTOM: $native = <$native>::NEG_INFINITY;
            const TOP: $native = <$native>::INFINITY;
            const TINIEST: f64 = <$native as FloatConstants>::TINIEST;
            const WRAPS: bool = false;
            #[inline]
            fn add(a: $native, b: $native) -> $native {
                $down($up(a) + $up(b))
            }
            #[inline]
            fn subtract(a: $native, b: $native) -> $native {
                $down($up(a) - $up(b))
            }
            #[inline]
            fn multiply(a: $native, b: $native) -> $native {
                $down($up(a) * $up(b))
            }
            #[inline]
            fn floor_divide(a: $native, b: $native) -> $native {
                // The quotient has the precision of the dtype before it is rounded down.
                $down($up($down($up(a) / $up(b))).floor())
            }
            #[inline]
            fn floor_modulo(a: $native, b: $native) -> $native {
                let (a, b): ($wide, $wide) = ($up(a), $up(b));
                let rest = a % b;
                $down(if rest != 0.0 && ((rest < 0.0) != (b < 0.0)) { rest + b } else { rest })
            }
            #[inline]
            fn divide(a: $native, b: $native) -> $native {
                $down($up(a) / $up(b))
            }
            #[inline]
            fn truncated_divide(a: $native, b: $native) -> $native {
                $down($up($down($up(a) / $up(b))).trunc())
            }
            #[inline]
            fn remainder(a: $native, b: $native) -> $native {
                $down($up(a) % $up(b))
            }
            #[inline]
            fn power(a: $native, b: $native) -> $native {
                $down($up(a).powf($up(b)))
            }
            #[inline]
            fn minimum(a: $native, b: $native) -> $native {
                if b < a || b.is_nan() { b } else { a }
            }
            #[inline]
            fn maximum(a: $native, b: $native) -> $native {
                if b > a || b.is_nan() { b } else { a }
            }
            #[inline]
            fn negative(a: $native) -> $native {
                -a
            }
            #[inline]
            fn absolute(a: $native) -> $native {
                $down($up(a).abs())
            }
            #[inline]
            fn sign(a: $native) -> $native {
                let wide: $wide = $up(a);
                $down(if wide > 0.0 {
                    1.0
                } else if wide < 0.0 {
                    -1.0
                } else if wide == 0.0 {
                    0.0
                } else {
                    wide
                })
            }
            #[inline]
            fn to_f64(a: $native) -> f64 {
                f64::from(a)
            }
            #[inline]
            fn of_f64(a: f64) -> $native {
                <$native as FloatConstants>::narrow(a)
            }
            #[inline]
            fn order(a: &$native, b: &$native) -> std::cmp::Ordering {
                a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
            }
        }
    };
}

trait FloatConstants: Sized {
    const ZERO: Self;
    const ONE: Self;
    const TINIEST: f64;
    fn narrow(a: f64) -> Self;
}

impl FloatConstants for f16 {
    const ZERO: f16 = f16::ZERO;
    const ONE: f16 = f16::ONE;
    const TINIEST: f64 = 0.0;
    fn narrow(a: f64) -> f16 {
        f16::from_f64(a)
    }
}

impl FloatConstants for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const TINIEST: f64 = f32::MIN_POSITIVE as f64;
    fn narrow(a: f64) -> f32 {
        a as f32
    }
}

impl FloatConstants for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const TINIEST: f64 = f64::MIN_POSITIVE;
    fn narrow(a: f64) -> f64 {
        a
    }
}

float!(Float16Type, f16, f32, f16::to_f32, f16::from_f32);
float!(Float32Type, f32, f32, std::convert::identity::<f32>, std::convert::identity::<f32>);
float!(Float64Type, f64, f64, std::convert::identity::<f64>, std::convert::identity::<f64>);

/// One match arm for each `Variant => Type`: the body, with `$t` as the type.
macro_rules! dispatch {
    ($dtype:expr, $t:ident => $body:expr, $otherwise:expr, [$($variant:ident => $arrow:ident),* $(,)?]) => {
        match $dtype {
            $($crate::schema::DType::$variant => {
                type $t = arrow_array::types::$arrow;
                $body
            })*
            _ => $otherwise,
        }
    };
}

/// Runs an expression with the type of a numeric dtype: `numbers!(dtype, T => work::<T>(array), otherwise)`.
macro_rules! numbers {
    ($dtype:expr, $t:ident => $body:expr, $otherwise:expr) => {
        $crate::expr::kernels::number::dispatch!($dtype, $t => $body, $otherwise, [
            Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
            UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type,
            Float16 => Float16Type, Float32 => Float32Type, Float64 => Float64Type,
        ])
    };
}

/// Like [`numbers`], for dtypes that are not computed in a [`wider`] one.
macro_rules! common {
    ($dtype:expr, $t:ident => $body:expr, $otherwise:expr) => {
        $crate::expr::kernels::number::dispatch!($dtype, $t => $body, $otherwise, [
            UInt8 => UInt8Type, Int32 => Int32Type, Int64 => Int64Type, UInt64 => UInt64Type,
            Float32 => Float32Type, Float64 => Float64Type,
        ])
    };
}

/// Like [`numbers`], for float dtypes.
macro_rules! floats {
    ($dtype:expr, $t:ident => $body:expr, $otherwise:expr) => {
        $crate::expr::kernels::number::dispatch!($dtype, $t => $body, $otherwise, [
            Float16 => Float16Type, Float32 => Float32Type, Float64 => Float64Type,
        ])
    };
}

/// The dtype in which values of a rare dtype are computed. Casting back gives the same results, because integers wrap
/// around and float16 is computed in float32 anyway. This saves compiling loops for rare dtypes.
pub fn wider(dtype: &DType) -> Option<DType> {
    match dtype {
        DType::Int8 | DType::Int16 | DType::UInt16 => Some(DType::Int32),
        DType::UInt32 => Some(DType::Int64),
        DType::Float16 => Some(DType::Float32),
        _ => None,
    }
}

pub(crate) use {common, dispatch, floats, numbers};
