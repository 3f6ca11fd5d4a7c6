//! The protobuf wire format of tf.Example, parsed as by TensorFlow's own parser.
//!
//! ```text
//! Example  { Features features = 1; }            Feature   { BytesList bytes_list = 1; |
//! Features { map<string, Feature> feature = 1; }             FloatList float_list = 2; |
//!                                                            Int64List int64_list = 3; }
//! ```
//!
//! Semantics: `tensorflow/core/util/example_proto_fast_parsing.cc`, which is stricter than protobuf in some
//! places and more lenient in others:
//! - unknown fields are allowed in an Example and after the list of a Feature, nowhere else;
//! - an entry of the map holds exactly one key and one value, in either order;
//! - the first list of a Feature determines its kind, and if it starts with a packed run, that run alone holds its
//!   values;
//! - a `features` message that claims to extend beyond the record ends with the record.

use crate::error;
use crate::wire::{VARINT_NBYTES, split_varint};
use std::ops::Range;

/// An error in the bytes of a record, and its offset.
#[derive(Debug)]
pub struct DecodeError {
    /// Offset in the block, or 0 for the record as a whole.
    pub at: usize,
    /// What was expected and what was found.
    pub what: error::Message,
    /// Whether a wider inferred type would hold it.
    pub widens: bool,
}

pub type Parse<T> = Result<T, DecodeError>;

/// An error at byte `at`.
#[cold]
pub fn fail<T>(at: usize, what: impl Into<error::Message>) -> Parse<T> {
    Err(DecodeError { at, what: what.into(), widens: false })
}

/// The tag byte of field `number` with wire type 2.
const fn delimited(number: u8) -> u8 {
    number << 3 | 2
}

