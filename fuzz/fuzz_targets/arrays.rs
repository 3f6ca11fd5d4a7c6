//! Any bytes as npz, npy and safetensors: the door through which arrays come in. What is let in prints as JSON
//! lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tatter_fuzz::print;

fuzz_target!(|bytes: &[u8]| {
    for name in ["npz", "npy", "safetensors"] {
        print(name, bytes);
    }
});
