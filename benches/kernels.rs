//! The kernels of the verbs that change shapes, in bytes of values per second.
//!
//! `cargo bench --bench kernels`. The aim is 1 GB/s of values per core or better.
#![allow(clippy::panic)]

use arrow_array::{ArrayRef, Int64Array};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;
use tatter::tensor::batch::batch;
use tatter::tensor::merge::{merge_axes, partition, promote};
use tatter::tensor::pad::{Padding, Side, Target};
use tatter::tensor::sparsify::sparse_of_ragged;
use tatter::tensor::{RowPartition, Tensor};

const ROWS: usize = 20_000;

/// `[ROWS, (?)]`: rows of 0 to 200 numbers, as tokens are.
fn tokens() -> Tensor {
    let lengths: Vec<i64> = (0..ROWS as i64).map(|row| row * 7919 % 201).collect();
    let nvals: i64 = lengths.iter().sum();
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..nvals));
    Tensor::list(RowPartition::from_row_lengths(lengths).unwrap_or_else(|e| panic!("{e}")), Tensor::Leaf(values), None)
        .unwrap_or_else(|e| panic!("{e}"))
}

fn padding() -> Padding {
    Padding {
        targets: vec![Target::Longest, Target::Longest],
        multiple_of: None,
        side: Side::Right,
        filling: Arc::new(Int64Array::from(vec![0])),
        max_nbytes: 1 << 32,
    }
}

fn kernels(c: &mut Criterion) {
    let rows = tokens();
    let batches = RowPartition::uniform(250, ROWS / 250).unwrap_or_else(|e| panic!("{e}"));
    let batched = batch(&rows, &batches).unwrap_or_else(|e| panic!("{e}"));
    let records = RowPartition::uniform(1, ROWS / 250).unwrap_or_else(|e| panic!("{e}"));
    let structures = Tensor::structure(ROWS, vec![rows.clone()], None).and_then(|s| batch(&s, &batches)).unwrap_or_else(|e| panic!("{e}"));
    let backwards: Vec<usize> = (0..ROWS).rev().collect();
    let merged = merge_axes(&batched, 0, 1).unwrap_or_else(|e| panic!("{e}"));
    let groups = rows.as_list().map(|l| l.partition().clone()).unwrap_or_else(|e| panic!("{e}"));

    let mut group = c.benchmark_group("kernels");
    group.throughput(Throughput::Bytes(rows.nbytes() as u64));
    group.bench_function("pad", |b| b.iter(|| padding().apply(black_box(&batched), &records, false, false)));
    group.bench_function("pad with lengths and mask", |b| b.iter(|| padding().apply(black_box(&batched), &records, true, true)));
    group.bench_function("batch", |b| b.iter(|| batch(black_box(&rows), &batches)));
    group.bench_function("gather", |b| b.iter(|| black_box(&rows).gather(&backwards)));
    group.bench_function("merge", |b| b.iter(|| merge_axes(black_box(&batched), 0, 1)));
    group.bench_function("partition", |b| b.iter(|| partition(black_box(&merged), &batches, &groups)));
    group.bench_function("promote", |b| b.iter(|| promote(black_box(&structures), 1, 0, true)));
    group.bench_function("to sparse", |b| b.iter(|| sparse_of_ragged(black_box(&batched), &[Target::Longest; 2])));
    group.finish();
}

criterion_group!(benches, kernels);
criterion_main!(benches);
