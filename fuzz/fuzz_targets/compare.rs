#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tatter_fuzz::compare::run(bytes));
