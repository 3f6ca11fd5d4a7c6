//! Single values: text straight into the array of their dtype. The type is looked at once for each
//! list, not for each value.

use super::column::Level;
use super::cursor::{Cursor, Number};
use super::observe;
use super::trouble::{Class, Fix, Parse, Trouble};
use crate::error::{Error, Result};
use crate::schema::DType;
use crate::tensor::builder::{Nulls, Texts};
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, LargeBinaryArray, LargeStringArray, NullArray, PrimitiveArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use half::f16;
use std::sync::Arc;

/// A column of single values under construction.
pub struct Leaf {
    dtype: DType,
    level: Level,
    nulls: Nulls,
    values: Values,
}

enum Values {
    Null(usize),
    Bool(Vec<bool>),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    Float16(Vec<f16>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    String(Texts),
    Bytes(Texts),
    Json(Texts),
    Foreign(Texts),
}

/// Runs `$body` with the vector or the texts of any kind.
macro_rules! each {
    ($values:expr, $count:ident => $null:expr, $vec:ident => $body:expr, $texts:ident => $text_body:expr) => {
        match $values {
            Values::Null($count) => $null,
            Values::Bool($vec) => $body,
            Values::Int8($vec) => $body,
            Values::Int16($vec) => $body,
            Values::Int32($vec) => $body,
            Values::Int64($vec) => $body,
            Values::UInt8($vec) => $body,
            Values::UInt16($vec) => $body,
            Values::UInt32($vec) => $body,
            Values::UInt64($vec) => $body,
            Values::Float16($vec) => $body,
            Values::Float32($vec) => $body,
            Values::Float64($vec) => $body,
            Values::String($texts) | Values::Bytes($texts) | Values::Json($texts) | Values::Foreign($texts) => $text_body,
        }
    };
}

/// Reads the items of a list that is not empty, up to and with its bracket.
#[inline(always)]
pub fn items(cursor: &mut Cursor, mut one: impl FnMut(&mut Cursor) -> Parse<()>) -> Parse<()> {
    loop {
        one(cursor)?;
        if !cursor.more(b']')? {
            return Ok(());
        }
    }
}

impl Leaf {
    /// # Errors
    /// A foreign type that has no text form.
    pub fn new(dtype: &DType, level: Level) -> Result<Leaf> {
        let values = match dtype {
            DType::Null => Values::Null(0),
            DType::Bool => Values::Bool(Vec::new()),
            DType::Int8 => Values::Int8(Vec::new()),
            DType::Int16 => Values::Int16(Vec::new()),
            DType::Int32 => Values::Int32(Vec::new()),
            DType::Int64 => Values::Int64(Vec::new()),
            DType::UInt8 => Values::UInt8(Vec::new()),
            DType::UInt16 => Values::UInt16(Vec::new()),
            DType::UInt32 => Values::UInt32(Vec::new()),
            DType::UInt64 => Values::UInt64(Vec::new()),
            DType::Float16 => Values::Float16(Vec::new()),
            DType::Float32 => Values::Float32(Vec::new()),
            DType::Float64 => Values::Float64(Vec::new()),
            DType::String => Values::String(Texts::default()),
            DType::Bytes => Values::Bytes(Texts::default()),
            DType::Json => Values::Json(Texts::default()),
            DType::Arrow(foreign) if arrow_cast::can_cast_types(&DataType::LargeUtf8, foreign) => Values::Foreign(Texts::default()),
            DType::Arrow(_) => return Err(Error::usage(format!("{dtype} cannot be read from JSON"))),
        };
        Ok(Leaf { dtype: dtype.clone(), level, nulls: Nulls::default(), values })
    }

    pub fn nrows(&self) -> usize {
        each!(&self.values, count => *count, values => values.len(), texts => texts.nrows())
    }

    pub fn declared(&self) -> bool {
        self.level.declared
    }

    pub fn nullable(&self) -> bool {
        self.level.nullable || self.dtype == DType::Null
    }

    pub fn expected(&self) -> &'static str {
        expected(&self.dtype)
    }

