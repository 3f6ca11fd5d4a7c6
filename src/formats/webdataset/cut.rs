//! Groups members into records, and records into blocks. Sequential; does not parse contents.

use super::archive::Archive;
use super::names::{KEY, Kinds, MemberKind, is_about_archive, is_data_file, split};
use crate::error::{Error, Result};
use crate::formats::cut::Cut;
use crate::formats::format::Request;
use crate::io::Input;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// Number of bytes after which a block ends, and maximum number of its records.
const BLOCK_NBYTES: usize = 1 << 20;
const BLOCK_ROWS: usize = 4 << 10;
/// Memory of a member in addition to its contents.
const MEMBER_NBYTES: usize = 64;
/// Maximum number of keys remembered, by hash.
const MOST_KEYS: usize = 1 << 20;

/// Consecutive records, not decoded.
#[derive(Default)]
pub struct Block {
    pub records: Vec<Record>,
    pub bytes: Vec<u8>,
    /// The number of the first, from 1.
    pub first_record: u64,
    /// Bytes of the archive.
    pub nbytes: u64,
    /// The first member so far that is a data file of its own.
    pub data_file: Option<Arc<str>>,
}

/// The members with the same key.
pub struct Record {
    pub key: String,
    pub members: Vec<RecordMember>,
    /// Its offset in the archive.
    pub offset: u64,
    pub nbytes: u64,
    /// Why it cannot be used.
    pub error: Option<Error>,
}

/// A member of a record.
pub struct RecordMember {
    pub extension: Arc<str>,
    /// How it is read, and the range of its contents in the block; `None` if it was skipped.
    pub contents: Option<(MemberKind, Range<usize>)>,
}

/// Cuts an archive into blocks.
pub struct Cutter {
    archive: Archive,
    kinds: Arc<Kinds>,
    max_record_bytes: u64,
    block_rows: usize,
    /// Remaining number of records to cut.
    left: u64,
    /// Whether contents needed only for their type are discarded.
    only_types: bool,
    next_record: u64,
    /// The first member of the next record: its key, extension, offset and size.
    ahead: Option<(String, Arc<str>, u64, u64)>,
    /// The extensions seen so far, without repeats.
    extensions: Vec<Arc<str>>,
    /// Hashes of the keys so far; `None` after a repeated key.
    keys: Option<HashSet<u64>>,
    data_file: Option<Arc<str>>,
}

impl Cutter {
    /// # Errors
    /// The input cannot be opened.
    pub fn open(input: &Input, kinds: Arc<Kinds>, request: &Request, only_types: bool) -> Result<Cutter> {
        let options = &request.options;
        Ok(Cutter {
            archive: Archive::new(input.open()?, input.name().clone(), options),
            kinds,
            max_record_bytes: options.max_record_bytes,
            block_rows: options.chunk_rows.unwrap_or(BLOCK_ROWS).clamp(1, BLOCK_ROWS),
            // If bad records are skipped, only the number of good records counts, so the limit cannot be applied here.
            left: request.records.filter(|_| !options.on_error.skips()).unwrap_or(u64::MAX),
            only_types,
            next_record: 1,
            ahead: None,
            extensions: Vec::new(),
            keys: Some(HashSet::new()),
            data_file: None,
        })
    }

    /// The next member that is part of a record.
    fn member(&mut self) -> Result<Option<(String, Arc<str>, u64, u64)>> {
        while let Some(member) = self.archive.next()? {
            let Ok(path) = String::from_utf8(member.path) else {
                return Err(self.archive.damaged(member.offset, "the name of a member is not valid UTF-8"));
            };
            if is_about_archive(&path) {
                self.archive.pass_over("members that describe the archive", path.as_bytes())?;
                continue;
            }
            match split(&path) {
                Some((key, extension)) => {
                    if self.data_file.is_none() && is_data_file(&extension) {
                        self.data_file = Some(path.as_str().into());
                    }
                    return Ok(Some((key.to_owned(), self.extension(extension), member.offset, member.nbytes)));
                }
                None => self.archive.pass_over("members without an extension", path.as_bytes())?,
            }
        }
        Ok(None)
    }

    fn extension(&mut self, extension: String) -> Arc<str> {
        match self.extensions.iter().find(|known| ***known == *extension) {
            Some(known) => known.clone(),
            None => {
                let extension: Arc<str> = extension.into();
                // Members with unique names are not fields and are not remembered.
                if self.extensions.len() < 1000 {
                    self.extensions.push(extension.clone());
                }
                extension
            }
        }
    }

    /// A record whose members are not adjacent becomes several records, for which one notice is shown.
    fn look_for_again(&mut self, key: &str) -> Result<()> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        match &mut self.keys {
            Some(keys) if keys.contains(&hasher.finish()) => {
                self.keys = None;
                self.archive
                    .notice(format!("the members of {key} are not adjacent and form several records: sort them with tar --sort=name"))
            }
            Some(keys) if keys.len() < MOST_KEYS => {
                keys.insert(hasher.finish());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Adds a member, whose contents come next in the archive.
    fn add(&mut self, record: &mut Record, extension: Arc<str>, nbytes: u64, block: &mut Block) -> Result<()> {
        record.nbytes = record.nbytes.saturating_add(nbytes);
        if record.error.is_some() {
            return Ok(());
        }
        if *extension == *KEY {
            record.error = Some(Error::data(format!("the extension .{extension} is the name of the field for keys")));
            return Ok(());
        }
        if record.members.iter().any(|member| member.extension == extension) {
            let error = Error::data(format!("the record has two members with the extension .{extension}"));
            record.error = Some(error.help("extensions are not case-sensitive"));
            return Ok(());
        }
        let start = block.bytes.len();
        let kind = self.kinds.of_member(&extension);
        let contents = match kind {
            // The type follows from their names alone.
            Some(kind) if self.only_types && kind != MemberKind::Json => Some((kind, start..start)),
            Some(_) if record.nbytes > self.max_record_bytes => {
                let what = format!("the record has at least {}", record.nbytes);
                record.error = Some(Error::too_large(what, self.max_record_bytes));
                return Ok(());
            }
            Some(kind) => {
                self.archive.read(&mut block.bytes)?;
                Some((kind, start..block.bytes.len()))
            }
            None => None,
        };
        record.members.push(RecordMember { extension, contents });
        Ok(())
    }
}

impl Cut for Cutter {
    type Piece = Block;

    fn cut(&mut self) -> Result<Option<Block>> {
        let mut block = Block { first_record: self.next_record, ..Block::default() };
        let mut members = 0;
        while block.records.len() < self.block_rows && block.bytes.len() + members * MEMBER_NBYTES < BLOCK_NBYTES && self.left > 0 {
            let first = match self.ahead.take() {
                Some(first) => Some(first),
                None => self.member()?,
            };
            let Some((key, extension, offset, nbytes)) = first else { break };
            self.look_for_again(&key)?;
            let mut record = Record { key, members: Vec::new(), offset, nbytes: 0, error: None };
            self.add(&mut record, extension, nbytes, &mut block)?;
            while let Some(next) = self.member()? {
                if next.0 != record.key {
                    self.ahead = Some(next);
                    break;
                }
                self.add(&mut record, next.1, next.3, &mut block)?;
            }
            members += record.members.len();
            block.nbytes += record.nbytes;
            block.records.push(record);
            self.next_record += 1;
            self.left -= 1;
        }
        block.data_file = self.data_file.clone();
        Ok((!block.records.is_empty()).then_some(block))
    }
}
