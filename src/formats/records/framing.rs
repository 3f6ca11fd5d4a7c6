//! The framing of TFRecord.
//!
//! ```text
//! uint64 length | uint32 masked CRC-32C of the length | payload | uint32 masked CRC-32C of the payload
//! ```
//!
//! All numbers are little endian. Source: `tensorflow/core/lib/io/record_writer.h`,
//! `tensorflow/core/lib/hash/crc32c.h`.

use crate::error::Error;
use crate::hint::{Hint, SKIP};
use crate::io::buffers::Buffer;
use crate::options::Options;
use std::ops::Range;
use std::sync::Arc;

/// Bytes before the payload: its length and the checksum of the length.
pub const HEADER: usize = 12;
/// Bytes after the payload: its checksum.
pub const FOOTER: usize = 4;

/// Checksums are stored rotated and offset by a constant, so that checksums of data that contains checksums stay
/// strong.
fn masked_crc(bytes: &[u8]) -> u32 {
    mask(crc32c::crc32c(bytes))
}

/// The masked form of a CRC-32C.
pub fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The contents of the first 12 bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the payload.
    pub length: u64,
    /// Whether the checksum of the length matches.
    pub holds: bool,
}

/// The header at the start of `bytes`; `None` if there are fewer than 12.
pub fn header(bytes: &[u8]) -> Option<Header> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let stored = u32::from_le_bytes(*rest.first_chunk::<4>()?);
    Some(Header { length: u64::from_le_bytes(*length), holds: masked_crc(length) == stored })
}

/// Whether the checksum after the payload matches; `false` if there are fewer bytes.
pub fn payload_holds(bytes: &[u8], payload: Range<usize>) -> bool {
    let stored = bytes.get(payload.end..).and_then(|rest| rest.first_chunk::<4>());
    match (bytes.get(payload), stored) {
        (Some(payload), Some(stored)) => masked_crc(payload) == u32::from_le_bytes(*stored),
        _ => false,
    }
}

/// The payloads of the records at the start of an input, with the checksums of lengths verified. The last one may
/// extend beyond `bytes`.
pub fn payloads(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0usize;
    std::iter::from_fn(move || {
        let header = header(bytes.get(at..)?).filter(|h| h.holds)?;
        let start = at + HEADER;
        let end = start.checked_add(usize::try_from(header.length).ok()?)?;
        at = end.checked_add(FOOTER)?;
        Some(start..end)
    })
}

/// Finds whole frames, by their lengths alone.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    /// Whether the checksums of lengths are verified.
    pub verify: bool,
    /// Maximum bytes of a payload.
    pub max_record_bytes: u64,
}

/// Consecutive whole frames.
pub struct WholeFrames {
    /// The payloads.
    pub payloads: Vec<Range<usize>>,
    /// The end of the last frame.
    pub end: usize,
    /// The reason for stopping there.
    pub stop: Stop,
}

/// Why no further record was found.
pub enum Stop {
    /// The limit has been reached.
    Full,
    /// The next frame needs this many bytes, which exceeds those at hand.
    Short(usize),
    /// There is no frame.
    Damage(Damage),
}

/// Damage that hides where the next record starts.
#[derive(Clone, Copy, Debug)]
pub enum Damage {
    /// The checksum of a length does not match.
    WrongLength,
    /// A record has more bytes than are allowed.
    TooLong(u64),
    /// The input ends after `left` bytes of a frame that needs `need`.
    Truncated { need: usize, left: usize },
}

impl Frames {
    /// As the options require.
    pub fn of(options: &Options) -> Frames {
        Frames { verify: !options.no_verify, max_record_bytes: options.max_record_bytes }
    }

    /// The whole frames at the start of `bytes`: at most `most`, that start before `until`.
    pub fn walk(&self, bytes: &[u8], until: usize, most: usize) -> WholeFrames {
        let (mut payloads, mut at) = (Vec::new(), 0usize);
        while payloads.len() < most && at < until {
            let Some(header) = bytes.get(at..).and_then(header) else {
                return WholeFrames { payloads, end: at, stop: Stop::Short(HEADER) };
            };
            if self.verify && !header.holds {
                return WholeFrames { payloads, end: at, stop: Stop::Damage(Damage::WrongLength) };
            }
            // max_record_bytes can be unlimited, so the sum can still overflow.
            let need = usize::try_from(header.length).ok().filter(|_| header.length <= self.max_record_bytes);
            let need = need.and_then(|n| n.checked_add(HEADER + FOOTER));
            let Some((need, end)) = need.and_then(|need| Some((need, at.checked_add(need)?))) else {
                return WholeFrames { payloads, end: at, stop: Stop::Damage(Damage::TooLong(header.length)) };
            };
            if end > bytes.len() {
                return WholeFrames { payloads, end: at, stop: Stop::Short(need) };
            }
            payloads.push(at + HEADER..end - FOOTER);
            at = end;
        }
        WholeFrames { payloads, end: at, stop: Stop::Full }
    }

