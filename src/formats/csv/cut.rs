//! Cuts an input into records, in order. Their fields are split on any thread: only quotes determine where a record ends.

use super::comments;
use super::dialect::Dialect;
use super::fields::{Fields, MISQUOTED};
use super::record::{Block, Ending, Record, Scan};
use crate::error::{Error, RAISE_LIMIT, Result};
use crate::formats::columnar::names;
use crate::formats::format::Request;
use crate::io::Input;
use crate::io::buffers::{Buffers, Filling};
use crate::printable::BYTE_ORDER_MARK;
use std::io::Read;
use std::sync::Arc;

/// Bytes read at a time, and bytes of a block.
const READ_NBYTES: usize = 256 << 10;
const BLOCK_NBYTES: usize = 1 << 20;
/// Maximum number of bytes in a record, so that positions in a block fit in 32 bits.
const MAX_RECORD_NBYTES: usize = u32::MAX as usize - 2 * BLOCK_NBYTES;
/// What to do if quotes do not pair.
pub const ORDINARY_QUOTES: &str = "if quotes are ordinary characters in this file: --quote none";
/// Maximum number of column names in a notice.
const SHOWN_NAMES: usize = 5;

/// An iterator over the blocks of an input.
pub struct Cutter {
    stream: Box<dyn Read + Send>,
    input: Arc<str>,
    dialect: Arc<Dialect>,
    names: Arc<Vec<String>>,
    buffers: Buffers,
    /// The bytes that have been read, from the first record of the next block.
    bytes: Filling,
    /// The end of the last record in `bytes`.
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
    /// What ends the input, behind the records that precede it.
    failure: Option<Error>,
}

