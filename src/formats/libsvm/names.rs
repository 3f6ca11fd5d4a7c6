//! The fields of a line.

use crate::schema::Schema;

pub use crate::formats::matrix::FIELD as FEATURES;

pub const LABEL: &str = "label";
pub const QID: &str = "qid";
/// The metadata key for the index of the first feature.
pub const INDEX_BASE: &str = "libsvm.index_base";

/// Whether `--schema` declares the field that is read from `name`.
pub fn declares(declared: &Schema, name: &str) -> bool {
    declared.fields.iter().any(|field| field.source_name() == name)
}
