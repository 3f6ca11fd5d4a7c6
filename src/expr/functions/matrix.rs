//! Products of matrices.
//!
//! Semantics: `tf.linalg.matmul`, of `tf.Tensor` and of `tf.RaggedTensor`; `tf.sparse.sampled_addmm`.

use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, cast_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::broadcast::align;
use crate::expr::kernels::cast::{cast, i64s, native};
use crate::expr::kernels::level::{partition_of, record_below, wrap};
use crate::expr::kernels::number::{Number, numbers};
use crate::expr::operand::OperandKind;
use crate::expr::types::{broadcast, last_ragged};
use crate::printable::counted;
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::types::Float32Type;
use arrow_array::{ArrayRef, Int64Array, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["matmul", "linalg.matmul"],
        "a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False, a_is_sparse=False, b_is_sparse=False, output_type=None",
        "The product of two matrices, or of corresponding matrices in two batches; `a @ b`. It is computed in output_type, by default the dtype of the matrices.",
        [
            ("matmul([[1, 2], [3, 4]], [[5], [6]])", "[[17], [39]]"),
            ("matmul([[[1, 2]], [[3, 4], [5, 6]]], [[[1], [2]], [[1], [1]]])", "[[[5]], [[7], [11]]]")
        ],
        matmul
    ),
    formula!(
        ["sparse.sampled_addmm"],
        "indices, values, dense_shape, mat1, mat2, beta=1.0, alpha=1.0, output_type=float32",
        "beta * values + alpha * (mat1 @ mat2) at the indices of a sparse matrix; returns indices, values and dense shape.",
        [(
            "sparse.sampled_addmm([[0, 0], [1, 1]], [1.0, 2.0], [2, 2], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]])[1]",
            "[2.0, 6.0]"
        )],
        alike: [1, 3, 4],
        |_| Ok("(indices, gather_nd(mat1 @ mat2, indices) * alpha + values * beta, dense_shape)".to_owned())
    ),
];

/// A stack of matrices in each record: the outer axes, followed by rows and columns.
struct Matrices {
    arg: Arg,
    transposed: bool,
}

/// The location of the values of one matrix.
struct Matrix {
    /// The start of its rows in the flat values.
    starts: Vec<usize>,
    columns: usize,
    transposed: bool,
}

impl Matrix {
    /// Number of rows and columns, after any transposition.
    fn size(&self) -> (usize, usize) {
        if self.transposed { (self.columns, self.starts.len()) } else { (self.starts.len(), self.columns) }
    }

    fn at(&self, row: usize, column: usize) -> usize {
        if self.transposed { self.starts[column] + row } else { self.starts[row] + column }
    }
}

impl Matrices {
    fn new(arg: Arg, transposed: bool, name: &str) -> ExprResult<Matrices> {
        if arg.rank() < 2 {
            return Err(ExprError::at(arg.span.clone(), format!("{name} expects a matrix, found {}", arg.ty)));
        }
        Ok(Matrices { arg, transposed })
    }

    fn outer(&self) -> usize {
        self.arg.rank() - 2
    }

    /// The axes of rows and columns, after any transposition.
    fn dims(&self) -> (Dim, Dim) {
        let (rows, columns) = (self.arg.ty.dims[self.outer()].clone(), self.arg.ty.dims[self.outer() + 1].clone());
        if self.transposed { (columns, rows) } else { (rows, columns) }
    }

    /// The matrices of a tensor, below its outer axes.
    fn of(&self, tensor: &Tensor) -> Result<Vec<Matrix>> {
        let (_, below) = tensor.levels(self.outer())?;
        let rows = below.as_list()?;
        let columns = rows.values().as_list()?.partition();
        let known = |dim: &Dim| if let Size::Known(n) = dim.size { usize::try_from(n).ok() } else { None };
        (0..rows.partition().nrows())
            .map(|matrix| {
                let range = rows.partition().range(matrix);
                let width = range.clone().next().map(|row| columns.row_length(row));
                let width = width.or_else(|| known(&self.arg.ty.dims[self.outer() + 1])).unwrap_or_else(|| {
                    let mut width = [0];
                    rows.item_sizes(matrix, &mut width);
                    width[0]
                });
                if let Some(other) = range.clone().map(|row| columns.row_length(row)).find(|n| *n != width) {
                    let record = crate::expr::kernels::level::record_of(tensor, self.outer(), matrix);
                    return Err(Error::data(format!(
                        "the rows have {width} and {other} values; the rows of a matrix must have equal length"
                    ))
                    .at_row(record));
                }
                Ok(Matrix { starts: range.map(|row| columns.start(row)).collect(), columns: width, transposed: self.transposed })
            })
            .collect()
    }

    /// The index of each matrix below the outer axes.
    fn numbers(&self, tensor: &Tensor) -> Result<Tensor> {
        tensor.map_below(self.outer(), &mut |t| Ok(Tensor::Leaf(Arc::new(Int64Array::from_iter_values(0..t.nrows() as i64)))))
    }
}

/// Whether a matrix is transposed, by one of two flags.
fn turned(call: &Call, transpose: usize, adjoint: usize) -> ExprResult<bool> {
    match (call.flag(transpose, false)?, call.flag(adjoint, false)?) {
        (true, true) => Err(call.error(format!("{} and {} cannot be used together", call.param(transpose), call.param(adjoint)))),
        (transpose, adjoint) => Ok(transpose || adjoint),
    }
}

/// The message about matrices that cannot be multiplied.
pub fn unmatched(columns: u64, rows: u64) -> String {
    format!("the first matrix has {}, but the second has {}", counted(columns, "column"), counted(rows, "row"))
}

