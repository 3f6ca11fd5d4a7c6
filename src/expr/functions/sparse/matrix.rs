//! Products of a sparse and a dense matrix.
//!
//! Semantics: `tf.sparse.sparse_dense_matmul`. For each entry, in order, adds its value times a row of the
//! dense matrix to a row of the result.

use super::arithmetic::meeting;
use super::shared::{TensorRows, dense, is_sparse, said, size_of, sparse_of};
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, cast_node, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::functions::matrix::unmatched;
use crate::expr::kernels::cast::native;
use crate::expr::kernels::entries::{self, DenseRows, dense_parts};
use crate::expr::kernels::number::{Number, numbers};
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Dim, Type};
use crate::tensor::Tensor;
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[function!(
    ["sparse.sparse_dense_matmul", "sparse.matmul", "sparse_tensor_dense_matmul"],
    "sp_a, b, adjoint_a=False, adjoint_b=False",
    "The dense product of a sparse and a dense matrix, in either order.",
    [("sparse.sparse_dense_matmul(SparseTensor([[0, 1]], [2], [2, 2]), [[1, 2], [3, 4]])", "[[6, 8], [0, 0]]")],
    matmul
)];

/// A product: the order of the matrices, and whether they are transposed.
struct Product {
    sparse: Arg,
    dense: Arg,
    dtype: DType,
    /// Whether the sparse matrix comes first.
    first: bool,
    sparse_adjoint: bool,
    dense_adjoint: bool,
    dims: Vec<Dim>,
}

fn matmul(call: &mut Call) -> ExprResult<OperandKind> {
    let (adjoint_a, adjoint_b) = (call.flag(2, false)?, call.flag(3, false)?);
    let (a, b) = (call.operand(0)?.clone(), call.operand(1)?.clone());
    let first = is_sparse(&a);
    if first == is_sparse(&b) {
        let what = if first { "both of these are" } else { "neither of these is" };
        return Err(call.error(format!("{} expects a sparse and a dense matrix; {what} sparse", call.name)).help(if first {
            "make one of them dense: sparse.to_dense(x)"
        } else {
            "to multiply dense matrices: a @ b"
        }));
    }
    let (sparse_item, dense_item, dense_at) = if first { (a, b, 1) } else { (b, a, 0) };
    let (sparse_adjoint, dense_adjoint) = if first { (adjoint_a, adjoint_b) } else { (adjoint_b, adjoint_a) };
    let x = sparse_of(call, &sparse_item)?;
    let own = x.dtype()?.clone();
    let y = if dense_item.is_literal() { call.tensor_of(dense_at, &own)? } else { call.tensor(dense_at)? };
    for arg in [&x, &y] {
        call.check_dtype(arg, "numbers", DType::is_number)?;
        if arg.rank() != 2 {
            return Err(ExprError::at(arg.span.clone(), format!("{} expects a matrix, found {}", call.name, said(arg))));
        }
    }
    let y = dense(call, y)?;
    let dtype = meeting(call, &own, y.dtype()?)?;
    let (x, y) = if own == dtype && *y.dtype()? == dtype {
        (x, y)
    } else {
        let (p, q) =
            (cast_node(strict_node(&sparse_item)?, &dtype, call.text())?, cast_node(strict_node(&dense_item)?, &dtype, call.text())?);
        (call.push(p), call.push(q))
    };
    let turned = |arg: &Arg, adjoint: bool| -> [Dim; 2] {
        let [rows, columns] = [super::shared::plain(&arg.ty.dims[0]), super::shared::plain(&arg.ty.dims[1])];
        if adjoint { [columns, rows] } else { [rows, columns] }
    };
    let (p, q) = (turned(&x, sparse_adjoint), turned(&y, dense_adjoint));
    let (left, right) = if first { (p, q) } else { (q, p) };
    if let (Some(m), Some(n)) = (size_of(&left[1]), size_of(&right[0]))
        && m != n
    {
        return Err(call
            .error(format!("{}: {}", call.name, unmatched(m.unsigned_abs(), n.unsigned_abs())))
            .help("to transpose a: adjoint_a=True"));
    }
    let ([rows, _], [_, columns]) = (left, right);
    let product = Product { sparse: x, dense: y, dtype: dtype.clone(), first, sparse_adjoint, dense_adjoint, dims: vec![rows, columns] };
    call.one(Type::tensor(dtype, product.dims.clone()), move |args| product.of(args))
}

