//! The fields of a line.

use crate::schema::Field;

pub use crate::formats::matrix::FIELD as FEATURES;

pub const LABEL: &str = "label";
pub const QID: &str = "qid";
/// The metadata key for the index of the first feature.
pub const INDEX_BASE: &str = "libsvm.index_base";

/// The part of a line that a field is read from.
pub fn source(field: &Field) -> &str {
    field.source.values.as_deref().unwrap_or(&field.name)
}
