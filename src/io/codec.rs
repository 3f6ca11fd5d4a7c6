//! Compression of whole files. gzip and zstd are recognized by their first bytes, zlib by a TFRecord or JSON inside it,
//! or by the extension.

use super::deflate::{Gzip, Threads};
use super::disk::Disk;
use super::members::Members;
use std::fmt;
use std::io::{self, BufReader, Read, Write};
use zstd::zstd_safe::CParameter;

/// A compression of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// `.gz`.
    Gzip,
    /// `.zst`.
    Zstd,
    /// `.zlib`.
    Zlib,
}

/// Extensions of compressed files, in lower case.
const EXTENSIONS: [(&str, Codec); 6] =
    [("gz", Codec::Gzip), ("gzip", Codec::Gzip), ("zst", Codec::Zstd), ("zstd", Codec::Zstd), ("zz", Codec::Zlib), ("zlib", Codec::Zlib)];

/// Bytes that a thread compresses with zstd at a time. Blocks refer to preceding bytes, so files are no larger.
const ZSTD_JOB_BYTES: u32 = 2 << 20;

/// Compressed bytes read at a time.
const BUFFER_BYTES: usize = 128 * 1024;

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Codec::Gzip => "gzip",
            Codec::Zstd => "zstd",
            Codec::Zlib => "zlib",
        })
    }
}

impl Codec {
    /// The compression of a file with these first bytes. A TFRecord has a checksum, so it takes precedence over two or
    /// four bytes that look like a compression. The two bytes of zlib are weak evidence, so it is recognized only
    /// around a TFRecord or JSON.
    pub fn detect(raw: &[u8]) -> Option<Codec> {
        if is_tfrecord(raw) {
            return None;
        }
        match raw {
            [0x1f, 0x8b, 8, ..] => Some(Codec::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Codec::Zstd),
            // A skippable frame, with which parallel compressors start.
            [low, 0x2a, 0x4d, 0x18, ..] if low & 0xf0 == 0x50 => Some(Codec::Zstd),
            _ if starts_as_zlib(raw) && holds_records(raw) => Some(Codec::Zlib),
            _ => None,
        }
    }

    /// Whether more bytes could show that these are the start of zlib data. Twelve bytes of contents decide it, and the tables
    /// before them take less than 1 KiB.
    pub fn may_be_zlib(raw: &[u8]) -> bool {
        raw.len() < 1024 && starts_as_zlib(raw) && !holds_records(raw)
    }

    /// The compression of a file, judging by its first bytes, or by an extension for zlib.
    pub fn of_file(raw: &[u8], name: &str) -> Option<Codec> {
        Codec::detect(raw).or_else(|| (extensions(name).0 == Some(Codec::Zlib) && starts_as_zlib(raw)).then_some(Codec::Zlib))
    }

    /// The decompressed bytes. Compression errors are [`io::Error`]s of this module; see the module `stream`.
    pub fn decoder(self, raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Codec::Gzip => Box::new(Members::gzip(BufReader::with_capacity(BUFFER_BYTES, raw))),
            Codec::Zlib => Box::new(Members::zlib(BufReader::with_capacity(BUFFER_BYTES, raw))),
            Codec::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(BUFFER_BYTES, raw))?),
        })
    }

    /// A compressed file, compressed by separate threads or by the writing thread. The same input gives the same file,
    /// regardless of the number of threads.
    pub fn encoder(self, file: Disk, threads: Threads) -> io::Result<Encoder> {
        Ok(match self {
            Codec::Gzip => Encoder::Gzip(Gzip::new(file, threads)?),
            Codec::Zlib => Encoder::Zlib(flate2::write::ZlibEncoder::new(file, flate2::Compression::default())),
            Codec::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(file, 3)?;
                encoder.include_checksum(true)?;
                if let Threads::Own(n) = threads {
                    // One compression thread produces the same jobs as many, but different bytes than none.
                    encoder.multithread(u32::try_from(n.max(1)).unwrap_or(u32::MAX))?;
                    encoder.set_parameter(CParameter::JobSize(ZSTD_JOB_BYTES))?;
                }
                Encoder::Zstd(encoder)
            }
        })
    }
}

/// A file being compressed.
pub enum Encoder {
    Gzip(Gzip),
    Zlib(flate2::write::ZlibEncoder<Disk>),
    Zstd(zstd::stream::write::Encoder<'static, Disk>),
}

impl Encoder {
    /// Writes a whole block.
    pub fn write_all(&mut self, block: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Gzip(e) => e.write_all(block),
            Encoder::Zlib(e) => e.write_all(block),
            Encoder::Zstd(e) => e.write_all(block),
        }
    }

    /// Ends the compressed stream.
    pub fn finish(self) -> io::Result<Disk> {
        match self {
            Encoder::Gzip(e) => e.finish(),
            Encoder::Zlib(e) => e.finish(),
            Encoder::Zstd(e) => e.finish(),
        }
    }
}

/// The compression indicated by the extension of a file name, and the extension before it. Shard numbers belong to
/// neither: `a.tfrecord-00000-of-00002.gz` is (gzip, `tfrecord`).
pub fn extensions(name: &str) -> (Option<Codec>, Option<String>) {
    let name = name.rsplit('/').next().unwrap_or(name);
    let (stem, mut extension) = split_extension(without_shard(name));
    if extension.as_deref() == Some("tgz") {
        return (Some(Codec::Gzip), Some("tar".to_owned()));
    }
    let codec = EXTENSIONS.iter().find(|(e, _)| Some(*e) == extension.as_deref()).map(|(_, c)| *c);
    if codec.is_some() {
        extension = split_extension(without_shard(stem)).1;
    }
    (codec, extension)
}

