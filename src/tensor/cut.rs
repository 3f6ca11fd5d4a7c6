//! Rows shortened at one end: padding taken off again.
//!
//! Source of the meaning: `tf.RaggedTensor.from_tensor`, `sequence_unpad`.

use super::pad::Side;
use super::{RowPartition, Tensor};
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrayRef, PrimitiveArray, downcast_primitive_array};
use arrow_schema::DataType;

/// `[n, (a), ...]` -> `[n, (b), ...]`: of each row of `tensor`'s axis 0 only `lengths` items, the
/// first ones, or the last ones where the padding stands on the left. O(values kept).
///
/// # Errors
/// It has no axis.
pub fn shorten(tensor: &Tensor, lengths: &[usize], side: Side) -> Result<Tensor> {
    let list = tensor.as_list()?;
    let mut items = Vec::with_capacity(lengths.iter().sum());
    for (row, length) in lengths.iter().enumerate() {
        items.extend(side.kept(list.partition().range(row), *length));
    }
    let kept = lengths.iter().enumerate().map(|(row, n)| (*n).min(list.partition().row_length(row)) as i64);
    let partition = RowPartition::from_row_lengths(kept)?;
    Tensor::list(partition, list.values().gather(&items)?, list.validity().cloned())
}

/// How long each row of axis 0 is without the items at its end (or start) that are nothing but
/// `padding`. NaN is never padding. O(values looked at).
///
/// # Errors
/// There are no single values below, or padding of another type.
pub fn lengths_without(tensor: &Tensor, padding: &ArrayRef, side: Side) -> Result<Vec<usize>> {
    let list = tensor.as_list()?;
    let mut blocks = RowPartition::uniform(1, list.partition().nvals())?;
    let mut below = list.values();
    while let Tensor::List(inner) = below {
        blocks = blocks.merge(inner.partition());
        below = inner.values();
    }
    let is_padding = equal_to(below.as_leaf()?, padding)?;
    let is_stripped = |item: usize| blocks.range(item).all(&is_padding);
    let length = |row: usize| {
        let items = list.partition().range(row);
        match side {
            Side::Right => items.clone().rev().find(|item| !is_stripped(*item)).map_or(0, |last| last + 1 - items.start),
            Side::Left => items.clone().find(|item| !is_stripped(*item)).map_or(0, |first| items.end - first),
        }
    };
    Ok((0..tensor.nrows()).map(length).collect())
}

/// Whether a value equals the one value of `one`.
fn equal_to<'a>(values: &'a ArrayRef, one: &ArrayRef) -> Result<Box<dyn Fn(usize) -> bool + 'a>> {
    if values.data_type() != one.data_type() || one.len() != 1 {
        return Err(Error::data(format!("padding of type {} in values of type {}", one.data_type(), values.data_type())));
    }
    let array = values.as_ref();
    Ok(downcast_primitive_array!(
        // Native equality: NaN differs from NaN, 0.0 equals -0.0.
        array => primitive_equal_to(array, one),
        DataType::Boolean => {
            let one = one.as_boolean().value(0);
            let array = values.as_boolean();
            Box::new(move |i| array.value(i) == one)
        },
        DataType::LargeUtf8 => {
            let one = one.as_string::<i64>().value(0).to_owned();
            let array = values.as_string::<i64>();
            Box::new(move |i| array.value(i) == one)
        },
        DataType::LargeBinary => {
            let one = one.as_binary::<i64>().value(0).to_owned();
            let array = values.as_binary::<i64>();
            Box::new(move |i| array.value(i) == one)
        },
        other => return Err(Error::data(format!("{other} values have no padding")))
    ))
}

fn primitive_equal_to<'a, T: ArrowPrimitiveType>(values: &'a PrimitiveArray<T>, one: &ArrayRef) -> Box<dyn Fn(usize) -> bool + 'a> {
    let one = one.as_primitive::<T>().value(0);
    Box::new(move |i| values.value(i) == one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float64Array, Int64Array};
    use std::sync::Arc;

    fn rows(lengths: &[i64], values: ArrayRef) -> Tensor {
        Tensor::list(RowPartition::from_row_lengths(lengths.iter().copied()).unwrap(), Tensor::Leaf(values), None).unwrap()
    }

    #[test]
    fn only_the_run_at_the_end_goes() {
        let tensor = rows(&[4, 2], Arc::new(Int64Array::from(vec![0, 5, 0, 0, 0, 0])));
        let zero: ArrayRef = Arc::new(Int64Array::from(vec![0]));
        assert_eq!(lengths_without(&tensor, &zero, Side::Right).unwrap(), [2, 0]);
        assert_eq!(lengths_without(&tensor, &zero, Side::Left).unwrap(), [3, 0]);
        let cut = shorten(&tensor, &[2, 0], Side::Right).unwrap();
        assert_eq!(cut.first_difference(&rows(&[2, 0], Arc::new(Int64Array::from(vec![0, 5])))), None);
        let nan: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN]));
        let tensor = rows(&[1], nan.clone());
        assert_eq!(lengths_without(&tensor, &nan, Side::Right).unwrap(), [1]);
    }
}
