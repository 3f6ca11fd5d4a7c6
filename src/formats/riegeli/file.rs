//! An ArrayRecord file read by position.

use super::block::{BLOCK, Damage, chunk_end, hash, peek, unblock};
use super::footer::{Place, parse_entry, parse_metadata, parse_postscript};
use super::header::{self, Header, is_riegeli};
use super::simple::Unpacker;
use crate::error::{Error, Kind, Result};
use crate::formats::columnar::source::Source;
use crate::hint::Hint;
use crate::io::Input;
use crate::options::Options;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Bytes read at a time for consecutive chunks, and otherwise.
const AHEAD: u64 = 1 << 20;
const JUMP: u64 = 4 << 10;
/// Approximate bytes in memory for each chunk listed in a footer.
pub const PLACE_NBYTES: u64 = 64;

/// A file, and the locations of its chunks.
#[derive(Clone)]
pub struct ArrayFile {
    pub name: Arc<str>,
    window: Window,
    /// Chunks of records, in order.
    pub places: Arc<[Place]>,
    pub nrecords: u64,
    /// The end of the chunks of records.
    pub footer: u64,
    /// Why the data after them could not be read, if bad records are skipped.
    pub rest: Option<Error>,
    pub verify: bool,
}

/// A chunk whose header has been verified.
#[derive(Clone, Debug)]
pub struct Chunk {
    pub header: Header,
    /// Its position in the file.
    pub span: Range<u64>,
}

impl ArrayFile {
    /// Reads the footer of a file. A pipe is copied first.
    ///
    /// # Errors
    /// Not a complete ArrayRecord file.
    pub fn open(input: &Input, options: &Options) -> Result<ArrayFile> {
        let name = input.name().clone();
        let source = Source::new(input.file()?).map_err(|e| Error::io(&name, "cannot read", &e))?;
        let window = Window { source, bytes: Vec::new(), start: 0 };
        let mut file =
            ArrayFile { name: name.clone(), window, places: Arc::new([]), nrecords: 0, footer: 0, rest: None, verify: !options.no_verify };
        file.check_start().map_err(|e| e.in_input(name.clone()))?;
        let found = match file.read_footer(options) {
            Err(error) if options.on_error.skips() && error.kind() == Kind::Data => file.find_chunks(error.in_input(name.clone()), options),
            read => read,
        };
        found.map_err(|e| e.in_input(name))?;
        // Copies of the file do not need the read buffer.
        file.window.bytes = Vec::new();
        Ok(file)
    }

    /// Size of the file.
    pub fn nbytes(&self) -> u64 {
        self.window.source.nbytes()
    }

    fn check_start(&mut self) -> Result<()> {
        if is_riegeli(self.slice(0, self.nbytes().min(64))?) {
            return Ok(());
        }
        Err(Error::data("this is not an ArrayRecord: it does not start with the Riegeli signature"))
    }

    fn read_footer(&mut self, options: &Options) -> Result<()> {
        let nbytes = self.nbytes();
        let incomplete = || {
            Error::data("the file does not end with the postscript of an ArrayRecord: it is truncated, or a Riegeli file without an index")
                .help("a file is complete only when its writer has been closed: write it again with array_record's ArrayRecordWriter")
                .help(Hint::to_skip("read the complete chunks with --on-error skip"))
        };
        let start = nbytes.checked_sub(BLOCK).filter(|start| *start > 0 && start.is_multiple_of(BLOCK)).ok_or_else(incomplete)?;
        let (values, records) = self.records(start, nbytes, BLOCK).map_err(|e| e.or(incomplete))?;
        let postscript = records.first().and_then(|range| parse_postscript(&values[range.clone()]));
        self.footer = postscript.filter(|footer| *footer < start && *footer > 0).ok_or_else(incomplete)?;
        // Only padding lies between the footer and the postscript.
        if let Ok(footer) = self.chunk(self.footer, start)?
            && start.saturating_sub(footer.span.end) > BLOCK
        {
            let nbytes = start - footer.span.end;
            return Err(Error::data(format!(
                "{nbytes} bytes follow the footer, which does not list them: several files may have been concatenated"
            ))
            .help("pass them as several inputs instead"));
        }
        let limit = options.max_memory / PLACE_NBYTES;
        let lost = || {
            let error = Error::data("the footer, which locates the records, is damaged");
            error.help(Hint::to_skip("to find them by the chunk headers: --on-error skip"))
        };
        let (values, records) = self.records(self.footer, start, limit).map_err(|e| e.or(lost))?;
        let wrong = |what: String| Error::data(what).locate(|at| at.byte = Some(self.footer));
        let mut records = records.into_iter().map(|range| &values[range]);
        let (nchunks, nrecords) = parse_metadata(records.next().unwrap_or_default()).map_err(wrong)?;
        let mut places = Vec::with_capacity(records.len());
        let (mut first_record, mut before) = (1u64, 0);
        for entry in records {
            let place = parse_entry(entry).filter(|(offset, _, n)| *offset > before && *offset < self.footer && *n > 0);
            let next = place.and_then(|(offset, _, n)| Some((offset, first_record.checked_add(n)?)));
            let Some((offset, next)) = next else {
                return Err(wrong(format!("the footer is damaged: entry {} is not a chunk before it", places.len() + 1)));
            };
            places.push(Place { offset, first_record });
            (first_record, before) = (next, offset);
        }
        if (nchunks, nrecords) != (places.len() as u64, first_record - 1) {
            let (n, m) = (places.len(), first_record - 1);
            return Err(wrong(format!("the footer claims {nchunks} chunks with {nrecords} records, but lists {n} with {m}")));
        }
        (self.places, self.nrecords) = (places.into(), nrecords);
        Ok(())
    }

