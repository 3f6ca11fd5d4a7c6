//! Adding values at positions given by index sequences.

use super::shared::Sequences;
use crate::error::{Error, Result};
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::cast::{dtype_of, i64s, native};
use crate::expr::kernels::level::{check_same, merged};
use crate::expr::kernels::number::{Number, numbers};
use crate::expr::operand::OperandKind;
use crate::expr::types::last_ragged;
use crate::printable::counted;
use crate::schema::DType;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[function!(
    ["sequence_scatter"],
    "input|x, index, updates",
    "Add the updates of sequence i to row i of a matrix, at the columns in index.",
    [("sequence_scatter([[1, 1, 1], [1, 1, 1]], [[0, 0], [2]], [[1, 2], [3]])", "[[4, 1, 1], [1, 1, 4]]")],
    sequence_scatter
)];

fn sequence_scatter(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "numbers", DType::is_number)?;
    if x.rank() != 2 || last_ragged(&x.ty.dims).is_some() {
        return Err(ExprError::at(x.span.clone(), format!("sequence_scatter adds to a dense matrix; this is {}", x.ty)));
    }
    let index = call.integers(1)?;
    let index = Sequences::in_arg(call, index)?;
    let updates = call.tensor_of(2, &x.dtype()?.clone())?;
    let updates = Sequences::in_arg(call, updates)?;
    for sequences in [&index, &updates] {
        if sequences.axis != 1 {
            return Err(ExprError::at(
                sequences.arg.span.clone(),
                format!("sequence_scatter expects indices and updates with one LoD level, found {}", sequences.arg.ty),
            ));
        }
        sequences.one_value_a_step(call)?;
    }
    call.one(x.ty.clone(), move |args| {
        let (tensor, ids, more) = (x.of(args)?, index.arg.of(args)?, updates.arg.of(args)?);
        check_same(&ids, &more, 2, "index and updates")?;
        let cut = index.cut(&ids)?;
        let places = places(&tensor, &cut.records, cut.list.partition(), &ids, index.arg.rank())?;
        let (_, more) = more.levels(updates.arg.rank())?;
        if more.nrows() != places.len() {
            return Err(Error::data(format!("found {} updates for {} indices", more.nrows(), places.len())));
        }
        tensor.map_below(2, &mut |t| Ok(Tensor::Leaf(added(t.as_leaf()?, &places, more.as_leaf()?)?)))
    })
}

/// The position of each index among the values of the matrices.
fn places(tensor: &Tensor, records: &RowPartition, sequences: &RowPartition, ids: &Tensor, rank: usize) -> Result<Vec<usize>> {
    let (partitions, _) = tensor.levels(2)?;
    let (_, flat) = ids.levels(rank)?;
    let flat = i64s(flat.as_leaf()?)?;
    // With one value per step, the values of a sequence are at the positions of its steps.
    let steps = merged(ids, 2, rank)?;
    if let Some(step) = (0..steps.nrows()).find(|step| steps.row_length(*step) != 1) {
        let record = crate::expr::kernels::level::record_of(ids, 2, step);
        return Err(Error::data(format!("a step has {} indices; expected one", steps.row_length(step))).at_row(record));
    }
    let mut out = Vec::with_capacity(flat.len());
    for record in 0..records.nrows() {
        let (rows, own) = (partitions[0].range(record), records.range(record));
        if own.len() > rows.len() {
            return Err(Error::data(format!(
                "found {} of indices for {}",
                counted(own.len() as u64, "sequence"),
                counted(rows.len() as u64, "row")
            ))
            .at_row(record));
        }
        for (row, s) in rows.zip(own) {
            let values = partitions[1].range(row);
            for id in &flat[sequences.range(s)] {
                let place = usize::try_from(*id).ok().filter(|id| *id < values.len());
                let place = place.ok_or_else(|| Error::data(format!("index {id} is out of range [0, {})", values.len())).at_row(record))?;
                out.push(values.start + place);
            }
        }
    }
    Ok(out)
}

/// The values with the updates added in order.
fn added(array: &ArrayRef, places: &[usize], updates: &ArrayRef) -> Result<ArrayRef> {
    let dtype = dtype_of(array)?;
    numbers!(&dtype, T => {
        let mut out = native::<T>(array)?.to_vec();
        for (place, update) in places.iter().zip(native::<T>(updates)?) {
            out[*place] = <T as Number>::add(out[*place], *update);
        }
        Ok(Arc::new(PrimitiveArray::<T>::new(out.into(), None)) as ArrayRef)
    }, Err(Error::internal(format!("updates of {dtype}"))))
}
