//! Items put together from those of a tensor and from a filling.
//!
//! ```text
//! items [a b c]  filling x     copy 0..2, fill 2, copy 2..3     [a b x x c]
//! ```

use crate::error::Result;
use crate::tensor::Tensor;
use crate::tensor::take::{Run, take_runs};

/// Items in the making.
pub struct Filled<'a> {
    items: &'a Tensor,
    /// So many copies of each row of the filling.
    filling: Tensor,
    copies: usize,
    /// One filling is used for all records.
    shared: bool,
    runs: Vec<Run>,
}

impl<'a> Filled<'a> {
    /// No items yet. `filling` has a row for each record, or one for all.
    ///
    /// # Errors
    /// A failure of memory only.
    pub fn new(items: &'a Tensor, filling: &Tensor) -> Result<Filled<'a>> {
        // Several copies, so that few runs fill a long row; few enough to take no more room than the items, or 1 MiB.
        let nrows = filling.nrows();
        let room = (1 << 20) / filling.nbytes().max(1);
        let copies = (items.nrows() / nrows.max(1)).max(room).clamp(1, 64);
        let rows: Vec<usize> = (0..nrows).flat_map(|row| std::iter::repeat_n(row, copies)).collect();
        Ok(Filled { items, filling: filling.gather(&rows)?, copies, shared: nrows == 1, runs: Vec::new() })
    }

    /// Goes on with the items `start .. end`.
    pub fn copy(&mut self, start: usize, end: usize) {
        match self.runs.last_mut() {
            _ if start == end => {}
            Some(last) if last.part == 0 && last.end == start => last.end = end,
            _ => self.runs.push(Run { part: 0, start, end }),
        }
    }

    /// Continues with this many fillings of a record.
    pub fn fill(&mut self, record: usize, mut times: usize) {
        let start = if self.shared { 0 } else { record * self.copies };
        while times > 0 {
            let some = times.min(self.copies);
            self.runs.push(Run { part: 1, start, end: start + some });
            times -= some;
        }
    }

    /// All items.
    ///
    /// # Errors
    /// A failure of memory only.
    pub fn finish(self) -> Result<Tensor> {
        take_runs(&[self.items, &self.filling], &self.runs)
    }
}
