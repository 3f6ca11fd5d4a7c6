//! Strings and bytes as byte slices, and arrays built from them.

use crate::error::{Error, Result};
use crate::schema::DType;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, LargeBinaryArray, LargeStringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use std::sync::Arc;

/// The values of a string or bytes array.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    offsets: &'a [i64],
    values: &'a [u8],
}

impl<'a> Texts<'a> {
    /// The values of `array`, of dtype string or bytes. Zero-copy.
    ///
    /// # Errors
    /// The array does not hold strings, which is a bug.
    pub fn of(array: &'a ArrayRef) -> Result<Texts<'a>> {
        if let Some(strings) = array.as_string_opt::<i64>() {
            return Ok(Texts { offsets: strings.value_offsets(), values: strings.value_data() });
        }
        match array.as_binary_opt::<i64>() {
            Some(bytes) => Ok(Texts { offsets: bytes.value_offsets(), values: bytes.value_data() }),
            None => Err(Error::internal(format!("expected strings, found {}", array.data_type()))),
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Value `i`. O(1).
    #[inline]
    pub fn get(&self, i: usize) -> &'a [u8] {
        &self.values[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// Total number of bytes of all values. O(1).
    pub fn nbytes(&self) -> usize {
        (self.offsets[self.len()] - self.offsets[0]) as usize
    }

    /// All values in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        (0..self.len()).map(move |i| self.get(i))
    }
}

/// A builder of a string or bytes array.
#[derive(Debug)]
pub struct TextBuilder {
    offsets: Vec<i64>,
    /// The bytes so far. Appended bytes belong to the value ended by the next [`TextBuilder::end`].
    pub bytes: Vec<u8>,
}

impl TextBuilder {
    /// Reserves room for these many values and bytes.
    pub fn with_capacity(values: usize, nbytes: usize) -> TextBuilder {
        let mut offsets = Vec::with_capacity(values + 1);
        offsets.push(0);
        TextBuilder { offsets, bytes: Vec::with_capacity(nbytes) }
    }

    /// Ends the current value.
    #[inline]
    pub fn end(&mut self) {
        self.offsets.push(self.bytes.len() as i64);
    }

    /// Appends a whole value.
    #[inline]
    pub fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.end();
    }

    /// Builds the array, of dtype string or bytes. O(bytes) to check strings.
    ///
    /// # Errors
    /// Strings that are not valid UTF-8.
    pub fn finish(self, dtype: &DType) -> Result<ArrayRef> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        let values = Buffer::from_vec(self.bytes);
        if *dtype == DType::Bytes {
            return Ok(Arc::new(LargeBinaryArray::try_new(offsets, values, None).map_err(|e| Error::data(e.to_string()))?));
        }
        Ok(Arc::new(
            LargeStringArray::try_new(offsets, values, None)
                .map_err(|_| Error::data("the result is not valid UTF-8").help("to convert strings unchanged: cast(x, bytes)"))?,
        ))
    }
}
