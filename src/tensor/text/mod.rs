//! The text form of Arrow types that are not tensor types, such as times and decimals: one for each type, lossless in both
//! directions. Text formats read and write it.

mod decimals;
mod intervals;

use crate::error::{Error, Message, Result, mismatch};
use crate::schema::DType;
use crate::schema::iso8601::{
    NANOS, fixed_offset, parse_count, parse_datetime, parse_duration, parse_time, write_date, write_datetime, write_duration, write_time,
};
use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int64Type, IntervalMonthDayNanoType};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, LargeStringArray, PrimitiveArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use decimals::{decimal_places, plain_decimals};
use std::sync::Arc;

/// Whether values of the type have a text form.
pub fn has_text(ty: &DataType) -> bool {
    let is_plain = !matches!(ty, DataType::Union(..)) && arrow_cast::can_cast_types(ty, &DataType::LargeUtf8);
    is_plain || is_time(ty) || matches!(ty, DataType::FixedSizeBinary(_))
}

/// The texts of UUIDs, of 16 bytes: `0f8fad5b-d9cb-469f-a165-70867728950e`. Source: RFC 9562. O(values).
///
/// # Errors
/// Values of another type.
pub fn uuids(array: &ArrayRef) -> Result<LargeStringArray> {
    let bytes = array.as_fixed_size_binary_opt().ok_or_else(|| Error::internal("UUIDs are bytes"))?;
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    Ok(texts(bytes.iter(), |value, out| {
        for (i, byte) in value.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                out.push('-');
            }
            out.extend([digit(byte >> 4), digit(byte & 15)]);
        }
    }))
}

/// The texts that `write` appends to a buffer.
fn texts<V>(values: impl ExactSizeIterator<Item = Option<V>>, write: impl Fn(V, &mut String)) -> LargeStringArray {
    let mut texts = LargeStringBuilder::with_capacity(values.len(), 32 * values.len());
    let mut text = String::new();
    for value in values {
        text.clear();
        texts.append_option(value.map(|value| {
            write(value, &mut text);
            text.as_str()
        }));
    }
    texts.finish()
}

/// Parses a UUID into its bytes.
fn uuid(text: &str) -> Option<Vec<u8>> {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = parts.concat();
    if !parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..16).map(|i| u8::from_str_radix(digits.get(2 * i..2 * i + 2)?, 16).ok()).collect()
}

/// Whether the text form can be parsed back.
pub fn reads_text(ty: &DataType) -> bool {
    is_time(ty) || matches!(ty, DataType::FixedSizeBinary(_)) || arrow_cast::can_cast_types(&DataType::LargeUtf8, ty)
}

/// Whether values of the type are dates, times or durations, stored as integers.
pub fn is_time(ty: &DataType) -> bool {
    unit_of(ty).is_some()
}

/// The text of the date, time or duration that is stored as an integer; the integer for other types.
pub fn time_text(ty: &DataType, stored: i128) -> String {
    let integers: ArrayRef = match ty.primitive_width() {
        Some(4) => Arc::new(Int32Array::from(vec![stored as i32])),
        _ => Arc::new(Int64Array::from(vec![stored as i64])),
    };
    let times = integers.to_data().into_builder().data_type(ty.clone()).build().map(make_array);
    let text = times.ok().filter(|_| is_time(ty)).and_then(|times| to_text(&times).ok());
    text.map_or_else(|| stored.to_string(), |text| text.value(0).to_owned())
}

/// The unit of the integers of a type in nanoseconds; `None` for types other than dates, times and durations.
fn unit_of(ty: &DataType) -> Option<i128> {
    Some(match ty {
        DataType::Date32 => 86_400 * NANOS,
        DataType::Date64 => 1_000_000,
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) | DataType::Duration(unit) => match unit {
            TimeUnit::Second => NANOS,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1_000,
            TimeUnit::Nanosecond => 1,
        },
        _ => return None,
    })
}

/// The name of a unit, as in `15 us`.
fn unit_name(unit: i128) -> &'static str {
    match unit {
        1 => "ns",
        1_000 => "us",
        1_000_000 => "ms",
        NANOS => "s",
        _ => "d",
    }
}

