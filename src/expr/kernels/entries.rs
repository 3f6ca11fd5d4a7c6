//! The entries of a column of sparse tensors: their order, their positions in a dense tensor, and selections of them.
//!
//! All loops run over the entries of a whole chunk. The rank is dispatched once per chunk for ranks 1 to 3, so that an
//! index is a small array instead of a slice of unknown length.

use super::level::from_lengths;
use crate::error::{Error, Result};
use crate::schema::{Dim, Size};
use crate::tensor::gather::take;
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_array::ArrayRef;
use arrow_buffer::ScalarBuffer;
use std::cmp::Ordering;

/// The sparse tensors of a column, one per record. O(1).
///
/// # Errors
/// The tensors are inside structures that have axes.
pub fn sparse(tensor: &Tensor) -> Result<&Sparse> {
    match tensor {
        Tensor::Sparse(s) => Ok(s),
        _ => Err(Error::data("functions work on one sparse tensor per record; this field has one in each structure of a list")
            .help("explode the list first, to get one record per structure")),
    }
}

/// Runs `$body` with the constant `$n` for ranks 1 to 3, and `$any` otherwise.
macro_rules! of_rank {
    ($ndims:expr, $n:ident => $body:expr, $any:expr) => {
        match $ndims {
            1 => {
                const $n: usize = 1;
                $body
            }
            2 => {
                const $n: usize = 2;
                $body
            }
            3 => {
                const $n: usize = 3;
                $body
            }
            _ => $any,
        }
    };
}

/// Indices of many records with their shapes, as stored in [`Sparse`].
#[derive(Clone, Copy)]
pub struct Indices<'a> {
    pub ndims: usize,
    pub entries: &'a RowPartition,
    pub indices: &'a [i64],
    pub shapes: &'a [i64],
}

impl<'a> Indices<'a> {
    /// The indices of a column. Zero-copy.
    pub fn of(s: &'a Sparse) -> Indices<'a> {
        Indices { ndims: s.ndims(), entries: s.entries(), indices: s.indices(), shapes: s.dense_shape() }
    }

    /// The row-major position of each entry within its record over only `axes`, and the number of positions. `None` if
    /// 63 bits do not suffice. O(entries of the record x rank).
    pub fn places(&self, row: usize, axes: &[usize], out: &mut Vec<i64>) -> Option<i64> {
        let n = self.ndims;
        let shape = &self.shapes[row * n..(row + 1) * n];
        let weights = row_major(shape, axes)?;
        let all = axes.iter().try_fold(1i64, |all, axis| all.checked_mul(shape[*axis]))?;
        let range = self.entries.range(row);
        let own = &self.indices[range.start * n..range.end * n];
        out.clear();
        of_rank!(n, N => {
            let mut by = [0i64; N];
            by.copy_from_slice(&weights);
            out.extend(own.as_chunks::<N>().0.iter().map(|index| (0..N).map(|axis| index[axis] * by[axis]).sum::<i64>()));
        }, out.extend(range.map(|entry| self.index(entry).iter().zip(&weights).map(|(i, w)| i * w).sum::<i64>())));
        Some(all)
    }

    fn index(&self, entry: usize) -> &'a [i64] {
        &self.indices[entry * self.ndims..(entry + 1) * self.ndims]
    }

