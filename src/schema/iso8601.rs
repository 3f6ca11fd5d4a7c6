//! Dates, times and durations as ISO 8601 text, lossless in both directions over the full range of 64 bits. Written by
//! hand because available parsers silently round or truncate digits.

/// Nanoseconds of a second.
pub const NANOS: i128 = 1_000_000_000;
const DAY_SECONDS: i128 = 86_400;
/// The years that other programs read and write: those of chrono, which Arrow's text form uses.
const YEARS: std::ops::RangeInclusive<i64> = -262_142..=262_141;

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar. Source of the algorithm: "chrono-Compatible
/// Low-Level Date Algorithms", `days_from_civil`.
pub fn days_from_date(year: i128, month: u32, day: u32) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = i128::from(month);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + i128::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a day since 1970-01-01: `civil_from_days` from the same source.
fn date_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn days_of_month(year: i128, month: u32) -> u32 {
    match month {
        2 if year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The two digits of each number below 100.
const PAIRS: &str = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
    5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/// Appends a number with at least `width` digits.
fn write_digits(number: u64, width: usize, out: &mut String) {
    let pair = |number: u64| &PAIRS[2 * number as usize..][..2];
    match width {
        2 if number < 100 => out.push_str(pair(number)),
        4 if number < 10_000 => out.extend([pair(number / 100), pair(number % 100)]),
        _ => {
            let mut digits = [b'0'; 20];
            let (mut start, mut rest) = (digits.len(), number);
            while rest > 0 || digits.len() - start < width {
                start -= 1;
                digits[start] = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
            out.push_str(str::from_utf8(&digits[start..]).unwrap_or_default());
        }
    }
}

/// Appends `2024-01-31`, given days since 1970-01-01. `None`, and nothing is appended, for years that other programs
/// cannot read.
pub fn write_date(days: i64, out: &mut String) -> Option<()> {
    if days.unsigned_abs() > 366 * YEARS.end().unsigned_abs() {
        return None;
    }
    let (year, month, day) = date_from_days(days);
    if !YEARS.contains(&year) {
        return None;
    }
    if !(0..=9999).contains(&year) {
        out.push(if year < 0 { '-' } else { '+' });
    }
    for (number, width, end) in [(year, 4, "-"), (month, 2, "-"), (day, 2, "")] {
        write_digits(number.unsigned_abs(), width, out);
        out.push_str(end);
    }
    Some(())
}

/// Appends `12:30:00.500`, with 3, 6 or 9 fractional digits. `None`, and nothing is appended, outside a day.
pub fn write_time(seconds: i64, nanos: u64, out: &mut String) -> Option<()> {
    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds < DAY_SECONDS as u64)?;
    for (number, end) in [(seconds / 3600, ":"), (seconds / 60 % 60, ":"), (seconds % 60, "")] {
        write_digits(number, 2, out);
        out.push_str(end);
    }
    let (fraction, width) = match nanos {
        0 => return Some(()),
        n if n % 1_000_000 == 0 => (n / 1_000_000, 3),
        n if n % 1_000 == 0 => (n / 1_000, 6),
        n => (n, 9),
    };
    out.push('.');
    write_digits(fraction, width, out);
    Some(())
}

/// Appends `2024-01-31T12:30:00`, given seconds since 1970 and nanoseconds. `None`, and nothing is appended, for years that
/// other programs cannot read.
pub fn write_datetime(seconds: i64, nanos: u64, out: &mut String) -> Option<()> {
    const DAY: i64 = DAY_SECONDS as i64;
    write_date(seconds.div_euclid(DAY), out)?;
    out.push('T');
    write_time(seconds.rem_euclid(DAY), nanos, out)
}

/// Appends `PT90.5S`, the seconds of a duration.
pub fn write_duration(is_negative: bool, seconds: u64, nanos: u64, out: &mut String) {
    if (seconds, nanos) == (0, 0) {
        return out.push_str("P0D");
    }
    out.push_str(if is_negative { "-PT" } else { "PT" });
    write_digits(seconds, 1, out);
    if nanos > 0 {
        out.push('.');
        write_digits(nanos, 9, out);
        out.truncate(out.trim_end_matches('0').len());
    }
    out.push('S');
}

/// A point in time as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Nanoseconds since the epoch, on the clock as written.
    pub nanos: i128,
    /// Nanoseconds by which the clock is ahead of UTC; `None` if not given.
    pub offset: Option<i128>,
}

/// Parses `2024-01-31`, with or without a time and a UTC offset.
pub fn parse_datetime(text: &str) -> Option<Written> {
    let mut text = Text(text.as_bytes());
    let days = text.date()?;
    let midnight = Written { nanos: days * DAY_SECONDS * NANOS, offset: None };
    if text.0.is_empty() {
        return Some(midnight);
    }
    text.one_of(b"Tt ")?;
    let time = text.time()?;
    let offset = text.offset()?;
    text.0.is_empty().then_some(Written { nanos: midnight.nanos + time, offset })
}

/// Parses `12:30` or `12:30:00.5` to nanoseconds.
pub fn parse_time(text: &str) -> Option<i128> {
    let mut text = Text(text.as_bytes());
    let time = text.time()?;
    text.0.is_empty().then_some(time)
}

/// Parses an ISO 8601 duration of weeks, days, hours, minutes and seconds to nanoseconds. The last part may have a fraction.
pub fn parse_duration(text: &str) -> Option<i128> {
    let mut text = Text(text.as_bytes());
    let negative = text.one_of(b"-").is_some();
    text.one_of(b"P")?;
    let (mut nanos, mut in_time, mut nparts) = (0i128, false, 0);
    let mut units: &[(u8, i128)] = &[(b'W', 7 * DAY_SECONDS), (b'D', DAY_SECONDS), (b'H', 3600), (b'M', 60), (b'S', 1)];
    while !text.0.is_empty() {
        if !in_time && text.one_of(b"T").is_some() {
            in_time = true;
            continue;
        }
        let inner_negative = text.one_of(b"-").is_some();
        let whole = text.digits(1, 19)?;
        let fraction = text.fraction()?;
        let unit = text.one_of(b"WDHMS")?;
        let at = units.iter().position(|(letter, _)| *letter == unit)?;
        if b"WD".contains(&unit) == in_time || (fraction != 0 && !text.0.is_empty()) {
            return None;
        }
        let part = (whole * NANOS + fraction) * units[at].1;
        nanos += if inner_negative { -part } else { part };
        units = &units[at + 1..];
        nparts += 1;
    }
    (nparts > 0).then_some(if negative { -nanos } else { nanos })
}

/// Parses an integer with its unit, `15 us`: the integer, and the unit in nanoseconds.
pub fn parse_count(text: &str) -> Option<(i128, i128)> {
    let (count, unit) = text.split_once(' ')?;
    let nanos = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => NANOS,
        "d" => DAY_SECONDS * NANOS,
        _ => return None,
    };
    Some((i128::from(count.parse::<i64>().ok()?), nanos))
}

