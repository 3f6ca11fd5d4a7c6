//! Components of times, and conversion of text and numbers to times.
//!
//! Semantics: the temporal functions of `pyarrow.compute`.

use super::local_clock::{LocalClock, zone};
use super::strftime::{Mismatch, TimeFormat};
use crate::error::{Error, Result};
use crate::schema::DType;
use crate::schema::iso8601::{NANOS, Written, parse_count, parse_datetime, parse_duration, parse_time};
use crate::schema::time::{TimeKind, TimeType};
use crate::tensor::time::{Rounding, convert, ticks, times};
use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::{Array, ArrayRef, Int64Array, LargeStringArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, Datelike, LocalResult, NaiveDateTime, Offset, TimeZone, Timelike};
use std::sync::Arc;

/// A component of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeComponent {
    Year,
    Quarter,
    Month,
    Day,
    /// Monday is 0.
    DayOfWeek,
    /// From 1.
    DayOfYear,
    IsoWeek,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl TimeComponent {
    /// Whether times of day and durations lack it.
    pub fn is_of_dates(self) -> bool {
        !matches!(
            self,
            TimeComponent::Hour
                | TimeComponent::Minute
                | TimeComponent::Second
                | TimeComponent::Millisecond
                | TimeComponent::Microsecond
                | TimeComponent::Nanosecond
        )
    }

    fn of(self, time: &NaiveDateTime) -> i64 {
        match self {
            TimeComponent::Year => time.year().into(),
            TimeComponent::Quarter => (time.month0() / 3 + 1).into(),
            TimeComponent::Month => time.month().into(),
            TimeComponent::Day => time.day().into(),
            TimeComponent::DayOfWeek => time.weekday().num_days_from_monday().into(),
            TimeComponent::DayOfYear => time.ordinal().into(),
            TimeComponent::IsoWeek => time.iso_week().week().into(),
            TimeComponent::Hour => time.hour().into(),
            TimeComponent::Minute => time.minute().into(),
            TimeComponent::Second => time.second().into(),
            TimeComponent::Millisecond => (time.nanosecond() / 1_000_000 % 1_000).into(),
            TimeComponent::Microsecond => (time.nanosecond() / 1_000 % 1_000).into(),
            TimeComponent::Nanosecond => (time.nanosecond() % 1_000).into(),
        }
    }
}

/// A component of each time as int64, in its zone: `[n]`. Source: `pyarrow.compute.year`, `month`, .... O(values).
///
/// # Errors
/// A time outside the range of the calendar; the error names the row.
pub fn part(array: &ArrayRef, part: TimeComponent) -> Result<ArrayRef> {
    let clock = LocalClock::of(array.data_type())?;
    let mut out = Vec::with_capacity(array.len());
    for (row, count) in ticks(array)?.values().iter().enumerate() {
        let (local, _) = clock.local(*count).map_err(|e| e.at_row(row))?;
        out.push(part.of(&local));
    }
    Ok(Arc::new(Int64Array::from(out)))
}

/// Converts ISO 8601 text, counts of the unit, or other times (rounded down) to times of type `to`: `[n]`. O(values).
///
/// # Errors
/// Text that is not a time, or a time outside the range of `to`; the error names the row.
pub fn time_of(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::LargeUtf8 => TimeReader::new(to)?.times(array.as_string(), to),
        DataType::Int64 => times(array.as_primitive(), to),
        _ => convert(array, to, Rounding::Down),
    }
}

/// A single text as a time of type `to`, an array of length 1.
///
/// # Errors
/// Text that is not a time, or a time that `to` cannot represent exactly.
pub fn time_of_text(text: &str, to: &DataType) -> Result<ArrayRef> {
    times(&Int64Array::from(vec![TimeReader::new(to)?.read(text)?]), to)
}

/// Texts as times in the coarsest unit that represents them exactly, from that of `to` down to the nanosecond.
///
/// # Errors
/// Text that is not a time, or times that no unit represents exactly.
pub fn exact_times_of_text(texts: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let found = time_of(texts, to);
    if found.is_ok() { found } else { finer(to).iter().find_map(|to| time_of(texts, to).ok()).map_or(found, Ok) }
}

