//! The names of standard input and output, in messages and on the command line.

use std::ffi::OsStr;

pub const STANDARD_INPUT: &str = "standard input";
pub const STANDARD_OUTPUT: &str = "standard output";

/// Whether the name refers to standard input.
pub fn is_standard_input(name: &OsStr) -> bool {
    matches!(name.to_str(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}
