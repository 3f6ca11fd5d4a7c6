//! The values of the output: written as they arrive, or kept until the dtype that holds all of them is known.

use super::dtype;
use crate::error::{Error, Result};
use crate::formats::arrays::numbers::bytes_of;
use crate::formats::arrays::spool::Spool;
use crate::options::Options;
use crate::schema::DType;
use crate::tensor::ints;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::MutableBuffer;
use std::io::{self, Write};
use std::sync::Arc;

/// Casts integers to another integer dtype.
///
/// # Errors
/// A value does not fit; the error names the first.
pub fn cast(values: &ArrayRef, to: &DType) -> Result<ArrayRef> {
    if *values.data_type() == to.arrow() {
        return Ok(values.clone());
    }
    ints::of_type(&ints::int64(values)?, None, &to.arrow())
}

/// The destination of values.
pub enum Values {
    /// The output, in this dtype.
    Written { dtype: DType, out: Box<dyn Write + Send> },
    /// Temporary files, in the smallest dtype that holds all values so far. Whenever the dtype grows, a new array
    /// begins.
    Kept { min: i64, max: i64, dtypes: Vec<DType>, spool: Box<Spool>, out: Box<dyn Write + Send> },
}

/// The number of dtypes through which the smallest dtype can grow: uint8, int8 or uint16, int16, int32, int64.
const GROWTHS: usize = 5;

impl Values {
    /// Kept values.
    pub fn kept(out: Box<dyn Write + Send>, options: &Options) -> Values {
        Values::Kept { min: 0, max: 0, dtypes: vec![DType::UInt8], spool: Box::new(Spool::new(GROWTHS + 1, options)), out }
    }

    /// Adds values. If they are kept, all of them are within `range`.
    ///
    /// # Errors
    /// Writing fails, or a value does not fit the output dtype.
    pub fn push(&mut self, values: &ArrayRef, range: (i64, i64)) -> Result<()> {
        match self {
            Values::Written { dtype, out } => out.write_all(&bytes_of(&cast(values, dtype)?)?).map_err(Error::output),
            Values::Kept { min, max, dtypes, spool, .. } => {
                (*min, *max) = (range.0.min(*min), range.1.max(*max));
                let dtype = dtype::smallest(*min, *max);
                if dtypes.last() != Some(&dtype) {
                    dtypes.push(dtype.clone());
                }
                spool.push(dtypes.len() - 1, bytes_of(&cast(values, &dtype)?)?)
            }
        }
    }

    /// Writes the kept values and returns the output dtype.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(&mut self) -> Result<DType> {
        match self {
            Values::Written { dtype, out } => {
                out.flush().map_err(Error::output)?;
                Ok(dtype.clone())
            }
            Values::Kept { dtypes, spool, out, .. } => {
                let last = dtypes.last().cloned().unwrap_or(DType::UInt8);
                for (array, dtype) in dtypes.iter().enumerate() {
                    let mut wide = Chunked { width: width(dtype), rest: Vec::new(), each: |block: &[u8]| widen(block, dtype, &last), out };
                    spool.copy(array, &mut wide)?;
                }
                out.flush().map_err(Error::output)?;
                Ok(last)
            }
        }
    }
}

fn width(dtype: &DType) -> usize {
    dtype.arrow().primitive_width().unwrap_or(1)
}

fn widen(block: &[u8], from: &DType, to: &DType) -> Result<Vec<u8>> {
    if from == to {
        return Ok(block.to_vec());
    }
    let mut aligned = MutableBuffer::new(block.len());
    aligned.extend_from_slice(block);
    let element = crate::formats::arrays::element::Element::number(from.clone());
    Ok(bytes_of(&cast(&element.decode(aligned, block.len() / width(from))?, to)?)?.to_vec())
}

/// Passes on the result of `each` for blocks of whole numbers, regardless of how the written bytes are split.
pub struct Chunked<'a, F> {
    pub width: usize,
    pub rest: Vec<u8>,
    pub each: F,
    pub out: &'a mut dyn Write,
}

impl<F: FnMut(&[u8]) -> Result<Vec<u8>>> Write for Chunked<'_, F> {
    fn write(&mut self, block: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(block);
        let whole = self.rest.len() - self.rest.len() % self.width;
        let made = (self.each)(&self.rest[..whole])?;
        self.rest.drain(..whole);
        self.out.write_all(&made)?;
        Ok(block.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The minimum and maximum of integers; `(0, 0)` for none.
pub fn range(values: &ArrayRef) -> Result<(i64, i64)> {
    let wide = ints::int64(values)?;
    Ok((wide.iter().copied().min().unwrap_or(0), wide.iter().copied().max().unwrap_or(0)))
}

/// A single integer.
pub fn one(value: i64) -> ArrayRef {
    Arc::new(arrow_array::Int64Array::from(vec![value]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int64Array;

    #[test]
    fn kept_values_come_out_in_the_dtype_that_holds_all() {
        for (pieces, expected) in [
            (vec![vec![1, 2], vec![3]], DType::UInt8),
            (vec![vec![1, 2], vec![-3], vec![300], vec![]], DType::Int16),
            (vec![vec![1], vec![-1], vec![200], vec![70_000], vec![1 << 40], vec![5]], DType::Int64),
            (vec![vec![1], vec![300], vec![70_000]], DType::Int32),
        ] {
            let path = tempfile::NamedTempFile::new().unwrap();
            let mut values = Values::kept(Box::new(path.reopen().unwrap()), &Options::default());
            for piece in &pieces {
                let array: ArrayRef = Arc::new(Int64Array::from(piece.clone()));
                values.push(&array, range(&array).unwrap()).unwrap();
            }
            assert_eq!(values.finish().unwrap(), expected);
            let all: ArrayRef = Arc::new(Int64Array::from(pieces.concat()));
            assert_eq!(std::fs::read(path.path()).unwrap(), bytes_of(&cast(&all, &expected).unwrap()).unwrap().as_slice());
        }
    }

    #[test]
    fn a_value_that_does_not_fit_is_named() {
        let array: ArrayRef = Arc::new(Int64Array::from(vec![1, 70_000]));
        let error = cast(&array, &DType::UInt16).unwrap_err();
        assert_eq!((error.message(), error.location().row), ("70000 does not fit in uint16", Some(1)));
    }
}