/// The bytes to the end of the current message, and the position in them.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor over `range` of `bytes`; positions are relative to `bytes`.
    pub fn new(bytes: &'a [u8], range: Range<usize>) -> Cursor<'a> {
        let end = range.end.min(bytes.len());
        Cursor { bytes: &bytes[..end], at: range.start.min(end) }
    }

    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub fn end(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub fn is_done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The unread bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// Consumes the next byte if it is `byte`.
    #[inline]
    fn takes(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    #[inline]
    pub fn varint(&mut self) -> Parse<u64> {
        match self.peek() {
            Some(byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Parse<u64> {
        if let Some((value, rest)) = split_varint(self.rest()) {
            self.at = self.bytes.len() - rest.len();
            return Ok(value);
        }
        let what = if self.rest().len() < VARINT_NBYTES { "the bytes end inside a varint" } else { "a varint has more than 10 bytes" };
        fail(self.at, what)
    }

    /// The range of a length-delimited value, which is consumed.
    #[inline]
    fn delimited(&mut self) -> Parse<Range<usize>> {
        let start = self.at;
        let length = self.varint()?;
        let left = self.bytes.len() - self.at;
        match usize::try_from(length) {
            Ok(n) if n <= left => {
                let range = self.at..self.at + n;
                self.at = range.end;
                Ok(range)
            }
            _ => fail(start, format!("found a length of {length} bytes, but {left} are left")),
        }
    }

    /// Skips a field of any number whose tag has been consumed.
    fn skip(&mut self, tag: u64) -> Parse<()> {
        let start = self.at;
        let width = match tag & 7 {
            0 => return self.varint().map(drop),
            1 => 8,
            2 => return self.delimited().map(drop),
            5 => 4,
            3 | 4 => return fail(start, "found a protobuf group, which a tf.Example cannot contain"),
            other => return fail(start, format!("{other} is not a protobuf wire type")),
        };
        if self.bytes.len() - self.at < width {
            return fail(start, "the bytes end inside a number");
        }
        self.at += width;
        Ok(())
    }
}

/// Calls `entry` with the key and value of each entry of a `Features` message, in order, including repeated keys. The
/// value is the range of the Feature.
pub fn entries<'a>(features: Cursor<'a>, entry: &mut impl FnMut(&'a [u8], Range<usize>) -> Parse<()>) -> Parse<()> {
    let mut cursor = features;
    while !cursor.is_done() {
        if !cursor.takes(delimited(1)) {
            return fail(cursor.at, "expected an entry of the map of features");
        }
        let range = cursor.delimited()?;
        let (key, value) = map_entry(Cursor::new(cursor.bytes, range))?;
        entry(&cursor.bytes[key], value)?;
    }
    Ok(())
}

fn map_entry(mut cursor: Cursor) -> Parse<(Range<usize>, Range<usize>)> {
    let start = cursor.at;
    let (mut key, mut value) = (None, None);
    for _ in 0..2 {
        if cursor.is_done() {
            break;
        }
        let at = cursor.at;
        match cursor.varint()? {
            0x0a if key.is_none() => key = Some(cursor.delimited()?),
            0x12 if value.is_none() => value = Some(cursor.delimited()?),
            _ => return fail(at, "an entry of the map of features must have one key and one value"),
        }
    }
    match (key, value) {
        (Some(key), Some(value)) if cursor.is_done() => Ok((key, value)),
        (Some(_), Some(_)) => fail(cursor.at, "an entry of the map of features must have one key and one value"),
        (None, _) => fail(start, "an entry of the map of features has no key"),
        (_, None) => fail(start, "an entry of the map of features has no value"),
    }
}

/// Calls `field` with the number and content of each of the fields 1 to `known` of a message, all of which are
/// messages, and skips others. A message that claims to extend beyond the end ends there.
pub fn fields<'a>(message: Cursor<'a>, known: u8, field: &mut impl FnMut(u8, Cursor<'a>) -> Parse<()>) -> Parse<()> {
    let mut cursor = message;
    while let Some(tag) = cursor.peek() {
        let Some(number) = (1..=known).find(|n| tag == delimited(*n)) else {
            let tag = cursor.varint()?;
            cursor.skip(tag)?;
            continue;
        };
        cursor.at += 1;
        let length = usize::try_from(cursor.varint()?).unwrap_or(usize::MAX);
        let end = cursor.at.saturating_add(length).min(cursor.bytes.len());
        field(number, Cursor::new(cursor.bytes, cursor.at..end))?;
        cursor.at = end;
    }
    Ok(())
}

/// Calls `entry` with the key and range of each feature of a tf.Example.
///
/// # Errors
/// The bytes are not a tf.Example, or they are a tf.SequenceExample, whose feature lists would be lost.
pub fn features<'a>(bytes: &'a [u8], record: Range<usize>, entry: &mut impl FnMut(&'a [u8], Range<usize>) -> Parse<()>) -> Parse<()> {
    fields(Cursor::new(bytes, record), 2, &mut |number, content| match number {
        1 => entries(content, entry),
        _ if are_feature_lists(content) => fail(content.at, SEQUENCE_AMONG_EXAMPLES),
        _ => Ok(()),
    })
}

/// Why a tf.SequenceExample is rejected when reading tf.Examples.
pub const SEQUENCE_AMONG_EXAMPLES: &str =
    "this is a tf.SequenceExample, with feature lists, but the file is read as tf.Examples; --from sequence-example reads both";
/// Why a tf.Example is rejected if tf.SequenceExamples were detected.
pub const EXAMPLE_AMONG_SEQUENCES: &str =
    "this is a tf.Example, without feature lists, but the first record is a tf.SequenceExample; --from sequence-example reads both";

/// The message type of a record, judging by its fields: both types have their features in field 1, only a
/// tf.SequenceExample has field 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Message {
    /// Features, but no feature lists.
    Example,
    /// Feature lists.
    SequenceExample,
    /// Neither, so it can be either type.
    Empty,
}

/// The message type of a record; unreadable records count as empty.
pub fn message(bytes: &[u8], record: Range<usize>) -> Message {
    let mut message = Message::Empty;
    let _ = fields(Cursor::new(bytes, record), 2, &mut |number, content| {
        match number {
            2 if are_feature_lists(content) => message = Message::SequenceExample,
            1 if message == Message::Empty && !content.is_done() => message = Message::Example,
            _ => {}
        }
        Ok(())
    });
    message
}

/// Whether a record has the field `features` or `context`, which may be empty. Messages other than tf.Example and
/// tf.SequenceExample rarely do.
pub fn has_features(bytes: &[u8], record: Range<usize>) -> bool {
    let mut has = false;
    let _ = fields(Cursor::new(bytes, record), 1, &mut |_, _| {
        has = true;
        Ok(())
    });
    has
}

/// Whether the content of field 2 of a message is that of `feature_lists` rather than an unknown field.
fn are_feature_lists(content: Cursor) -> bool {
    entries(content, &mut |_, list| steps(content.bytes, list, &mut |_| ())).is_ok()
}

/// Calls `step` with the range of each Feature of a FeatureList.
pub fn steps(bytes: &[u8], list: Range<usize>, step: &mut impl FnMut(Range<usize>)) -> Parse<()> {
    let mut cursor = Cursor::new(bytes, list);
    while !cursor.is_done() {
        if !cursor.takes(delimited(1)) {
            return fail(cursor.at, "expected a step of a feature list");
        }
        step(cursor.delimited()?);
    }
    Ok(())
}

/// Calls `entry` with each feature of a tf.SequenceExample: whether it is a feature list, its key, and its range.
pub fn sequence_features<'a>(
    bytes: &'a [u8],
    record: Range<usize>,
    entry: &mut impl FnMut(bool, &'a [u8], Range<usize>) -> Parse<()>,
) -> Parse<()> {
    fields(Cursor::new(bytes, record), 2, &mut |number, features| entries(features, &mut |key, feature| entry(number == 2, key, feature)))
}

/// The three kinds of lists in a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeatureKind {
    Bytes,
    Float,
    Int64,
}

impl FeatureKind {
    /// The name in tf.train.Feature.
    pub fn name(self) -> &'static str {
        match self {
            FeatureKind::Bytes => "bytes_list",
            FeatureKind::Float => "float_list",
            FeatureKind::Int64 => "int64_list",
        }
    }

    /// Its name with an article, for messages.
    pub fn described(self) -> &'static str {
        match self {
            FeatureKind::Bytes => "a bytes_list",
            FeatureKind::Float => "a float_list",
            FeatureKind::Int64 => "an int64_list",
        }
    }
}

/// The kind of a feature and a cursor over its list; `None` for a feature without a kind.
#[inline]
pub fn list(bytes: &[u8], feature: Range<usize>) -> Parse<Option<(FeatureKind, Cursor<'_>)>> {
    let mut cursor = Cursor::new(bytes, feature);
    let kind = match cursor.peek() {
        None => return Ok(None),
        Some(0x0a) => FeatureKind::Bytes,
        Some(0x12) => FeatureKind::Float,
        Some(0x1a) => FeatureKind::Int64,
        Some(_) => return fail(cursor.at, "a feature that is not a bytes_list, float_list or int64_list"),
    };
    cursor.at += 1;
    let range = cursor.delimited()?;
    Ok(Some((kind, Cursor::new(bytes, range))))
}

/// Calls `value` with each value of a bytes_list.
#[inline]
pub fn each_bytes<'a>(list: Cursor<'a>, value: &mut impl FnMut(&'a [u8])) -> Parse<()> {
    let mut cursor = list;
    while !cursor.is_done() {
        if !cursor.takes(delimited(1)) {
            return fail(cursor.at, "expected a value of a bytes_list");
        }
        let range = cursor.delimited()?;
        value(&cursor.bytes[range]);
    }
    Ok(())
}

/// The encoding of the numbers of a list.
pub enum ListNumbers<'a> {
    /// Packed: one after the other.
    Packed(Cursor<'a>),
    /// Unpacked: each after a tag.
    Tagged(Cursor<'a>),
}

/// The numbers of a float_list or int64_list. Nothing after a packed run is read.
#[inline]
pub fn numbers<'a>(list: Cursor<'a>, tagged: u8) -> Parse<ListNumbers<'a>> {
    let mut cursor = list;
    match cursor.peek() {
        Some(tag) if tag == delimited(1) => {
            cursor.at += 1;
            let range = cursor.delimited()?;
            Ok(ListNumbers::Packed(Cursor::new(cursor.bytes, range)))
        }
        Some(tag) if tag != tagged => fail(cursor.at, "expected the numbers of a list"),
        _ => Ok(ListNumbers::Tagged(cursor)),
    }
}

