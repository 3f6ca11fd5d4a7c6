//! Converts timestamps, dates, times of day and durations between units.

use crate::error::{Error, Result};
use crate::schema::DType;
use crate::schema::time::{TimeKind, TimeType};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, make_array};
use arrow_schema::DataType;
use std::sync::Arc;

/// The handling of times that are not a whole number of the new unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// An error.
    Refuse,
    /// Rounded down, towards the past.
    Down,
}

/// Whether [`convert`] supports `from` to `to`: units of the same kind, and timestamps and dates to each other.
/// Replacing a zone does not change the instant; a timestamp without a zone counts as UTC.
pub fn converts(from: &TimeType, to: &TimeType) -> bool {
    let calendar = |kind| matches!(kind, TimeKind::Timestamp | TimeKind::Date);
    let is_utc = |time: &TimeType| time.zone.is_none() || time.is_utc();
    match (from.kind, to.kind) {
        (TimeKind::Timestamp, TimeKind::Timestamp) => from.zone.is_some() == to.zone.is_some() || (is_utc(from) && is_utc(to)),
        (a, b) if a == b => true,
        (a, b) => calendar(a) && calendar(b) && is_utc(from) && is_utc(to),
    }
}

/// The counts of an array of times, in its unit; nulls are kept. O(1), or O(values) for 32 bits.
///
/// # Errors
/// The array does not hold times.
pub fn ticks(array: &ArrayRef) -> Result<Int64Array> {
    let wrong = || Error::internal(format!("{} as times", array.data_type()));
    TimeType::of(array.data_type()).ok_or_else(wrong)?;
    let wide = array.data_type().primitive_width() == Some(8);
    let plain = if wide { DataType::Int64 } else { DataType::Int32 };
    let plain = make_array(array.to_data().into_builder().data_type(plain).build().map_err(|_| wrong())?);
    Ok(if wide { plain.as_primitive::<Int64Type>().clone() } else { plain.as_primitive::<Int32Type>().unary(i64::from) })
}

/// Converts counts in the unit of `to` to times; nulls are kept. O(1), or O(values) for 32 bits.
///
/// # Errors
/// A count does not fit in 32 bits; the error names the row.
pub fn times(ticks: &Int64Array, to: &DataType) -> Result<ArrayRef> {
    let wrong = |e: arrow_schema::ArrowError| Error::internal(e.to_string());
    if let (DataType::Time32(_) | DataType::Time64(_), Some(time)) = (to, TimeType::of(to)) {
        let day = 0..86_400_000_000_000 / time.nanos;
        if let Some(row) = (0..ticks.len()).find(|row| ticks.is_valid(*row) && !day.contains(&ticks.value(*row))) {
            return Err(outside_range(to).at_row(row));
        }
    }
    let plain: ArrayRef = if to.primitive_width() == Some(8) {
        Arc::new(ticks.clone())
    } else {
        let outside = |row: &usize| ticks.is_valid(*row) && i32::try_from(ticks.value(*row)).is_err();
        if let Some(row) = (0..ticks.len()).find(outside) {
            return Err(outside_range(to).at_row(row));
        }
        let narrow: Int32Array = ticks.unary(|n| n as i32);
        Arc::new(narrow)
    };
    Ok(make_array(plain.to_data().into_builder().data_type(to.clone()).build().map_err(wrong)?))
}

/// Converts times to `to`, where [`converts`] holds. O(values), or O(1) if the units are the same.
///
/// # Errors
/// A time outside the range of `to` or, with [`Rounding::Refuse`], between two of its units; the error names the row.
pub fn convert(array: &ArrayRef, to: &DataType, rounding: Rounding) -> Result<ArrayRef> {
    let wrong = || Error::internal(format!("{} as {to}", array.data_type()));
    let (from, target) = (TimeType::of(array.data_type()).ok_or_else(wrong)?, TimeType::of(to).ok_or_else(wrong)?);
    times(&in_unit(array, &from, target.nanos, to, rounding)?, to)
}

/// The counts in another unit, of `nanos` nanoseconds, which must be exact. O(values).
///
/// # Errors
/// See [`convert`].
pub fn ticks_in(array: &ArrayRef, nanos: i64) -> Result<Int64Array> {
    let from = TimeType::of(array.data_type()).ok_or_else(|| Error::internal(format!("{} as times", array.data_type())))?;
    in_unit(array, &from, nanos, array.data_type(), Rounding::Refuse)
}

/// The counts of nanoseconds, of any size; those of nulls are arbitrary. O(values).
///
/// # Errors
/// The array does not hold times.
pub fn in_nanoseconds(array: &ArrayRef) -> Result<Vec<i128>> {
    let from = TimeType::of(array.data_type()).ok_or_else(|| Error::internal(format!("{} as times", array.data_type())))?;
    Ok(ticks(array)?.values().iter().map(|n| i128::from(*n) * i128::from(from.nanos)).collect())
}

fn in_unit(array: &ArrayRef, from: &TimeType, nanos: i64, to: &DataType, rounding: Rounding) -> Result<Int64Array> {
    let ticks = ticks(array)?;
    if from.nanos == nanos {
        return Ok(ticks);
    }
    let row_of = |fails: &dyn Fn(i64) -> bool| (0..ticks.len()).find(|row| ticks.is_valid(*row) && fails(ticks.value(*row)));
    if from.nanos > nanos {
        let factor = from.nanos / nanos;
        if let Some(row) = row_of(&|n| n.checked_mul(factor).is_none()) {
            return Err(outside_range(to).at_row(row));
        }
        return Ok(ticks.unary(|n| n.wrapping_mul(factor)));
    }
    let factor = nanos / from.nanos;
    if rounding == Rounding::Refuse
        && let Some(row) = row_of(&|n| n % factor != 0)
    {
        let text = arrow_cast::display::array_value_to_string(array, row).unwrap_or_default();
        let error = Error::data(format!("{text} is not a whole number of units of {}", DType::Arrow(Box::new(to.clone())))).at_row(row);
        return Err(error.help("cast rounds times down"));
    }
    Ok(ticks.unary(|n| n.div_euclid(factor)))
}

fn outside_range(to: &DataType) -> Error {
    Error::data(format!("a time is outside the range of {}", DType::Arrow(Box::new(to.clone()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::TimestampMillisecondType;
    use arrow_array::{Date32Array, TimestampMicrosecondArray, TimestampSecondArray};
    use arrow_schema::TimeUnit;

    #[test]
    fn units_change_exactly_or_not_at_all() {
        let millis = DataType::Timestamp(TimeUnit::Millisecond, None);
        let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(-2), None, Some(3)]));
        let found = convert(&seconds, &millis, Rounding::Refuse).unwrap();
        assert_eq!(found.as_primitive::<TimestampMillisecondType>().iter().collect::<Vec<_>>(), [Some(-2000), None, Some(3000)]);
        let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1000, -1]));
        let error = convert(&micros, &millis, Rounding::Refuse).unwrap_err();
        assert_eq!((error.location().row, error.message().contains("not a whole number")), (Some(1), true), "{error:?}");
        let found = convert(&micros, &millis, Rounding::Down).unwrap();
        assert_eq!(found.as_primitive::<TimestampMillisecondType>().values().to_vec(), [1, -1]);
        let far: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX / 10]));
        assert!(convert(&far, &millis, Rounding::Refuse).is_err());
        let days: ArrayRef = Arc::new(Date32Array::from(vec![1]));
        assert_eq!(ticks(&convert(&days, &millis, Rounding::Refuse).unwrap()).unwrap().value(0), 86_400_000);
    }
}
