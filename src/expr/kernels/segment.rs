//! Reductions of rows to values, and of segments of slices to slices.
//!
//! ```text
//! x                [[3 1] [] [2 4 5]]
//! along the rows   [4 0 11]
//! across the rows  [5 5 5]             the result has the length of the longest row
//! ```
//!
//! Semantics: `tf.math.unsorted_segment_*`, on which the reductions of `tf.ragged` are based.

use super::cast::{bools, cast, dtype_of, native, saturated};
use super::datum::Datum;
use super::elementwise::choose;
use super::level::from_lengths;
use super::number::{Number, common, numbers, wider};
use super::text::{TextBuilder, Texts};
use crate::error::{Error, Result};
use crate::schema::{DType, Dim, Size};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, PrimitiveArray};
use arrow_buffer::BooleanBufferBuilder;
use std::sync::Arc;

/// How values are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce<'a> {
    /// `wide`: floats are added in float64 and rounded once, which gives the same results as TensorFlow's sums of dense
    /// tensors, whose order differs; in segments, only beyond [`FEW`] values. Other sums are in order.
    /// `lone`: the sum of one value is that value; otherwise, and in sums of more values, -0.0 is added to 0 and loses its sign.
    Sum {
        wide: bool,
        lone: bool,
    },
    Product,
    /// An empty reduction gives the largest finite value or, with `infinite`, infinity. A NaN is either kept or
    /// replaced by the next value.
    Minimum {
        infinite: bool,
        nan_stays: bool,
    },
    Maximum {
        infinite: bool,
        nan_stays: bool,
    },
    Any,
    All,
    /// The number of values, as float64.
    Count,
    /// Joins strings with a separator. `lazy`: omits it after only empty strings, as TensorFlow does in segments.
    Join {
        separator: &'a [u8],
        lazy: bool,
    },
}

/// Reduces the values of each row: `[nvals]` to `[nrows]`, in the same dtype (a count is float64). Source:
/// the reductions of `tf.ragged`. O(values).
///
/// # Errors
/// A dtype for which the operation is undefined, which is a bug.
pub fn rows(op: Reduce, array: &ArrayRef, partition: &RowPartition) -> Result<ArrayRef> {
    if let Reduce::Join { separator, lazy } = op {
        return joined(separator, lazy, array, (0..partition.nrows()).map(|row| partition.range(row)));
    }
    if op == Reduce::Count {
        return Ok(Arc::new(Float64Array::from_iter_values(partition.row_lengths().map(|n| n as f64))));
    }
    let dtype = dtype_of(array)?;
    if matches!(op, Reduce::Any | Reduce::All) {
        let bits = bools(array)?;
        let all = op == Reduce::All;
        let mut out = BooleanBufferBuilder::new(partition.nrows());
        for row in 0..partition.nrows() {
            let range = partition.range(row);
            let set = bits.slice(range.start, range.len()).count_set_bits();
            out.append(if all { set == range.len() } else { set > 0 });
        }
        return Ok(Arc::new(BooleanArray::new(out.finish(), None)));
    }
    if let Some(wide) = wider_of(op, &dtype) {
        return narrowed(op, &rows(op, &cast(array, &wide)?, partition)?, &dtype);
    }
    reduced!(&dtype, T => number_rows::<T>(op, array, partition), Err(Error::internal(format!("{op:?} of {dtype}"))))
}

/// The dtype in which integers of a rare dtype are reduced.
fn wider_of(op: Reduce, dtype: &DType) -> Option<DType> {
    let of_numbers = matches!(op, Reduce::Sum { .. } | Reduce::Product | Reduce::Minimum { .. } | Reduce::Maximum { .. });
    wider(dtype).filter(|_| of_numbers && dtype.is_integer())
}

/// The number of values up to which the narrow floats of a segment are added one after another, as in TensorFlow. Beyond, the
/// errors of rounding would add up: TensorFlow adds in a tree, and here the sum is rounded once.
const FEW: usize = 32;

