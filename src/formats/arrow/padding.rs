//! Bits beyond the rows of a bitmap.
//!
//! In memory, the bitmap of some rows can be part of a longer one, so that its last byte has the bits of other rows, such as
//! records that a verb has dropped. They are not written, so that the bytes written do not depend on the size of chunks.

use crate::error::{Error, Result};
use crate::schema::nested::children_of;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_data::{ArrayData, BufferSpec, layout};
use arrow_ipc::writer::EncodedData;
use arrow_ipc::{Buffer, FieldNode, RecordBatch, root_as_message};
use arrow_schema::{DataType, Schema};

/// Clears the unused bits of the bitmaps of an encoded, uncompressed record batch.
///
/// # Errors
/// The message is not that of a record batch with this schema (a bug).
pub fn clear(encoded: &mut EncodedData, schema: &Schema) -> Result<()> {
    let message = root_as_message(&encoded.ipc_message).map_err(|e| Error::internal(e.to_string()))?;
    let batch = message.header_as_record_batch().ok_or_else(|| Error::internal("not a record batch"))?;
    let mut last_bytes = LastBytes::new(&batch);
    for field in schema.fields() {
        last_bytes.find(field.data_type()).ok_or_else(|| Error::internal("a record batch that is not of its schema"))?;
    }
    for (at, nbits) in last_bytes.found {
        if let Some(byte) = encoded.arrow_data.get_mut(at) {
            *byte &= (1 << nbits) - 1;
        }
    }
    Ok(())
}

/// A copy of the array without unused bits, if it has bitmaps. For compressed batches, which [`clear`] cannot change.
///
/// # Errors
/// None for an array that exists (a bug).
pub fn cleared(array: ArrayRef) -> Result<ArrayRef> {
    let data = array.to_data();
    if !has_bitmaps(&data) {
        return Ok(array);
    }
    let mut copy = MutableArrayData::new(vec![&data], false, data.len());
    copy.try_extend(0, 0, data.len()).map_err(|e| Error::internal(e.to_string()))?;
    Ok(make_array(copy.freeze()))
}

fn has_bitmaps(data: &ArrayData) -> bool {
    data.nulls().is_some() || *data.data_type() == DataType::Boolean || data.child_data().iter().any(has_bitmaps)
}

/// Walks the nodes and buffers of a batch, which are in depth-first order of its fields.
struct LastBytes<'a> {
    nodes: Box<dyn Iterator<Item = &'a FieldNode> + 'a>,
    buffers: Box<dyn Iterator<Item = &'a Buffer> + 'a>,
    /// The number of data buffers of each array of views.
    data_buffers: Box<dyn Iterator<Item = i64> + 'a>,
    /// The position of each byte with unused bits, and the number of bits used.
    found: Vec<(usize, usize)>,
}

impl<'a> LastBytes<'a> {
    fn new(batch: &RecordBatch<'a>) -> LastBytes<'a> {
        LastBytes {
            nodes: Box::new(batch.nodes().into_iter().flatten()),
            buffers: Box::new(batch.buffers().into_iter().flatten()),
            data_buffers: Box::new(batch.variadicBufferCounts().into_iter().flatten()),
            found: Vec::new(),
        }
    }

    /// Finds those of a field of that type; `None` if nodes or buffers are missing.
    fn find(&mut self, ty: &DataType) -> Option<()> {
        let nrows = usize::try_from(self.nodes.next()?.length()).ok()?;
        let layout = layout(ty);
        let validity = layout.can_contain_null_mask.then_some(&BufferSpec::BitMap);
        for spec in validity.into_iter().chain(&layout.buffers) {
            let buffer = self.buffers.next()?;
            if *spec == BufferSpec::BitMap && nrows % 8 != 0 && buffer.length() > 0 {
                self.found.push((usize::try_from(buffer.offset()).ok()? + nrows / 8, nrows % 8));
            }
        }
        for _ in 0..if layout.variadic { self.data_buffers.next()? } else { 0 } {
            self.buffers.next()?;
        }
        if let DataType::RunEndEncoded(ends, _) = ty {
            self.find(ends.data_type())?;
        }
        children_of(ty).into_iter().try_for_each(|field| self.find(field.data_type()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{BooleanBuilder, ListBuilder, StringViewBuilder};
    use arrow_array::{BooleanArray, Int32Array, RecordBatch, StructArray};
    use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
    use arrow_schema::Field;
    use std::sync::Arc;

    fn uncleared(batch: &RecordBatch) -> EncodedData {
        let mut tracker = DictionaryTracker::new(false);
        let options = IpcWriteOptions::default();
        IpcDataGenerator::default().encode(batch, &mut tracker, &options, &mut Default::default()).unwrap().1
    }

    fn encoded(batch: &RecordBatch) -> EncodedData {
        let mut encoded = uncleared(batch);
        clear(&mut encoded, &batch.schema()).unwrap();
        encoded
    }

    #[test]
    fn the_same_rows_have_the_same_bytes_wherever_they_come_from() {
        let flags = BooleanArray::from(vec![Some(true), None, Some(true), Some(true), None, Some(true)]);
        let numbers = Int32Array::from(vec![None, Some(1), Some(2), None, Some(3), Some(4)]);
        let mut lists = ListBuilder::new(BooleanBuilder::new());
        let mut texts = StringViewBuilder::new();
        for row in 0..6 {
            (0..row).filter(|_| row != 3).for_each(|i| lists.values().append_option((i % 2 == 0).then_some(row % 2 == 0)));
            lists.append(row != 3);
            texts.append_option((row != 2).then(|| format!("the text of row {row}, too long for a view")));
        }
        let inner: ArrayRef = Arc::new(flags.clone());
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("flags", Arc::new(flags)),
            ("numbers", Arc::new(numbers)),
            ("lists", Arc::new(lists.finish())),
            ("struct", Arc::new(StructArray::from(vec![(Arc::new(Field::new("b", DataType::Boolean, true)), inner)]))),
            ("texts", Arc::new(texts.finish())),
        ];
        let whole = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
        for (start, len) in [(0, 1), (0, 3), (1, 4), (2, 3), (5, 1)] {
            let part = whole.slice(start, len);
            let copied: Vec<ArrayRef> = part
                .columns()
                .iter()
                .map(|column| arrow_select::take::take(column, &Int32Array::from_iter_values(0..len as i32), None).unwrap())
                .collect();
            let copied = RecordBatch::try_new(whole.schema(), copied).unwrap();
            let bitmaps = |encoded: &EncodedData| {
                let message = root_as_message(&encoded.ipc_message).unwrap();
                let mut last = LastBytes::new(&message.header_as_record_batch().unwrap());
                whole.schema().fields().iter().for_each(|field| last.find(field.data_type()).unwrap());
                last.found.into_iter().map(|(at, _)| encoded.arrow_data[at]).collect::<Vec<u8>>()
            };
            let cleared =
                RecordBatch::try_new(whole.schema(), part.columns().iter().map(|column| cleared(column.clone()).unwrap()).collect());
            assert_eq!(bitmaps(&encoded(&part)), bitmaps(&encoded(&copied)), "{start}, {len}");
            assert_eq!(bitmaps(&encoded(&copied)), bitmaps(&uncleared(&cleared.unwrap())), "{start}, {len}");
        }
    }
}
