//! Copies rows from tensors: the primitive for slicing, joining and gathering.
//!
//! Native values are copied in blocks of fixed size that are truncated afterwards. Copies with a length known only at
//! run time are function calls, which would dominate the cost of short rows.

use super::limits::{check_repeated, check_repeated_nbytes};
use super::{List, RowPartition, Struct, Tensor};
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, LargeBinaryType, LargeUtf8Type};
use arrow_array::{Array, ArrayRef, GenericByteArray, downcast_primitive_array, make_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, i256};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, IntervalUnit};
use std::sync::Arc;

/// Builds values of a fixed width from those of one or more arrays, as raw bytes.
pub trait Native {
    /// The new values.
    fn run<N: Copy>(&self, values: &[&[N]]) -> Vec<N>;
}

/// The array that `job` builds from arrays of one type; `None` if their values have no fixed width in whole bytes, or
/// some are null. Dispatched by width rather than type: int64, float64 and timestamps share a loop.
pub fn native(arrays: &[&ArrayRef], job: &impl Native) -> Option<ArrayRef> {
    if arrays.iter().any(|a| a.null_count() > 0) {
        return None;
    }
    native_with_nulls(arrays, job, || None)
}

/// Like [`native`], where values may be null: `validity` says which of the new values are.
pub(super) fn native_with_nulls(
    arrays: &[&ArrayRef],
    job: &impl Native,
    validity: impl FnOnce() -> Option<NullBuffer>,
) -> Option<ArrayRef> {
    fn of<N: ArrowNativeType>(arrays: &[&ArrayRef], job: &impl Native, validity: impl FnOnce() -> Option<NullBuffer>) -> Option<ArrayRef> {
        let values = arrays.iter().map(|array| Some(fixed_bytes(array)?.typed_data())).collect::<Option<Vec<&[N]>>>()?;
        array_of(job.run(&values), arrays[0].data_type(), validity())
    }
    let ty = arrays.first()?.data_type();
    if arrays.iter().any(|a| a.data_type() != ty) {
        return None;
    }
    match ty.primitive_width()? {
        // The alignment of these two types is that of their parts.
        _ if matches!(ty, DataType::Interval(IntervalUnit::DayTime | IntervalUnit::MonthDayNano)) => None,
        1 => of::<u8>(arrays, job, validity),
        2 => of::<u16>(arrays, job, validity),
        4 => of::<u32>(arrays, job, validity),
        8 => of::<u64>(arrays, job, validity),
        16 => of::<i128>(arrays, job, validity),
        _ => of::<i256>(arrays, job, validity),
    }
}

fn array_of<N: ArrowNativeType>(values: Vec<N>, ty: &DataType, validity: Option<NullBuffer>) -> Option<ArrayRef> {
    let data = ArrayData::builder(ty.clone()).len(values.len()).add_buffer(Buffer::from_vec(values)).nulls(validity);
    data.build().ok().map(make_array)
}

/// The bytes of the values of an array of fixed width; `None` if it has another layout. Allocates nothing: it is called for
/// each column of each of many parts.
pub(super) fn fixed_bytes(array: &ArrayRef) -> Option<&Buffer> {
    downcast_primitive_array!(
        array => Some(array.values().inner()),
        _ => None
    )
}

/// The maximum number of values copied at once.
const MOST_AT_ONCE: usize = 64;

/// The capacity for `len` values added by [`push_row`] and [`push_times`].
pub fn with_room<N: Copy>(len: usize) -> Vec<N> {
    Vec::with_capacity(len + 2 * MOST_AT_ONCE)
}

/// Adds `values[start..end]`; a short row by copying a whole block and truncating it. O(values).
#[inline]
pub fn push_row<N: Copy>(out: &mut Vec<N>, values: &[N], start: usize, end: usize) {
    // At least 64 and at most 128 bytes, which are copied without a call.
    match size_of::<N>() {
        1 => push_block::<N, MOST_AT_ONCE>(out, values, start, end),
        2 => push_block::<N, 32>(out, values, start, end),
        4 | 8 => push_block::<N, 16>(out, values, start, end),
        16 => push_block::<N, 8>(out, values, start, end),
        _ => push_block::<N, 4>(out, values, start, end),
    }
}

