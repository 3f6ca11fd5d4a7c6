//! Records that have not been split into fields: finds where each ends, as csv-core does: quotes are special at the start of a field and inside a quoted one.

use super::dialect::Dialect;
use crate::io::buffers::Buffer;
use memchr::{memchr, memchr2, memchr3};
use std::sync::Arc;

/// A block of whole records.
#[derive(Debug, Default)]
pub struct Block {
    pub input: Arc<str>,
    /// The bytes of the input from the first record to the end of the last.
    pub bytes: Buffer,
    /// The records in `bytes`.
    pub records: Vec<Record>,
    /// Number of the first record, from 1.
    pub first_record: u64,
}

/// A record in a block.
#[derive(Debug)]
pub struct Record {
    /// The position of its first byte.
    pub start: usize,
    /// The position after its last byte, without the end of the line.
    pub end: usize,
    /// The line in which it starts, from 1.
    pub line: u64,
    /// Its quotes.
    pub quotes: Quotes,
}

impl Record {
    /// The number of line feeds in it.
    pub fn inner_lines(&self, bytes: &[u8]) -> u64 {
        match self.quotes {
            Quotes::None => 0,
            _ => memchr::memchr_iter(b'\n', bytes.get(self.start..self.end).unwrap_or_default()).count() as u64,
        }
    }
}

/// The quotes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotes {
    /// No field is quoted.
    None,
    /// Fields are quoted.
    Paired,
    /// Text follows a closing quote, as in `"a" b`. csv-core reads it as `a b`: the quotes would be lost without a word,
    /// and in a file whose quotes are ordinary characters, a field could continue over many lines.
    Misplaced,
}

/// Where a record ends.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// At this position: the end of a line, or of the input.
    At(usize),
    /// Behind the bytes at hand.
    Beyond,
    /// Nowhere: the input ends in a quoted field.
    Unclosed,
}

/// The search for the end of a record, which continues as more bytes arrive.
pub struct Scan {
    quote: Option<u8>,
    delimiter: u8,
    start: usize,
    at: usize,
    is_quoted: bool,
    quotes: Quotes,
}

impl Scan {
    /// A search from the start of a record.
    pub fn new(dialect: &Dialect, start: usize) -> Scan {
        Scan { quote: dialect.quote, delimiter: dialect.delimiter, start, at: start, is_quoted: false, quotes: Quotes::None }
    }

    /// The quotes that have been passed.
    pub fn quotes(&self) -> Quotes {
        self.quotes
    }

    /// Where the record ends in `bytes`, which start as in the preceding call. `is_all`: no more bytes will follow.
    #[inline]
    pub fn ending(&mut self, bytes: &[u8], is_all: bool) -> Ending {
        let Some(quote) = self.quote else {
            let rest = bytes.get(self.at..).unwrap_or_default();
            return self.found(memchr2(b'\n', b'\r', rest), bytes.len(), is_all);
        };
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            if self.is_quoted {
                let Some(place) = memchr(quote, rest).map(|place| self.at + place) else {
                    self.at = bytes.len();
                    return if is_all { Ending::Unclosed } else { Ending::Beyond };
                };
                match bytes.get(place + 1) {
                    Some(next) if *next == quote => self.at = place + 2,
                    None if !is_all => {
                        self.at = place;
                        return Ending::Beyond;
                    }
                    next => {
                        self.is_quoted = false;
                        self.at = place + 1;
                        if next.is_some_and(|next| *next != self.delimiter && !matches!(next, b'\n' | b'\r')) {
                            self.quotes = Quotes::Misplaced;
                        }
                    }
                }
                continue;
            }
            match memchr3(b'\n', b'\r', quote, rest) {
                Some(place) if rest[place] == quote => {
                    let place = self.at + place;
                    if place == self.start || bytes[place - 1] == self.delimiter {
                        self.is_quoted = true;
                        if self.quotes == Quotes::None {
                            self.quotes = Quotes::Paired;
                        }
                    }
                    self.at = place + 1;
                }
                found => return self.found(found, bytes.len(), is_all),
            }
        }
    }

    fn found(&mut self, place: Option<usize>, nbytes: usize, is_all: bool) -> Ending {
        match place {
            Some(place) => Ending::At(self.at + place),
            None => {
                self.at = nbytes;
                if is_all { Ending::At(nbytes) } else { Ending::Beyond }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::CsvOptions;
    use proptest::prelude::*;

    fn dialect() -> Dialect {
        Dialect::of(&CsvOptions::default(), b',')
    }

    #[test]
    fn text_after_a_closing_quote() {
        for (record, expected) in [
            ("a,b\n", Quotes::None),
            ("\"a\",\"b\"\n", Quotes::Paired),
            ("\"a\"\"b\",c\r\n", Quotes::Paired),
            ("\"\",\"\"\"\"\n", Quotes::Paired),
            ("a\"b\",c\"\n", Quotes::None),
            (" \"a\" b,c\n", Quotes::None),
            ("\"a\nb,c\"\n", Quotes::Paired),
            ("\"a\" b,c\n", Quotes::Misplaced),
            ("\"a\" ,c\n", Quotes::Misplaced),
            ("x,\"a\"b\"\n", Quotes::Misplaced),
            ("x,\"\"a\"\"\n", Quotes::Misplaced),
        ] {
            for cut in 0..record.len() {
                let mut scan = Scan::new(&dialect(), 0);
                scan.ending(&record.as_bytes()[..cut], false);
                let end = record.trim_end().len();
                assert_eq!(scan.ending(record.as_bytes(), false), Ending::At(end), "{record:?}, cut at {cut}");
                assert_eq!(scan.quotes(), expected, "{record:?}, cut at {cut}");
            }
        }
    }

    /// The length of the first record of a text according to csv-core, with the end of the line; `None` if it ends in a
    /// quoted field.
    fn by_csv_core(text: &[u8]) -> Option<usize> {
        let (mut core, mut cells, mut ends) = (csv_core::Reader::new(), [0; 256], [0; 256]);
        let (result, read, written, ended) = core.read_record(text, &mut cells, &mut ends);
        if matches!(result, csv_core::ReadRecordResult::Record) {
            return Some(read);
        }
        let (_, _, more, _) = core.read_record(b"\n", &mut cells[written..], &mut ends[ended..]);
        (more == 0).then_some(read)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn records_end_where_csv_core_ends_them(text in "[ab,\"][ab,\"\n\r]{0,11}", cut in 0usize..12) {
            let text = text.as_bytes();
            let mut scan = Scan::new(&dialect(), 0);
            let first = scan.ending(&text[..cut.min(text.len())], false);
            let found = if first == Ending::Beyond { scan.ending(text, true) } else { first };
            let found = match found {
                Ending::At(end) => Some((end + 1).min(text.len())),
                other => { prop_assert_eq!(other, Ending::Unclosed); None }
            };
            prop_assert_eq!(found, by_csv_core(text));
        }
    }
}
