//! Any bytes as an ArrayRecord, whose hashes are not looked at: hardly any that are made up hold. What is read is written as JSON lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use tatter::formats::Request;
use tatter::options::Options;
use tatter_fuzz::{print_as, request};

fuzz_target!(|bytes: &[u8]| {
    for raw_records in [false, true] {
        let request = request(raw_records, false);
        let options = Options { no_verify: true, raw_records, ..(*request.options).clone() };
        print_as("array-record", bytes, &Request { options: Arc::new(options), ..request });
    }
});
