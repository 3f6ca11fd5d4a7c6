//! Merges and splits axes, and moves fields up a level.
//!
//! Semantics: `tf.RaggedTensor.merge_dims`, `tf.experimental.StructuredTensor.promote`,
//! `partition_outer_dimension`.

use super::{RowPartition, Tensor};
use crate::error::{Error, Result};
use crate::printable::{counted, is_or_are};
use crate::schema::{Dim, Size, Type};

/// The dims with axes `outer ..= inner` merged. The merged axis has a known size if all of them do, is ragged if any of
/// them is and rows can differ, and is uniform otherwise. O(1).
pub fn merged_dims(dims: &[Dim], outer: usize, inner: usize) -> Vec<Dim> {
    let merged = &dims[outer..=inner];
    let known = merged.iter().map(|d| if let Size::Known(n) = d.size { Some(n) } else { None });
    let product = known.collect::<Option<Vec<u64>>>().and_then(|n| n.into_iter().try_fold(1u64, u64::checked_mul));
    let size = match product {
        Some(n) => Size::Known(n),
        // A single slice is never ragged.
        None if outer == 0 => Size::Uniform,
        None if merged.iter().any(|d| d.size == Size::Ragged) => Size::Ragged,
        None => Size::Uniform,
    };
    let label = if outer == inner { merged[0].label.clone() } else { None };
    dims[..outer].iter().cloned().chain([Dim { size, label }]).chain(dims[inner + 1..].iter().cloned()).collect()
}

/// `[n, (a), (b), ...]` -> `[n, (a b), ...]`: merges axes `outer ..= inner`. Values are shared; O(rows of the outer
/// axis), or O(1) if both are uniform.
///
/// ```
/// use tatter::tensor::merge::merge_axes;
/// use tatter::tensor::{RowPartition, Tensor};
/// # use arrow_array::Int64Array;
/// # use std::sync::Arc;
/// let rows = RowPartition::from_row_lengths([2, 0, 1])?;
/// let rows = Tensor::list(rows, Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1, 4]))), None)?;
/// // One record: [[3, 1], [], [4]] -> [3, 1, 4]
/// let record = Tensor::list(RowPartition::uniform(3, 1)?, rows, None)?;
/// assert_eq!(merge_axes(&record, 0, 1)?.as_list()?.partition().row_length(0), 3);
/// # Ok::<(), tatter::error::Error>(())
/// ```
///
/// # Errors
/// There are fewer axes.
pub fn merge_axes(tensor: &Tensor, outer: usize, inner: usize) -> Result<Tensor> {
    tensor.map_below(outer, &mut |tensor| {
        let list = tensor.as_list()?;
        let (partitions, below) = tensor.levels(inner - outer + 1)?;
        let merged = partitions[1..].iter().fold(partitions[0].clone(), |merged, inner| merged.merge(inner));
        Tensor::list(merged, below.clone(), list.validity().cloned())
    })
}

/// The type of a field after [`promote`]: the axes of the enclosing structure and its own axis 0 are merged. Source:
/// `tf.experimental.StructuredTensor.promote`. O(rank).
pub fn promoted_type(structure: &Type, field: &Type) -> Type {
    let axes = structure.rank();
    let inner = field.dims.iter().enumerate().map(|(axis, dim)| match dim.size {
        // Sizes that are uniform within each structure can differ between the structures of a record.
        Size::Uniform if axis > 0 && axes > 0 => Dim { size: Size::Ragged, label: dim.label.clone() },
        _ => dim.clone(),
    });
    let dims: Vec<Dim> = structure.dims.iter().cloned().chain(inner).collect();
    let is_scalar = structure.dims.is_empty();
    let dims = if dims.is_empty() || is_scalar { dims } else { merged_dims(&dims, 0, axes.min(dims.len() - 1)) };
    let inside = structure.with_nulls || field.optional || field.with_nulls;
    Type {
        element: field.element.clone(),
        dims,
        optional: if is_scalar { structure.optional || field.optional } else { structure.optional },
        with_nulls: if is_scalar { field.with_nulls } else { inside },
    }
}

/// Moves field number `field` of the structures in the rows of `structure` up one level: the axes of the structure
/// (`axes` of them) and the field's own axis 0 (if it `has_axis`) are merged. A null structure yields nulls; a null list
/// yields no items. Values are shared. O(rows of the structure).
///
/// # Errors
/// There is no such field or axis.
pub fn promote(structure: &Tensor, axes: usize, field: usize, has_axis: bool) -> Result<Tensor> {
    let lifted = structure.map_below(axes, &mut |below| below.as_struct()?.visible_field(field))?;
    match (axes, has_axis) {
        (0, _) => Ok(lifted),
        (axes, true) => merge_axes(&lifted, 0, axes),
        (axes, false) => merge_axes(&lifted, 0, axes - 1),
    }
}

