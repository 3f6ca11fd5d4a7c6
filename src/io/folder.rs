//! Directories as inputs: the files in them, or the dataset that they are.

use super::codec::extensions;
use super::manifest::is_manifest;
use super::recognise::format_of;
use crate::error::{Error, Kind, Result};
use crate::options::{Options, SourceColumn};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Whether a directory is a single dataset of a format, rather than a folder of files.
pub type IsDataset<'a> = &'a dyn Fn(&Path) -> bool;

/// A directory given as an input.
#[derive(Debug, PartialEq, Eq)]
pub struct Folder {
    /// The name as given.
    pub path: PathBuf,
    /// A glob that matches the predominant kind of file.
    pub glob: String,
}

/// The contents of a directory as an input.
#[derive(Debug, PartialEq, Eq)]
pub enum Contents {
    /// Files, sorted by path.
    Files(Folder, Vec<PathBuf>),
    /// A single dataset: the directory itself, or the only one below it.
    Dataset(PathBuf),
}

/// The contents of a directory: it is a dataset, contains only one dataset, or contains regular files at any depth. As
/// in Spark, PyArrow and Hive, names that start with `.` or `_` are skipped (`_SUCCESS`, `_metadata`), and so is a manifest
/// that lists the others. Links to directories are not followed.
///
/// # Errors
/// A directory cannot be read, there are no files, or there are several datasets.
pub fn contents(directory: &Path, options: &Options, is_dataset: IsDataset) -> Result<Contents> {
    let mut found = FolderContents::default();
    found.search(directory, is_dataset)?;
    found.files.sort();
    found.datasets.sort();
    match found.datasets.as_slice() {
        [] => {}
        [dataset] if found.files.is_empty() => return Ok(Contents::Dataset(dataset.clone())),
        datasets => return Err(several(directory, datasets, &found.files)),
    }
    if let Some(name) = found.partition {
        partition_is_not_read(&directory.display().to_string(), &name, options)?;
    }
    if let (Some(log), false) = (found.log, found.files.is_empty()) {
        let text = format!("{}: the table log is not read, so files that it marks as removed are read too", log.display());
        options.notices.add(text, options.strict)?;
    }
    if !found.files.is_empty() {
        let folder = Folder { path: directory.to_owned(), glob: glob(directory, &found.files) };
        return Ok(Contents::Files(folder, found.files));
    }
    let error = Error::new(Kind::Io, "the directory has no files to read").in_input(directory.display().to_string());
    Err(match found.hidden {
        Some(path) => {
            error.help(format!("names that begin with `.` or `_` are skipped; to read such a file, specify it: {}", path.display()))
        }
        None => error.help("to run without records, use an empty file and specify its format: --from jsonl /dev/null"),
    })
}

/// Notes that a directory name such as `date=2024-01-01` gives the value of a field that is not read.
///
/// # Errors
/// The notice, under `--strict`.
pub fn partition_is_not_read(input: &str, name: &str, options: &Options) -> Result<()> {
    if options.source_columns.wants(SourceColumn::Hive) {
        return Ok(());
    }
    let text =
        format!("{input}: fields are read from the files only, not from directory names such as {name}; to read those: --source hive");
    options.notices.add(text, options.strict)
}

/// The error for a directory of datasets.
fn several(directory: &Path, datasets: &[PathBuf], files: &[PathBuf]) -> Error {
    let names: Vec<String> = datasets.iter().take(10).map(|dataset| dataset.display().to_string()).collect();
    let more = if datasets.len() > names.len() { format!(" and {} more", datasets.len() - names.len()) } else { String::new() };
    let message = match files.first() {
        Some(file) if datasets.len() == 1 => format!("the directory contains a dataset and other files, such as {}", file.display()),
        _ => format!("the directory contains {} datasets", datasets.len()),
    };
    Error::usage(message).in_input(directory.display().to_string()).help(format!("specify one: {}{more}", names.join(" ")))
}

/// Files with which Hugging Face datasets describe the data beside them.
const DESCRIPTIONS: [&str; 3] = ["dataset_info.json", "state.json", "dataset_dict.json"];

