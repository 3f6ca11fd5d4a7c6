//! A column of scalars. The dtype is dispatched once per list, not once per value.

use super::builder::{LateError, LateErrors};
use super::cursor::Cursor;
use super::error::Parse;
use super::forms::elements;
use super::rules::Rules;
use super::scalar::{arrow_text, boolean, bytes, expected, float, integer, json, null, string};
use crate::error::{Error, Result};
use crate::schema::DType;
use crate::tensor::Tensor;
use crate::tensor::builder::{Nulls, StringRows, as_before};
use crate::tensor::text::{from_text, reads_text};
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, LargeBinaryArray, LargeStringArray, NullArray, PrimitiveArray, make_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use half::f16;
use std::sync::Arc;

/// A column of scalars under construction.
pub struct Leaf {
    dtype: DType,
    rules: Rules,
    nulls: Nulls,
    values: Buffer,
}

enum Buffer {
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
    String(StringRows),
    Bytes(StringRows),
    Json(StringRows),
    Arrow(StringRows),
}

/// Runs `$body` with the vector or string builder of any kind.
macro_rules! each {
    ($values:expr, $count:ident => $null:expr, $vec:ident => $body:expr, $texts:ident => $text_body:expr) => {
        match $values {
            Buffer::Null($count) => $null,
            Buffer::Bool($vec) => $body,
            Buffer::Int8($vec) => $body,
            Buffer::Int16($vec) => $body,
            Buffer::Int32($vec) => $body,
            Buffer::Int64($vec) => $body,
            Buffer::UInt8($vec) => $body,
            Buffer::UInt16($vec) => $body,
            Buffer::UInt32($vec) => $body,
            Buffer::UInt64($vec) => $body,
            Buffer::Float16($vec) => $body,
            Buffer::Float32($vec) => $body,
            Buffer::Float64($vec) => $body,
            Buffer::String($texts) | Buffer::Bytes($texts) | Buffer::Json($texts) | Buffer::Arrow($texts) => $text_body,
        }
    };
}

impl Leaf {
    /// An empty column.
    ///
    /// # Errors
    /// An Arrow type that has no text form.
    pub fn new(dtype: &DType, rules: Rules) -> Result<Leaf> {
        let values = match dtype {
            DType::Null => Buffer::Null(0),
            DType::Bool => Buffer::Bool(Vec::new()),
            DType::Int8 => Buffer::Int8(Vec::new()),
            DType::Int16 => Buffer::Int16(Vec::new()),
            DType::Int32 => Buffer::Int32(Vec::new()),
            DType::Int64 => Buffer::Int64(Vec::new()),
            DType::UInt8 => Buffer::UInt8(Vec::new()),
            DType::UInt16 => Buffer::UInt16(Vec::new()),
            DType::UInt32 => Buffer::UInt32(Vec::new()),
            DType::UInt64 => Buffer::UInt64(Vec::new()),
            DType::Float16 => Buffer::Float16(Vec::new()),
            DType::Float32 => Buffer::Float32(Vec::new()),
            DType::Float64 => Buffer::Float64(Vec::new()),
            DType::String => Buffer::String(StringRows::default()),
            DType::Bytes => Buffer::Bytes(StringRows::default()),
            DType::Json => Buffer::Json(StringRows::default()),
            DType::Arrow(arrow) if reads_text(arrow) => Buffer::Arrow(StringRows::default()),
            DType::Arrow(_) => return Err(Error::usage(format!("{dtype} cannot be read from JSON"))),
        };
        Ok(Leaf { dtype: dtype.clone(), rules, nulls: Nulls::default(), values })
    }

    /// The dtype of the values.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// Number of rows so far.
    pub fn nrows(&self) -> usize {
        each!(&self.values, count => *count, values => values.len(), texts => texts.nrows())
    }

    /// Whether the type was given with `--schema`.
    pub fn declared(&self) -> bool {
        self.rules.declared
    }

    /// Whether a row may be null.
    pub fn nullable(&self) -> bool {
        self.rules.nullable || self.dtype == DType::Null
    }

