//! Classes: counts, ranks and permutations of class numbers, and other measures of dense tensors.
//!
//! Semantics: `tf.math.confusion_matrix`, `tf.math.in_top_k`, `tf.math.zero_fraction`,
//! `tf.math.invert_permutation`, `tf.math.polyval`, `tf.nn.bias_add`.

use crate::error::Error;
use crate::expr::call::{Call, Function, as_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::cast::{cast, i64s};
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Size};
use crate::tensor::Tensor;
use arrow_array::{ArrayRef, Int64Array};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["math.confusion_matrix", "confusion_matrix"],
        "labels, predictions, num_classes=None, weights=None, dtype=int32",
        "A matrix that counts, in row i and column j, the predictions of class j for labels of class i, or sums their weights.",
        [("math.confusion_matrix([1, 2], [2, 2])", "[[0, 0, 0], [0, 0, 1], [0, 0, 1]]")],
        |call| {
            let size = match call.given(2) {
                Some(_) => "num_classes",
                None => "(cast(maximum(reduce_max(labels), reduce_max(predictions)), int64) + 1)",
            };
            let updates = if call.given(3).is_some() { "cast(weights, dtype)" } else { "cast(ones_like(labels), dtype)" };
            Ok(format!("scatter_nd(stack([cast(labels, int64), cast(predictions, int64)], axis=1), {updates}, [{size}, {size}])"))
        }
    ),
    formula!(
        ["math.in_top_k", "nn.in_top_k"],
        "targets, predictions, k",
        "Whether the target class of each row is among the k largest predictions; ties count.",
        [("math.in_top_k([1, 2], [[0.1, 0.5, 0.4], [0.1, 0.5, 0.4]], 1)", "[true, false]")],
        |call| {
            let predictions = as_node(call.operand(1)?, None)?.ty;
            if predictions.rank() != 2 {
                return Err(call.error(format!("math.in_top_k expects a matrix of predictions, found {predictions}")));
            }
            let valid = "((targets >= 0) & (targets < shape(identity(predictions))[1]))";
            let own = format!("gather(predictions, where({valid}, expand_dims(targets, 1)[:, 0], 0), axis=1, batch_dims=1)");
            let above = format!("reduce_sum(cast(predictions > expand_dims({own}, 1), int64), axis=1)");
            Ok(format!("{valid} & reduce_all(math.is_finite(predictions), axis=1) & ({above} < k)"))
        }
    ),
    formula!(
        ["math.zero_fraction", "nn.zero_fraction"],
        "value|x",
        "The fraction of values that are 0, as a float32.",
        [("math.zero_fraction([1, 0, 2, 0])", "0.5")],
        |call| {
            call.dense(call.operand(0)?, "the values of a ragged or sparse tensor are dense: flat_values(x), values(x)")?;
            Ok("cast(reduce_sum(cast(value == zeros_like(value), int64)), float32) / cast(size(value), float32)".to_owned())
        }
    ),
    function!(
        ["math.invert_permutation", "invert_permutation"],
        "x",
        "The inverse of a permutation of 0, 1 ... n - 1: the position of each number.",
        [("math.invert_permutation([2, 0, 1])", "[1, 2, 0]")],
        invert_permutation
    ),
    formula!(
        ["math.polyval"],
        "coeffs, x",
        "The value of a polynomial, with the coefficient of the highest power first.",
        [("math.polyval([2, 0, 1], 3)", "19")],
        |call| {
            let item = call.operand(0)?;
            let Some(n) = item.elements().map(|coeffs| coeffs.len()) else {
                return Err(ExprError::at(item.span.clone(), "math.polyval: coeffs must be a list"));
            };
            let rest = |all: String, i: usize| format!("(coeffs[{i}] + {all} * x)");
            Ok(match n {
                0 => "zeros_like(x)".to_owned(),
                _ => (1..n).fold("coeffs[0]".to_owned(), rest),
            })
        }
    ),
    formula!(
        ["nn.collapse_repeated"],
        "labels, seq_length",
        "Replace runs of equal labels in the first seq_length[i] of each row i by one; returns the rows, padded with 0, and their new lengths.",
        [("nn.collapse_repeated([[1, 1, 2], [2, 2, 2]], [3, 2])[0]", "[[1, 2], [2, 0]]")],
        |call| {
            let ty = call.dense(call.operand(0)?, "for a ragged tensor: nn.collapse_repeated(x.to_tensor(), x.row_lengths())")?;
            if ty.rank() != 2 {
                return Err(call.error(format!("nn.collapse_repeated expects a matrix of labels, found {ty}")));
            }
            let first = "concat([cast(ones_like(labels[:, :1]), bool), labels[:, 1:] != labels[:, :-1]], 1)";
            let kept = format!("{first} & tf.sequence_mask(seq_length, shape(identity(labels))[1])");
            let rows = format!("ragged.boolean_mask(labels, {kept})");
            Ok(format!("(to_tensor({rows}), cast(row_lengths({rows}), identity(seq_length).dtype))"))
        }
    ),
    formula!(
        ["nn.bias_add"],
        "value|x, bias, data_format=None",
        "Add a vector along the last axis, or axis 1 with data_format=\"NCHW\".",
        [("nn.bias_add([[1.0, 2.0]], [1.0, -1.0])", "[[2.0, 1.0]]")],
        alike: [0, 1],
        bias_add
    ),
];

