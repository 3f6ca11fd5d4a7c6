//! The error for a missing file.

use crate::error::{Error, Kind, nearest};
use std::io::ErrorKind;
use std::path::Path;

/// Whether the file does not exist, as opposed to other errors.
pub fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The error for a missing file, with the nearest existing name or the missing directory.
pub fn missing(path: &Path) -> Error {
    if path.as_os_str().is_empty() {
        return Error::new(Kind::Io, "the name of an input is empty").help("is a shell variable empty? `-` means standard input");
    }
    let error = Error::new(Kind::Io, "no such file").in_input(path.display().to_string());
    if path
        .to_str()
        .and_then(|name| name.split_once('{')?.1.split_once('}'))
        .is_some_and(|(inside, _)| inside.contains(',') || inside.contains(".."))
    {
        return error.help("the shell expands braces only outside quotes");
    }
    if let Ok(target) = std::fs::read_link(path) {
        return Error::new(Kind::Io, format!("this is a symbolic link to {}, which does not exist", target.display()))
            .in_input(path.display().to_string());
    }
    let directory = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return error,
    };
    let Ok(entries) = std::fs::read_dir(directory) else {
        if directory.is_file() {
            return error.help(format!("{} is a file, not a directory", directory.display()));
        }
        return error.help(format!("the directory {} does not exist", directory.display()));
    };
    // Limits the search in directories with millions of files.
    let names: Vec<String> = entries.take(10_000).filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
    let wanted = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    // A name that has only the extension in common is no suggestion.
    let stem = |name: &str| name.trim_start_matches('.').split('.').next().unwrap_or_default().to_owned();
    let is_near = |name: &&str| nearest(&stem(&wanted), [stem(name).as_str()]).is_some();
    match nearest(&wanted, names.iter().map(String::as_str).filter(is_near)) {
        Some(near) => error.help(format!("did you mean {}?", path.with_file_name(near).display())),
        None => error,
    }
}
