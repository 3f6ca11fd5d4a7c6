//! Taking a chunk from its start, a few records at a time.

use super::Chunk;

/// The records of a chunk that have not been taken.
///
/// Each part is a slice of the whole chunk. A slice of what is left would copy the partitions of all records in it, which is
/// quadratic in the number of parts.
pub struct Rest {
    chunk: Chunk,
    taken: usize,
}

impl Rest {
    /// All records of a chunk.
    pub fn of(chunk: Chunk) -> Rest {
        Rest { chunk, taken: 0 }
    }

    /// Number of records left.
    pub fn nrows(&self) -> usize {
        self.chunk.nrows - self.taken
    }

    /// The next `n` records, or all that are left. They are not removed.
    pub fn first(&self, n: usize) -> Chunk {
        self.chunk.slice(self.taken, n.min(self.nrows()))
    }

    /// Takes the next `n` records, or all that are left.
    pub fn take(&mut self, n: usize) -> Chunk {
        let part = self.first(n);
        self.taken += part.nrows;
        part
    }
}
