//! Reads the regular files of a tar archive sequentially, with their names; the caller reads or skips the contents.
//! Sources: POSIX pax; the GNU tar manual for long names.
//!
//! Uses only the headers of the crate `tar`, because its iterator holds long names of any size in memory.

use crate::error::{Error, Result};
use crate::options::Options;
use std::io::Read;
use std::sync::Arc;
use tar::{EntryType, Header, PaxExtensions};

const BLOCK: usize = 512;
/// Maximum size of a name or of other metadata of a member.
const MAX_FACTS: u64 = 1 << 20;
/// Amount of padding after the end that is checked.
const MAX_PADDING: u64 = 1 << 20;

/// A regular file, whose contents come next in the archive.
pub struct ArchiveMember {
    pub path: Vec<u8>,
    pub nbytes: u64,
    /// The offset of its header.
    pub offset: u64,
}

/// An archive being read.
pub struct Archive {
    source: Box<dyn Read + Send>,
    name: Arc<str>,
    options: Options,
    /// Number of bytes read so far.
    offset: u64,
    /// The remaining bytes of the current member: contents and padding.
    left: u64,
    padding: u64,
    ended: bool,
    /// Kinds of members for which a notice about skipping them has been shown.
    noticed: Vec<&'static str>,
}

/// Whether bytes start with the header of a member, judging by the magic, or by the checksum if there is none.
pub fn is_header(head: &[u8]) -> bool {
    let Some(block) = head.get(..BLOCK) else { return false };
    block.iter().any(|byte| *byte != 0) && checksum_holds(block)
}

/// The sum of the header's bytes, with spaces in place of the checksum.
fn checksum_holds(block: &[u8]) -> bool {
    let sum = |bytes: &[u8]| bytes.iter().map(|b| u32::from(*b)).sum::<u32>();
    let found = sum(&block[..148]) + 8 * 32 + sum(&block[156..]);
    Header::from_byte_slice(block).cksum().is_ok_and(|stored| stored == found)
}

impl Archive {
    pub fn new(source: Box<dyn Read + Send>, name: Arc<str>, options: &Options) -> Archive {
        Archive { source, name, options: options.clone(), offset: 0, left: 0, padding: 0, ended: false, noticed: Vec::new() }
    }

    /// The next regular file. The rest of the previous one is skipped.
    ///
    /// # Errors
    /// The archive is damaged or truncated; a notice, under `--strict`.
    pub fn next(&mut self) -> Result<Option<ArchiveMember>> {
        let (mut long_name, mut size) = (None, None);
        let mut is_sparse = false;
        while !self.ended {
            self.skip()?;
            let offset = self.offset;
            let mut block = [0; BLOCK];
            match self.fill(&mut block)? {
                0 => {
                    self.ended = true;
                    self.notice("the archive has no end marker: it may be truncated".to_owned())?;
                    return Ok(None);
                }
                BLOCK => {}
                _ => return Err(self.cut()),
            }
            if block.iter().all(|byte| *byte == 0) {
                self.ended = true;
                return self.end().map(|()| None);
            }
            let header = Header::from_byte_slice(&block);
            if !checksum_holds(&block) {
                return Err(self.damaged(offset, "the checksum of a member's header does not match"));
            }
            let kind = header.entry_type();
            let declared = size.take().map_or_else(|| header.entry_size().or_else(|_| header.size()), Ok);
            let nbytes = match kind {
                // Links and devices have no contents, regardless of the header.
                EntryType::Link | EntryType::Symlink | EntryType::Char | EntryType::Block | EntryType::Directory | EntryType::Fifo => 0,
                _ => declared.map_err(|_| self.damaged(offset, "the size of a member is not a number"))?,
            };
            self.left = nbytes;
            self.padding = (BLOCK as u64 - nbytes % BLOCK as u64) % BLOCK as u64;
            match kind {
                EntryType::GNULongName => {
                    let mut name = self.facts(nbytes, offset)?;
                    name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
                    long_name = Some(name);
                }
                EntryType::XHeader => {
                    let facts = self.facts(nbytes, offset)?;
                    for fact in PaxExtensions::new(&facts) {
                        let fact = fact.map_err(|_| self.damaged(offset, "the pax header of a member is not valid"))?;
                        match fact.key_bytes() {
                            b"path" => long_name = Some(fact.value_bytes().to_vec()),
                            b"size" => {
                                let text = std::str::from_utf8(fact.value_bytes()).ok().and_then(|text| text.parse().ok());
                                size = Some(text.ok_or_else(|| self.damaged(offset, "the size of a member is not a number"))?);
                            }
                            key => is_sparse |= key.starts_with(b"GNU.sparse."),
                        }
                    }
                }
                EntryType::GNULongLink | EntryType::XGlobalHeader => {}
                _ => {
                    let path = long_name.take().unwrap_or_else(|| header.path_bytes().into_owned());
                    let passed_over = match kind {
                        EntryType::Directory => continue,
                        EntryType::Regular | EntryType::Continuous if std::mem::take(&mut is_sparse) => Some("sparse files"),
                        // Old archives mark a directory by a slash at the end of its name.
                        EntryType::Regular if path.ends_with(b"/") => continue,
                        EntryType::Regular | EntryType::Continuous => None,
                        EntryType::Link | EntryType::Symlink => Some("links"),
                        EntryType::GNUSparse => Some("sparse files"),
                        _ => Some("members that are not regular files"),
                    };
                    match passed_over {
                        None => return Ok(Some(ArchiveMember { path, nbytes, offset })),
                        Some(what) => self.pass_over(what, &path)?,
                    }
                }
            }
        }
        Ok(None)
    }

