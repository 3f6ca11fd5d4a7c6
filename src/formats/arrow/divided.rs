//! A large record batch, decoded once by the tasks for its parts.

use crate::error::Result;
use crate::formats::columnar::lanes::{Lanes, shares};
use arrow_array::ArrayRef;

/// The decoded columns of a batch.
pub struct Divided(Lanes<Lane>);

struct Lane {
    /// Indices of columns in the schema of the file.
    roots: Vec<usize>,
    arrays: Option<Result<Vec<ArrayRef>>>,
}

impl Divided {
    /// The columns `roots` of a batch, whose sizes divide them. Decodes nothing yet.
    pub fn new(roots: &[usize], sizes: &[u64]) -> Divided {
        let sizes: Vec<u64> = (0..roots.len()).map(|at| sizes.get(at).copied().unwrap_or(0).max(1)).collect();
        Divided(Lanes::new(shares(&sizes).into_iter().map(|part| Lane { roots: roots[part].to_vec(), arrays: None })))
    }

    /// All columns, whole. `decode` decodes those of a lane.
    ///
    /// # Errors
    /// The first column that cannot be decoded.
    pub fn arrays(&self, part: usize, decode: impl Fn(&[usize]) -> Result<Vec<ArrayRef>>) -> Result<Vec<ArrayRef>> {
        let decoded = self.0.visit(part, |lane| lane.arrays.get_or_insert_with(|| decode(&lane.roots)).clone())?;
        Ok(decoded.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }
}
