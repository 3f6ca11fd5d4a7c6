//! Blocks of undecoded records.

use super::framing::{FOOTER, HEADER, payload_holds};
use crate::chunk::Fault;
use crate::error::{Error, Result};
use crate::formats::format::Task;
use crate::io::buffers::Buffer;
use std::collections::BTreeMap;
use std::ops::Range;

/// The records of an input, in order.
pub type Pieces = Box<dyn Iterator<Item = Result<Piece>> + Send>;

/// A piece cut from the input.
pub enum Piece {
    Block(Block),
    /// A block that still has to be extracted from its container.
    Packed(Task<Block>),
    /// Bytes between two blocks that are not records.
    Lost(Fault),
}

/// Whole frames of consecutive records, not decoded, or payloads from another container.
#[derive(Debug, Default)]
pub struct Block {
    /// The frames.
    pub bytes: Buffer,
    /// The range of each payload in `bytes`; its checksum follows.
    pub payloads: Vec<Range<usize>>,
    /// The number of the first record within the input, from 1.
    pub first_record: u64,
    /// The offset of `bytes` in the input.
    pub offset: u64,
    /// The number of each record, and the offset in the input of its frame or of the chunk that holds it. Empty if the
    /// records are consecutive and `bytes` are those of the input.
    pub places: Vec<(u64, u64)>,
    /// Information about payloads without frames.
    pub bare: Option<Bare>,
    /// Damage after the records, at which the input ends.
    pub damage: Option<Fault>,
}

/// Payloads without frames, from a container that has checked them.
#[derive(Debug, Default)]
pub struct Bare {
    /// The errors in records that could not be extracted, and their size in the input.
    pub lost: BTreeMap<usize, (Error, u64)>,
    /// Size in the input.
    pub nbytes: u64,
}

impl Block {
    /// The offset in the input of the frame of record `row` of the block, or of the chunk that holds it.
    pub fn frame_offset(&self, row: usize) -> u64 {
        let place = self.places.get(row).map(|(_, offset)| *offset);
        place.unwrap_or_else(|| self.offset + self.frame_start(row) as u64)
    }

    /// The position in the payload of record `row` of byte `at` of the block; `None` if it is not in the payload.
    pub fn byte_of_payload(&self, row: usize, at: usize) -> Option<usize> {
        self.payloads.get(row).filter(|payload| payload.contains(&at)).map(|payload| at - payload.start)
    }

    /// The start of a record's frame in `bytes`.
    fn frame_start(&self, row: usize) -> usize {
        self.payloads.get(row).map_or(0, |payload| payload.start.saturating_sub(HEADER))
    }

    /// The number in the input of record `row` of the block.
    pub fn record(&self, row: usize) -> u64 {
        self.places.get(row).map_or(self.first_record + row as u64, |(record, _)| *record)
    }

    /// The error of a record that could not be extracted from its container.
    pub fn lost(&self, row: usize) -> Option<&Error> {
        self.bare.as_ref().and_then(|bare| bare.lost.get(&row)).map(|(error, _)| error)
    }

    /// Whether the checksum of a record matches.
    pub fn holds(&self, row: usize) -> bool {
        match (&self.bare, self.payloads.get(row)) {
            (None, Some(payload)) => payload_holds(&self.bytes, payload.clone()),
            (Some(bare), Some(_)) => !bare.lost.contains_key(&row),
            (_, None) => false,
        }
    }

    /// The size of the block in the input.
    pub fn nbytes(&self) -> u64 {
        self.bare.as_ref().map_or(self.bytes.len() as u64, |bare| bare.nbytes)
    }

    /// The size of record `row` in the input.
    pub fn record_nbytes(&self, row: usize) -> u64 {
        let payload = self.payloads.get(row).map_or(0, Range::len);
        match &self.bare {
            None => (payload + HEADER + FOOTER) as u64,
            Some(bare) => bare.lost.get(&row).map_or(payload as u64, |(_, nbytes)| *nbytes),
        }
    }
}
