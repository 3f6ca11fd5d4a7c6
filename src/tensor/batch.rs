//! Turns rows into an axis (batch) and an axis into rows (unbatch).
//!
//! Semantics: `tf.data.Dataset.batch`, `ragged_batch`, `unbatch`.

use super::gather::{take, take_or_null};
use super::{RowPartition, Sparse, Tensor};
use crate::error::{Error, Reason, Result};
use crate::schema::{Dim, Size, Type};
use arrow_array::Array;
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, ScalarBuffer};

/// Maximum number of rows to create from sparse tensors, because large sizes cost the input nothing.
const MAX_SPARSE_ROWS: usize = 1 << 28;

/// The type of a batch of values of type `ty`: adds axis 0 with `size`. Sizes that can differ between rows (`?`) become
/// ragged, except for sparse tensors. O(1).
pub fn batched_type(ty: &Type, size: Size) -> Type {
    let inner = ty.dims.iter().map(|dim| match dim.size {
        Size::Uniform if !ty.is_sparse() => Dim { size: Size::Ragged, label: dim.label.clone() },
        _ => dim.clone(),
    });
    Type {
        element: ty.element.clone(),
        dims: std::iter::once(Dim::of(size)).chain(inner).collect(),
        optional: false,
        with_nulls: ty.with_nulls || ty.optional,
    }
}

/// The type of the items along axis 0. The new axis 0 has a single slice, so it is never ragged. Source:
/// `tf.data.Dataset.unbatch`. O(rank).
pub fn unbatched_type(ty: &Type) -> Type {
    let mut dims: Vec<Dim> = ty.dims.iter().skip(1).cloned().collect();
    if let Some(first) = dims.first_mut().filter(|d| d.size == Size::Ragged) {
        first.size = Size::Uniform;
    }
    let with_nulls = ty.with_nulls && (ty.is_sparse() || !dims.is_empty());
    Type { element: ty.element.clone(), dims, optional: ty.with_nulls, with_nulls }
}

/// `[batch.nrows, (batch), ...]`: the rows of `tensor`, partitioned into batches. A sparse tensor gains a dimension,
/// and its dense shape is the maximum over the batch. A null row of a sparse tensor becomes a null value at the row's
/// origin, which [`unbatch`] converts back. Zero-copy, except O(entries) for sparse tensors.
///
/// ```
/// use tatter::tensor::batch::{batch, unbatch};
/// use tatter::tensor::{RowPartition, Tensor};
/// # use arrow_array::Int64Array;
/// # use std::sync::Arc;
/// let records = Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1, 4])));
/// // Records 3, 1, 4 -> batches [3, 1], [4]
/// let batches = batch(&records, &RowPartition::from_row_lengths([2, 1])?)?;
/// assert_eq!(batches.nrows(), 2);
/// assert_eq!(unbatch(batches)?.first_difference(&records), None);
/// # Ok::<(), tatter::error::Error>(())
/// ```
///
/// # Errors
/// A sparse tensor whose only entry is a null at its origin, which would become a null row.
pub fn batch(tensor: &Tensor, batch: &RowPartition) -> Result<Tensor> {
    match tensor {
        Tensor::Sparse(sparse) => {
            let is_alone = |nulls: NullBuffer| (0..sparse.nrows()).find(|row| is_null_alone(sparse, &nulls, *row));
            if let Some(row) = null_values(sparse).and_then(is_alone) {
                let error =
                    Error::data("contains a single null, which in a batch could not be distinguished from a null tensor").at_row(row);
                return Err(error.because(Reason::SingleNull));
            }
            match sparse.validity() {
                Some(valid) => batch_sparse(&with_null_values(sparse, valid)?, batch).map(Tensor::Sparse),
                None => batch_sparse(sparse, batch).map(Tensor::Sparse),
            }
        }
        other => Tensor::list(batch.clone(), other.clone(), None),
    }
}

/// Which values are not null, if some are null.
fn null_values(sparse: &Sparse) -> Option<NullBuffer> {
    sparse.values().logical_nulls().filter(|nulls| nulls.null_count() > 0)
}

/// Whether a row consists of only a null at its origin.
fn is_null_alone(sparse: &Sparse, nulls: &NullBuffer, row: usize) -> bool {
    let entries = sparse.entries().range(row);
    entries.len() == 1 && nulls.is_null(entries.start) && sparse.index_of(entries.start).iter().all(|i| *i == 0)
}

