//! Numbers and dates as people write them elsewhere, rewritten as the literals of expressions and options.

use crate::quotes::{Piece, QUOTES};

/// The integer for one with a unit, an exponent or separators, such as `10k`, `1GB`, `1e3` and `1,000`; `None` for anything
/// else.
///
/// ```
/// use tatter::numerals::written_out;
/// assert_eq!(["10k", "1.5M", "2GiB", "1e3", "1,000", "1_000"].map(|n| written_out(n).unwrap()),
///     ["10000", "1500000", "2147483648", "1000", "1000", "1000"]);
/// assert_eq!(["10", "10s", "k", "1.5", "x1k", "1,00", "1.0001k"].map(written_out), [const { None }; 7]);
/// ```
pub fn written_out(text: &str) -> Option<String> {
    let digits = text.replace('_', "");
    let digits = without_thousands(&digits).unwrap_or(digits);
    if let Some(n) = digits.parse::<u64>().ok().filter(|_| digits.len() < text.len()) {
        return Some(n.to_string());
    }
    let unit = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "k" | "kb" => 1000,
        "kib" => 1 << 10,
        // A single `m` may be a minute or a month.
        "m" if unit == "m" => return None,
        "m" | "mb" => 1_000_000,
        "mib" => 1 << 20,
        "g" | "gb" => 1_000_000_000,
        "gib" => 1 << 30,
        _ if unit.len() > 1 && unit.starts_with(['e', 'E']) => return whole(digits.parse().ok()?),
        _ => return None,
    };
    whole(digits[..digits.len() - unit.len()].parse::<f64>().ok()? * factor as f64)
}

fn whole(number: f64) -> Option<String> {
    (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then(|| (number as u64).to_string())
}

/// The fraction for a percentage, such as `0.1` for `10%`.
pub fn fraction(text: &str) -> Option<String> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    // A share such as 99.9% is not exact in binary.
    percent.is_finite().then(|| ((percent * 1e10).round() / 1e12).to_string())
}

/// What the commas of a number can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comma {
    /// They separate thousands: `1,234.5`.
    Thousands,
    /// It is the decimal point: `1,5`.
    Decimal,
    /// It is the decimal point, and dots separate thousands: `1.234,5`.
    DecimalAfterDots,
}

impl Comma {
    /// What the commas of a number can be; nothing if it has none, or is no number. `1,234` can be either.
    ///
    /// ```
    /// use tatter::numerals::Comma::{self, Decimal, DecimalAfterDots, Thousands};
    /// assert_eq!(Comma::readings("1,234"), [Thousands, Decimal]);
    /// assert_eq!(["-1,234.5", "1,234,567"].map(Comma::readings), [[Thousands]; 2]);
    /// assert_eq!([" 1,5", "1234,567", "0,25"].map(Comma::readings), [[Decimal]; 3]);
    /// assert_eq!(Comma::readings("1.234,5"), [DecimalAfterDots]);
    /// assert!(["1", "1.5", "a,b", "1,", ",5,5", "1,5,7"].iter().all(|text| Comma::readings(text).is_empty()));
    /// ```
    pub fn readings(text: &str) -> Vec<Comma> {
        let number = text.trim().trim_start_matches(['+', '-']);
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let in_groups = |text: &str, separator: char| {
            let mut groups = text.split(separator);
            let first = groups.next().is_some_and(|first| first.len() <= 3 && is_digits(first));
            first && text.contains(separator) && groups.all(|group| group.len() == 3 && is_digits(group))
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let mut readings = Vec::new();
        if in_groups(whole, ',') && is_digits(fraction) {
            readings.push(Comma::Thousands);
        }
        match number.split_once(',') {
            Some((whole, fraction)) if is_digits(fraction) && is_digits(whole) => readings.push(Comma::Decimal),
            Some((whole, fraction)) if is_digits(fraction) && in_groups(whole, '.') => readings.push(Comma::DecimalAfterDots),
            _ => {}
        }
        readings
    }

    /// What to do about them.
    pub fn remedy(self) -> &'static str {
        match self {
            Comma::Thousands => "to remove commas between thousands",
            Comma::Decimal | Comma::DecimalAfterDots => "to read decimal commas",
        }
    }

