//! The output of a run: standard output, a file, shards, or one file per record.

mod conflicts;
mod read_file;
mod several;

pub use read_file::ReadFile;

use super::codec::{self, Codec};
use super::deflate::Threads;
use super::disk::Disk;
use super::file::{FileWriter, Ledger};
use super::names::STANDARD_OUTPUT;
use super::staging::{Staging, not_created, shown};
use super::stdout::Held;
use super::target::{Names, Target, opened};
use crate::error::{Error, Kind, Result};
use crate::options::Options;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How records are distributed over output files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// One file, or standard output.
    Single,
    /// Record i goes to file i mod N.
    Shards(usize),
    /// One file per record.
    PerRecord,
}

/// The output files of a run. [`Outputs::commit`] renames them to their final names; if dropped before that, they are
/// removed.
pub struct Outputs {
    /// The name as given by the user.
    name: Arc<str>,
    target: Target,
    /// Whether the output is a directory; `Some(true)` if it does not exist yet.
    directory: Option<bool>,
    /// The names of the second files, if an output is a pair of files.
    seconds: Option<Names>,
    codec: Option<Codec>,
    extension: Option<String>,
    force: bool,
    /// Number of compression threads, if there is a single file.
    nthreads: usize,
    /// Whether checksums are needed.
    is_hashed: bool,
    /// Whether files are flushed to disk before they are renamed.
    is_durable: bool,
    held: Held,
    state: Mutex<OutputState>,
}

#[derive(Default)]
struct OutputState {
    /// Metadata files of a directory, in order.
    extras: Vec<OsString>,
    staging: Option<Staging>,
    created: BTreeSet<u64>,
    ledger: Arc<Ledger>,
}

impl Outputs {
    /// Plans the output from `-o`, `--shards`, `--force` and `--no-clobber`.
    ///
    /// # Errors
    /// A missing directory; an existing directory or write-protected file with that name; shards of an earlier run with
    /// a different number; `--shards` without a file.
    pub fn plan(options: &Options) -> Result<Outputs> {
        let target = match options.output.as_deref().filter(|_| options.is_output_literal && options.shards.is_none()) {
            Some(name) => Target::literal(name)?,
            None => Target::parse(options.output.as_deref(), options.shards)?,
        };
        let name = match &options.output {
            Some(name) if target != Target::StandardOutput => name.display().to_string(),
            _ => STANDARD_OUTPUT.to_owned(),
        };
        let (is_hashed, is_durable) = (options.manifest.is_some(), options.durable);
        let outputs = Outputs { nthreads: options.threads, is_hashed, is_durable, ..Outputs::new(&name, target, options.force)? };
        if options.no_clobber {
            outputs.refuse_existing()?;
        }
        if options.unbuffered {
            outputs.held.unbuffered();
        }
        Ok(outputs)
    }

    fn new(name: &str, target: Target, force: bool) -> Result<Outputs> {
        let (codec, extension) = match &target {
            Target::StandardOutput => (None, None),
            Target::Direct(_) | Target::Files(_, Names::Single(_)) => codec::extensions(name),
            Target::Files(_, names) => codec::extensions(&names.name(0)?.to_string_lossy()),
        };
        let outputs = Outputs {
            name: name.into(),
            target,
            directory: None,
            seconds: None,
            codec,
            extension,
            force,
            nthreads: 1,
            is_hashed: false,
            is_durable: false,
            held: Held::default(),
            state: Mutex::default(),
        };
        if let Target::Files(directory, names @ Names::Shards(_)) = &outputs.target {
            outputs.refuse_stale(directory, names, |_| true)?;
        }
        Ok(outputs)
    }

    /// The name as given by the user; `standard output` if there is none.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The files to be written, if their names are known before the run.
    pub fn files(&self) -> Vec<std::path::PathBuf> {
        let (directory, names, n) = match &self.target {
            Target::Files(directory, names @ Names::Single(_)) => (directory, names, 1),
            Target::Files(directory, names @ Names::Shards(sharded)) => (directory, names, sharded.nshards as u64),
            _ => return Vec::new(),
        };
        let all = |index| [Some(names), self.seconds.as_ref()].into_iter().flatten().map(move |names| names.name(index));
        (0..n).flat_map(all).filter_map(|name| Some(directory.join(name.ok()?))).collect()
    }

