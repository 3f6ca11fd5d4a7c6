//! The sizes of missing items: the 2 in the shape `[0, 2]`.
//!
//! The size of a uniform axis is the length of its rows. A known size is stored in a uniform partition, even without
//! rows; the size of an axis `?`, which differs between records, is lost with its last row. Therefore a partition whose
//! rows have lost their items stores, for each row, the sizes of an item. They are valid only for certain partitions
//! below, and ignored in a tensor with others. They are not compared, not written to files, and discarded after the
//! expressions.
//!
//! Semantics: `tf.shape` of an empty `tf.Tensor`.

use super::partition::ItemSizes;
use super::{List, RowPartition, Tensor, row_of};
use crate::error::Result;
use std::sync::Arc;

/// Stores the new sizes of the axes below a row of a list: given the row of the outermost axis, the position of the changed axis
/// among those below, and the list as it was with its row.
type ChangedSizes<'a> = &'a dyn Fn(usize, usize, &List, usize, &mut [usize]);

impl List {
    /// The sizes of the axes below an item of row `row`, as many as `out` has: those of the first item or, if there is
    /// none, those it would have; 0 if they are not known. O(axes).
    pub fn item_sizes(&self, row: usize, out: &mut [usize]) {
        let Tensor::List(below) = self.values() else { return };
        let Some((size, further)) = out.split_first_mut() else { return };
        if self.partition().row_length(row) > 0 {
            let first = self.partition().start(row);
            *size = below.partition().row_length(first);
            return below.item_sizes(first, further);
        }
        let (kept, mut level) = (self.partition().items(), below);
        let mut is_kept = kept.is_some();
        for (axis, size) in out.iter_mut().enumerate() {
            let partition = level.partition();
            let remembered = kept.filter(|kept| is_kept && kept.below.get(axis).is_some_and(|own| own.is_clone_of(partition)));
            is_kept = remembered.is_some();
            *size = match (partition.uniform_row_length(), remembered) {
                (Some(length), _) => length,
                (None, Some(kept)) => kept.sizes.get(row * kept.below.len() + axis).copied().unwrap_or(0),
                (None, None) => 0,
            };
            let Tensor::List(next) = level.values() else { return };
            level = next;
        }
    }
}

fn partitions_of(tensor: &Tensor) -> Vec<RowPartition> {
    let (mut partitions, mut level) = (Vec::new(), tensor);
    while let Tensor::List(list) = level {
        partitions.push(list.partition().clone());
        level = list.values();
    }
    partitions
}

impl RowPartition {
    fn has_empty_rows(&self) -> bool {
        (0..self.nrows()).any(|row| self.row_length(row) == 0)
    }

    /// The same rows over `values`; those without items store the sizes of the axes below, which `sizes` returns for a row.
    /// O(1) if all rows have items or no axis below is open, otherwise O(rows x axes).
    #[must_use]
    pub fn with_item_sizes(self, values: &Tensor, sizes: impl FnMut(usize, &mut [usize])) -> RowPartition {
        let is_needed = matches!(values, Tensor::List(_)) && self.has_empty_rows();
        let below = if is_needed { partitions_of(values) } else { Vec::new() };
        self.with_sizes_below(&below, sizes)
    }

    /// Like [`RowPartition::with_item_sizes`], over axes with these partitions, outermost first.
    #[must_use]
    pub fn with_sizes_below(self, below: &[RowPartition], mut sizes: impl FnMut(usize, &mut [usize])) -> RowPartition {
        if below.iter().all(|partition| partition.uniform_row_length().is_some()) || !self.has_empty_rows() {
            return self;
        }
        let below: Vec<RowPartition> = below.iter().map(|partition| partition.clone().with_items(None)).collect();
        let mut all = vec![0; self.nrows() * below.len()];
        all.chunks_exact_mut(below.len()).enumerate().for_each(|(row, out)| sizes(row, out));
        self.with_items(Some(Arc::new(ItemSizes { below, sizes: all })))
    }

