//! Broadcasting of any number of tensors, including ragged ones.
//!
//! ```text
//! x  [[1 2] [3]]       [2, (?)]
//! y  [[10] [20]]       [2, 1]          every row has one value: repeated along the ragged row
//!    [[11 12] [23]]
//! ```
//!
//! Semantics: `tf.ragged` broadcasting. A uniform axis with one item is repeated, a ragged axis never is,
//! and a uniform row of several items is incompatible with the ragged rows of an axis inside one along which it has
//! been repeated. The record axis is never broadcast.

use super::level::{bounding_known, dense_partitions, record_below, wrap};
use crate::error::{Error, Result};
use crate::expr::types::{at, is_repeated, last_ragged, shape, shapes};
use crate::schema::{Dim, Size};
use crate::tensor::limits::check_count;
use crate::tensor::take::{Native, native, push_times, with_room};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::NullArray;
use std::sync::Arc;

/// Tensors broadcast to a common shape.
pub struct Aligned {
    /// The axes of the result, outermost first.
    pub partitions: Vec<RowPartition>,
    /// For each operand, the item at each position of the result.
    places: Vec<Places>,
}

/// The item of an operand at each position of the result.
#[derive(Clone, Debug)]
enum Places {
    /// The items are unchanged.
    Same,
    /// Item i at all positions of row i.
    Rows(RowPartition),
    Of(Vec<usize>),
}

impl Places {
    fn is_same(&self) -> bool {
        matches!(self, Places::Same)
    }

    /// Expands rows to explicit items.
    fn write_out(&mut self) {
        if let Places::Rows(rows) = self {
            *self = Places::Of((0..rows.nrows()).flat_map(|row| std::iter::repeat_n(row, rows.row_length(row))).collect());
        }
    }

    /// The item at a position. Rows must have been expanded.
    fn at(&self, place: usize) -> usize {
        match self {
            Places::Of(items) => items[place],
            Places::Same | Places::Rows(_) => place,
        }
    }
}

/// Broadcasts tensors with one row per record, `[n, ...]`, to a common shape, as TensorFlow does for operators on ragged
/// tensors. `operands` are the tensors and their axes; the values are not touched. At most O(values of the result x
/// operands).
///
/// # Errors
/// Incompatible sizes; the error names the row.
pub fn align(operands: &[(&Tensor, &[Dim])]) -> Result<Aligned> {
    let all_dims: Vec<&[Dim]> = operands.iter().map(|(_, dims)| *dims).collect();
    let rank = all_dims.iter().map(|d| d.len()).max().unwrap_or(0);
    let nrows = operands.first().map_or(0, |(t, _)| t.nrows());
    let mut below: Vec<&Tensor> = operands.iter().map(|(t, _)| *t).collect();
    let mut places: Vec<Places> = vec![Places::Same; operands.len()];
    let mut partitions: Vec<RowPartition> = Vec::with_capacity(rank);
    for axis in 0..rank {
        let rows = partitions.last().map_or(nrows, RowPartition::nvals);
        // The partition of this axis, or `None` if the operand lacks it, which means one item per row.
        let mut levels: Vec<Option<&RowPartition>> = Vec::with_capacity(operands.len());
        for (i, dims) in all_dims.iter().enumerate() {
            if axis + dims.len() >= rank {
                let list = below[i].as_list()?;
                levels.push(Some(list.partition()));
                below[i] = list.values();
            } else {
                levels.push(None);
            }
        }
        let sizes: Vec<Size> = all_dims.iter().map(|d| at(d, rank, axis)).collect();
        let partition = match quick(&levels, &places, &sizes) {
            Some(partition) => partition,
            None => {
                places.iter_mut().for_each(Places::write_out);
                let record = |row: usize| record_below(partitions.iter(), row);
                slow(&levels, &places, &sizes, &all_dims, axis, rows, record).map_err(|(row, e)| e.at_row(record(row)))?
            }
        };
        for (place, level) in places.iter_mut().zip(&levels) {
            descend(place, *level, &partition);
        }
        partitions.push(partition);
    }
    let is_open = |axis: usize| all_dims.iter().any(|dims| at(dims, rank, axis) == Size::Uniform);
    if (1..rank).any(is_open) {
        remember_sizes(operands, &mut partitions)?;
    }
    Ok(Aligned { partitions, places })
}

