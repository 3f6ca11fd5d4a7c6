//! A large record batch, decoded once by the tasks for its parts.
//!
//! The columns are divided into lanes. A task needs all of them: it decodes those that no other task is decoding, and then
//! waits for the others, so threads decode different lanes concurrently, and no task waits for one that has not started.

use crate::chunk::even_shares;
use crate::error::{Error, Result};
use arrow_array::ArrayRef;
use std::sync::{Mutex, TryLockError};

/// As for the row groups of Parquet.
const MAX_LANES: usize = 8;

/// The decoded columns of a batch.
pub struct Divided {
    lanes: Vec<Lane>,
}

struct Lane {
    /// Indices of columns in the schema of the file.
    roots: Vec<usize>,
    arrays: Mutex<Option<Result<Vec<ArrayRef>>>>,
}

impl Divided {
    /// The columns `roots` of a batch, whose sizes divide them. Decodes nothing yet.
    pub fn new(roots: &[usize], sizes: &[u64]) -> Divided {
        let sizes: Vec<u64> = (0..roots.len()).map(|at| sizes.get(at).copied().unwrap_or(0).max(1)).collect();
        let lane = |part: std::ops::Range<usize>| Lane { roots: roots[part].to_vec(), arrays: Mutex::new(None) };
        Divided { lanes: even_shares(&sizes, MAX_LANES).into_iter().map(lane).collect() }
    }

    /// All columns, whole. `decode` decodes those of a lane. Different parts begin with different lanes.
    ///
    /// # Errors
    /// The first column that cannot be decoded.
    pub fn arrays(&self, part: usize, decode: impl Fn(&[usize]) -> Result<Vec<ArrayRef>>) -> Result<Vec<ArrayRef>> {
        let first = part % self.lanes.len().max(1);
        let mut decoded: Vec<Option<Result<Vec<ArrayRef>>>> = vec![None; self.lanes.len()];
        let order = || (first..self.lanes.len()).chain(0..first);
        for at in order() {
            match self.lanes[at].arrays.try_lock() {
                Ok(mut arrays) => decoded[at] = Some(arrays.get_or_insert_with(|| decode(&self.lanes[at].roots)).clone()),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Poisoned(_)) => return Err(stopped()),
            }
        }
        for at in order().filter(|at| decoded[*at].is_none()).collect::<Vec<_>>() {
            let mut arrays = self.lanes[at].arrays.lock().map_err(|_| stopped())?;
            decoded[at] = Some(arrays.get_or_insert_with(|| decode(&self.lanes[at].roots)).clone());
        }
        Ok(decoded.into_iter().flatten().collect::<Result<Vec<_>>>()?.concat())
    }
}

fn stopped() -> Error {
    Error::internal("another task stopped while it decoded a record batch")
}
