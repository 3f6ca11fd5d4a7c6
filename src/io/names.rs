//! What standard input and output are called, in messages and by the user.

use std::ffi::OsStr;

pub const STANDARD_INPUT: &str = "standard input";
pub const STANDARD_OUTPUT: &str = "standard output";

/// Whether the name is one of those of standard input.
pub fn is_standard_input(name: &OsStr) -> bool {
    matches!(name.to_str(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}
