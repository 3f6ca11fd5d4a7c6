//! Progress on standard error.

/// Stub until the real one lands.
pub struct Progress {
    quiet: bool,
}

impl Progress {
    pub fn start(total_bytes: Option<u64>, mode: &str, quiet: bool) -> Progress {
        let _ = (total_bytes, mode);
        Progress { quiet }
    }
    pub fn add(&self, nbytes: u64, nrecords: u64) {
        let _ = (nbytes, nrecords);
    }
    pub fn notice(&self, text: &str) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }
    pub fn finish(&self) {}
}