    /// Compares two entries by these axes.
    fn compare(&self, a: usize, b: usize, axes: &[usize]) -> Ordering {
        let (a, b) = (self.index(a), self.index(b));
        axes.iter().map(|axis| a[*axis].cmp(&b[*axis])).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// A stable permutation that sorts the entries of each record by these axes, the first being the most significant.
    /// `None` if they are already sorted. O(entries) if they are sorted or there are few positions, otherwise O(entries
    /// log entries).
    pub fn order(&self, axes: &[usize]) -> Option<Vec<usize>> {
        let mut out: Option<Vec<usize>> = None;
        let (mut keys, mut pairs, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..self.entries.nrows() {
            let range = self.entries.range(row);
            let all = self.places(row, axes, &mut keys);
            let holds = match all {
                Some(_) => keys.is_sorted(),
                None => range.clone().skip(1).all(|entry| self.compare(entry - 1, entry, axes).is_le()),
            };
            if holds {
                continue;
            }
            let places = &mut out.get_or_insert_with(|| (0..self.entries.nvals()).collect())[range.clone()];
            match all.and_then(|n| usize::try_from(n).ok()) {
                // Counting sort, if there are few positions.
                Some(n) if n <= 8 * range.len() + 64 => {
                    counts.clear();
                    counts.resize(n + 1, 0usize);
                    keys.iter().for_each(|key| counts[*key as usize + 1] += 1);
                    (0..n).for_each(|place| counts[place + 1] += counts[place]);
                    for (key, entry) in keys.iter().zip(range) {
                        let at = &mut counts[*key as usize];
                        places[*at] = entry;
                        *at += 1;
                    }
                }
                Some(_) => {
                    pairs.clear();
                    pairs.extend(keys.iter().copied().zip(range));
                    // Sorted runs, as in concatenated tensors, are merged.
                    pairs.sort();
                    places.iter_mut().zip(&pairs).for_each(|(place, (_, entry))| *place = *entry);
                }
                None => places.sort_by(|a, b| self.compare(*a, *b, axes)),
            }
        }
        out
    }
}

/// The order of the entries of a column by these axes: see [`Indices::order`]. With all axes, that of `tf.sparse.reorder`.
pub fn order(s: &Sparse, axes: &[usize]) -> Option<Vec<usize>> {
    Indices::of(s).order(axes)
}

/// The stride of each axis in a row-major position over only `axes`; 0 for other axes. `None` if positions exceed 63
/// bits. If there are no positions, every stride is 0. O(rank).
pub fn row_major(shape: &[i64], axes: &[usize]) -> Option<Vec<i64>> {
    let mut weights = vec![0; shape.len()];
    if shape.contains(&0) {
        return Some(weights);
    }
    let mut step = 1i64;
    for axis in axes.iter().rev() {
        weights[*axis] = step;
        step = step.checked_mul(shape[*axis])?;
    }
    Some(weights)
}

/// The product of the sizes: the number of values of a dense tensor. `None` if it does not fit. O(rank).
pub fn volume(shape: &[i64]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |all, n| all.checked_mul(usize::try_from(*n).ok()?))
}

/// Calls `visit` with the number of each entry and its position: `starts[record]` plus the dot product of its index and
/// the record's weights. O(entries x rank).
///
/// # Errors
/// Errors of `weights`.
pub fn visit_places(
    s: &Sparse,
    starts: &dyn Fn(usize) -> usize,
    weights: &dyn Fn(usize) -> Result<Vec<i64>>,
    mut visit: impl FnMut(usize, usize),
) -> Result<()> {
    let mut places = Vec::new();
    for row in 0..s.nrows() {
        places.clear();
        push_places(s, row, starts(row), &weights(row)?, &mut places);
        for (entry, place) in s.entries().range(row).zip(&places) {
            visit(entry, *place);
        }
    }
    Ok(())
}

/// The positions of the entries of a record.
fn push_places(s: &Sparse, row: usize, start: usize, weights: &[i64], places: &mut Vec<usize>) {
    let n = s.ndims();
    let range = s.entries().range(row);
    of_rank!(n, N => {
        let mut by = [0usize; N];
        by.iter_mut().zip(weights).for_each(|(b, w)| *b = *w as usize);
        places.extend(s.indices()[range.start * n..range.end * n].as_chunks::<N>().0.iter().map(|index| {
            let mut place = start;
            for axis in 0..N {
                place += index[axis] as usize * by[axis];
            }
            place
        }));
    }, places.extend(range.map(|entry| start + s.index_of(entry).iter().zip(weights).map(|(i, w)| i * w).sum::<i64>() as usize)));
}

/// These entries in this order, partitioned by record with `entries`. Shapes are unchanged. O(entries taken x rank).
///
/// # Errors
/// See [`Sparse::try_new`].
pub fn chosen(s: &Sparse, places: &[usize], entries: RowPartition) -> Result<Sparse> {
    let indices = taken_indices(s.indices(), s.ndims(), places);
    Sparse::try_new(s.ndims(), entries, indices.into(), take(s.values(), places)?, s.dense_shape().clone(), None)
}

/// The selected indices, `[entries, ndims]` to `[places.len(), ndims]`. O(places x ndims).
pub fn taken_indices(indices: &[i64], ndims: usize, places: &[usize]) -> Vec<i64> {
    of_rank!(ndims, N => {
        let rows = indices.as_chunks::<N>().0;
        places.iter().map(|place| rows[*place]).collect::<Vec<_>>().into_flattened()
    }, places.iter().flat_map(|place| &indices[place * ndims..(place + 1) * ndims]).copied().collect())
}

/// A tensor with the same entries at other indices: `[entries, ndims]`, under the dense shapes `[n, ndims]`. Values are
/// shared; O(entries x ndims) to check the indices.
///
/// # Errors
/// See [`Sparse::try_new`].
pub fn rebuilt(s: &Sparse, ndims: usize, indices: impl Into<ScalarBuffer<i64>>, shapes: impl Into<ScalarBuffer<i64>>) -> Result<Tensor> {
    Ok(Tensor::Sparse(Sparse::try_new(ndims, s.entries().clone(), indices.into(), s.values().clone(), shapes.into(), None)?))
}

/// The same indices with other values, `[entries]`, of any dtype. Indices are shared; O(entries x rank) to check them.
///
/// # Errors
/// A different number of values.
pub fn with_values(s: &Sparse, values: ArrayRef) -> Result<Tensor> {
    Ok(Tensor::Sparse(Sparse::try_new(s.ndims(), s.entries().clone(), s.indices().clone(), values, s.dense_shape().clone(), None)?))
}

/// The axes of dense tensors, one tensor per record.
#[derive(Debug)]
pub struct DenseRows {
    /// One partition for each axis, outermost first.
    pub partitions: Vec<RowPartition>,
    /// The offsets of each record's values, including the end.
    pub starts: Vec<usize>,
}

impl DenseRows {
    /// Dense tensors of these shapes, with `dims.len()` sizes per record, which must agree with the known sizes of `dims`.
    /// O(rows).
    ///
    /// # Errors
    /// More rows or values than should be allocated.
    pub fn new(dims: &[Dim], shapes: &[i64], nrecords: usize) -> Result<DenseRows> {
        let rank = dims.len();
        let mut partitions = Vec::with_capacity(rank);
        // The rows of the current axis, per record and in total.
        let mut rows = vec![1usize; nrecords];
        for (axis, dim) in dims.iter().enumerate() {
            let size = |record: usize| shapes[record * rank + axis];
            let mut all = 0usize;
            let mut next = Vec::with_capacity(nrecords);
            for (record, n) in rows.iter().enumerate() {
                let own = usize::try_from(size(record)).ok().and_then(|size| size.checked_mul(*n));
                let own = own.ok_or_else(|| Error::data("the dense tensor would have more than 2^63 values").at_row(record))?;
                all = check_count(all.checked_add(own), record).map_err(|e| {
                    if check_count(Some(own), record).is_err() { e } else { e.help("--chunk-rows 64 processes fewer records at a time") }
                })?;
                next.push(own);
            }
            let nrows = rows.iter().sum();
            let same = match dim.size {
                Size::Known(n) => usize::try_from(n).ok(),
                _ if nrecords > 0 && (1..nrecords).all(|record| size(record) == size(0)) => usize::try_from(size(0)).ok(),
                _ => None,
            };
            partitions.push(match same {
                Some(n) => RowPartition::uniform(n, nrows)?,
                None => from_lengths(
                    rows.iter().enumerate().flat_map(|(record, n)| std::iter::repeat_n(usize::try_from(size(record)).unwrap_or(0), *n)),
                )?,
            });
            rows = next;
        }
        let mut starts = Vec::with_capacity(nrecords + 1);
        let mut end = 0;
        starts.push(0);
        for n in rows {
            end += n;
            starts.push(end);
        }
        Ok(DenseRows { partitions, starts })
    }

