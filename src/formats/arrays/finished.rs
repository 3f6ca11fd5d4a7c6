//! An array that is complete and waits to be written.

use super::element::Element;

/// An array whose last value has come.
pub struct Finished {
    pub name: String,
    pub element: Element,
    pub shape: Vec<u64>,
    pub nbytes: u64,
    /// The checksum of its values.
    pub crc: crc32fast::Hasher,
}