/// The integers of an array of times.
fn integers(array: &ArrayRef) -> Result<PrimitiveArray<Int64Type>> {
    let narrow = matches!(array.data_type(), DataType::Date32 | DataType::Time32(_));
    let storage = if narrow { DataType::Int32 } else { DataType::Int64 };
    let builder = array.to_data().into_builder().data_type(storage);
    let plain = make_array(builder.build().map_err(internal)?);
    Ok(if narrow { plain.as_primitive::<Int32Type>().unary(i64::from) } else { plain.as_primitive::<Int64Type>().clone() })
}

fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::internal(format!("{error}"))
}

/// The texts of the values; nulls are kept. A time without a usual ISO 8601 form is written as an integer with its unit,
/// `15 us`. O(values).
///
/// # Errors
/// A value has no text form.
pub fn to_text(array: &ArrayRef) -> Result<LargeStringArray> {
    let ty = array.data_type();
    if let Some(unit) = unit_of(ty) {
        return Ok(of_times(&integers(array)?, ty, unit));
    }
    if let Some(bytes) = array.as_fixed_size_binary_opt() {
        return Ok(texts(bytes.iter(), |value, out| STANDARD.encode_string(value, out)));
    }
    let texts = arrow_cast::cast(array, &DataType::LargeUtf8).map_err(|e| Error::data(e.to_string()))?;
    Ok(texts.as_string::<i64>().clone())
}

/// The texts that `write` appends, or the integer with its unit where it appends nothing.
fn texts_or_counts(values: &PrimitiveArray<Int64Type>, unit: i128, write: impl Fn(i64, &mut String) -> Option<()>) -> LargeStringArray {
    texts(values.iter(), |value, out| {
        if write(value, out).is_none() {
            out.extend([value.to_string().as_str(), " ", unit_name(unit)]);
        }
    })
}

/// The texts of the integers of times of that type and unit.
fn of_times(values: &PrimitiveArray<Int64Type>, ty: &DataType, unit: i128) -> LargeStringArray {
    let per_second = (NANOS / unit).max(1) as i64;
    let nanos = NANOS as u64 / per_second.unsigned_abs();
    let split = |value: i64| (value.div_euclid(per_second), value.rem_euclid(per_second).unsigned_abs() * nanos);
    match ty {
        DataType::Date32 => texts_or_counts(values, unit, write_date),
        DataType::Date64 => texts_or_counts(values, unit, |value, out| match (value.rem_euclid(86_400_000), split(value)) {
            (0, _) => write_date(value / 86_400_000, out),
            (_, (seconds, nanos)) => write_datetime(seconds, nanos, out),
        }),
        DataType::Time32(_) | DataType::Time64(_) => texts_or_counts(values, unit, |value, out| {
            let (seconds, nanos) = split(value);
            write_time(seconds, nanos, out)
        }),
        DataType::Duration(_) => texts_or_counts(values, unit, |value, out| {
            let (size, per_second) = (value.unsigned_abs(), per_second.unsigned_abs());
            write_duration(value < 0, size / per_second, size % per_second * nanos, out);
            Some(())
        }),
        _ => {
            let end = if matches!(ty, DataType::Timestamp(_, Some(_))) { "Z" } else { "" };
            texts_or_counts(values, unit, |value, out| {
                let (seconds, nanos) = split(value);
                write_datetime(seconds, nanos, out).map(|()| out.push_str(end))
            })
        }
    }
}

/// A function that takes the row and the message of each text that was not parsed.
pub type Refuse<'a> = &'a mut dyn FnMut(usize, Message);

/// Parses texts. Those that do not belong to the type, or that it cannot represent exactly, become a placeholder and are
/// reported to `refuse`.
///
/// # Errors
/// Never caused by data.
pub fn from_text(texts: &LargeStringArray, ty: &DataType, refuse: Refuse) -> Result<ArrayRef> {
    match (ty, unit_of(ty)) {
        (DataType::FixedSizeBinary(width), _) => fixed_size(texts, *width, ty, refuse),
        (DataType::Date32 | DataType::Time32(_), Some(unit)) => times::<Int32Type>(texts, ty, unit, refuse),
        (_, Some(unit)) => times::<Int64Type>(texts, ty, unit, refuse),
        (DataType::Dictionary(_, values), _) => encoded(&from_text(texts, values, refuse)?, texts.nulls(), ty),
        (DataType::RunEndEncoded(_, values), _) => encoded(&from_text(texts, values.data_type(), refuse)?, texts.nulls(), ty),
        (DataType::Interval(unit), _) => intervals(texts, *unit, refuse),
        _ => cast(texts, ty, refuse),
    }
}

