//! Concatenates the rows of several tensors of the same type.

use super::shared::spanned;
use super::take::{Run, leaf_runs};
use super::{List, RowPartition, Sparse, Struct, Tensor};
use crate::error::{Error, Result};
use arrow_array::builder::GenericByteBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, LargeBinaryType, LargeUtf8Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::sync::Arc;

impl Tensor {
    /// `[sum of rows, ...]`: the rows of all parts, in order. The parts have the same type. O(values).
    ///
    /// ```
    /// use tatter::tensor::Tensor;
    /// # use arrow_array::Int64Array;
    /// # use std::sync::Arc;
    /// let (a, b) = (Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1]))), Tensor::Leaf(Arc::new(Int64Array::from(vec![4]))));
    /// assert_eq!(Tensor::concat(&[&a, &b])?.first_difference(&Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1, 4])))), None);
    /// # Ok::<(), tatter::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no parts, or parts of different kinds.
    pub fn concat(parts: &[&Tensor]) -> Result<Tensor> {
        let Some(first) = parts.first() else {
            return Err(Error::data("there are no tensors to concatenate"));
        };
        if parts.len() == 1 {
            return Ok((*first).clone());
        }
        match first {
            Tensor::Leaf(_) => {
                let arrays = parts.iter().map(|p| p.as_leaf()).collect::<Result<Vec<_>>>()?;
                Ok(Tensor::Leaf(concat_leaves(&arrays)?))
            }
            Tensor::List(_) => {
                let lists = parts.iter().map(|p| p.as_list()).collect::<Result<Vec<_>>>()?;
                let values: Vec<&Tensor> = lists.iter().map(|l| l.values()).collect();
                let partitions: Vec<&RowPartition> = lists.iter().map(|l| l.partition()).collect();
                let validities: Vec<_> = lists.iter().map(|l| (l.validity.as_ref(), l.partition.nrows())).collect();
                Ok(Tensor::List(List {
                    partition: RowPartition::concat(&partitions)?,
                    validity: concat_validities(&validities),
                    values: Arc::new(Tensor::concat(&values)?),
                }))
            }
            Tensor::Struct(s) => {
                let structs = parts.iter().map(|p| p.as_struct()).collect::<Result<Vec<_>>>()?;
                let validities: Vec<_> = structs.iter().map(|s| (s.validity.as_ref(), s.nrows)).collect();
                let fields = (0..s.fields.len())
                    .map(|i| Tensor::concat(&structs.iter().filter_map(|s| s.fields.get(i)).collect::<Vec<_>>()))
                    .collect::<Result<_>>()?;
                Ok(Tensor::Struct(Struct {
                    nrows: structs.iter().map(|s| s.nrows).sum(),
                    validity: concat_validities(&validities),
                    fields: Arc::new(fields),
                }))
            }
            Tensor::Sparse(s) => {
                let all = parts
                    .iter()
                    .map(|p| match p {
                        Tensor::Sparse(s) => Ok(s),
                        _ => Err(Error::data("a sparse tensor cannot be concatenated with another kind of tensor")),
                    })
                    .collect::<Result<Vec<_>>>()?;
                let indices: ScalarBuffer<i64> = all.iter().flat_map(|s| s.indices().iter()).copied().collect();
                let shapes: ScalarBuffer<i64> = all.iter().flat_map(|s| s.dense_shape().iter()).copied().collect();
                let values: Vec<&ArrayRef> = all.iter().map(|s| s.values()).collect();
                let entries: Vec<&RowPartition> = all.iter().map(|s| s.entries()).collect();
                let validities: Vec<_> = all.iter().map(|s| (s.validity(), s.nrows())).collect();
                Ok(Tensor::Sparse(Sparse::try_new(
                    s.ndims(),
                    RowPartition::concat(&entries)?,
                    indices,
                    concat_leaves(&values)?,
                    shapes,
                    concat_validities(&validities),
                )?))
            }
        }
    }
}

/// Concatenates the values of all arrays of one type: `[sum of lengths]`. O(values).
///
/// # Errors
/// Arrays of different types, which is a bug, or more bytes than an array can hold.
pub fn concat_leaves(arrays: &[&ArrayRef]) -> Result<ArrayRef> {
    fn texts<T: ByteArrayType<Offset = i64>>(arrays: &[&ArrayRef]) -> Option<ArrayRef> {
        let texts = arrays.iter().map(|array| array.as_bytes_opt::<T>()).collect::<Option<Vec<_>>>()?;
        let nbytes = texts.iter().map(|texts| spanned(texts.value_offsets())).sum();
        let mut out = GenericByteBuilder::<T>::with_capacity(texts.iter().map(|texts| texts.len()).sum(), nbytes);
        // Unlike building an array from its buffers, this does not validate UTF-8 again.
        texts.iter().try_for_each(|texts| out.append_array(texts)).ok()?;
        Some(Arc::new(out.finish()))
    }
    let joined = match arrays.first().map(|array| array.data_type()) {
        Some(DataType::LargeUtf8) => texts::<LargeUtf8Type>(arrays),
        Some(DataType::LargeBinary) => texts::<LargeBinaryType>(arrays),
        _ => None,
    };
    if let Some(joined) = joined {
        return Ok(joined);
    }
    let runs: Vec<Run> = arrays.iter().enumerate().map(|(part, array)| Run { part, start: 0, end: array.len() }).collect();
    leaf_runs(arrays, &runs)
}

fn concat_validities(parts: &[(Option<&NullBuffer>, usize)]) -> Option<NullBuffer> {
    if parts.iter().all(|(v, _)| v.is_none()) {
        return None;
    }
    let mut bits = BooleanBufferBuilder::new(parts.iter().map(|(_, n)| n).sum());
    for (validity, n) in parts {
        match validity {
            Some(v) => bits.append_buffer(v.inner()),
            None => bits.append_n(*n, true),
        }
    }
    Some(NullBuffer::new(bits.finish()))
}
