//! The rows of a row group, held column by column until the group is complete.
//!
//! A group of rows with thousands of fields would be small if each null took the memory of a value. Of values that are mostly
//! null, only the others are held, with their row numbers.

use super::{Chunk, Origin, even_shares};
use crate::error::{Error, Result};
use crate::tensor::{Tensor, empty_nbytes};
use arrow_array::cast::AsArray;
use arrow_array::types::ByteArrayType;
use arrow_array::{Array, ArrayRef, GenericByteArray, LargeBinaryArray, LargeStringArray, downcast_primitive_array, make_array};
use arrow_buffer::bit_util::set_bit;
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Rows of the stream, or some of their columns.
#[derive(Default)]
pub struct RowGroup {
    /// Number of rows of each chunk, and their origin.
    origins: Vec<(usize, Origin)>,
    columns: Vec<GroupColumn>,
    /// Small chunks at the end, which may be joined with the next.
    small: VecDeque<Chunk>,
}

impl RowGroup {
    /// The size of rows in a group, in bytes: that of the values that are not null. Like [`Chunk::nbytes`], it is a sum over
    /// the rows, which does not depend on chunks.
    pub fn nbytes(chunk: &Chunk) -> usize {
        chunk.columns.iter().map(|column| column.nbytes() - null_nbytes(column)).sum()
    }

    /// Adds rows.
    ///
    /// # Errors
    /// See [`Tensor::concat`].
    pub fn push(&mut self, chunk: Chunk) -> Result<()> {
        chunk.hold(&mut self.small)?;
        if self.small.back().is_some_and(|last| !last.is_small()) {
            self.settle();
        }
        Ok(())
    }

    /// Adds the small chunks to the columns.
    fn settle(&mut self) {
        for chunk in std::mem::take(&mut self.small) {
            self.columns.resize_with(chunk.columns.len(), GroupColumn::default);
            self.origins.push((chunk.nrows, chunk.origin));
            self.columns.iter_mut().zip(chunk.columns).for_each(|(own, column)| own.push(column));
        }
    }

    /// The group divided into at most `shares` groups of consecutive columns, of about the same size, each with the number
    /// of its first column.
    pub fn split_columns(mut self, shares: usize) -> Vec<(usize, RowGroup)> {
        self.settle();
        let sizes: Vec<u64> = self.columns.iter().map(|column| column.nbytes as u64).collect();
        let mut columns = self.columns.into_iter();
        let split = even_shares(&sizes, shares).into_iter().map(|range| {
            let columns = columns.by_ref().take(range.len()).collect();
            (range.start, RowGroup { origins: self.origins.clone(), columns, small: VecDeque::new() })
        });
        split.collect()
    }

    /// Approximate memory of the rows held, in bytes.
    pub fn held_nbytes(&self) -> usize {
        let small = self.small.iter().map(Chunk::nbytes).sum::<usize>();
        small + self.columns.iter().map(GroupColumn::held_nbytes).sum::<usize>()
    }

    /// The number of rows of each chunk with their origin, and the columns.
    pub fn into_parts(mut self) -> (Vec<(usize, Origin)>, Vec<GroupColumn>) {
        self.settle();
        (self.origins, self.columns)
    }
}

/// The rows of a column.
#[derive(Default)]
pub struct GroupColumn {
    parts: VecDeque<Part>,
    nrows: usize,
    /// Memory that the rows would take as a tensor.
    nbytes: usize,
    /// How many rows of the first part have been taken.
    taken: usize,
}

enum Part {
    Whole(Tensor),
    MostlyNull(MostlyNull),
}

impl GroupColumn {
    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Memory that the rows take as a tensor, in bytes.
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    fn held_nbytes(&self) -> usize {
        let held = |part: &Part| match part {
            Part::Whole(tensor) => tensor.nbytes(),
            Part::MostlyNull(leaf) => leaf.nbytes(),
        };
        self.parts.iter().map(held).sum()
    }

    fn push(&mut self, column: Tensor) {
        self.nrows += column.nrows();
        self.nbytes += column.nbytes();
        if let Tensor::Leaf(array) = &column
            && let Some(nulls) = array.nulls().filter(|nulls| 2 * nulls.null_count() >= nulls.len())
        {
            if let Some(Part::MostlyNull(last)) = self.parts.back_mut()
                && last.push(array, nulls)
            {
                return;
            }
            if let Some(mut leaf) = MostlyNull::new(array.data_type())
                && leaf.push(array, nulls)
            {
                return self.parts.push_back(Part::MostlyNull(leaf));
            }
        }
        self.parts.push_back(Part::Whole(column));
    }

