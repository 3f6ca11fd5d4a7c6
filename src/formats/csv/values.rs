//! Parses fields into columns of values.

use super::cell::{self, boolean, number, short_integer, whole};
use crate::decimal::{float, float16, float32, is_whole};
use crate::error::{Error, Result};
use crate::schema::{DType, Type};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, LargeBinaryArray, LargeStringArray, UInt64Array};
use arrow_buffer::NullBuffer;
use std::sync::Arc;

/// What is expected where bytes are not text.
const UTF8: &str = "UTF-8 text (the type bytes accepts any)";

/// The integers that a column of floats can store exactly.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    /// Up to this magnitude, all of them.
    limit: f64,
    /// The nearest number of the column's type, given the nearest float64 and the text.
    rounded: fn(f64, &[u8]) -> f64,
    /// Whether an integer loses nothing, given the magnitude of the nearest float64 and the text.
    is_whole: fn(f64, &str) -> bool,
    /// Whether numbers may begin with zeros, because the type is declared.
    is_declared: bool,
    /// What is expected instead of another integer.
    expected: &'static str,
}

impl Exact {
    pub fn of(ty: &Type, is_declared: bool) -> Exact {
        match ty.dtype() {
            Some(DType::Float16) => Exact {
                limit: f64::from(1u32 << 11),
                rounded: |v, _| float16(v).to_f64(),
                is_whole: |v, text| is_whole(float16(v).to_f64(), text),
                is_declared,
                expected: "a number that float16 can represent exactly",
            },
            Some(DType::Float32) => Exact {
                limit: f64::from(1u32 << 24),
                rounded: |v, text| f64::from(float32(v, text)),
                is_whole: |v, text| is_whole(float32(v, text.trim_start_matches('-').as_bytes()), text),
                is_declared,
                expected: "a number that float32 can represent exactly",
            },
            _ => Exact {
                limit: (1u64 << 53) as f64,
                rounded: |v, _| v,
                is_whole,
                is_declared,
                expected: "a number that float64 can represent exactly",
            },
        }
    }

    /// Whether a text is a fraction, or an integer that loses nothing.
    #[inline]
    fn holds(&self, value: f64, text: &[u8]) -> bool {
        // 2^53 + 1 is read as 2^53.
        let is_short = value.abs() <= self.limit && value.abs() != (1u64 << 53) as f64;
        if is_short || !text.iter().all(|b| b.is_ascii_digit() || *b == b'-') {
            return true;
        }
        (self.is_whole)(value.abs(), std::str::from_utf8(text).unwrap_or_default())
    }

    /// A number of a few digits that begins and ends with a digit; see [`Exact::holds`].
    #[inline]
    fn short(&self, text: &[u8]) -> Option<f64> {
        let (b'0'..=b'9', [b'1'..=b'9', ..] | [b'0'] | [b'0', b'.', ..]) = (text.last()?, text.strip_prefix(b"-").unwrap_or(text)) else {
            return None;
        };
        let value = float(text, |_| false)?.0;
        (value.abs() < self.limit).then(|| (self.rounded)(value, text))
    }
}

/// The text of a number, without the spaces around it, and without the zeros before it if its type is declared.
#[inline]
fn digits_of(text: &[u8], is_declared: bool) -> &[u8] {
    let plain = cell::plain(text);
    if is_declared { cell::unpadded(plain) } else { plain }
}

/// Values under construction.
pub enum Values {
    Nulls(usize),
    Bools(Vec<bool>),
    /// Integers, and whether they may begin with zeros, because the type is declared.
    Integers(Vec<i64>, bool),
    Unsigned(Vec<u64>, bool),
    Floats(Vec<f64>, Exact),
    Texts(Vec<u8>, Vec<i64>, bool),
}

impl Values {
    /// No values, with room for `nrows`.
    pub fn new(dtype: &DType, floats: Exact, nrows: usize) -> Values {
        match dtype {
            DType::Bool => Values::Bools(Vec::with_capacity(nrows)),
            DType::Int64 => Values::Integers(Vec::with_capacity(nrows), floats.is_declared),
            DType::UInt64 => Values::Unsigned(Vec::with_capacity(nrows), floats.is_declared),
            DType::Float64 => Values::Floats(Vec::with_capacity(nrows), floats),
            DType::String | DType::Json | DType::Arrow(_) => Values::Texts(Vec::new(), vec![0], true),
            DType::Bytes => Values::Texts(Vec::new(), vec![0], false),
            _ => Values::Nulls(0),
        }
    }

