"""Golden vectors of streams, generated with tf.data: `python draw_streams.py > fixtures/oracle/streams.jsonl`.

Each line is one tf.data pipeline as a tatter command over files of JSON lines, with the records that tf.data returns:

    {"id", "args", "files", "want"}

`args` is the command line after `tatter`, `files` maps names to lists of records, `want` is the list of expected records.
"""

import json
import os
import random

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import tensorflow as tf  # noqa: E402

tf.random.set_seed(0)
rng = random.Random(2026)


def dataset(values):
    return tf.data.Dataset.from_tensor_slices(tf.constant(values, dtype=tf.int64, shape=[len(values)]))


def rows(values, name="x"):
    return [{name: v} for v in values]


def given(stream):
    return [v.tolist() for v in stream.as_numpy_iterator()]


def emit(id, args, files, want):
    print(json.dumps({"id": id, "args": args, "files": files, "want": want}, separators=(",", ":")))


def sources(count, longest=9):
    start = 0
    for i in range(count):
        n = rng.randint(0, longest)
        yield list(range(start, start + n))
        start += 100


def named(values):
    return {f"s{i}.jsonl": rows(v) for i, v in enumerate(values)}


def filled(values):
    """Whether there is any record: without records there are no types."""
    return any(values)


for case in range(30):
    values = list(sources(rng.randint(1, 6)))
    if not filled(values):
        continue
    cycle, block = rng.randint(1, 7), rng.randint(1, 4)
    # Each input is a row of a ragged tensor.
    lists = tf.data.Dataset.from_tensor_slices(tf.ragged.constant(values, dtype=tf.int64, ragged_rank=1))
    stream = lists.interleave(
        lambda row: tf.data.Dataset.from_tensor_slices(row), cycle_length=cycle, block_length=block, num_parallel_calls=None
    )
    args = f"interleave --cycle {cycle} --block {block} {' '.join(named(values))}"
    emit(f"interleave.{case:04}", args, named(values), rows(given(stream)))

for case in range(30):
    values = list(sources(rng.randint(1, 4)))
    if not filled(values):
        continue
    choices = [rng.randrange(len(values)) for _ in range(rng.randint(1, 14))]
    for stop in (True, False):
        stream = tf.data.Dataset.choose_from_datasets([dataset(v) for v in values], dataset(choices), stop_on_empty_dataset=stop)
        files = {"by.jsonl": rows(choices, "from"), **named(values)}
        args = f"choose --by from --stop {'first' if stop else 'all'} by.jsonl {' '.join(named(values))}"
        emit(f"choose_from_datasets.{case:04}.{'first' if stop else 'all'}", args, files, rows(given(stream)))

for case in range(12):
    values = [v for v in sources(rng.randint(2, 4)) if v]
    if len(values) < 2:
        continue
    names = "abcd"[: len(values)]
    stream = tf.data.Dataset.zip(tuple(dataset(v) for v in values))
    want = [{n: {"x": int(v)} for n, v in zip(names, element)} for element in stream.as_numpy_iterator()]
    emit(f"zip.{case:04}", f"zip --shortest --as {','.join(names)} {' '.join(named(values))}", named(values), want)

for case in range(12):
    values = [rng.randint(0, 5) for _ in range(rng.randint(1, 12))]
    start = rng.randint(-3, 9)
    want = [{"index": int(i), "x": int(v)} for i, v in dataset(values).enumerate(start).as_numpy_iterator()]
    emit(f"enumerate.{case:04}", f"enumerate --start {start} s0.jsonl", named([values]), want)
    emit(f"unique.{case:04}", "unique s0.jsonl", named([values]), rows(given(dataset(values).unique())))
    limit = rng.randint(0, 6)
    emit(f"take_while.{case:04}", f"take-while 'x < {limit}' s0.jsonl", named([values]), rows(given(dataset(values).take_while(lambda x: x < limit))))
    emit(f"repeat.{case:04}", f"repeat {case % 4 + 1} s0.jsonl", named([values]), rows(given(dataset(values).repeat(case % 4 + 1))))

for case in range(60):
    values = list(range(rng.randint(1, 14)))
    size, shift, stride = rng.randint(1, 5), rng.randint(1, 5), rng.randint(1, 3)
    drop = bool(rng.randint(0, 1))
    stream = dataset(values).window(size, shift, stride, drop)
    want = [{"x": given(window)} for window in stream]
    args = f"window --size {size} --shift {shift} --stride {stride}{' --drop-remainder' if drop else ''} s0.jsonl"
    emit(f"window.{case:04}", args, named([values]), want)

for case in range(30):
    values = [rng.randint(0, 9) for _ in range(rng.randint(1, 16))]
    classes, sizes = rng.randint(1, 4), [rng.randint(1, 4) for _ in range(4)]
    # The key determines the size of a window.
    stream = dataset(values).group_by_window(
        key_func=lambda x: x % classes,
        reduce_func=lambda key, window: window.batch(99),
        window_size_func=lambda key: tf.gather(tf.constant(sizes, tf.int64), key),
    )
    named_sizes = ",".join(f"{key}={size}" for key, size in enumerate(sizes))
    want = [{"x": batch.tolist()} for batch in stream.as_numpy_iterator()]
    emit(f"group_by_window.{case:04}", f"bucket --by 'x % {classes}' --batch-sizes {named_sizes} s0.jsonl", named([values]), want)

for case in range(20):
    values = [rng.randint(0, 2) for _ in range(rng.randint(1, 16))]
    # Shares that keep either all records of a class or none, so that random numbers do not matter.
    kept = [rng.random() < 0.6 for _ in range(3)]
    kept[values[0]] = True
    initial = [1 / 3] * 3
    target = [k / sum(kept) for k in kept]
    stream = dataset(values).rejection_resample(lambda x: x, target_dist=target, initial_dist=initial, seed=case)
    want = [int(x) for _, x in stream.as_numpy_iterator()]
    shares = lambda dist: ",".join(f"{c}={share:.9f}" for c, share in enumerate(dist))
    args = f"rejection-resample --by x --initial {shares(initial)} --target {shares(target)} s0.jsonl"
    emit(f"rejection_resample.{case:04}", args, named([values]), rows(want))

for case in range(40):
    values = [[rng.randint(0, 9) for _ in range(rng.randint(0, 9))] for _ in range(rng.randint(1, 3))]
    if not filled(values):
        continue
    size, shift, pad = rng.randint(1, 5), rng.randint(1, 5), bool(rng.randint(0, 1))
    frames = [tf.signal.frame(tf.constant(v, tf.int64, shape=[len(v)]), size, shift, pad_end=pad, pad_value=7).numpy().tolist() for v in values]
    args = f"windows x --size {size} --shift {shift} {'--pad 7' if pad else '--drop-remainder'} s0.jsonl"
    emit(f"frame.{case:04}", args, named([values]), rows(frames))
