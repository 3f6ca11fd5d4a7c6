//! Writes a zip archive of stored members sequentially. Source:
//! <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT>, 4.3 and 4.5.3.
//!
//! The crate `zip` is not used for two reasons. To write members sequentially, it must write sizes and checksums after
//! them, where some readers of npz do not look, and recompute checksums that are already known. To read, it provides
//! one member at a time, while columns are read side by side. What remains to implement is a header of 30 bytes and a
//! directory, here and in [`super::directory`].

use crate::error::{Error, Result};
use std::io::Write;

pub const LOCAL: u32 = 0x0403_4b50;
pub const CENTRAL: u32 = 0x0201_4b50;
pub const END: u32 = 0x0605_4b50;
pub const END_64: u32 = 0x0606_4b50;
pub const LOCATOR_64: u32 = 0x0706_4b50;
/// The extra field with sizes and offsets beyond 32 bits.
pub const EXTRA_64: u16 = 1;
/// Placeholder for a number stored in the extra field.
pub const ELSEWHERE_32: u32 = u32::MAX;
pub const ELSEWHERE_16: u16 = u16::MAX;
/// Names are UTF-8.
const UTF_8: u16 = 1 << 11;
/// 1 January 1980, so that the output is reproducible.
const DATE: u16 = 0x21;
/// The Unix mode of a regular file readable by everyone.
const ATTRIBUTES: u32 = 0o100_644 << 16;
const UNIX: u16 = 3 << 8;

/// Writes an archive.
pub struct Archive<'a> {
    out: &'a mut dyn Write,
    /// Bytes written.
    at: u64,
    central: Vec<u8>,
    members: u64,
}

impl<'a> Archive<'a> {
    pub fn new(out: &'a mut dyn Write) -> Archive<'a> {
        Archive { out, at: 0, central: Vec::new(), members: 0 }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes).map_err(Error::output)
    }

    /// Writes a member of `nbytes`, whose content `write` produces.
    ///
    /// # Errors
    /// Writing fails, or the name is too long.
    pub fn member(&mut self, name: &str, nbytes: u64, crc: u32, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let length =
            u16::try_from(name.len()).map_err(|_| Error::data(format!("a name of {} bytes is too long for an npz", name.len())))?;
        let flags = if name.is_ascii() { 0 } else { UTF_8 };
        let offset = self.at;
        let large = nbytes >= u64::from(ELSEWHERE_32);
        let far = offset >= u64::from(ELSEWHERE_32);
        let version: u16 = if large || far { 45 } else { 20 };
        let size = if large { ELSEWHERE_32 } else { nbytes as u32 };
        // The fields common to the local header and the directory.
        let mut common = Vec::with_capacity(26);
        for number in [version, flags, 0, 0, DATE] {
            common.extend(number.to_le_bytes());
        }
        for number in [crc, size, size] {
            common.extend(number.to_le_bytes());
        }
        common.extend(length.to_le_bytes());

        let mut local = LOCAL.to_le_bytes().to_vec();
        local.extend(&common);
        let extra = if large { extra_64(&[nbytes, nbytes]) } else { Vec::new() };
        local.extend((extra.len() as u16).to_le_bytes());
        local.extend(name.as_bytes());
        local.extend(&extra);
        self.put(&local)?;
        write(&mut *self.out)?;
        self.at += nbytes;

        let mut elsewhere = if large { vec![nbytes, nbytes] } else { Vec::new() };
        elsewhere.extend(far.then_some(offset));
        let extra = if elsewhere.is_empty() { Vec::new() } else { extra_64(&elsewhere) };
        self.central.extend(CENTRAL.to_le_bytes());
        self.central.extend((UNIX | version).to_le_bytes());
        self.central.extend(&common);
        for number in [extra.len() as u16, 0, 0, 0] {
            self.central.extend(number.to_le_bytes());
        }
        self.central.extend(ATTRIBUTES.to_le_bytes());
        self.central.extend((if far { ELSEWHERE_32 } else { offset as u32 }).to_le_bytes());
        self.central.extend(name.as_bytes());
        self.central.extend(&extra);
        self.members += 1;
        Ok(())
    }

    /// Ends the archive. A comment that is too long is omitted.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self, comment: &str) -> Result<()> {
        let (start, length) = (self.at, self.central.len() as u64);
        let mut end = std::mem::take(&mut self.central);
        let many = self.members >= u64::from(ELSEWHERE_16);
        if many || start >= u64::from(ELSEWHERE_32) || length >= u64::from(ELSEWHERE_32) {
            let at = start + length;
            end.extend(END_64.to_le_bytes());
            end.extend(44u64.to_le_bytes());
            for number in [UNIX | 45, 45] {
                end.extend(number.to_le_bytes());
            }
            for number in [0u32, 0] {
                end.extend(number.to_le_bytes());
            }
            for number in [self.members, self.members, length, start] {
                end.extend(number.to_le_bytes());
            }
            end.extend(LOCATOR_64.to_le_bytes());
            end.extend(0u32.to_le_bytes());
            end.extend(at.to_le_bytes());
            end.extend(1u32.to_le_bytes());
        }
        let comment = if comment.len() < usize::from(ELSEWHERE_16) { comment } else { "" };
        let members = if many { ELSEWHERE_16 } else { self.members as u16 };
        end.extend(END.to_le_bytes());
        for number in [0, 0, members, members] {
            end.extend(number.to_le_bytes());
        }
        for number in [length, start] {
            end.extend(u32::try_from(number).unwrap_or(ELSEWHERE_32).to_le_bytes());
        }
        end.extend((comment.len() as u16).to_le_bytes());
        end.extend(comment.as_bytes());
        self.put(&end)
    }
}

fn extra_64(numbers: &[u64]) -> Vec<u8> {
    let mut extra = EXTRA_64.to_le_bytes().to_vec();
    extra.extend((8 * numbers.len() as u16).to_le_bytes());
    numbers.iter().for_each(|n| extra.extend(n.to_le_bytes()));
    extra
}
