//! LoD-Tensors as nested rows, and their levels.

use crate::error::Result;
use crate::expr::call::{Call, Function};
use crate::expr::error::ExprResult;
use crate::expr::eval::Args;
use crate::expr::functions::partitions;
use crate::expr::kernels::level::{from_lengths, merged};
use crate::expr::operand::OperandKind;
use crate::expr::types::last_ragged;
use crate::schema::{DType, Dim, PartitionEncoding, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{ArrayRef, Int64Array};
use std::ops::Range;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["create_lod_tensor", "set_recursive_sequence_lengths"],
        "data|x, recursive_seq_lens, place=None",
        "A LoD-Tensor from the sequence lengths of each level, outermost first.",
        [
            ("create_lod_tensor([3, 1, 4], [[2, 1]])", "[[3, 1], [4]]"),
            ("create_lod_tensor([3, 1, 4, 1], [[2, 1], [1, 2, 1]])", "[[[3], [1, 4]], [[1]]]")
        ],
        |c| partitions::nested(c, PartitionEncoding::RowLengths)
    ),
    function!(
        ["set_lod"],
        "x, lod",
        "A LoD-Tensor from the sequence offsets of each level, outermost first.",
        [("set_lod([3, 1, 4], [[0, 2, 3]])", "[[3, 1], [4]]")],
        |c| partitions::nested(c, PartitionEncoding::RowSplits)
    ),
    function!(
        ["recursive_sequence_lengths"],
        "x",
        "The sequence lengths of each level, outermost first.",
        [("recursive_sequence_lengths([[[3], [1, 2]], []])", "[[2, 0], [1, 2]]")],
        |c| levels(c, |p, rows, out| out.extend(rows.map(|r| p.row_length(r) as i64)))
    ),
    function!(
        ["lod"],
        "x",
        "The sequence offsets of each level, outermost first.",
        [("lod([[[3], [1, 2]], []])", "[[0, 2, 2], [0, 1, 3]]")],
        |c| levels(c, |p, rows, out| out.extend((rows.start..=rows.end).map(|r| (p.start(r) - p.start(rows.start)) as i64)))
    ),
];

/// `[levels, (?)]`: the numbers that `numbers` appends for the rows of a level that belong to one record.
fn levels(call: &mut Call, numbers: fn(&RowPartition, Range<usize>, &mut Vec<i64>)) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    let count = last_ragged(&x.ty.dims).unwrap_or(0);
    let ty = Type::tensor(DType::Int64, vec![Dim::known(count as u64), Dim::RAGGED]);
    call.one(ty, move |args: &Args| -> Result<Tensor> {
        let tensor = x.of(args)?;
        let (partitions, _) = tensor.levels(x.rank())?;
        let owners = (1..=count).map(|axis| merged(&tensor, 0, axis)).collect::<Result<Vec<_>>>()?;
        let (mut out, mut lengths) = (Vec::new(), Vec::with_capacity(args.nrows * count));
        for record in 0..args.nrows {
            for (partition, owners) in partitions.iter().skip(1).zip(&owners) {
                let before = out.len();
                numbers(partition, owners.range(record), &mut out);
                lengths.push(out.len() - before);
            }
        }
        let flat: ArrayRef = Arc::new(Int64Array::from(out));
        Tensor::list(RowPartition::uniform(count, args.nrows)?, Tensor::list(from_lengths(lengths)?, Tensor::Leaf(flat), None)?, None)
    })
}
