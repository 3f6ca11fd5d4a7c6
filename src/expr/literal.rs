//! Conversion of literals to constant tensors, with one row for all records.
//!
//! Semantics: `tf.constant`, `tf.ragged.constant`.

use super::error::{ExprError, ExprResult};
use super::kernels::time::{time_of, time_of_text};
use crate::printable::counted;
use crate::schema::{DType, Dim, Literal, Size, Type};
use crate::tensor::limits::{MAX_VALUES, TOO_MANY_VALUES};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, LargeBinaryArray, LargeStringArray, PrimitiveArray};
use half::f16;
use std::sync::Arc;

/// The default dtype of literals: int32 (int64 beyond its range), or float32 (float64 beyond its range) if there is a
/// fraction. TensorFlow turns a float beyond the range of float32 into an infinity.
///
/// # Errors
/// Numbers mixed with strings, or None.
pub fn own_dtype<'a>(values: impl IntoIterator<Item = &'a Literal>) -> ExprResult<DType> {
    let mut found: Option<DType> = None;
    for value in values {
        let dtype = match value {
            Literal::Bool(_) => DType::Bool,
            Literal::Int(n) if i32::try_from(*n).is_ok() => DType::Int32,
            Literal::Int(n) if i64::try_from(*n).is_ok() => DType::Int64,
            Literal::Int(n) if u64::try_from(*n).is_ok() => DType::UInt64,
            Literal::Int(n) => return Err(ExprError::new(format!("{n} does not fit in 64 bits"))),
            Literal::Float(x) if DType::Float32.holds_float(*x) => DType::Float32,
            Literal::Float(_) => DType::Float64,
            Literal::String(_) => DType::String,
            Literal::Bytes(_) => DType::Bytes,
            Literal::None => return Err(ExprError::new("a tensor cannot contain None")),
            Literal::List(_) => return Err(ExprError::new("all values must have the same nesting depth")),
        };
        found = Some(match found {
            None => dtype,
            Some(before) if before == dtype => before,
            Some(before) => {
                mixed(&before, &dtype).ok_or_else(|| ExprError::new(format!("a list cannot contain both {before} and {dtype}")))?
            }
        });
    }
    Ok(found.unwrap_or(DType::Float32))
}

fn mixed(a: &DType, b: &DType) -> Option<DType> {
    use DType::*;
    let rank = |d: &DType| match d {
        Bool => Some(0),
        Int32 => Some(1),
        Int64 => Some(2),
        UInt64 => Some(3),
        Float32 => Some(4),
        Float64 => Some(5),
        _ => None,
    };
    match (a, b) {
        (String, Bytes) | (Bytes, String) => Some(Bytes),
        // As in Python, True next to 1 is 1, but a list that starts with True holds bools.
        (Bool, _) => None,
        _ => Some(if rank(a)? > rank(b)? { a.clone() } else { b.clone() }),
    }
}

/// Whether the dtype holds the literal exactly; times are written as text. A fraction counts as held by every float dtype whose range includes it.
pub fn holds(dtype: &DType, value: &Literal) -> bool {
    match (dtype, value) {
        (DType::Bool, Literal::Bool(_)) | (DType::String | DType::Bytes, Literal::String(_)) | (DType::Bytes, Literal::Bytes(_)) => true,
        (DType::Arrow(ty), Literal::String(text)) => dtype.time().is_some() && time_of_text(text, ty).is_ok(),
        (_, Literal::Int(n)) => dtype.holds_integer(*n),
        (_, Literal::Float(x)) => dtype.holds_float(*x),
        (_, Literal::List(items)) => items.iter().all(|item| holds(dtype, item)),
        _ => false,
    }
}