    #[inline]
    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let (level, nulls) = (&self.level, &mut self.nulls);
        match &mut self.values {
            Values::Int64(values) => integer(cursor, level, nulls, values),
            Values::String(texts) => string(cursor, level, nulls, texts),
            Values::Float64(values) => float(cursor, level, nulls, values),
            Values::Float32(values) => float(cursor, level, nulls, values),
            Values::Null(count) => null(cursor, level, count),
            Values::Bool(values) => boolean(cursor, level, nulls, values),
            Values::Int8(values) => integer(cursor, level, nulls, values),
            Values::Int16(values) => integer(cursor, level, nulls, values),
            Values::Int32(values) => integer(cursor, level, nulls, values),
            Values::UInt8(values) => integer(cursor, level, nulls, values),
            Values::UInt16(values) => integer(cursor, level, nulls, values),
            Values::UInt32(values) => integer(cursor, level, nulls, values),
            Values::UInt64(values) => integer(cursor, level, nulls, values),
            Values::Float16(values) => float(cursor, level, nulls, values),
            Values::Bytes(texts) => bytes(cursor, level, nulls, texts),
            Values::Json(texts) => json(cursor, level, nulls, texts),
            Values::Foreign(texts) => foreign(cursor, level, nulls, texts),
        }
    }

    /// The items of a list that is not empty, up to and with its bracket. The usual dtypes have a loop of their own.
    pub fn read_items(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let (level, nulls) = (&self.level, &mut self.nulls);
        match &mut self.values {
            Values::Int64(values) => items(cursor, |cursor| integer(cursor, level, nulls, values)),
            Values::Int32(values) => items(cursor, |cursor| integer(cursor, level, nulls, values)),
            Values::Float64(values) => items(cursor, |cursor| float(cursor, level, nulls, values)),
            Values::Float32(values) => items(cursor, |cursor| float(cursor, level, nulls, values)),
            Values::String(texts) => items(cursor, |cursor| string(cursor, level, nulls, texts)),
            _ => items(cursor, |cursor| self.read(cursor)),
        }
    }

    pub fn push_null(&mut self) {
        self.nulls.push(self.nrows());
        self.push_blank();
    }

    pub fn push_blank(&mut self) {
        match &mut self.values {
            // Below a null, too, this has to be JSON, or a value of the foreign type: null is both.
            Values::Json(texts) => texts.push(b"null"),
            Values::Foreign(texts) => {
                if self.level.nullable {
                    self.nulls.push(texts.nrows());
                }
                texts.end();
            }
            values => each!(values, count => *count += 1, values => values.push(Default::default()), texts => texts.end()),
        }
    }

    pub fn truncate(&mut self, nrows: usize) {
        self.nulls.truncate(nrows);
        each!(&mut self.values, count => *count = nrows, values => values.truncate(nrows), texts => texts.truncate(nrows));
    }

    /// # Errors
    /// Not for data.
    pub fn finish(self, bad: &mut Vec<(usize, String)>) -> Result<ArrayRef> {
        let nrows = self.nrows();
        let nulls = self.nulls.finish(nrows);
        Ok(match self.values {
            Values::Null(count) => Arc::new(NullArray::new(count)),
            Values::Bool(values) => Arc::new(BooleanArray::new(values.into(), nulls)),
            Values::Int8(values) => primitive::<Int8Type>(values, nulls),
            Values::Int16(values) => primitive::<Int16Type>(values, nulls),
            Values::Int32(values) => primitive::<Int32Type>(values, nulls),
            Values::Int64(values) => primitive::<Int64Type>(values, nulls),
            Values::UInt8(values) => primitive::<UInt8Type>(values, nulls),
            Values::UInt16(values) => primitive::<UInt16Type>(values, nulls),
            Values::UInt32(values) => primitive::<UInt32Type>(values, nulls),
            Values::UInt64(values) => primitive::<UInt64Type>(values, nulls),
            Values::Float16(values) => primitive::<Float16Type>(values, nulls),
            Values::Float32(values) => primitive::<Float32Type>(values, nulls),
            Values::Float64(values) => primitive::<Float64Type>(values, nulls),
            Values::String(texts) | Values::Json(texts) => Arc::new(strings(texts, nulls)?),
            Values::Bytes(texts) => {
                let (offsets, bytes) = texts.into_parts();
                Arc::new(LargeBinaryArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), nulls).map_err(internal)?)
            }
            Values::Foreign(texts) => from_text(strings(texts, nulls)?, &self.dtype.arrow(), bad)?,
        })
    }
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls))
}

