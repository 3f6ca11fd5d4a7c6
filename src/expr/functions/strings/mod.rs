//! String functions: one file per topic, and shared code.
//!
//! A string is UTF-8; bytes are arbitrary. Both are accepted everywhere. Functions that can cut a character or produce
//! invalid UTF-8 return bytes.
//!
//! Semantics: `tf.strings`.

pub mod base64;
pub mod compressed;
pub mod csv;
pub mod fingerprint;
pub mod format;
pub mod hash;
pub mod join;
pub mod letters;
pub mod ngrams;
pub mod number;
pub mod raw;
pub mod regex;
pub mod serialized;
mod shared;
pub mod unicode;
