//! Records taken from several streams of chunks in any order, woven into chunks.

use super::Chunk;
use crate::error::{Error, Result};

/// The current chunk of each stream, and which of their records make the next chunk.
///
/// ```text
/// stream 0   a b c        record(0, 0) record(1, 0) record(0, 1)   ->   a x b
/// stream 1   x y
/// ```
#[derive(Debug)]
pub struct Weave {
    streams: Vec<Stream>,
    /// The chunks that records were taken of.
    parts: Vec<Chunk>,
    positions: Vec<(usize, usize)>,
    /// Bytes of the records taken, about.
    nbytes: usize,
}

#[derive(Debug, Default)]
struct Stream {
    chunk: Option<Chunk>,
    /// Bytes of one of its records, about.
    row_nbytes: usize,
    /// Its number among the parts, once a record was taken of it.
    part: Option<usize>,
}

impl Weave {
    /// Streams without chunks.
    pub fn new(streams: usize) -> Weave {
        let streams = std::iter::repeat_with(Stream::default).take(streams).collect();
        Weave { streams, parts: Vec::new(), positions: Vec::new(), nbytes: 0 }
    }

    /// From now on records of that stream are those of this chunk.
    pub fn set(&mut self, stream: usize, chunk: Option<Chunk>) {
        if let Some(stream) = self.streams.get_mut(stream) {
            let row_nbytes = chunk.as_ref().map_or(0, |chunk| chunk.nbytes() / chunk.nrows.max(1));
            *stream = Stream { chunk, row_nbytes, part: None };
        }
    }

    /// Takes a record of the stream's chunk.
    ///
    /// # Errors
    /// The stream has no chunk (a bug).
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

    /// Records taken so far.
    pub fn nrows(&self) -> usize {
        self.positions.len()
    }

    /// Bytes of the records taken so far, about.
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// How many chunks they were taken of.
    pub fn nparts(&self) -> usize {
        self.parts.len()
    }

    /// What makes a chunk of the records taken so far, on any thread; `None` if there are none.
    pub fn take(&mut self) -> Option<impl FnOnce() -> Result<Chunk> + Send + 'static> {
        self.streams.iter_mut().for_each(|stream| stream.part = None);
        self.nbytes = 0;
        let (parts, positions) = (std::mem::take(&mut self.parts), std::mem::take(&mut self.positions));
        (!positions.is_empty()).then_some(move || Chunk::interleave(&parts, &positions))
    }
}