    /// The simple chunk at `at`, which ends before `until` and holds at most `limit` records.
    fn records(&mut self, at: u64, until: u64, limit: u64) -> Result<(Vec<u8>, Vec<Range<usize>>), Unread> {
        let chunk = self.chunk(at, until)??;
        let mut data = Vec::new();
        self.data(&chunk, &mut data)??;
        let header = chunk.header;
        let damaged = |what: &str| Unread::Damaged(Damage::new(at, what.to_owned()));
        if header.kind != header::SIMPLE || (self.verify && hash(&data) != header.data_hash) {
            return Err(damaged("the hash of the chunk's data does not match"));
        }
        if header.nrecords > limit {
            return Err(Unread::Failed(Error::data(format!("the list of {} chunks in the footer exceeds --max-memory", header.nrecords))));
        }
        // An entry has at most three integers. The first record describes how the file was written.
        if header.decoded_size > header.nrecords.saturating_mul(64).saturating_add(BLOCK) {
            return Err(damaged("the footer is larger than its entries"));
        }
        let mut values = Vec::new();
        let ranges = Unpacker::default().unpack(&header, &data, &mut values).map_err(|e| Damage { at, ..e })?;
        Ok((values, ranges))
    }

    /// The chunk at `at`, which must end before `until`.
    ///
    /// # Errors
    /// Reading fails. The inner result has errors in the chunk.
    pub fn chunk(&mut self, at: u64, until: u64) -> Result<Result<Chunk, Damage>> {
        let verify = self.verify;
        // A block header can precede or interrupt it.
        let bytes = self.slice(at, until.saturating_sub(at).min(2 * header::NBYTES))?;
        let header = match peek(bytes, at, header::NBYTES).map(|bytes| Header::parse(&bytes, at, verify)).unwrap_or_else(|| Err(short(at)))
        {
            Ok(header) => header,
            Err(damage) => return Ok(Err(damage)),
        };
        let nbytes = header.data_size.checked_add(header::NBYTES);
        let end = nbytes.and_then(|nbytes| chunk_end(at, nbytes, header.nrecords)).filter(|end| *end <= until);
        Ok(end.map(|end| Chunk { header, span: at..end }).ok_or_else(|| Damage::new(at, "the chunk extends into the next one")))
    }

    /// Appends the data of a chunk.
    ///
    /// # Errors
    /// Reading fails. The inner result has errors in the blocks of the chunk.
    pub fn data(&mut self, chunk: &Chunk, out: &mut Vec<u8>) -> Result<Result<(), Damage>> {
        let (verify, Range { start, end }) = (self.verify, chunk.span.clone());
        let before = out.len();
        let bytes = self.slice(start, end - start)?;
        let taken = unblock(bytes, start, end, chunk.header.data_size + header::NBYTES, verify, out);
        match taken {
            Ok(()) => drop(out.drain(before..before + header::NBYTES as usize)),
            Err(_) => out.truncate(before),
        }
        Ok(taken)
    }

    fn slice(&mut self, start: u64, length: u64) -> Result<&[u8]> {
        let name = self.name.clone();
        self.window.slice(start, length).map_err(|e| Error::io(&name, "cannot read", &e))
    }

    /// An error about a byte range of the file.
    pub fn damaged(&self, damage: Damage) -> Error {
        Error::data(damage.what).in_input(self.name.clone()).locate(|at| at.byte = Some(damage.at))
    }
}

fn short(at: u64) -> Damage {
    Damage::new(at, "the file ends in the middle of a chunk")
}

/// Why the records of a chunk cannot be read.
enum Unread {
    Failed(Error),
    Damaged(Damage),
}

impl Unread {
    /// The error or, for damage, the given error.
    fn or(self, what: impl FnOnce() -> Error) -> Error {
        match self {
            Unread::Failed(error) => error,
            Unread::Damaged(damage) => what().locate(|at| at.byte = Some(damage.at)).help(damage.what.as_str()),
        }
    }
}

impl From<Error> for Unread {
    fn from(error: Error) -> Unread {
        Unread::Failed(error)
    }
}

impl From<Damage> for Unread {
    fn from(damage: Damage) -> Unread {
        Unread::Damaged(damage)
    }
}

/// The most recently read bytes of a file.
#[derive(Clone)]
struct Window {
    source: Source,
    bytes: Vec<u8>,
    start: u64,
}

impl Window {
    /// Reads `length` bytes at `start`, and more if they follow the previous ones.
    fn slice(&mut self, start: u64, length: u64) -> io::Result<&[u8]> {
        let end = self.start + self.bytes.len() as u64;
        let inside = start >= self.start && start.checked_add(length).is_some_and(|stop| stop <= end);
        if !inside {
            let ahead = if (self.start..=end).contains(&start) { AHEAD } else { JUMP };
            let length = length.max(ahead.min(self.source.nbytes().saturating_sub(start)));
            let length = usize::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
            self.bytes = self.source.bytes(start, length)?;
            self.start = start;
        }
        let from = (start - self.start) as usize;
        Ok(&self.bytes[from..from + length as usize])
    }
}