    /// Takes the next rows, at most `most`; `None` at the end.
    ///
    /// # Errors
    /// See [`Tensor::concat`].
    pub fn next_rows(&mut self, most: usize) -> Result<Option<Tensor>> {
        let (mut parts, mut nrows) = (Vec::new(), 0);
        while nrows < most
            && let Some(part) = self.parts.front()
        {
            let part_nrows = match part {
                Part::Whole(tensor) => tensor.nrows(),
                Part::MostlyNull(leaf) => leaf.nrows,
            };
            let range = self.taken..part_nrows.min(self.taken + most - nrows);
            nrows += range.len();
            self.taken = range.end;
            parts.push(match part {
                Part::Whole(tensor) => tensor.slice(range.start, range.len()),
                Part::MostlyNull(leaf) => Tensor::Leaf(leaf.rows(range)?),
            });
            if self.taken == part_nrows {
                self.parts.pop_front();
                self.taken = 0;
            }
        }
        if parts.is_empty() { Ok(None) } else { Tensor::concat(&parts.iter().collect::<Vec<_>>()).map(Some) }
    }
}

/// The part of [`Tensor::nbytes`] that null rows take, and that a group does not hold.
fn null_nbytes(column: &Tensor) -> usize {
    let Tensor::Leaf(array) = column else { return 0 };
    array.nulls().map_or(0, |nulls| nulls.null_count()) * empty_nbytes(array.data_type())
}

/// The values of a leaf that is mostly null.
struct MostlyNull {
    ty: DataType,
    nrows: usize,
    /// The row of each value.
    at: Vec<u32>,
    /// The bytes of the values.
    bytes: Vec<u8>,
    sizes: Sizes,
}

/// The sizes of values in bytes.
enum Sizes {
    Fixed(usize),
    /// The end of each string in the bytes.
    Ends(Vec<usize>),
}

impl MostlyNull {
    /// `None` for other types than numbers, times and strings.
    fn new(ty: &DataType) -> Option<MostlyNull> {
        let sizes = match ty {
            DataType::LargeUtf8 | DataType::LargeBinary => Sizes::Ends(Vec::new()),
            ty => Sizes::Fixed(ty.primitive_width()?),
        };
        Some(MostlyNull { ty: ty.clone(), nrows: 0, at: Vec::new(), bytes: Vec::new(), sizes })
    }

    fn nbytes(&self) -> usize {
        let ends = if let Sizes::Ends(ends) = &self.sizes { size_of_val(ends.as_slice()) } else { 0 };
        self.bytes.len() + size_of_val(self.at.as_slice()) + ends
    }

    /// Adds rows; `false` if it cannot hold them.
    fn push(&mut self, array: &ArrayRef, nulls: &NullBuffer) -> bool {
        let Ok(first) = u32::try_from(self.nrows) else { return false };
        if u32::try_from(self.nrows + array.len()).is_err() || *array.data_type() != self.ty {
            return false;
        }
        self.at.extend(nulls.valid_indices().map(|row| first + row as u32));
        self.nrows += array.len();
        let (array, rows) = (array.as_ref(), nulls.valid_indices());
        match (&mut self.sizes, array.data_type()) {
            (Sizes::Ends(ends), DataType::LargeUtf8) => push_strings(array.as_string::<i64>(), rows, ends, &mut self.bytes),
            (Sizes::Ends(ends), _) => push_strings(array.as_binary::<i64>(), rows, ends, &mut self.bytes),
            (Sizes::Fixed(width), _) => downcast_primitive_array!(
                array => push_numbers(array.values().inner().as_slice(), *width, rows, &mut self.bytes),
                _ => {}
            ),
        }
        true
    }

