//! Products of matrices.
//!
//! Source of the meaning: `tf.linalg.matmul`.

use crate::error::Error;
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::cast::native;
use crate::expr::kernels::level::bounding;
use crate::expr::kernels::level::{check_count, from_lengths, wrap};
use crate::expr::kernels::number::{Number, numbers};
use crate::expr::operand::OperandKind;
use crate::expr::types::last_ragged;
use crate::schema::{Size, Type};
use crate::tensor::Tensor;
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[function!(
    ["matmul", "linalg.matmul"],
    "a, b, transpose_a=False, transpose_b=False",
    "The product of two matrices; `a @ b`.",
    [("matmul([[1, 2], [3, 4]], [[5], [6]])", "[[17], [39]]")],
    matmul
)];

/// Rows and columns of two dense matrices in each record.
fn matmul(call: &mut Call) -> ExprResult<OperandKind> {
    let (ta, tb) = (call.flag(2, false)?, call.flag(3, false)?);
    let mut args = call.promoted(&[0, 1])?;
    for (i, transposed) in [(0, ta), (1, tb)] {
        if args[i].rank() != 2 || last_ragged(&args[i].ty.dims).is_some() {
            return Err(ExprError::at(args[i].span.clone(), format!("{} works on dense matrices; this is {}", call.name, args[i].ty)));
        }
        if transposed {
            args[i].ty.dims.reverse();
        }
    }
    let dtype = args[0].dtype()?.clone();
    if !dtype.is_number() {
        return Err(call.error(format!("{} works on numbers; these are {dtype}", call.name)));
    }
    if let (Size::Known(m), Size::Known(n)) = (args[0].ty.dims[1].size, args[1].ty.dims[0].size)
        && m != n
    {
        return Err(call.error(format!("rows of {m} items do not meet columns of {n}")));
    }
    let dims = vec![args[0].ty.dims[0].clone(), args[1].ty.dims[1].clone()];
    call.one(Type::tensor(dtype.clone(), dims.clone()), move |a| {
        let (x, y) = (args[0].of(a)?, args[1].of(a)?);
        let (sx, sy) = (bounding(&x, 2)?, bounding(&y, 2)?);
        let ((px, vx), (py, vy)) = (x.levels(2)?, y.levels(2)?);
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        let mut out = Vec::new();
        for record in 0..a.nrows {
            let (mut m, mut k) = (sx[0][record], sx[1][record]);
            let (mut k2, mut n) = (sy[0][record], sy[1][record]);
            if ta {
                std::mem::swap(&mut m, &mut k);
            }
            if tb {
                std::mem::swap(&mut k2, &mut n);
            }
            if k != k2 {
                return Err(Error::data(format!("rows of {k} items do not meet columns of {k2}")).at_row(record));
            }
            check_count(m.checked_mul(n).and_then(|c| c.checked_add(out.len())), record)?;
            let (bx, by) = (px[1].start(px[0].start(record)), py[1].start(py[0].start(record)));
            for i in 0..m {
                for j in 0..n {
                    let at_x = move |l: usize| bx + if ta { l * m + i } else { i * k + l };
                    let at_y = move |l: usize| by + if tb { j * k + l } else { l * n + j };
                    out.push((at_x(0), if k > 1 { at_x(1) - at_x(0) } else { 0 }, at_y(0), if k > 1 { at_y(1) - at_y(0) } else { 0 }, k));
                }
            }
            rows.push(m);
            columns.extend(std::iter::repeat_n(n, m));
        }
        let flat = numbers!(&dtype, T => {
            let (p, q) = (native::<T>(vx.as_leaf()?)?, native::<T>(vy.as_leaf()?)?);
            let values: Vec<_> = out
                .iter()
                .map(|(x, dx, y, dy, k)| (0..*k).fold(<T as Number>::ZERO, |sum, l| <T as Number>::add(sum, <T as Number>::multiply(p[x + l * dx], q[y + l * dy]))))
                .collect();
            Arc::new(PrimitiveArray::<T>::new(values.into(), None)) as ArrayRef
        }, return Err(Error::internal("a product of other values")));
        wrap([from_lengths(rows)?, from_lengths(columns)?].into_iter(), Tensor::Leaf(flat))
    })
}
