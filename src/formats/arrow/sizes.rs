//! Sizes of the columns of a record batch, known from its header before anything is decompressed.

use super::message::{Framed, decompressed};
use crate::error::Result;
use crate::tensor::arrow::{LEAST, longest};
use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_ipc::{Buffer as Place, FieldNode, MetadataVersion};
use arrow_schema::{DataType, Field, FieldRef, UnionMode};
use std::collections::HashMap;

/// The size of a column of a batch, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnSize {
    /// Its buffers, decompressed.
    pub memory: u64,
    /// The bytes added when values that take no space in the buffers (nulls, bits, runs) are each stored separately.
    pub implied: u64,
    /// The maximum number of bytes added when each row has its own copy of its dictionary entry.
    pub entries: u64,
}

impl ColumnSize {
    pub fn add(&mut self, other: ColumnSize) {
        self.memory = self.memory.saturating_add(other.memory);
        self.implied = self.implied.saturating_add(other.implied);
        self.entries = self.entries.saturating_add(other.entries);
    }
}

/// Whether a type has views, which can share the values that they refer to.
pub fn has_views(ty: &DataType) -> bool {
    match ty {
        DataType::Utf8View | DataType::BinaryView | DataType::ListView(_) | DataType::LargeListView(_) => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) | DataType::FixedSizeList(item, _) => {
            has_views(item.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| has_views(field.data_type())),
        DataType::RunEndEncoded(_, values) => has_views(values.data_type()),
        _ => false,
    }
}

/// The maximum size of an entry in bytes, by dictionary.
pub type Longest = HashMap<i64, u64>;

/// The maximum size of an entry in bytes, in each dictionary.
pub fn longest_entries(dictionaries: &HashMap<i64, ArrayRef>) -> Longest {
    dictionaries.iter().map(|(id, values)| (*id, longest(values) as u64)).collect()
}

/// The sizes of the columns `roots` of a record batch, in this order. A column whose header contradicts the schema, which
/// the decoder reports, ends the list.
///
/// # Errors
/// The metadata is damaged.
pub fn of_batch(framed: &Framed, body: &Buffer, fields: &[FieldRef], roots: &[usize], longest: &Longest) -> Result<Vec<ColumnSize>> {
    let message = framed.message()?;
    let Some(batch) = message.header_as_record_batch() else { return Ok(Vec::new()) };
    let mut walk = Walk {
        nodes: batch.nodes().into_iter().flatten(),
        places: batch.buffers().into_iter().flatten(),
        variadic: batch.variadicBufferCounts().into_iter().flatten(),
        body,
        is_compressed: batch.compression().is_some(),
        version: message.version(),
        longest,
    };
    let last = roots.iter().max().map_or(0, |last| last + 1);
    let all: Vec<ColumnSize> = fields.iter().take(last).map_while(|field| walk.field(field)).map(|(size, _)| size).collect();
    Ok(roots.iter().map_while(|root| all.get(*root).copied()).collect())
}

/// The header in the order of the fields, depth first. Source: `RecordBatch` in `Message.fbs`.
struct Walk<'a, N, P, V> {
    nodes: N,
    places: P,
    variadic: V,
    body: &'a Buffer,
    is_compressed: bool,
    version: MetadataVersion,
    longest: &'a Longest,
}

