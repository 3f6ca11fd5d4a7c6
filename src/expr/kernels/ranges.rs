//! Runs of rows of one or more tensors, one after the other: what slices and joins are made of.

use super::level::from_lengths;
use crate::error::{Error, Result};
use crate::tensor::{RowPartition, Struct, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, downcast_primitive, make_array};
use arrow_data::transform::MutableArrayData;
use std::sync::Arc;

/// Rows `start .. end` of part `part`.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub part: usize,
    pub start: usize,
    pub end: usize,
}

/// The rows of all runs, in order. The parts have one type. O(values taken); lists are taken by their ends.
///
/// # Errors
/// Parts of different kinds: a fault of ours.
pub fn take_runs(parts: &[&Tensor], runs: &[Run]) -> Result<Tensor> {
    if let ([part], [run]) = (parts, runs) {
        return Ok(part.slice(run.start, run.end - run.start));
    }
    let Some(first) = parts.first() else {
        return Err(Error::data("internal: runs of nothing"));
    };
    match first {
        Tensor::Leaf(_) => {
            let arrays = parts.iter().map(|p| p.as_leaf()).collect::<Result<Vec<_>>>()?;
            leaf_runs(&arrays, runs).map(Tensor::Leaf)
        }
        Tensor::List(list) if list.validity().is_none() => {
            let lists = parts.iter().map(|p| p.as_list()).collect::<Result<Vec<_>>>()?;
            if lists.iter().any(|l| l.validity().is_some()) {
                return by_numbers(parts, runs);
            }
            let partitions: Vec<&RowPartition> = lists.iter().map(|l| l.partition()).collect();
            let nrows: usize = runs.iter().map(|r| r.end - r.start).sum();
            let uniform = partitions[0].uniform_row_length();
            let out = match uniform.filter(|n| partitions.iter().all(|p| p.uniform_row_length() == Some(*n))) {
                Some(n) => RowPartition::uniform(n, nrows)?,
                None => from_lengths(runs.iter().flat_map(|r| (r.start..r.end).map(|row| partitions[r.part].row_length(row))))?,
            };
            let below: Vec<Run> = runs
                .iter()
                .map(|r| Run { part: r.part, start: partitions[r.part].start(r.start), end: partitions[r.part].start(r.end) })
                .collect();
            Tensor::list(out, take_runs(&lists.iter().map(|l| l.values()).collect::<Vec<_>>(), &below)?, None)
        }
        Tensor::Struct(s) if s.validity().is_none() => {
            let structs = parts.iter().map(|p| p.as_struct()).collect::<Result<Vec<&Struct>>>()?;
            if structs.iter().any(|s| s.validity().is_some()) {
                return by_numbers(parts, runs);
            }
            let fields = (0..s.fields().len())
                .map(|i| take_runs(&structs.iter().filter_map(|s| s.fields().get(i)).collect::<Vec<_>>(), runs))
                .collect::<Result<_>>()?;
            Tensor::structure(runs.iter().map(|r| r.end - r.start).sum(), fields, None)
        }
        _ => by_numbers(parts, runs),
    }
}

fn by_numbers(parts: &[&Tensor], runs: &[Run]) -> Result<Tensor> {
    let mut bases = Vec::with_capacity(parts.len());
    let mut end = 0;
    for part in parts {
        bases.push(end);
        end += part.nrows();
    }
    let rows: Vec<usize> = runs.iter().flat_map(|r| bases[r.part] + r.start..bases[r.part] + r.end).collect();
    Tensor::concat(parts)?.gather(&rows)
}

fn leaf_runs(arrays: &[&ArrayRef], runs: &[Run]) -> Result<ArrayRef> {
    fn primitive<T: ArrowPrimitiveType>(arrays: &[&ArrayRef], runs: &[Run]) -> ArrayRef {
        let values: Vec<&[T::Native]> = arrays.iter().map(|a| a.as_primitive::<T>().values().as_ref()).collect();
        let mut out: Vec<T::Native> = Vec::with_capacity(runs.iter().map(|r| r.end - r.start).sum());
        for run in runs {
            out.extend_from_slice(&values[run.part][run.start..run.end]);
        }
        Arc::new(PrimitiveArray::<T>::new(out.into(), None).with_data_type(arrays[0].data_type().clone()))
    }
    if arrays.iter().all(|a| a.null_count() == 0) {
        macro_rules! primitive_of {
            ($t:ty) => {
                return Ok(primitive::<$t>(arrays, runs))
            };
        }
        downcast_primitive! {
            arrays[0].data_type() => (primitive_of),
            _ => {}
        }
    }
    let data: Vec<_> = arrays.iter().map(|a| a.to_data()).collect();
    let mut out = MutableArrayData::new(data.iter().collect(), false, runs.iter().map(|r| r.end - r.start).sum());
    for run in runs {
        out.try_extend(run.part, run.start, run.end).map_err(|e| Error::data(e.to_string()))?;
    }
    Ok(make_array(out.freeze()))
}