fn strings(texts: Texts, nulls: Option<NullBuffer>) -> Result<LargeStringArray> {
    let (offsets, bytes) = texts.into_parts();
    LargeStringArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), nulls).map_err(internal)
}

fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::internal(format!("{error}"))
}

/// Texts as values of a foreign type; those that are none go into `bad`.
fn from_text(texts: LargeStringArray, to: &DataType, bad: &mut Vec<(usize, String)>) -> Result<ArrayRef> {
    use arrow_array::Array;
    let options = arrow_cast::CastOptions { safe: true, ..Default::default() };
    let cast = arrow_cast::cast_with_options(&texts, to, &options).map_err(internal)?;
    for row in (0..texts.len()).filter(|row| cast.is_null(*row) && texts.is_valid(*row)) {
        let text: String = texts.value(row).chars().take(40).collect();
        bad.push((row, format!("expected the text of a {to}, found the string \"{text}\"")));
    }
    Ok(cast)
}

/// What a value of the dtype looks like, for messages.
pub fn expected(dtype: &DType) -> &'static str {
    match dtype {
        DType::Null => "null, as in all records before",
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

/// A null, if there is one and it is allowed.
#[cold]
fn take_null(cursor: &mut Cursor, level: &Level, expected: &str) -> Parse<bool> {
    if !cursor.take_word("null") {
        return Ok(false);
    }
    if !level.nullable {
        cursor.set_pos(cursor.pos() - 4);
        return Err(level.null(cursor, expected));
    }
    Ok(true)
}

fn null(cursor: &mut Cursor, level: &Level, count: &mut usize) -> Parse<()> {
    if !cursor.take_word("null") {
        cursor.clone().skip_value()?;
        let seen = observe::type_of(&mut cursor.clone());
        return Err(level.wider(cursor, expected(&DType::Null), Fix::Seen(seen)));
    }
    *count += 1;
    Ok(())
}

fn boolean(cursor: &mut Cursor, level: &Level, nulls: &mut Nulls, values: &mut Vec<bool>) -> Parse<()> {
    if cursor.take_word("true") {
        values.push(true);
    } else if cursor.take_word("false") {
        values.push(false);
    } else if take_null(cursor, level, "true or false")? {
        nulls.push(values.len());
        values.push(false);
    } else {
        return Err(level.unexpected(cursor, "true or false"));
    }
    Ok(())
}

/// Integers of all widths.
trait Integer: Default + TryFrom<i64> + TryFrom<i128> {
    const DTYPE: DType;
}

macro_rules! integers {
    ($($native:ty => $dtype:ident),*) => {
        $(impl Integer for $native {
            const DTYPE: DType = DType::$dtype;
        })*
    };
}
integers!(i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => UInt8, u16 => UInt16, u32 => UInt32, u64 => UInt64);

#[inline(always)]
fn integer<T: Integer>(cursor: &mut Cursor, level: &Level, nulls: &mut Nulls, values: &mut Vec<T>) -> Parse<()> {
    let start = cursor.pos();
    if let Some(value) = cursor.short_integer().and_then(|value| T::try_from(value).ok()) {
        values.push(value);
        return Ok(());
    }
    cursor.set_pos(start);
    unusual_integer(cursor, level, nulls, values)
}

#[cold]
#[inline(never)]
fn unusual_integer<T: Integer>(cursor: &mut Cursor, level: &Level, nulls: &mut Nulls, values: &mut Vec<T>) -> Parse<()> {
    let expected = expected(&T::DTYPE);
    if take_null(cursor, level, expected)? {
        nulls.push(values.len());
        values.push(T::default());
        return Ok(());
    }
    let start = cursor.pos();
    if non_finite(cursor)?.is_some() {
        cursor.set_pos(start);
        return Err(level.wider(cursor, expected, Fix::Dtype(DType::Float64)));
    }
    if !matches!(cursor.peek(), b'-' | b'0'..=b'9') {
        return Err(level.unexpected(cursor, expected));
    }
    let number = cursor.number()?;
    match number.as_integer().and_then(|value| T::try_from(value).ok()) {
        Some(value) => values.push(value),
        None => {
            cursor.set_pos(start);
            return Err(match number {
                Number { integer: false, .. } => level.wider(cursor, expected, Fix::Dtype(DType::Float64)),
                number => match number.as_integer() {
                    Some(value) if value > i128::from(i64::MAX) => level.wider(cursor, expected, Fix::Dtype(DType::UInt64)),
                    _ => level.wider(cursor, expected, Fix::Json),
                },
            });
        }
    }
    Ok(())
}

/// Floats of all widths.
trait Float: Default {
    const NAME: &'static str;
    const IS_64: bool = false;
    /// From the nearest float64 of a short number; `None`: a look at the text is needed.
    fn from_short(value: f64) -> Option<Self>;
    /// The nearest one; `None` beyond the largest.
    fn from_text(number: &Number) -> Option<Self>;
    fn from_non_finite(value: f64) -> Self;
}

impl Float for f64 {
    const NAME: &'static str = "float64";
    const IS_64: bool = true;
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
        // Rounding twice goes wrong only where the float64 lies in the middle of two float32.
        let middle = value.to_bits() & 0x1FFF_FFFF == 0x1000_0000;
        let nearest = value as f32;
        (!middle && nearest.is_finite() && (nearest.is_normal() || value == 0.0)).then_some(nearest)
    }
    fn from_text(number: &Number) -> Option<f32> {
        number.text.parse().ok().filter(|v: &f32| v.is_finite())
    }
    fn from_non_finite(value: f64) -> f32 {
        value as f32
    }
}

