//! What FILE arguments name: files, globs in quotes, shards (`name@8.ext`), standard input.

use super::{recognise, wildcard};
use crate::error::{Error, Kind, Result, nearest};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// One input by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    StandardInput,
    Path(PathBuf),
}

/// The most shards of a dataset: they are numbered with five digits.
pub const MAX_SHARDS: usize = 99_999;

/// The inputs in the order of the arguments, shards and the matches of a glob by name. A file of that
/// exact name takes precedence over a glob or shards.
///
/// # Errors
/// A URL; a missing file or shard, with the nearest name there is; a glob without a match; standard input twice.
pub fn expand(files: &[OsString], from: Option<&str>) -> Result<Vec<Named>> {
    if files.is_empty() {
        return Ok(vec![Named::StandardInput]);
    }
    let mut all = Vec::new();
    for name in files {
        if is_standard_input(name) {
            if all.contains(&Named::StandardInput) {
                return Err(Error::usage("standard input is named twice, but can be read only once"));
            }
            all.push(Named::StandardInput);
        } else {
            paths(name, from)?.into_iter().for_each(|path| all.push(Named::Path(path)));
        }
    }
    Ok(all)
}

fn is_standard_input(name: &OsStr) -> bool {
    matches!(name.to_str(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

fn paths(name: &OsStr, from: Option<&str>) -> Result<Vec<PathBuf>> {
    if exists(Path::new(name)) {
        return Ok(vec![name.into()]);
    }
    let Some(name) = name.to_str() else { return Err(missing(Path::new(name))) };
    if let Some(error) = recognise::url(name, from) {
        return Err(error);
    }
    if let Some(sharded) = Sharded::parse(name)? {
        return shards(name, &sharded);
    }
    if wildcard::has_wildcard(name) {
        return wildcard::matches(name);
    }
    Err(missing(Path::new(name)))
}

fn exists(path: &Path) -> bool {
    // A file whose metadata cannot be read is opened later, which gives the system's message.
    !matches!(std::fs::metadata(path), Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory))
}

fn shards(name: &str, sharded: &Sharded) -> Result<Vec<PathBuf>> {
    let all: Vec<PathBuf> = (0..sharded.nshards).map(|i| sharded.name(i).into()).collect();
    let missing: Vec<&PathBuf> = all.iter().filter(|path| !exists(path)).collect();
    match missing.as_slice() {
        [] => Ok(all),
        [first, ..] => {
            Err(Error::new(Kind::Io, format!("{} of {} shards are missing, the first is {}", missing.len(), all.len(), first.display()))
                .in_input(name)
                .help("the number after @ is that of all shards; a glob in quotes takes those that there are"))
        }
    }
}

/// The error of a file that is not there: names the nearest that is, or the directory that is missing.
pub fn missing(path: &Path) -> Error {
    let error = Error::new(Kind::Io, "there is no such file").in_input(path.display().to_string());
    let directory = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return error,
    };
    let Ok(entries) = std::fs::read_dir(directory) else {
        return error.help(format!("there is no directory {}", directory.display()));
    };
    // A bound for directories of millions of files.
    let names: Vec<String> = entries.take(10_000).filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
    let wanted = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    match nearest(&wanted, names.iter().map(String::as_str)) {
        Some(near) => error.help(format!("did you mean {}?", path.with_file_name(near).display())),
        None => error,
    }
}

/// A name with `@N` in it, at its end or before its extensions: `a@8.tfrecord`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharded {
    front: String,
    back: String,
    pub nshards: usize,
}

impl Sharded {
    /// `front-00000-of-00008back`.
    ///
    /// # Errors
    /// No shard, or more than [`MAX_SHARDS`].
    pub fn new(front: &str, back: &str, nshards: usize) -> Result<Sharded> {
        if !(1..=MAX_SHARDS).contains(&nshards) {
            return Err(Error::usage(format!("{nshards} shards: expected 1 to {MAX_SHARDS}")));
        }
        Ok(Sharded { front: front.to_owned(), back: back.to_owned(), nshards })
    }

