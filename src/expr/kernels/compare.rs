//! Comparisons and tests of flat values, as bits.

use super::cast::{bools, dtype_of, native};
use super::elementwise::{Operand, texts};
use super::number::{Number, floats, numbers};
use crate::error::{Error, Result};
use crate::expr::syntax::Compare;
use crate::schema::DType;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, Buffer};
use std::sync::Arc;

/// `a op b`, value by value.
///
/// # Errors
/// A dtype without order.
pub fn compare(op: Compare, a: Operand, b: Operand) -> Result<ArrayRef> {
    let dtype = dtype_of(a.array)?;
    let len = if a.scalar { b.array.len() } else { a.array.len() };
    let found = match dtype {
        DType::Bool => {
            let (x, y) = (bools(a.array)?, bools(b.array)?);
            let at = |bits: &BooleanBuffer, scalar: bool, i: usize| bits.value(if scalar { 0 } else { i });
            match op {
                Compare::Equal => BooleanBuffer::collect_bool(len, |i| at(x, a.scalar, i) == at(y, b.scalar, i)),
                Compare::NotEqual => BooleanBuffer::collect_bool(len, |i| at(x, a.scalar, i) != at(y, b.scalar, i)),
                _ => return Err(Error::internal("bools have no order")),
            }
        }
        DType::String | DType::Bytes => {
            let (x, y) = (texts(a)?, texts(b)?);
            match op {
                Compare::Equal => BooleanBuffer::collect_bool(len, |i| x(i) == y(i)),
                Compare::NotEqual => BooleanBuffer::collect_bool(len, |i| x(i) != y(i)),
                Compare::Less => BooleanBuffer::collect_bool(len, |i| x(i) < y(i)),
                Compare::LessEqual => BooleanBuffer::collect_bool(len, |i| x(i) <= y(i)),
                Compare::Greater => BooleanBuffer::collect_bool(len, |i| x(i) > y(i)),
                Compare::GreaterEqual => BooleanBuffer::collect_bool(len, |i| x(i) >= y(i)),
            }
        }
        _ => {
            numbers!(&dtype, T => compare_numbers::<T>(op, a, b, len)?, return Err(Error::internal(format!("a comparison of {dtype}"))))
        }
    };
    Ok(Arc::new(BooleanArray::new(found, None)))
}

fn compare_numbers<T: Number>(op: Compare, a: Operand, b: Operand, len: usize) -> Result<BooleanBuffer> {
    fn run<N: Copy>(x: &[N], a_scalar: bool, y: &[N], b_scalar: bool, len: usize, f: impl Fn(N, N) -> bool) -> BooleanBuffer {
        match (x, y) {
            ([x], y) if a_scalar => bits(y, |y| f(*x, *y)),
            (x, [y]) if b_scalar => bits(x, |x| f(*x, *y)),
            _ => {
                let (x, y) = (&x[..len.min(x.len())], &y[..len.min(y.len())]);
                let blocks = x.chunks(64).zip(y.chunks(64));
                pack(len, blocks, |(x, y), out| out.iter_mut().zip(x.iter().zip(y)).for_each(|(bit, (x, y))| *bit = f(*x, *y).into()))
            }
        }
    }
    let (x, y) = (native::<T>(a.array)?, native::<T>(b.array)?);
    Ok(match op {
        Compare::Equal => run(x, a.scalar, y, b.scalar, len, |a, b| a == b),
        Compare::NotEqual => run(x, a.scalar, y, b.scalar, len, |a, b| a != b),
        Compare::Less => run(x, a.scalar, y, b.scalar, len, |a, b| a < b),
        Compare::LessEqual => run(x, a.scalar, y, b.scalar, len, |a, b| a <= b),
        Compare::Greater => run(x, a.scalar, y, b.scalar, len, |a, b| a > b),
        Compare::GreaterEqual => run(x, a.scalar, y, b.scalar, len, |a, b| a >= b),
    })
}

/// A bit for each value.
pub fn bits<N>(values: &[N], f: impl Fn(&N) -> bool) -> BooleanBuffer {
    pack(values.len(), values.chunks(64), |block, out| out.iter_mut().zip(block).for_each(|(bit, v)| *bit = f(v).into()))
}

/// Bits from blocks of 64: `fill` writes a 0 or 1 for each value of a block, which is a loop of its
/// own that vectorises.
fn pack<B>(len: usize, blocks: impl Iterator<Item = B>, fill: impl Fn(B, &mut [u8; 64])) -> BooleanBuffer {
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

/// Tests of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Finite,
    Infinite,
    Nan,
}

/// Whether each value is finite, infinite, NaN.
///
/// # Errors
/// Other dtypes: a fault of ours.
pub fn test(op: Test, array: &ArrayRef) -> Result<ArrayRef> {
    let dtype = dtype_of(array)?;
    let found = floats!(&dtype, T => {
        let values = native::<T>(array)?;
        match op {
            Test::Finite => bits(values, |v| v.is_finite()),
            Test::Infinite => bits(values, |v| v.is_infinite()),
            Test::Nan => bits(values, |v| v.is_nan()),
        }
    }, return Err(Error::internal(format!("{op:?} of {dtype}"))));
    Ok(Arc::new(BooleanArray::new(found, None)))
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
