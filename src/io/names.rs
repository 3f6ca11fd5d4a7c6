//! The names of standard input and output, in messages and on the command line, and words that name a chain instead of a file.

use crate::printable::shell_word;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Standard input in messages.
pub const STANDARD_INPUT: &str = "standard input";
/// Standard output in messages.
pub const STANDARD_OUTPUT: &str = "standard output";

/// The name of an input in messages.
pub fn shown(name: &OsStr) -> String {
    if is_standard_input(name) { STANDARD_INPUT.to_owned() } else { name.display().to_string() }
}

/// The input in a command that a message suggests.
pub fn in_command(name: &str) -> String {
    if is_pipe(name) { "FILE".to_owned() } else { shell_word(name) }
}

/// Whether the name means something only to this process: standard input, or a pipe that the shell passes for `<(COMMAND)`.
pub fn is_pipe(name: &str) -> bool {
    name == STANDARD_INPUT
        || is_standard_input(OsStr::new(name))
        || ["/dev/fd/", "/proc/self/fd/"].iter().any(|start| name.starts_with(start))
}

/// Whether the name refers to standard input.
pub fn is_standard_input(name: &OsStr) -> bool {
    matches!(name.to_str(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

/// Splits `[ ... ]` into the chain of an input and the rest of the word after the closing bracket.
pub fn in_brackets(word: &OsStr) -> Option<(&OsStr, &OsStr)> {
    let bytes = word.as_bytes();
    let end = bytes.iter().rposition(|b| *b == b']').filter(|end| bytes.starts_with(b"[ ") && bytes[..*end].ends_with(b" "))?;
    Some((OsStr::from_bytes(&bytes[..=end]), OsStr::from_bytes(&bytes[end + 1..])))
}

/// The regular file that standard output is, if it is one.
pub fn standard_output_file() -> Option<PathBuf> {
    Path::new("/dev/stdout").canonicalize().ok().filter(|path| path.is_file())
}

/// How to write to a file that is read.
pub const IN_PLACE: &str = "write to another file, or use -o FILE --in-place to replace the input";
