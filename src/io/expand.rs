//! Expands FILE arguments: files, directories, quoted globs, shards (`name@8.ext`), standard input.

use super::dataset::NamedInput;
use super::folder::{Contents, IsDataset};
use super::list::List;
use super::missing::{is_missing, missing};
use super::names::{in_brackets, is_standard_input};
use super::sharded::Sharded;
use super::{dataset, folder, recognise, wildcard};
use crate::error::{Error, Kind, Result};
use crate::options::Options;
use crate::printable::is_or_are;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The inputs in argument order, followed by those of `--files-from`. Shards, glob matches and files of a directory are
/// sorted by name. A file with exactly that name takes precedence over a glob or shards.
///
/// # Errors
/// A URL; a missing file or shard, with the nearest existing name; a glob without matches; standard input used twice.
pub fn expand(files: &[OsString], options: &Options, is_dataset: IsDataset) -> Result<Vec<NamedInput>> {
    let standard_input = || NamedInput { path: None, is_searched: false, folder: None, is_dataset: false };
    let list = options.files_from.as_ref().map(|name| List { name, null: options.null_separated });
    if files.is_empty() && list.is_none() {
        return Ok(vec![standard_input()]);
    }
    let (mut all, mut given) = (Vec::new(), Vec::new());
    for name in files {
        if is_standard_input(name) {
            if all.iter().any(|found: &NamedInput| found.path.is_none()) || list.as_ref().is_some_and(List::is_standard_input) {
                return Err(Error::usage("standard input is named twice, but can be read only once"));
            }
            all.push(standard_input());
        } else {
            let Named { paths, is_searched, skipped } = paths(name, options.from.as_deref())?;
            if let Some(first) = skipped.first() {
                let (n, glob) = (skipped.len(), name.display());
                let what = if n == 1 { "a directory that matches is".to_owned() } else { format!("{n} directories that match are") };
                let text = format!("{glob}: {what} not read: {}; '{glob}*' also reads files in subdirectories", first.display());
                options.notices.add(text, options.strict)?;
            }
            if let Some(partition) = partition(name, &paths).filter(|_| is_searched) {
                folder::partition_is_not_read(&name.display().to_string(), &partition, options)?;
            }
            if !is_searched {
                given.extend(paths.iter().cloned());
            }
            paths.into_iter().try_for_each(|path| add(path, is_searched, &mut all, options, is_dataset))?;
        }
    }
    if let Some(list) = list {
        for path in list.names()?.into_iter().map(PathBuf::from) {
            let path = match path.to_str().and_then(pair).filter(|_| !exists(&path)) {
                Some(index) => index,
                None if exists(&path) => path,
                None => return Err(list.missing(&path)),
            };
            given.push(path.clone());
            add(path, true, &mut all, options, is_dataset)?;
        }
    }
    if let Some((path, partition)) = different_partitions(&given) {
        folder::partition_is_not_read(&path.display().to_string(), &partition, options)?;
    }
    // A text file may have any name.
    if options.from.as_deref() != Some("text") {
        drop_seconds(&mut all);
    }
    dataset::check(&all, options)?;
    Ok(all)
}

/// The first directory name with the value of a field among the matches of a glob that does not spell it out.
fn partition(glob: &OsStr, matches: &[PathBuf]) -> Option<String> {
    let spelled: BTreeSet<&OsStr> = Path::new(glob).iter().collect();
    let is_partition = |name: &&OsStr| name.as_encoded_bytes().contains(&b'=') && !spelled.contains(name);
    let directories = matches.iter().map(|path| if path.is_dir() { path } else { path.parent().unwrap_or(path) });
    directories.flat_map(Path::iter).filter(is_partition).min().map(|name| name.display().to_string())
}

/// The first file, and the name of its directory, that gives another value of a field than the directories of the files
/// before it, as in a glob that the shell has expanded.
fn different_partitions(files: &[PathBuf]) -> Option<(&Path, String)> {
    let mut first = BTreeMap::new();
    files.iter().find_map(|path| {
        let directories = path.parent().into_iter().flat_map(Path::iter).filter_map(OsStr::to_str);
        let different = directories
            .filter_map(|name| Some((name, name.split_once('=')?)))
            .find(|(_, (field, value))| !field.is_empty() && first.entry(*field).or_insert(*value) != value);
        different.map(|(name, _)| (path.as_path(), name.to_owned()))
    })
}

/// The extensions of pairs of files that are read as one; given the first, the second is found next to it.
const PAIR: [&str; 2] = ["bin", "idx"];

/// The extensions of index files: `x.tfrecord.idx` has the record offsets of `x.tfrecord`.
const INDICES: [&str; 2] = ["idx", "offsets"];

