//! Parsers of arguments that several verbs take.

use crate::error::Error;
use crate::schema::PartitionEncoding;

/// Parses a number of at least 1.
///
/// # Errors
/// Anything else.
pub fn positive(text: &str) -> Result<usize, Error> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| Error::usage("expected a number of at least 1"))
}

/// Parses the name of an encoding of row partitions.
///
/// # Errors
/// Not the name of an encoding.
pub fn parse_encoding(text: &str) -> Result<PartitionEncoding, Error> {
    PartitionEncoding::VECTORS.into_iter().find(|e| e.name() == text).ok_or_else(|| {
        let names = PartitionEncoding::VECTORS.map(PartitionEncoding::name);
        Error::usage(format!("expected one of {}", names.join(", ")))
    })
}
