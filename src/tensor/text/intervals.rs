//! Which texts an interval type holds exactly.

use arrow_array::types::IntervalMonthDayNano;
use arrow_schema::IntervalUnit;

/// Whether a text with this value in the finest type is represented exactly as an interval of that unit. Arrow's parser treats
/// a month as 30 days if a type has no months, and drops what is finer than the type.
pub fn is_exact(text: &str, value: IntervalMonthDayNano, unit: IntervalUnit) -> bool {
    let fits = match unit {
        IntervalUnit::YearMonth => value.days == 0 && value.nanoseconds == 0,
        IntervalUnit::DayTime => value.months == 0 && value.nanoseconds % 1_000_000 == 0,
        IntervalUnit::MonthDayNano => true,
    };
    let has_more_digits =
        |word: &str| word.split_once('.').is_some_and(|(_, digits)| digits.trim_end_matches(|c: char| !('1'..='9').contains(&c)).len() > 9);
    fits && !text.split_whitespace().any(has_more_digits)
}
