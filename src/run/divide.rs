//! Divides chunks before a verb whose output takes many times their memory.

use super::engine::Serial;
use super::work::{Load, Work};
use crate::chunk::Chunk;

/// Approximate output bytes for one part of a chunk.
const NBYTES: usize = 8 << 20;

/// Divides chunks so that a verb's output for each one stays small.
pub struct Divide {
    /// The factor by which the verb's output may exceed the memory of a chunk.
    pub growth: usize,
}

impl Divide {
    /// Number of rows in a part.
    fn rows(&self, chunk: &Chunk) -> usize {
        let row_nbytes = (chunk.nbytes() / chunk.nrows.max(1)).max(1);
        (NBYTES / self.growth.saturating_mul(row_nbytes).max(1)).max(1)
    }
}

impl Serial<Work> for Divide {
    fn push(&mut self, mut work: Work, out: &mut Vec<Work>) -> bool {
        match work.take_ready() {
            Ok(Load::Chunk(chunk)) => {
                let rows = self.rows(&chunk);
                let starts = (0..chunk.nrows).step_by(rows);
                let mut parts: Vec<Work> = starts.map(|start| Work::chunk(chunk.slice(start, rows.min(chunk.nrows - start)))).collect();
                // Faults and an error follow the records that precede them.
                match parts.last_mut() {
                    Some(last) => {
                        work.load = last.take_load();
                        *last = work;
                    }
                    None => parts.push(work),
                }
                out.append(&mut parts);
            }
            Ok(load) => out.push(Work { load, ..work }),
            Err(error) => out.push(Work { error: Some(error), ..work }),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Origin;
    use crate::error::Error;
    use crate::tensor::Tensor;
    use arrow_array::Int64Array;
    use std::sync::Arc;

    #[test]
    fn parts_are_small_and_what_travels_with_a_chunk_comes_last() {
        let numbers = Tensor::Leaf(Arc::new(Int64Array::from_iter_values(0..100_000)));
        let chunk = Chunk::try_new(100_000, vec![numbers], Origin::default()).unwrap();
        for (growth, nparts) in [(5, 1), (100, 10)] {
            let mut out = Vec::new();
            let work = Work { error: Some(Error::data("bad")), records_in: 7, ..Work::chunk(chunk.clone()) };
            assert!(Divide { growth }.push(work, &mut out));
            assert_eq!(out.len(), nparts);
            assert!(out.iter().rev().skip(1).all(|part| part.error.is_none() && part.records_in == 0));
            assert!(out.last().is_some_and(|last| last.error.is_some() && last.records_in == 7));
            let rows = |part: &Work| if let Load::Chunk(chunk) = &part.load { chunk.nrows } else { 0 };
            assert_eq!(out.iter().map(rows).sum::<usize>(), 100_000);
        }
    }
}
