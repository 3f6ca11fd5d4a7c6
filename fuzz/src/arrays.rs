//! Arbitrary bytes as npz, npy and safetensors. Records read are written as JSON Lines.

use super::print;

pub fn run(bytes: &[u8]) {
    for name in ["npz", "npy", "safetensors"] {
        print(name, bytes);
    }
}