impl Float for f16 {
    const NAME: &'static str = "float16";
    fn from_short(value: f64) -> Option<f16> {
        Some(f16::from_f64(value)).filter(|v| v.is_finite())
    }
    fn from_text(number: &Number) -> Option<f16> {
        number.as_f64().and_then(f16::from_short)
    }
    fn from_non_finite(value: f64) -> f16 {
        f16::from_f64(value)
    }
}

#[inline(always)]
fn float<T: Float>(cursor: &mut Cursor, level: &Level, nulls: &mut Nulls, values: &mut Vec<T>) -> Parse<()> {
    let start = cursor.pos();
    if let Some(value) = cursor.short_float().and_then(T::from_short) {
        values.push(value);
        return Ok(());
    }
    cursor.set_pos(start);
    unusual_float(cursor, level, nulls, values)
}

#[inline(never)]
fn unusual_float<T: Float>(cursor: &mut Cursor, level: &Level, nulls: &mut Nulls, values: &mut Vec<T>) -> Parse<()> {
    let start = cursor.pos();
    if !cursor.peek().is_ascii_digit() {
        if take_null(cursor, level, "a number")? {
            nulls.push(values.len());
            values.push(T::default());
            return Ok(());
        }
        if let Some(value) = non_finite(cursor)? {
            values.push(T::from_non_finite(value));
            return Ok(());
        }
        if cursor.peek() != b'-' {
            return Err(level.unexpected(cursor, "a number"));
        }
    }
    let number = cursor.number()?;
    if T::IS_64 && !level.declared && number.integer && !fits_float(&number) {
        cursor.set_pos(start);
        let expected = "a number that a float64 holds exactly";
        return Err(if level.first_wins { level.clash(cursor, expected) } else { level.wider(cursor, expected, Fix::Json) });
    }
    match T::from_text(&number) {
        Some(value) => values.push(value),
        None => return Err(overflow(start, &number, T::NAME)),
    }
    Ok(())
}

/// Whether an integer lies where a float64 holds all integers.
pub fn fits_float(number: &Number) -> bool {
    number.as_integer().is_some_and(|value| value.unsigned_abs() <= 1 << 53)
}

