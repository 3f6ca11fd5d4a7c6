//! Index files of TFRecords: the offset of each record, and its length including the frame.
//!
//! There are two formats. `x.tfrecord.idx` is text with a line `OFFSET LENGTH` for each record, as written by DALI's
//! `tfrecord2idx`; `x.tfrecord.offsets` has pairs of uint64, little-endian.

use super::framing::{FOOTER, HEADER, header};
use crate::demand::RecordNumbers;
use crate::error::{Error, Result};
use crate::formats::columnar::source::Source;
use crate::formats::format::Numbered;
use crate::io::Input;
use crate::options::Options;
use crate::printable::shell_word;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Advice to write the index of a file again.
fn rebuild(file: &str) -> String {
    format!("rebuild the index: tatter index {}", shell_word(file))
}

/// Maximum length of a line or pair.
const ENTRY_NBYTES: u64 = 64;
const PAIR: u64 = 16;
/// Number of entries of an index that are compared with its file.
const SAMPLES: u64 = 16;
/// Bytes read at once where only the headers of records are read.
const FRAMES_NBYTES: usize = 8 << 10;

/// The form of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexForm {
    /// A line with offset and length for each record, as in DALI.
    Text,
    /// Pairs of uint64, little-endian.
    Binary,
}

impl IndexForm {
    /// The name of the index for a file.
    pub fn path(self, file: &Path) -> PathBuf {
        let mut name = file.as_os_str().to_owned();
        name.push(match self {
            IndexForm::Text => ".idx",
            IndexForm::Binary => ".offsets",
        });
        name.into()
    }
}

/// Writes the index of a file and returns the number of records. Verifies the checksums of lengths, not those of
/// records.
///
/// # Errors
/// The file is compressed, truncated or damaged, or writing fails.
pub fn write_index(input: &Input, form: IndexForm, out: &mut dyn Write) -> Result<u64> {
    let name = input.name().clone();
    if input.codec().is_some() {
        let plain = Path::new(&*name).with_extension("").display().to_string();
        let help = format!("decompress it first: tatter convert {} -o {}", shell_word(&name), shell_word(&plain));
        return Err(Error::usage("this is compressed: its records cannot be read individually").in_input(name.clone()).help(help));
    }
    let failed = |e: &std::io::Error| Error::io(&name, "cannot read", e);
    let file = input.file()?;
    let nbytes = file.metadata().map_err(|e| failed(&e))?.len();
    let mut file = BufReader::with_capacity(1 << 20, file);
    let (mut at, mut records) = (0u64, 0u64);
    while at < nbytes {
        let damaged = |message: &str| {
            Error::data(message).in_input(name.clone()).locate(|found| {
                found.records = Some((records + 1, records + 1));
                found.byte = Some(at);
            })
        };
        let mut frame = [0; HEADER];
        if nbytes - at < HEADER as u64 {
            return Err(damaged("the input ends in the middle of a record"));
        }
        file.read_exact(&mut frame).map_err(|e| failed(&e))?;
        let header = header(&frame).filter(|header| header.holds);
        let header = header.ok_or_else(|| {
            damaged("the checksum of the record's length does not match").help(if at == 0 {
                "is this a TFRecord? only TFRecords are indexed; an ArrayRecord has its own index"
            } else {
                "only an undamaged file can be indexed; `validate` lists the damage"
            })
        })?;
        let length = header.length.checked_add((HEADER + FOOTER) as u64).filter(|length| *length <= nbytes - at);
        let length = length.ok_or_else(|| damaged("the input ends in the middle of a record"))?;
        file.seek_relative((length - HEADER as u64) as i64).map_err(|e| failed(&e))?;
        let written = match form {
            IndexForm::Text => writeln!(out, "{at} {length}"),
            IndexForm::Binary => out.write_all(&[at.to_le_bytes(), length.to_le_bytes()].concat()),
        };
        written.map_err(|e| Error::io("the index", "cannot write", &e))?;
        at += length;
        records += 1;
    }
    Ok(records)
}

/// The offsets of all records, with 8 bytes of memory each.
pub struct Table {
    starts: Vec<u64>,
    end: u64,
    /// The name of the index, for messages.
    pub name: Arc<str>,
}

impl Table {
    /// Number of records.
    pub fn nrecords(&self) -> u64 {
        self.starts.len() as u64
    }

    /// How the records are found.
    pub fn numbered(&self) -> Numbered {
        Numbered { nrecords: self.nrecords(), nread: 1, nbytes: self.end, by: self.name.clone() }
    }

    fn entry(&self, record: u64) -> Option<Entry> {
        let at = usize::try_from(record.checked_sub(1)?).ok()?;
        let offset = *self.starts.get(at)?;
        let end = self.starts.get(at + 1).copied().unwrap_or(self.end);
        Some(Entry { record, offset, length: end.saturating_sub(offset) })
    }
}

/// An index of the records: either read on demand, or already in memory.
pub enum Lookup {
    Index(Index),
    Table(Arc<Table>),
}