/// The values as one array of the dtype. Integers wrap around if the dtype was given and has at most 32 bits.
///
/// # Errors
/// A value of another kind, an integer outside the range of 64 bits, or values that start with a bool for an integer
/// dtype other than int32, int64 and uint64.
pub fn leaf(values: &[&Literal], dtype: &DType) -> ExprResult<ArrayRef> {
    fn ints<T: ArrowPrimitiveType>(values: &[&Literal], name: &DType, convert: impl Fn(i128) -> T::Native) -> ExprResult<ArrayRef> {
        // TensorFlow converts values to the other dtypes by way of their own.
        let direct = matches!(name, DType::Int32 | DType::Int64 | DType::UInt64);
        let (low, high) = if *name == DType::UInt64 { name.integer_range() } else { DType::Int64.integer_range() };
        let bools = direct || !matches!(values.first(), Some(Literal::Bool(_)));
        let values = values
            .iter()
            .map(|v| match v {
                Literal::Int(n) if (low..=high).contains(n) => Ok(convert(*n)),
                Literal::Bool(b) if bools => Ok(convert(i128::from(*b))),
                other => Err(not_a(other, name)),
            })
            .collect::<ExprResult<Vec<_>>>()?;
        Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(values)))
    }
    fn floats<T: ArrowPrimitiveType>(values: &[&Literal], name: &DType, convert: impl Fn(f64) -> T::Native) -> ExprResult<ArrayRef> {
        let values = values
            .iter()
            .map(|v| match v {
                Literal::Int(n) => Ok(convert(*n as f64)),
                Literal::Float(x) => Ok(convert(*x)),
                Literal::Bool(b) => Ok(convert(f64::from(u8::from(*b)))),
                other => Err(not_a(other, name)),
            })
            .collect::<ExprResult<Vec<_>>>()?;
        Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(values)))
    }
    match dtype {
        DType::Bool => {
            let values = values
                .iter()
                .map(|v| if let Literal::Bool(b) = v { Ok(*b) } else { Err(not_a(v, dtype)) })
                .collect::<ExprResult<Vec<_>>>()?;
            Ok(Arc::new(BooleanArray::from(values)))
        }
        DType::Int8 => ints::<Int8Type>(values, dtype, |n| n as i8),
        DType::Int16 => ints::<Int16Type>(values, dtype, |n| n as i16),
        DType::Int32 => ints::<Int32Type>(values, dtype, |n| n as i32),
        DType::Int64 => ints::<Int64Type>(values, dtype, |n| n as i64),
        DType::UInt8 => ints::<UInt8Type>(values, dtype, |n| n as u8),
        DType::UInt16 => ints::<UInt16Type>(values, dtype, |n| n as u16),
        DType::UInt32 => ints::<UInt32Type>(values, dtype, |n| n as u32),
        DType::UInt64 => ints::<UInt64Type>(values, dtype, |n| n as u64),
        DType::Float16 => floats::<Float16Type>(values, dtype, f16::from_f64),
        DType::Float32 => floats::<Float32Type>(values, dtype, |x| x as f32),
        DType::Float64 => floats::<Float64Type>(values, dtype, |x| x),
        DType::String => {
            let values = values
                .iter()
                .map(|v| match v {
                    Literal::String(s) => Ok(s.as_str()),
                    Literal::Bytes(bytes) => std::str::from_utf8(bytes).map_err(|_| not_a(v, dtype)),
                    other => Err(not_a(other, dtype)),
                })
                .collect::<ExprResult<Vec<_>>>()?;
            Ok(Arc::new(LargeStringArray::from(values)))
        }
        DType::Bytes => {
            let values = values
                .iter()
                .map(|v| match v {
                    Literal::String(s) => Ok(s.as_bytes()),
                    Literal::Bytes(b) => Ok(b.as_slice()),
                    other => Err(not_a(other, dtype)),
                })
                .collect::<ExprResult<Vec<_>>>()?;
            Ok(Arc::new(LargeBinaryArray::from_vec(values)))
        }
        DType::Arrow(ty) if dtype.time().is_some() => match values.iter().find(|v| !matches!(v, Literal::String(_))) {
            Some(other) => Err(not_a(other, dtype)),
            None => Ok(time_of(&leaf(values, &DType::String)?, ty)?),
        },
        DType::Null | DType::Json | DType::Arrow(_) => Err(ExprError::new(format!("a constant cannot have the dtype {dtype}"))),
    }
}

