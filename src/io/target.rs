//! Interprets `-o` and `--shards`: standard output, a file, shards, or one file per record.

use super::missing::is_missing;
use super::sharded::Sharded;
use crate::error::{Error, Kind, Result};
use crate::printable::{counted, shell_word};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// ELOOP, which [`std::io::ErrorKind`] does not name: on Linux, and on the BSDs and macOS.
const TOO_MANY_LINKS: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };

/// The destination of the output.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    StandardOutput,
    /// An existing file that is not regular: a FIFO or a device.
    Direct(PathBuf),
    /// Files in a directory.
    Files(PathBuf, Names),
}

/// The names of the files of one output.
#[derive(Clone, Debug, PartialEq)]
pub enum Names {
    Single(OsString),
    Shards(Sharded),
    Numbered { front: String, width: usize, back: String },
}

impl Target {
    /// Interprets the name of an output. A file with exactly that name takes precedence over `@N` and `#`; a symlink
    /// refers to its target.
    ///
    /// # Errors
    /// `--shards` where it is not possible, a missing directory, or an existing directory or write-protected file with
    /// that name.
    pub fn parse(output: Option<&OsStr>, shards: Option<usize>) -> Result<Target> {
        let path = match output.map(|name| (name, name.to_str())) {
            None | Some((_, Some("-" | "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1"))) if shards.is_some() => {
                return Err(Error::usage("--shards needs files to write").help("specify them: -o 'out.tfrecord' --shards 8"));
            }
            None | Some((_, Some("-" | "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1"))) => return Ok(Target::StandardOutput),
            Some((_, Some(""))) => return Err(Error::usage("the name of the output is empty")),
            Some((path, _)) => path,
        };
        // The name of the directory can be arbitrary bytes.
        let Some(file) = Path::new(path).file_name().map_or(Some(""), OsStr::to_str) else {
            return match shards {
                Some(_) => Err(Error::usage(format!("{}: the name of shards must be valid UTF-8", path.display()))),
                None => Target::literal(path),
            };
        };
        let name = &*path.to_string_lossy();
        if name.contains("://") {
            let error = Error::usage(format!("{name}: only files and pipes can be written"));
            return Err(match name.strip_prefix("file://") {
                Some(path) => error.help(format!("write {path}")),
                None => error.help("write to a file or a pipe, then upload it"),
            });
        }
        let literal = Target::literal(path)?;
        let is_there = match &literal {
            Target::Files(directory, Names::Single(file)) => directory.join(file).symlink_metadata().is_ok(),
            _ => true,
        };
        let sharded = Sharded::parse(file)?;
        if let (true, false, Some(Names::Numbered { front, back, .. })) =
            (shards.is_some() || sharded.is_some(), is_there, numbered(file).unwrap_or_default())
        {
            let error = Error::usage("# writes one file per record, but shards are a fixed number of files").in_input(name);
            let front = Some(front.trim_end_matches(['-', '_', '.'])).filter(|front| !front.is_empty()).unwrap_or("out");
            let plain = format!("{front}{back}");
            let at = name.len() - file.len();
            let plain = shell_word(&format!("{}{plain}", &name[..at]));
            let shards = if sharded.is_some() { String::new() } else { shards.map_or(String::new(), |n| format!(" --shards {n}")) };
            return Err(error.help(format!("for shards, leave out the #: -o {plain}{shards}")));
        }
        let names = match (shards, sharded) {
            (None, Some(sharded)) if !is_there => Some(Names::Shards(sharded)),
            (Some(n), Some(sharded)) if sharded.nshards != n => {
                return Err(Error::usage(format!("{name} specifies {} shards, but --shards says {n}", sharded.nshards)));
            }
            (Some(_), Some(sharded)) => Some(Names::Shards(sharded)),
            (Some(n), None) => {
                let at = before_extensions(file);
                Some(Names::Shards(Sharded::new(&file[..at], &file[at..], n)?))
            }
            (None, _) if is_there => None,
            (None, _) => numbered(file)?,
        };
        if shards.is_some() && matches!(literal, Target::Direct(_)) {
            return Err(Error::usage(format!("{name} is not a regular file: it cannot be sharded")));
        }
        Ok(match (names, literal) {
            (Some(names), Target::Files(directory, _)) => Target::Files(directory, names),
            (_, literal) => literal,
        })
    }

