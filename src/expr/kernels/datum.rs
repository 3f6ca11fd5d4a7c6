//! Operands of kernels: flat values or a single value; bits made of them.

use super::text::Texts;
use crate::error::{Error, Result};
use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBuffer, Buffer};

/// Flat values, or a single value.
#[derive(Clone, Copy)]
pub struct Datum<'a> {
    pub array: &'a ArrayRef,
    pub scalar: bool,
}

/// An error about one flat value.
pub type RowError = (usize, Error);

/// A value for each two values, of which one may stand everywhere.
pub fn zip<A: Copy, U>(a: (&[A], bool), b: (&[A], bool), f: impl Fn(A, A) -> U) -> Vec<U> {
    // One loop for each operation: a scalar is a block of copies, which stays in the cache.
    const BLOCK: usize = 512;
    let len = match (a, b) {
        (([_], true), (y, _)) => y.len(),
        ((x, _), ([_], true)) => x.len(),
        ((x, _), (y, _)) => x.len().min(y.len()),
    };
    let copies = |(values, scalar): (&[A], bool)| match values {
        [one] if scalar => vec![*one; BLOCK.min(len)],
        _ => Vec::new(),
    };
    let (xs, ys) = (copies(a), copies(b));
    let mut out = Vec::with_capacity(len);
    for start in (0..len).step_by(BLOCK) {
        let end = len.min(start + BLOCK);
        let x = if xs.is_empty() { &a.0[start..end] } else { &xs[..end - start] };
        let y = if ys.is_empty() { &b.0[start..end] } else { &ys[..end - start] };
        out.extend(x.iter().zip(y).map(|(x, y)| f(*x, *y)));
    }
    out
}

/// The strings of an operand.
pub fn texts<'a>(operand: Datum<'a>) -> Result<impl Fn(usize) -> &'a [u8]> {
    let texts = Texts::of(operand.array)?;
    Ok(move |i: usize| texts.get(if operand.scalar { 0 } else { i }))
}

/// A bit for each value.
pub fn bits<N>(values: &[N], f: impl Fn(&N) -> bool) -> BooleanBuffer {
    pack(values.len(), values.chunks(64), |block, out| out.iter_mut().zip(block).for_each(|(bit, v)| *bit = f(v).into()))
}

/// Bits from blocks of 64: `fill` writes a 0 or 1 for each value of a block, which is a loop of its
/// own that vectorises.
pub fn pack<B>(len: usize, blocks: impl Iterator<Item = B>, fill: impl Fn(B, &mut [u8; 64])) -> BooleanBuffer {
    let mut words: Vec<u64> = Vec::with_capacity(len.div_ceil(64));
    for block in blocks {
        let mut bytes = [0u8; 64];
        fill(block, &mut bytes);
        // The lowest bits of eight bytes are brought together in the highest byte.
        let gathered = bytes.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56);
        words.push(gathered.enumerate().fold(0, |word, (i, byte)| word | byte << (8 * i)));
    }
    BooleanBuffer::new(Buffer::from_vec(words), 0, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_packed_in_order() {
        for len in [0, 1, 7, 8, 63, 64, 65, 127, 128, 200] {
            let values: Vec<usize> = (0..len).collect();
            let odd = |i: &usize| i.is_multiple_of(3) || i % 7 == 5;
            assert_eq!(bits(&values, odd), BooleanBuffer::collect_bool(len, |i| odd(&i)), "{len}");
        }
    }
}
