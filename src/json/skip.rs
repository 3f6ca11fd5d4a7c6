//! Skips values: they are checked against the grammar but not stored.

use super::cursor::Cursor;
use super::error::{Parse, ParseError};
use super::limits::MAX_DEPTH;

/// The open lists and objects: one bit per level, set for an object.
#[derive(Default)]
struct OpenLevels {
    depth: usize,
    objects: [u64; MAX_DEPTH.div_ceil(64)],
}

impl OpenLevels {
    #[inline(always)]
    fn push(&mut self, object: bool) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        self.objects[word] = self.objects[word] & !(1 << bit) | u64::from(object) << bit;
        self.depth += 1;
    }

    #[inline(always)]
    fn pop(&mut self) {
        self.depth -= 1;
    }

    /// Whether the innermost level is an object.
    #[inline(always)]
    fn in_object(&self) -> bool {
        let level = self.depth - 1;
        self.objects[level / 64] >> (level % 64) & 1 == 1
    }
}

impl Cursor<'_> {
    /// Skips any value, checking it against the grammar.
    pub fn skip_value(&mut self) -> Parse<()> {
        let start = self.pos();
        let mut open = OpenLevels::default();
        loop {
            // A value starts here.
            match self.peek() {
                b'"' => self.skip_string()?,
                byte @ (b'[' | b'{') => {
                    if open.depth >= MAX_DEPTH {
                        return Err(self.too_deep(start));
                    }
                    self.advance(1);
                    self.space();
                    if !self.take(byte + 2) {
                        open.push(byte == b'{');
                        if byte == b'{' {
                            self.skip_key()?;
                        }
                        continue;
                    }
                }
                b'0'..=b'9' | b'-' if self.skip_short_number() => {
                    if open.depth > 0 && !open.in_object() {
                        self.skip_more_numbers();
                    }
                }
                b'0'..=b'9' => drop(self.number()?),
                b'-' => {
                    if !self.take_word("-Infinity") {
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
                if open.depth == 0 {
                    return Ok(());
                }
                let close = if open.in_object() { b'}' } else { b']' };
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

    /// Skips the numbers that follow in a list, up to anything else.
    #[inline(always)]
    fn skip_more_numbers(&mut self) {
        if self.peek() == b',' {
            self.skip_number_blocks();
        }
        while self.peek() == b',' {
            let comma = self.pos();
            self.advance(1);
            if !self.skip_short_number() {
                self.set_pos(comma);
                return;
            }
        }
    }

    fn skip_key(&mut self) -> Parse<()> {
        if self.peek() != b'"' {
            return Err(self.no_key());
        }
        self.skip_string()?;
        self.colon()
    }

    /// The error for too many levels, at `start`.
    pub fn too_deep(&self, start: usize) -> Box<ParseError> {
        ParseError::syntax(start, format!("lists and objects are nested deeper than {MAX_DEPTH} levels"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_numbers_end_where_they_should() {
        let good = [
            "[1,-2,3.5]",
            "[0,0.25,-0]",
            "[1, 2 ,3e5,4]",
            "[1,\"a\",2]",
            "[-Infinity,1,NaN]",
            "[1,[2,3],4]",
            "{\"a\":1,\"b\":[2]}",
            "12345678901",
        ];
        for text in good {
            let padded = format!("{text} ,");
            let mut cursor = Cursor::new(padded.as_bytes(), 0, true);
            assert!(cursor.skip_value().is_ok(), "{text}");
            assert_eq!(cursor.pos(), text.len(), "{text}");
        }
        for text in ["[1,]", "[01]", "[1,02]", "[1.]", "[1,2.,3]", "[-]", "[1,-,2]", "[1 2]", "[1,2", "[1e]", "{\"a\":1,2}"] {
            assert!(Cursor::new(text.as_bytes(), 0, true).skip_value().is_err(), "{text}");
        }
    }
}
