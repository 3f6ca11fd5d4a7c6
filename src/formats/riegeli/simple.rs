//! A simple chunk: the sizes of the records and their bytes, each compressed as a whole.

use super::block::Damage;
use super::header::Header;
use crate::error::{Error, Result};
use crate::wire::{VARINT_NBYTES, split_varint, varint};
use std::io::Read;
use std::ops::Range;

/// Base-two logarithm of the Zstandard window, which is that of ArrayRecord.
const WINDOW_LOG: u32 = 20;

/// How chunks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    None,
    Snappy,
    /// Zstandard at this level.
    Zstd(i32),
}

impl Codec {
    /// In the syntax of ArrayRecord's writer options.
    pub fn option(self) -> String {
        match self {
            Codec::None => "uncompressed".to_owned(),
            Codec::Snappy => "snappy".to_owned(),
            Codec::Zstd(level) => format!("zstd:{level},window_log:{WINDOW_LOG}"),
        }
    }

    fn tag(self) -> u8 {
        match self {
            Codec::None => 0,
            Codec::Snappy => b's',
            Codec::Zstd(_) => b'z',
        }
    }
}

/// Compresses buffers.
pub struct Packer {
    codec: Codec,
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl Packer {
    /// # Errors
    /// Only internal errors.
    pub fn new(codec: Codec) -> Result<Packer> {
        let failed = |e: std::io::Error| Error::internal(format!("zstd: {e}"));
        let zstd = match codec {
            Codec::Zstd(level) => {
                let mut zstd = zstd::bulk::Compressor::new(level).map_err(failed)?;
                zstd.set_parameter(zstd::zstd_safe::CParameter::WindowLog(WINDOW_LOG)).map_err(failed)?;
                Some(zstd)
            }
            _ => None,
        };
        Ok(Packer { codec, zstd })
    }

    /// The data of a chunk: `sizes` are the varints of the sizes of its records, `values` their bytes.
    ///
    /// # Errors
    /// A record has more bytes than Snappy supports.
    pub fn pack(&mut self, sizes: &[u8], values: &[u8]) -> Result<Vec<u8>> {
        let (sizes, values) = (self.compress(sizes)?, self.compress(values)?);
        let mut data = Vec::with_capacity(sizes.len() + values.len() + 11);
        data.push(self.codec.tag());
        varint(&mut data, sizes.len() as u64);
        data.extend_from_slice(&sizes);
        data.extend_from_slice(&values);
        Ok(data)
    }

    fn compress(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        if self.codec == Codec::None {
            return Ok(bytes.to_vec());
        }
        let compressed = match &mut self.zstd {
            Some(zstd) => zstd.compress(bytes).map_err(|e| Error::internal(format!("zstd: {e}")))?,
            None => snap::raw::Encoder::new()
                .compress_vec(bytes)
                .map_err(|e| Error::data(format!("a chunk is too large for snappy: {e}")).help("write --compression zstd"))?,
        };
        let mut out = Vec::with_capacity(compressed.len() + VARINT_NBYTES);
        varint(&mut out, bytes.len() as u64);
        out.extend_from_slice(&compressed);
        Ok(out)
    }
}

/// The sizes of records, added one by one.
#[derive(Default)]
pub struct Sizes {
    /// The sizes as varints.
    pub bytes: Vec<u8>,
    /// Number of sizes.
    pub nrecords: u64,
}

impl Sizes {
    pub fn push(&mut self, size: usize) {
        varint(&mut self.bytes, size as u64);
        self.nrecords += 1;
    }
}

/// Decompresses chunks.
#[derive(Default)]
pub struct Unpacker {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Unpacker {
    /// Decompresses the records of a chunk: appends their bytes to `values`, and returns the range of each. Sizes are
    /// checked before memory is allocated; the caller has checked those in the header.
    pub fn unpack(&mut self, header: &Header, data: &[u8], values: &mut Vec<u8>) -> Result<Vec<Range<usize>>, Damage> {
        let damaged = |what: &str| Damage::new(0, what.to_owned());
        let (codec, rest) = data.split_first().ok_or_else(|| damaged("the chunk has no data"))?;
        let (sizes_size, rest) =
            read_varint(rest).ok_or_else(|| damaged("the chunk ends in the middle of the length of its list of sizes"))?;
        let sizes_size = usize::try_from(sizes_size).ok().filter(|n| *n <= rest.len());
        let (sizes, rest) = rest.split_at(sizes_size.ok_or_else(|| damaged("the sizes of the records extend beyond the chunk"))?);
        let mut plain_sizes = Vec::new();
        self.inflate(*codec, sizes, header.nrecords..=header.nrecords.saturating_mul(VARINT_NBYTES as u64), &mut plain_sizes)?;
        let start = values.len();
        self.inflate(*codec, rest, header.decoded_size..=header.decoded_size, values)?;
        let mut ranges = Vec::with_capacity(header.nrecords as usize);
        let (mut at, mut left) = (start, plain_sizes.as_slice());
        for _ in 0..header.nrecords {
            let (size, after) = read_varint(left).ok_or_else(|| damaged("there are fewer sizes than records"))?;
            let end = usize::try_from(size).ok().and_then(|size| at.checked_add(size)).filter(|end| *end <= values.len());
            let end = end.ok_or_else(|| damaged("the records are larger than their chunk"))?;
            ranges.push(at..end);
            (at, left) = (end, after);
        }
        if !left.is_empty() || at != values.len() {
            return Err(damaged("the sizes of the records do not add up to the size of the chunk"));
        }
        Ok(ranges)
    }

