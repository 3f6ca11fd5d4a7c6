//! Any bytes as CSV and TSV. What is read is written as JSON lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tatter_fuzz::print;

fuzz_target!(|bytes: &[u8]| {
    for name in ["csv", "tsv"] {
        print(name, bytes);
    }
});
