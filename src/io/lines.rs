//! Splits a stream into blocks of whole lines. Sequential; examines only line ends.

use super::buffers::{Buffer, Buffers, Filling};
use super::input::Input;
use crate::error::{Error, Result};
use crate::options::Options;
use std::io::{self, Read};
use std::sync::Arc;

/// Size of the first block in bytes: small, so that `head` and slow pipes start immediately.
pub const FIRST_BLOCK_BYTES: usize = 64 << 10;
/// Size of later blocks.
pub const BLOCK_BYTES: usize = 1 << 20;
/// A short read from a pipe means that no more data is available at the moment, so the available data is passed on.
const SHORT_READ_BYTES: usize = 64 << 10;

/// Whole lines, each with its terminator; only the last line of the input can lack it.
#[derive(Debug, PartialEq, Eq)]
pub struct Lines {
    /// The bytes of the lines.
    pub bytes: Buffer,
    /// Number of the first line, from 1.
    pub first_line: u64,
    /// The offset of the first line in the decompressed input.
    pub byte: u64,
    /// Number of lines.
    pub nlines: usize,
}

/// A line beyond `--max-record-bytes` that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongLine {
    /// The line number, from 1.
    pub line: u64,
    /// The offset of the line in the input.
    pub byte: u64,
    /// The length including the terminator.
    pub length: u64,
}

/// The next part of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum LineBlock {
    /// Lines in a block can still exceed `--max-record-bytes`. The limit bounds memory here; the decoder enforces it.
    Lines(Lines),
    /// A line beyond the limit, which has been skipped.
    TooLong(LongLine),
}

/// The blocks of one input, in order.
pub struct Blocks {
    stream: Box<dyn Read + Send>,
    name: Arc<str>,
    max_line_bytes: usize,
    max_lines: usize,
    /// Whether short reads are passed on.
    is_live: bool,
    /// Whether reading stops at a line that is too long.
    ends_at_long_line: bool,
    buffers: Buffers,
    /// Bytes that have been read; those before `start` have been returned.
    buffer: Filling,
    start: usize,
    block_bytes: usize,
    ended: bool,
    next_line: u64,
    next_byte: u64,
}

impl Blocks {
    /// The lines of an input from its start, with at most `--chunk-rows` lines in a block.
    ///
    /// # Errors
    /// See [`Input::open`].
    pub fn open(input: &Input, options: &Options) -> Result<Blocks> {
        Ok(Blocks {
            stream: input.open()?,
            name: input.name().clone(),
            max_line_bytes: usize::try_from(options.max_record_bytes).unwrap_or(usize::MAX),
            max_lines: options.chunk_rows.unwrap_or(usize::MAX).max(1),
            is_live: !input.is_regular(),
            ends_at_long_line: false,
            buffers: Buffers::default(),
            buffer: Filling::default(),
            start: 0,
            block_bytes: FIRST_BLOCK_BYTES,
            ended: false,
            next_line: 1,
            next_byte: 0,
        })
    }

    /// Limits blocks to `max_lines` lines, if that is less than `--chunk-rows`.
    #[must_use]
    pub fn with_max_lines(mut self, max_lines: usize) -> Blocks {
        self.max_lines = self.max_lines.min(max_lines.max(1));
        self
    }

    /// Makes a line that is too long end the blocks. For inference on a pipe, which remembers what was read.
    #[must_use]
    pub fn ending_at_long_line(mut self) -> Blocks {
        self.ends_at_long_line = true;
        self
    }

    fn next_block(&mut self) -> Result<Option<LineBlock>> {
        loop {
            let rest = self.buffer.get(self.start..).unwrap_or_default();
            let whole = match memchr::memrchr(b'\n', rest) {
                Some(end) => end + 1,
                None if self.ended => rest.len(),
                None => 0,
            };
            if whole > 0 {
                return Ok(Some(LineBlock::Lines(self.take(whole))));
            }
            if self.ended {
                return Ok(None);
            }
            if rest.len() > self.max_line_bytes && self.ends_at_long_line {
                let long = LongLine { line: self.next_line, byte: self.next_byte, length: rest.len() as u64 };
                self.buffer = Filling::default();
                (self.start, self.ended) = (0, true);
                return Ok(Some(LineBlock::TooLong(long)));
            }
            if rest.len() > self.max_line_bytes {
                return self.pass_over().map(|long| Some(LineBlock::TooLong(long)));
            }
            self.fill()?;
        }
    }

    /// Cuts lines off the front of the `whole` bytes that consist of complete lines.
    fn take(&mut self, whole: usize) -> Lines {
        let rest = self.buffer.get(self.start..self.start + whole).unwrap_or_default();
        let (mut nlines, mut nbytes) = (0, 0);
        if self.max_lines == usize::MAX {
            // Counting alone is several times faster, and this is a serial stage.
            nlines = memchr::memchr_iter(b'\n', rest).count();
            nbytes = memchr::memrchr(b'\n', rest).map_or(0, |end| end + 1);
        } else {
            for end in memchr::memchr_iter(b'\n', rest).take(self.max_lines) {
                nlines += 1;
                nbytes = end + 1;
            }
        }
        if nbytes < rest.len() && nlines < self.max_lines {
            // The last line of the input, without a terminator.
            nlines += 1;
            nbytes = rest.len();
        }
        let mut other = self.buffers.filling();
        let bytes = if self.start == 0 && nbytes == whole {
            other.extend_from_slice(self.buffer.get(nbytes..).unwrap_or_default());
            self.buffer.truncate(nbytes);
            std::mem::replace(&mut self.buffer, other)
        } else {
            other.extend_from_slice(rest.get(..nbytes).unwrap_or_default());
            self.start += nbytes;
            other
        };
        let lines = Lines { bytes: bytes.into_buffer(), first_line: self.next_line, byte: self.next_byte, nlines };
        self.next_line += nlines as u64;
        self.next_byte += nbytes as u64;
        lines
    }

