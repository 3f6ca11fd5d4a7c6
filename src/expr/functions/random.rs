//! Random numbers, determined by `--seed` and the record number.
//!
//! Semantics: `tf.random`, `tf.nn.dropout`. The distributions match TensorFlow's; the numbers do not.

use super::apply::with_dtype;
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, Integer, Integers};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::kernels::cast::{cast, dtype_of, native};
use crate::expr::kernels::level::{dense_partitions, merged, partition_of, wrap};
use crate::expr::kernels::number::{Number, floats};
use crate::expr::operand::{Operand, OperandKind};
use crate::random::Random;
use crate::schema::{DType, Dim, Literal, Type};
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["random.uniform", "random_uniform"],
        "shape, minval=0, maxval=None, dtype=float32, seed=None",
        "Uniform random numbers from minval up to, but not including, maxval (1). The numbers depend on --seed, the \
         name of the input as given, the record number in it, and the call, so the numbers \
         for piped input differ from those for the same data in a file.",
        [],
        uniform
    ),
    function!(
        ["random.normal", "random_normal"],
        "shape, mean=0.0, stddev=1.0, dtype=float32, seed=None",
        "Random numbers from a normal distribution.",
        [],
        |c| { normal(c, Random::normal) }
    ),
    function!(
        ["random.truncated_normal", "truncated_normal"],
        "shape, mean=0.0, stddev=1.0, dtype=float32, seed=None",
        "Random numbers from a normal distribution, limited to two standard deviations from the mean.",
        [],
        |c| normal(c, Random::truncated_normal)
    ),
    function!(["random.shuffle", "random_shuffle"], "value|x, seed=None", "Shuffle the items of axis 0.", [], shuffle),
    function!(
        ["random.categorical"],
        "logits, num_samples, dtype=int64, seed=None",
        "Draw random classes for each row of unnormalized log probabilities.",
        [],
        categorical
    ),
    function!(
        ["nn.dropout", "nn.experimental.stateless_dropout"],
        "x, rate, noise_shape=None, seed=None",
        "Set values to 0 with probability rate, and scale up the others so that the expected sum is unchanged.",
        [],
        dropout
    ),
];

/// The random stream of each record: the record keys, and the index of the call.
struct Streams {
    keys: Arg,
    call: u64,
}

impl Streams {
    /// The streams of a call. Argument `i` is its seed; by default, its position in the text distinguishes it from
    /// other calls.
    fn new(call: &mut Call, i: usize) -> ExprResult<Streams> {
        let seed = call.optional_int(i)?;
        let number = seed.map_or(call.span.start as u64, |seed| (seed as u64) ^ (1 << 63));
        Ok(Streams { keys: call.record_keys(), call: number })
    }

    fn of(&self, args: &Args) -> Result<Vec<Random>> {
        let keys = self.keys.of(args)?;
        Ok(native::<UInt64Type>(keys.as_leaf()?)?.iter().map(|key| Random::keyed(*key, self.call)).collect())
    }
}

/// A number for each record as float64, or a default.
fn number(call: &mut Call, i: usize, default: f64) -> ExprResult<Arg> {
    let item = match call.given(i) {
        Some(item) => item.clone(),
        None => Operand { kind: OperandKind::Literal(Literal::Float(default)), span: call.span.clone() },
    };
    let arg = call.promoted_items(&[item])?.swap_remove(0);
    if arg.rank() > 0 || !arg.dtype()?.is_number() {
        return Err(ExprError::at(arg.span.clone(), format!("{}: {} must be a single number, not {}", call.name, call.param(i), arg.ty)));
    }
    Ok(arg)
}

fn f64s(arg: &Arg, args: &Args) -> Result<Vec<f64>> {
    let values = cast(arg.of(args)?.as_leaf()?, &DType::Float64)?;
    Ok(native::<Float64Type>(&values)?.to_vec())
}