/// For sums in a wider dtype: for each segment, whether it has many values. `None` if none has. It is decided for each segment
/// alone, so that results do not depend on the records that are computed together.
fn many(op: Reduce, dtype: &DType, ids: &[usize], nsegments: usize) -> Option<BooleanArray> {
    if !matches!(op, Reduce::Sum { wide: true, .. }) || !matches!(dtype, DType::Float16 | DType::Float32) {
        return None;
    }
    let mut counts = vec![0; nsegments];
    ids.iter().for_each(|id| counts[*id] += 1);
    counts.iter().any(|count| *count > FEW).then(|| counts.iter().map(|count| Some(*count > FEW)).collect())
}

/// A sum in the dtype of its values.
fn without_width(op: Reduce) -> Reduce {
    match op {
        Reduce::Sum { lone, .. } => Reduce::Sum { wide: false, lone },
        other => other,
    }
}

/// A sum of one value becomes that value, which may be -0.0, while a sum started from 0 is not. `places` are the sums that `values`
/// belong to. O(values), and more than a look at each only if one is -0.0.
fn with_lone_signs<T: Number>(op: Reduce, sums: &mut [T::Native], values: &[T::Native], places: impl Iterator<Item = usize>) {
    let is_negative_zero = |v: &T::Native| T::to_f64(*v).to_bits() == (-0.0f64).to_bits();
    if T::WRAPS || !matches!(op, Reduce::Sum { lone: true, .. }) || !values.iter().any(is_negative_zero) {
        return;
    }
    let places: Vec<usize> = places.collect();
    let mut counts = vec![0usize; sums.len()];
    places.iter().for_each(|place| counts[*place] += 1);
    for (v, place) in values.iter().zip(places) {
        if counts[place] == 1 {
            sums[place] = *v;
        }
    }
}

/// The values of `wide` where `many` is true, else those of `narrow`.
fn chosen(many: BooleanArray, wide: &ArrayRef, narrow: &ArrayRef) -> Result<ArrayRef> {
    let many: ArrayRef = Arc::new(many);
    let datum = |array| Datum { array, scalar: false };
    choose(datum(&many), datum(wide), datum(narrow))
}

/// The result of a reduction in a wider dtype. Sums of integers wrap around, and an empty reduction gives the extreme of the
/// narrow dtype.
fn narrowed(op: Reduce, array: &ArrayRef, dtype: &DType) -> Result<ArrayRef> {
    if matches!(op, Reduce::Sum { .. } | Reduce::Product) { cast(array, dtype) } else { saturated(array, dtype) }
}

/// The numeric dtypes that are reduced directly; float16 is rounded after each step.
macro_rules! reduced {
    ($dtype:expr, $t:ident => $body:expr, $otherwise:expr) => {
        match $dtype {
            DType::Float16 => {
                type $t = arrow_array::types::Float16Type;
                $body
            }
            _ => common!($dtype, $t => $body, $otherwise),
        }
    };
}
use reduced;

fn number_rows<T: Number>(op: Reduce, array: &ArrayRef, partition: &RowPartition) -> Result<ArrayRef> {
    let values = native::<T>(array)?;
    let (start, splits) = (first::<T>(op), partition.row_splits());
    let out = match op {
        Reduce::Sum { .. } if T::WRAPS => wrapping_sums::<T>(values, &splits),
        Reduce::Sum { wide, lone } => {
            let sum = |row: &[T::Native]| match row {
                [value] if lone => *value,
                _ if wide => T::of_f64(wide_sum::<T>(row)),
                _ => row.iter().fold(start, |all, v| T::add(all, *v)),
            };
            splits.windows(2).map(|w| sum(&values[w[0] as usize..w[1] as usize])).collect()
        }
        Reduce::Product if T::WRAPS => short_folds(values, &splits, start, T::multiply),
        Reduce::Product => folds(values, &splits, start, T::multiply),
        Reduce::Minimum { .. } if T::WRAPS => short_folds(values, &splits, start, T::minimum),
        Reduce::Maximum { .. } if T::WRAPS => short_folds(values, &splits, start, T::maximum),
        Reduce::Minimum { nan_stays: true, .. } => folds(values, &splits, start, lowest::<T>),
        Reduce::Minimum { nan_stays: false, .. } => folds(values, &splits, start, lesser::<T>),
        Reduce::Maximum { nan_stays: false, .. } => folds(values, &splits, start, greater::<T>),
        _ => folds(values, &splits, start, highest::<T>),
    };
    Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)))
}