    /// The error for damage in the frame of that record, at that offset in the input.
    pub fn error(&self, damage: Damage, name: &Arc<str>, record: u64, byte: u64) -> Error {
        let error = match damage {
            Damage::WrongLength => {
                let error = Error::data("the checksum of the record's length does not match");
                error.help(match record {
                    1 => "is this a TFRecord? compressed files are recognized; for another format use --from".into(),
                    _ => Hint::to_skip("resume after the damage with --on-error skip"),
                })
            }
            // No machine could hold it.
            Damage::TooLong(length) if length >> 40 > 0 => {
                Error::data(format!("the header says that the record has {length} bytes: the file is damaged")).help(SKIP)
            }
            Damage::TooLong(length) => Error::too_large(format_args!("the record has {length}"), self.max_record_bytes),
            Damage::Truncated { need, left } => {
                let rest = if left == 1 { "1 byte is".to_owned() } else { format!("{left} bytes are") };
                let error = if left < HEADER {
                    format!("the input ends in the middle of a record: only {rest} left, but a record header takes {HEADER}")
                } else {
                    format!("the input ends in the middle of a record: the record takes {need} bytes, but only {rest} left")
                };
                Error::data(error).help(Hint::to_skip("keep the records before it with --on-error skip"))
            }
        };
        error.in_input(name.clone()).locate(|at| {
            at.records = Some((record, record));
            at.byte = Some(byte);
        })
    }
}

/// Payloads written in sequence.
pub struct WrittenPayloads {
    pub bytes: Buffer,
    /// The range of each payload in `bytes`.
    pub payloads: Vec<Range<usize>>,
    /// Whether each payload has a TFRecord frame.
    is_framed: bool,
}

impl WrittenPayloads {
    /// An empty builder for `nrecords` payloads, which are appended to `bytes`. With `is_framed`, each gets a TFRecord
    /// frame.
    pub fn new(nrecords: usize, is_framed: bool, bytes: Buffer) -> WrittenPayloads {
        WrittenPayloads { bytes, payloads: Vec::with_capacity(nrecords), is_framed }
    }

    /// Appends a record, which `write` appends.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let frame = self.bytes.len();
        let start = if self.is_framed { frame + HEADER } else { frame };
        self.bytes.resize(start, 0);
        write(&mut self.bytes);
        let end = self.bytes.len();
        if self.is_framed {
            let length = ((end - start) as u64).to_le_bytes();
            self.bytes[frame..frame + 8].copy_from_slice(&length);
            self.bytes[frame + 8..start].copy_from_slice(&masked_crc(&length).to_le_bytes());
            let crc = masked_crc(&self.bytes[start..]);
            self.bytes.extend_from_slice(&crc.to_le_bytes());
        }
        self.payloads.push(start..end);
    }
}

/// Appends the frame of one payload.
#[cfg(test)]
pub fn append(out: &mut Vec<u8>, payload: &[u8]) {
    let length = (payload.len() as u64).to_le_bytes();
    out.extend_from_slice(&length);
    out.extend_from_slice(&masked_crc(&length).to_le_bytes());
    out.extend_from_slice(payload);
    out.extend_from_slice(&masked_crc(payload).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_masked_as_in_tensorflow() {
        // The frame of an empty record, as written by TensorFlow 2.21.
        let mut frame = Vec::new();
        append(&mut frame, b"");
        assert_eq!(frame, [0, 0, 0, 0, 0, 0, 0, 0, 0x29, 0x03, 0x98, 0x07, 0xd8, 0xea, 0x82, 0xa2]);
        assert_eq!(header(&frame), Some(Header { length: 0, holds: true }));
        assert!(payload_holds(&frame, 12..12));
        assert_eq!(header(&frame[..11]), None);
        assert!(!payload_holds(&frame[..15], 12..12));
    }
}
