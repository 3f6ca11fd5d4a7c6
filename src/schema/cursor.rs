//! A position in a text being parsed, and errors that show it.

use crate::error::{Error, Message, Result, mismatch};

/// Maximum nesting depth of structures and lists.
pub(super) const MAX_DEPTH: usize = 128;

/// Maximum number of brackets inside the innermost level: `[`, `(`, `<`.
const INNERMOST: usize = 3;

/// A position in a text. Spaces and tabs before a token are skipped; newlines only inside brackets.
pub(super) struct Cursor<'a> {
    text: &'a str,
    pos: usize,
    /// Number of open brackets; inside them, newlines are whitespace.
    open: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, pos: 0, open: 0 }
    }

    /// The start of the next token, in bytes.
    pub fn pos(&mut self) -> usize {
        self.skip_space();
        self.pos
    }

    /// The end of the last token, in bytes.
    pub fn end(&self) -> usize {
        self.pos
    }

    /// Returns to a position from [`Cursor::pos`].
    pub fn reset(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// The rest of the text, starting with the next token.
    pub fn rest(&mut self) -> &'a str {
        self.skip_space();
        &self.text[self.pos..]
    }

    pub fn peek(&mut self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Advances by `bytes` of [`Cursor::rest`].
    pub fn advance(&mut self, bytes: usize) {
        self.pos += bytes;
    }

    /// Consumes `token` if it comes next.
    pub fn eat(&mut self, token: char) -> bool {
        let next = self.peek() == Some(token);
        if next {
            self.pos += token.len_utf8();
        }
        next
    }

    /// Consumes an opening bracket if it comes next. Until [`Cursor::close`], newlines are whitespace.
    pub fn open(&mut self, bracket: char) -> Result<bool> {
        let start = self.pos();
        let found = self.eat(bracket);
        if found {
            self.open += 1;
            if self.open > MAX_DEPTH + INNERMOST {
                return Err(self.fail(start, start + 1, format!("more than {MAX_DEPTH} levels of nesting")));
            }
        }
        Ok(found)
    }

    /// Consumes a closing bracket if it comes next.
    pub fn close(&mut self, bracket: char) -> bool {
        let found = self.eat(bracket);
        if found {
            self.open = self.open.saturating_sub(1);
        }
        found
    }

    /// Consumes a closing bracket, or reports what was expected.
    pub fn expect_close(&mut self, bracket: char, expected: &str) -> Result<()> {
        if self.close(bracket) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// The next word (letters, digits, `_`), without consuming it; empty if there is none.
    pub fn peek_word(&mut self) -> &'a str {
        let rest = self.rest();
        &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())]
    }

    /// Consumes `word` if it is the next whole word.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let next = self.peek_word() == word;
        if next {
            self.pos += word.len();
        }
        next
    }

    /// Consumes the next digits as a number.
    pub fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T> {
        let start = self.pos();
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.unexpected(what));
        }
        let number =
            rest[..length].parse().map_err(|_| self.fail(start, start + length, format!("{} is too large for {what}", &rest[..length])))?;
        self.pos += length;
        Ok(number)
    }

    /// The error `expected .., found ..` at the next token.
    pub fn unexpected(&mut self, expected: &str) -> Error {
        let mut start = self.pos();
        let rest = self.rest();
        if rest.is_empty() {
            // The end is shown after the last character that is not whitespace.
            start = self.text.trim_end().len();
        }
        let word = self.peek_word();
        let length = if word.is_empty() { rest.chars().next().map_or(0, char::len_utf8) } else { word.len() };
        let found = match rest.chars().next() {
            None => "the end".to_owned(),
            Some('\n') => "the end of the line".to_owned(),
            Some(_) => format!("`{}`", &rest[..length]),
        };
        self.fail(start, start + length, mismatch(expected, found))
    }

    /// An error about the bytes `start..end`, with its line and column, and the line shown underlined.
    pub fn fail(&self, start: usize, end: usize, message: impl Into<Message>) -> Error {
        let start = start.min(self.text.len());
        let line_start = self.text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |i| start + i);
        let line_number = self.text[..line_start].matches('\n').count() as u64 + 1;
        let end = end.clamp(start, line_end);
        let (before, marked, after) = (&self.text[line_start..start], &self.text[start..end], &self.text[end..line_end]);
        let error = Error::usage(message).locate(|at| {
            at.line = Some(line_number);
            at.column = Some((start - line_start) as u64 + 1);
        });
        error.excerpt(underlined(before, marked, after))
    }

    fn skip_space(&mut self) {
        loop {
            let rest = &self.text[self.pos..];
            match rest.chars().next() {
                Some('\n') if self.open == 0 => return,
                Some(c) if c.is_whitespace() => self.pos += c.len_utf8(),
                Some('#') => self.pos += rest.find('\n').unwrap_or(rest.len()),
                _ => return,
            }
        }
    }
}

/// The line with its marked part underlined, truncated around it.
fn underlined(before: &str, marked: &str, after: &str) -> String {
    const ROOM: usize = 36;
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut head: Vec<char> = before.chars().rev().take(ROOM).map(plain).collect();
    if before.chars().count() > ROOM {
        head.extend("...".chars());
    }
    head.reverse();
    let marked: Vec<char> = marked.chars().take(ROOM).map(plain).collect();
    let mut tail: String = after.chars().take(ROOM).map(plain).collect();
    if after.chars().count() > ROOM {
        tail.push_str("...");
    }
    let (head, marked): (String, String) = (head.iter().collect(), marked.iter().collect());
    let (indent, width) = (head.chars().count(), marked.chars().count().max(1));
    format!("{head}{marked}{tail}\n{}{}", " ".repeat(indent), "^".repeat(width))
}
