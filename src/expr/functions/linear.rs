//! Linear algebra as formulas over products of matrices.
//!
//! Semantics: `tf.linalg.matvec`, `matrix_transpose`, `adjoint`, `cross`, `global_norm`, `normalize`.

use crate::expr::call::{Call, Function};
use crate::expr::error::ExprResult;
use crate::schema::Type;

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["linalg.matvec"],
        "a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False",
        "The product of a matrix and a vector, or of corresponding ones in two batches.",
        [("linalg.matvec([[1, 2], [3, 4]], [5, 6])", "[17, 39]")],
        alike: [0, 1],
        |call| {
            matrices(call)?;
            Ok("squeeze(matmul(a, expand_dims(b, -1), transpose_a, False, adjoint_a), -1)".to_owned())
        }
    ),
    formula!(
        ["linalg.matrix_transpose", "linalg.adjoint", "matrix_transpose"],
        "a|matrix, conjugate=False",
        "The transpose of matrices: the last two axes are swapped.",
        [("linalg.matrix_transpose([[1, 2], [3, 4]])", "[[1, 3], [2, 4]]")],
        |call| {
            let rank = matrices(call)?.rank();
            let perm: Vec<usize> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
            Ok(format!("transpose(a, {perm:?})"))
        }
    ),
    formula!(
        ["linalg.cross"],
        "a, b",
        "Cross products of vectors of three values.",
        [("linalg.cross([1, 2, 3], [4, 5, 6])", "[-3, 6, -3]")],
        alike: [0, 1],
        |call| {
            let [a, b] = [0, 1].map(|i| call.dense(call.operand(i)?, "to pad its rows: to_tensor(x)"));
            let (a, b) = (a?, b?);
            if a.rank() != b.rank() || a.rank() == 0 {
                return Err(call.error(format!("linalg.cross expects vectors in tensors of the same shape, found {a} and {b}")));
            }
            let turned = |name: &str, places: [usize; 3]| {
                let open = "None, ".repeat(a.rank() - 1);
                format!("gather(ensure_shape({name}, [{open}3]), {places:?}, axis=-1)")
            };
            let product = |first: [usize; 3], second: [usize; 3]| format!("{} * {}", turned("a", first), turned("b", second));
            Ok(format!("{} - {}", product([1, 2, 0], [2, 0, 1]), product([2, 0, 1], [1, 2, 0])))
        }
    ),
    formula!(
        ["linalg.normalize"],
        "tensor, ord=\"euclidean\", axis=None",
        "The tensor divided by its norm, and the norm; see norm.",
        [("linalg.normalize([3.0, 4.0])[0]", "[0.6, 0.8]")],
        |_| Ok("(tensor / norm(tensor, ord, axis, True), norm(tensor, ord, axis, True))".to_owned())
    ),
    formula!(
        ["linalg.global_norm"],
        "t_list",
        "The Euclidean norm of all values in a list of tensors.",
        [("linalg.global_norm([[3.0], [4.0]])", "5.0")],
        |call| {
            let squares: Vec<String> = (0..call.list(0)?.len()).map(|i| format!("reduce_sum(square(t_list[{i}]))")).collect();
            if squares.is_empty() {
                return Err(call.error("linalg.global_norm expects a list of at least one tensor"));
            }
            Ok(format!("sqrt({})", squares.join(" + ")))
        }
    ),
    formula!(
        ["clip_by_global_norm"],
        "t_list, clip_norm, use_norm=None",
        "Scale down the tensors in a list together, so that their global norm is at most clip_norm; also returns the norm before scaling. use_norm is that norm, if it is already known.",
        [("clip_by_global_norm([[3.0], [4.0]], 1.0)[0][1]", "[0.8]"), ("clip_by_global_norm([[3.0], [4.0]], 1.0)[1]", "5.0")],
        |call| {
            let norm = if call.given(2).is_some() { "use_norm" } else { "linalg.global_norm(t_list)" };
            // An infinite norm gives NaN, as in TensorFlow.
            let scale = format!("(clip_norm * minimum(1.0 / {norm}, 1.0 / clip_norm) + ({norm} - {norm}))");
            let scaled: Vec<String> = (0..call.list(0)?.len()).map(|i| format!("t_list[{i}] * {scale}")).collect();
            Ok(format!("([{}], {norm})", scaled.join(", ")))
        }
    ),
    formula!(
        ["nn.batch_normalization"],
        "x, mean, variance, offset, scale, variance_epsilon",
        "Scale and shift values to a mean of offset (or None) and a standard deviation of scale (or None), given the mean and variance of the values.",
        [("nn.batch_normalization([1.0, 3.0], 2.0, 1.0, None, None, 0.0)", "[-1.0, 1.0]")],
        |call| {
            let scale = if call.given(4).is_some() { " * scale" } else { "" };
            let factor = format!("(math.rsqrt(variance + variance_epsilon){scale})");
            let offset = if call.given(3).is_some() { "offset" } else { "" };
            Ok(format!("x * {factor} + ({offset} - mean * {factor})"))
        }
    ),
];

/// The type of argument 0, which must hold dense matrices.
fn matrices(call: &Call) -> ExprResult<Type> {
    let ty = call.dense(call.operand(0)?, "to pad its rows: to_tensor(x)")?;
    if ty.rank() < 2 {
        return Err(call.error(format!("{} expects a matrix, found {ty}", call.name)));
    }
    Ok(ty)
}
