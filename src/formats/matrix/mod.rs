//! Rows of sparse matrices: what libsvm, Matrix Market and SciPy's files share. A record is a row.

pub mod read;
pub mod rows;
pub mod value;
pub mod write;

/// The field that holds the rows of a matrix, in every format that gives it no name.
pub const FIELD: &str = "features";
