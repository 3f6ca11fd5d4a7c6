//! Cuts a file into groups of chunks. Sequential; decompresses nothing.

use super::block::{Damage, hash};
use super::file::{ArrayFile, Chunk};
use super::header::{self, Header};
use super::simple::Unpacker;
use crate::chunk::Fault;
use crate::demand::RecordNumbers;
use crate::error::{Error, Message, Result, mismatch};
use crate::formats::cut::Cut;
use crate::formats::format::Request;
use crate::formats::records::block::{Bare, Block, Piece};
use crate::hint::{Hint, SKIP};
use std::ops::Range;
use std::sync::Arc;

/// Maximum bytes and records of a piece, unless a single chunk has more.
const PIECE_NBYTES: u64 = 1 << 20;
const PIECE_ROWS: u64 = 1 << 12;
/// A chunk with more bytes is decompressed before its records are passed on, so that only one such chunk is in memory.
const LARGE_NBYTES: u64 = 8 << 20;
/// Bytes in memory per record of a chunk.
const RECORD_NBYTES: u64 = 16;

/// Reads a file chunk by chunk.
pub struct Cutter {
    file: ArrayFile,
    /// The next chunk of records, and the start of the unread bytes.
    next: usize,
    at: u64,
    /// A large decompressed chunk, and its next record.
    large: Option<(Block, usize)>,
    /// The required records; `None` for all.
    only: Option<Arc<RecordNumbers>>,
    /// Remaining numbers of records and bytes to cut; `None` for no limit.
    records_left: Option<u64>,
    bytes_left: Option<u64>,
    piece_rows: u64,
    max_record_bytes: u64,
    request: Request,
}

impl Cutter {
    pub fn new(file: ArrayFile, request: &Request) -> Cutter {
        let options = &request.options;
        Cutter {
            file,
            next: 0,
            at: 0,
            large: None,
            only: request.only.clone(),
            // If bad records are skipped, only the number of good records counts, so the limit cannot be applied here.
            records_left: request.records.filter(|_| !options.on_error.skips()),
            bytes_left: None,
            piece_rows: options.chunk_rows.map_or(PIECE_ROWS, |rows| (rows as u64).clamp(1, PIECE_ROWS)),
            max_record_bytes: options.max_record_bytes,
            request: request.clone(),
        }
    }

    /// Limits the cutter to about `nbytes` bytes.
    pub fn sampling(mut self, nbytes: Option<u64>) -> Cutter {
        self.bytes_left = nbytes;
        self
    }

    /// The next records of a large chunk that has been decompressed.
    fn next_of_large(&mut self) -> Option<Block> {
        let (whole, row) = self.large.as_mut()?;
        let (Some(bare), first) = (whole.bare.as_mut(), *row) else { return None };
        let mut block = Block { first_record: whole.first_record, ..Block::default() };
        let mut part = Bare { nbytes: std::mem::take(&mut bare.nbytes), ..Bare::default() };
        while let Some(payload) = whole.payloads.get(*row)
            && (*row - first) < self.piece_rows as usize
            && (*row == first || (block.bytes.len() + payload.len()) as u64 <= PIECE_NBYTES)
        {
            let start = block.bytes.len();
            block.bytes.extend_from_slice(whole.bytes.get(payload.clone()).unwrap_or_default());
            block.places.extend(whole.places.get(*row));
            if let Some(lost) = bare.lost.remove(row) {
                part.lost.insert(block.payloads.len(), lost);
            }
            block.payloads.push(start..block.bytes.len());
            *row += 1;
        }
        if block.payloads.is_empty() {
            self.large = None;
            return None;
        }
        block.bare = Some(part);
        Some(block)
    }

    /// The record numbers of the next chunk that has a required record.
    fn next_chunk(&mut self) -> Option<Range<u64>> {
        loop {
            let first = self.file.places.get(self.next)?.first_record;
            let end = self.file.places.get(self.next + 1).map_or(self.file.nrecords + 1, |next| next.first_record);
            let Some(only) = &self.only else { return Some(first..end) };
            // The first required number from here on is in this chunk, or leads to another.
            let wanted = only.from(first)?;
            if *wanted.start() < end {
                return Some(first..end);
            }
            if *wanted.start() > self.file.nrecords {
                return None;
            }
            self.next = self.file.places.partition_point(|place| place.first_record <= *wanted.start()) - 1;
        }
    }