    /// Number of files for each output file: 1, or 2 for pairs.
    fn nparts(&self) -> u64 {
        1 + u64::from(self.seconds.is_some())
    }

    /// How records are distributed.
    pub fn distribution(&self) -> Distribution {
        match &self.target {
            Target::Files(_, Names::Shards(sharded)) => Distribution::Shards(sharded.nshards),
            Target::Files(_, Names::Numbered { .. }) => Distribution::PerRecord,
            _ => Distribution::Single,
        }
    }

    /// Number of files, if known before they are written; otherwise 1.
    pub fn nfiles(&self) -> u64 {
        match self.distribution() {
            Distribution::Shards(n) => n as u64,
            Distribution::Single | Distribution::PerRecord => 1,
        }
    }

    /// The extension of the name without compression extensions, in lower case; `None` for standard output.
    pub fn extension(&self) -> Option<&str> {
        self.extension.as_deref()
    }

    /// The compression of whole files, according to the extension.
    pub fn codec(&self) -> Option<Codec> {
        self.codec
    }

    /// The compression, and the number of threads for a file; many files use no extra threads.
    fn compression(&self) -> Option<(Codec, Threads)> {
        let threads = if self.distribution() == Distribution::Single { Threads::Own(self.nthreads) } else { Threads::Writer };
        self.codec.map(|codec| (codec, threads))
    }

    /// Compresses whole files, regardless of their extension.
    pub fn compress(&mut self, codec: Option<Codec>) {
        self.codec = codec;
    }

    /// Whether it is standard output.
    pub fn is_stdout(&self) -> bool {
        self.target == Target::StandardOutput
    }

    /// An error if the output is a terminal, which binary formats would garble.
    ///
    /// # Errors
    /// The output is a terminal.
    pub fn refuse_terminal(&self, format: &str) -> Result<()> {
        let is_terminal = match &self.target {
            Target::StandardOutput => std::io::stdout().is_terminal(),
            // Opening a pipe would wait for its reader.
            Target::Direct(path) if path.metadata().is_ok_and(|found| found.file_type().is_char_device()) => {
                File::options().write(true).open(path).is_ok_and(|file| file.is_terminal())
            }
            _ => false,
        };
        if !is_terminal {
            return Ok(());
        }
        Err(Error::usage(format!("{format} is binary: it is not written to a terminal")).help("write it to a file with -o, or to a pipe"))
    }

    /// Lets text on a terminal show hidden characters as escapes, instead of the terminal interpreting them.
    pub fn escape_on_terminal(&self) {
        if self.is_stdout() && std::io::stdout().is_terminal() {
            self.held.escape();
        }
    }

    /// Whether no output is visible before the end, so that a run can be restarted.
    pub fn is_retractable(&self) -> bool {
        matches!(self.target, Target::Files(..) | Target::StandardOutput)
    }

    /// Holds back standard output while [`Outputs::restart`] may be needed. Files are never visible before the end.
    pub fn hold_for_restart(&self) {
        if self.is_stdout() {
            self.held.hold_for_restart();
        }
    }

    /// Starts a report; see [`Outputs::create`] and [`Outputs::escape_on_terminal`].
    ///
    /// # Errors
    /// See [`Outputs::create`].
    pub fn create_report(&self) -> Result<Box<dyn Write + Send>> {
        self.escape_on_terminal();
        self.create(0)
    }

    /// Starts file `index` (0 for a single file), on any thread. Dropping the writer completes the file; errors are
    /// returned by [`Outputs::commit`]. Flushing does not split a compressed stream.
    ///
    /// Errors of the writer wrap [`Error`], which [`Error::io`] unwraps, with the name of the output.
    ///
    /// # Errors
    /// The file cannot be created, or the number does not fit the `#` placeholder.
    pub fn create(&self, index: u64) -> Result<Box<dyn Write + Send>> {
        let (directory, names) = match &self.target {
            Target::StandardOutput => return Ok(Box::new(self.held.writer()?)),
            Target::Direct(path) => {
                let file = opened(path).map_err(|e| Error::io(&self.name, "cannot open", &e))?;
                let ledger = self.state().ledger.clone();
                return Ok(Box::new(FileWriter::new(
                    Disk::new(file, self.is_hashed),
                    self.compression(),
                    self.name.clone(),
                    index,
                    ledger,
                )?));
            }
            Target::Files(directory, names) => (directory, names),
        };
        self.create_named(directory, names.name(index)?, index, 0)
    }

