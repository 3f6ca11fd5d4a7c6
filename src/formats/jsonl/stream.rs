//! Cuts a stream of JSON values, or a single array, into blocks of whole values. Only brackets and strings are
//! examined; the rest is left to the decoder.

use super::block::{Block, Framing, Piece};
use super::limits::{Limits, too_long};
use crate::error::{Error, Result, mismatch};
use std::io::Read;
use std::sync::{Arc, OnceLock};

const BLOCK_BYTES: usize = 1 << 20;
const READ_BYTES: usize = 256 << 10;
const SHORT_READ_BYTES: usize = 8 << 10;

/// An iterator over the blocks of an input.
pub struct ValueCutter {
    source: Box<dyn Read + Send>,
    input: Arc<str>,
    limits: Limits,
    /// Bytes that have been read but not cut yet.
    buffer: Vec<u8>,
    /// Position of the scan in the buffer.
    at: usize,
    state: StreamState,
    /// The start of the current value, and the nesting depth of the scan.
    began: Option<usize>,
    depth: u64,
    in_string: bool,
    escaped: bool,
    ranges: Vec<(usize, usize)>,
    /// The last read returned little, so more may not arrive for a while.
    paused: bool,
    ended: bool,
    over: bool,
    record: u64,
    line: u64,
    column: u64,
    offset: u64,
}

/// What can come next outside records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamState {
    /// The start of the input.
    Start,
    /// Values separated by whitespace.
    Values,
    /// In the array, before its first value.
    First,
    /// In the array, after a value.
    After,
    /// In the array, after a comma.
    Next,
    /// After the end of the array.
    Done,
}

impl ValueCutter {
    pub fn new(source: Box<dyn Read + Send>, input: Arc<str>, limits: Limits) -> ValueCutter {
        ValueCutter {
            source,
            input,
            limits,
            buffer: Vec::new(),
            at: 0,
            state: StreamState::Start,
            began: None,
            depth: 0,
            in_string: false,
            escaped: false,
            ranges: Vec::new(),
            paused: false,
            ended: false,
            over: false,
            record: 1,
            line: 1,
            column: 0,
            offset: 0,
        }
    }

