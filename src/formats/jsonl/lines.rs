//! Cuts a stream of lines into blocks of whole lines. A block is read straight into its own buffer;
//! only the beginning of a line that is not yet whole is copied into the next.

use super::block::{Block, Layout, Piece};
use super::limits::{Limits, too_long};
use crate::error::{Error, Result};
use std::io::Read;
use std::sync::Arc;

/// Size of a block: small at first, so that the first records come soon.
const FIRST_BYTES: usize = 64 << 10;
const BLOCK_BYTES: usize = 1 << 20;
/// A read that gives less than this ends the block: more may not come for a while.
const SHORT_READ: usize = 8 << 10;

/// An iterator over the blocks of an input.
pub struct Lines {
    source: Box<dyn Read + Send>,
    input: Arc<str>,
    limits: Limits,
    /// Bytes read and not cut off yet, from `start` on.
    buffer: Vec<u8>,
    start: usize,
    /// `buffer[start..searched]` holds no new line.
    searched: usize,
    ended: bool,
    over: bool,
    target: usize,
    record: u64,
    line: u64,
    offset: u64,
}

impl Lines {
    pub fn new(source: Box<dyn Read + Send>, input: Arc<str>, limits: Limits) -> Lines {
        Lines {
            source,
            input,
            limits,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            ended: false,
            over: false,
            target: FIRST_BYTES,
            record: 1,
            line: 1,
            offset: 0,
        }
    }

