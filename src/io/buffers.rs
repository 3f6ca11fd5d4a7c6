//! Memory that is used again: memory fresh from the system costs more than reading or writing what it holds.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Larger buffers are given back to the system.
const MAX_BYTES: usize = 16 << 20;
/// Most buffers that are kept.
const MAX_BUFFERS: usize = 64;

/// Freed memory that threads may keep, half of what all of them may together, and of one.
const KEPT_BYTES: usize = 64 << 20;
const MAX_KEPT_BYTES: usize = 16 << 20;

/// To be called before a run with that many threads: lets the system's allocator keep the memory that a chunk freed for the next chunk.
///
/// glibc gives free memory at the end of a heap back to the system once it is more than twice the largest block that was mapped by itself
/// and freed so far, and 128 KiB before that (`mallopt(3)`, `M_MMAP_THRESHOLD`). A run that frees no large block then returns the memory of
/// each chunk and has the next one faulted in again. Other allocators do nothing of note here.
pub fn keep_memory(threads: usize) {
    let nbytes = (KEPT_BYTES / threads.max(1)).min(MAX_KEPT_BYTES);
    drop(std::hint::black_box(Vec::<u8>::with_capacity(nbytes)));
}

/// The buffers of one stage that are not in use: never more than were in use at a time.
#[derive(Clone, Default)]
pub struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

impl Buffers {
    /// An empty buffer, of whatever capacity the one used before had.
    pub fn empty(&self) -> Buffer {
        let bytes = self.lock().pop().unwrap_or_default();
        Buffer { bytes, home: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes whose memory is used again once they are dropped, on whichever thread that is.
#[derive(Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    home: Buffers,
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Buffer {
        Buffer { bytes, home: Buffers::default() }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        if bytes.capacity() == 0 || bytes.capacity() > MAX_BYTES {
            return;
        }
        bytes.clear();
        let mut idle = self.home.lock();
        if idle.len() < MAX_BUFFERS {
            idle.push(bytes);
        }
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.bytes.fmt(f)
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Buffer) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Buffer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again() {
        let buffers = Buffers::default();
        let mut first = buffers.empty();
        first.extend_from_slice(&[7; 1000]);
        let second = buffers.empty();
        assert_eq!((first.len(), second.capacity()), (1000, 0));
        drop((first, second));
        let again = buffers.empty();
        assert!(again.is_empty() && again.capacity() >= 1000);
        assert_eq!(buffers.empty().capacity(), 0, "there was one");
    }

    #[test]
    fn very_large_ones_are_not_kept() {
        let buffers = Buffers::default();
        buffers.empty().reserve(MAX_BYTES + 1);
        assert_eq!(buffers.empty().capacity(), 0);
    }
}
