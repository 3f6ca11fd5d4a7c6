//! Splits input into records and fields, in order. Quotes are resolved here, because only they determine where a record
//! ends.

use super::dialect::Dialect;
use super::quotes::QuoteCheck;
use crate::error::{Error, RAISE_LIMIT, Result};
use crate::formats::columnar::names;
use crate::formats::format::Request;
use crate::io::Input;
use crate::printable::BYTE_ORDER_MARK;
use csv_core::ReadRecordResult;
use std::io::Read;
use std::sync::Arc;

/// Bytes read at a time, and bytes of fields in a block.
const READ_NBYTES: usize = 256 << 10;
const BLOCK_NBYTES: usize = 1 << 20;
/// Maximum number of fields in a record.
const MAX_COLUMNS: usize = 100_000;
/// What is wrong with `"a" b`.
pub const MISQUOTED: &str = "text after the closing quote of a field";
/// What to do if quotes do not pair.
pub const ORDINARY_QUOTES: &str = "if quotes are ordinary characters in this file: --quote none";
/// Maximum number of column names in a notice.
const SHOWN_NAMES: usize = 5;

/// A block of records.
#[derive(Debug, Default)]
pub struct Block {
    pub input: Arc<str>,
    /// All fields, concatenated.
    pub bytes: Vec<u8>,
    /// Where each field ends.
    pub ends: Vec<usize>,
    /// For each record: the range of its fields in `ends`, and its line.
    pub records: Vec<(usize, u64)>,
    /// The records with text after a closing quote, and their bytes.
    pub misquoted: Vec<(usize, Vec<u8>)>,
    /// Number of the first record, from 1.
    pub first_record: u64,
}

impl Block {
    /// The index of the first field of a record, and the number of its fields.
    pub fn fields(&self, record: usize) -> (usize, usize) {
        let first = record.checked_sub(1).map_or(0, |before| self.records[before].0);
        (first, self.records[record].0 - first)
    }

    /// The bytes of a record with text after a closing quote.
    pub fn misquoted(&self, record: usize) -> Option<&[u8]> {
        let found = self.misquoted.binary_search_by_key(&record, |(record, _)| *record).ok()?;
        Some(&self.misquoted[found].1)
    }

    /// A field, given its index in the block.
    #[inline(always)]
    pub fn cell(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }
}

/// An iterator over the blocks of an input.
pub struct Cutter {
    stream: Box<dyn Read + Send>,
    input: Arc<str>,
    core: csv_core::Reader,
    quotes: QuoteCheck,
    /// The bytes of the current record, if it is in several parts of the input or its quotes are wrong.
    raw: Vec<u8>,
    /// The fields of the current record, and where they end; kept, because making room writes zeros.
    cells: Vec<u8>,
    ends: Vec<usize>,
    names: Arc<Vec<String>>,
    buffer: Vec<u8>,
    at: usize,
    is_over: bool,
    /// Whether the last record ended with a carriage return, to which a line feed may belong.
    is_after_return: bool,
    line: u64,
    next_record: u64,
    wanted: u64,
    chunk_rows: usize,
    /// Whether a block ends where the input pauses.
    is_live: bool,
    max_record_bytes: usize,
}

