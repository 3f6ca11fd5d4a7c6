//! Expressions over sparse columns: throughput of the values that go in.
//!
//! ```text
//! cargo bench --bench sparse [-- RECORDS]
//! ```
//!
//! One chunk: `s` and `t` are int64 matrices of 8 to 15 rows and 16 columns in which every fourth cell is an entry, in
//! order; `u` has the entries of `s` the other way round. 4,096 records make columns of about 1.5 MiB of values.
#![allow(clippy::unwrap_used, reason = "a benchmark may stop at the first surprise")]

mod throughput;

use arrow_array::Int64Array;
use std::sync::Arc;
use tatter::chunk::{Chunk, Origin};
use tatter::expr::Program;
use tatter::options::Options;
use tatter::schema::{DType, Dim, Field, Schema, Type};
use tatter::tensor::{RowPartition, Sparse, Tensor};

/// Expressions, and the bytes of values that go in for each entry of a column.
const EXPRESSIONS: &[(&str, &str, u64)] = &[
    ("to dense", "sparse.to_dense(s)", 8),
    ("sum", "sparse.reduce_sum(s)", 8),
    ("sum of rows", "sparse.reduce_sum(s, axis=1)", 8),
    ("sum across rows", "sparse.reduce_sum(s, axis=0)", 8),
    ("sum of rows, sparse", "sparse.reduce_sum(s, axis=1, output_is_sparse=True)", 8),
    ("sum across rows, sparse", "sparse.reduce_sum(s, axis=0, output_is_sparse=True)", 8),
    ("greatest of rows", "sparse.reduce_max(s, axis=1)", 8),
    ("slice", "sparse.slice(s, [1, 2], [9, 9])", 8),
    ("split, both parts", "sparse.concat(0, sparse.split(s, 2, axis=0))", 8),
    ("in order already", "sparse.reorder(s)", 8),
    ("put in order", "sparse.reorder(u)", 8),
    ("transpose", "sparse.transpose(s)", 8),
    ("reshape", "sparse.reshape(s, [-1])", 8),
    ("concat", "sparse.concat(1, [s, t])", 16),
    ("add", "sparse.add(s, t)", 16),
    ("multiply by a number", "s * 3", 8),
    ("multiply by a row", "s * [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]", 8),
    ("fill empty rows", "sparse.fill_empty_rows(s, 0)[0]", 8),
    ("retain", "sparse.retain(s, values(s) > 50)", 8),
    ("from dense", "sparse.from_dense(d)", 8),
];

fn chunk(records: usize) -> (Schema, Chunk, usize) {
    let mut state = 1u64;
    let mut next = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let (mut lengths, mut shapes, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..records {
        let rows = 8 + next(8) as i64;
        let before = indices.len();
        for cell in 0..rows * 16 {
            if next(4) == 0 {
                indices.push([cell / 16, cell % 16]);
            }
        }
        lengths.push((indices.len() - before) as i64);
        shapes.extend([rows, 16]);
    }
    let n = indices.len();
    let entries = RowPartition::from_row_lengths(lengths).unwrap();
    let mut turned = indices.clone();
    (0..records).for_each(|record| turned[entries.range(record)].reverse());
    let mut column = |indices: &[[i64; 2]]| {
        let values = Arc::new(Int64Array::from_iter_values((0..n).map(|_| 1 + next(100) as i64)));
        Tensor::Sparse(
            Sparse::try_new(2, entries.clone(), indices.as_flattened().to_vec().into(), values, shapes.clone().into(), None).unwrap(),
        )
    };
    let columns = vec![column(&indices), column(&indices), column(&turned)];
    let ty = Type::sparse(DType::Int64, vec![Dim::UNIFORM, Dim::known(16)]);
    let fields = ["s", "t", "u"].map(|name| Field::new(name, ty.clone())).to_vec();
    let sparse = Chunk::try_new(records, columns, Origin::default()).unwrap();
    let schema = Schema::new(fields);
    let program = Program::bind("d = sparse.to_dense(s)", &schema, &Options::default()).unwrap();
    (program.schema().as_ref().clone(), program.apply(sparse).unwrap(), n)
}

fn main() {
    let (schema, chunk, n) = chunk(throughput::records());
    throughput::print(EXPRESSIONS, &schema, &chunk, n);
}
