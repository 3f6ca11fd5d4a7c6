//! The arrays that a file holds, and where.

use super::element::Element;
use super::embedded::EmbeddedSchema;
use super::npy_header::Header;
use crate::error::Result;
use crate::io::Input;
use std::collections::HashMap;

/// An array of a file.
#[derive(Clone, Debug)]
pub struct StoredArray {
    pub name: String,
    pub element: Element,
    pub shape: Vec<u64>,
    /// Axis 0 is the fastest.
    pub fortran: bool,
    pub location: Location,
    /// Bytes of all values.
    pub nbytes: u64,
    /// Its values, if it is the dense shape of a sparse field.
    pub dense_shape: Vec<i64>,
}

impl StoredArray {
    /// The array of that header, whose values take `nbytes` bytes.
    pub fn new(name: String, header: Header, nbytes: u64, location: Location) -> StoredArray {
        let Header { element, fortran, shape } = header;
        StoredArray { name, element, shape, fortran, location, nbytes, dense_shape: Vec::new() }
    }
}

/// Where the bytes of an array are.
#[derive(Clone, Debug)]
pub enum Location {
    /// From `start` on.
    At { start: u64 },
    /// In a member of a zip archive, after `skip` other bytes.
    Member { member: Member, skip: u64 },
    /// All the input holds, after `skip` other bytes: it may be a pipe.
    Stream { skip: u64 },
}

/// A member of a zip archive.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    /// Where its bytes start in the file.
    pub start: u64,
    /// Its bytes in the file, and inflated.
    pub packed: u64,
    pub nbytes: u64,
    pub crc: u32,
    pub deflated: bool,
}

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub arrays: Vec<StoredArray>,
    /// The schema that tatter wrote into the file.
    pub embedded: Option<EmbeddedSchema>,
    /// Parts that are no arrays.
    pub others: Vec<String>,
}

/// Opens a file of arrays: looks at what describes them, not at values.
pub type Open = fn(&Input) -> Result<Contents>;

impl Contents {
    /// The values of an array that is a dense shape.
    pub fn dense_shape(&self, number: usize) -> &[i64] {
        self.arrays.get(number).map_or(&[], |array| &array.dense_shape)
    }

    /// The arrays by their names.
    pub fn by_name(&self) -> HashMap<&str, usize> {
        self.arrays.iter().enumerate().map(|(number, array)| (array.name.as_str(), number)).collect()
    }
}