/// Adds `values[start..end]`; up to `BLOCK` values by copying that many. The length of the block is part of its type,
/// because otherwise the compiler calls `memcpy`.
#[inline]
fn push_block<N: Copy, const BLOCK: usize>(out: &mut Vec<N>, values: &[N], start: usize, end: usize) {
    let len = end - start;
    match values[start..].first_chunk::<BLOCK>() {
        Some(whole) if len <= BLOCK => {
            let to = out.len() + len;
            out.extend_from_slice(whole);
            out.truncate(to);
        }
        _ => out.extend_from_slice(&values[start..end]),
    }
}

/// Adds `values[start..end]` in reverse.
#[inline]
pub fn push_reversed<N: Copy>(out: &mut Vec<N>, values: &[N], start: usize, end: usize) {
    const BLOCK: usize = 16;
    let len = end - start;
    match values[..end].last_chunk::<BLOCK>() {
        Some(whole) if len <= BLOCK => {
            let mut whole = *whole;
            whole.reverse();
            let to = out.len() + len;
            out.extend_from_slice(&whole);
            out.truncate(to);
        }
        _ => out.extend(values[start..end].iter().rev()),
    }
}

/// Adds a value `times` times.
#[inline]
pub fn push_times<N: Copy>(out: &mut Vec<N>, value: N, times: usize) {
    const BLOCK: usize = 8;
    let to = out.len() + times;
    if times <= BLOCK {
        out.extend_from_slice(&[value; BLOCK]);
        out.truncate(to);
    } else {
        out.resize(to, value);
    }
}

/// Rows `start .. end` of part `part`.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The index of the part.
    pub part: usize,
    /// The first row.
    pub start: usize,
    /// The end.
    pub end: usize,
}

struct Runs<'a>(&'a [Run]);

impl Native for Runs<'_> {
    fn run<N: Copy>(&self, values: &[&[N]]) -> Vec<N> {
        if self.0.iter().all(|run| run.end - run.start == 1) {
            return self.0.iter().map(|run| values[run.part][run.start]).collect();
        }
        let mut out = with_room(total(self.0));
        self.0.iter().for_each(|run| push_row(&mut out, values[run.part], run.start, run.end));
        out
    }
}

/// Whether `taken` of `nrows` rows are sliced rather than copied: a slice keeps all rows in memory.
pub(super) fn is_worth_a_slice(taken: usize, nrows: usize) -> bool {
    taken.saturating_mul(8) >= nrows
}

/// The rows of all runs, in order. The parts have the same type. O(values taken); lists are taken by their ends.
///
/// # Errors
/// Rows are repeated, and the result would have more than 2^28 values or 4 GiB of strings. Parts of different kinds, which is a bug.
pub fn take_runs(parts: &[&Tensor], runs: &[Run]) -> Result<Tensor> {
    if let ([part], [run]) = (parts, runs)
        && is_worth_a_slice(run.end - run.start, part.nrows())
    {
        return Ok(part.slice(run.start, run.end - run.start));
    }
    let Some(first) = parts.first() else {
        return Err(Error::internal("runs of nothing"));
    };
    match first {
        Tensor::Leaf(_) => {
            let arrays = parts.iter().map(|p| p.as_leaf()).collect::<Result<Vec<_>>>()?;
            leaf_runs(&arrays, runs).map(Tensor::Leaf)
        }
        Tensor::List(_) => {
            let lists = parts.iter().map(|p| p.as_list()).collect::<Result<Vec<_>>>()?;
            let partitions: Vec<&RowPartition> = lists.iter().map(|l| l.partition()).collect();
            let nrows: usize = total(runs);
            let uniform = partitions[0].uniform_row_length();
            let out = match uniform.filter(|n| partitions.iter().all(|p| p.uniform_row_length() == Some(*n))) {
                Some(n) => RowPartition::uniform(n, nrows)?,
                None => RowPartition::from_row_lengths(
                    runs.iter().flat_map(|r| (r.start..r.end).map(|row| partitions[r.part].row_length(row) as i64)),
                )?,
            };
            let below: Vec<Run> = runs
                .iter()
                .map(|r| Run { part: r.part, start: partitions[r.part].start(r.start), end: partitions[r.part].start(r.end) })
                .collect();
            check_repeated(total(&below), lists.iter().map(|l| l.values().nrows()).sum())?;
            let values = take_runs(&lists.iter().map(|l| l.values()).collect::<Vec<_>>(), &below)?;
            let rows = runs.iter().flat_map(|r| (r.start..r.end).map(|row| (lists[r.part], row)));
            Tensor::list(out.with_sizes_of(&values, &lists, rows), values, validity_of(parts, runs))
        }
        Tensor::Struct(s) => {
            let structs = parts.iter().map(|p| p.as_struct()).collect::<Result<Vec<&Struct>>>()?;
            let fields = (0..s.fields().len())
                .map(|i| take_runs(&structs.iter().filter_map(|s| s.fields().get(i)).collect::<Vec<_>>(), runs))
                .collect::<Result<_>>()?;
            Tensor::structure(total(runs), fields, validity_of(parts, runs))
        }
        Tensor::Sparse(_) => sparse_runs(parts, runs),
    }
}

