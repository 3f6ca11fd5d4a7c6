//! Directories beside the outputs in which they are written, and which never outlive the run.
//!
//! An output is written under its final name into a hidden directory beside its place, and renamed
//! at the end. All such directories are registered, so that a signal can remove them; the registry is
//! locked while files are renamed, so that a signal finds either nothing or everything in place.

use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static REGISTRY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Once a signal has come, nothing is made, put in place or given up any more: the end of the process is near.
fn registry() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    super::signals::wait_if_ending();
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A hidden directory beside the place of an output; removed with all that is in it when dropped.
pub struct Stage {
    path: PathBuf,
}

impl Stage {
    /// A new one in `directory`. `name` is that of the output, for those who find it after a power cut.
    ///
    /// # Errors
    /// The directory may not be written.
    pub fn new(directory: &Path, name: &str) -> Result<Stage> {
        let short: String = name.chars().filter(|c| *c != '/').take(40).collect();
        let mut registered = registry();
        let made = tempfile::Builder::new().prefix(&format!(".{short}.")).suffix(".tatter").tempdir_in(directory);
        let path = made.map_err(|e| Error::io(name, &format!("writing to {}", directory.display()), &e))?.keep();
        registered.insert(path.clone());
        Ok(Stage { path })
    }

    /// Where the file of that name is written.
    pub fn place(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Makes a file there, but not while the stage is being removed.
    ///
    /// # Errors
    /// As the system says.
    pub fn create(place: &Path) -> std::io::Result<fs::File> {
        let _registered = registry();
        fs::File::create(place)
    }

    /// Puts files under their names in `directory`, with the owner and the permissions of those that they replace.
    ///
    /// # Errors
    /// A file cannot be renamed.
    pub fn put<'a>(&self, names: impl Iterator<Item = &'a OsStr>, directory: &Path) -> Result<()> {
        let _registered = registry();
        for name in names {
            let (from, to) = (self.path.join(name), directory.join(name));
            if let Ok(old) = fs::metadata(&to) {
                adopt(&from, &old);
            }
            fs::rename(&from, &to).map_err(|e| Error::io(&to.display().to_string(), "putting the finished file in place", &e))?;
        }
        Ok(())
    }
}

/// Whoever may not give a file away keeps it; the permissions can always be had.
fn adopt(path: &Path, old: &fs::Metadata) {
    let Ok(new) = fs::metadata(path) else { return };
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        let _ = std::os::unix::fs::chown(path, Some(old.uid()), Some(old.gid()));
    }
    if new.permissions().mode() != old.permissions().mode() {
        let _ = fs::set_permissions(path, old.permissions());
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let mut registered = registry();
        let _ = fs::remove_dir_all(&self.path);
        registered.remove(&self.path);
    }
}

/// Removes everything that is registered, and lets nothing new begin: for the end of the process.
pub fn remove_all_for_good() {
    let registered = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    for path in registered.iter() {
        let _ = fs::remove_dir_all(path);
    }
    std::mem::forget(registered);
}