/// The minimum of the result so far and the next value, of which the next one is taken if they are equal. A NaN stays.
#[inline]
fn lowest<T: Number>(all: T::Native, v: T::Native) -> T::Native {
    T::minimum(v, all)
}

/// The maximum of the result so far and the next value; see [`lowest`].
#[inline]
fn highest<T: Number>(all: T::Native, v: T::Native) -> T::Native {
    T::maximum(v, all)
}

/// The minimum of the result so far and the next value, as computed by TensorFlow's segment functions: a NaN is taken,
/// and is replaced by the next value.
#[inline]
fn lesser<T: Number>(all: T::Native, v: T::Native) -> T::Native {
    if all < v { all } else { v }
}

/// The maximum of the result so far and the next value; see [`lesser`].
#[inline]
fn greater<T: Number>(all: T::Native, v: T::Native) -> T::Native {
    if v < all { all } else { v }
}

/// The sum in float64, computed by halves if there are many values, so that rounding errors stay small.
fn wide_sum<T: Number>(values: &[T::Native]) -> f64 {
    const SHORT: usize = 128;
    if values.len() <= SHORT {
        return values.iter().fold(0.0, |all, v| all + T::to_f64(*v));
    }
    let (first, second) = values.split_at((values.len() / 2).next_multiple_of(SHORT));
    wide_sum::<T>(first) + wide_sum::<T>(second)
}

/// Folds each row from the left.
fn folds<N: Copy>(values: &[N], splits: &[i64], start: N, f: impl Fn(N, N) -> N) -> Vec<N> {
    splits.windows(2).map(|w| values[w[0] as usize..w[1] as usize].iter().fold(start, |all, v| f(all, *v))).collect()
}

/// Folds each row in any order, with `neutral` as the identity. Short rows take the same steps regardless of length,
/// because the branch at the end of each row dominates their cost.
fn short_folds<N: Copy>(values: &[N], splits: &[i64], neutral: N, f: impl Fn(N, N) -> N) -> Vec<N> {
    const SHORT: usize = 16;
    let row = |w: &[i64]| {
        let (start, end) = (w[0] as usize, w[1] as usize);
        let len = end - start;
        let Some(block) = values[start..].first_chunk::<SHORT>().filter(|_| len <= SHORT) else {
            let mut all = neutral;
            for v in &values[start..end] {
                all = f(all, *v);
            }
            return all;
        };
        let mut lanes = [neutral; 4];
        for (i, v) in block.iter().enumerate() {
            lanes[i % 4] = f(lanes[i % 4], if i < len { *v } else { neutral });
        }
        f(f(lanes[0], lanes[1]), f(lanes[2], lanes[3]))
    };
    let mut out = vec![neutral; splits.len().saturating_sub(1)];
    for (all, w) in out.iter_mut().zip(splits.windows(2)) {
        *all = row(w);
    }
    out
}

/// Sums of rows of integers, which wrap around: the difference of running sums at the row ends, so that no branch
/// depends on the row length.
fn wrapping_sums<T: Number>(values: &[T::Native], splits: &[i64]) -> Vec<T::Native> {
    const BLOCK: usize = 1024;
    let mut running = [T::ZERO; BLOCK];
    let mut ends = Vec::with_capacity(splits.len());
    let mut sum = T::ZERO;
    // Before the first value, every sum is 0.
    let mut rest = &splits[splits.partition_point(|s| *s == 0)..];
    ends.resize(splits.len() - rest.len(), sum);
    for (i, block) in values.chunks(BLOCK).enumerate() {
        for (place, v) in running.iter_mut().zip(block) {
            sum = T::add(sum, *v);
            *place = sum;
        }
        let before = i * BLOCK;
        while let Some((end, after)) = rest.split_first().filter(|(end, _)| **end as usize <= before + block.len()) {
            ends.push(running[(*end as usize - before - 1) % BLOCK]);
            rest = after;
        }
    }
    ends.windows(2).map(|w| T::subtract(w[1], w[0])).collect()
}

