//! The two files, and the fields of a record.

/// The extension of the index.
pub const INDEX: &str = "idx";
/// The extension of the values.
pub const VALUES: &str = "bin";

pub const TOKENS: &str = "tokens";
pub const DOCUMENT: &str = "document";
pub const MODE: &str = "mode";
