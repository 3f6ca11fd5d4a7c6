//! Any bytes as the index of a Megatron dataset, over a small file of values. What is read is written as JSON lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tatter_fuzz::print_file;

fuzz_target!(|bytes: &[u8]| {
    print_file("megatron", "x.idx", bytes, &[("x.bin", &[1; 100])]);
});