/// Checks that nothing follows a packed run of numbers, in a step of a feature list.
///
/// # Errors
/// There is a second run. TensorFlow ignores it in an Example, but rejects it in a SequenceExample.
pub fn check_single_run(bytes: &[u8], feature: Range<usize>) -> Parse<()> {
    let Some((FeatureKind::Int64 | FeatureKind::Float, list)) = list(bytes, feature)? else { return Ok(()) };
    if list.peek() != Some(delimited(1)) {
        return Ok(());
    }
    match numbers(list, TAGGED_INT64)? {
        ListNumbers::Packed(run) if run.end() != list.end() => fail(run.end(), "found a second run of numbers in a step"),
        _ => Ok(()),
    }
}

/// The tag byte of an unpacked int64.
pub const TAGGED_INT64: u8 = 0x08;
/// The tag byte of an unpacked float.
pub const TAGGED_FLOAT: u8 = 0x0d;

/// Appends the integers of a list.
#[inline]
pub fn int64s(list: Cursor, out: &mut Vec<i64>) -> Parse<()> {
    match numbers(list, TAGGED_INT64)? {
        ListNumbers::Packed(cursor) => packed_varints(cursor, out),
        ListNumbers::Tagged(mut cursor) => {
            while !cursor.is_done() {
                if !cursor.takes(TAGGED_INT64) {
                    return fail(cursor.at, "expected a number of an int64_list");
                }
                out.push(cursor.varint()?.cast_signed());
            }
            Ok(())
        }
    }
}

