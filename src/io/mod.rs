//! Inputs (files, pipes, compressed, sharded) and outputs (written beside, then renamed; sharded; one file per record).

use crate::error::{Error, Result};
use crate::options::Options;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;

/// One input: a file or standard input, decompressed on the way in.
pub struct Input {
    name: Arc<str>,
}

impl Input {
    /// No input at all: for `--from none`.
    pub fn none() -> Input {
        Input { name: Arc::from("nothing") }
    }

    /// Why no format is found in it: a page of HTML, a CSV file, ...; `formats` are the names to choose from.
    pub fn unrecognised(&self, formats: &str) -> Error {
        Error::usage("its format is not recognised").in_input(self.name.clone()).help(format!("give one with --from: {formats}"))
    }

    /// As the user gave it; `standard input` for a pipe.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The first bytes, decompressed, up to 64 KiB. They stay to be read.
    pub fn head(&self) -> &[u8] {
        &[]
    }

    /// The name's extension without those of compression, in lower case.
    pub fn extension(&self) -> Option<&str> {
        None
    }

    /// Whether it can be opened again and again: a regular file.
    pub fn is_regular(&self) -> bool {
        false
    }

    /// Bytes on disk, where known: for progress.
    pub fn nbytes(&self) -> Option<u64> {
        None
    }

    /// The bytes from the start, decompressed. A pipe is read once, but what was read of it so far
    /// is given again if it was not more than [`Input::remember`] allowed.
    pub fn open(&self) -> Result<Box<dyn Read + Send>> {
        Err(Error::usage("none"))
    }

    /// From now on remember up to so many bytes of a pipe for the next [`Input::open`]; 0 forgets.
    pub fn remember(&self, nbytes: u64) {
        let _ = nbytes;
    }

    /// The bytes, decompressed, in a file that can be read at any place: the file itself, or a temporary copy.
    pub fn file(&self) -> Result<File> {
        Err(Error::usage("none"))
    }
}

/// The inputs that FILE arguments name: globs and `name@N` expanded, standard input for none or `-`.
///
/// # Errors
/// A missing file; what is recognised as no data at all (a directory, an LFS pointer, HTML, a URL).
pub fn inputs(files: &[String], options: &Options) -> Result<Vec<Arc<Input>>> {
    let _ = (files, options);
    Ok(Vec::new())
}

/// How records are spread over output files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Single,
    /// Record i goes to file i mod N.
    Shards(usize),
    /// One file for each record.
    PerRecord,
}

/// The output files of a run. Nothing stands under their names before [`Outputs::commit`].
pub struct Outputs {}

impl Outputs {
    /// What `-o`, `--shards` and `--force` say.
    pub fn plan(options: &Options) -> Result<Outputs> {
        let _ = options;
        Ok(Outputs {})
    }

    pub fn layout(&self) -> Layout {
        Layout::Single
    }

    /// The name's extension without those of compression, in lower case; `None` for standard output.
    pub fn extension(&self) -> Option<&str> {
        None
    }

    /// Whether nothing of the output is visible before the end, so that a run may start again.
    pub fn is_retractable(&self) -> bool {
        false
    }

    /// Starts file `index` (0 for a single one). May be called on any thread.
    pub fn create(&self, index: u64) -> Result<Box<dyn Write + Send>> {
        let _ = index;
        Ok(Box::new(std::io::sink()))
    }

    /// Puts all files under their names. To be called when all writers are finished.
    pub fn commit(&self) -> Result<()> {
        Ok(())
    }

    /// An error if the output is a terminal: binary formats would garble it.
    pub fn refuse_terminal(&self, format: &str) -> Result<()> {
        let _ = format;
        Ok(())
    }

    /// Forgets everything written so far, for another start.
    pub fn restart(&self) -> Result<()> {
        Ok(())
    }
}

/// A file beside the outputs (`quarantine=FILE`), buffered.
pub fn create_file(path: &std::path::Path) -> Result<Box<dyn Write + Send>> {
    let file = File::create(path).map_err(|e| Error::io(&path.to_string_lossy(), "creating the file failed", &e))?;
    Ok(Box::new(std::io::BufWriter::new(file)))
}
