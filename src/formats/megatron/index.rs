//! The index, read in ranges because it can exceed memory.

use super::dtype;
use crate::error::{Error, Result};
use crate::formats::columnar::source::Source;
use crate::schema::DType;
use std::fs::File;
use std::ops::Range;

pub const MAGIC: &[u8] = b"MMIDIDX\0\0";
const VERSION: u64 = 1;
/// Bytes before the lengths: magic, version, dtype code, two counts.
const HEADER: u64 = 9 + 8 + 1 + 8 + 8;
/// Number of document boundaries read at a time.
const BOUNDARIES: u64 = 8 << 10;

/// An open index.
#[derive(Clone)]
pub struct Index {
    source: Source,
    pub dtype: DType,
    pub nsequences: u64,
    nboundaries: u64,
    pub has_modes: bool,
}

impl Index {
    /// # Errors
    /// Not an index, or the length contradicts the header.
    pub fn open(file: File) -> Result<Index> {
        let failed = |e: std::io::Error| Error::io("the index", "cannot read", &e);
        let source = Source::new(file).map_err(failed)?;
        let cut = || Error::data(format!("the index has only {} bytes: it is truncated", source.nbytes()));
        if source.nbytes() < HEADER {
            return Err(cut());
        }
        let head = source.bytes(0, HEADER as usize).map_err(failed)?;
        let Some(rest) = head.strip_prefix(MAGIC) else {
            return Err(Error::data("this is not a Megatron index: it does not start with MMIDIDX"));
        };
        let version = number(&rest[..8]);
        if version != VERSION {
            return Err(Error::data(format!("an index of version {version}; only version {VERSION} is supported")));
        }
        let dtype =
            dtype::of_code(rest[8]).ok_or_else(|| Error::data(format!("unknown dtype code {}", rest[8])).help("the codes are 1 to 8"))?;
        let (nsequences, nboundaries) = (number(&rest[9..17]), number(&rest[17..25]));
        // As u128, because 12 and 8 bytes per item can exceed 64 bits.
        let expected = u128::from(HEADER) + 12 * u128::from(nsequences) + 8 * u128::from(nboundaries);
        let found = u128::from(source.nbytes());
        let has_modes = nsequences > 0 && found == expected + u128::from(nsequences);
        if found != expected && !has_modes {
            let text =
                format!("the index claims {nsequences} sequences and {nboundaries} document boundaries, which take {expected} bytes");
            return Err(Error::data(format!("{text}, but it has {found}")).help("it is truncated or damaged; copy it again or rebuild it"));
        }
        let index = Index { source, dtype, nsequences, nboundaries, has_modes };
        match index.nboundaries {
            0 if nsequences == 0 => Ok(index),
            0 => Err(Error::data("the index has sequences, but no document boundaries")),
            _ => match index.boundaries(0..1)?.first() {
                Some(0) => Ok(index),
                first => Err(Error::data(format!("the first document starts at sequence {}, not 0", first.copied().unwrap_or(0)))),
            },
        }
    }

    fn bytes(&self, start: u64, range: Range<u64>, width: u64) -> Result<Vec<u8>> {
        let length = usize::try_from((range.end - range.start) * width).map_err(|_| Error::internal("a range beyond the memory"))?;
        self.source.bytes(start + range.start * width, length).map_err(|e| Error::io("the index", "cannot read", &e))
    }

    /// The lengths of these sequences, in values.
    ///
    /// # Errors
    /// Reading fails.
    pub fn lengths(&self, range: Range<u64>) -> Result<Vec<i32>> {
        let bytes = self.bytes(HEADER, range, 4)?;
        Ok(bytes.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }

    /// The byte offsets of these sequences in the values.
    ///
    /// # Errors
    /// Reading fails.
    pub fn pointers(&self, range: Range<u64>) -> Result<Vec<i64>> {
        Ok(integers(&self.bytes(HEADER + 4 * self.nsequences, range, 8)?))
    }

    fn boundaries(&self, range: Range<u64>) -> Result<Vec<i64>> {
        Ok(integers(&self.bytes(HEADER + 12 * self.nsequences, range, 8)?))
    }

    /// The modes of these sequences.
    ///
    /// # Errors
    /// Reading fails.
    pub fn modes(&self, range: Range<u64>) -> Result<Vec<i8>> {
        let bytes = self.bytes(HEADER + 12 * self.nsequences + 8 * self.nboundaries, range, 1)?;
        Ok(bytes.into_iter().map(|b| b.cast_signed()).collect())
    }

    /// The ends of the documents.
    pub fn document_ends(&self) -> DocumentEnds {
        DocumentEnds { index: self.clone(), next: 1.min(self.nboundaries), read: Vec::new(), at: 0, last: 0 }
    }
}

/// The document boundaries, in sequences, from first to last.
pub struct DocumentEnds {
    index: Index,
    /// The boundary to read next.
    next: u64,
    read: Vec<i64>,
    at: usize,
    /// The last boundary returned.
    last: u64,
}

impl DocumentEnds {
    /// The end of the current document; `None` after the last.
    ///
    /// # Errors
    /// Reading fails, or a boundary is below the previous one or beyond the last sequence.
    pub fn peek(&mut self) -> Result<Option<u64>> {
        if self.at == self.read.len() {
            let end = self.next.saturating_add(BOUNDARIES).min(self.index.nboundaries);
            (self.read, self.at) = (self.index.boundaries(self.next..end)?, 0);
            self.next = end;
        }
        let Some(found) = self.read.get(self.at) else { return Ok(None) };
        match u64::try_from(*found) {
            Ok(end) if end >= self.last && end <= self.index.nsequences => Ok(Some(end)),
            _ => Err(Error::data(format!("a document starts at sequence {} of {}, but ends at {found}", self.last, self.index.nsequences))),
        }
    }

    /// The end of the previous document.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Advances to the next document. Returns whether the current one has no sequences.
    pub fn advance(&mut self) -> bool {
        let start = self.last;
        if let Some(end) = self.read.get(self.at) {
            self.last = u64::try_from(*end).unwrap_or(start);
            self.at += 1;
        }
        self.last == start
    }
}

fn integers(bytes: &[u8]) -> Vec<i64> {
    bytes.chunks_exact(8).map(|b| i64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]])).collect()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