    /// The expression for the strings `x` without them. It leaves other commas, which are no numbers then.
    pub fn replaced(self, x: &str) -> String {
        let without_dots = format!("strings.regex_replace({x}, \"[.]\", \"\")");
        match self {
            Comma::Thousands => format!("strings.regex_replace({x}, \",([0-9]{{3}})\\\\b\", \"\\\\1\")"),
            Comma::Decimal => format!("strings.regex_replace({x}, \",\", \".\")"),
            Comma::DecimalAfterDots => format!("strings.regex_replace({without_dots}, \",\", \".\")"),
        }
    }
}

/// The text with the separators removed from numbers such as `30,000`, outside of strings; `None` if there are none.
pub fn without_thousands(text: &str) -> Option<String> {
    rewritten(text, |word| {
        let groups: Vec<&str> = word.split(',').collect();
        let [first, rest @ ..] = groups.as_slice() else { return None };
        let is_digits = |group: &str| group.bytes().all(|b| b.is_ascii_digit());
        let are_groups = (1..=3).contains(&first.len()) && !rest.is_empty() && rest.iter().all(|group| group.len() == 3);
        (are_groups && groups.iter().all(|group| is_digits(group))).then(|| groups.concat())
    })
}

/// The text with quotes around dates such as `2024-05-15` that are not in a string; `None` if there are none.
pub fn with_quoted_dates(text: &str) -> Option<String> {
    rewritten(text, |word| is_date(word).then(|| format!("\"{word}\"")))
}

/// Whether a text is a date such as `2024-05-15`, with or without a time.
pub fn is_date(text: &str) -> bool {
    let (date, time) = text.split_once('T').map_or((text, None), |(date, time)| (date, Some(time)));
    let is_time = |time: &str| time.len() >= 5 && time.bytes().all(|b| b.is_ascii_digit() || b":.+-Z".contains(&b));
    let lengths: Vec<usize> = date.split('-').map(str::len).collect();
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    matches!(lengths.as_slice(), [4, 1..=2, 1..=2]) && date.split('-').all(is_number) && time.is_none_or(is_time)
}

/// The text with the numbers that `rewrite` knows replaced. A number starts with a digit that does not continue a name, and
/// extends over the signs and separators that can be part of it.
fn rewritten(text: &str, rewrite: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || "_.,:-".contains(c);
    let (mut out, mut rest, mut found) = (String::new(), text, false);
    while let Some(piece) = Piece::first(rest, QUOTES) {
        let length = match piece {
            Piece::Other(c) if c.is_ascii_digit() && !out.ends_with(|c: char| c.is_alphanumeric() || "_.`".contains(c)) => {
                let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
                match rewrite(word) {
                    Some(meant) => {
                        out.push_str(&meant);
                        found = true;
                        rest = &rest[word.len()..];
                        continue;
                    }
                    None => word.len(),
                }
            }
            piece => piece.nbytes(),
        };
        let (kept, after) = rest.split_at(length);
        out.push_str(kept);
        rest = after;
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::{fraction, with_quoted_dates, without_thousands};

    #[test]
    fn numbers_and_dates_are_rewritten_outside_of_strings() {
        for (text, expected) in [
            ("age > 30,000", Some("age > 30000")),
            ("x == 1,000,000 and y < 2,000", Some("x == 1000000 and y < 2000")),
            ("x == \"1,000\"", None),
            ("[1, 200]", None),
            ("x1,000", None),
            ("1,00", None),
            ("1.5,000", None),
        ] {
            assert_eq!(without_thousands(text).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("date > 2024-05-15", Some("date > \"2024-05-15\"")),
            ("2024-5-1 <= t < 2024-05-15T10:00:00Z", Some("\"2024-5-1\" <= t < \"2024-05-15T10:00:00Z\"")),
            ("t > \"2024-05-15\"", None),
            ("x - 2024-05", None),
            ("2024-05-15-1", None),
        ] {
            assert_eq!(with_quoted_dates(text).as_deref(), expected, "{text}");
        }
        assert_eq!(["10%", "99.9%", "0.5 %", "10"].map(fraction), [Some("0.1".into()), Some("0.999".into()), Some("0.005".into()), None]);
    }
}
