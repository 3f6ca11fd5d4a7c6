//! The records of a block, one by one, with their lines.

use super::block::{Block, Framing};
use super::limits::too_long;
use crate::error::RAISE_LIMIT;
use crate::io::in_command;
use crate::json::cursor::Cursor;
use crate::json::error::{Fix, Parse, ParseError};
use crate::json::seen::FirstSeen;

/// A place between the records of a block.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The records after it.
    pub records: BlockRecords<'a>,
    /// Their lines.
    pub line: LineCount<'a>,
}

impl Place<'_> {
    /// The place before the first.
    pub fn start(block: &Block) -> Place<'_> {
        Place { records: BlockRecords::new(block), line: LineCount::new(block) }
    }
}

/// The line of each record, in order.
#[derive(Clone, Copy)]
pub struct LineCount<'a> {
    block: &'a Block,
    pos: usize,
    line: u64,
}

impl LineCount<'_> {
    /// The lines of a block.
    pub fn new(block: &Block) -> LineCount<'_> {
        LineCount { block, pos: 0, line: block.first_line }
    }

    /// Where a record is, the `index`th of the block, which starts at `start`. `input`: the number of the input.
    #[inline]
    pub fn first_seen(&mut self, input: u32, index: usize, start: usize) -> FirstSeen {
        match self.block.first_line {
            0 => FirstSeen::record(self.block.first_record + index as u64),
            _ => FirstSeen::new(input, self.at(start)),
        }
    }

    #[inline]
    fn at(&mut self, pos: usize) -> u64 {
        let between = self.block.bytes.get(self.pos..pos).unwrap_or(&[]);
        self.line += memchr::memchr_iter(b'\n', between).count() as u64;
        self.pos = pos;
        self.line
    }
}

/// The records of a block, in order.
#[derive(Clone, Copy)]
pub struct BlockRecords<'a> {
    /// The block.
    pub block: &'a Block,
    lines: bool,
    /// Whether the block is UTF-8 as a whole; otherwise each record is checked individually.
    utf8: bool,
    pos: usize,
    index: usize,
}

impl<'a> BlockRecords<'a> {
    /// Before the first record.
    pub fn new(block: &'a Block) -> BlockRecords<'a> {
        BlockRecords { block, lines: block.is_lines(), utf8: simdutf8::basic::from_utf8(&block.bytes).is_ok(), pos: 0, index: 0 }
    }

    /// The index in the block and the offset of the next record.
    #[inline]
    pub fn next_start(&mut self) -> Option<(usize, usize)> {
        let start = self.block.next_record(self.pos, self.index)?;
        self.index += 1;
        Some((self.index - 1, start))
    }

    /// Moves to the end of a record.
    pub fn advance(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// Parses the record, checks that nothing follows it, and returns its end.
    ///
    /// # Errors
    /// Those of the record.
    #[inline]
    pub fn read(&self, start: usize, index: usize, one: impl FnOnce(&mut Cursor) -> Parse<()>) -> Parse<usize> {
        if !self.utf8 {
            self.check_utf8(start, index)?;
        }
        if let Framing::Lines { longest: Some(limit) } = self.block.framing {
            self.check_length(start, index, limit)?;
        }
        let mut cursor = Cursor::new(&self.block.bytes, start, self.lines);
        one(&mut cursor)?;
        if self.lines {
            cursor.space();
            if !cursor.at_end() {
                let mut error = cursor.unexpected("the end of the line after the record");
                if self.block.bytes.get(cursor.pos()) == Some(&b'{') {
                    error.fix = Fix::Framing;
                }
                return Err(if cursor.peek() == b',' {
                    error.help("remove the commas between records: sed 's/,$//' FILE | tatter ... -")
                } else {
                    error
                });
            }
        } else if cursor.pos() != self.block.record_end(start, index) {
            return Err(cursor.unexpected("the end of the record"));
        }
        Ok(cursor.pos())
    }

    #[cold]
    fn check_length(&self, start: usize, index: usize, limit: u64) -> Parse<()> {
        let line_start = memchr::memrchr(b'\n', &self.block.bytes[..start]).map_or(0, |n| n + 1);
        if (self.block.record_end(start, index) - line_start) as u64 <= limit {
            return Ok(());
        }
        let error = too_long("the line", limit);
        Err(ParseError::syntax(line_start, error.message()).help(RAISE_LIMIT))
    }

    #[cold]
    fn check_utf8(&self, start: usize, index: usize) -> Parse<()> {
        let end = self.block.record_end(start, index);
        match simdutf8::compat::from_utf8(&self.block.bytes[start..end]) {
            Ok(_) => Ok(()),
            Err(error) => Err(ParseError::syntax(start + error.valid_up_to(), "the text is not valid UTF-8")
                .help(format!(
                    "to convert text in another encoding: iconv -f cp1252 -t utf-8 {} | tatter ... -",
                    in_command(&self.block.input)
                ))
                .help("write arbitrary bytes as {\"b64\": \"...\"}")),
        }
    }
}
