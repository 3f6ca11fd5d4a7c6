//! Arrow IPC: streams and files of messages, whose metadata are FlatBuffers. Numbers, offsets and lengths are changed in
//! place, so that the framing and the blocks of a file stay right.

use super::{Random, range, u16_at, u32_at};

const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: usize = 0xffff_ffff;

/// Places of numbers in a FlatBuffer: where, and how many bytes.
#[derive(Default)]
struct Places {
    all: Vec<(usize, usize)>,
    seen: Vec<usize>,
}

impl Places {
    /// Collects those of a table, whose fields have no types: what can be the offset of a table or of a list is taken for one.
    fn table(&mut self, bytes: &[u8], at: usize, depth: usize) -> Option<()> {
        if depth > 12 || self.seen.contains(&at) || self.all.len() > 4096 {
            return None;
        }
        let vtable = at.checked_sub(u32_at(bytes, at)?)?;
        let (len, size) = (u16_at(bytes, vtable)?, u16_at(bytes, vtable + 2)?);
        if !(4..=128).contains(&len)
            || !len.is_multiple_of(2)
            || size < 4
            || range(bytes, vtable, len).is_none()
            || range(bytes, at, size).is_none()
        {
            return None;
        }
        self.seen.push(at);
        let slots: Vec<usize> = (vtable + 4..vtable + len).step_by(2).collect();
        let mut offsets: Vec<usize> =
            slots.iter().filter_map(|slot| u16_at(bytes, *slot)).filter(|offset| (4..size).contains(offset)).collect();
        self.all.extend(slots.iter().map(|slot| (*slot, 2)));
        offsets.sort_unstable();
        offsets.dedup();
        for (i, offset) in offsets.iter().enumerate() {
            let width = match offsets.get(i + 1).unwrap_or(&size) - offset {
                8.. => 8,
                4..8 => 4,
                2..4 => 2,
                _ => 1,
            };
            self.all.push((at + offset, width));
            if width >= 4 && (at + offset).is_multiple_of(4) {
                self.target(bytes, at + offset, depth);
            }
        }
        Some(())
    }

    /// What an offset leads to.
    fn target(&mut self, bytes: &[u8], at: usize, depth: usize) -> Option<()> {
        let to = at.checked_add(u32_at(bytes, at)?).filter(|to| *to > at && to.is_multiple_of(4))?;
        if self.table(bytes, to, depth + 1).is_some() {
            return Some(());
        }
        let len = u32_at(bytes, to)?;
        range(bytes, to + 4, len)?;
        self.all.push((to, 4));
        for i in 0..len.min(64) {
            let item = to + 4 + 4 * i;
            if self.target(bytes, item, depth + 1).is_none() && range(bytes, item, 8).is_some() && i < 2 * len {
                // A number of the structures in a list: lengths, offsets.
                self.all.push((item, if item.is_multiple_of(8) { 8 } else { 4 }));
            }
        }
        Some(())
    }
}

/// Changes a number of a FlatBuffer.
fn change(metadata: &mut [u8], random: &mut Random) -> Option<()> {
    let mut places = Places::default();
    places.table(metadata, u32_at(metadata, 0)?, 0)?;
    let (at, width) = *random.choice(&places.all)?;
    let place = metadata.get_mut(at..at + width)?;
    let mut old = [0; 8];
    old[..width].copy_from_slice(place);
    place.copy_from_slice(&random.near(u64::from_le_bytes(old)).to_le_bytes()[..width]);
    Some(())
}

/// The messages from `at` on: where each starts, where its metadata end, and where its body ends.
fn messages(bytes: &[u8], mut at: usize) -> Vec<[usize; 3]> {
    let mut all = Vec::new();
    while let (Some(CONTINUATION), Some(len @ 1..)) = (u32_at(bytes, at), u32_at(bytes, at + 4)) {
        let Some(metadata) = range(bytes, at + 8, len) else { break };
        let end = at + 8 + len;
        let next = end.saturating_add(body_len(metadata).unwrap_or(0)).min(bytes.len());
        all.push([at, end, next]);
        at = next;
    }
    all
}

/// The length of a message's body: the fourth field of its table.
fn body_len(metadata: &[u8]) -> Option<usize> {
    let table = u32_at(metadata, 0)?;
    let vtable = table.checked_sub(u32_at(metadata, table)?)?;
    if u16_at(metadata, vtable)? < 12 {
        return None;
    }
    match u16_at(metadata, vtable + 10)? {
        0 => None,
        offset => super::u64_at(metadata, table + offset),
    }
}

/// Changes the metadata or the body of a message, the footer of a file, or the order of the messages of a stream.
pub fn mutate(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let is_file = bytes.starts_with(MAGIC);
    let mut out = bytes.to_vec();
    let all = messages(bytes, if is_file { 8 } else { 0 });
    if is_file && random.one_in(3) {
        let end = bytes.len().checked_sub(MAGIC.len() + 4)?;
        let start = end.checked_sub(u32_at(bytes, end)?)?;
        change(&mut out[start..end], random)?;
        return Some(out);
    }
    let [start, end, next] = *random.choice(&all)?;
    match random.below(8) {
        0 if !is_file => {
            let mut parts: Vec<&[u8]> = all.iter().map(|[start, _, next]| &bytes[*start..*next]).collect();
            random.rearrange(&mut parts);
            out = [parts.concat().as_slice(), &bytes[all.last()?[2]..]].concat();
        }
        // Offsets, lengths and validity are whole words.
        1 | 2 if next > end => {
            let width = [1, 4, 8][random.below(3)];
            let at = end + random.below((next - end) / width) * width;
            let old = bytes.get(at..at + width).map(|old| [old, &[0; 8]].concat())?;
            let number = random.near(u64::from_le_bytes(old[..8].try_into().ok()?));
            out.get_mut(at..at + width)?.copy_from_slice(&number.to_le_bytes()[..width]);
        }
        _ => change(&mut out[start + 8..end], random)?,
    }
    Some(out)
}
