//! Limits of JSON text.

/// Maximum nesting depth of lists and objects.
pub const MAX_DEPTH: usize = 128;

/// Maximum length of a field name, which is repeated in types, messages and output files.
pub const MAX_NAME_BYTES: usize = 1 << 16;