/// Lets rows without items remember the sizes of the axes below, those of the operands after broadcasting.
fn remember_sizes(operands: &[(&Tensor, &[Dim])], partitions: &mut [RowPartition]) -> Result<()> {
    let rank = partitions.len();
    if partitions[..rank - 1].iter().all(|p| (0..p.nrows()).all(|row| p.row_length(row) > 0)) {
        return Ok(());
    }
    let sizes = operands.iter().map(|(tensor, dims)| bounding_known(tensor, dims)).collect::<Result<Vec<_>>>()?;
    let size = |axis: usize, record: usize| {
        let own = sizes.iter().filter_map(|sizes| sizes.get((axis + sizes.len()).checked_sub(rank)?)?.get(record).copied());
        own.fold(1, |all, n| if all == 1 { n } else { all })
    };
    for axis in (0..rank - 1).rev() {
        let (above, below) = partitions.split_at(axis + 1);
        let of_row = |row: usize, out: &mut [usize]| {
            let record = record_below(above[..axis].iter(), row);
            out.iter_mut().enumerate().for_each(|(i, n)| *n = size(axis + 1 + i, record));
        };
        partitions[axis] = above[axis].clone().with_sizes_below(below, of_row);
    }
    Ok(())
}

/// The partition of the result, if all operands have either this partition or one item per row.
fn quick(levels: &[Option<&RowPartition>], places: &[Places], sizes: &[Size]) -> Option<RowPartition> {
    let single = |i: usize| match levels[i] {
        None => true,
        Some(p) => sizes[i] != Size::Ragged && p.uniform_row_length() == Some(1),
    };
    let leader = (0..levels.len()).find(|i| !single(*i));
    let Some(leader) = leader else {
        // One item everywhere.
        let whole = (0..levels.len()).find(|i| places[*i].is_same())?;
        return match levels[whole] {
            Some(p) => Some(p.clone()),
            None => levels.iter().zip(places).find_map(|(p, place)| p.filter(|_| place.is_same()).cloned()),
        };
    };
    if !places[leader].is_same() {
        return None;
    }
    let partition = levels[leader]?;
    let fits = |i: usize| single(i) || (places[i].is_same() && levels[i].is_some_and(|p| p == partition));
    (0..levels.len()).all(fits).then(|| partition.clone())
}

fn slow(
    levels: &[Option<&RowPartition>],
    places: &[Places],
    sizes: &[Size],
    dims: &[&[Dim]],
    axis: usize,
    rows: usize,
    record: impl Fn(usize) -> usize,
) -> Result<RowPartition, (usize, Error)> {
    let rank = dims.iter().map(|d| d.len()).max().unwrap_or(0);
    let repeated: Vec<bool> = dims.iter().map(|d| is_repeated(d, dims, rank, axis)).collect();
    let ragged = sizes.contains(&Size::Ragged);
    let mut splits = Vec::with_capacity(rows + 1);
    let mut end = 0i64;
    splits.push(0);
    let length_of = |i: usize, row: usize| match levels[i] {
        None => 1,
        Some(p) => p.row_length(places[i].at(row)),
    };
    for row in 0..rows {
        let mut length = None;
        let mut fits = true;
        for i in 0..levels.len() {
            let own = length_of(i, row);
            if own == 1 && sizes[i] != Size::Ragged {
                continue;
            }
            fits &= *length.get_or_insert(own) == own;
            fits &= !(ragged && sizes[i] != Size::Ragged && repeated[i]);
        }
        if !fits {
            // A repeated row of several items may have the length of this row, but not of another one.
            let differ = |row: &usize| (1..levels.len()).any(|i| length_of(i, *row) != length_of(0, *row));
            let shown = (row..rows).take_while(|other| record(*other) == record(row)).find(differ);
            let why = match shown {
                Some(shown) => {
                    let lengths: Vec<String> = (0..levels.len()).map(|i| length_of(i, shown).to_string()).collect();
                    format!("rows of {} items on axis {axis}", lengths.join(" and "))
                }
                None => format!("a uniform row of {} items is not repeated along ragged rows", length_of(0, row)),
            };
            let error = Error::data(format!("the shapes {} do not broadcast here: {why}", shapes(dims)));
            let error =
                if ragged { error.help("a ragged axis accepts rows of the same lengths, or a uniform axis of size 1") } else { error };
            return Err((row, error));
        }
        end += length.unwrap_or(1) as i64;
        check_count(usize::try_from(end).ok(), row).map_err(|e| (row, e))?;
        splits.push(end);
    }
    RowPartition::from_row_splits(splits).map_err(|e| (0, e))
}

