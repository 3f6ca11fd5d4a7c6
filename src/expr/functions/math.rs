//! Arithmetic, comparisons and logic: element-wise, with broadcasting.
//!
//! Semantics: `tf.math`, and the operators of tf.RaggedTensor.

use super::apply::{pointwise, unary};
use super::durations;
use super::sparse::arithmetic as sparse;
use super::time;
use super::time_order::{Returned, by_order};
use crate::expr::call::{Arg, Call, Function, as_node, cast_node, not_null, strict, strict_node};
use crate::expr::error::{ExprError, ExprResult, conversion, float_of, text_at};
use crate::expr::kernels::cast::cast;
use crate::expr::kernels::compare::{self, Test};
use crate::expr::kernels::datum::Datum;
use crate::expr::kernels::elementwise::{self as kernel, Binary, Float, Logic, Unary};
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::span::Span;
use crate::expr::syntax::Compare;
use crate::expr::types::{last_ragged, quotient};
use crate::schema::{DType, Literal};

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["add", "math.add"],
        "x, y",
        "Sum of numbers, or concatenation of strings; `x + y`.",
        [("[[1], [2, 3]] + 10", "[[11], [12, 13]]"), ("\"a\" + [\"b\", \"c\"]", "[\"ab\", \"ac\"]")],
        |c| { arithmetic(c, Binary::Add) }
    ),
    function!(["subtract", "math.subtract"], "x, y", "Difference; `x - y`.", [("[5, 7] - [1, 2]", "[4, 5]")], |c| arithmetic(
        c,
        Binary::Subtract
    )),
    function!(["multiply", "math.multiply"], "x, y", "Product; `x * y`.", [("[1, 2] * 0.5", "[0.5, 1.0]")], |c| arithmetic(
        c,
        Binary::Multiply
    )),
    function!(
        ["truediv", "divide", "math.truediv", "math.divide", "realdiv"],
        "x, y",
        "Quotient, `x / y`, as float64 for integers (float32 for integers of at most 16 bits).",
        [("[1, 2] / 4", "[0.25, 0.5]")],
        true_divide
    ),
    function!(["floordiv", "math.floordiv"], "x, y", "Quotient rounded down; `x // y`.", [("[7, -7] // 2", "[3, -4]")], |c| arithmetic(
        c,
        Binary::FloorDivide
    )),
    function!(
        ["floormod", "math.floormod", "math.mod", "mod"],
        "x, y",
        "Remainder with the sign of the divisor; `x % y`.",
        [("[7, -7] % 3", "[1, 2]")],
        |c| arithmetic(c, Binary::FloorModulo)
    ),
    function!(["truncatediv"], "x, y", "Quotient rounded toward zero.", [("truncatediv([7, -7], 2)", "[3, -3]")], truncate_divide),
    function!(["truncatemod"], "x, y", "Remainder with the sign of the dividend.", [("truncatemod([7, -7], 3)", "[1, -1]")], |c| {
        arithmetic(c, Binary::TruncateModulo)
    }),
    function!(["pow", "math.pow"], "x, y", "Power; integers wrap around; `x ** y`.", [("[2, 3] ** 3", "[8, 27]")], |c| arithmetic(
        c,
        Binary::Power
    )),
    function!(["minimum", "math.minimum"], "x, y", "The smaller of two values.", [("minimum([1, 5], 3)", "[1, 3]")], |c| by_order(
        c,
        &[0, 1],
        Returned::Values,
        |c, _| arithmetic(c, Binary::Minimum)
    )),
    function!(["maximum", "math.maximum"], "x, y", "The larger of two values.", [("maximum([1, 5], 3)", "[3, 5]")], |c| by_order(
        c,
        &[0, 1],
        Returned::Values,
        |c, _| arithmetic(c, Binary::Maximum)
    )),
    function!(
        ["math.squared_difference", "squared_difference"],
        "x, y",
        "(x - y) squared.",
        [("math.squared_difference([1, 5], 3)", "[4, 4]")],
        |c| { arithmetic(c, Binary::SquaredDifference) }
    ),
    function!(
        ["math.divide_no_nan", "divide_no_nan", "div_no_nan"],
        "x, y",
        "Quotient, or 0 where y is 0.",
        [("math.divide_no_nan([1.0, 2.0], [0.0, 4.0])", "[0.0, 0.5]")],
        |c| divided(c, Binary::DivideNoNan)
    ),
    function!(
        ["math.atan2", "atan2"],
        "y, x",
        "The angle of the point (x, y) in radians, from -pi to pi.",
        [("math.atan2(0.0, 1.0)", "0.0")],
        |c| of_floats(c, Binary::Atan2)
    ),
    function!(["bitwise.left_shift"], "x, y", "Shift bits left.", [("bitwise.left_shift([1, 3], 2)", "[4, 12]")], |c| bitwise(
        c,
        Binary::LeftShift
    )),
    function!(
        ["bitwise.right_shift"],
        "x, y",
        "Shift bits right, keeping the sign.",
        [("bitwise.right_shift([-8, 5], 1)", "[-4, 2]")],
        |c| bitwise(c, Binary::RightShift)
    ),
    function!(["bitwise.bitwise_and"], "x, y", "Bitwise AND.", [("bitwise.bitwise_and(6, 3)", "2")], |c| bitwise(c, Binary::BitAnd)),
    function!(["bitwise.bitwise_or"], "x, y", "Bitwise OR.", [("bitwise.bitwise_or(6, 3)", "7")], |c| bitwise(c, Binary::BitOr)),
    function!(["bitwise.bitwise_xor"], "x, y", "Bitwise exclusive OR.", [("bitwise.bitwise_xor(6, 3)", "5")], |c| bitwise(
        c,
        Binary::BitXor
    )),
    function!(["bitwise.invert"], "x", "Invert every bit.", [("bitwise.invert([0, 5])", "[-1, -6]")], inverted),
    function!(["equal", "math.equal"], "x, y", "Whether values are equal; `x == y`.", [("[1, 2] == 2", "[false, true]")], |c| comparison(
        c,
        Compare::Equal
    )),
    function!(["not_equal", "math.not_equal"], "x, y", "Whether values differ; `x != y`.", [("[1, 2] != 2", "[true, false]")], |c| {
        comparison(c, Compare::NotEqual)
    }),
    function!(
        ["less", "math.less"],
        "x, y",
        "Whether x is less than y; `x < y`. Strings are ordered by their bytes.",
        [("[1, 2] < 2", "[true, false]"), ("\"b\" < \"ab\"", "false")],
        |c| comparison(c, Compare::Less)
    ),
    function!(
        ["less_equal", "math.less_equal"],
        "x, y",
        "Whether x is less than or equal to y; `x <= y`.",
        [("[1, 2] <= 1", "[true, false]")],
        |c| comparison(c, Compare::LessEqual)
    ),
    function!(["greater", "math.greater"], "x, y", "Whether x is greater than y; `x > y`.", [("[1, 2] > 1", "[false, true]")], |c| {
        comparison(c, Compare::Greater)
    }),
    function!(
        ["greater_equal", "math.greater_equal"],
        "x, y",
        "Whether x is greater than or equal to y; `x >= y`.",
        [("[1, 2] >= 2", "[false, true]")],
        |c| comparison(c, Compare::GreaterEqual)
    ),
    function!(["logical_and", "math.logical_and"], "x, y", "Logical AND; `x & y`.", [("[True, False] & True", "[true, false]")], |c| {
        logical(c, Logic::And)
    }),
    function!(["logical_or", "math.logical_or"], "x, y", "Logical OR; `x | y`.", [("[True, False] | True", "[true, true]")], |c| logical(
        c,
        Logic::Or
    )),
    function!(
        ["logical_xor", "math.logical_xor"],
        "x, y",
        "Logical exclusive OR; `x ^ y`.",
        [("[True, False] ^ True", "[false, true]")],
        |c| { logical(c, Logic::Xor) }
    ),
    function!(
        ["logical_not", "math.logical_not", "invert"],
        "x",
        "Logical NOT; `~x`, `not x`.",
        [("~[True, False]", "[false, true]")],
        |c| {
            if c.name.starts_with('`') && of_bits(c, 1)? {
                return inverted(c);
            }
            let x = c.tensor(0)?;
            bools(c, &x)?;
            unary(c, x, DType::Bool, |a| kernel::unary(Unary::Invert, a))
        }
    ),
    function!(
        ["cast", "dtypes.cast", "astype"],
        "x, dtype",
        "Convert to another dtype. Floats are truncated toward zero, integers wrap around, and nonzero values become true; times become counts of their unit, ISO 8601 text or other times, and are made from these: cast(x, date32), cast(x, \"duration[s]\"). `float` means float32, but float64 in `x.astype(float)`.",
        [("cast([1.9, -1.9], int32)", "[1, -1]"), ("cast(cast(\"2024-05-01\", date32), int64)", "19844")],
        |c| {
            let node = as_node(c.operand(0)?, None)?;
            let is_time = node.ty.dtype().is_some_and(|d| d.time().is_some());
            let node = if is_time { not_null(node) } else { strict(node)? };
            let dtype = c.any_dtype(1)?.ok_or_else(|| c.error("cast needs a dtype"))?;
            // NumPy's method, in which Python's float is of 64 bits; for tf.cast it is of 32.
            let is_numpy = c.name.trim_matches('`').ends_with("astype") && text_at(c.text(), &c.operand(1)?.span) == "float";
            let dtype = if is_numpy { DType::Float64 } else { dtype };
            if node.ty.dtype().is_none() {
                return Err(ExprError::at(node.span.clone(), "cast expects a tensor, found a structure"));
            }
            // Counts of units are int64; literals are not.
            let is_count = dtype.time().is_some() && node.ty.dtype().is_some_and(|d| d.is_integer() && *d != DType::UInt64);
            let node = if is_count { cast_node(node, &DType::Int64, c.text())? } else { node };
            Ok(OperandKind::Tensor(cast_node(node, &dtype, c.text())?))
        }
    ),
    function!(
        ["identity", "numpy", "to_list", "to_pyval", "with_row_splits_dtype", "with_shape_dtype", "with_dtype", "SparseTensor.from_value"],
        "x|input|sparse_tensor_value, dtype=None",
        "The tensor unchanged; `+x`.",
        [("+[1, 2]", "[1, 2]"), ("constant([1, 2]).numpy()", "[1, 2]")],
        |c| {
            let item = c.operand(0)?;
            if matches!(item.kind, OperandKind::Tensor(_)) || item.is_literal() {
                return Ok(OperandKind::Tensor(as_node(item, None)?));
            }
            Ok(item.kind.clone())
        }
    ),
    formula!(["identity_n"], "input", "The tensors in a list, unchanged.", [("identity_n([[1, 2], [3, 4, 5]])[1]", "[3, 4, 5]")], |call| {
        let tensors: Vec<String> = (0..call.list(0)?.len()).map(|i| format!("identity(input[{i}])")).collect();
        Ok(format!("[{}]", tensors.join(", ")))
    }),
    function!(["math.imag", "imag"], "input|x", "The imaginary part, which is 0 for real numbers.", [("math.imag([1.5])", "[0.0]")], |c| {
        let x = c.tensor(0)?;
        c.check_dtype(&x, "numbers", DType::is_number)?;
        let dtype = x.dtype()?.clone();
        let to = dtype.clone();
        unary(c, x, dtype, move |a| {
            let zeros = arrow_array::Int8Array::from(vec![0; a.len()]);
            cast(&(std::sync::Arc::new(zeros) as arrow_array::ArrayRef), &to)
        })
    }),
    function!(
        ["math.real", "real", "math.conj", "conj"],
        "input|x",
        "The real part or the conjugate; real numbers are unchanged.",
        [("math.real([1.5])", "[1.5]")],
        |c| {
            let node = strict_node(c.operand(0)?)?;
            let x = c.push(node.clone());
            c.check_dtype(&x, "numbers", DType::is_number)?;
            Ok(OperandKind::Tensor(node))
        }
    ),
    function!(["negative", "math.negative"], "x", "Negation; `-x`.", [("-[1, 2]", "[-1, -2]")], |c| {
        let signed = |d: &DType| d.is_float() || crate::expr::types::integer(d).is_some_and(|(signed, _)| signed);
        if let Some(sparse) = sparse::of_values(c, "floats and signed integers", signed, |a| kernel::unary(Unary::Negative, a))? {
            return Ok(sparse);
        }
        let x = c.tensor(0)?;
        c.check_dtype(&x, "floats and signed integers", signed)?;
        let dtype = x.dtype()?.clone();
        unary(c, x, dtype, |a| kernel::unary(Unary::Negative, a))
    }),
    function!(["abs", "math.abs"], "x", "Absolute value.", [("abs([-1.5, 2.0])", "[1.5, 2.0]")], |c| keeps(c, Unary::Absolute)),
    function!(["sign", "math.sign"], "x", "Sign: -1, 0 or 1.", [("sign([-5, 0, 3])", "[-1, 0, 1]")], |c| keeps(c, Unary::Sign)),
    function!(["square", "math.square"], "x", "Square.", [("square([3, -2])", "[9, 4]")], |c| keeps(c, Unary::Square)),
    function!(
        ["round", "math.round"],
        "x",
        "Round to the nearest integer, halves to even.",
        [("round([0.5, 1.5, 2.6])", "[0.0, 2.0, 3.0]")],
        |c| keeps(c, Unary::Round)
    ),
    function!(["nn.relu"], "features|x", "max(x, 0).", [("nn.relu([-1.0, 2.0])", "[0.0, 2.0]")], |c| keeps(c, Unary::Relu)),
    function!(["nn.relu6"], "features|x", "min(max(x, 0), 6).", [("nn.relu6([-1.0, 8.0])", "[0.0, 6.0]")], |c| keeps(c, Unary::Relu6)),
    function!(
        ["clip_by_value"],
        "t|x, clip_value_min|min, clip_value_max|max",
        "Clip values to a range.",
        [("clip_by_value([1, 5, 9], 2, 7)", "[2, 5, 7]")],
        |c| by_order(c, &[0, 1, 2], Returned::Values, |c, _| clip(c))
    ),
    function!(
        ["math.is_finite", "is_finite", "debugging.is_finite"],
        "x",
        "Whether values are finite.",
        [("math.is_finite([1.0, math.inf])", "[true, false]")],
        |c| test(c, Test::Finite)
    ),
    function!(
        ["math.is_inf", "is_inf", "debugging.is_inf"],
        "x",
        "Whether values are infinite.",
        [("math.is_inf([1.0, math.inf])", "[false, true]")],
        |c| { test(c, Test::Infinite) }
    ),
    function!(
        ["math.is_nan", "is_nan", "debugging.is_nan"],
        "x",
        "Whether values are NaN.",
        [("math.is_nan([1.0, math.nan])", "[false, true]")],
        |c| test(c, Test::Nan)
    ),
    function!(["floor", "math.floor"], "x", "Round down.", [("floor([1.5, -1.5])", "[1.0, -2.0]")], |c| float(c, Float::Floor)),
    function!(["math.ceil", "ceil"], "x", "Round up.", [("math.ceil([1.5, -1.5])", "[2.0, -1.0]")], |c| float(c, Float::Ceil)),
    function!(
        ["math.rint", "rint"],
        "x",
        "Round to the nearest integer, halves to even.",
        [("math.rint([2.5, 3.5])", "[2.0, 4.0]")],
        |c| { float(c, Float::Rint) }
    ),
    function!(["exp", "math.exp"], "x", "e to the power of x.", [("exp(0.0)", "1.0")], |c| float(c, Float::Exp)),
    function!(["math.expm1", "expm1"], "x", "exp(x) - 1.", [("math.expm1(0.0)", "0.0")], |c| float(c, Float::Expm1)),
    function!(["math.log", "log"], "x", "Natural logarithm.", [("math.log(1.0)", "0.0")], |c| float(c, Float::Log)),
    function!(["math.log1p", "log1p"], "x", "log(1 + x).", [("math.log1p(0.0)", "0.0")], |c| float(c, Float::Log1p)),
    function!(["sqrt", "math.sqrt"], "x", "Square root.", [("sqrt([4.0, 9.0])", "[2.0, 3.0]")], |c| float(c, Float::Sqrt)),
    function!(["math.rsqrt", "rsqrt"], "x", "1 / sqrt(x).", [("math.rsqrt(4.0)", "0.5")], |c| float(c, Float::Rsqrt)),
    function!(["math.reciprocal", "reciprocal"], "x", "1 / x.", [("math.reciprocal(4.0)", "0.25")], |c| float(c, Float::Reciprocal)),
    function!(["sin", "math.sin"], "x", "Sine.", [("sin(0.0)", "0.0")], |c| float(c, Float::Sin)),
    function!(["cos", "math.cos"], "x", "Cosine.", [("cos(0.0)", "1.0")], |c| float(c, Float::Cos)),
    function!(["tan", "math.tan"], "x", "Tangent.", [("tan(0.0)", "0.0")], |c| float(c, Float::Tan)),
    function!(["asin", "math.asin"], "x", "Inverse sine.", [("asin(0.0)", "0.0")], |c| float(c, Float::Asin)),
    function!(["acos", "math.acos"], "x", "Inverse cosine.", [("acos(1.0)", "0.0")], |c| float(c, Float::Acos)),
    function!(["atan", "math.atan"], "x", "Inverse tangent.", [("atan(0.0)", "0.0")], |c| float(c, Float::Atan)),
    function!(["sinh", "math.sinh"], "x", "Hyperbolic sine.", [("sinh(0.0)", "0.0")], |c| float(c, Float::Sinh)),
    function!(["cosh", "math.cosh"], "x", "Hyperbolic cosine.", [("cosh(0.0)", "1.0")], |c| float(c, Float::Cosh)),
    function!(["tanh", "math.tanh", "nn.tanh"], "x", "Hyperbolic tangent.", [("tanh(0.0)", "0.0")], |c| float(c, Float::Tanh)),
    function!(["asinh", "math.asinh"], "x", "Inverse hyperbolic sine.", [("asinh(0.0)", "0.0")], |c| float(c, Float::Asinh)),
    function!(["acosh", "math.acosh"], "x", "Inverse hyperbolic cosine.", [("acosh(1.0)", "0.0")], |c| float(c, Float::Acosh)),
    function!(["atanh", "math.atanh"], "x", "Inverse hyperbolic tangent.", [("atanh(0.0)", "0.0")], |c| float(c, Float::Atanh)),
    function!(["sigmoid", "math.sigmoid", "nn.sigmoid"], "x", "1 / (1 + exp(-x)).", [("sigmoid(0.0)", "0.5")], |c| float(
        c,
        Float::Sigmoid
    )),
    function!(["math.log_sigmoid", "log_sigmoid"], "x", "log(sigmoid(x)).", [("math.log_sigmoid(-100.0)", "-100.0")], |c| float(
        c,
        Float::LogSigmoid
    )),
    function!(["math.softplus", "nn.softplus"], "features|x", "log(1 + exp(x)).", [("math.softplus(100.0)", "100.0")], |c| float(
        c,
        Float::Softplus
    )),
    function!(["math.softsign", "nn.softsign"], "features|x", "x / (1 + |x|).", [("nn.softsign(1.0)", "0.5")], |c| float(
        c,
        Float::Softsign
    )),
    function!(
        ["nn.elu"],
        "features|x",
        "Exponential linear unit: exp(x) - 1 where x is negative, else x.",
        [("nn.elu([0.0, 2.0])", "[0.0, 2.0]")],
        |c| float(c, Float::Elu)
    ),
    function!(["math.erf", "erf"], "x", "The error function.", [("math.erf(0.0)", "0.0")], |c| float(c, Float::Erf)),
    function!(["math.erfc", "erfc"], "x", "1 - erf(x).", [("math.erfc(0.0)", "1.0")], |c| float(c, Float::Erfc)),
    function!(["math.lgamma", "lgamma"], "x", "Logarithm of the gamma function.", [("math.lgamma(1.0)", "0.0")], |c| float(
        c,
        Float::Lgamma
    )),
];

