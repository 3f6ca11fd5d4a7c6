//! Pooling of the steps of sequences.
//!
//! ```text
//! steps of 2 values   [1 8] [3 2] | | [4 0]      sums  [4 10] [filling] [4 0]
//! ```
//!
//! Semantics: `paddle.static.nn.sequence_pool`.

use super::cast::{dtype_of, native};
use super::number::{Number, numbers};
use crate::error::{Error, Result};
use crate::tensor::RowPartition;
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;

/// How steps are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    Sum,
    Average,
    /// The sum divided by the square root of the number of steps.
    Sqrt,
    /// A NaN is kept only if it comes first.
    Max,
}

/// Accumulates the other steps of each sequence onto its first. `places` has the values of the first steps, `blocks`
/// those of every step. For a sequence without steps, the values in its place are kept. The dtype stays. O(values).
///
/// # Errors
/// Values that are not numbers, which is a bug.
pub fn combined(
    op: Pool,
    first: &ArrayRef,
    places: &RowPartition,
    values: &ArrayRef,
    blocks: &RowPartition,
    sequences: &RowPartition,
) -> Result<ArrayRef> {
    let dtype = dtype_of(first)?;
    numbers!(&dtype, T => {
        let mut out = native::<T>(first)?.to_vec();
        let values = native::<T>(values)?;
        for sequence in 0..sequences.nrows() {
            let steps = sequences.range(sequence);
            // A single step equals its sum and average.
            if steps.len() > 1 {
                let out = &mut out[places.range(sequence)];
                let rest = &values[blocks.start(steps.start + 1)..blocks.start(steps.end)];
                match op {
                    Pool::Max => onto(out, rest, |a, b| if b > a { b } else { a }),
                    _ => onto(out, rest, <T as Number>::add),
                }
                let divisor = match op {
                    Pool::Average => steps.len() as f64,
                    Pool::Sqrt => (steps.len() as f64).sqrt(),
                    Pool::Sum | Pool::Max => continue,
                };
                out.iter_mut().for_each(|v| *v = <T as Number>::divide(*v, <T as Number>::of_f64(divisor)));
            }
        }
        Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)) as ArrayRef)
    }, Err(Error::internal(format!("a pool of {dtype}"))))
}

/// Accumulates the rows of `rest`, each as long as `out`, onto it in order.
fn onto<N: Copy>(out: &mut [N], rest: &[N], f: impl Fn(N, N) -> N) {
    match out {
        [] => {}
        [one] => *one = rest.iter().fold(*one, |all, v| f(all, *v)),
        _ => {
            for row in rest.chunks_exact(out.len()) {
                out.iter_mut().zip(row).for_each(|(all, v)| *all = f(*all, *v));
            }
        }
    }
}
