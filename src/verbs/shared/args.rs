//! Parsers of arguments that several verbs take.

use crate::error::Error;
use crate::tensor::encoding::Encoding;

/// A number of at least 1.
///
/// # Errors
/// Anything else.
pub fn positive(text: &str) -> Result<usize, Error> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| Error::usage("expected a number of at least 1"))
}

/// The encoding of that name.
///
/// # Errors
/// There is none.
pub fn parse_encoding(text: &str) -> Result<Encoding, Error> {
    Encoding::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Encoding::NAMED.iter().map(|(name, _)| *name).collect();
        Error::usage(format!("expected one of {}", names.join(", ")))
    })
}
