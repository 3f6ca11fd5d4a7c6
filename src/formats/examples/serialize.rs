//! Serializes chunks as records.
//!
//! The sizes of all lists are computed first, column by column; then each record is written sequentially to its
//! position.

use super::flatten::{Feature, FeatureValues, check, flatten};
use super::raw;
use crate::chunk::Chunk;
use crate::error::Result;
use crate::formats::records::framing::{FOOTER, HEADER, WrittenPayloads};
use crate::io::buffers::Buffer;
use crate::options::Options;
use crate::schema::Schema;
use crate::tensor::RowPartition;
use crate::wire::varint;
use arrow_buffer::ScalarBuffer;
use std::ops::Range;
use std::sync::Arc;

/// Converts a chunk to features.
pub type Flatten = Box<dyn Fn(&Chunk) -> Result<Vec<Feature>> + Send + Sync>;

/// Encodes chunks as records.
pub enum Serializer {
    /// tf.Examples or tf.SequenceExamples.
    Features(Flatten),
    /// Raw records: the contents of the single field.
    Raw,
}

impl Serializer {
    /// For records of that schema: tf.Examples, or raw records if the options say so.
    ///
    /// # Errors
    /// The records cannot represent the schema.
    pub fn new(schema: &Arc<Schema>, options: &Options, sequences: bool) -> Result<Serializer> {
        if options.raw_records {
            raw::check(schema)?;
            return Ok(Serializer::Raw);
        }
        check(schema, options, sequences)?;
        let schema = schema.clone();
        Ok(Serializer::Features(Box::new(move |chunk| flatten(&schema, chunk, sequences))))
    }

    /// The records of a chunk, without framing.
    ///
    /// # Errors
    /// Values that cannot be represented.
    pub fn payloads(&self, chunk: &Chunk) -> Result<WrittenPayloads> {
        self.records(chunk, false, Buffer::default())
    }

    /// The records of a chunk, each in a TFRecord frame, appended to `bytes`.
    ///
    /// # Errors
    /// Values that cannot be represented.
    pub fn frames(&self, chunk: &Chunk, bytes: Buffer) -> Result<Buffer> {
        Ok(self.records(chunk, true, bytes)?.bytes)
    }

    fn records(&self, chunk: &Chunk, is_framed: bool, bytes: Buffer) -> Result<WrittenPayloads> {
        let mut records = WrittenPayloads::new(chunk.nrows, is_framed, bytes);
        match self {
            Serializer::Features(flatten) => serialize(&flatten(chunk)?, chunk.nrows, &mut records),
            Serializer::Raw => raw::serialize(chunk, &mut records)?,
        }
        Ok(records)
    }
}

/// Appends `nrows` rows of features.
fn serialize(features: &[Feature], nrows: usize, records: &mut WrittenPayloads) {
    // The context (everything in a tf.Example) and the feature lists: fields 1 and 2 of the message.
    let groups = [false, true]
        .map(|lists| features.iter().filter(|f| f.steps.is_some() == lists).map(|f| FeatureColumn::new(f, nrows)).collect::<Vec<_>>());
    let mut sizes = vec![[0; 2]; nrows];
    for (group, columns) in groups.iter().enumerate() {
        for column in columns {
            for (row, sizes) in sizes.iter_mut().enumerate() {
                let entry = column.entry_nbytes(row);
                sizes[group] += if entry > 0 { delimited_nbytes(entry) } else { 0 };
            }
        }
    }
    let payload = |sizes: &[usize; 2]| sizes.iter().filter(|n| **n > 0).map(|n| delimited_nbytes(*n)).sum::<usize>();
    records.bytes.reserve(sizes.iter().map(|s| HEADER + payload(s) + FOOTER).sum::<usize>() + WORD);
    for (row, sizes) in sizes.iter().enumerate() {
        records.push(|out| {
            for ((group, size), tag) in groups.iter().zip(sizes).zip([0x0a, 0x12]) {
                if *size > 0 {
                    head(out, tag, *size);
                    group.iter().for_each(|c| c.write(row, out));
                }
            }
        });
    }
}

