//! Zip archives of arrays.

use super::{Random, header, range, u16_at, u32_at};
use std::io::{Read, Write};

const LOCAL: &[u8] = b"PK\x03\x04";
const CENTRAL: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
/// Members larger than this are not changed.
const MAX_LEN: u64 = 1 << 20;

#[derive(Clone)]
pub struct Member {
    name: Vec<u8>,
    content: Vec<u8>,
    is_deflated: bool,
    extra: Vec<u8>,
    comment: Vec<u8>,
    /// A change of a number in the headers: which one, and its value.
    wrong: Option<(usize, u64)>,
}

impl Member {
    #[cfg(test)]
    pub fn new(name: &[u8], content: Vec<u8>) -> Member {
        Member { name: name.to_vec(), content, is_deflated: false, extra: Vec::new(), comment: Vec::new(), wrong: None }
    }
}

/// The members, by the central directory, and the comment of the archive, which holds types.
pub fn members(bytes: &[u8]) -> Option<(Vec<Member>, Vec<u8>)> {
    let end = bytes.windows(4).rposition(|window| window == END)?;
    let (count, mut at) = (u16_at(bytes, end + 10)?, u32_at(bytes, end + 16)?);
    let mut all = Vec::new();
    for _ in 0..count {
        range(bytes, at, 4).filter(|head| *head == CENTRAL)?;
        let [name, extra, comment] = [28, 30, 32].map(|field| u16_at(bytes, at + field));
        let (name, extra, comment) = (name?, extra?, comment?);
        let (method, len, local) = (u16_at(bytes, at + 10)?, u32_at(bytes, at + 20)?, u32_at(bytes, at + 42)?);
        let start = local + 30 + u16_at(bytes, local + 26)? + u16_at(bytes, local + 28)?;
        // Zip64 has no sizes there.
        let len = if len == 0xffff_ffff { super::u64_at(bytes, local + 30 + u16_at(bytes, local + 26)? + 12)? } else { len };
        let stored = range(bytes, start, len)?;
        let mut content = Vec::new();
        match method {
            0 => content.extend_from_slice(stored),
            8 => drop(flate2::read::DeflateDecoder::new(stored).take(MAX_LEN).read_to_end(&mut content).ok()?),
            _ => return None,
        }
        all.push(Member {
            name: range(bytes, at + 46, name)?.to_vec(),
            content,
            is_deflated: method == 8,
            // An extra field of Zip64 would contradict the sizes.
            extra: Vec::new(),
            comment: range(bytes, at + 46 + name + extra, comment)?.to_vec(),
            wrong: None,
        });
        at += 46 + name + extra + comment;
    }
    Some((all, range(bytes, end + 22, u16_at(bytes, end + 20)?)?.to_vec()))
}

/// An archive with these members and right checksums and sizes, unless a member says otherwise.
pub fn archive(members: &[Member], comment: &[u8]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let stored = match member.is_deflated {
            true => {
                let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(&member.content).and_then(|()| encoder.finish()).unwrap_or_default()
            }
            false => member.content.clone(),
        };
        let method = if member.is_deflated { 8 } else { 0 };
        let crc = u64::from(crc32fast::hash(&member.content));
        // Version, flags, method, time, date, checksum, sizes, lengths; their widths follow.
        let mut numbers = [
            20,
            0,
            method,
            0,
            33,
            crc,
            stored.len() as u64,
            member.content.len() as u64,
            member.name.len() as u64,
            member.extra.len() as u64,
        ];
        let local = out.len() as u64;
        let put = |numbers: &[u64], out: &mut Vec<u8>| {
            for (number, width) in numbers.iter().zip([2, 2, 2, 2, 2, 4, 4, 4, 2, 2]) {
                out.extend_from_slice(&number.to_le_bytes()[..width]);
            }
        };
        // In the local header, in the central directory, or in both.
        let (is_local, is_central) = member.wrong.map_or((false, false), |(which, _)| (which % 3 != 0, which % 3 != 1));
        let right = numbers;
        if let Some((which, value)) = member.wrong {
            numbers[which / 3 % 10] = value;
        }
        out.extend_from_slice(LOCAL);
        put(if is_local { &numbers } else { &right }, &mut out);
        out.extend_from_slice(&[&member.name[..], &member.extra, &stored].concat());
        directory.extend_from_slice(CENTRAL);
        directory.extend_from_slice(&[20, 0]);
        put(if is_central { &numbers } else { &right }, &mut directory);
        directory.extend_from_slice(&(member.comment.len() as u64).to_le_bytes()[..2]);
        directory.extend_from_slice(&[0; 8]);
        let local = member.wrong.filter(|(which, _)| *which == 30).map_or(local, |(_, value)| value);
        directory.extend_from_slice(&local.to_le_bytes()[..4]);
        directory.extend_from_slice(&[&member.name[..], &member.extra, &member.comment].concat());
    }
    let start = out.len() as u64;
    let count = &(members.len() as u64).to_le_bytes()[..2];
    out.extend_from_slice(&directory);
    let (len, start) = ((directory.len() as u64).to_le_bytes(), start.to_le_bytes());
    let comment_len = (comment.len() as u64).to_le_bytes();
    out.extend_from_slice(&[END, &[0; 4], count, count, &len[..4], &start[..4], &comment_len[..2], comment].concat());
    out
}

/// Changes an array, a name, a number in the headers, or the list of members.
pub fn mutate(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let (mut all, mut comment) = members(bytes)?;
    let at = random.below(all.len());
    let names: Vec<Vec<u8>> = all.iter().map(|member| member.name.clone()).collect();
    let Some(member) = all.get_mut(at) else { return Some(archive(&all, &comment)) };
    match random.below(14) {
        0 => random.rearrange(&mut all),
        1 => random.scramble(&mut member.name),
        2 => member.name = random.choice(&names)?.clone(),
        3 => member.is_deflated = !member.is_deflated,
        4 => member.extra = [&[1, 0, 16, 0][..], &random.near(0).to_le_bytes(), &random.near(0).to_le_bytes()].concat(),
        5 => member.wrong = Some((random.below(31), random.near(member.content.len() as u64))),
        6 => random.scramble(&mut member.comment),
        7 | 8 => random.scramble(&mut comment),
        _ => match header::mutate(&member.content, random) {
            Some(changed) => member.content = changed,
            None => random.scramble(&mut member.content),
        },
    }
    Some(archive(&all, &comment))
}
