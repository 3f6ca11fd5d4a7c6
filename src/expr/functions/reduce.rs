//! Reductions along axes.
//!
//! Semantics: `tf.math.reduce_*` on tf.RaggedTensor. Axes are reduced one at a time, innermost first. Dense
//! and ragged tensors differ where they do in TensorFlow: the maximum of nothing is either minus infinity or the lowest
//! finite value, and the mean of integers is either an integer or a float.

use super::apply::with_dtype;
use super::time_order::{Returned, by_order};
use crate::error::Result;
use crate::expr::call::{Arg, Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::broadcast::align;
use crate::expr::kernels::cast::cast;
use crate::expr::kernels::datum::Datum;
use crate::expr::kernels::elementwise::{self, Binary, Float, Unary};
use crate::expr::kernels::level::{item_size, merged};
use crate::expr::kernels::segment::{self, Reduce};
use crate::expr::operand::OperandKind;
use crate::expr::types::last_ragged;
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["reduce_sum", "math.reduce_sum"],
        "input_tensor|x|input, axis|reduction_indices=None, keepdims|keep_dims=False",
        "Sum over axes; over all axes by default.",
        [("reduce_sum([[3, 1], [], [2, 4, 5]], axis=1)", "[4, 0, 11]"), ("reduce_sum([[3, 1], [], [2, 4, 5]], axis=0)", "[5, 5, 5]")],
        |c| simple(c, "numbers", DType::is_number, |dense| Reduce::Sum { wide: dense, lone: dense })
    ),
    function!(
        ["reduce_prod", "math.reduce_prod"],
        "input_tensor|x|input, axis|reduction_indices=None, keepdims|keep_dims=False",
        "Product over axes.",
        [("reduce_prod([[3, 1], [], [2, 4, 5]], axis=1)", "[3, 1, 40]")],
        |c| simple(c, "numbers", DType::is_number, |_| Reduce::Product)
    ),
    function!(
        ["reduce_min", "math.reduce_min"],
        "input_tensor|x|input, axis|reduction_indices=None, keepdims|keep_dims=False",
        "Minimum over axes. If there are no values, the largest value of the dtype (infinity for floats), as in TensorFlow.",
        [("reduce_min([[3, 1], [2, 4, 5]], axis=1)", "[1, 2]")],
        |c| {
            by_order(c, &[0], Returned::Values, |c, _| {
                simple(c, "numbers", DType::is_number, |infinite| Reduce::Minimum { infinite, nan_stays: infinite })
            })
        }
    ),
    function!(
        ["reduce_max", "math.reduce_max"],
        "input_tensor|x|input, axis|reduction_indices=None, keepdims|keep_dims=False",
        "Maximum over axes. If there are no values, the smallest value of the dtype (-infinity for floats), as in TensorFlow.",
        [("reduce_max([[3, 1], [2, 4, 5]], axis=1)", "[3, 5]")],
        |c| {
            by_order(c, &[0], Returned::Values, |c, _| {
                simple(c, "numbers", DType::is_number, |infinite| Reduce::Maximum { infinite, nan_stays: infinite })
            })
        }
    ),
    function!(
        ["reduce_any", "math.reduce_any"],
        "input_tensor|x|input, axis|reduction_indices=None, keepdims|keep_dims=False",
        "Logical OR over axes: whether any value is true.",
        [("reduce_any([[True, False], []], axis=1)", "[true, false]")],
        |c| truth(c, Reduce::Any)
    ),
    function!(
        ["reduce_all", "math.reduce_all"],
        "input_tensor|x|input, axis|reduction_indices=None, keepdims|keep_dims=False",
        "Logical AND over axes: whether all values are true.",
        [("reduce_all([[True, False], []], axis=1)", "[false, true]")],
        |c| truth(c, Reduce::All)
    ),
    function!(
        ["reduce_mean", "math.reduce_mean"],
        "input_tensor|x|input, axis|reduction_indices=None, keepdims|keep_dims=False",
        "Mean over axes. The mean of integers in a list or dense tensor is an integer, as in TensorFlow; for a fractional mean, cast(x, float64) first.",
        [("reduce_mean([[3, 1], [2, 4, 6]], axis=1)", "[2.0, 4.0]"), ("reduce_mean([3.0, 2.0])", "2.5")],
        mean
    ),
    function!(
        ["math.reduce_variance", "reduce_variance"],
        "input_tensor|x, axis=None, keepdims=False",
        "Variance over axes.",
        [("math.reduce_variance([[3.0, 1.0], [2.0]], axis=1)", "[1.0, 0.0]")],
        |c| variance(c, false)
    ),
    function!(
        ["math.reduce_std", "reduce_std"],
        "input_tensor|x, axis=None, keepdims=False",
        "Standard deviation over axes.",
        [("math.reduce_std([[5.0, 1.0], [2.0]], axis=1)", "[2.0, 0.0]")],
        |c| variance(c, true)
    ),
];

