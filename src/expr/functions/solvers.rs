//! Determinants, inverses and solutions of square matrices, and Cholesky factors. The numbers are computed in float64 and rounded to
//! their dtype once.
//!
//! Semantics: `tf.linalg.det`, `slogdet`, `logdet`, `inv`, `solve`, `triangular_solve`, `cholesky`, `cholesky_solve`.

use super::math::must_be_float;
use crate::error::{Error, Result, mismatch};
use crate::expr::call::{Arg, Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::cast::{cast, native};
use crate::expr::kernels::factor::{Lu, Triangle, cholesky, substitute};
use crate::expr::kernels::level::{check_same, record_of};
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Size, Type};
use crate::tensor::Tensor;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["linalg.det", "matrix_determinant"],
        "input|x",
        "The determinants of square matrices, `[..., n, n]` to `[...]`.",
        [("linalg.det([[3.0, 1.0], [4.0, 2.0]])", "2.0")],
        |c| {
            let x = Squares::new(c, 0)?;
            let ty = Type::tensor(x.arg.dtype()?.clone(), x.arg.ty.dims[..x.outer()].to_vec());
            c.one(ty, move |args| {
                let out = x.each(&*x.arg.of(args)?, |matrix, n, out| {
                    out.push(Lu::new(matrix.to_vec(), n).determinant());
                    Ok(())
                })?;
                x.below_outer(&*x.arg.of(args)?, &out)
            })
        }
    ),
    function!(
        ["linalg.slogdet"],
        "input|x -> sign, log_abs_determinant",
        "The signs of the determinants of square matrices, and the logarithms of their magnitudes: 0 and -infinity for a singular matrix.",
        [("linalg.slogdet([[3.0, 1.0], [4.0, 3.0]]).sign", "1.0"), ("linalg.slogdet([[1.0]]).log_abs_determinant", "0.0")],
        |c| {
            let x = Squares::new(c, 0)?;
            let ty = Type::tensor(x.arg.dtype()?.clone(), x.arg.ty.dims[..x.outer()].to_vec());
            c.several(vec![ty.clone(), ty], move |args| {
                let tensor = x.arg.of(args)?;
                let mut signs = Vec::new();
                let logs = x.each(&tensor, |matrix, n, out| {
                    let (sign, log) = Lu::new(matrix.to_vec(), n).sign_and_log();
                    signs.push(sign);
                    out.push(log);
                    Ok(())
                })?;
                Ok(vec![x.below_outer(&tensor, &signs)?, x.below_outer(&tensor, &logs)?])
            })
        }
    ),
    formula!(
        ["linalg.logdet"],
        "matrix",
        "The logarithms of the determinants of positive definite matrices.",
        [("linalg.logdet([[1.0, 0.0], [0.0, 1.0]])", "0.0")],
        |_| Ok("reduce_sum(math.log(linalg.diag_part(linalg.cholesky(matrix))), axis=-1) * 2.0".to_owned())
    ),
    function!(
        ["linalg.inv", "matrix_inverse"],
        "input|x, adjoint=False",
        "The inverses of square matrices, transposed with adjoint=True. A singular matrix is an error.",
        [("linalg.inv([[2.0, 0.0], [0.0, 4.0]])", "[[0.5, 0.0], [0.0, 0.25]]")],
        |c| {
            let (x, adjoint) = (Squares::new(c, 0)?, c.flag(1, false)?);
            c.one(x.arg.ty.clone(), move |args| {
                let tensor = x.arg.of(args)?;
                let out = x.each(&tensor, |matrix, n, out| {
                    let mut unit = vec![0.0; n * n];
                    unit.iter_mut().step_by(n + 1).for_each(|v| *v = 1.0);
                    out.extend(solved(turned(matrix, n, adjoint), &unit, n)?);
                    Ok(())
                })?;
                x.instead(&tensor, &out)
            })
        }
    ),
    function!(
        ["linalg.solve", "matrix_solve"],
        "matrix, rhs, adjoint=False",
        "The solutions x of matrix @ x = rhs for square matrices `[..., n, n]` and right-hand sides `[..., n, k]`; with adjoint=True, for the \
         transposed matrices. A singular matrix is an error.",
        [("linalg.solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [2.0]])", "[[1.0], [0.5]]")],
        |c| {
            let adjoint = c.flag(2, false)?;
            solutions(c, move |matrix, n, right, columns| solved(turned(matrix, n, adjoint), right, columns))
        }
    ),
    function!(
        ["linalg.triangular_solve", "matrix_triangular_solve"],
        "matrix, rhs, lower=True, adjoint=False",
        "Like linalg.solve, for triangular matrices. Only the lower triangle is read or, with lower=False, the upper one.",
        [("linalg.triangular_solve([[2.0, 9.0], [1.0, 4.0]], [[2.0], [5.0]])", "[[1.0], [1.0]]")],
        |c| {
            let (lower, adjoint) = (c.flag(2, true)?, c.flag(3, false)?);
            solutions(c, move |matrix, n, right, columns| {
                if (0..n).any(|i| matrix[i * n + i] == 0.0) {
                    return Err(singular());
                }
                let mut out = right.to_vec();
                substitute(&turned(matrix, n, adjoint), &mut out, columns, Triangle { lower: lower != adjoint, unit: false });
                Ok(out)
            })
        }
    ),
    function!(
        ["linalg.cholesky", "cholesky"],
        "input|x",
        "The Cholesky factors of positive definite matrices: lower triangular matrices L such that L @ L' is the input, of which only the lower triangle is read. A matrix that is not positive definite is an error.",
        [("linalg.cholesky([[4.0, 2.0], [2.0, 10.0]])", "[[2.0, 0.0], [1.0, 3.0]]")],
        |c| {
            let x = Squares::new(c, 0)?;
            c.one(x.arg.ty.clone(), move |args| {
                let tensor = x.arg.of(args)?;
                let out = x.each(&tensor, |matrix, n, out| {
                    let factor = cholesky(matrix.to_vec(), n);
                    out.extend(factor.ok_or_else(|| Error::data("the matrix is not positive definite; it has no Cholesky factor"))?);
                    Ok(())
                })?;
                x.instead(&tensor, &out)
            })
        }
    ),
    formula!(
        ["linalg.cholesky_solve", "cholesky_solve"],
        "chol, rhs",
        "The solutions x of L @ L' @ x = rhs, given L from linalg.cholesky.",
        [("linalg.cholesky_solve([[2.0, 0.0], [1.0, 3.0]], [[8.0], [22.0]])", "[[1.0], [2.0]]")],
        alike: [0, 1],
        |_| Ok("linalg.triangular_solve(chol, linalg.triangular_solve(chol, rhs), True, True)".to_owned())
    ),
];

