//! Divides chunks before a verb whose output takes many times their memory.

use super::engine::Serial;
use super::work::{Load, Work};
use crate::chunk::Chunk;
use crate::error::Result;
use crate::verbs::{ChunkParts, Map, by_nbytes};
use std::sync::Arc;

/// Divides chunks so that a verb's output for each one stays small. A part is made when the verb has room for it: a chunk
/// can have a million.
pub struct Divide {
    map: Arc<dyn Map>,
    left: Option<Left>,
}

/// What is left of a chunk.
struct Left {
    /// The next part. It is made ahead, so that the last one is known.
    next: Chunk,
    parts: ChunkParts,
    /// Faults, an error and counts, which follow the records that precede them.
    rest: Work,
}

impl Divide {
    /// Divides chunks before that verb.
    pub fn new(map: Arc<dyn Map>) -> Divide {
        Divide { map, left: None }
    }
}

/// A verb that adds many fields, judged by their number.
pub struct Wider {
    /// The number of fields of its input.
    pub from: usize,
    /// The number of fields of its output.
    pub to: usize,
}

impl Map for Wider {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        Ok(chunk)
    }

    fn divided(&self, chunk: Chunk) -> Result<ChunkParts> {
        /// Most fields take no less in a row.
        const LEAST_NBYTES: usize = 16;
        let nbytes = (chunk.nbytes() / (chunk.nrows.max(1) * self.from.max(1))).max(LEAST_NBYTES);
        Ok(Box::new(by_nbytes(chunk, nbytes.saturating_mul(self.to)).map(Ok)))
    }
}

impl Serial<Work> for Divide {
    fn push(&mut self, mut work: Work, out: &mut Vec<Work>) -> bool {
        let divided = match work.take_ready() {
            Ok(Load::Chunk(chunk)) => self.map.divided(chunk),
            Ok(load) => {
                work.load = load;
                out.push(work);
                return true;
            }
            Err(error) => Err(error),
        };
        match divided.and_then(|mut parts| Ok((parts.next().transpose()?, parts))) {
            Ok((Some(next), parts)) => {
                self.left = Some(Left { next, parts, rest: work });
                self.resume(out);
            }
            Ok((None, _)) => out.push(work),
            Err(error) => out.push(Work { error: Some(error), ..work }),
        }
        true
    }

    fn has_more(&self) -> bool {
        self.left.is_some()
    }

    fn resume(&mut self, out: &mut Vec<Work>) {
        let Some(mut left) = self.left.take() else { return };
        match left.parts.next() {
            Some(Ok(next)) => {
                out.push(Work::chunk(std::mem::replace(&mut left.next, next)));
                self.left = Some(left);
                return;
            }
            Some(Err(error)) => left.rest.error = Some(error),
            None => {}
        }
        out.push(Work { load: Load::Chunk(left.next), ..left.rest });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Origin;
    use crate::error::{Error, Result};

    struct Thirds;

    impl Map for Thirds {
        fn apply(&self, chunk: Chunk) -> Result<Chunk> {
            Ok(chunk)
        }
        fn divided(&self, chunk: Chunk) -> Result<ChunkParts> {
            let third = chunk.nrows / 3;
            Ok(Box::new((0..3).map(move |part| Ok(chunk.slice(part * third, third)))))
        }
    }

    #[test]
    fn what_travels_with_a_chunk_comes_with_its_last_part() {
        let chunk = Chunk::try_new(9, Vec::new(), Origin::default()).unwrap();
        let mut out = Vec::new();
        let work = Work { error: Some(Error::data("bad")), records_in: 7, ..Work::chunk(chunk) };
        let mut divide = Divide::new(Arc::new(Thirds));
        assert!(divide.push(work, &mut out));
        for made in 1..3 {
            assert_eq!((out.len(), divide.has_more()), (made, true));
            divide.resume(&mut out);
        }
        assert!(!divide.has_more());
        let rows = |part: &Work| if let Load::Chunk(chunk) = &part.load { chunk.nrows } else { 0 };
        let found: Vec<_> = out.iter().map(|part| (rows(part), part.error.is_some(), part.records_in)).collect();
        assert_eq!(found, [(3, false, 0), (3, false, 0), (3, true, 7)]);
    }
}