/// The number of rows in these runs.
fn total(runs: &[Run]) -> usize {
    runs.iter().map(|run| run.end - run.start).sum()
}

/// Which of the rows are null.
fn validity_of(parts: &[&Tensor], runs: &[Run]) -> Option<NullBuffer> {
    let validities: Vec<Option<NullBuffer>> = parts.iter().map(|p| p.validity()).collect();
    runs_of_validity(&validities.iter().map(Option::as_ref).collect::<Vec<_>>(), runs)
}

fn runs_of_validity(validities: &[Option<&NullBuffer>], runs: &[Run]) -> Option<NullBuffer> {
    if validities.iter().all(Option::is_none) {
        return None;
    }
    let mut bits = BooleanBufferBuilder::new(total(runs));
    for run in runs {
        match validities[run.part] {
            Some(validity) if run.end - run.start > 8 => {
                bits.append_buffer(&validity.inner().slice(run.start, run.end - run.start));
            }
            Some(validity) => (run.start..run.end).for_each(|row| bits.append(validity.is_valid(row))),
            None => bits.append_n(run.end - run.start, true),
        }
    }
    super::shared::drop_if_full(Some(NullBuffer::new(bits.finish())))
}

/// Takes the rows of each part at once, then puts them in order.
fn sparse_runs(parts: &[&Tensor], runs: &[Run]) -> Result<Tensor> {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
    runs.iter().for_each(|run| rows[run.part].extend(run.start..run.end));
    if let [part] = parts {
        return part.gather(&rows[0]);
    }
    let mut next: Vec<usize> = rows.iter().scan(0, |end, rows| Some(std::mem::replace(end, *end + rows.len()))).collect();
    let mut order = Vec::with_capacity(rows.iter().map(Vec::len).sum());
    for run in runs {
        let start = next[run.part];
        next[run.part] += run.end - run.start;
        order.extend(start..next[run.part]);
    }
    let taken = parts.iter().zip(&rows).map(|(part, rows)| part.gather(rows)).collect::<Result<Vec<_>>>()?;
    Tensor::concat(&taken.iter().collect::<Vec<_>>())?.gather(&order)
}

/// The values of all runs, in order. O(values taken).
///
/// # Errors
/// See [`take_runs`].
pub fn leaf_runs(arrays: &[&ArrayRef], runs: &[Run]) -> Result<ArrayRef> {
    let validity = || runs_of_validity(&arrays.iter().map(|array| array.nulls()).collect::<Vec<_>>(), runs);
    if let Some(out) = native_with_nulls(arrays, &Runs(runs), validity) {
        return Ok(out);
    }
    let text = match arrays.first().map(|array| array.data_type()) {
        Some(DataType::LargeUtf8) => text_runs::<LargeUtf8Type>(arrays, runs)?,
        Some(DataType::LargeBinary) => text_runs::<LargeBinaryType>(arrays, runs)?,
        _ => None,
    };
    text.map_or_else(|| any_runs(arrays, runs), Ok)
}

/// Strings or bytes of several arrays; `None` for other types.
fn text_runs<T>(arrays: &[&ArrayRef], runs: &[Run]) -> Result<Option<ArrayRef>>
where
    T: ByteArrayType<Offset = i64>,
{
    let Some(texts) = arrays.iter().map(|array| array.as_bytes_opt::<T>()).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let parts: Vec<(&[i64], &[u8])> = texts.iter().map(|text| (text.value_offsets(), text.value_data())).collect();
    let nbytes = runs.iter().map(|run| (parts[run.part].0[run.end] - parts[run.part].0[run.start]) as usize).sum();
    check_repeated_nbytes(nbytes, parts.iter().map(|(_, values)| values.len()).sum())?;
    let mut offsets = Vec::with_capacity(total(runs) + 1);
    offsets.push(0i64);
    let mut bytes = with_room(nbytes);
    for run in runs {
        let (splits, values) = parts[run.part];
        let splits = &splits[run.start..=run.end];
        let (first, shift) = (splits[0], bytes.len() as i64 - splits[0]);
        push_row(&mut bytes, values, first as usize, splits[splits.len() - 1] as usize);
        offsets.extend(splits[1..].iter().map(|end| end + shift));
    }
    let validities: Vec<Option<&NullBuffer>> = texts.iter().map(|text| text.nulls()).collect();
    let nulls = runs_of_validity(&validities, runs);
    let text = GenericByteArray::<T>::try_new(OffsetBuffer::new(offsets.into()), Buffer::from_vec(bytes), nulls);
    Ok(text.ok().map(|text| Arc::new(text) as ArrayRef))
}