/// The operands with one dtype. Rejects dtypes for which the operation is undefined.
fn arithmetic(call: &mut Call, op: Binary) -> ExprResult<OperandKind> {
    if let Some(of_times) = durations::arithmetic(call, op)? {
        return Ok(of_times);
    }
    if let Some(sparse) = sparse::with_dense(call, op)? {
        return Ok(sparse);
    }
    let mut args = call.promoted(&[0, 1])?.into_iter();
    let (Some(a), Some(b)) = (args.next(), args.next()) else {
        return Err(call.internal("two operands"));
    };
    let dtype = a.dtype()?.clone();
    let fits = dtype.is_number() || (op == Binary::Add && matches!(dtype, DType::String | DType::Bytes));
    if !fits {
        let error = ExprError::at(
            a.span.start.min(b.span.start)..a.span.end.max(b.span.end),
            format!("{} expects numbers, found {dtype}", call.name),
        );
        return Err(match dtype {
            DType::Bool => error.help("to convert bools to numbers: cast(x, int64)"),
            DType::String => {
                let x = text_at(call.text(), &a.span);
                error.help(format!("to parse text as a number: strings.to_number({x}, float64); as a time: timestamp({x})"))
            }
            _ => error,
        });
    }
    pointwise(call, [a, b], dtype, move |[x, y]| kernel::binary(op, x, y))
}

