//! Gathers rows by index, in any order, with repeats.

use super::limits::check_repeated;
use super::take::{Gathered, Run, is_worth_a_slice, leaf_runs, native_with_nulls};
use super::{List, RowPartition, Sparse, Struct, Tensor};
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, make_array, new_null_array};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::sync::Arc;

impl Tensor {
    /// `[rows.len(), ...]`: row i of the result is row `rows[i]` of this tensor. O(values taken); consecutive rows are
    /// sliced, unless they are few.
    ///
    /// ```
    /// use tatter::tensor::{RowPartition, Tensor};
    /// # use arrow_array::Int64Array;
    /// # use std::sync::Arc;
    /// let values = Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1, 4])));
    /// let rows = Tensor::list(RowPartition::from_row_lengths([2, 0, 1])?, values, None)?;
    /// // [[3, 1], [], [4]] -> [[4], [3, 1], [4]]
    /// let taken = rows.gather(&[2, 0, 2])?;
    /// assert_eq!(taken.as_list()?.partition().row_lengths().collect::<Vec<_>>(), [1, 2, 1]);
    /// # Ok::<(), tatter::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// Rows are repeated, and the result would have more than 2^28 values or 4 GiB of strings. Indices must be less than the number of
    /// rows.
    pub fn gather(&self, rows: &[usize]) -> Result<Tensor> {
        if let (Some(first), true) = (rows.first(), is_worth_a_slice(rows.len(), self.nrows()) && rows.windows(2).all(|w| w[1] == w[0] + 1))
        {
            return Ok(self.slice(*first, rows.len()));
        }
        Ok(match self {
            Tensor::Leaf(array) => Tensor::Leaf(take(array, rows)?),
            Tensor::List(list) => {
                let values = list.values_of(rows)?;
                Tensor::List(List {
                    partition: list.partition.gather(rows).with_sizes_of(&values, &[list], rows.iter().map(|row| (list, *row))),
                    validity: gather_validity(list.validity.as_ref(), rows),
                    values: Arc::new(values),
                })
            }
            Tensor::Struct(s) => Tensor::Struct(Struct {
                nrows: rows.len(),
                validity: gather_validity(s.validity.as_ref(), rows),
                fields: Arc::new(s.fields.iter().map(|f| f.gather(rows)).collect::<Result<_>>()?),
            }),
            Tensor::Sparse(s) => {
                let numbers = value_numbers(s.entries(), rows)?;
                let dims = s.ndims();
                let indices: ScalarBuffer<i64> = numbers.iter().flat_map(|n| s.index_of(*n)).copied().collect();
                let shapes: ScalarBuffer<i64> = rows.iter().flat_map(|r| s.shape_of(*r)).copied().collect();
                let validity = gather_validity(s.validity(), rows);
                Tensor::Sparse(Sparse::try_new(dims, s.entries().gather(rows), indices, take(s.values(), &numbers)?, shapes, validity)?)
            }
        })
    }
}

/// The indices of the values of the given rows, row by row.
fn value_numbers(partition: &RowPartition, rows: &[usize]) -> Result<Vec<usize>> {
    let count = rows.iter().map(|r| partition.row_length(*r)).fold(0, usize::saturating_add);
    check_repeated(count, partition.nvals())?;
    let mut numbers = Vec::with_capacity(count);
    for &row in rows {
        numbers.extend(partition.range(row));
    }
    Ok(numbers)
}

/// The values of the array at indices `rows`, in that order. O(values taken).
///
/// # Errors
/// Strings are repeated, and would take more than 4 GiB.
pub fn take(array: &ArrayRef, rows: &[usize]) -> Result<ArrayRef> {
    if let Some(out) = native_with_nulls(&[array], &Gathered(rows), || gather_validity(array.nulls(), rows)) {
        return Ok(out);
    }
    if let Some(bools) = array.as_boolean_opt() {
        let values = BooleanBuffer::collect_bool(rows.len(), |i| bools.value(rows[i]));
        return Ok(Arc::new(BooleanArray::new(values, gather_validity(array.nulls(), rows))));
    }
    leaf_runs(&[array], &runs_of(rows))
}