    /// Reads until a block is full, the stream ends, or a live stream pauses.
    fn fill(&mut self) -> Result<()> {
        self.buffer.drop_front(self.start);
        self.start = 0;
        let filled = self.buffer.len();
        // For a line longer than a block, doubles the size up to the limit.
        let held = self.max_line_bytes.saturating_add(BLOCK_BYTES);
        let wanted = self.block_bytes.max(filled.saturating_mul(2).min(held)).max(filled + 1);
        self.block_bytes = (self.block_bytes * 2).min(BLOCK_BYTES);
        self.buffer.reserve_exact(wanted - filled);
        while self.buffer.len() < wanted {
            let filled = self.buffer.len();
            let nbytes = read(&mut self.stream, self.buffer.room(wanted - filled), &self.name)?;
            self.buffer.advance(nbytes);
            if nbytes == 0 {
                self.ended = true;
                break;
            }
            if self.is_live && nbytes < SHORT_READ_BYTES && memchr::memchr(b'\n', &self.buffer[filled..]).is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Reads to the end of a line that is too long, and discards it.
    fn pass_over(&mut self) -> Result<LongLine> {
        let mut length = (self.buffer.len() - self.start) as u64;
        let mut block = vec![0; BLOCK_BYTES];
        self.start = 0;
        loop {
            let nbytes = read(&mut self.stream, &mut block, &self.name)?;
            let end = memchr::memchr(b'\n', &block[..nbytes]);
            length += end.map_or(nbytes, |end| end + 1) as u64;
            if nbytes == 0 {
                self.ended = true;
            }
            if nbytes == 0 || end.is_some() {
                self.buffer.truncate(0);
                self.buffer.extend_from_slice(&block[end.map_or(nbytes, |end| end + 1)..nbytes]);
                break;
            }
        }
        let long = LongLine { line: self.next_line, byte: self.next_byte, length };
        self.next_line += 1;
        self.next_byte += length;
        Ok(long)
    }
}

fn read(stream: &mut dyn Read, into: &mut [u8], name: &str) -> Result<usize> {
    loop {
        match stream.read(into) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map_err(|e| Error::io(name, "cannot read", &e)),
        }
    }
}

impl Iterator for Blocks {
    type Item = Result<LineBlock>;

    fn next(&mut self) -> Option<Result<LineBlock>> {
        let next = self.next_block();
        if next.is_err() {
            (self.ended, self.start) = (true, 0);
            self.buffer.truncate(0);
        }
        next.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &[u8], options: &Options) -> Vec<LineBlock> {
        Blocks::open(&Input::memory("x", text.to_vec()), options).unwrap().map(Result::unwrap).collect()
    }

    fn lines(text: &str, first_line: u64, byte: u64) -> LineBlock {
        LineBlock::Lines(Lines { bytes: Vec::from(text).into(), first_line, byte, nlines: text.lines().count() })
    }

    #[test]
    fn blocks_hold_whole_lines() {
        let options = |chunk_rows| Options { chunk_rows, max_record_bytes: 1000, ..Options::default() };
        let cases: &[(&str, Option<usize>, &[LineBlock])] = &[
            ("", None, &[]),
            ("\n", None, &[lines("\n", 1, 0)]),
            ("a\nb", None, &[lines("a\n", 1, 0), lines("b", 2, 2)]),
            ("a\n\nbc\n", Some(1), &[lines("a\n", 1, 0), lines("\n", 2, 2), lines("bc\n", 3, 3)]),
            ("a\nb\nc\n", Some(2), &[lines("a\nb\n", 1, 0), lines("c\n", 3, 4)]),
            ("a\nb\nc", Some(2), &[lines("a\nb\n", 1, 0), lines("c", 3, 4)]),
        ];
        for (text, chunk_rows, expected) in cases {
            assert_eq!(blocks(text.as_bytes(), &options(*chunk_rows)), *expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_beyond_the_limit_is_passed_over() {
        let long = "x".repeat(3 << 20);
        let text = format!("a\n{long}\nb\n{long}");
        let options = Options { max_record_bytes: 1 << 20, ..Options::default() };
        let length = long.len() as u64;
        assert_eq!(
            blocks(text.as_bytes(), &options),
            [
                lines("a\n", 1, 0),
                LineBlock::TooLong(LongLine { line: 2, byte: 2, length: length + 1 }),
                lines("b\n", 3, 3 + length),
                LineBlock::TooLong(LongLine { line: 4, byte: 5 + length, length }),
            ]
        );
    }

    #[test]
    fn every_byte_comes_once() {
        let text: String = (0..200_000).map(|i| "y".repeat(i % 23) + "\n").collect();
        let options = Options { max_record_bytes: 1000, ..Options::default() };
        let (mut all, mut nlines) = (Vec::new(), 0);
        for block in blocks(text.as_bytes(), &options) {
            let LineBlock::Lines(lines) = block else { panic!("too long") };
            assert_eq!((lines.byte, lines.first_line), (all.len() as u64, nlines + 1));
            nlines += lines.nlines as u64;
            all.extend_from_slice(&lines.bytes);
        }
        assert_eq!((all, nlines), (text.into_bytes(), 200_000));
    }
}
