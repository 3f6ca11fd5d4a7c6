//! Any words as a command line: parsed, or refused with a message.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::ffi::OsString;

fuzz_target!(|text: &str| {
    let _ = tatter::cli::parse(text.split('\n').map(OsString::from));
});
