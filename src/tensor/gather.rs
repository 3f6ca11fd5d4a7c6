//! Gathers rows by index, in any order, with repeats.

use super::take::{Gathered, native};
use super::{List, RowPartition, Sparse, Struct, Tensor};
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::sync::Arc;

impl Tensor {
    /// `[rows.len(), ...]`: row i of the result is row `rows[i]` of this tensor. O(values taken); consecutive rows are
    /// sliced.
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
    /// Only if memory runs out: indices must be less than the number of rows.
    pub fn gather(&self, rows: &[usize]) -> Result<Tensor> {
        if let (Some(first), true) = (rows.first(), rows.windows(2).all(|w| w[1] == w[0] + 1)) {
            return Ok(self.slice(*first, rows.len()));
        }
        Ok(match self {
            Tensor::Leaf(array) => Tensor::Leaf(take(array, rows)?),
            Tensor::List(list) => Tensor::List(List {
                partition: list.partition.gather(rows),
                validity: gather_validity(list.validity.as_ref(), rows),
                values: Arc::new(list.values_of(rows)?),
            }),
            Tensor::Struct(s) => Tensor::Struct(Struct {
                nrows: rows.len(),
                validity: gather_validity(s.validity.as_ref(), rows),
                fields: s.fields.iter().map(|f| f.gather(rows)).collect::<Result<_>>()?,
            }),
            Tensor::Sparse(s) => {
                let numbers = value_numbers(s.entries(), rows);
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
fn value_numbers(partition: &RowPartition, rows: &[usize]) -> Vec<usize> {
    let mut numbers = Vec::with_capacity(rows.iter().map(|r| partition.row_length(*r)).sum());
    for &row in rows {
        numbers.extend(partition.range(row));
    }
    numbers
}

/// The values of the array at indices `rows`, in that order. O(values taken).
///
/// # Errors
/// More bytes than an array can hold.
pub fn take(array: &ArrayRef, rows: &[usize]) -> Result<ArrayRef> {
    if let Some(out) = native(&[array], &Gathered(rows)) {
        return Ok(out);
    }
    check_text(array, rows)?;
    let rows = UInt64Array::from_iter_values(rows.iter().map(|r| *r as u64));
    arrow_select::take::take(array, &rows, None).map_err(|e| Error::data(e.to_string()))
}

/// Refuses to repeat strings until they take more than 4 GiB.
fn check_text(array: &ArrayRef, rows: &[usize]) -> Result<()> {
    const MOST: i64 = 1 << 32;
    let offsets = match array.data_type() {
        _ if rows.len() <= array.len() => return Ok(()),
        DataType::LargeUtf8 => array.as_string::<i64>().value_offsets(),
        DataType::LargeBinary => array.as_binary::<i64>().value_offsets(),
        _ => return Ok(()),
    };
    let length = |row: &usize| offsets.get(row + 1).zip(offsets.get(*row)).map_or(0, |(end, start)| end - start);
    match rows.iter().map(length).fold(0i64, i64::saturating_add) {
        n if n > MOST => Err(Error::data(format!("repeated strings would take {n} bytes, more than 4 GiB"))),
        _ => Ok(()),
    }
}

fn gather_validity(validity: Option<&NullBuffer>, rows: &[usize]) -> Option<NullBuffer> {
    let validity = validity?;
    super::shared::drop_if_full(Some(NullBuffer::new(BooleanBuffer::collect_bool(rows.len(), |i| validity.is_valid(rows[i])))))
}
