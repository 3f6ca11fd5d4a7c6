//! The arrays in a file, and their locations.

use super::element::{Element, ElementKind, Record};
use super::embedded::EmbeddedSchema;
use super::npy_header::{Header, refused};
use crate::error::{Error, Reason, Result};
use crate::io::Input;
use crate::path::quoted;
use std::collections::HashMap;
use std::ops::Range;

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
    /// Which bytes of each record are its own, if it is a field of a structured array.
    pub part: Option<FieldPlace>,
}

/// A field of the records of a structured array.
#[derive(Clone, Debug)]
pub struct FieldPlace {
    /// Its bytes in the record.
    pub own: Range<usize>,
    /// The size of a record.
    pub record_nbytes: usize,
}

impl StoredArray {
    /// The size of the bytes at its location.
    pub fn stored_nbytes(&self) -> u64 {
        match &self.part {
            Some(FieldPlace { own, record_nbytes }) => match own.len() as u64 {
                0 => 0,
                nbytes => self.nbytes / nbytes * *record_nbytes as u64,
            },
            None => self.nbytes,
        }
    }
}

/// The location of the bytes of an array.
#[derive(Clone, Debug)]
pub enum Location {
    /// At this offset in the file.
    At { start: u64 },
    /// In a member of a zip archive, after skipping `skip` bytes.
    Member { member: ZipMember, skip: u64 },
    /// The whole input, after skipping `skip` bytes. The input can be a pipe.
    Stream { skip: u64 },
}

/// A member of a zip archive.
#[derive(Clone, Debug)]
pub struct ZipMember {
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
pub type OpenArrays = fn(&Input) -> Result<Contents>;

impl Contents {
    /// Adds the array that a header describes, whose values take `nbytes` bytes; for a structured array, one array for
    /// each field, whose names follow `prefix`.
    ///
    /// # Errors
    /// A structured array in Fortran order, or none of whose fields can be read.
    pub fn add(&mut self, name: String, prefix: &str, header: Header, nbytes: u64, location: Location) -> Result<()> {
        let Header { element, fortran, shape } = header;
        let ElementKind::Record(Record { nbytes: record_nbytes, fields }) = element.kind else {
            self.arrays.push(StoredArray { name, element, shape, fortran, location, nbytes, dense_shape: Vec::new(), part: None });
            return Ok(());
        };
        if fortran && shape.iter().filter(|n| **n > 1).count() > 1 {
            let error = Error::data("a structured array in Fortran order is not supported").because(Reason::ForeignDType);
            return Err(error.help("save it in C order: numpy.ascontiguousarray(a)"));
        }
        // The records would not be counted.
        if fields.iter().all(|field| field.element.is_none()) {
            let error = match fields.first() {
                Some(first) => refused(&first.descr).in_field(quoted(&first.name)),
                None => Error::data("its records have no fields"),
            };
            return Err(error.because(Reason::ForeignDType));
        }
        let nrecords = nbytes.checked_div(record_nbytes as u64).unwrap_or(0);
        for field in fields {
            let name = format!("{prefix}{}", field.name);
            let Some(element) = field.element else {
                let error = refused(&field.descr).in_field(quoted(&name));
                self.unusable.push((name, error));
                continue;
            };
            let each = field.shape.iter().try_fold(element.nbytes() as u64, |all, size| all.checked_mul(*size)).unwrap_or(0);
            let own = field.start..field.start + each as usize;
            self.arrays.push(StoredArray {
                name,
                element,
                shape: shape.iter().copied().chain(field.shape).collect(),
                fortran: false,
                location: location.clone(),
                nbytes: nrecords.saturating_mul(each),
                dense_shape: Vec::new(),
                part: Some(FieldPlace { own, record_nbytes }),
            });
        }
        Ok(())
    }

    /// The values of a dense-shape array.
    pub fn dense_shape(&self, number: usize) -> &[i64] {
        self.arrays.get(number).map_or(&[], |array| &array.dense_shape)
    }

    /// The arrays, indexed by name.
    pub fn by_name(&self) -> HashMap<&str, usize> {
        self.arrays.iter().enumerate().map(|(number, array)| (array.name.as_str(), number)).collect()
    }
}
