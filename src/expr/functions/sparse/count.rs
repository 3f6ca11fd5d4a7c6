//! Counts how often each integer occurs, as a sparse tensor.
//!
//! Semantics: `tf.sparse.bincount`.

use super::shared::{is_sparse_item, plain, said, sparse};
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Args, Node};
use crate::expr::kernels::cast::{cast, dtype_of, i64s, native};
use crate::expr::kernels::entries;
use crate::expr::kernels::level::{check_same, from_lengths, merged};
use crate::expr::kernels::number::{Number, numbers};
use crate::expr::operand::{Operand, OperandKind};
use crate::printable::counted_axes;
use crate::schema::{DType, Dim, Type};
use crate::tensor::gather::take;
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_array::{ArrayRef, Int64Array, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[function!(
    ["sparse.bincount"],
    "values, weights=None, axis=0, minlength=None, maxlength=None, binary_output=False",
    "Count the occurrences of each integer, or sum their weights, over all values or, with axis=-1, in each row.",
    [
        ("sparse.bincount([2, 1, 1, 5])", "{[1]: 2, [2]: 1, [5]: 1} of [6]"),
        ("sparse.bincount([[1, 1], [2, 0]], axis=-1)", "{[0, 1]: 2, [1, 0]: 1, [1, 2]: 1} of [2, 3]")
    ],
    bincount
)];

/// The values to count: integers, their record, their row in it, and their weight.
struct Counted {
    /// The partition of values by record.
    records: RowPartition,
    /// The row of each value within its record; `None` if there is only one row.
    rows: Option<Vec<i64>>,
    /// The number of rows in each record.
    nrows: Vec<i64>,
    values: ArrayRef,
    weights: Option<ArrayRef>,
}

#[derive(Clone, Copy)]
struct Limits {
    least: i64,
    most: Option<i64>,
    binary: bool,
}

fn bincount(call: &mut Call) -> ExprResult<OperandKind> {
    let of_sparse = is_sparse_item(call, 0)?;
    let x = if of_sparse { sparse(call, 0)? } else { call.tensor(0)? };
    call.check_dtype(&x, "int32 and int64", |d| matches!(d, DType::Int32 | DType::Int64))?;
    let weights = match call.given(1).is_some() {
        false => None,
        true if of_sparse && !is_sparse_item(call, 1)? => {
            return Err(ExprError::at(
                call.operand(1)?.span.clone(),
                format!("{}: the weights of a sparse tensor must be sparse", call.name),
            )
            .help("for weights with the indices of x: with_values(x, w)"));
        }
        true if of_sparse => Some(sparse(call, 1)?),
        true => Some(call.tensor(1)?),
    };
    let axis = call.optional_int(2)?.unwrap_or(0);
    if axis != 0 && axis != -1 {
        return Err(ExprError::at(
            call.operand(2)?.span.clone(),
            format!("{}: axis must be 0 (all values) or -1 (each row), not {axis}", call.name),
        ));
    }
    let length = |i: usize| -> ExprResult<Option<i64>> {
        match call.optional_int(i)? {
            Some(n) if n < -1 => Err(ExprError::at(call.operand(i)?.span.clone(), format!("{}: {} is negative", call.name, call.param(i)))),
            n => Ok(n.filter(|n| *n >= 0)),
        }
    };
    let (least, most) = (length(3)?.unwrap_or(0), length(4)?);
    let binary = call.flag(5, false)?;
    if let Some(w) = &weights {
        if binary {
            return Err(call.error(format!("{}: binary_output and weights cannot be used together", call.name)));
        }
        call.check_dtype(w, "weights of int32, int64, float32 and float64", |d| {
            matches!(d, DType::Int32 | DType::Int64 | DType::Float32 | DType::Float64)
        })?;
        if w.rank() != x.rank() {
            return Err(ExprError::at(
                w.span.clone(),
                format!("{}: the weights have {}, but the values have {}", call.name, counted_axes(w.rank()), x.rank()),
            ));
        }
    }
    let by_row = axis == -1 && x.rank() > 1;
    if axis == -1 && (x.rank() == 0 || (!of_sparse && x.rank() > 2)) {
        return Err(ExprError::at(
            x.span.clone(),
            format!("{}: axis=-1 expects a vector or rows of values, found {}", call.name, said(&x)),
        ));
    }
    let dtype = weights.as_ref().map_or(x.dtype(), |w| w.dtype())?.clone();
    let mut dims: Vec<Dim> = Vec::new();
    if by_row {
        dims.push(plain(&x.ty.dims[0]));
    }
    dims.push(super::shared::dim_of(most));
    let limits = Limits { least, most, binary };
    call.one(Type::sparse(dtype.clone(), dims), move |args| {
        let counted = if of_sparse {
            Counted::of_sparse(&x, weights.as_ref(), by_row, args)?
        } else {
            Counted::of_rows(&x, weights.as_ref(), by_row, args)?
        };
        counted.counts(limits, &dtype, by_row)
    })
}

/// The values of argument 0, a sparse tensor, as rows to count, and their weights. Without `per_row`, each record is a row,
/// else each index on axis 0.
///
/// # Errors
/// Weights that are not sparse.
pub fn values_of_sparse(call: &mut Call, per_row: bool) -> ExprResult<(Arg, Option<Arg>)> {
    let x = sparse(call, 0)?;
    let per_row = per_row && x.rank() > 1;
    let weights = match call.given(1).is_some() {
        false => None,
        true if is_sparse_item(call, 1)? => Some(sparse(call, 1)?),
        true => {
            let error = ExprError::at(call.operand(1)?.span.clone(), "the weights of a sparse tensor must be sparse");
            return Err(error.help("for weights with the indices of x: with_values(x, w)"));
        }
    };
    let mut dims = vec![if per_row { x.ty.dims[0].clone() } else { Dim::UNIFORM }];
    if per_row {
        dims.push(Dim::RAGGED);
    }
    let rows = |call: &Call, of: &Arg, dtype: DType| -> ExprResult<Node> {
        let mut part = Call::operator(&call.name, of.span.clone(), call.text().clone());
        let (x, own) = (part.push(call.node(&x)), part.push(call.node(of)));
        let kind = part.one(Type::tensor(dtype, dims.clone()), move |args| {
            let (x, own) = (x.of(args)?, own.of(args)?);
            values_by_row(entries::sparse(&x)?, entries::sparse(&own)?, per_row)
        })?;
        part.result(kind)
    };
    let weights = weights.map(|w| rows(call, &w, w.dtype()?.clone())).transpose()?.map(|node| call.push(node));
    let values = rows(call, &x, x.dtype()?.clone())?;
    let values = call.integers_of(&Operand { span: values.span.clone(), kind: OperandKind::Tensor(values) })?;
    Ok((values, weights))
}

/// The values of `own`, which has the indices of `x`, in the rows given by the first index.
fn values_by_row(x: &Sparse, own: &Sparse, per_row: bool) -> Result<Tensor> {
    let same = |record: usize| {
        x.shape_of(record) == own.shape_of(record)
            && x.entries().row_length(record) == own.entries().row_length(record)
            && x.entries().range(record).zip(own.entries().range(record)).all(|(a, b)| x.index_of(a) == own.index_of(b))
    };
    if let Some(record) = (0..x.nrows()).find(|record| !same(*record)) {
        let error = Error::data("weights and values have different indices or dense shapes").at_row(record);
        return Err(error.help("for weights with the indices of x: with_values(x, w)"));
    }
    if !per_row {
        return Tensor::list(own.entries().clone(), Tensor::Leaf(own.values().clone()), None);
    }
    let row = |entry: usize| x.index_of(entry).first().copied().unwrap_or(0);
    let (mut order, mut lengths, mut nrows) = (Vec::with_capacity(own.values().len()), Vec::new(), Vec::with_capacity(x.nrows()));
    for record in 0..x.nrows() {
        let n = x.shape_of(record).first().and_then(|n| usize::try_from(*n).ok());
        let all = check_count(n.and_then(|n| n.checked_add(lengths.len())), record)?;
        nrows.push(all - lengths.len());
        let first = order.len();
        order.extend(own.entries().range(record));
        order[first..].sort_by_key(|entry| row(*entry));
        let before = lengths.len();
        lengths.resize(all, 0usize);
        for entry in &order[first..] {
            let row = usize::try_from(row(*entry)).ok().and_then(|row| lengths[before..].get_mut(row));
            *row.ok_or_else(|| Error::internal("an entry outside the shape"))? += 1;
        }
    }
    let values = Tensor::list(from_lengths(lengths)?, Tensor::Leaf(take(own.values(), &order)?), None)?;
    Tensor::list(from_lengths(nrows)?, values, None)
}

impl Counted {
    fn of_sparse(x: &Arg, weights: Option<&Arg>, by_row: bool, args: &Args) -> Result<Counted> {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        let rank = s.ndims();
        if let Some(weights) = weights {
            let other = weights.of(args)?;
            let w = entries::sparse(&other)?;
            for record in 0..s.nrows() {
                let (a, b) = (s.entries().range(record), w.entries().range(record));
                let own = &s.indices()[a.start * rank..a.end * rank];
                if s.shape_of(record) != w.shape_of(record) || *own != w.indices()[b.start * rank..b.end * rank] {
                    return Err(Error::data("weights and values have different indices or dense shapes")
                        .at_row(record)
                        .help("for weights with the indices of x: with_values(x, w)"));
                }
            }
        }
        Ok(Counted {
            records: s.entries().clone(),
            rows: by_row.then(|| s.indices().chunks_exact(rank.max(1)).map(|index| index[0]).collect()),
            nrows: (0..s.nrows()).map(|record| s.shape_of(record).first().copied().unwrap_or(0)).collect(),
            values: s.values().clone(),
            weights: weights.map(|w| Ok::<_, Error>(entries::sparse(&*w.of(args)?)?.values().clone())).transpose()?,
        })
    }

    fn of_rows(x: &Arg, weights: Option<&Arg>, by_row: bool, args: &Args) -> Result<Counted> {
        let tensor = x.of(args)?;
        let rank = x.rank();
        let leaf = |t: &Tensor| -> Result<ArrayRef> { Ok(t.levels(rank)?.1.as_leaf()?.clone()) };
        let weights = match weights {
            None => None,
            Some(w) => {
                let other = w.of(args)?;
                check_same(&tensor, &other, rank, "values and weights")?;
                Some(leaf(&other)?)
            }
        };
        let records = merged(&tensor, 0, rank)?;
        let (mut rows, mut nrows) = (None, Vec::new());
        if by_row {
            let (partitions, _) = tensor.levels(2)?;
            let mut of_values = Vec::with_capacity(partitions[1].nvals());
            for record in 0..partitions[0].nrows() {
                let range = partitions[0].range(record);
                nrows.push(range.len() as i64);
                for row in range.clone() {
                    of_values.resize(of_values.len() + partitions[1].row_length(row), (row - range.start) as i64);
                }
            }
            rows = Some(of_values);
        }
        Ok(Counted { records, rows, nrows, values: leaf(&tensor)?, weights })
    }

    fn counts(&self, limits: Limits, dtype: &DType, by_row: bool) -> Result<Tensor> {
        let wide = cast(&self.values, &DType::Int64)?;
        let values = i64s(&wide)?;
        let (mut indices, mut lengths, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
        // The values of each group, sorted by integer. A group is a row and an integer.
        let (mut members, mut ends) = (Vec::with_capacity(values.len()), Vec::new());
        let mut keys: Vec<(i64, i64, usize)> = Vec::new();
        for record in 0..self.records.nrows() {
            if by_row && self.nrows[record] == 0 {
                return Err(Error::data("there are no rows").at_row(record).help("to count all values: axis=0"));
            }
            keys.clear();
            let mut greatest = 0i64;
            for at in self.records.range(record) {
                let value = values[at];
                if value < 0 {
                    return Err(Error::data(format!("the value {value} is negative")).at_row(record));
                }
                if limits.most.is_none_or(|most| value < most) {
                    greatest = greatest.max(value);
                    keys.push((self.rows.as_ref().map_or(0, |rows| rows[at]), value, at));
                }
            }
            if !keys.is_sorted() {
                keys.sort_unstable();
            }
            let before = ends.len();
            for (i, (row, value, at)) in keys.iter().enumerate() {
                if i > 0 && keys[i - 1].0 == *row && keys[i - 1].1 == *value {
                    if let Some(end) = ends.last_mut() {
                        *end += 1;
                    }
                } else {
                    if by_row {
                        indices.push(*row);
                    }
                    indices.push(*value);
                    ends.push(members.len() + 1);
                }
                members.push(*at);
            }
            lengths.push(ends.len() - before);
            if by_row {
                shapes.push(self.nrows[record]);
            }
            let size = match limits.most {
                Some(most) => Some(most),
                None => greatest.checked_add(1).map(|size| size.max(limits.least)),
            };
            shapes.push(size.ok_or_else(|| Error::data(format!("the value {greatest} is too large to count")).at_row(record))?);
        }
        let sizes = || ends.iter().scan(0, |start, end| Some(*end - std::mem::replace(start, *end)));
        let counts: ArrayRef = match &self.weights {
            None => {
                let counts = sizes().map(|n| if limits.binary { 1 } else { n as i64 });
                cast(&(Arc::new(Int64Array::from_iter_values(counts)) as ArrayRef), dtype)?
            }
            Some(weights) => {
                let dtype = dtype_of(weights)?;
                numbers!(&dtype, T => {
                    let weights = native::<T>(weights)?;
                    let mut start = 0;
                    let sums: Vec<_> = ends.iter().map(|end| {
                        let own = &members[start..*end];
                        start = *end;
                        own.iter().fold(<T as Number>::ZERO, |sum, at| <T as Number>::add(sum, weights[*at]))
                    }).collect();
                    Arc::new(PrimitiveArray::<T>::new(sums.into(), None)) as ArrayRef
                }, return Err(Error::internal("weights of other values")))
            }
        };
        let rank = 1 + usize::from(by_row);
        Ok(Tensor::Sparse(Sparse::try_new(rank, from_lengths(lengths)?, indices.into(), counts, shapes.into(), None)?))
    }
}
