//! Scalars: parses text directly into the vector of their dtype. Each reader has a fast path for the usual form of its
//! values and a separate function for everything else.

use super::cursor::Cursor;
use super::error::{Fix, Parse};
use super::forms::{base64_object, non_finite, overflow, quote_non_finite};
use super::number::Number;
use super::rules::Rules;
use super::settle::type_of;
use crate::decimal::{self, fits_float64, is_halfway};
use crate::schema::DType;
use crate::tensor::builder::{Nulls, StringRows};
use half::f16;

/// Describes a value of the dtype in messages.
pub fn expected(dtype: &DType) -> &'static str {
    match dtype {
        DType::Null => "null, as in all earlier records",
        DType::Bool => "true or false",
        DType::Int8 => "an integer of int8 (-128 to 127)",
        DType::Int16 => "an integer of int16 (-32768 to 32767)",
        DType::Int32 => "an integer of int32",
        DType::Int64 => "an integer",
        DType::UInt8 => "an integer of uint8 (0 to 255)",
        DType::UInt16 => "an integer of uint16 (0 to 65535)",
        DType::UInt32 => "an integer of uint32",
        DType::UInt64 => "an integer of uint64",
        DType::Float16 | DType::Float32 | DType::Float64 => "a number",
        DType::String => "a string",
        DType::Bytes => "a string or {\"b64\": ...}",
        DType::Json => "a JSON value",
        DType::Arrow(_) => "a string",
    }
}

pub fn null(cursor: &mut Cursor, rules: &Rules, count: &mut usize) -> Parse<()> {
    if !cursor.take_word("null") {
        cursor.clone().skip_value()?;
        let seen = type_of(&mut cursor.clone());
        return Err(rules.wider(cursor, expected(&DType::Null), Fix::Seen(seen)));
    }
    *count += 1;
    Ok(())
}

pub fn boolean(cursor: &mut Cursor, rules: &Rules, nulls: &mut Nulls, values: &mut Vec<bool>) -> Parse<()> {
    if cursor.take_word("true") {
        values.push(true);
    } else if cursor.take_word("false") {
        values.push(false);
    } else if rules.take_null(cursor, "true or false")? {
        nulls.push(values.len());
        values.push(false);
    } else {
        return Err(rules.unexpected(cursor, "true or false"));
    }
    Ok(())
}

/// Integers of all widths.
pub trait Integer: Default + TryFrom<i64> + TryFrom<i128> {
    const DTYPE: DType;
    /// The least and the greatest value.
    const RANGE: (i128, i128);
}

macro_rules! integers {
    ($($native:ty => $dtype:ident),*) => {
        $(impl Integer for $native {
            const DTYPE: DType = DType::$dtype;
            const RANGE: (i128, i128) = (<$native>::MIN as i128, <$native>::MAX as i128);
        })*
    };
}
integers!(i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => UInt8, u16 => UInt16, u32 => UInt32, u64 => UInt64);

/// The narrowest integer dtype that holds the value and all values of `T`.
fn wider_integer<T: Integer>(value: i128) -> Option<DType> {
    fn both<T: Integer, W: Integer + TryFrom<i128>>(value: i128) -> Option<DType> {
        [value, T::RANGE.0, T::RANGE.1].iter().all(|value| W::try_from(*value).is_ok()).then_some(W::DTYPE)
    }
    let unsigned = [both::<T, u16>, both::<T, u32>, both::<T, u64>];
    let signed = [both::<T, i16>, both::<T, i32>, both::<T, i64>];
    unsigned.into_iter().chain(signed).find_map(|dtype| dtype(value))
}

#[inline(always)]
pub fn integer<T: Integer>(cursor: &mut Cursor, rules: &Rules, nulls: &mut Nulls, values: &mut Vec<T>) -> Parse<()> {
    let start = cursor.pos();
    if let Some(value) = cursor.short_integer().and_then(|value| T::try_from(value).ok()) {
        values.push(value);
        return Ok(());
    }
    cursor.set_pos(start);
    unusual_integer(cursor, rules, nulls, values)
}

