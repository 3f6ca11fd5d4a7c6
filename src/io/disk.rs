//! A file as it is on disk: its bytes are counted, and hashed where the checksum is wanted.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write};

/// A file being written.
pub struct Disk {
    file: File,
    nbytes: u64,
    hash: Option<Sha256>,
}

/// What is known of a file that is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its size.
    pub nbytes: u64,
    /// In hexadecimal digits, as `sha256sum` prints it; empty where it was not wanted.
    pub sha256: String,
}

impl Disk {
    /// From the start of the file.
    pub fn new(file: File, is_hashed: bool) -> Disk {
        Disk { file, nbytes: 0, hash: is_hashed.then(Sha256::new) }
    }

    /// What was written so far.
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
