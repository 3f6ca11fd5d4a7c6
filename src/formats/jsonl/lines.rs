//! Cuts an input into blocks of whole lines and counts their records, which are the nonblank lines. A regular file is
//! divided into byte ranges, whose lines are read by the thread that decodes them; other inputs, and parts of files,
//! are read in order.

use super::block::{Block, Framing, Piece};
use super::limits::{Limits, too_long};
use crate::error::Result;
use crate::io::Input;
use crate::io::line_ranges::{Counts, LineRange};
use crate::io::lines::{Blocks, LineBlock, Lines, LongLine};
use crate::options::Options;
use crate::printable::BYTE_ORDER_MARK;
use std::sync::{Arc, OnceLock};

/// An iterator over the blocks of an input.
pub struct LineCutter {
    blocks: Blocks,
    input: Arc<str>,
    limits: Limits,
    /// The next record.
    record: u64,
}

impl LineCutter {
    /// # Errors
    /// The input cannot be opened.
    pub fn open(input: &Input, limits: Limits, options: &Options) -> Result<LineCutter> {
        let blocks = Blocks::open(input, options)?;
        let blocks = if limits.sampling { blocks.ending_at_long_line() } else { blocks };
        Ok(LineCutter { blocks, input: input.name().clone(), limits, record: 1 })
    }

    /// `None` if all lines are blank.
    fn block(&mut self, mut cut: Lines) -> Option<Block> {
        blank_byte_order_mark(&mut cut.bytes, cut.byte);
        let found = count(&cut.bytes, self.limits.rows_now(), self.limits.record_bytes);
        // The rest beyond the last required record is never read.
        cut.bytes.truncate(found.end);
        let first_record = self.record;
        self.record += found.nrecords as u64;
        self.limits.took(found.nrecords);
        (found.nrecords > 0).then(|| block(&self.input, cut, first_record, &found, self.limits.record_bytes))
    }

    fn long_line(&mut self, long: &LongLine) -> Piece {
        let piece = passed_over(&self.input, long, self.record, self.limits.record_bytes);
        self.record += 1;
        self.limits.took(1);
        piece
    }
}

/// Reads the lines of a range: a block, which can be without lines, and possibly a line that is too long.
///
/// # Errors
/// Reading fails.
pub fn pieces_of(range: LineRange, input: &Arc<str>, limit: u64) -> Result<Vec<Piece>> {
    let mut found = None;
    let part = range.read(|bytes, first| {
        blank_byte_order_mark(bytes, first);
        let own = found.insert(count(bytes, usize::MAX, limit));
        Counts { lines: own.nlines, records: own.nrecords as u64 }
    })?;
    let found = found.unwrap_or_default();
    let first_record = part.records_before + 1;
    let long = part.long.map(|long| passed_over(input, &long, first_record + part.nrecords, limit));
    let block = Piece::Block(block(input, part.lines, first_record, &found, limit));
    Ok(std::iter::once(block).chain(long).collect())
}

/// The records in a range of lines.
#[derive(Default)]
struct LineRecords {
    nlines: u64,
    nrecords: usize,
    /// The end of the counted lines.
    end: usize,
    /// Whether a line exceeds the limit.
    too_long: bool,
}

/// Counts lines until there are `most` records.
fn count(bytes: &[u8], most: usize, limit: u64) -> LineRecords {
    let mut found = LineRecords::default();
    for end in memchr::memchr_iter(b'\n', bytes).chain((!bytes.is_empty() && !bytes.ends_with(b"\n")).then_some(bytes.len())) {
        let line = bytes.get(found.end..end).unwrap_or_default();
        if !is_blank(line) {
            if found.nrecords == most {
                break;
            }
            found.nrecords += 1;
            found.too_long |= line.len() as u64 > limit;
        }
        found.nlines += 1;
        found.end = (end + 1).min(bytes.len());
    }
    found
}

fn block(input: &Arc<str>, lines: Lines, first_record: u64, found: &LineRecords, limit: u64) -> Block {
    Block {
        input: input.clone(),
        framing: Framing::Lines { longest: found.too_long.then_some(limit) },
        nrecords: found.nrecords,
        first_record,
        first_line: lines.first_line,
        first_column: 0,
        offset: lines.byte,
        bytes: lines.bytes,
        ends: OnceLock::new(),
    }
}

fn passed_over(input: &Arc<str>, long: &LongLine, record: u64, limit: u64) -> Piece {
    let error = too_long("the line", limit).in_input(input.clone()).locate(|at| {
        at.records = Some((record, record));
        at.line = Some(long.line);
        at.byte = Some(long.byte);
    });
    Piece::TooLong { error, nbytes: long.length }
}

/// At the start of the input, the byte order mark counts as whitespace.
fn blank_byte_order_mark(bytes: &mut [u8], byte: u64) {
    if byte == 0
        && let Some(mark) = bytes.get_mut(..BYTE_ORDER_MARK.len())
        && mark == BYTE_ORDER_MARK
    {
        mark.fill(b' ');
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.first().is_none_or(|b| *b <= b' ') && line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'))
}

impl Iterator for LineCutter {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        loop {
            if self.limits.records == Some(0) {
                return None;
            }
            match self.blocks.next()? {
                Ok(LineBlock::Lines(lines)) => {
                    if let Some(block) = self.block(lines) {
                        return Some(Ok(Piece::Block(block)));
                    }
                }
                Ok(LineBlock::TooLong(long)) => return Some(Ok(self.long_line(&long))),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
