//! Reads the bytes of one array sequentially: from the file, decompressed and checked.

use super::contents::{FieldPlace, Location, StoredArray, ZipMember};
use super::element::Element;
use super::transpose;
use crate::error::{Error, Result};
use crate::formats::columnar::source::Source;
use crate::io::Input;
use arrow_buffer::MutableBuffer;
use flate2::read::DeflateDecoder;
use std::io::{self, Read};
use std::ops::Range;

/// Bytes read from the file at a time for small requests.
const BLOCK_NBYTES: usize = 4 << 10;
/// Bytes of records read at a time.
const RECORDS_NBYTES: usize = 64 << 10;
/// Numbers decoded at a time.
const BLOCK_NUMBERS: u64 = 8 << 10;

/// The values of an array, read once.
pub struct ArrayStream {
    bytes: Box<dyn Read + Send>,
    /// Bytes of values not read yet.
    left: u64,
    /// Maximum number of bytes to allocate at once, for compressed values.
    limit: Option<u64>,
}

impl ArrayStream {
    /// # Errors
    /// Reading fails, or the file has been truncated.
    pub fn open(input: &Input, source: Option<&Source>, found: &StoredArray, limit: u64) -> Result<ArrayStream> {
        let needs_file = || source.cloned().ok_or_else(|| Error::internal("an array of no file"));
        let (mut bytes, skip, limit): (Box<dyn Read + Send>, u64, Option<u64>) = match &found.location {
            Location::Stream { skip } => (input.open()?, *skip, Some(limit)),
            Location::At { start } => (Box::new(Section::new(needs_file()?, *start, start + found.stored_nbytes())), 0, None),
            Location::Member { member, skip } => (member_bytes(needs_file()?, member), *skip, member.deflated.then_some(limit)),
        };
        let skipped = io::copy(&mut bytes.by_ref().take(skip), &mut io::sink()).map_err(|e| failed(&e))?;
        if skipped != skip {
            return Err(Error::data("the file was truncated while it was being read"));
        }
        if let Some(FieldPlace { own, record_nbytes }) = &found.part {
            let records = vec![0; (RECORDS_NBYTES / (*record_nbytes).max(1)).max(1).saturating_mul(*record_nbytes)];
            bytes = Box::new(Fields { all: bytes, record_nbytes: *record_nbytes, own: own.clone(), records, filled: 0, given: 0 });
        }
        if found.fortran && found.shape.iter().filter(|n| **n > 1).count() > 1 {
            let source = match &found.location {
                Location::At { start } => Some((needs_file()?, *start)),
                _ => None,
            };
            bytes = transpose::in_c_order(bytes, source, &found.shape, found.element.nbytes(), found.nbytes)?;
        }
        Ok(ArrayStream { bytes, left: found.nbytes, limit })
    }

    /// The next `nbytes`. Checked against the remaining size before allocating memory.
    ///
    /// # Errors
    /// There are fewer bytes, reading fails, or the checksum does not match.
    pub fn take(&mut self, nbytes: u64) -> Result<MutableBuffer> {
        if nbytes > self.left {
            return Err(Error::data(format!("expected {nbytes} more bytes, but only {} are left", self.left)));
        }
        if let Some(limit) = self.limit.filter(|limit| nbytes > *limit) {
            return Err(Error::too_large(format_args!("the record has {nbytes}"), limit));
        }
        let length = usize::try_from(nbytes).map_err(|_| Error::data("more bytes than this machine can address"))?;
        let mut into = MutableBuffer::new(0);
        // A claimed size is not allocated all at once.
        let step = if self.limit.is_some() { 16 << 20 } else { length.max(1) };
        while into.len() < length {
            let start = into.len();
            into.resize((start + step).min(length), 0);
            self.bytes.read_exact(&mut into.as_slice_mut()[start..]).map_err(|e| failed(&e))?;
        }
        self.left -= nbytes;
        Ok(into)
    }

    /// Whether all values have been read.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Checks that nothing follows the last value.
    ///
    /// # Errors
    /// There is more data, or the checksum does not match.
    pub fn finish(&mut self) -> Result<()> {
        let mut rest = [0; 1];
        match self.bytes.read(&mut rest) {
            Ok(0) => Ok(()),
            Ok(_) => Err(Error::data("there is more data after the values of the array")
                .help("an npy file contains only one array; to save several, use numpy.savez")),
            Err(e) => Err(failed(&e)),
        }
    }
}

fn failed(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::data("the values are truncated"),
        _ => Error::io("the array", "cannot read", error),
    }
}

/// The bytes of a member of a zip archive, decompressed and checked.
pub fn member_bytes(source: Source, member: &ZipMember) -> Box<dyn Read + Send> {
    let packed = Section::new(source, member.start, member.start + member.packed);
    let plain: Box<dyn Read + Send> = if member.deflated { Box::new(DeflateDecoder::new(packed)) } else { Box::new(packed) };
    Box::new(Checked { plain, left: member.nbytes, crc: crc32fast::Hasher::new(), expected: member.crc, name: member.name.clone() })
}

/// The bytes `at .. end` of a file.
struct Section {
    source: Source,
    at: u64,
    end: u64,
    block: Vec<u8>,
    /// Bytes of the block already returned.
    given: usize,
}

impl Section {
    fn new(source: Source, at: u64, end: u64) -> Section {
        Section { source, at, end, block: Vec::new(), given: 0 }
    }
}