/// One step of a reduction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Whether this is the first step.
    pub first: bool,
    /// Whether the axis is part of the flat values, below all ragged axes. TensorFlow reduces such an axis as in a
    /// dense tensor.
    pub dense: bool,
}

/// The axes to reduce, in order.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Innermost first; `None` reduces all at once.
    axes: Option<Vec<usize>>,
    keepdims: bool,
}

/// The plan given by arguments 1 (axis) and 2 (keepdims) of a call.
///
/// # Errors
/// An axis out of range.
pub fn plan(call: &Call, x: &Arg) -> ExprResult<Plan> {
    let keepdims = call.flag(2, false)?;
    let axes = match call.ints(1)? {
        None => None,
        Some(axes) => {
            let mut axes = axes.into_iter().map(|a| call.axis(1, a, x.rank())).collect::<ExprResult<Vec<_>>>()?;
            axes.sort_unstable_by(|a, b| b.cmp(a));
            if let Some(w) = axes.windows(2).find(|w| w[0] == w[1] && last_ragged(&x.ty.dims).is_none()) {
                return Err(call.error(format!("axis {} appears twice", w[0])));
            }
            Some(axes)
        }
    };
    Ok(Plan { axes, keepdims })
}

impl Plan {
    /// Reduces all axes at once.
    pub fn all(keepdims: bool) -> Plan {
        Plan { axes: None, keepdims }
    }

    /// The axes of the result.
    ///
    /// # Errors
    /// An axis is repeated, and no longer exists the second time.
    pub fn dims(&self, dims: &[Dim]) -> ExprResult<Vec<Dim>> {
        match &self.axes {
            None if self.keepdims => Ok(vec![Dim::known(1); kept_rank(dims)]),
            None => Ok(Vec::new()),
            Some(axes) => {
                let mut left = Axes::new(dims);
                for axis in axes {
                    if *axis >= left.dims.len() {
                        return Err(ExprError::new("an axis appears twice"));
                    }
                    left = left.reduced(*axis, self.keepdims);
                }
                Ok(left.dims)
            }
        }
    }

    /// Reduces a tensor with these axes.
    ///
    /// # Errors
    /// Only internal errors.
    pub fn run<'o>(&self, tensor: &Tensor, dims: &[Dim], op: &dyn Fn(Step) -> Reduce<'o>) -> Result<Tensor> {
        let Some(axes) = &self.axes else {
            let partition = merged(tensor, 0, dims.len())?;
            let (_, below) = tensor.levels(dims.len())?;
            let mut out = Tensor::Leaf(segment::rows(op(Step { first: true, dense: true }), below.as_leaf()?, &partition)?);
            if self.keepdims {
                for _ in 0..kept_rank(dims) {
                    out = Tensor::list(RowPartition::uniform(1, out.nrows())?, out, None)?;
                }
            }
            return Ok(out);
        };
        let (mut tensor, mut left) = (tensor.clone(), Axes::new(dims));
        for (i, axis) in axes.iter().enumerate() {
            let op = op(Step { first: i == 0, dense: *axis >= left.partitioned });
            let without = left.reduced(*axis, false).dims;
            let keep = self.keepdims;
            // The items of rows at level `axis` are reduced, which leaves slices with one axis less.
            let owners = merged(&tensor, 0, *axis)?;
            let rank = left.dims.len();
            // Axes with row partitions take the length of the longest row, which is 0 without rows.
            let absent = |record: usize, inner: usize| match rank.checked_sub(1 + inner) {
                Some(axis) if axis >= left.partitioned => item_size(&tensor, record, rank, inner),
                _ => 0,
            };
            let reduced = tensor.map_below(*axis, &mut |t| {
                let out = one_axis(op, t, &without[*axis..], &owners, &absent)?;
                if keep { Tensor::list(RowPartition::uniform(1, out.nrows())?, out, None) } else { Ok(out) }
            })?;
            tensor = reduced;
            left = left.reduced(*axis, keep);
        }
        Ok(tensor)
    }
}

/// The number of axes left if all are reduced with keepdims. TensorFlow keeps the inner axes of a ragged tensor twice:
/// once in its flat values, and again when it adds one axis for each axis of the tensor.
fn kept_rank(dims: &[Dim]) -> usize {
    dims.len() + last_ragged(dims).map_or(0, |last| dims.len() - last - 1)
}

