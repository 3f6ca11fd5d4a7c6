//! Diagonals of matrices, as formulas.
//!
//! Semantics: `tf.linalg.diag`, `diag_part`, `trace`, `band_part`, `set_diag`, `tensor_diag`,
//! `tensor_diag_part`.

use crate::expr::call::{Call, Function};
use crate::expr::error::ExprResult;
use crate::expr::literal::zero;
use crate::schema::{DType, Dim, Literal, Size, Type};

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["linalg.diag", "matrix_diag"],
        "diagonal|x, k=0, num_rows=-1, num_cols=-1, padding_value=None",
        "Matrices with the values of the last axis on diagonal k, and padding_value (0) elsewhere; square and just large enough, unless the number of rows or columns is given.",
        [
            ("linalg.diag([1, 2])", "[[1, 0], [0, 2]]"),
            ("linalg.diag([1, 2], k=1)", "[[0, 1, 0], [0, 0, 2], [0, 0, 0]]"),
            ("linalg.diag([1, 2], num_cols=3)", "[[1, 0, 0], [0, 2, 0]]")
        ],
        diag
    ),
    formula!(
        ["linalg.diag_part", "matrix_diag_part"],
        "input|x, k=0, padding_value=None, align=\"RIGHT_LEFT\"",
        "Diagonal k of matrices, or, with k=(LOWER, UPPER), these diagonals as rows, from the upper one. Shorter ones are padded with \
         padding_value (0). align says on which side the values of those above and below the main diagonal are.",
        [
            ("linalg.diag_part([[1, 2], [3, 4]])", "[1, 4]"),
            ("linalg.diag_part([[1, 2], [3, 4]], k=-1)", "[3]"),
            ("linalg.diag_part([[1, 2], [3, 4]], k=(-1, 0))", "[[1, 4], [3, 0]]")
        ],
        parts
    ),
    formula!(
        ["linalg.trace", "trace"],
        "x|input",
        "The sum of the main diagonal of matrices.",
        [("linalg.trace([[1, 2], [3, 4]])", "5")],
        |call| {
            matrices(call)?;
            Ok("reduce_sum(linalg.diag_part(x), axis=-1)".to_owned())
        }
    ),
    formula!(
        ["linalg.band_part", "matrix_band_part"],
        "input|x, num_lower, num_upper",
        "Matrices with only num_lower diagonals below the main one and num_upper above; -1 keeps all.",
        [("linalg.band_part([[1, 2], [3, 4]], 0, -1)", "[[1, 2], [0, 4]]")],
        band
    ),
    formula!(
        ["linalg.set_diag", "matrix_set_diag"],
        "input|x, diagonal, k=0",
        "Replace the values on diagonal k of matrices.",
        [("linalg.set_diag([[1, 2], [3, 4]], [8, 9])", "[[8, 2], [3, 9]]")],
        set
    ),
    formula!(
        ["linalg.tensor_diag", "diag"],
        "diagonal|x",
        "A tensor of twice the rank with the values on its diagonal, and 0 elsewhere.",
        [("linalg.tensor_diag([1, 2])", "[[1, 0], [0, 2]]")],
        |call| {
            let ty = dense(call)?;
            if ty.rank() == 0 {
                return Err(call.error(format!("{} expects a tensor with axes, found a scalar", call.name)));
            }
            let sizes: String = (0..ty.rank()).map(|axis| format!("shape(identity(diagonal))[{axis}], ")).collect();
            Ok(format!("reshape(linalg.diag(reshape(diagonal, [-1])), [{sizes}{sizes}])"))
        }
    ),
    formula!(
        ["linalg.tensor_diag_part", "diag_part"],
        "input|x",
        "The diagonal of a tensor whose shape repeats the same sizes, such as [2, 3, 2, 3].",
        [("linalg.tensor_diag_part([[1, 2], [3, 4]])", "[1, 4]")],
        |call| {
            let ty = matrices(call)?;
            let (first, second) = ty.dims.split_at(ty.rank() / 2);
            if first.len() != second.len() || first.iter().zip(second).any(|(a, b)| differ(a, b)) {
                return Err(call.error(format!("{} expects a shape that repeats its sizes, as in [2, 3, 2, 3], found {ty}", call.name)));
            }
            let sizes: Vec<String> = (0..first.len()).map(|axis| format!("shape(identity(input))[{axis}]")).collect();
            let n = sizes.join(" * ");
            Ok(format!("reshape(linalg.diag_part(reshape(input, [{n}, {n}])), [{}])", sizes.join(", ")))
        }
    ),
];

