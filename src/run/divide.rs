//! Divides chunks before a verb whose output takes many times their memory.

use super::engine::Serial;
use super::work::{Load, Work};
use crate::verbs::Map;
use std::sync::Arc;

/// Divides chunks so that a verb's output for each one stays small.
pub struct Divide {
    /// The verb.
    pub map: Arc<dyn Map>,
}

impl Serial<Work> for Divide {
    fn push(&mut self, mut work: Work, out: &mut Vec<Work>) -> bool {
        let parts = match work.take_ready() {
            Ok(Load::Chunk(chunk)) => self.map.divided(chunk),
            Ok(load) => {
                work.load = load;
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        };
        let parts = parts.unwrap_or_else(|error| {
            work.error = Some(error);
            Vec::new()
        });
        let start = out.len();
        out.extend(parts.into_iter().map(Work::chunk));
        // Faults and an error follow the records that precede them.
        match out[start..].last_mut() {
            Some(last) => {
                work.load = last.take_load();
                *last = work;
            }
            None => out.push(work),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::{Chunk, Origin};
    use crate::error::{Error, Result};

    struct Halves;

    impl Map for Halves {
        fn apply(&self, chunk: Chunk) -> Result<Chunk> {
            Ok(chunk)
        }
        fn divided(&self, chunk: Chunk) -> Result<Vec<Chunk>> {
            let half = chunk.nrows / 2;
            Ok(vec![chunk.slice(0, half), chunk.slice(half, chunk.nrows - half)])
        }
    }

    #[test]
    fn what_travels_with_a_chunk_comes_with_its_last_part() {
        let chunk = Chunk::try_new(10, Vec::new(), Origin::default()).unwrap();
        let mut out = Vec::new();
        let work = Work { error: Some(Error::data("bad")), records_in: 7, ..Work::chunk(chunk) };
        assert!(Divide { map: Arc::new(Halves) }.push(work, &mut out));
        let rows = |part: &Work| if let Load::Chunk(chunk) = &part.load { chunk.nrows } else { 0 };
        let found: Vec<_> = out.iter().map(|part| (rows(part), part.error.is_some(), part.records_in)).collect();
        assert_eq!(found, [(5, false, 0), (5, true, 7)]);
    }
}
