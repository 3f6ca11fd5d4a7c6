//! Blocks of 64 KiB. A chunk continues after the header of each block that it crosses.

use crate::error::Message;
use highway::{HighwayHash, HighwayHasher, Key};
use std::io::{self, Write};

/// Bytes of a block.
pub const BLOCK: u64 = 1 << 16;
/// Size of its header: a hash, and the distances to the start and end of the interrupted chunk.
const HEADER: u64 = 24;
const USABLE: u64 = BLOCK - HEADER;

/// An error in the bytes of a file, and its offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub at: u64,
    pub what: Message,
}

impl Damage {
    pub fn new(at: u64, what: impl Into<Message>) -> Damage {
        Damage { at, what: what.into() }
    }
}

/// The hash for headers and data.
pub fn hash(bytes: &[u8]) -> u64 {
    // "Riegeli/records\n", twice.
    const KEY: [u64; 4] = [0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572, 0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572];
    HighwayHasher::new(Key(KEY)).hash64(bytes)
}

/// The end of a chunk that starts at `begin`, has `nbytes` bytes including its header, and holds `nrecords`; `None` if
/// it exceeds any file.
pub fn chunk_end(begin: u64, nbytes: u64, nrecords: u64) -> Option<u64> {
    let headers = nbytes.checked_add((begin % BLOCK + USABLE - 1) % BLOCK)? / USABLE;
    let by_bytes = begin.checked_add(nbytes)?.checked_add(headers.checked_mul(HEADER)?)?;
    // Every record has a distinct number among the bytes of its chunk.
    let by_records = begin.checked_add(nrecords)?;
    let left = (BLOCK - by_records % BLOCK) % BLOCK;
    Some(by_bytes.max(by_records.checked_add(left.saturating_sub(USABLE - 1))?))
}

/// Extracts the first `nbytes` bytes of the chunk at `begin..end` from its blocks, given their bytes in `blocks`. With
/// `verify`, checks the block headers, and that zeros follow the chunk.
pub fn unblock(blocks: &[u8], begin: u64, end: u64, nbytes: u64, verify: bool, out: &mut Vec<u8>) -> Result<(), Damage> {
    let (mut rest, mut at, mut left) = (blocks, begin, nbytes);
    let short = || Damage::new(begin, "the file ends in the middle of a chunk");
    while at < end {
        if at.is_multiple_of(BLOCK) {
            let (header, after) = rest.split_first_chunk::<{ HEADER as usize }>().ok_or_else(short)?;
            if verify && *header != block_header(at - begin, end - at) {
                return Err(Damage::new(at, "the header of the block is damaged"));
            }
            rest = after;
            at += HEADER;
            continue;
        }
        let n = (BLOCK - at % BLOCK).min(end - at);
        let (here, after) = rest.split_at_checked(n as usize).ok_or_else(short)?;
        let (data, padding) = here.split_at(left.min(n) as usize);
        out.extend_from_slice(data);
        if verify && padding.iter().any(|byte| *byte != 0) {
            return Err(Damage::new(at, "the padding after the chunk contains bytes other than zero"));
        }
        left -= data.len() as u64;
        rest = after;
        at += n;
    }
    if left == 0 { Ok(()) } else { Err(short()) }
}

/// The first `nbytes` bytes of a chunk whose end is not known yet.
pub fn peek(blocks: &[u8], begin: u64, nbytes: u64) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(nbytes as usize);
    unblock(blocks, begin, chunk_end(begin, nbytes, 0)?, nbytes, false, &mut out).ok()?;
    Some(out)
}

/// Writes a chunk at `begin`, with block headers and the padding after it. Returns its end.
pub fn write_chunk(out: &mut dyn Write, begin: u64, parts: [&[u8]; 2], nrecords: u64) -> io::Result<u64> {
    let nbytes = parts.iter().map(|part| part.len() as u64).sum();
    let end = chunk_end(begin, nbytes, nrecords).ok_or(io::ErrorKind::FileTooLarge)?;
    let mut at = begin;
    let put = |out: &mut dyn Write, at: &mut u64, mut bytes: &[u8]| {
        while !bytes.is_empty() {
            if at.is_multiple_of(BLOCK) {
                out.write_all(&block_header(*at - begin, end - *at))?;
                *at += HEADER;
            }
            let n = bytes.len().min((BLOCK - *at % BLOCK) as usize);
            out.write_all(&bytes[..n])?;
            (bytes, *at) = (&bytes[n..], *at + n as u64);
        }
        io::Result::Ok(())
    };
    put(out, &mut at, parts[0])?;
    put(out, &mut at, parts[1])?;
    let zeros = [0; 4096];
    while at < end {
        if at.is_multiple_of(BLOCK) {
            out.write_all(&block_header(at - begin, end - at))?;
            at += HEADER;
        } else {
            let n = (end - at).min(BLOCK - at % BLOCK).min(zeros.len() as u64);
            out.write_all(&zeros[..n as usize])?;
            at += n;
        }
    }
    Ok(end)
}

/// The data size of the padding chunk that ends at the end of the block, if one is needed; `header` is the size of a
/// chunk header.
pub fn padding_nbytes(at: u64, header: u64) -> Option<u64> {
    let left = (BLOCK - at % BLOCK) % BLOCK;
    match left {
        0 => None,
        left if left < header => Some(left + USABLE - header),
        left => Some(left - header),
    }
}

/// The header of a block that is `before` bytes after the start of a chunk and `after` bytes before its end.
fn block_header(before: u64, after: u64) -> [u8; HEADER as usize] {
    let mut header = [0; HEADER as usize];
    header[8..16].copy_from_slice(&before.to_le_bytes());
    header[16..].copy_from_slice(&after.to_le_bytes());
    let hash = hash(&header[8..]);
    header[..8].copy_from_slice(&hash.to_le_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_go_through_blocks_and_back() {
        for begin in [0, 64, 65_500, 65_535, 65_536, 131_000] {
            for nbytes in [40, 41, 65_512, 65_513, 200_000] {
                for nrecords in [0, 1, 70_000] {
                    let header: Vec<u8> = (0..40).collect();
                    let data: Vec<u8> = (0..nbytes - 40).map(|i: u32| i as u8 | 1).collect();
                    let mut blocks = Vec::new();
                    let end = write_chunk(&mut blocks, begin, [&header, &data], nrecords).unwrap();
                    assert_eq!(end, begin + blocks.len() as u64);
                    assert!(
                        end - begin >= nrecords && (end.is_multiple_of(BLOCK) || end % BLOCK > HEADER),
                        "{begin} {nbytes} {nrecords}: {end}"
                    );
                    let mut back = Vec::new();
                    unblock(&blocks, begin, end, u64::from(nbytes), true, &mut back).unwrap();
                    assert_eq!(back, [header.clone(), data].concat());
                    assert_eq!(peek(&blocks, begin, 40), Some(header));
                }
            }
        }
    }
}
