//! The element types of arrays on disk, and conversion of their bytes to Arrow arrays.

use super::numbers::NAT;
use crate::error::{Error, Result};
use crate::schema::iso8601::days_from_date;
use crate::schema::{DType, Dim, Type};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, Int64Array, LargeBinaryArray, LargeStringArray, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use half::bf16;
use std::sync::Arc;

/// The element type of an array on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    pub kind: ElementKind,
    pub big_endian: bool,
}

/// The kinds of elements that can be read. Only numbers and times are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// A bool, integer or float of that dtype; a bool takes one byte.
    Number(DType),
    /// The upper half of a float32.
    BFloat16,
    /// Text with this many UTF-32 characters, padded with zeros.
    Unicode(usize),
    /// This many bytes, padded with zeros.
    ByteString(usize),
    /// Times or durations: int64 counts of a step. The least integer is NaT, which is read as null.
    Time { dtype: DType, step: Step },
    /// A record of NumPy's structured arrays, each of whose fields is read as an array.
    Record(Record),
}

/// What a time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This many units of the dtype.
    Units(i64),
    /// This many months since January 1970, of which the first day is read.
    Months(i64),
}

/// The layout of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub nbytes: usize,
    pub fields: Vec<RecordField>,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordField {
    /// The name; that of a field of an inner record follows the name of the record and a dot.
    pub name: String,
    /// Where it starts in the record.
    pub start: usize,
    /// The dtype as NumPy writes it, and the element; `None` if its values cannot be read.
    pub descr: String,
    pub element: Option<Element>,
    /// Its axes in the record.
    pub shape: Vec<u64>,
}

impl Element {
    /// A little-endian number.
    pub fn number(dtype: DType) -> Element {
        Element { kind: ElementKind::Number(dtype), big_endian: false }
    }

    /// The dtype when read.
    pub fn dtype(&self) -> DType {
        match &self.kind {
            ElementKind::Number(dtype) => dtype.clone(),
            ElementKind::BFloat16 => DType::Float32,
            ElementKind::Unicode(_) => DType::String,
            ElementKind::ByteString(_) => DType::Bytes,
            ElementKind::Time { dtype, .. } => dtype.clone(),
            ElementKind::Record(_) => DType::Null,
        }
    }

    /// The type of an array of it with these axes.
    pub fn ty(&self, dims: Vec<Dim>) -> Type {
        let is_time = matches!(self.kind, ElementKind::Time { .. });
        let (optional, with_nulls) = (is_time && dims.is_empty(), is_time && !dims.is_empty());
        Type { optional, with_nulls, ..Type::tensor(self.dtype(), dims) }
    }

    /// The size of one value in bytes.
    pub fn nbytes(&self) -> usize {
        match &self.kind {
            ElementKind::Number(dtype) => number_nbytes(dtype),
            ElementKind::BFloat16 => 2,
            ElementKind::Unicode(width) => width.saturating_mul(4),
            ElementKind::ByteString(width) => *width,
            ElementKind::Time { .. } => size_of::<i64>(),
            ElementKind::Record(record) => record.nbytes,
        }
    }

