//! Literals: numbers, `"text"`, `b"bytes"`, `True`, `None`, lists. Parsed and printed by the same rules.
//!
//! Semantics: Python's literals with JSON's escapes, and `NaN` and `Infinity` as printed by Python's JSON
//! writer.

use super::cursor::Cursor;
use super::{DType, Literal, Type};
use crate::error::{Message, Result, mismatch};
use crate::printable::is_hidden;
use std::fmt;

/// Parses the text of a literal: a number, `"text"`, `b"bytes"`, `True`, `None`, a list.
///
/// ```
/// use tatter::schema::{Literal, literal::parse_literal};
/// assert_eq!(parse_literal("[1, 2]")?, Literal::List(vec![Literal::Int(1), Literal::Int(2)]));
/// assert_eq!(parse_literal("b'\\xff'")?.to_string(), "b\"\\xff\"");
/// # Ok::<(), tatter::error::Error>(())
/// ```
///
/// # Errors
/// A usage error that shows the position.
pub fn parse_literal(text: &str) -> Result<Literal> {
    let mut cursor = Cursor::new(text.trim());
    let literal = literal(&mut cursor)?;
    if !cursor.at_end() {
        return Err(cursor.unexpected("nothing after the literal"));
    }
    Ok(literal)
}

/// Parses a literal for values of `dtype`. For strings and bytes, unquoted text is taken verbatim, so that `--default
/// name=unknown` needs no quotes.
///
/// # Errors
/// See [`parse_literal`].
pub fn parse_literal_for(text: &str, dtype: Option<&DType>) -> Result<Literal> {
    let quoted = text.trim_start().starts_with(['"', '\'', '[']) || text.starts_with("b\"") || text.starts_with("b'");
    match dtype {
        Some(DType::String | DType::Bytes | DType::Json) if !quoted => Ok(Literal::String(text.to_owned())),
        _ => Ok(parse_literal(text)?.with_names_of_floats(dtype)),
    }
}

impl Literal {
    /// Converts `"NaN"`, `"Infinity"` and `"-Infinity"` to floats, as in JSON Lines, if `dtype` is a float.
    pub fn with_names_of_floats(self, dtype: Option<&DType>) -> Literal {
        if !dtype.is_some_and(DType::is_float) {
            return self;
        }
        match self {
            Literal::List(items) => Literal::List(items.into_iter().map(|item| item.with_names_of_floats(dtype)).collect()),
            Literal::String(name) => match name.as_str() {
                "NaN" => Literal::Float(f64::NAN),
                "Infinity" => Literal::Float(f64::INFINITY),
                "-Infinity" => Literal::Float(f64::NEG_INFINITY),
                _ => Literal::String(name),
            },
            other => other,
        }
    }

    /// Whether the literal can be read as a value of this type: a scalar fills every value of a tensor, a list must
    /// have its shape. The error is phrased as the end of a sentence.
    pub fn misfit(&self, ty: &Type) -> Option<String> {
        let Some(dtype) = ty.dtype().filter(|_| !ty.is_sparse()) else {
            return Some("only scalars and tensors have a default".to_owned());
        };
        self.misfit_at(dtype, ty.rank())
    }

    fn misfit_at(&self, dtype: &DType, rank: usize) -> Option<String> {
        let fits = match (self, dtype) {
            (Literal::List(items), _) if rank > 0 => return items.iter().find_map(|item| item.misfit_at(dtype, rank - 1)),
            (Literal::Bool(_), DType::Bool) => true,
            (Literal::Float(x), _) if dtype.is_float() => {
                if !dtype.holds_float(*x) {
                    return Some(format!("{self} is out of range for {dtype}"));
                }
                true
            }
            (Literal::Int(n), _) if dtype.is_integer() => {
                let (least, most) = dtype.integer_range();
                if !(least..=most).contains(n) {
                    return Some(format!("{n} is out of range for {dtype}: {least} to {most}"));
                }
                true
            }
            (Literal::Int(n), _) if dtype.is_float() => {
                if !dtype.holds_integer(*n) {
                    return Some(format!("{dtype} cannot represent {n} exactly"));
                }
                true
            }
            (Literal::String(_), DType::String | DType::Bytes | DType::Json) | (Literal::Bytes(_), DType::Bytes) => true,
            _ => false,
        };
        let what = match self {
            Literal::None => "None",
            Literal::Bool(_) => "a bool",
            Literal::Int(_) => "an integer",
            Literal::Float(_) => "a float",
            Literal::String(_) => "a string",
            Literal::Bytes(_) => "bytes",
            Literal::List(_) => "a list",
        };
        (!fits).then(|| format!("{self} is {what}, but the field is {dtype}"))
    }
}

