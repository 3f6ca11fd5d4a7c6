//! Times rounded down to a unit of the calendar.
//!
//! Semantics: `pyarrow.compute.floor_temporal`; `date_trunc` of DuckDB.

use super::local_clock::LocalClock;
use crate::error::{Error, Result};
use crate::tensor::time::{ticks, times};
use arrow_array::{Array, ArrayRef, Int64Array};
use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime};

/// A unit that times are rounded down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnits {
    /// A number of nanoseconds, counted from midnight of 1970-01-01.
    Fixed(i128),
    /// From Monday.
    Week,
    Month,
    Quarter,
    Year,
}

const DAY: i128 = 86_400_000_000_000;

impl TimeUnits {
    /// The names, from the smallest unit.
    pub const NAMED: [(&'static str, TimeUnits); 10] = [
        ("microsecond", TimeUnits::Fixed(1_000)),
        ("millisecond", TimeUnits::Fixed(1_000_000)),
        ("second", TimeUnits::Fixed(1_000_000_000)),
        ("minute", TimeUnits::Fixed(60_000_000_000)),
        ("hour", TimeUnits::Fixed(3_600_000_000_000)),
        ("day", TimeUnits::Fixed(DAY)),
        ("week", TimeUnits::Week),
        ("month", TimeUnits::Month),
        ("quarter", TimeUnits::Quarter),
        ("year", TimeUnits::Year),
    ];

    /// Whether the unit is shorter than a day.
    pub fn is_within_days(self) -> bool {
        matches!(self, TimeUnits::Fixed(nanos) if nanos < DAY)
    }

    /// The local time rounded down, in nanoseconds since 1970.
    fn floor(self, local: &NaiveDateTime) -> i128 {
        let start = |date: Option<NaiveDate>| nanos_of(&date.unwrap_or(local.date()).and_time(NaiveTime::MIN));
        let month = local.month0();
        match self {
            TimeUnits::Fixed(unit) => nanos_of(local).div_euclid(unit) * unit,
            TimeUnits::Week => start(None) - i128::from(local.weekday().num_days_from_monday()) * DAY,
            TimeUnits::Month => start(local.date().with_day(1)),
            TimeUnits::Quarter => start(NaiveDate::from_ymd_opt(local.year(), month - month % 3 + 1, 1)),
            TimeUnits::Year => start(NaiveDate::from_ymd_opt(local.year(), 1, 1)),
        }
    }
}

fn nanos_of(time: &NaiveDateTime) -> i128 {
    let utc = time.and_utc();
    i128::from(utc.timestamp()) * 1_000_000_000 + i128::from(utc.timestamp_subsec_nanos())
}

/// Rounds each time down, in its zone: `[n]` of the same type. O(values).
///
/// # Errors
/// A time outside the range of the calendar or of the type; the error names the row.
pub fn truncated(array: &ArrayRef, to: TimeUnits) -> Result<ArrayRef> {
    let clock = LocalClock::of(array.data_type())?;
    let mut counts = Vec::with_capacity(array.len());
    for (row, count) in ticks(array)?.values().iter().enumerate() {
        let floor = || {
            let (local, offset) = clock.local(*count)?;
            let floor = to.floor(&local);
            let utc = clock.utc(floor, offset)?;
            let found = i64::try_from(utc.div_euclid(clock.nanos)).ok();
            found.ok_or_else(|| Error::data("the time, rounded down, is outside the range of its type"))
        };
        counts.push(floor().map_err(|e| e.at_row(row))?);
    }
    times(&Int64Array::from(counts), array.data_type())
}