impl Cutter {
    /// # Errors
    /// The input cannot be opened, or the header has a duplicate name or is not text.
    pub fn open(input: &Input, dialect: &Dialect, request: &Request) -> Result<Cutter> {
        let mut cutter = Cutter {
            stream: input.open()?,
            input: input.name().clone(),
            core: {
                let mut builder = csv_core::ReaderBuilder::new();
                let quote = dialect.quote.unwrap_or(b'"');
                builder.delimiter(dialect.delimiter).quote(quote).quoting(dialect.quote.is_some()).build()
            },
            quotes: QuoteCheck::new(dialect.quote, dialect.delimiter),
            raw: Vec::new(),
            cells: Vec::new(),
            ends: Vec::new(),
            names: Arc::default(),
            buffer: Vec::new(),
            at: 0,
            is_over: false,
            is_after_return: false,
            line: 1,
            next_record: 1,
            wanted: request.records.unwrap_or(u64::MAX),
            chunk_rows: request.options.chunk_rows.unwrap_or(usize::MAX).max(1),
            is_live: request.options.unbuffered && !input.is_regular(),
            max_record_bytes: usize::try_from(request.options.max_record_bytes).unwrap_or(usize::MAX),
        };
        cutter.pass_separator(dialect.delimiter)?;
        let names = match &dialect.columns {
            Some(names) => check(names).map_err(|e| e.in_input(input.name().clone()))?.clone(),
            None => {
                let mut names = cutter.header(dialect)?;
                let shown = names.iter().take(SHOWN_NAMES).cloned().collect::<Vec<_>>().join(", ");
                let is_record = !names.is_empty() && names.iter().all(|name| name.trim().parse::<f64>().is_ok());
                let renamed = names::distinct(&mut names);
                if is_record {
                    let more = if names.len() > SHOWN_NAMES { ", ..." } else { "" };
                    let text = format!(
                        "{}: the first line is read as the header: {shown}{more}; if it is a record, name the columns with --columns a,b",
                        input.name()
                    );
                    request.options.notices.add(text, request.options.strict)?;
                } else {
                    names::announce(input.name(), &renamed, &request.options)?;
                }
                names
            }
        };
        if let ([name], None) = (&names[..], &dialect.columns)
            && let Some(other) = [',', ';', '\t', '|'].into_iter().find(|other| name.contains(*other))
        {
            let shown = if other == '\t' { "'\\t'".to_owned() } else { format!("'{other}'") };
            let text =
                format!("{}: there is only one column, `{name}`; if {shown} separates columns, use --delimiter {shown}", input.name());
            let text = match request.options.csv.delimiter {
                Some(_) => format!(
                    "{text}. --delimiter applies to both input and output; to write with a different delimiter, pipe into a second tatter"
                ),
                None => text,
            };
            request.options.notices.add(text, request.options.strict)?;
        }
        cutter.names = Arc::new(names);
        Ok(cutter)
    }

    /// The names of the columns.
    pub fn names(&self) -> &Arc<Vec<String>> {
        &self.names
    }

    fn header(&mut self, dialect: &Dialect) -> Result<Vec<String>> {
        let mut block = Block::default();
        if !self.record(&mut block)? {
            return Ok(Vec::new());
        }
        if !block.misquoted.is_empty() {
            let error = Error::data(format!("the header has {MISQUOTED}")).in_input(self.input.clone());
            return Err(error.help(ORDINARY_QUOTES));
        }
        let other_encoding = dialect.other_encoding(&self.input);
        let name = |number: usize| {
            let name = std::str::from_utf8(block.cell(number));
            name.map(str::to_owned).map_err(|_| {
                let error = Error::data("the header is not valid UTF-8").in_input(self.input.clone());
                error.help(format!("is this a text file? {other_encoding}"))
            })
        };
        (0..block.ends.len()).map(name).collect()
    }