fn true_divide(call: &mut Call) -> ExprResult<OperandKind> {
    if let Some(of_times) = durations::arithmetic(call, Binary::Divide)? {
        return Ok(of_times);
    }
    if let Some(sparse) = sparse::with_dense(call, Binary::Divide)? {
        return Ok(sparse);
    }
    divided(call, Binary::Divide)
}

/// A division of numbers. Quotients of integers are floats.
fn divided(call: &mut Call, op: Binary) -> ExprResult<OperandKind> {
    let args = call.promoted(&[0, 1])?;
    let dtype = args[0].dtype()?.clone();
    if !dtype.is_number() {
        return Err(call.error(format!("{} expects numbers, found {dtype}", call.name)));
    }
    let wide = quotient(&dtype);
    let (a, b) = (args[0].clone(), args[1].clone());
    let to = wide.clone();
    pointwise(call, [a, b], wide, move |[x, y]| {
        let (p, q) = (cast(x.array, &to).map_err(|e| (0, e))?, cast(y.array, &to).map_err(|e| (0, e))?);
        kernel::binary(op, Datum { array: &p, scalar: x.scalar }, Datum { array: &q, scalar: y.scalar })
    })
}

fn truncate_divide(call: &mut Call) -> ExprResult<OperandKind> {
    arithmetic(call, Binary::TruncateDivide)
}

