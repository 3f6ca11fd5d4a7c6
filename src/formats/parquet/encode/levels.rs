//! Computes the repetition and definition levels of the leaves of a column. Source: Melnik et al., Dremel (2010),
//! section 4.1.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use std::ops::Range;

/// One leaf of a column, for some rows.
pub struct LeafRows {
    pub slots: Slots,
    pub values: ArrayRef,
}

/// Each slot of a leaf holds a value or the absence of one. A slot has a value if its definition level is the maximum.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    pub count: usize,
    /// Empty if nothing repeats.
    pub repetition: Vec<u8>,
    /// Empty if nothing is optional.
    pub definition: Vec<u8>,
    /// The maximum levels.
    pub max_repetition: u8,
    pub max_definition: u8,
    /// The array elements for the slots with a value, in order.
    pub ranges: Vec<Range<usize>>,
}

/// The leaves of an array, in Parquet column order.
pub fn leaves_of(field: &Field, array: &ArrayRef) -> Vec<LeafRows> {
    let slots = Slots { count: array.len(), ranges: std::iter::once(0..array.len()).collect(), ..Slots::default() };
    let mut leaves = Vec::new();
    walk(field, array, slots, &mut leaves);
    leaves
}

fn walk(field: &Field, array: &ArrayRef, mut slots: Slots, leaves: &mut Vec<LeafRows>) {
    if field.is_nullable() {
        slots.optional(array.nulls());
    }
    match array.data_type() {
        DataType::Struct(fields) => {
            for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                walk(field, column, slots.clone(), leaves);
            }
        }
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let offsets = list.offsets();
            slots.repeated(|row| offsets[row] as usize..offsets[row + 1] as usize);
            walk(item, list.values(), slots, leaves);
        }
        DataType::LargeList(item) => {
            let list = array.as_list::<i64>();
            let offsets = list.offsets();
            slots.repeated(|row| offsets[row] as usize..offsets[row + 1] as usize);
            walk(item, list.values(), slots, leaves);
        }
        DataType::FixedSizeList(item, size) => {
            let size = usize::try_from(*size).unwrap_or(0);
            slots.repeated(|row| row * size..(row + 1) * size);
            walk(item, array.as_fixed_size_list().values(), slots, leaves);
        }
        DataType::Map(entries, _) => {
            let map = array.as_map();
            let offsets = map.offsets();
            slots.repeated(|row| offsets[row] as usize..offsets[row + 1] as usize);
            let array: ArrayRef = std::sync::Arc::new(map.entries().clone());
            walk(entries, &array, slots, leaves);
        }
        _ => leaves.push(LeafRows { slots, values: array.clone() }),
    }
}

impl Slots {
    /// Handles an optional node.
    fn optional(&mut self, nulls: Option<&NullBuffer>) {
        let open = self.max_definition;
        self.max_definition += 1;
        if self.definition.is_empty() {
            self.definition = vec![open; self.count];
        }
        let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else {
            self.definition.iter_mut().for_each(|level| *level += u8::from(*level == open));
            return;
        };
        let ranges = std::mem::take(&mut self.ranges);
        if open == 0 {
            // Each slot is a row, as in most columns.
            for (start, end) in nulls.valid_slices() {
                self.definition[start..end].fill(1);
                self.ranges.push(start..end);
            }
            return;
        }
        let mut rows = ranges.into_iter().flatten();
        for level in &mut self.definition {
            if *level == open
                && let Some(row) = rows.next()
                && nulls.is_valid(row)
            {
                *level = open + 1;
                extend(&mut self.ranges, row..row + 1);
            }
        }
    }

    /// Handles a repeated node: each row has the elements `elements_of(row)`.
    fn repeated(&mut self, elements_of: impl Fn(usize) -> Range<usize>) {
        let open = self.max_definition;
        self.max_definition += 1;
        self.max_repetition += 1;
        let old = std::mem::take(self);
        *self = Slots { count: 0, max_repetition: old.max_repetition, max_definition: old.max_definition, ..Slots::default() };
        // A slot for each element, or for the absence of elements. Most slots are for further elements; the others are
        // overwritten.
        let elements = old.ranges.iter().cloned().flatten().map(|row| elements_of(row).len()).sum::<usize>();
        self.repetition = vec![old.max_repetition; old.count + elements];
        self.definition = vec![old.max_definition; old.count + elements];
        let mut rows = old.ranges.into_iter().flatten();
        for slot in 0..old.count {
            let definition = old.definition.get(slot).copied().unwrap_or(open);
            let elements = if definition == open { rows.next().map_or(0..0, &elements_of) } else { 0..0 };
            self.repetition[self.count] = old.repetition.get(slot).copied().unwrap_or(0);
            if elements.is_empty() {
                self.definition[self.count] = definition;
                self.count += 1;
                continue;
            }
            self.count += elements.len();
            extend(&mut self.ranges, elements);
        }
        self.repetition.truncate(self.count);
        self.definition.truncate(self.count);
    }
}

/// Adds a range, which often continues the previous one.
fn extend(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{Int64Builder, LargeListBuilder};
    use std::sync::Arc;

    #[test]
    fn lists_of_lists_with_nulls() {
        let mut lists = LargeListBuilder::new(LargeListBuilder::new(Int64Builder::new()));
        // [[1, null], []], null, [], [null, [2]]
        lists.values().values().append_value(1);
        lists.values().values().append_null();
        lists.values().append(true);
        lists.values().append(true);
        lists.append(true);
        lists.append(false);
        lists.append(true);
        lists.values().append(false);
        lists.values().values().append_value(2);
        lists.values().append(true);
        lists.append(true);
        let array: ArrayRef = Arc::new(lists.finish());
        let leaves = leaves_of(&Field::new("a", array.data_type().clone(), true), &array);
        let [LeafRows { slots, .. }] = leaves.as_slice() else { panic!("{}", leaves.len()) };
        assert_eq!(slots.repetition, [0, 2, 1, 0, 0, 0, 1]);
        assert_eq!(slots.definition, [5, 4, 3, 0, 1, 2, 5]);
        assert_eq!((slots.count, slots.max_repetition, slots.max_definition), (7, 2, 5));
        assert_eq!(slots.ranges, [0..1, 2..3]);
    }
}
