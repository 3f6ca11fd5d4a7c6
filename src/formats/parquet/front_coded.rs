//! The sizes of strings that repeat the start of the string before, which take few bytes in their page.
//!
//! Source: `DELTA_BYTE_ARRAY` and `DELTA_BINARY_PACKED` in the encodings of the Parquet format.

use crate::wire::split_varint;
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::schema::types::ColumnDescriptor;

/// The number of this encoding in the format.
pub const ENCODING: i64 = 7;

/// The sizes of strings, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entries {
    pub count: u64,
    pub total: u64,
    /// None is longer.
    pub longest: u64,
}

impl Entries {
    /// Adds those of other strings.
    pub fn add(&mut self, other: Entries) {
        self.count += other.count;
        self.total = self.total.saturating_add(other.total);
        self.longest = self.longest.max(other.longest);
    }
}

/// The sizes of the values of a page. `None` for other pages, and damaged ones, which the decoder reports.
pub fn sizes(page: &Page, column: &ColumnDescriptor) -> Option<Entries> {
    let values = match page {
        Page::DataPage { buf, encoding: Encoding::DELTA_BYTE_ARRAY, .. } => {
            let repetitions = after_levels(buf, column.max_rep_level())?;
            after_levels(repetitions, column.max_def_level())?
        }
        Page::DataPageV2 { buf, encoding: Encoding::DELTA_BYTE_ARRAY, def_levels_byte_len, rep_levels_byte_len, .. } => {
            buf.get((*def_levels_byte_len as usize).checked_add(*rep_levels_byte_len as usize)?..)?
        }
        _ => return None,
    };
    let (mut n, mut total, mut longest) = (0u64, 0u64, [0u64; 2]);
    let mut rest = values;
    for longest in &mut longest {
        n = 0;
        rest = each(rest, page.num_values().into(), |length| {
            let length = u64::try_from(length).unwrap_or(0);
            (n, total, *longest) = (n + 1, total.saturating_add(length), length.max(*longest));
        })?;
    }
    Some(Entries { count: n, total, longest: longest[0].saturating_add(longest[1]) })
}

/// The bytes after the levels of a page of version 1.
fn after_levels(bytes: &[u8], most: i16) -> Option<&[u8]> {
    if most == 0 {
        return Some(bytes);
    }
    let (length, rest) = bytes.split_first_chunk()?;
    rest.get(u32::from_le_bytes(*length) as usize..)
}

/// Decodes at most `most` integers, and returns the bytes after them.
fn each(bytes: &[u8], most: u64, mut use_integer: impl FnMut(i64)) -> Option<&[u8]> {
    let (block, rest) = split_varint(bytes)?;
    let (parts, rest) = split_varint(rest)?;
    let (count, rest) = split_varint(rest)?;
    let (mut value, mut rest) = zigzag(rest)?;
    let (part, parts) = (block.checked_div(parts)?, usize::try_from(parts).ok()?);
    if count == 0 {
        return Some(rest);
    }
    use_integer(value);
    let mut left = (count - 1).min(most);
    while left > 0 {
        let (least, after) = zigzag(rest)?;
        let (widths, after) = after.split_at_checked(parts)?;
        rest = after;
        for width in widths {
            if left == 0 {
                break;
            }
            let nbytes = usize::try_from(part.checked_mul(u64::from(*width))? / 8).ok()?;
            let (packed, after) = rest.split_at_checked(nbytes)?;
            let n = part.min(left);
            for at in 0..n {
                value = value.wrapping_add(least).wrapping_add(bits(packed, at, *width)? as i64);
                use_integer(value);
            }
            (left, rest) = (left - n, after);
        }
        if part == 0 {
            return None;
        }
    }
    Some(rest)
}

fn zigzag(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (value, rest) = split_varint(bytes)?;
    Some(((value >> 1) as i64 ^ -((value & 1) as i64), rest))
}

/// The integer number `at` of integers of `width` bits.
fn bits(packed: &[u8], at: u64, width: u8) -> Option<u64> {
    let first = usize::try_from(at.checked_mul(u64::from(width))?).ok()?;
    let mut window = [0u8; 16];
    let bytes = packed.get(first / 8..)?;
    let n = bytes.len().min(window.len());
    window[..n].copy_from_slice(&bytes[..n]);
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    Some((u128::from_le_bytes(window) >> (first % 8)) as u64 & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs integers as the format does, in blocks of 128 with parts of 32.
    fn packed(integers: &[i64]) -> Vec<u8> {
        let put = |bytes: &mut Vec<u8>, value: i64| crate::wire::varint(bytes, ((value << 1) ^ (value >> 63)) as u64);
        let mut bytes = vec![128, 1, 4];
        crate::wire::varint(&mut bytes, integers.len() as u64);
        put(&mut bytes, integers.first().copied().unwrap_or(0));
        let deltas: Vec<i64> = integers.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for block in deltas.chunks(128) {
            let least = *block.iter().min().unwrap();
            put(&mut bytes, least);
            let width = |part: &[i64]| part.iter().map(|delta| 64 - ((delta - least) as u64).leading_zeros()).max().unwrap_or(0);
            let parts: Vec<&[i64]> = block.chunks(32).collect();
            bytes.extend((0..4).map(|part| parts.get(part).map_or(0, |part| width(part) as u8)));
            for part in parts {
                let (width, mut out) = (width(part) as usize, Vec::new());
                out.resize(4 * width, 0u8);
                for (at, delta) in part.iter().enumerate() {
                    for bit in (0..width).filter(|bit| (delta - least) >> bit & 1 == 1) {
                        out[(at * width + bit) / 8] |= 1 << ((at * width + bit) % 8);
                    }
                }
                bytes.extend(out);
            }
        }
        bytes
    }

    #[test]
    fn packed_integers_are_decoded_and_passed_over() {
        for n in [0, 1, 2, 32, 33, 129, 1000] {
            let integers: Vec<i64> = (0..n).map(|i: i64| i * i % 1009 - (i % 3) * 100_000).collect();
            let mut bytes = packed(&integers);
            bytes.extend(b"rest");
            let mut found = Vec::new();
            assert_eq!(each(&bytes, 1000, |integer| found.push(integer)), Some(&b"rest"[..]), "{n}");
            assert_eq!(found, integers);
            // Nothing is read beyond bytes that are cut off.
            (0..bytes.len() - 4).for_each(|end| assert_eq!(each(&bytes[..end], 1000, |_| ()), None, "{n}: {end}"));
        }
    }
}
