//! Compression of pages.

use crate::error::{Error, Result};
use flate2::write::GzEncoder;
use parquet::basic::Compression;
use std::io::Write;

/// A codec, with its working memory.
pub enum Codec {
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
        Ok(match compression {
            Compression::UNCOMPRESSED => Codec::None,
            Compression::SNAPPY => Codec::Snappy(Box::new(snap::raw::Encoder::new())),
            Compression::GZIP(level) => Codec::Gzip(level.compression_level()),
            Compression::LZ4_RAW => Codec::Lz4,
            Compression::ZSTD(level) => {
                Codec::Zstd(Box::new(zstd::bulk::Compressor::new(level.compression_level()).map_err(|e| failed(&e))?))
            }
            _ => return Err(Error::internal("a codec that is not written")),
        })
    }

    /// Compresses a page.
    ///
    /// # Errors
    /// The codec fails.
    pub fn compress(&mut self, page: &[u8]) -> Result<Vec<u8>> {
        match self {
            Codec::None => Ok(page.to_vec()),
            Codec::Snappy(encoder) => encoder.compress_vec(page).map_err(|e| failed(&e)),
            Codec::Gzip(level) => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::new(*level));
                encoder.write_all(page).and_then(|()| encoder.finish()).map_err(|e| failed(&e))
            }
            Codec::Lz4 => Ok(lz4_flex::block::compress(page)),
            Codec::Zstd(compressor) => compressor.compress(page).map_err(|e| failed(&e)),
        }
    }
}

fn failed(error: &dyn std::error::Error) -> Error {
    Error::internal(format!("compression failed: {error}"))
}