/// The first two arguments with one float dtype; integer literals become floats.
pub fn two_floats(call: &mut Call) -> ExprResult<[Arg; 2]> {
    let mut items: Vec<Operand> = vec![call.operand(0)?.clone(), call.operand(1)?.clone()];
    for item in &mut items {
        if let OperandKind::Literal(Literal::Int(n)) = item.kind {
            item.kind = OperandKind::Literal(Literal::Float(n as f64));
        }
    }
    let args = call.promoted_items(&items)?;
    let dtype = args[0].dtype()?.clone();
    if !dtype.is_float() {
        return Err(call.error(format!("{} expects floats, found {dtype}", call.name)).help("to convert to floats: cast(x, float64)"));
    }
    Ok([args[0].clone(), args[1].clone()])
}

fn of_floats(call: &mut Call, op: Binary) -> ExprResult<OperandKind> {
    let args = two_floats(call)?;
    let dtype = args[0].dtype()?.clone();
    pointwise(call, args, dtype, move |[x, y]| kernel::binary(op, x, y))
}

fn inverted(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "integers", DType::is_integer)?;
    let dtype = x.dtype()?.clone();
    unary(call, x, dtype, |a| kernel::unary(Unary::Invert, a))
}

fn bitwise(call: &mut Call, op: Binary) -> ExprResult<OperandKind> {
    let args = call.promoted(&[0, 1])?;
    let dtype = args[0].dtype()?.clone();
    if !dtype.is_integer() {
        return Err(call.error(format!("{} expects integers, found {dtype}", call.name)));
    }
    pointwise(call, [args[0].clone(), args[1].clone()], dtype, move |[x, y]| kernel::binary(op, x, y))
}