fn matmul(call: &mut Call) -> ExprResult<OperandKind> {
    // The adjoint of a real matrix is its transpose.
    let (ta, tb) = (turned(call, 2, 4)?, turned(call, 3, 5)?);
    let mut args = call.promoted(&[0, 1])?;
    if let Some(wanted) = call.dtype(8)? {
        let wanted = wanted.clone();
        for arg in &mut args {
            let node = cast_node(call.node(arg), &wanted, call.text())?;
            *arg = call.push(node);
        }
    }
    let dtype = args[0].dtype()?.clone();
    if !dtype.is_number() {
        return Err(call.error(format!("{} expects numbers, found {dtype}", call.name)));
    }
    let (a, b) = (Matrices::new(args[0].clone(), ta, &call.name)?, Matrices::new(args[1].clone(), tb, &call.name)?);
    let ((m, k), (other, n)) = (a.dims(), b.dims());
    if let (Size::Known(m), Size::Known(n)) = (k.size, other.size)
        && m != n
    {
        return Err(call.error(unmatched(m, n)));
    }
    let (outer_a, outer_b) = (a.arg.ty.dims[..a.outer()].to_vec(), b.arg.ty.dims[..b.outer()].to_vec());
    if outer_a.len() != outer_b.len() && args.iter().any(|arg| last_ragged(&arg.ty.dims).is_some()) {
        return Err(call.error(format!("{} expects ragged tensors of the same rank, found {} and {}", call.name, args[0].ty, args[1].ty)));
    }
    let mut dims = broadcast(&[&outer_a, &outer_b])?;
    // A single matrix per record is dense; the matrices of a stack can differ in size.
    let single = dims.is_empty();
    dims.extend([m, n].map(|dim| if single && dim.size == Size::Ragged { Dim::UNIFORM } else { dim }));
    call.one(Type::tensor(dtype.clone(), dims.clone()), move |args| {
        let (x, y) = (a.arg.of(args)?, b.arg.of(args)?);
        let (numbers_x, numbers_y) = (a.numbers(&x)?, b.numbers(&y)?);
        let aligned = align(&[(&numbers_x, &outer_a), (&numbers_y, &outer_b)])?;
        let (of_x, of_y) = (aligned.flat(0, &numbers_x, outer_a.len())?, aligned.flat(1, &numbers_y, outer_b.len())?);
        let (of_x, of_y) = (i64s(of_x.as_leaf()?)?, i64s(of_y.as_leaf()?)?);
        let (left, right) = (a.of(&x)?, b.of(&y)?);
        let (mut pairs, mut rows, mut columns, mut count) = (Vec::with_capacity(of_x.len()), Vec::new(), Vec::new(), 0usize);
        let mut widths = Vec::with_capacity(of_x.len());
        for (i, (p, q)) in of_x.iter().zip(of_y).enumerate() {
            let (p, q) = (&left[*p as usize], &right[*q as usize]);
            let ((m, k), (other, n)) = (p.size(), q.size());
            let record = || record_below(aligned.partitions.iter(), i);
            // A matrix without rows does not determine the number of its columns.
            let is_open = (m, k) == (0, 0) && !p.transposed || (other, n) == (0, 0) && q.transposed;
            if k != other && !is_open {
                return Err(Error::data(unmatched(k as u64, other as u64)).at_row(record()));
            }
            count = check_count(m.checked_mul(n).and_then(|c| c.checked_add(count)), record())?;
            rows.push(m);
            widths.push(n);
            columns.extend(std::iter::repeat_n(n, m));
            pairs.push((p, q));
        }
        let (_, vx) = x.levels(a.arg.rank())?;
        let (_, vy) = y.levels(b.arg.rank())?;
        let (vx, vy) = (vx.as_leaf()?, vy.as_leaf()?);
        // Sums of float16 are rounded once, as in TensorFlow.
        let flat = if dtype == DType::Float16 {
            let wide = DType::Float32;
            cast(&products::<Float32Type>(&pairs, &cast(vx, &wide)?, &cast(vy, &wide)?, count)?, &dtype)?
        } else {
            numbers!(&dtype, T => products::<T>(&pairs, vx, vy, count)?, return Err(Error::internal("a product of other values")))
        };
        let [m, n] = &dims[dims.len() - 2..] else { return Err(Error::internal("a product without axes")) };
        let columns = partition_of(n, columns)?;
        let rows = partition_of(m, rows)?.with_sizes_below(std::slice::from_ref(&columns), |row, out| out[0] = widths[row]);
        let inner: [RowPartition; 2] = [rows, columns];
        wrap(aligned.partitions.into_iter().chain(inner), Tensor::Leaf(flat))
    })
}

fn products<T: Number>(pairs: &[(&Matrix, &Matrix)], left: &ArrayRef, right: &ArrayRef, count: usize) -> Result<ArrayRef> {
    let (x, y) = (native::<T>(left)?, native::<T>(right)?);
    let mut out = vec![T::ZERO; count];
    let mut rest = out.as_mut_slice();
    for (p, q) in pairs {
        let ((m, k), (_, n)) = (p.size(), q.size());
        let (own, after) = rest.split_at_mut(m * n);
        rest = after;
        for (i, row) in own.chunks_exact_mut(n.max(1)).enumerate() {
            for l in 0..k {
                let factor = x[p.at(i, l)];
                if q.transposed {
                    row.iter_mut().enumerate().for_each(|(j, sum)| *sum = T::add(*sum, T::multiply(factor, y[q.at(l, j)])));
                } else {
                    let start = q.at(l, 0);
                    row.iter_mut().zip(&y[start..start + n]).for_each(|(sum, v)| *sum = T::add(*sum, T::multiply(factor, *v)));
                }
            }
        }
    }
    Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)))
}
