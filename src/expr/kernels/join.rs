//! Concatenates rows along an axis, and stacks tensors along a new axis.

use super::level::{check_same, expand, from_lengths, wrap};
use crate::error::{Error, Result};
use crate::tensor::take::rows_in_turn;
use crate::tensor::{RowPartition, Tensor};

/// Concatenates the rows of level `axis`; the levels above must be equal: `[n, (a), ...]` and `[n, (b), ...]` to
/// `[n, (a + b), ...]` along axis 0. Source: `tf.concat`. O(values).
///
/// # Errors
/// The levels differ; the error names the row.
pub fn join(tensors: &[&Tensor], axis: usize) -> Result<Tensor> {
    let Some((first, rest)) = tensors.split_first() else {
        return Err(Error::internal("nothing to join"));
    };
    for other in rest {
        check_same(first, other, axis, "the rows to join")?;
    }
    if rest.is_empty() {
        return Ok((*first).clone());
    }
    let (outer, _) = first.levels(axis)?;
    let lists = tensors.iter().map(|t| t.levels(axis).and_then(|(_, below)| below.as_list())).collect::<Result<Vec<_>>>()?;
    let nrows = lists[0].partition().nrows();
    let uniform: Option<usize> = lists.iter().try_fold(0usize, |all, l| l.partition().uniform_row_length().map(|n| all + n));
    let partition = match uniform {
        Some(n) => RowPartition::uniform(n, nrows)?,
        None => from_lengths((0..nrows).map(|row| lists.iter().map(|l| l.partition().row_length(row)).sum()))?,
    };
    wrap(outer.into_iter().cloned(), Tensor::list(partition, rows_in_turn(&lists)?, None)?)
}

/// Stacks tensors along a new axis: k of `[n, ...]` to `[n, k, ...]` along axis 0. Source: `tf.stack`, `tf.ragged.stack`.
/// O(values).
///
/// # Errors
/// See [`join`].
pub fn stack(tensors: &[&Tensor], axis: usize) -> Result<Tensor> {
    let tensors = tensors.iter().map(|t| expand(t, axis)).collect::<Result<Vec<_>>>()?;
    join(&tensors.iter().collect::<Vec<_>>(), axis)
}
