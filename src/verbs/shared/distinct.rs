//! The first records of each key of a chunk, found on any thread before the distinct keys of all chunks are collected in order.

use super::key_table::{ChunkKeys, KeyTable};
use super::keys::{KeyField, key_columns};
use crate::chunk::Chunk;
use crate::error::Result;
use crate::options::Options;
use crate::tensor::Tensor;
use crate::verbs::verb::Map;
use arrow_array::Int64Array;
use std::sync::Arc;

/// The first of this many records tell whether keys recur. If most do not, finding the distinct ones twice would cost more than
/// it saves.
const SAMPLE: usize = 1024;

/// Replaces the records by the distinct keys, with the number of records of each as the last column (int64).
pub struct CountInChunk {
    /// The fields of the key.
    pub keys: Vec<KeyField>,
    /// The options of the run.
    pub options: Options,
}

/// Keeps the first records of each key.
pub struct FirstInChunk {
    /// The fields of the key; `None` for all.
    pub keys: Option<Vec<KeyField>>,
    /// The number of records to keep of each, at least 1.
    pub most: u64,
    /// The options of the run.
    pub options: Options,
}

impl Map for CountInChunk {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let keys = key_columns(&self.keys, &chunk)?;
        let (mut distinct, counts) = match recurring(&keys, &self.options)? {
            None => (keys, vec![1; chunk.nrows]),
            Some((found, mut table)) => {
                let mut counts = vec![0; table.len()];
                found.numbers.iter().for_each(|number| counts[*number as usize] += 1);
                // A table of no records has no part.
                (table.take_parts().pop().unwrap_or(keys), counts)
            }
        };
        distinct.columns.push(Tensor::Leaf(Arc::new(Int64Array::from(counts))));
        Ok(distinct)
    }

    fn keeps_rows(&self) -> bool {
        false
    }
}

impl Map for FirstInChunk {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let found = match &self.keys {
            Some(keys) => recurring(&key_columns(keys, &chunk)?, &self.options)?,
            None => recurring(&chunk, &self.options)?,
        };
        let Some((found, _)) = found else { return Ok(chunk) };
        let rows = match self.most {
            1 => found.fresh,
            most => among_first(found.numbers.into_iter().enumerate(), most, &mut vec![0; found.fresh.len()]),
        };
        if rows.len() < chunk.nrows { chunk.gather(&rows) } else { Ok(chunk) }
    }

    fn keeps_rows(&self) -> bool {
        false
    }
}

/// Of these rows and the numbers of their keys, those that are among the first `most` of their keys. `counts`: of each key, how many
/// rows have been passed on, at most `most`.
pub fn among_first(rows: impl Iterator<Item = (usize, u32)>, most: u64, counts: &mut [u64]) -> Vec<usize> {
    let is_first = |(row, key): (usize, u32)| {
        let count = &mut counts[key as usize];
        let is_first = *count < most;
        *count += u64::from(is_first);
        is_first.then_some(row)
    };
    rows.filter_map(is_first).collect()
}

/// The keys of the records and the table of the distinct ones, unless most occur once.
fn recurring(keys: &Chunk, options: &Options) -> Result<Option<(ChunkKeys, KeyTable)>> {
    let distinct = |keys: &Chunk| {
        let mut table = KeyTable::unlimited(options);
        Ok((table.insert(keys)?, table))
    };
    if keys.nrows > 2 * SAMPLE && distinct(&keys.slice(0, SAMPLE))?.1.len() > SAMPLE / 2 {
        return Ok(None);
    }
    distinct(keys).map(Some)
}
