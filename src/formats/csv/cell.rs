//! The kinds of values in fields, recognized from their text: the rules of JSON, without quotes, and the spellings that
//! statistics programs, spreadsheets and people use. Numbers may be surrounded by spaces.

use crate::decimal::{float, integer};

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellKind {
    Bool,
    Integer,
    Float,
    /// `NaN`, `Infinity`, `-Infinity`, and fractions that are not JSON, such as `.5`, `5.` and `+0.5`: floats, unless the
    /// column contains text.
    Special,
    /// The spellings of C, Python, R and NumPy, such as `nan` and `-inf`: floats in a numeric column, otherwise text.
    Word,
    /// A short integer with a plus sign, such as `+1`: an integer among numbers, otherwise text, as in DuckDB.
    Signed,
    /// Digits that begin with a zero, such as `007`: text, and so are the integers of the column.
    Digits,
    /// `NA` and its variants: null in a column of numbers or booleans, otherwise text.
    Missing,
    Text,
}

/// The kinds, in declaration order.
pub const KINDS: [CellKind; 9] = [
    CellKind::Bool,
    CellKind::Integer,
    CellKind::Float,
    CellKind::Special,
    CellKind::Word,
    CellKind::Signed,
    CellKind::Digits,
    CellKind::Missing,
    CellKind::Text,
];

impl CellKind {
    /// The kind of a text.
    pub fn of(text: &[u8]) -> CellKind {
        if let [b' ' | b'\t', ..] | [.., b' ' | b'\t'] = text
            && is_number(text.trim_ascii())
        {
            return CellKind::of(text.trim_ascii());
        }
        match text.first() {
            Some(b'N' | b'I' | b'n' | b'i' | b'-' | b'+') if is_special(text) => CellKind::Special,
            Some(b'N' | b'I' | b'n' | b'i' | b'-' | b'+') if is_word(text) => CellKind::Word,
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') => match Spelling::of(text) {
                Spelling::Json if whole(text).is_some() => CellKind::Integer,
                Spelling::Json => CellKind::Float,
                Spelling::Loose => CellKind::Special,
                Spelling::Signed => CellKind::Signed,
                Spelling::Digits => CellKind::Digits,
                Spelling::None => CellKind::Text,
            },
            _ if boolean(text).is_some() => CellKind::Bool,
            _ if is_missing(text) => CellKind::Missing,
            _ => CellKind::Text,
        }
    }

    /// The name of its values in messages.
    pub fn plural(self) -> &'static str {
        match self {
            CellKind::Bool => "booleans",
            CellKind::Integer | CellKind::Float | CellKind::Special | CellKind::Signed => "numbers",
            CellKind::Word | CellKind::Digits | CellKind::Missing | CellKind::Text => "strings",
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

/// Words for a missing value in the files of R, pandas, spreadsheets and databases.
pub fn is_missing(text: &[u8]) -> bool {
    matches!(text, b"NA" | b"N/A" | b"n/a" | b"<NA>" | b"#N/A" | b"NULL" | b"null" | b"None")
}

/// Customary spellings of a missing value, in lower case: those of [`is_missing`], and of pandas, readr, DuckDB, MySQL, VCF and
/// SQL dumps.
const NULL_WORDS: [&str; 29] = [
    "na",
    "n/a",
    "n.a.",
    "<na>",
    "#n/a",
    "#na",
    "#n/a n/a",
    "null",
    "<null>",
    "(null)",
    "#null!",
    "none",
    "nil",
    "nan",
    "-nan",
    "nat",
    "missing",
    "undefined",
    "unknown",
    "tba",
    "tbd",
    "\\n",
    "-",
    "--",
    "---",
    ".",
    "..",
    "?",
    "",
];

/// Whether a text is a customary spelling of a missing value rather than a value, such as the chromosome `X`.
pub fn may_mean_null(text: &str) -> bool {
    NULL_WORDS.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// How a text writes a finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// As in JSON.
    Json,
    /// A fraction with a plus sign, or without digits before or after the point.
    Loose,
    /// A short integer with a plus sign. Phone numbers have at least seven digits.
    Signed,
    /// An integer without a sign that begins with a zero.
    Digits,
    /// Not at all.
    None,
}

impl Spelling {
    fn of(text: &[u8]) -> Spelling {
        let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
        let rest = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
        let whole = digits(rest);
        let is_padded = whole > 1 && rest.first() == Some(&b'0');
        let mut is_loose = whole == 0 || text.starts_with(b"+");
        let (mut rest, mut length) = (&rest[whole..], whole);
        let is_integer = rest.is_empty();
        if let Some(fraction) = rest.strip_prefix(b".") {
            let places = digits(fraction);
            is_loose |= places == 0;
            length += places;
            rest = &fraction[places..];
        }
        if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
            let exponent = exponent.strip_prefix(b"-").or_else(|| exponent.strip_prefix(b"+")).unwrap_or(exponent);
            rest = &exponent[digits(exponent)..];
            length = if exponent.is_empty() { 0 } else { length };
        }
        match () {
            _ if length == 0 || !rest.is_empty() => Spelling::None,
            _ if is_padded && is_integer && whole == text.len() => Spelling::Digits,
            _ if !is_padded && is_integer && text.starts_with(b"+") && (1..=6).contains(&whole) => Spelling::Signed,
            _ if is_padded || (is_loose && is_integer) => Spelling::None,
            _ if is_loose => Spelling::Loose,
            _ => Spelling::Json,
        }
    }
}

