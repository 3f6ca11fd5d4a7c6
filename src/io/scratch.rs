//! Temporary files.

use super::target::Target;
use crate::error::{Error, Result};
use crate::options::Options;
use std::fs::File;
use std::path::PathBuf;

/// An unnamed temporary file in `--temp-dir`, or next to the output if that is a file. It holds data whose final
/// position is not known yet, and records that exceed memory. It is deleted when the process ends, however it ends.
///
/// # Errors
/// The file cannot be created there.
pub fn scratch(options: &Options) -> Result<File> {
    let directory = scratch_directory(options);
    tempfile::tempfile_in(&directory).map_err(|e| {
        let error = Error::io(&directory.display().to_string(), "cannot create a temporary file", &e);
        error.help("choose a directory for temporary files: --temp-dir DIR")
    })
}

/// The directory in which [`scratch`] creates its files.
pub fn scratch_directory(options: &Options) -> PathBuf {
    if let Some(directory) = &options.temp_dir {
        return directory.clone();
    }
    match Target::parse(options.output.as_deref(), options.shards) {
        Ok(Target::Files(directory, _)) => directory,
        _ => std::env::temp_dir(),
    }
}