/// The values as a dictionary or in runs. What was refused has a placeholder, not a null.
fn encoded(values: &ArrayRef, nulls: Option<&NullBuffer>, ty: &DataType) -> Result<ArrayRef> {
    let values = make_array(values.to_data().into_builder().nulls(nulls.cloned()).build().map_err(internal)?);
    arrow_cast::cast(&values, ty).map_err(|e| Error::data(format!("the values cannot be encoded as {}: {e}", name(ty))))
}

fn intervals(texts: &LargeStringArray, unit: IntervalUnit, refuse: Refuse) -> Result<ArrayRef> {
    let mut refused = vec![false; texts.len()];
    let found = cast(texts, &DataType::Interval(IntervalUnit::MonthDayNano), &mut |row, message| {
        refused[row] = true;
        refuse(row, message);
    })?;
    let finest = found.as_primitive::<IntervalMonthDayNanoType>();
    let ty = DataType::Interval(unit);
    for row in (0..texts.len()).filter(|row| texts.is_valid(*row) && !refused[*row]) {
        if !intervals::is_exact(texts.value(row), finest.value(row), unit) {
            refuse(row, Reading::Inexact.message(texts.value(row), &ty));
        }
    }
    match unit {
        IntervalUnit::MonthDayNano => Ok(found),
        _ => cast(texts, &ty, &mut |_, _| {}),
    }
}

/// How a text relates to a type.
enum Reading {
    Value(i128),
    Other,
    /// The type is coarser than the text.
    Inexact,
    /// A number that is too great for the type.
    Outside,
    /// A local time in a zone whose offset is not available.
    Local,
    /// A time with an offset, for a type without a zone.
    Zoned,
}

fn times<T: ArrowPrimitiveType>(texts: &LargeStringArray, ty: &DataType, unit: i128, refuse: Refuse) -> Result<ArrayRef>
where
    T::Native: TryFrom<i128> + Default,
{
    let mut values = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        let value = match texts.is_valid(row).then(|| read_time(texts.value(row), ty, unit)) {
            None => T::Native::default(),
            Some(Reading::Value(value)) => match T::Native::try_from(value) {
                Ok(value) => value,
                Err(_) => {
                    refuse(row, format!("the time {} is outside the range of {}", shown(texts.value(row)), name(ty)).into());
                    T::Native::default()
                }
            },
            Some(misfit) => {
                refuse(row, misfit.message(texts.value(row), ty));
                T::Native::default()
            }
        };
        values.push(value);
    }
    let array = PrimitiveArray::<T>::new(values.into(), texts.nulls().cloned());
    Ok(make_array(array.into_data().into_builder().data_type(ty.clone()).build().map_err(internal)?))
}

impl Reading {
    #[cold]
    fn message(&self, text: &str, ty: &DataType) -> Message {
        let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && text.parse::<f64>().is_ok();
        let count = unit_of(ty).filter(|_| text.parse::<i64>().is_ok()).map(|unit| format!("{text} {}", unit_name(unit)));
        let form = form(ty);
        let finer = match ty {
            DataType::Timestamp(_, zone) => Some(DataType::Timestamp(TimeUnit::Nanosecond, zone.clone())),
            DataType::Time32(_) | DataType::Time64(_) => Some(DataType::Time64(TimeUnit::Nanosecond)),
            DataType::Duration(_) => Some(DataType::Duration(TimeUnit::Nanosecond)),
            _ => None,
        };
        let fits = |finer: &DataType| matches!(read_time(text, finer, 1), Reading::Value(nanos) if i64::try_from(nanos).is_ok());
        let finer = finer.filter(|finer| finer != ty && fits(finer)).map_or_else(String::new, |finer| format!("; {} can", name(&finer)));
        let (text, ty) = (if is_number { text.to_owned() } else { shown(text) }, name(ty));
        match self {
            Reading::Inexact => format!("{ty} cannot represent {text} exactly{finer}").into(),
            Reading::Outside => format!("{text} is outside the range of {ty}").into(),
            Reading::Zoned => format!("{ty} has no time zone, but {text} has a UTC offset; use timestamp[us, UTC]").into(),
            Reading::Local => mismatch(format_args!("a time with its UTC offset for {ty}, such as 2024-01-31T12:30:00Z"), text),
            _ => match count {
                Some(count) => mismatch(format_args!("{form} for {ty}, or a count with its unit, \"{count}\""), text),
                // A number may have been a string or not.
                None if is_number => mismatch(format_args!("{form} for {ty}"), text),
                None => mismatch(format_args!("{form} for {ty}"), format_args!("the string {text}")),
            },
        }
    }
}

