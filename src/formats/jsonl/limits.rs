//! Limits of the records and of how much of an input is read.

use crate::error::{Error, RAISE_LIMIT};
use crate::formats::format::Request;

/// The limits of a cutter.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of records still to come.
    pub records: Option<u64>,
    /// Maximum number of records in a block.
    pub rows: usize,
    /// Maximum size of a record in bytes.
    pub record_bytes: u64,
    /// Whether only the first records are sampled; a record that is too long then ends the sample.
    pub sampling: bool,
}

impl Limits {
    /// The limits given by the request.
    pub fn of(request: &Request) -> Limits {
        Limits {
            records: request.records,
            rows: request.options.chunk_rows.unwrap_or(usize::MAX).max(1),
            record_bytes: request.options.max_record_bytes,
            sampling: request.sample_bytes.is_some(),
        }
    }

    /// Maximum number of records in the current block.
    pub fn rows_now(&self) -> usize {
        self.records.map_or(self.rows, |left| self.rows.min(usize::try_from(left).unwrap_or(usize::MAX)))
    }

    /// Counts `nrecords` more records as cut.
    pub fn took(&mut self, nrecords: usize) {
        if let Some(left) = &mut self.records {
            *left = left.saturating_sub(nrecords as u64);
        }
    }
}

/// The error for a record beyond `--max-record-bytes`.
pub fn too_long(what: &str, limit: u64) -> Error {
    Error::data(format!("{what} is longer than {limit} bytes")).help(RAISE_LIMIT)
}
