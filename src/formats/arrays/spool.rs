//! Arrays that grow side by side before they are written in sequence: in memory while they are small, otherwise in a
//! temporary file next to the output.

use crate::error::{Error, Result};
use crate::io::scratch;
use crate::options::Options;
use arrow_buffer::Buffer;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

/// Total bytes of all arrays held in memory.
const HELD_NBYTES: usize = 32 << 20;
/// Shorter pieces are copied together.
const SMALL_NBYTES: usize = 64 << 10;
/// Bytes copied out at a time.
const COPY_NBYTES: u64 = 1 << 20;

/// The bytes of several arrays.
pub struct Spool {
    options: Options,
    file: Option<File>,
    /// Bytes in the file.
    end: u64,
    held: usize,
    bodies: Vec<Body>,
}

/// The bytes of one array: those in the file, followed by those held.
#[derive(Default)]
struct Body {
    extents: Vec<(u64, u64)>,
    held: Vec<Buffer>,
    /// Small pieces, after `held`.
    tail: Vec<u8>,
    nbytes: u64,
}

impl Spool {
    pub fn new(arrays: usize, options: &Options) -> Spool {
        Spool { options: options.clone(), file: None, end: 0, held: 0, bodies: (0..arrays).map(|_| Body::default()).collect() }
    }

    /// Bytes of an array so far.
    pub fn nbytes(&self, array: usize) -> u64 {
        self.bodies.get(array).map_or(0, |b| b.nbytes)
    }

    /// Appends to an array.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn push(&mut self, array: usize, bytes: Buffer) -> Result<()> {
        let Some(body) = self.bodies.get_mut(array) else {
            return Err(Error::internal("an array without a place"));
        };
        body.nbytes += bytes.len() as u64;
        self.held += bytes.len();
        // A short slice of a large buffer would keep the whole buffer in memory.
        if bytes.len() < SMALL_NBYTES || bytes.len() < bytes.capacity() / 2 {
            body.tail.extend_from_slice(&bytes);
        } else {
            body.settle();
            body.held.push(bytes);
        }
        if self.held > HELD_NBYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let failed = |e: std::io::Error| failed(&self.options, "cannot write", &e);
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(scratch(&self.options)?),
        };
        for body in self.bodies.iter_mut() {
            body.settle();
            let start = self.end;
            for piece in body.held.drain(..) {
                file.write_all(&piece).map_err(failed)?;
                self.end += piece.len() as u64;
            }
            match body.extents.last_mut() {
                _ if self.end == start => {}
                Some((first, length)) if *first + *length == start => *length += self.end - start,
                _ => body.extents.push((start, self.end - start)),
            }
        }
        self.held = 0;
        Ok(())
    }

    /// Copies an array to the output.
    ///
    /// # Errors
    /// Reading the temporary file or writing fails.
    pub fn copy(&mut self, array: usize, out: &mut dyn Write) -> Result<()> {
        let Some(body) = self.bodies.get_mut(array) else { return Ok(()) };
        body.settle();
        if let Some(file) = &mut self.file {
            let failed = |e: std::io::Error| failed(&self.options, "cannot read", &e);
            let longest = body.extents.iter().map(|(_, length)| *length).max().unwrap_or(0);
            let mut block = vec![0u8; longest.min(COPY_NBYTES) as usize];
            for (start, length) in &body.extents {
                file.seek(SeekFrom::Start(*start)).map_err(failed)?;
                let mut left = *length;
                while left > 0 {
                    let part = &mut block[..left.min(COPY_NBYTES) as usize];
                    file.read_exact(part).map_err(failed)?;
                    out.write_all(part).map_err(Error::output)?;
                    left -= part.len() as u64;
                }
            }
        }
        for piece in &body.held {
            out.write_all(piece).map_err(Error::output)?;
        }
        Ok(())
    }
}

impl Body {
    /// Combines the small pieces into one.
    fn settle(&mut self) {
        if !self.tail.is_empty() {
            self.held.push(Buffer::from_vec(std::mem::take(&mut self.tail)));
        }
    }
}

fn failed(options: &Options, doing: &str, error: &std::io::Error) -> Error {
    let name = match &options.output {
        Some(output) => format!("a temporary file for {}", output.display()),
        None => "a temporary file".to_owned(),
    };
    Error::io(&name, doing, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_out_as_they_went_in_from_memory_and_from_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { output: Some(dir.path().join("x.npz").into()), ..Options::default() };
        for pieces in [3, 60] {
            let mut spool = Spool::new(3, &options);
            let mut expected = vec![Vec::new(); 3];
            for number in 0..pieces {
                for (array, length) in [(0, 700_000), (1, 10), (2, 0)] {
                    let bytes: Vec<u8> = (0..length).map(|i: usize| (i * (number + 1)) as u8).collect();
                    expected[array].extend_from_slice(&bytes);
                    spool.push(array, Buffer::from_vec(bytes)).unwrap();
                }
            }
            assert_eq!(spool.file.is_some(), pieces == 60);
            for (array, expected) in expected.iter().enumerate() {
                let mut found = Vec::new();
                spool.copy(array, &mut found).unwrap();
                assert!(found == *expected && spool.nbytes(array) == expected.len() as u64, "array {array} of {pieces} pieces");
            }
        }
    }
}