/// The same rows, with a null value at the origin of each null row.
fn with_null_values(sparse: &Sparse, valid: &NullBuffer) -> Result<Sparse> {
    let ndims = sparse.ndims();
    let (mut lengths, mut indices, mut shapes) = (Vec::with_capacity(sparse.nrows()), Vec::new(), Vec::new());
    let (mut places, mut is_value) = (Vec::with_capacity(sparse.values().len()), BooleanBufferBuilder::new(sparse.values().len()));
    for row in 0..sparse.nrows() {
        if valid.is_valid(row) {
            let entries = sparse.entries().range(row);
            lengths.push(entries.len() as i64);
            indices.extend_from_slice(&sparse.indices()[entries.start * ndims..entries.end * ndims]);
            shapes.extend_from_slice(sparse.shape_of(row));
            is_value.append_n(entries.len(), true);
            places.extend(entries);
        } else {
            lengths.push(1);
            indices.resize(indices.len() + ndims, 0);
            shapes.extend(sparse.shape_of(row).iter().map(|size| (*size).max(1)));
            is_value.append(false);
            places.push(0);
        }
    }
    let values = take_or_null(sparse.values(), &places, Some(&NullBuffer::new(is_value.finish())))?;
    Sparse::try_new(ndims, RowPartition::from_row_lengths(lengths)?, indices.into(), values, shapes.into(), None)
}

fn batch_sparse(sparse: &Sparse, batch: &RowPartition) -> Result<Sparse> {
    let (ndims, nbatches) = (sparse.ndims(), batch.nrows());
    let mut indices = Vec::with_capacity(sparse.values().len() * (ndims + 1));
    let mut shapes = Vec::with_capacity(nbatches * (ndims + 1));
    for number in 0..nbatches {
        let rows = batch.range(number);
        let at = shapes.len();
        shapes.push(rows.len() as i64);
        shapes.resize(at + 1 + ndims, 0);
        for (position, row) in rows.enumerate() {
            for (size, own) in shapes[at + 1..].iter_mut().zip(sparse.shape_of(row)) {
                *size = (*size).max(*own);
            }
            for entry in sparse.entries().range(row) {
                indices.push(position as i64);
                indices.extend_from_slice(sparse.index_of(entry));
            }
        }
    }
    Sparse::try_new(ndims + 1, batch.merge(sparse.entries()), indices.into(), sparse.values().clone(), shapes.into(), None)
}

/// The partition of items into rows along axis 0: `[nrows, (items)]`. Zero-copy, or O(rows) for sparse tensors, whose rows
/// have the size of the dense shape.
///
/// # Errors
/// A null row, or a scalar, which has no axis.
pub fn outer_partition(tensor: &Tensor) -> Result<RowPartition> {
    if let Some(row) = tensor.validity().and_then(|v| (0..v.len()).find(|row| v.is_null(*row))) {
        return Err(Error::data("is null: it has no axis 0").at_row(row));
    }
    match tensor {
        Tensor::Sparse(sparse) => RowPartition::from_row_lengths((0..sparse.nrows()).map(|row| sparse.shape_of(row)[0])),
        other => Ok(other.as_list()?.partition().clone()),
    }
}

/// The items along axis 0, one per row: the inverse of [`batch()`]. Zero-copy, except O(rows + entries) for sparse
/// tensors, whose entries keep their order within each item.
///
/// # Errors
/// Sparse tensors with too many rows.
pub fn unbatch(tensor: Tensor) -> Result<Tensor> {
    match tensor {
        Tensor::Sparse(sparse) => unbatch_sparse(&sparse).map(Tensor::Sparse),
        Tensor::List(list) => Ok(list.into_values()),
        other => Err(other.as_list().map_or_else(|e| e, |_| Error::data("the tensor has no axis to operate on"))),
    }
}

fn unbatch_sparse(sparse: &Sparse) -> Result<Sparse> {
    let ndims = sparse.ndims();
    let sizes = RowPartition::from_row_lengths((0..sparse.nrows()).map(|row| sparse.shape_of(row)[0]))?;
    let nrows = sizes.nvals();
    if nrows > MAX_SPARSE_ROWS {
        return Err(Error::data(format!("a dense_shape of {nrows} rows is too large to split into records")));
    }
    let mut lengths = vec![0i64; nrows];
    let mut shapes = Vec::with_capacity(nrows * (ndims - 1));
    for row in 0..sparse.nrows() {
        let items = sizes.range(row);
        for entry in sparse.entries().range(row) {
            lengths[items.start + sparse.index_of(entry)[0] as usize] += 1;
        }
        for _ in items {
            shapes.extend_from_slice(&sparse.shape_of(row)[1..]);
        }
    }
    let entries = RowPartition::from_row_lengths(lengths)?;
    let mut next: Vec<usize> = (0..nrows).map(|item| entries.start(item)).collect();
    let mut order = vec![0usize; sparse.values().len()];
    for row in 0..sparse.nrows() {
        for entry in sparse.entries().range(row) {
            let item = sizes.start(row) + sparse.index_of(entry)[0] as usize;
            order[next[item]] = entry;
            next[item] += 1;
        }
    }
    let indices: ScalarBuffer<i64> = order.iter().flat_map(|entry| &sparse.index_of(*entry)[1..]).copied().collect();
    let values = take(sparse.values(), &order)?;
    let items = Sparse::try_new(ndims - 1, entries, indices, values, shapes.into(), None)?;
    without_null_values(items)
}

