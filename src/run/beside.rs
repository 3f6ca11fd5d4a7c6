//! The files that a command reads and writes besides its inputs and outputs. No file that is read may be replaced
//! unnoticed, nor may two files be written under one name.

use super::branch::Branches;
use crate::error::{Error, Result};
use crate::io::{Outputs, is_standard_input};
use crate::options::{OnError, Options};
use crate::verbs::Parsed;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The files of `--summary` and `--on-error quarantine=FILE`.
pub struct Beside(Vec<(&'static str, Outputs)>);

impl Beside {
    /// Plans the files.
    ///
    /// # Errors
    /// See [`Outputs::plan`]. Also an error if two of them have the same name.
    pub fn plan(options: &Options) -> Result<Beside> {
        let summary = options.summary.as_deref().filter(|path| *path != Path::new("-")).map(|path| ("the summary", path));
        let quarantine = match &options.on_error {
            OnError::Quarantine(path) => Some(("the quarantine file", path.as_path())),
            _ => None,
        };
        let mut planned: Vec<(&'static str, Outputs)> = Vec::new();
        for (what, path) in summary.into_iter().chain(quarantine) {
            let output = Some(path.as_os_str().to_owned());
            let own = Options { output, is_output_literal: true, shards: None, manifest: None, ..options.clone() };
            let output = Outputs::plan(&own)?;
            refuse_overlap(&planned, &output)?;
            planned.push((what, output));
        }
        Ok(Beside(planned))
    }

    /// Rejects an output with the same name as one of the files.
    ///
    /// # Errors
    /// A usage error that names the file.
    pub fn refuse_output(&self, output: &Outputs) -> Result<()> {
        refuse_overlap(&self.0, output)
    }

    /// Rejects files that would replace this file, which is read.
    ///
    /// # Errors
    /// A usage error that names the file.
    pub fn refuse_read(&self, read: &Path) -> Result<()> {
        match self.0.iter().find(|(_, output)| output.replaces(read)) {
            Some((what, _)) => Err(replaced(what, read)),
            None => Ok(()),
        }
    }
}

/// The error for a file that would replace one that is read.
pub fn replaced(what: &str, read: &Path) -> Error {
    let error = Error::usage(format!("{what} would replace this file, which is an input")).in_input(read.display().to_string());
    error.help("write to another file")
}

fn refuse_overlap(planned: &[(&'static str, Outputs)], output: &Outputs) -> Result<()> {
    match planned.iter().find(|(_, other)| other.overlaps(output)) {
        Some((what, other)) => {
            let error = Error::usage(format!("{what} has the same name as another output")).in_input(other.name().clone());
            Err(error.help("write to another file"))
        }
        None => Ok(()),
    }
}

/// Checks that standard input is not read besides the inputs if it is one of them, or for two purposes.
///
/// # Errors
/// Standard input is read twice.
pub fn refuse_standard_input_twice(verbs: &[Box<dyn Parsed>], files: &[OsString], branches: &Branches, options: &Options) -> Result<()> {
    let beside = standard_inputs_beside(verbs);
    if beside > 0 && beside + standard_inputs(files, branches, options) > 1 {
        return Err(Error::usage("standard input is named twice").help("write one of the two to a file first"));
    }
    Ok(())
}

/// The number of inputs of a chain that read standard input.
pub fn standard_inputs(files: &[OsString], branches: &Branches, options: &Options) -> usize {
    let reads_none = options.from.as_deref() == Some("none") || options.files_from.is_some();
    let reads = |file: &OsString| match branches.get(file) {
        Some(branch) => standard_inputs_beside(&branch.verbs) + standard_inputs(&branch.files, &branch.branches, &branch.options),
        None => usize::from(is_standard_input(file)),
    };
    files.iter().map(reads).sum::<usize>() + usize::from(files.is_empty() && !reads_none)
}

/// The number of tables and baselines that are standard input.
fn standard_inputs_beside(verbs: &[Box<dyn Parsed>]) -> usize {
    let tables = verbs.iter().flat_map(|verb| verb.tables()).map(|(file, _)| file);
    tables.chain(verbs.iter().filter_map(|verb| verb.baseline())).filter(|file| is_standard_input(file)).count()
}

/// The files that are read besides the inputs: tables, constants, a schema, a list of files, a baseline.
pub fn read(verbs: &[Box<dyn Parsed>], options: &Options) -> Vec<PathBuf> {
    let tables = verbs.iter().flat_map(|verb| verb.tables()).map(|(file, _)| file);
    let baselines = verbs.iter().filter_map(|verb| verb.baseline());
    let constants = options.with.iter().filter_map(|text| text.split_once('=')).map(|(_, file)| OsString::from(file));
    let schema =
        options.schema.as_deref().and_then(|text| text.as_bytes().strip_prefix(b"@")).map(|file| OsStr::from_bytes(file).to_owned());
    let files = tables.chain(baselines).chain(constants).chain(schema).chain(options.files_from.clone());
    files.filter(|file| file != "-").map(PathBuf::from).collect()
}
