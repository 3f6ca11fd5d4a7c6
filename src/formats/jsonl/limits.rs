//! The limits of JSON records, and of how much of an input is read.

use crate::error::Error;
use crate::formats::format::Request;

/// Deepest nesting of lists and objects.
pub const MAX_DEPTH: usize = 128;

/// Most fields of one structure.
pub const MAX_FIELDS: usize = 10_000;

/// Longest name of a field: it is repeated in types, messages and every file that is written.
pub const MAX_NAME_BYTES: usize = 1 << 16;

/// Limits of a cutter.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Records that are still to come, at most.
    pub records: Option<u64>,
    /// Records in a block, at most.
    pub rows: usize,
    /// Bytes of a record, at most.
    pub record_bytes: u64,
    /// Only the first records are read: one that is too long ends the sample.
    pub sampling: bool,
}

impl Limits {
    /// What the request allows.
    pub fn of(request: &Request) -> Limits {
        Limits {
            records: request.records,
            rows: request.options.chunk_rows.unwrap_or(usize::MAX).max(1),
            record_bytes: request.options.max_record_bytes,
            sampling: request.sample_bytes.is_some(),
        }
    }

    /// Records in the block at hand, at most.
    pub fn rows_now(&self) -> usize {
        self.records.map_or(self.rows, |left| self.rows.min(usize::try_from(left).unwrap_or(usize::MAX)))
    }

    /// `nrecords` records have been cut.
    pub fn took(&mut self, nrecords: usize) {
        if let Some(left) = &mut self.records {
            *left = left.saturating_sub(nrecords as u64);
        }
    }
}

/// The way out of a record that is too long.
pub const LONGER: &str = "raise the limit with --max-record-bytes";

/// A record beyond `--max-record-bytes`.
pub fn too_long(what: &str, limit: u64) -> Error {
    Error::data(format!("{what} is longer than {limit} bytes")).help(LONGER)
}