fn comparison(call: &mut Call, op: Compare) -> ExprResult<OperandKind> {
    if matches!(op, Compare::Equal | Compare::NotEqual)
        && let Some(found) = super::structured::fields::equal(call, op == Compare::NotEqual)?
    {
        return Ok(found);
    }
    if let Some(of_times) = time::comparison(call, op)? {
        return Ok(of_times);
    }
    if let Some(args) = call.exact_pair(0, 1)? {
        return pointwise(call, args, DType::Bool, move |[x, y]| compare::compare_exactly(op, x, y).map_err(|e| (0, e)));
    }
    let args = call.promoted(&[0, 1])?;
    let dtype = args[0].dtype()?;
    let ordered = !matches!(op, Compare::Equal | Compare::NotEqual);
    if ordered && !dtype.is_number() && !matches!(dtype, DType::String | DType::Bytes) {
        return Err(call.error(format!("{} compares numbers and strings; these are {dtype}", call.name)));
    }
    pointwise(call, [args[0].clone(), args[1].clone()], DType::Bool, move |[x, y]| compare::compare(op, x, y).map_err(|e| (0, e)))
}

fn bools(call: &Call, x: &Arg) -> ExprResult<()> {
    let dtype = x.dtype()?;
    if *dtype == DType::Bool {
        return Ok(());
    }
    let error = ExprError::at(x.span.clone(), format!("{} expects bools, found {dtype}", call.name));
    let compare = crate::expr::error::compare(call.text(), &x.span, "!=", Some(dtype));
    let function = match call.name.as_str() {
        "`&`" => "bitwise_and",
        "`|`" => "bitwise_or",
        "`^`" => "bitwise_xor",
        "`~x`" => "invert",
        _ => return Err(error.help(compare)),
    };
    Err(match dtype {
        dtype if dtype.is_integer() => error.help(format!("for integers, use bitwise.{function}")),
        dtype if dtype.is_number() && function == "bitwise_xor" => error.help("for a power: x ** y"),
        _ => error.help(compare),
    })
}

