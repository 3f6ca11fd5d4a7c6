//! Combinations of the values of several sparse and dense matrices, row by row, as a sparse matrix.
//!
//! A row that is empty in any input has no combinations. Sparse inputs come before dense ones, and the last input
//! varies fastest.
//!
//! Semantics: `tf.sparse.cross`, `tf.sparse.cross_hashed`.

use super::shared::is_sparse;
use super::shared::{dense, said, size_of};
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, cast_node, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::functions::cross::{CrossColumn, buckets, hashed, joined};
use crate::expr::kernels::entries::{self, dense_parts, order};
use crate::expr::kernels::level::from_lengths;
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Dim, Type};
use crate::tensor::gather::take;
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_array::ArrayRef;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sparse.cross"],
        "inputs, name=None, separator=None",
        "All combinations of values from the rows of the inputs, joined with separator (default _X_).",
        [("values(sparse.cross([sparse.from_dense([[\"a\", \"\"]]), [[\"b\", \"c\"]]]))", "[\"a_X_b\", \"a_X_c\"]")],
        cross
    ),
    function!(
        ["sparse.cross_hashed"],
        "inputs, num_buckets=0, hash_key=None",
        "All combinations of values from the rows of the inputs, hashed into num_buckets (0 means 2^63 - 1).",
        [("values(sparse.cross_hashed([sparse.from_dense([[\"a\"]]), sparse.from_dense([[\"d\"]])], num_buckets=100))", "[82]")],
        cross_hashed
    ),
];

fn cross(call: &mut Call) -> ExprResult<OperandKind> {
    let separator = call.bytes(2)?.unwrap_or_else(|| b"_X_".to_vec());
    let inputs = Inputs::new(call)?;
    let bytes = inputs.args.iter().any(|a| a.ty.dtype() == Some(&DType::Bytes));
    let dtype = if bytes { DType::Bytes } else { DType::String };
    let ty = Type::sparse(dtype.clone(), inputs.dims());
    call.one(ty, move |args| inputs.combined(args, |columns| joined(columns, &separator, &dtype)))
}

fn cross_hashed(call: &mut Call) -> ExprResult<OperandKind> {
    // tf.sparse.cross_hashed takes 0 for None; tf.ragged.cross_hashed does not.
    let (buckets, key) = buckets(call, |key| Some(key).filter(|key| *key != 0))?;
    let inputs = Inputs::new(call)?;
    let ty = Type::sparse(DType::Int64, inputs.dims());
    call.one(ty, move |args| inputs.combined(args, |columns| hashed(columns, buckets, key)))
}

/// The matrices to combine, sparse ones first.
struct Inputs {
    args: Vec<Arg>,
    rows: Option<i64>,
}

/// The entries of one input, row by row in each record, aligned with `values`.
struct CrossInput {
    values: ArrayRef,
    /// The row of each value of a sparse matrix; `None` for a dense one, which has values in every row.
    rows: Option<Vec<i64>>,
    /// The partition of values by record.
    records: RowPartition,
    /// Number of rows and, for a dense matrix, columns of each record.
    sizes: Vec<[i64; 2]>,
}

impl Inputs {
    fn new(call: &mut Call) -> ExprResult<Inputs> {
        let items = call.list(0)?;
        if items.is_empty() {
            return Err(call.error(format!("{} needs at least one input", call.name)));
        }
        let (sparse, plain): (Vec<_>, Vec<_>) = items.into_iter().partition(is_sparse);
        let mut args = Vec::with_capacity(sparse.len() + plain.len());
        for item in sparse.iter().chain(&plain) {
            let node = strict_node(item)?;
            let text = matches!(node.ty.dtype(), Some(DType::String | DType::Bytes));
            let node = if text { node } else { cast_node(node, &DType::Int64, call.text())? };
            let mut arg = call.push(node);
            if !arg.ty.is_sparse() {
                arg = dense(call, arg)?;
            }
            if arg.rank() != 2 {
                return Err(ExprError::at(arg.span.clone(), format!("{} expects a matrix, found {}", call.name, said(&arg))));
            }
            args.push(arg);
        }
        let mut known = args.iter().filter_map(|a| size_of(&a.ty.dims[0]));
        let rows = known.next();
        if let Some(other) = known.find(|n| Some(*n) != rows) {
            return Err(call.error(format!("{}: the inputs have {} and {other} rows", call.name, rows.unwrap_or(0))));
        }
        Ok(Inputs { args, rows })
    }

    fn dims(&self) -> Vec<Dim> {
        vec![super::shared::dim_of(self.rows), Dim::UNIFORM]
    }

