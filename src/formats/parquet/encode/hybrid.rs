//! Encodes small numbers as runs of equal values and as packed bits. Source: "Run Length Encoding / Bit-Packing Hybrid"
//! in Parquet's `Encodings.md`.

use crate::wire::varint;

/// Maximum number of groups of eight in a bit-packed run, limited by a header of one byte.
const MOST_GROUPS: usize = 63;

/// Bit width of numbers up to `max`.
pub fn width_of(max: usize) -> u8 {
    (usize::BITS - max.leading_zeros()) as u8
}

/// Appends numbers that are less than 2 to the power of `width`.
pub fn encode<T: Copy + PartialEq + Into<u32>>(numbers: &[T], width: u8, out: &mut Vec<u8>) {
    // The start of the numbers that will be bit-packed.
    let (mut packed, mut at) = (0, 0);
    while at < numbers.len() {
        let rest = &numbers[at..];
        let group = &rest[..rest.len().min(8)];
        if all_equal(group, group[0]) {
            pack(&numbers[packed..at], width, out);
            let mut count = group.len();
            count += rest[count..].chunks_exact(8).take_while(|next| all_equal(next, group[0])).count() * 8;
            count += rest[count..].iter().take_while(|number| **number == group[0]).count();
            varint(out, (count as u64) << 1);
            let value: u32 = group[0].into();
            out.extend_from_slice(&value.to_le_bytes()[..usize::from(width.div_ceil(8))]);
            at += count;
            packed = at;
        } else {
            at += group.len();
        }
    }
    pack(&numbers[packed..], width, out);
}

/// Whether all numbers of a group equal that number. Branch-free, because the branches would be unpredictable.
#[inline(always)]
fn all_equal<T: Copy + PartialEq>(group: &[T], number: T) -> bool {
    match group.first_chunk::<8>() {
        Some(group) => group.iter().fold(true, |equal, found| equal & (*found == number)),
        None => group.iter().all(|found| *found == number),
    }
}

/// Runs of packed numbers; the last group is padded with zeros.
fn pack<T: Copy + Into<u32>>(numbers: &[T], width: u8, out: &mut Vec<u8>) {
    let nbytes = usize::from(width);
    for run in numbers.chunks(8 * MOST_GROUPS) {
        let ngroups = run.len().div_ceil(8);
        varint(out, (ngroups as u64) << 1 | 1);
        let start = out.len();
        // Each group is written as whole words; excess bytes are overwritten by the next group.
        out.resize(start + ngroups * nbytes + GROUP_NBYTES, 0);
        for (i, group) in run.chunks(8).enumerate() {
            // Plain loops: without cross-crate optimization, closures over arrays are compiled as calls.
            let mut numbers = [0; 8];
            for (to, number) in numbers.iter_mut().zip(group) {
                *to = (*number).into();
            }
            if let Some(out) = out.get_mut(start + i * nbytes..).and_then(<[u8]>::first_chunk_mut) {
                pack_group(&numbers, width, out);
            }
        }
        out.truncate(start + ngroups * nbytes);
    }
}

/// Eight numbers of up to 32 bits.
const GROUP_NBYTES: usize = 32;

/// Eight packed numbers take as many bytes as a number has bits.
#[inline(always)]
fn pack_group(group: &[u32; 8], width: u8, out: &mut [u8; GROUP_NBYTES]) {
    // Numbers are combined in 64-bit words, as far as they fit.
    let pair = |at: usize| u64::from(group[at]) | u64::from(group[at + 1]) << width;
    let (first, second) = if width <= 16 {
        let (low, high) = (pair(0) | pair(2) << (2 * width), pair(4) | pair(6) << (2 * width));
        (u128::from(low) | u128::from(high) << (4 * width), 0)
    } else {
        let half = |at: usize| u128::from(pair(at)) | u128::from(pair(at + 2)) << (2 * width);
        let (low, high) = (half(0), half(4));
        let shift = 4 * u32::from(width);
        (low | high.checked_shl(shift).unwrap_or(0), high >> (128 - shift))
    };
    out[..16].copy_from_slice(&first.to_le_bytes());
    if width > 16 {
        out[16..].copy_from_slice(&second.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes the runs, as a reader does.
    fn decoded(bytes: &[u8], width: u8, count: usize) -> Vec<u32> {
        let (mut at, mut numbers) = (0, Vec::new());
        while numbers.len() < count {
            let (mut header, mut shift) = (0u64, 0);
            loop {
                header |= u64::from(bytes[at] & 0x7f) << shift;
                shift += 7;
                at += 1;
                if bytes[at - 1] < 0x80 {
                    break;
                }
            }
            if header & 1 == 0 {
                let nbytes = usize::from(width.div_ceil(8));
                let value = bytes[at..at + nbytes].iter().rev().fold(0, |v, b| v << 8 | u32::from(*b));
                numbers.extend(std::iter::repeat_n(value, (header >> 1) as usize));
                at += nbytes;
            } else {
                let groups = (header >> 1) as usize;
                for i in 0..groups * 8 {
                    let bit = |b: usize| u32::from(bytes[at + b / 8] >> (b % 8) & 1);
                    numbers.push((0..usize::from(width)).rev().fold(0, |v, b| v << 1 | bit(i * usize::from(width) + b)));
                }
                at += groups * usize::from(width);
            }
        }
        assert_eq!(at, bytes.len());
        numbers.truncate(count);
        numbers
    }

    #[test]
    fn any_width_and_any_runs() {
        for width in 1..=32u8 {
            let mask = u32::MAX >> (32 - width);
            for count in [0, 1, 7, 8, 9, 100, 505, 1200] {
                let mixed: Vec<u32> = (0..count).map(|i: u32| i.wrapping_mul(0x9E37_79B9) & mask).collect();
                let runs: Vec<u32> = (0..count).map(|i: u32| (i / 13 * 7).wrapping_mul(0x9E37_79B9) & mask).collect();
                let both: Vec<u32> = mixed.iter().chain(&runs).chain(&mixed).copied().collect();
                for numbers in [mixed, runs, both] {
                    let mut bytes = Vec::new();
                    encode(&numbers, width, &mut bytes);
                    assert_eq!(decoded(&bytes, width, numbers.len()), numbers, "{width}");
                }
            }
        }
    }

    #[test]
    fn a_run_is_short() {
        let mut bytes = Vec::new();
        encode(&[1u8; 1000], 1, &mut bytes);
        assert_eq!(bytes, [0xd0, 0x0f, 1]);
        assert_eq!([width_of(0), width_of(1), width_of(2), width_of(255), width_of(256)], [0, 1, 2, 8, 9]);
    }
}
