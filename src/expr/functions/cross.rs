//! Feature crosses: combinations of the values of several tensors.
//!
//! ```text
//! a        [[1] [2 3]]
//! b        [[x] [y]]
//! crossed  [[1_X_x] [2_X_y 3_X_y]]     the last input varies fastest
//! ```
//!
//! Semantics: `tf.ragged.cross`, `tf.ragged.cross_hashed`.

use crate::error::Result;
use crate::expr::call::{Arg, Call, Function, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::kernels::cast::{cast, i64s};
use crate::expr::kernels::hash::{fingerprint_cat, fingerprint64};
use crate::expr::kernels::level::{check_same, from_lengths, wrap};
use crate::expr::kernels::text::{TextBuilder, Texts};
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{Array, ArrayRef, Int64Array};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["ragged.cross"],
        "inputs",
        "All combinations of values from the rows of the inputs, joined with _X_.",
        [("ragged.cross([[[\"a\"]], [[\"b\", \"c\"]]])", "[[\"a_X_b\", \"a_X_c\"]]")],
        cross
    ),
    function!(
        ["ragged.cross_hashed"],
        "inputs, num_buckets=0, hash_key=None",
        "All combinations of values from the rows of the inputs, hashed into num_buckets (0 means 2^63 - 1).",
        [("ragged.cross_hashed([[[\"a\"]], [[\"d\"]], [[\"f\"]]], num_buckets=100)", "[[78]]")],
        cross_hashed
    ),
];

fn cross(call: &mut Call) -> ExprResult<OperandKind> {
    let inputs = Inputs::new(call)?;
    let bytes = inputs.args.iter().any(|a| a.ty.dtype() == Some(&DType::Bytes));
    let dtype = if bytes { DType::Bytes } else { DType::String };
    call.one(Type::tensor(dtype.clone(), inputs.dims.clone()), move |args| inputs.combined(args, |columns| joined(columns, b"_X_", &dtype)))
}

fn cross_hashed(call: &mut Call) -> ExprResult<OperandKind> {
    let inputs = Inputs::new(call)?;
    let (buckets, key) = buckets(call, Some)?;
    call.one(Type::tensor(DType::Int64, inputs.dims.clone()), move |args| inputs.combined(args, |columns| hashed(columns, buckets, key)))
}

/// The arguments num_buckets and hash_key, at positions 1 and 2. `given`: the key, unless it means the default.
///
/// # Errors
/// The arguments are not integers, or the number of buckets is negative.
pub fn buckets(call: &Call, given: impl Fn(i64) -> Option<i64>) -> ExprResult<(u64, u64)> {
    const DEFAULT_KEY: i64 = 0x00de_cafc_affe;
    let buckets = call.optional_int(1)?.unwrap_or(0);
    let buckets = u64::try_from(buckets)
        .or_else(|_| Err(ExprError::at(call.operand(1)?.span.clone(), format!("num_buckets is {buckets}; it must not be negative"))))?;
    let buckets = if buckets == 0 { i64::MAX as u64 } else { buckets };
    Ok((buckets, call.optional_int(2)?.and_then(given).unwrap_or(DEFAULT_KEY) as u64))
}

/// The combinations of each row as strings.
///
/// # Errors
/// Too many combinations, or strings that are not valid UTF-8.
pub fn joined(columns: &[CrossColumn], separator: &[u8], dtype: &DType) -> Result<(RowPartition, ArrayRef)> {
    let texts = columns.iter().map(|c| texts(&c.values)).collect::<Result<Vec<_>>>()?;
    let texts = texts.iter().map(Texts::of).collect::<Result<Vec<_>>>()?;
    let mut out = TextBuilder::with_capacity(0, 0);
    let rows = combine(columns, |chosen| {
        for (k, (place, texts)) in chosen.iter().zip(&texts).enumerate() {
            if k > 0 {
                out.bytes.extend_from_slice(separator);
            }
            out.bytes.extend_from_slice(texts.get(*place));
        }
        out.end();
    })?;
    Ok((rows, out.finish(dtype)?))
}

/// The combinations of each row as integers below `buckets`.
///
/// # Errors
/// Too many combinations.
pub fn hashed(columns: &[CrossColumn], buckets: u64, key: u64) -> Result<(RowPartition, ArrayRef)> {
    let hashes = columns.iter().map(|c| fingerprints(&c.values)).collect::<Result<Vec<_>>>()?;
    let mut out = Vec::new();
    let rows = combine(columns, |chosen| {
        let hash = chosen.iter().zip(&hashes).fold(key, |hash, (place, own)| fingerprint_cat(hash, own[*place]));
        out.push((hash % buckets) as i64);
    })?;
    Ok((rows, Arc::new(Int64Array::from(out)) as ArrayRef))
}

/// The tensors to combine: rows of integers or strings.
struct Inputs {
    args: Vec<Arg>,
    dims: Vec<Dim>,
}

/// The rows of an input below its first axis, and its values.
pub struct CrossColumn {
    pub rows: RowPartition,
    pub values: ArrayRef,
}