    /// These rows as an array.
    fn rows(&self, range: Range<usize>) -> Result<ArrayRef> {
        let first = self.at.partition_point(|row| (*row as usize) < range.start);
        let end = first + self.at[first..].partition_point(|row| (*row as usize) < range.end);
        let rows = || self.at[first..end].iter().map(|row| *row as usize - range.start);
        let nrows = range.len();
        let mut valid = MutableBuffer::from_len_zeroed(nrows.div_ceil(8));
        rows().for_each(|row| set_bit(&mut valid, row));
        let nulls = Some(NullBuffer::new(BooleanBuffer::new(valid.into(), 0, nrows)));
        match &self.sizes {
            Sizes::Fixed(width) => {
                let mut values = MutableBuffer::from_len_zeroed(nrows * width);
                for (row, value) in rows().zip(self.bytes[first * width..].chunks_exact(*width)) {
                    values[row * width..(row + 1) * width].copy_from_slice(value);
                }
                let data = ArrayData::builder(self.ty.clone()).len(nrows).add_buffer(values.into()).nulls(nulls);
                Ok(make_array(data.build().map_err(|e| Error::internal(e.to_string()))?))
            }
            Sizes::Ends(ends) => {
                let start = first.checked_sub(1).map_or(0, |before| ends[before]);
                let mut offsets: Vec<i64> = Vec::with_capacity(nrows + 1);
                let mut last = 0;
                for (row, end) in rows().zip(&ends[first..end]) {
                    offsets.resize(row + 1, last);
                    last = (end - start) as i64;
                }
                offsets.resize(nrows + 1, last);
                let bytes = Buffer::from(&self.bytes[start..start + last as usize]);
                let offsets = OffsetBuffer::new(offsets.into());
                let array: Result<ArrayRef, _> = match self.ty {
                    DataType::LargeUtf8 => LargeStringArray::try_new(offsets, bytes, nulls).map(|array| Arc::new(array) as _),
                    _ => LargeBinaryArray::try_new(offsets, bytes, nulls).map(|array| Arc::new(array) as _),
                };
                array.map_err(|e| Error::internal(e.to_string()))
            }
        }
    }
}

fn push_numbers(values: &[u8], width: usize, rows: impl Iterator<Item = usize>, out: &mut Vec<u8>) {
    rows.for_each(|row| out.extend_from_slice(&values[row * width..(row + 1) * width]));
}

fn push_strings<T: ByteArrayType>(
    array: &GenericByteArray<T>,
    rows: impl Iterator<Item = usize>,
    ends: &mut Vec<usize>,
    out: &mut Vec<u8>,
) {
    for row in rows {
        out.extend_from_slice(array.value(row).as_ref());
        ends.push(out.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float32Array, Int64Array};
    use proptest::prelude::*;

    /// Columns of numbers, short numbers, strings and bytes with these values.
    fn columns(values: &[Option<u8>]) -> Vec<Tensor> {
        let text = |value: &Option<u8>| value.map(|v| "é".repeat(usize::from(v % 3)));
        let arrays: [ArrayRef; 4] = [
            Arc::new(Int64Array::from_iter(values.iter().map(|v| v.map(|v| i64::from(v) << 40)))),
            Arc::new(Float32Array::from_iter(values.iter().map(|v| v.map(f32::from)))),
            Arc::new(LargeStringArray::from_iter(values.iter().map(text))),
            Arc::new(LargeBinaryArray::from_iter(values.iter().map(|v| v.map(|v| vec![v; 2])))),
        ];
        arrays.into_iter().map(Tensor::Leaf).collect()
    }

    proptest! {
        #[test]
        fn rows_come_out_as_they_went_in(
            chunks in prop::collection::vec((0u8..=10, prop::collection::vec(any::<u8>(), 1..40)), 1..12),
            window in 1usize..30,
        ) {
            // The first number of a chunk is its share of nulls.
            let chunks: Vec<Vec<Option<u8>>> =
                chunks.into_iter().map(|(nulls, values)| values.into_iter().map(|v| (v % 10 >= nulls).then_some(v)).collect()).collect();
            let mut held: [GroupColumn; 4] = Default::default();
            for values in &chunks {
                held.iter_mut().zip(columns(values)).for_each(|(column, tensor)| column.push(tensor));
            }
            for (mut column, expected) in held.into_iter().zip(columns(&chunks.concat())) {
                prop_assert_eq!((column.nrows(), column.nbytes()), (expected.nrows(), expected.nbytes()));
                let mut seen = 0;
                while let Some(rows) = column.next_rows(window).unwrap() {
                    let expected = expected.slice(seen, rows.nrows());
                    prop_assert_eq!(rows.as_leaf().unwrap().to_data(), expected.as_leaf().unwrap().to_data());
                    seen += rows.nrows();
                }
                prop_assert_eq!(seen, expected.nrows());
            }
        }
    }

    #[test]
    fn nulls_take_no_memory() {
        let mut column = GroupColumn::default();
        for _ in 0..100 {
            column.push(columns(&[None; 1000]).remove(0));
        }
        assert_eq!((column.nrows(), column.held_nbytes(), column.parts.len()), (100_000, 0, 1));
    }
}
