//! The flat values of one column, appended list by list.

use super::features::Span;
use super::mapping::DefaultValues;
use super::wire::{self, Cursor, DecodeError, FeatureKind, Parse, fail};
use crate::error::{Error, Result, mismatch};
use crate::schema::DType;
use crate::tensor::Tensor;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Float16Array, Float32Array, Float64Array, Int64Array, LargeBinaryArray, LargeStringArray,
    NullArray, PrimitiveArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use half::f16;
use std::sync::Arc;

/// The growing values of a column.
pub trait Append {
    /// How the values are stored.
    type Store: Store;
    /// The builder of the values.
    fn store(&mut self) -> &mut Self::Store;
    /// Reserves about as much memory as the features in `spans` of `bytes` need. Growing by doubling would copy all
    /// values and use up to twice the memory.
    fn reserve(&mut self, bytes: &[u8], spans: &[Span]);
    /// Appends the values of a list.
    fn append(&mut self, kind: FeatureKind, list: Cursor) -> Parse<()>;
    /// Appends the values of a default.
    fn default(&mut self, values: &DefaultValues);
    /// Takes the shapes of the tensors that the next list holds as bytes; other values have none.
    fn sizes(&mut self, list: Cursor) -> Parse<()> {
        let _ = list;
        Ok(())
    }
    /// The tensor of all values, with one row for each.
    fn finish(self, nulls: Option<NullBuffer>) -> Result<Tensor>;
}

/// Flat values of one type.
pub trait Store {
    /// Number of values so far.
    fn len(&self) -> usize;
    /// Truncates to `len` values.
    fn truncate(&mut self, len: usize);
    /// Appends `n` placeholder values.
    fn fill(&mut self, n: usize);
}

impl<T: Clone + Default> Store for Vec<T> {
    fn len(&self) -> usize {
        self.len()
    }
    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }
    fn fill(&mut self, n: usize) {
        self.resize(self.len() + n, T::default());
    }
}

/// The number of bytes in the spans for which `counted` is true.
fn count(bytes: &[u8], spans: &[Span], counted: fn(&u8) -> bool) -> usize {
    spans.iter().filter_map(|s| bytes.get(s.clone())).map(|s| s.iter().filter(|b| counted(b)).count()).sum()
}

fn nbytes(spans: &[Span]) -> usize {
    spans.iter().map(ExactSizeIterator::len).sum()
}

fn wrong_kind<T>(expected: &str, found: FeatureKind, list: Cursor, widens: bool) -> Parse<T> {
    Err(DecodeError { at: list.at(), what: mismatch(expected, found.described()), widens })
}

/// int64, the smaller integers and bool.
pub struct Ints {
    values: Vec<i64>,
    dtype: DType,
    range: Option<(i64, i64)>,
    inferred: bool,
}

impl Ints {
    /// uint64, stored as int64s with the same bits.
    pub fn bits() -> Ints {
        Ints { values: Vec::new(), dtype: DType::UInt64, range: None, inferred: false }
    }

    /// An empty column. `inferred`: a wider type would hold what does not fit.
    pub fn new(dtype: &DType, inferred: bool) -> Ints {
        let range = match dtype {
            DType::Bool => Some((0, 1)),
            DType::Int8 => Some((i64::from(i8::MIN), i64::from(i8::MAX))),
            DType::Int16 => Some((i64::from(i16::MIN), i64::from(i16::MAX))),
            DType::Int32 => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
            DType::UInt8 => Some((0, i64::from(u8::MAX))),
            DType::UInt16 => Some((0, i64::from(u16::MAX))),
            DType::UInt32 => Some((0, i64::from(u32::MAX))),
            DType::UInt64 => Some((0, i64::MAX)),
            _ => None,
        };
        Ints { values: Vec::new(), dtype: dtype.clone(), range, inferred }
    }
}

/// The array of integers known to be in the range of `T`.
fn narrow<T: ArrowPrimitiveType>(values: &[i64], convert: fn(i64) -> T::Native, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let values: ScalarBuffer<T::Native> = values.iter().map(|v| convert(*v)).collect();
    Ok(Arc::new(PrimitiveArray::<T>::try_new(values, nulls).map_err(internal)?))
}

pub fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::internal(format!("{error}"))
}

impl Append for Ints {
    type Store = Vec<i64>;

