//! Splits the records of a block into fields.

use super::dialect::Dialect;
use super::record::{Block, Quotes};
use crate::error::{Error, Result};
use csv_core::ReadRecordResult;
use std::sync::Arc;

/// Maximum number of fields in a record.
const MAX_COLUMNS: usize = 100_000;
/// What is wrong with `"a" b`.
pub const MISQUOTED: &str = "text after the closing quote of a field";

/// The position of a field written as `""`, which is text where a field of no characters is null: behind every block.
const QUOTED_EMPTY: (u32, u32) = (u32::MAX, u32::MAX);

/// The fields of a block of records.
#[derive(Debug, Default)]
pub struct Fields {
    /// The records. The contents of quoted fields have been moved to the start of their record.
    block: Block,
    /// Where each field starts and ends in the bytes of the block; [`QUOTED_EMPTY`] for `""`.
    spans: Vec<(u32, u32)>,
    /// For each record, the end of its fields in `spans`.
    ends: Vec<usize>,
    /// The records with text after a closing quote, and their bytes.
    misquoted: Vec<(usize, Vec<u8>)>,
    /// Whether the block is UTF-8, and thus each field.
    is_utf8: bool,
}

impl Fields {
    /// The fields of all records.
    ///
    /// # Errors
    /// A record has too many.
    pub fn split(mut block: Block, dialect: &Dialect) -> Result<Fields> {
        let (mut spans, mut ends, mut misquoted) = (Vec::new(), Vec::with_capacity(block.records.len()), Vec::new());
        let mut quoted = None;
        let is_utf8 = dialect.delimiter.is_ascii() && simdutf8::basic::from_utf8(&block.bytes).is_ok();
        let bytes: &mut [u8] = &mut block.bytes;
        let nbytes = bytes.len();
        for (number, record) in block.records.iter().enumerate() {
            let end = record.end;
            let bytes = &mut bytes[record.start..end];
            let is_split = match record.quotes {
                Quotes::None => split(bytes, dialect.delimiter, record.start, &mut spans),
                quotes => {
                    if quotes == Quotes::Misplaced {
                        misquoted.push((number, bytes.to_vec()));
                    }
                    quoted.get_or_insert_with(|| Quoted::new(dialect)).split(bytes, record.start, &mut spans)
                }
            };
            if !is_split {
                let record = block.first_record + number as u64;
                let error = Error::data(format!("the record has more than {MAX_COLUMNS} fields")).in_input(block.input.clone());
                return Err(error.locate(|at| {
                    at.records = Some((record, record));
                    at.line = Some(block.records[number].line);
                }));
            }
            ends.push(spans.len());
            if number == 0 {
                // Each field of the others takes at least one byte.
                let all = (block.records.len() - 1).saturating_mul(spans.len());
                spans.reserve(all.min(nbytes - end));
            }
        }
        Ok(Fields { block, spans, ends, misquoted, is_utf8 })
    }

    /// Whether all fields are known to be UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.is_utf8
    }

    /// The name of the input.
    pub fn input(&self) -> &Arc<str> {
        &self.block.input
    }

    /// The number of records.
    pub fn nrecords(&self) -> usize {
        self.ends.len()
    }

    /// The number of the first record within the input, from 1.
    pub fn first_record(&self) -> u64 {
        self.block.first_record
    }

    /// The size of the records in the input.
    pub fn nbytes(&self) -> u64 {
        self.block.bytes.len() as u64
    }

    /// The line in which a record starts.
    pub fn line(&self, record: usize) -> u64 {
        self.block.records[record].line
    }

    /// The index of the first field of a record, and the number of its fields.
    #[inline]
    pub fn of_record(&self, record: usize) -> (usize, usize) {
        let first = record.checked_sub(1).map_or(0, |before| self.ends[before]);
        (first, self.ends[record] - first)
    }

    /// The bytes of a record with text after a closing quote.
    pub fn misquoted(&self, record: usize) -> Option<&[u8]> {
        let found = self.misquoted.binary_search_by_key(&record, |(record, _)| *record).ok()?;
        Some(&self.misquoted[found].1)
    }

    /// A field, given its index in the block.
    #[inline(always)]
    pub fn cell(&self, number: usize) -> &[u8] {
        let (start, end) = self.spans[number];
        self.block.bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Whether a field, given its index in the block, is written as `""`.
    pub fn is_quoted_empty(&self, number: usize) -> bool {
        self.spans[number] == QUOTED_EMPTY
    }
}

