//! Reads a file by byte ranges, each on any thread.
//!
//! The thread that hands out the ranges of a file reads nothing, so reading, which is mostly copying from the page
//! cache, is not a serial stage. What a range needs to know about all ranges before it (`T`: counts, or where the next
//! record starts) is passed on: each range computes its own share, waits for the sum of the previous range, and passes
//! on the new sum. It waits only for that, never for other work: ranges are started in order, and each passes on its
//! sum before anything is decoded.
//!
//! The file is read up to its length when it was opened, even if data is appended later.

use super::buffers::{Buffers, Filling};
use super::input::Input;
use super::lines::{BLOCK_BYTES, FIRST_BLOCK_BYTES};
use super::stream::became_shorter;
use crate::error::{Error, Result};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Buffer capacities are multiples of this.
const ROUND_BYTES: usize = 128 << 10;

/// The ranges of a file, in order.
pub struct Ranges<T> {
    file: Arc<Positioned>,
    next_byte: u64,
    /// Size of the next range, and maximum size of ranges.
    nbytes: u64,
    most: u64,
    known: Known<T>,
}

/// A file that is read at any position.
pub struct Positioned {
    file: File,
    name: Arc<str>,
    nbytes: u64,
    consumed: Arc<AtomicU64>,
    buffers: Buffers,
}

/// What is known about all ranges up to a boundary; `None` if it never will be.
type Known<T> = Arc<OnceLock<Option<T>>>;

/// A byte range of a file.
pub struct Range<T> {
    /// The file.
    pub file: Arc<Positioned>,
    /// The first byte.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
    before: Known<T>,
    after: Promise<T>,
}

/// Passes on what is known. If dropped before that, passes on nothing.
struct Promise<T>(Known<T>);

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        let _ = self.0.set(None);
    }
}

impl<T: Default> Ranges<T> {
    /// The ranges of an input. `None` if it must be read in order, because it is not a regular file or is compressed.
    ///
    /// # Errors
    /// See [`Input::open`].
    pub fn open(input: &Input) -> Result<Option<Ranges<T>>> {
        let Some((file, nbytes)) = input.by_position()? else { return Ok(None) };
        let (name, consumed) = (input.name().clone(), input.consumed().clone());
        let file = Arc::new(Positioned { file, name, nbytes, consumed, buffers: Buffers::default() });
        let known = Arc::new(OnceLock::from(Some(T::default())));
        Ok(Some(Ranges { file, next_byte: 0, nbytes: FIRST_BLOCK_BYTES as u64, most: BLOCK_BYTES as u64, known }))
    }
}

impl<T> Iterator for Ranges<T> {
    type Item = Range<T>;

    fn next(&mut self) -> Option<Range<T>> {
        let start = self.next_byte;
        if start >= self.file.nbytes {
            return None;
        }
        self.next_byte = start.saturating_add(self.nbytes).min(self.file.nbytes);
        self.nbytes = (self.nbytes * 2).min(self.most);
        let after = Known::default();
        let before = std::mem::replace(&mut self.known, after.clone());
        Some(Range { file: self.file.clone(), start, end: self.next_byte, before, after: Promise(after) })
    }
}

impl<T: Copy> Range<T> {
    /// What is known about the ranges before, if it is known already.
    pub fn known(&self) -> Option<T> {
        self.before.get().copied().flatten()
    }

    /// Waits for what is known about the ranges before.
    ///
    /// # Errors
    /// An earlier range was not read.
    pub fn before(&self) -> Result<T> {
        let none = || Error::internal("a range of a file comes after one that was not read").in_input(self.file.name.clone());
        self.before.wait().ok_or_else(none)
    }

    /// Passes on what is known about all ranges up to the end of this one.
    pub fn hand_on(&self, known: T) {
        let _ = self.after.0.set(Some(known));
    }
}

impl Positioned {
    /// The name for messages.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The length of the file when it was opened.
    pub fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// An empty buffer for reading.
    pub fn filling(&self) -> Filling {
        self.buffers.filling()
    }

    /// Counts bytes as consumed, for the progress bar.
    pub fn consume(&self, nbytes: u64) {
        self.consumed.fetch_add(nbytes, Ordering::Relaxed);
    }

    /// Appends the bytes between two positions, up to the end of the file.
    ///
    /// # Errors
    /// Reading fails, or the file has been truncated.
    pub fn append(&self, bytes: &mut Filling, from: u64, to: u64) -> Result<()> {
        let (mut at, to) = (from, to.min(self.nbytes));
        reserve(bytes, index(to.saturating_sub(from)));
        while at < to {
            match self.file.read_at(bytes.room(index(to - at)), at) {
                Ok(0) => return Err(self.ends_at(at)),
                Ok(nbytes) => {
                    bytes.advance(nbytes);
                    at += nbytes as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::io(&self.name, "cannot read", &e)),
            }
        }
        Ok(())
    }

    /// The error for a file that ends before a position that existed.
    fn ends_at(&self, at: u64) -> Error {
        let end = self.file.metadata().map_or(at, |found| found.len().min(at));
        became_shorter(self.nbytes.saturating_sub(end)).in_input(self.name.clone())
    }
}

/// Reserves that many additional bytes, rounded so that buffers can be reused for any range.
pub fn reserve(bytes: &mut Filling, nbytes: usize) {
    if bytes.spare() < nbytes {
        bytes.reserve_exact(nbytes.next_multiple_of(ROUND_BYTES));
    }
}

/// Converts to a buffer length.
pub fn index(nbytes: u64) -> usize {
    usize::try_from(nbytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
impl<T> Ranges<T> {
    /// The same in ranges of that size.
    pub fn sized(self, nbytes: u64) -> Ranges<T> {
        Ranges { nbytes, most: nbytes, ..self }
    }
}
