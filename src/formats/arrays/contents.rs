//! The arrays in a file, and their locations.

use super::element::Element;
use super::embedded::EmbeddedSchema;
use super::npy_header::Header;
use crate::error::{Error, Result};
use crate::io::Input;
use std::collections::HashMap;

/// An array of a file.
#[derive(Clone, Debug)]
pub struct StoredArray {
    pub name: String,
    pub element: Element,
    pub shape: Vec<u64>,
    /// Fortran order: axis 0 varies fastest.
    pub fortran: bool,
    pub location: Location,
    /// Total bytes of the values.
    pub nbytes: u64,
    /// The values, if the array is the dense shape of a sparse field.
    pub dense_shape: Vec<i64>,
}

impl StoredArray {
    /// The array described by a header, whose values take `nbytes` bytes.
    pub fn new(name: String, header: Header, nbytes: u64, location: Location) -> StoredArray {
        let Header { element, fortran, shape } = header;
        StoredArray { name, element, shape, fortran, location, nbytes, dense_shape: Vec::new() }
    }
}

/// The location of the bytes of an array.
#[derive(Clone, Debug)]
pub enum Location {
    /// At this offset in the file.
    At { start: u64 },
    /// In a member of a zip archive, after skipping `skip` bytes.
    Member { member: Member, skip: u64 },
    /// The whole input, after skipping `skip` bytes. The input can be a pipe.
    Stream { skip: u64 },
}

/// A member of a zip archive.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    /// The start of its bytes in the file.
    pub start: u64,
    /// Its compressed and uncompressed size.
    pub packed: u64,
    pub nbytes: u64,
    pub crc: u32,
    pub deflated: bool,
}

/// The contents of a file.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub arrays: Vec<StoredArray>,
    /// The names of arrays that cannot be read, and why. They are errors only if they are needed.
    pub unusable: Vec<(String, Error)>,
    /// The schema embedded by tatter.
    pub embedded: Option<EmbeddedSchema>,
    /// Parts that are not arrays.
    pub others: Vec<String>,
    /// The metadata of the schema.
    pub metadata: Vec<(String, String)>,
}

/// Opens a file of arrays and reads its descriptions, not its values.
pub type Open = fn(&Input) -> Result<Contents>;

impl Contents {
    /// The values of a dense-shape array.
    pub fn dense_shape(&self, number: usize) -> &[i64] {
        self.arrays.get(number).map_or(&[], |array| &array.dense_shape)
    }

    /// The arrays, indexed by name.
    pub fn by_name(&self) -> HashMap<&str, usize> {
        self.arrays.iter().enumerate().map(|(number, array)| (array.name.as_str(), number)).collect()
    }
}
