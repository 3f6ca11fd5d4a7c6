//! The rows of a row group, held column by column until the group is complete.
//!
//! If each null took as much memory as a value, a group with thousands of fields would hold few rows. Of columns that are mostly
//! null, only the other values are held, with their row numbers.

use super::{Chunk, Origin, even_shares};
use crate::error::{Error, Result};
use crate::tensor::{List, RowPartition, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::types::ByteArrayType;
use arrow_array::{Array, ArrayRef, GenericByteArray, LargeBinaryArray, LargeStringArray, downcast_primitive_array, make_array};
use arrow_buffer::bit_util::set_bit;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Leaves with so few rows are held as values too: an array takes more memory than they.
const SMALL: usize = 64;

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
        chunk.columns.iter().map(|column| column.nbytes() - column.null_nbytes()).sum()
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

/// The rows of a column, which are taken from the start.
#[derive(Default)]
pub struct GroupColumn {
    rows: ColumnRows,
    nrows: usize,
    /// Memory that the rows would take as a tensor.
    nbytes: usize,
}

enum ColumnRows {
    Parts(VecDeque<Part>),
    /// Of structures, each field is a column.
    Fields(Vec<GroupColumn>, VecDeque<Validity>),
}

/// The validity of structures, and how many of them have been taken.
struct Validity {
    nulls: Option<NullBuffer>,
    nrows: usize,
    taken: usize,
}

enum Part {
    /// With the number of rows that have been taken.
    Whole(Tensor, usize),
    Leaf(HeldLeaf),
    List(HeldLists),
}

impl Default for ColumnRows {
    fn default() -> ColumnRows {
        ColumnRows::Parts(VecDeque::new())
    }
}

impl GroupColumn {
    /// Memory that a row takes on average as a tensor, in bytes; at least 1.
    pub fn row_nbytes(&self) -> usize {
        (self.nbytes / self.nrows.max(1)).max(1)
    }

    fn held_nbytes(&self) -> usize {
        let held = |part: &Part| match part {
            Part::Whole(tensor, _) => tensor.nbytes(),
            Part::Leaf(leaf) => leaf.nbytes(),
            Part::List(lists) => lists.nbytes(),
        };
        match &self.rows {
            ColumnRows::Parts(parts) => parts.iter().map(held).sum(),
            ColumnRows::Fields(fields, _) => fields.iter().map(GroupColumn::held_nbytes).sum(),
        }
    }

    fn push(&mut self, column: Tensor) {
        let nrows = column.nrows();
        self.nbytes += column.nbytes();
        if let (Tensor::Struct(s), 0) = (&column, self.nrows) {
            let fields = s.fields().iter().map(|_| GroupColumn::default()).collect();
            self.rows = ColumnRows::Fields(fields, VecDeque::new());
        }
        self.nrows += nrows;
        match (&mut self.rows, column) {
            (ColumnRows::Fields(fields, validity), Tensor::Struct(s)) => {
                validity.push_back(Validity { nulls: s.validity().cloned(), nrows, taken: 0 });
                fields.iter_mut().zip(s.into_fields()).for_each(|(own, field)| own.push(field));
            }
            (ColumnRows::Parts(parts), column) => push_part(parts, column),
            // A column has one kind of tensor.
            (ColumnRows::Fields(..), _) => {}
        }
    }

    /// Takes the next rows, at most `most`; `None` at the end.
    ///
    /// # Errors
    /// See [`Tensor::concat`].
    pub fn next_rows(&mut self, most: usize) -> Result<Option<Tensor>> {
        let parts = match &mut self.rows {
            ColumnRows::Parts(parts) => parts,
            ColumnRows::Fields(fields, validity) => {
                let (nulls, nrows) = next_validity(validity, most);
                if nrows == 0 {
                    return Ok(None);
                }
                let missing = || Error::internal("a field of structures has fewer rows");
                let fields = fields.iter_mut().map(|field| field.next_rows(nrows)?.ok_or_else(missing)).collect::<Result<_>>()?;
                return Tensor::structure(nrows, fields, nulls).map(Some);
            }
        };
        let (mut taken, mut nrows) = (Vec::new(), 0);
        while nrows < most
            && let Some(part) = parts.front_mut()
        {
            let (rows, is_over) = match part {
                Part::Whole(tensor, at) => {
                    let rows = tensor.slice(*at, (tensor.nrows() - *at).min(most - nrows));
                    *at += rows.nrows();
                    (rows, *at == tensor.nrows())
                }
                Part::Leaf(leaf) => (Tensor::Leaf(leaf.next_rows(most - nrows)?), leaf.at.is_over()),
                Part::List(lists) => (lists.next_rows(most - nrows)?, lists.at.is_over()),
            };
            nrows += rows.nrows();
            taken.push(rows);
            if is_over {
                parts.pop_front();
            }
        }
        if taken.is_empty() { Ok(None) } else { Tensor::concat(&taken.iter().collect::<Vec<_>>()).map(Some) }
    }
}

/// Adds rows that are not structures.
fn push_part(parts: &mut VecDeque<Part>, column: Tensor) {
    let is_mostly_null = |nulls: &NullBuffer| 2 * nulls.null_count() >= nulls.len();
    let is_held = match &column {
        Tensor::Leaf(array) => array.len() <= SMALL || array.nulls().is_some_and(is_mostly_null),
        Tensor::List(list) => list.validity().is_some_and(is_mostly_null),
        Tensor::Struct(_) | Tensor::Sparse(_) => false,
    };
    if is_held {
        if parts.back_mut().is_some_and(|last| last.push(&column)) {
            return;
        }
        if let Some(mut part) = Part::held(&column)
            && part.push(&column)
        {
            return parts.push_back(part);
        }
    }
    parts.push_back(Part::Whole(column, 0));
}

impl Part {
    /// A part for the values of such rows; `None` for types of which only arrays are held.
    fn held(column: &Tensor) -> Option<Part> {
        match column {
            Tensor::Leaf(array) => HeldLeaf::new(array.data_type()).map(Part::Leaf),
            Tensor::List(list) => HeldLists::new(list).map(Part::List),
            Tensor::Struct(_) | Tensor::Sparse(_) => None,
        }
    }

    /// Adds the values of rows; `false` if it cannot hold them.
    fn push(&mut self, column: &Tensor) -> bool {
        match (self, column) {
            (Part::Leaf(leaf), Tensor::Leaf(array)) => leaf.push(array),
            (Part::List(lists), Tensor::List(list)) => lists.push(list),
            _ => false,
        }
    }
}

/// The validity of the next rows, at most `most`, and their number.
fn next_validity(parts: &mut VecDeque<Validity>, most: usize) -> (Option<NullBuffer>, usize) {
    let (mut valid, mut nrows) = (BooleanBufferBuilder::new(0), 0);
    while nrows < most
        && let Some(part) = parts.front_mut()
    {
        let n = (part.nrows - part.taken).min(most - nrows);
        match &part.nulls {
            Some(nulls) => valid.append_buffer(&nulls.inner().slice(part.taken, n)),
            None => valid.append_n(n, true),
        }
        nrows += n;
        part.taken += n;
        if part.taken == part.nrows {
            parts.pop_front();
        }
    }
    let nulls = NullBuffer::new(valid.finish());
    ((nulls.null_count() > 0).then_some(nulls), nrows)
}

/// The rows that are not null among all rows, and how many have been taken.
#[derive(Default)]
struct Places {
    nrows: usize,
    /// In order.
    rows: Vec<u32>,
    taken_rows: usize,
    taken: usize,
}

impl Places {
    /// Adds rows, and returns those among them that are not null; `None` if there would be too many.
    fn push(&mut self, nrows: usize, nulls: Option<&NullBuffer>) -> Option<impl Iterator<Item = usize> + '_> {
        let first = u32::try_from(self.nrows).ok()?;
        let end = u32::try_from(self.nrows + nrows).ok()?;
        let before = self.rows.len();
        match nulls {
            Some(nulls) => self.rows.extend(nulls.valid_indices().map(|row| first + row as u32)),
            None => self.rows.extend(first..end),
        }
        self.nrows += nrows;
        Some(self.rows[before..].iter().map(move |row| (*row - first) as usize))
    }

    fn nbytes(&self) -> usize {
        size_of_val(self.rows.as_slice())
    }

    fn is_over(&self) -> bool {
        self.taken_rows == self.nrows
    }

    /// Takes the next rows, at most `most`: their number, the places among them that are not null, and the numbers of these
    /// among all that are not null.
    fn next(&mut self, most: usize) -> (usize, Vec<usize>, Range<usize>) {
        let (start, end) = (self.taken_rows, self.nrows.min(self.taken_rows + most));
        let rest = &self.rows[self.taken..];
        let here = &rest[..rest.partition_point(|row| (*row as usize) < end)];
        let places = here.iter().map(|row| *row as usize - start).collect();
        let numbers = self.taken..self.taken + here.len();
        (self.taken_rows, self.taken) = (end, numbers.end);
        (end - start, places, numbers)
    }
}