    /// The partition of rows taken from `lists`, over the items `values` of the same sizes: `rows` are the list and the row
    /// that each comes from. Costs nothing if no list remembers sizes.
    #[must_use]
    pub(super) fn with_sizes_of<'a>(
        self,
        values: &Tensor,
        lists: &[&'a List],
        rows: impl Iterator<Item = (&'a List, usize)>,
    ) -> RowPartition {
        if lists.iter().all(|list| list.partition().items().is_none()) {
            return self;
        }
        let mut rows = rows;
        self.with_item_sizes(values, |_, out| {
            if let Some((list, row)) = rows.next() {
                list.item_sizes(row, out);
            }
        })
    }
}

impl Tensor {
    /// This tensor, whose axis `axis` was sliced from that of `old`: rows above it without items store the sizes that those of `old`
    /// do, except that the size of the axis is `resized(row of the outermost axis, size)`. O(rows), or O(axis) if `old` stores none.
    ///
    /// # Errors
    /// A tensor with fewer axes.
    pub fn with_sizes_cut(self, old: &Tensor, axis: usize, resized: &dyn Fn(usize, usize) -> usize) -> Result<Tensor> {
        self.with_changed_axis(old, axis, &|owner, at, was, row, out| {
            was.item_sizes(row, out);
            if let Some(size) = out.get_mut(at) {
                *size = resized(owner, *size);
            }
        })
    }

    /// This tensor, which is `old` with a new axis `axis` of that size: rows above it without items store the sizes that those of
    /// `old` do, and that of the axis. O(rows), or O(axis) if `old` stores none.
    ///
    /// # Errors
    /// A tensor with fewer axes.
    pub fn with_axis_inserted(self, old: &Tensor, axis: usize, size: usize) -> Result<Tensor> {
        self.with_changed_axis(old, axis, &|_, at, was, row, out| {
            let Some(others) = out.len().checked_sub(1).filter(|others| at <= *others) else { return };
            was.item_sizes(row, &mut out[..others]);
            out[at..].rotate_right(1);
            out[at] = size;
        })
    }

    /// This tensor, which is `old` without its axis `axis`: rows above it without items store the other sizes that those of `old` do.
    /// O(rows), or O(axis) if `old` stores none.
    ///
    /// # Errors
    /// A tensor with fewer axes.
    pub fn with_axis_removed(self, old: &Tensor, axis: usize) -> Result<Tensor> {
        self.with_changed_axis(old, axis, &|_, at, was, row, out| {
            let mut all = vec![0; out.len() + 1];
            was.item_sizes(row, &mut all);
            let kept = all.into_iter().enumerate().filter(|(i, _)| *i != at);
            out.iter_mut().zip(kept).for_each(|(out, (_, size))| *out = size);
        })
    }

    /// This tensor, whose axis `axis` differs from that of `old`: the rows above it without items, if those of `old` store sizes,
    /// store what `sizes` makes of them.
    fn with_changed_axis(self, old: &Tensor, axis: usize, sizes: ChangedSizes) -> Result<Tensor> {
        let owners = RowPartition::uniform(1, self.nrows())?;
        self.changed_below(old, axis, &owners, sizes)
    }

    fn changed_below(self, old: &Tensor, axis: usize, owners: &RowPartition, sizes: ChangedSizes) -> Result<Tensor> {
        let (Tensor::List(list), Tensor::List(was), 1..) = (&self, old, axis) else { return Ok(self) };
        let (partition, validity) = (list.partition().clone(), list.validity().cloned());
        let remembers = was.partition().items().is_some();
        let inner = if axis > 1 { owners.merge(&partition) } else { owners.clone() };
        let values = list.values().clone().changed_below(was.values(), axis - 1, &inner, sizes)?;
        let partition = if remembers {
            partition.with_item_sizes(&values, |row, out| sizes(row_of(owners, row), axis - 1, was, row, out))
        } else {
            partition
        };
        Tensor::list(partition, values, validity)
    }

    /// Discards the sizes of missing items. O(levels), or O(1) in a tensor without any.
    #[must_use]
    pub fn without_item_sizes(self) -> Tensor {
        if !self.has_item_sizes() {
            return self;
        }
        match self {
            Tensor::List(list) => {
                let (partition, validity) = (list.partition().clone().with_items(None), list.validity().cloned());
                let values = list.into_values().without_item_sizes();
                Tensor::List(List { partition, validity, values: Arc::new(values) })
            }
            Tensor::Struct(mut structure) => {
                let fields = Arc::unwrap_or_clone(structure.fields);
                structure.fields = Arc::new(fields.into_iter().map(Tensor::without_item_sizes).collect());
                Tensor::Struct(structure)
            }
            other => other,
        }
    }

    fn has_item_sizes(&self) -> bool {
        match self {
            Tensor::List(list) => list.partition().items().is_some() || list.values().has_item_sizes(),
            Tensor::Struct(structure) => structure.fields().iter().any(Tensor::has_item_sizes),
            Tensor::Leaf(_) | Tensor::Sparse(_) => false,
        }
    }
}
