//! SciPy sparse matrices: `scipy.sparse.save_npz`, an npz with the arrays `format`, `shape`, `data` and, for CSR and
//! CSC, `indices` and `indptr`, or for COO, `row` and `col`. Source: `scipy/sparse/_matrix_io.py`.
//!
//! A record is a row: `features: sparse<dtype>[n]`. CSR is read row by row; CSC and COO are held in memory. Output is
//! CSR.

mod read;
mod write;

use crate::error::Result;
use crate::formats::arrays::archive;
use crate::formats::format::{Format, Reader, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// `scipy`.
pub struct Scipy;

impl Format for Scipy {
    fn name(&self) -> &'static str {
        "scipy"
    }

    fn summary(&self) -> &'static str {
        "SciPy sparse matrix in an npz: rows in CSR, CSC or COO format"
    }

    fn options(&self) -> &'static [&'static str] {
        &["--sum-duplicates"]
    }

    fn family(&self) -> &'static str {
        "npz"
    }

    /// Any npz starts like this.
    fn recognises(&self, input: &Input) -> bool {
        input.is_regular() && archive::is_zip(input.head()) && archive::contents(input).is_ok_and(|contents| read::is_matrix(&contents))
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(read::MatrixReader { input })))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(write::writer(schema, options))
    }

    fn needs_file(&self) -> bool {
        true
    }
}