    /// Describes a value in messages.
    pub fn expected(&self) -> &'static str {
        expected(&self.dtype)
    }

    /// See [`super::builder::Builder::read`].
    #[inline]
    pub fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let (rules, nulls) = (&self.rules, &mut self.nulls);
        match &mut self.values {
            Buffer::Int64(values) => integer(cursor, rules, nulls, values),
            Buffer::String(texts) => string(cursor, rules, nulls, texts),
            Buffer::Float64(values) => float(cursor, rules, nulls, values),
            Buffer::Float32(values) => float(cursor, rules, nulls, values),
            Buffer::Null(count) => null(cursor, rules, count),
            Buffer::Bool(values) => boolean(cursor, rules, nulls, values),
            Buffer::Int8(values) => integer(cursor, rules, nulls, values),
            Buffer::Int16(values) => integer(cursor, rules, nulls, values),
            Buffer::Int32(values) => integer(cursor, rules, nulls, values),
            Buffer::UInt8(values) => integer(cursor, rules, nulls, values),
            Buffer::UInt16(values) => integer(cursor, rules, nulls, values),
            Buffer::UInt32(values) => integer(cursor, rules, nulls, values),
            Buffer::UInt64(values) => integer(cursor, rules, nulls, values),
            Buffer::Float16(values) => float(cursor, rules, nulls, values),
            Buffer::Bytes(texts) => bytes(cursor, rules, nulls, texts),
            Buffer::Json(texts) => json(cursor, rules, nulls, texts),
            Buffer::Arrow(texts) => arrow_text(cursor, rules, nulls, texts),
        }
    }

    /// See [`super::builder::Builder::read_elements`]. Common dtypes have separate loops.
    pub fn read_elements(&mut self, cursor: &mut Cursor) -> Parse<()> {
        let (rules, nulls) = (&self.rules, &mut self.nulls);
        match &mut self.values {
            Buffer::Int64(values) => elements(cursor, |cursor| integer(cursor, rules, nulls, values)),
            Buffer::Int32(values) => elements(cursor, |cursor| integer(cursor, rules, nulls, values)),
            Buffer::Float64(values) => elements(cursor, |cursor| float(cursor, rules, nulls, values)),
            Buffer::Float32(values) => elements(cursor, |cursor| float(cursor, rules, nulls, values)),
            Buffer::String(texts) => elements(cursor, |cursor| string(cursor, rules, nulls, texts)),
            _ => elements(cursor, |cursor| self.read(cursor)),
        }
    }

    /// See [`super::builder::Builder::push_null`].
    pub fn push_null(&mut self) {
        self.nulls.push(self.nrows());
        self.push_blank();
    }

    /// See [`super::builder::Builder::push_nulls`].
    pub fn push_nulls(&mut self, n: usize) {
        if let Buffer::Json(_) = self.values {
            return (0..n).for_each(|_| self.push_null());
        }
        self.nulls.push_run(self.nrows(), n);
        each!(&mut self.values, count => *count += n, values => values.resize(values.len() + n, Default::default()), texts => texts.push_empty(n));
    }

    /// See [`super::builder::Builder::push_blank`].
    pub fn push_blank(&mut self) {
        match &mut self.values {
            // Must be valid JSON or a valid value of the Arrow type even under a null; null is both.
            Buffer::Json(texts) => texts.push(b"null"),
            Buffer::Arrow(texts) => {
                self.nulls.push(texts.nrows());
                texts.end();
            }
            values => each!(values, count => *count += 1, values => values.push(Default::default()), texts => texts.end()),
        }
    }

    /// See [`super::builder::Builder::truncate`].
    pub fn truncate(&mut self, nrows: usize) {
        self.nulls.truncate(nrows);
        each!(&mut self.values, count => *count = nrows.min(*count), values => values.truncate(nrows), texts => texts.truncate(nrows));
    }

    /// See [`super::builder::Builder::reserve`].
    pub fn reserve(&mut self, nrows: usize) {
        each!(&mut self.values, _count => (), values => values.reserve_exact(nrows), texts => texts.reserve(nrows));
    }

    /// See [`super::builder::Builder::reserve_as_before`].
    pub fn reserve_as_before(&mut self, seen: usize, left: usize) {
        each!(&mut self.values, _count => (), values => values.reserve_exact(as_before(values.len(), seen, left)), texts => texts.reserve_as_before(seen, left));
    }

    /// See [`super::builder::Builder::finish`].
    pub fn finish(self, late: &mut LateErrors) -> Result<Tensor> {
        let nrows = self.nrows();
        let nulls = self.nulls.finish(nrows);
        let array: ArrayRef = match self.values {
            Buffer::Null(count) => Arc::new(NullArray::new(count)),
            Buffer::Bool(values) => Arc::new(BooleanArray::new(values.into(), nulls)),
            Buffer::Int8(values) => primitive::<Int8Type>(values, nulls),
            Buffer::Int16(values) => primitive::<Int16Type>(values, nulls),
            Buffer::Int32(values) => primitive::<Int32Type>(values, nulls),
            Buffer::Int64(values) => primitive::<Int64Type>(values, nulls),
            Buffer::UInt8(values) => primitive::<UInt8Type>(values, nulls),
            Buffer::UInt16(values) => primitive::<UInt16Type>(values, nulls),
            Buffer::UInt32(values) => primitive::<UInt32Type>(values, nulls),
            Buffer::UInt64(values) => primitive::<UInt64Type>(values, nulls),
            Buffer::Float16(values) => primitive::<Float16Type>(values, nulls),
            Buffer::Float32(values) => primitive::<Float32Type>(values, nulls),
            Buffer::Float64(values) => primitive::<Float64Type>(values, nulls),
            Buffer::String(texts) | Buffer::Json(texts) => Arc::new(strings(texts, nulls)?),
            Buffer::Bytes(texts) => {
                let (offsets, bytes) = texts.into_parts();
                Arc::new(LargeBinaryArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), nulls).map_err(internal)?)
            }
            Buffer::Arrow(texts) => {
                let values =
                    from_text(&strings(texts, nulls)?, &self.dtype.arrow(), &mut |row, message| late.push(LateError::new(row, message)))?;
                // A value under an outer null is not itself null.
                match self.rules.nullable {
                    true => values,
                    false => make_array(values.to_data().into_builder().nulls(None).build().map_err(internal)?),
                }
            }
        };
        Ok(Tensor::Leaf(array))
    }
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls))
}

fn strings(texts: StringRows, nulls: Option<NullBuffer>) -> Result<LargeStringArray> {
    let (offsets, bytes) = texts.into_parts();
    LargeStringArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), nulls).map_err(internal)
}

fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::internal(format!("{error}"))
}