    /// Checks the chunks without records from the current position up to `to`.
    fn pass(&mut self, to: u64) -> Result<()> {
        while self.at < to {
            let damage = match self.file.chunk(self.at, to)? {
                Ok(chunk) => self.empty(&chunk)?.err(),
                Err(damage) => Some(damage),
            };
            let Some(damage) = damage else { continue };
            let error = self
                .file
                .damaged(damage)
                .help(Hint::to_skip_or("it contains no records; --on-error skip continues after it", "it contains no records"));
            if !self.request.options.on_error.skips() {
                return Err(error);
            }
            let text = error.to_string();
            self.request.options.notices.add(text.lines().next().unwrap_or_default(), self.request.options.strict)?;
            self.at = to;
        }
        Ok(())
    }

    /// Checks a chunk that holds no data records.
    fn empty(&mut self, chunk: &Chunk) -> Result<Result<(), Damage>> {
        let Range { start, end } = chunk.span;
        let is_index = start >= self.file.footer && chunk.header.kind == header::SIMPLE;
        if !is_index && !matches!(chunk.header.kind, header::SIGNATURE | header::METADATA | header::PADDING) {
            return Ok(Err(Damage::new(start, "a chunk that the footer does not list")));
        }
        if chunk.header.data_size > self.max_record_bytes {
            return Ok(Err(Damage::new(start, "a chunk without records is larger than --max-record-bytes")));
        }
        let mut data = Vec::new();
        if let Err(damage) = self.file.data(chunk, &mut data)? {
            return Ok(Err(damage));
        }
        if self.file.verify && hash(&data) != chunk.header.data_hash {
            return Ok(Err(Damage::new(start, "the hash of the chunk's data does not match")));
        }
        self.at = end;
        Ok(Ok(()))
    }

    /// Appends the data of a chunk with `nrecords` records, and returns its position.
    fn records_of(&mut self, chunk: &Chunk, nrecords: u64, bytes: &mut Vec<u8>) -> Result<Result<(Header, Range<usize>), Damage>> {
        let (header, start) = (chunk.header, chunk.span.start);
        let damaged = |what: Message| Ok(Err(Damage::new(start, what)));
        match header.kind {
            header::SIMPLE => {}
            header::TRANSPOSED => {
                let error = self.file.damaged(Damage::new(start, "the chunk is transposed, which is not supported"));
                return Err(error.help("rewrite the file without transposing: ArrayRecordWriter(path, \"group_size:1,transpose:false\")"));
            }
            other => return damaged(mismatch("a chunk of records", format_args!("one of kind {:?}", char::from(other)))),
        }
        if header.nrecords != nrecords {
            return damaged(format!("the chunk has {} records, but the footer says {nrecords}", header.nrecords).into());
        }
        let most = header.decoded_size.max(header.nrecords.saturating_mul(RECORD_NBYTES));
        // The sizes are stored next to uncompressed values; compression can make values slightly larger.
        if most > self.max_record_bytes || header.data_size > most.saturating_mul(2).saturating_add(1 << 16) {
            let records = if nrecords == 1 { "a record".to_owned() } else { format!("{nrecords} records") };
            return damaged(
                format!(
                    "the chunk of {records} takes {most} bytes, more than the --max-record-bytes limit of {}; raise it to read the chunk",
                    self.max_record_bytes
                )
                .into(),
            );
        }
        let from = bytes.len();
        let read = self.file.data(chunk, bytes)?;
        self.at = chunk.span.end;
        Ok(read.map(|()| (header, from..bytes.len())))
    }
}

impl Cut for Cutter {
    type Piece = Piece;