/// Appends the position of each field of a record without quotes, which begins at `start` in its block; `false` if there are
/// too many. Looks at a word at a time: a search for each delimiter costs more than it saves where fields are short.
fn split(record: &[u8], delimiter: u8, start: usize, spans: &mut Vec<(u32, u32)>) -> bool {
    if record.len() >= MAX_COLUMNS && memchr::memchr_iter(delimiter, record).count() >= MAX_COLUMNS {
        return false;
    }
    let mut from = start as u32;
    let mut push = |end: usize| {
        let end = (start + end) as u32;
        spans.push((from, end));
        from = end + 1;
    };
    let (words, rest) = record.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let mut found = equal_bytes(u64::from_le_bytes(*word), delimiter);
        while found != 0 {
            push(8 * number + (found.trailing_zeros() / 8) as usize);
            found &= found - 1;
        }
    }
    let done = record.len() - rest.len();
    for (place, byte) in rest.iter().enumerate() {
        if *byte == delimiter {
            push(done + place);
        }
    }
    push(record.len());
    true
}

/// The highest bit of each byte of a word that equals `byte`.
#[inline(always)]
fn equal_bytes(word: u64, byte: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let differs = word ^ u64::from_le_bytes([byte; 8]);
    !(((differs & LOW) + LOW) | differs | LOW)
}

/// Splits records with quoted fields.
struct Quoted {
    core: csv_core::Reader,
    quote: u8,
    /// The contents of the fields, and where they end; kept, because making room writes zeros.
    cells: Vec<u8>,
    ends: Vec<usize>,
}

impl Quoted {
    fn new(dialect: &Dialect) -> Quoted {
        let mut builder = csv_core::ReaderBuilder::new();
        let quote = dialect.quote.unwrap_or(b'"');
        let mut core = builder.delimiter(dialect.delimiter).quote(quote).quoting(dialect.quote.is_some()).build();
        // It drops a byte order mark at the start of what it reads.
        core.read_record(b"\n", &mut [], &mut []);
        Quoted { core, quote, cells: Vec::new(), ends: Vec::new() }
    }

    /// Appends the position of each field, and moves the contents of all to the start of the record, which begins at
    /// `start` in its block; `false` if there are too many. Without quotes, they are never longer than the record.
    fn split(&mut self, record: &mut [u8], start: usize, spans: &mut Vec<(u32, u32)>) -> bool {
        let most = record.len() + 1;
        if self.cells.len() < most {
            self.cells.resize(most, 0);
            self.ends.resize(most.min(MAX_COLUMNS), 0);
        }
        let (result, _, nbytes, nfields) = self.core.read_record(record, &mut self.cells, &mut self.ends);
        if matches!(result, ReadRecordResult::OutputEndsFull) {
            return false;
        }
        let (result, _, more, last) = self.core.read_record(b"\n", &mut self.cells[nbytes..], &mut self.ends[nfields..]);
        if matches!(result, ReadRecordResult::OutputEndsFull) {
            return false;
        }
        let (nbytes, nfields) = (nbytes + more, nfields + last);
        let (ends, cells) = (&self.ends[..nfields], &self.cells[..nbytes]);
        let (mut from, mut written) = (0, 0);
        for to in ends {
            let is_quoted = record.get(written) == Some(&self.quote);
            spans.push(if is_quoted && from == *to { QUOTED_EMPTY } else { ((start + from) as u32, (start + to) as u32) });
            // In the record, quotes stand around it, and each of its own twice, and the delimiter follows.
            let own = cells.get(from..*to).unwrap_or_default();
            written += own.len() + if is_quoted { 3 + memchr::memchr_iter(self.quote, own).count() } else { 1 };
            from = *to;
        }
        record[..nbytes].copy_from_slice(cells);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quoted_empty_fields() {
        for (record, expected) in [
            ("\"\"", vec![true]),
            ("a,\"\",,\"b\",\"\"", vec![false, true, false, false, true]),
            (",\"x\"\"\"\"y,\",\"\",z\"z,,\"\"", vec![false, false, true, false, false, true]),
            ("\"\"\"\",\"\",", vec![false, true, false]),
        ] {
            let dialect = Dialect::of(&crate::options::CsvOptions::default(), b',');
            let mut spans = Vec::new();
            let mut bytes = format!("--{record}").into_bytes();
            assert!(Quoted::new(&dialect).split(&mut bytes[2..], 2, &mut spans));
            assert_eq!(spans.iter().map(|span| *span == QUOTED_EMPTY).collect::<Vec<_>>(), expected, "{record}");
        }
    }

    proptest! {
        #[test]
        fn fields_are_what_delimiters_separate(record in prop::collection::vec(prop_oneof![Just(b','), Just(b'-'), any::<u8>()], 0..40), start in 0usize..9) {
            let mut spans = Vec::new();
            prop_assert!(split(&record, b',', start, &mut spans));
            let found: Vec<&[u8]> = spans.iter().map(|(from, to)| &record[*from as usize - start..*to as usize - start]).collect();
            prop_assert_eq!(found, record.split(|byte| *byte == b',').collect::<Vec<_>>());
        }
    }
}
