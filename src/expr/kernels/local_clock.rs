//! The calendar and the clock in a time zone.

use crate::error::{Error, Result};
use crate::schema::iso8601::NANOS;
use crate::schema::time::{TimeKind, TimeType};
use arrow_array::timezone::Tz;
use arrow_schema::DataType;
use chrono::{DateTime, FixedOffset, NaiveDateTime, Offset, TimeZone, Utc};

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

/// The calendar and the clock in the zone of a type.
pub struct LocalClock {
    /// The quantity that the type counts.
    pub kind: TimeKind,
    /// Nanoseconds per unit.
    pub nanos: i128,
    zone: Option<Tz>,
}

impl LocalClock {
    /// The clock of a type.
    ///
    /// # Errors
    /// An unknown zone.
    pub fn of(ty: &DataType) -> Result<LocalClock> {
        let time = TimeType::of(ty).ok_or_else(|| Error::internal(format!("{ty} as times")))?;
        Ok(LocalClock { kind: time.kind, nanos: time.nanos.into(), zone: zone(&time)? })
    }

    /// The local time of a count of units, and its UTC offset.
    ///
    /// # Errors
    /// A time outside the range of the calendar.
    pub fn local(&self, count: i64) -> Result<(NaiveDateTime, FixedOffset)> {
        let utc = datetime(i128::from(count) * self.nanos);
        let local = utc.and_then(|utc| {
            let offset = self.offset(&utc);
            Some((utc.checked_add_offset(offset)?, offset))
        });
        local.ok_or_else(|| Error::data(format!("the time {count} is out of range for the calendar")))
    }

    /// The instant at a local time, in nanoseconds: with this offset, if it applies then, or the one before it. If clocks skip the
    /// local time, the instant when they do.
    ///
    /// # Errors
    /// A time outside the range of the calendar.
    pub fn utc(&self, local: i128, offset: FixedOffset) -> Result<i128> {
        let with = |offset: FixedOffset| local - i128::from(offset.local_minus_utc()) * NANOS;
        if self.zone.is_none() {
            return Ok(local);
        }
        let utc = datetime(with(offset)).ok_or_else(|| Error::data("a time is out of range for the calendar"))?;
        Ok(with(self.offset(&utc)))
    }

    fn offset(&self, utc: &NaiveDateTime) -> FixedOffset {
        self.zone.map_or_else(|| Utc.fix(), |zone| zone.offset_from_utc_datetime(utc).fix())
    }
}

fn datetime(nanos: i128) -> Option<NaiveDateTime> {
    let seconds = i64::try_from(nanos.div_euclid(NANOS)).ok()?;
    DateTime::from_timestamp(seconds, nanos.rem_euclid(NANOS) as u32).map(|t| t.naive_utc())
}
