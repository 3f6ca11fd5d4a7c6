//! Builds items from those of a tensor and a fill value.
//!
//! ```text
//! items [a b c]  filling x     copy 0..2, fill 2, copy 2..3     [a b x x c]
//! ```

use crate::error::Result;
use crate::tensor::Tensor;
use crate::tensor::take::{Run, take_runs};

/// A builder of items.
pub struct Filled<'a> {
    items: &'a Tensor,
    /// Number of copies of each row of the fill value.
    filling: Tensor,
    copies: usize,
    /// Whether one fill value is used for all records.
    shared: bool,
    runs: Vec<Run>,
}

impl<'a> Filled<'a> {
    /// An empty builder. `filling` has one row per record, or one for all. Keeps up to 64 copies of each.
    ///
    /// # Errors
    /// Only if memory runs out.
    pub fn new(items: &'a Tensor, filling: &Tensor) -> Result<Filled<'a>> {
        // Several copies, so that few runs fill a long row, but no more than fit in the memory of the items or 1 MiB.
        let nrows = filling.nrows();
        let room = (1 << 20) / filling.nbytes().max(1);
        let copies = (items.nrows() / nrows.max(1)).max(room).clamp(1, 64);
        let rows: Vec<usize> = (0..nrows).flat_map(|row| std::iter::repeat_n(row, copies)).collect();
        Ok(Filled { items, filling: filling.gather(&rows)?, copies, shared: nrows == 1, runs: Vec::new() })
    }

    /// Appends the items `start .. end`. O(1).
    pub fn copy(&mut self, start: usize, end: usize) {
        match self.runs.last_mut() {
            _ if start == end => {}
            Some(last) if last.part == 0 && last.end == start => last.end = end,
            _ => self.runs.push(Run { part: 0, start, end }),
        }
    }

    /// Appends this many copies of a record's fill value. O(times / 64), at most O(times).
    pub fn fill(&mut self, record: usize, mut times: usize) {
        let start = if self.shared { 0 } else { record * self.copies };
        while times > 0 {
            let some = times.min(self.copies);
            self.runs.push(Run { part: 1, start, end: start + some });
            times -= some;
        }
    }

    /// All items, in the order in which they were added. O(items).
    ///
    /// # Errors
    /// Only if memory runs out.
    pub fn finish(self) -> Result<Tensor> {
        take_runs(&[self.items, &self.filling], &self.runs)
    }
}