    /// Starts the second file with that number, if there is one; see [`Outputs::create`].
    ///
    /// # Errors
    /// See [`Outputs::create`].
    pub fn create_second(&self, index: u64) -> Result<Option<Box<dyn Write + Send>>> {
        match (&self.target, &self.seconds) {
            (Target::Files(directory, _), Some(names)) => self.create_named(directory, names.name(index)?, index, 1).map(Some),
            _ => Ok(None),
        }
    }

    fn create_named(&self, directory: &Path, name: OsString, index: u64, part: u64) -> Result<Box<dyn Write + Send>> {
        let (path, ledger) = {
            let mut state = self.state();
            if state.staging.is_none() {
                let beside = match self.directory {
                    Some(true) => directory.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
                    _ => directory,
                };
                state.staging = Some(Staging::new(beside, &self.pattern())?);
            }
            state.created.insert(index);
            let path = state.staging.as_ref().map(|staging| staging.path(&name));
            (path.unwrap_or_default(), state.ledger.clone())
        };
        let name_shown: Arc<str> = match self.distribution() {
            Distribution::Single if self.seconds.is_none() => self.name.clone(),
            _ => shown(&directory.join(&name)).into(),
        };
        let file = Staging::create(&path).map_err(|e| not_created(&name_shown, &e))?;
        let number = index * self.nparts() + part;
        Ok(Box::new(FileWriter::new(Disk::new(file, self.is_hashed), self.compression(), name_shown, number, ledger)?))
    }

    fn pattern(&self) -> String {
        match &self.target {
            Target::Files(_, names) => names.pattern(),
            _ => self.name.to_string(),
        }
    }

    /// Renames all files to their final names. Call it after all writers have been dropped.
    ///
    /// # Errors
    /// A file could not be completed or renamed, or numbered files of an earlier run would be mixed with these.
    pub fn commit(&self) -> Result<()> {
        self.settle()?;
        self.put()
    }

    /// Checks that all files are complete and can be renamed.
    fn settle(&self) -> Result<()> {
        let state = self.state();
        state.ledger.settle()?;
        match &self.target {
            Target::Files(directory, names @ Names::Numbered { .. }) => {
                self.refuse_stale(directory, names, |number| state.created.contains(&number))
            }
            _ => Ok(()),
        }
    }

    fn put(&self) -> Result<()> {
        let Target::Files(directory, names) = &self.target else {
            return if self.is_stdout() { self.held.release() } else { Ok(()) };
        };
        let mut state = self.state();
        let Some(staging) = state.staging.take() else {
            return Ok(());
        };
        let parts = || [Some(names), self.seconds.as_ref()].into_iter().flatten();
        let files = state.created.iter().flat_map(|index| parts().map(|names| names.name(*index)));
        let mut files: Vec<OsString> = files.collect::<Result<_>>()?;
        files.append(&mut state.extras);
        if self.directory == Some(true) {
            return staging.put_as(files.iter().map(OsString::as_os_str), directory, self.is_durable);
        }
        staging.put(files.iter().map(OsString::as_os_str), directory, self.is_durable)
    }

    /// The complete files, in order; none for standard output.
    ///
    /// # Errors
    /// Errors of `Names::name`, which are bugs.
    pub fn written(&self) -> Result<Vec<Written>> {
        let nparts = self.nparts();
        let path = |number: u64| match &self.target {
            Target::Files(directory, names) => {
                let names = self.seconds.as_ref().filter(|_| number % nparts == 1).unwrap_or(names);
                Ok(directory.join(names.name(number / nparts)?))
            }
            Target::Direct(path) => Ok(path.clone()),
            Target::StandardOutput => Ok(PathBuf::new()),
        };
        let complete = self.state().ledger.complete();
        complete
            .into_iter()
            .map(|(number, facts)| Ok(Written { path: path(number)?, number: number / nparts, nbytes: facts.nbytes, sha256: facts.sha256 }))
            .collect()
    }

