//! Arbitrary bytes as libsvm, Matrix Market and SciPy npz. Records read are written as JSON Lines.

use super::print;

pub fn run(bytes: &[u8]) {
    for name in ["libsvm", "matrix-market", "scipy"] {
        print(name, bytes);
    }
}