impl Inputs {
    fn new(call: &mut Call) -> ExprResult<Inputs> {
        let items = call.list(0)?;
        if items.is_empty() {
            return Err(call.error(format!("{} needs at least one input", call.name)));
        }
        let mut args = Vec::with_capacity(items.len());
        for item in &items {
            let arg = call.push(strict_node(item)?);
            call.check_dtype(&arg, "integers and strings", |d| d.is_integer() || matches!(d, DType::String | DType::Bytes))?;
            if arg.rank() != 2 {
                return Err(ExprError::at(arg.span.clone(), format!("{} expects a tensor of rank 2, found {}", call.name, arg.ty)));
            }
            args.push(arg);
        }
        let rows = args.iter().find_map(|a| if let Size::Known(n) = a.ty.dims[0].size { Some(n) } else { None });
        Ok(Inputs { args, dims: vec![rows.map_or(Dim::UNIFORM, Dim::known), Dim::RAGGED] })
    }

    /// The result. `combine` returns its rows and values, given the columns, which have equal numbers of rows.
    fn combined(&self, args: &Args, combine: impl Fn(&[CrossColumn]) -> Result<(RowPartition, ArrayRef)>) -> Result<Tensor> {
        let tensors = self.args.iter().map(|arg| rows_of(&*arg.of(args)?)).collect::<Result<Vec<_>>>()?;
        for other in &tensors[1..] {
            check_same(&tensors[0], other, 1, "the inputs")?;
        }
        let columns = tensors
            .iter()
            .map(|t| {
                let (partitions, below) = t.levels(2)?;
                Ok(CrossColumn { rows: partitions[1].clone(), values: below.as_leaf()?.clone() })
            })
            .collect::<Result<Vec<_>>>()?;
        let (rows, values) = combine(&columns)?;
        wrap([tensors[0].levels(1)?.0[0].clone(), rows].into_iter(), Tensor::Leaf(values))
    }
}

/// Calls `visit` with the positions of the values of each combination, row by row. Returns the rows of the result.
fn combine(columns: &[CrossColumn], mut visit: impl FnMut(&[usize])) -> Result<RowPartition> {
    let nrows = columns.first().map_or(0, |c| c.rows.nrows());
    let (mut all, mut lengths) = (0usize, Vec::with_capacity(nrows));
    for row in 0..nrows {
        let counts: Vec<usize> = columns.iter().map(|c| c.rows.row_length(row)).collect();
        let total = counts.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        let total = check_count(total.and_then(|t| t.checked_add(all)), 0)? - all;
        let mut chosen: Vec<usize> = columns.iter().map(|c| c.rows.start(row)).collect();
        for _ in 0..total {
            visit(&chosen);
            for (place, column) in chosen.iter_mut().zip(columns).rev() {
                *place += 1;
                if *place < column.rows.start(row + 1) {
                    break;
                }
                *place = column.rows.start(row);
            }
        }
        all += total;
        lengths.push(total);
    }
    from_lengths(lengths)
}

/// A sparse matrix as the rows of its values; other tensors unchanged.
fn rows_of(tensor: &Tensor) -> Result<Tensor> {
    let Tensor::Sparse(sparse) = tensor else {
        return Ok(tensor.clone());
    };
    let (mut rows, mut lengths, mut places) = (Vec::with_capacity(sparse.nrows()), Vec::new(), Vec::new());
    for record in 0..sparse.nrows() {
        let nrows = sparse.shape_of(record)[0] as usize;
        check_count(lengths.len().checked_add(nrows), record)?;
        let row_of = |entry: &usize| sparse.index_of(*entry)[0];
        let mut entries: Vec<usize> = sparse.entries().range(record).collect();
        entries.sort_by_key(row_of);
        let first = lengths.len();
        lengths.resize(first + nrows, 0usize);
        entries.iter().for_each(|e| lengths[first + row_of(e) as usize] += 1);
        places.extend(entries);
        rows.push(nrows);
    }
    wrap([from_lengths(rows)?, from_lengths(lengths)?].into_iter(), Tensor::Leaf(crate::tensor::gather::take(sparse.values(), &places)?))
}

/// Each value as text; integers in decimal.
fn texts(array: &ArrayRef) -> Result<ArrayRef> {
    if Texts::of(array).is_ok() {
        return Ok(array.clone());
    }
    let numbers = cast(array, &DType::Int64)?;
    let mut out = TextBuilder::with_capacity(numbers.len(), 0);
    let mut digits = itoa::Buffer::new();
    i64s(&numbers)?.iter().for_each(|n| out.push(digits.format(*n).as_bytes()));
    out.finish(&DType::String)
}

/// Each value as 64 bits: the fingerprint of a string, or the integer itself.
fn fingerprints(array: &ArrayRef) -> Result<Vec<u64>> {
    if let Ok(texts) = Texts::of(array) {
        return Ok(texts.iter().map(fingerprint64).collect());
    }
    Ok(i64s(&cast(array, &DType::Int64)?)?.iter().map(|n| *n as u64).collect())
}