    /// The parts of a name that has `@N` in its last part.
    ///
    /// # Errors
    /// As [`Sharded::new`].
    pub fn parse(name: &str) -> Result<Option<Sharded>> {
        let start = name.rfind('/').map_or(0, |i| i + 1);
        for (at, _) in name.match_indices('@').filter(|(at, _)| *at > start) {
            let rest = &name[at + 1..];
            let ndigits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, back) = rest.split_at(ndigits);
            if ndigits > 0 && (back.is_empty() || back.starts_with('.')) {
                let nshards = digits.parse().map_err(|_| Error::usage(format!("{name}: {digits} shards: expected 1 to {MAX_SHARDS}")))?;
                return Sharded::new(&name[..at], back, nshards).map(Some);
            }
        }
        Ok(None)
    }

    /// The name of shard `index`.
    pub fn name(&self, index: usize) -> String {
        format!("{}-{index:05}-of-{:05}{}", self.front, self.nshards, self.back)
    }

    /// All names at once, for messages: `front@8back`.
    pub fn pattern(&self) -> String {
        format!("{}@{}{}", self.front, self.nshards, self.back)
    }

    /// Whether a name is that of a shard of the same dataset: its number, and the number of all.
    pub fn matches(&self, name: &str) -> Option<(usize, usize)> {
        let middle = name.strip_prefix(self.front.as_str())?.strip_suffix(self.back.as_str())?.strip_prefix('-')?;
        let (index, nshards) = middle.split_once("-of-")?;
        let number =
            |digits: &str| (digits.len() == 5 && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok()).flatten();
        Some((number(index)?, number(nshards)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_stand_before_the_extension() {
        for (name, expected) in [
            ("a@2.tfrecord", Some(["a-00000-of-00002.tfrecord", "a-00001-of-00002.tfrecord"])),
            ("d@9.x/a@2.tfrecord.gz", Some(["d@9.x/a-00000-of-00002.tfrecord.gz", "d@9.x/a-00001-of-00002.tfrecord.gz"])),
            ("a.tfrecord@2", Some(["a.tfrecord-00000-of-00002", "a.tfrecord-00001-of-00002"])),
            ("me@home.jsonl", None),
            ("me@2nd.jsonl", None),
            ("@2.jsonl", None),
            ("a@.jsonl", None),
        ] {
            let found = Sharded::parse(name).unwrap().map(|s| [s.name(0), s.name(1)]);
            assert_eq!(found, expected.map(|names| names.map(str::to_owned)), "{name}");
        }
        assert!(Sharded::parse("a@0.x").is_err());
        assert!(Sharded::parse("a@99999999999999999999999.x").is_err());
        let sharded = Sharded::new("a", ".x", 8).unwrap();
        assert_eq!(sharded.matches("a-00003-of-00004.x"), Some((3, 4)));
        assert_eq!(sharded.matches("b-00003-of-00004.x"), None);
        assert_eq!(sharded.matches("a-3-of-4.x"), None);
    }

    #[test]
    fn names_become_files() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        for name in ["b.x", "a.x", ".hidden.x", "lit*.x", "s-00000-of-00002.x", "s-00001-of-00002.x", "t-00001-of-00002.x"] {
            std::fs::write(at(name), "").unwrap();
        }
        std::fs::create_dir(at("d.x")).unwrap();
        let cases: &[(&str, Result<&[&str], &str>)] = &[
            ("a.x", Ok(&["a.x"])),
            ("[ab].x", Ok(&["a.x", "b.x"])),
            ("lit*.x", Ok(&["lit*.x"])),
            ("?.x", Ok(&["a.x", "b.x"])),
            ("s@2.x", Ok(&["s-00000-of-00002.x", "s-00001-of-00002.x"])),
            ("t@2.x", Err("1 of 2 shards are missing, the first is DIR/t-00000-of-00002.x")),
            ("z*.x", Err("no file matches")),
            ("hidden.x", Err("there is no such file\n  did you mean DIR/.hidden.x?")),
            ("no/a.x", Err("there is no such file\n  there is no directory DIR/no")),
        ];
        for (name, expected) in cases {
            let found = expand(&[at(name).into()], None);
            match expected {
                Ok(names) => assert_eq!(found.unwrap(), names.iter().map(|n| Named::Path(at(n).into())).collect::<Vec<_>>(), "{name}"),
                Err(message) => {
                    let found = found.unwrap_err().to_string().replace(&dir.path().display().to_string(), "DIR");
                    assert!(found.starts_with(&format!("DIR/{name}: {message}")), "{found}");
                }
            }
        }
        assert_eq!(expand(&[], None).unwrap(), [Named::StandardInput]);
        assert!(expand(&["-".into(), "/dev/stdin".into()], None).is_err());
    }
}