    /// Skips the line `sep=;` with which Excel specifies the delimiter, if it is this one.
    fn pass_separator(&mut self, delimiter: u8) -> Result<()> {
        self.fill()?;
        let line = [b"sep=".as_slice(), &[delimiter]].concat();
        let text = self.buffer.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.buffer);
        if let Some(rest) = text.strip_prefix(line.as_slice()).filter(|rest| matches!(rest, [] | [b'\r' | b'\n', ..])) {
            self.at = self.buffer.len() - rest.len();
        }
        Ok(())
    }

    fn fill(&mut self) -> Result<()> {
        self.buffer.resize(READ_NBYTES, 0);
        self.at = 0;
        let nbytes = loop {
            match self.stream.read(&mut self.buffer) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                result => break result.map_err(|e| Error::io(&self.input, "cannot read", &e))?,
            }
        };
        self.buffer.truncate(nbytes);
        self.is_over = nbytes == 0;
        Ok(())
    }

    fn located(&self, message: String, line: u64) -> Error {
        Error::data(message).in_input(self.input.clone()).locate(|at| {
            at.records = Some((self.next_record, self.next_record));
            at.line = Some(line);
        })
    }

    /// Skips an empty line. With a single column, it is a record with an empty field, as Polars, DuckDB and Arrow write
    /// it.
    fn empty_line(&mut self) -> Result<bool> {
        loop {
            match self.buffer.get(self.at) {
                None if self.is_over => return Ok(false),
                None => self.fill()?,
                Some(b'\n') if self.is_after_return => {
                    self.is_after_return = false;
                    self.at += 1;
                    self.line += 1;
                }
                Some(byte @ (b'\n' | b'\r')) => {
                    self.is_after_return = *byte == b'\r';
                    self.line += u64::from(*byte == b'\n');
                    self.at += 1;
                    return Ok(true);
                }
                Some(_) => return Ok(false),
            }
        }
    }

    /// Appends the next record, if there is one.
    fn record(&mut self, block: &mut Block) -> Result<bool> {
        if self.names.len() == 1 && self.empty_line()? {
            block.ends.push(block.bytes.len());
            block.records.push((block.ends.len(), self.line - 1));
            return Ok(true);
        }
        // Blank lines are not records.
        loop {
            let rest = &self.buffer[self.at..];
            match rest.iter().position(|b| !matches!(b, b'\r' | b'\n')) {
                Some(blank) => {
                    self.line += memchr::memchr_iter(b'\n', &rest[..blank]).count() as u64;
                    self.at += blank;
                    break;
                }
                None => {
                    self.line += memchr::memchr_iter(b'\n', rest).count() as u64;
                    self.fill()?;
                    if self.is_over {
                        break;
                    }
                }
            }
        }
        let (start, line) = (block.bytes.len(), self.line);
        self.raw.clear();
        self.quotes.reset();
        let (mut nbytes, mut nfields) = (0, 0);
        loop {
            if self.cells.len() - nbytes < 1024 {
                self.cells.resize((self.cells.len() * 2).max(64 << 10), 0);
            }
            if self.ends.len() == nfields {
                self.ends.resize((nfields * 2).max(64), 0);
            }
            // A line feed at the end of the input ends the last record, unless it is inside quotes, where it is a character.
            let rest = if self.is_over { b"\n" } else { &self.buffer[self.at..] };
            let (result, read, written, ended) = self.core.read_record(rest, &mut self.cells[nbytes..], &mut self.ends[nfields..]);
            if !self.is_over {
                self.line += memchr::memchr_iter(b'\n', &rest[..read]).count() as u64;
                self.is_after_return = rest[..read].last() == Some(&b'\r');
                self.quotes.see(&rest[..read]);
                if self.quotes.is_violated() || !self.raw.is_empty() || !matches!(result, ReadRecordResult::Record) {
                    self.raw.extend_from_slice(&rest[..read]);
                }
                self.at += read;
            }
            (nbytes, nfields) = (nbytes + written, nfields + ended);
            if nbytes > self.max_record_bytes {
                let message = format!("the record has more than {} bytes: is a closing quote missing?", self.max_record_bytes);
                let error = self.located(message, line).help(RAISE_LIMIT);
                return Err(if self.quotes.has_quotes() { error.help(ORDINARY_QUOTES) } else { error });
            }
            if nfields > MAX_COLUMNS {
                return Err(self.located(format!("the record has more than {MAX_COLUMNS} fields"), line));
            }
            match result {
                ReadRecordResult::InputEmpty if self.is_over && written > 0 => {
                    let error = self.located("the file ends in the middle of a quoted field".to_owned(), line);
                    return Err(error.help(ORDINARY_QUOTES));
                }
                ReadRecordResult::InputEmpty if self.is_over => return Ok(false),
                ReadRecordResult::InputEmpty => self.fill()?,
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(false),
            }
        }
        block.bytes.extend_from_slice(&self.cells[..nbytes]);
        block.ends.extend(self.ends[..nfields].iter().map(|end| start + end));
        if self.quotes.is_violated() {
            while self.raw.pop_if(|byte| matches!(byte, b'\n' | b'\r')).is_some() {}
            block.misquoted.push((block.records.len(), std::mem::take(&mut self.raw)));
        }
        block.records.push((block.ends.len(), line));
        Ok(true)
    }
}

/// Checks that the names given for columns are distinct.
fn check(names: &Vec<String>) -> Result<&Vec<String>> {
    let mut seen = std::collections::HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(Error::usage(format!("--columns: two columns are named {}", crate::path::quoted(name)))),
        None => Ok(names),
    }
}

impl Iterator for Cutter {
    type Item = Result<Block>;

    fn next(&mut self) -> Option<Result<Block>> {
        let mut block = Block { input: self.input.clone(), first_record: self.next_record, ..Block::default() };
        while self.wanted > 0 && block.records.len() < self.chunk_rows && block.bytes.len() < BLOCK_NBYTES {
            match self.record(&mut block) {
                Ok(true) => {
                    self.next_record += 1;
                    self.wanted -= 1;
                    if self.is_live && self.at == self.buffer.len() {
                        break;
                    }
                }
                Ok(false) => break,
                Err(error) => {
                    self.wanted = 0;
                    return Some(Err(error));
                }
            }
        }
        (!block.records.is_empty()).then_some(Ok(block))
    }
}
