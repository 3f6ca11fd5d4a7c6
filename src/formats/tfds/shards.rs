//! The records of a dataset: its shards in sequence.

use super::json::INFO;
use crate::chunk::Decoded;
use crate::demand::RecordNumbers;
use crate::error::{Error, Result};
use crate::formats::columnar::adapt::{Columns, DecodedRows};
use crate::formats::cut::Cut;
use crate::formats::examples::decode::Decoder;
use crate::formats::examples::mapping::Mapping;
use crate::formats::format::{Request, Task};
use crate::formats::records::block::{Block, Piece, Pieces};
use crate::formats::records::cutter::Cutter;
use crate::formats::records::index::Table;
use crate::formats::records::only;
use crate::formats::riegeli::{self, ArrayFile};
use crate::io::Input;
use crate::printable::counted;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

/// Consecutive records of one shard.
pub struct ShardSlice {
    pub path: PathBuf,
    pub name: Arc<str>,
    /// Number of records before the first.
    pub skip: u64,
    /// The end; `None` for the end of the shard.
    pub until: Option<u64>,
    /// The name of its format.
    pub format: &'static str,
    /// Number of records in the shard, according to dataset_info.json.
    pub length: Option<u64>,
}

impl ShardSlice {
    /// Number of records, given a shard of `length` records.
    pub fn nrecords(&self, length: u64) -> u64 {
        self.until.unwrap_or(u64::MAX).min(length).saturating_sub(self.skip)
    }
}

/// How the records of a shard are located.
pub enum Index {
    Footer(ArrayFile),
    Table(Arc<Table>),
}

/// The shards with random access.
pub type Indexed = BTreeMap<PathBuf, Index>;

/// The blocks of all parts.
pub struct Shards {
    input: Arc<Input>,
    parts: VecDeque<ShardSlice>,
    current: Option<OpenShard>,
    /// Number of records in the parts before the current or next one.
    before: u64,
    /// Whether the shards are ArrayRecords rather than TFRecords.
    is_array_record: bool,
    /// The shards already opened for random access.
    indexed: Arc<Indexed>,
    mapping: Arc<Mapping>,
    columns: Arc<Columns>,
    /// Number of records still needed; `None` for all, or those of [`Request::only`].
    records_left: Option<u64>,
    request: Request,
    /// The error to report after the last block.
    failed: Option<Error>,
}

/// A shard being read.
struct OpenShard {
    part: ShardSlice,
    pieces: Pieces,
    decoder: Arc<Decoder>,
    /// The offset from the record number in the shard to that in the dataset.
    shift: i64,
    /// The required records, if the pieces contain others as well.
    wanted: Option<RecordNumbers>,
    /// Whether the shard is read to its end, so that its records are counted.
    is_whole: bool,
    /// Number of records cut so far, including lost ones.
    seen: u64,
    /// Whether records may have been lost, so that their number proves nothing.
    is_damaged: bool,
}

impl Shards {
    /// The records of these parts. [`Request::only`] counts across all of them.
    pub fn new(
        input: Arc<Input>,
        parts: VecDeque<ShardSlice>,
        is_array_record: bool,
        indexed: Arc<Indexed>,
        mapping: Mapping,
        columns: Columns,
        request: &Request,
    ) -> Shards {
        Shards {
            input,
            parts,
            current: None,
            before: 0,
            is_array_record,
            indexed,
            mapping: Arc::new(mapping),
            columns: Arc::new(columns),
            records_left: request.records.filter(|_| !request.options.on_error.skips() && request.only.is_none()),
            request: request.clone(),
            failed: None,
        }
    }

    /// Whether no record of the remaining parts is required.
    fn is_done(&self) -> bool {
        let are_passed = |only: &Arc<RecordNumbers>| self.before == u64::MAX || only.from(self.before + 1).is_none();
        self.records_left == Some(0) || self.request.only.as_ref().is_some_and(are_passed)
    }

