//! Splits text into tokens.

use crate::expr::error::{ExprError, ExprResult};
use crate::expr::span::Span;
use crate::numerals::{with_quoted_dates, without_thousands, written_out};

/// A token and its span.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    Name(String),
    Quoted(String),
    Int(i128),
    Float(f64),
    Str(String),
    Bytes(Vec<u8>),
    /// An operator or a bracket.
    Op(&'static str),
    /// `;`, or the end of a line outside brackets.
    Separator,
    End,
}

/// Longest first, so that `**` is not two `*`.
const OPERATORS: [&str; 45] = [
    "**=", "//=", "<<=", ">>=", "...", "**", "//", "==", "!=", "<=", ">=", "<<", ">>", ":=", "->", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", "+", "-", "*", "/", "%", "@", "&", "|", "^", "~", "<", ">", "=", "(", ")", "[", "]", "{", "}", ",", ":", ".",
];

/// The error for a character that starts no token.
fn unexpected(text: &str, at: usize) -> ExprError {
    let rest = text.get(at..).unwrap_or_default();
    let c = rest.chars().next().unwrap_or(' ');
    let error = ExprError::at(at..at + c.len_utf8(), format!("unexpected character `{}`", c.escape_debug()));
    let help = match c {
        '!' => "write `not x` or `x != y`",
        '$' => "write fields without `$`, and in backquotes if the name is not an identifier",
        '?' if rest.starts_with("??") => "to replace nulls: fill_null(x, value)",
        '?' => "write where(condition, x, y); put a name with such a character in backquotes",
        '“' | '”' | '‘' | '’' => "use straight quotes: \" or '",
        '−' | '–' => "write -",
        '×' | '·' => "write *",
        '÷' => "write /",
        '≤' => "write <=",
        '≥' => "write >=",
        '≠' => "write !=",
        c if c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}') => {
            "this looks like a space but is a different character; replace it with an ordinary space"
        }
        _ => return error,
    };
    error.help(help)
}

/// All tokens of the text, the last one [`TokenKind::End`].
///
/// # Errors
/// A character that cannot start a token, an unclosed string or backquote, a bad escape, or a number that no type can
/// hold.
pub fn tokens(text: &str) -> ExprResult<Vec<Token>> {
    let bytes = text.as_bytes();
    let (mut at, mut out, mut open) = (0, Vec::new(), 0usize);
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b'\n' if open > 0 => {
                at += 1;
                continue;
            }
            b'\n' | b';' => {
                at += 1;
                TokenKind::Separator
            }
            b'#' => {
                at += bytes[at..].iter().take_while(|b| **b != b'\n').count();
                continue;
            }
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => {
                at += 2;
                continue;
            }
            b'`' => TokenKind::Quoted(quoted_name(text, &mut at)?),
            b'"' | b'\'' => string(text, &mut at, start, Prefix::None)?,
            b'0'..=b'9' => number(text, &mut at)?,
            b'.' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => number(text, &mut at)?,
            _ => {
                let name_end =
                    text[at..].char_indices().find(|(_, c)| !(c.is_alphanumeric() || *c == '_')).map_or(text.len(), |(i, _)| at + i);
                if name_end > at {
                    let name = &text[at..name_end];
                    at = name_end;
                    match (prefix(name), bytes.get(at)) {
                        (Some(prefix), Some(b'"' | b'\'')) => string(text, &mut at, start, prefix)?,
                        _ => TokenKind::Name(name.to_owned()),
                    }
                } else {
                    let Some(op) = OPERATORS.iter().find(|op| text[at..].starts_with(**op)) else {
                        return Err(unexpected(text, at));
                    };
                    at += op.len();
                    match *op {
                        "(" | "[" | "{" => open += 1,
                        ")" | "]" | "}" => open = open.saturating_sub(1),
                        _ => {}
                    }
                    TokenKind::Op(op)
                }
            }
        };
        out.push(Token { kind, span: start..at });
    }
    out.push(Token { kind: TokenKind::End, span: text.len()..text.len() });
    Ok(out)
}