/// Square matrices in each record, `[..., n, n]`.
struct Squares {
    arg: Arg,
    dtype: DType,
}

impl Squares {
    fn new(call: &mut Call, i: usize) -> ExprResult<Squares> {
        call.dense(call.operand(i)?, "to pad its rows: to_tensor(x)")?;
        let arg = call.tensor(i)?;
        Squares::of(call, arg)
    }

    fn of(call: &Call, arg: Arg) -> ExprResult<Squares> {
        must_be_float(call, arg.dtype()?, &arg.span)?;
        let wrong = || ExprError::at(arg.span.clone(), format!("{} expects square matrices, found {}", call.name, arg.ty));
        let [.., rows, columns] = arg.ty.dims.as_slice() else { return Err(wrong()) };
        match (rows.size, columns.size) {
            (Size::Known(m), Size::Known(n)) if m != n => Err(wrong()),
            _ => Ok(Squares { dtype: arg.dtype()?.clone(), arg }),
        }
    }

    fn outer(&self) -> usize {
        self.arg.rank() - 2
    }

    /// The results of `of_matrix` for each matrix and its size, one after another. Its errors get the record.
    fn each(&self, tensor: &Tensor, mut of_matrix: impl FnMut(&[f64], usize, &mut Vec<f64>) -> Result<()>) -> Result<Vec<f64>> {
        let values = values_of(tensor, self.arg.rank())?;
        let values = native::<Float64Type>(&values)?;
        let (mut out, mut start) = (Vec::with_capacity(values.len()), 0);
        for (matrix, (rows, columns)) in sizes(tensor, self.outer())?.into_iter().enumerate() {
            let located = |e: Error| e.at_row(record_of(tensor, self.outer(), matrix));
            if rows != columns && rows > 0 {
                return Err(located(Error::data(mismatch("a square matrix", format_args!("{rows} rows of {columns} values")))));
            }
            let end = start + rows * columns;
            of_matrix(&values[start..end], rows, &mut out).map_err(located)?;
            start = end;
        }
        Ok(out)
    }

