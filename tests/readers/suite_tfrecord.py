"""TFRecord, in both directions, with TensorFlow."""
import json
import random

import numpy as np
import tensorflow as tf

from harness import as_json, expect

SEEDS = range(6)
KINDS = {"int64": tf.int64, "float32": tf.float32, "string": tf.string, "bytes": tf.string}


def run(harness):
    for seed in SEEDS:
        vectors(harness, seed)
        ragged(harness, seed)
    structures(harness)
    specification(harness)
    sequences(harness)
    mixed(harness)


def value(kind, r):
    if kind == "int64":
        return r.choice([0, -1, 2**63 - 1, -(2**63), r.randint(-1000, 1000)])
    if kind == "float32":
        return float(np.float32(r.choice([0.0, -0.0, 1.5, r.uniform(-1e6, 1e6), 3.4e38])))
    if kind == "string":
        return r.choice(["", "a", "naïve", "漢字", "x" * 200])
    return r.choice([b"", b"\xff\x00", bytes(r.randrange(256) for _ in range(5))])


def feature(kind, values):
    if kind == "int64":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    if kind == "float32":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[v.encode() if isinstance(v, str) else v for v in values]))


def numbers(tensor):
    """The values of a tensor in Python's own types; strings as bytes."""
    return tensor.numpy().tolist() if isinstance(tensor, tf.Tensor) else tensor.to_list()


def encoded(value):
    if isinstance(value, list):
        return [encoded(v) for v in value]
    return value.encode() if isinstance(value, str) else value


def vectors(harness, seed):
    """Lists of every kind, absent, empty, or without a kind; plain, GZIP and ZLIB."""
    r = random.Random(seed)
    records = []
    for _ in range(40):
        record = {}
        for kind in KINDS:
            values = [value(kind, r) for _ in range(r.choice([0, 1, 1, 3, 8]))]
            record[kind] = None if r.random() < 0.2 else values
        records.append(record)
    for kind in KINDS:
        records[0][kind] = [value(kind, r)]
    # A field is read as bytes if any value is not UTF-8.
    records[0]["bytes"] = [b"\xff"]

    def example(record):
        present = {k: feature(k, v) for k, v in record.items() if v is not None}
        return tf.train.Example(features=tf.train.Features(feature=present)).SerializeToString()

    for compression, extension in [("", "tfrecord"), ("GZIP", "tfrecord.gz"), ("ZLIB", "tfrecord.zlib")]:
        path, back = harness.path(f"v{seed}.{extension}"), harness.path(f"b{seed}.{extension}")
        with tf.io.TFRecordWriter(path, compression or None) as writer:
            for record in records:
                writer.write(example(record))
        harness.check(f"tfrecord {compression} read, seed {seed}", lambda: expect(by_name(harness.records("convert", "--from", "tfrecord", path)), by_name(shortest(as_json(records)))))
        harness.check(f"tfrecord {compression} counted, seed {seed}", lambda: expect(int(harness.run("count", path)), len(records)))

        def check():
            harness.run("convert", path, "-o", back)
            spec = {k: tf.io.RaggedFeature(dtype) for k, dtype in KINDS.items()}
            dataset = tf.data.TFRecordDataset(back, compression_type="ZLIB" if extension.endswith("zlib") else compression)
            found = [{k: numbers(v) for k, v in tf.io.parse_single_example(x, spec).items()} for x in dataset]
            expect([dict(sorted(x.items())) for x in found], [dict(sorted((k, encoded(v or [])) for k, v in x.items())) for x in records])
            present = [sorted(tf.train.Example.FromString(x.numpy()).features.feature) for x in dataset]
            expect(present, [sorted(k for k, v in x.items() if v is not None) for x in records])

        harness.check(f"tfrecord {compression} written, seed {seed}", check)


def by_name(records):
    """Features of an example have no order."""
    return [dict(sorted(record.items())) for record in records]


def shortest(records):
    """float32 in its shortest form, whole numbers from 2**24 on and subnormal numbers with all digits."""
    text = lambda x: float(x) if abs(x) >= 2**24 or abs(x) < np.finfo(np.float32).tiny else float(str(np.float32(x)))
    return [{k: [text(x) for x in v] if k == "float32" and v else v for k, v in record.items()} for record in records]


