//! Outputs of more than one file: a directory with files next to its shards, or a pair of files.

use super::Outputs;
use crate::error::{Error, Kind, Result, mismatch};
use crate::io::sharded::Sharded;
use crate::io::staging::Staging;
use crate::io::target::{Names, Target};
use crate::options::Options;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

impl Outputs {
    /// A directory with shards named `shards` and other files; see [`Outputs::add`]. If it does not exist yet, it
    /// appears as a whole.
    ///
    /// # Errors
    /// The parent directory is missing, or a file with that name exists; see also [`Outputs::plan`].
    pub fn directory(path: &Path, shards: &str, options: &Options) -> Result<Outputs> {
        let name = path.display().to_string();
        // Without a slash at the end, which only a directory that exists may have.
        let path: &Path = &path.components().collect::<PathBuf>();
        let is_new = match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => false,
            Ok(_) => return Err(Error::new(Kind::Io, mismatch("a directory for the output", "a file")).in_input(name)),
            Err(_) => true,
        };
        let Some(sharded) = Sharded::parse(shards)? else { return Err(Error::internal("shards without a number")) };
        // The parent directory must exist.
        Target::literal(&path.join("x").into_os_string()).or_else(|e| if is_new { Target::literal(path.as_os_str()) } else { Err(e) })?;
        let (is_hashed, is_durable) = (options.manifest.is_some(), options.durable);
        let target = Target::Files(path.to_owned(), Names::Shards(sharded));
        let outputs = Outputs { is_hashed, is_durable, directory: Some(is_new), ..Outputs::new(&name, target, options.force)? };
        if options.no_clobber {
            outputs.refuse_existing()?;
        }
        Ok(outputs)
    }

    /// The path, if it is a directory.
    pub fn as_directory(&self) -> Option<&Path> {
        match (&self.target, self.directory) {
            (Target::Files(directory, _), Some(_)) => Some(directory),
            _ => None,
        }
    }

    /// Adds a file to a directory. It is renamed after the shards and after files added earlier.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut state = self.state();
        let Some(path) = state.staging.as_ref().map(|staging| staging.path(OsStr::new(name))) else {
            return Err(Error::internal("a file for a directory without shards"));
        };
        let written = Staging::create(&path).and_then(|mut file| file.write_all(bytes));
        written.map_err(|e| Error::io(&self.name, &format!("writing {name}"), &e))?;
        state.extras.push(name.into());
        Ok(())
    }

    /// Turns each file into a pair with these extensions; the name can have either of them, or none.
    ///
    /// # Errors
    /// The files would be compressed or not regular; see also [`Outputs::plan`].
    pub fn pair(&mut self, extensions: [&str; 2], options: &Options) -> Result<()> {
        let Target::Files(_, names) = &mut self.target else {
            let error = Error::usage("this is not a regular file, but the output consists of two files").in_input(self.name.clone());
            return if self.is_stdout() { Ok(()) } else { Err(error.help("specify a regular file")) };
        };
        if let Some(codec) = self.codec {
            let error = Error::usage(format!("the output consists of two files, which are not compressed, but its name says {codec}"));
            return Err(error.in_input(self.name.clone()));
        }
        let [first, second] = extensions.map(|extension| names.with_extension(&extensions, extension));
        (*names, self.seconds) = (first, Some(second));
        if options.no_clobber {
            self.refuse_existing()?;
        }
        match &self.target {
            Target::Files(directory, names @ Names::Shards(_)) => self.refuse_stale(directory, names, |_| true),
            _ => Ok(()),
        }
    }
}
