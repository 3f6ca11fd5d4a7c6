//! Segment reductions over selected rows of a dense tensor.
//!
//! ```text
//! data [a b c]   indices [0 2 1]   segment_ids [0 0 2]     [a+c  0  b]
//! ```
//!
//! Semantics: `tf.sparse.segment_sum`, `segment_mean`, `segment_sqrt_n`.

use super::shared::{dense, said};
use crate::error::Error;
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::functions::segments::{Op, reduced};
use crate::expr::kernels::cast::i64s;
use crate::expr::kernels::level::check_same;
use crate::expr::kernels::segment::Reduce;
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Dim, Type};
use crate::tensor::Tensor;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sparse.segment_sum", "sparse_segment_sum"],
        "data, indices, segment_ids, num_segments=None, sparse_gradient=False",
        "Sum of the selected rows in each segment; segment_ids must be sorted.",
        [("sparse.segment_sum([[1, 2], [3, 4], [5, 6]], [0, 2, 1], [0, 0, 2])", "[[6, 8], [0, 0], [3, 4]]")],
        |c| segments(c, Op::Plain(Reduce::Sum { wide: false, lone: true }))
    ),
    function!(
        ["sparse.segment_mean", "sparse_segment_mean"],
        "data, indices, segment_ids, num_segments=None, sparse_gradient=False",
        "Mean of the selected rows in each segment, or 0 for an empty segment; segment_ids must be sorted.",
        [("sparse.segment_mean([1.0, 2.0, 4.0], [0, 2], [1, 1])", "[0.0, 2.5]")],
        |c| segments(c, Op::Mean { lone: true })
    ),
    function!(
        ["sparse.segment_sqrt_n", "sparse_segment_sqrt_n"],
        "data, indices, segment_ids, num_segments=None, sparse_gradient=False",
        "Sum of the selected rows in each segment, divided by the square root of their number; segment_ids must be sorted.",
        [("sparse.segment_sqrt_n([1.0, 2.0, 4.0], [1], [0])", "[2.0]")],
        |c| segments(c, Op::SqrtN { lone: true })
    ),
];

fn segments(call: &mut Call, op: Op) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    let x = dense(call, x)?;
    match op {
        Op::Plain(_) => call.check_dtype(&x, "numbers", DType::is_number)?,
        _ => call.check_dtype(&x, "floats", DType::is_float)?,
    }
    if x.rank() == 0 {
        return Err(ExprError::at(x.span.clone(), format!("{}: data needs rows; this is a scalar", call.name)));
    }
    let (indices, ids) = (call.integers(1)?, call.integers(2)?);
    for arg in [&indices, &ids] {
        if arg.rank() != 1 {
            return Err(ExprError::at(
                arg.span.clone(),
                format!("{}: indices and segment_ids must be vectors, not {}", call.name, said(arg)),
            ));
        }
    }
    let count = if call.given(3).is_some() { Some(call.integer(3)?) } else { None };
    if let Some(n) = count.as_ref().and_then(|n| n.known()).filter(|n| *n < 0) {
        return Err(ExprError::at(call.operand(3)?.span.clone(), format!("{}: num_segments is {n}; it must not be negative", call.name)));
    }
    let inner: Vec<Dim> = x.ty.dims[1..].to_vec();
    let mut dims = vec![count.as_ref().map_or(Dim::UNIFORM, |n| n.dim())];
    dims.extend(inner.iter().cloned());
    let dtype = x.dtype()?.clone();
    call.one(Type { dims, ..x.ty.clone() }, move |args| {
        let (data, at, ids) = (x.of(args)?, indices.of(args)?, ids.of(args)?);
        check_same(&at, &ids, 1, "indices and segment_ids")?;
        let (rows, list, own) = (data.as_list()?, at.as_list()?, ids.as_list()?);
        let (places, ids_flat) = (i64s(list.values().as_leaf()?)?, i64s(own.values().as_leaf()?)?);
        let sizes = count.as_ref().map(|n| n.of(args)).transpose()?;
        let (mut chosen, mut counts) = (Vec::with_capacity(places.len()), Vec::with_capacity(args.nrows));
        for record in 0..args.nrows {
            let (range, data_rows) = (list.partition().range(record), rows.partition().range(record));
            for place in &places[range.clone()] {
                let row = usize::try_from(*place).ok().filter(|row| *row < data_rows.len());
                let row =
                    row.ok_or_else(|| Error::data(format!("index {place} is out of range [0, {})", data_rows.len())).at_row(record))?;
                chosen.push(data_rows.start + row);
            }
            let own = &ids_flat[range];
            if let Some(w) = own.windows(2).find(|w| w[1] < w[0]) {
                return Err(Error::data(format!("the segment ids decrease from {} to {}", w[0], w[1]))
                    .at_row(record)
                    .help("for ids in any order: math.unsorted_segment_sum(gather(data, indices), segment_ids, n)"));
            }
            if let Some(id) = own.first().filter(|id| **id < 0) {
                return Err(Error::data(format!("the segment id {id} is negative")).at_row(record));
            }
            let least = own.last().map_or(0, |last| (*last as usize).saturating_add(1));
            let n = sizes.as_ref().map_or(Ok(least), |sizes| sizes.size(record, "num_segments"))?;
            if n < least {
                return Err(Error::data(format!("segment {} is out of range [0, {n})", least - 1)).at_row(record));
            }
            counts.push(n);
        }
        let taken = Tensor::list(list.partition().clone(), rows.values().gather(&chosen)?, None)?;
        let out = reduced(op, (&taken, &dtype), &ids, 1, &inner, counts)?;
        match count.as_ref().and_then(|n| n.known()).and_then(|n| usize::try_from(n).ok()) {
            Some(n) => out.with_row_length(n),
            None => Ok(out),
        }
    })
}
