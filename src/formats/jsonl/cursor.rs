//! A place in the text of some records, and the tokens found there. No value tree: who asks says
//! what is expected.
//!
//! Source of the meaning: RFC 8259; besides, the bare tokens `NaN`, `Infinity` and `-Infinity` that
//! Python writes. Nothing here recurses, and nothing reads beyond the end: there, the text reads as
//! a NUL, which no token holds.

use super::trouble::{Parse, Trouble};

/// Deepest nesting of lists and objects.
pub const MAX_DEPTH: usize = 128;

/// A place in a text.
#[derive(Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// A record must not go on in the next line.
    lines: bool,
}

/// A number's text, checked against the grammar.
#[derive(Clone, Copy)]
pub struct Number<'a> {
    pub text: &'a str,
    /// It has no fraction and no exponent.
    pub integer: bool,
}

impl Number<'_> {
    /// The integer, if 64 bits hold it, signed or unsigned.
    pub fn as_integer(&self) -> Option<i128> {
        if !self.integer {
            return None;
        }
        let value: i128 = self.text.parse().ok()?;
        (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(value)
    }

    /// The nearest float; `None` beyond the largest.
    pub fn as_f64(&self) -> Option<f64> {
        self.text.parse().ok().filter(|v: &f64| v.is_finite())
    }
}

/// Powers of ten that a float64 holds exactly.
const TENS: [f64; 23] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22];
const INT_TENS: [u64; 16] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 0, 0, 0, 0, 0, 0, 0];

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES * 0x80;

/// The high bit of each byte that is not a digit; exact in all bytes.
#[inline(always)]
fn not_digits(word: u64) -> u64 {
    let x = word ^ (ONES * b'0' as u64);
    (((x & !HIGHS) + ONES * 0x76) | x) & HIGHS
}

/// The high bit of the first byte that ends a run of plain characters: quote, backslash or control.
/// Bytes before it are clear; bytes behind it may be anything.
#[inline(always)]
pub fn specials(word: u64) -> u64 {
    let quotes = word ^ (ONES * b'"' as u64);
    let slashes = word ^ (ONES * b'\\' as u64);
    let quotes = quotes.wrapping_sub(ONES) & !quotes;
    let slashes = slashes.wrapping_sub(ONES) & !slashes;
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes | slashes | controls) & HIGHS
}

