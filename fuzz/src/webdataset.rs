//! Arbitrary bytes as a tar archive of records. Records read are written as JSON Lines.

use super::print;

pub fn run(bytes: &[u8]) {
    print("webdataset", bytes);
}
