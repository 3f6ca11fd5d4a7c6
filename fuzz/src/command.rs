//! Arbitrary words as a command line: parsed, or rejected with a message.

use std::ffi::OsString;

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = tatter::cli::parse(text.split('\n').map(OsString::from));
}
