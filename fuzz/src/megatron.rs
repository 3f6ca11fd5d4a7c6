//! Arbitrary bytes as the index of a Megatron dataset, over a small values file. Records read are written as JSON
//! lines.

use super::print_file;

pub fn run(bytes: &[u8]) {
    print_file("megatron", "x.idx", bytes, &[("x.bin", &[1; 100])]);
}
