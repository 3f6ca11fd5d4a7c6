//! Arbitrary bytes as an Arrow stream, an Arrow file and a Parquet file. Records read are written as JSON Lines.

use super::print;

pub fn run(bytes: &[u8]) {
    for name in ["arrow", "arrow-file", "parquet"] {
        print(name, bytes);
    }
}
