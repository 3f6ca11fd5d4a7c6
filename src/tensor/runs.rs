//! Flat values composed of runs of other values and of padding: the primitive for padding.

use super::shared::leaf_nbytes;
use super::take::{Native, native};
use crate::error::{Error, Result};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_data::transform::MutableArrayData;

/// The sources of values, in order: copied or padded. Adjacent runs are joined.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Start and length; a start of [`FILL`] means padding.
    runs: Vec<(usize, usize)>,
    nvals: usize,
}

const FILL: usize = usize::MAX;

impl Runs {
    /// An empty sequence.
    pub fn new() -> Runs {
        Runs::default()
    }

    /// Number of values, copied and padded.
    pub fn nvals(&self) -> usize {
        self.nvals
    }

    /// Appends the values `start .. start + len`. Amortized O(1).
    pub fn copy(&mut self, start: usize, len: usize) {
        if len == 0 {
            return;
        }
        self.nvals += len;
        match self.runs.last_mut() {
            Some((first, n)) if *first != FILL && *first + *n == start => *n += len,
            _ => self.runs.push((start, len)),
        }
    }

    /// Appends `len` padding values. Amortized O(1).
    pub fn fill(&mut self, len: usize) {
        if len == 0 {
            return;
        }
        self.nvals += len;
        match self.runs.last_mut() {
            Some((FILL, n)) => *n += len,
            _ => self.runs.push((FILL, len)),
        }
    }

    /// Which values are copied: one bit for each block of `block` values. O(runs), and one bit per block.
    pub fn is_copied(&self, block: usize) -> BooleanBuffer {
        let block = block.max(1);
        let mut bits = BooleanBufferBuilder::new(self.nvals / block);
        for (start, len) in &self.runs {
            bits.append_n(len / block, *start != FILL);
        }
        bits.finish()
    }

    /// The values: `[nvals]`. Padding repeats `filling`, starting anew in each run. Validity is ignored, because nulls
    /// have been rejected before. Zero-copy if everything is one run of values, otherwise O(nvals).
    ///
    /// # Errors
    /// Values and padding of different types, empty padding, or more bytes than an array can hold.
    pub fn apply(&self, values: &ArrayRef, filling: &ArrayRef) -> Result<ArrayRef> {
        if values.data_type() != filling.data_type() || filling.is_empty() {
            return Err(Error::data(format!("{} values cannot be filled with {}", values.data_type(), filling.data_type())));
        }
        if let [(start, len)] = self.runs[..]
            && start != FILL
        {
            return Ok(values.slice(start, len));
        }
        match native(&[values, filling], self) {
            Some(out) => Ok(out),
            None => self.any(values, filling),
        }
    }

    fn any(&self, values: &ArrayRef, filling: &ArrayRef) -> Result<ArrayRef> {
        let (values, filling_data) = (values.to_data(), filling.to_data());
        let mut out = MutableArrayData::new(vec![&values, &filling_data], false, self.nvals);
        for (start, len) in &self.runs {
            if *start != FILL {
                out.try_extend(0, *start, start + len).map_err(|e| Error::data(e.to_string()))?;
                continue;
            }
            for _ in 0..len / filling.len() {
                out.try_extend(1, 0, filling.len()).map_err(|e| Error::data(e.to_string()))?;
            }
            out.try_extend(1, 0, len % filling.len()).map_err(|e| Error::data(e.to_string()))?;
        }
        Ok(make_array(out.freeze()))
    }

    /// Approximate number of bytes that [`Runs::apply`] takes. O(runs).
    pub fn nbytes(&self, values: &ArrayRef, filling: &ArrayRef) -> usize {
        let filled: usize = self.runs.iter().filter(|(start, _)| *start == FILL).map(|(_, len)| len).sum();
        let each = leaf_nbytes(filling).div_ceil(filling.len().max(1));
        leaf_nbytes(values).saturating_add(filled.saturating_mul(each))
    }
}

impl Native for Runs {
    fn run<N: Copy>(&self, values: &[&[N]]) -> Vec<N> {
        let (values, filling) = (values[0], values[1]);
        let mut out = Vec::with_capacity(self.nvals);
        for (start, len) in &self.runs {
            if *start != FILL {
                out.extend_from_slice(&values[*start..start + len]);
            } else if let [one] = filling {
                out.resize(out.len() + len, *one);
            } else {
                out.extend(filling.iter().copied().cycle().take(*len));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BooleanArray, Int32Array, LargeStringArray};
    use std::sync::Arc;

    fn runs() -> Runs {
        let mut runs = Runs::new();
        runs.copy(1, 1);
        runs.copy(2, 1);
        runs.fill(3);
        runs.copy(0, 1);
        runs
    }

    #[test]
    fn values_of_every_kind_are_copied_and_filled() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
        let filling: ArrayRef = Arc::new(Int32Array::from(vec![8, 9]));
        assert_eq!(runs().apply(&numbers, &filling).unwrap().as_ref(), &Int32Array::from(vec![2, 3, 8, 9, 8, 1]));
        let words: ArrayRef = Arc::new(LargeStringArray::from(vec!["a", "bb", "c"]));
        let filling: ArrayRef = Arc::new(LargeStringArray::from(vec!["-"]));
        assert_eq!(runs().apply(&words, &filling).unwrap().as_ref(), &LargeStringArray::from(vec!["bb", "c", "-", "-", "-", "a"]));
        let bits: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
        let filling: ArrayRef = Arc::new(BooleanArray::from(vec![false]));
        assert_eq!(runs().apply(&bits, &filling).unwrap().as_ref(), &BooleanArray::from(vec![false, true, false, false, false, true]));
        assert_eq!(runs().is_copied(1).iter().collect::<Vec<_>>(), [true, true, false, false, false, true]);
    }
}
