//! A file that several threads read at different positions.

use crate::error::Error;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// A file read by position. Clones of a [`File`] share a cursor, which threads must not share.
#[derive(Clone, Debug)]
pub struct Source {
    file: Arc<File>,
    nbytes: u64,
}

impl Source {
    /// # Errors
    /// Its size is unknown.
    pub fn new(file: File) -> io::Result<Source> {
        let nbytes = file.metadata()?.len();
        Ok(Source { file: Arc::new(file), nbytes })
    }

    /// Size in bytes.
    pub fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// The error for a file that is too short to be `what`.
    pub fn too_short(&self, what: &str) -> Error {
        match self.nbytes {
            0 => Error::data("the file is empty"),
            nbytes => Error::data(format!("{nbytes} bytes are too few for {what}")),
        }
    }

    /// Reads `length` bytes at `start`. The length is checked before memory is allocated.
    ///
    /// # Errors
    /// There are fewer bytes, or reading fails.
    pub fn bytes(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.nbytes) {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("expected {length} bytes at byte {start}, but the file has only {}", self.nbytes),
            ));
        }
        let mut bytes = vec![0; length];
        self.read_exact(&mut bytes, start)?;
        Ok(bytes)
    }

    /// Fills the buffer with the bytes at `start`.
    ///
    /// # Errors
    /// There are fewer bytes, or reading fails.
    pub fn read_exact(&self, buffer: &mut [u8], start: u64) -> io::Result<()> {
        read_exact_at(&self.file, buffer, start)
    }

    /// Reads some bytes at `start`; returns 0 at the end.
    ///
    /// # Errors
    /// Reading fails.
    pub fn read_at(&self, buffer: &mut [u8], start: u64) -> io::Result<usize> {
        read_at(&self.file, buffer, start)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], start: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, start)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], start: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, start)
}

fn read_exact_at(file: &File, mut buffer: &mut [u8], mut start: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match read_at(file, buffer, start) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                buffer = &mut buffer[n..];
                start += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
