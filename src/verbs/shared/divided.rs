//! Divides chunks before verbs whose output takes many times their memory.

use crate::chunk::Chunk;

/// Approximate output bytes for one part of a chunk.
pub const PART_NBYTES: usize = 8 << 20;

/// Parts with as many rows as fit, if the output is `growth` times the memory of the input.
pub fn by_rows(chunk: Chunk, growth: usize) -> impl Iterator<Item = Chunk> + Send {
    let row_nbytes = (chunk.nbytes() / chunk.nrows.max(1)).max(1);
    of_rows(chunk, (PART_NBYTES / growth.saturating_mul(row_nbytes).max(1)).max(1))
}

/// Parts with as many rows as fit, if `row_nbytes` are added to each.
pub fn by_nbytes(chunk: Chunk, row_nbytes: usize) -> impl Iterator<Item = Chunk> + Send {
    of_rows(chunk, (PART_NBYTES / row_nbytes.max(1)).max(1))
}

/// Parts with as many rows as fit in `limit` bytes, judging by the memory that `nbytes` measures for the results of some
/// rows; a single part if it fails for them.
pub fn by_trial(chunk: Chunk, limit: usize, nbytes: &dyn Fn(&Chunk) -> Option<usize>) -> impl Iterator<Item = Chunk> + Send + use<> {
    let rows = chunk.rows_by_trial(limit, nbytes);
    of_rows(chunk, rows)
}

fn of_rows(chunk: Chunk, rows: usize) -> impl Iterator<Item = Chunk> + Send {
    (0..chunk.nrows).step_by(rows).map(move |start| chunk.slice(start, rows.min(chunk.nrows - start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Origin;
    use crate::tensor::Tensor;
    use arrow_array::Int64Array;
    use std::sync::Arc;

    #[test]
    fn parts_are_small() {
        let numbers = Tensor::Leaf(Arc::new(Int64Array::from_iter_values(0..100_000)));
        let chunk = Chunk::try_new(100_000, vec![numbers], Origin::default()).unwrap();
        for (growth, nparts) in [(5, 1), (100, 10)] {
            let parts: Vec<Chunk> = by_rows(chunk.clone(), growth).collect();
            assert_eq!(parts.len(), nparts);
            assert_eq!(parts.iter().map(|part| part.nrows).sum::<usize>(), 100_000);
        }
    }
}