impl DType {
    /// The smallest and largest value of an integer dtype; `(0, 0)` for others.
    pub fn integer_range(&self) -> (i128, i128) {
        match self {
            DType::Int8 => (i8::MIN.into(), i8::MAX.into()),
            DType::Int16 => (i16::MIN.into(), i16::MAX.into()),
            DType::Int32 => (i32::MIN.into(), i32::MAX.into()),
            DType::Int64 => (i64::MIN.into(), i64::MAX.into()),
            DType::UInt8 => (0, u8::MAX.into()),
            DType::UInt16 => (0, u16::MAX.into()),
            DType::UInt32 => (0, u32::MAX.into()),
            DType::UInt64 => (0, u64::MAX.into()),
            _ => (0, 0),
        }
    }

    /// Whether the dtype represents the integer exactly.
    pub fn holds_integer(&self, n: i128) -> bool {
        match self {
            DType::Float16 => n.unsigned_abs() <= 1 << 11,
            DType::Float32 => n == n as f32 as i128,
            DType::Float64 => n == n as f64 as i128,
            _ => self.is_integer() && (self.integer_range().0..=self.integer_range().1).contains(&n),
        }
    }

    /// Whether the number is in the range of a float dtype, which may round it.
    pub fn holds_float(&self, x: f64) -> bool {
        match self {
            DType::Float16 => !x.is_finite() || half::f16::from_f64(x).is_finite(),
            DType::Float32 => !x.is_finite() || (x as f32).is_finite(),
            _ => *self == DType::Float64,
        }
    }
}

/// Parses one literal and stops after it.
pub(super) fn literal(cursor: &mut Cursor) -> Result<Literal> {
    let start = cursor.pos();
    if cursor.open('[')? {
        let mut items = Vec::new();
        while !cursor.close(']') {
            items.push(literal(cursor)?);
            if !cursor.eat(',') {
                cursor.expect_close(']', "`,` or `]`")?;
                break;
            }
        }
        return Ok(Literal::List(items));
    }
    let rest = cursor.rest();
    if rest.starts_with(['"', '\'']) {
        return text(cursor).map(Literal::String);
    }
    if rest.starts_with("b\"") || rest.starts_with("b'") {
        cursor.advance(1);
        return bytes(cursor).map(Literal::Bytes);
    }
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "+-._".contains(c))).unwrap_or(rest.len());
    let word = &rest[..end];
    let literal = match word {
        "None" | "null" => Literal::None,
        "True" | "true" => Literal::Bool(true),
        "False" | "false" => Literal::Bool(false),
        "NaN" | "nan" | "-NaN" | "-nan" => Literal::Float(f64::NAN),
        "Infinity" | "inf" | "+Infinity" | "+inf" => Literal::Float(f64::INFINITY),
        "-Infinity" | "-inf" => Literal::Float(f64::NEG_INFINITY),
        "" => return Err(cursor.unexpected("a literal")),
        _ => number(word).map_err(|message| {
            let error = cursor.fail(start, start + end, message);
            if word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                error.help(format!("write a string in quotes: \"{word}\""))
            } else {
                error
            }
        })?,
    };
    cursor.advance(end);
    Ok(literal)
}

/// A 64-bit integer, or the nearest float for a number with a decimal point or exponent.
fn number(word: &str) -> Result<Literal, Message> {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || digits.ends_with('_') {
        return Err(mismatch("a literal", format_args!("`{word}`")));
    }
    let plain = word.replace('_', "");
    if digits.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return match plain.parse::<i128>() {
            Ok(n) if n >= i64::MIN.into() && n <= u64::MAX.into() => Ok(Literal::Int(n)),
            _ => Err(format!("{word} does not fit in 64 bits").into()),
        };
    }
    match plain.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(Literal::Float(x)),
        Ok(_) => Err(format!("{word} is out of range for float64").into()),
        Err(_) => Err(format!("`{word}` is not a number").into()),
    }
}

