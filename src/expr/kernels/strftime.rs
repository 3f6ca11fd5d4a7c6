//! Times as text in a format of `strptime` and `strftime`.
//!
//! Semantics: Python's `datetime.strptime` and `strftime` in the C locale; the directives are those of chrono. As in Python, `%f` is
//! a fraction of a second, `%y` is a year from 1969 to 2068, and parts that are left out are the first of their kind.

use super::local_clock::LocalClock;
use crate::error::{Error, Result};
use crate::schema::iso8601::{NANOS, Written};
use crate::schema::time::TimeKind;
use crate::tensor::time::ticks;
use arrow_array::builder::LargeStringBuilder;
use arrow_array::{Array, ArrayRef};
use chrono::format::{DelayedFormat, Fixed, Item, Numeric, Pad, ParseErrorKind, Parsed, StrftimeItems, parse_and_remainder};
use chrono::{DateTime, Datelike, FixedOffset, NaiveDateTime, NaiveTime, Offset, Utc};
use std::fmt::Write;
use std::sync::Arc;

/// A format.
pub struct TimeFormat {
    text: String,
    items: Vec<Item<'static>>,
    parts: Vec<Part>,
}

/// A part of a format, for reading.
enum Part {
    Items(Vec<Item<'static>>),
    /// The digits of a fraction of a second; with a point before them, both may be absent.
    Fraction {
        has_point: bool,
    },
    /// Seconds since 1970, which are negative before.
    Seconds,
}

/// The reason why a text does not have a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    Other,
    /// A number is out of range, or parts contradict each other.
    Impossible,
    /// The format leaves the date or the time open.
    Open,
}

impl TimeFormat {
    /// Parses a format.
    ///
    /// # Errors
    /// A directive is unknown, or not supported.
    pub fn parse(text: &str) -> Result<TimeFormat> {
        let Ok(items) = StrftimeItems::new(text).parse_to_owned() else {
            let error = Error::usage(format!("{} is not a directive of a format of times", unknown(text)));
            return Err(error.help("such as %Y-%m-%d %H:%M:%S; a percent sign is written %%"));
        };
        if items.contains(&Item::Fixed(Fixed::TimezoneName)) {
            let error = Error::usage("%Z, the name of a time zone, is not supported");
            return Err(error.help("write a name that never changes into the format, such as \"%H:%M:%S GMT\"; %z is a UTC offset"));
        }
        let mut parts = Vec::new();
        for item in &items {
            let has_point = match item {
                Item::Numeric(Numeric::Nanosecond, _) => Some(false),
                Item::Fixed(Fixed::Nanosecond) => Some(true),
                _ => None,
            };
            let item = if is_offset(item) { any_offset() } else { item.clone() };
            match (has_point, parts.last_mut()) {
                (Some(has_point), _) => parts.push(Part::Fraction { has_point }),
                _ if matches!(item, Item::Numeric(Numeric::Timestamp, _)) => parts.push(Part::Seconds),
                (None, Some(Part::Items(items))) => items.push(item),
                (None, _) => parts.push(Part::Items(vec![item])),
            }
        }
        Ok(TimeFormat { text: text.to_owned(), items, parts })
    }

    /// The format as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it has a UTC offset.
    pub fn has_offset(&self) -> bool {
        self.items.iter().any(|item| is_offset(item) || matches!(item, Item::Fixed(Fixed::RFC3339 | Fixed::RFC2822)))
    }

    /// Whether texts of this format determine a time.
    pub fn is_complete(&self) -> bool {
        let sample = DateTime::from_timestamp(1_715_949_296, 0).unwrap_or_default().naive_utc();
        let items = self.items.iter().map(|item| if is_offset(item) { Item::Fixed(Fixed::TimezoneOffset) } else { item.clone() });
        let mut text = String::new();
        let items: Vec<Item> = items.collect();
        let written =
            DelayedFormat::new_with_offset(Some(sample.date()), Some(sample.time()), &Utc.fix(), items.iter()).write_to(&mut text);
        written.is_err() || self.read(&text) != Err(Mismatch::Open)
    }