impl Cutter {
    /// # Errors
    /// The input cannot be opened, or the header has a duplicate name or is not text.
    pub fn open(input: &Input, dialect: &Arc<Dialect>, request: &Request) -> Result<Cutter> {
        let mut cutter = Cutter {
            stream: input.open()?,
            input: input.name().clone(),
            dialect: dialect.clone(),
            names: Arc::default(),
            buffers: Buffers::default(),
            bytes: Filling::default(),
            at: 0,
            is_over: false,
            is_after_return: false,
            line: 1,
            next_record: 1,
            wanted: request.records.unwrap_or(u64::MAX),
            chunk_rows: request.options.chunk_rows.unwrap_or(usize::MAX).max(1),
            is_live: request.options.unbuffered && !input.is_regular(),
            max_record_bytes: usize::try_from(request.options.max_record_bytes).unwrap_or(usize::MAX).min(MAX_RECORD_NBYTES),
            failure: None,
        };
        cutter.pass_separator()?;
        cutter.refuse_comments(input)?;
        let names = match &dialect.columns {
            Some(names) => check(names).map_err(|e| e.in_input(input.name().clone()))?.clone(),
            None => {
                let mut names = cutter.header()?;
                let shown = names.iter().take(SHOWN_NAMES).cloned().collect::<Vec<_>>().join(", ");
                let is_record = looks_like_record(&names);
                let renamed = names::distinct(&mut names);
                if is_record {
                    let more = if names.len() > SHOWN_NAMES { ", ..." } else { "" };
                    let text = format!(
                        "the first line is read as the header: {shown}{more}; if it is a record, name the columns with --columns a,b"
                    );
                    request.options.notices.add_about(input.name(), text, request.options.strict)?;
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
            let text = format!("there is only one column, `{name}`; if {shown} separates columns, use --delimiter {shown}");
            let text = match request.options.csv.delimiter {
                Some(_) => format!(
                    "{text}. --delimiter applies to both input and output; to write with a different delimiter, pipe into a second tatter"
                ),
                None => text,
            };
            request.options.notices.add_about(input.name(), text, request.options.strict)?;
        }
        cutter.names = Arc::new(names);
        Ok(cutter)
    }

    /// The names of the columns.
    pub fn names(&self) -> &Arc<Vec<String>> {
        &self.names
    }

    fn header(&mut self) -> Result<Vec<String>> {
        let Some(record) = self.record()? else { return Ok(Vec::new()) };
        let fields = Fields::split(self.take(vec![record]), &self.dialect)?;
        if fields.misquoted(0).is_some() {
            let error = Error::data(format!("the header has {MISQUOTED}")).in_input(self.input.clone());
            return Err(error.help(ORDINARY_QUOTES));
        }
        let other_encoding = self.dialect.other_encoding(&self.input);
        let name = |number: usize| {
            let name = std::str::from_utf8(fields.cell(number));
            name.map(str::to_owned).map_err(|_| {
                let error = Error::data("the header is not valid UTF-8").in_input(self.input.clone());
                error.help(format!("is this a text file? {other_encoding}"))
            })
        };
        (0..fields.of_record(0).1).map(name).collect()
    }

    /// Skips a byte order mark and the line `sep=;` with which Excel specifies the delimiter, if it is this one.
    fn pass_separator(&mut self) -> Result<()> {
        self.fill()?;
        let text = self.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.bytes);
        let line = [b"sep=".as_slice(), &[self.dialect.delimiter]].concat();
        let rest = text.strip_prefix(line.as_slice()).filter(|rest| matches!(rest, [] | [b'\r' | b'\n', ..]));
        self.at = self.bytes.len() - rest.unwrap_or(text).len();
        Ok(())
    }

    /// Refuses comment lines before the first record, which would be read as the header.
    fn refuse_comments(&mut self, input: &Input) -> Result<()> {
        while self.bytes.get(self.at) == Some(&b'#')
            && !self.is_over
            && self.bytes.len() < BLOCK_NBYTES
            && !comments::are_all_seen(self.bytes.get(self.at..).unwrap_or_default())
        {
            self.fill()?;
        }
        match comments::before_header(self.bytes.get(self.at..).unwrap_or_default(), &self.dialect) {
            Some(comments) => Err(comments.error(input, &self.dialect)),
            None => Ok(()),
        }
    }

    fn fill(&mut self) -> Result<()> {
        let nbytes = loop {
            match self.stream.read(self.bytes.room(READ_NBYTES)) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                result => break result.map_err(|e| Error::io(&self.input, "cannot read", &e))?,
            }
        };
        self.bytes.advance(nbytes);
        self.is_over = nbytes == 0;
        Ok(())
    }

    /// The records up to the last one that was cut.
    fn take(&mut self, records: Vec<Record>) -> Block {
        let mut rest = self.buffers.filling();
        rest.extend_from_slice(self.bytes.get(self.at..).unwrap_or_default());
        let mut bytes = std::mem::replace(&mut self.bytes, rest);
        bytes.truncate(self.at);
        self.at = 0;
        let first_record = self.next_record.saturating_sub(records.len() as u64);
        Block { input: self.input.clone(), bytes: bytes.into_buffer(), records, first_record }
    }

    fn located(&self, message: String, line: u64) -> Error {
        Error::data(message).in_input(self.input.clone()).locate(|at| {
            at.records = Some((self.next_record, self.next_record));
            at.line = Some(line);
        })
    }

    /// Moves to the start of the next record; `false` at the end of the input. Blank lines are not records, but with a
    /// single column they are records with an empty field, as Polars, DuckDB and Arrow write it.
    fn begin(&mut self) -> Result<bool> {
        loop {
            match self.bytes.get(self.at) {
                None if self.is_over => return Ok(false),
                None => self.fill()?,
                Some(b'\n') if self.is_after_return => self.pass(b'\n'),
                Some(byte @ (b'\n' | b'\r')) if self.names.len() != 1 => self.pass(*byte),
                Some(_) => return Ok(true),
            }
        }
    }

