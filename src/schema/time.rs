//! Arrow's time types, as counts of a unit.

use super::DType;
use arrow_schema::{DataType, TimeUnit};
use std::sync::Arc;

/// The quantity that a time type counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeKind {
    /// Units since 1970-01-01T00:00:00, in UTC or in an unspecified zone.
    Timestamp,
    /// Days since 1970-01-01, or milliseconds that are whole days.
    Date,
    /// Units since midnight.
    TimeOfDay,
    /// Units between two instants.
    Duration,
}

/// An Arrow time type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeType {
    /// The quantity counted.
    pub kind: TimeKind,
    /// Nanoseconds per unit.
    pub nanos: i64,
    /// The time zone of a timestamp, if it has one.
    pub zone: Option<Arc<str>>,
}

impl TimeType {
    /// The time type for an Arrow type; `None` for other types.
    pub fn of(ty: &DataType) -> Option<TimeType> {
        const DAY: i64 = 86_400_000_000_000;
        let (kind, nanos, zone) = match ty {
            DataType::Timestamp(unit, zone) => (TimeKind::Timestamp, nanos_of(*unit), zone.clone()),
            DataType::Date32 => (TimeKind::Date, DAY, None),
            DataType::Date64 => (TimeKind::Date, 1_000_000, None),
            DataType::Time32(unit) | DataType::Time64(unit) => (TimeKind::TimeOfDay, nanos_of(*unit), None),
            DataType::Duration(unit) => (TimeKind::Duration, nanos_of(*unit), None),
            _ => return None,
        };
        Some(TimeType { kind, nanos, zone })
    }

    /// Zero as a quoted literal, for messages.
    pub fn zero_literal(&self) -> &'static str {
        match self.kind {
            TimeKind::Timestamp if self.zone.is_some() => "\"1970-01-01T00:00:00Z\"",
            TimeKind::Timestamp | TimeKind::Date => "\"1970-01-01\"",
            TimeKind::TimeOfDay => "\"00:00:00\"",
            TimeKind::Duration => "\"PT0S\"",
        }
    }

    /// Whether the zone is a name for UTC.
    pub fn is_utc(&self) -> bool {
        self.zone.as_deref().is_some_and(|zone| ["UTC", "Z", "Etc/UTC", "+00:00"].contains(&zone))
    }
}

impl DType {
    /// The time type of a dtype; `None` for other dtypes.
    pub fn time(&self) -> Option<TimeType> {
        match self {
            DType::Arrow(foreign) => TimeType::of(foreign),
            _ => None,
        }
    }
}

/// Nanoseconds per unit.
fn nanos_of(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// The largest unit of at most that many nanoseconds.
pub fn unit_within(nanos: i64) -> TimeUnit {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    [Second, Millisecond, Microsecond].into_iter().find(|unit| nanos_of(*unit) <= nanos).unwrap_or(Nanosecond)
}

/// The type that holds the times of both: the finer unit, if kind and zone are the same; all names of UTC are one zone.
/// `None` otherwise.
pub fn finer(a: &DataType, b: &DataType) -> Option<DataType> {
    let (x, y) = (TimeType::of(a)?, TimeType::of(b)?);
    (x.kind == y.kind && (x.zone == y.zone || (x.is_utc() && y.is_utc()))).then(|| if x.nanos <= y.nanos { a.clone() } else { b.clone() })
}
