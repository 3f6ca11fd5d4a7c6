//! Shortens rows at one end to remove padding.
//!
//! Semantics: `tf.RaggedTensor.from_tensor`, `sequence_unpad`.

use super::pad::Side;
use super::take::fixed_bytes;
use super::{RowPartition, Tensor};
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// `[n, (a), ...]` -> `[n, (b), ...]`: keeps only `lengths` items of each row along axis 0: the first ones or, with
/// padding on the left, the last ones. O(values kept).
///
/// ```
/// use tatter::tensor::pad::Side;
/// use tatter::tensor::trim::{lengths_without, shorten};
/// use tatter::tensor::{RowPartition, Tensor};
/// # use arrow_array::Int64Array;
/// # use std::sync::Arc;
/// let rows = Tensor::list(RowPartition::uniform(3, 2)?, Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1, 0, 4, 0, 0]))), None)?;
/// let zero: arrow_array::ArrayRef = Arc::new(Int64Array::from(vec![0]));
/// let lengths = lengths_without(&rows, &zero, Side::Right)?;
/// assert_eq!(lengths, [2, 1]);
/// // [[3, 1, 0], [4, 0, 0]] -> [[3, 1], [4]]
/// assert_eq!(shorten(&rows, &lengths, Side::Right)?.as_list()?.values().nrows(), 3);
/// # Ok::<(), tatter::error::Error>(())
/// ```
///
/// # Errors
/// The tensor has no axis.
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

/// The length of each row along axis 0 without items at its end (or start) that consist only of `padding`. NaN never
/// counts as padding. O(values examined).
///
/// # Errors
/// The values are not scalars, or the padding has another type.
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

/// Compares values with the single value of `one`.
fn equal_to<'a>(values: &'a ArrayRef, one: &ArrayRef) -> Result<Box<dyn Fn(usize) -> bool + 'a>> {
    if values.data_type() != one.data_type() || one.len() != 1 {
        return Err(Error::data(format!("the padding has type {}, but the values have type {}", one.data_type(), values.data_type())));
    }
    // Floats are compared as numbers: NaN differs from NaN, and 0.0 equals -0.0.
    fn float<'a, T: ArrowPrimitiveType>(values: &'a ArrayRef, one: &ArrayRef) -> Box<dyn Fn(usize) -> bool + 'a> {
        let (values, one) = (values.as_primitive::<T>(), one.as_primitive::<T>().value(0));
        Box::new(move |i| values.value(i) == one)
    }
    Ok(match values.data_type() {
        DataType::Float16 => float::<Float16Type>(values, one),
        DataType::Float32 => float::<Float32Type>(values, one),
        DataType::Float64 => float::<Float64Type>(values, one),
        DataType::Boolean => {
            let (values, one) = (values.as_boolean(), one.as_boolean().value(0));
            Box::new(move |i| values.value(i) == one)
        }
        DataType::LargeUtf8 => {
            let (values, one) = (values.as_string::<i64>(), one.as_string::<i64>().value(0).to_owned());
            Box::new(move |i| values.value(i) == one)
        }
        DataType::LargeBinary => {
            let (values, one) = (values.as_binary::<i64>(), one.as_binary::<i64>().value(0).to_owned());
            Box::new(move |i| values.value(i) == one)
        }
        other => match (fixed_bytes(values).cloned(), fixed_bytes(one).cloned(), other.primitive_width()) {
            (Some(values), Some(one), Some(width)) => Box::new(move |i| values[i * width..(i + 1) * width] == one[..]),
            _ => return Err(Error::data(format!("{other} values have no padding"))),
        },
    })
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
