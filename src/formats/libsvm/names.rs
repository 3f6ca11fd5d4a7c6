//! The fields of a line.

pub use crate::formats::matrix::FIELD as FEATURES;

pub const LABEL: &str = "label";
pub const QID: &str = "qid";
/// The metadata key for the index of the first feature.
pub const INDEX_BASE: &str = "libsvm.index_base";