fn first<T: Number>(op: Reduce) -> T::Native {
    match op {
        Reduce::Sum { .. } | Reduce::Any | Reduce::All | Reduce::Count | Reduce::Join { .. } => T::ZERO,
        Reduce::Product => T::ONE,
        Reduce::Minimum { infinite: true, .. } => T::TOP,
        Reduce::Minimum { infinite: false, .. } => T::HIGHEST,
        Reduce::Maximum { infinite: true, .. } => T::BOTTOM,
        Reduce::Maximum { infinite: false, .. } => T::LOWEST,
    }
}

/// Joins the strings of each group with a separator: see [`Reduce::Join`].
fn joined<G: IntoIterator<Item = usize>>(
    separator: &[u8],
    lazy: bool,
    array: &ArrayRef,
    groups: impl ExactSizeIterator<Item = G>,
) -> Result<ArrayRef> {
    let texts = Texts::of(array)?;
    let mut out = TextBuilder::with_capacity(groups.len(), texts.nbytes());
    for group in groups {
        let start = out.bytes.len();
        for (k, i) in group.into_iter().enumerate() {
            if if lazy { out.bytes.len() > start } else { k > 0 } {
                out.bytes.extend_from_slice(separator);
            }
            out.bytes.extend_from_slice(texts.get(i));
        }
        out.end();
    }
    out.finish(&dtype_of(array)?)
}

/// Reduces the values of each segment: value i belongs to segment `ids[i]`, below `nsegments`. `[n]` to `[nsegments]`.
/// Source: `tf.math.unsorted_segment_*`. O(values + segments).
///
/// # Errors
/// See [`rows`].
pub fn segments(op: Reduce, array: &ArrayRef, ids: &[usize], nsegments: usize) -> Result<ArrayRef> {
    if let Reduce::Join { separator, lazy } = op {
        let mut members = vec![Vec::new(); nsegments];
        ids.iter().enumerate().for_each(|(i, id)| members[*id].push(i));
        return joined(separator, lazy, array, members.into_iter());
    }
    if op == Reduce::Count {
        let mut out = vec![0f64; nsegments];
        ids.iter().for_each(|id| out[*id] += 1.0);
        return Ok(Arc::new(Float64Array::from(out)));
    }
    let dtype = dtype_of(array)?;
    if matches!(op, Reduce::Any | Reduce::All) {
        let bits = bools(array)?;
        let all = op == Reduce::All;
        let mut out = vec![all; nsegments];
        for (i, id) in ids.iter().enumerate() {
            if bits.value(i) != all {
                out[*id] = !all;
            }
        }
        return Ok(Arc::new(BooleanArray::from(out)));
    }
    if let Some(wide) = wider_of(op, &dtype) {
        return narrowed(op, &segments(op, &cast(array, &wide)?, ids, nsegments)?, &dtype);
    }
    if let Some(many) = many(op, &dtype, ids, nsegments) {
        let wide = cast(&segments(op, &cast(array, &DType::Float64)?, ids, nsegments)?, &dtype)?;
        return chosen(many, &wide, &segments(without_width(op), array, ids, nsegments)?);
    }
    reduced!(&dtype, T => {
        let values = native::<T>(array)?;
        let mut out = vec![first::<T>(op); nsegments];
        match op {
            Reduce::Sum { .. } => put(values, ids, &mut out, <T as Number>::add),
            Reduce::Product => put(values, ids, &mut out, <T as Number>::multiply),
            Reduce::Minimum { nan_stays: true, .. } => put(values, ids, &mut out, lowest::<T>),
            Reduce::Minimum { nan_stays: false, .. } => put(values, ids, &mut out, lesser::<T>),
            Reduce::Maximum { nan_stays: false, .. } => put(values, ids, &mut out, greater::<T>),
            _ => put(values, ids, &mut out, highest::<T>),
        }
        with_lone_signs::<T>(op, &mut out, values, ids.iter().copied());
        Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)) as ArrayRef)
    }, Err(Error::internal(format!("{op:?} of {dtype}"))))
}