/// Appends the floats of a list. Up to three bytes after the last whole float of a packed run are ignored, as in
/// TensorFlow.
#[inline]
pub fn floats(list: Cursor, out: &mut Vec<f32>) -> Parse<()> {
    match numbers(list, TAGGED_FLOAT)? {
        ListNumbers::Packed(cursor) => {
            let (whole, _) = cursor.rest().as_chunks::<4>();
            out.extend(whole.iter().map(|b| f32::from_le_bytes(*b)));
            Ok(())
        }
        ListNumbers::Tagged(mut cursor) => {
            while !cursor.is_done() {
                if !cursor.takes(TAGGED_FLOAT) {
                    return fail(cursor.at, "expected a number of a float_list");
                }
                let Some(bytes) = cursor.rest().first_chunk::<4>() else {
                    return fail(cursor.at, "the bytes end inside a float");
                };
                out.push(f32::from_le_bytes(*bytes));
                cursor.at += 4;
            }
            Ok(())
        }
    }
}

/// Whether a list may have a varint of 8 bytes or more, that is, an integer below 0 or of at least 2^49. Seven bytes in
/// a row that continue a varint contain four at a multiple of four.
pub fn may_hold_long_varints(list: Cursor) -> bool {
    const CONTINUE: u32 = 0x8080_8080;
    let (fours, _) = list.rest().as_chunks::<4>();
    fours.iter().any(|four| u32::from_le_bytes(*four) & CONTINUE == CONTINUE)
}

/// Calls `value` with each integer of a list.
pub fn each_int64(list: Cursor, value: &mut impl FnMut(i64)) -> Parse<()> {
    let (mut cursor, is_tagged) = match numbers(list, TAGGED_INT64)? {
        ListNumbers::Packed(cursor) => (cursor, false),
        ListNumbers::Tagged(cursor) => (cursor, true),
    };
    while !cursor.is_done() {
        if is_tagged && !cursor.takes(TAGGED_INT64) {
            return fail(cursor.at, "expected a number of an int64_list");
        }
        value(cursor.varint()?.cast_signed());
    }
    Ok(())
}

const CONTINUES: u64 = 0x8080_8080_8080_8080;

