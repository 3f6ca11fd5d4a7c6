//! Replaces nulls (scalars, lists, structures) and inserts them.

use super::gather::take;
use super::take::{Native, Run, leaf_runs, native_with_nulls};
use super::{List, Sparse, Tensor};
use crate::error::Result;
use crate::schema::{Dim, Field, Size, Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;

/// Replacements of nulls.
#[derive(Clone, Debug)]
pub enum Filling {
    /// A one-row value for each null scalar, and for all values of a null row of known sizes.
    Value(ArrayRef),
    /// An empty list for each null list, at all levels except those with only known sizes.
    Lists,
    /// A structure of null fields, of these types, for each null structure, and for all structures of a null row of known sizes.
    Structures(Vec<Field>),
}

/// The same rows, whose list levels have these dims, with the nulls covered by `filling` replaced. O(values).
///
/// # Errors
/// The tensor has fewer levels, or a value has another dtype.
pub fn fill_values(tensor: &Tensor, dims: &[Dim], filling: &Filling) -> Result<Tensor> {
    fill(tensor, dims, filling, None)
}

/// `forced`: rows inside a null row of known sizes, whose values are replaced too.
fn fill(tensor: &Tensor, dims: &[Dim], filling: &Filling, forced: Option<&BooleanBuffer>) -> Result<Tensor> {
    let Some((_, below)) = dims.split_first() else {
        return match (tensor, filling) {
            (Tensor::Leaf(array), Filling::Value(value)) => fill_leaf(array, value, forced).map(Tensor::Leaf),
            (Tensor::Struct(_), Filling::Structures(fields)) => fill_structures(tensor, fields, forced),
            _ => Ok(tensor.clone()),
        };
    };
    let list = tensor.as_list()?;
    let (partition, nulls) = (list.partition(), list.validity());
    let (values, validity) = match filling {
        Filling::Value(_) | Filling::Structures(_) if all_known(dims) => {
            let rows = BooleanBuffer::collect_bool(partition.nrows(), |row| {
                nulls.is_some_and(|v| v.is_null(row)) || forced.is_some_and(|f| f.value(row))
            });
            let inside = expand(list, &rows);
            (fill(list.values(), below, filling, (rows.count_set_bits() > 0).then_some(&inside))?, None)
        }
        Filling::Lists if !all_known(dims) => (fill(list.values(), below, filling, None)?, None),
        _ => (fill(list.values(), below, filling, None)?, nulls.cloned()),
    };
    Tensor::list(partition.clone(), values, validity)
}

/// The same sparse tensors, with null values replaced by `value` and, if `tensors` is set, null tensors replaced by
/// empty ones. O(entries).
///
/// # Errors
/// A value has another dtype.
pub fn fill_sparse(sparse: &Sparse, value: Option<&ArrayRef>, tensors: bool) -> Result<Sparse> {
    let values = match value {
        Some(value) => fill_leaf(sparse.values(), value, None)?,
        None => sparse.values().clone(),
    };
    let validity = sparse.validity().filter(|_| !tensors).cloned();
    Sparse::try_new(sparse.ndims(), sparse.entries().clone(), sparse.indices().clone(), values, sparse.dense_shape().clone(), validity)
}

/// Whether all sizes are known, and so the same in all records. O(rank).
pub fn all_known(dims: &[Dim]) -> bool {
    dims.iter().all(|d| matches!(d.size, Size::Known(_)))
}

/// Expands the bits of rows to one bit per value.
fn expand(list: &List, rows: &BooleanBuffer) -> BooleanBuffer {
    let length = list.partition().uniform_row_length().unwrap_or(1).max(1);
    BooleanBuffer::collect_bool(list.partition().nvals(), |value| rows.value(value / length))
}

fn fill_leaf(array: &ArrayRef, value: &ArrayRef, forced: Option<&BooleanBuffer>) -> Result<ArrayRef> {
    if array.data_type() == &DataType::Null {
        let rows = vec![0; array.len()];
        return take(value, &rows);
    }
    let nulls = array.logical_nulls();
    if forced.is_none() && nulls.as_ref().is_none_or(|n| n.null_count() == 0) {
        return Ok(array.clone());
    }
    let keep =
        BooleanBuffer::collect_bool(array.len(), |i| nulls.as_ref().is_none_or(|n| n.is_valid(i)) && !forced.is_some_and(|f| f.value(i)));
    if let Some(out) = native_with_nulls(&[array, value], &Filled(&keep), || None) {
        return Ok(out);
    }
    let (mut runs, mut row) = (Vec::new(), 0);
    let filling = Run { part: 1, start: 0, end: 1 };
    for (start, end) in keep.set_slices() {
        runs.extend((row..start).map(|_| filling));
        runs.push(Run { part: 0, start, end });
        row = end;
    }
    runs.extend((row..array.len()).map(|_| filling));
    leaf_runs(&[array, value], &runs)
}

/// The values of the first array where the bit is set, elsewhere the first value of the second.
struct Filled<'a>(&'a BooleanBuffer);

impl Native for Filled<'_> {
    fn run<N: Copy>(&self, values: &[&[N]]) -> Vec<N> {
        let value = values[1][0];
        values[0].iter().zip(self.0).map(|(kept, keep)| if keep { *kept } else { value }).collect()
    }
}

/// The same structures, where a null one, or one that is `forced`, has null fields.
fn fill_structures(tensor: &Tensor, fields: &[Field], forced: Option<&BooleanBuffer>) -> Result<Tensor> {
    let s = tensor.as_struct()?;
    let forced = forced.map(|forced| NullBuffer::new(!forced));
    let Some(nulls) = NullBuffer::union(s.validity(), forced.as_ref()) else { return Ok(tensor.clone()) };
    let filled = s.fields().iter().zip(fields).map(|(tensor, field)| null_at(tensor, &field.ty, &nulls)).collect::<Result<_>>()?;
    Tensor::structure(tensor.nrows(), filled, None)
}