    fn store(&mut self) -> &mut Vec<i64> {
        &mut self.values
    }
    fn reserve(&mut self, bytes: &[u8], spans: &[Span]) {
        // The last byte of a varint is below 0x80, and so are a few bytes before the values.
        self.values.reserve(count(bytes, spans, |b| *b < 0x80));
    }
    fn append(&mut self, kind: FeatureKind, list: Cursor) -> Parse<()> {
        if kind != FeatureKind::Int64 {
            return wrong_kind("an int64_list", kind, list, self.inferred && kind == FeatureKind::Float);
        }
        let (start, at) = (self.values.len(), list.at());
        wire::int64s(list, &mut self.values)?;
        if let Some((low, high)) = self.range
            && let Some(value) = self.values[start..].iter().find(|v| **v < low || **v > high)
        {
            return fail(at, format!("{value} is outside the range of {}", self.dtype));
        }
        Ok(())
    }
    fn default(&mut self, values: &DefaultValues) {
        if let DefaultValues::Int64(values) = values {
            self.values.extend_from_slice(values);
        }
    }
    fn finish(self, nulls: Option<NullBuffer>) -> Result<Tensor> {
        let v = &self.values;
        let array: ArrayRef = match self.dtype {
            DType::Bool => Arc::new(BooleanArray::new(v.iter().map(|v| *v != 0).collect(), nulls)),
            DType::Int8 => narrow::<Int8Type>(v, |v| v as i8, nulls)?,
            DType::Int16 => narrow::<Int16Type>(v, |v| v as i16, nulls)?,
            DType::Int32 => narrow::<Int32Type>(v, |v| v as i32, nulls)?,
            DType::UInt8 => narrow::<UInt8Type>(v, |v| v as u8, nulls)?,
            DType::UInt16 => narrow::<UInt16Type>(v, |v| v as u16, nulls)?,
            DType::UInt32 => narrow::<UInt32Type>(v, |v| v as u32, nulls)?,
            DType::UInt64 => narrow::<UInt64Type>(v, |v| v as u64, nulls)?,
            _ => Arc::new(Int64Array::try_new(self.values.into(), nulls).map_err(internal)?),
        };
        Ok(Tensor::Leaf(array))
    }
}

/// float32 and float16.
pub struct Floats {
    values: Vec<f32>,
    half: bool,
    inferred: bool,
}

impl Floats {
    /// An empty column. `inferred`: a wider type would hold what does not fit.
    pub fn new(dtype: &DType, inferred: bool) -> Floats {
        Floats { values: Vec::new(), half: *dtype == DType::Float16, inferred }
    }
}

impl Append for Floats {
    type Store = Vec<f32>;

    fn store(&mut self) -> &mut Vec<f32> {
        &mut self.values
    }
    fn reserve(&mut self, _: &[u8], spans: &[Span]) {
        self.values.reserve(nbytes(spans) / 4);
    }
    fn append(&mut self, kind: FeatureKind, list: Cursor) -> Parse<()> {
        if kind != FeatureKind::Float {
            return wrong_kind("a float_list", kind, list, self.inferred && kind == FeatureKind::Int64);
        }
        let (start, at) = (self.values.len(), list.at());
        wire::floats(list, &mut self.values)?;
        if self.half
            && let Some(value) = self.values[start..].iter().find(|v| !v.is_nan() && f16::from_f32(**v).to_f32() != **v)
        {
            return fail(at, format!("float16 cannot represent {value} exactly"));
        }
        Ok(())
    }
    fn default(&mut self, values: &DefaultValues) {
        if let DefaultValues::Float(values) = values {
            self.values.extend_from_slice(values);
        }
    }
    fn finish(self, nulls: Option<NullBuffer>) -> Result<Tensor> {
        if self.half {
            let values: ScalarBuffer<f16> = self.values.iter().map(|v| f16::from_f32(*v)).collect();
            return Ok(Tensor::Leaf(Arc::new(Float16Array::try_new(values, nulls).map_err(internal)?)));
        }
        Ok(Tensor::Leaf(Arc::new(Float32Array::try_new(self.values.into(), nulls).map_err(internal)?)))
    }
}

/// float64: from float_lists and, if no type was declared, from int64_lists in other records.
pub struct Doubles {
    values: Vec<f64>,
    floats: Vec<f32>,
    ints: Vec<i64>,
    inferred: bool,
}

impl Doubles {
    /// An empty column. `inferred`: a wider type would hold what does not fit.
    pub fn new(inferred: bool) -> Doubles {
        Doubles { values: Vec::new(), floats: Vec::new(), ints: Vec::new(), inferred }
    }
}

/// Whether float64 represents the integer exactly.
pub fn float64_holds(value: i64) -> bool {
    (value as f64) as i128 == i128::from(value)
}

impl Append for Doubles {
    type Store = Vec<f64>;

    fn store(&mut self) -> &mut Vec<f64> {
        &mut self.values
    }
    fn reserve(&mut self, _: &[u8], spans: &[Span]) {
        self.values.reserve(nbytes(spans) / 4);
    }
    fn append(&mut self, kind: FeatureKind, list: Cursor) -> Parse<()> {
        match kind {
            FeatureKind::Float => {
                self.floats.clear();
                wire::floats(list, &mut self.floats)?;
                self.values.extend(self.floats.iter().map(|v| f64::from(*v)));
            }
            FeatureKind::Int64 if self.inferred => {
                self.ints.clear();
                wire::int64s(list, &mut self.ints)?;
                if let Some(value) = self.ints.iter().find(|v| !float64_holds(**v)) {
                    return fail(
                        list.at(),
                        format!("float64 cannot represent {value} exactly, and the feature has floats in other records"),
                    );
                }
                self.values.extend(self.ints.iter().map(|v| *v as f64));
            }
            found => return wrong_kind("a float_list", found, list, false),
        }
        Ok(())
    }
    fn default(&mut self, values: &DefaultValues) {
        if let DefaultValues::Float(values) = values {
            self.values.extend(values.iter().map(|v| f64::from(*v)));
        }
    }
    fn finish(self, nulls: Option<NullBuffer>) -> Result<Tensor> {
        Ok(Tensor::Leaf(Arc::new(Float64Array::try_new(self.values.into(), nulls).map_err(internal)?)))
    }
}

