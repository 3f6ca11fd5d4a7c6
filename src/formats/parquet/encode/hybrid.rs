//! Small numbers as runs of equal ones and as bits. Source: "Run Length Encoding / Bit-Packing Hybrid" of Parquet's
//! `Encodings.md`.

use crate::wire::varint;

/// Groups of eight in a bit-packed run: what fits a header of one byte.
const MOST_GROUPS: usize = 63;

/// Bits that hold numbers up to `max`.
pub fn width_of(max: usize) -> u8 {
    (usize::BITS - max.leading_zeros()) as u8
}

/// Appends the numbers, each less than 2 to the power of `width`.
pub fn encode<T: Copy + PartialEq + Into<u32>>(numbers: &[T], width: u8, out: &mut Vec<u8>) {
    // Where the numbers begin that are to be packed.
    let (mut packed, mut at) = (0, 0);
    while at < numbers.len() {
        let rest = &numbers[at..];
        let group = &rest[..rest.len().min(8)];
        if group.iter().all(|number| *number == group[0]) {
            pack(&numbers[packed..at], width, out);
            let mut count = group.len();
            count += rest[count..].chunks_exact(8).take_while(|next| next.iter().all(|number| *number == group[0])).count() * 8;
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

/// Runs of packed numbers; the last group is filled up with zeros.
fn pack<T: Copy + Into<u32>>(numbers: &[T], width: u8, out: &mut Vec<u8>) {
    let nbytes = usize::from(width);
    for run in numbers.chunks(8 * MOST_GROUPS) {
        varint(out, (run.len().div_ceil(8) as u64) << 1 | 1);
        out.reserve(run.len().div_ceil(8) * nbytes);
        for group in run.chunks(8) {
            // Two halves of four numbers, each of up to 128 bits.
            let half = |part: &[T]| part.iter().rev().fold(0u128, |bits, number| bits << width | u128::from((*number).into()));
            let (low, high) = group.split_at(group.len().min(4));
            let (low, high) = (half(low), half(high));
            if width <= 16 {
                out.extend_from_slice(&(low | high << (4 * width)).to_le_bytes()[..nbytes]);
            } else {
                let shift = 4 * u32::from(width);
                let first = low | high.checked_shl(shift).unwrap_or(0);
                let second = high >> (128 - shift);
                out.extend_from_slice(&first.to_le_bytes());
                out.extend_from_slice(&second.to_le_bytes()[..nbytes - 16]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader makes of it.
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
