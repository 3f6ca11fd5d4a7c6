#!/usr/bin/env python3
"""The operations of `cargo bench --bench expr` in tf.ragged and Awkward, for a comparison on the same machine.

    python benches/ragged_peers.py        needs tensorflow-cpu, awkward and numpy

Rows of 0 to 16 items, as in the benchmark, about 590,000 values; the best of 15 runs is printed as GiB of values a second.
"""
import time
import awkward as ak
import numpy as np
import tensorflow as tf

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
JOBS = [
    ("add a number, int64", ints, lambda: t + 3, lambda: a + 3),
    ("add, int64", ints, lambda: t + t, lambda: a + a),
    ("multiply, float32", floats, lambda: tf32 * tf32, lambda: af * af),
    ("sum of rows, int64", ints, lambda: tf.reduce_sum(t, axis=1), lambda: ak.sum(a, axis=1)),
    ("sum across rows, int64", ints, lambda: tf.reduce_sum(t, axis=0), lambda: ak.sum(a, axis=0)),
    ("mean of rows, float32", floats, lambda: tf.reduce_mean(tf32, axis=1), lambda: ak.mean(af, axis=1)),
    ("slice of rows, int64", ints, lambda: t[:, 1:-1], lambda: ak.to_packed(a[:, 1:-1])),
    ("concat of rows, int64", ints, lambda: tf.concat([t, t], axis=1), lambda: ak.concatenate([a, a], axis=1)),
    ("gather of rows, int64", ints, lambda: tf.gather(t, rows), lambda: ak.to_packed(a[rows])),
]


def rate(values, job):
    best = min(timed(job) for _ in range(15))
    return values.nbytes / best / 2**30


def timed(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


print("%-24s %10s %10s" % ("GiB of values a second", "tf.ragged", "awkward"))
for name, values, tensorflow, awkward in JOBS:
    print("%-24s %10.2f %10.2f" % (name, rate(values, tensorflow), rate(values, awkward)))