impl Lookup {
    /// The name of the index.
    pub fn name(&self) -> &Arc<str> {
        match self {
            Lookup::Index(index) => &index.name,
            Lookup::Table(table) => &table.name,
        }
    }

    /// The entries for these records, in order.
    ///
    /// # Errors
    /// Reading fails.
    pub fn entries(self, numbers: Arc<RecordNumbers>) -> Result<Entries> {
        let table = match self {
            Lookup::Index(index) => return index.entries(numbers),
            Lookup::Table(table) => table,
        };
        let ranges = numbers.ranges().to_vec();
        Ok(Box::new(ranges.into_iter().flatten().map_while(move |record| table.entry(record).map(Ok))))
    }
}

/// The entries for some records, in order.
pub type Entries = Box<dyn Iterator<Item = Result<Entry>> + Send>;

/// The location of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1.
    pub record: u64,
    pub offset: u64,
    /// Size including the frame.
    pub length: u64,
}

/// An index that matches its file.
pub struct Index {
    form: IndexForm,
    file: File,
    /// The name of the index, for messages.
    pub name: Arc<str>,
}

impl Index {
    /// The index file of a file, if there is one that matches it.
    ///
    /// # Errors
    /// A notice that it does not match, under `--strict`.
    pub fn beside(input: &Input, options: &Options) -> Result<Option<Index>> {
        let Some(path) = input.path().filter(|_| input.codec().is_none()) else { return Ok(None) };
        for form in [IndexForm::Binary, IndexForm::Text] {
            let place = form.path(path);
            let name = place.display().to_string();
            let Ok(file) = File::open(&place) else { continue };
            let failed = |e: std::io::Error| Error::io(&name, "cannot read", &e);
            let end = last_end(form, Source::new(file.try_clone().map_err(failed)?).map_err(failed)?).map_err(failed)?;
            let index = Index { form, file, name: name.as_str().into() };
            if end == input.nbytes() && index.describes(input)? {
                return Ok(Some(index));
            }
            let text = format!("{name}: this index does not match {} and was ignored; rebuild it with tatter index", input.name());
            options.notices.add(text, options.strict)?;
        }
        Ok(None)
    }

