//! Any bytes as libsvm, Matrix Market and SciPy's npz. What is read is written as JSON lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tatter_fuzz::print;

fuzz_target!(|bytes: &[u8]| {
    for name in ["libsvm", "matrix-market", "scipy"] {
        print(name, bytes);
    }
});
