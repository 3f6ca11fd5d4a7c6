//! Softmax over the entries of each row; missing entries take no part.
//!
//! Semantics: `tf.sparse.softmax`. Entries keep their order.

use super::shared::sparse;
use crate::error::{Error, Result};
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::cast::{dtype_of, native};
use crate::expr::kernels::entries::{self, order, with_values};
use crate::expr::kernels::number::{Number, floats};
use crate::expr::operand::OperandKind;
use crate::schema::DType;
use crate::tensor::Sparse;
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[function!(
    ["sparse.softmax", "sparse_softmax"],
    "sp_input",
    "Softmax of the entries along the last axis.",
    [("values(sparse.softmax(sparse.from_dense([[3.0, 3.0, 0.0]])))", "[0.5, 0.5]")],
    softmax
)];

fn softmax(call: &mut Call) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    call.check_dtype(&x, "floats", DType::is_float)?;
    if x.rank() < 2 {
        return Err(ExprError::at(
            x.span.clone(),
            format!("{} expects a tensor of rank 2 or higher, found {}", call.name, super::shared::said(&x)),
        )
        .help("to turn a vector into a row: sparse.expand_dims(x, 0)"));
    }
    call.one(x.ty.clone(), move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        let dtype = dtype_of(s.values())?;
        let values = floats!(&dtype, T => {
            let values = PrimitiveArray::<T>::new(of_rows::<T>(s)?.into(), None);
            Arc::new(values) as ArrayRef
        }, return Err(Error::internal("a softmax of other values")));
        with_values(s, values)
    })
}

fn of_rows<T: Number>(s: &Sparse) -> Result<Vec<T::Native>> {
    let values = native::<T>(s.values())?;
    let mut out = values.to_vec();
    // float16 is rounded after each step, as in TensorFlow; wider floats are computed in float64.
    let narrow = T::DATA_TYPE == arrow_schema::DataType::Float16;
    let rounded = |x: f64| if narrow { T::to_f64(T::of_f64(x)) } else { x };
    let outer = s.ndims().saturating_sub(1);
    let axes: Vec<usize> = (0..outer).collect();
    let sorted = order(s, &axes);
    let entry = |at: usize| sorted.as_ref().map_or(at, |sorted| sorted[at]);
    for record in 0..s.nrows() {
        let mut rest = s.entries().range(record);
        while !rest.is_empty() {
            let row = &s.index_of(entry(rest.start))[..outer];
            let end = rest.clone().find(|at| &s.index_of(entry(*at))[..outer] != row).unwrap_or(rest.end);
            let own = (rest.start..end).map(|at| T::to_f64(values[entry(at)]));
            let greatest = own.clone().fold(f64::NEG_INFINITY, f64::max);
            let sum = own.fold(0.0, |sum, value| rounded(sum + rounded(rounded(value - greatest).exp())));
            for at in rest.start..end {
                out[entry(at)] = T::of_f64(rounded(rounded(T::to_f64(values[entry(at)]) - greatest).exp()) / sum);
            }
            rest.start = end;
        }
    }
    Ok(out)
}