fn read_time(text: &str, ty: &DataType, unit: i128) -> Reading {
    let text = text.trim();
    let nanos = if let Some((count, counted)) = parse_count(text) {
        Some(count * counted)
    } else {
        match ty {
            DataType::Time32(_) | DataType::Time64(_) => parse_time(text),
            DataType::Duration(_) => parse_duration(text),
            _ => match parse_datetime(text) {
                None => None,
                Some(written) => match (written.offset, ty) {
                    (Some(_), DataType::Timestamp(_, None)) => return Reading::Zoned,
                    (Some(offset), _) => Some(written.nanos - offset),
                    (None, DataType::Timestamp(_, Some(zone))) => match fixed_offset(zone) {
                        Some(offset) => Some(written.nanos - offset),
                        None => return Reading::Local,
                    },
                    (None, _) => Some(written.nanos),
                },
            },
        }
    };
    match nanos {
        None => Reading::Other,
        Some(nanos) if nanos % unit != 0 => Reading::Inexact,
        Some(nanos) => Reading::Value(nanos / unit),
    }
}

fn fixed_size(texts: &LargeStringArray, width: i32, ty: &DataType, refuse: Refuse) -> Result<ArrayRef> {
    let nbytes = usize::try_from(width).unwrap_or(0);
    let mut values = arrow_array::builder::FixedSizeBinaryBuilder::with_capacity(texts.len(), width);
    for row in 0..texts.len() {
        let decode = |text: &str| uuid(text).or_else(|| STANDARD.decode(text).ok()).filter(|bytes| bytes.len() == nbytes);
        let decoded = texts.is_valid(row).then(|| decode(texts.value(row)));
        match decoded {
            None => values.append_null(),
            Some(Some(bytes)) => values.append_value(bytes).map_err(internal)?,
            Some(None) => {
                let text = shown(texts.value(row));
                refuse(row, mismatch(format_args!("{nbytes} bytes in base64 for {}", name(ty)), format_args!("the string {text}")));
                values.append_value(vec![0; nbytes]).map_err(internal)?;
            }
        }
    }
    Ok(Arc::new(values.finish()))
}

/// Parses a text with Arrow's own parser.
fn cast(texts: &LargeStringArray, ty: &DataType, refuse: Refuse) -> Result<ArrayRef> {
    if let Some(decimals) = plain_decimals(texts, ty) {
        return Ok(decimals);
    }
    let options = arrow_cast::CastOptions { safe: true, ..Default::default() };
    let cast = arrow_cast::cast_with_options(texts, ty, &options).map_err(internal)?;
    for row in (0..texts.len()).filter(|row| texts.is_valid(*row)) {
        let text = texts.value(row);
        let reading = match ty {
            _ if cast.is_null(row) && exceeds(text, ty) => Reading::Outside,
            _ if cast.is_null(row) => Reading::Other,
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale)
                if decimal_places(text) > i64::from(*scale) =>
            {
                Reading::Inexact
            }
            _ => continue,
        };
        refuse(row, reading.message(text, ty));
    }
    Ok(cast)
}

/// Whether the text is an integer outside the range of an integer type, or a number with too many digits before the point
/// for a decimal type.
fn exceeds(text: &str, ty: &DataType) -> bool {
    if ty.is_integer() {
        return text.trim().parse::<i128>().is_ok();
    }
    let (DataType::Decimal32(precision, scale)
    | DataType::Decimal64(precision, scale)
    | DataType::Decimal128(precision, scale)
    | DataType::Decimal256(precision, scale)) = ty
    else {
        return false;
    };
    let limit = 10f64.powi(i32::from(*precision) - i32::from(*scale));
    text.trim().parse().is_ok_and(|number: f64| number.is_finite() && number.abs() >= limit)
}

/// The form of the texts of a type, for messages.
fn form(ty: &DataType) -> &'static str {
    match ty {
        DataType::Date32 | DataType::Date64 => "a date such as 2024-01-31",
        DataType::Time32(_) | DataType::Time64(_) => "a time such as 12:30:00",
        DataType::Timestamp(_, None) => "a time such as 2024-01-31T12:30:00",
        DataType::Timestamp(_, Some(_)) => "a time such as 2024-01-31T12:30:00Z",
        DataType::Duration(_) => "a duration such as PT90S",
        ty if ty.is_integer() => "an integer",
        ty if ty.is_numeric() => "a number",
        _ => "the text of a value",
    }
}