/// The dims after [`partition`]: axis 0 is split in two. Source: `StructuredTensor.partition_outer_dimension`. O(rank).
pub fn partitioned_dims(dims: &[Dim], rows: Size) -> Vec<Dim> {
    let outer = match (rows, dims.first().map(|d| d.size)) {
        (Size::Known(row), Some(Size::Known(n))) if row > 0 => Size::Known(n / row),
        _ => Size::Uniform,
    };
    let inner = dims.iter().skip(1).cloned();
    [Dim::of(outer), Dim::of(rows)].into_iter().chain(inner).collect()
}

/// `[n, (a), ...]` -> `[n, (g), (h), ...]`: groups the items along axis 0 into rows. `groups` has the rows of all
/// records in sequence, and `records` partitions them by record. Values are shared. O(rows).
///
/// ```
/// use tatter::tensor::merge::partition;
/// use tatter::tensor::{RowPartition, Tensor};
/// # use arrow_array::Int64Array;
/// # use std::sync::Arc;
/// let record = Tensor::list(RowPartition::uniform(3, 1)?, Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1, 4]))), None)?;
/// // [3, 1, 4] -> [[3, 1], [], [4]]
/// let rows = partition(&record, &RowPartition::uniform(3, 1)?, &RowPartition::from_row_lengths([2, 0, 1])?)?;
/// assert_eq!(rows.levels(2)?.0[1].row_length(0), 2);
/// # Ok::<(), tatter::error::Error>(())
/// ```
///
/// # Errors
/// The groups of a record do not cover exactly its items; the error names the row.
pub fn partition(tensor: &Tensor, records: &RowPartition, groups: &RowPartition) -> Result<Tensor> {
    let list = tensor.as_list()?;
    let items = list.partition();
    if let Some(row) = (0..tensor.nrows()).find(|row| groups.start(records.start(row + 1)) != items.start(row + 1)) {
        let rows = records.range(row);
        let grouped = groups.start(rows.end) - groups.start(rows.start);
        let (covered, n) = (counted(grouped as u64, "value"), items.row_length(row));
        let error = format!("the partition covers {covered}, but there {} {n} along axis 0", is_or_are(n));
        return Err(Error::data(error).at_row(row));
    }
    let inner = Tensor::list(groups.clone(), list.values().clone(), None)?;
    Tensor::list(records.clone(), inner, list.validity().cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{DType, Field};
    use arrow_array::Int64Array;
    use std::sync::Arc;

    #[test]
    fn merged_axes_are_as_uniform_as_they_can_be() {
        use Size::*;
        for (dims, outer, inner, want) in [
            (vec![Known(2), Known(3)], 0, 1, vec![Known(6)]),
            (vec![Uniform, Ragged], 0, 1, vec![Uniform]),
            (vec![Uniform, Ragged, Known(2)], 1, 2, vec![Uniform, Ragged]),
            (vec![Uniform, Known(3), Known(2)], 1, 2, vec![Uniform, Known(6)]),
            (vec![Uniform, Uniform, Known(2)], 1, 2, vec![Uniform, Uniform]),
            (vec![Uniform, Ragged, Ragged], 0, 1, vec![Uniform, Ragged]),
        ] {
            let dims: Vec<Dim> = dims.into_iter().map(Dim::of).collect();
            let sizes: Vec<Size> = merged_dims(&dims, outer, inner).iter().map(|d| d.size).collect();
            assert_eq!(sizes, want);
        }
    }

    #[test]
    fn a_promoted_field_keeps_its_flat_values() {
        // docs: {tokens: int64[?]}[?] in two records: [[1 2] []] and [[3]]
        let values = Tensor::Leaf(Arc::new(Int64Array::from(vec![1, 2, 3])));
        let tokens = Tensor::list(RowPartition::from_row_lengths([2, 0, 1]).unwrap(), values, None).unwrap();
        let structs = Tensor::structure(3, vec![tokens], None).unwrap();
        let docs = Tensor::list(RowPartition::from_row_lengths([2, 1]).unwrap(), structs, None).unwrap();
        let promoted = promote(&docs, 1, 0, true).unwrap();
        let (rows, below) = promoted.levels(1).unwrap();
        assert_eq!(*rows[0], RowPartition::from_row_lengths([2, 1]).unwrap());
        assert_eq!(below.nrows(), 3);
        let tokens = Type::tensor(DType::Int64, vec![Dim::UNIFORM]);
        let docs = Type::structure(vec![Field::new("tokens", tokens.clone())], vec![Dim::UNIFORM]);
        assert_eq!(promoted_type(&docs, &tokens), tokens);
    }

    #[test]
    fn a_partition_covers_each_record() {
        let values = Tensor::Leaf(Arc::new(Int64Array::from(vec![1, 2, 3])));
        let rows = Tensor::list(RowPartition::from_row_lengths([2, 1]).unwrap(), values, None).unwrap();
        let records = RowPartition::from_row_lengths([2, 1]).unwrap();
        let good = RowPartition::from_row_lengths([0, 2, 1]).unwrap();
        let back = merge_axes(&partition(&rows, &records, &good).unwrap(), 0, 1).unwrap();
        assert_eq!(back.first_difference(&rows), None);
        let bad = RowPartition::from_row_lengths([1, 2, 0]).unwrap();
        assert_eq!(partition(&rows, &records, &bad).unwrap_err().location().row, Some(0));
    }
}