def ragged(harness, seed):
    """Ragged tensors through the row_lengths features that tf.io.RaggedFeature reads."""
    r = random.Random(50 + seed)
    nested = lambda depth, leaf: [nested(depth - 1, leaf) for _ in range(r.randint(0, 3))] if depth else leaf()
    records = [{"id": i, "two": nested(2, lambda: r.randint(0, 9)), "three": nested(3, lambda: r.choice(["a", "bc", ""]))} for i in range(30)]
    records[0].update(two=[[1], [2, 3]], three=[[["x"], []], []])
    path = harness.path(f"ragged{seed}.tfrecord")

    def check():
        harness.run("convert", "-o", path, stdin=b"".join(json.dumps(x).encode() + b"\n" for x in records))
        lengths = lambda name, levels: [tf.io.RaggedFeature.RowLengths(f"{name}/row_lengths_{i}") for i in range(1, levels)]
        spec = {
            "id": tf.io.FixedLenFeature([], tf.int64),
            "two": tf.io.RaggedFeature(tf.int64, value_key="two", partitions=lengths("two", 2)),
            "three": tf.io.RaggedFeature(tf.string, value_key="three", partitions=lengths("three", 3)),
        }
        found = []
        for raw in tf.data.TFRecordDataset(path):
            parsed = tf.io.parse_single_example(raw, spec)
            found.append({k: numbers(parsed[k]) for k in spec})
        expect(found, [{k: encoded(v) for k, v in x.items()} for x in records])

    harness.check(f"ragged written, seed {seed}", check)
    harness.check(f"ragged read, seed {seed}", lambda: expect(by_name(harness.records("convert", "--scalar", "id", path)), by_name(records)))


def structures(harness):
    """Structures are flattened; sparse tensors are what tf.io.SparseFeature reads."""
    lines = b'{"a": {"b": 1, "c": [1.5, 2.5]}, "s": {"indices": [[0], [3]], "values": [1, 2], "dense_shape": [5]}}\n'
    path = harness.path("structures.tfrecord")

    def check():
        harness.run("convert", "-o", path, "--schema", "s: sparse<int64>[5]; a: {b: int64, c: float32[?]}", stdin=lines)
        spec = {
            "a.b": tf.io.FixedLenFeature([], tf.int64),
            "a.c": tf.io.FixedLenFeature([2], tf.float32),
            "s": tf.io.SparseFeature(["s/indices_0"], "s/values", tf.int64, [5]),
        }
        raw = next(iter(tf.data.TFRecordDataset(path)))
        parsed = tf.io.parse_single_example(raw, spec)
        expect(int(parsed["a.b"]), 1)
        expect(numbers(parsed["a.c"]), [1.5, 2.5])
        expect(tf.sparse.to_dense(parsed["s"]).numpy().tolist(), [1, 0, 0, 2, 0])

    harness.check("structures and sparse tensors", check)


def specification(harness):
    """The dictionary that `schema --as tf` prints reads the file."""
    lines = b'{"id": 1, "name": "x", "tags": ["a", "b"], "m": [[1], [2, 3]]}\n{"id": 2, "name": "y", "tags": [], "m": []}\n'
    path = harness.path("spec.tfrecord")

    def check():
        harness.run("convert", "-o", path, stdin=lines)
        text = harness.run("schema", path, "--as", "tf", "--scalar", "id,name").decode()
        scope = {"tf": tf, "tensorflow": tf}
        exec(text, scope)
        spec = next(v for k, v in scope.items() if isinstance(v, dict) and not k.startswith("__"))
        found = [tf.io.parse_single_example(raw, spec) for raw in tf.data.TFRecordDataset(path)]
        expect([[int(x["id"]), numbers(x["m"])] for x in found], [[1, [[1], [2, 3]]], [2, []]])

    harness.check("schema --as tf", check)


def sequence_example(context, lists):
    """`lists`: by name, the values of each step."""
    step = lambda values: feature("float32" if values and isinstance(values[0], float) else "string" if values and isinstance(values[0], str) else "int64", values)
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={k: step(v) for k, v in context.items()}),
        feature_lists=tf.train.FeatureLists(feature_list={k: tf.train.FeatureList(feature=[step(s) for s in v]) for k, v in lists.items()}),
    ).SerializeToString()


