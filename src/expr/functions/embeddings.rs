//! Embeddings of the ids in each row, combined into one, as formulas.
//!
//! Semantics: `tf.nn.embedding_lookup_sparse`, `tf.nn.safe_embedding_lookup_sparse`.

use crate::expr::call::{Call, Function, as_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::schema::{DType, Type};

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["nn.embedding_lookup_sparse"],
        "params, sp_ids, sp_weights, combiner=\"mean\", max_norm=None, allow_fast_lookup=False",
        "Look up rows of a table by id and combine the rows that belong to each row of ids by mean, sum or sqrtn, weighted unless sp_weights is None. As in TensorFlow, trailing empty rows are omitted.",
        [(
            "nn.embedding_lookup_sparse(constant([[1.0, 2.0], [3.0, 4.0]]), ragged.constant([[0, 1], [1]]), None)",
            "[[2.0, 3.0], [3.0, 4.0]]"
        )],
        |call| lookup(call, false)
    ),
    formula!(
        ["nn.safe_embedding_lookup_sparse"],
        "embedding_weights, sparse_ids, sparse_weights=None, combiner=\"mean\", default_id=None, max_norm=None, allow_fast_lookup=False",
        "Like nn.embedding_lookup_sparse, but ignores negative ids and, unless the combiner is sum, ids whose weight is not positive. For an empty row, the result is row default_id of the table, or zeros.",
        [(
            "nn.safe_embedding_lookup_sparse(constant([[1.0, 2.0], [3.0, 4.0]]), ragged.constant([[0, 1], [-1]]))",
            "[[2.0, 3.0], [0.0, 0.0]]"
        )],
        |call| lookup(call, true)
    ),
];

/// The type of the table, or of its first part.
fn table_type(call: &Call) -> ExprResult<Type> {
    let item = call.operand(0)?;
    let part = item.elements().and_then(|parts| parts.into_iter().next());
    Ok(as_node(part.as_ref().unwrap_or(item), None)?.ty)
}

fn lookup(call: &Call, safe: bool) -> ExprResult<String> {
    let [table, ids, weights] =
        if safe { ["embedding_weights", "sparse_ids", "sparse_weights"] } else { ["params", "sp_ids", "sp_weights"] };
    let ty = as_node(call.operand(1)?, None)?.ty;
    let is_rows = if ty.is_sparse() { ty.rank() >= 2 } else { ty.is_ragged() && ty.rank() == 2 };
    if !is_rows {
        let message = format!("{}: {ids} must be a sparse tensor or ragged rows of ids, found {ty}", call.name);
        let advice = "to convert a dense tensor: RaggedTensor.from_tensor(x) or sparse.from_dense(x)";
        return Err(ExprError::at(call.operand(1)?.span.clone(), message).help(advice));
    }
    let table_ty = table_type(call)?;
    let dtype = table_ty.dtype().cloned().unwrap_or(DType::Float32);
    let combiner = call.string(3)?.unwrap_or_else(|| "mean".to_owned());
    if !["mean", "sum", "sqrtn"].contains(&combiner.as_str()) {
        return Err(call.error(format!("{}: combiner must be \"mean\", \"sum\" or \"sqrtn\"", call.name)));
    }
    // The number of the row of each id; the axes before the last one are the rows.
    let outer = if ty.is_sparse() && safe { ty.rank() - 1 } else { 1 };
    let size = |axis: usize| if ty.is_sparse() { format!("dense_shape({ids})[{axis}]") } else { format!("nrows({ids})") };
    let row = match ty.is_sparse() {
        true => {
            (1..outer).fold(format!("indices({ids})[:, 0]"), |all, axis| format!("({all} * {} + indices({ids})[:, {axis}])", size(axis)))
        }
        false => format!("value_rowids({ids})"),
    };
    let count = (0..outer).map(size).collect::<Vec<_>>().join(" * ");
    let weighted = call.given(2).is_some();
    let ones = |name: &str| format!("reshape({name}, [-1{}])", ", 1".repeat(table_ty.rank().saturating_sub(1)));
    // Half-precision numbers are summed as float32.
    let wide = if dtype == DType::Float16 { DType::Float32 } else { dtype.clone() };
    let weight = ones(&format!("cast(values({weights}), {wide})"));
    let valid = match (weighted, combiner.as_str()) {
        (true, "mean" | "sqrtn") => format!("((values({ids}) >= 0) & (values({weights}) > 0))"),
        _ => format!("(values({ids}) >= 0)"),
    };
    let id = if safe { format!("where({valid}, values({ids}), 0)") } else { format!("values({ids})") };
    let norm = if call.given(if safe { 5 } else { 4 }).is_some() { ", max_norm" } else { "" };
    let found = format!("cast(nn.embedding_lookup({table}, {id}{norm}), {wide})");
    let segments = if safe { format!("where({valid}, {row}, -1)") } else { row };
    let combined = |op: &str, x: &str| match (safe, op) {
        (true, _) => format!("math.unsorted_segment_{op}({x}, {segments}, {count})"),
        (false, "sqrt_n") => format!("sparse.segment_sqrt_n({x}, range(size({segments})), {segments})"),
        (false, _) => format!("math.segment_{op}({x}, {segments})"),
    };
    let sum = combined("sum", &format!("({found} * {weight})"));
    let all = match (weighted, combiner.as_str()) {
        (false, "sum") => combined("sum", &found),
        (false, "mean") => combined("mean", &found),
        (false, _) => combined("sqrt_n", &found),
        (true, "sum") => sum,
        (true, "mean") => format!("math.divide_no_nan({sum}, {})", combined("sum", &weight)),
        (true, _) => format!("math.divide_no_nan({sum}, sqrt({}))", combined("sum", &format!("square({weight})"))),
    };
    let mut all = if wide == dtype { all } else { format!("cast({all}, {dtype})") };
    if safe && call.given(4).is_some() {
        let empty = format!("(math.unsorted_segment_sum(ones_like(values({ids})), {segments}, {count}) == 0)");
        all = format!("where({}, nn.embedding_lookup({table}, default_id{norm}), {all})", ones(&empty));
    }
    if outer > 1 {
        let sizes = (0..outer).map(size).collect::<Vec<_>>().join(", ");
        let inner: String = (1..table_ty.rank()).map(|axis| format!(", shape(nn.embedding_lookup({table}, range(0)))[{axis}]")).collect();
        all = format!("reshape({all}, [{sizes}{inner}])");
    }
    Ok(all)
}
