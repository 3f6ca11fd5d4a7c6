//! Matrix Market: a banner, comments, a line of sizes, then one entry per line. Source:
//! <https://math.nist.gov/MatrixMarket/formats.html>.
//!
//! A record is a row of the matrix: `features: sparse<dtype>[n]` for `coordinate`, `features: dtype[n]` for `array`.
//! `real` is float64, `integer` int64, `pattern` bool, and `complex` a structure of `real` and `imag`. The other half
//! of symmetric, skew-symmetric and Hermitian matrices is filled in. Because entries can be in any order, a matrix is
//! held in memory, up to `--max-memory`. Output is `coordinate`, `general`, in row order.

mod banner;
mod entries;
mod read;
mod write;

use crate::error::Result;
use crate::formats::format::{Format, Reader, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// `matrix-market`.
pub struct MatrixMarket;

impl Format for MatrixMarket {
    fn name(&self) -> &'static str {
        "matrix-market"
    }

    fn summary(&self) -> &'static str {
        "Matrix Market: rows of a sparse or dense matrix"
    }

    fn options(&self) -> &'static [&'static str] {
        &["--sum-duplicates"]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["mtx", "mm"]
    }

    fn sniff(&self, head: &[u8]) -> bool {
        head.get(..banner::START.len()).is_some_and(|start| start.eq_ignore_ascii_case(banner::START))
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(read::MatrixReader { input })))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(write::writer(schema, options))
    }

    fn is_text(&self) -> bool {
        true
    }
}
