//! Compression of pages.

use crate::error::{Error, Result};
use flate2::write::GzEncoder;
use parquet::basic::Compression;
use std::io::Write;

/// A codec, with its working memory.
pub struct Codec {
    encoder: Encoder,
    /// Room for the largest result that a page can have. These encoders write to initialized memory only, and results that
    /// keep such a buffer each would fill memory with zeros.
    room: Vec<u8>,
    /// A buffer for the page being assembled, which serves all columns.
    pub body: Vec<u8>,
}

enum Encoder {
    None,
    Snappy(Box<snap::raw::Encoder>),
    Gzip(u32),
    Lz4,
    Zstd(Box<zstd::bulk::Compressor<'static>>),
}

impl Codec {
    /// # Errors
    /// The codec cannot be written.
    pub fn new(compression: Compression) -> Result<Codec> {
        let encoder = match compression {
            Compression::UNCOMPRESSED => Encoder::None,
            Compression::SNAPPY => Encoder::Snappy(Box::new(snap::raw::Encoder::new())),
            Compression::GZIP(level) => Encoder::Gzip(level.compression_level()),
            Compression::LZ4_RAW => Encoder::Lz4,
            Compression::ZSTD(level) => {
                Encoder::Zstd(Box::new(zstd::bulk::Compressor::new(level.compression_level()).map_err(|e| failed(&e))?))
            }
            _ => return Err(Error::internal("a codec that is not written")),
        };
        Ok(Codec { encoder, room: Vec::new(), body: Vec::new() })
    }

    /// Compresses a page.
    ///
    /// # Errors
    /// The codec fails.
    pub fn compress(&mut self, page: &[u8]) -> Result<Vec<u8>> {
        match &mut self.encoder {
            Encoder::None => Ok(page.to_vec()),
            Encoder::Snappy(encoder) => {
                let room = at_least(&mut self.room, snap::raw::max_compress_len(page.len()));
                let n = encoder.compress(page, room).map_err(|e| failed(&e))?;
                Ok(room[..n].to_vec())
            }
            Encoder::Gzip(level) => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::new(*level));
                encoder.write_all(page).and_then(|()| encoder.finish()).map_err(|e| failed(&e))
            }
            Encoder::Lz4 => {
                let room = at_least(&mut self.room, lz4_flex::block::get_maximum_output_size(page.len()));
                let n = lz4_flex::block::compress_into(page, room).map_err(|e| failed(&e))?;
                Ok(room[..n].to_vec())
            }
            Encoder::Zstd(compressor) => compressor.compress(page).map_err(|e| failed(&e)),
        }
    }
}

/// The buffer, enlarged to this size if it is smaller.
fn at_least(room: &mut Vec<u8>, size: usize) -> &mut [u8] {
    if room.len() < size {
        room.resize(size, 0);
    }
    room
}

fn failed(error: &dyn std::error::Error) -> Error {
    Error::internal(format!("compression failed: {error}"))
}
