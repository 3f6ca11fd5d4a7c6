//! Reused memory: memory fresh from the system costs more than reading or writing its contents.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Larger buffers are returned to the system.
const MAX_BYTES: usize = 16 << 20;
/// Maximum number of buffers kept.
const MAX_BUFFERS: usize = 64;

/// Freed memory that threads may keep: half of the limit for all threads together, and the limit for each.
const KEPT_BYTES: usize = 64 << 20;
const MAX_KEPT_BYTES: usize = 16 << 20;

/// Lets the system allocator keep the memory of a freed chunk for the next chunk. Call it before a run with that many
/// threads.
///
/// glibc returns free memory at the end of a heap to the system once it exceeds twice the largest freed block that had
/// been mapped separately, and 128 KiB until then (`mallopt(3)`, `M_MMAP_THRESHOLD`). A run that frees no large block
/// would return the memory of each chunk and fault it in again for the next. Other allocators have no comparable
/// behavior.
pub fn keep_memory(threads: usize) {
    let nbytes = (KEPT_BYTES / threads.max(1)).min(MAX_KEPT_BYTES);
    drop(std::hint::black_box(Vec::<u8>::with_capacity(nbytes)));
}

/// The unused buffers of one stage. There are never more than were in use at once.
#[derive(Clone, Default)]
pub struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

impl Buffers {
    /// An empty buffer with the capacity it had before.
    pub fn empty(&self) -> Buffer {
        let mut buffer = self.used();
        buffer.clear();
        buffer
    }

    /// An empty buffer for reading.
    pub fn filling(&self) -> Filling {
        Filling { buffer: self.used(), filled: 0 }
    }

    /// A buffer with its previous contents.
    fn used(&self) -> Buffer {
        let bytes = self.lock().pop().unwrap_or_default();
        Buffer { bytes, home: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes whose memory is reused after they are dropped, on any thread.
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
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.capacity() == 0 || bytes.capacity() > MAX_BYTES {
            return;
        }
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

/// Bytes being read into a buffer. Only memory that was never written is zeroed before reading; previous contents
/// remain until overwritten.
#[derive(Default)]
pub struct Filling {
    buffer: Buffer,
    /// The bytes read so far; the buffer can be longer.
    filled: usize,
}

impl Filling {
    /// Number of additional bytes that fit in memory.
    pub fn spare(&self) -> usize {
        self.buffer.capacity() - self.filled
    }

    /// Reserves exactly that many additional bytes.
    pub fn reserve_exact(&mut self, nbytes: usize) {
        if self.spare() < nbytes {
            self.buffer.truncate(self.filled);
            self.buffer.reserve_exact(nbytes);
        }
    }

    /// The memory after the bytes read, with that length.
    pub fn room(&mut self, nbytes: usize) -> &mut [u8] {
        let end = self.filled.saturating_add(nbytes);
        if self.buffer.capacity() < end {
            // Reallocation moves only the bytes read.
            self.buffer.truncate(self.filled);
        }
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        self.buffer.get_mut(self.filled..end).unwrap_or_default()
    }

    /// Marks that many bytes of the [`room`](Filling::room) as read.
    pub fn advance(&mut self, nbytes: usize) {
        self.filled = self.filled.saturating_add(nbytes).min(self.buffer.len());
    }

    /// Appends bytes.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.advance(bytes.len());
    }

    /// Keeps only the first `filled` bytes.
    pub fn truncate(&mut self, filled: usize) {
        self.filled = self.filled.min(filled);
    }

    /// Drops the first `n` bytes.
    pub fn drop_front(&mut self, n: usize) {
        let n = n.min(self.filled);
        self.buffer.copy_within(n..self.filled, 0);
        self.filled -= n;
    }

    /// The bytes read so far.
    pub fn into_buffer(self) -> Buffer {
        let mut buffer = self.buffer;
        buffer.truncate(self.filled);
        buffer
    }
}

impl Deref for Filling {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }
}

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
    fn what_is_read_takes_the_place_of_what_was_there() {
        let buffers = Buffers::default();
        buffers.empty().extend_from_slice(b"old bytes");
        let mut filling = buffers.filling();
        assert!(filling.is_empty());
        assert_eq!(filling.room(3), b"old");
        filling.room(3)[..2].copy_from_slice(b"ab");
        filling.advance(2);
        assert_eq!(&*filling, b"ab");
        assert_eq!(filling.room(2), b"d ");
        filling.extend_from_slice(b"cdefghijkl");
        filling.drop_front(3);
        filling.truncate(4);
        assert_eq!(&*filling, b"defg");
        filling.reserve_exact(1000);
        assert!(filling.room(1000).iter().all(|byte| *byte == 0));
        filling.drop_front(9);
        filling.advance(2000);
        filling.truncate(0);
        filling.extend_from_slice(b"end");
        assert_eq!(&**filling.into_buffer(), b"end");
        assert!(buffers.empty().is_empty(), "whatever it held");
        assert!(buffers.filling().into_buffer().is_empty());
    }

    #[test]
    fn very_large_ones_are_not_kept() {
        let buffers = Buffers::default();
        buffers.empty().reserve(MAX_BYTES + 1);
        assert_eq!(buffers.empty().capacity(), 0);
    }
}
