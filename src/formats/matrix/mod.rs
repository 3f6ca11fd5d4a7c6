//! Rows of sparse matrices: code shared by libsvm, Matrix Market and SciPy files. A record is a row.

pub mod read;
pub mod rows;
pub mod value;
pub mod write;

/// The field for the rows of a matrix, in every format that does not name it.
pub const FIELD: &str = "features";