    /// The time that a text denotes.
    ///
    /// # Errors
    /// The text does not have this format.
    pub fn read(&self, text: &str) -> Result<Written, Mismatch> {
        let (mut parsed, mut rest, mut fraction) = (Parsed::new(), text, 0);
        for part in &self.parts {
            match part {
                Part::Items(items) => rest = parse_and_remainder(&mut parsed, rest, items.iter()).map_err(|e| mismatch(&e))?,
                Part::Seconds => {
                    let text = rest.trim_start();
                    let digits = text.strip_prefix('-').unwrap_or(text);
                    let end = text.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                    let seconds = text[..end].parse().map_err(|_| Mismatch::Other)?;
                    parsed.set_timestamp(seconds).map_err(|e| mismatch(&e))?;
                    rest = &text[end..];
                }
                Part::Fraction { has_point: true } if !rest.starts_with('.') => {}
                Part::Fraction { has_point } => {
                    let digits = &rest[usize::from(*has_point)..];
                    let n = digits.bytes().take_while(u8::is_ascii_digit).count();
                    if !(1..=9).contains(&n) {
                        return Err(Mismatch::Other);
                    }
                    fraction =
                        digits[..n].bytes().fold(0, |value, digit| 10 * value + i128::from(digit - b'0')) * 10_i128.pow(9 - n as u32);
                    rest = &digits[n..];
                }
            }
        }
        if rest.is_empty() { resolved(parsed, fraction) } else { Err(Mismatch::Other) }
    }
}

fn resolved(mut parsed: Parsed, fraction: i128) -> Result<Written, Mismatch> {
    // As in Python, and in ISO 8601 text.
    if parsed.offset().is_some_and(|seconds| FixedOffset::east_opt(seconds).is_none()) {
        return Err(Mismatch::Impossible);
    }
    let offset = parsed.offset().map(|seconds| i128::from(seconds) * NANOS);
    if let Some(seconds) = parsed.timestamp() {
        let nanos = i128::from(seconds) * NANOS + i128::from(parsed.nanosecond().unwrap_or(0)) + fraction;
        return Ok(Written { nanos: nanos + offset.unwrap_or(0), offset: Some(offset.unwrap_or(0)) });
    }
    if parsed.second() == Some(60) {
        return Err(Mismatch::Impossible);
    }
    first_of_all(&mut parsed).map_err(|e| mismatch(&e))?;
    let date = parsed.to_naive_date().map_err(|e| mismatch(&e))?;
    let no_time =
        parsed.hour_div_12().is_none() && parsed.hour_mod_12().is_none() && parsed.minute().is_none() && parsed.second().is_none();
    let time = if no_time { NaiveTime::MIN } else { parsed.to_naive_time().map_err(|e| mismatch(&e))? };
    let local = date.and_time(time).and_utc();
    let nanos = i128::from(local.timestamp()) * NANOS + i128::from(local.timestamp_subsec_nanos()) + fraction;
    Ok(Written { nanos, offset })
}

/// Sets the parts of a date or time that are left out.
fn first_of_all(parsed: &mut Parsed) -> chrono::ParseResult<()> {
    let in_year = parsed.year().is_some() || parsed.year_div_100().is_some();
    if parsed.year_mod_100() == Some(69) && !in_year {
        parsed.set_year_div_100(19)?;
    }
    let has_year = in_year || parsed.year_mod_100().is_some();
    let by_week = parsed.week_from_sun().or(parsed.week_from_mon()).or(parsed.isoweek()).or(parsed.isoyear().map(|_| 0));
    if has_year && parsed.ordinal().is_none() && by_week.is_none() {
        if parsed.month().is_none() && parsed.day().is_none() {
            parsed.set_month(parsed.quarter().map_or(1, |quarter| i64::from(3 * quarter) - 2))?;
        }
        if parsed.day().is_none() {
            parsed.set_day(1)?;
        }
    }
    if parsed.hour_mod_12().is_some() && parsed.minute().is_none() {
        parsed.set_minute(0)?;
    }
    Ok(())
}

fn mismatch(error: &chrono::ParseError) -> Mismatch {
    match error.kind() {
        ParseErrorKind::OutOfRange | ParseErrorKind::Impossible => Mismatch::Impossible,
        ParseErrorKind::NotEnough => Mismatch::Open,
        _ => Mismatch::Other,
    }
}