    /// Appends a value, or returns what was expected without appending anything.
    #[inline]
    pub fn push(&mut self, text: &[u8]) -> Result<(), &'static str> {
        match self {
            Values::Nulls(_) => return Err("null"),
            Values::Bools(values) => values.push(boolean(text).ok_or("true or false")?),
            Values::Integers(values, is_declared) => {
                values.push(whole(digits_of(text, *is_declared)).and_then(|n| i64::try_from(n).ok()).ok_or("an integer")?)
            }
            Values::Unsigned(values, is_declared) => {
                values.push(whole(digits_of(text, *is_declared)).and_then(|n| u64::try_from(n).ok()).ok_or("a non-negative integer")?);
            }
            Values::Floats(values, exact) => {
                let plain = digits_of(text, exact.is_declared);
                let expected =
                    || if cell::CellKind::of(plain) == cell::CellKind::Float { "a number in the range of float64" } else { "a number" };
                let value = number(plain).ok_or_else(expected)?;
                if !exact.holds(value, plain) {
                    return Err(exact.expected);
                }
                let near = (exact.rounded)(value, plain);
                // A number outside the range of the type is rejected later.
                values.push(if near.is_finite() { near } else { value });
            }
            Values::Texts(bytes, ends, is_text) => {
                if *is_text && simdutf8::basic::from_utf8(text).is_err() {
                    return Err(UTF8);
                }
                bytes.extend_from_slice(text);
                ends.push(bytes.len() as i64);
            }
        }
        Ok(())
    }

    /// Appends the values at the start of these fields that are written as most are: short numbers without spaces, and text that is
    /// not empty. Returns their number, and leaves the other fields. `is_utf8`: all fields are UTF-8.
    pub fn extend_quick<'a>(&mut self, cells: &mut (impl Iterator<Item = (usize, Option<&'a [u8]>)> + Clone), is_utf8: bool) -> usize {
        fn leading<'a>(
            cells: &mut (impl Iterator<Item = (usize, Option<&'a [u8]>)> + Clone),
            mut push: impl FnMut(&[u8]) -> bool,
        ) -> usize {
            let mut count = 0;
            loop {
                let before = cells.clone();
                match cells.next() {
                    Some((_, Some(cell))) if push(cell) => count += 1,
                    _ => {
                        *cells = before;
                        return count;
                    }
                }
            }
        }
        match self {
            Values::Nulls(_) => 0,
            Values::Bools(values) => leading(cells, |text| boolean(text).map(|value| values.push(value)).is_some()),
            Values::Integers(values, _) => leading(cells, |text| short_integer(text).map(|value| values.push(value)).is_some()),
            Values::Unsigned(values, _) => {
                leading(cells, |text| short_integer(text).and_then(|v| u64::try_from(v).ok()).map(|value| values.push(value)).is_some())
            }
            Values::Floats(values, exact) => leading(cells, |text| exact.short(text).map(|value| values.push(value)).is_some()),
            Values::Texts(bytes, ends, is_text) => {
                let is_valid = is_utf8 || !*is_text;
                leading(cells, |text| {
                    let is_quick = is_valid && !text.is_empty();
                    if is_quick {
                        bytes.extend_from_slice(text);
                        ends.push(bytes.len() as i64);
                    }
                    is_quick
                })
            }
        }
    }

    /// Whether [`Values::extend_quick`] appends this field.
    pub fn is_quick(&mut self, text: &[u8]) -> bool {
        self.extend_quick(&mut std::iter::once((0, Some(text))), true) == 1
    }

    /// Appends the placeholder under a null.
    pub fn push_nothing(&mut self) {
        match self {
            Values::Nulls(count) => *count += 1,
            Values::Bools(values) => values.push(false),
            Values::Integers(values, _) => values.push(0),
            Values::Unsigned(values, _) => values.push(0),
            Values::Floats(values, _) => values.push(0.0),
            Values::Texts(bytes, ends, _) => ends.push(bytes.len() as i64),
        }
    }

    pub fn finish(self, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let failed = |e: arrow_schema::ArrowError| Error::internal(e.to_string());
        Ok(match self {
            Values::Nulls(count) => Arc::new(arrow_array::NullArray::new(count)),
            Values::Bools(values) => Arc::new(BooleanArray::new(values.into(), validity)),
            Values::Integers(values, _) => Arc::new(Int64Array::new(values.into(), validity)),
            Values::Unsigned(values, _) => Arc::new(UInt64Array::new(values.into(), validity)),
            Values::Floats(values, _) => Arc::new(Float64Array::new(values.into(), validity)),
            Values::Texts(bytes, ends, is_text) => {
                let (ends, bytes) = (arrow_buffer::OffsetBuffer::new(ends.into()), arrow_buffer::Buffer::from_vec(bytes));
                match is_text {
                    true => Arc::new(LargeStringArray::try_new(ends, bytes, validity).map_err(failed)?) as ArrayRef,
                    false => Arc::new(LargeBinaryArray::try_new(ends, bytes, validity).map_err(failed)?),
                }
            }
        })
    }
}