fn name(ty: &DataType) -> String {
    DType::Arrow(Box::new(ty.clone())).to_string()
}

fn shown(text: &str) -> String {
    let shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() { format!("\"{shown}...\"") } else { format!("\"{shown}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, ty: &DataType) -> Result<String, String> {
        let mut refused = None;
        let array = from_text(&LargeStringArray::from(vec![Some(text)]), ty, &mut |_, message| refused = Some(message)).unwrap();
        assert_eq!(array.data_type(), ty);
        match refused {
            Some(message) => Err(message.to_string()),
            None => Ok(to_text(&array).unwrap().value(0).to_owned()),
        }
    }

    #[test]
    fn values_are_read_exactly_or_refused() {
        let us = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
        for (ty, text, expected) in [
            (us(None), "2024-01-31T00:00:00.123456", Ok("2024-01-31T00:00:00.123456")),
            (us(None), "2024-01-31T00:00:00.123456000", Ok("2024-01-31T00:00:00.123456")),
            (us(None), "2024-01-31T00:00:00.123456789", Err("cannot represent")),
            (us(None), "2024-01-31", Ok("2024-01-31T00:00:00")),
            (us(None), "2024-01-31T00:00:00+02:00", Err("has no time zone, but")),
            (us(Some("Europe/Berlin")), "2024-07-01T00:00:00Z", Ok("2024-07-01T00:00:00Z")),
            (us(Some("Europe/Berlin")), "2024-07-01T02:00:00+02:00", Ok("2024-07-01T00:00:00Z")),
            (us(Some("Europe/Berlin")), "2024-07-01T02:00:00", Err("with its UTC offset")),
            (us(Some("+02:00")), "2024-07-01T02:00:00", Ok("2024-07-01T00:00:00Z")),
            (us(None), "9223372036854775807 us", Ok("9223372036854775807 us")),
            (us(None), "+10000-01-01T00:00:00", Ok("+10000-01-01T00:00:00")),
            (DataType::Timestamp(TimeUnit::Second, None), "9223372036854775807 s", Ok("9223372036854775807 s")),
            (DataType::Timestamp(TimeUnit::Nanosecond, None), "2300-01-01T00:00:00", Err("outside the range")),
            (DataType::Date32, "2024-01-31", Ok("2024-01-31")),
            (DataType::Date32, "2024-01-31T00:00:00", Ok("2024-01-31")),
            (DataType::Date32, "2024-01-31T12:00:00", Err("cannot represent")),
            (DataType::Date64, "2024-01-31T00:00:00", Ok("2024-01-31")),
            (DataType::Date64, "2024-01-31T00:00:00.001", Ok("2024-01-31T00:00:00.001")),
            (DataType::Time32(TimeUnit::Second), "12:30:00", Ok("12:30:00")),
            (DataType::Time32(TimeUnit::Second), "12:30:00.5", Err("cannot represent")),
            (DataType::Time64(TimeUnit::Nanosecond), "12:30:00.000000005", Ok("12:30:00.000000005")),
            (DataType::Time64(TimeUnit::Microsecond), "-5 us", Ok("-5 us")),
            (DataType::Duration(TimeUnit::Millisecond), "-PT1.5S", Ok("-PT1.5S")),
            (DataType::Duration(TimeUnit::Second), "P1DT1S", Ok("PT86401S")),
            (DataType::Duration(TimeUnit::Second), "PT0.5S", Err("cannot represent")),
            (DataType::Decimal128(5, 2), "1.55", Ok("1.55")),
            (DataType::Decimal128(5, 2), "1.550", Ok("1.55")),
            (DataType::Decimal128(5, 2), "155e-2", Ok("1.55")),
            (DataType::Decimal128(5, 2), "1.555", Err("cannot represent")),
            (DataType::Decimal128(5, 2), "123456", Err("123456 is outside the range of")),
            (DataType::FixedSizeBinary(2), "AAE=", Ok("AAE=")),
            (DataType::FixedSizeBinary(2), "AA==", Err("2 bytes in base64")),
        ] {
            match (read(text, &ty), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{ty}: {text}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{ty}: {text}: {found}"),
                (found, _) => panic!("{ty}: {text}: {found:?}"),
            }
        }
    }
}
