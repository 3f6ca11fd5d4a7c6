//! Any bytes as a tar archive of records. What is read is written as JSON lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tatter_fuzz::print;

fuzz_target!(|bytes: &[u8]| print("webdataset", bytes));