/// The dtype of these values if they are to have `dtype`, their own without one. Bytes that are not valid UTF-8 stay
/// bytes as strings: TensorFlow has a single dtype for both.
///
/// # Errors
/// See [`own_dtype`].
fn dtype_of(values: &[&Literal], dtype: Option<&DType>) -> ExprResult<DType> {
    let is_invalid = |value: &&Literal| matches!(value, Literal::Bytes(bytes) if std::str::from_utf8(bytes).is_err());
    match dtype {
        None => own_dtype(values.iter().copied()),
        Some(DType::String) if values.iter().any(is_invalid) => Ok(DType::Bytes),
        Some(dtype) => Ok(dtype.clone()),
    }
}

fn not_a(value: &Literal, dtype: &DType) -> ExprError {
    let text = match value {
        Literal::None => "None".to_owned(),
        Literal::Bool(b) => if *b { "True" } else { "False" }.to_owned(),
        Literal::Int(n) => n.to_string(),
        Literal::Float(x) => format!("{x:?}"),
        Literal::String(s) => format!("{:?}", s.chars().take(40).collect::<String>()),
        Literal::Bytes(_) => "bytes".to_owned(),
        Literal::List(_) => "a list".to_owned(),
    };
    ExprError::new(format!("{text} is not a valid {dtype}"))
}

/// A literal as a constant. Axes whose rows have equal lengths become uniform, others ragged.
///
/// # Errors
/// Values of different depths or kinds.
pub fn plain(literal: &Literal, dtype: Option<&DType>) -> ExprResult<(Type, Tensor)> {
    let depth = depths(literal)?;
    let (lengths, values) = flatten(literal, depth.max)?;
    let dtype = dtype_of(&values, dtype)?;
    let mut tensor = Tensor::Leaf(leaf(&values, &dtype)?);
    let mut dims = Vec::new();
    for (axis, level) in lengths.iter().enumerate().rev() {
        let (partition, size) = match level.first() {
            Some(first) if level.iter().all(|l| l == first) => (RowPartition::uniform(*first, level.len()), Size::Known(*first as u64)),
            None if axis > 0 => (RowPartition::uniform(0, 0), Size::Known(0)),
            _ => (RowPartition::from_row_lengths(level.iter().map(|l| *l as i64)), Size::Ragged),
        };
        tensor = Tensor::list(partition?, tensor, None)?;
        dims.insert(0, Dim::of(size));
    }
    Ok((Type::tensor(dtype, dims), tensor))
}

