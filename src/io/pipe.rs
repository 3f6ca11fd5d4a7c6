//! A stream that can be read once, made readable again as far as it is remembered.
//!
//! Types of a pipe are inferred from its first bytes, and the run then reads it from the start. The bytes read are kept
//! in blocks, returned again by the next [`Pipe::open`], and freed on the way.

use crate::error::{Error, Kind, Result};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes kept in one block.
const BLOCK_BYTES: usize = 1 << 20;

/// See the module documentation.
pub struct Pipe {
    name: Arc<str>,
    state: Arc<Mutex<PipeState>>,
}

struct PipeState {
    live: Box<dyn Read + Send>,
    kept: VecDeque<Vec<u8>>,
    kept_bytes: u64,
    /// Maximum number of bytes kept; 0 for none.
    limit: u64,
    /// Whether bytes have been returned without being kept.
    lost: bool,
    /// Number of streams opened; only the last one may read.
    opened: u64,
}

impl Pipe {
    /// A pipe of which `head` has already been read.
    pub fn new(name: Arc<str>, head: Vec<u8>, live: Box<dyn Read + Send>) -> Pipe {
        let kept_bytes = head.len() as u64;
        let kept = if head.is_empty() { VecDeque::new() } else { VecDeque::from([head]) };
        Pipe { name, state: Arc::new(Mutex::new(PipeState { live, kept, kept_bytes, limit: 0, lost: false, opened: 0 })) }
    }

    /// Sets the number of bytes that streams keep.
    pub fn remember(&self, nbytes: u64) {
        lock(&self.state).limit = nbytes;
    }

    /// The bytes from the start.
    ///
    /// # Errors
    /// The start is gone: it was read without being remembered, or exceeded the limit.
    pub fn open(&self) -> Result<Box<dyn Read + Send>> {
        let mut state = lock(&self.state);
        if state.lost {
            return Err(Error::new(Kind::Io, "can be read only once")
                .in_input(self.name.clone())
                .help("write it to a file first, and read the file"));
        }
        state.opened += 1;
        Ok(Box::new(Stream { state: self.state.clone(), number: state.opened, block: 0, offset: 0 }))
    }
}

struct Stream {
    state: Arc<Mutex<PipeState>>,
    number: u64,
    block: usize,
    offset: usize,
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        if self.number != state.opened {
            return Err(io::Error::other("the pipe is read by another stream"));
        }
        if into.is_empty() {
            return Ok(0);
        }
        let keeps = state.limit > 0 && !state.lost;
        if let Some(block) = state.kept.get(self.block) {
            let rest = &block[self.offset..];
            let nbytes = rest.len().min(into.len());
            into[..nbytes].copy_from_slice(&rest[..nbytes]);
            self.offset += nbytes;
            state.lost |= !keeps;
            if self.offset == block.len() {
                self.offset = 0;
                if keeps {
                    self.block += 1;
                } else if let Some(block) = state.kept.remove(self.block) {
                    state.kept_bytes -= block.len() as u64;
                }
            }
            return Ok(nbytes);
        }
        let nbytes = state.live.read(into)?;
        if nbytes == 0 {
            return Ok(0);
        }
        if keeps && state.kept_bytes + nbytes as u64 <= state.limit {
            state.keep(&into[..nbytes]);
            self.block = state.kept.len();
        } else {
            state.lost = true;
            state.kept.clear();
            state.kept_bytes = 0;
            self.block = 0;
        }
        Ok(nbytes)
    }
}

impl PipeState {
    fn keep(&mut self, bytes: &[u8]) {
        self.kept_bytes += bytes.len() as u64;
        match self.kept.back_mut() {
            Some(last) if last.capacity() - last.len() >= bytes.len() => last.extend_from_slice(bytes),
            _ => {
                let mut block = Vec::with_capacity(bytes.len().max(BLOCK_BYTES));
                block.extend_from_slice(bytes);
                self.kept.push_back(block);
            }
        }
    }
}

fn lock(state: &Mutex<PipeState>) -> MutexGuard<'_, PipeState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pipe: &Pipe) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        pipe.open()?.read_to_end(&mut bytes).map_err(|e| Error::io("pipe", "cannot read", &e))?;
        Ok(bytes)
    }

    fn of(head: &[u8], rest: &'static [u8]) -> Pipe {
        Pipe::new("pipe".into(), head.to_vec(), Box::new(rest))
    }

    fn assert_gone(pipe: &Pipe) {
        assert!(pipe.open().err().unwrap().to_string().starts_with("pipe: can be read only once"));
    }

    #[test]
    fn what_was_not_remembered_is_gone() {
        let pipe = of(b"ab", b"cd");
        assert_eq!(all(&pipe).unwrap(), b"abcd");
        assert_gone(&pipe);
    }

    #[test]
    fn what_was_remembered_is_given_again() {
        let pipe = of(b"ab", b"cdefgh");
        pipe.remember(100);
        let mut four = [0; 4];
        pipe.open().unwrap().read_exact(&mut four).unwrap();
        assert_eq!(&four, b"abcd");
        assert_eq!(all(&pipe).unwrap(), b"abcdefgh");
        pipe.remember(0);
        assert_eq!(all(&pipe).unwrap(), b"abcdefgh", "once more");
        assert_gone(&pipe);
    }

    #[test]
    fn nothing_is_given_again_if_more_was_read_than_may_be_remembered() {
        let pipe = of(b"ab", b"cdefgh");
        pipe.remember(5);
        assert_eq!(all(&pipe).unwrap(), b"abcdefgh");
        assert_gone(&pipe);
    }

    #[test]
    fn only_the_last_stream_reads() {
        let pipe = of(b"ab", b"cd");
        pipe.remember(100);
        let mut first = pipe.open().unwrap();
        let _second = pipe.open().unwrap();
        assert!(first.read(&mut [0; 2]).is_err());
    }
}