/// Whether an operator is bitwise: it is on integers if the first operand is dense. Operators of ragged tensors are
/// logical.
fn of_bits(call: &Call, operands: usize) -> ExprResult<bool> {
    let mut ragged = Vec::with_capacity(operands);
    for i in 0..operands {
        let ty = as_node(call.operand(i)?, None)?.ty;
        if !ty.dtype().is_some_and(DType::is_integer) || ty.is_sparse() {
            return Ok(false);
        }
        ragged.push(last_ragged(&ty.dims).is_some());
    }
    // A literal on the left has no operators, so those of the tensor on its right apply.
    let own = usize::from(operands > 1 && call.operand(0)?.is_literal());
    Ok(!ragged[own])
}

fn logical(call: &mut Call, op: Logic) -> ExprResult<OperandKind> {
    let bits = match op {
        Logic::And => Binary::BitAnd,
        Logic::Or => Binary::BitOr,
        Logic::Xor => Binary::BitXor,
    };
    if call.name.starts_with('`') && of_bits(call, 2)? {
        return bitwise(call, bits);
    }
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    bools(call, &a)?;
    bools(call, &b)?;
    pointwise(call, [a, b], DType::Bool, move |[x, y]| kernel::logic(op, x, y).map_err(|e| (0, e)))
}

