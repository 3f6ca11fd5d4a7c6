//! Builds chunks from records taken from several streams of chunks, in any order.

use super::Chunk;
use crate::error::{Error, Result};

/// The current chunk of each stream, and the records selected for the next chunk.
///
/// ```text
/// stream 0   a b c        record(0, 0) record(1, 0) record(0, 1)   ->   a x b
/// stream 1   x y
/// ```
#[derive(Debug)]
pub struct Weave {
    streams: Vec<Stream>,
    /// The chunks from which records were taken.
    parts: Vec<Chunk>,
    positions: Vec<(usize, usize)>,
    /// Approximate bytes of the records taken.
    nbytes: usize,
}

#[derive(Debug, Default)]
struct Stream {
    chunk: Option<Chunk>,
    /// Approximate bytes per record.
    row_nbytes: usize,
    /// Its index among the parts, after a record has been taken from it.
    part: Option<usize>,
}

impl Weave {
    /// Streams without chunks.
    pub fn new(streams: usize) -> Weave {
        let streams = std::iter::repeat_with(Stream::default).take(streams).collect();
        Weave { streams, parts: Vec::new(), positions: Vec::new(), nbytes: 0 }
    }

    /// Sets the current chunk of a stream.
    pub fn set(&mut self, stream: usize, chunk: Option<Chunk>) {
        if let Some(stream) = self.streams.get_mut(stream) {
            let row_nbytes = chunk.as_ref().map_or(0, |chunk| chunk.nbytes() / chunk.nrows.max(1));
            *stream = Stream { chunk, row_nbytes, part: None };
        }
    }

    /// Takes a record of the stream's current chunk.
    ///
    /// # Errors
    /// The stream has no chunk, which is a bug.
    pub fn record(&mut self, stream: usize, row: usize) -> Result<()> {
        let missing = || Error::internal("a record of a stream without a chunk");
        let stream = self.streams.get_mut(stream).ok_or_else(missing)?;
        let part = match stream.part {
            Some(part) => part,
            None => {
                self.parts.push(stream.chunk.clone().ok_or_else(missing)?);
                *stream.part.insert(self.parts.len() - 1)
            }
        };
        self.nbytes += stream.row_nbytes;
        self.positions.push((part, row));
        Ok(())
    }

    /// Number of records taken so far.
    pub fn nrows(&self) -> usize {
        self.positions.len()
    }

    /// Approximate bytes of the records taken so far.
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// Number of chunks they were taken from.
    pub fn nparts(&self) -> usize {
        self.parts.len()
    }

    /// A deferred chunk of the records taken so far, which any thread can build; `None` if there are none.
    pub fn take(&mut self) -> Option<impl FnOnce() -> Result<Chunk> + Send + 'static> {
        self.streams.iter_mut().for_each(|stream| stream.part = None);
        self.nbytes = 0;
        let (parts, positions) = (std::mem::take(&mut self.parts), std::mem::take(&mut self.positions));
        (!positions.is_empty()).then_some(move || Chunk::interleave(&parts, &positions))
    }
}
