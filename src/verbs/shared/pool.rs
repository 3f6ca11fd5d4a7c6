//! Single records that a verb keeps from many chunks.

use super::memory::{Budget, Slices, owned};
use crate::chunk::Chunk;
use crate::error::Result;
use crate::options::Options;

/// Smaller parts are concatenated, so that the pool does not end up as single records.
const LEAST_PART_NBYTES: usize = 4 << 20;

/// A record in a pool: the index of its part, and the row in it. Ids are ordered by arrival.
pub type RecordId = (usize, usize);

/// Chunks of which only some records are still needed. All memory held is counted.
#[derive(Debug)]
pub struct Pool {
    parts: Vec<Chunk>,
    nrows: usize,
    budget: Budget,
}

impl Pool {
    /// Holds nothing yet. `verb` and `way_out` appear in the error when `--max-memory` is exceeded.
    pub fn new(verb: impl Into<String>, way_out: &'static str, options: &Options) -> Pool {
        Pool { parts: Vec::new(), nrows: 0, budget: Budget::new(verb, way_out, options) }
    }

    /// Number of records held, whether still needed or not.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// The index of the next part. Its records get the ids `(index, 0), (index, 1) ...`.
    pub fn next_part(&self) -> usize {
        self.parts.len()
    }

    /// Adds a chunk.
    ///
    /// # Errors
    /// More than `--max-memory` would be held.
    pub fn add(&mut self, chunk: Chunk) -> Result<()> {
        self.budget.take(chunk.nbytes() as u64)?;
        self.nrows += chunk.nrows;
        self.parts.push(chunk);
        Ok(())
    }

    /// Counts other memory of the verb, until the next [`Pool::compact`].
    ///
    /// # Errors
    /// More than `--max-memory` would be held.
    pub fn count(&mut self, nbytes: u64) -> Result<()> {
        self.budget.take(nbytes)
    }

    /// Bytes counted.
    pub fn nbytes(&self) -> usize {
        usize::try_from(self.budget.used()).unwrap_or(usize::MAX)
    }

    /// Whether the limit allows this chunk too.
    pub fn has_room_for(&self, chunk: &Chunk) -> bool {
        self.budget.has_room_for(chunk.nbytes() as u64)
    }

    /// These records, in this order.
    ///
    /// # Errors
    /// See [`Chunk::interleave`].
    pub fn gather(&self, records: &[RecordId]) -> Result<Chunk> {
        Chunk::interleave(&self.parts, records)
    }

    /// The same, where `next` is the part after the last.
    ///
    /// # Errors
    /// See [`Chunk::interleave`].
    pub fn gather_with(&self, next: &Chunk, records: &[RecordId]) -> Result<Chunk> {
        let parts: Vec<Chunk> = self.parts.iter().chain([next]).cloned().collect();
        Chunk::interleave(&parts, records)
    }

    /// Drops all records except `kept`, updates their ids, and preserves their relative order. Works chunk by chunk and
    /// never holds all records twice.
    ///
    /// # Errors
    /// See [`Chunk::gather`].
    pub fn compact(&mut self, kept: &mut [RecordId]) -> Result<()> {
        let mut order: Vec<usize> = (0..kept.len()).collect();
        order.sort_unstable_by_key(|i| kept[*i]);
        let mut order = order.into_iter().peekable();
        let mut parts: Vec<Chunk> = Vec::new();
        let mut open: Vec<Chunk> = Vec::new();
        let (mut open_rows, mut open_nbytes) = (0, 0);
        for (number, chunk) in std::mem::take(&mut self.parts).into_iter().enumerate() {
            let mut rows = Vec::new();
            while let Some(i) = order.next_if(|i| kept[*i].0 == number) {
                rows.push(kept[i].1);
                kept[i] = (parts.len(), open_rows + rows.len() - 1);
            }
            if rows.is_empty() {
                continue;
            }
            let piece = if rows.len() == chunk.nrows { chunk } else { owned(&chunk.gather(&rows)?)? };
            open_rows += piece.nrows;
            open_nbytes += piece.nbytes();
            open.push(piece);
            if open_nbytes >= LEAST_PART_NBYTES {
                parts.push(Chunk::concat(&std::mem::take(&mut open))?);
                (open_rows, open_nbytes) = (0, 0);
            }
        }
        if !open.is_empty() {
            parts.push(Chunk::concat(&open)?);
        }
        self.parts = parts;
        self.nrows = self.parts.iter().map(|p| p.nrows).sum();
        self.budget.set(self.parts.iter().map(|p| p.nbytes() as u64).sum());
        Ok(())
    }

    /// Removes everything and emits these records, in this order, chunk by chunk.
    pub fn take(&mut self, records: Vec<RecordId>, options: &Options) -> Slices {
        let parts = std::mem::take(&mut self.parts);
        self.nrows = 0;
        let starts: Vec<usize> = parts.iter().scan(0, |end, part| Some(std::mem::replace(end, *end + part.nrows))).collect();
        Slices::new(parts, records.into_iter().map(|(part, row)| starts[part] + row).collect(), options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Origin;
    use crate::tensor::Tensor;
    use arrow_array::Int64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use std::sync::Arc;

    fn chunk(values: std::ops::Range<i64>) -> Chunk {
        let column = Tensor::Leaf(Arc::new(Int64Array::from_iter_values(values.clone())));
        Chunk::try_new(values.count(), vec![column], Origin::default()).unwrap()
    }

    fn values(chunk: &Chunk) -> Vec<i64> {
        chunk.columns[0].as_leaf().unwrap().as_primitive::<Int64Type>().values().to_vec()
    }

    #[test]
    fn ids_follow_their_records() {
        let mut pool = Pool::new("a test", "", &Options::default());
        for start in [0, 10, 20] {
            pool.add(chunk(start..start + 10)).unwrap();
        }
        let mut kept = vec![(2, 9), (0, 3), (2, 0), (0, 1)];
        assert_eq!(values(&pool.gather(&kept).unwrap()), [29, 3, 20, 1]);
        pool.compact(&mut kept).unwrap();
        assert_eq!((pool.nrows(), values(&pool.gather(&kept).unwrap())), (4, vec![29, 3, 20, 1]));
        pool.add(chunk(30..32)).unwrap();
        assert_eq!(values(&pool.gather(&[(1, 1), kept[0]]).unwrap()), [31, 29]);
        pool.compact(&mut []).unwrap();
        assert_eq!(pool.nrows(), 0);
    }
}
