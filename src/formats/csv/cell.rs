//! The kinds of values in fields, recognized from their text: the rules of JSON, without quotes.

use crate::formats::decimal::float;

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Bool,
    Integer,
    Float,
    /// `NaN`, `Infinity` and `-Infinity`: floats, unless the column contains text.
    Special,
    /// The spellings of C, Python, R and NumPy, such as `nan` and `-inf`: floats in a numeric column, otherwise text.
    Word,
    Text,
}

/// The kinds, in declaration order.
pub const KINDS: [Kind; 6] = [Kind::Bool, Kind::Integer, Kind::Float, Kind::Special, Kind::Word, Kind::Text];

impl Kind {
    /// The kind of a text.
    pub fn of(text: &[u8]) -> Kind {
        match text.first() {
            Some(b'N' | b'I' | b'n' | b'i' | b'-' | b'+') if is_special(text) => Kind::Special,
            Some(b'N' | b'I' | b'n' | b'i' | b'-' | b'+') if is_word(text) => Kind::Word,
            Some(b'0'..=b'9' | b'-') => match (whole(text), is_number(text)) {
                (Some(_), _) => Kind::Integer,
                (None, true) => Kind::Float,
                _ => Kind::Text,
            },
            _ if boolean(text).is_some() => Kind::Bool,
            _ => Kind::Text,
        }
    }

    /// The name of its values in messages.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Bool => "booleans",
            Kind::Integer | Kind::Float | Kind::Special => "numbers",
            Kind::Word | Kind::Text => "strings",
        }
    }
}

/// `true` and `false`, also as in Python, and in capitals as in R and spreadsheets.
pub fn boolean(text: &[u8]) -> Option<bool> {
    match text {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

fn is_special(text: &[u8]) -> bool {
    matches!(text, b"NaN" | b"Infinity" | b"-Infinity")
}

/// A non-finite number, in any spelling.
fn is_word(text: &[u8]) -> bool {
    let word = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    ["nan", "inf", "infinity"].iter().any(|other| word.eq_ignore_ascii_case(other.as_bytes()))
}

/// Whether a text is a finite number in JSON syntax.
fn is_number(text: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.first() == Some(&b'0')) {
        return false;
    }
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let exponent = exponent.strip_prefix(b"-").or_else(|| exponent.strip_prefix(b"+")).unwrap_or(exponent);
        return digits(exponent) > 0 && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

/// Parses an integer of up to 64 bits, signed or unsigned.
pub fn whole(text: &[u8]) -> Option<i128> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || digits.len() > 20 || (digits.len() > 1 && digits[0] == b'0') || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0i128, |value, digit| value * 10 + i128::from(digit - b'0'));
    let value = if digits.len() < text.len() { -value } else { value };
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(value)
}

/// Parses a float.
pub fn number(text: &[u8]) -> Option<f64> {
    if !is_number(text) && !is_word(text) {
        return None;
    }
    float(text, |_| false).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_json() {
        for (text, kind) in [
            ("0", Kind::Integer),
            ("-12", Kind::Integer),
            ("18446744073709551615", Kind::Integer),
            ("18446744073709551616", Kind::Float),
            ("007", Kind::Text),
            ("-0.5", Kind::Float),
            ("1e3", Kind::Float),
            ("1.", Kind::Text),
            (".5", Kind::Text),
            ("+1", Kind::Text),
            ("1e", Kind::Text),
            ("2024-01-02", Kind::Text),
            ("NaN", Kind::Special),
            ("-Infinity", Kind::Special),
            ("nan", Kind::Word),
            ("-inf", Kind::Word),
            ("+Inf", Kind::Word),
            ("nano", Kind::Text),
            ("-", Kind::Text),
            ("true", Kind::Bool),
            ("False", Kind::Bool),
            ("TRUE", Kind::Bool),
            (" 1", Kind::Text),
            ("", Kind::Text),
        ] {
            assert_eq!(Kind::of(text.as_bytes()), kind, "{text}");
        }
    }
}
