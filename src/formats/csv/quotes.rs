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
    /// `None`: quotes are ordinary characters, and never wrong.
    quote: Option<u8>,
    delimiter: u8,
    within: Within,
    is_violated: bool,
}

impl QuoteCheck {
    pub fn new(quote: Option<u8>, delimiter: u8) -> QuoteCheck {
        QuoteCheck { quote, delimiter, within: Within::Start, is_violated: false }
    }

    /// Whether fields can be quoted.
    pub fn has_quotes(&self) -> bool {
        self.quote.is_some()
    }

    /// Begins a record.
    pub fn reset(&mut self) {
        (self.within, self.is_violated) = (Within::Start, false);
    }

    /// Whether text follows a closing quote in the record so far.
    pub fn is_violated(&self) -> bool {
        self.is_violated
    }

    /// Continues with the next bytes of the record. Looks only at quotes and the bytes beside them.
    pub fn see(&mut self, bytes: &[u8]) {
        let Some(quote) = self.quote else { return };
        let mut seen = 0;
        for at in memchr::memchr_iter(quote, bytes) {
            self.pass(&bytes[seen..at]);
            self.within = match self.within {
                Within::Start | Within::Closed => Within::Quoted,
                Within::Unquoted => Within::Unquoted,
                Within::Quoted => Within::Closed,
            };
            seen = at + 1;
        }
        self.pass(&bytes[seen..]);
    }

    /// Continues with bytes without quotes.
    fn pass(&mut self, bytes: &[u8]) {
        let is_end = |byte: u8| byte == self.delimiter || matches!(byte, b'\n' | b'\r');
        if let (Some(first), Some(last)) = (bytes.first(), bytes.last())
            && self.within != Within::Quoted
        {
            self.is_violated |= self.within == Within::Closed && !is_end(*first);
            self.within = if is_end(*last) { Within::Start } else { Within::Unquoted };
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
                let mut check = QuoteCheck::new(Some(b'"'), b',');
                check.see(&record.as_bytes()[..cut]);
                check.see(&record.as_bytes()[cut..]);
                assert_eq!(check.is_violated(), expected, "{record:?}, cut at {cut}");
            }
        }
    }
}
