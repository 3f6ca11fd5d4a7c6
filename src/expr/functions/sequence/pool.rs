//! Pooling: each sequence reduced to one step.

use super::fill::filling;
use super::shared::Sequences;
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::level::merged;
use crate::expr::kernels::pool::{Pool, combined};
use crate::expr::operand::OperandKind;
use crate::schema::DType;
use crate::tensor::Tensor;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sequence_pool"],
        "input|x, pool_type, pad_value=0.0, is_test=False",
        "Pool each sequence into one step: \"sum\", \"average\", \"sqrt\" (sum divided by the square root of the length), \"max\", \
         \"first\" or \"last\". An empty sequence yields pad_value.",
        [
            ("sequence_pool([[1.0, 3.0], [], [2.0, 4.0, 6.0]], \"average\")", "[2.0, 0.0, 4.0]"),
            ("sequence_pool([[[1.0, 8.0], [3.0, 2.0]], []], \"max\", pad_value=-1.0)", "[[3.0, 8.0], [-1.0, -1.0]]")
        ],
        |c| {
            let kind = kind(c)?;
            pool(c, kind, 2)
        }
    ),
    function!(
        ["sequence_first_step"],
        "input|x",
        "The first step of each sequence; 0 if it is empty.",
        [("sequence_first_step([[1.0, 3.0], [], [2.0]])", "[1.0, 0.0, 2.0]")],
        |c| pool(c, PooledStep::First, 1)
    ),
    function!(
        ["sequence_last_step"],
        "input|x",
        "The last step of each sequence; 0 if it is empty.",
        [("sequence_last_step([[1.0, 3.0], [], [2.0]])", "[3.0, 0.0, 2.0]")],
        |c| pool(c, PooledStep::Last, 1)
    ),
];

/// The pooled step of a sequence.
#[derive(Clone, Copy)]
enum PooledStep {
    First,
    Last,
    Of(Pool),
}

fn kind(call: &Call) -> ExprResult<PooledStep> {
    let item = call.operand(1)?;
    let name = call.string(1)?.unwrap_or_default();
    Ok(match name.to_ascii_lowercase().as_str() {
        "first" => PooledStep::First,
        "last" => PooledStep::Last,
        "sum" => PooledStep::Of(Pool::Sum),
        "average" => PooledStep::Of(Pool::Average),
        "sqrt" => PooledStep::Of(Pool::Sqrt),
        "max" => PooledStep::Of(Pool::Max),
        _ => {
            return Err(ExprError::at(item.span.clone(), format!("{}: unknown pool_type {name:?}", call.name))
                .help("use \"average\", \"sum\", \"sqrt\", \"max\", \"first\" or \"last\""));
        }
    })
}

/// Pools `[n, (a), w]` to `[n, w]`.
fn pool(call: &mut Call, kind: PooledStep, pad_at: usize) -> ExprResult<OperandKind> {
    let x = Sequences::of(call, 0)?;
    match kind {
        PooledStep::Of(Pool::Average | Pool::Sqrt) => {
            call.check_dtype(&x.arg, "floats", DType::is_float)?;
        }
        PooledStep::Of(Pool::Sum | Pool::Max) => call.check_dtype(&x.arg, "numbers", DType::is_number)?,
        PooledStep::First | PooledStep::Last => {}
    }
    let filling = filling(call, pad_at, &x, false)?;
    let mut dims = x.arg.ty.dims.clone();
    dims.remove(x.axis);
    call.one(x.with_dims(dims), move |args| {
        let tensor = x.arg.of(args)?;
        let cut = x.cut(&tensor)?;
        let (sequences, steps) = (cut.list.partition(), cut.list.values());
        let mut ends = x.filled(&tensor, steps, &filling, args)?;
        for record in 0..cut.records.nrows() {
            for range in cut.records.range(record).map(|s| sequences.range(s)) {
                match kind {
                    _ if range.is_empty() => ends.fill(record, 1),
                    PooledStep::Last => ends.copy(range.end - 1, range.end),
                    _ => ends.copy(range.start, range.start + 1),
                }
            }
        }
        let ends = ends.finish()?;
        let PooledStep::Of(op) = kind else { return cut.around(ends) };
        // The first steps, onto which the others are accumulated.
        let inner = x.step().len();
        let (blocks, places) = (merged(steps, 0, inner)?, merged(&ends, 0, inner)?);
        let (_, values) = steps.levels(inner)?;
        let values = values.as_leaf()?;
        cut.around(
            ends.map_below(inner, &mut |first| Ok(Tensor::Leaf(combined(op, first.as_leaf()?, &places, values, &blocks, sequences)?)))?,
        )
    })
}