/// A glob for the most common extension among the files. Extensions of formats come first: a README is not data.
fn glob(directory: &Path, files: &[PathBuf]) -> String {
    // Files of a format, and all files.
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for path in files {
        let (Some(name), Some(extension)) = (path.file_name().and_then(OsStr::to_str), path.extension().and_then(OsStr::to_str)) else {
            continue;
        };
        if !DESCRIPTIONS.contains(&name) {
            let format = extensions(name).1.and_then(|extension| format_of(&extension));
            let (known, all) = counts.entry(extension).or_default();
            *known += usize::from(format.is_some_and(|format| format != "text"));
            *all += 1;
        }
    }
    let extension = counts.into_iter().max_by_key(|(extension, count)| (*count, std::cmp::Reverse(*extension)));
    format!("{}/**/*{}", directory.display(), extension.map_or_else(String::new, |(extension, _)| format!(".{extension}")))
}

#[derive(Default)]
struct FolderContents {
    files: Vec<PathBuf>,
    /// Directories that are datasets.
    datasets: Vec<PathBuf>,
    /// A file that was skipped because of its name.
    hidden: Option<PathBuf>,
    /// A directory name that gives the value of a field, such as `date=2024-01-01`.
    partition: Option<String>,
    /// The log of a table of Delta Lake or Hudi.
    log: Option<PathBuf>,
}

impl FolderContents {
    fn search(&mut self, directory: &Path, is_dataset: IsDataset) -> Result<()> {
        if is_dataset(directory) {
            self.datasets.push(directory.to_owned());
            return Ok(());
        }
        let failed = |e: &std::io::Error| Error::io(&directory.display().to_string(), "cannot search for files", e);
        for entry in std::fs::read_dir(directory).map_err(|e| failed(&e))? {
            let entry = entry.map_err(|e| failed(&e))?;
            let (path, name) = (entry.path(), entry.file_name());
            let kind = entry.file_type().map_err(|e| failed(&e))?;
            // A broken link is not skipped, so reading it fails.
            let is_file = kind.is_file() || (kind.is_symlink() && std::fs::metadata(&path).map_or(true, |found| found.is_file()));
            if is_hidden(&name) {
                if kind.is_dir() && (name == "_delta_log" || name == ".hoodie") {
                    self.log = Some(path);
                } else if is_file && self.hidden.is_none() {
                    self.hidden = Some(path);
                }
            } else if kind.is_dir() {
                if name.as_bytes().contains(&b'=') {
                    let name = name.display().to_string();
                    self.partition = Some(self.partition.take().map_or_else(|| name.clone(), |first| first.min(name.clone())));
                }
                self.search(&path, is_dataset)?;
            } else if is_file && !(may_be_manifest(&name) && is_manifest(&path)) {
                self.files.push(path);
            }
        }
        Ok(())
    }
}

/// Whether a file of this name may be a manifest: a JSON file, or one without an extension.
fn may_be_manifest(name: &OsStr) -> bool {
    extensions(&name.to_string_lossy()).1.is_none_or(|extension| format_of(&extension) == Some("json"))
}

/// Names that directory readers ignore. `_x=1` is a partition.
fn is_hidden(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b".") || (name.starts_with(b"_") && !name.contains(&b'='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_files_are_found_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["b.x", "a/z.x", "a/_SUCCESS", ".part.crc", "_metadata", "_temporary/0/a.x", "c=1/d.x", "c=0/d.x", "_k=1/e.x"];
        for (names, want) in [
            ("dataset_info.json state.json a.arrow", "d/**/*.arrow"),
            ("README.md a.md b/x.jsonl.gz", "d/**/*.gz"),
            ("LICENSE a.txt b.txt x.csv", "d/**/*.csv"),
        ] {
            let files: Vec<PathBuf> = names.split(' ').map(|name| Path::new("d").join(name)).collect();
            assert_eq!(glob(Path::new("d"), &files), want);
        }
        for name in names {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
        std::os::unix::fs::symlink("b.x", folder.path().join("link.x")).unwrap();
        let options = Options::default();
        let Contents::Files(found_in, found) = contents(folder.path(), &options, &|_| false).unwrap() else { panic!("not files") };
        assert_eq!(found_in.glob, format!("{}/**/*.x", folder.path().display()));
        let found: Vec<_> = found.iter().map(|p| p.strip_prefix(folder.path()).unwrap().display().to_string()).collect();
        assert_eq!(found, ["_k=1/e.x", "a/z.x", "b.x", "c=0/d.x", "c=1/d.x", "link.x"]);
        assert!(options.notices.take()[0].contains("directory names such as _k=1;"));
    }
}