/// If both files of a pair are given, or a file and its index, as by a glob that the shell expands, only one of them is an input.
fn drop_seconds(all: &mut Vec<NamedInput>) {
    let indices: BTreeSet<PathBuf> =
        all.iter().filter_map(|found| found.path.clone()).filter(|path| has_extension(path, PAIR[1])).collect();
    let files: BTreeSet<PathBuf> = all.iter().filter_map(|found| found.path.clone()).collect();
    let is_index =
        |path: &PathBuf| INDICES.iter().any(|extension| has_extension(path, extension)) && files.contains(&path.with_extension(""));
    let is_second = |path: &PathBuf| has_extension(path, PAIR[0]) && indices.contains(&path.with_extension(PAIR[1]));
    let is_beside = |path: &PathBuf| is_index(path) || is_second(path);
    all.retain(|found| !found.path.as_ref().is_some_and(is_beside));
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|own| own == extension)
}

/// The index file of the two-file dataset whose common prefix is `name`.
fn pair(name: &str) -> Option<PathBuf> {
    let [values, index] = PAIR.map(|extension| PathBuf::from(format!("{name}.{extension}")));
    (values.is_file() && index.is_file()).then_some(index)
}

/// Adds a file, the files of a directory, or a directory that is a dataset.
fn add(path: PathBuf, is_searched: bool, all: &mut Vec<NamedInput>, options: &Options, is_dataset: IsDataset) -> Result<()> {
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => {}
        // The error for a missing file suggests the nearest name.
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io(&path.display().to_string(), "cannot open", &e)),
        _ => {
            all.push(NamedInput { path: Some(path), is_searched, folder: None, is_dataset: false });
            return Ok(());
        }
    }
    match folder::contents(&path, options, is_dataset)? {
        Contents::Dataset(path) => all.push(NamedInput { path: Some(path), is_searched: false, folder: None, is_dataset: true }),
        Contents::Files(folder, files) => {
            let folder = Arc::new(folder);
            let found = |file| NamedInput { path: Some(file), is_searched: true, folder: Some(folder.clone()), is_dataset: false };
            all.extend(files.into_iter().map(found));
        }
    }
    Ok(())
}

/// The files that a word names.
struct Named {
    paths: Vec<PathBuf>,
    /// Whether the word had to be expanded.
    is_searched: bool,
    /// Directories that match a glob and are not read.
    skipped: Vec<PathBuf>,
}

impl Named {
    fn exactly(paths: Vec<PathBuf>) -> Named {
        Named { paths, is_searched: false, skipped: Vec::new() }
    }
}

/// The files that a word names.
fn paths(name: &OsStr, from: Option<&str>) -> Result<Named> {
    if exists(Path::new(name)) {
        return Ok(Named::exactly(vec![name.into()]));
    }
    if let Some((_, after)) = in_brackets(name)
        && after.is_empty()
    {
        // Not a glob for a single character.
        let error = Error::usage(format!("{}: each bracket of an input must be a separate argument", name.display()));
        return Err(error.help("remove the quotes around them: mix A [ filter 'x > 0' B ]"));
    }
    let Some(name) = name.to_str() else { return Err(missing(Path::new(name))) };
    if let Some(error) = recognise::url(name, from) {
        return Err(error);
    }
    if let Some(sharded) = Sharded::parse(name)? {
        return Ok(Named::exactly(shards(name, &sharded)?));
    }
    if wildcard::has_wildcard(name) {
        let wildcard::Matches { paths, skipped } = wildcard::matches(name)?;
        return Ok(Named { paths, is_searched: true, skipped });
    }
    match pair(name) {
        Some(index) => Ok(Named::exactly(vec![index])),
        None => Err(missing(Path::new(name))),
    }
}

/// Whether the name is that of a file or directory, or the common prefix of a dataset of two files.
pub fn is_there(name: &OsStr) -> bool {
    exists(Path::new(name)) || name.to_str().and_then(pair).is_some()
}

fn exists(path: &Path) -> bool {
    // A file whose metadata cannot be read is opened later, which reports the system's error.
    !matches!(std::fs::metadata(path), Err(e) if is_missing(&e))
}