/// A tensor of a shape given for each record. Values are drawn as float64 or int64, record by record, and then cast.
fn drawn(
    call: &mut Call,
    dtype: DType,
    fill: impl Fn(&Args, &[usize], Vec<Random>) -> Result<ArrayRef> + Send + Sync + 'static,
) -> ExprResult<OperandKind> {
    let shape = call.all_integers(0)?;
    let streams = Streams::new(call, 4)?;
    let dims: Vec<Dim> = shape.iter().map(|n| n.dim()).collect();
    call.one(Type::tensor(dtype.clone(), dims.clone()), move |args| {
        let sizes = shape.iter().map(|n| n.of(args)).collect::<Result<Vec<Integers>>>()?;
        let (partitions, records) = dense_partitions(&dims, args.nrows, |axis, record| sizes[axis].size(record, "the size"))?;
        wrap(partitions.into_iter(), Tensor::Leaf(cast(&fill(args, &records, streams.of(args)?)?, &dtype)?))
    })
}

/// As many random bits as the mantissa of the float dtype holds, so that no number is rounded up to 1.
fn mantissa(dtype: &DType) -> u32 {
    match dtype {
        DType::Float16 => 11,
        DType::Float32 => 24,
        _ => 53,
    }
}

fn uniform(call: &mut Call) -> ExprResult<OperandKind> {
    let dtype = call.dtype(3)?.unwrap_or(DType::Float32);
    if dtype.is_integer() {
        if call.given(2).is_none() {
            return Err(call.error("random.uniform of integers needs maxval"));
        }
        let (low, high) = (if call.given(1).is_some() { call.integer(1)? } else { Integer::Known(0) }, call.integer(2)?);
        return drawn(call, dtype, move |args, records, mut streams| {
            let (low, high) = (low.of(args)?, high.of(args)?);
            let draw = |record: &usize| {
                let (low, high) = (low.at(*record), high.at(*record));
                if low >= high {
                    return Err(Error::data(format!("there are no integers in [{low}, {high})")).at_row(*record));
                }
                Ok(low.wrapping_add(streams[*record].below(high.wrapping_sub(low) as u64) as i64))
            };
            Ok(Arc::new(Int64Array::from(records.iter().map(draw).collect::<Result<Vec<_>>>()?)) as ArrayRef)
        });
    }
    if !dtype.is_float() {
        return Err(call.error(format!("random.uniform returns numbers, not {dtype}")));
    }
    let (low, high, bits) = (number(call, 1, 0.0)?, number(call, 2, 1.0)?, mantissa(&dtype));
    drawn(call, dtype, move |args, records, mut streams| {
        let (low, high) = (f64s(&low, args)?, f64s(&high, args)?);
        let values = records.iter().map(|r| low[*r] + (high[*r] - low[*r]) * streams[*r].uniform(bits));
        Ok(Arc::new(Float64Array::from_iter_values(values)))
    })
}

fn normal(call: &mut Call, draw: fn(&mut Random) -> f64) -> ExprResult<OperandKind> {
    let dtype = call.dtype(3)?.unwrap_or(DType::Float32);
    if !dtype.is_float() {
        return Err(call.error(format!("{} returns floats, not {dtype}", call.name)));
    }
    let (mean, deviation) = (number(call, 1, 0.0)?, number(call, 2, 1.0)?);
    drawn(call, dtype, move |args, records, mut streams| {
        let (mean, deviation) = (f64s(&mean, args)?, f64s(&deviation, args)?);
        let values = records.iter().map(|r| mean[*r] + deviation[*r] * draw(&mut streams[*r]));
        Ok(Arc::new(Float64Array::from_iter_values(values)))
    })
}

fn shuffle(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.moved(0)?;
    call.moves_below(&x, 1);
    if x.rank() == 0 || x.ty.is_sparse() {
        return Err(ExprError::at(x.span.clone(), format!("random.shuffle expects a tensor with at least one axis, found {}", x.ty)));
    }
    let streams = Streams::new(call, 1)?;
    call.one(x.ty.clone(), move |args| {
        let tensor = x.of(args)?;
        let list = tensor.as_list()?;
        let mut places = Vec::with_capacity(list.partition().nvals());
        for (record, mut stream) in streams.of(args)?.into_iter().enumerate() {
            let range = list.partition().range(record);
            places.extend(stream.permutation(range.len()).into_iter().map(|i| range.start + i));
        }
        Tensor::list(list.partition().clone(), list.values().gather(&places)?, None)
    })
}

