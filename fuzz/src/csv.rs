//! Arbitrary bytes as CSV and TSV. Records read are written as JSON Lines.

use super::print;

pub fn run(bytes: &[u8]) {
    for name in ["csv", "tsv"] {
        print(name, bytes);
    }
}
