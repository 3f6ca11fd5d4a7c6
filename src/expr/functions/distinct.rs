//! The distinct values of a row, in order of first occurrence.
//!
//! Semantics: `tf.unique`, `tf.unique_with_counts`.

use super::apply::with_dtype;
use super::time_order::{Returned, by_order};
use crate::error::Result;
use crate::expr::call::{Call, Function, INDEX_DTYPES};
use crate::expr::error::ExprResult;
use crate::expr::kernels::cast::cast;
use crate::expr::kernels::level::from_lengths;
use crate::expr::operand::OperandKind;
use crate::printable::counted_axes;
use crate::schema::{DType, Dim};
use crate::tensor::Tensor;
use crate::tensor::hash::{Identity, row_hashes};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use half::f16;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["unique"],
        "x, out_idx=int32 -> y, idx",
        "The distinct values in order of first occurrence, and for each value its index among them.",
        [("unique([7, 5, 7])[0]", "[7, 5]"), ("unique([7, 5, 7]).idx", "[0, 1, 0]")],
        |call| by_order(call, &[0], Returned::Values, |c, _| unique(c, false))
    ),
    function!(
        ["unique_with_counts"],
        "x, out_idx=int32 -> y, idx, count",
        "Like unique, with the count of each distinct value.",
        [("unique_with_counts([\"a\", \"b\", \"a\"]).count", "[2, 1]")],
        |call| by_order(call, &[0], Returned::Values, |c, _| unique(c, true))
    ),
];

fn unique(call: &mut Call, counted: bool) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    if x.rank() != 1 {
        return Err(call.error(format!("{} expects a vector; this has {}", call.name, counted_axes(x.rank()))));
    }
    let to = call.index_dtype(1, DType::Int32, INDEX_DTYPES)?;
    let mut distinct = x.ty.clone();
    distinct.dims = vec![Dim::UNIFORM];
    let mut types = vec![distinct.clone(), with_dtype(&x.ty, to.clone())];
    if counted {
        types.push(with_dtype(&distinct, to.clone()));
    }
    call.several(types, move |args| {
        let tensor = x.of(args)?;
        let list = tensor.as_list()?;
        let (rows, values) = (list.partition(), list.values());
        let (keys, is_nan) = compared(values)?;
        let hashes = row_hashes(std::slice::from_ref(&keys), keys.nrows());
        let (mut first, mut lengths) = (Vec::new(), Vec::with_capacity(rows.nrows()));
        let (mut indices, mut counts): (Vec<i64>, Vec<i64>) = (Vec::with_capacity(values.nrows()), Vec::new());
        // The latest of the distinct values with each hash; for each distinct value, the previous one with the same hash.
        let mut latest: HashMap<u64, usize, BuildHasherDefault<Identity>> = HashMap::default();
        let mut before: Vec<Option<usize>> = Vec::new();
        for row in 0..rows.nrows() {
            // Clearing takes time proportional to the capacity.
            if latest.capacity() > 4 * rows.row_length(row) + 64 {
                latest = HashMap::default();
            } else {
                latest.clear();
            }
            before.clear();
            let start = first.len();
            for value in rows.range(row) {
                let same = latest.get(&hashes[value]).copied();
                let mut chain = std::iter::successors(same, |number| before[*number]);
                let known = chain.find(|number| !is_nan(value) && keys.rows_equal(first[start + number], &keys, value));
                let number = known.unwrap_or_else(|| {
                    let number = before.len();
                    before.push(latest.insert(hashes[value], number));
                    first.push(value);
                    counts.push(0);
                    number
                });
                counts[start + number] += 1;
                indices.push(number as i64);
            }
            lengths.push(first.len() - start);
        }
        let integers = |values: Vec<i64>| Ok(Tensor::Leaf(cast(&(Arc::new(Int64Array::from(values)) as ArrayRef), &to)?));
        let groups = from_lengths(lengths)?;
        let mut results =
            vec![Tensor::list(groups.clone(), values.gather(&first)?, None)?, Tensor::list(rows.clone(), integers(indices)?, None)?];
        if counted {
            results.push(Tensor::list(groups, integers(counts)?, None)?);
        }
        Ok(results)
    })
}

/// Compares values as TensorFlow does: zeros of either sign are equal, except in float16, and NaN is not equal to itself.
fn compared(values: &Tensor) -> Result<(Tensor, impl Fn(usize) -> bool + use<>)> {
    fn of<T: ArrowPrimitiveType>(
        array: &ArrayRef,
        add_zero: impl Fn(T::Native) -> T::Native,
        is_nan: impl Fn(T::Native) -> bool,
    ) -> (ArrayRef, Option<BooleanBuffer>) {
        let plain = array.as_primitive::<T>().unary::<_, T>(add_zero);
        let is_nan = BooleanBuffer::collect_bool(plain.len(), |row| is_nan(plain.value(row)));
        (Arc::new(plain), Some(is_nan))
    }
    let array = values.as_leaf()?;
    let (keys, is_nan) = match array.data_type() {
        DataType::Float16 => of::<Float16Type>(array, |x| x, f16::is_nan),
        DataType::Float32 => of::<Float32Type>(array, |x| x + 0.0, f32::is_nan),
        DataType::Float64 => of::<Float64Type>(array, |x| x + 0.0, f64::is_nan),
        _ => (array.clone(), None),
    };
    Ok((Tensor::Leaf(keys), move |row| is_nan.as_ref().is_some_and(|is_nan| is_nan.value(row))))
}