/// A feature with the sizes of its lists.
struct FeatureColumn<'a> {
    feature: &'a Feature,
    /// Tag, length and bytes of the key.
    key: Vec<u8>,
    /// The size of the values of each record or step, without enclosing tags.
    nbytes: Vec<usize>,
    /// The size of the Feature or FeatureList of each record.
    value_nbytes: Vec<usize>,
}

impl<'a> FeatureColumn<'a> {
    fn new(feature: &'a Feature, nrows: usize) -> FeatureColumn<'a> {
        let mut key = Vec::with_capacity(feature.name.len() + 4);
        head(&mut key, 0x0a, feature.name.len());
        key.extend_from_slice(feature.name.as_bytes());
        let n = feature.steps.as_ref().map_or(nrows, RowPartition::nvals);
        let ranges = (0..n).map(|unit| range(feature.rows.as_ref(), unit));
        let nbytes = match &feature.values {
            FeatureValues::Int64(values) => ranges.map(|r| varints_nbytes(&values[r])).collect(),
            FeatureValues::Float(_) => ranges.map(|r| 4 * r.len()).collect(),
            FeatureValues::Nothing => vec![0; n],
            FeatureValues::Bytes(offsets, _) => {
                ranges.map(|r| offsets[r.start..=r.end].windows(2).map(|w| delimited_nbytes((w[1] - w[0]) as usize)).sum()).collect()
            }
        };
        let mut column = FeatureColumn { feature, key, nbytes, value_nbytes: Vec::new() };
        column.value_nbytes = match &feature.steps {
            None => (0..nrows).map(|row| column.feature_nbytes(row)).collect(),
            Some(steps) => (0..nrows).map(|row| steps.range(row).map(|step| delimited_nbytes(column.feature_nbytes(step))).sum()).collect(),
        };
        column
    }

    fn is_valid(&self, row: usize) -> bool {
        self.feature.valid.as_ref().is_none_or(|v| v.is_valid(row))
    }

    /// The size of the list of a record or step. Packed numbers have one more tag, unless there are none.
    fn list_nbytes(&self, unit: usize) -> usize {
        match (&self.feature.values, self.nbytes[unit]) {
            (_, 0) => 0,
            (FeatureValues::Bytes(..), n) => n,
            (_, n) => delimited_nbytes(n),
        }
    }

    /// The size of the Feature of a record or step.
    fn feature_nbytes(&self, unit: usize) -> usize {
        match self.feature.values {
            FeatureValues::Nothing => 0,
            _ => delimited_nbytes(self.list_nbytes(unit)),
        }
    }

    /// The size of the map entry; 0 if the record does not have the feature.
    fn entry_nbytes(&self, row: usize) -> usize {
        if self.is_valid(row) { self.key.len() + delimited_nbytes(self.value_nbytes[row]) } else { 0 }
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) {
        if !self.is_valid(row) {
            return;
        }
        head(out, 0x0a, self.entry_nbytes(row));
        out.extend_from_slice(&self.key);
        head(out, 0x12, self.value_nbytes[row]);
        match &self.feature.steps {
            None => self.write_feature(row, out),
            Some(steps) => {
                for step in steps.range(row) {
                    head(out, 0x0a, self.feature_nbytes(step));
                    self.write_feature(step, out);
                }
            }
        }
    }

    fn write_feature(&self, unit: usize, out: &mut Vec<u8>) {
        let list = self.list_nbytes(unit);
        let tag = match &self.feature.values {
            FeatureValues::Bytes(..) => 0x0a,
            FeatureValues::Float(_) => 0x12,
            FeatureValues::Int64(_) => 0x1a,
            FeatureValues::Nothing => return,
        };
        head(out, tag, list);
        if list == 0 {
            return;
        }
        let range = range(self.feature.rows.as_ref(), unit);
        match &self.feature.values {
            FeatureValues::Int64(values) => {
                head(out, 0x0a, self.nbytes[unit]);
                varints(&values[range], self.nbytes[unit], out);
            }
            FeatureValues::Float(values) => {
                head(out, 0x0a, self.nbytes[unit]);
                floats(values, range, out);
            }
            FeatureValues::Bytes(offsets, data) => {
                for pair in offsets[range.start..=range.end].windows(2) {
                    let value = &data[pair[0] as usize..pair[1] as usize];
                    head(out, 0x0a, value.len());
                    out.extend_from_slice(value);
                }
            }
            FeatureValues::Nothing => {}
        }
    }
}

fn range(rows: Option<&RowPartition>, row: usize) -> Range<usize> {
    rows.map_or(row..row + 1, |p| p.range(row))
}

/// The size of a varint.
fn varint_nbytes(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize) * 9 / 64 + 1
}

