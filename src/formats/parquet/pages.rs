//! File access for the parquet crate.

use crate::formats::columnar::source::Source;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, BufReader, Read};

/// Reads sequentially from a position.
pub struct PageCursor {
    source: Source,
    at: u64,
}

impl Read for PageCursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read_at(buffer, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.nbytes()
    }
}

impl ChunkReader for Source {
    type T = BufReader<PageCursor>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(PageCursor { source: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.bytes(start, length).map(Bytes::from).map_err(|e| ParquetError::External(Box::new(e)))
    }
}