    /// The file with exactly that name.
    ///
    /// # Errors
    /// See [`Target::parse`].
    pub fn literal(path: &OsStr) -> Result<Target> {
        let name = &*path.to_string_lossy();
        // A file descriptor has a name here, but no directory for another file.
        let is_open = descriptor(name).is_some();
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                return Err(Error::new(Kind::Io, "this is a directory: expected the name of a file to write")
                    .in_input(name)
                    .help(format!("to write one file per input: --output-dir {}", shell_word(name))));
            }
            Ok(found) if is_open || !found.is_file() => return Ok(Target::Direct(path.into())),
            Ok(found) if found.permissions().readonly() => {
                return Err(Error::new(Kind::Io, "the file is write-protected")
                    .in_input(name)
                    .help(format!("to allow replacing it: chmod u+w '{name}'")));
            }
            // Reading such a name fails too; replacing the link would hide the mistake.
            Err(e) if e.raw_os_error() == Some(TOO_MANY_LINKS) => return Err(Error::io(name, "cannot write", &e)),
            _ => {}
        }
        let path = followed(Path::new(path));
        let file = path.file_name().map(OsStr::to_owned);
        let Some(file) = file.filter(|_| !name.ends_with('/')) else {
            let error = Error::usage(format!("{name} is not the name of a file"));
            let directory = shell_word(name.trim_end_matches('/'));
            let create = if path.is_dir() { String::new() } else { format!("; create it first: mkdir -p {directory}") };
            return Err(error.help(format!("to write one file for each input to a directory: --output-dir {directory}{create}")));
        };
        Ok(Target::Files(directory(name, path.parent().unwrap_or(Path::new("")))?, Names::Single(file)))
    }
}

/// The file descriptor of this process that a path names.
fn descriptor(path: &str) -> Option<i32> {
    match path {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        _ => path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?.parse().ok(),
    }
}

/// An existing file that is not regular, or a file descriptor of this process, opened for writing. A descriptor of a regular
/// file continues where the descriptor is: what the file holds, and what others write with it, is kept.
///
/// # Errors
/// Those of the system.
pub fn opened(path: &Path) -> std::io::Result<File> {
    match path.to_str().and_then(descriptor) {
        Some(1) => std::io::stdout().as_fd().try_clone_to_owned().map(File::from),
        Some(2) => std::io::stderr().as_fd().try_clone_to_owned().map(File::from),
        // Only the name is known here, so this is another position in the file.
        Some(_) => File::options().append(true).open(path),
        None => File::options().write(true).open(path),
    }
}

/// The name of a part of an output: `{}` in it is replaced by the part; otherwise the part is inserted before the
/// extensions and `@N`.
///
/// # Errors
/// The name is not valid UTF-8.
pub fn part_name(output: &OsStr, part: &str) -> Result<OsString> {
    let Some(name) = output.to_str() else {
        return Err(Error::usage(format!("{}: the name of an output that is split must be valid UTF-8", output.display())));
    };
    if name.contains("{}") {
        return Ok(name.replace("{}", part).into());
    }
    let file = name.rfind('/').map_or(0, |at| at + 1);
    let at = match Sharded::parse(&name[file..])? {
        Some(sharded) => sharded.front().len(),
        None => before_extensions(&name[file..]),
    };
    let (front, back) = name.split_at(file + at);
    Ok(format!("{front}-{part}{back}").into())
}

/// The target of a symlink, whether or not it exists.
fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // The limit of the system.
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => break,
        }
    }
    path
}

fn directory(name: &str, directory: &Path) -> Result<PathBuf> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let missing = || {
        let error = Error::new(Kind::Io, format!("the directory {} does not exist", directory.display())).in_input(name);
        error.help(format!("to create it: mkdir -p {}", shell_word(&directory.display().to_string())))
    };
    match std::fs::metadata(directory) {
        Ok(found) if found.is_dir() => Ok(directory.to_owned()),
        Ok(_) => Err(Error::new(Kind::Io, format!("{} is a file, not a directory", directory.display())).in_input(name)),
        Err(e) if is_missing(&e) => Err(missing()),
        Err(e) => Err(Error::io(name, &format!("cannot access the directory {}", directory.display()), &e)),
    }
}

/// The start of the format's extension, before a compression extension.
fn before_extensions(file: &str) -> usize {
    let (stem, extension) = super::codec::split_extension(file);
    let (codec, _) = super::codec::extensions(file);
    match (extension, codec) {
        (None, _) => file.len(),
        (Some(_), None) => stem.len(),
        (Some(_), Some(_)) => super::codec::split_extension(stem).0.len(),
    }
}

/// A placeholder of `#` characters.
fn numbered(file: &str) -> Result<Option<Names>> {
    let Some(start) = file.find('#') else {
        return Ok(None);
    };
    let width = file[start..].bytes().take_while(|b| *b == b'#').count();
    let (front, back) = (&file[..start], &file[start + width..]);
    if back.contains('#') {
        return Err(Error::usage(format!("{file} has two runs of #: expected one, for the record number")));
    }
    Ok(Some(Names::Numbered { front: front.to_owned(), width, back: back.to_owned() }))
}

