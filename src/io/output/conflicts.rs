//! What files an output would replace, or be mixed with.

use super::{Outputs, ReadFile};
use crate::error::{Error, Kind, Result};
use crate::io::names::{self, IN_PLACE, is_standard_input, standard_output_file};
use crate::io::target::{Names, Target};
use std::ffi::{OsStr, OsString};
use std::path::Path;

impl Outputs {
    /// Whether both write a file with the same name. The metadata files of a directory count once they are written.
    pub fn overlaps(&self, other: &Outputs) -> bool {
        // Several outputs can write to a device or to standard output.
        let (Target::Files(a, _), Target::Files(b, _)) = (&self.target, &other.target) else { return false };
        // The usual case of many outputs comes first: a file each, of different names.
        if let (Some(own), Some(others)) = (self.single(), other.single())
            && own != others
        {
            return false;
        }
        if a != b && !matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b) {
            return false;
        }
        let extras = |outputs: &Outputs| outputs.state().extras.iter().cloned().map(Names::Single).collect::<Vec<_>>();
        let (own, others) = (extras(self), extras(other));
        self.names().chain(&own).any(|names| other.names().chain(&others).any(|others| names.overlaps(others)))
    }

    /// The only file, if there is just one.
    pub fn single(&self) -> Option<&OsString> {
        match &self.target {
            Target::Files(_, Names::Single(name)) if self.seconds.is_none() && self.directory.is_none() => Some(name),
            _ => None,
        }
    }

    /// The names of all files except the metadata files of a directory.
    fn names(&self) -> impl Iterator<Item = &Names> {
        let names = match &self.target {
            Target::Files(_, names) => Some(names),
            _ => None,
        };
        [names, self.seconds.as_ref().filter(|_| names.is_some())].into_iter().flatten()
    }

    /// Whether a file with that name would be written.
    fn includes(&self, names: &Names, name: &OsStr) -> bool {
        names.includes(name) || self.seconds.as_ref().is_some_and(|seconds| seconds.includes(name))
    }

    /// Checks `--no-clobber`.
    pub(super) fn refuse_existing(&self) -> Result<()> {
        let Target::Files(directory, names) = &self.target else { return Ok(()) };
        let mut entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
        match entries.find(|name| self.includes(names, name)) {
            Some(name) => {
                let error =
                    Error::new(Kind::Io, "the file exists").in_input(directory.join(name).display().to_string().trim_start_matches("./"));
                Err(error.help("it was not overwritten because of --no-clobber"))
            }
            None => Ok(()),
        }
    }

    /// An error if an input file would be replaced.
    ///
    /// # Errors
    /// One of these paths is an output.
    pub fn refuse_inputs(&self, inputs: &[ReadFile]) -> Result<()> {
        if self.target == Target::StandardOutput
            && let Some(path) = standard_output_file()
            && let Some(file) = inputs.iter().find(|file| file.resolved.as_ref() == Some(&path))
        {
            let name = names::shown(file.given.as_os_str());
            return Err(Error::usage("standard output is the same file").in_input(name).help(IN_PLACE));
        }
        let Target::Files(directory, _) = &self.target else { return Ok(()) };
        let Ok(directory) = directory.canonicalize() else { return Ok(()) };
        for ReadFile { given, resolved } in inputs {
            let Some(path) = resolved else { continue };
            if self.directory.is_some() && *path == directory {
                let error = Error::usage("the output would be written into this input").in_input(given.display().to_string());
                return Err(error.help("allow it with --in-place, or write to another directory"));
            }
            if self.is_one_of(&directory, path) {
                let this = if is_standard_input(given.as_os_str()) { "this file" } else { "this input" };
                let error = Error::usage(format!("the output would replace {this}")).in_input(names::shown(given.as_os_str()));
                return Err(error.help("allow it with --in-place, or write to another file"));
            }
        }
        Ok(())
    }

    /// Whether one of the files would replace this one.
    pub fn replaces(&self, file: &Path) -> bool {
        let Target::Files(directory, _) = &self.target else { return false };
        matches!((directory.canonicalize(), file.canonicalize()), (Ok(directory), Ok(file)) if self.is_one_of(&directory, &file))
    }

    /// The same for canonical paths of the output's directory and the file.
    fn is_one_of(&self, directory: &Path, file: &Path) -> bool {
        let Target::Files(_, names) = &self.target else { return false };
        file.parent() == Some(directory) && file.file_name().is_some_and(|name| self.includes(names, name))
    }

    /// Refuses numbered files of an earlier run that would be mixed with the new ones, unless `--force` is given.
    pub(super) fn refuse_stale(&self, directory: &Path, names: &Names, is_written: impl Fn(u64) -> bool) -> Result<()> {
        if self.force {
            return Ok(());
        }
        let stale = names.stale(directory, is_written);
        let (Some(first), n) = (stale.first(), stale.len()) else {
            return Ok(());
        };
        let files = if n == 1 { "a file".to_owned() } else { format!("{n} files") };
        let message =
            format!("{files} from an earlier run would be mixed with the new ones: {first}{}", if n == 1 { "" } else { " and others" });
        Err(Error::new(Kind::Io, message).in_input(self.name.clone()).help("remove them, or keep them with --force"))
    }
}
