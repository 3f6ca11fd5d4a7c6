//! Components of times, and conversion of text and numbers to times.
//!
//! Source of the meaning: the temporal functions of `pyarrow.compute`.

use crate::error::{Error, Result};
use crate::schema::time::{TimeKind, TimeType};
use crate::tensor::time::{Rounding, convert, ticks, times};
use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::{Array, ArrayRef, Int64Array, LargeStringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;
use chrono::{DateTime, Datelike, NaiveDateTime, Offset, TimeZone, Timelike};
use std::sync::Arc;

/// A component of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
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

impl Part {
    /// Whether times of day and durations lack it.
    pub fn is_of_dates(self) -> bool {
        !matches!(self, Part::Hour | Part::Minute | Part::Second | Part::Millisecond | Part::Microsecond | Part::Nanosecond)
    }

    fn of(self, time: &NaiveDateTime) -> i64 {
        match self {
            Part::Year => time.year().into(),
            Part::Quarter => (time.month0() / 3 + 1).into(),
            Part::Month => time.month().into(),
            Part::Day => time.day().into(),
            Part::DayOfWeek => time.weekday().num_days_from_monday().into(),
            Part::DayOfYear => time.ordinal().into(),
            Part::IsoWeek => time.iso_week().week().into(),
            Part::Hour => time.hour().into(),
            Part::Minute => time.minute().into(),
            Part::Second => time.second().into(),
            Part::Millisecond => (time.nanosecond() / 1_000_000 % 1_000).into(),
            Part::Microsecond => (time.nanosecond() / 1_000 % 1_000).into(),
            Part::Nanosecond => (time.nanosecond() % 1_000).into(),
        }
    }
}

/// The time zone in which the components are computed; `None` for UTC and for times without a zone.
///
/// # Errors
/// An unknown zone.
pub fn zone(time: &TimeType) -> Result<Option<Tz>> {
    match &time.zone {
        Some(zone) if !time.is_utc() => {
            let unknown = |_| {
                Error::usage(format!("unknown time zone {zone}"))
                    .help("use an IANA name, such as Europe/Berlin, or an offset, such as +02:00")
            };
            zone.parse().map(Some).map_err(unknown)
        }
        _ => Ok(None),
    }
}

/// A component of each time as int64, in its zone.
///
/// # Errors
/// A time outside the range of the calendar; the error names the row.
pub fn part(array: &ArrayRef, part: Part) -> Result<ArrayRef> {
    let time = TimeType::of(array.data_type()).ok_or_else(|| Error::internal(format!("{part:?} of {}", array.data_type())))?;
    let zone = zone(&time)?;
    let mut out = Vec::with_capacity(array.len());
    for (row, count) in ticks(array)?.values().iter().enumerate() {
        let nanos = i128::from(*count) * i128::from(time.nanos);
        let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok();
        let found = seconds.and_then(|s| DateTime::from_timestamp(s, nanos.rem_euclid(1_000_000_000) as u32)).map(|t| t.naive_utc());
        let local = found.and_then(|utc| match &zone {
            Some(zone) => utc.checked_add_offset(zone.offset_from_utc_datetime(&utc).fix()),
            None => Some(utc),
        });
        match local {
            Some(local) => out.push(part.of(&local)),
            None => return Err(Error::data(format!("the time {count} is out of range for the calendar")).at_row(row)),
        }
    }
    Ok(Arc::new(Int64Array::from(out)))
}

/// Converts ISO 8601 text, counts of the unit, or other times (rounded down) to times of type `to`.
///
/// # Errors
/// Text that is not a time, or a time outside the range of `to`; the error names the row.
pub fn time_of(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::LargeUtf8 => {
            let options = CastOptions { safe: true, ..CastOptions::default() };
            let time = TimeType::of(to).ok_or_else(|| Error::internal(format!("text as {to}")))?;
            zone(&time)?;
            // The parser does not know the names of UTC.
            let offset = match to {
                DataType::Timestamp(unit, Some(_)) if time.is_utc() => DataType::Timestamp(*unit, Some("+00:00".into())),
                other => other.clone(),
            };
            let parsed = cast_with_options(array, &offset, &options).map_err(|e| Error::internal(e.to_string()))?;
            let texts: &LargeStringArray = array.as_string();
            match (0..texts.len()).find(|row| parsed.is_null(*row) && texts.is_valid(*row)) {
                Some(row) => {
                    let text: String = texts.value(row).chars().take(40).collect();
                    let error = Error::data(format!("{text:?} is not a valid {}", crate::schema::DType::Arrow(Box::new(to.clone()))));
                    Err(error.at_row(row).help("write times as 2024-05-01T12:30:00"))
                }
                None => times(&ticks(&parsed)?, to),
            }
        }
        DataType::Int64 => times(array.as_primitive(), to),
        _ => convert(array, to, Rounding::Down),
    }
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
        let parts = |array: &ArrayRef, p: Part| part(array, p).unwrap().as_primitive::<Int64Type>().values().to_vec();
        assert_eq!(parts(&array, Part::Year), [1969, 2024]);
        assert_eq!(parts(&array, Part::Hour), [23, 12]);
        assert_eq!(parts(&array, Part::Microsecond), [999, 7]);
        assert_eq!(parts(&array, Part::DayOfWeek), [2, 2]);
        let zoned: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![-1]).with_timezone("+02:00"));
        assert_eq!(parts(&zoned, Part::Year), [1970]);
        let days: ArrayRef = Arc::new(Date32Array::from(vec![19_844, -1]));
        assert_eq!(parts(&days, Part::Month), [5, 12]);
        assert_eq!(parts(&days, Part::IsoWeek), [18, 1]);
    }
}
