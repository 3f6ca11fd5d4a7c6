//! Columns that the tasks for the parts of a large group or batch read together.
//!
//! The columns are divided into lanes. A task needs all of them: it visits those that no other task is visiting, and then
//! waits for the others, so threads work on different lanes concurrently, and no task waits for one that has not started.

use crate::chunk::even_shares;
use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::{Mutex, TryLockError};

/// More than the threads that use them would only cost memory.
const MAX_LANES: usize = 8;

/// The state of each lane.
pub struct Lanes<T>(Vec<Mutex<T>>);

impl<T> Lanes<T> {
    /// Lanes in these states.
    pub fn new(lanes: impl Iterator<Item = T>) -> Lanes<T> {
        Lanes(lanes.map(Mutex::new).collect())
    }

    /// Visits every lane once, for part number `part`: different parts begin with different lanes. The results are in the
    /// order of the lanes.
    ///
    /// # Errors
    /// Another task stopped in a lane, which is a bug.
    pub fn visit<R>(&self, part: usize, visit: impl Fn(&mut T) -> R) -> Result<Vec<R>> {
        let first = part % self.0.len().max(1);
        let mut results: Vec<Option<R>> = self.0.iter().map(|_| None).collect();
        while results.iter().any(Option::is_none) {
            let mut busy = None;
            for at in (first..self.0.len()).chain(0..first) {
                if results[at].is_some() {
                    continue;
                }
                match self.0[at].try_lock() {
                    Ok(mut lane) => results[at] = Some(visit(&mut lane)),
                    Err(TryLockError::WouldBlock) => busy = Some(at),
                    Err(TryLockError::Poisoned(_)) => return Err(stopped()),
                }
            }
            if let Some(at) = busy {
                results[at] = Some(visit(&mut *self.0[at].lock().map_err(|_| stopped())?));
            }
        }
        Ok(results.into_iter().flatten().collect())
    }
}

/// The columns of each lane, given the size of each column.
pub fn shares(sizes: &[u64]) -> Vec<Range<usize>> {
    even_shares(sizes, MAX_LANES)
}

fn stopped() -> Error {
    Error::internal("another task stopped while it read columns that this one needs")
}
