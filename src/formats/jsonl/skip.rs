//! Values that are passed over: checked against the grammar, kept nowhere.

use super::cursor::Cursor;
use super::error::{Parse, ParseError};
use super::limits::MAX_DEPTH;

impl Cursor<'_> {
    /// Skips any value, checked against the grammar.
    pub fn skip_value(&mut self) -> Parse<()> {
        let start = self.pos();
        let mut open: Vec<u8> = Vec::new();
        loop {
            // A value starts here.
            match self.peek() {
                b'"' => self.skip_string()?,
                byte @ (b'[' | b'{') => {
                    if open.len() >= MAX_DEPTH {
                        return Err(self.too_deep(start));
                    }
                    self.advance(1);
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

    pub fn too_deep(&self, start: usize) -> Box<ParseError> {
        ParseError::syntax(start, format!("lists and objects are nested deeper than {MAX_DEPTH} levels"))
    }
}
