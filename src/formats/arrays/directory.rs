//! Reads the directory of a zip archive. Every number is checked against the file. Source: see [`super::zip`].

use super::contents::ZipMember;
use super::zip::{CENTRAL, ELSEWHERE_16, ELSEWHERE_32, END, END_64, EXTRA_64, LOCAL, LOCATOR_64};
use crate::error::{Error, Result};
use crate::formats::columnar::source::Source;
use std::collections::HashSet;

/// Size of the end record, without its comment.
const END_NBYTES: u64 = 22;
/// Longer directories are rejected.
const MAX_DIRECTORY_NBYTES: u64 = 256 << 20;

/// All members in directory order, and the comment of the archive.
///
/// # Errors
/// The file is truncated, damaged, encrypted, or uses a compression method that NumPy never uses.
pub fn read(source: &Source) -> Result<(Vec<ZipMember>, Vec<u8>)> {
    let end = End::find(source)?;
    let length = usize::try_from(end.length).map_err(|_| damaged("has a directory too large for this machine"))?;
    let bytes = source.bytes(end.start, length).map_err(|e| Error::io("the archive", "cannot read", &e))?;
    let (mut fields, mut members) = (Fields(&bytes), Vec::new());
    let mut seen = HashSet::new();
    while !fields.0.is_empty() {
        let member = member(&mut fields, source, &end)?;
        if !seen.insert(member.name.clone()) {
            return Err(damaged(&format!("has two members called {}", member.name)));
        }
        members.push(member);
    }
    if members.len() as u64 != end.members {
        return Err(damaged(&format!("lists {} members, but claims {}", members.len(), end.members)));
    }
    let mut extents: Vec<(u64, u64)> = members.iter().map(|m| (m.start, m.start + m.packed)).collect();
    extents.sort_unstable();
    if extents.windows(2).any(|w| w[1].0 < w[0].1) {
        return Err(damaged("has overlapping members"));
    }
    Ok((members, end.comment))
}

fn damaged(what: &str) -> Error {
    Error::data(format!("the zip archive {what}"))
}

fn cut_off() -> Error {
    Error::data("the file has no zip directory at its end: it is truncated, or still being written")
}

/// What the end record states about the directory.
struct End {
    members: u64,
    start: u64,
    length: u64,
    comment: Vec<u8>,
}

impl End {
    fn find(source: &Source) -> Result<End> {
        let nbytes = source.nbytes();
        let tail = nbytes.min(END_NBYTES + u64::from(u16::MAX));
        let at = nbytes - tail;
        let bytes = source.bytes(at, tail as usize).map_err(|e| Error::io("the archive", "cannot read", &e))?;
        let signature = END.to_le_bytes();
        let found = memchr::memmem::rfind_iter(&bytes, &signature).find_map(|place| {
            let mut fields = Fields(bytes.get(place + 4..)?);
            let disks = (fields.u16()?, fields.u16()?);
            let numbers = (fields.u16()?, fields.u16()?, fields.u32()?, fields.u32()?);
            let length = fields.u16()?;
            // The comment ends with the file, so a signature inside the comment does not match.
            (fields.0.len() == usize::from(length) && disks == (0, 0)).then(|| (at + place as u64, numbers, fields.0.to_vec()))
        });
        let (place, (_, members, length, start), comment) = found.ok_or_else(cut_off)?;
        let mut end = End { members: u64::from(members), start: u64::from(start), length: u64::from(length), comment };
        let mut limit = place;
        let elsewhere = members == ELSEWHERE_16 || length == ELSEWHERE_32 || start == ELSEWHERE_32;
        // Some programs always write the 64-bit record.
        if elsewhere || end.start + end.length != place {
            limit = end.follow(source, place)?;
        }
        if end.length > MAX_DIRECTORY_NBYTES || end.start.checked_add(end.length) != Some(limit) {
            return Err(damaged(&format!("has a directory of {} bytes at byte {}, which does not fit in the file", end.length, end.start)));
        }
        Ok(end)
    }

    /// Reads the numbers beyond 32 bits, and returns the offset of their record.
    fn follow(&mut self, source: &Source, place: u64) -> Result<u64> {
        let lost = || damaged(&format!("does not give the position of its directory (byte {}?)", self.start));
        let read = |at: u64, length: usize| source.bytes(at, length).map_err(|_| lost());
        let bytes = read(place.checked_sub(20).ok_or_else(lost)?, 20)?;
        let mut fields = Fields(&bytes);
        let locator = (fields.u32(), fields.u32(), fields.u64());
        let (Some(LOCATOR_64), Some(0), Some(at)) = locator else { return Err(lost()) };
        let bytes = read(at, 56)?;
        let mut fields = Fields(&bytes);
        if fields.u32() != Some(END_64) {
            return Err(lost());
        }
        fields.skip(8 + 4 + 8 + 8).ok_or_else(lost)?;
        match (fields.u64(), fields.u64(), fields.u64()) {
            (Some(members), Some(length), Some(start)) => {
                (self.members, self.length, self.start) = (members, length, start);
                Ok(at)
            }
            _ => Err(lost()),
        }
    }
}