fn keeps(call: &mut Call, op: Unary) -> ExprResult<OperandKind> {
    let keeps_zero = matches!(op, Unary::Absolute | Unary::Sign | Unary::Square);
    if keeps_zero && let Some(sparse) = sparse::of_values(call, "numbers", DType::is_number, move |a| kernel::unary(op, a))? {
        return Ok(sparse);
    }
    let x = call.tensor(0)?;
    call.check_dtype(&x, "numbers", DType::is_number)?;
    let dtype = x.dtype()?.clone();
    unary(call, x, dtype, move |a| kernel::unary(op, a))
}

/// A function of floats, element-wise.
///
/// # Errors
/// The argument does not hold floats.
pub fn float(call: &mut Call, op: Float) -> ExprResult<OperandKind> {
    // Functions that map 0 to 0 can be applied to the entries only.
    let keeps_zero = matches!(op, Float::Sqrt | Float::Sin | Float::Tanh | Float::Erf);
    if keeps_zero && let Some(sparse) = sparse::of_values(call, "floats", DType::is_float, move |a| kernel::float(op, a))? {
        return Ok(sparse);
    }
    let x = floats(call)?;
    let dtype = x.dtype()?.clone();
    unary(call, x, dtype, move |a| kernel::float(op, a))
}

/// The first argument with a float dtype; an integer literal becomes a float.
pub fn floats(call: &mut Call) -> ExprResult<Arg> {
    let item = call.operand(0)?.clone();
    if item.is_literal()
        && let OperandKind::Literal(Literal::Int(n)) = item.kind
    {
        let item = Operand { kind: OperandKind::Literal(Literal::Float(n as f64)), span: item.span };
        return call.promoted_items(&[item])?.into_iter().next().ok_or_else(|| call.internal("one operand"));
    }
    let x = call.tensor(0)?;
    must_be_float(call, x.dtype()?, &x.span)?;
    Ok(x)
}