/// Maps the items of an operand to the next level; `partition` is that of the result.
fn descend(place: &mut Places, level: Option<&RowPartition>, partition: &RowPartition) {
    match (&*place, level) {
        (Places::Same, Some(level)) if level == partition => return,
        (Places::Same, None) if partition.uniform_row_length() == Some(1) => return,
        (Places::Same, level) if level.is_none_or(|l| l.uniform_row_length() == Some(1)) => {
            *place = Places::Rows(partition.clone());
            return;
        }
        _ => {}
    }
    let mut next = Vec::with_capacity(partition.nvals());
    place.write_out();
    for row in 0..partition.nrows() {
        let own = place.at(row);
        let length = partition.row_length(row);
        match level {
            None => next.extend(std::iter::repeat_n(own, length)),
            Some(level) if level.row_length(own) == length => next.extend(level.range(own)),
            Some(level) => next.extend(std::iter::repeat_n(level.start(own), length)),
        }
    }
    *place = Places::Of(next);
}

struct Repeated<'a>(&'a [i64]);

impl Native for Repeated<'_> {
    fn run<N: Copy>(&self, values: &[&[N]]) -> Vec<N> {
        let mut out = with_room(self.0.last().map_or(0, |end| *end as usize));
        for (w, value) in self.0.windows(2).zip(values[0]) {
            push_times(&mut out, *value, (w[1] - w[0]) as usize);
        }
        out
    }
}

/// Repeats a tensor with these axes to a dense shape, `[n, target...]`: `size` gives the sizes of the axes `target` in
/// each record. Source: `tf.broadcast_to`. O(values of the result).
///
/// # Errors
/// The tensor cannot be broadcast, or the result would have too many values to count.
pub fn to_shape(
    tensor: &Tensor,
    dims: &[Dim],
    target: &[Dim],
    nrows: usize,
    size: impl Fn(usize, usize) -> Result<usize>,
) -> Result<Tensor> {
    let (partitions, records) = dense_partitions(target, nrows, size)?;
    // The values are not needed.
    let frame = wrap(partitions.iter().cloned(), Tensor::Leaf(Arc::new(NullArray::new(records.len()))))?;
    let aligned = align(&[(&frame, target), (tensor, dims)])?;
    if aligned.partitions != partitions && last_ragged(dims).is_none() {
        let count = |p: &[RowPartition], record| p.iter().fold((record, record + 1), |(a, b), p| (p.start(a), p.start(b)));
        let row = (0..nrows).find(|r| count(&aligned.partitions, *r) != count(&partitions, *r)).unwrap_or(0);
        return Err(Error::data(format!("{} does not broadcast to the required shape", shape(dims))).at_row(row));
    }
    let flat = aligned.flat(1, tensor, dims.len())?;
    aligned.wrap(flat)
}

impl Aligned {
    /// The flat values of operand `i`, a tensor with that many levels, at the positions of the result. Zero-copy if it is
    /// not repeated, otherwise O(values of the result).
    ///
    /// # Errors
    /// Only if memory runs out.
    pub fn flat(&self, i: usize, tensor: &Tensor, levels: usize) -> Result<Tensor> {
        let (_, below) = tensor.levels(levels)?;
        match &self.places[i] {
            Places::Same => Ok(below.clone()),
            Places::Of(items) => below.gather(items),
            Places::Rows(rows) => {
                if let Tensor::Leaf(array) = below
                    && let Some(out) = native(&[array], &Repeated(&rows.row_splits()))
                {
                    return Ok(Tensor::Leaf(out));
                }
                let mut places = self.places[i].clone();
                places.write_out();
                match places {
                    Places::Of(items) => below.gather(&items),
                    _ => Ok(below.clone()),
                }
            }
        }
    }

    /// The record that contains a flat value of the result. O(rank x log rows).
    pub fn record_of(&self, value: usize) -> usize {
        record_below(self.partitions.iter(), value)
    }

    /// Wraps flat values of the result in the common axes. O(rank).
    ///
    /// # Errors
    /// The number of values is wrong.
    pub fn wrap(self, values: Tensor) -> Result<Tensor> {
        wrap(self.partitions.into_iter(), values)
    }
}