/// The validity of rows that are null except at these places; `None` if none is null.
fn validity(nrows: usize, places: &[usize]) -> Option<NullBuffer> {
    if places.len() == nrows {
        return None;
    }
    let mut valid = MutableBuffer::from_len_zeroed(nrows.div_ceil(8));
    places.iter().for_each(|row| set_bit(&mut valid, *row));
    Some(NullBuffer::new(BooleanBuffer::new(valid.into(), 0, nrows)))
}

/// The items of lists, without null lists.
struct HeldLists {
    at: Places,
    lengths: Vec<usize>,
    values: GroupColumn,
    /// No values, of the same kind.
    none: Tensor,
}

impl HeldLists {
    fn new(list: &List) -> Option<HeldLists> {
        let none = list.values().gather(&[]).ok()?;
        Some(HeldLists { at: Places::default(), lengths: Vec::new(), values: GroupColumn::default(), none })
    }

    fn nbytes(&self) -> usize {
        self.at.nbytes() + size_of_val(self.lengths.as_slice()) + self.values.held_nbytes()
    }

    /// Adds rows; `false` if it cannot hold them.
    fn push(&mut self, list: &List) -> bool {
        let (partition, nulls) = (list.partition(), list.validity());
        let in_nulls = |nulls: &NullBuffer| (0..nulls.len()).any(|row| nulls.is_null(row) && partition.row_length(row) > 0);
        // Null rows of a known size have values.
        if nulls.is_some_and(in_nulls) {
            return false;
        }
        let Some(rows) = self.at.push(partition.nrows(), nulls) else { return false };
        self.lengths.extend(rows.map(|row| partition.row_length(row)));
        if list.values().nrows() > 0 {
            self.values.push(list.values().clone());
        }
        true
    }