/// Checks the dtype of an argument.
///
/// # Errors
/// It is not a float.
pub fn must_be_float(call: &Call, dtype: &DType, span: &Span) -> ExprResult<()> {
    if dtype.is_float() {
        return Ok(());
    }
    let advice = conversion(call.text(), span, dtype, &float_of(dtype));
    Err(ExprError::at(span.clone(), format!("{} expects floats, found {dtype}", call.name)).help_if(advice))
}

fn test(call: &mut Call, op: Test) -> ExprResult<OperandKind> {
    let x = floats(call)?;
    unary(call, x, DType::Bool, move |a| compare::test(op, a))
}

/// Clips at the maximum first, so that an empty range gives the minimum.
fn clip(call: &mut Call) -> ExprResult<OperandKind> {
    let args = call.promoted(&[0, 1, 2])?;
    let dtype = args[0].dtype()?.clone();
    if !dtype.is_number() {
        return Err(call.error(format!("clip_by_value expects numbers, found {dtype}")));
    }
    let [x, low, high] = args.as_slice() else {
        return Err(call.internal("three operands"));
    };
    pointwise(call, [x.clone(), low.clone(), high.clone()], dtype, |[x, low, high]| {
        let below = kernel::binary(Binary::Minimum, x, high)?;
        kernel::binary(Binary::Maximum, Datum { array: &below, scalar: x.scalar && high.scalar }, low)
    })
}