/// [`leaf_runs`] of arrays of any type.
fn any_runs(arrays: &[&ArrayRef], runs: &[Run]) -> Result<ArrayRef> {
    let Some(first) = arrays.first() else { return Err(Error::internal("runs of nothing")) };
    if let Some(other) = arrays.iter().find(|array| array.data_type() != first.data_type()) {
        return Err(Error::internal(format!("values of {} among values of {}", other.data_type(), first.data_type())));
    }
    let data: Vec<_> = arrays.iter().map(|a| a.to_data()).collect();
    let mut out = MutableArrayData::new(data.iter().collect(), false, total(runs));
    for run in runs {
        out.try_extend(run.part, run.start, run.end).map_err(|e| Error::data(e.to_string()))?;
    }
    Ok(make_array(out.freeze()))
}

struct InTurn<'a>(Vec<&'a [i64]>);

impl Native for InTurn<'_> {
    fn run<N: Copy>(&self, values: &[&[N]]) -> Vec<N> {
        let mut out = with_room(values.iter().map(|v| v.len()).sum());
        for row in 0..self.0.first().map_or(0, |splits| splits.len() - 1) {
            for (splits, values) in self.0.iter().zip(values) {
                push_row(&mut out, values, splits[row] as usize, splits[row + 1] as usize);
            }
        }
        out
    }
}

/// The values of row 0 of each list, then those of row 1, and so on: `[sum of values]`. All lists have the same number of
/// rows. O(values).
///
/// # Errors
/// See [`take_runs`].
pub fn rows_in_turn(lists: &[&List]) -> Result<Tensor> {
    let values: Vec<&Tensor> = lists.iter().map(|l| l.values()).collect();
    if let Ok(arrays) = values.iter().map(|v| v.as_leaf()).collect::<Result<Vec<_>>>() {
        let splits: Vec<_> = lists.iter().map(|l| l.partition().row_splits()).collect();
        if let Some(out) = native(&arrays, &InTurn(splits.iter().map(|s| s.as_ref()).collect())) {
            return Ok(Tensor::Leaf(out));
        }
    }
    let nrows = lists.first().map_or(0, |l| l.partition().nrows());
    let mut runs = Vec::with_capacity(nrows * lists.len());
    for row in 0..nrows {
        for (part, list) in lists.iter().enumerate() {
            let range = list.partition().range(row);
            if !range.is_empty() {
                runs.push(Run { part, start: range.start, end: range.end });
            }
        }
    }
    take_runs(&values, &runs)
}

struct Chosen<'a>(&'a BooleanBuffer);

impl Native for Chosen<'_> {
    fn run<N: Copy>(&self, values: &[&[N]]) -> Vec<N> {
        let mut out = Vec::with_capacity(self.0.count_set_bits());
        let words = self.0.bit_chunks();
        for (block, mut word) in values[0].chunks(64).zip(words.iter_padded()) {
            while word != 0 {
                // Bits beyond the values are 0.
                out.push(block[word.trailing_zeros() as usize]);
                word &= word - 1;
            }
        }
        out
    }
}

/// The rows whose bit is set, in order. There is one bit per row. Source: `tf.boolean_mask`. O(rows + values taken).
///
/// # Errors
/// Only if memory runs out.
pub fn take_chosen(rows: &Tensor, chosen: &BooleanBuffer) -> Result<Tensor> {
    if let Tensor::Leaf(array) = rows
        && let Some(out) = native(&[array], &Chosen(chosen))
    {
        return Ok(Tensor::Leaf(out));
    }
    rows.gather(&chosen.set_indices().collect::<Vec<_>>())
}

/// Gathers values by index.
pub(super) struct Gathered<'a>(pub &'a [usize]);

