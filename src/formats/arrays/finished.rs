//! A complete array that waits to be written.

use super::element::Element;

/// A complete array.
pub struct Finished {
    pub name: String,
    pub element: Element,
    pub shape: Vec<u64>,
    pub nbytes: u64,
    /// The checksum of its values.
    pub crc: crc32fast::Hasher,
}