/// A name and its extension in lower case. A name that starts with its only dot has no extension.
pub fn split_extension(name: &str) -> (&str, Option<String>) {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && !extension.is_empty() => (stem, Some(extension.to_ascii_lowercase())),
        _ => (name, None),
    }
}

fn without_shard(name: &str) -> &str {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts = name.rsplit_once("-of-").and_then(|(front, n)| Some((front.rsplit_once('-')?, n)));
    match parts {
        Some(((front, i), n)) if digits(i) && digits(n) && !front.is_empty() => front,
        _ => name,
    }
}

/// Whether these bytes start with the header of a TFRecord: the length of the first record and its checksum.
/// <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/lib/io/record_writer.h>
pub fn is_tfrecord(head: &[u8]) -> bool {
    match head {
        [l0, l1, l2, l3, l4, l5, l6, l7, c0, c1, c2, c3, ..] => {
            masked_crc32c(&[*l0, *l1, *l2, *l3, *l4, *l5, *l6, *l7]) == u32::from_le_bytes([*c0, *c1, *c2, *c3])
        }
        _ => false,
    }
}

/// The checksum used in TFRecords.
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Whether these bytes are a zlib header (RFC 1950).
fn starts_as_zlib(raw: &[u8]) -> bool {
    matches!(raw, [method, flags, ..] if method & 0x0f == 8 && method >> 4 <= 7 && u16::from_be_bytes([*method, *flags]) % 31 == 0)
}

/// Whether zlib data starts with a TFRecord or a JSON object.
fn holds_records(raw: &[u8]) -> bool {
    let mut first = Vec::new();
    // The data can be longer than `raw`, so an error after the first bytes is inconclusive.
    let _ = flate2::read::ZlibDecoder::new(raw).take(12).read_to_end(&mut first);
    is_tfrecord(&first) || first.starts_with(b"{\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tfrecord_header(length: u64) -> Vec<u8> {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(masked_crc32c(&length.to_le_bytes()).to_le_bytes());
        bytes
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn leading_bytes_tell_the_compression() {
        let cases: &[(&str, Vec<u8>, Option<Codec>)] = &[
            ("nothing", vec![], None),
            ("json", b"{\"a\": 1}".to_vec(), None),
            ("gzip", vec![0x1f, 0x8b, 8, 0], Some(Codec::Gzip)),
            ("zstd", vec![0x28, 0xb5, 0x2f, 0xfd, 0], Some(Codec::Zstd)),
            ("zstd after a skippable frame", vec![0x50, 0x2a, 0x4d, 0x18], Some(Codec::Zstd)),
            ("a TFRecord whose length looks like gzip", tfrecord_header(0x0008_8b1f), None),
            ("a TFRecord in zlib", zlib(&tfrecord_header(100)), Some(Codec::Zlib)),
            ("a TFRecord of one empty record in zlib", zlib(&tfrecord_header(0)), Some(Codec::Zlib)),
            ("JSON Lines in zlib", zlib(b"{\"a\": 1}\n"), Some(Codec::Zlib)),
            ("something else in zlib", zlib(b"x = 1; y = 2; z = 3"), None),
            ("a text that begins as zlib does", b"x\x9c and so on".to_vec(), None),
        ];
        for (name, bytes, expected) in cases {
            assert_eq!(Codec::detect(bytes), *expected, "{name}");
        }
    }

    #[test]
    fn the_start_of_zlib_data_is_undecided_until_it_holds_a_record() {
        // Many codes make the tables before the first byte long.
        let varied: Vec<u8> = (0..4000u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> (i % 24)).to_le_bytes()).collect();
        let whole = zlib(&[tfrecord_header(16_000), varied].concat());
        let decided = (2..whole.len()).find(|n| !Codec::may_be_zlib(&whole[..*n])).unwrap();
        assert_eq!(Codec::detect(&whole[..decided]), Some(Codec::Zlib), "{decided} bytes");
        assert!(!Codec::may_be_zlib(b"plain text") && !Codec::may_be_zlib(&zlib(&[7; 1 << 20])[..1024]));
    }

    #[test]
    fn extensions_are_those_of_the_format_and_of_compression() {
        for (name, codec, extension) in [
            ("a.jsonl", None, Some("jsonl")),
            ("dir.d/a", None, None),
            (".hidden", None, None),
            ("a.TFRecord.GZ", Some(Codec::Gzip), Some("tfrecord")),
            ("a.zst", Some(Codec::Zstd), None),
            ("a-00000-of-00008.tgz", Some(Codec::Gzip), Some("tar")),
            ("x/a-00000-of-00008.parquet", None, Some("parquet")),
            ("a.tfrecord-00000-of-00008", None, Some("tfrecord")),
            ("a.tfrecord-00000-of-00008.gz", Some(Codec::Gzip), Some("tfrecord")),
            ("a.tfrecord.gz-00000-of-00008", Some(Codec::Gzip), Some("tfrecord")),
        ] {
            assert_eq!(extensions(name), (codec, extension.map(str::to_owned)), "{name}");
        }
    }
}
