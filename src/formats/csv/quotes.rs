//! Finds fields with text after their closing quote. csv-core reads `"a" b` as `a b`: the quotes would be lost without a
//! word, and in a file whose quotes are ordinary characters, a field could continue over many lines.

/// The position within a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Start,
    Unquoted,
    Quoted,
    /// After a quote in a quoted field: the closing one, or the first of two.
    Closed,
}

/// The quotes of one record, whose bytes may arrive in several parts.
#[derive(Debug)]
pub struct QuoteCheck {
    quote: u8,
    delimiter: u8,
    within: Within,
    is_violated: bool,
}

impl QuoteCheck {
    pub fn new(quote: u8, delimiter: u8) -> QuoteCheck {
        QuoteCheck { quote, delimiter, within: Within::Start, is_violated: false }
    }

    /// Begins a record.
    pub fn reset(&mut self) {
        (self.within, self.is_violated) = (Within::Start, false);
    }

    /// Whether text follows a closing quote in the record so far.
    pub fn is_violated(&self) -> bool {
        self.is_violated
    }

    /// Continues with the next bytes of the record.
    pub fn see(&mut self, mut bytes: &[u8]) {
        let is_end = |byte: u8| byte == self.delimiter || matches!(byte, b'\n' | b'\r');
        if matches!(self.within, Within::Start | Within::Unquoted) && memchr::memchr(self.quote, bytes).is_none() {
            if let Some(last) = bytes.last() {
                self.within = if is_end(*last) { Within::Start } else { Within::Unquoted };
            }
            return;
        }
        while let Some((&byte, rest)) = bytes.split_first() {
            (self.within, bytes) = match self.within {
                Within::Start if byte == self.quote => (Within::Quoted, rest),
                Within::Start if is_end(byte) => (Within::Start, rest),
                Within::Start | Within::Unquoted => match memchr::memchr3(self.delimiter, b'\n', b'\r', bytes) {
                    Some(end) => (Within::Start, &bytes[end + 1..]),
                    None => (Within::Unquoted, &[][..]),
                },
                Within::Quoted => match memchr::memchr(self.quote, bytes) {
                    Some(end) => (Within::Closed, &bytes[end + 1..]),
                    None => (Within::Quoted, &[][..]),
                },
                Within::Closed if byte == self.quote => (Within::Quoted, rest),
                Within::Closed if is_end(byte) => (Within::Start, rest),
                Within::Closed => {
                    self.is_violated = true;
                    (Within::Unquoted, rest)
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_after_a_closing_quote() {
        for (record, expected) in [
            ("a,b\n", false),
            ("\"a\",\"b\"\n", false),
            ("\"a\"\"b\",c\r\n", false),
            ("\"\",\"\"\"\"\n", false),
            ("a\"b\",c\"\n", false),
            (" \"a\" b,c\n", false),
            ("\"a\nb,c\"\n", false),
            ("\"a\" b,c\n", true),
            ("\"a\" ,c\n", true),
            ("x,\"a\"b\"\n", true),
            ("x,\"\"a\"\"\n", true),
        ] {
            for cut in 0..record.len() {
                let mut check = QuoteCheck::new(b'"', b',');
                check.see(&record.as_bytes()[..cut]);
                check.see(&record.as_bytes()[cut..]);
                assert_eq!(check.is_violated(), expected, "{record:?}, cut at {cut}");
            }
        }
    }
}