/// `ragged.constant`: axis 0 is uniform, followed by `ragged_rank` ragged axes and those of `inner_shape`.
///
/// # Errors
/// The same as in TensorFlow.
pub fn ragged(
    literal: &Literal,
    dtype: Option<&DType>,
    ragged_rank: Option<i64>,
    inner_shape: Option<&[u64]>,
) -> ExprResult<(Type, Tensor)> {
    let own = if dtype.is_none() { Some(signed_dtype(literal)?) } else { None };
    let dtype = dtype.or(own.as_ref());
    let Literal::List(_) = literal else {
        if ragged_rank.is_some_and(|r| r != 0) || inner_shape.is_some_and(|s| !s.is_empty()) {
            return Err(ExprError::new("a single value has no ragged_rank or inner_shape"));
        }
        return plain(literal, dtype);
    };
    let given_rank = match ragged_rank {
        None => None,
        Some(rank) => Some(usize::try_from(rank).map_err(|_| ExprError::new(format!("ragged_rank {rank} is negative")))?),
    };
    let depth = depths(literal)?;
    if let (Some(scalars), Some(rank)) = (depth.scalars, given_rank)
        && (depth.max < rank || scalars <= rank)
    {
        return Err(ExprError::new(format!("the values are nested {scalars} lists deep, but ragged_rank={rank} needs more than {rank}")));
    }
    if let (Some(inner), Some(rank)) = (inner_shape, given_rank) {
        let expected = rank + inner.len() + 1;
        if depth.scalars.is_some_and(|s| s != expected) || (depth.scalars.is_none() && expected < depth.max) {
            return Err(ExprError::new(format!(
                "ragged_rank={rank} with {} inner axes needs values nested {expected} lists deep",
                inner.len()
            )));
        }
    }
    let dense = given_rank == Some(0)
        || (given_rank.is_none() && (depth.max < 2 || inner_shape.is_some_and(|s| depth.max.saturating_sub(s.len()) < 2)));
    if let (true, Some(shape)) = (dense, inner_shape) {
        return shaped(literal, dtype, shape);
    }
    let rank = match (given_rank, depth.scalars) {
        _ if dense => 0,
        (Some(rank), _) => rank,
        (None, None) => depth.max.saturating_sub(1).max(1),
        (None, Some(scalars)) => scalars.saturating_sub(1 + inner_shape.map_or(0, <[u64]>::len)).max(1),
    };
    let total = if dense { depth.max } else { (rank + 1 + inner_shape.map_or(0, <[u64]>::len)).max(depth.scalars.unwrap_or(depth.max)) };
    let (lengths, values) = flatten(literal, total)?;
    let dtype = dtype_of(&values, dtype)?;
    let mut tensor = Tensor::Leaf(leaf(&values, &dtype)?);
    let mut dims = Vec::new();
    for (axis, level) in lengths.iter().enumerate().rev() {
        let inner = if axis > rank { inner_shape.map(|s| s.get(axis - rank - 1).copied()) } else { None };
        let first = level.first().copied();
        let (partition, size) = if axis > 0 && axis <= rank {
            (RowPartition::from_row_lengths(level.iter().map(|l| *l as i64)), Size::Ragged)
        } else {
            let size = match inner {
                Some(Some(size)) => size as usize,
                Some(None) => {
                    return Err(ExprError::new(format!("the values are nested {total} lists deep, more than inner_shape allows")));
                }
                None => first.unwrap_or(0),
            };
            if level.iter().any(|l| *l != size) {
                return Err(ExprError::new(format!("the inner lists do not all have {size} values; they are ragged")));
            }
            (RowPartition::uniform(size, level.len()), Size::Known(size as u64))
        };
        tensor = Tensor::list(partition?, tensor, None)?;
        dims.insert(0, Dim::of(size));
    }
    Ok((Type::tensor(dtype, dims), tensor))
}

/// The dtype of a literal's values, of which no integer needs uint64.
fn signed_dtype(literal: &Literal) -> ExprResult<DType> {
    fn values<'a>(literal: &'a Literal, out: &mut Vec<&'a Literal>) {
        match literal {
            Literal::List(items) => items.iter().for_each(|item| values(item, out)),
            value => out.push(value),
        }
    }
    let mut all = Vec::new();
    values(literal, &mut all);
    let dtype = own_dtype(all.iter().copied())?;
    // After a fraction, an integer of any size becomes a float.
    let whole = all.iter().take_while(|v| !matches!(v, Literal::Float(_)));
    match whole.copied().find(|v| matches!(v, Literal::Int(n) if i64::try_from(*n).is_err())) {
        Some(v) => Err(not_a(v, &DType::Int64).help("use a dtype that can hold it: ragged.constant(x, dtype=uint64)")),
        None => Ok(dtype),
    }
}