fn shards(name: &str, sharded: &Sharded) -> Result<Vec<PathBuf>> {
    let all: Vec<PathBuf> = (0..sharded.nshards).map(|i| sharded.name(i).into()).collect();
    let missing: Vec<&PathBuf> = all.iter().filter(|path| !exists(path)).collect();
    match missing.as_slice() {
        [] => Ok(all),
        [first, ..] => {
            let (found, are) = (missing.len(), is_or_are(missing.len()));
            let first = if found == 1 { format!(": {}", first.display()) } else { format!(", starting with {}", first.display()) };
            let message = format!("{found} of {} shards {are} missing{first}", all.len());
            let error = Error::new(Kind::Io, message).in_input(name);
            Err(if missing.len() < all.len() {
                error.help(format!("to read the shards that exist: '{}'", sharded.glob()))
            } else if let Some(other) = other_spelling(sharded) {
                error.help(format!("did you mean {other}?"))
            } else {
                error
            })
        }
    }
}

/// The shards that exist if the extension was forgotten, or written before the number.
fn other_spelling(sharded: &Sharded) -> Option<String> {
    let first = PathBuf::from(sharded.name(0));
    let stem = first.file_name()?.to_str()?;
    let folder = first.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names = std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let extension = names.filter_map(|name| name.strip_prefix(stem).filter(|rest| rest.starts_with('.')).map(str::to_owned)).min();
    let forgotten = extension.map(|extension| sharded.with_back(extension));
    let before_number = || {
        let at = sharded.front().rfind('/').map_or(0, |at| at + 1);
        let (front, back) = sharded.front().split_at(at + sharded.front()[at..].find('.').filter(|dot| *dot > 0)?);
        Sharded::new(front, back, sharded.nshards).ok().filter(|_| sharded.back().is_empty())
    };
    forgotten.or_else(before_number).filter(|other| exists(Path::new(&other.name(0)))).map(|other| other.pattern())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_files() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        for name in ["b.x", "a.x", ".hidden.x", "lit*.x", "s-00000-of-00002.x", "s-00001-of-00002.x", "t-00001-of-00002.x"] {
            std::fs::write(at(name), "").unwrap();
        }
        std::fs::create_dir(at("d.x")).unwrap();
        std::fs::create_dir(at("pairs")).unwrap();
        for name in [
            "p.bin",
            "p.idx",
            "lone.bin",
            "pairs/a.bin",
            "pairs/a.idx",
            "pairs/b.tfrecord",
            "pairs/b.tfrecord.idx",
            "pairs/b.tfrecord.offsets",
        ] {
            std::fs::write(at(name), "").unwrap();
        }
        let cases: &[(&str, Result<&[&str], &str>)] = &[
            ("a.x", Ok(&["a.x"])),
            ("[ab].x", Ok(&["a.x", "b.x"])),
            ("lit*.x", Ok(&["lit*.x"])),
            ("?.x", Ok(&["a.x", "b.x"])),
            ("p", Ok(&["p.idx"])),
            ("p.bin", Ok(&["p.bin"])),
            ("[pl]*.[bi]*", Ok(&["lone.bin", "p.idx"])),
            ("pairs", Ok(&["pairs/a.idx", "pairs/b.tfrecord"])),
            ("pairs/b.tfrecord.idx", Ok(&["pairs/b.tfrecord.idx"])),
            ("s@2.x", Ok(&["s-00000-of-00002.x", "s-00001-of-00002.x"])),
            ("t@2.x", Err("1 of 2 shards is missing: DIR/t-00000-of-00002.x")),
            ("s@2", Err("2 of 2 shards are missing, starting with DIR/s-00000-of-00002\n  did you mean DIR/s@2.x?")),
            ("s.x@2", Err("2 of 2 shards are missing, starting with DIR/s.x-00000-of-00002\n  did you mean DIR/s@2.x?")),
            ("z*.x", Err("no file matches this pattern")),
            ("hidden.x", Err("no such file\n  did you mean DIR/.hidden.x?")),
            ("no/a.x", Err("no such file\n  the directory DIR/no does not exist")),
        ];
        for (name, expected) in cases {
            let found = expand(&[at(name).into()], &Options::default(), &|_| false)
                .map(|all| all.into_iter().map(|found| found.path.unwrap()).collect::<Vec<_>>());
            match expected {
                Ok(names) => assert_eq!(found.unwrap(), names.iter().map(|n| PathBuf::from(at(n))).collect::<Vec<_>>(), "{name}"),
                Err(message) => {
                    let found = found.unwrap_err().to_string().replace(&dir.path().display().to_string(), "DIR");
                    assert!(found.starts_with(&format!("DIR/{name}: {message}")), "{found}");
                }
            }
        }
        assert_eq!(expand(&[], &Options::default(), &|_| false).unwrap()[0].path, None);
        let twice = expand(&["-".into(), "/dev/stdin".into()], &Options::default(), &|_| false);
        assert_eq!(twice.err().unwrap().message(), "standard input is named twice, but can be read only once");
    }
}