    fn next_rows(&mut self, most: usize) -> Result<Tensor> {
        let (nrows, places, numbers) = self.at.next(most);
        let mut lengths = vec![0; nrows];
        places.iter().zip(&self.lengths[numbers]).for_each(|(row, length)| lengths[*row] = *length as i64);
        let count = lengths.iter().sum::<i64>() as usize;
        let values = self.values.next_rows(count)?.unwrap_or_else(|| self.none.clone());
        Tensor::list(RowPartition::from_row_lengths(lengths)?, values, validity(nrows, &places))
    }
}

/// The values of a leaf, without nulls.
struct HeldLeaf {
    ty: DataType,
    at: Places,
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

impl HeldLeaf {
    /// `None` for other types than numbers, times and strings.
    fn new(ty: &DataType) -> Option<HeldLeaf> {
        let sizes = match ty {
            DataType::LargeUtf8 | DataType::LargeBinary => Sizes::Ends(Vec::new()),
            ty => Sizes::Fixed(ty.primitive_width()?),
        };
        Some(HeldLeaf { ty: ty.clone(), at: Places::default(), bytes: Vec::new(), sizes })
    }

    fn nbytes(&self) -> usize {
        let ends = if let Sizes::Ends(ends) = &self.sizes { size_of_val(ends.as_slice()) } else { 0 };
        self.bytes.len() + self.at.nbytes() + ends
    }

