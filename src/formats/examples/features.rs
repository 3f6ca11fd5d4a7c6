//! The features of a block of records, located but not decoded.

use super::wire::DecodeError;
use std::ops::Range;

/// The byte range of a feature in the block; empty if the record does not have it or it has no kind.
pub type Span = Range<usize>;

/// The features of a block: the byte range of each in each record.
pub struct Features<'a> {
    /// The bytes of the block.
    pub bytes: &'a [u8],
    /// Number of records.
    pub nrows: usize,
    /// Indexed by feature of the mapping, then by record.
    pub spans: Vec<Vec<Span>>,
    /// The same for feature lists of tf.SequenceExample, where an empty list differs from a missing one.
    pub lists: Option<Vec<Vec<Option<Span>>>>,
    /// Whether an unreadable field that is nullable becomes null.
    pub nulls: bool,
    /// Maximum number of rows that the bytes of one record can hold.
    pub max_rows: usize,
}

impl Features<'_> {
    /// The range of a feature in a record.
    pub fn span(&self, feature: usize, row: usize) -> Span {
        self.spans.get(feature).and_then(|s| s.get(row)).cloned().unwrap_or(0..0)
    }

    /// The range of a feature list in a record; `None` if it is missing.
    pub fn list(&self, feature: usize, row: usize) -> Option<Span> {
        self.lists.as_ref()?.get(feature)?.get(row)?.clone()
    }
}

/// A record that does not fit the column.
pub struct RowError {
    /// Its row.
    pub row: usize,
    /// The field, or empty for the record itself.
    pub field: String,
    /// The error.
    pub error: DecodeError,
    /// Whether the record is kept and the field becomes null.
    pub null: bool,
}