/// `"text"` or `'text'`.
pub(super) fn text(cursor: &mut Cursor) -> Result<String> {
    let mut out = String::new();
    quoted(cursor, &mut |cursor, start, piece| {
        match piece {
            QuotedPiece::Char(c) | QuotedPiece::Byte(c) | QuotedPiece::Unicode(c) => out.push(c),
            // `quoted` has joined surrogate pairs; a lone surrogate has no meaning.
            QuotedPiece::Surrogate => return Err(cursor.fail(start, cursor.end(), "an unpaired surrogate is not a character")),
        }
        Ok(())
    })?;
    Ok(out)
}

/// `"bytes"` after a `b`.
fn bytes(cursor: &mut Cursor) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    quoted(cursor, &mut |cursor, start, piece| {
        match piece {
            QuotedPiece::Char(c) if c.is_ascii() => out.push(c as u8),
            QuotedPiece::Byte(c) => out.push(c as u8),
            _ => {
                let error = cursor.fail(start, cursor.end(), "a bytes literal can contain only ASCII characters");
                return Err(error.help("write other bytes as \\x00 to \\xff"));
            }
        }
        Ok(())
    })?;
    Ok(out)
}

enum QuotedPiece {
    /// Verbatim.
    Char(char),
    /// A one-byte escape: a character below 256.
    Byte(char),
    /// `\u....`, which is invalid in bytes.
    Unicode(char),
    Surrogate,
}

/// Passes the characters of a quoted string to `push`, each with its position.
fn quoted(cursor: &mut Cursor, push: &mut dyn FnMut(&Cursor, usize, QuotedPiece) -> Result<()>) -> Result<()> {
    let open = cursor.pos();
    let Some(quote) = cursor.peek().filter(|c| *c == '"' || *c == '\'') else {
        return Err(cursor.unexpected("text in quotes"));
    };
    let body = &cursor.rest()[1..];
    cursor.advance(1);
    let base = open + 1;
    let mut i = 0;
    loop {
        let Some(c) = body[i..].chars().next() else {
            return Err(cursor.fail(open, open + 1, "this quote is not closed"));
        };
        let start = base + i;
        i += c.len_utf8();
        if c == quote {
            cursor.reset(base + i);
            return Ok(());
        }
        let piece = if c == '\\' {
            let (piece, length) = escape(&body[i..]).ok_or_else(|| {
                let end = start + 1 + body[i..].chars().next().map_or(0, char::len_utf8);
                cursor
                    .fail(start, end, "an unknown escape")
                    .help("the escapes are \\\" \\' \\\\ \\/ \\b \\f \\n \\r \\t \\xHH \\uHHHH \\UHHHHHHHH")
            })?;
            i += length;
            piece
        } else {
            QuotedPiece::Char(c)
        };
        cursor.reset(base + i);
        push(cursor, start, piece)?;
    }
}

/// The meaning of the text after a backslash, and its length in bytes.
fn escape(rest: &str) -> Option<(QuotedPiece, usize)> {
    let hex = |from: usize, digits: usize| {
        let text = rest.get(from..from + digits)?;
        text.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(text, 16).ok()).flatten()
    };
    let one = |c| Some((QuotedPiece::Byte(c), 1));
    match rest.chars().next()? {
        c @ ('"' | '\'' | '\\' | '/') => one(c),
        'b' => one('\u{8}'),
        'f' => one('\u{c}'),
        'n' => one('\n'),
        'r' => one('\r'),
        't' => one('\t'),
        'x' => Some((QuotedPiece::Byte(char::from_u32(hex(1, 2)?)?), 3)),
        'u' => {
            let high = hex(1, 4)?;
            if let Some(c) = char::from_u32(high) {
                return Some((QuotedPiece::Unicode(c), 5));
            }
            let low = if rest[5..].starts_with("\\u") { hex(7, 4) } else { None };
            match low {
                Some(low) if high < 0xDC00 && (0xDC00..0xE000).contains(&low) => {
                    Some((QuotedPiece::Unicode(char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))?), 11))
                }
                _ => Some((QuotedPiece::Surrogate, 5)),
            }
        }
        'U' => Some((QuotedPiece::Unicode(char::from_u32(hex(1, 8)?)?), 9)),
        _ => None,
    }
}