fn varints_nbytes(values: &[i64]) -> usize {
    let mut sum = 0;
    for value in values {
        sum += varint_nbytes(value.cast_unsigned());
    }
    sum
}

/// Bytes per word.
const WORD: usize = 8;

/// Appends numbers as varints, which take that many bytes in total. Most fit in a word with their continuation bits and
/// are written at once.
fn varints(values: &[i64], nbytes: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + nbytes + WORD, 0);
    let mut at = start;
    for value in values {
        let value = value.cast_unsigned();
        match out.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<WORD>) {
            Some(to) if value < 1 << (7 * WORD) => {
                let length = varint_nbytes(value);
                *to = (spread(value) | CONTINUES & ((1 << (8 * (length - 1))) - 1)).to_le_bytes();
                at += length;
            }
            _ => {
                out.truncate(at);
                varint(out, value);
                at = out.len();
                out.resize(start + nbytes + WORD, 0);
            }
        }
    }
    out.truncate(start + nbytes);
}

const CONTINUES: u64 = 0x8080_8080_8080_8080;

/// Spreads the lower 56 bits of a number over the lower seven bits of each byte.
fn spread(value: u64) -> u64 {
    let x = (value & 0x0fff_ffff) | ((value & 0x00ff_ffff_f000_0000) << 4);
    let x = (x & 0x0000_3fff_0000_3fff) | ((x & 0x0fff_c000_0fff_c000) << 2);
    (x & 0x007f_007f_007f_007f) | ((x & 0x3f80_3f80_3f80_3f80) << 1)
}

/// Appends floats, little endian.
fn floats(values: &ScalarBuffer<f32>, range: Range<usize>, out: &mut Vec<u8>) {
    if cfg!(target_endian = "little") {
        out.extend_from_slice(&values.inner().as_slice()[4 * range.start..4 * range.end]);
    } else {
        out.extend(values[range].iter().flat_map(|v| v.to_le_bytes()));
    }
}

/// The size of a length-delimited field with a number up to 15.
fn delimited_nbytes(n: usize) -> usize {
    1 + varint_nbytes(n as u64) + n
}

/// Appends the tag and length of a length-delimited field.
fn head(out: &mut Vec<u8>, tag: u8, nbytes: usize) {
    out.push(tag);
    varint(out, nbytes as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_written_a_word_at_a_time() {
        let values: Vec<i64> = (0..64).flat_map(|bit| [1i64 << bit, (1i64 << bit).wrapping_sub(1), !(1 << bit), 0]).collect();
        for values in [&values[..], &values[..100], &values[255..], &[-1], &[]] {
            let mut expected = vec![7];
            values.iter().for_each(|value| varint(&mut expected, value.cast_unsigned()));
            let mut out = vec![7];
            varints(values, varints_nbytes(values), &mut out);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn the_size_of_a_varint_is_what_it_takes() {
        for bit in 0..64 {
            for value in [1u64 << bit, (1 << bit) - 1, !(1 << bit)] {
                let mut out = Vec::new();
                varint(&mut out, value);
                assert_eq!(out.len(), varint_nbytes(value), "{value}");
            }
        }
    }
}