/// The first unknown directive of a format.
fn unknown(format: &str) -> &str {
    let is_known = |directive: &str| !StrftimeItems::new(directive).any(|item| item == Item::Error);
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let ends = rest[at..].char_indices().map(|(i, c)| at + i + c.len_utf8()).skip(1).take(4);
        let Some(end) = ends.clone().find(|end| is_known(&rest[at..*end])) else {
            return &rest[at..ends.min().unwrap_or(rest.len())];
        };
        rest = &rest[end..];
    }
    format
}

fn is_offset(item: &Item) -> bool {
    use Fixed::{
        TimezoneOffset, TimezoneOffsetColon, TimezoneOffsetColonZ, TimezoneOffsetDoubleColon, TimezoneOffsetTripleColon, TimezoneOffsetZ,
    };
    matches!(
        item,
        Item::Fixed(
            TimezoneOffset
                | TimezoneOffsetColon
                | TimezoneOffsetColonZ
                | TimezoneOffsetDoubleColon
                | TimezoneOffsetTripleColon
                | TimezoneOffsetZ
        )
    ) || *item == any_offset()
}

/// The offset `%#z`, which is only read: with or without minutes and a colon, or Z.
fn any_offset() -> Item<'static> {
    StrftimeItems::new("%#z").next().unwrap_or(Item::Fixed(Fixed::TimezoneOffsetColonZ))
}

/// Writes each time in its zone: `[n]` strings. Source: `datetime.strftime`. O(values).
///
/// # Errors
/// A time outside the range of the calendar, or a format of parts that the type lacks; the error names the row.
pub fn written(array: &ArrayRef, format: &TimeFormat) -> Result<ArrayRef> {
    let clock = LocalClock::of(array.data_type())?;
    // As in Python, where a fraction has six digits.
    let micros = StrftimeItems::new("%6f").next().unwrap_or(Item::Literal(""));
    let is_fraction = |item: &Item| matches!(item, Item::Numeric(Numeric::Nanosecond, _));
    let of_item = |item: &Item<'static>| match item {
        item if is_fraction(item) => micros.clone(),
        item if *item == any_offset() => Item::Fixed(Fixed::TimezoneOffset),
        item => item.clone(),
    };
    let items: Vec<Item> = format.items.iter().map(of_item).collect();
    let has_offset = format.has_offset();
    let mut texts = LargeStringBuilder::with_capacity(array.len(), 24 * array.len());
    let mut text = String::new();
    for (row, count) in ticks(array)?.values().iter().enumerate() {
        text.clear();
        let (local, offset) = clock.local(*count).map_err(|e| e.at_row(row))?;
        // The text of the offset is allocated.
        let offset = (has_offset || offset != Utc.fix()).then_some(offset);
        if !write(&local, offset, clock.kind, &items, &mut text) {
            return Err(Error::data(format!("the time cannot be written in the format {:?}", format.text)).at_row(row));
        }
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}

fn write(local: &NaiveDateTime, offset: Option<FixedOffset>, kind: TimeKind, items: &[Item], out: &mut String) -> bool {
    let (date, time) = ((kind != TimeKind::TimeOfDay).then_some(local.date()), Some(local.time()));
    items.chunk_by(|a, b| century(a).is_none() && century(b).is_none()).all(|items| {
        if let ([item], Some(date)) = (items, date)
            && let Some(pad) = century(item)
        {
            return write_century(date.year().div_euclid(100), pad, out).is_ok();
        }
        let format = match offset {
            Some(offset) => DelayedFormat::new_with_offset(date, time, &offset, items.iter()),
            None => DelayedFormat::new(date, time, items.iter()),
        };
        format.write_to(out).is_ok()
    })
}

/// The padding of a century, `%C`.
fn century(item: &Item) -> Option<Pad> {
    if let Item::Numeric(Numeric::YearDiv100, pad) = item { Some(*pad) } else { None }
}

/// Appends a century. That of chrono has a byte, and is another outside the years 0 to 9999.
fn write_century(century: i32, pad: Pad, out: &mut String) -> std::fmt::Result {
    match pad {
        Pad::None => write!(out, "{century}"),
        Pad::Zero => write!(out, "{century:02}"),
        Pad::Space => write!(out, "{century:2}"),
    }
}