impl fmt::Display for Literal {
    /// Prints the literal so that [`parse_literal`] reads it back.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Literal::None => f.write_str("None"),
            Literal::Bool(true) => f.write_str("True"),
            Literal::Bool(false) => f.write_str("False"),
            Literal::Int(n) => write!(f, "{n}"),
            Literal::Float(x) if x.is_nan() => f.write_str("NaN"),
            Literal::Float(x) if x.is_infinite() => f.write_str(if *x > 0.0 { "Infinity" } else { "-Infinity" }),
            Literal::Float(x) => write!(f, "{x:?}"),
            Literal::String(text) => f.write_str(&quote(text)),
            Literal::Bytes(bytes) => {
                f.write_str("b\"")?;
                for b in bytes {
                    match b {
                        b'"' | b'\\' => write!(f, "\\{}", *b as char)?,
                        b' '..=b'~' => write!(f, "{}", *b as char)?,
                        _ => write!(f, "\\x{b:02x}")?,
                    }
                }
                f.write_str("\"")
            }
            Literal::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
        }
    }
}

/// A string in double quotes, with JSON's escapes.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read() {
        use Literal::*;
        let cases = [
            ("0", Int(0)),
            ("-7", Int(-7)),
            ("1_000", Int(1000)),
            ("18446744073709551615", Int(u64::MAX.into())),
            ("-9223372036854775808", Int(i64::MIN.into())),
            ("1.5", Float(1.5)),
            ("1e3", Float(1000.0)),
            (".5", Float(0.5)),
            ("2.", Float(2.0)),
            ("-0.0", Float(-0.0)),
            ("Infinity", Float(f64::INFINITY)),
            ("-Infinity", Float(f64::NEG_INFINITY)),
            ("True", Bool(true)),
            ("None", None),
            (r#""a\"b\\c\u00e9\ud83d\ude00\n""#, String("a\"b\\cé😀\n".into())),
            ("'it\\'s'", String("it's".into())),
            (r#"b"\x00\xffa\n""#, Bytes(vec![0, 255, b'a', b'\n'])),
            ("[]", List(vec![])),
            ("[1, [2.0, 'x'],]", List(vec![Int(1), List(vec![Float(2.0), String("x".into())])])),
        ];
        for (text, literal) in cases {
            assert_eq!(parse_literal(text).unwrap(), literal, "{text}");
        }
        assert!(matches!(parse_literal("NaN").unwrap(), Float(x) if x.is_nan()));
    }

    #[test]
    fn what_is_no_literal_is_shown() {
        let cases = [
            ("", "expected a literal, found the end"),
            ("abc", "expected a literal, found `abc`"),
            ("18446744073709551616", "18446744073709551616 does not fit in 64 bits"),
            ("1e999", "1e999 is out of range for float64"),
            ("1.2.3", "`1.2.3` is not a number"),
            ("\"abc", "this quote is not closed"),
            ("\"\\q\"", "an unknown escape"),
            ("\"\\ud800\"", "an unpaired surrogate is not a character"),
            ("b\"é\"", "a bytes literal can contain only ASCII characters"),
            ("[1", "expected `,` or `]`, found the end"),
            ("1 2", "expected nothing after the literal, found `2`"),
        ];
        for (text, message) in cases {
            assert_eq!(parse_literal(text).unwrap_err().message(), message, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(parse_literal(&deep).unwrap_err().message(), "more than 128 levels of nesting");
    }

    #[test]
    fn bare_words_are_strings_where_strings_are_expected() {
        assert_eq!(parse_literal_for("unknown", Some(&DType::String)).unwrap(), Literal::String("unknown".into()));
        assert_eq!(parse_literal_for("0", Some(&DType::String)).unwrap(), Literal::String("0".into()));
        assert_eq!(parse_literal_for("\"a b\"", Some(&DType::String)).unwrap(), Literal::String("a b".into()));
        assert_eq!(parse_literal_for("[]", Some(&DType::String)).unwrap(), Literal::List(vec![]));
        assert!(parse_literal_for("unknown", Some(&DType::Int64)).is_err());
        let floats = parse_literal_for(r#"["-Infinity", 1.5]"#, Some(&DType::Float32)).unwrap();
        assert_eq!(floats, Literal::List(vec![Literal::Float(f64::NEG_INFINITY), Literal::Float(1.5)]));
    }
}
