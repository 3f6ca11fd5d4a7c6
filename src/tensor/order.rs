//! The order of scalars.

use super::Tensor;
use super::sortable::{numbered, ordered};
use super::text_order::Texts;
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use std::cmp::Ordering;

/// The row indices in the order of their keys, the first key being the most significant. The sort is stable. NaN sorts
/// after all numbers and null after everything, in either direction. Strings are compared by bytes. O(n log n).
///
/// ```
/// use tatter::tensor::Tensor;
/// use tatter::tensor::order::sorted_rows;
/// # use arrow_array::Int64Array;
/// # use std::sync::Arc;
/// let key = Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1, 2])));
/// assert_eq!(sorted_rows(&[(key, false)])?, [1, 2, 0]);
/// # Ok::<(), tatter::error::Error>(())
/// ```
///
/// # Errors
/// A key that is not a leaf of a type that [`has_order`](super::sortable::has_order).
pub fn sorted_rows(keys: &[(Tensor, bool)]) -> Result<Vec<usize>> {
    let nrows = keys.first().map_or(0, |(key, _)| key.nrows());
    let arrays = keys.iter().map(|(key, descending)| Ok((ordered(key.as_leaf()?)?, *descending))).collect::<Result<Vec<_>>>()?;
    let Some((first, descending)) = arrays.first() else { return Ok((0..nrows).collect()) };
    let rest = arrays[1..].iter().map(|(array, descending)| comparison(array, *descending)).collect::<Result<Vec<_>>>()?;
    // The order of rows with the same first key.
    let then = |a: usize, b: usize| rest.iter().map(|compare| compare(a, b)).find(|order| order.is_ne()).unwrap_or(a.cmp(&b));
    if let Some(texts) = Texts::of(first) {
        let (mut rows, mut nulls): (Vec<usize>, Vec<usize>) = (0..nrows).partition(|row| first.is_valid(*row));
        texts.sort(&mut rows, *descending, then);
        nulls.sort_unstable_by(|a, b| then(*a, *b));
        rows.extend(nulls);
        return Ok(rows);
    }
    let mut rows = Vec::with_capacity(nrows);
    for mut class in numbers(first, *descending)? {
        match rest.as_slice() {
            [] => class.sort_unstable(),
            _ => class.sort_unstable_by(|(x, a), (y, b)| x.cmp(y).then_with(|| then(*a, *b))),
        }
        rows.extend(class.into_iter().map(|(_, row)| row));
    }
    Ok(rows)
}

/// The rows with a value, with NaN and with null, each with its [number](numbered).
fn numbers(array: &ArrayRef, descending: bool) -> Result<[Vec<(u64, usize)>; 3]> {
    let (mut values, mut nans, mut nulls) = (Vec::with_capacity(array.len()), Vec::new(), Vec::new());
    let valid = validity(array);
    let are_numbers = numbered(array, |row, number| match number.filter(|_| valid(row)) {
        Some(number) => values.push((if descending { !number } else { number }, row)),
        None if valid(row) => nans.push((0, row)),
        None => nulls.push((0, row)),
    });
    match array.data_type() {
        _ if are_numbers => {}
        DataType::Null => nulls.extend((0..array.len()).map(|row| (0, row))),
        other => return Err(Error::data(format!("{other} values cannot be sorted"))),
    }
    Ok([values, nans, nulls])
}

type Comparison<'a> = Box<dyn Fn(usize, usize) -> Ordering + 'a>;

fn comparison(array: &ArrayRef, descending: bool) -> Result<Comparison<'_>> {
    macro_rules! by {
        ($key:expr) => {{
            let key = $key;
            directed(array, descending, move |row| key(row))
        }};
    }
    macro_rules! integers {
        ($t:ty) => {{
            let values = array.as_primitive::<$t>().values();
            by!(|row: usize| values[row])
        }};
    }
    macro_rules! floats {
        ($t:ty, $to:expr) => {{
            let values = array.as_primitive::<$t>().values();
            let to = $to;
            let keys: Vec<f64> = values.iter().map(|x| to(*x)).collect();
            let valid = validity(array);
            Box::new(move |a: usize, b: usize| {
                last(!valid(a), !valid(b)).or_else(|| last(keys[a].is_nan(), keys[b].is_nan())).unwrap_or_else(|| {
                    let order = keys[a].partial_cmp(&keys[b]).unwrap_or(Ordering::Equal);
                    if descending { order.reverse() } else { order }
                })
            }) as Comparison<'_>
        }};
    }
    Ok(match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean().values();
            by!(|row: usize| values.value(row))
        }
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => integers!(UInt64Type),
        DataType::Float16 => floats!(Float16Type, |x: half::f16| x.to_f64()),
        DataType::Float32 => floats!(Float32Type, f64::from),
        DataType::Float64 => floats!(Float64Type, |x: f64| x),
        DataType::LargeUtf8 => {
            let values = array.as_string::<i64>();
            by!(|row: usize| values.value(row).as_bytes())
        }
        DataType::LargeBinary => {
            let values = array.as_binary::<i64>();
            by!(|row: usize| values.value(row))
        }
        DataType::Null => Box::new(|_, _| Ordering::Equal),
        other => return Err(Error::data(format!("{other} values cannot be sorted"))),
    })
}