/// Accumulates each value into its segment.
fn put<N: Copy>(values: &[N], ids: &[usize], out: &mut [N], f: impl Fn(N, N) -> N) {
    for (v, id) in values.iter().zip(ids) {
        out[*id] = f(out[*id], *v);
    }
}

/// Combines the rows of `values` that belong to the same segment, item by item: `[n, ...]` to `[nsegments, ...]`.
///
/// `dims` are the axes of a row. `owners` partitions the segments by record: where an axis is uniform, an empty segment
/// takes the size of the other segments of its record, and without any, that which `absent` gives for the record and a number
/// of innermost axes. O(values of the result + values).
///
/// # Errors
/// See [`rows`].
pub fn aggregate(
    op: Reduce,
    values: &Tensor,
    dims: &[Dim],
    ids: &[usize],
    owners: &RowPartition,
    absent: &dyn Fn(usize, usize) -> usize,
) -> Result<Tensor> {
    let nsegments = owners.nvals();
    let Some(dim) = dims.first() else {
        return Ok(Tensor::Leaf(segments(op, values.as_leaf()?, ids, nsegments)?));
    };
    let list = values.as_list()?;
    let partition = list.partition();
    let mut lengths = vec![0usize; nsegments];
    for (row, id) in ids.iter().enumerate() {
        lengths[*id] = lengths[*id].max(partition.row_length(row));
    }
    match dim.size {
        Size::Known(n) => lengths.fill(n as usize),
        Size::Uniform => {
            for record in 0..owners.nrows() {
                let range = owners.range(record);
                let most = lengths[range.clone()].iter().copied().max().unwrap_or(0);
                let most = if most == 0 && !range.is_empty() { absent(record, dims.len()) } else { most };
                lengths[range].fill(most);
            }
        }
        Size::Ragged => {}
    }
    let out = match dim.size {
        Size::Known(n) => RowPartition::uniform(n as usize, nsegments)?,
        _ => from_lengths(lengths)?,
    };
    if let (1, Tensor::Leaf(array)) = (dims.len(), list.values())
        && let Some(flat) = rows_onto(op, array, partition, ids, &out)?
    {
        return Tensor::list(out, Tensor::Leaf(flat), None);
    }
    let mut below = Vec::with_capacity(partition.nvals());
    for (row, id) in ids.iter().enumerate() {
        let start = out.start(*id);
        below.extend(start..start + partition.row_length(row));
    }
    let inner = aggregate(op, list.values(), &dims[1..], &below, &owners.merge(&out), absent)?;
    Tensor::list(out, inner, None)
}