    /// The required records of a part, by their number in the shard, which has `length` records; `None` if there are
    /// none.
    fn wanted(&self, part: &ShardSlice, length: Option<u64>) -> Option<RecordNumbers> {
        let left = self.records_left.map(|left| part.skip.saturating_add(left));
        let last = [part.until, left, length].into_iter().flatten().min().unwrap_or(u64::MAX);
        if last <= part.skip {
            return None;
        }
        match &self.request.only {
            None => Some(RecordNumbers::range(part.skip + 1..=last)),
            Some(only) => only.within(self.before + 1..=self.before.saturating_add(last - part.skip), part.skip + 1),
        }
    }

    /// Opens a part; `None` if none of its records is required.
    fn open(&mut self, part: ShardSlice) -> Result<Option<OpenShard>> {
        // If all records are read, the shard must not contain more.
        let length = self.request.only.as_ref().and(part.length);
        let Some(wanted) = self.wanted(&part, length) else {
            self.pass(&part, 0);
            return Ok(None);
        };
        let mut open = OpenShard {
            pieces: Box::new(std::iter::empty()),
            decoder: Arc::new(Decoder::of(self.mapping.clone(), &self.request, part.name.clone())),
            shift: self.before as i64 - part.skip as i64,
            wanted: None,
            is_whole: part.until.is_none() && self.records_left.is_none() && self.request.only.is_none(),
            seen: 0,
            is_damaged: false,
            part,
        };
        if self.is_array_record {
            self.open_array_record(&mut open)?;
        } else {
            self.open_tfrecord(&mut open, wanted)?;
        }
        Ok(Some(open))
    }

    /// The pieces of a shard, located by its index file if only some records are required.
    fn open_tfrecord(&self, open: &mut OpenShard, wanted: RecordNumbers) -> Result<()> {
        let is_chosen = self.request.only.is_some() && open.part.length.is_some();
        let options = &self.request.options;
        let index = match self.indexed.get(&open.part.path) {
            Some(Index::Table(table)) if self.request.only.is_some() => {
                Some(only::by_table(&Input::regular(&open.part.path)?, table.clone(), &wanted, options)?)
            }
            _ if is_chosen => only::by_index(&Input::regular(&open.part.path)?, &wanted, options)?,
            _ => None,
        };
        open.pieces = match index {
            Some(pieces) => pieces,
            None => {
                let request = Request { records: (!open.is_whole).then(|| wanted.last()), ..self.request.clone() };
                open.wanted = (!open.is_whole || open.part.skip > 0).then_some(wanted);
                Box::new(Cutter::new(self.input.open_member(&open.part.path)?, open.part.name.clone(), &request).pieces())
            }
        };
        Ok(())
    }

    /// The pieces of a shard whose footer gives the number and positions of its records.
    fn open_array_record(&mut self, open: &mut OpenShard) -> Result<()> {
        let file = match self.indexed.get(&open.part.path) {
            Some(Index::Footer(file)) => file.clone(),
            _ => ArrayFile::open(&Input::regular(&open.part.path)?, &self.request.options)?,
        };
        open.seen = file.nrecords;
        open.is_damaged = file.rest.is_some();
        if let Some(length) = open.part.length.filter(|length| *length != file.nrecords && !open.is_damaged) {
            return Err(open.wrong_length(if file.nrecords > length { "more".to_owned() } else { file.nrecords.to_string() }.as_str()));
        }
        let Some(wanted) = self.wanted(&open.part, Some(file.nrecords)) else { return Ok(()) };
        if let Some(left) = &mut self.records_left {
            *left = left.saturating_sub(wanted.last().saturating_sub(open.part.skip));
        }
        let is_all = wanted.ranges().iter().eq([&(1..=file.nrecords)]);
        let request = Request { records: None, only: (!is_all).then(|| Arc::new(wanted)), ..self.request.clone() };
        open.pieces = Box::new(riegeli::Cutter::new(file, &request).pieces());
        Ok(())
    }

    /// Counts the records of a finished part, of which `seen` were read, or of a part that was not opened.
    fn pass(&mut self, part: &ShardSlice, seen: u64) {
        self.before = self.before.saturating_add(part.nrecords(part.length.unwrap_or(seen)));
    }