/// A number beyond the largest float.
#[cold]
pub fn overflow(start: usize, number: &Number, name: &str) -> Box<Trouble> {
    let text: String = number.text.chars().take(40).collect();
    Trouble::new(start, Class::Bad, format!("the number {text} is beyond the largest {name}"), Fix::Json)
        .help("infinity is written as the string \"Infinity\"")
}

/// `NaN`, `Infinity` or `-Infinity`, as a string or as the bare token.
pub fn non_finite(cursor: &mut Cursor) -> Parse<Option<f64>> {
    if !matches!(cursor.peek(), b'"' | b'N' | b'I' | b'-') {
        return Ok(None);
    }
    let start = cursor.pos();
    let quoted = cursor.take(b'"');
    for (word, value) in [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)] {
        if cursor.take_word(word) {
            if !quoted || cursor.take(b'"') {
                return Ok(Some(value));
            }
            break;
        }
    }
    cursor.set_pos(start);
    Ok(None)
}

#[inline(always)]
fn string(cursor: &mut Cursor, level: &Level, nulls: &mut Nulls, texts: &mut Texts) -> Parse<()> {
    if cursor.peek() == b'"' {
        cursor.string(&mut texts.bytes)?;
        texts.end();
        return Ok(());
    }
    no_string(cursor, level, nulls, texts)
}

#[cold]
#[inline(never)]
fn no_string(cursor: &mut Cursor, level: &Level, nulls: &mut Nulls, texts: &mut Texts) -> Parse<()> {
    if take_null(cursor, level, "a string")? {
        nulls.push(texts.nrows());
        texts.end();
        return Ok(());
    }
    let mut ahead = cursor.clone();
    if base64_object(&mut ahead, &mut Vec::new())? {
        return Err(level.wider(cursor, "a string", Fix::Dtype(DType::Bytes)));
    }
    Err(level.unexpected(cursor, "a string"))
}

fn bytes(cursor: &mut Cursor, level: &Level, nulls: &mut Nulls, texts: &mut Texts) -> Parse<()> {
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
            return Err(level.wider(cursor, expected, Fix::Json));
        }
    } else if take_null(cursor, level, expected)? {
        nulls.push(texts.nrows());
    } else {
        return Err(level.unexpected(cursor, expected));
    }
    texts.end();
    Ok(())
}

/// Whether `{"b64": "..."}` stands here, its bytes put behind `out`. Otherwise the cursor may be anywhere.
pub fn base64_object(cursor: &mut Cursor, out: &mut Vec<u8>) -> Parse<bool> {
    if !cursor.take(b'{') {
        return Ok(false);
    }
    cursor.space();
    if !cursor.take_bytes(b"\"b64\"") {
        return Ok(false);
    }
    cursor.colon()?;
    if cursor.peek() != b'"' {
        return Ok(false);
    }
    let mut text = Vec::new();
    cursor.string(&mut text)?;
    cursor.space();
    Ok(cursor.take(b'}') && STANDARD.decode_vec(&text, out).is_ok())
}

fn json(cursor: &mut Cursor, level: &Level, nulls: &mut Nulls, texts: &mut Texts) -> Parse<()> {
    if level.nullable && cursor.take_word("null") {
        nulls.push(texts.nrows());
        texts.push(b"null");
        return Ok(());
    }
    let start = cursor.pos();
    cursor.skip_value()?;
    texts.push(cursor.since(start));
    Ok(())
}

/// A value of a foreign type: its text, as a string or a bare number.
fn foreign(cursor: &mut Cursor, level: &Level, nulls: &mut Nulls, texts: &mut Texts) -> Parse<()> {
    if cursor.peek() == b'"' {
        cursor.string(&mut texts.bytes)?;
        texts.end();
    } else if take_null(cursor, level, "a string")? {
        nulls.push(texts.nrows());
        texts.end();
    } else if matches!(cursor.peek(), b'-' | b'0'..=b'9') {
        let number = cursor.number()?;
        texts.push(number.text.as_bytes());
    } else {
        return Err(level.unexpected(cursor, "a string"));
    }
    Ok(())
}