impl<'a, N, P, V> Walk<'a, N, P, V>
where
    N: Iterator<Item = &'a FieldNode>,
    P: Iterator<Item = &'a Place>,
    V: Iterator<Item = i64>,
{
    /// The size of a field, and its number of values.
    fn field(&mut self, field: &Field) -> Option<(ColumnSize, u64)> {
        let n = u64::try_from(self.nodes.next()?.length()).ok()?;
        let mut size = ColumnSize::default();
        match field.data_type() {
            DataType::Null => size.implied = n.saturating_mul(LEAST),
            DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => size.memory = self.buffers(3)?,
            DataType::Utf8View | DataType::BinaryView => {
                let count = u64::try_from(self.variadic.next()?).ok()?;
                let validity = self.buffers(1)?;
                let (views, lengths) = self.lengths::<4>(16)?;
                let texts = self.buffers(count)?;
                size.memory = validity.saturating_add(views).saturating_add(texts);
                size.implied = lengths.saturating_sub(texts);
            }
            DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
                size.memory = self.buffers(2)?;
                size.add(self.field(item)?.0);
            }
            DataType::ListView(item) | DataType::LargeListView(item) => {
                size.memory = self.buffers(2)?;
                let is_large = matches!(field.data_type(), DataType::LargeListView(_));
                let (sizes, lengths) = if is_large { self.lengths::<8>(8)? } else { self.lengths::<4>(4)? };
                let (items, nitems) = self.field(item)?;
                let mean = items.memory.saturating_add(items.implied).div_ceil(nitems.max(1)).max(1);
                size.add(ColumnSize { memory: sizes, implied: lengths.saturating_sub(nitems).saturating_mul(mean), entries: 0 });
                size.add(items);
            }
            DataType::FixedSizeList(item, _) => {
                size.memory = self.buffers(1)?;
                size.implied = n;
                size.add(self.field(item)?.0);
            }
            DataType::Struct(fields) => {
                size.memory = self.buffers(1)?;
                size.implied = if fields.is_empty() { n } else { 0 };
                for field in fields {
                    size.add(self.field(field)?.0);
                }
            }
            DataType::Dictionary(..) => {
                size.memory = self.buffers(2)?;
                #[expect(deprecated, reason = "no other way leads from a field to its dictionary")]
                let longest = field.dict_id().and_then(|id| self.longest.get(&id)).copied().unwrap_or(0);
                size.entries = n.saturating_mul(longest);
            }
            DataType::RunEndEncoded(ends, values) => {
                size.add(self.field(ends)?.0);
                let (values, nruns) = self.field(values)?;
                // Each run is as long as the mean.
                let mean = values.memory.saturating_add(values.implied).div_ceil(nruns.max(1)).max(1);
                size.implied = n.saturating_mul(mean);
                size.add(values);
            }
            DataType::Union(fields, mode) => {
                let validity = u64::from(self.version < MetadataVersion::V5);
                size.memory = self.buffers(validity + if *mode == UnionMode::Dense { 2 } else { 1 })?;
                for (_, field) in fields.iter() {
                    size.add(self.field(field)?.0);
                }
            }
            DataType::Boolean => (size.memory, size.implied) = (self.buffers(2)?, n),
            _ => size.memory = self.buffers(2)?,
        }
        Some((size, n))
    }

    /// The bytes of the next buffer, and the sum of the lengths at the start of each of its values of `width` bytes; 0 if
    /// it is compressed.
    fn lengths<const BYTES: usize>(&mut self, width: usize) -> Option<(u64, u64)> {
        let place = self.places.next()?;
        if self.is_compressed {
            return Some((decompressed(place, self.body), 0));
        }
        let (start, length) = (usize::try_from(place.offset()).ok()?, usize::try_from(place.length()).ok()?);
        let values = self.body.get(start..start.checked_add(length)?).unwrap_or(&[]).chunks_exact(width);
        let lengths = values.filter_map(|value| value.first_chunk::<BYTES>()).map(|bytes| {
            let mut wide = [0; 8];
            wide[..BYTES].copy_from_slice(bytes);
            u64::from_le_bytes(wide)
        });
        Some((length as u64, lengths.fold(0, u64::saturating_add)))
    }

    /// The bytes of the next buffers.
    fn buffers(&mut self, count: u64) -> Option<u64> {
        (0..count).try_fold(0u64, |sum, _| {
            let place = self.places.next()?;
            let nbytes = if self.is_compressed { decompressed(place, self.body) } else { u64::try_from(place.length()).unwrap_or(0) };
            Some(sum.saturating_add(nbytes))
        })
    }
}