/// The types of the same kind with smaller units, the coarsest first.
fn finer(of: &DataType) -> Vec<DataType> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    const UNITS: [TimeUnit; 4] = [Second, Millisecond, Microsecond, Nanosecond];
    let smaller = |unit: TimeUnit| UNITS.into_iter().skip_while(move |other| *other != unit).skip(1);
    match of {
        DataType::Timestamp(unit, zone) => smaller(*unit).map(|unit| DataType::Timestamp(unit, zone.clone())).collect(),
        DataType::Duration(unit) => smaller(*unit).map(DataType::Duration).collect(),
        DataType::Date32 | DataType::Date64 => UNITS.map(|unit| DataType::Timestamp(unit, None)).into(),
        DataType::Time32(Second) => vec![DataType::Time32(Millisecond), DataType::Time64(Microsecond), DataType::Time64(Nanosecond)],
        DataType::Time32(_) => vec![DataType::Time64(Microsecond), DataType::Time64(Nanosecond)],
        DataType::Time64(Microsecond) => vec![DataType::Time64(Nanosecond)],
        _ => Vec::new(),
    }
}

/// Converts texts to times of type `to`: `[n]`, as the expression with this text reads them. O(values).
///
/// # Errors
/// Text that is not a time, or a time outside the range of `to`; the error names the row.
pub fn parsed(array: &ArrayRef, to: &DataType, reading: &Arc<Reading>) -> Result<ArrayRef> {
    TimeReader { reading: Some(reading.clone()), ..TimeReader::new(to)? }.times(array.as_string(), to)
}

/// How a call of `timestamp` reads text.
pub struct Reading {
    /// The argument as written, for advice.
    pub x: String,
    /// The unit of times, as written in the call.
    pub unit: &'static str,
    /// The format; `None` for ISO 8601.
    pub format: Option<TimeFormat>,
}

/// Reads texts as times of one type.
struct TimeReader {
    dtype: DType,
    time: TimeType,
    /// The zone of texts without an offset; `None` for UTC and for times without a zone.
    zone: Option<Tz>,
    reading: Option<Arc<Reading>>,
}

impl TimeReader {
    fn new(to: &DataType) -> Result<TimeReader> {
        let time = TimeType::of(to).ok_or_else(|| Error::internal(format!("text as {to}")))?;
        Ok(TimeReader { dtype: DType::Arrow(Box::new(to.clone())), zone: zone(&time)?, time, reading: None })
    }

    /// The times of texts; nulls are kept.
    fn times(&self, texts: &LargeStringArray, to: &DataType) -> Result<ArrayRef> {
        let mut counts = Vec::with_capacity(texts.len());
        for row in 0..texts.len() {
            counts.push(if texts.is_valid(row) { Some(self.read(texts.value(row)).map_err(|e| e.at_row(row))?) } else { None });
        }
        times(&Int64Array::from(counts), to)
    }

    /// The count of units.
    fn read(&self, text: &str) -> Result<i64> {
        let nanos = self.nanos(text)?;
        if nanos.rem_euclid(i128::from(self.time.nanos)) != 0 {
            let error = Error::data(format!("the time {:?} is more precise than {} allows", shown(text), self.dtype));
            let exact = [(1_000_000, "ms"), (1_000, "us"), (1, "ns")].into_iter().find(|(unit, _)| nanos % unit == 0);
            return Err(match (self.time.kind, exact) {
                (TimeKind::Date, Some((_, unit))) => error.help(format!("cast it to timestamp[{unit}] first, then to the date")),
                (_, Some((_, unit))) => error.help(format!("use a smaller unit: {unit}")),
                (_, None) => error,
            });
        }
        i64::try_from(nanos.div_euclid(i128::from(self.time.nanos)))
            .map_err(|_| Error::data(format!("the time {:?} is outside the range of {}", shown(text), self.dtype)))
    }

    fn nanos(&self, text: &str) -> Result<i128> {
        if let Some(format) = self.reading.as_ref().and_then(|reading| reading.format.as_ref()) {
            let written = format.read(text).map_err(|why| mismatch(text, format, why))?;
            return self.instant(written, text);
        }
        let nanos = match parse_count(text) {
            Some((count, unit)) => Some(count * unit),
            None => match self.time.kind {
                TimeKind::TimeOfDay => parse_time(text),
                TimeKind::Duration => parse_duration(text),
                TimeKind::Timestamp | TimeKind::Date => parse_datetime(text).map(|written| self.instant(written, text)).transpose()?,
            },
        };
        nanos.ok_or_else(|| self.invalid(text))
    }

    /// The nanoseconds since 1970, in UTC if a zone is known.
    fn instant(&self, Written { nanos, offset }: Written, text: &str) -> Result<i128> {
        match (offset, &self.zone) {
            (Some(offset), _) => Ok(nanos - offset),
            (None, None) => Ok(nanos),
            (None, Some(zone)) => Ok(nanos - self.offset(nanos, zone, text)?),
        }
    }

