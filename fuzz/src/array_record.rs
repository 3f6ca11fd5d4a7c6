//! Arbitrary bytes as an ArrayRecord, without checking hashes, which random data would hardly ever match. Records read
//! are written as JSON Lines.

use super::{print_as, request};
use std::sync::Arc;
use tatter::formats::Request;
use tatter::options::Options;

pub fn run(bytes: &[u8]) {
    for raw_records in [false, true] {
        let request = request(raw_records, false);
        let options = Options { no_verify: true, raw_records, ..(*request.options).clone() };
        print_as("array-record", bytes, &Request { options: Arc::new(options), ..request });
    }
}