    fn close(&mut self) {
        if let Some(OpenShard { part, seen, .. }) = self.current.take() {
            self.pass(&part, seen);
        }
    }

    fn next_task(&mut self) -> Result<Option<Task<Decoded>>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        loop {
            let Some(open) = &mut self.current else {
                if self.is_done() {
                    return Ok(None);
                }
                let Some(part) = self.parts.pop_front() else { return Ok(None) };
                self.current = self.open(part)?;
                continue;
            };
            let piece = open.pieces.next().transpose()?;
            let (decoder, columns, shift) = (open.decoder.clone(), self.columns.clone(), open.shift);
            match piece {
                Some(Piece::Lost(fault)) => {
                    open.is_damaged = true;
                    open.seen += 1;
                    return Ok(Some(Box::new(move || adapted(decoder.lost(fault)?, &columns, shift))));
                }
                Some(Piece::Block(block)) => {
                    let block = open.keep(block, &mut self.records_left);
                    self.failed = open.too_long();
                    if self.failed.is_none() && open.wanted.as_ref().is_some_and(|wanted| open.seen >= wanted.last()) {
                        self.close();
                    }
                    if !block.payloads.is_empty() || self.failed.is_some() {
                        return Ok(Some(Box::new(move || adapted(decoder.decode(&block)?, &columns, shift))));
                    }
                }
                Some(Piece::Packed(block)) => {
                    return Ok(Some(Box::new(move || adapted(decoder.decode(&block()?)?, &columns, shift))));
                }
                None => {
                    if open.is_whole && !open.is_damaged && open.part.length.is_some_and(|length| open.seen < length) {
                        return Err(open.wrong_length(&open.seen.to_string()));
                    }
                    self.close();
                }
            }
        }
    }
}

impl Iterator for Shards {
    type Item = Result<Task<Decoded>>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_task().transpose();
        if !matches!(next, Some(Ok(_))) {
            (self.current, self.parts) = (None, VecDeque::new());
        }
        next
    }
}

impl OpenShard {
    /// Drops the records of a block that are not required.
    fn keep(&mut self, mut block: Block, records_left: &mut Option<u64>) -> Block {
        let n = block.payloads.len();
        if n > 0 {
            self.seen = self.seen.max(block.record(n - 1));
        }
        let length = self.part.length.filter(|_| !self.is_damaged).unwrap_or(u64::MAX);
        if self.seen > length && block.places.is_empty() {
            block.payloads.truncate(usize::try_from((length + 1).saturating_sub(block.first_record)).unwrap_or(usize::MAX));
        }
        if let Some(wanted) = &self.wanted {
            block = only::wanted(block, wanted);
        }
        if let Some(left) = records_left {
            *left = left.saturating_sub(block.payloads.len() as u64);
        }
        block
    }

    /// The error for a shard with more records than declared.
    fn too_long(&self) -> Option<Error> {
        let is_longer = self.part.length.is_some_and(|length| self.seen > length);
        (is_longer && !self.is_damaged).then(|| self.wrong_length("more"))
    }

    fn wrong_length(&self, found: &str) -> Error {
        let said = self.part.length.unwrap_or(0);
        Error::data(format!("the shard should have {} according to {INFO}, but has {found}", counted(said, "record")))
            .in_input(self.part.name.clone())
            .help(format!("to read it as it is: --from {} {}", self.part.format, crate::printable::shell_word(&self.part.name)))
    }
}

/// Arranges the columns of the features as the fields of the run.
fn adapted(decoded: Decoded, columns: &Columns, shift: i64) -> Result<Decoded> {
    let Decoded { mut chunk, faults, nbytes, offsets } = decoded;
    chunk.origin.shift = shift;
    let own = chunk.columns;
    let column = |position: usize| own.get(position).cloned().ok_or_else(|| Error::internal("a field that was not decoded"));
    columns.decoded(DecodedRows { nrows: chunk.nrows, origin: chunk.origin, nbytes, offsets, faults }, column)
}
