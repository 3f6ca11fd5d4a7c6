//! Standard output, with its first bytes held back, so that a small run that fails writes nothing. Output to a regular
//! file (`> out.jsonl`) can be undone later too.

use super::names::STANDARD_OUTPUT;
use crate::error::{Error, Kind, Result};
use crate::printable::is_hidden;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes held until there are more or the run ends.
const HELD_BYTES: usize = 64 << 10;
/// Bytes held while the run may have to be restarted.
const HELD_FOR_RESTART_BYTES: usize = 16 << 20;

/// Whether standard output is a regular file, as after `> FILE`.
pub fn is_redirected() -> bool {
    let descriptor = io::stdout().as_fd().try_clone_to_owned();
    descriptor.is_ok_and(|descriptor| File::from(descriptor).metadata().is_ok_and(|found| found.is_file()))
}

/// The bytes held back.
#[derive(Default)]
pub struct Held(Arc<Mutex<StdoutState>>);

#[derive(Default)]
struct StdoutState {
    bytes: Vec<u8>,
    /// Everything is written immediately.
    released: bool,
    /// Nothing is held back, except for a restart.
    unbuffered: bool,
    /// The types may turn out wrong. With too much output, the run makes sure.
    provisional: bool,
    file: Option<File>,
    /// The start of the output, if it is appended to a regular file.
    start: Option<u64>,
    /// Bytes written so far.
    written: u64,
    /// Whether hidden characters are escaped.
    escapes: bool,
    /// The start of a character whose other bytes are still to come, if characters are escaped.
    partial: Vec<u8>,
}

impl Held {
    /// A writer to standard output, which holds bytes until there are enough.
    ///
    /// # Errors
    /// There is no standard output.
    pub fn writer(&self) -> Result<Writer> {
        let mut state = self.state();
        if state.file.is_none() {
            // Without line buffering.
            let descriptor = io::stdout().as_fd().try_clone_to_owned().map_err(|e| failed(&e))?;
            let mut file = File::from(descriptor);
            state.start = end_of_regular(&mut file);
            state.file = Some(file);
        }
        Ok(Writer(self.0.clone()))
    }

    /// Makes further output undoable. On a pipe or device, nothing is written before the end of the run, and more
    /// output than can be held is an error of [`Kind::Widened`], as for a record that does not fit; after a restart
    /// with known types it is written.
    pub fn hold_for_restart(&self) {
        self.state().provisional = true;
    }

    /// Holds nothing back unless the run may have to be restarted.
    pub fn unbuffered(&self) {
        self.state().unbuffered = true;
    }

    /// Escapes characters that a terminal would interpret or that change the direction of text; see [`is_hidden`].
    pub fn escape(&self) {
        self.state().escapes = true;
    }

    /// Writes the bytes held back.
    ///
    /// # Errors
    /// Writing fails.
    pub fn release(&self) -> Result<()> {
        self.state().release().map_err(|e| failed(&e))
    }

    /// Discards the bytes held back, and undoes output to a regular file.
    ///
    /// # Errors
    /// Something has been written that cannot be undone.
    pub fn forget(&self) -> Result<()> {
        let mut state = self.state();
        if state.released {
            state
                .take_back()
                .map_err(|_| Error::new(Kind::Io, "output that has already been written cannot be changed").in_input(STANDARD_OUTPUT))?;
        }
        state.bytes = Vec::new();
        state.provisional = false;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, StdoutState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StdoutState {
    fn release(&mut self) -> io::Result<()> {
        self.released = true;
        let bytes = std::mem::take(&mut self.bytes);
        self.put(&bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        let escaped = if self.escapes { Some(escaped(bytes, &mut self.partial)) } else { None };
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(escaped.as_deref().unwrap_or(bytes)))
    }

    /// Truncates the file to the start of the output, unless another process has written to it since.
    fn take_back(&mut self) -> io::Result<()> {
        let (Some(file), Some(start)) = (&mut self.file, self.start) else { return Err(io::ErrorKind::NotSeekable.into()) };
        if file.metadata()?.len() != start + self.written {
            return Err(io::ErrorKind::InvalidData.into());
        }
        file.set_len(start)?;
        file.seek(SeekFrom::Start(start))?;
        (self.released, self.written) = (false, 0);
        Ok(())
    }
}

/// The bytes with hidden characters other than newlines and tabs as JSON escapes, which in JSON have the same meaning.
/// An incomplete character at the end becomes `partial`, which comes before the bytes.
fn escaped(bytes: &[u8], partial: &mut Vec<u8>) -> Vec<u8> {
    let bytes = [std::mem::take(partial).as_slice(), bytes].concat();
    let mut out = Vec::with_capacity(bytes.len());
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        for c in chunk.valid().chars() {
            match c {
                c if is_hidden(c) && c != '\n' && c != '\t' => out.extend(format!("\\u{:04x}", u32::from(c)).into_bytes()),
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        let invalid = chunk.invalid();
        if chunks.peek().is_none() && std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none()) {
            *partial = invalid.to_vec();
        } else {
            out.extend_from_slice(invalid);
        }
    }
    out
}

/// The length of a regular file that is written at its end.
fn end_of_regular(file: &mut File) -> Option<u64> {
    let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    file.stream_position().ok().filter(|at| *at == found.len())
}

fn failed(source: &io::Error) -> Error {
    Error::io(STANDARD_OUTPUT, "cannot write", source)
}

/// A writer to standard output.
pub struct Writer(Arc<Mutex<StdoutState>>);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let must_hold = state.provisional && state.start.is_none();
        let limit = match must_hold {
            true => HELD_FOR_RESTART_BYTES,
            false if state.unbuffered => 0,
            false => HELD_BYTES,
        };
        let is_full = state.bytes.len() + bytes.len() > limit;
        if is_full && must_hold {
            return Err(Error::new(Kind::Widened, "the output exceeds the buffer kept until the types are known").into());
        }
        if !state.released && !is_full {
            state.bytes.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let result = if state.released { Ok(()) } else { state.release() };
        let result = result.and_then(|()| state.put(bytes));
        result.map(|()| bytes.len()).map_err(|e| failed(&e).into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn hidden_characters_are_escaped_wherever_the_bytes_are_cut() {
        let text = "{\"a\":\"x\u{9b}31m é\u{202e}\u{7f}\t😀\"}\n".as_bytes();
        let expected = "{\"a\":\"x\\u009b31m é\\u202e\\u007f\t😀\"}\n".as_bytes();
        for cut in 0..=text.len() {
            let mut partial = Vec::new();
            let out = [escaped(&text[..cut], &mut partial), escaped(&text[cut..], &mut partial)].concat();
            assert_eq!((out.as_slice(), partial.as_slice()), (expected, &b""[..]), "cut at byte {cut}");
        }
        assert_eq!(escaped(b"a\xff\xc3b", &mut Vec::new()), b"a\xff\xc3b");
    }
}