    /// Moves past the end of a line.
    fn pass(&mut self, end: u8) {
        self.at += 1;
        self.line += u64::from(end == b'\n');
        self.is_after_return = end == b'\r';
    }

    /// The next record, if there is one.
    fn record(&mut self) -> Result<Option<Record>> {
        if !self.begin()? {
            return Ok(None);
        }
        let (start, line) = (self.at, self.line);
        let mut scan = Scan::new(&self.dialect, start);
        loop {
            let ending = scan.ending(&self.bytes, self.is_over);
            let end = match ending {
                Ending::At(end) => end,
                Ending::Beyond => self.bytes.len(),
                Ending::Unclosed => {
                    let error = self.located("the file ends in the middle of a quoted field".to_owned(), line);
                    return Err(error.help(ORDINARY_QUOTES));
                }
            };
            if end - start > self.max_record_bytes {
                let message = format!("the record has more than {} bytes; is a closing quote missing?", self.max_record_bytes);
                let error = self.located(message, line);
                let error = if self.max_record_bytes < MAX_RECORD_NBYTES { error.help(RAISE_LIMIT) } else { error };
                return Err(if self.dialect.quote.is_some() { error.help(ORDINARY_QUOTES) } else { error });
            }
            if matches!(ending, Ending::Beyond) {
                self.fill()?;
                continue;
            }
            let record = Record { start, end, line, quotes: scan.quotes() };
            self.line += record.inner_lines(&self.bytes);
            self.at = end;
            match self.bytes.get(end) {
                Some(byte) => self.pass(*byte),
                None => self.is_after_return = false,
            }
            return Ok(Some(record));
        }
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
        let (mut records, mut nrows) = (Vec::new(), 0);
        while self.wanted > 0 && nrows < self.chunk_rows && self.at < BLOCK_NBYTES {
            match self.record() {
                Ok(Some(record)) => {
                    // A record too short for all fields will be no row. A block without rows costs work for each column.
                    nrows += usize::from(record.end - record.start + 1 >= self.names.len());
                    records.push(record);
                    self.next_record += 1;
                    self.wanted -= 1;
                    if self.is_live && self.at == self.bytes.len() {
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    self.wanted = 0;
                    self.failure = Some(error);
                }
            }
        }
        if records.is_empty() {
            return self.failure.take().map(Err);
        }
        Some(Ok(self.take(records)))
    }
}
/// Whether the names of the columns are rather the values of a record: they begin with a number or a date, or some are numbers
/// that are neither years nor a rising series, as the columns of a table of counts or quantiles have.
fn looks_like_record(names: &[String]) -> bool {
    let number = |name: &String| name.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let is_date = |name: &&String| {
        let mut shape = name.trim().bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
        b"0000-00-00".iter().all(|expected| shape.next() == Some(*expected))
    };
    if names.first().is_some_and(|first| number(first).is_some() || is_date(&first)) {
        return true;
    }
    let numbers: Vec<f64> = names.iter().filter_map(number).collect();
    let are_years = numbers.iter().all(|number| number.fract() == 0.0 && (1800.0..2200.0).contains(number));
    let is_series = numbers.len() > 2 && numbers.windows(2).all(|pair| pair[0] < pair[1]);
    !are_years && !is_series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_told_from_a_header() {
        for (line, expected) in [
            ("id,name", false),
            ("", false),
            (",a,b", false),
            ("1,2,3", true),
            ("1,ann", true),
            ("2024-01-01,ann", true),
            ("5.5,,3", true),
            ("chr1,100,200", true),
            ("country,2019,2020", false),
            ("country,2020-01-01,2020-02-01", false),
            ("name,0,1,2", false),
            (",0.25,0.5,0.75", false),
            ("word,0.3,-0.1,0.2", true),
            ("nan,inf", false),
        ] {
            let names: Vec<String> = line.split(',').map(str::to_owned).collect();
            assert_eq!(looks_like_record(&names), expected, "{line}");
        }
    }
}
