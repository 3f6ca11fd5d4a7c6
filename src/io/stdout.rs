//! Standard output, with its first bytes held back, so that a small run that fails writes nothing. Output to a regular
//! file (`> out.jsonl`) can be undone later too.

use super::names::STANDARD_OUTPUT;
use crate::error::{Error, Kind, Result};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes held until there are more or the run ends.
const HELD_BYTES: usize = 64 << 10;
/// Bytes held while the run may have to be restarted.
const HELD_FOR_RESTART_BYTES: usize = 16 << 20;

/// The bytes held back.
#[derive(Default)]
pub struct Held(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    /// Everything is written immediately.
    released: bool,
    /// The types may turn out wrong. With too much output, the run makes sure.
    provisional: bool,
    file: Option<File>,
    /// The start of the output, if it is appended to a regular file.
    start: Option<u64>,
    /// Bytes written so far.
    written: u64,
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
            state.take_back().map_err(|_| Error::new(Kind::Io, "output already written cannot be changed").in_input(STANDARD_OUTPUT))?;
        }
        state.bytes = Vec::new();
        state.provisional = false;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn release(&mut self) -> io::Result<()> {
        self.released = true;
        let bytes = std::mem::take(&mut self.bytes);
        self.put(&bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
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

/// The length of a regular file that is written at its end.
fn end_of_regular(file: &mut File) -> Option<u64> {
    let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    file.stream_position().ok().filter(|at| *at == found.len())
}

fn failed(source: &io::Error) -> Error {
    Error::io(STANDARD_OUTPUT, "cannot write", source)
}

/// A writer to standard output.
pub struct Writer(Arc<Mutex<State>>);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let must_hold = state.provisional && state.start.is_none();
        let limit = if must_hold { HELD_FOR_RESTART_BYTES } else { HELD_BYTES };
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