impl Product {
    fn of(&self, args: &Args) -> Result<Tensor> {
        let tensor = self.sparse.of(args)?;
        let s = entries::sparse(&tensor)?;
        let rows = TensorRows::of(&self.dense, args)?;
        let (values, starts, shapes) = dense_parts(&rows.tensor, &self.dense.ty.dims)?;
        // Sizes of the matrices after any transposition.
        let sizes = |record: usize| -> ([i64; 2], [i64; 2]) {
            let (own, row) = (s.shape_of(record), rows.at(record));
            let (mut p, mut q) = ([own[0], own[1]], [shapes[row * 2], shapes[row * 2 + 1]]);
            if self.sparse_adjoint {
                p.swap(0, 1);
            }
            if self.dense_adjoint {
                q.swap(0, 1);
            }
            (p, q)
        };
        let mut out_shapes = Vec::with_capacity(2 * s.nrows());
        for record in 0..s.nrows() {
            let (p, q) = sizes(record);
            let (left, right) = if self.first { (p, q) } else { (q, p) };
            if left[1] != right[0] && left[1] != -1 && right[0] != -1 {
                return Err(Error::data(unmatched(left[1].unsigned_abs(), right[0].unsigned_abs())).at_row(record));
            }
            out_shapes.extend([left[0].max(0), right[1].max(0)]);
        }
        let result = DenseRows::new(&self.dims, &out_shapes, s.nrows())?;
        let flat = numbers!(&self.dtype, T => {
            let (own, other) = (native::<T>(s.values())?, native::<T>(values)?);
            let mut out = vec![<T as Number>::ZERO; result.nvals()];
            for record in 0..s.nrows() {
                let (_, q) = sizes(record);
                let columns = out_shapes[2 * record + 1] as usize;
                let (m, n) = (q[0].max(0) as usize, q[1].max(0) as usize);
                // The dense matrix is laid out by the summed axis and then the other axis; the result by the axis of
                // the sparse matrix and then the other.
                let (inner, other_step) = match (self.first, self.dense_adjoint) {
                    (true, false) => (n, 1),
                    (true, true) => (1, m),
                    (false, false) => (1, n),
                    (false, true) => (m, 1),
                };
                let (count, out_own, out_other) = if self.first { (n, columns, 1) } else { (m, 1, columns) };
                // The component of an index along the result axis; the other one is along the summed axis.
                let kept = usize::from(self.first == self.sparse_adjoint);
                let (base, from) = (result.starts[record], starts[rows.at(record)]);
                for entry in s.entries().range(record) {
                    let index = s.index_of(entry);
                    let (i, k) = (index[kept] as usize, index[1 - kept] as usize);
                    let value = own[entry];
                    let (source, target) = (from + k * inner, base + i * out_own);
                    if other_step == 1 && out_other == 1 {
                        let row = &other[source..source + count];
                        out[target..target + count].iter_mut().zip(row).for_each(|(o, v)| *o = <T as Number>::add(*o, <T as Number>::multiply(value, *v)));
                    } else {
                        for j in 0..count {
                            let o = &mut out[target + j * out_other];
                            *o = <T as Number>::add(*o, <T as Number>::multiply(value, other[source + j * other_step]));
                        }
                    }
                }
            }
            Arc::new(PrimitiveArray::<T>::new(out.into(), None)) as ArrayRef
        }, return Err(Error::internal("a product of other values")));
        result.wrap(flat)
    }
}