impl Read for Section {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.given < self.block.len() {
            let nbytes = into.len().min(self.block.len() - self.given);
            into[..nbytes].copy_from_slice(&self.block[self.given..self.given + nbytes]);
            self.given += nbytes;
            return Ok(nbytes);
        }
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        if left == 0 || into.is_empty() {
            return Ok(0);
        }
        if into.len() >= BLOCK_NBYTES {
            let part = into.len().min(left);
            let nbytes = self.source.read_at(&mut into[..part], self.at)?;
            self.at += nbytes as u64;
            return Ok(nbytes);
        }
        self.block.resize(left.min(BLOCK_NBYTES), 0);
        let nbytes = self.source.read_at(&mut self.block, self.at)?;
        self.block.truncate(nbytes);
        self.at += nbytes as u64;
        self.given = nbytes.min(into.len());
        into[..self.given].copy_from_slice(&self.block[..self.given]);
        Ok(self.given)
    }
}

/// One field of consecutive records.
struct Fields {
    all: Box<dyn Read + Send>,
    record_nbytes: usize,
    own: Range<usize>,
    /// Whole records, how many of their bytes have been read, and how many bytes of the field have been returned.
    records: Vec<u8>,
    filled: usize,
    given: usize,
}

impl Read for Fields {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let width = self.own.len();
        if into.is_empty() {
            return Ok(0);
        }
        while self.given == self.filled / self.record_nbytes.max(1) * width {
            (self.filled, self.given) = (0, 0);
            while self.filled < self.records.len() {
                match self.all.read(&mut self.records[self.filled..]) {
                    Ok(0) => break,
                    Ok(n) => self.filled += n,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
            if self.filled == 0 {
                return Ok(0);
            }
            if !self.filled.is_multiple_of(self.record_nbytes) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let mut written = 0;
        while written < into.len() && self.given < self.filled / self.record_nbytes * width {
            let (record, start) = (self.given / width, self.given % width);
            let at = record * self.record_nbytes + self.own.start + start;
            let nbytes = (width - start).min(into.len() - written);
            into[written..written + nbytes].copy_from_slice(&self.records[at..at + nbytes]);
            (written, self.given) = (written + nbytes, self.given + nbytes);
        }
        Ok(written)
    }
}

/// A member of a zip archive, checked against its declared size and checksum.
struct Checked {
    plain: Box<dyn Read + Send>,
    left: u64,
    crc: crc32fast::Hasher,
    expected: u32,
    name: String,
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let wrong = |what: String| io::Error::from(Error::data(what));
        let nbytes = self.plain.read(into).map_err(|e| match Error::carried_by(&e) {
            Some(own) => own.into(),
            None => wrong(format!("the compressed data of {} is damaged: {e}", self.name)),
        })?;
        if nbytes as u64 > self.left {
            return Err(wrong(format!("the member {} is longer than the directory says", self.name)));
        }
        self.crc.update(&into[..nbytes]);
        self.left -= nbytes as u64;
        if nbytes == 0 && self.left > 0 {
            return Err(wrong(format!("the member {} ends {} bytes too early", self.name, self.left)));
        }
        if self.left == 0 && self.crc.clone().finalize() != self.expected {
            return Err(wrong(format!("the member {} is damaged: its checksum does not match", self.name)));
        }
        Ok(nbytes)
    }
}

/// Integers of an array, read in batches.
pub struct IntegerStream {
    stream: ArrayStream,
    element: Element,
    /// Numbers not read from the file yet.
    left: u64,
    block: arrow_buffer::ScalarBuffer<i64>,
    given: usize,
}

impl IntegerStream {
    pub fn new(stream: ArrayStream, element: &Element) -> IntegerStream {
        let left = stream.left / element.nbytes().max(1) as u64;
        IntegerStream { stream, element: element.clone(), left, block: Vec::new().into(), given: 0 }
    }

    /// Numbers not returned yet.
    pub fn left(&self) -> u64 {
        self.left + (self.block.len() - self.given) as u64
    }

    /// Peeks at the next number.
    ///
    /// # Errors
    /// See [`ArrayStream::take`].
    pub fn peek(&mut self) -> Result<Option<i64>> {
        if self.given == self.block.len() {
            if self.left == 0 {
                return Ok(None);
            }
            let count = self.left.min(BLOCK_NUMBERS);
            let bytes = self.stream.take(count * self.element.nbytes() as u64)?;
            self.block = super::element::integers(&self.element, bytes, count as usize)?;
            (self.left, self.given) = (self.left - count, 0);
        }
        Ok(self.block.get(self.given).copied())
    }

    /// Appends the next `count` numbers.
    ///
    /// # Errors
    /// There are fewer numbers; see also [`ArrayStream::take`].
    pub fn take(&mut self, count: u64, into: &mut Vec<i64>) -> Result<()> {
        if count > self.left() {
            return Err(Error::data(format!("expected {count} more numbers, but only {} are left", self.left())));
        }
        let mut missing = count as usize;
        while missing > 0 && self.peek()?.is_some() {
            let own = missing.min(self.block.len() - self.given);
            into.extend_from_slice(&self.block[self.given..self.given + own]);
            self.given += own;
            missing -= own;
        }
        Ok(())
    }

    /// Like [`ArrayStream::finish`].
    ///
    /// # Errors
    /// See [`ArrayStream::finish`].
    pub fn finish(&mut self) -> Result<()> {
        self.stream.finish()
    }
}