    /// Discards everything written so far, for a restart.
    ///
    /// # Errors
    /// Some of it is already visible.
    pub fn restart(&self) -> Result<()> {
        match &self.target {
            Target::Files(..) => {
                *self.state() = OutputState::default();
                Ok(())
            }
            Target::StandardOutput => self.held.forget(),
            Target::Direct(_) => {
                Err(Error::new(Kind::Io, "output that has already been written cannot be changed").in_input(self.name.clone()))
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file that has been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name.
    pub path: PathBuf,
    /// Its number among the files of the output.
    pub number: u64,
    /// Size in bytes.
    pub nbytes: u64,
    /// The SHA-256 in hexadecimal; empty without `--manifest`.
    pub sha256: String,
}

/// Renames the files of several outputs, in order, after all of them are complete.
///
/// # Errors
/// See [`Outputs::commit`]. On an error nothing is renamed, unless renaming itself fails.
pub fn commit(outputs: &[Arc<Outputs>]) -> Result<()> {
    outputs.iter().try_for_each(|output| output.settle())?;
    outputs.iter().try_for_each(|output| output.put())
}

/// A file that a run writes line by line in addition to its outputs (`quarantine=FILE`). Its contents are kept even if
/// the run fails. Buffered, but an open descriptor gets whole lines, because others may write to it.
///
/// # Errors
/// The file cannot be created.
pub fn create_file(path: &Path) -> Result<Box<dyn Write + Send>> {
    let failed = |e: std::io::Error| Error::io(&path.display().to_string(), "cannot write", &e);
    match Target::literal(path.as_os_str())? {
        Target::Direct(path) => Ok(Box::new(std::io::LineWriter::new(opened(&path).map_err(failed)?))),
        _ => Ok(Box::new(std::io::BufWriter::new(File::create(path).map_err(failed)?))),
    }
}

/// A separate small file that appears either complete or not at all.
///
/// # Errors
/// The file cannot be created.
pub fn write_file(path: &Path, text: &str) -> Result<()> {
    let name = path.display().to_string();
    let output = Outputs::new(&name, Target::literal(path.as_os_str())?, false)?;
    output.create(0)?.write_all(text.as_bytes()).map_err(|e| Error::io(&name, "cannot write", &e))?;
    output.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

    fn plan(dir: &Path, name: &str) -> Result<Outputs> {
        Outputs::plan(&options(dir, name))
    }

    fn options(dir: &Path, name: &str) -> Options {
        Options { output: Some(dir.join(name).into()), ..Options::default() }
    }

    fn write(outputs: &Outputs, index: u64, text: &str) {
        outputs.create(index).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Every name in the directory, including hidden ones, sorted.
    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_there_before_the_commit_and_nothing_without_it() {
        let dir = tempfile::tempdir().unwrap();
        let outputs = plan(dir.path(), "a.x").unwrap();
        write(&outputs, 0, "hello");
        assert!(names(dir.path()).iter().all(|n| n.starts_with('.')));
        drop(outputs);
        assert_eq!(names(dir.path()), [""; 0]);

        let outputs = plan(dir.path(), "a.x").unwrap();
        write(&outputs, 0, "first");
        outputs.restart().unwrap();
        write(&outputs, 0, "second");
        outputs.commit().unwrap();
        assert_eq!((names(dir.path()), fs::read_to_string(dir.path().join("a.x")).unwrap()), (vec!["a.x".to_owned()], "second".to_owned()));
    }

    #[test]
    fn a_file_that_is_replaced_hands_on_its_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.x");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        fs::write(&path, "old").unwrap();
        let usual = mode();
        fs::remove_file(&path).unwrap();
        for (before, after) in [(None, usual), (Some(0o640), 0o640), (Some(0o604), 0o604)] {
            if let Some(before) = before {
                fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
            }
            let outputs = plan(dir.path(), "a.x").unwrap();
            write(&outputs, 0, "new");
            outputs.commit().unwrap();
            assert_eq!(mode(), after);
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        assert!(plan(dir.path(), "a.x").err().unwrap().to_string().contains("the file is write-protected"));
    }

    #[test]
    fn a_symlink_stays_and_its_target_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        for (link, target) in [("link", "d/there"), ("dangling", "d/new")] {
            std::os::unix::fs::symlink(target, dir.path().join(link)).unwrap();
            if link == "link" {
                fs::write(dir.path().join(target), "old").unwrap();
            }
            let outputs = plan(dir.path(), link).unwrap();
            write(&outputs, 0, "new");
            outputs.commit().unwrap();
            assert!(dir.path().join(link).is_symlink());
            assert_eq!(fs::read_to_string(dir.path().join(target)).unwrap(), "new");
        }
        assert_eq!(names(&dir.path().join("d")), ["new", "there"]);
    }

    #[test]
    fn shards_and_numbered_files_come_all_together() {
        let dir = tempfile::tempdir().unwrap();
        let run = |name: &str, indices: &[u64], force: bool| -> Result<()> {
            let outputs = Outputs::plan(&Options { force, ..options(dir.path(), name) })?;
            indices.iter().for_each(|i| write(&outputs, *i, &i.to_string()));
            outputs.commit()
        };
        run("s@2.x", &[0, 1], false).unwrap();
        assert_eq!(names(dir.path()), ["s-00000-of-00002.x", "s-00001-of-00002.x"]);
        run("s@2.x", &[1, 0], false).unwrap();
        let stale = run("s@3.x", &[0, 1, 2], false).unwrap_err().to_string();
        assert!(stale.contains("2 files from an earlier run would be mixed with the new ones: s-00000-of-00002.x and others"), "{stale}");
        run("s@3.x", &[0, 1, 2], true).unwrap();
        assert_eq!(names(dir.path()).len(), 5);

        run("n-##.x", &[2, 0, 1], false).unwrap();
        run("n-##.x", &[0, 1, 2, 3], false).unwrap();
        let stale = run("n-##.x", &[0, 1, 2], false).unwrap_err().to_string();
        assert!(stale.contains("a file from an earlier run would be mixed with the new ones: n-03.x"), "{stale}");
        run("n-##.x", &[0], true).unwrap();
        assert_eq!(names(dir.path()).len(), 9);
        assert!(plan(dir.path(), "n-#.x").unwrap().create(10).is_err());
    }

    #[test]
    fn compressed_files_depend_on_the_bytes_alone() {
        let dir = tempfile::tempdir().unwrap();
        let text: Vec<u8> = (0..200_000u32).flat_map(|i| (i.wrapping_mul(0x9e37_79b9) >> 20).to_string().into_bytes()).collect();
        for extension in ["x.gz", "x.zst", "x.zz", "x"] {
            let file = |name: &str, step: usize| {
                let name = format!("{name}.{extension}");
                let outputs = plan(dir.path(), &name).unwrap();
                let mut out = outputs.create(0).unwrap();
                for part in text.chunks(step) {
                    out.write_all(part).unwrap();
                    out.flush().unwrap();
                }
                drop(out);
                outputs.commit().unwrap();
                fs::read(dir.path().join(&name)).unwrap()
            };
            let (a, b) = (file("a", 7), file("b", 500_000));
            assert!(a == b, "{extension}");
            let mut back = Vec::new();
            match extension {
                "x.gz" => flate2::read::GzDecoder::new(a.as_slice()).read_to_end(&mut back).unwrap(),
                "x.zst" => zstd::Decoder::new(a.as_slice()).unwrap().read_to_end(&mut back).unwrap(),
                "x.zz" => flate2::read::ZlibDecoder::new(a.as_slice()).read_to_end(&mut back).unwrap(),
                _ => a.as_slice().read_to_end(&mut back).unwrap(),
            };
            assert!(back == text, "{extension}");
        }
    }

    #[test]
    fn what_fails_is_told_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let outputs = Outputs::plan(&Options { output: Some("/dev/full".into()), ..Options::default() }).unwrap();
        let mut out = outputs.create(0).unwrap();
        let error = out.write_all(&[0; 1 << 20]).unwrap_err();
        assert_eq!(Error::io("somewhere", "cannot write", &error).to_string(), "/dev/full: cannot write: no space left on device");
        drop(out);
        assert_eq!(outputs.commit().unwrap_err().to_string(), "/dev/full: cannot write: no space left on device");

        let outputs = plan(dir.path(), "a.x").unwrap();
        let unfinished = outputs.create(0).unwrap();
        assert!(outputs.commit().is_err());
        drop((unfinished, outputs));
        assert_eq!(names(dir.path()), [""; 0]);
    }

    #[test]
    fn small_files_that_cannot_be_completed_are_told_at_the_commit() {
        let outputs = Outputs::plan(&Options { output: Some("/dev/full".into()), ..Options::default() }).unwrap();
        write(&outputs, 0, "fits the buffer");
        assert_eq!(outputs.commit().unwrap_err().exit_code(), 3);
    }
}