/// Whether two axes never have the same size.
fn differ(a: &Dim, b: &Dim) -> bool {
    matches!((a.size, b.size), (Size::Known(m), Size::Known(n)) if m != n)
}

/// The type of argument 0, which must hold dense matrices.
fn matrices(call: &Call) -> ExprResult<Type> {
    let ty = dense(call)?;
    if ty.rank() < 2 {
        return Err(call.error(format!("{} expects a matrix, found {ty}", call.name)));
    }
    Ok(ty)
}

fn dense(call: &Call) -> ExprResult<Type> {
    call.dense(call.operand(0)?, "to_tensor(x) pads its rows")
}

/// The number of the diagonal, argument 1.
fn number(call: &Call) -> ExprResult<i64> {
    number_at(call, 1)
}

/// The number of the diagonal, argument `i`.
fn number_at(call: &Call, i: usize) -> ExprResult<i64> {
    let k = call.optional_int(i)?.unwrap_or(0);
    if k.unsigned_abs() > 1 << 28 { Err(call.error(format!("{}: there is no diagonal {k}", call.name))) } else { Ok(k) }
}

/// The zero of a dtype, as a formula.
fn nothing(ty: &Type, of: &str) -> ExprResult<String> {
    Ok(match zero(ty.dtype().unwrap_or(&DType::Float32))? {
        Literal::Bool(_) => "False".to_owned(),
        Literal::Int(_) => format!("constant(0, identity({of}).dtype)"),
        _ => "\"\"".to_owned(),
    })
}

/// The argument `padding_value`, or the zero of the dtype, as a formula.
fn padding(call: &Call, i: usize, ty: &Type, of: &str) -> ExprResult<String> {
    Ok(match call.given(i) {
        None => nothing(ty, of)?,
        Some(value) if value.is_literal() => format!("constant(padding_value, identity({of}).dtype)"),
        Some(_) => "padding_value".to_owned(),
    })
}

fn diag(call: &Call) -> ExprResult<String> {
    let ty = dense(call)?;
    if ty.rank() == 0 {
        return Err(call.error("linalg.diag expects a vector, found a scalar"));
    }
    let k = number(call)?;
    let elsewhere = padding(call, 4, &ty, "diagonal")?;
    let last = ty.rank() - 1;
    let length = format!("shape(identity(diagonal))[{last}]");
    // The row and column at which the diagonal starts.
    let (down, right) = ((-k).max(0), k.max(0));
    let given = |i: usize| call.optional_int(i).map(|n| n.filter(|n| *n != -1));
    let (rows, columns) = match (given(2)?, given(3)?) {
        (None, None) => (format!("({length} + {})", down + right), format!("({length} + {})", down + right)),
        (rows, columns) => {
            if let (Some(rows), Some(columns), Size::Known(n)) = (rows, columns, ty.dims[last].size)
                && i64::try_from(n).is_ok_and(|n| n != (rows - down).min(columns - right))
            {
                let message =
                    format!("linalg.diag: diagonal {k} of a matrix of {rows} rows and {columns} columns does not have {n} values");
                return Err(call.error(message));
            }
            let size = |n: Option<i64>, least: i64| n.map_or_else(|| format!("({length} + {least})"), |n| n.to_string());
            (size(rows, down), size(columns, right))
        }
    };
    // The value of each row, at the first row of the diagonal. Too few rows or columns are rejected: there is no room
    // to pad.
    let outer = "[0, 0], ".repeat(last);
    let values = format!("pad(diagonal, [{outer}[{down}, {rows} - {down} - {length}]], constant_values={elsewhere})");
    let within = format!("pad(range({columns} - {right} - {length}), [[0, {right} + {length}]])");
    Ok(format!("where(expand_dims(range({rows}), 1) + {k} == range(size({within})), expand_dims({values}, -1), {elsewhere})"))
}