fn categorical(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "floats", DType::is_float)?;
    if x.rank() != 2 {
        return Err(ExprError::at(x.span.clone(), format!("random.categorical draws from each row of a matrix; this is {}", x.ty)));
    }
    let count = call.integer(1)?;
    let dtype = call.dtype(2)?.unwrap_or(DType::Int64);
    if !dtype.is_integer() {
        return Err(call.error(format!("random.categorical returns integers, not {dtype}")));
    }
    let streams = Streams::new(call, 3)?;
    let dims = vec![x.ty.dims[0].clone(), count.dim()];
    let last = count.dim();
    call.one(Type::tensor(dtype.clone(), dims), move |args| {
        let tensor = x.of(args)?;
        let rows = tensor.as_list()?;
        let classes = rows.values().as_list()?;
        let logits = cast(classes.values().as_leaf()?, &DType::Float64)?;
        let logits = native::<Float64Type>(&logits)?;
        let counts = count.of(args)?;
        let (mut out, mut lengths) = (Vec::new(), Vec::with_capacity(rows.partition().nvals()));
        for (record, mut stream) in streams.of(args)?.into_iter().enumerate() {
            let n = counts.size(record, "num_samples")?;
            let all = n.checked_mul(rows.partition().row_length(record)).and_then(|n| n.checked_add(out.len()));
            out.reserve(check_count(all, record)? - out.len());
            for row in rows.partition().range(record) {
                let own = &logits[classes.partition().range(row)];
                let most = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                // Each class up to the end of its weights, the last one with a weight above 0 up to the sum of all.
                let ends: Vec<f64> = own
                    .iter()
                    .scan(0.0, |end, logit| {
                        *end += (logit - most).exp();
                        Some(*end)
                    })
                    .collect();
                let sum = ends.last().copied().unwrap_or(0.0);
                let last = ends.partition_point(|end| *end < sum);
                if n > 0 && !(sum > 0.0 && sum.is_finite()) {
                    return Err(Error::data("a row of logits has no class with a probability above 0").at_row(record));
                }
                for _ in 0..n {
                    let drawn = stream.uniform(53) * sum;
                    out.push(ends[..last].partition_point(|end| *end <= drawn) as i64);
                }
                lengths.push(n);
            }
        }
        let flat = cast(&(Arc::new(Int64Array::from(out)) as ArrayRef), &dtype)?;
        let inner = Tensor::list(partition_of(&last, lengths)?, Tensor::Leaf(flat), None)?;
        Tensor::list(rows.partition().clone(), inner, None)
    })
}

fn dropout(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "floats", DType::is_float)?;
    if call.given(2).is_some() {
        return Err(call.error("dropout draws a number for every value; noise_shape is not supported"));
    }
    let rate = number(call, 1, 0.0)?;
    let streams = Streams::new(call, 3)?;
    call.one(with_dtype(&x.ty, x.dtype()?.clone()), move |args| {
        let tensor = x.of(args)?;
        let whole: RowPartition = merged(&tensor, 0, x.rank())?;
        let (rates, mut streams) = (f64s(&rate, args)?, streams.of(args)?);
        if let Some(row) = rates.iter().position(|rate| !(0.0..1.0).contains(rate)) {
            return Err(Error::data(format!("the rate {} is out of range [0, 1)", rates[row])).at_row(row));
        }
        let kept: Vec<bool> =
            (0..whole.nrows()).flat_map(|r| whole.range(r).map(move |_| r)).map(|r| streams[r].uniform(53) >= rates[r]).collect();
        let scales: Vec<f64> = (0..whole.nrows()).flat_map(|r| std::iter::repeat_n(1.0 / (1.0 - rates[r]), whole.row_length(r))).collect();
        tensor.map_below(x.rank(), &mut |t| {
            let array = t.as_leaf()?;
            let dtype = dtype_of(array)?;
            floats!(&dtype, T => {
                let scaled = native::<T>(array)?.iter().zip(&kept).zip(&scales).map(|((v, kept), scale)| {
                    if *kept { <T as Number>::of_f64(<T as Number>::to_f64(*v) * scale) } else { <T as Number>::ZERO }
                });
                Ok(Tensor::Leaf(Arc::new(PrimitiveArray::<T>::from_iter_values(scaled)) as ArrayRef))
            }, Err(Error::internal("dropout of other values")))
        })
    })
}