/// Reshapes the values of a literal, or repeats a single value to fill the shape.
///
/// # Errors
/// The number of values does not match, or the lists differ in length.
pub fn shaped(literal: &Literal, dtype: Option<&DType>, shape: &[u64]) -> ExprResult<(Type, Tensor)> {
    let (lengths, values) = flatten(literal, depths(literal)?.max)?;
    if let Some(axis) = lengths.iter().position(|level| level.iter().any(|n| *n != level[0])) {
        return Err(ExprError::new(format!("the rows of axis {axis} differ in length, so they cannot be reshaped to {shape:?}")));
    }
    let n = shape.iter().try_fold(1u64, |all, size| all.checked_mul(*size)).filter(|n| *n <= MAX_VALUES as u64);
    let n = n.ok_or_else(|| ExprError::new(TOO_MANY_VALUES))?;
    let dtype = dtype_of(&values, dtype)?;
    let mut tensor = Tensor::Leaf(leaf(&values, &dtype)?);
    if values.len() == 1 && lengths.len() < 2 {
        tensor = tensor.gather(&vec![0; n as usize])?;
    } else if values.len() == 1 && n != 1 {
        return Err(ExprError::new(format!("a value in nested lists is not repeated to fill the shape {shape:?}"))
            .help("write it alone or in one list: constant(7, shape=[2, 2])"));
    } else if values.len() as u64 != n {
        return Err(ExprError::new(format!("cannot reshape {} to {shape:?}", counted(values.len() as u64, "value"))));
    }
    for (axis, size) in shape.iter().enumerate().rev() {
        let rows = shape[..axis].iter().product::<u64>();
        tensor = Tensor::list(RowPartition::uniform(*size as usize, rows as usize)?, tensor, None)?;
    }
    Ok((Type::tensor(dtype, shape.iter().map(|n| Dim::known(*n)).collect()), tensor))
}

struct Depths {
    /// The list depth of the scalars; `None` without values.
    scalars: Option<usize>,
    max: usize,
}

fn depths(literal: &Literal) -> ExprResult<Depths> {
    let Literal::List(items) = literal else {
        return Ok(Depths { scalars: Some(0), max: 0 });
    };
    let mut out = Depths { scalars: None, max: 1 };
    for item in items {
        let below = depths(item)?;
        if let Some(depth) = below.scalars {
            if out.scalars.is_some_and(|s| s != depth + 1) {
                return Err(ExprError::new("all values must have the same nesting depth"));
            }
            out.scalars = Some(depth + 1);
        }
        out.max = out.max.max(below.max + 1);
    }
    if out.scalars.is_some_and(|s| out.max > s) {
        return Err(ExprError::new("an empty list is nested deeper than the values"));
    }
    Ok(out)
}

/// The row lengths of `depth` levels of lists, outermost first, and the values below them.
fn flatten(literal: &Literal, depth: usize) -> ExprResult<(Vec<Vec<usize>>, Vec<&Literal>)> {
    let mut rows = vec![literal];
    let mut lengths = Vec::with_capacity(depth);
    for _ in 0..depth {
        let mut below = Vec::new();
        let mut level = Vec::with_capacity(rows.len());
        for row in rows {
            let Literal::List(items) = row else {
                return Err(ExprError::new("all values must have the same nesting depth"));
            };
            level.push(items.len());
            below.extend(items);
        }
        lengths.push(level);
        rows = below;
    }
    if rows.iter().any(|r| matches!(r, Literal::List(_))) {
        return Err(ExprError::new("all values must have the same nesting depth"));
    }
    Ok((lengths, rows))
}

/// The zero of a dtype: 0, False, "".
///
/// # Errors
/// The dtype is not a dtype of tensors.
pub fn zero(dtype: &DType) -> ExprResult<Literal> {
    Ok(match dtype {
        DType::Bool => Literal::Bool(false),
        DType::String => Literal::String(String::new()),
        DType::Bytes => Literal::Bytes(Vec::new()),
        d if d.is_number() => Literal::Int(0),
        d if d.time().is_some() => {
            return Err(ExprError::new("times have no zero to fill with").help("give the value, as text, such as \"1970-01-01\""));
        }
        other => return Err(ExprError::new(format!("a constant cannot have the dtype {other}"))),
    })
}
