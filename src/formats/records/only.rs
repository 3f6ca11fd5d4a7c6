//! Reads only selected records of an input, by number: filtered from its blocks, or read at the offsets in its index.

use super::block::{Block, Piece, Pieces};
use super::cutter::Cutter;
use super::framing::{FOOTER, HEADER, header};
use super::index::{Entries, Entry, Index, Lookup, Table};
use crate::demand::RecordNumbers;
use crate::error::{Error, Result};
use crate::formats::columnar::source::Source;
use crate::formats::cut::Cut;
use crate::io::Input;
use crate::options::Options;
use std::iter::Peekable;
use std::sync::Arc;

/// Maximum bytes and records of a block read by index, unless a single record is longer.
const BLOCK_NBYTES: u64 = 1 << 20;
const BLOCK_ROWS: usize = 4 << 10;
/// Maximum gap in bytes between two records that are read together.
const GAP_NBYTES: u64 = 8 << 10;

/// The pieces of a cutter, restricted to these records.
pub fn cut_out(cutter: Cutter, only: Arc<RecordNumbers>) -> impl Iterator<Item = Result<Piece>> + Send {
    cutter.pieces().filter_map(move |piece| match piece {
        Ok(Piece::Block(block)) => {
            Some(wanted(block, &only)).filter(|block| !block.payloads.is_empty()).map(|block| Ok(Piece::Block(block)))
        }
        other => Some(other),
    })
}

/// A block, restricted to the required records.
pub fn wanted(mut block: Block, only: &RecordNumbers) -> Block {
    let rows: Vec<usize> = (0..block.payloads.len()).filter(|row| only.contains(block.record(*row))).collect();
    if rows.len() < block.payloads.len() {
        let places = rows.iter().map(|row| (block.record(*row), block.frame_offset(*row))).collect();
        block.payloads = rows.iter().map(|row| block.payloads[*row].clone()).collect();
        block.places = places;
    }
    block
}

/// The pieces with these records of a file, if it has an index file.
///
/// # Errors
/// A file cannot be read.
pub fn by_index(input: &Input, only: &RecordNumbers, options: &Options) -> Result<Option<Pieces>> {
    let Some(index) = Index::beside(input, options)? else { return Ok(None) };
    options.remarks.add(format!("get reads only the selected records, using {}", index.name), false)?;
    let places = Places::open(input, Lookup::Index(index), Arc::new(only.clone()), options)?;
    Ok(Some(Box::new(places.pieces())))
}

/// The pieces with these records of a file, given its index.
///
/// # Errors
/// The file cannot be read.
pub fn by_table(input: &Input, table: Arc<Table>, only: &RecordNumbers, options: &Options) -> Result<Pieces> {
    Ok(Box::new(Places::open(input, Lookup::Table(table), Arc::new(only.clone()), options)?.pieces()))
}

/// Reads records at the offsets in an index.
pub struct Places {
    source: Source,
    name: Arc<str>,
    index_name: Arc<str>,
    max_record_bytes: u64,
    block_rows: usize,
    entries: Peekable<Entries>,
}

impl Places {
    /// The records with these numbers.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn open(input: &Input, lookup: Lookup, only: Arc<RecordNumbers>, options: &Options) -> Result<Places> {
        let name = input.name().clone();
        let source = Source::new(input.file()?).map_err(|e| Error::io(&name, "cannot read", &e))?;
        Ok(Places {
            source,
            name,
            index_name: lookup.name().clone(),
            max_record_bytes: options.max_record_bytes,
            block_rows: options.chunk_rows.unwrap_or(BLOCK_ROWS).clamp(1, BLOCK_ROWS),
            entries: lookup.entries(only)?.peekable(),
        })
    }

    /// The next entries to read together: at most `nrows` with at most `nbytes` in total, or a single entry.
    fn near(&mut self, nrows: usize, nbytes: u64) -> Result<Vec<Entry>> {
        let Some(first) = self.entries.next().transpose()? else { return Ok(Vec::new()) };
        self.check_size(&first)?;
        let (start, mut end) = (first.offset, first.offset.saturating_add(first.length));
        let mut near = vec![first];
        while near.len() < nrows
            && let Some(next) = self.entries.next_if(|next| {
                next.as_ref().is_ok_and(|next| {
                    let stop = next.offset.saturating_add(next.length);
                    next.offset >= end && next.offset - end <= GAP_NBYTES && stop - start <= nbytes
                })
            })
        {
            let next = next?;
            self.check_size(&next)?;
            end = next.offset.saturating_add(next.length);
            near.push(next);
        }
        Ok(near)
    }

    /// Appends these records.
    fn read(&self, near: &[Entry], block: &mut Block) -> Result<()> {
        let (Some(first), Some(last)) = (near.first(), near.last()) else { return Ok(()) };
        let from = block.bytes.len();
        let length = usize::try_from(last.offset.saturating_add(last.length) - first.offset);
        let length = length.map_err(|_| Error::data("more bytes than this machine can address"))?;
        if first.offset.saturating_add(length as u64) > self.source.nbytes() {
            return Err(self.stale(last));
        }
        block.bytes.resize(from + length, 0);
        self.source.read_exact(&mut block.bytes[from..], first.offset).map_err(|e| Error::io(&self.name, "cannot read", &e))?;
        for entry in near {
            let at = from + (entry.offset - first.offset) as usize;
            let found = block.bytes.get(at..).and_then(header).filter(|header| header.holds);
            if found.and_then(|header| header.length.checked_add((HEADER + FOOTER) as u64)) != Some(entry.length) {
                return Err(self.stale(entry));
            }
            block.payloads.push(at + HEADER..at + entry.length as usize - FOOTER);
            block.places.push((entry.record, entry.offset));
        }
        Ok(())
    }

    fn check_size(&self, entry: &Entry) -> Result<()> {
        if entry.length.saturating_sub((HEADER + FOOTER) as u64) <= self.max_record_bytes {
            return Ok(());
        }
        Err(Error::too_large(format_args!("the record has {}", entry.length), self.max_record_bytes)
            .in_input(self.name.clone())
            .locate(|at| at.records = Some((entry.record, entry.record))))
    }

    fn stale(&self, entry: &Entry) -> Error {
        let error = Error::data(format!(
            "according to {}, this record starts at byte {}, but no record starts there",
            self.index_name, entry.offset
        ));
        error
            .in_input(self.name.clone())
            .locate(|at| at.records = Some((entry.record, entry.record)))
            .help("if it has changed, rebuild the index: tatter index FILE")
    }
}

impl Cut for Places {
    type Piece = Piece;

    fn cut(&mut self) -> Result<Option<Piece>> {
        let mut block = Block::default();
        while block.payloads.len() < self.block_rows && (block.bytes.len() as u64) < BLOCK_NBYTES {
            let near = self.near(self.block_rows - block.payloads.len(), BLOCK_NBYTES - block.bytes.len() as u64)?;
            if near.is_empty() {
                break;
            }
            self.read(&near, &mut block)?;
        }
        Ok((!block.payloads.is_empty()).then_some(Piece::Block(block)))
    }
}