    /// Whether records start and end where the index says. A file that was changed after its index is compared with
    /// every entry, because it may still have its size; another one with a few entries.
    fn describes(&self, input: &Input) -> Result<bool> {
        let failed = |e: std::io::Error| Error::io(&self.name, "cannot read", &e);
        let data = input.file()?;
        let changed = |file: &File| file.metadata().and_then(|metadata| metadata.modified());
        let is_older = changed(&self.file).and_then(|index| Ok(index < changed(&data)?)).unwrap_or(true);
        let nbytes = data.metadata().map_err(failed)?.len();
        let mut data = FrameHeaders { file: BufReader::with_capacity(FRAMES_NBYTES, data), nbytes, at: 0, name: input.name() };
        if is_older {
            let copy = Index { file: self.file.try_clone().map_err(failed)?, form: self.form, name: self.name.clone() };
            // What cannot be read as entries is an error where the index is used.
            for entry in copy.scan()?.map_while(Result::ok) {
                if !data.agree(entry.offset, entry.length)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let source = Source::new(self.file.try_clone().map_err(failed)?).map_err(failed)?;
        for sample in 0..SAMPLES {
            let entry = entry_near(self.form, &source, source.nbytes() / SAMPLES * sample).map_err(failed)?;
            if let Some((offset, length)) = entry
                && !data.agree(offset, length)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// All entries.
    ///
    /// # Errors
    /// Reading fails, or records are not contiguous.
    pub fn table(self) -> Result<Table> {
        let name = self.name.clone();
        let (mut starts, mut end) = (Vec::new(), 0);
        for entry in self.scan()? {
            let entry = entry?;
            starts.push(entry.offset);
            end = entry.offset + entry.length;
        }
        starts.shrink_to_fit();
        Ok(Table { starts, end, name })
    }

    /// The entries for these records, in order. Those before them are read too: if one is missing, each record after
    /// it would have a wrong number.
    ///
    /// # Errors
    /// Reading fails, or records are not contiguous.
    fn entries(self, numbers: Arc<RecordNumbers>) -> Result<Entries> {
        let entries = self.scan()?.take(usize::try_from(numbers.last()).unwrap_or(usize::MAX));
        Ok(Box::new(entries.filter(move |entry| entry.as_ref().map_or(true, |entry| numbers.contains(entry.record)))))
    }

    /// All entries, in order, each starting where the one before it ends.
    fn scan(self) -> Result<impl Iterator<Item = Result<Entry>> + Send> {
        let Index { form, mut file, name, .. } = self;
        file.seek(SeekFrom::Start(0)).map_err(|e| Error::io(&name, "cannot read", &e))?;
        let mut file = BufReader::with_capacity(1 << 16, file);
        let (mut record, mut end) = (0, 0);
        Ok(std::iter::from_fn(move || {
            let found = match next_entry(form, &mut file) {
                Ok(found) => found?,
                Err(e) => return Some(Err(Error::io(&name, "cannot read", &e))),
            };
            record += 1;
            let Some((offset, length)) = found else {
                return Some(Err(Error::data(format!("line {record} of the index is not OFFSET LENGTH")).in_input(name.clone())));
            };
            let next = offset.checked_add(length).filter(|_| offset == end);
            Some(if let Some(next) = next {
                end = next;
                Ok(Entry { record, offset, length })
            } else {
                let error = Error::data(format!("record {record} starts at byte {offset}, but the previous one ends at {end}"));
                Err(error
                    .in_input(name.clone())
                    .help(rebuild(name.strip_suffix(".idx").or_else(|| name.strip_suffix(".offsets")).unwrap_or("FILE"))))
            })
        }))
    }
}

/// The headers of the records of a file.
struct FrameHeaders<'a> {
    file: BufReader<File>,
    nbytes: u64,
    /// The position in the file.
    at: u64,
    name: &'a Arc<str>,
}

impl FrameHeaders<'_> {
    /// Whether a record of this size, framing included, starts at this offset.
    fn agree(&mut self, offset: u64, length: u64) -> Result<bool> {
        let end = offset.checked_add(length).filter(|end| *end <= self.nbytes && length >= (HEADER + FOOTER) as u64);
        let (Some(_), Some(distance)) = (end, offset.checked_signed_diff(self.at)) else { return Ok(false) };
        let mut frame = [0; HEADER];
        let read = self.file.seek_relative(distance).and_then(|()| self.file.read_exact(&mut frame));
        match read {
            Ok(()) => self.at = offset + HEADER as u64,
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(e) => return Err(Error::io(self.name, "cannot read", &e)),
        }
        let found = header(&frame).filter(|header| header.holds);
        Ok(found.and_then(|found| found.length.checked_add((HEADER + FOOTER) as u64)) == Some(length))
    }
}

/// The first whole entry at or after a byte of an index; `None` if there is none, or its line is longer than any entry.
fn entry_near(form: IndexForm, source: &Source, byte: u64) -> std::io::Result<Option<(u64, u64)>> {
    let start = if form == IndexForm::Binary { byte / PAIR * PAIR } else { byte.saturating_sub(1) };
    let nbytes = (2 * ENTRY_NBYTES).min(source.nbytes() - start) as usize;
    let bytes = source.bytes(start, nbytes)?;
    if form == IndexForm::Binary {
        return Ok(bytes.get(..PAIR as usize).map(of_pair));
    }
    let skipped = if byte == 0 { 0 } else { memchr::memchr(b'\n', &bytes).map_or(nbytes, |at| at + 1) };
    let rest = &bytes[skipped..];
    Ok(memchr::memchr(b'\n', rest).and_then(|nbytes| of_line(&rest[..nbytes])))
}

/// The next offset and length of an index: `None` at its end, `Some(None)` for a line without them.
fn next_entry(form: IndexForm, file: &mut impl BufRead) -> std::io::Result<Option<Option<(u64, u64)>>> {
    if form == IndexForm::Binary {
        let mut pair = [0; PAIR as usize];
        if file.fill_buf()?.is_empty() {
            return Ok(None);
        }
        file.read_exact(&mut pair)?;
        return Ok(Some(Some(of_pair(&pair))));
    }
    let bytes = file.fill_buf()?;
    if let Some(nbytes) = memchr::memchr(b'\n', bytes) {
        let entry = of_line(&bytes[..nbytes]);
        file.consume(nbytes + 1);
        return Ok(Some(entry));
    }
    let mut line = Vec::new();
    file.take(ENTRY_NBYTES).read_until(b'\n', &mut line)?;
    Ok((!line.is_empty()).then(|| of_line(&line)))
}

/// The end of the last record of an index; `None` if it cannot be determined.
fn last_end(form: IndexForm, source: Source) -> std::io::Result<Option<u64>> {
    let nbytes = source.nbytes();
    let entry = match form {
        IndexForm::Binary if nbytes == 0 || !nbytes.is_multiple_of(PAIR) => return Ok((nbytes == 0).then_some(0)),
        IndexForm::Binary => Some(of_pair(&source.bytes(nbytes - PAIR, PAIR as usize)?)),
        IndexForm::Text if nbytes == 0 => return Ok(Some(0)),
        IndexForm::Text => {
            let start = nbytes.saturating_sub(ENTRY_NBYTES);
            let tail = source.bytes(start, (nbytes - start) as usize)?;
            tail.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().and_then(of_line)
        }
    };
    Ok(entry.and_then(|(offset, length)| offset.checked_add(length)))
}

fn of_pair(pair: &[u8]) -> (u64, u64) {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    (number(&pair[..8]), number(&pair[8..]))
}

fn of_line(line: &[u8]) -> Option<(u64, u64)> {
    let (offset, length) = std::str::from_utf8(line).ok()?.trim_end().split_once(' ')?;
    Some((offset.parse().ok()?, length.parse().ok()?))
}
