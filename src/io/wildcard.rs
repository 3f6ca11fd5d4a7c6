//! Globs in file names. Names that are not valid UTF-8 match `*` like any other name.

use super::missing::is_missing;
use crate::error::{Error, Kind, Result};
use glob::{MatchOptions, Pattern};
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// Hidden files match only patterns that start with a dot.
const OPTIONS: MatchOptions = MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// Whether a name contains wildcards.
pub fn has_wildcard(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// What matches a glob, sorted by name.
pub struct Matches {
    /// The files. If the glob ends in `/`, or no file matches, the directories.
    pub paths: Vec<PathBuf>,
    /// Directories whose contents are not among the files.
    pub skipped: Vec<PathBuf>,
}

/// The files that match a glob.
///
/// # Errors
/// The pattern is malformed, a directory cannot be read, or nothing matches.
pub fn matches(pattern: &str) -> Result<Matches> {
    let mut found = vec![PathBuf::from(if pattern.starts_with('/') { "/" } else { "" })];
    let mut column = 0;
    // A final `**` means the files at any depth.
    let files = if pattern == "**" || pattern.ends_with("/**") { "*" } else { "" };
    for part in pattern.split('/').chain([files]) {
        if !part.is_empty() {
            let step = Step::new(part, pattern, column)?;
            let mut next = Vec::new();
            found.iter().try_for_each(|base| step.from(base, &mut next))?;
            found = next;
        }
        column += part.chars().count() + 1;
    }
    found.retain(|path| !path.as_os_str().is_empty());
    let (directories, files): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| path.is_dir());
    let (mut paths, mut skipped) =
        if pattern.ends_with('/') || files.is_empty() { (directories, Vec::new()) } else { (files, directories) };
    paths.sort();
    // Two `**` can reach a file in several ways.
    paths.dedup();
    // `**` descends into directories. Names that begin with `_` are skipped in directories too.
    skipped.retain(|path| !pattern.contains("**") && path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"_")));
    skipped.sort();
    match paths.is_empty() {
        true => Err(Error::new(Kind::Io, "no file matches this pattern").in_input(pattern)),
        false => Ok(Matches { paths, skipped }),
    }
}

/// A component of a pattern.
enum Step<'a> {
    Literal(&'a str),
    Matching(Pattern),
    /// `**`: any directories.
    Descend,
}

impl Step<'_> {
    fn new<'a>(part: &'a str, pattern: &str, column: usize) -> Result<Step<'a>> {
        if part == "**" {
            return Ok(Step::Descend);
        }
        if !has_wildcard(part) {
            return Ok(Step::Literal(part));
        }
        let matching = Pattern::new(part);
        matching.map(Step::Matching).map_err(|e| {
            let fault = if e.msg == "invalid range pattern" { "`[` is not closed" } else { e.msg };
            let message = format!("no such file, and it is not a valid glob: {fault} at column {}", column + e.pos + 1);
            Error::new(Kind::Io, message).in_input(pattern)
        })
    }

    /// Adds the matches of the remaining pattern below a directory.
    fn from(&self, base: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
        match self {
            Step::Literal(name) => {
                let path = base.join(name);
                if metadata(&path)?.is_some() {
                    found.push(path);
                }
            }
            Step::Matching(pattern) => {
                let names = names(base)?.into_iter().filter(|name| pattern.matches_with(&name.to_string_lossy(), OPTIONS));
                found.extend(names.map(|name| base.join(name)));
            }
            Step::Descend => {
                found.push(base.to_owned());
                for name in names(base)? {
                    let path = base.join(&name);
                    let is_directory = metadata(&path)?.is_some_and(|found| found.is_dir());
                    if is_directory && !name.to_string_lossy().starts_with('.') {
                        self.from(&path, found)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The type of a path, without following links; `None` if it does not exist.
fn metadata(path: &Path) -> Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(found) => Ok(Some(found)),
        Err(e) if is_missing(&e) => Ok(None),
        Err(e) => Err(Error::io(&path.display().to_string(), "cannot search for files", &e)),
    }
}

/// The names in a directory; empty if it is not a directory.
fn names(directory: &Path) -> Result<Vec<OsString>> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let failed = |e: &std::io::Error| Error::io(&directory.display().to_string(), "cannot search for files", e);
    match std::fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| entry.map(|e| e.file_name()).map_err(|e| failed(&e))).collect(),
        Err(e) if is_missing(&e) => Ok(Vec::new()),
        Err(e) => Err(failed(&e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn names_are_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let odd = OsString::from_vec(b"b\xff.x".to_vec());
        for name in ["a.x", ".hidden.x", "c.y", "d/e.x", "d/f/g.x", "d/.h/i.x"].map(OsString::from).into_iter().chain([odd.clone()]) {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let table: [(&str, &[&str]); 11] = [
            ("*.x", &["a.x", "?"]),
            ("?.x", &["a.x"]),
            ("[ac].?", &["a.x", "c.y"]),
            (".*.x", &[".hidden.x"]),
            ("*/*.x", &["d/e.x"]),
            ("*/", &["d"]),
            ("d*", &["d"]),
            ("**/*.x", &["a.x", "?", "d/e.x", "d/f/g.x"]),
            ("d/**", &["d/e.x", "d/f/g.x"]),
            ("d/**/g.x", &["d/f/g.x"]),
            ("**/**/g.x", &["d/f/g.x"]),
        ];
        for (pattern, expected) in table {
            let expected: Vec<PathBuf> =
                expected.iter().map(|name| folder.path().join(if *name == "?" { odd.clone() } else { OsString::from(name) })).collect();
            assert_eq!(matches(&format!("{}/{pattern}", folder.path().display())).unwrap().paths, expected, "{pattern}");
        }
        assert!(matches(&format!("{}/z*", folder.path().display())).is_err());
        assert!(matches("[").is_err());
    }
}
