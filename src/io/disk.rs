//! A file on disk: counts its bytes, and hashes them if a checksum is needed.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write};

/// A file being written.
pub struct Disk {
    file: File,
    nbytes: u64,
    hash: Option<Sha256>,
}

/// Properties of a complete file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Size in bytes.
    pub nbytes: u64,
    /// The SHA-256 in hexadecimal, as printed by `sha256sum`; empty if not requested.
    pub sha256: String,
}

impl Disk {
    /// Starts at the beginning of the file.
    pub fn new(file: File, is_hashed: bool) -> Disk {
        Disk { file, nbytes: 0, hash: is_hashed.then(Sha256::new) }
    }

    /// The properties of the bytes written so far.
    pub fn facts(self) -> Facts {
        let digits = |hash: Sha256| hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Facts { nbytes: self.nbytes, sha256: self.hash.map_or_else(String::new, digits) }
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.nbytes += n as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(&bytes[..n]);
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
