//! The header of a chunk.

use super::block::{Damage, hash};

/// Size of the header.
pub const NBYTES: u64 = 40;
/// Kinds of chunks.
pub const SIGNATURE: u8 = b's';
pub const METADATA: u8 = b'm';
pub const PADDING: u8 = b'p';
pub const SIMPLE: u8 = b'r';
pub const TRANSPOSED: u8 = b't';

/// The start of every file: the header of the first block, and the signature chunk.
const START: [u8; 64] = [
    0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x91, 0xba, 0xc2, 0x3c, 0x92, 0x87,
    0xe1, 0xa9, 0, 0, 0, 0, 0, 0, 0, 0, 0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72, 0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

/// Whether a file that starts with these bytes is a Riegeli file.
pub fn is_riegeli(head: &[u8]) -> bool {
    head.starts_with(&START)
}

/// The contents of a chunk header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub data_size: u64,
    pub data_hash: u64,
    pub kind: u8,
    pub nrecords: u64,
    /// The total size of all records.
    pub decoded_size: u64,
}

impl Header {
    /// The header of a chunk with that data.
    pub fn new(kind: u8, data: &[u8], nrecords: u64, decoded_size: u64) -> Header {
        Header { data_size: data.len() as u64, data_hash: hash(data), kind, nrecords, decoded_size }
    }

    /// Parses the header of the chunk at `at` from its first bytes; with `verify`, checks its hash.
    pub fn parse(bytes: &[u8], at: u64, verify: bool) -> Result<Header, Damage> {
        let word = |n: usize| bytes.get(8 * n..8 * n + 8).and_then(|word| word.try_into().ok()).map(u64::from_le_bytes);
        let (Some(stored), Some(data_size), Some(data_hash), Some(kind), Some(decoded_size)) =
            (word(0), word(1), word(2), word(3), word(4))
        else {
            return Err(Damage::new(at, "the file ends in the middle of a chunk"));
        };
        if verify && hash(&bytes[8..NBYTES as usize]) != stored {
            return Err(Damage::new(at, "the hash of the chunk's header does not match"));
        }
        Ok(Header { data_size, data_hash, kind: kind as u8, nrecords: kind >> 8, decoded_size })
    }

    pub fn to_bytes(self) -> [u8; NBYTES as usize] {
        let mut bytes = [0; NBYTES as usize];
        let words = [0, self.data_size, self.data_hash, u64::from(self.kind) | self.nrecords << 8, self.decoded_size];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let hash = hash(&bytes[8..]);
        bytes[..8].copy_from_slice(&hash.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::write_chunk;
    use super::*;

    #[test]
    fn a_file_starts_as_the_specification_says() {
        let mut start = Vec::new();
        write_chunk(&mut start, 0, [&Header::new(SIGNATURE, b"", 0, 0).to_bytes(), b""], 0).unwrap();
        assert_eq!(start, START);
        assert_eq!(Header::parse(&start[24..], 0, true), Ok(Header::new(SIGNATURE, b"", 0, 0)));
    }
}