/// Appends the varints that fill the cursor.
fn packed_varints(mut cursor: Cursor, out: &mut Vec<i64>) -> Parse<()> {
    let bytes = cursor.rest();
    let count = bytes.iter().filter(|b| **b < 0x80).count();
    if bytes.last().is_some_and(|b| *b >= 0x80) {
        return fail(cursor.end(), "the bytes end inside a varint");
    }
    let start = out.len();
    out.resize(start + count, 0);
    let mut slots = out[start..].iter_mut();
    // Eight bytes at a time, while there are eight.
    while let Some(word) = cursor.rest().first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let ends = !word & CONTINUES;
        if ends == CONTINUES {
            for (slot, byte) in slots.by_ref().take(8).zip(word.to_le_bytes()) {
                *slot = i64::from(byte);
            }
            cursor.at += 8;
        } else if ends == 0 {
            let Some(slot) = slots.next() else { break };
            *slot = cursor.long_varint()?.cast_signed();
        } else {
            let (mut ends, mut used) = (ends, 0u32);
            while ends != 0 {
                let Some(slot) = slots.next() else { break };
                let end = ends.trailing_zeros() + 1;
                let groups = (word << (64 - end)) >> (64 - end) >> used;
                *slot = compact(groups).cast_signed();
                used = end;
                ends &= ends - 1;
            }
            cursor.at += used as usize / 8;
        }
    }
    for slot in slots {
        *slot = cursor.varint()?.cast_signed();
    }
    Ok(())
}

/// Joins the 7-bit groups of up to eight bytes.
#[inline]
fn compact(groups: u64) -> u64 {
    let x = groups & !CONTINUES;
    let x = (x & 0x007f_007f_007f_007f) | ((x & 0x7f00_7f00_7f00_7f00) >> 1);
    let x = (x & 0x0000_3fff_0000_3fff) | ((x & 0x3fff_0000_3fff_0000) >> 2);
    (x & 0x0000_0000_0fff_ffff) | ((x & 0x0fff_ffff_0000_0000) >> 4)
}

/// The number of integers in a packed or tagged list, without decoding them.
pub fn count_int64s(list: Cursor) -> Parse<usize> {
    match numbers(list, TAGGED_INT64)? {
        ListNumbers::Packed(cursor) => Ok(cursor.rest().iter().filter(|b| **b < 0x80).count()),
        ListNumbers::Tagged(mut cursor) => {
            let mut n = 0;
            while !cursor.is_done() {
                if !cursor.takes(TAGGED_INT64) {
                    return fail(cursor.at, "expected a number of an int64_list");
                }
                cursor.varint()?;
                n += 1;
            }
            Ok(n)
        }
    }
}

/// The number of floats in a list.
pub fn count_floats(list: Cursor) -> Parse<usize> {
    Ok(match numbers(list, TAGGED_FLOAT)? {
        ListNumbers::Packed(cursor) => cursor.rest().len() / 4,
        ListNumbers::Tagged(cursor) => cursor.rest().len() / 5,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        crate::wire::varint(&mut out, value);
        out
    }

    #[test]
    fn packed_varints_of_every_length_and_neighbourhood() {
        let values: Vec<u64> = (0..64).flat_map(|b| [1u64 << b, (1u64 << b) - 1, !(1u64 << b)]).collect();
        for step in [1, 3, 7, 11] {
            let picked: Vec<u64> = (0..values.len()).map(|i| values[i * step % values.len()]).collect();
            let bytes: Vec<u8> = picked.iter().flat_map(|v| varint(*v)).collect();
            let mut out = vec![7];
            packed_varints(Cursor::new(&bytes, 0..bytes.len()), &mut out).unwrap();
            assert_eq!(out[1..], picked.iter().map(|v| v.cast_signed()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn varints_may_be_longer_than_they_need_to_but_not_than_ten_bytes() {
        let parse = |bytes: &[u8]| {
            let mut out = Vec::new();
            packed_varints(Cursor::new(bytes, 0..bytes.len()), &mut out).map(|()| out)
        };
        assert_eq!(parse(&[0x81, 0x80, 0x80, 0x00]).unwrap(), [1]);
        assert_eq!(parse(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]).unwrap(), [-1]);
        assert!(parse(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]).is_err());
        assert!(parse(&[0x80]).is_err());
        let mut long = vec![0x80; 64];
        long.push(0);
        assert!(parse(&long).is_err());
    }
}