    /// Reads until the buffer holds a whole line and is as large as a block, or the input pauses or ends.
    fn fill(&mut self) -> Result<()> {
        loop {
            let has_line = self.find_line_end().is_some();
            let waiting = self.buffer.len() - self.start;
            if self.ended || (has_line && waiting >= self.target) || (!has_line && waiting as u64 > self.limits.record_bytes) {
                return Ok(());
            }
            let want = self.target.saturating_sub(waiting).max(SHORT_READ).max(if has_line { 0 } else { waiting.min(BLOCK_BYTES * 16) });
            let before = self.buffer.len();
            self.buffer.resize(before + want, 0);
            let read = loop {
                match self.source.read(&mut self.buffer[before..]) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    result => break result,
                }
            };
            let n = read.as_ref().map_or(0, |n| *n);
            self.buffer.truncate(before + n);
            if let Err(error) = read {
                return Err(Error::io(&self.input, "reading failed", &error));
            }
            if before == 0 && self.offset == 0 && self.buffer.starts_with(b"\xEF\xBB\xBF") {
                self.start = 3;
                self.offset = 3;
            }
            if n == 0 {
                self.ended = true;
                if self.buffer.len() > self.start && self.buffer.last() != Some(&b'\n') {
                    self.buffer.push(b'\n');
                }
            } else if n < SHORT_READ && self.find_line_end().is_some() {
                return Ok(());
            }
        }
    }

    /// The end of the first line, behind its new line.
    fn find_line_end(&mut self) -> Option<usize> {
        let from = self.searched.max(self.start);
        match memchr::memchr(b'\n', &self.buffer[from..]) {
            Some(n) => {
                self.searched = from + n;
                Some(from + n + 1)
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    fn next_piece(&mut self) -> Result<Option<Piece>> {
        loop {
            if self.over || self.limits.records == Some(0) {
                return Ok(None);
            }
            if self.find_line_end().is_none_or(|_| self.start == 0 && self.buffer.len() < self.target && !self.ended) {
                self.fill()?;
            }
            match self.find_line_end() {
                None if self.ended => return Ok(None),
                None => return self.skip_long_line().map(Some),
                Some(end) if (end - self.start) as u64 > self.limits.record_bytes.saturating_add(1) => {
                    return Ok(Some(self.leave_line_out(end)));
                }
                Some(_) => {}
            }
            if let Some(block) = self.cut() {
                return Ok(Some(Piece::Block(block)));
            }
        }
    }

    /// As many whole lines as there are and may be; `None` if all of them are blank.
    fn cut(&mut self) -> Option<Block> {
        let most = self.limits.rows_now();
        let (mut end, mut nrecords, mut nlines) = (self.start, 0usize, 0u64);
        for new_line in memchr::memchr_iter(b'\n', &self.buffer[self.start..]) {
            let new_line = self.start + new_line;
            let line = &self.buffer[end..new_line];
            let blank = line.first().is_none_or(|b| *b <= b' ') && line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'));
            if !blank && (nrecords == most || line.len() as u64 > self.limits.record_bytes) {
                break;
            }
            nrecords += usize::from(!blank);
            nlines += 1;
            end = new_line + 1;
        }
        let (start, first_line, offset) = (self.start, self.line, self.offset);
        self.line += nlines;
        self.offset += (end - start) as u64;
        self.searched = end;
        if nrecords == 0 {
            self.start = end;
            return None;
        }
        let first_record = self.record;
        self.record += nrecords as u64;
        self.limits.took(nrecords);
        // The rest is mostly the beginning of one line; where it is more, the block is copied instead.
        let bytes = if start == 0 && self.buffer.len() - end <= end {
            let rest = self.buffer[end..].to_vec();
            let mut bytes = std::mem::replace(&mut self.buffer, Vec::with_capacity(rest.len() + self.target + SHORT_READ));
            self.buffer.extend_from_slice(&rest);
            bytes.truncate(end);
            self.start = 0;
            self.searched = 0;
            self.target = (self.target * 2).min(BLOCK_BYTES);
            bytes
        } else {
            self.start = end;
            let bytes = self.buffer[start..end].to_vec();
            if self.start == self.buffer.len() {
                self.buffer.clear();
                (self.start, self.searched) = (0, 0);
            }
            bytes
        };
        Some(Block { input: self.input.clone(), bytes, layout: Layout::Lines, nrecords, first_record, first_line, first_column: 0, offset })
    }

    /// The line at hand is too long, but whole.
    fn leave_line_out(&mut self, end: usize) -> Piece {
        let nbytes = (end - self.start) as u64;
        let piece = self.too_long(nbytes);
        self.start = end;
        self.searched = end;
        self.after_long_line(nbytes);
        piece
    }

    /// The line at hand is too long and goes on: reads to its end and keeps nothing of it.
    fn skip_long_line(&mut self) -> Result<Piece> {
        let mut nbytes = (self.buffer.len() - self.start) as u64;
        self.buffer = vec![0; BLOCK_BYTES];
        loop {
            let n = match self.source.read(&mut self.buffer) {
                Ok(n) => n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::io(&self.input, "reading failed", &error)),
            };
            if n == 0 {
                self.ended = true;
            }
            let line_end = memchr::memchr(b'\n', &self.buffer[..n]).map(|at| at + 1);
            nbytes += line_end.unwrap_or(n) as u64;
            if n == 0 || line_end.is_some() {
                self.buffer.truncate(n);
                self.start = line_end.unwrap_or(0);
                self.searched = self.start;
                break;
            }
        }
        let piece = self.too_long(nbytes);
        self.after_long_line(nbytes);
        Ok(piece)
    }

    fn too_long(&self, nbytes: u64) -> Piece {
        let error = too_long("the line", self.limits.record_bytes).in_input(self.input.clone()).locate(|at| {
            at.records = Some((self.record, self.record));
            at.line = Some(self.line);
            at.byte = Some(self.offset);
        });
        Piece::TooLong { error, nbytes }
    }

    fn after_long_line(&mut self, nbytes: u64) {
        self.record += 1;
        self.line += 1;
        self.offset += nbytes;
        self.limits.took(1);
    }
}

impl Iterator for Lines {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        let piece = self.next_piece().transpose();
        if matches!(piece, Some(Err(_)) | None) {
            self.over = true;
        }
        piece
    }
}