/// Reduces the items of each row. `dims` are the axes of the result below that row; `owners` partitions the rows by
/// record; `absent`: see [`segment::aggregate`].
fn one_axis(op: Reduce, tensor: &Tensor, dims: &[Dim], owners: &RowPartition, absent: &dyn Fn(usize, usize) -> usize) -> Result<Tensor> {
    let list = tensor.as_list()?;
    if dims.is_empty() {
        return Ok(Tensor::Leaf(segment::rows(op, list.values().as_leaf()?, list.partition())?));
    }
    let partition = list.partition();
    let mut ids = Vec::with_capacity(partition.nvals());
    for row in 0..partition.nrows() {
        ids.extend(std::iter::repeat_n(row, partition.row_length(row)));
    }
    segment::aggregate(op, list.values(), dims, &ids, owners, absent)
}

/// The axes left of a tensor while it is reduced.
struct Axes {
    dims: Vec<Dim>,
    /// The number of outer axes with row partitions, in TensorFlow: all down to the last ragged axis. A uniform axis
    /// keeps its partition after the ragged axis below it has been reduced.
    partitioned: usize,
}

impl Axes {
    fn new(dims: &[Dim]) -> Axes {
        Axes { dims: dims.to_vec(), partitioned: last_ragged(dims).map_or(0, |last| last + 1) }
    }

    /// The axes left after reducing one.
    fn reduced(&self, axis: usize, keepdims: bool) -> Axes {
        let mut dims = self.dims.clone();
        let gone = dims.remove(axis);
        let never_empty = matches!(gone.size, Size::Known(n) if n > 0);
        let partition_below = self.partitioned > axis + 1;
        if let Some(next) = dims.get_mut(axis) {
            let uniform = next.size != Size::Ragged;
            if axis == 0 {
                // Axis 0 has one slice per record, whose length is that of the longest row.
                if !uniform || (partition_below && !never_empty) {
                    *next = Dim::UNIFORM;
                }
            } else if uniform && partition_below && !never_empty {
                // A row without items gives an empty slice.
                *next = Dim::RAGGED;
            }
        }
        let mut partitioned = self.partitioned;
        if keepdims {
            // With axis 0 kept, the next axis is again an inner axis, with one row.
            dims.insert(axis, Dim::known(1));
        }
        if axis < self.partitioned && (!keepdims || axis + 1 == self.partitioned) {
            partitioned -= 1;
        }
        // With no ragged axis left, TensorFlow's result is a dense tensor.
        if partitioned == 1 {
            partitioned = 0;
        }
        Axes { dims, partitioned }
    }
}

fn simple(call: &mut Call, expected: &str, fits: fn(&DType) -> bool, op: fn(bool) -> Reduce<'static>) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    let plan = plan(call, &x)?;
    // Without axes, nothing is reduced.
    if plan.axes.as_ref().is_none_or(|axes| !axes.is_empty()) {
        call.check_dtype(&x, expected, fits)?;
    }
    let ty = Type::tensor(x.dtype()?.clone(), plan.dims(&x.ty.dims)?);
    call.one(ty, move |args| plan.run(&*x.of(args)?, &x.ty.dims, &|step| op(step.dense)))
}

fn truth(call: &mut Call, op: Reduce<'static>) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "bools and numbers", |d| d.is_number() || *d == DType::Bool)?;
    let plan = plan(call, &x)?;
    let ty = Type::tensor(DType::Bool, plan.dims(&x.ty.dims)?);
    call.one(ty, move |args| {
        let bools = x.of(args)?.map_below(x.rank(), &mut |t| Ok(Tensor::Leaf(cast(t.as_leaf()?, &DType::Bool)?)))?;
        plan.run(&bools, &x.ty.dims, &|_| op)
    })
}

/// The dtype in which TensorFlow divides sums.
fn mean_dtype(x: &Arg) -> ExprResult<DType> {
    let dtype = x.dtype()?;
    let dense = last_ragged(&x.ty.dims).is_none();
    Ok(match dtype {
        d if d.is_float() || dense => d.clone(),
        DType::Int8 | DType::Int16 | DType::UInt8 | DType::UInt16 => DType::Float32,
        _ => DType::Float64,
    })
}

/// Sums in the tensor's dtype, then divided by the counts.
fn mean_of(tensor: &Tensor, dims: &[Dim], plan: &Plan, dtype: &DType) -> Result<Tensor> {
    let rank = dims.len();
    let sums = |tensor: &Tensor| plan.run(tensor, dims, &|step| Reduce::Sum { wide: step.dense, lone: step.dense });
    let counts = match plan.axes.as_deref() {
        // Nothing is reduced, so every count is one.
        Some([]) => tensor.map_below(rank, &mut |t| Ok(Tensor::Leaf(segment::ones(t.nrows()))))?,
        _ => plan.run(tensor, dims, &|step| if step.first { Reduce::Count } else { Reduce::Sum { wide: step.dense, lone: step.dense } })?,
    };
    let levels = plan.dims(dims).map_err(|e| crate::error::Error::data(e.message()))?.len();
    let (_, counts) = counts.levels(levels)?;
    let counts = counts.as_leaf()?;
    segment::means(&sums, (tensor, rank), levels, (counts.as_primitive::<Float64Type>().values(), counts), dtype)
}

