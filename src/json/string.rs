//! Strings: plain characters are processed eight bytes at a time, escapes one by one.

use super::cursor::{Cursor, ONES};
use super::error::{Parse, ParseError};

const HIGHS: u64 = ONES * 0x80;

/// The high bit of the first byte that ends a run of plain characters: a quote, backslash or control character. Bytes
/// before it are clear; later bytes are unspecified.
#[inline(always)]
pub fn specials(word: u64) -> u64 {
    let quotes = word ^ (ONES * b'"' as u64);
    let slashes = word ^ (ONES * b'\\' as u64);
    let quotes = quotes.wrapping_sub(ONES) & !quotes;
    let slashes = slashes.wrapping_sub(ONES) & !slashes;
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes | slashes | controls) & HIGHS
}

impl Cursor<'_> {
    /// Appends a string with its escapes resolved to `out`. The cursor is at the opening quote.
    #[inline(always)]
    pub fn string(&mut self, out: &mut Vec<u8>) -> Parse<()> {
        self.advance(1);
        loop {
            let word = self.word();
            let found = specials(word);
            let before = out.len();
            out.extend_from_slice(&word.to_le_bytes());
            if found == 0 {
                self.advance(8);
                continue;
            }
            let n = (found.trailing_zeros() / 8) as usize;
            out.truncate(before + n);
            self.advance(n);
            if self.peek() == b'"' {
                self.advance(1);
                return Ok(());
            }
            self.escape(out)?;
        }
    }

    /// Skips a string, checking its escapes. The cursor is at the opening quote.
    #[inline(always)]
    pub fn skip_string(&mut self) -> Parse<()> {
        self.advance(1);
        loop {
            let found = specials(self.word());
            if found == 0 {
                self.advance(8);
                continue;
            }
            self.advance((found.trailing_zeros() / 8) as usize);
            if self.peek() == b'"' {
                self.advance(1);
                return Ok(());
            }
            self.escape(&mut Vec::new())?;
        }
    }

    #[cold]
    #[inline(never)]
    fn escape(&mut self, out: &mut Vec<u8>) -> Parse<()> {
        let start = self.pos();
        if self.peek() != b'\\' {
            return Err(self.control_in_string());
        }
        self.advance(1);
        let byte = self.peek();
        self.advance(1);
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
                self.set_pos(start + 1);
                if self.at_end() {
                    return Err(self.control_in_string());
                }
                return Err(ParseError::syntax(start, "a backslash must be followed by one of \" \\ / b f n r t u"));
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
        let digits = self.rest().get(..4).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let code = digits.and_then(|d| std::str::from_utf8(d).ok()).and_then(|d| u32::from_str_radix(d, 16).ok());
        self.advance(4);
        code.ok_or_else(|| ParseError::syntax(start, "\\u needs four hexadecimal digits"))
    }

    fn control_in_string(&self) -> Box<ParseError> {
        if self.at_end() {
            return ParseError::syntax(self.pos(), format!("{} ends in the middle of a string", self.end_name()));
        }
        ParseError::syntax(self.pos(), format!("the control character U+{:04X} in a string", self.peek()))
            .help("inside a string, control characters must be escaped: \\n, \\t, \\u0000")
    }
}

fn lone(start: usize, code: u32) -> Box<ParseError> {
    ParseError::syntax(start, format!("\\u{code:04x} is an unpaired surrogate"))
}
