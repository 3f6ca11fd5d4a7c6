//! The features of a block of records, found but not decoded.

use super::wire::DecodeError;
use std::ops::Range;

/// The range of a feature in the bytes of the block; empty: the record has none, or one without a kind.
pub type Span = Range<usize>;

/// The features of a block: the range of each in each record.
pub struct Features<'a> {
    /// The bytes of the block.
    pub bytes: &'a [u8],
    /// Its records.
    pub nrows: usize,
    /// By feature of the mapping, then by record.
    pub spans: Vec<Vec<Span>>,
    /// The same of the feature lists of tf.SequenceExample, where an empty one differs from none.
    pub lists: Option<Vec<Vec<Option<Span>>>>,
    /// A field that cannot be read, and may be null, is null.
    pub nulls: bool,
    /// Most rows that the bytes of one record could hold.
    pub max_rows: usize,
}

impl Features<'_> {
    /// The range of a feature in a record.
    pub fn span(&self, feature: usize, row: usize) -> Span {
        self.spans.get(feature).and_then(|s| s.get(row)).cloned().unwrap_or(0..0)
    }

    /// The range of a feature list in a record; `None`: it has none.
    pub fn list(&self, feature: usize, row: usize) -> Option<Span> {
        self.lists.as_ref()?.get(feature)?.get(row)?.clone()
    }
}

/// A record that does not fit the column.
pub struct RowError {
    /// Its row.
    pub row: usize,
    /// The field; empty: the record itself.
    pub field: String,
    /// What is wrong.
    pub error: DecodeError,
    /// The record is kept, the field is null.
    pub null: bool,
}
