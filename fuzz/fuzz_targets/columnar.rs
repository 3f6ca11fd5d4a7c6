//! Any bytes as an Arrow stream, an Arrow file and a Parquet file. What is read is written as JSON lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tatter_fuzz::print;

fuzz_target!(|bytes: &[u8]| {
    for name in ["arrow", "arrow-file", "parquet"] {
        print(name, bytes);
    }
});