/// The unparsed rest of a text.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first().filter(|(first, _)| bytes.contains(first))?;
        self.0 = rest;
        Some(*first)
    }

    /// Parses between `least` and `most` digits.
    fn digits(&mut self, least: usize, most: usize) -> Option<i128> {
        let n = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        if n < least || n > most {
            return None;
        }
        let (digits, rest) = self.0.split_at(n);
        self.0 = rest;
        Some(digits.iter().fold(0, |value, digit| value * 10 + i128::from(digit - b'0')))
    }

    fn two(&mut self, most: u32) -> Option<u32> {
        let value = Text(self.0.get(..2)?).digits(2, 2)?;
        self.0 = &self.0[2..];
        u32::try_from(value).ok().filter(|v| *v <= most)
    }

    /// Parses an optional fraction of a second to nanoseconds. Digits beyond nanoseconds must be zeros.
    fn fraction(&mut self) -> Option<i128> {
        if self.one_of(b".").is_none() {
            return Some(0);
        }
        let n = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(n);
        self.0 = rest;
        if n == 0 || digits.iter().skip(9).any(|d| *d != b'0') {
            return None;
        }
        Some((0..9).fold(0, |value, i| value * 10 + i128::from(digits.get(i).map_or(0, |d| d - b'0'))))
    }

    fn date(&mut self) -> Option<i128> {
        let sign = self.one_of(b"+-");
        let year = if sign.is_some() { self.digits(4, 12)? } else { self.digits(4, 4)? };
        let year = if sign == Some(b'-') { -year } else { year };
        self.one_of(b"-")?;
        let month = self.two(12).filter(|m| *m >= 1)?;
        self.one_of(b"-")?;
        let day = self.two(days_of_month(year, month)).filter(|d| *d >= 1)?;
        Some(days_from_date(year, month, day))
    }

    fn time(&mut self) -> Option<i128> {
        let hours = self.two(23)?;
        self.one_of(b":")?;
        let minutes = self.two(59)?;
        let (mut seconds, mut fraction) = (0, 0);
        if self.one_of(b":").is_some() {
            seconds = self.two(59)?;
            fraction = self.fraction()?;
        }
        Some(i128::from(hours * 3600 + minutes * 60 + seconds) * NANOS + fraction)
    }

    /// Parses an optional UTC offset to nanoseconds.
    #[expect(clippy::option_option, reason = "no offset is something else than a bad one")]
    fn offset(&mut self) -> Option<Option<i128>> {
        if self.0.is_empty() {
            return Some(None);
        }
        if self.one_of(b"Zz").is_some() {
            return Some(Some(0));
        }
        let sign = self.one_of(b"+-")?;
        let hours = self.two(23)?;
        let minutes = match self.one_of(b":") {
            _ if self.0.is_empty() => 0,
            _ => self.two(59)?,
        };
        let nanos = i128::from(hours * 3600 + minutes * 60) * NANOS;
        Some(Some(if sign == b'-' { -nanos } else { nanos }))
    }
}