fn mean(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "numbers", DType::is_number)?;
    let plan = plan(call, &x)?;
    let dtype = mean_dtype(&x)?;
    let ty = Type::tensor(dtype.clone(), plan.dims(&x.ty.dims)?);
    let levels = ty.rank();
    // TensorFlow adds narrow integers of a dense tensor in a wider dtype, and those of a ragged tensor in their own
    // dtype.
    let wide = match dtype {
        _ if last_ragged(&x.ty.dims).is_some() => None,
        DType::Int8 | DType::Int16 | DType::Int32 => Some(DType::Int64),
        DType::UInt8 | DType::UInt16 | DType::UInt32 => Some(DType::UInt64),
        _ => None,
    };
    call.one(ty, move |args| {
        let (tensor, dims) = (x.of(args)?, &x.ty.dims);
        let Some(wide) = &wide else {
            return mean_of(&tensor, dims, &plan, &dtype);
        };
        let leaves = |t: &Tensor, levels: usize, to: &DType| t.map_below(levels, &mut |t| Ok(Tensor::Leaf(cast(t.as_leaf()?, to)?)));
        leaves(&mean_of(&leaves(&tensor, dims.len(), wide)?, dims, &plan, wide)?, levels, &dtype)
    })
}

/// Ragged: E[x^2] - E[x]^2 in the tensor's precision. Dense: the mean of squared deviations.
fn variance(call: &mut Call, root: bool) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "numbers", DType::is_number)?;
    let plan = plan(call, &x)?;
    let ragged = last_ragged(&x.ty.dims).is_some();
    let dtype = match x.dtype()? {
        d if d.is_float() => d.clone(),
        _ if ragged => mean_dtype(&x)?,
        _ => DType::Float64,
    };
    let result = plan.dims(&x.ty.dims)?;
    let ty = with_dtype(&Type::tensor(dtype.clone(), result.clone()), dtype.clone());
    call.one(ty, move |args| {
        let dims = &x.ty.dims;
        let leaf = |t: &Tensor, f: &dyn Fn(&arrow_array::ArrayRef) -> Result<arrow_array::ArrayRef>, levels: usize| {
            t.map_below(levels, &mut |t| Ok(Tensor::Leaf(f(t.as_leaf()?)?)))
        };
        // The squares and sums of ragged integers are integers and wrap around.
        let tensor = if ragged { x.of(args)?.into_owned() } else { leaf(&*x.of(args)?, &|a| cast(a, &dtype), dims.len())? };
        let out = if !ragged {
            let kept = Plan { keepdims: true, ..plan.clone() };
            let mean = mean_of(&tensor, dims, &kept, &dtype)?;
            let mean_dims = kept.dims(dims).map_err(|e| crate::error::Error::data(e.message()))?;
            let aligned = align(&[(&tensor, dims.as_slice()), (&mean, mean_dims.as_slice())])?;
            let (a, b) = (aligned.flat(0, &tensor, dims.len())?, aligned.flat(1, &mean, dims.len())?);
            let (a, b) = (Datum { array: a.as_leaf()?, scalar: false }, Datum { array: b.as_leaf()?, scalar: false });
            let distances = elementwise::binary(Binary::SquaredDifference, a, b).map_err(|(_, e)| e)?;
            mean_of(&aligned.wrap(Tensor::Leaf(distances))?, dims, &plan, &dtype)?
        } else {
            let squares = leaf(&tensor, &|a| elementwise::unary(Unary::Square, a), dims.len())?;
            let (mean_square, mean) = (mean_of(&squares, dims, &plan, &dtype)?, mean_of(&tensor, dims, &plan, &dtype)?);
            let (_, mean) = mean.levels(result.len())?;
            let square = elementwise::unary(Unary::Square, mean.as_leaf()?)?;
            leaf(
                &mean_square,
                &|a| {
                    let plain = |array| Datum { array, scalar: false };
                    let difference = elementwise::binary(Binary::Subtract, plain(a), plain(&square)).map_err(|(_, e)| e)?;
                    // Rounding can make it negative.
                    elementwise::unary(Unary::Relu, &difference)
                },
                result.len(),
            )?
        };
        if root { leaf(&out, &|a| elementwise::float(Float::Sqrt, a), result.len()) } else { Ok(out) }
    })
}
