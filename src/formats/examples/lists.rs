//! Feature lists of tf.SequenceExample. Each step of a list is decoded like a record, with the type below axis 0; the
//! steps of a record form axis 0.

use super::column;
use super::features::{Features, RowError, Span};
use super::mapping::{Absent, Leaf, Shape};
use super::nested::stored;
use super::wire::{self, DecodeError, Parse};
use crate::error::{Error, Result};
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_buffer::{BooleanBuffer, NullBuffer};

/// The steps of the lists of a leaf, by feature as in [`Features::spans`]. All are empty between two leaves, so that the vectors of
/// thousands of features are allocated once.
#[derive(Default)]
pub struct Steps(Vec<Vec<Span>>);

/// The tensor of a leaf that can be a feature list; see [`column::decode`].
///
/// # Errors
/// Only internal errors.
pub fn decode(leaf: &Leaf, features: &Features, buffer: &mut Steps, errors: &mut Vec<RowError>) -> Result<Tensor> {
    let Some(step) = &leaf.step else {
        return column::decode(leaf, features, errors);
    };
    let in_list: Vec<bool> = (0..features.nrows).map(|row| features.list(leaf.values, row).is_some()).collect();
    if leaf.context && !in_list.contains(&true) {
        return column::decode(leaf, features, errors);
    }
    let in_context: Vec<bool> =
        (0..features.nrows).map(|row| leaf.context && !in_list[row] && !features.span(leaf.values, row).is_empty()).collect();
    let lists = decode_lists((leaf, step), features, &in_context, buffer, errors)?;
    if !in_context.contains(&true) {
        return Ok(lists);
    }
    // Some records have it in their context, others in their lists.
    let mut ignored = Vec::new();
    let context = column::decode(leaf, features, &mut ignored)?;
    errors.extend(ignored.into_iter().filter(|b| in_context[b.row]));
    let rows: Vec<usize> = in_context.iter().enumerate().map(|(row, c)| if *c { row } else { row + features.nrows }).collect();
    Tensor::concat(&[&context, &lists])?.gather(&rows)
}

fn decode_lists(
    (leaf, step): (&Leaf, &Leaf),
    features: &Features,
    in_context: &[bool],
    buffer: &mut Steps,
    errors: &mut Vec<RowError>,
) -> Result<Tensor> {
    let companions = match &step.shape {
        Shape::Dense(axes) => stored(axes),
        _ => Vec::new(),
    };
    let used = || companions.iter().copied().chain([leaf.values]);
    let mut spans = std::mem::take(&mut buffer.0);
    spans.resize(features.spans.len(), Vec::new());
    let (mut splits, mut valid) = (vec![0i64], Vec::with_capacity(features.nrows));
    for (row, in_context) in in_context.iter().enumerate() {
        let start = splits.last().copied().unwrap_or(0) as usize;
        let present = features.list(leaf.values, row).is_some();
        let outcome = match &leaf.absent {
            _ if present => steps_of(leaf, &companions, features, row, &mut spans),
            Absent::Error if !in_context => {
                let what = format!("the record has no feature list named `{}`", leaf.path).into();
                Err(DecodeError { at: 0, what, widens: leaf.inferred })
            }
            _ => Ok(()),
        };
        if let Err(error) = outcome {
            for feature in used() {
                if let Some(steps) = spans.get_mut(feature) {
                    steps.truncate(start);
                }
            }
            errors.push(RowError { row, field: leaf.path.clone(), error, null: false });
        }
        splits.push(spans.get(leaf.values).map_or(0, Vec::len) as i64);
        valid.push(present || !matches!(leaf.absent, Absent::Null));
    }
    let steps = RowPartition::from_row_splits(splits)?;
    let below = Features { bytes: features.bytes, nrows: steps.nvals(), spans, lists: None, nulls: false, max_rows: features.max_rows };
    let mut unfit = Vec::new();
    let values = column::decode(step, &below, &mut unfit)?;
    buffer.0 = below.spans;
    for feature in used() {
        if let Some(steps) = buffer.0.get_mut(feature) {
            steps.clear();
        }
    }
    errors.extend(unfit.into_iter().map(|b| RowError { row: crate::tensor::row_of(&steps, b.row), ..b }));
    let nulls = Some(NullBuffer::new(BooleanBuffer::collect_bool(features.nrows, |row| valid[row]))).filter(|n| n.null_count() > 0);
    match values {
        Tensor::Sparse(sparse) => Ok(Tensor::Sparse(stacked(&steps, &sparse, nulls)?)),
        values => Tensor::list(steps, values, nulls),
    }
}

/// Appends the steps of the list of values, and as many steps of each companion list.
fn steps_of(leaf: &Leaf, companions: &[usize], features: &Features, row: usize, spans: &mut [Vec<Span>]) -> Parse<()> {
    let append = |feature: usize, spans: &mut [Vec<Span>]| -> Parse<usize> {
        let (Some(list), Some(out)) = (features.list(feature, row), spans.get_mut(feature)) else { return Ok(0) };
        let before = out.len();
        wire::steps(features.bytes, list, &mut |step| out.push(step))?;
        out[before..].iter().try_for_each(|step| wire::check_single_run(features.bytes, step.clone()))?;
        Ok(out.len() - before)
    };
    let n = append(leaf.values, spans)?;
    for feature in companions {
        let found = append(*feature, spans)?;
        if found == 0
            && let Some(out) = spans.get_mut(*feature)
        {
            out.resize(out.len() + n, 0..0);
        } else if found != n {
            return wire::fail(0, format!("the feature list of a partition has {found} steps, but the values have {n}"));
        }
    }
    Ok(())
}

/// Combines the sparse vectors of the steps into one sparse matrix per record.
fn stacked(steps: &RowPartition, vectors: &Sparse, nulls: Option<NullBuffer>) -> Result<Sparse> {
    let (mut indices, mut shapes) = (Vec::with_capacity(2 * vectors.entries().nvals()), Vec::with_capacity(2 * steps.nrows()));
    for record in 0..steps.nrows() {
        let mut width = 0;
        for (i, step) in steps.range(record).enumerate() {
            width = width.max(vectors.shape_of(step).first().copied().unwrap_or(0));
            for entry in vectors.entries().range(step) {
                let column = vectors.index_of(entry).first().copied().ok_or_else(|| Error::internal("an index without an axis"))?;
                indices.extend([i as i64, column]);
            }
        }
        shapes.extend([steps.row_length(record) as i64, width]);
    }
    let entries = steps.merge(vectors.entries());
    Sparse::try_new(2, entries, indices.into(), vectors.values().clone(), shapes.into(), nulls)
}