fn is_number(text: &[u8]) -> bool {
    matches!(Spelling::of(text), Spelling::Json | Spelling::Loose | Spelling::Signed)
}

/// Digits without the zeros before them: `007` as `7`. Other texts are unchanged.
pub fn unpadded(text: &[u8]) -> &[u8] {
    match text {
        [b'0', rest @ ..] if !rest.is_empty() && rest.iter().all(u8::is_ascii_digit) => {
            &text[rest.iter().position(|b| *b != b'0').map_or(rest.len(), |zeros| zeros + 1)..]
        }
        _ => text,
    }
}

/// The text of a number without the spaces around it and without a plus sign.
pub fn plain(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    match text {
        [b'+', unsigned @ ..] if unsigned.first().is_some_and(|b| b.is_ascii_digit() || *b == b'.') => unsigned,
        _ => text,
    }
}

/// Parses an integer of up to 64 bits, signed or unsigned.
pub fn whole(text: &[u8]) -> Option<i128> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || digits.len() > 20 || (digits.len() > 1 && digits[0] == b'0') || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = match digits.len() {
        ..=18 => i128::from(digits.iter().fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'))),
        _ => digits.iter().fold(0i128, |value, digit| value * 10 + i128::from(digit - b'0')),
    };
    let value = if digits.len() < text.len() { -value } else { value };
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(value)
}

/// The value of an integer of at most 18 digits, without spaces, a plus sign or zeros before it. [`whole`] takes the others.
#[inline]
pub fn short_integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.len() > 18 || !matches!(digits, [b'1'..=b'9', ..] | [b'0']) {
        return None;
    }
    integer(text).filter(|(_, length)| *length == text.len()).map(|(value, _)| value)
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
    fn kinds_of_texts() {
        for (text, kind) in [
            ("0", CellKind::Integer),
            ("-12", CellKind::Integer),
            ("18446744073709551615", CellKind::Integer),
            ("18446744073709551616", CellKind::Float),
            ("007", CellKind::Digits),
            ("00", CellKind::Digits),
            ("-007", CellKind::Text),
            ("00.5", CellKind::Text),
            ("0x1", CellKind::Text),
            ("-0.5", CellKind::Float),
            ("1e3", CellKind::Float),
            ("1.", CellKind::Special),
            (".5", CellKind::Special),
            ("-.5e-3", CellKind::Special),
            ("+1.5", CellKind::Special),
            ("1.e5", CellKind::Special),
            (".", CellKind::Text),
            (".e5", CellKind::Text),
            ("+", CellKind::Text),
            ("+1", CellKind::Signed),
            (" +123456", CellKind::Signed),
            ("+1234567", CellKind::Text),
            ("+007", CellKind::Text),
            ("1.2.3", CellKind::Text),
            ("1e+", CellKind::Text),
            ("1e", CellKind::Text),
            ("2024-01-02", CellKind::Text),
            ("NaN", CellKind::Special),
            ("-Infinity", CellKind::Special),
            ("nan", CellKind::Word),
            ("-inf", CellKind::Word),
            ("+Inf", CellKind::Word),
            ("nano", CellKind::Text),
            ("-", CellKind::Text),
            ("true", CellKind::Bool),
            ("False", CellKind::Bool),
            ("TRUE", CellKind::Bool),
            (" 1", CellKind::Integer),
            ("1.5  ", CellKind::Float),
            ("-8\t", CellKind::Integer),
            (" ", CellKind::Text),
            (" .5", CellKind::Special),
            (" x", CellKind::Text),
            (" 007", CellKind::Text),
            ("1 2", CellKind::Text),
            ("NA", CellKind::Missing),
            ("n/a", CellKind::Missing),
            ("Na", CellKind::Text),
            ("", CellKind::Text),
        ] {
            assert_eq!(CellKind::of(text.as_bytes()), kind, "{text}");
        }
    }

    #[test]
    fn numbers_are_parsed_in_every_spelling() {
        for (text, value) in [
            ("1.5", Some(1.5)),
            (" -.5 ", Some(-0.5)),
            ("5.", Some(5.0)),
            ("+5", Some(5.0)),
            ("+1.25e1", Some(12.5)),
            (".0", Some(0.0)),
            ("+inf", Some(f64::INFINITY)),
            ("1e999", None),
            (".1e999", None),
            ("007", None),
            ("NA", None),
            ("", None),
            ("--5", None),
            ("+-5", None),
        ] {
            assert_eq!(number(plain(text.as_bytes())), value, "{text}");
        }
        assert_eq!([" +5", "-5 ", "+-5", "05"].map(|text| whole(plain(text.as_bytes()))), [Some(5), Some(-5), None, None]);
    }
}
