//! Operands of kernels: flat values or a scalar, and bitmaps computed from them.

use super::text::Texts;
use crate::error::{Error, Result};
use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBuffer, Buffer};

/// Flat values or a scalar.
#[derive(Clone, Copy)]
pub struct Datum<'a> {
    pub array: &'a ArrayRef,
    pub scalar: bool,
}

/// An error about one flat value.
pub type RowError = (usize, Error);

/// Maps each value: `[n]` to `[n]`. O(values).
pub fn map<A: Copy, U>(values: &[A], f: impl Fn(A) -> U) -> Vec<U> {
    values.iter().map(|v| f(*v)).collect()
}

/// Like [`map`], for functions that cost more than a second pass over the values. A plain loop, compiled again for each
/// function, has a tenth of the code of an iterator chain.
pub fn map_slow<A: Copy>(values: &[A], f: impl Fn(A) -> A) -> Vec<A> {
    let mut out = values.to_vec();
    for v in &mut out {
        *v = f(*v);
    }
    out
}

/// Maps each pair of values, one of which may be a scalar: `[n]`. O(values).
pub fn zip<A: Copy, U>(a: (&[A], bool), b: (&[A], bool), f: impl Fn(A, A) -> U) -> Vec<U> {
    // One loop per operation: a scalar is expanded to a block of copies, which stays in the cache.
    let len = common_len(a, b);
    let (xs, ys) = (copies(a, len), copies(b, len));
    let mut out = Vec::with_capacity(len);
    for start in (0..len).step_by(BLOCK) {
        let n = BLOCK.min(len - start);
        let (x, y) = (block_of(a.0, &xs, start, n), block_of(b.0, &ys, start, n));
        out.extend(x.iter().zip(y).map(|(x, y)| f(*x, *y)));
    }
    out
}

/// Number of values computed at a time.
const BLOCK: usize = 512;

fn common_len<A>(a: (&[A], bool), b: (&[A], bool)) -> usize {
    match (a, b) {
        (([_], true), (y, _)) => y.len(),
        ((x, _), ([_], true)) => x.len(),
        ((x, _), (y, _)) => x.len().min(y.len()),
    }
}

/// The scalar repeated for a block; empty for other operands.
fn copies<A: Copy>(operand: (&[A], bool), len: usize) -> Vec<A> {
    match operand {
        ([one], true) => vec![*one; BLOCK.min(len)],
        _ => Vec::new(),
    }
}

fn block_of<'a, A>(values: &'a [A], copies: &'a [A], start: usize, n: usize) -> &'a [A] {
    if copies.is_empty() { &values[start..start + n] } else { &copies[..n] }
}

/// The strings of an operand.
pub fn texts<'a>(operand: Datum<'a>) -> Result<impl Fn(usize) -> &'a [u8]> {
    let texts = Texts::of(operand.array)?;
    Ok(move |i: usize| texts.get(if operand.scalar { 0 } else { i }))
}

/// Computes a bit for each value: `[n]`. O(values).
pub fn bits<N>(values: &[N], f: impl Fn(&N) -> bool) -> BooleanBuffer {
    let mut words = Vec::with_capacity(values.len().div_ceil(64));
    for block in values.chunks(64) {
        let mut bytes = [0u8; 64];
        for (bit, v) in bytes.iter_mut().zip(block) {
            *bit = f(v).into();
        }
        words.push(packed(&bytes));
    }
    BooleanBuffer::new(Buffer::from_vec(words), 0, values.len())
}

/// Computes a bit for each pair of values: `[n]`. O(values).
pub fn bits_of_two<X, Y>(x: &[X], y: &[Y], f: impl Fn(&X, &Y) -> bool) -> BooleanBuffer {
    let len = x.len().min(y.len());
    let mut words = Vec::with_capacity(len.div_ceil(64));
    for (x, y) in x[..len].chunks(64).zip(y[..len].chunks(64)) {
        let mut bytes = [0u8; 64];
        for ((bit, x), y) in bytes.iter_mut().zip(x).zip(y) {
            *bit = f(x, y).into();
        }
        words.push(packed(&bytes));
    }
    BooleanBuffer::new(Buffer::from_vec(words), 0, len)
}

/// Packs 64 bytes, each 0 or 1, into bits. The bytes are written in a separate loop, which vectorizes.
#[inline]
fn packed(bytes: &[u8; 64]) -> u64 {
    let mut word = 0;
    for (i, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        // Collects the lowest bits of eight bytes in the highest byte.
        word |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    word
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