def write(path, records):
    with tf.io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)


def sequences(harness):
    """tf.SequenceExamples are recognized; the code that `schema --as tf` prints parses them; empty feature lists stay."""
    path, back = harness.path("sequences.tfrecord"), harness.path("sequences-back.tfrecord")
    records = [
        ({"id": [1]}, {"words": [["a", "b"], ["c"]], "frames": [[1.5, 2.5], [3.5, 4.5]], "none": []}),
        ({"id": [2]}, {"words": [], "frames": [], "none": []}),
        ({"id": [3]}, {"words": [["d"]], "frames": [[0.5, 1.0]], "none": []}),
    ]
    write(path, [sequence_example(*r) for r in records])
    schema = "id: int64; words: string[?, (?)]; frames: float32[?, 2]"

    def recognised():
        expect(harness.records("select", "words,id", path), [{"words": lists["words"], "id": context["id"]} for context, lists in records])

    harness.check("tf.SequenceExample recognized", recognised)

    def parsed():
        scope = {}
        exec(harness.run("schema", path, "--as", "tf", "--schema", schema).decode(), scope)
        serialized = [raw.numpy() for raw in tf.data.TFRecordDataset(path)]
        context, lists, lengths = scope["parse"](serialized)
        expect(numbers(context["id"]), [1, 2, 3])
        expect(numbers(lists["words"]), [encoded(lists["words"]) for _, lists in records])
        expect(numbers(lengths["frames"]), [2, 0, 1])
        expect(numbers(lists["frames"])[0], [[1.5, 2.5], [3.5, 4.5]])

    harness.check("schema --as tf of a tf.SequenceExample", parsed)

    def written():
        harness.run("convert", path, "--to", "sequence-example", "-o", back)
        found = [tf.train.SequenceExample.FromString(raw.numpy()) for raw in tf.data.TFRecordDataset(back)]
        expect([sorted(x.feature_lists.feature_list) for x in found], [["frames", "none", "words"]] * 3)
        expect([len(x.feature_lists.feature_list["words"].feature) for x in found], [2, 0, 1])
        expect([len(x.feature_lists.feature_list["none"].feature) for x in found], [0, 0, 0])

    harness.check("tf.SequenceExample written back, with a list that is always empty", written)

    def deep():
        deep = harness.path("deep.tfrecord")
        lines = b'{"id": 7, "deep": [[[1, 2], [3]], [[4]]], "pairs": [[1, 2], [3, 4]]}\n{"id": 8, "deep": [], "pairs": []}\n'
        declared = "id: int64; deep: int64[?, (?), (?)]; pairs: int64[?, 2]"
        harness.run("convert", "--to", "sequence-example", "-o", deep, "--schema", declared, stdin=lines)
        scope = {}
        exec(harness.run("schema", deep, "--as", "tf", "--schema", declared).decode(), scope)
        context, lists, _ = scope["parse"]([raw.numpy() for raw in tf.data.TFRecordDataset(deep)])
        expect(numbers(context["id"]), [7, 8])
        expect(numbers(lists["deep"]), [[[[1, 2], [3]], [[4]]], []])
        expect(numbers(lists["pairs"])[0], [[1, 2], [3, 4]])

    harness.check("schema --as tf of nested feature lists", deep)


def mixed(harness):
    """A file with both messages is an error that names the records, in either order."""
    example = tf.train.Example(features=tf.train.Features(feature={"id": feature("int64", [1])})).SerializeToString()
    sequence = sequence_example({"id": [2]}, {"words": [["a"]]})
    for name, records, bad in [("example first", [example, example, sequence], 3), ("sequence first", [sequence, example], 2)]:
        path = harness.path(f"mixed-{bad}.tfrecord")
        write(path, records)

        def check():
            for verb in ("convert", "schema"):
                message = harness.run(verb, path, ok=False).stderr.decode()
                expect(f"record {bad}" in message and "--from sequence-example" in message, True)
            expect(len(harness.records("convert", "--from", "sequence-example", path)), len(records))

        harness.check(f"both messages in one file, {name}", check)