/// Whether times of that kind have all parts of the format.
pub fn has_parts(kind: TimeKind, format: &TimeFormat) -> bool {
    let items: Vec<Item> =
        format.items.iter().map(|item| if is_offset(item) { Item::Fixed(Fixed::TimezoneOffset) } else { item.clone() }).collect();
    write(&NaiveDateTime::default(), Some(Utc.fix()), kind, &items, &mut String::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;

    #[test]
    fn centuries_of_all_years() {
        // The year is 100 %C + %y.
        let days: ArrayRef = Arc::new(arrow_array::Date32Array::from(vec![-800_000, -719_529, -693_961, 0, 3_787_000]));
        for (format, texts) in [
            ("%C %y", ["-3 79", "-1 99", "00 69", "19 70", "123 38"]),
            ("%-C", ["-3", "-1", "0", "19", "123"]),
            ("[%_C]", ["[-3]", "[-1]", "[ 0]", "[19]", "[123]"]),
        ] {
            let found = written(&days, &TimeFormat::parse(format).unwrap()).unwrap();
            assert_eq!(found.as_string::<i64>().iter().flatten().collect::<Vec<_>>(), texts, "{format}");
        }
    }

    #[test]
    fn texts_are_read_as_in_python() {
        // From `datetime.strptime(text, format)`.
        for (format, text, seconds, offset) in [
            ("%d/%b/%Y:%H:%M:%S %z", "10/Oct/2000:13:55:36 -0700", 971_186_136, Some(-25_200)),
            ("%m/%d/%Y", "01/02/2024", 1_704_153_600, None),
            ("%Y%m%d", "20240102", 1_704_153_600, None),
            ("%a, %d %b %Y %H:%M:%S %z", "Tue, 02 Jan 2024 03:04:05 +0000", 1_704_164_645, Some(0)),
            ("%Y-%m", "2024-02", 1_706_745_600, None),
            ("%Y-%m-%d %I %p", "2024-01-02 01 PM", 1_704_200_400, None),
            ("%y", "69", -31_536_000, None),
            ("%y", "68", 3_092_601_600_i64, None),
            ("%s", "1704153600", 1_704_153_600, Some(0)),
            ("%s", "-1", -1, Some(0)),
            ("%s %z", "-86400 -0500", -104_400, Some(-18_000)),
            ("%Y-%m-%dT%H:%M:%S%z", "2024-01-02T00:00:00Z", 1_704_153_600, Some(0)),
        ] {
            let offset = offset.map(|seconds| seconds * NANOS);
            let found = TimeFormat::parse(format).unwrap().read(text);
            assert_eq!(found, Ok(Written { nanos: i128::from(seconds) * NANOS, offset }), "{format} {text}");
        }
        let fraction = |format: &str, text: &str| TimeFormat::parse(format).unwrap().read(text).map(|found| found.nanos % NANOS);
        assert_eq!(fraction("%F %T,%f", "2024-01-02 00:00:00,25"), Ok(250_000_000));
        assert_eq!(fraction("%F %T%.f", "2024-01-02 00:00:00.000000001"), Ok(1));
        assert_eq!(fraction("%F %T%.f", "2024-01-02 00:00:00"), Ok(0));
        assert_eq!(fraction("%F %T.%f", "2024-01-02 00:00:00.0000000001"), Err(Mismatch::Other));
        assert_eq!(fraction("%F", "2024-02-30"), Err(Mismatch::Impossible));
        assert_eq!(fraction("%F %z", "2024-02-03 +24:00"), Err(Mismatch::Impossible));
        assert_eq!(fraction("%s", "-"), Err(Mismatch::Other));
        assert_eq!(fraction("%s", "99999999999999999999"), Err(Mismatch::Other));
        assert_eq!(fraction("%F %T", "2024-02-03 23:59:60"), Err(Mismatch::Impossible));
        for (format, complete) in
            [("%d %b %H:%M", false), ("%H:%M", false), ("%Y %I", false), ("%Y-%m", true), ("%G-W%V-%u", true), ("%+", true), ("%j", false)]
        {
            assert_eq!(TimeFormat::parse(format).unwrap().is_complete(), complete, "{format}");
        }
        assert_eq!(["%Y-%Q", "%Y %", "%-é"].map(|format| TimeFormat::parse(format).is_ok()), [false; 3]);
        assert_eq!(unknown("%Y %!x"), "%!");
    }
}
