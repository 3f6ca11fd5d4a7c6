//! The values of a matrix, while being read.

use super::banner::{Field, Symmetry};
use crate::decimal::{float, float32, integer, is_rounded, is_too_wide};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, UInt64Array};
use std::sync::Arc;

/// Columns of values; two for complex numbers.
pub enum Values {
    Bools(usize),
    Floats(Vec<f64>),
    Complex(Vec<f64>, Vec<f64>),
    Integers(Vec<i64>),
    Unsigned(Vec<u64>),
}

impl Values {
    pub fn new(field: Field) -> Values {
        match field {
            Field::Real => Values::Floats(Vec::new()),
            Field::Complex => Values::Complex(Vec::new(), Vec::new()),
            Field::Integer => Values::Integers(Vec::new()),
            Field::Unsigned => Values::Unsigned(Vec::new()),
            Field::Pattern => Values::Bools(0),
        }
    }

    /// Parses a value from the words of a line.
    ///
    /// # Errors
    /// The expected form.
    pub fn push<'a>(&mut self, words: &mut impl Iterator<Item = &'a [u8]>, is_float32: bool) -> Result<(), &'static str> {
        let mut number = |expected: &'static str| {
            let word = words.next().unwrap_or_default();
            let (value, _) = float(word, |_| false).ok_or(expected)?;
            if is_rounded(word, value) {
                return Err("a number that float64 can represent exactly");
            }
            if !is_float32 {
                return Ok(value);
            }
            match is_too_wide(word) {
                true => Err("a number that float32 can represent exactly"),
                false => Ok(f64::from(float32(value, word))),
            }
        };
        match self {
            Values::Bools(count) => *count += 1,
            Values::Floats(values) => values.push(number("a number")?),
            Values::Complex(real, imag) => {
                let (re, im) = (number("two numbers")?, number("two numbers")?);
                real.push(re);
                imag.push(im);
            }
            Values::Integers(values) => {
                let word = words.next().unwrap_or_default();
                values.push(integer(word).filter(|(_, length)| *length == word.len()).ok_or("an integer")?.0);
            }
            Values::Unsigned(values) => {
                let word = words.next().and_then(|word| std::str::from_utf8(word).ok());
                values.push(word.and_then(|word| word.parse().ok()).ok_or("a non-negative integer")?);
            }
        }
        Ok(())
    }

    /// Appends the counterpart of the last value on the other side of the diagonal.
    ///
    /// # Errors
    /// The negated value exceeds 64 bits.
    pub fn mirror(&mut self, symmetry: Symmetry) -> Result<(), &'static str> {
        let negative = symmetry == Symmetry::Skew;
        let signed = |value: f64| if negative { -value } else { value };
        match self {
            Values::Bools(count) => *count += 1,
            Values::Floats(values) => values.extend(values.last().copied().map(signed)),
            Values::Complex(real, imag) => {
                let conjugate = |value: f64| if symmetry == Symmetry::Hermitian { -value } else { signed(value) };
                real.extend(real.last().copied().map(signed));
                imag.extend(imag.last().copied().map(conjugate));
            }
            Values::Integers(values) => {
                let last = values.last().copied().unwrap_or(0);
                values.push(if negative { last.checked_neg().ok_or("an integer whose negative fits in 64 bits")? } else { last });
            }
            Values::Unsigned(values) => values.extend(values.last().copied()),
        }
        Ok(())
    }

    /// Appends a zero, which is the diagonal of a skew-symmetric matrix.
    pub fn zero(&mut self) {
        match self {
            Values::Bools(count) => *count += 1,
            Values::Floats(values) => values.push(0.0),
            Values::Complex(real, imag) => {
                real.push(0.0);
                imag.push(0.0);
            }
            Values::Integers(values) => values.push(0),
            Values::Unsigned(values) => values.push(0),
        }
    }

    pub fn arrays(self) -> Vec<ArrayRef> {
        match self {
            Values::Bools(count) => vec![Arc::new(BooleanArray::from(vec![true; count]))],
            Values::Floats(values) => vec![Arc::new(Float64Array::from(values))],
            Values::Complex(real, imag) => vec![Arc::new(Float64Array::from(real)), Arc::new(Float64Array::from(imag))],
            Values::Integers(values) => vec![Arc::new(Int64Array::from(values))],
            Values::Unsigned(values) => vec![Arc::new(UInt64Array::from(values))],
        }
    }
}