    fn read(&mut self) -> Result<()> {
        let before = self.buffer.len();
        self.buffer.resize(before + READ_BYTES, 0);
        let read = loop {
            match self.source.read(&mut self.buffer[before..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.buffer.truncate(before + read.as_ref().map_or(0, |n| *n));
        self.paused = self.buffer.len() - before < SHORT_READ_BYTES;
        self.ended = read.map_err(|error| Error::io(&self.input, "cannot read", &error))? == 0;
        if before == 0 && self.offset == 0 && self.buffer.starts_with(b"\xEF\xBB\xBF") {
            self.buffer.drain(..3);
            self.offset = 3;
        }
        Ok(())
    }

    fn next_piece(&mut self) -> Result<Option<Piece>> {
        loop {
            if self.ranges.len() >= self.limits.rows_now() || (self.began.is_none() && !self.ranges.is_empty() && self.at >= BLOCK_BYTES) {
                return Ok((!self.ranges.is_empty()).then(|| Piece::Block(self.cut())));
            }
            if self.at < self.buffer.len() {
                self.scan()?;
                if let Some(began) = self.began
                    && (self.at - began) as u64 > self.limits.record_bytes
                {
                    return Err(self.locate(too_long("the record", self.limits.record_bytes), began));
                }
                continue;
            }
            if self.ended {
                self.end_of_input()?;
                return Ok((!self.ranges.is_empty()).then(|| Piece::Block(self.cut())));
            }
            if !self.ranges.is_empty() && (self.at >= BLOCK_BYTES || self.paused) {
                return Ok(Some(Piece::Block(self.cut())));
            }
            if self.ranges.is_empty() && self.began.is_none() {
                let space = std::mem::take(&mut self.buffer);
                self.pass(&space);
                self.at = 0;
            }
            self.read()?;
        }
    }

    /// Counts lines and bytes before the buffer.
    fn pass(&mut self, bytes: &[u8]) {
        self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.column = match memchr::memrchr(b'\n', bytes) {
            Some(at) => (bytes.len() - at - 1) as u64,
            None => self.column + bytes.len() as u64,
        };
        self.offset += bytes.len() as u64;
    }

    /// Scans to the end of a value or of the buffer.
    fn scan(&mut self) -> Result<()> {
        while self.at < self.buffer.len() {
            let byte = self.buffer[self.at];
            if self.in_string {
                self.scan_string();
                continue;
            }
            if self.began.is_none() {
                self.at += 1;
                self.between(byte)?;
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.at += 1;
                        self.end_value();
                        return Ok(());
                    }
                }
                b'}' | b']' | b',' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => {
                    self.end_value();
                    return Ok(());
                }
                _ => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    fn scan_string(&mut self) {
        if self.escaped {
            self.escaped = false;
            self.at += 1;
            return;
        }
        match memchr::memchr2(b'"', b'\\', &self.buffer[self.at..]) {
            None => self.at = self.buffer.len(),
            Some(n) => {
                self.at += n + 1;
                if self.buffer[self.at - 1] == b'\\' {
                    self.escaped = true;
                } else {
                    self.in_string = false;
                    if self.depth == 0 {
                        self.end_value();
                    }
                }
            }
        }
    }

    fn end_value(&mut self) {
        if let Some(began) = self.began.take() {
            self.ranges.push((began, self.at));
            self.state = if self.state == StreamState::Values { StreamState::Values } else { StreamState::After };
        }
    }

    /// Handles a byte between values.
    fn between(&mut self, byte: u8) -> Result<()> {
        let here = self.at - 1;
        match (self.state, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n') => {}
            (StreamState::Start, b'[') => self.state = StreamState::First,
            (StreamState::First | StreamState::After, b']') => self.state = StreamState::Done,
            (StreamState::After, b',') => self.state = StreamState::Next,
            (StreamState::Start | StreamState::Values | StreamState::First | StreamState::Next, b'{' | b'[' | b'"') => {
                self.begin(here);
                self.depth = u64::from(byte != b'"');
                self.in_string = byte == b'"';
            }
            (StreamState::Start | StreamState::Values | StreamState::First | StreamState::Next, byte)
                if byte.is_ascii_alphanumeric() || byte == b'-' =>
            {
                self.begin(here);
                self.depth = 0;
            }
            (state, _) => {
                let expected = match state {
                    StreamState::Start | StreamState::Values => "an object",
                    StreamState::First => "an object or the end of the array",
                    StreamState::Next => "an object",
                    StreamState::After => "a comma or the end of the array",
                    StreamState::Done => "the end of the input after the array",
                };
                let text = String::from_utf8_lossy(&self.buffer[here..(here + 4).min(self.buffer.len())]).into_owned();
                let found = text.chars().next().unwrap_or(' ');
                let mut error = Error::data(mismatch(expected, format_args!("`{found}`")));
                if state == StreamState::Values && byte == b',' {
                    error = error.help("values separated by commas belong in an array: [ ... ]");
                }
                return Err(self.locate(error, here));
            }
        }
        Ok(())
    }

    fn begin(&mut self, here: usize) {
        self.began = Some(here);
        if self.state == StreamState::Start {
            self.state = StreamState::Values;
        }
    }

    fn end_of_input(&mut self) -> Result<()> {
        if let Some(began) = self.began {
            if self.depth == 0 && !self.in_string {
                self.end_value();
                return Ok(());
            }
            let error =
                Error::data("the input ends in the middle of this record").help("it is truncated, or a bracket or quote is missing");
            return Err(self.locate(error, began));
        }
        if matches!(self.state, StreamState::First | StreamState::After | StreamState::Next) {
            return Err(self.locate(Error::data("the input ends in the middle of the array: expected `]`"), self.buffer.len()));
        }
        Ok(())
    }

    /// The values found so far.
    fn cut(&mut self) -> Block {
        let nrecords = self.ranges.len().min(self.limits.rows_now());
        let later = self.ranges.split_off(nrecords);
        let ranges = std::mem::replace(&mut self.ranges, later);
        let end = ranges.last().map_or(0, |p| p.1);
        let rest = self.buffer[end..].to_vec();
        let mut bytes = std::mem::replace(&mut self.buffer, rest);
        bytes.truncate(end);
        self.at -= end;
        self.began = self.began.map(|b| b - end);
        self.ranges.iter_mut().for_each(|p| *p = (p.0 - end, p.1 - end));
        let block = Block {
            input: self.input.clone(),
            framing: Framing::Values { ranges, array: self.state != StreamState::Values },
            nrecords,
            first_record: self.record,
            first_line: self.line,
            first_column: self.column,
            offset: self.offset,
            bytes: bytes.into(),
            ends: OnceLock::new(),
        };
        self.record += nrecords as u64;
        self.pass(&block.bytes);
        self.limits.took(nrecords);
        block
    }

    fn locate(&self, error: Error, pos: usize) -> Error {
        let before = &self.buffer[..pos];
        let line = self.line + memchr::memchr_iter(b'\n', before).count() as u64;
        let column = memchr::memrchr(b'\n', before).map_or(self.column + pos as u64, |at| (pos - at - 1) as u64) + 1;
        let record = self.record + self.ranges.len() as u64;
        error.in_input(self.input.clone()).locate(|at| {
            at.records = Some((record, record));
            at.line = Some(line);
            at.column = Some(column);
            at.byte = Some(self.offset + pos as u64);
        })
    }
}

impl Iterator for ValueCutter {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        if self.over || self.limits.records == Some(0) {
            return None;
        }
        let piece = self.next_piece().transpose();
        if matches!(piece, Some(Err(_)) | None) {
            self.over = true;
        }
        piece
    }
}