#[cold]
#[inline(never)]
fn unusual_integer<T: Integer>(cursor: &mut Cursor, rules: &Rules, nulls: &mut Nulls, values: &mut Vec<T>) -> Parse<()> {
    let expected = expected(&T::DTYPE);
    if rules.take_null(cursor, expected)? {
        nulls.push(values.len());
        values.push(T::default());
        return Ok(());
    }
    let start = cursor.pos();
    if non_finite(cursor)?.is_some() {
        cursor.set_pos(start);
        return Err(rules.wider(cursor, expected, Fix::Dtype(DType::Float64)));
    }
    if !matches!(cursor.peek(), b'-' | b'0'..=b'9') {
        return Err(rules.unexpected(cursor, expected));
    }
    let number = cursor.number()?;
    match number.as_integer().and_then(|value| T::try_from(value).ok()) {
        Some(value) => values.push(value),
        None => {
            cursor.set_pos(start);
            return Err(match number {
                Number { integer: false, .. } => rules.wider(cursor, expected, Fix::Dtype(DType::Float64)),
                number => match number.as_integer() {
                    Some(value) if value > i128::from(i64::MAX) => rules.wider(cursor, expected, Fix::Dtype(DType::UInt64)),
                    _ if rules.first_wins => rules.clash(cursor, expected),
                    value => rules.wider(cursor, expected, value.and_then(wider_integer::<T>).map_or(Fix::Json, Fix::Dtype)),
                },
            });
        }
    }
    Ok(())
}

/// Floats of all widths.
pub trait Float: Copy + Default + Into<f64> {
    /// The name of the dtype.
    const NAME: &'static str;
    /// Converts the nearest float64 of a short number; `None` if the text is needed to decide.
    fn from_short(value: f64) -> Option<Self>;
    /// The nearest value; `None` beyond the largest.
    fn from_text(number: &Number) -> Option<Self>;
    /// NaN or an infinity.
    fn from_non_finite(value: f64) -> Self;

    /// Whether the integer in the text loses nothing: see [`decimal::is_whole`].
    fn is_integer(self, text: &str) -> bool {
        decimal::is_whole(self.into().abs(), text)
    }
}

/// Whether a short number may be an integer that a float with `bits` bits of precision cannot hold.
#[inline(always)]
fn may_be_narrowed(value: f64, bits: u32) -> bool {
    value.abs() > (1u64 << bits) as f64 && value.fract() == 0.0
}

impl Float for f64 {
    const NAME: &'static str = "float64";
    #[inline(always)]
    fn from_short(value: f64) -> Option<f64> {
        Some(value)
    }
    fn from_text(number: &Number) -> Option<f64> {
        number.as_f64()
    }
    fn from_non_finite(value: f64) -> f64 {
        value
    }
}

impl Float for f32 {
    const NAME: &'static str = "float32";
    #[inline(always)]
    fn from_short(value: f64) -> Option<f32> {
        let middle = is_halfway(value);
        let nearest = value as f32;
        let narrowed = may_be_narrowed(value, f32::MANTISSA_DIGITS) && f64::from(nearest) != value;
        (!middle && !narrowed && nearest.is_finite() && (nearest.is_normal() || value == 0.0)).then_some(nearest)
    }
    fn from_text(number: &Number) -> Option<f32> {
        number.text().parse().ok().filter(|v: &f32| v.is_finite())
    }
    fn from_non_finite(value: f64) -> f32 {
        value as f32
    }
    fn is_integer(self, text: &str) -> bool {
        decimal::is_whole(self.abs(), text)
    }
}

impl Float for f16 {
    const NAME: &'static str = "float16";
    fn from_short(value: f64) -> Option<f16> {
        let nearest = decimal::float16(value);
        let narrowed = may_be_narrowed(value, f16::MANTISSA_DIGITS) && nearest.to_f64() != value;
        (!narrowed && nearest.is_finite()).then_some(nearest)
    }
    fn from_text(number: &Number) -> Option<f16> {
        number.as_f64().map(decimal::float16).filter(|v| v.is_finite())
    }
    fn from_non_finite(value: f64) -> f16 {
        decimal::float16(value)
    }
}

#[inline(always)]
pub fn float<T: Float>(cursor: &mut Cursor, rules: &Rules, nulls: &mut Nulls, values: &mut Vec<T>) -> Parse<()> {
    let start = cursor.pos();
    if let Some(value) = cursor.short_float().and_then(T::from_short) {
        values.push(value);
        return Ok(());
    }
    cursor.set_pos(start);
    unusual_float(cursor, rules, nulls, values)
}