fn member(fields: &mut Fields, source: &Source, end: &End) -> Result<ZipMember> {
    let cut = || damaged("has a directory that is truncated");
    if fields.u32() != Some(CENTRAL) {
        return Err(damaged("has a directory that is damaged"));
    }
    fields.skip(4).ok_or_else(cut)?;
    let (flags, method) = (fields.u16().ok_or_else(cut)?, fields.u16().ok_or_else(cut)?);
    fields.skip(4).ok_or_else(cut)?;
    let crc = fields.u32().ok_or_else(cut)?;
    let (packed, nbytes) = (fields.u32().ok_or_else(cut)?, fields.u32().ok_or_else(cut)?);
    let lengths = [fields.u16(), fields.u16(), fields.u16()].into_iter().collect::<Option<Vec<u16>>>().ok_or_else(cut)?;
    fields.skip(2 + 2 + 4).ok_or_else(cut)?;
    let offset = fields.u32().ok_or_else(cut)?;
    let raw_name = fields.take(usize::from(lengths[0])).ok_or_else(cut)?;
    let extra = fields.take(usize::from(lengths[1])).ok_or_else(cut)?;
    fields.skip(usize::from(lengths[2])).ok_or_else(cut)?;

    let name = String::from_utf8_lossy(raw_name).into_owned();
    if flags & 1 != 0 {
        return Err(damaged(&format!("is encrypted (member {name})")).help("decrypt the file first: encryption is not supported"));
    }
    let deflated = match method {
        0 => false,
        8 => true,
        other => return Err(damaged(&format!("has a member {name} compressed by method {other}, which NumPy never uses"))),
    };
    let mut elsewhere = Fields(numbers_64(extra).unwrap_or_default());
    let mut wide = |short: u32| if short == ELSEWHERE_32 { elsewhere.u64() } else { Some(u64::from(short)) };
    let (Some(nbytes), Some(packed), Some(offset)) = (wide(nbytes), wide(packed), wide(offset)) else {
        return Err(damaged(&format!("does not say how long the member {name} is")));
    };
    if !deflated && packed != nbytes {
        return Err(damaged(&format!("has a member {name} of {packed} bytes, which should have {nbytes}")));
    }

    let beyond = || damaged(&format!("lists a member {name} at byte {offset}, where there is none"));
    offset.checked_add(30).filter(|at| *at <= end.start).ok_or_else(beyond)?;
    let failed = |e: std::io::Error| Error::io("the archive", "cannot read", &e);
    let local = source.bytes(offset, 30).map_err(failed)?;
    let mut local = Fields(&local);
    if local.u32() != Some(LOCAL) {
        return Err(beyond());
    }
    local.skip(22).ok_or_else(beyond)?;
    let (name_length, extra_length) = (local.u16().ok_or_else(beyond)?, local.u16().ok_or_else(beyond)?);
    let is_there = usize::from(name_length) == raw_name.len() && offset + 30 + u64::from(name_length) <= end.start;
    if !is_there || source.bytes(offset + 30, usize::from(name_length)).map_err(failed)? != raw_name {
        return Err(damaged(&format!("lists a member {name} whose header has another name")));
    }
    let start = offset + 30 + u64::from(name_length) + u64::from(extra_length);
    if start.checked_add(packed).is_none_or(|last| last > end.start) {
        return Err(damaged(&format!("lists a member {name} of {packed} bytes, more than the file has left")));
    }
    Ok(ZipMember { name, start, packed, nbytes, crc, deflated })
}

/// The numbers beyond 32 bits among the extra fields.
fn numbers_64(extra: &[u8]) -> Option<&[u8]> {
    let mut fields = Fields(extra);
    loop {
        let (id, length) = (fields.u16()?, fields.u16()?);
        let own = fields.take(usize::from(length))?;
        if id == EXTRA_64 {
            return Some(own);
        }
    }
}

/// Consecutive little-endian numbers.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (own, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(own)
    }
    fn skip(&mut self, length: usize) -> Option<()> {
        self.take(length).map(|_| ())
    }
    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
}