/// Combines rows of numbers element-wise: row i is accumulated into row `ids[i]` of the result. `None` for operations
/// that do not combine two numbers.
fn rows_onto(op: Reduce, array: &ArrayRef, partition: &RowPartition, ids: &[usize], out: &RowPartition) -> Result<Option<ArrayRef>> {
    fn onto<N: Copy>(
        values: &[N],
        (partition, ids, out): (&RowPartition, &[usize], &RowPartition),
        start: N,
        f: impl Fn(N, N) -> N,
    ) -> Vec<N> {
        let mut all = vec![start; out.nvals()];
        for (row, id) in ids.iter().enumerate() {
            let place = out.start(*id);
            for (a, v) in all[place..].iter_mut().zip(&values[partition.range(row)]) {
                *a = f(*a, *v);
            }
        }
        all
    }
    let dtype = dtype_of(array)?;
    if let Some(wide) = wider_of(op, &dtype) {
        let found = rows_onto(op, &cast(array, &wide)?, partition, ids, out)?;
        return found.map(|found| narrowed(op, &found, &dtype)).transpose();
    }
    if let Some(many) = many(op, &dtype, ids, out.nrows()) {
        let wide = rows_onto(op, &cast(array, &DType::Float64)?, partition, ids, out)?;
        let narrow = rows_onto(without_width(op), array, partition, ids, out)?;
        let many = BooleanArray::from_iter(out.value_rowids().into_iter().map(|row| Some(many.value(row as usize))));
        return wide.zip(narrow).map(|(wide, narrow)| chosen(many, &cast(&wide, &dtype)?, &narrow)).transpose();
    }
    let rows = (partition, ids, out);
    reduced!(&dtype, T => {
        let (values, start) = (native::<T>(array)?, first::<T>(op));
        let mut all = match op {
            Reduce::Sum { .. } => onto(values, rows, start, <T as Number>::add),
            Reduce::Product => onto(values, rows, start, <T as Number>::multiply),
            Reduce::Minimum { nan_stays: true, .. } => onto(values, rows, start, lowest::<T>),
            Reduce::Minimum { nan_stays: false, .. } => onto(values, rows, start, lesser::<T>),
            Reduce::Maximum { nan_stays: false, .. } => onto(values, rows, start, greater::<T>),
            Reduce::Maximum { nan_stays: true, .. } => onto(values, rows, start, highest::<T>),
            Reduce::Any | Reduce::All | Reduce::Count | Reduce::Join { .. } => return Ok(None),
        };
        let places = ids.iter().enumerate().flat_map(|(row, id)| out.start(*id)..out.start(*id) + partition.row_length(row));
        with_lone_signs::<T>(op, &mut all, values, places);
        Ok(Some(Arc::new(PrimitiveArray::<T>::new(all.into(), None)) as ArrayRef))
    }, Ok(None))
}

/// Sums of data of that rank, divided by `divisors` in the given dtype. The sums have `levels` axes; `counts` gives the number
/// of values of each. Means of many float16 values are computed in float64 and rounded once: in their dtype, the sum would
/// soon be too large for a value to change it.
///
/// # Errors
/// See [`rows`].
pub fn means(
    sums: &dyn Fn(&Tensor) -> Result<Tensor>,
    (data, rank): (&Tensor, usize),
    levels: usize,
    (counts, divisors): (&[f64], &ArrayRef),
    dtype: &DType,
) -> Result<Tensor> {
    let means = |data: &Tensor, dtype: &DType| {
        sums(data)?.map_below(levels, &mut |t| Ok(Tensor::Leaf(divide(&cast(t.as_leaf()?, dtype)?, divisors)?)))
    };
    let narrow = means(data, dtype)?;
    let many = |count: &f64| *count > FEW as f64;
    if *dtype != DType::Float16 || !counts.iter().any(many) {
        return Ok(narrow);
    }
    let wide = data.map_below(rank, &mut |t| Ok(Tensor::Leaf(cast(t.as_leaf()?, &DType::Float64)?)))?;
    let wide = means(&wide, &DType::Float64)?;
    let (_, wide) = wide.levels(levels)?;
    let wide = cast(wide.as_leaf()?, dtype)?;
    let many = BooleanArray::from_iter(counts.iter().map(|count| Some(many(count))));
    narrow.map_below(levels, &mut |t| Ok(Tensor::Leaf(chosen(many.clone(), &wide, t.as_leaf()?)?)))
}

/// Sums divided by counts: floats in their dtype, integers as in TensorFlow.
fn divide(sums: &ArrayRef, counts: &ArrayRef) -> Result<ArrayRef> {
    let dtype = dtype_of(sums)?;
    let counts = native::<Float64Type>(counts)?;
    numbers!(&dtype, T => {
        let mut out = native::<T>(sums)?.to_vec();
        for (sum, n) in out.iter_mut().zip(counts) {
            let none = *n == 0.0 && dtype.is_integer();
            *sum = if none { <T as Number>::ZERO } else { <T as Number>::divide(*sum, <T as Number>::of_f64(*n)) };
        }
        Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)) as ArrayRef)
    }, Err(Error::internal(format!("a mean of {dtype}"))))
}

/// `[len]` ones, as float64.
pub fn ones(len: usize) -> ArrayRef {
    Arc::new(PrimitiveArray::<Float64Type>::from_iter_values(std::iter::repeat_n(1.0, len)))
}