    /// Adds rows; `false` if it cannot hold them.
    fn push(&mut self, array: &ArrayRef) -> bool {
        if *array.data_type() != self.ty {
            return false;
        }
        let Some(rows) = self.at.push(array.len(), array.nulls()) else { return false };
        let array = array.as_ref();
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

    fn next_rows(&mut self, most: usize) -> Result<ArrayRef> {
        let (nrows, places, numbers) = self.at.next(most);
        let nulls = validity(nrows, &places);
        match &self.sizes {
            Sizes::Fixed(width) => {
                let mut values = MutableBuffer::from_len_zeroed(nrows * width);
                for (row, value) in places.iter().zip(self.bytes[numbers.start * width..].chunks_exact(*width)) {
                    values[row * width..(row + 1) * width].copy_from_slice(value);
                }
                let data = ArrayData::builder(self.ty.clone()).len(nrows).add_buffer(values.into()).nulls(nulls);
                Ok(make_array(data.build().map_err(|e| Error::internal(e.to_string()))?))
            }
            Sizes::Ends(ends) => {
                let start = numbers.start.checked_sub(1).map_or(0, |before| ends[before]);
                let mut offsets: Vec<i64> = Vec::with_capacity(nrows + 1);
                let mut last = 0;
                for (row, end) in places.iter().zip(&ends[numbers]) {
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

    /// Columns of numbers, short numbers, strings, bytes, lists and structures with these values.
    fn columns(values: &[Option<u8>]) -> Vec<Tensor> {
        let text = |value: &Option<u8>| value.map(|v| "é".repeat(usize::from(v % 3)));
        let arrays: [ArrayRef; 4] = [
            Arc::new(Int64Array::from_iter(values.iter().map(|v| v.map(|v| i64::from(v) << 40)))),
            Arc::new(Float32Array::from_iter(values.iter().map(|v| v.map(f32::from)))),
            Arc::new(LargeStringArray::from_iter(values.iter().map(text))),
            Arc::new(LargeBinaryArray::from_iter(values.iter().map(|v| v.map(|v| vec![v; 2])))),
        ];
        let mut columns: Vec<Tensor> = arrays.into_iter().map(Tensor::Leaf).collect();
        let valid = NullBuffer::from_iter(values.iter().map(Option::is_some));
        let valid = (valid.null_count() > 0).then_some(valid);
        let lengths = values.iter().map(|v| v.map_or(0, |v| i64::from(v % 4)));
        let items = values.iter().flatten().flat_map(|v| (0..v % 4).map(|item| (item % 2 == 0).then_some(i64::from(item))));
        let items = Tensor::Leaf(Arc::new(Int64Array::from_iter(items)));
        let lists = Tensor::list(RowPartition::from_row_lengths(lengths).unwrap(), items, valid.clone()).unwrap();
        let structures = Tensor::structure(values.len(), vec![columns[0].clone(), lists.clone()], valid).unwrap();
        columns.extend([lists, structures]);
        columns
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
            let mut held: [GroupColumn; 6] = Default::default();
            for values in &chunks {
                held.iter_mut().zip(columns(values)).for_each(|(column, tensor)| column.push(tensor));
            }
            for (mut column, expected) in held.into_iter().zip(columns(&chunks.concat())) {
                prop_assert_eq!((column.nrows, column.nbytes), (expected.nrows(), expected.nbytes()));
                let mut seen = 0;
                while let Some(rows) = column.next_rows(window).unwrap() {
                    prop_assert_eq!(rows.first_difference(&expected.slice(seen, rows.nrows())), None);
                    seen += rows.nrows();
                }
                prop_assert_eq!(seen, expected.nrows());
            }
        }
    }

    #[test]
    fn nulls_take_no_memory() {
        for nulls in columns(&[None; 1000]) {
            let mut column = GroupColumn::default();
            (0..100).for_each(|_| column.push(nulls.clone()));
            assert_eq!((column.nrows, column.held_nbytes()), (100_000, 0));
        }
    }
}