    /// The offset of the zone at a local time, in nanoseconds.
    fn offset(&self, nanos: i128, zone: &Tz, text: &str) -> Result<i128> {
        let seconds = i64::try_from(nanos.div_euclid(NANOS)).ok();
        let local = seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0)).ok_or_else(|| self.invalid(text))?.naive_utc();
        let name = self.time.zone.as_deref().unwrap_or("UTC");
        let with = |time: &DateTime<Tz>| format!("{}{}", text.trim(), time.offset().fix());
        match zone.from_local_datetime(&local) {
            LocalResult::Single(time) => Ok(i128::from(time.offset().fix().local_minus_utc()) * NANOS),
            LocalResult::Ambiguous(a, b) => {
                let error = Error::data(format!("{:?} occurs twice in {name} because clocks are set back then", shown(text)));
                Err(error.help(format!("write it with its UTC offset: {} or {}", with(&a), with(&b))))
            }
            LocalResult::None => {
                let error =
                    Error::data(format!("{:?} does not exist in {name} because clocks skip it when they are set forward", shown(text)));
                Err(error.help(format!("write it with its UTC offset, such as {}", with(&zone.from_utc_datetime(&local)))))
            }
        }
    }

    #[cold]
    fn invalid(&self, text: &str) -> Error {
        let error = Error::data(format!("{:?} is not a valid {}", shown(text), self.dtype));
        if let Some(reading) = &self.reading {
            return error.help(reading.advice(text));
        }
        error.help(match self.time.kind {
            TimeKind::Timestamp => "write times as 2024-05-01T12:30:00",
            TimeKind::Date => "write dates as 2024-05-01",
            TimeKind::TimeOfDay => "write times of day as 12:30:00",
            TimeKind::Duration => "write durations as PT1H30M or P1DT0.5S",
        })
    }
}

impl Reading {
    /// Advice on a text that is no ISO 8601 time.
    fn advice(&self, text: &str) -> String {
        let Reading { x, unit, .. } = self;
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_date = is_number && text.len() == 8 && TimeFormat::parse("%Y%m%d").is_ok_and(|format| format.read(text).is_ok());
        if is_date {
            return format!("to read such dates: timestamp({x}, format=\"%Y%m%d\")");
        }
        if is_number {
            // The present in seconds has ten digits, in milliseconds 13.
            let unit = match (*unit, text.len()) {
                ("us", 10) => "s",
                ("us", 13) => "ms",
                (unit, _) => unit,
            };
            return format!("to convert a count of units: timestamp(strings.to_number({x}, int64), \"{unit}\")");
        }
        format!("write times as 2024-05-01T12:30:00, or give their format, such as timestamp({x}, format=\"%d/%m/%Y %H:%M:%S\")")
    }
}

#[cold]
fn mismatch(text: &str, format: &TimeFormat, why: Mismatch) -> Error {
    let format = format.text();
    Error::data(match why {
        Mismatch::Impossible => format!("{:?} is not a valid time in the format {format:?}", shown(text)),
        Mismatch::Open | Mismatch::Other => format!("{:?} does not have the format {format:?}", shown(text)),
    })
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Whether times of that kind have date components.
pub fn has_date(kind: TimeKind) -> bool {
    matches!(kind, TimeKind::Timestamp | TimeKind::Date)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int64Type;
    use arrow_array::{Date32Array, TimestampMicrosecondArray};

    #[test]
    fn parts_are_counted_in_the_zone_and_before_1970() {
        let array: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![-1, 1_714_566_645_000_007]));
        let parts = |array: &ArrayRef, p: TimeComponent| part(array, p).unwrap().as_primitive::<Int64Type>().values().to_vec();
        assert_eq!(parts(&array, TimeComponent::Year), [1969, 2024]);
        assert_eq!(parts(&array, TimeComponent::Hour), [23, 12]);
        assert_eq!(parts(&array, TimeComponent::Microsecond), [999, 7]);
        assert_eq!(parts(&array, TimeComponent::DayOfWeek), [2, 2]);
        let zoned: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![-1]).with_timezone("+02:00"));
        assert_eq!(parts(&zoned, TimeComponent::Year), [1970]);
        let days: ArrayRef = Arc::new(Date32Array::from(vec![19_844, -1]));
        assert_eq!(parts(&days, TimeComponent::Month), [5, 12]);
        assert_eq!(parts(&days, TimeComponent::IsoWeek), [18, 1]);
    }
}
