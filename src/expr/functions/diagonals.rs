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
        "diagonal|x, k=0, num_rows=-1, num_cols=-1, padding_value=None, align=\"RIGHT_LEFT\"",
        "Matrices with the values of the last axis on diagonal k, and padding_value (0) elsewhere; square and just large enough, unless the \
         number of rows or columns is given. With k=(LOWER, UPPER), the last two axes hold these diagonals as linalg.diag_part returns them.",
        [
            ("linalg.diag([1, 2])", "[[1, 0], [0, 2]]"),
            ("linalg.diag([1, 2], k=1)", "[[0, 1, 0], [0, 0, 2], [0, 0, 0]]"),
            ("linalg.diag([1, 2], num_cols=3)", "[[1, 0, 0], [0, 2, 0]]"),
            ("linalg.diag([[0, 7], [1, 2]], k=(0, 1))", "[[1, 7], [0, 2]]")
        ],
        diag
    ),
    formula!(
        ["linalg.diag_part", "matrix_diag_part"],
        "input|x, k=0, padding_value=None, align=\"RIGHT_LEFT\"",
        "Diagonal k of matrices, or, with k=(LOWER, UPPER), these diagonals as rows, starting with the uppermost. Shorter ones are padded with \
         padding_value (0). align sets the side to which the diagonals above and below the main diagonal are aligned.",
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
        "input|x, diagonal, k=0, align=\"RIGHT_LEFT\"",
        "Replace the values on diagonal k of matrices, or on several, given as linalg.diag_part returns them.",
        [
            ("linalg.set_diag([[1, 2], [3, 4]], [8, 9])", "[[8, 2], [3, 9]]"),
            ("linalg.set_diag([[1, 2], [3, 4]], [[0, 7], [8, 9]], k=(0, 1))", "[[8, 7], [3, 9]]")
        ],
        alike: [0, 1],
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
    call.dense(call.operand(0)?, "to pad its rows: to_tensor(x)")
}

/// The lowest and the highest diagonal of argument `i`, which is a number or a pair.
fn band_at(call: &Call, i: usize) -> ExprResult<(i64, i64)> {
    let (lower, upper) = match call.given(i).and_then(|k| k.elements()) {
        None => call.optional_int(i)?.map_or((0, 0), |k| (k, k)),
        Some(_) => match call.ints(i)?.as_deref() {
            Some([k]) => (*k, *k),
            Some([lower, upper]) if lower <= upper => (*lower, *upper),
            _ => {
                let message = format!("{}: k must be one diagonal, or the lowest and the highest of several, such as (-1, 1)", call.name);
                return Err(call.error(message));
            }
        },
    };
    match [lower, upper].into_iter().find(|k| k.unsigned_abs() > 1 << 28) {
        Some(k) => Err(call.error(format!("{}: there is no diagonal {k}", call.name))),
        None => Ok((lower, upper)),
    }
}

/// On which side the values of diagonals are that are shorter than the longest one.
struct Align {
    /// Whether the diagonals above the main one end with the row.
    above: bool,
    /// Whether those below do.
    below: bool,
}

impl Align {
    /// Argument `i`.
    fn at(call: &Call, i: usize) -> ExprResult<Align> {
        let align = call.string(i)?.unwrap_or("RIGHT_LEFT".to_owned());
        let (above, below) = match align.as_str() {
            "RIGHT_LEFT" => (true, false),
            "LEFT_RIGHT" => (false, true),
            "LEFT_LEFT" => (false, false),
            "RIGHT_RIGHT" => (true, true),
            _ => {
                let message = format!("{}: align must be RIGHT_LEFT, LEFT_RIGHT, LEFT_LEFT or RIGHT_RIGHT, not {align:?}", call.name);
                return Err(call.error(message));
            }
        };
        Ok(Align { above, below })
    }

    /// Whether the values of diagonal `k` end with the row.
    fn is_right(&self, k: i64) -> bool {
        (self.above && k >= 0) || (self.below && k <= 0)
    }