    /// Appends the contents of a buffer, whose size must be one of these.
    fn inflate(&mut self, codec: u8, bytes: &[u8], sizes: std::ops::RangeInclusive<u64>, out: &mut Vec<u8>) -> Result<(), Damage> {
        let damaged = |what: String| Damage::new(0, what);
        let (size, bytes) = match codec {
            0 => (bytes.len() as u64, bytes),
            _ => read_varint(bytes).ok_or_else(|| damaged("the chunk ends in the middle of a size".to_owned()))?,
        };
        let Some(n) = usize::try_from(size).ok().filter(|_| sizes.contains(&size)) else {
            return Err(damaged(format!("found {size} bytes, but its header says {}", sizes.end())));
        };
        let start = out.len();
        let result = match codec {
            0 => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            b'z' => self.zstd(bytes, n, out),
            b's' => match snap::raw::decompress_len(bytes) {
                Ok(found) if found == n => {
                    out.resize(start + n, 0);
                    snap::raw::Decoder::new().decompress(bytes, &mut out[start..]).map(drop).map_err(|e| e.to_string())
                }
                Ok(found) => Err(format!("found {found} bytes instead of {n}")),
                Err(e) => Err(e.to_string()),
            },
            b'b' => {
                let decoder = brotli_decompressor::Decompressor::new(bytes, 4096);
                decoder.take(size.saturating_add(1)).read_to_end(out).map(drop).map_err(|e| e.to_string())
            }
            other => Err(format!("unknown compression {other:#04x}: expected none, brotli, zstd or snappy")),
        };
        result.map_err(|e| damaged(format!("it cannot be decompressed: {e}")))?;
        match out.len() - start {
            found if found == n => Ok(()),
            found => Err(damaged(format!("it decompresses to {found} bytes or more instead of {n}"))),
        }
    }

    fn zstd(&mut self, bytes: &[u8], n: usize, out: &mut Vec<u8>) -> Result<(), String> {
        let decoder = match &mut self.zstd {
            Some(decoder) => decoder,
            None => self.zstd.insert(zstd::bulk::Decompressor::new().map_err(|e| e.to_string())?),
        };
        let start = out.len();
        out.resize(start + n, 0);
        let found = decoder.decompress_to_buffer(bytes, &mut out[start..]).map_err(|e| e.to_string())?;
        out.truncate(start + found);
        Ok(())
    }
}

/// Parses a varint, and returns the rest. Rejects integers of more than 64 bits, as Riegeli does.
fn read_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    // The tenth byte has room for only one bit.
    split_varint(bytes).filter(|(_, rest)| bytes.len() - rest.len() < VARINT_NBYTES || bytes[VARINT_NBYTES - 1] <= 1)
}

#[cfg(test)]
mod tests {
    use super::super::header::SIMPLE;
    use super::*;

    #[test]
    fn records_are_packed_and_unpacked() {
        let records: [&[u8]; 5] = [b"", b"abc", b"", &[7; 300], b"x"];
        let mut sizes = Sizes::default();
        records.iter().for_each(|record| sizes.push(record.len()));
        for codec in [Codec::None, Codec::Snappy, Codec::Zstd(3)] {
            let values = records.concat();
            let data = Packer::new(codec).unwrap().pack(&sizes.bytes, &values).unwrap();
            let header = Header::new(SIMPLE, &data, sizes.nrecords, values.len() as u64);
            let mut found = b"before".to_vec();
            let ranges = Unpacker::default().unpack(&header, &data, &mut found).unwrap();
            assert_eq!(ranges.iter().map(|range| &found[range.clone()]).collect::<Vec<_>>(), records, "{codec:?}");
            for wrong in [Header { nrecords: 4, ..header }, Header { nrecords: 6, ..header }, Header { decoded_size: 303, ..header }] {
                assert!(Unpacker::default().unpack(&wrong, &data, &mut Vec::new()).is_err(), "{codec:?} {wrong:?}");
            }
        }
    }

    #[test]
    fn varints_of_more_than_64_bits_are_refused() {
        assert_eq!(read_varint(&[0x80, 1, 9]), Some((128, &[9][..])));
        assert_eq!(read_varint(&[0xff; 9]), None);
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(read_varint(&most), Some((u64::MAX, &[][..])));
        most[9] = 2;
        assert_eq!(read_varint(&most), None);
    }
}
