//! Cuts an input into blocks of whole records. Sequential; reads only the lengths.

use super::block::{Block, Piece};
use super::framing::{Damage, Frames, Stop, WholeFrames};
use super::resync;
use crate::chunk::Fault;
use crate::error::{Error, Result};
use crate::formats::cut::Cut;
use crate::formats::format::Request;
use crate::io::buffers::{Buffers, Filling};
use std::io::{ErrorKind, Read};
use std::sync::Arc;

/// Maximum bytes of a block, unless a single record is longer.
const BLOCK_NBYTES: usize = 1 << 20;
/// Initial buffer size. It doubles up to a block, so that short files are cheap.
const FIRST_NBYTES: usize = 1 << 16;
/// Maximum bytes of lost data written to the quarantine file.
const RAW_NBYTES: usize = 1 << 16;

/// Reads an input sequentially.
pub struct Cutter {
    source: Box<dyn Read + Send>,
    name: Arc<str>,
    window: Window,
    record: u64,
    /// Remaining number of records to cut; `None` for no limit.
    records_left: Option<u64>,
    /// Remaining number of bytes to cut; `None` for no limit.
    bytes_left: Option<u64>,
    chunk_rows: usize,
    frames: Frames,
    resume: bool,
    damage: Option<Damage>,
}

/// Bytes that have been read but not cut yet.
#[derive(Default)]
struct Window {
    bytes: Filling,
    buffers: Buffers,
    /// Their offset in the input.
    offset: u64,
    /// Whether the input has ended.
    at_end: bool,
    /// The size of the last buffer extension.
    room: usize,
}

impl Window {
    /// Reads until there are `want` bytes or the input ends. Memory grows only with the data received.
    fn fill(&mut self, source: &mut dyn Read, want: usize, name: &str) -> Result<()> {
        if self.at_end || self.bytes.len() >= want {
            return Ok(());
        }
        let mut room = 0;
        while self.bytes.len() < want && !self.at_end {
            if room == 0 {
                self.room = (self.room * 2).clamp(FIRST_NBYTES, BLOCK_NBYTES);
                room = self.room.min(want - self.bytes.len());
            }
            match source.read(self.bytes.room(room)) {
                Ok(0) => self.at_end = true,
                Ok(nbytes) => {
                    self.bytes.advance(nbytes);
                    room -= nbytes;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::io(name, "cannot read", &e)),
            }
        }
        Ok(())
    }

    /// Drops the first `n` bytes.
    fn drop_front(&mut self, n: usize) {
        let n = n.min(self.bytes.len());
        self.bytes.drop_front(n);
        self.offset += n as u64;
    }
}

impl Cutter {
    /// A cutter for all of `source`.
    pub fn new(source: Box<dyn Read + Send>, name: Arc<str>, request: &Request) -> Cutter {
        let options = &request.options;
        let resume = options.on_error.skips();
        Cutter {
            source,
            name,
            window: Window::default(),
            record: 1,
            // If bad records are skipped, only the number of good records counts, so the limit cannot be applied here.
            records_left: request.records.filter(|_| !resume),
            bytes_left: None,
            chunk_rows: options.chunk_rows.unwrap_or(usize::MAX).max(1),
            frames: Frames::of(options),
            resume,
            damage: None,
        }
    }

    /// Limits the cutter to about `nbytes` bytes.
    pub fn sampling(mut self, nbytes: Option<u64>) -> Cutter {
        self.bytes_left = nbytes;
        self
    }

    /// The block with these records, taken out of the window.
    fn take(&mut self, WholeFrames { payloads, end, stop }: WholeFrames) -> Block {
        let mut rest = self.window.buffers.filling();
        rest.extend_from_slice(self.window.bytes.get(end..).unwrap_or_default());
        let mut bytes = std::mem::replace(&mut self.window.bytes, rest);
        bytes.truncate(end);
        let bytes = bytes.into_buffer();
        let block = Block { bytes, first_record: self.record, offset: self.window.offset, payloads, ..Block::default() };
        self.window.offset += end as u64;
        self.record += block.payloads.len() as u64;
        if let Some(left) = &mut self.records_left {
            *left -= block.payloads.len() as u64;
        }
        if let Some(left) = &mut self.bytes_left {
            *left = left.saturating_sub(end as u64);
        }
        if let Stop::Damage(damage) = stop {
            self.damage = Some(damage);
        }
        block
    }

    /// Resumes after damage at the start of the window, if bad records are skipped.
    fn lose(&mut self, damage: Damage) -> Result<Piece> {
        let start = self.window.offset;
        let error = self.frames.error(damage, &self.name, self.record, start);
        let mut raw = self.window.bytes[..self.window.bytes.len().min(RAW_NBYTES)].to_vec();
        if self.resume {
            self.resynchronise()?;
        } else {
            // Nothing is cut after it.
            self.records_left = Some(0);
        }
        let length = self.window.offset - start;
        raw.truncate(usize::try_from(length).unwrap_or(RAW_NBYTES));
        self.record += 1;
        Ok(Piece::Lost(Fault { error, length, raw: Some(raw), kept: false }))
    }

    /// Drops bytes up to the next offset at which a record starts, or to the end.
    fn resynchronise(&mut self) -> Result<()> {
        let mut search = resync::Search::new();
        loop {
            match search.step(&self.window.bytes, self.window.at_end, self.frames.max_record_bytes) {
                resync::Progress::Found(at) => {
                    self.window.drop_front(at);
                    return Ok(());
                }
                resync::Progress::More { useless, mut want } => {
                    // Moving the window pays off only if that discards much of it.
                    if useless >= self.window.bytes.len() / 2 {
                        self.window.drop_front(useless);
                        search.dropped(useless);
                    } else {
                        want = want.saturating_add(useless);
                    }
                    let more = self.window.bytes.len() + BLOCK_NBYTES;
                    self.window.fill(&mut self.source, want.max(more), &self.name)?;
                }
            }
        }
    }
}

impl Cut for Cutter {
    type Piece = Piece;

    fn cut(&mut self) -> Result<Option<Piece>> {
        if let Some(damage) = self.damage.take() {
            return self.lose(damage).map(Some);
        }
        if self.records_left == Some(0) || self.bytes_left == Some(0) {
            return Ok(None);
        }
        let mut want = BLOCK_NBYTES;
        loop {
            self.window.fill(&mut self.source, want, &self.name)?;
            let most = usize::try_from(self.records_left.unwrap_or(u64::MAX)).unwrap_or(usize::MAX).min(self.chunk_rows);
            let walk = self.frames.walk(&self.window.bytes, usize::MAX, most);
            if !walk.payloads.is_empty() {
                return Ok(Some(Piece::Block(self.take(walk))));
            }
            match walk.stop {
                Stop::Full => return Ok(None),
                Stop::Damage(damage) => return self.lose(damage).map(Some),
                Stop::Short(_) if self.window.at_end && self.window.bytes.is_empty() => return Ok(None),
                Stop::Short(need) if self.window.at_end => {
                    let left = self.window.bytes.len();
                    return self.lose(Damage::Truncated { need, left }).map(Some);
                }
                Stop::Short(need) => want = need,
            }
        }
    }
}
