//! Cuts an input into blocks of whole lines and counts their records, which are the lines that are neither blank nor
//! comments.

use super::line::Line;
use crate::error::{Error, Result};
use crate::formats::format::Request;
use crate::io::Input;
use crate::io::line_ranges::{Counts, LineRange};
use crate::io::lines::{Blocks, LineBlock, Lines, LongLine};
use std::sync::Arc;

/// Whole lines of one input.
pub struct Block {
    pub input: Arc<str>,
    pub lines: Lines,
    /// Number of the first record, from 1.
    pub first_record: u64,
    /// Maximum number of records to read from the block.
    pub limit: u64,
}

/// A piece cut from an input.
pub enum Piece {
    Block(Block),
    /// A skipped line, and its length.
    TooLong(Error, u64),
}

/// An iterator over the blocks of an input.
pub struct Cutter {
    blocks: Blocks,
    input: Arc<str>,
    next_record: u64,
    /// Number of records still needed.
    wanted: u64,
    max_record_bytes: u64,
}

impl Cutter {
    /// # Errors
    /// The input cannot be opened.
    pub fn open(input: &Input, request: &Request) -> Result<Cutter> {
        let blocks = Blocks::open(input, &request.options)?;
        let blocks = if request.sample_bytes.is_some() { blocks.ending_at_long_line() } else { blocks };
        Ok(Cutter {
            blocks,
            input: input.name().clone(),
            next_record: 1,
            wanted: request.records.unwrap_or(u64::MAX),
            max_record_bytes: request.options.max_record_bytes,
        })
    }

    fn block(&mut self, lines: Lines) -> Option<Block> {
        let nrecords = records(&lines.bytes).count() as u64;
        let block = Block { input: self.input.clone(), lines, first_record: self.next_record, limit: self.wanted };
        self.next_record += nrecords;
        self.wanted = self.wanted.saturating_sub(nrecords);
        (nrecords > 0).then_some(block)
    }

    fn too_long(&mut self, long: &LongLine) -> Piece {
        let piece = passed_over(&self.input, long, self.next_record, self.max_record_bytes);
        self.next_record += 1;
        self.wanted = self.wanted.saturating_sub(1);
        piece
    }
}

fn passed_over(input: &Arc<str>, long: &LongLine, record: u64, max_record_bytes: u64) -> Piece {
    let error = Error::too_large(format_args!("the line has {}", long.length), max_record_bytes).in_input(input.clone()).locate(|at| {
        at.records = Some((record, record));
        at.line = Some(long.line);
        at.byte = Some(long.byte);
    });
    Piece::TooLong(error, long.length)
}

/// The lines of a range: a block, which can be without records, and possibly a skipped line.
///
/// # Errors
/// Reading fails.
pub fn pieces_of(range: LineRange, input: &Arc<str>, max_record_bytes: u64) -> Result<(Piece, Option<Piece>)> {
    let count = |bytes: &[u8]| Counts { records: records(bytes).count() as u64, ..Counts::of_lines(bytes) };
    let part = range.read(|bytes, _| count(bytes))?;
    let first_record = part.records_before + 1;
    let long = part.long.map(|long| passed_over(input, &long, first_record + part.nrecords, max_record_bytes));
    Ok((Piece::Block(Block { input: input.clone(), lines: part.lines, first_record, limit: u64::MAX }), long))
}

impl Iterator for Cutter {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        while self.wanted > 0 {
            match self.blocks.next()? {
                Ok(LineBlock::Lines(lines)) => {
                    if let Some(block) = self.block(lines) {
                        return Some(Ok(Piece::Block(block)));
                    }
                }
                Ok(LineBlock::TooLong(long)) => return Some(Ok(self.too_long(&long))),
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }
}

/// The record lines: the line number in the block, its offset, and the line without its terminator.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = (usize, usize, &[u8])> {
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', bytes).chain((!bytes.ends_with(b"\n")).then_some(bytes.len()));
    ends.enumerate().filter_map(move |(number, end)| {
        let from = std::mem::replace(&mut start, end + 1);
        let line = bytes.get(from..end).unwrap_or_default();
        (!Line::new(line).is_over()).then_some((number, from, line))
    })
}
