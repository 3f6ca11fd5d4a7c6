//! Special functions of floats, element-wise.
//!
//! Semantics: `tf.math` and `tf.math.special`.

use super::apply::{pointwise, unary};
use super::math::{floats, two_floats};
use crate::expr::call::{Call, Function};
use crate::expr::error::ExprResult;
use crate::expr::kernels::incomplete_gamma;
use crate::expr::kernels::special::{self as kernel, mapped, next_after, paired};
use crate::expr::operand::OperandKind;
use crate::schema::DType;

/// A table row for a function of one float.
macro_rules! of_one {
    ($names:expr, $summary:literal, $example:expr, $f:path) => {
        function!($names, "x", $summary, [$example], |c| one(c, $f))
    };
}

/// A table row for a function of two floats.
macro_rules! of_two {
    ($names:expr, $signature:literal, $summary:literal, $example:expr, $f:path) => {
        function!($names, $signature, $summary, [$example], |c| two(c, $f))
    };
}

pub static FUNCTIONS: &[Function] = &[
    of_one!(["math.digamma", "digamma"], "The derivative of lgamma.", ("math.digamma(1.0)", "-0.5772157"), kernel::digamma),
    of_two!(
        ["math.polygamma", "polygamma"],
        "a, x",
        "The a-th derivative of digamma.",
        ("math.polygamma(1.0, 1.0)", "1.644934"),
        kernel::polygamma
    ),
    of_two!(["math.zeta", "zeta"], "x, q", "The Hurwitz zeta function.", ("math.zeta(2.0, 1.0)", "1.644934"), kernel::zeta),
    of_two!(
        ["math.igamma", "igamma"],
        "a, x",
        "The regularized lower incomplete gamma function.",
        ("math.igamma(1.0, 1.0)", "0.63212055"),
        incomplete_gamma::igamma
    ),
    of_two!(
        ["math.igammac", "igammac"],
        "a, x",
        "The regularized upper incomplete gamma function, 1 - igamma(a, x).",
        ("math.igammac(1.0, 1.0)", "0.36787945"),
        incomplete_gamma::igammac
    ),
    formula!(
        ["math.lbeta"],
        "x",
        "The logarithm of the beta function along the last axis: the sum of lgamma(x), minus lgamma of the sum of x.",
        [("math.lbeta([1.0, 2.0])", "-0.6931472")],
        |call| {
            let ty = call.dense(call.operand(0)?, "to pad its rows: to_tensor(x)")?;
            if ty.rank() == 0 {
                return Err(call.error("math.lbeta works along an axis; a scalar has none"));
            }
            Ok("reduce_sum(math.lgamma(x), -1) - math.lgamma(reduce_sum(x, -1))".to_owned())
        }
    ),
    of_one!(["math.erfinv", "erfinv"], "The inverse of erf.", ("math.erfinv(0.5)", "0.47693628"), kernel::erfinv),
    of_one!(["math.erfcinv", "erfcinv"], "The inverse of erfc.", ("math.erfcinv(0.5)", "0.47693628"), kernel::erfcinv),
    of_one!(
        ["math.ndtri", "ndtri"],
        "The quantile function of the standard normal distribution.",
        ("math.ndtri(0.975)", "1.9599644"),
        kernel::ndtri
    ),
    of_two!(
        ["math.xlogy", "xlogy"],
        "x, y",
        "x * log(y), or 0 where x is 0.",
        ("math.xlogy([0.0, 2.0], [0.0, 1.0])", "[0.0, 0.0]"),
        kernel::xlogy
    ),
    of_two!(
        ["math.xlog1py", "xlog1py"],
        "x, y",
        "x * log(1 + y), or 0 where x is 0.",
        ("math.xlog1py([0.0, 2.0], [-1.0, 0.0])", "[0.0, 0.0]"),
        kernel::xlog1py
    ),
    of_two!(
        ["math.xdivy", "xdivy"],
        "x, y",
        "x / y, or 0 where x is 0.",
        ("math.xdivy([0.0, 2.0], [0.0, 4.0])", "[0.0, 0.5]"),
        kernel::xdivy
    ),
    of_two!(
        ["math.multiply_no_nan", "multiply_no_nan"],
        "x, y",
        "Product, or 0 where y is 0, even if x is NaN or infinite.",
        ("math.multiply_no_nan([math.nan, 2.0], [0.0, 3.0])", "[0.0, 6.0]"),
        kernel::multiply_no_nan
    ),
    of_one!(
        ["math.reciprocal_no_nan", "reciprocal_no_nan"],
        "1 / x, or 0 where x is 0.",
        ("math.reciprocal_no_nan([0.0, 4.0])", "[0.0, 0.25]"),
        kernel::reciprocal_no_nan
    ),
    function!(
        ["math.nextafter", "nextafter"],
        "x1|x, x2|y",
        "The next float after x1 toward x2.",
        [("math.nextafter(cast(1.0, float64), 2.0)", "1.0000000000000002")],
        |c| {
            let args = two_floats(c)?;
            let dtype = args[0].dtype()?.clone();
            c.check_dtype(&args[0], "float32 and float64", |d| *d != DType::Float16)?;
            pointwise(c, args, dtype, |[x, y]| next_after(x, y))
        }
    ),
    function!(
        ["math.angle", "angle"],
        "input|x",
        "The angle in the complex plane: pi for negative numbers, else 0.",
        [("math.angle([1.0, -1.0])", "[0.0, 3.1415927]")],
        |c| one(c, kernel::angle)
    ),
    of_one!(
        ["math.bessel_i0", "math.special.bessel_i0"],
        "The modified Bessel function I0.",
        ("math.bessel_i0(1.0)", "1.2660658"),
        kernel::bessel_i0
    ),
    of_one!(
        ["math.bessel_i0e", "math.special.bessel_i0e"],
        "I0 times exp(-|x|).",
        ("math.bessel_i0e(1.0)", "0.4657596"),
        kernel::bessel_i0e
    ),
    of_one!(
        ["math.bessel_i1", "math.special.bessel_i1"],
        "The modified Bessel function I1.",
        ("math.bessel_i1(1.0)", "0.5651591"),
        kernel::bessel_i1
    ),
    of_one!(
        ["math.bessel_i1e", "math.special.bessel_i1e"],
        "I1 times exp(-|x|).",
        ("math.bessel_i1e(1.0)", "0.20791042"),
        kernel::bessel_i1e
    ),
    of_one!(["math.special.bessel_j0"], "The Bessel function J0.", ("math.special.bessel_j0(1.0)", "0.7651977"), kernel::bessel_j0),
    of_one!(["math.special.bessel_j1"], "The Bessel function J1.", ("math.special.bessel_j1(1.0)", "0.44005057"), kernel::bessel_j1),
    of_one!(["math.special.bessel_y0"], "The Bessel function Y0.", ("math.special.bessel_y0(1.0)", "0.08825696"), kernel::bessel_y0),
    of_one!(["math.special.bessel_y1"], "The Bessel function Y1.", ("math.special.bessel_y1(1.0)", "-0.7812128"), kernel::bessel_y1),
    of_one!(
        ["math.special.bessel_k0"],
        "The modified Bessel function K0.",
        ("math.special.bessel_k0(1.0)", "0.42102444"),
        kernel::bessel_k0
    ),
    of_one!(["math.special.bessel_k0e"], "K0 times exp(x).", ("math.special.bessel_k0e(1.0)", "1.1444631"), kernel::bessel_k0e),
    of_one!(
        ["math.special.bessel_k1"],
        "The modified Bessel function K1.",
        ("math.special.bessel_k1(1.0)", "0.60190725"),
        kernel::bessel_k1
    ),
    of_one!(["math.special.bessel_k1e"], "K1 times exp(x).", ("math.special.bessel_k1e(1.0)", "1.6361535"), kernel::bessel_k1e),
    of_one!(["math.special.dawsn"], "Dawson's integral.", ("math.special.dawsn(1.0)", "0.5380795"), kernel::dawsn),
    of_one!(["math.special.expint"], "The exponential integral Ei.", ("math.special.expint(1.0)", "1.8951178"), kernel::expint),
    of_one!(
        ["math.special.fresnel_cos"],
        "The Fresnel cosine integral C(x).",
        ("math.special.fresnel_cos(1.0)", "0.7798934"),
        kernel::fresnel_cos
    ),
    of_one!(
        ["math.special.fresnel_sin"],
        "The Fresnel sine integral S(x).",
        ("math.special.fresnel_sin(1.0)", "0.43825915"),
        kernel::fresnel_sin
    ),
    of_one!(
        ["math.special.spence"],
        "Spence's integral, the dilogarithm of 1 - x.",
        ("math.special.spence(0.5)", "0.5822405"),
        kernel::spence
    ),
];

/// An element-wise function of one float.
pub fn one(call: &mut Call, f: impl Fn(f64) -> f64 + Send + Sync + 'static) -> ExprResult<OperandKind> {
    let x = floats(call)?;
    let dtype = x.dtype()?.clone();
    unary(call, x, dtype, move |a| mapped(&f, a))
}

/// An element-wise function of two floats.
pub fn two(call: &mut Call, f: impl Fn(f64, f64) -> f64 + Send + Sync + 'static) -> ExprResult<OperandKind> {
    let args = two_floats(call)?;
    let dtype = args[0].dtype()?.clone();
    pointwise(call, args, dtype, move |[x, y]| paired(&f, x, y))
}