    /// Appends the contents of the current member. Memory grows only with the data received.
    ///
    /// # Errors
    /// The contents are truncated.
    pub fn read(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let nbytes = self.left;
        let read = (&mut self.source).take(nbytes).read_to_end(out).map_err(|e| Error::io(&self.name, "cannot read", &e))?;
        self.offset += read as u64;
        self.left = 0;
        if read as u64 == nbytes { Ok(()) } else { Err(self.cut()) }
    }

    fn facts(&mut self, nbytes: u64, offset: u64) -> Result<Vec<u8>> {
        if nbytes > MAX_FACTS {
            return Err(self.damaged(offset, &format!("the name or other metadata of a member takes {nbytes} bytes")));
        }
        let mut facts = Vec::new();
        self.read(&mut facts)?;
        Ok(facts)
    }

    /// Skips the rest of the current member.
    fn skip(&mut self) -> Result<()> {
        let nbytes = self.left.saturating_add(self.padding);
        let mut rest = (&mut self.source).take(nbytes);
        let read = std::io::copy(&mut rest, &mut std::io::sink()).map_err(|e| Error::io(&self.name, "cannot read", &e))?;
        self.offset += read;
        // The padding of the last member may be missing.
        let is_whole = read >= self.left;
        (self.left, self.padding) = (0, 0);
        if is_whole { Ok(()) } else { Err(self.cut()) }
    }

    fn fill(&mut self, block: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < block.len() {
            match self.source.read(&mut block[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::io(&self.name, "cannot read", &e)),
            }
        }
        self.offset += filled as u64;
        Ok(filled)
    }

    /// Checks what follows the end.
    fn end(&mut self) -> Result<()> {
        let (mut block, start) = ([0; BLOCK], self.offset);
        while self.offset - start < MAX_PADDING && self.fill(&mut block)? == BLOCK {
            if is_header(&block) {
                return self.notice("another archive follows the end of this one; it was not read".to_owned());
            }
        }
        Ok(())
    }

    /// Adds a notice about members of some kind that are skipped, once.
    ///
    /// # Errors
    /// The notice itself, under `--strict`.
    pub fn pass_over(&mut self, what: &'static str, path: &[u8]) -> Result<()> {
        if self.noticed.contains(&what) {
            return Ok(());
        }
        self.noticed.push(what);
        self.notice(format!("{what} are skipped, such as {}", String::from_utf8_lossy(path)))
    }

    /// Adds a notice about the archive.
    ///
    /// # Errors
    /// The notice itself, under `--strict`.
    pub fn notice(&self, text: String) -> Result<()> {
        self.options.notices.add_about(&self.name, text, self.options.strict)
    }

    /// An error in the member with that header.
    pub fn damaged(&self, offset: u64, message: &str) -> Error {
        Error::data(message).in_input(self.name.clone()).locate(|at| at.byte = Some(offset))
    }

    fn cut(&self) -> Error {
        self.damaged(self.offset, "the archive is truncated in the middle of a member")
    }
}