    /// One value for each matrix, in their dtype.
    fn below_outer(&self, tensor: &Tensor, values: &[f64]) -> Result<Tensor> {
        tensor.map_below(self.outer(), &mut |_| Ok(Tensor::Leaf(rounded(values, &self.dtype)?)))
    }

    /// A tensor with these values instead of its own, in the matrices' dtype.
    fn instead(&self, tensor: &Tensor, values: &[f64]) -> Result<Tensor> {
        tensor.map_below(self.arg.rank(), &mut |_| Ok(Tensor::Leaf(rounded(values, &self.dtype)?)))
    }
}

/// The values of a tensor as float64.
fn values_of(tensor: &Tensor, rank: usize) -> Result<ArrayRef> {
    cast(tensor.levels(rank)?.1.as_leaf()?, &DType::Float64)
}

fn rounded(values: &[f64], dtype: &DType) -> Result<ArrayRef> {
    cast(&(Arc::new(Float64Array::from(values.to_vec())) as ArrayRef), dtype)
}

/// The number of rows and columns of each matrix below the outer axes.
fn sizes(tensor: &Tensor, outer: usize) -> Result<Vec<(usize, usize)>> {
    let rows = tensor.levels(outer)?.1.as_list()?;
    let columns = rows.values().as_list()?.partition();
    let width = |matrix: usize| rows.partition().range(matrix).next().map_or(0, |row| columns.row_length(row));
    Ok((0..rows.partition().nrows()).map(|matrix| (rows.partition().row_length(matrix), width(matrix))).collect())
}

/// The matrix, or its transpose.
fn turned(matrix: &[f64], n: usize, transposed: bool) -> Vec<f64> {
    if transposed { (0..n * n).map(|at| matrix[at % n * n + at / n]).collect() } else { matrix.to_vec() }
}

fn solved(matrix: Vec<f64>, right: &[f64], columns: usize) -> Result<Vec<f64>> {
    let n = matrix.len().isqrt();
    let lu = Lu::new(matrix, n);
    if lu.is_singular() { Err(singular()) } else { Ok(lu.solve(right, columns)) }
}

fn singular() -> Error {
    Error::data("the matrix is singular; it has no inverse")
}

/// The solutions that `solve` finds for the matrices of argument 0 and the right sides of argument 1: it gets a matrix, its size, the
/// right side and its number of columns.
fn solutions(
    call: &mut Call,
    solve: impl Fn(&[f64], usize, &[f64], usize) -> Result<Vec<f64>> + Send + Sync + 'static,
) -> ExprResult<OperandKind> {
    for i in [0, 1] {
        call.dense(call.operand(i)?, "to pad its rows: to_tensor(x)")?;
    }
    let args = call.promoted(&[0, 1])?;
    let (matrices, right) = (Squares::of(call, args[0].clone())?, args[1].clone());
    let outer = matrices.outer();
    if right.rank() != outer + 2 {
        let error = format!("{}: rhs must have rank {}, like the matrices; this is {}", call.name, outer + 2, right.ty);
        let error = ExprError::at(right.span.clone(), error);
        return Err(if right.rank() == outer + 1 { error.help("vectors are columns: expand_dims(x, -1)") } else { error });
    }
    call.one(right.ty.clone(), move |args| {
        let (tensor, rhs) = (matrices.arg.of(args)?, right.of(args)?);
        check_same(&tensor, &rhs, outer, "the axes of matrix and rhs")?;
        let values = values_of(&rhs, outer + 2)?;
        let values = native::<Float64Type>(&values)?;
        let (mut shapes, mut start) = (sizes(&rhs, outer)?.into_iter(), 0);
        let out = matrices.each(&tensor, |matrix, n, out| {
            let (rows, columns) = shapes.next().unwrap_or((0, 0));
            if rows != n {
                return Err(Error::data(format!("the matrix has {n} rows, but rhs has {rows}")));
            }
            let end = start + rows * columns;
            out.extend(solve(matrix, n, &values[start..end], columns)?);
            start = end;
            Ok(())
        })?;
        matrices.instead(&rhs, &out)
    })
}
