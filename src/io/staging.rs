//! Directories next to the outputs in which output files are written. They do not outlive the run.
//!
//! An output is written under its final name into a hidden directory next to its destination, and renamed at the end.
//! All such directories are registered, so that a signal can remove them. The registry is locked while files are
//! renamed, so that a signal finds either nothing or everything in place.

use super::limits::{TOO_MANY_OPEN_FILES, advised};
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { living: BTreeSet::new(), swept: BTreeSet::new() });

/// The directories of this run.
struct Registry {
    /// Those in use.
    living: BTreeSet<PathBuf>,
    /// Where those of killed runs have been removed. Once is enough, and there may be thousands of outputs.
    swept: BTreeSet<PathBuf>,
}

/// After a signal, nothing is created, renamed or abandoned any more, because the process is about to end.
fn registry() -> MutexGuard<'static, Registry> {
    super::signals::wait_if_ending();
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A hidden directory next to an output; removed with its contents when dropped.
pub struct Staging {
    path: PathBuf,
    /// Locked while the run is alive.
    _lock: File,
}

/// The error for a file that cannot be created, with advice if too many files are open.
pub fn not_created(name: &str, e: &std::io::Error) -> Error {
    advised(Error::io(name, "cannot write", e), e)
}

/// The file in the directory that its owner keeps locked.
const LOCK: &str = ".tatter.lock";

impl Staging {
    /// Creates one in `directory`, and removes those of killed runs there. `name` is that of the output, for anyone who
    /// finds it after a power failure.
    ///
    /// # Errors
    /// The directory is not writable.
    pub fn new(directory: &Path, name: &str) -> Result<Staging> {
        let short: String = name.chars().filter(|c| *c != '/').take(40).collect();
        let failed = |e: &std::io::Error| match e.raw_os_error() {
            Some(TOO_MANY_OPEN_FILES) => not_created(&shown(&directory.join(name)), e),
            _ if ["", "."].iter().any(|own| directory == Path::new(own)) => Error::io(name, "cannot create a file in this directory", e),
            _ => Error::io(&shown(&directory.join(name)), "cannot create a file in this directory", e),
        };
        let mut registered = registry();
        if registered.swept.insert(directory.to_owned()) {
            remove_abandoned(directory);
        }
        loop {
            let made = tempfile::Builder::new().prefix(&format!(".{short}.")).suffix(SUFFIX).tempdir_in(directory);
            let made = made.map_err(|e| failed(&e))?;
            let lock = File::create(made.path().join(LOCK)).map_err(|e| {
                // Removing the directory with its contents would need another open file.
                let _ = fs::remove_dir(made.path());
                failed(&e)
            })?;
            // Another run may have taken it for abandoned before it was locked. Directories that cannot be locked, as
            // on some file systems, are never treated as abandoned.
            let is_ours = match lock.lock() {
                Ok(()) => made.path().join(LOCK).exists(),
                Err(_) => fs::remove_file(made.path().join(LOCK)).is_ok(),
            };
            if is_ours {
                let path = made.keep();
                registered.living.insert(path.clone());
                return Ok(Staging { path, _lock: lock });
            }
        }
    }

    /// The path at which the file with that name is written.
    pub fn path(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Creates a file there, unless the stage is being removed.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn create(path: &Path) -> std::io::Result<fs::File> {
        let _registered = registry();
        fs::File::create(path)
    }

    /// Renames files into a new directory `to`, which appears with all of them.
    ///
    /// # Errors
    /// A file cannot be flushed or renamed, or a directory with that name exists by now.
    pub fn put_as<'a>(&self, names: impl Iterator<Item = &'a OsStr> + Clone, to: &Path, is_durable: bool) -> Result<()> {
        let made = self.path.join(DIRECTORY);
        let failed = |e: &std::io::Error| Error::io(&to.display().to_string(), "cannot rename the finished directory into place", e);
        fs::create_dir(&made).map_err(|e| failed(&e))?;
        self.put(names, &made, is_durable)?;
        let _registered = registry();
        fs::rename(&made, to).map_err(|e| failed(&e))
    }

    /// Renames files into `directory`, with the owner and permissions of the files they replace. If requested, files
    /// are flushed to disk before, and their names afterwards.
    ///
    /// # Errors
    /// A file cannot be flushed or renamed.
    pub fn put<'a>(&self, names: impl Iterator<Item = &'a OsStr> + Clone, directory: &Path, is_durable: bool) -> Result<()> {
        let flush = |path: &Path, shown: &Path| {
            let flushed = if is_durable { File::open(path).and_then(|file| file.sync_all()) } else { Ok(()) };
            flushed.map_err(|e| Error::io(&shown.display().to_string(), "cannot flush to disk", &e))
        };
        names.clone().try_for_each(|name| flush(&self.path.join(name), Path::new(name)))?;
        let _registered = registry();
        for name in names {
            let (from, to) = (self.path.join(name), directory.join(name));
            if let Ok(old) = fs::metadata(&to) {
                adopt(&from, &old);
            }
            fs::rename(&from, &to).map_err(|e| Error::io(&shown(&to), "cannot rename the finished file into place", &e))?;
        }
        flush(directory, directory)
    }
}

/// A path for display, without the `./` of the working directory.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// The name of a directory until it is complete.
const DIRECTORY: &str = ".tatter.directory";

/// The suffix of staging directories: six random letters, followed by this.
const SUFFIX: &str = ".tatter";

/// Removes the staging directories of killed runs, whose locks are free.
fn remove_abandoned(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.filter(|entry| is_staging(&entry.file_name())).map(|entry| entry.path()) {
        if let Ok(lock) = File::open(path.join(LOCK))
            && lock.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_staging(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let random = name.strip_suffix(SUFFIX.as_bytes()).and_then(|front| front.split_last_chunk::<7>());
    name.first() == Some(&b'.') && random.is_some_and(|(_, random)| random[0] == b'.' && random[1..].iter().all(u8::is_ascii_alphanumeric))
}

/// Changing the owner may not be permitted; changing the permissions always is.
fn adopt(path: &Path, old: &fs::Metadata) {
    let Ok(new) = fs::metadata(path) else { return };
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        let _ = std::os::unix::fs::chown(path, Some(old.uid()), Some(old.gid()));
    }
    if new.permissions().mode() != old.permissions().mode() {
        let _ = fs::set_permissions(path, old.permissions());
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let mut registered = registry();
        let _ = fs::remove_dir_all(&self.path);
        registered.living.remove(&self.path);
    }
}

/// Removes everything registered and prevents new entries. Called at the end of the process.
pub fn remove_unfinished() {
    let registered = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    for path in &registered.living {
        let _ = fs::remove_dir_all(path);
    }
    std::mem::forget(registered);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_ended_runs_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let names = || {
            let mut names: Vec<String> =
                fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        for (name, has_lock) in [(".out.jsonl.AbC123.tatter", true), (".mine.tatter", true), (".other.AbC123.tatter", false)] {
            fs::create_dir(folder.path().join(name)).unwrap();
            if has_lock {
                fs::write(folder.path().join(name).join(LOCK), "").unwrap();
            }
        }
        let living = Staging::new(folder.path(), "a").unwrap();
        let other = Staging::new(folder.path(), "b").unwrap();
        let left = names();
        assert!(living.path.exists() && other.path.exists());
        assert!(!left.contains(&".out.jsonl.AbC123.tatter".to_owned()), "{left:?}");
        assert_eq!(left.len(), 4, "{left:?}");
        drop((living, other));
        assert_eq!(names(), [".mine.tatter", ".other.AbC123.tatter"]);
    }
}