/// The values at indices `rows`, null where `nulls` has a null: the value there does not matter, but its index must be valid. Without
/// values, all are null. O(values taken).
///
/// # Errors
/// See [`take`].
pub fn take_or_null(array: &ArrayRef, rows: &[usize], nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    if array.is_empty() || array.data_type() == &DataType::Null {
        return Ok(new_null_array(array.data_type(), rows.len()));
    }
    let taken = take(array, rows)?;
    let Some(nulls) = nulls else { return Ok(taken) };
    let validity = NullBuffer::union(taken.logical_nulls().as_ref(), Some(nulls));
    taken.to_data().into_builder().nulls(validity).build().map(make_array).map_err(|e| Error::internal(e.to_string()))
}

/// The rows as runs of consecutive ones.
fn runs_of(rows: &[usize]) -> Vec<Run> {
    let run = |rows: &[usize]| Run { part: 0, start: rows[0], end: rows[0] + rows.len() };
    rows.chunk_by(|a, b| a + 1 == *b).map(run).collect()
}

fn gather_validity(validity: Option<&NullBuffer>, rows: &[usize]) -> Option<NullBuffer> {
    let validity = validity?;
    super::shared::drop_if_full(Some(NullBuffer::new(BooleanBuffer::collect_bool(rows.len(), |i| validity.is_valid(rows[i])))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::concat::concat_leaves;
    use arrow_array::{
        FixedSizeBinaryArray, Float16Array, Int64Array, LargeBinaryArray, LargeStringArray, NullArray, StringArray, UInt64Array,
    };
    use half::f16;

    /// Two arrays of each layout, with and without nulls.
    fn arrays() -> Vec<[ArrayRef; 2]> {
        fn two<A: Array + From<Vec<Option<T>>> + 'static, T: Clone>(values: [T; 3]) -> [ArrayRef; 2] {
            let [a, b, c] = values.map(Some);
            let nulls = A::from(vec![None, a.clone(), b.clone(), None, c.clone(), a.clone(), None]);
            [Arc::new(A::from(vec![c, b, a.clone(), a])), Arc::new(nulls)]
        }
        let fixed = |rows: [Option<&[u8]>; 4]| -> ArrayRef {
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(rows.into_iter(), 2).unwrap())
        };
        vec![
            two::<Int64Array, _>([3, -1, i64::MAX]),
            two::<Float16Array, _>([f16::NAN, f16::NEG_ZERO, f16::ONE]),
            two::<BooleanArray, _>([true, false, true]),
            two::<LargeStringArray, _>(["", "é", "abc"]),
            two::<LargeBinaryArray, _>([&b"\xff"[..], b"", b"xyz"]),
            two::<StringArray, _>(["", "é", "abc"]),
            [fixed([Some(b"ab"), Some(b"cd"), Some(b"ef"), Some(b"gh")]), fixed([None, Some(b"cd"), Some(b"ef"), None])],
        ]
    }

    #[test]
    fn values_of_every_layout_are_taken_and_joined_like_in_arrow() {
        for [full, nulls] in arrays() {
            for array in [&full, &nulls, &nulls.slice(1, 3)] {
                for rows in [&[][..], &[0, 1, 2], &[2, 0, 0, 1], &[1; 20]] {
                    let numbers = UInt64Array::from_iter_values(rows.iter().map(|row| *row as u64));
                    let expected = arrow_select::take::take(array, &numbers, None).unwrap();
                    assert_eq!(&take(array, rows).unwrap(), &expected, "{} {rows:?}", array.data_type());
                }
                let parts = [array, &full, &nulls.slice(2, 5.min(nulls.len() - 2))];
                let expected = arrow_select::concat::concat(&parts.map(|part| part.as_ref())).unwrap();
                assert_eq!(&concat_leaves(&parts).unwrap(), &expected, "{}", array.data_type());
            }
            let absent = NullBuffer::from(vec![true, false, true]);
            let taken = take_or_null(&full, &[1, 0, 2], Some(&absent)).unwrap();
            assert_eq!(taken.logical_nulls(), Some(absent.clone()));
            assert_eq!((&taken.slice(0, 1), &taken.slice(2, 1)), (&full.slice(1, 1), &full.slice(2, 1)));
            assert_eq!(take_or_null(&full.slice(0, 0), &[0; 3], Some(&absent)).unwrap().null_count(), 3);
        }
        let nothing: ArrayRef = Arc::new(NullArray::new(2));
        assert_eq!(take_or_null(&nothing, &[1, 0, 1], Some(&NullBuffer::from(vec![true, false, true]))).unwrap().len(), 3);
    }
}
