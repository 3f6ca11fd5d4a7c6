//! The text of intervals.

use super::{Reading, Refuse, cast};
use crate::error::Result;
use arrow_array::cast::AsArray;
use arrow_array::types::IntervalMonthDayNanoType;
use arrow_array::{Array, ArrayRef, LargeStringArray};
use arrow_schema::{DataType, IntervalUnit};

/// Parses intervals. Arrow's parser takes a month for 30 days where a type has no months, and drops what is finer than a type.
///
/// # Errors
/// Never caused by data.
pub fn intervals(texts: &LargeStringArray, unit: IntervalUnit, refuse: Refuse) -> Result<ArrayRef> {
    let mut refused = vec![false; texts.len()];
    let found = cast(texts, &DataType::Interval(IntervalUnit::MonthDayNano), &mut |row, message| {
        refused[row] = true;
        refuse(row, message);
    })?;
    let finest = found.as_primitive::<IntervalMonthDayNanoType>();
    let ty = DataType::Interval(unit);
    for row in (0..texts.len()).filter(|row| texts.is_valid(*row) && !refused[*row]) {
        let (value, text) = (finest.value(row), texts.value(row));
        let is_exact = match unit {
            IntervalUnit::YearMonth => value.days == 0 && value.nanoseconds == 0,
            IntervalUnit::DayTime => value.months == 0 && value.nanoseconds % 1_000_000 == 0,
            IntervalUnit::MonthDayNano => true,
        };
        let has_more_digits = |word: &str| {
            word.split_once('.').is_some_and(|(_, digits)| digits.trim_end_matches(|c: char| !('1'..='9').contains(&c)).len() > 9)
        };
        if !is_exact || text.split_whitespace().any(has_more_digits) {
            refuse(row, Reading::Inexact.message(text, &ty));
        }
    }
    match unit {
        IntervalUnit::MonthDayNano => Ok(found),
        _ => cast(texts, &ty, &mut |_, _| {}),
    }
}
