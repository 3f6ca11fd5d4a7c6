//! The limit on the number of open files.

use crate::error::Error;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// EMFILE, which [`std::io::ErrorKind`] does not name.
pub const TOO_MANY_OPEN_FILES: i32 = 24;

/// Raises the limit on the number of open files as far as the system allows: a directory of shards can have more files than
/// the usual 1024.
pub fn allow_many_open_files() {
    /// The most that macOS allows where it states no maximum.
    const MACOS: u64 = 10_240;
    let Rlimit { current: Some(current), maximum } = getrlimit(Resource::Nofile) else { return };
    for most in [maximum, Some(MACOS)] {
        let is_more = most.is_none_or(|most| most > current && maximum.is_none_or(|maximum| most <= maximum));
        // Where it cannot be raised, the error for a file that cannot be opened names the limit.
        if is_more && setrlimit(Resource::Nofile, Rlimit { current: most, maximum }).is_ok() {
            return;
        }
    }
}

/// Adds advice to the error for a file that cannot be opened or created because of the limit.
pub fn advised(error: Error, source: &std::io::Error) -> Error {
    match source.raw_os_error() {
        Some(TOO_MANY_OPEN_FILES) => error.help("use fewer files, or raise the limit on open files: ulimit -n 100000"),
        _ => error,
    }
}
