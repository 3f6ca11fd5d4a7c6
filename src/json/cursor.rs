//! A position in the text of some records, and parsing of punctuation. No value tree is built: the caller states what
//! it expects. Numbers, strings and skipping are in `number`, `string` and `skip`.
//!
//! Semantics: RFC 8259, plus the bare tokens `NaN`, `Infinity` and `-Infinity` that Python writes. Nothing
//! here recurses or reads beyond the end, where the text reads as NUL, which no token contains. Written by hand because
//! no available parser reads directly into typed columns and reports the position of an error.

use super::error::{Parse, ParseError};
use crate::error::mismatch;
use crate::tensor::short::same;

/// Advice on text that Python prints.
const PYTHON: &str = "to write JSON in Python: json.dumps(record)";

/// A one in each byte of a word.
pub const ONES: u64 = u64::MAX / 255;

/// A position in a text.
#[derive(Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
    unit: Unit,
}

/// What a value is in, and ends with at the latest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// A line, which is a record.
    Line,
    /// An input of values.
    Input,
    /// The text of a single value, in a field.
    Text,
}

impl<'a> Cursor<'a> {
    /// A cursor at position `pos` of `bytes`. `lines`: a record ends at the end of its line.
    pub fn new(bytes: &'a [u8], pos: usize, lines: bool) -> Cursor<'a> {
        Cursor { bytes, pos, unit: if lines { Unit::Line } else { Unit::Input } }
    }

    /// A cursor at the start of the text of a single value.
    pub fn of_text(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, pos: 0, unit: Unit::Text }
    }

    /// Offset in the text.
    #[inline(always)]
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// Moves to an offset.
    pub fn set_pos(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// The text from `start` up to the cursor.
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.pos).unwrap_or(&[])
    }

    /// The text from the cursor on.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.pos..).unwrap_or(&[])
    }

    /// The next byte; NUL beyond the end.
    #[inline(always)]
    pub fn peek(&self) -> u8 {
        match self.bytes.get(self.pos) {
            Some(byte) => *byte,
            None => 0,
        }
    }

    /// Advances by `nbytes`.
    #[inline(always)]
    pub fn advance(&mut self, nbytes: usize) {
        self.pos += nbytes;
    }

    /// The bytes of a block that starts at `pos`, if there are enough.
    #[inline(always)]
    pub fn block<const N: usize>(&self, pos: usize) -> Option<&'a [u8; N]> {
        self.bytes.get(pos..).and_then(|rest| rest.first_chunk())
    }

    /// The next eight bytes, the first in the lowest byte; NULs beyond the end.
    #[inline(always)]
    pub fn word(&self) -> u64 {
        match self.bytes.get(self.pos..self.pos + 8).and_then(|b| b.try_into().ok()) {
            Some(eight) => u64::from_le_bytes(eight),
            None => self.last_word(),
        }
    }

    /// The next sixteen bytes as two words, if there are enough.
    #[inline(always)]
    pub fn two_words(&self) -> Option<(u64, u64)> {
        let both = self.block::<16>(self.pos).map(|bytes| u128::from_le_bytes(*bytes))?;
        Some((both as u64, (both >> 64) as u64))
    }

    #[cold]
    fn last_word(&self) -> u64 {
        let mut eight = [0u8; 8];
        let rest = self.rest();
        let n = rest.len().min(8);
        eight[..n].copy_from_slice(&rest[..n]);
        u64::from_le_bytes(eight)
    }

    /// Skips whitespace, including newlines only if records are not lines.
    #[inline(always)]
    pub fn space(&mut self) {
        if self.peek() <= b' ' {
            self.skip_space();
        }
    }

    #[inline(never)]
    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') || (self.peek() == b'\n' && self.unit != Unit::Line) {
            self.pos += 1;
        }
    }

    /// Consumes the byte if it is next.
    #[inline(always)]
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte;
        self.pos += usize::from(found);
        found
    }

    /// Consumes the word if it is next and ends there.
    pub fn take_word(&mut self, word: &str) -> bool {
        let end = self.pos + word.len();
        let found = self.bytes.get(self.pos..end) == Some(word.as_bytes()) && !self.bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
        if found {
            self.pos = end;
        }
        found
    }

    /// Consumes these bytes if they are next.
    #[inline(always)]
    pub fn take_bytes(&mut self, bytes: &[u8]) -> bool {
        let end = self.pos + bytes.len();
        let found = self.bytes.get(self.pos..end).is_some_and(|found| same(found, bytes));
        if found {
            self.pos = end;
        }
        found
    }

    /// After an element of a list or a member of an object, whether another follows.
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

    /// Consumes the colon after a key, with surrounding whitespace.
    #[inline(always)]
    pub fn colon(&mut self) -> Parse<()> {
        self.space();
        if !self.take(b':') {
            return Err(self.unexpected("a colon after the key"));
        }
        self.space();
        Ok(())
    }

    /// Whether the text of the record has ended.
    pub fn at_end(&self) -> bool {
        self.pos >= self.bytes.len()
            || (self.unit == Unit::Line && self.peek() == b'\n')
            || (self.peek() == 0 && self.rest().iter().all(|b| *b == 0))
    }

    /// What ended at this position, for a message.
    pub fn end_name(&self) -> &'static str {
        match self.unit {
            Unit::Line => "the line",
            Unit::Input => "the input",
            Unit::Text => "the text",
        }
    }

    /// The error for something other than `expected`.
    #[cold]
    pub fn unexpected(&self, expected: &str) -> Box<ParseError> {
        let error = ParseError::syntax(self.pos, mismatch(expected, self.found()));
        let is_python = ["True", "False", "None"].iter().any(|word| self.rest().starts_with(word.as_bytes()));
        if is_python { error.help(PYTHON) } else { error }
    }

    /// The error where a key is expected.
    pub fn no_key(&self) -> Box<ParseError> {
        let error = self.unexpected("a key in double quotes");
        if self.peek() == b'\'' { error.help(PYTHON) } else { error }
    }

    /// Describes the next token, for a message.
    pub fn found(&self) -> String {
        if self.at_end() {
            return format!("the end of {}", self.end_name());
        }
        let cut = |bytes: &[u8]| {
            let text: String = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).chars().take(40).collect();
            if text.len() < bytes.len() { format!("{text}...") } else { text }
        };
        match self.peek() {
            b'"' => format!("the string {}", cut(quoted(self.rest()))),
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
}

/// The string at the start of a text, with its quotes; if unterminated, its first line.
fn quoted(text: &[u8]) -> &[u8] {
    let mut escaped = true;
    let end = text.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends || *byte < b' '
    });
    match end {
        Some(end) if text[end] == b'"' => &text[..=end],
        _ => &text[..text.iter().position(|b| matches!(b, b'\n' | 0)).unwrap_or(text.len())],
    }
}
