//! What comes up during a run. Notices: one line each on standard error for what a container cannot hold exactly; errors under `--strict`.

use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The notices of a run; clones share them. Any thread may add one; each is shown once, at the end.
#[derive(Clone, Debug, Default)]
pub struct Notices(Arc<Mutex<BTreeSet<String>>>);

impl Notices {
    /// Adds a notice, unless it is there already.
    ///
    /// # Errors
    /// `strict`: the notice itself, as an error of the data.
    pub fn add(&self, text: impl Into<String>, strict: bool) -> Result<()> {
        if strict {
            return Err(Error::data(text).help("this is a notice without --strict"));
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(text.into());
        Ok(())
    }

    /// All notices, sorted, and none left.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }
}

/// A number that clones share; any thread may add to it.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Mutex<u64>>);

impl Tally {
    /// Adds to it.
    pub fn add(&self, n: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += n;
    }

    /// The number so far, from which it starts again.
    pub fn take(&self) -> u64 {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