impl Tensor {
    /// These rows, in order, where `valid` is set, and null rows of type `ty` elsewhere. O(values).
    ///
    /// # Errors
    /// Only if memory runs out.
    pub fn spread(&self, valid: &NullBuffer, ty: &Type) -> Result<Tensor> {
        // Nulls take the row after the others.
        let (null, mut next) = (self.nrows(), 0..self.nrows());
        let rows: Vec<usize> = valid.iter().map(|valid| valid.then(|| next.next()).flatten().unwrap_or(null)).collect();
        Tensor::concat(&[self, &Tensor::nulls(ty, 1)?])?.gather(&rows)
    }
}

/// The same rows, null where `nulls` is not set; the items of such list rows are removed. O(values).
///
/// # Errors
/// Only if memory runs out.
pub fn null_at(tensor: &Tensor, ty: &Type, nulls: &NullBuffer) -> Result<Tensor> {
    let validity = NullBuffer::union(tensor.validity().as_ref(), Some(nulls));
    if ty.list_dims().first().is_none_or(|d| matches!(d.size, Size::Known(_))) {
        return tensor.clone().with_validity(validity);
    }
    let kept: Vec<usize> = (0..nulls.len()).filter(|row| nulls.is_valid(*row)).collect();
    let rows = tensor.gather(&kept)?;
    let rows = rows.as_list()?;
    let mut lengths = rows.partition().row_lengths();
    let lengths: Vec<i64> = nulls.iter().map(|valid| if valid { lengths.next().unwrap_or(0) as i64 } else { 0 }).collect();
    Tensor::list(super::RowPartition::from_row_lengths(lengths)?, rows.values().clone(), validity)
}

#[cfg(test)]
mod tests {
    use super::super::RowPartition;
    use super::*;
    use arrow_array::{Int64Array, NullArray};
    use std::sync::Arc;

    fn ints(values: Vec<Option<i64>>) -> Tensor {
        Tensor::Leaf(Arc::new(Int64Array::from(values)))
    }

    fn value(n: i64) -> Filling {
        Filling::Value(Arc::new(Int64Array::from(vec![n])))
    }

    fn same(a: &Tensor, b: &Tensor) {
        assert_eq!(a.nrows(), b.nrows());
        assert_eq!(a.first_difference(b), None, "{a:?} is not {b:?}");
    }

    #[test]
    fn values_lists_and_rows_of_known_size() {
        same(&fill_values(&ints(vec![Some(1), None]), &[], &value(7)).unwrap(), &ints(vec![Some(1), Some(7)]));
        let none = Tensor::Leaf(Arc::new(NullArray::new(2)));
        same(&fill_values(&none, &[], &value(7)).unwrap(), &ints(vec![Some(7), Some(7)]));

        let lengths = || RowPartition::from_row_lengths([1, 0, 1]).unwrap();
        let nulls = || Some(NullBuffer::from(vec![true, false, true]));
        let lists = Tensor::list(lengths(), ints(vec![Some(1), None]), nulls()).unwrap();
        let filled = Tensor::list(lengths(), ints(vec![Some(1), Some(7)]), nulls()).unwrap();
        same(&fill_values(&lists, &[Dim::UNIFORM], &value(7)).unwrap(), &filled);
        let empty = Tensor::list(lengths(), ints(vec![Some(1), None]), None).unwrap();
        same(&fill_values(&lists, &[Dim::UNIFORM], &Filling::Lists).unwrap(), &empty);
        let pairs = RowPartition::uniform(2, 2).unwrap();
        let known =
            Tensor::list(pairs.clone(), ints(vec![Some(1), None, Some(0), Some(0)]), Some(NullBuffer::from(vec![true, false]))).unwrap();
        let filled = Tensor::list(pairs, ints(vec![Some(1), Some(7), Some(7), Some(7)]), None).unwrap();
        same(&fill_values(&known, &[Dim::known(2)], &value(7)).unwrap(), &filled);
    }

    #[test]
    fn a_null_structure_becomes_one_of_nulls() {
        let nulls = NullBuffer::from(vec![true, false]);
        let lists = Tensor::list(RowPartition::from_row_lengths([1, 0]).unwrap(), ints(vec![Some(5)]), None).unwrap();
        let s = Tensor::structure(2, vec![ints(vec![Some(1), Some(0)]), lists.clone()], Some(nulls.clone())).unwrap();
        let fields = crate::schema::notation::parse("a: int64; b: int64[?]").unwrap().fields;
        let filled = fill_values(&s, &[], &Filling::Structures(fields.clone())).unwrap();
        let want = Tensor::structure(2, vec![ints(vec![Some(1), None]), lists.with_validity(Some(nulls)).unwrap()], None).unwrap();
        same(&filled, &want);
        // A null row of known size becomes one of structures of nulls.
        let items = Tensor::structure(2, vec![ints(vec![Some(1), Some(2)])], None).unwrap();
        let known = Tensor::list(RowPartition::uniform(2, 1).unwrap(), items, Some(NullBuffer::new_null(1))).unwrap();
        let filled = fill_values(&known, &[Dim::known(2)], &Filling::Structures(fields[..1].to_vec())).unwrap();
        let nulls = Tensor::structure(2, vec![ints(vec![None, None])], None).unwrap();
        same(&filled, &Tensor::list(RowPartition::uniform(2, 1).unwrap(), nulls, None).unwrap());
    }
}