/// `Some` if one or both sort last.
fn last(a: bool, b: bool) -> Option<Ordering> {
    match (a, b) {
        (false, false) => None,
        (a, b) => Some(a.cmp(&b)),
    }
}

fn validity(array: &ArrayRef) -> impl Fn(usize) -> bool + use<> {
    let nulls = array.nulls().cloned();
    move |row| nulls.as_ref().is_none_or(|n| n.is_valid(row))
}

fn directed<'a, K: Ord>(array: &ArrayRef, descending: bool, key: impl Fn(usize) -> K + 'a) -> Comparison<'a> {
    let valid = validity(array);
    Box::new(move |a, b| {
        last(!valid(a), !valid(b)).unwrap_or_else(|| {
            let order = key(a).cmp(&key(b));
            if descending { order.reverse() } else { order }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Decimal32Array, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int64Array, LargeStringArray};
    use std::sync::Arc;

    #[test]
    fn nan_and_null_stand_at_the_end_in_either_direction() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(2.0), None, Some(f64::NAN), Some(-0.0), Some(0.0), Some(9.5)]));
        let key = Tensor::Leaf(floats);
        assert_eq!(sorted_rows(&[(key.clone(), false)]).unwrap(), [3, 4, 0, 5, 2, 1]);
        assert_eq!(sorted_rows(&[(key, true)]).unwrap(), [5, 0, 3, 4, 2, 1]);
    }

    #[test]
    fn later_keys_decide_between_equal_ones() {
        let words = Tensor::Leaf(Arc::new(LargeStringArray::from(vec!["b", "a", "b", "é"])));
        let numbers = Tensor::Leaf(Arc::new(Int64Array::from(vec![1, 5, 2, 0])));
        assert_eq!(sorted_rows(&[(words.clone(), false), (numbers.clone(), true)]).unwrap(), [1, 2, 0, 3]);
        assert_eq!(sorted_rows(&[(words, true), (numbers, false)]).unwrap(), [3, 0, 2, 1]);
    }

    #[test]
    fn texts_are_compared_beyond_their_first_bytes() {
        let words = vec![Some("long enough b"), Some("long enough a"), None, Some("long"), Some("long\0"), Some("long enough b")];
        let words = Tensor::Leaf(Arc::new(LargeStringArray::from(words)));
        assert_eq!(sorted_rows(&[(words.clone(), false)]).unwrap(), [3, 4, 1, 0, 5, 2]);
        assert_eq!(sorted_rows(&[(words, true)]).unwrap(), [0, 5, 1, 4, 3, 2]);
    }

    #[test]
    fn decimals_and_fixed_size_bytes_are_ordered() {
        let small = vec![Some(5), Some(-7), None, Some(0), Some(-1)];
        let large = vec![Some(5 << 80), Some(-7 << 80), None, Some(0), Some(-1)];
        let bytes = [b"zz", b"ab", b"a\xff", b"a\0", b"b\0"].into_iter();
        let keys: [(ArrayRef, [usize; 5]); 3] = [
            (Arc::new(Decimal32Array::from(small)), [1, 4, 3, 0, 2]),
            (Arc::new(Decimal128Array::from(large)), [1, 4, 3, 0, 2]),
            (Arc::new(FixedSizeBinaryArray::try_from_iter(bytes).unwrap()), [3, 1, 2, 4, 0]),
        ];
        for (key, expected) in keys {
            assert_eq!(sorted_rows(&[(Tensor::Leaf(key), false)]).unwrap(), expected);
        }
    }

    #[test]
    fn integers_of_any_size_and_sign_are_ordered() {
        let numbers = vec![Some(0), Some(i64::MIN), None, Some(i64::MAX), Some(-1), Some(0)];
        let numbers = Tensor::Leaf(Arc::new(Int64Array::from(numbers)));
        assert_eq!(sorted_rows(&[(numbers.clone(), false)]).unwrap(), [1, 4, 0, 5, 3, 2]);
        assert_eq!(sorted_rows(&[(numbers, true)]).unwrap(), [3, 0, 5, 4, 1, 2]);
    }
}