    /// The result. `combine` returns the combinations of each row, given columns with the same rows.
    fn combined(&self, args: &Args, combine: impl Fn(&[CrossColumn]) -> Result<(RowPartition, ArrayRef)>) -> Result<Tensor> {
        let sources = self.args.iter().map(|arg| CrossInput::new(arg, args)).collect::<Result<Vec<_>>>()?;
        // The rows in which every input has values, and the location of these values.
        let (mut rows, mut present, mut nrows) = (Vec::new(), Vec::with_capacity(args.nrows), Vec::with_capacity(args.nrows));
        let mut places: Vec<(Vec<usize>, Vec<usize>)> = vec![(Vec::new(), Vec::new()); sources.len()];
        for record in 0..args.nrows {
            let count = sources[0].sizes[record][0];
            if let Some(other) = sources.iter().find(|s| s.sizes[record][0] != count) {
                return Err(Error::data(format!("the inputs have {count} and {} rows", other.sizes[record][0])).at_row(record));
            }
            let mut at: Vec<usize> = sources.iter().map(|s| s.records.start(record)).collect();
            let before = rows.len();
            let mut row = 0;
            'rows: while row < count {
                let mut ranges = Vec::with_capacity(sources.len());
                for (source, at) in sources.iter().zip(&mut at) {
                    match source.of_row(record, row, at) {
                        Ok(range) => ranges.push(range),
                        Err(next) => {
                            // This input has no values in the rows before `next`.
                            row = next.max(row + 1);
                            continue 'rows;
                        }
                    }
                }
                rows.push(row);
                for ((own, lengths), range) in places.iter_mut().zip(ranges) {
                    lengths.push(range.len());
                    own.extend(range);
                }
                row += 1;
            }
            present.push(rows.len() - before);
            nrows.push(count);
        }
        let columns = sources
            .iter()
            .zip(places)
            .map(|(source, (places, lengths))| Ok(CrossColumn { rows: from_lengths(lengths)?, values: take(&source.values, &places)? }))
            .collect::<Result<Vec<_>>>()?;
        let (combinations, values) = combine(&columns)?;
        let present = from_lengths(present)?;
        let (mut indices, mut shapes) = (Vec::with_capacity(2 * combinations.nvals()), Vec::with_capacity(2 * args.nrows));
        for (record, count) in nrows.iter().enumerate() {
            let mut most = 0;
            for which in present.range(record) {
                let n = combinations.row_length(which);
                most = most.max(n);
                indices.extend((0..n as i64).flat_map(|i| [rows[which], i]));
            }
            shapes.extend([*count, most as i64]);
        }
        Ok(Tensor::Sparse(Sparse::try_new(2, present.merge(&combinations), indices.into(), values, shapes.into(), None)?))
    }
}

impl CrossInput {
    fn new(arg: &Arg, args: &Args) -> Result<CrossInput> {
        let tensor = arg.of(args)?;
        if !arg.ty.is_sparse() {
            let (values, _, shapes) = dense_parts(&tensor, &arg.ty.dims)?;
            let (partitions, _) = tensor.levels(2)?;
            let sizes = shapes.as_chunks::<2>().0.to_vec();
            return Ok(CrossInput { values: values.clone(), rows: None, records: partitions[0].merge(partitions[1]), sizes });
        }
        let s = entries::sparse(&tensor)?;
        let sizes = s.dense_shape().as_chunks::<2>().0.to_vec();
        let (places, values) = match order(s, &[0]) {
            None => (None, s.values().clone()),
            Some(places) => {
                let values = take(s.values(), &places)?;
                (Some(places), values)
            }
        };
        let row = |at: usize| s.index_of(places.as_ref().map_or(at, |places| places[at]))[0];
        Ok(CrossInput { values, rows: Some((0..s.entries().nvals()).map(row).collect()), records: s.entries().clone(), sizes })
    }

    /// The values of a row; `at` advances through the record's values. `Err` if there are none before that row.
    fn of_row(&self, record: usize, row: i64, at: &mut usize) -> std::result::Result<std::ops::Range<usize>, i64> {
        let range = self.records.range(record);
        let Some(rows) = &self.rows else {
            let columns = self.sizes[record][1].max(0) as usize;
            if columns == 0 {
                return Err(i64::MAX);
            }
            let start = range.start + row as usize * columns;
            return Ok(start..start + columns);
        };
        while *at < range.end && rows[*at] < row {
            *at += 1;
        }
        let end = (*at..range.end).find(|i| rows[*i] != row).unwrap_or(range.end);
        if end > *at { Ok(*at..end) } else { Err(rows.get(*at).copied().filter(|_| *at < range.end).unwrap_or(i64::MAX)) }
    }
}