    /// The same, of diagonals that a formula computes.
    fn is_right_formula(&self, k: &str) -> String {
        match (self.above, self.below) {
            (true, true) => "True".to_owned(),
            (false, false) => "False".to_owned(),
            (true, false) => format!("({k} >= 0)"),
            (false, true) => format!("({k} <= 0)"),
        }
    }
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
    let (lower, upper) = band_at(call, 1)?;
    let elsewhere = padding(call, 4, &ty, "diagonal")?;
    if lower < upper {
        return several(call, &ty, (lower, upper), &elsewhere);
    }
    let (k, last) = (lower, ty.rank() - 1);
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

/// Matrices with several diagonals.
fn several(call: &Call, ty: &Type, (lower, upper): (i64, i64), elsewhere: &str) -> ExprResult<String> {
    let longest = format!("shape(identity(diagonal))[{}]", ty.rank() - 1);
    let least = [format!("({longest} + {})", (-upper).max(0)), format!("({longest} + {})", lower.max(0))];
    let given = |i: usize| call.optional_int(i).map(|n| n.filter(|n| *n != -1));
    let [rows, columns] = match (given(2)?, given(3)?) {
        (None, None) => {
            let size = format!("maximum({}, {})", least[0], least[1]);
            [size.clone(), size]
        }
        (rows, columns) => {
            let [least_rows, least_columns] = least;
            [rows.map_or(least_rows, |n| n.to_string()), columns.map_or(least_columns, |n| n.to_string())]
        }
    };
    let outer: String = (0..ty.rank().saturating_sub(2)).map(|axis| format!("shape(identity(diagonal))[{axis}], ")).collect();
    let shape = [outer.as_str(), &rows, &columns];
    on_diagonals(call, ty, upper - lower + 1, &[lower.to_string(), upper.to_string()], &shape, &Align::at(call, 5)?, elsewhere)
}

/// The matrices `otherwise`, with `diagonal`, of type `ty`, on `count` diagonals, from the lower to the upper one. The shape of the
/// matrices are the sizes of the outer axes, each with a comma, the number of rows and that of columns. Diagonals that they do not have
/// are ignored.
fn on_diagonals(
    call: &Call,
    ty: &Type,
    count: i64,
    [lower, upper]: &[String; 2],
    [outer, rows, columns]: &[&str; 3],
    align: &Align,
    otherwise: &str,
) -> ExprResult<String> {
    if ty.rank() < 2 {
        return Err(call.error(format!("{}: {count} diagonals must be the rows of a matrix, found {ty}", call.name)));
    }
    let axis = ty.rank() - 2;
    if let Size::Known(n) = ty.dims[axis].size
        && i64::try_from(n) != Ok(count)
    {
        return Err(call.error(format!("{}: k names {count} diagonals, found {n}", call.name)));
    }
    let longest = format!("minimum({rows} + minimum({upper}, 0), {columns} - maximum({lower}, 0))");
    // For each place of a matrix: its diagonal, how many values that has, and which of them is there.
    let (row, column) = (format!("expand_dims(range({rows}), 1)"), format!("range({columns})"));
    let k = format!("({column} - {row})");
    let length = format!("minimum({rows} + minimum({k}, 0), {columns} - maximum({k}, 0))");
    let place = format!("minimum({row}, {column}) + where({}, {longest} - {length}, 0)", align.is_right_formula(&k));
    let is_inside = format!("(({k} >= {lower}) & ({k} <= {upper}))");
    let flat = format!("reshape(diagonal, [{outer}{count} * ({longest})])");
    let values = format!("gather({flat}, where({is_inside}, ({upper} - {k}) * ({longest}) + {place}, 0), axis={axis})");
    Ok(format!("where({is_inside}, {values}, {otherwise})"))
}

/// The diagonals that `k` names.
fn parts(call: &Call) -> ExprResult<String> {
    let ty = matrices(call)?;
    let (lower, upper) = band_at(call, 1)?;
    if lower == upper {
        return part(call, lower);
    }
    if upper - lower >= MAX_DIAGONALS {
        return Err(call.error(format!("linalg.diag_part: {} diagonals are more than {MAX_DIAGONALS}", upper - lower + 1)));
    }
    let align = Align::at(call, 3)?;
    let value = padding(call, 2, &ty, "input")?;
    let longest = length(&ty, lower.max(0).min(upper));
    let row = |k: i64| {
        let missing = format!("{longest} - {}", length(&ty, k));
        let around = if align.is_right(k) { format!("[{missing}, 0]") } else { format!("[0, {missing}]") };
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

/// The number of diagonal `k` as a formula that fails if a matrix does not have it: the number is an index into the rows or the columns.
fn existing(k: i64, rows: &str, columns: &str) -> String {
    match k {
        ..0 => format!("(-gather(range({rows}), {}))", -k),
        0 => k.to_string(),
        1.. => format!("gather(range({columns}), {k})"),
    }
}

/// Diagonal `k` of `input`.
fn part(call: &Call, k: i64) -> ExprResult<String> {
    let ty = matrices(call)?;
    let rank = ty.rank();
    let size = |axis: usize| format!("shape(identity(input))[{axis}]");
    let (rows, columns) = (size(rank - 2), size(rank - 1));
    let length = length(&ty, k);
    let first = match k {
        ..0 => format!("-{} * {columns}", existing(k, &rows, &columns)),
        _ => existing(k, &rows, &columns),
    };
    let places = format!("range({length}) * {columns} + range({length}) + {first}");
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
    let (rank, (k, upper)) = (matrices(call)?.rank(), band_at(call, 2)?);
    let size = |axis: usize| format!("shape(identity(input))[{axis}]");
    let (rows, columns) = (size(rank - 2), size(rank - 1));
    if k < upper {
        let diagonal = call.dense(call.operand(1)?, "to pad its rows: to_tensor(x)")?;
        let outer: String = (0..rank - 2).map(|axis| format!("{}, ", size(axis))).collect();
        let bounds = [k, upper].map(|k| existing(k, &rows, &columns));
        return on_diagonals(call, &diagonal, upper - k + 1, &bounds, &[&outer, &rows, &columns], &Align::at(call, 3)?, "input");
    }
    let (down, right) = ((-k).max(0), k.max(0));
    let length = format!("minimum({rows} - {down}, {columns} - {right})");
    // The value of each row, which does not fit the rows if the diagonal is not as long as that of the matrix.
    let outer = "[0, 0], ".repeat(rank - 2);
    let values = format!("pad(diagonal, [{outer}[{down}, {rows} - {down} - {length}]])");
    let values = format!("reshape({values}, [{}{rows}, 1])", (0..rank - 2).map(|axis| format!("{}, ", size(axis))).collect::<String>());
    let k = existing(k, &rows, &columns);
    Ok(format!("where(expand_dims(range({rows}), 1) + {k} == range({columns}), {values}, input)"))
}
