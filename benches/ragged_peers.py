#!/usr/bin/env python3
"""Runs the operations of `cargo bench --bench expr` in tf.ragged and Awkward too, on the same numbers in one run.

    python benches/ragged_peers.py [RECORDS]        needs tensorflow-cpu, awkward and numpy

The data is that of the benchmark, from the same generator: records of 2 to 7 rows of 0 to 16 items. The three programs
measure every operation in turn, in several rounds; the best results are printed in GiB of values per second, counting the
values of all operands, with the ratios to the peers. TensorFlow computes on one core.
"""
import subprocess
import sys
import time
from pathlib import Path

import awkward as ak
import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
RECORDS = int(sys.argv[1]) if len(sys.argv) > 1 else 4_096
ROUNDS, RUNS = 3, 30


def draw():
    """Generates the numbers of the benchmark."""
    state = 1
    while True:
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        yield state >> 33


numbers = draw()
take = lambda count, n: np.fromiter((next(numbers) % n for _ in range(count)), np.int64, count)
splits_of = lambda lengths: np.concatenate([[0], np.cumsum(lengths)])
nrows = 2 + take(RECORDS, 6)
lengths = take(nrows.sum(), 17)
outer, inner = splits_of(nrows), splits_of(lengths)
n = int(inner[-1])
ints, others = take(n, 100), take(n, 100)
floats = [(np.arange(n) % 1000).astype(np.float32) * np.float32(k) for k in (0.001, 0.002)]
index_in_record = np.arange(outer[-1]) - np.repeat(outer[:-1], nrows)
picks = (index_in_record * 7 + 3) % np.repeat(nrows, nrows)
singles = np.arange(outer[-1]).reshape(-1, 1)


def in_tensorflow(values):
    return tf.RaggedTensor.from_nested_row_splits(values, [outer, inner], validate=False)


def in_awkward(values):
    rows = ak.contents.ListOffsetArray(ak.index.Index64(inner), ak.contents.NumpyArray(values))
    return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(outer), rows))


# Operands that share a partition object skip comparing partitions in each operation.
x = in_tensorflow(ints)
y, f, g = (x.with_flat_values(v) for v in (others, *floats))
a, b, c, d = (in_awkward(v) for v in (ints, others, *floats))
rows = tf.RaggedTensor.from_row_splits(picks, outer, validate=False)
ak_rows = ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(outer), ak.contents.NumpyArray(picks)))
column = tf.RaggedTensor.from_row_splits(singles, outer, validate=False)
ak_column = ak.Array(
    ak.contents.ListOffsetArray(ak.index.Index64(outer), ak.contents.RegularArray(ak.contents.NumpyArray(singles.ravel()), 1))
)
packed = ak.to_packed
JOBS = {
    "add a number, int64": (lambda: x + 3, lambda: a + 3),
    "add, int64": (lambda: x + y, lambda: a + b),
    "multiply, float32": (lambda: f * g, lambda: c * d),
    "compare, float32": (lambda: f > 0.5, lambda: c > 0.5),
    "sum of rows, int64": (lambda: tf.reduce_sum(x, axis=2), lambda: ak.sum(a, axis=2)),
    "sum of rows, float32": (lambda: tf.reduce_sum(f, axis=2), lambda: ak.sum(c, axis=2)),
    "sum across rows, int64": (lambda: tf.reduce_sum(x, axis=1), lambda: ak.sum(a, axis=1)),
    "mean of rows, float32": (lambda: tf.reduce_mean(f, axis=2), lambda: ak.mean(c, axis=2)),
    "greatest of rows, int64": (lambda: tf.reduce_max(x, axis=2), lambda: ak.max(a, axis=2)),
    "slice of rows, int64": (lambda: x[:, :, 1:-1], lambda: packed(a[:, :, 1:-1])),
    "slice of rows, float32": (lambda: f[:, :, 1:-1], lambda: packed(c[:, :, 1:-1])),
    "rows reversed, int64": (lambda: x[:, :, ::-1], lambda: packed(a[:, :, ::-1])),
    "concat of rows, int64": (lambda: tf.concat([x, y], axis=2), lambda: ak.concatenate([a, b], axis=2)),
    "gather of rows, int64": (lambda: tf.gather(x, rows, batch_dims=1), lambda: packed(a[ak_rows])),
    "add a column, int64": (lambda: x + column, lambda: a + ak_column),
    "mask, int64": (lambda: tf.ragged.boolean_mask(x, x > 50), lambda: packed(a[a > 50])),
    "several steps, int64": (lambda: (x + 1) * 2 - y, lambda: (a + 1) * 2 - b),
    "several steps, float32": (lambda: (f - 0.5) * (g + 1.0) / 2.0, lambda: (c - 0.5) * (d + 1.0) / 2.0),
}
BOTH = ("add, ", "multiply", "concat", "several")


def rate(name, job):
    nbytes = n * (4 if "float32" in name else 8) * (2 if name.startswith(BOTH) else 1)

    def timed():
        start = time.perf_counter()
        job()
        return time.perf_counter() - start

    return nbytes / min(timed() for _ in range(RUNS)) / 2**30


def tatter():
    """The results of the benchmark by operation."""
    out = subprocess.run(
        ["cargo", "bench", "--quiet", "--locked", "--bench", "expr", "--", str(RECORDS)], cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=True
    ).stdout
    return {name: float(line.split()[-1]) for line in out.splitlines() for name in JOBS if line.startswith(name)}


best = {name: [0.0, 0.0, 0.0] for name in JOBS}
for _ in range(ROUNDS):
    ours = tatter()
    for name, (tensorflow, awkward) in JOBS.items():
        found = (ours[name], rate(name, tensorflow), rate(name, awkward))
        best[name] = [max(pair) for pair in zip(best[name], found)]
print("%-24s %8s %10s %8s %8s %8s" % ("GiB of values a second", "tatter", "tf.ragged", "awkward", "times tf", "times ak"))
for name, (ours, tensorflow, awkward) in best.items():
    print("%-24s %8.2f %10.2f %8.2f %8.1f %8.1f" % (name, ours, tensorflow, awkward, ours / tensorflow, ours / awkward))
