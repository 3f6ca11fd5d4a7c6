//! Notices of a run: one line each on standard error about what is not an error, such as an inexact conversion. They
//! are errors under `--strict`.

use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The notices of a run. Clones share them. Any thread can add one; each is shown once, at the end.
#[derive(Clone, Debug, Default)]
pub struct Notices(Arc<Mutex<BTreeSet<String>>>);

impl Notices {
    /// Adds a notice, unless it is already present.
    ///
    /// # Errors
    /// With `strict`, the notice itself, as a data error.
    pub fn add(&self, text: impl Into<String>, strict: bool) -> Result<()> {
        if strict {
            return Err(Error::data(text).help("without --strict, this is only a notice"));
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(text.into());
        Ok(())
    }

    /// Takes all notices, sorted.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }
}

/// A number shared by its clones; any thread can add to it.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Mutex<u64>>);

impl Tally {
    /// Adds to the number.
    pub fn add(&self, n: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += n;
    }

    /// Takes the number and resets it.
    pub fn take(&self) -> u64 {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
