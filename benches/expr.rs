//! Expressions over ragged columns: throughput of the values that go in.
//!
//! ```text
//! cargo bench --bench expr [-- RECORDS]
//! ```
//!
//! One chunk: `x` and `y` are ragged int64 rows of 0 to 16 items, `f` and `g` float32 rows, `rows`
//! numbers of rows, `column` one number for each row. 4,096 records make columns of about 1 MiB, which
//! is what a block of a file becomes. `benches/ragged_peers.py` runs the same in tf.ragged and Awkward.
#![allow(clippy::unwrap_used, reason = "a benchmark may stop at the first surprise")]

mod throughput;

use arrow_array::{Float32Array, Int64Array};
use std::sync::Arc;
use tatter::chunk::{Chunk, Origin};
use tatter::schema::{DType, Dim, Field, Schema, Type};
use tatter::tensor::{RowPartition, Tensor};

/// Expressions, and the bytes of one value that goes in.
const EXPRESSIONS: &[(&str, &str, u64)] = &[
    ("add a number, int64", "x + 3", 8),
    ("add, int64", "x + y", 16),
    ("multiply, float32", "f * g", 8),
    ("compare, float32", "f > 0.5", 4),
    ("sum of rows, int64", "reduce_sum(x, axis=1)", 8),
    ("sum of rows, float32", "reduce_sum(f, axis=1)", 4),
    ("sum across rows, int64", "reduce_sum(x, axis=0)", 8),
    ("mean of rows, float32", "reduce_mean(f, axis=1)", 4),
    ("greatest of rows, int64", "reduce_max(x, axis=1)", 8),
    ("slice of rows, int64", "x[:, 1:-1]", 8),
    ("slice of rows, float32", "f[:, 1:-1]", 4),
    ("rows reversed, int64", "x[:, ::-1]", 8),
    ("concat of rows, int64", "concat([x, y], axis=1)", 16),
    ("gather of rows, int64", "gather(x, rows)", 8),
    ("add a column, int64", "x + column", 8),
    ("mask, int64", "ragged.boolean_mask(x, x > 50)", 8),
    ("several steps, int64", "(x + 1) * 2 - y", 16),
    ("several steps, float32", "(f - 0.5) * (g + 1.0) / 2.0", 8),
];

fn chunk(records: usize) -> (Schema, Chunk, usize) {
    let mut state = 1u64;
    let mut next = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let rows: Vec<i64> = (0..records).map(|_| 2 + next(6) as i64).collect();
    let lengths: Vec<i64> = (0..rows.iter().sum::<i64>()).map(|_| next(17) as i64).collect();
    let n = lengths.iter().sum::<i64>() as usize;
    let outer = RowPartition::from_row_lengths(rows).unwrap();
    let inner = RowPartition::from_row_lengths(lengths).unwrap();
    let wrap = |leaf| Tensor::list(outer.clone(), Tensor::list(inner.clone(), leaf, None).unwrap(), None).unwrap();
    let mut ints = || Tensor::Leaf(Arc::new(Int64Array::from_iter_values((0..n).map(|_| next(100) as i64))));
    let (x, y) = (wrap(ints()), wrap(ints()));
    let floats = |k: f32| Tensor::Leaf(Arc::new(Float32Array::from_iter_values((0..n).map(|i| (i % 1000) as f32 * k))));
    let (f, g) = (wrap(floats(0.001)), wrap(floats(0.002)));
    let list = |partition: &RowPartition, values| Tensor::list(partition.clone(), Tensor::Leaf(Arc::new(values)), None).unwrap();
    let nrows = |record: usize| outer.row_length(record) as u64;
    let picks = Int64Array::from_iter_values(
        (0..records).flat_map(|r| (0..nrows(r)).map(move |i| (i, nrows(r)))).map(|(i, n)| ((i * 7 + 3) % n) as i64),
    );
    let rows = list(&outer, picks);
    let column = Tensor::list(
        outer.clone(),
        list(&RowPartition::uniform(1, outer.nvals()).unwrap(), Int64Array::from_iter_values(0..outer.nvals() as i64)),
        None,
    )
    .unwrap();
    let ty = |dtype| Type::tensor(dtype, vec![Dim::UNIFORM, Dim::RAGGED]);
    let fields = [("x", DType::Int64), ("y", DType::Int64), ("f", DType::Float32), ("g", DType::Float32)];
    let mut fields = fields.map(|(name, dtype)| Field::new(name, ty(dtype))).to_vec();
    fields.push(Field::new("rows", Type::tensor(DType::Int64, vec![Dim::UNIFORM])));
    fields.push(Field::new("column", Type::tensor(DType::Int64, vec![Dim::UNIFORM, Dim::known(1)])));
    (Schema::new(fields), Chunk::try_new(records, vec![x, y, f, g, rows, column], Origin::default()).unwrap(), n)
}

fn main() {
    let (schema, chunk, n) = chunk(throughput::records());
    throughput::print(EXPRESSIONS, &schema, &chunk, n);
}