fn bias_add(call: &Call) -> ExprResult<String> {
    let (ty, bias) = (as_node(call.operand(0)?, None)?.ty, as_node(call.operand(1)?, None)?.ty);
    if ty.is_ragged() || ty.is_sparse() || ty.rank() < 2 || bias.rank() != 1 {
        return Err(call.error(format!("nn.bias_add expects a dense tensor of rank 2 or higher and a vector, found {ty} and {bias}")));
    }
    let channels = match call.string(2)?.as_deref() {
        None => ty.rank() - 1,
        Some(format) if format.starts_with("NC") => 1,
        Some(format) if format.starts_with('N') => ty.rank() - 1,
        Some(_) => return Err(call.error("nn.bias_add: data_format must be of the form \"N...C\" or \"NC...\"")),
    };
    let differ = matches!((ty.dims[channels].size, bias.dims[0].size), (Size::Known(m), Size::Known(n)) if m != n);
    if differ {
        return Err(call.error(format!("nn.bias_add: the bias {bias} does not match axis {channels} of {ty}")));
    }
    let ones = ", 1".repeat(ty.rank() - 1 - channels);
    // The size is written out, so that a bias of one value is not repeated.
    Ok(format!("value + reshape(bias, [shape(identity(value))[{channels}]{ones}])"))
}

fn invert_permutation(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "int32 and int64", |d| matches!(d, DType::Int32 | DType::Int64))?;
    if x.rank() != 1 {
        return Err(ExprError::at(x.span.clone(), format!("{} expects a vector, found {}", call.name, x.ty)));
    }
    let dtype = x.dtype()?.clone();
    call.one(x.ty.clone(), move |args| {
        let tensor = x.of(args)?;
        tensor.map_below(0, &mut |t| {
            let list = t.as_list()?;
            let rows = list.partition();
            let wide = cast(list.values().as_leaf()?, &DType::Int64)?;
            let numbers = i64s(&wide)?;
            let mut places = vec![-1i64; numbers.len()];
            for record in 0..rows.nrows() {
                let range = rows.range(record);
                let own = &mut places[range.clone()];
                for (place, number) in numbers[range].iter().enumerate() {
                    let n = own.len();
                    let slot = usize::try_from(*number).ok().and_then(|i| own.get_mut(i));
                    let outside = || Error::data(format!("{number} is not a number from 0 to {}", n - 1)).at_row(record);
                    let slot = slot.ok_or_else(outside)?;
                    if *slot >= 0 {
                        return Err(Error::data(format!("{number} occurs twice")).at_row(record));
                    }
                    *slot = place as i64;
                }
            }
            let places = cast(&(Arc::new(Int64Array::from(places)) as ArrayRef), &dtype)?;
            Tensor::list(rows.clone(), Tensor::Leaf(places), None)
        })
    })
}