/// The inverse of [`with_null_values`]: a row that consists of only a null at its origin becomes null.
fn without_null_values(sparse: Sparse) -> Result<Sparse> {
    let Some(nulls) = null_values(&sparse) else { return Ok(sparse) };
    let valid = NullBuffer::from_iter((0..sparse.nrows()).map(|row| !is_null_alone(&sparse, &nulls, row)));
    let kept: Vec<usize> = (0..sparse.nrows()).filter(|row| valid.is_valid(*row)).flat_map(|row| sparse.entries().range(row)).collect();
    let lengths = (0..sparse.nrows()).map(|row| if valid.is_valid(row) { sparse.entries().row_length(row) as i64 } else { 0 });
    let entries = RowPartition::from_row_lengths(lengths)?;
    let indices: ScalarBuffer<i64> = kept.iter().flat_map(|entry| sparse.index_of(*entry)).copied().collect();
    let values = take(sparse.values(), &kept)?;
    Sparse::try_new(sparse.ndims(), entries, indices, values, sparse.dense_shape().clone(), Some(valid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array};
    use std::sync::Arc;

    #[test]
    fn a_batch_of_sparse_tensors_has_the_largest_shape() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![7, 8, 9]));
        let entries = RowPartition::from_row_lengths([1, 0, 2]).unwrap();
        let sparse = Sparse::try_new(1, entries, vec![1, 5, 0].into(), values, vec![2, 4, 6].into(), None).unwrap();
        let batches = RowPartition::from_row_lengths([2, 1]).unwrap();
        let Tensor::Sparse(out) = batch(&Tensor::Sparse(sparse.clone()), &batches).unwrap() else { panic!("not sparse") };
        assert_eq!(out.dense_shape().to_vec(), [2, 4, 1, 6]);
        assert_eq!(out.indices().to_vec(), [0, 1, 0, 5, 0, 0]);
        let Tensor::Sparse(back) = unbatch(Tensor::Sparse(out)).unwrap() else { panic!("not sparse") };
        assert_eq!(back.indices().to_vec(), sparse.indices().to_vec());
        assert_eq!(back.dense_shape().to_vec(), [4, 4, 6], "each item has the shape of its batch");
    }

    #[test]
    fn a_null_among_sparse_tensors_comes_back() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![7, 8]));
        let entries = RowPartition::from_row_lengths([2, 0, 0]).unwrap();
        let valid = Some(NullBuffer::from(vec![true, false, true]));
        let sparse = Sparse::try_new(1, entries, vec![0, 2].into(), values, vec![3, 0, 0].into(), valid).unwrap();
        let sparse = Tensor::Sparse(sparse);
        let Tensor::Sparse(out) = batch(&sparse, &RowPartition::uniform(3, 1).unwrap()).unwrap() else { panic!("not sparse") };
        assert_eq!(out.indices().to_vec(), [0, 0, 0, 2, 1, 0]);
        assert_eq!(out.values().as_ref(), &Int64Array::from(vec![Some(7), Some(8), None]));
        let back = unbatch(Tensor::Sparse(out)).unwrap();
        assert_eq!(back.validity(), sparse.validity());
        assert_eq!(back.first_difference(&sparse), Some(2), "but for the dense shape, which is the batch's");
    }

    #[test]
    fn types_of_batches() {
        use crate::schema::DType;
        let vector = Type::tensor(DType::Int64, vec![Dim::UNIFORM, Dim::known(4)]);
        let batched = batched_type(&vector, Size::Uniform);
        assert_eq!(batched.dims, [Dim::UNIFORM, Dim::RAGGED, Dim::known(4)]);
        assert_eq!(unbatched_type(&batched), vector);
        let maybe = Type::tensor(DType::Int64, Vec::new()).with_optional(true);
        let batched = batched_type(&maybe, Size::Known(2));
        assert!(batched.with_nulls && !batched.optional && batched.dims == [Dim::known(2)]);
        assert_eq!(unbatched_type(&batched), maybe);
    }
}
