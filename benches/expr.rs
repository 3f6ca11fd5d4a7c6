//! Expressions over ragged columns: throughput of the values that go in.
//!
//! ```text
//! cargo bench --bench expr
//! ```
//!
//! One chunk of about 8 MiB: `x` and `y` are ragged int64 rows of 0 to 16 items, `f` and `g` float32 rows.
#![allow(clippy::unwrap_used, reason = "a benchmark may stop at the first surprise")]

use arrow_array::{Float32Array, Int64Array};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::sync::Arc;
use tatter::chunk::{Chunk, Origin};
use tatter::expr::Program;
use tatter::options::Options;
use tatter::schema::{DType, Dim, Field, Schema, Type};
use tatter::tensor::{RowPartition, Tensor};

const RECORDS: usize = 16_384;

/// Expressions, and the bytes of one value that goes in.
const EXPRESSIONS: &[(&str, &str, u64)] = &[
    ("add a number, int64", "x + 1", 8),
    ("add, int64", "x + y", 16),
    ("multiply, float32", "f * g", 8),
    ("compare, float32", "f > 0.5", 4),
    ("sum of rows, int64", "reduce_sum(x, axis=1)", 8),
    ("sum across rows, int64", "reduce_sum(x, axis=0)", 8),
    ("mean of rows, float32", "reduce_mean(f, axis=1)", 4),
    ("greatest of rows, int64", "reduce_max(x, axis=1)", 8),
    ("slice of rows, int64", "x[:, :4]", 8),
    ("rows reversed, int64", "x[:, ::-1]", 8),
    ("concat of rows, int64", "concat([x, y], axis=1)", 16),
    ("gather of rows, int64", "gather(x, [1, 0])", 8),
    ("broadcast of a column, int64", "x + reduce_sum(x, axis=1, keepdims=True)", 8),
    ("mask, int64", "ragged.boolean_mask(x, x > 50)", 8),
];

fn chunk() -> (Schema, Chunk, usize) {
    let mut state = 1u64;
    let mut next = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let rows: Vec<i64> = (0..RECORDS).map(|_| 2 + next(6) as i64).collect();
    let lengths: Vec<i64> = (0..rows.iter().sum::<i64>()).map(|_| next(17) as i64).collect();
    let n = lengths.iter().sum::<i64>() as usize;
    let outer = RowPartition::from_row_lengths(rows).unwrap();
    let inner = RowPartition::from_row_lengths(lengths).unwrap();
    let wrap = |leaf| Tensor::list(outer.clone(), Tensor::list(inner.clone(), leaf, None).unwrap(), None).unwrap();
    let mut ints = || Tensor::Leaf(Arc::new(Int64Array::from_iter_values((0..n).map(|_| next(100) as i64))));
    let (x, y) = (wrap(ints()), wrap(ints()));
    let floats = |k: f32| Tensor::Leaf(Arc::new(Float32Array::from_iter_values((0..n).map(|i| (i % 1000) as f32 * k))));
    let (f, g) = (wrap(floats(0.001)), wrap(floats(0.002)));
    let ty = |dtype| Type::tensor(dtype, vec![Dim::UNIFORM, Dim::RAGGED]);
    let fields = [("x", DType::Int64), ("y", DType::Int64), ("f", DType::Float32), ("g", DType::Float32)];
    let schema = Schema::new(fields.map(|(name, dtype)| Field::new(name, ty(dtype))).to_vec());
    (schema, Chunk::try_new(RECORDS, vec![x, y, f, g], Origin::default()).unwrap(), n)
}

fn expressions(criterion: &mut Criterion) {
    let (schema, chunk, n) = chunk();
    let mut group = criterion.benchmark_group("expressions");
    for (name, text, width) in EXPRESSIONS {
        let program = Program::bind(&format!("out = {text}"), &schema, &Options::default()).unwrap();
        group.throughput(Throughput::Bytes(n as u64 * width));
        group.bench_function(*name, |b| b.iter(|| program.apply(chunk.clone()).unwrap()));
    }
    group.finish();
}

criterion_group!(benches, expressions);
criterion_main!(benches);
