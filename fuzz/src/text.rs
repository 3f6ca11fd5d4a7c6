//! Arbitrary bytes as lines of text. Records read are written as JSON Lines.

use super::print;

pub fn run(bytes: &[u8]) {
    print("text", bytes);
}