fn quoted_name(text: &str, at: &mut usize) -> ExprResult<String> {
    let start = *at;
    let mut name = String::new();
    loop {
        *at += 1;
        let Some(end) = text[*at..].find('`') else {
            return Err(ExprError::at(start..text.len(), "unterminated backquoted name"));
        };
        name.push_str(&text[*at..*at + end]);
        *at += end + 1;
        // A backquote inside a name is doubled; two backquotes are the empty name.
        if text.as_bytes().get(*at) != Some(&b'`') || (name.is_empty() && end == 0) {
            return Ok(name);
        }
        name.push('`');
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Prefix {
    None,
    Raw,
    Bytes,
    RawBytes,
}

fn prefix(name: &str) -> Option<Prefix> {
    match name.to_ascii_lowercase().as_str() {
        "r" => Some(Prefix::Raw),
        "b" => Some(Prefix::Bytes),
        "rb" | "br" => Some(Prefix::RawBytes),
        "u" => Some(Prefix::None),
        _ => None,
    }
}

/// The contents of a string, as far as they have been read.
struct StringContents {
    bytes: Vec<u8>,
    /// Whether an escape stands for a byte rather than a character.
    is_bytes: bool,
    /// The first half of a surrogate pair.
    high: Option<u32>,
}

impl StringContents {
    /// Reads an escape, whose backslash is at `at`. `start`: that of the string.
    fn escape(&mut self, text: &str, at: &mut usize, start: usize) -> ExprResult<()> {
        let bytes = text.as_bytes();
        let escape = *at;
        *at += 1;
        let c = bytes.get(*at).copied().unwrap_or(0);
        *at += 1;
        match c {
            b'n' => self.bytes.push(b'\n'),
            b't' => self.bytes.push(b'\t'),
            b'r' => self.bytes.push(b'\r'),
            b'0'..=b'7' => {
                let more = bytes[*at..].iter().take(2).take_while(|b| (b'0'..=b'7').contains(b)).count();
                let code = bytes[*at - 1..*at + more].iter().fold(0, |code, b| code * 8 + u32::from(b - b'0'));
                *at += more;
                self.push(code, escape..*at)?;
            }
            b'a' => self.bytes.push(7),
            b'b' => self.bytes.push(8),
            b'f' => self.bytes.push(12),
            b'v' => self.bytes.push(11),
            b'\\' | b'\'' | b'"' | b'/' => self.bytes.push(c),
            b'\n' => {}
            b'x' => {
                let code = hex(text, at, 2).ok_or_else(|| ExprError::at(escape..*at, "\\x must be followed by two hexadecimal digits"))?;
                self.push(code, escape..*at)?;
            }
            b'u' | b'U' if !self.is_bytes => {
                let digits = if c == b'u' { 4 } else { 8 };
                let code = hex(text, at, digits).ok_or_else(|| {
                    let message = format!("\\{} must be followed by {digits} hexadecimal digits", c as char);
                    ExprError::at(escape..(*at).min(text.len()), message)
                })?;
                match (self.high.take(), code) {
                    (Some(h), 0xdc00..=0xdfff) => self.push(0x10000 + ((h - 0xd800) << 10) + (code - 0xdc00), escape..*at)?,
                    (Some(_), _) => return Err(lone(start, *at)),
                    (None, 0xd800..=0xdbff) => self.high = Some(code),
                    (None, _) => self.push(code, escape..*at)?,
                }
            }
            _ => {
                let end = text[escape + 1..].chars().next().map_or(escape + 1, |c| escape + 1 + c.len_utf8());
                return Err(ExprError::at(escape..end, "unknown escape in a string")
                    .help("write a backslash as \\\\; in r\"...\", backslashes are literal"));
            }
        }
        Ok(())
    }

    /// Adds a byte or a character. `span`: that of its escape.
    fn push(&mut self, code: u32, span: Span) -> ExprResult<()> {
        if self.is_bytes {
            self.bytes.push(code as u8);
            return Ok(());
        }
        let c = char::from_u32(code).ok_or_else(|| ExprError::at(span, "not a Unicode character"))?;
        self.bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }
}

fn string(text: &str, at: &mut usize, start: usize, prefix: Prefix) -> ExprResult<TokenKind> {
    let bytes = text.as_bytes();
    let quote = bytes[*at];
    let is_bytes = matches!(prefix, Prefix::Bytes | Prefix::RawBytes);
    let raw = matches!(prefix, Prefix::Raw | Prefix::RawBytes);
    let mut contents = StringContents { bytes: Vec::new(), is_bytes, high: None };
    // Three quotes enclose text of several lines.
    let close = if bytes[*at..].starts_with(&[quote; 3]) { 3 } else { 1 };
    *at += close;
    let missing =
        |end: usize, place| ExprError::at(start..end, format!("missing closing `{}`{place}", char::from(quote).to_string().repeat(close)));
    loop {
        let Some(&byte) = bytes.get(*at) else {
            return Err(missing(text.len(), ""));
        };
        if contents.high.is_some() && !(byte == b'\\' && bytes.get(*at + 1) == Some(&b'u')) {
            return Err(lone(start, *at));
        }
        match byte {
            b'\\' if !raw => contents.escape(text, at, start)?,
            b if b == quote && (close == 1 || bytes[*at..].starts_with(&[quote; 3])) => {
                *at += close;
                break;
            }
            b'\n' if close == 1 => return Err(missing(*at, " at the end of the line")),
            _ => {
                let c = text[*at..].chars().next().unwrap_or(' ');
                if is_bytes && !c.is_ascii() {
                    return Err(ExprError::at(*at..*at + c.len_utf8(), "b\"...\" can contain only ASCII characters and escapes")
                        .help(format!("write {}", escaped(c))));
                }
                contents.bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                *at += c.len_utf8();
            }
        }
    }
    if is_bytes {
        return Ok(TokenKind::Bytes(contents.bytes));
    }
    String::from_utf8(contents.bytes).map(TokenKind::Str).map_err(|_| ExprError::at(start..*at, "the string is not valid UTF-8"))
}

fn escaped(c: char) -> String {
    c.encode_utf8(&mut [0; 4]).bytes().map(|b| format!("\\x{b:02x}")).collect()
}

fn lone(start: usize, end: usize) -> ExprError {
    ExprError::at(start..end, "a lone surrogate is not a character")
}

fn hex(text: &str, at: &mut usize, digits: usize) -> Option<u32> {
    let found = text.get(*at..*at + digits)?;
    if !found.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    *at += digits;
    u32::from_str_radix(found, 16).ok()
}

fn number(text: &str, at: &mut usize) -> ExprResult<TokenKind> {
    let bytes = text.as_bytes();
    let start = *at;
    let rest = &bytes[start..];
    let radix = match (rest.first(), rest.get(1)) {
        (Some(b'0'), Some(b'x' | b'X')) => Some(16),
        (Some(b'0'), Some(b'b' | b'B')) => Some(2),
        (Some(b'0'), Some(b'o' | b'O')) => Some(8),
        _ => None,
    };
    let mut end = start;
    if radix.is_some() {
        end += 2;
        while bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            end += 1;
        }
    } else {
        let mut last = 0u8;
        while let Some(&b) = bytes.get(end) {
            let exponent_sign = (b == b'+' || b == b'-') && (last == b'e' || last == b'E');
            if !(b.is_ascii_alphanumeric() || b == b'.' || b == b'_' || exponent_sign) {
                break;
            }
            last = b;
            end += 1;
        }
    }
    *at = end;
    let written = &text[start..end];
    let digits = written.replace('_', "");
    let bad = || {
        let error = ExprError::at(start..end, format!("`{written}` is not a number"));
        match written_out(written) {
            Some(number) => error.meant("write the number out:", format!("{}{number}{}", &text[..start], &text[end..])),
            None => error,
        }
    };
    if let Some(radix) = radix {
        return i128::from_str_radix(&digits[2..], radix).map(TokenKind::Int).map_err(|_| bad());
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        // In C, it would be octal.
        if digits.starts_with('0') && digits.bytes().any(|b| b != b'0') {
            let error = ExprError::at(start..end, "a number cannot start with 0 followed by other digits");
            return Err(match (with_quoted_dates(text), without_thousands(text)) {
                (Some(quoted), _) => error.meant("a date needs quotes:", quoted),
                (None, Some(whole)) => error.meant("numbers have no thousands separators:", whole),
                (None, None) => error,
            });
        }
        let value: i128 = digits.parse().map_err(|_| too_big(start..end))?;
        if value > i128::from(u64::MAX) {
            return Err(too_big(start..end));
        }
        return Ok(TokenKind::Int(value));
    }
    if digits.ends_with(['j', 'J']) && digits[..digits.len() - 1].parse::<f64>().is_ok() {
        return Err(ExprError::at(start..end, "complex numbers are not supported"));
    }
    if digits.bytes().any(|b| !(b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'))) {
        return Err(bad());
    }
    let value: f64 = digits.parse().map_err(|_| bad())?;
    if value.is_infinite() {
        return Err(ExprError::at(start..end, "the number is out of range for float64").help("write infinity as math.inf"));
    }
    Ok(TokenKind::Float(value))
}

fn too_big(span: Span) -> ExprError {
    ExprError::at(span, "the integer does not fit in 64 bits").help("write a float: 1e20")
}
