//! Cuts an input into blocks of whole lines, and counts the records in them: the lines that are not blank.

use super::block::{Block, Framing, Piece};
use super::limits::{Limits, too_long};
use crate::error::Result;
use crate::io::Input;
use crate::io::lines::{Blocks, LineBlock, Lines, LongLine};
use crate::options::Options;
use std::sync::Arc;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

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
        if cut.byte == 0 && cut.bytes.starts_with(BYTE_ORDER_MARK) {
            cut.bytes[..3].fill(b' ');
        }
        let (most, limit) = (self.limits.rows_now(), self.limits.record_bytes);
        let (mut begin, mut nrecords, mut too_long) = (0, 0, false);
        let end = cut.bytes.len();
        for line_end in memchr::memchr_iter(b'\n', &cut.bytes).chain([end]) {
            let line = cut.bytes.get(begin..line_end).unwrap_or_default();
            if !is_blank(line) {
                if nrecords == most {
                    break;
                }
                nrecords += 1;
                too_long |= line.len() as u64 > limit;
            }
            begin = line_end + 1;
        }
        // What is left beyond the last record wanted is never read.
        cut.bytes.truncate(begin);
        let first_record = self.record;
        self.record += nrecords as u64;
        self.limits.took(nrecords);
        (nrecords > 0).then(|| Block {
            input: self.input.clone(),
            framing: Framing::Lines { longest: too_long.then_some(limit) },
            nrecords,
            first_record,
            first_line: cut.first_line,
            first_column: 0,
            offset: cut.byte,
            bytes: cut.bytes,
        })
    }

    fn long_line(&mut self, long: &LongLine) -> Piece {
        let error = too_long("the line", self.limits.record_bytes).in_input(self.input.clone()).locate(|at| {
            at.records = Some((self.record, self.record));
            at.line = Some(long.line);
            at.byte = Some(long.byte);
        });
        self.record += 1;
        self.limits.took(1);
        Piece::TooLong { error, nbytes: long.length }
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
