//! Only some records of an input, by their numbers: cut out of its blocks, or read at their places by the index beside it.

use super::cutter::{Cutter, Piece};
use super::framing::{Block, FOOTER, HEADER, header};
use super::index::{Entry, Index};
use crate::demand::Numbers;
use crate::error::{Error, Result};
use crate::formats::columnar::source::Source;
use crate::io::Input;
use std::sync::Arc;

/// Bytes of a block that is read at its place, unless a single record is longer.
const BLOCK_NBYTES: u64 = 1 << 20;

/// The pieces of a cutter with these records only.
pub fn cut_out(cutter: Cutter, only: Arc<Numbers>) -> impl Iterator<Item = Result<Piece>> + Send {
    cutter.flat_map(move |piece| match piece {
        Ok(Piece::Block(block)) => runs(&block, &only).into_iter().map(|block| Ok(Piece::Block(block))).collect::<Vec<_>>(),
        other => vec![other],
    })
}

/// The parts of a block that hold consecutive wanted records.
fn runs(block: &Block, only: &Numbers) -> Vec<Block> {
    let (first, end) = (block.first_record, block.first_record + block.payloads.len() as u64);
    let mut parts = Vec::new();
    for range in only.ranges() {
        let (start, stop) = ((*range.start()).max(first), (*range.end()).saturating_add(1).min(end));
        if start >= stop {
            continue;
        }
        let payloads = &block.payloads[(start - first) as usize..(stop - first) as usize];
        let (Some(head), Some(tail)) = (payloads.first(), payloads.last()) else { continue };
        let base = head.start - HEADER;
        parts.push(Block {
            bytes: block.bytes[base..tail.end + FOOTER].to_vec().into(),
            payloads: payloads.iter().map(|payload| payload.start - base..payload.end - base).collect(),
            first_record: start,
            offset: block.offset + base as u64,
            bare: None,
        });
    }
    parts
}

/// The records of these numbers, read at the places that an index says.
///
/// # Errors
/// A file cannot be read.
pub fn at_places(
    input: &Input,
    index: Index,
    only: Arc<Numbers>,
    max_record_bytes: u64,
) -> Result<impl Iterator<Item = Result<Piece>> + Send + use<>> {
    let name = input.name().clone();
    let source = Source::new(input.file()?).map_err(|e| Error::io(&name, "reading", &e))?;
    let index_name = index.name.clone();
    let mut places = Places { source, name, index_name, max_record_bytes, entries: index.entries(only)?, ahead: None, ended: false };
    Ok(std::iter::from_fn(move || {
        if places.ended {
            return None;
        }
        let block = places.block().transpose();
        places.ended = !matches!(block, Some(Ok(_)));
        block.map(|block| block.map(Piece::Block))
    }))
}

struct Places {
    source: Source,
    name: Arc<str>,
    index_name: Arc<str>,
    max_record_bytes: u64,
    entries: Box<dyn Iterator<Item = Result<Entry>> + Send>,
    ahead: Option<Entry>,
    ended: bool,
}

impl Places {
    /// The next consecutive records.
    fn block(&mut self) -> Result<Option<Block>> {
        let Some(first) = self.ahead.take().map(Ok).or_else(|| self.entries.next()).transpose()? else { return Ok(None) };
        self.check_size(&first)?;
        let mut all = vec![first];
        let mut end = first.offset.saturating_add(first.length);
        while end - first.offset < BLOCK_NBYTES {
            let Some(next) = self.entries.next().transpose()? else { break };
            let follows = all.last().is_some_and(|last| next.record == last.record + 1) && next.offset == end;
            if !follows || next.length > BLOCK_NBYTES {
                self.ahead = Some(next);
                break;
            }
            end = end.saturating_add(next.length);
            all.push(next);
        }
        let length = usize::try_from(end - first.offset).map_err(|_| Error::data("more bytes than this machine addresses"))?;
        let bytes = self.source.bytes(first.offset, length).map_err(|_| self.stale(&first))?;
        let mut payloads = Vec::with_capacity(all.len());
        for entry in &all {
            let at = (entry.offset - first.offset) as usize;
            let found = bytes.get(at..).and_then(header).filter(|header| header.holds);
            if found.and_then(|header| header.length.checked_add((HEADER + FOOTER) as u64)) != Some(entry.length) {
                return Err(self.stale(entry));
            }
            payloads.push(at + HEADER..at + entry.length as usize - FOOTER);
        }
        Ok(Some(Block { bytes: bytes.into(), payloads, first_record: first.record, offset: first.offset, bare: None }))
    }

    fn check_size(&self, entry: &Entry) -> Result<()> {
        if entry.length.saturating_sub((HEADER + FOOTER) as u64) <= self.max_record_bytes {
            return Ok(());
        }
        Err(Error::data(format!("the record has {} bytes, more than the {} of --max-record-bytes", entry.length, self.max_record_bytes))
            .in_input(self.name.clone())
            .locate(|at| at.records = Some((entry.record, entry.record))))
    }

    fn stale(&self, entry: &Entry) -> Error {
        let error = Error::data(format!("{} says that this record is at byte {}, but it is not", self.index_name, entry.offset));
        error
            .in_input(self.name.clone())
            .locate(|at| at.records = Some((entry.record, entry.record)))
            .help("make the index again: tatter index FILE")
    }
}
