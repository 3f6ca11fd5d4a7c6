//! The files that a run reads, which its outputs must not replace.

use std::path::{Path, PathBuf};

/// A file that a run reads.
pub struct ReadFile {
    /// As given.
    pub(super) given: PathBuf,
    /// The canonical path, if the file exists; found once, because a run can have thousands of inputs and outputs.
    pub(super) resolved: Option<PathBuf>,
}

impl From<PathBuf> for ReadFile {
    fn from(given: PathBuf) -> ReadFile {
        ReadFile { resolved: given.canonicalize().ok(), given }
    }
}

impl ReadFile {
    /// The path as given.
    pub fn path(&self) -> &Path {
        &self.given
    }
}