/// bytes, string and json.
pub struct Bytes {
    strings: ByteValues,
    dtype: DType,
    inferred: bool,
}

/// The concatenated bytes of all values, and their offsets.
pub struct ByteValues {
    offsets: Vec<i64>,
    data: Vec<u8>,
}

impl ByteValues {
    pub fn push(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.offsets.push(self.data.len() as i64);
    }
}

impl Store for ByteValues {
    fn len(&self) -> usize {
        self.offsets.len() - 1
    }
    fn truncate(&mut self, len: usize) {
        self.offsets.truncate(len + 1);
        self.data.truncate(self.offsets.last().map_or(0, |end| *end as usize));
    }
    fn fill(&mut self, n: usize) {
        self.offsets.resize(self.offsets.len() + n, self.data.len() as i64);
    }
}

impl Bytes {
    /// An empty column. `inferred`: a wider type would hold what does not fit.
    pub fn new(dtype: &DType, inferred: bool) -> Bytes {
        Bytes { strings: ByteValues { offsets: vec![0], data: Vec::new() }, dtype: dtype.clone(), inferred }
    }

    fn check(&self, first: usize, at: usize) -> Parse<()> {
        let ByteValues { offsets, data } = &self.strings;
        let start = offsets[first];
        let whole = &data[start as usize..];
        let cuts = &offsets[first..];
        let text = simdutf8::basic::from_utf8(whole).ok().filter(|t| cuts.iter().all(|c| t.is_char_boundary((c - start) as usize)));
        if text.is_none() {
            let what = match self.inferred {
                true => mismatch("strings", "bytes that are not UTF-8"),
                false => mismatch(format_args!("{} values", self.dtype), "bytes that are not UTF-8")
                    .followed_by("; to read them, declare the dtype bytes with --schema"),
            };
            return Err(DecodeError { at, what, widens: self.inferred });
        }
        if self.dtype == DType::Json {
            for pair in cuts.windows(2) {
                let value = &whole[(pair[0] - start) as usize..(pair[1] - start) as usize];
                if let Err(error) = serde_json::from_slice::<serde_json::Value>(value) {
                    return fail(at, format!("expected JSON: {error}"));
                }
            }
        }
        Ok(())
    }
}

impl Append for Bytes {
    type Store = ByteValues;

    fn store(&mut self) -> &mut ByteValues {
        &mut self.strings
    }
    fn reserve(&mut self, bytes: &[u8], spans: &[Span]) {
        const TAG: u8 = 0x0a;
        let items = count(bytes, spans, |b| *b == TAG);
        self.strings.offsets.reserve(items);
        self.strings.data.reserve(nbytes(spans).saturating_sub(2 * items));
    }
    fn append(&mut self, kind: FeatureKind, list: Cursor) -> Parse<()> {
        if kind != FeatureKind::Bytes {
            return wrong_kind("a bytes_list", kind, list, false);
        }
        let first = self.strings.len();
        wire::each_bytes(list, &mut |value| self.strings.push(value))?;
        if self.dtype == DType::Bytes { Ok(()) } else { self.check(first, list.at()) }
    }
    fn default(&mut self, values: &DefaultValues) {
        if let DefaultValues::Bytes(values) = values {
            values.iter().for_each(|value| self.strings.push(value));
        }
    }
    fn finish(self, nulls: Option<NullBuffer>) -> Result<Tensor> {
        let ByteValues { offsets, data } = self.strings;
        let offsets = OffsetBuffer::new(offsets.into());
        Ok(Tensor::Leaf(match self.dtype {
            DType::Bytes => Arc::new(LargeBinaryArray::try_new(offsets, data.into(), nulls).map_err(internal)?),
            _ => Arc::new(LargeStringArray::try_new(offsets, data.into(), nulls).map_err(internal)?),
        }))
    }
}

/// No values: any value found widens the type.
pub struct Nothing {
    values: Vec<()>,
    inferred: bool,
}

impl Nothing {
    /// An empty column. `inferred`: a wider type would hold what does not fit.
    pub fn new(inferred: bool) -> Nothing {
        Nothing { values: Vec::new(), inferred }
    }
}

impl Append for Nothing {
    type Store = Vec<()>;

    fn store(&mut self) -> &mut Vec<()> {
        &mut self.values
    }
    fn reserve(&mut self, _: &[u8], _: &[Span]) {}
    fn append(&mut self, kind: FeatureKind, list: Cursor) -> Parse<()> {
        wrong_kind("no values, as in earlier records", kind, list, self.inferred)
    }
    fn default(&mut self, _: &DefaultValues) {}
    fn finish(self, _: Option<NullBuffer>) -> Result<Tensor> {
        Ok(Tensor::Leaf(Arc::new(NullArray::new(self.values.len()))))
    }
}