    fn cut(&mut self) -> Result<Option<Piece>> {
        if let Some(block) = self.next_of_large() {
            return Ok(Some(unpacked(block)));
        }
        let mut packed = Packed { name: self.file.name.clone(), parts: Vec::new(), bytes: Vec::new(), nbytes: 0, verify: self.file.verify };
        let mut nrecords = 0;
        while packed.nbytes < PIECE_NBYTES && nrecords < self.piece_rows && self.records_left != Some(0) && self.bytes_left != Some(0) {
            let Some(records) = self.next_chunk() else { break };
            let Some(place) = self.file.places.get(self.next).copied() else { break };
            // Bytes between chunks are checked only if the whole file is read.
            if self.only.is_none() {
                self.pass(place.offset)?;
            }
            let until = self.file.places.get(self.next + 1).map_or(self.file.footer, |next| next.offset);
            let chunk = self.file.chunk(place.offset, until)?;
            let is_large = chunk.as_ref().is_ok_and(|chunk| chunk.header.decoded_size > LARGE_NBYTES && chunk.header.nrecords > 1);
            if is_large && !packed.parts.is_empty() {
                break;
            }
            self.next += 1;
            let found = match chunk {
                Ok(chunk) => self.records_of(&chunk, records.end - records.start, &mut packed.bytes)?,
                Err(damage) => Err(damage),
            };
            let (nbytes, decoded) = match &found {
                Ok((header, _)) => (header.data_size, header.decoded_size),
                Err(_) => (until - place.offset, 0),
            };
            if found.is_err() {
                self.at = until;
            }
            packed.nbytes += nbytes.max(decoded);
            nrecords += records.end - records.start;
            for left in self.records_left.iter_mut() {
                *left = left.saturating_sub(records.end - records.start);
            }
            for left in self.bytes_left.iter_mut() {
                *left = left.saturating_sub(nbytes);
            }
            packed.parts.push(StoredChunk { offset: place.offset, nbytes, records, found });
            if is_large {
                self.large = Some((packed.unpack(self.only.as_deref())?, 0));
                return Ok(self.next_of_large().map(unpacked));
            }
        }
        if packed.parts.is_empty() {
            let is_whole = self.only.is_none() && self.records_left.is_none() && self.bytes_left.is_none();
            if let Some(error) = self.file.rest.take().filter(|_| is_whole) {
                self.pass(self.file.footer)?;
                let start = self.at;
                let length = self.file.nbytes().saturating_sub(start);
                self.at = self.file.nbytes();
                let error = error.locate(|at| at.byte = at.byte.or(Some(start)));
                return Ok(Some(Piece::Lost(Fault { error, length, raw: None, kept: false })));
            }
            return if is_whole { self.pass(self.file.nbytes()).map(|()| None) } else { Ok(None) };
        }
        let only = self.only.clone();
        Ok(Some(Piece::Packed(Box::new(move || packed.unpack(only.as_deref())))))
    }
}

fn unpacked(block: Block) -> Piece {
    Piece::Packed(Box::new(move || Ok(block)))
}

/// Chunks as stored in the file.
struct Packed {
    name: Arc<str>,
    parts: Vec<StoredChunk>,
    bytes: Vec<u8>,
    nbytes: u64,
    verify: bool,
}

/// A chunk.
struct StoredChunk {
    offset: u64,
    /// Its size in the file.
    nbytes: u64,
    /// The numbers of its records.
    records: Range<u64>,
    /// Its header, and the position of its data.
    found: Result<(Header, Range<usize>), Damage>,
}

impl Packed {
    /// The records, or the required ones among them.
    fn unpack(self, only: Option<&RecordNumbers>) -> Result<Block> {
        let mut unpacker = Unpacker::default();
        let mut block = Block { first_record: self.parts.first().map_or(1, |part| part.records.start), ..Block::default() };
        let mut bare = Bare { nbytes: self.nbytes, ..Bare::default() };
        for StoredChunk { offset, mut nbytes, records, found } in self.parts {
            let before = block.bytes.len();
            let ranges = found.and_then(|(header, range)| {
                let data = self.bytes.get(range).unwrap_or_default();
                if self.verify && hash(data) != header.data_hash {
                    return Err(Damage::new(offset, "the hash of the chunk's data does not match"));
                }
                unpacker.unpack(&header, data, &mut block.bytes).map_err(|damage| Damage { at: offset, ..damage })
            });
            if ranges.is_err() {
                block.bytes.truncate(before);
            }
            for (i, record) in records.enumerate() {
                if only.is_some_and(|only| !only.contains(record)) {
                    continue;
                }
                let payload = match &ranges {
                    Ok(ranges) => ranges.get(i).cloned().unwrap_or_default(),
                    Err(damage) => {
                        let error = Error::data(damage.what.clone()).in_input(self.name.clone()).locate(|at| {
                            at.records = Some((record, record));
                            at.byte = Some(damage.at);
                        });
                        let error = error.help(SKIP);
                        bare.lost.insert(block.payloads.len(), (error, std::mem::take(&mut nbytes)));
                        0..0
                    }
                };
                block.places.push((record, offset));
                block.payloads.push(payload);
            }
        }
        block.bare = Some(bare);
        Ok(block)
    }
}
