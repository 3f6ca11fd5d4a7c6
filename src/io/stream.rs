//! The bytes of an input: counted as they arrive, decompressed, and with errors that name the input.

use super::ahead::Ahead;
use super::codec::Codec;
use super::recognise::decoding_error;
use crate::error::{Error, Kind, Result};
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Properties of an input needed by its streams.
#[derive(Clone)]
pub struct About {
    pub name: Arc<str>,
    /// Bytes read so far, as stored on disk, for progress.
    pub consumed: Arc<AtomicU64>,
    /// Number of threads of the run; with one thread, nothing is decompressed ahead.
    pub nthreads: usize,
}

impl About {
    /// Decompresses raw bytes. Plain bytes are passed through without copying.
    ///
    /// # Errors
    /// The decompressor cannot be created.
    pub fn stream(&self, raw: impl Read + Send + 'static, codec: Option<Codec>) -> Result<Box<dyn Read + Send>> {
        let raw = Raw { raw, name: self.name.clone(), consumed: self.consumed.clone() };
        let Some(codec) = codec else {
            return Ok(Box::new(raw));
        };
        let decoder = codec.decoder(raw).map_err(|e| decoding_error(codec, &self.name, 0, &e))?;
        Ok(Box::new(Decoded { decoder: Ahead::new(decoder, self.nthreads), codec, about: self.clone(), nbytes: 0 }))
    }
}

/// Bytes as stored on disk or read from the pipe.
struct Raw<R> {
    raw: R,
    name: Arc<str>,
    consumed: Arc<AtomicU64>,
}

impl<R: Read> Read for Raw<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.raw.read(into) {
                Ok(nbytes) => {
                    self.consumed.fetch_add(nbytes as u64, Ordering::Relaxed);
                    return Ok(nbytes);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::io(&self.name, "cannot read", &e).into()),
            }
        }
    }
}

/// A regular file. Truncation while it is being read is an error, because its last records would be lost silently.
pub struct Regular {
    file: File,
    name: Arc<str>,
    /// Bytes present when it was opened that have not been read.
    left: u64,
}

impl Regular {
    /// Starts at the beginning of a file of that size.
    pub fn new(file: File, nbytes: u64, name: Arc<str>) -> Regular {
        Regular { file, name, left: nbytes }
    }
}

impl Read for Regular {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let nbytes = self.file.read(into)?;
        self.left = self.left.saturating_sub(nbytes as u64);
        if nbytes == 0 && self.left > 0 && !into.is_empty() {
            return Err(became_shorter(self.left).in_input(self.name.clone()).into());
        }
        Ok(nbytes)
    }
}

/// The error for a file that has been truncated since it was opened.
pub fn became_shorter(nbytes: u64) -> Error {
    Error::new(Kind::Io, format!("the file was truncated while it was being read: its last {nbytes} bytes are missing"))
}

/// Decompressed bytes.
struct Decoded {
    decoder: Ahead,
    codec: Codec,
    about: About,
    nbytes: u64,
}

impl Read for Decoded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let name = &self.about.name;
        let nbytes = self.decoder.read(into).map_err(|e| decoding_error(self.codec, name, self.nbytes, &e))?;
        self.nbytes += nbytes as u64;
        Ok(nbytes)
    }
}

/// Reads until `head` has `limit` bytes, the stream ends, or `enough` is satisfied. Bytes read before an error remain
/// in `head`.
pub fn fill(stream: &mut dyn Read, head: &mut Vec<u8>, limit: usize, enough: impl Fn(&[u8]) -> bool) -> io::Result<()> {
    let mut filled = head.len();
    head.resize(limit.max(filled), 0);
    let mut result = Ok(());
    while filled < limit && !(filled > 0 && enough(&head[..filled])) {
        match stream.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(nbytes) => filled += nbytes,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => {
                result = Err(e);
                break;
            }
        }
    }
    head.truncate(filled);
    head.shrink_to_fit();
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_becomes_shorter_is_not_taken_for_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.x");
        std::fs::write(&path, "0123456789").unwrap();
        let mut file = Regular::new(File::open(&path).unwrap(), 10, "a.x".into());
        let mut half = [0; 5];
        file.read_exact(&mut half).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(7).unwrap();
        let error = file.read_to_end(&mut Vec::new()).unwrap_err();
        let message = "a.x: the file was truncated while it was being read: its last 3 bytes are missing";
        assert_eq!(Error::io("a.x", "cannot read", &error).to_string(), message);
        // A file that has grown is read to its new end.
        let mut file = Regular::new(File::open(&path).unwrap(), 3, "a.x".into());
        assert_eq!(file.read_to_end(&mut Vec::new()).unwrap(), 7);
    }
}