impl Names {
    /// The name of file `index`.
    ///
    /// # Errors
    /// A number that does not fit the `#` placeholder, or a shard that does not exist.
    pub fn name(&self, index: u64) -> Result<OsString> {
        match self {
            Names::Single(name) if index == 0 => Ok(name.clone()),
            Names::Shards(sharded) if index < sharded.nshards as u64 => Ok(sharded.name(index as usize).into()),
            Names::Numbered { front, width, back } => {
                let number = format!("{index:0width$}");
                if number.len() > *width {
                    let message =
                        format!("record {} needs number {number}, which does not fit in {}", index + 1, counted(*width as u64, "digit"));
                    return Err(Error::data(message).in_input(self.pattern()).help("use more # characters in the name of the output"));
                }
                Ok(format!("{front}{number}{back}").into())
            }
            _ => Err(Error::internal(format!("output {index} of {}", self.pattern()))),
        }
    }

    /// The names with an extension in place of one of `known`, or appended.
    pub fn with_extension(&self, known: &[&str], extension: &str) -> Names {
        let of = |name: &str| {
            let stem = known.iter().find_map(|known| name.strip_suffix(known)?.strip_suffix('.'));
            format!("{}.{extension}", stem.unwrap_or(name))
        };
        match self {
            Names::Single(name) => match name.to_str() {
                Some(name) => Names::Single(of(name).into()),
                None => Names::Single(Path::new(name).with_extension(extension).into()),
            },
            Names::Shards(sharded) => Names::Shards(sharded.with_back(of(sharded.back()))),
            Names::Numbered { front, width, back } => Names::Numbered { front: front.clone(), width: *width, back: of(back) },
        }
    }

    /// Whether a file with that name would be written.
    pub fn includes(&self, name: &OsStr) -> bool {
        match self {
            Names::Single(single) => single == name,
            Names::Shards(sharded) => name.to_str().and_then(|name| sharded.matches(name)).is_some_and(|(_, n)| n == sharded.nshards),
            Names::Numbered { .. } => name.to_str().is_some_and(|name| self.number(name).is_some()),
        }
    }

    /// Whether a file would be written under both names.
    pub fn overlaps(&self, other: &Names) -> bool {
        match (self, other) {
            (Names::Single(name), names) | (names, Names::Single(name)) => names.includes(name),
            (Names::Shards(sharded), names @ Names::Numbered { .. }) | (names @ Names::Numbered { .. }, Names::Shards(sharded)) => {
                (0..sharded.nshards).any(|index| names.includes(OsStr::new(&sharded.name(index))))
            }
            _ => self == other,
        }
    }