impl Native for Gathered<'_> {
    fn run<N: Copy>(&self, values: &[&[N]]) -> Vec<N> {
        let values = values[0];
        self.0.iter().map(|row| values[*row]).collect()
    }
}

struct RowsOf<'a> {
    splits: &'a [i64],
    rows: &'a [usize],
    /// The number of values in the rows.
    count: usize,
}

impl Native for RowsOf<'_> {
    fn run<N: Copy>(&self, values: &[&[N]]) -> Vec<N> {
        let range = |row: &usize| (self.splits[*row] as usize, self.splits[*row + 1] as usize);
        let mut out = with_room(self.count);
        self.rows.iter().map(range).for_each(|(start, end)| push_row(&mut out, values[0], start, end));
        out
    }
}

impl List {
    /// The values of the rows with these indices, row by row. O(values taken).
    ///
    /// # Errors
    /// See [`take_runs`].
    pub(super) fn values_of(&self, rows: &[usize]) -> Result<Tensor> {
        let count = rows.iter().map(|row| self.partition.row_length(*row)).fold(0, usize::saturating_add);
        check_repeated(count, self.values().nrows())?;
        if let Tensor::Leaf(array) = self.values()
            && let Some(out) = native(&[array], &RowsOf { splits: &self.partition.row_splits(), rows, count })
        {
            return Ok(Tensor::Leaf(out));
        }
        let mut runs: Vec<Run> = Vec::with_capacity(rows.len());
        for row in rows {
            let range = self.partition.range(*row);
            match runs.last_mut() {
                _ if range.is_empty() => {}
                Some(last) if last.end == range.start => last.end = range.end,
                _ => runs.push(Run { part: 0, start: range.start, end: range.end }),
            }
        }
        take_runs(&[&self.values], &runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{LargeStringArray, StringArray, UInt16Array};

    #[test]
    fn rows_of_every_length_are_copied_reversed_and_repeated() {
        let values: Vec<u16> = (0..100).collect();
        for (start, end) in (0..=100).flat_map(|s| (s..=100).map(move |e| (s, e))) {
            let mut out = vec![7];
            push_row(&mut out, &values, start, end);
            push_reversed(&mut out, &values, start, end);
            push_times(&mut out, 9, end - start);
            let row = &values[start..end];
            let expected = [7].iter().chain(row).chain(row.iter().rev()).copied().chain(row.iter().map(|_| 9));
            assert!(expected.eq(out.iter().copied()), "{start}..{end}");
        }
    }

    #[test]
    fn runs_of_strings_keep_their_values_and_nulls() {
        let long = "x".repeat(200);
        let a = LargeStringArray::from(vec![Some("a"), None, Some(""), Some("bé"), Some(&long)]).slice(1, 4);
        let b = LargeStringArray::from(vec![Some("c"), Some("dd")]);
        let parts = [Tensor::Leaf(Arc::new(a)), Tensor::Leaf(Arc::new(b))];
        let runs = [(1, 1, 2), (0, 2, 4), (0, 0, 1), (1, 0, 2), (0, 1, 1), (0, 1, 4)].map(|(part, start, end)| Run { part, start, end });
        let taken = take_runs(&parts.iter().collect::<Vec<_>>(), &runs).unwrap();
        let expected = [Some("dd"), Some("bé"), Some(&long), None, Some("c"), Some("dd"), Some(""), Some("bé"), Some(&long)];
        assert_eq!(taken.as_leaf().unwrap().as_string::<i64>(), &LargeStringArray::from(expected.to_vec()));
    }

    #[test]
    fn chosen_rows_are_those_whose_bit_is_set() {
        let all = BooleanBuffer::collect_bool(300, |i| i % 3 == 0 || i % 7 == 5);
        for (start, len) in [(0, 0), (0, 1), (0, 63), (0, 64), (1, 64), (5, 65), (13, 200), (0, 300), (63, 129)] {
            let bits = all.slice(start, len);
            let values: ArrayRef = Arc::new(UInt16Array::from_iter_values(0..len as u16));
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..len).map(|i| i.to_string())));
            let expected: Vec<usize> = (0..len).filter(|i| bits.value(*i)).collect();
            for array in [values, texts] {
                let found = take_chosen(&Tensor::Leaf(array.clone()), &bits).unwrap();
                let expected = Tensor::Leaf(array).gather(&expected).unwrap();
                assert_eq!(found.as_leaf().unwrap(), expected.as_leaf().unwrap(), "{start} {len}");
            }
        }
    }
}