/// The diagonals that `k` names.
fn parts(call: &Call) -> ExprResult<String> {
    let ty = matrices(call)?;
    let (lower, upper) = match call.given(1).and_then(|k| k.elements()) {
        None => return part(call, number(call)?),
        Some(_) => match call.ints(1)?.as_deref() {
            Some([k]) => (*k, *k),
            Some([lower, upper]) if lower <= upper && upper - lower < MAX_DIAGONALS => (*lower, *upper),
            _ => {
                return Err(
                    call.error("linalg.diag_part: k must be a diagonal, or the lower and the upper one of several, such as (-1, 1)")
                );
            }
        },
    };
    if lower == upper {
        return part(call, lower);
    }
    let align = call.string(3)?.unwrap_or("RIGHT_LEFT".to_owned());
    // Whether the diagonals above and below the main one are aligned right.
    let (above, below) = match align.as_str() {
        "RIGHT_LEFT" => (true, false),
        "LEFT_RIGHT" => (false, true),
        "LEFT_LEFT" => (false, false),
        "RIGHT_RIGHT" => (true, true),
        _ => {
            let message = format!("linalg.diag_part: align must be RIGHT_LEFT, LEFT_RIGHT, LEFT_LEFT or RIGHT_RIGHT, not {align:?}");
            return Err(call.error(message));
        }
    };
    let value = padding(call, 2, &ty, "input")?;
    let longest = length(&ty, lower.max(0).min(upper));
    let row = |k: i64| {
        let missing = format!("{longest} - {}", length(&ty, k));
        let is_right = (above && k >= 0) || (below && k <= 0);
        let around = if is_right { format!("[{missing}, 0]") } else { format!("[0, {missing}]") };
        let outer = "[0, 0], ".repeat(ty.rank() - 2);
        Ok(format!("pad({}, [{outer}{around}], constant_values={value})", part(call, k)?))
    };
    let rows = (lower..=upper).rev().map(row).collect::<ExprResult<Vec<_>>>()?;
    Ok(format!("stack([{}], axis={})", rows.join(", "), ty.rank() - 2))
}

/// Maximum number of diagonals to take at once, each of which is a formula.
const MAX_DIAGONALS: i64 = 1000;

/// The length of diagonal `k` of `input`, which has the type `ty`.
fn length(ty: &Type, k: i64) -> String {
    let size = |axis: usize| format!("shape(identity(input))[{axis}]");
    let (down, right) = ((-k).max(0), k.max(0));
    format!("minimum({} - {down}, {} - {right})", size(ty.rank() - 2), size(ty.rank() - 1))
}

/// Diagonal `k` of `input`.
fn part(call: &Call, k: i64) -> ExprResult<String> {
    let ty = matrices(call)?;
    let rank = ty.rank();
    let size = |axis: usize| format!("shape(identity(input))[{axis}]");
    let (rows, columns) = (size(rank - 2), size(rank - 1));
    let (down, right) = ((-k).max(0), k.max(0));
    let length = length(&ty, k);
    let places = format!("(range({length}) + {down}) * {columns} + range({length}) + {right}");
    let outer: String = (0..rank - 2).map(|axis| format!("{}, ", size(axis))).collect();
    Ok(format!("gather(reshape(input, [{outer}{rows} * {columns}]), {places}, axis={})", rank - 2))
}

fn band(call: &Call) -> ExprResult<String> {
    let ty = matrices(call)?;
    let (row, column) = (
        format!("expand_dims(range(shape(identity(input))[{}]), 1)", ty.rank() - 2),
        format!("range(shape(identity(input))[{}])", ty.rank() - 1),
    );
    // A diagonal that the matrix does not have is rejected: its number is an index into the diagonals.
    let within = |most: &str, axis: usize, distance: String| {
        let all = format!("range(shape(identity(input))[{axis}] + 1)");
        format!("(({most} < 0) | ({distance} <= gather({all}, maximum({most}, 0))))")
    };
    let lower = within("num_lower", ty.rank() - 2, format!("{row} - {column}"));
    let upper = within("num_upper", ty.rank() - 1, format!("{column} - {row}"));
    Ok(format!("where({lower} & {upper}, input, {})", nothing(&ty, "input")?))
}

fn set(call: &Call) -> ExprResult<String> {
    let (rank, k) = (matrices(call)?.rank(), number_at(call, 2)?);
    let size = |axis: usize| format!("shape(identity(input))[{axis}]");
    let (rows, columns) = (size(rank - 2), size(rank - 1));
    let (down, right) = ((-k).max(0), k.max(0));
    let length = format!("minimum({rows} - {down}, {columns} - {right})");
    // The value of each row, which does not fit the rows if the diagonal is not as long as that of the matrix.
    let outer = "[0, 0], ".repeat(rank - 2);
    let values = format!("pad(diagonal, [{outer}[{down}, {rows} - {down} - {length}]])");
    let values = format!("reshape({values}, [{}{rows}, 1])", (0..rank - 2).map(|axis| format!("{}, ", size(axis))).collect::<String>());
    Ok(format!("where(expand_dims(range({rows}), 1) + {k} == range({columns}), {values}, input)"))
}