/// The number of eight digits, the first in the lowest byte; bytes may be 0 for leading zeros.
#[inline(always)]
fn eight_digits(word: u64) -> u64 {
    let x = (word & (ONES * 0x0F)).wrapping_mul(2561) >> 8;
    let x = (x & 0x00FF_00FF_00FF_00FF).wrapping_mul(6_553_601) >> 16;
    (x & 0x0000_FFFF_0000_FFFF).wrapping_mul(42_949_672_960_001) >> 32
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], pos: usize, lines: bool) -> Cursor<'a> {
        Cursor { bytes, pos, lines }
    }

    #[inline(always)]
    pub fn pos(&self) -> usize {
        self.pos
    }

    pub fn set_pos(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// The text from `start` to here.
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.pos).unwrap_or(&[])
    }

    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.pos..).unwrap_or(&[])
    }

    #[inline(always)]
    pub fn peek(&self) -> u8 {
        match self.bytes.get(self.pos) {
            Some(byte) => *byte,
            None => 0,
        }
    }

    #[inline(always)]
    pub fn advance(&mut self, nbytes: usize) {
        self.pos += nbytes;
    }

    /// The next eight bytes, the first in the lowest; NULs beyond the end.
    #[inline(always)]
    fn word(&self) -> u64 {
        match self.bytes.get(self.pos..self.pos + 8).and_then(|b| b.try_into().ok()) {
            Some(eight) => u64::from_le_bytes(eight),
            None => self.last_word(),
        }
    }

    #[cold]
    fn last_word(&self) -> u64 {
        let mut eight = [0u8; 8];
        let rest = self.rest();
        let n = rest.len().min(8);
        eight[..n].copy_from_slice(&rest[..n]);
        u64::from_le_bytes(eight)
    }

    /// Skips white space: a new line only where records are not lines.
    #[inline(always)]
    pub fn space(&mut self) {
        if self.peek() <= b' ' {
            self.skip_space();
        }
    }

    #[inline(never)]
    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') || (self.peek() == b'\n' && !self.lines) {
            self.pos += 1;
        }
    }

    /// Takes the byte if it is the next.
    #[inline(always)]
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte;
        self.pos += usize::from(found);
        found
    }

    /// Takes the word if it is next and ends there.
    pub fn take_word(&mut self, word: &str) -> bool {
        let end = self.pos + word.len();
        let found = self.bytes.get(self.pos..end) == Some(word.as_bytes()) && !self.bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
        if found {
            self.pos = end;
        }
        found
    }

    /// Whether these very bytes are next; takes them if so.
    #[inline(always)]
    pub fn take_bytes(&mut self, bytes: &[u8]) -> bool {
        let end = self.pos + bytes.len();
        let found = self.bytes.get(self.pos..end) == Some(bytes);
        if found {
            self.pos = end;
        }
        found
    }

    /// Behind an item of a list or an object: whether another follows.
    #[inline(always)]
    pub fn more(&mut self, close: u8) -> Parse<bool> {
        self.space();
        let byte = self.peek();
        if byte == b',' {
            self.pos += 1;
            self.space();
            return Ok(true);
        }
        if byte == close {
            self.pos += 1;
            return Ok(false);
        }
        Err(self.unexpected(if close == b']' { "a comma or `]`" } else { "a comma or `}`" }))
    }

    /// The colon behind a key.
    #[inline(always)]
    pub fn colon(&mut self) -> Parse<()> {
        self.space();
        if !self.take(b':') {
            return Err(self.unexpected("a colon behind the key"));
        }
        self.space();
        Ok(())
    }

    /// A run of digits behind `value`: the new value, wrapped beyond 64 bits, and how many there were.
    #[inline(always)]
    fn digits(&mut self, mut value: u64) -> (u64, usize) {
        let start = self.pos;
        loop {
            let word = self.word();
            let n = (not_digits(word).trailing_zeros() / 8) as usize;
            if n == 0 {
                break;
            }
            let part = eight_digits((word ^ (ONES * b'0' as u64)) << (64 - 8 * n));
            value = value.wrapping_mul(INT_TENS[n & 15]).wrapping_add(part);
            self.pos += n;
            if n < 8 {
                break;
            }
        }
        (value, self.pos - start)
    }

    /// An integer of at most 18 digits, the usual case; otherwise stays where it is.
    #[inline(always)]
    pub fn short_integer(&mut self) -> Option<i64> {
        let start = self.pos;
        let negative = self.take(b'-');
        let first = self.peek();
        let (value, ndigits) = self.digits(0);
        let usual = ndigits.wrapping_sub(1) < 18 && (first != b'0' || ndigits == 1) && !matches!(self.peek(), b'.' | b'e' | b'E');
        if usual {
            return Some(if negative { -(value as i64) } else { value as i64 });
        }
        self.pos = start;
        None
    }

    /// A number whose value one exact division or product gives, the usual case; otherwise stays where it is.
    #[inline(always)]
    pub fn short_float(&mut self) -> Option<f64> {
        let start = self.pos;
        let found = self.try_short_float();
        if found.is_none() {
            self.pos = start;
        }
        found
    }

    #[inline(always)]
    fn try_short_float(&mut self) -> Option<f64> {
        let negative = self.take(b'-');
        let first = self.peek();
        let (mut value, ndigits) = self.digits(0);
        if ndigits == 0 || (first == b'0' && ndigits > 1) {
            return None;
        }
        let mut fraction = 0;
        if self.take(b'.') {
            (value, fraction) = self.digits(value);
            if fraction == 0 {
                return None;
            }
        }
        if ndigits + fraction > 19 || value > 1 << 53 {
            return None;
        }
        let mut exponent = -(fraction as i64);
        if self.peek() | 0x20 == b'e' {
            self.pos += 1;
            let minus = self.take(b'-');
            if !minus {
                self.take(b'+');
            }
            let (size, n) = self.digits(0);
            if n == 0 || n > 4 {
                return None;
            }
            exponent += if minus { -(size as i64) } else { size as i64 };
        }
        let magnitude = match exponent {
            0 => value as f64,
            -22..=-1 => value as f64 / TENS[exponent.unsigned_abs() as usize],
            1..=22 => value as f64 * TENS[exponent as usize],
            _ => return None,
        };
        Some(if negative { -magnitude } else { magnitude })
    }

    /// Any number, as text.
    pub fn number(&mut self) -> Parse<Number<'a>> {
        let start = self.pos;
        self.take(b'-');
        let first = self.peek();
        let whole = self.digits(0).1;
        if whole == 0 {
            self.pos = start;
            return Err(self.unexpected("a value"));
        }
        if first == b'0' && whole > 1 {
            return Err(Trouble::syntax(start, "a number does not start with 0 before other digits"));
        }
        let mut integer = true;
        if self.take(b'.') {
            integer = false;
            if self.digits(0).1 == 0 {
                return Err(self.unexpected("a digit behind the point"));
            }
        }
        if matches!(self.peek(), b'e' | b'E') {
            integer = false;
            self.pos += 1;
            if !self.take(b'-') {
                self.take(b'+');
            }
            if self.digits(0).1 == 0 {
                return Err(self.unexpected("a digit of the exponent"));
            }
        }
        let text = std::str::from_utf8(self.since(start)).unwrap_or("0");
        Ok(Number { text, integer })
    }

    /// A string, its escapes resolved, behind what `out` holds. The cursor stands on the quote.
    #[inline(always)]
    pub fn string(&mut self, out: &mut Vec<u8>) -> Parse<()> {
        self.pos += 1;
        loop {
            let word = self.word();
            let found = specials(word);
            let before = out.len();
            out.extend_from_slice(&word.to_le_bytes());
            if found == 0 {
                self.pos += 8;
                continue;
            }
            let n = (found.trailing_zeros() / 8) as usize;
            out.truncate(before + n);
            self.pos += n;
            if self.peek() == b'"' {
                self.pos += 1;
                return Ok(());
            }
            self.escape(out)?;
        }
    }

    /// Skips a string; the cursor stands on the quote. Escapes are checked.
    #[inline(always)]
    pub fn skip_string(&mut self) -> Parse<()> {
        self.pos += 1;
        loop {
            let found = specials(self.word());
            if found == 0 {
                self.pos += 8;
                continue;
            }
            self.pos += (found.trailing_zeros() / 8) as usize;
            if self.peek() == b'"' {
                self.pos += 1;
                return Ok(());
            }
            self.escape(&mut Vec::new())?;
        }
    }

    #[cold]
    #[inline(never)]
    fn escape(&mut self, out: &mut Vec<u8>) -> Parse<()> {
        let start = self.pos;
        if self.peek() != b'\\' {
            return Err(self.control_in_string());
        }
        self.pos += 1;
        let byte = self.peek();
        self.pos += 1;
        out.push(match byte {
            b'"' | b'\\' | b'/' => byte,
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let c = self.unicode(start)?;
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => {
                self.pos = start + 1;
                if self.at_end() {
                    return Err(self.control_in_string());
                }
                return Err(Trouble::syntax(start, "a backslash stands only before one of \" \\ / b f n r t u"));
            }
        });
        Ok(())
    }

    fn unicode(&mut self, start: usize) -> Parse<char> {
        let first = self.hex4(start)?;
        let code = match first {
            0xD800..=0xDBFF if self.take_bytes(b"\\u") => {
                let second = self.hex4(start)?;
                if !(0xDC00..=0xDFFF).contains(&second) {
                    return Err(lone(start, first));
                }
                0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            other => other,
        };
        char::from_u32(code).ok_or_else(|| lone(start, first))
    }

    fn hex4(&mut self, start: usize) -> Parse<u32> {
        let digits = self.bytes.get(self.pos..self.pos + 4).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let code = digits.and_then(|d| std::str::from_utf8(d).ok()).and_then(|d| u32::from_str_radix(d, 16).ok());
        self.pos += 4;
        code.ok_or_else(|| Trouble::syntax(start, "\\u needs four hexadecimal digits"))
    }

    fn control_in_string(&self) -> Box<Trouble> {
        if self.at_end() {
            return Trouble::syntax(self.pos, format!("{} inside a string", self.end_name()));
        }
        Trouble::syntax(self.pos, format!("the control character U+{:04X} stands in a string", self.peek()))
            .help("inside a string, control characters are written as escapes: \\n, \\t, \\u0000")
    }

    /// Whether the text of the record is at its end.
    pub fn at_end(&self) -> bool {
        self.pos >= self.bytes.len() || (self.lines && self.peek() == b'\n') || (self.peek() == 0 && self.rest().iter().all(|b| *b == 0))
    }

    fn end_name(&self) -> &'static str {
        if self.lines { "the line ends" } else { "the input ends" }
    }

    /// Something else than `expected` is here.
    #[cold]
    pub fn unexpected(&self, expected: &str) -> Box<Trouble> {
        Trouble::syntax(self.pos, format!("expected {expected}, found {}", self.found()))
    }

    /// What stands here, for a message.
    pub fn found(&self) -> String {
        if self.at_end() {
            return if self.lines { "the end of the line".to_owned() } else { "the end of the input".to_owned() };
        }
        let mut copy = self.clone();
        let cut = |bytes: &[u8]| {
            let text: String = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).chars().take(40).collect();
            if text.len() < bytes.len() { format!("{text}...") } else { text }
        };
        match self.peek() {
            b'"' => match copy.skip_string() {
                Ok(()) => format!("the string {}", cut(copy.since(self.pos))),
                Err(_) => format!("the string {}", cut(first_line(self.rest()))),
            },
            b'[' => "a list".to_owned(),
            b'{' => "an object".to_owned(),
            b'-' | b'0'..=b'9' => {
                let rest = self.rest();
                let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
                format!("the number {}", cut(&rest[..rest.iter().position(|b| !is_part(b)).unwrap_or(rest.len())]))
            }
            byte if byte < b' ' => format!("the control character U+{byte:04X}"),
            byte if byte.is_ascii_alphabetic() => {
                let rest = self.rest();
                let end = rest.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(rest.len());
                format!("`{}`", cut(&rest[..end]))
            }
            _ => {
                let text = String::from_utf8_lossy(&self.rest()[..self.rest().len().min(4)]).into_owned();
                format!("`{}`", text.chars().next().unwrap_or(' '))
            }
        }
    }

    /// Skips any value, checked against the grammar.
    pub fn skip_value(&mut self) -> Parse<()> {
        let start = self.pos;
        let mut open: Vec<u8> = Vec::new();
        loop {
            // A value starts here.
            match self.peek() {
                b'"' => self.skip_string()?,
                byte @ (b'[' | b'{') => {
                    if open.len() >= MAX_DEPTH {
                        return Err(self.too_deep(start));
                    }
                    self.pos += 1;
                    self.space();
                    if !self.take(byte + 2) {
                        open.push(byte + 2);
                        if byte == b'{' {
                            self.skip_key()?;
                        }
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => {
                    if self.short_integer().is_none() && !self.take_word("-Infinity") {
                        self.number()?;
                    }
                }
                _ => {
                    if !["null", "true", "false", "NaN", "Infinity"].iter().any(|word| self.take_word(word)) {
                        return Err(self.unexpected("a value"));
                    }
                }
            }
            // A value has ended here.
            loop {
                let Some(close) = open.last().copied() else {
                    return Ok(());
                };
                if self.more(close)? {
                    if close == b'}' {
                        self.skip_key()?;
                    }
                    break;
                }
                open.pop();
            }
        }
    }

    fn skip_key(&mut self) -> Parse<()> {
        if self.peek() != b'"' {
            return Err(self.unexpected("a key in double quotes"));
        }
        self.skip_string()?;
        self.colon()
    }

    pub fn too_deep(&self, start: usize) -> Box<Trouble> {
        Trouble::syntax(start, format!("lists and objects are nested deeper than {MAX_DEPTH} levels"))
    }
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|b| *b == b'\n' || *b == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

fn lone(start: usize, code: u32) -> Box<Trouble> {
    Trouble::syntax(start, format!("\\u{code:04x} is a lone surrogate, half of a character"))
}