    /// The number of values. O(1).
    pub fn nvals(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Wraps these values, `[nvals]`, in the axes. O(rank).
    ///
    /// # Errors
    /// A different number of values.
    pub fn wrap(self, values: ArrayRef) -> Result<Tensor> {
        super::level::wrap(self.partitions.into_iter(), Tensor::Leaf(values))
    }
}

/// The flat values of dense tensors of that rank, the start of each record, and the sizes: `rank` per record, or -1 for
/// a size that cannot be determined because there are no rows, as in `[0, ?]`. O(records x rank).
///
/// # Errors
/// There are fewer axes.
pub fn dense_parts<'a>(tensor: &'a Tensor, dims: &[Dim]) -> Result<(&'a ArrayRef, Vec<usize>, Vec<i64>)> {
    let rank = dims.len();
    let (partitions, below) = tensor.levels(rank)?;
    let nrecords = tensor.nrows();
    let mut shapes = vec![0i64; nrecords * rank];
    let mut starts: Vec<usize> = (0..=nrecords).collect();
    for (axis, (partition, dim)) in partitions.iter().zip(dims).enumerate() {
        for record in 0..nrecords {
            shapes[record * rank + axis] = match dim.size {
                Size::Known(n) => n as i64,
                _ if starts[record] < starts[record + 1] => partition.row_length(starts[record]) as i64,
                _ => -1,
            };
        }
        starts.iter_mut().for_each(|start| *start = partition.start(*start));
    }
    Ok((below.as_leaf()?, starts, shapes))
}
