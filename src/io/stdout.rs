//! Standard output, whose first bytes are held back: a small run that fails writes nothing.

use super::output::STANDARD_OUTPUT;
use crate::error::{Error, Kind, Result};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many bytes are held until they are full or the run ends.
const HELD_BYTES: usize = 64 << 10;

/// What is held back.
#[derive(Default)]
pub struct Held(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    /// Everything goes straight out from now on.
    released: bool,
    file: Option<File>,
}

impl Held {
    /// A writer to standard output; the bytes stay here until there are enough of them.
    ///
    /// # Errors
    /// There is no standard output.
    pub fn writer(&self) -> Result<Writer> {
        let mut state = self.state();
        if state.file.is_none() {
            // Without the buffer that cuts at lines.
            let descriptor = io::stdout().as_fd().try_clone_to_owned().map_err(|e| failed(&e))?;
            state.file = Some(descriptor.into());
        }
        Ok(Writer(self.0.clone()))
    }

    /// Writes what is held.
    ///
    /// # Errors
    /// Writing fails; nobody reads.
    pub fn release(&self) -> Result<()> {
        self.state().release().map_err(|e| failed(&e))
    }

    /// Forgets what is held.
    ///
    /// # Errors
    /// Something has been written already.
    pub fn forget(&self) -> Result<()> {
        let mut state = self.state();
        if state.released {
            return Err(Error::new(Kind::Io, "the output cannot be taken back").in_input(STANDARD_OUTPUT));
        }
        state.bytes.clear();
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
        match &mut self.file {
            Some(file) => file.write_all(&bytes),
            None => Ok(()),
        }
    }
}

fn failed(source: &io::Error) -> Error {
    Error::io(STANDARD_OUTPUT, "writing", source)
}

/// A writer to standard output.
pub struct Writer(Arc<Mutex<State>>);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.released && state.bytes.len() + bytes.len() <= HELD_BYTES {
            state.bytes.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let result = if state.released { Ok(()) } else { state.release() };
        let result = result.and_then(|()| state.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes)));
        result.map(|()| bytes.len()).map_err(|e| failed(&e).into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