/// The offset of a time zone with a fixed offset: `UTC`, `Z`, `+02:00`.
pub fn fixed_offset(zone: &str) -> Option<i128> {
    match zone {
        "UTC" | "Etc/UTC" | "GMT" => Some(0),
        other => {
            let mut text = Text(other.as_bytes());
            text.offset()?.filter(|_| text.0.is_empty())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back() {
        let day = DAY_SECONDS * NANOS;
        let split = |nanos: i128| ((nanos.div_euclid(NANOS)) as i64, nanos.rem_euclid(NANOS) as u64);
        let text = |write: &dyn Fn(&mut String) -> Option<()>| {
            let mut out = String::new();
            write(&mut out).map_or_else(|| Err(out.clone()), |()| Ok(out.clone()))
        };
        for nanos in [0, 1, -1, 999_000, NANOS - 1, -day, day * 365, 1_706_704_200 * NANOS + 5_000_000, -day * 800_000, day * 95_000_000] {
            let (seconds, fraction) = split(nanos);
            let found = text(&|out| write_datetime(seconds, fraction, out)).unwrap();
            assert_eq!(parse_datetime(&found), Some(Written { nanos, offset: None }), "{found}");
            let (size, rest) = split(nanos.abs());
            let mut duration = String::new();
            write_duration(nanos < 0, size.unsigned_abs(), rest, &mut duration);
            assert_eq!(parse_duration(&duration), Some(nanos), "{duration}");
            let of_day = seconds.rem_euclid(DAY_SECONDS as i64);
            assert_eq!(parse_time(&text(&|out| write_time(of_day, fraction, out)).unwrap()), Some(nanos.rem_euclid(day)));
        }
        for (seconds, expected) in [
            (951_782_400, Ok("2000-02-29T00:00:00")),
            (-719_528 * 86_400, Ok("0000-01-01T00:00:00")),
            (-719_529 * 86_400, Ok("-0001-12-31T00:00:00")),
            (253_402_300_800, Ok("+10000-01-01T00:00:00")),
            (8_210_235_340_799, Ok("+262141-12-31T23:59:59")),
            (8_210_235_340_800, Err("")),
            (i64::MAX, Err("")),
            (i64::MIN, Err("")),
        ] {
            let found = text(&|out| write_datetime(seconds, 0, out));
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{seconds}");
        }
        assert_eq!(text(&|out| write_time(-1, 0, out)), Err(String::new()));
    }

    #[test]
    fn only_what_is_meant_is_read() {
        for (text, nanos, offset) in [
            ("1970-01-02", DAY_SECONDS * NANOS, None),
            ("1970-01-01 00:01", 60 * NANOS, None),
            ("1970-01-01T00:00:00.000000001Z", 1, Some(0)),
            ("1970-01-01T00:00:00-01:30", 0, Some(-5_400 * NANOS)),
            ("1970-01-01T00:00:00+02", 0, Some(7_200 * NANOS)),
        ] {
            assert_eq!(parse_datetime(text), Some(Written { nanos, offset }), "{text}");
        }
        for text in [
            "",
            "1970",
            "1970-02-29",
            "1970-13-01",
            "1970-01-01T",
            "1970-01-01T24:00",
            "1970-01-01T00:00:00.",
            "70-01-01",
            "1970-01-01T00:00x",
        ] {
            assert_eq!(parse_datetime(text), None, "{text}");
        }
        for text in ["P", "PT", "P1H", "PT1D", "PT1.5H1S", "PT1S1M", "1S", "P1Y", "P1D1W"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(parse_duration("P1DT2H3M4.5S"), Some(93_784 * NANOS + NANOS / 2));
        assert_eq!(parse_duration("-P1W"), Some(-604_800 * NANOS));
        assert_eq!(parse_duration("PT1.5M"), Some(90 * NANOS));
        assert_eq!(fixed_offset("Europe/Berlin"), None);
        assert_eq!(fixed_offset("+02:00"), Some(7_200 * NANOS));
    }
}