#[inline(never)]
fn unusual_float<T: Float>(cursor: &mut Cursor, rules: &Rules, nulls: &mut Nulls, values: &mut Vec<T>) -> Parse<()> {
    let start = cursor.pos();
    if !cursor.peek().is_ascii_digit() {
        if rules.take_null(cursor, "a number")? {
            nulls.push(values.len());
            values.push(T::default());
            return Ok(());
        }
        if let Some(value) = non_finite(cursor)? {
            values.push(T::from_non_finite(value));
            return Ok(());
        }
        if cursor.peek() != b'-' {
            return Err(rules.unexpected(cursor, "a number"));
        }
    }
    let number = cursor.number()?;
    let Some(value) = T::from_text(&number) else {
        return Err(match number.as_f64() {
            // Only the widest float dtype is inferred.
            Some(_) => {
                cursor.set_pos(start);
                rules.wider(cursor, &format!("a number in the range of {}", T::NAME), Fix::Dtype(DType::Float64))
            }
            None => overflow(start, &number, T::NAME),
        });
    };
    if number.integer && !value.is_integer(number.text()) {
        cursor.set_pos(start);
        let expected = format!("a number that {} can represent exactly", T::NAME);
        let fix = if fits_float64(number.text()) { Fix::Dtype(DType::Float64) } else { Fix::Json };
        return Err(if rules.first_wins { rules.clash(cursor, &expected) } else { rules.wider(cursor, &expected, fix) });
    }
    values.push(value);
    Ok(())
}

#[inline(always)]
pub fn string(cursor: &mut Cursor, rules: &Rules, nulls: &mut Nulls, texts: &mut StringRows) -> Parse<()> {
    if cursor.peek() == b'"' {
        cursor.string(&mut texts.bytes)?;
        texts.end();
        return Ok(());
    }
    no_string(cursor, rules, nulls, texts)
}

#[cold]
#[inline(never)]
fn no_string(cursor: &mut Cursor, rules: &Rules, nulls: &mut Nulls, texts: &mut StringRows) -> Parse<()> {
    if rules.take_null(cursor, "a string")? {
        nulls.push(texts.nrows());
        texts.end();
        return Ok(());
    }
    let mut ahead = cursor.clone();
    if base64_object(&mut ahead, &mut Vec::new())? {
        return Err(rules.wider(cursor, "a string", Fix::Dtype(DType::Bytes)));
    }
    Err(rules.unexpected(cursor, "a string"))
}

pub fn bytes(cursor: &mut Cursor, rules: &Rules, nulls: &mut Nulls, texts: &mut StringRows) -> Parse<()> {
    let expected = expected(&DType::Bytes);
    if cursor.peek() == b'"' {
        cursor.string(&mut texts.bytes)?;
    } else if cursor.peek() == b'{' {
        let start = cursor.pos();
        let before = texts.bytes.len();
        if !base64_object(cursor, &mut texts.bytes)? {
            texts.bytes.truncate(before);
            cursor.set_pos(start);
            cursor.clone().skip_value()?;
            return Err(rules.wider(cursor, expected, Fix::Json));
        }
    } else if rules.take_null(cursor, expected)? {
        nulls.push(texts.nrows());
    } else {
        return Err(rules.unexpected(cursor, expected));
    }
    texts.end();
    Ok(())
}

pub fn json(cursor: &mut Cursor, rules: &Rules, nulls: &mut Nulls, texts: &mut StringRows) -> Parse<()> {
    if rules.nullable && cursor.take_word("null") {
        nulls.push(texts.nrows());
        texts.push(b"null");
        return Ok(());
    }
    let start = cursor.pos();
    cursor.skip_value()?;
    quote_non_finite(cursor.since(start), &mut texts.bytes);
    texts.end();
    Ok(())
}

/// A value of an Arrow type, as a string or a bare number.
pub fn arrow_text(cursor: &mut Cursor, rules: &Rules, nulls: &mut Nulls, texts: &mut StringRows) -> Parse<()> {
    if cursor.peek() == b'"' {
        cursor.string(&mut texts.bytes)?;
        texts.end();
    } else if rules.take_null(cursor, "a string")? {
        nulls.push(texts.nrows());
        texts.end();
    } else if matches!(cursor.peek(), b'-' | b'0'..=b'9') {
        let number = cursor.number()?;
        texts.push(number.text().as_bytes());
    } else {
        return Err(rules.unexpected(cursor, "a string"));
    }
    Ok(())
}
