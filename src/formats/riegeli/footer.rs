//! The footer of an ArrayRecord file: the locations of its chunks, and their numbers of records.
//!
//! ```text
//! RiegeliFooterMetadata { ArrayRecordMetadata array_record_metadata = 1; }
//! ArrayRecordMetadata   { uint32 version = 1; uint64 num_chunks = 2; uint64 num_records = 3; string writer_options = 4; }
//! ArrayRecordFooter     { uint64 chunk_offset = 1; uint64 decoded_data_size = 2; uint64 num_records = 3; }
//! RiegeliPostscript     { uint64 footer_offset = 1; uint64 magic = 2; }
//! ```

use crate::wire::{self, Value};

/// The magic number in the postscript of every ArrayRecord file.
const MAGIC: u64 = 0x7193_0e70_4fda_e05e;
/// The version of the format.
const VERSION: u64 = 1;

/// The location of a chunk of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub offset: u64,
    /// The number of its first record, from 1.
    pub first_record: u64,
}

/// The start of the footer; `None` if this is not a postscript.
pub fn parse_postscript(message: &[u8]) -> Option<u64> {
    let [_, offset, magic, _, _] = integers(message)?;
    (magic == Some(MAGIC)).then_some(offset?)
}

pub fn postscript(footer_offset: u64) -> Vec<u8> {
    message(&[(1, footer_offset), (2, MAGIC)])
}

/// The number of chunks and records according to the first record of a footer, or the error in it.
pub fn parse_metadata(record: &[u8]) -> Result<(u64, u64), String> {
    let inner = match wire::fields(record).next().flatten() {
        Some((1, Value::Bytes(inner))) => integers(inner),
        _ => None,
    };
    let Some([_, version, nchunks, nrecords, _]) = inner else { return Err("this is not the footer of an ArrayRecord".to_owned()) };
    match version {
        Some(VERSION) => Ok((nchunks.unwrap_or(0), nrecords.unwrap_or(0))),
        other => Err(format!("unknown version {} of ArrayRecord: expected {VERSION}", other.unwrap_or(0))),
    }
}

pub fn metadata(nchunks: u64, nrecords: u64, writer_options: &str) -> Vec<u8> {
    let mut inner = message(&[(1, VERSION), (2, nchunks), (3, nrecords)]);
    wire::bytes(&mut inner, 4, writer_options.as_bytes());
    let mut out = Vec::with_capacity(inner.len() + 8);
    wire::bytes(&mut out, 1, &inner);
    out
}

/// Offset, size and number of records of a chunk, according to the footer.
pub fn parse_entry(record: &[u8]) -> Option<(u64, u64, u64)> {
    let [_, offset, size, nrecords, _] = integers(record)?;
    Some((offset?, size.unwrap_or(0), nrecords.unwrap_or(0)))
}

pub fn entry(offset: u64, decoded_size: u64, nrecords: u64) -> Vec<u8> {
    message(&[(1, offset), (2, decoded_size), (3, nrecords)])
}

/// The integer fields of a message with numbers up to 4; others are skipped.
fn integers(message: &[u8]) -> Option<[Option<u64>; 5]> {
    let mut found = [None; 5];
    for field in wire::fields(message) {
        let (number, value) = field?;
        if let (Some(field), Value::Varint(value)) = (usize::try_from(number).ok().and_then(|number| found.get_mut(number)), value) {
            *field = Some(value);
        }
    }
    Some(found)
}

fn message(fields: &[(u8, u64)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32);
    for (number, value) in fields {
        wire::number(&mut out, *number, *value);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_back() {
        assert_eq!(parse_postscript(&postscript(70_000)), Some(70_000));
        assert_eq!(parse_postscript(&message(&[(1, 5), (2, 6)])), None);
        assert_eq!(parse_metadata(&metadata(3, 20, "group_size:7")), Ok((3, 20)));
        assert_eq!(parse_entry(&entry(64, 0, 7)), Some((64, 0, 7)));
        assert!(parse_metadata(b"\x0a\x02\x08\x02").unwrap_err().starts_with("unknown version 2"));
        for bad in [&b"\x0a\xff"[..], b"", b"\x08", b"\x0b", b"\x0a\x05\x08"] {
            assert!(parse_metadata(bad).is_err() && parse_entry(bad).is_none(), "{bad:?}");
        }
    }
}