    /// The digits of a numbered name.
    fn number<'a>(&self, name: &'a str) -> Option<&'a str> {
        let Names::Numbered { front, width, back } = self else { return None };
        let digits = name.strip_prefix(front.as_str())?.strip_suffix(back.as_str())?;
        (digits.len() == *width && digits.bytes().all(|b| b.is_ascii_digit())).then_some(digits)
    }

    /// All names together, for messages.
    pub fn pattern(&self) -> String {
        match self {
            Names::Single(name) => name.display().to_string(),
            Names::Shards(sharded) => sharded.pattern(),
            Names::Numbered { front, width, back } => format!("{front}{}{back}", "#".repeat(*width)),
        }
    }

    /// Files in `directory` that look like parts of this output but are from an earlier run with another number of
    /// shards, or have a number rejected by `is_written`. Sorted.
    pub fn stale(&self, directory: &Path, is_written: impl Fn(u64) -> bool) -> Vec<String> {
        if matches!(self, Names::Single(_)) {
            return Vec::new();
        }
        let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
        let is_stale = |name: &str| match self {
            Names::Single(_) => false,
            Names::Shards(sharded) => sharded.matches(name).is_some_and(|(_, nshards)| nshards != sharded.nshards),
            Names::Numbered { .. } => self.number(name).is_some_and(|digits| digits.parse().map_or(true, |number| !is_written(number))),
        };
        let mut stale: Vec<String> = entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).filter(|name| is_stale(name)).collect();
        stale.sort();
        stale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_outputs() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("there@8.x"), "").unwrap();
        std::fs::write(dir.path().join("there-#.x"), "").unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::os::unix::fs::symlink("d/target.x", dir.path().join("link.x")).unwrap();
        let cases: &[(&str, Option<usize>, Result<(&str, &str), &str>)] = &[
            ("a.x", None, Ok(("a.x", "a.x"))),
            ("a@8.x", None, Ok(("a-00000-of-00008.x", "a-00001-of-00008.x"))),
            ("a@8.x", Some(8), Ok(("a-00000-of-00008.x", "a-00001-of-00008.x"))),
            ("a@8.x", Some(9), Err("DIR/a@8.x specifies 8 shards, but --shards says 9")),
            ("a.b.x.gz", Some(2), Ok(("a.b-00000-of-00002.x.gz", "a.b-00001-of-00002.x.gz"))),
            ("a", Some(2), Ok(("a-00000-of-00002", "a-00001-of-00002"))),
            ("a.x", Some(0), Err("expected a number of shards from 1 to 99999, found 0")),
            ("a-###.x", None, Ok(("a-000.x", "a-001.x"))),
            (
                "a-###.x",
                Some(2),
                Err(
                    "DIR/a-###.x: # writes one file per record, but shards are a fixed number of files\n  for shards, leave out the #: -o DIR/a.x --shards 2",
                ),
            ),
            ("a-#-#.x", None, Err("a-#-#.x has two runs of #: expected one, for the record number")),
            ("there@8.x", None, Ok(("there@8.x", "there@8.x"))),
            ("there-#.x", None, Ok(("there-#.x", "there-#.x"))),
            ("link.x", None, Ok(("d/target.x", "d/target.x"))),
            (
                "d",
                None,
                Err("DIR/d: this is a directory: expected the name of a file to write\n  to write one file per input: --output-dir DIR/d"),
            ),
            ("no/a.x", None, Err("DIR/no/a.x: the directory DIR/no does not exist\n  to create it: mkdir -p DIR/no")),
            ("no/a@8.x", None, Err("DIR/no/a@8.x: the directory DIR/no does not exist\n  to create it: mkdir -p DIR/no")),
        ];
        for (name, shards, expected) in cases {
            let found = Target::parse(Some(dir.path().join(name).as_os_str()), *shards);
            let found = found.map_err(|e| e.to_string().replace(&dir.path().display().to_string(), "DIR"));
            match expected {
                Err(message) => assert_eq!(found.unwrap_err(), *message, "{name}"),
                Ok((first, second)) => {
                    let Ok(Target::Files(directory, names)) = found else { panic!("{name}: {found:?}") };
                    let at = |index| Some(directory.join(names.name(index).ok()?).strip_prefix(dir.path()).unwrap().display().to_string());
                    assert_eq!((at(0).unwrap(), at(1).unwrap_or(at(0).unwrap())), (first.to_string(), second.to_string()), "{name}");
                }
            }
        }
    }

    #[test]
    fn names_overlap_if_one_file_can_have_both() {
        let names = |name: &str| match Target::parse(Some(OsStr::new(name)), None).unwrap() {
            Target::Files(_, names) => names,
            other => panic!("{other:?}"),
        };
        for (one, other, expected) in [
            ("a.x", "a.x", true),
            ("a.x", "b.x", false),
            ("a@2.x", "a-00001-of-00002.x", true),
            ("a@2.x", "a-00002-of-00003.x", false),
            ("a@2.x", "a@2.x", true),
            ("a@2.x", "a-#####-of-00002.x", true),
            ("a@2.x", "a-####.x", false),
            ("a-##.x", "a-07.x", true),
            ("a-##.x", "a-7.x", false),
        ] {
            assert_eq!(names(one).overlaps(&names(other)), expected, "{one} {other}");
            assert_eq!(names(other).overlaps(&names(one)), expected, "{other} {one}");
        }
    }

    #[test]
    fn names_of_parts() {
        for (output, expected) in [
            ("data.parquet", "data-test.parquet"),
            ("a.b/data.jsonl.gz", "a.b/data-test.jsonl.gz"),
            ("data@8.tfrecord", "data-test@8.tfrecord"),
            ("{}/data@8.tfrecord", "test/data@8.tfrecord"),
            ("data", "data-test"),
        ] {
            assert_eq!(part_name(OsStr::new(output), "test").unwrap(), expected);
        }
    }

    #[test]
    fn standard_output_and_devices() {
        assert_eq!(Target::parse(None, None).unwrap(), Target::StandardOutput);
        assert_eq!(Target::parse(Some(OsStr::new("-")), None).unwrap(), Target::StandardOutput);
        assert_eq!(Target::parse(Some(OsStr::new("/dev/null")), None).unwrap(), Target::Direct("/dev/null".into()));
        for (name, shards, expected) in [
            (Some("/dev/null"), Some(2), "/dev/null is not a regular file: it cannot be sharded"),
            (None, Some(2), "--shards needs files to write"),
            (Some("s3://b/x"), None, "s3://b/x: only files and pipes can be written"),
        ] {
            assert_eq!(Target::parse(name.map(OsStr::new), shards).unwrap_err().message(), expected);
        }
    }

    #[test]
    fn a_number_too_wide_is_refused() {
        let names = Names::Numbered { front: "a-".to_owned(), width: 2, back: ".x".to_owned() };
        assert_eq!(names.name(99).unwrap(), "a-99.x");
        assert!(
            names.name(100).unwrap_err().to_string().starts_with("a-##.x: record 101 needs number 100, which does not fit in 2 digits")
        );
    }
}
