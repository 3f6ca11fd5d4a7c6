#!/usr/bin/env python3
"""The operations of `cargo bench --bench expr` in tf.ragged and Awkward, for a comparison on the same machine.

    python benches/ragged_peers.py        needs tensorflow-cpu, awkward and numpy

Rows of 0 to 16 items, as in the benchmark, about 590,000 values; the best of 30 runs is printed as GiB of values a second, the values of all operands counted; TensorFlow computes on one core.
"""
import time

import awkward as ak
import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
rng = np.random.default_rng(7)
lengths = rng.integers(0, 17, 73_728)
splits = np.concatenate([[0], np.cumsum(lengths)])
ints = rng.integers(0, 50_000, splits[-1])
floats = ints.astype(np.float32)
t = tf.RaggedTensor.from_row_splits(ints, splits)
tf32 = tf.RaggedTensor.from_row_splits(floats, splits)
a = ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(splits), ak.contents.NumpyArray(ints)))
af = ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(splits), ak.contents.NumpyArray(floats)))
rows = rng.integers(0, len(lengths), len(lengths))
column = rng.integers(0, 100, (len(lengths), 1))
JOBS = [
    ("add a number, int64", 1, ints, lambda: t + 3, lambda: a + 3),
    ("add, int64", 2, ints, lambda: t + t, lambda: a + a),
    ("multiply, float32", 2, floats, lambda: tf32 * tf32, lambda: af * af),
    ("compare, float32", 1, floats, lambda: tf32 > 0.5, lambda: af > 0.5),
    ("sum of rows, int64", 1, ints, lambda: tf.reduce_sum(t, axis=1), lambda: ak.sum(a, axis=1)),
    ("sum of rows, float32", 1, floats, lambda: tf.reduce_sum(tf32, axis=1), lambda: ak.sum(af, axis=1)),
    ("sum across rows, int64", 1, ints, lambda: tf.reduce_sum(t, axis=0), lambda: ak.sum(a, axis=0)),
    ("mean of rows, float32", 1, floats, lambda: tf.reduce_mean(tf32, axis=1), lambda: ak.mean(af, axis=1)),
    ("greatest of rows, int64", 1, ints, lambda: tf.reduce_max(t, axis=1), lambda: ak.max(a, axis=1)),
    ("slice of rows, int64", 1, ints, lambda: t[:, 1:-1], lambda: ak.to_packed(a[:, 1:-1])),
    ("slice of rows, float32", 1, floats, lambda: tf32[:, 1:-1], lambda: ak.to_packed(af[:, 1:-1])),
    ("rows reversed, int64", 1, ints, lambda: t[:, ::-1], lambda: ak.to_packed(a[:, ::-1])),
    ("concat of rows, int64", 2, ints, lambda: tf.concat([t, t], axis=1), lambda: ak.concatenate([a, a], axis=1)),
    ("gather of rows, int64", 1, ints, lambda: tf.gather(t, rows), lambda: ak.to_packed(a[rows])),
    ("add a column, int64", 1, ints, lambda: t + column, lambda: a + column),
    ("mask, int64", 1, ints, lambda: tf.ragged.boolean_mask(t, t > 25_000), lambda: ak.to_packed(a[a > 25_000])),
]


def rate(values, job):
    best = min(timed(job) for _ in range(30))
    return values / best / 2**30


def timed(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


print("%-24s %10s %10s" % ("GiB of values a second", "tf.ragged", "awkward"))
for name, operands, values, tensorflow, awkward in JOBS:
    nbytes = operands * values.nbytes
    print("%-24s %10.2f %10.2f" % (name, rate(nbytes, tensorflow), rate(nbytes, awkward)))