    /// Decodes `count` values from their bytes. Numbers in native byte order are not copied.
    ///
    /// # Errors
    /// There are fewer bytes, or text is not valid Unicode; the error names the value.
    pub fn decode(&self, bytes: MutableBuffer, count: usize) -> Result<ArrayRef> {
        if Some(bytes.len()) != count.checked_mul(self.nbytes()) {
            return Err(Error::internal(format!("{} bytes for {count} values", bytes.len())));
        }
        let dtype = match &self.kind {
            ElementKind::Number(dtype) => dtype,
            ElementKind::BFloat16 => {
                let values = bytes.as_slice().chunks_exact(2).map(|b| {
                    let bits = if self.big_endian { u16::from_be_bytes([b[0], b[1]]) } else { u16::from_le_bytes([b[0], b[1]]) };
                    bf16::from_bits(bits).to_f32()
                });
                return Ok(Arc::new(PrimitiveArray::<Float32Type>::from_iter_values(values)));
            }
            ElementKind::Unicode(width) => return self.unicode(bytes.as_slice(), count, *width),
            ElementKind::ByteString(width) => {
                let values = (0..count).map(|i| trimmed(&bytes.as_slice()[i * width..(i + 1) * width]));
                return Ok(Arc::new(LargeBinaryArray::from_iter_values(values)));
            }
            ElementKind::Time { dtype, step } => return self.times(bytes, dtype, *step),
            ElementKind::Record(_) => return Err(Error::internal("the fields of a record are read one by one")),
        };
        Ok(match dtype {
            DType::Bool => Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(count, |i| bytes.as_slice()[i] != 0), None)),
            DType::Int8 => self.primitive::<Int8Type>(bytes),
            DType::Int16 => self.primitive::<Int16Type>(bytes),
            DType::Int32 => self.primitive::<Int32Type>(bytes),
            DType::Int64 => self.primitive::<Int64Type>(bytes),
            DType::UInt8 => self.primitive::<UInt8Type>(bytes),
            DType::UInt16 => self.primitive::<UInt16Type>(bytes),
            DType::UInt32 => self.primitive::<UInt32Type>(bytes),
            DType::UInt64 => self.primitive::<UInt64Type>(bytes),
            DType::Float16 => self.primitive::<Float16Type>(bytes),
            DType::Float32 => self.primitive::<Float32Type>(bytes),
            DType::Float64 => self.primitive::<Float64Type>(bytes),
            other => return Err(Error::internal(format!("an array of {other}"))),
        })
    }

    fn primitive<T: ArrowPrimitiveType>(&self, mut bytes: MutableBuffer) -> ArrayRef {
        if self.big_endian != cfg!(target_endian = "big") {
            bytes.as_slice_mut().chunks_exact_mut(size_of::<T::Native>()).for_each(<[u8]>::reverse);
        }
        Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(Buffer::from(bytes)), None))
    }

    fn times(&self, bytes: MutableBuffer, dtype: &DType, step: Step) -> Result<ArrayRef> {
        let ty = dtype.arrow();
        let failed = |e: arrow_schema::ArrowError| Error::internal(e.to_string());
        let is_date = ty == DataType::Date32;
        let of_unit = |(row, count): (usize, &i64)| match *count {
            NAT => Ok(None),
            count => match step.units(count).filter(|units| !is_date || i32::try_from(*units).is_ok()) {
                Some(units) => Ok(Some(units)),
                None => Err(Error::data(format!("{count} is out of range for {dtype}")).at_row(row)),
            },
        };
        let counts = self.primitive::<Int64Type>(bytes);
        let counts = counts.as_primitive::<Int64Type>().values().iter().enumerate().map(of_unit).collect::<Result<Int64Array>>()?;
        // Arrow casts days from 32 bits only.
        let counts = if is_date { arrow_cast::cast(&counts, &DataType::Int32).map_err(failed)? } else { Arc::new(counts) as ArrayRef };
        arrow_cast::cast(&counts, &ty).map_err(failed)
    }

    fn unicode(&self, bytes: &[u8], count: usize, width: usize) -> Result<ArrayRef> {
        let (mut text, mut offsets) = (String::new(), Vec::with_capacity(count + 1));
        offsets.push(0i64);
        for i in 0..count {
            let own = &bytes[4 * i * width..4 * (i + 1) * width];
            let end = own.chunks_exact(4).rposition(|c| c != [0; 4]).map_or(0, |last| last + 1);
            for c in own.chunks_exact(4).take(end) {
                let c = [c[0], c[1], c[2], c[3]];
                let code = if self.big_endian { u32::from_be_bytes(c) } else { u32::from_le_bytes(c) };
                let c = char::from_u32(code)
                    .ok_or_else(|| Error::data(format!("a string contains {code:#x}, which is not a character")).at_row(i))?;
                text.push(c);
            }
            offsets.push(text.len() as i64);
        }
        let offsets = OffsetBuffer::new(offsets.into());
        let array = LargeStringArray::try_new(offsets, Buffer::from_vec(text.into_bytes()), None);
        Ok(Arc::new(array.map_err(|e| Error::data(e.to_string()))?))
    }
}

impl Step {
    /// The units of the dtype in that many steps.
    fn units(self, count: i64) -> Option<i64> {
        match self {
            Step::Units(each) => count.checked_mul(each),
            Step::Months(each) => {
                let months = count.checked_mul(each)?;
                let month = months.rem_euclid(12) as u32 + 1;
                i64::try_from(days_from_date(i128::from(months.div_euclid(12)) + 1970, month, 1)).ok()
            }
        }
    }
}

/// The size of a number of that dtype in bytes.
fn number_nbytes(dtype: &DType) -> usize {
    match dtype {
        DType::Bool => 1,
        other => other.arrow().primitive_width().unwrap_or(1),
    }
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1)]
}

/// Integers of any width, as row splits or indices.
///
/// # Errors
/// A number that exceeds 63 bits.
pub fn integers(element: &Element, bytes: MutableBuffer, count: usize) -> Result<ScalarBuffer<i64>> {
    let array = element.decode(bytes, count)?;
    let too_large = || Error::data("a row split or index does not fit in 63 bits");
    Ok(match element.dtype() {
        DType::Int64 => array.as_primitive::<Int64Type>().values().clone(),
        DType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>().values().iter();
            values.map(|v| i64::try_from(*v).map_err(|_| too_large())).collect::<Result<Vec<i64>>>()?.into()
        }
        _ => {
            let wide = arrow_cast::cast(&array, &DataType::Int64).map_err(|e| Error::data(e.to_string()))?;
            wide.as_primitive::<Int64Type>().values().clone()
        }
    })
}
