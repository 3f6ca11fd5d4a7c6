"""Directories of TensorFlow Datasets, in both directions. `run.sh TATTER tfds` runs it in a separate environment."""
import json
import logging
import os
import random
import shutil

import numpy as np
import pyarrow as pa
import tensorflow as tf
import tensorflow_datasets as tfds

import tfds_sets
from harness import difference

SPLITS = {"train": 11, "test": 4}
SEED = 1


def run(harness):
    logging.getLogger("absl").setLevel(logging.ERROR)
    tfds.display_progress_bar(False)
    tf.get_logger().setLevel(logging.ERROR)
    directory = everything(harness)
    harness.check("all connectors: what tatter reads is what TFDS reads", lambda: read_all(harness, directory))
    harness.check("all connectors, features.json of the oldest generation", lambda: read_oldest(harness, directory))
    harness.check("class labels as their names", lambda: class_names(harness, directory))
    harness.check("all connectors: what tatter reads and writes, TFDS reads as before", lambda: write_again(harness, directory))
    harness.check("records of any types: what tatter writes, TFDS reads", lambda: write_types(harness))
    harness.check("several shards, a second split, and no records at all", lambda: write_splits(harness))
    harness.check("slices of splits are those of TFDS", lambda: slices(harness))


def everything(harness):
    records = {split: [tfds_sets.record(k + 7 * len(split)) for k in range(n)] for split, n in SPLITS.items()}
    return tfds_sets.build(harness.path("sets"), "everything", tfds_sets.everything(), records, 3)


class SkipFiles:
    """Decoders that keep encoded images as bytes."""

    @staticmethod
    def of(feature):
        kinds = tfds.features
        if isinstance(feature, kinds.FeaturesDict):
            found = {name: SkipFiles.of(inner) for name, inner in feature.items()}
            return {name: decoder for name, decoder in found.items() if decoder is not None} or None
        if isinstance(feature, kinds.Sequence):
            return SkipFiles.of(feature.feature)
        return tfds.decode.SkipDecoding() if isinstance(feature, kinds.Image) else None


def of_tfds(directory, split):
    """The records that TFDS reads, in Python's own types; images as the bytes of their files."""
    builder = tfds.builder_from_directory(directory)
    config = tfds.ReadConfig(interleave_cycle_length=1)
    dataset = builder.as_dataset(split=split, read_config=config, decoders=SkipFiles.of(builder.info.features))
    return [plain(record) for record in tfds.as_numpy(dataset)]


def plain(value):
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (tf.RaggedTensor, tf.compat.v1.ragged.RaggedTensorValue)):
        return value.to_list()
    if isinstance(value, np.ndarray):
        return plain(value.tolist() if value.dtype.kind != "V" and value.dtype.name != "bfloat16" else value.astype(np.float32).tolist())
    if isinstance(value, np.generic):
        return value.item() if value.dtype.name != "bfloat16" else float(value)
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if hasattr(value, "__iter__") and not isinstance(value, (bytes, str)):
        return [plain(inner) for inner in value]
    return value


def of_tatter(harness, *arguments):
    table = pa.ipc.open_stream(harness.run("convert", *arguments, "--to", "arrow")).read_all()
    return table.to_pylist()


def like(found, expected):
    """tatter's records in the form of TFDS: sequences of structures as structures of sequences, text as bytes."""
    if isinstance(expected, dict) and isinstance(found, list):
        return {name: like(each(found, name), inner) for name, inner in expected.items()}
    if isinstance(expected, dict):
        return {name: like(found[name], inner) for name, inner in expected.items()}
    if isinstance(expected, list) and isinstance(found, list):
        filler = expected[-1] if expected else None
        return [like(element, expected[i] if i < len(expected) else filler) for i, element in enumerate(found)]
    return found.encode() if isinstance(found, str) else found


def each(found, name):
    return [each(element, name) for element in found] if isinstance(found, list) else found[name]


def compare(found, expected):
    """Fields missing from a record are null in tatter; TFDS fills them with the least value."""
    assert len(found) == len(expected), (len(found), len(expected))
    for mine, theirs in zip(found, expected):
        for name, least in [("optional", -(2**63)), ("optional_text", b"")]:
            if name in theirs and mine[name] is None:
                assert theirs[name] == least, theirs[name]
                theirs = {**theirs, name: None}
        assert sorted(mine) == sorted(theirs), (sorted(mine), sorted(theirs))
        wrong = difference(like(mine, theirs), theirs)
        assert wrong is None, wrong


def read_all(harness, directory):
    for split in [*SPLITS, "train+test", "train[2:9]", "train[-30%:]"]:
        compare(of_tatter(harness, directory, "--split", split), of_tfds(directory, split))


def read_oldest(harness, directory):
    oldest = harness.path("oldest")
    shutil.copytree(directory, oldest)
    features = tfds.builder_from_directory(directory).info.features.to_json()
    with open(os.path.join(oldest, "features.json"), "w") as file:
        json.dump(features, file)
    assert "type" in features and "pythonClassName" not in features
    compare(of_tatter(harness, oldest, "--split", "train"), of_tfds(oldest, "train"))


def class_names(harness, directory):
    features = tfds.builder_from_directory(directory).info.features
    named = of_tatter(harness, directory, "--split", "train", "--class-names")
    for mine, theirs in zip(named, of_tfds(directory, "train")):
        assert mine["label"] == features["label"].int2str(theirs["label"])
        assert mine["labels"] == [features["labels"].feature.int2str(n) for n in theirs["labels"]]
        assert [o["label"] for o in mine["objects"]] == [features["objects"]["label"].int2str(n) for n in theirs["objects"]["label"]]
        assert mine["class"] == theirs["class"], "it has no names"
    table = pa.ipc.open_stream(harness.run("convert", directory, "--split", "test", "--to", "arrow")).read_all()
    assert json.loads(table.schema.field("label").metadata[b"tfds:class_names"]) == ["cat", "dog"]


def write_again(harness, directory):
    written = harness.path("again/1.0.0")
    os.mkdir(harness.path("again"))
    harness.run("convert", directory, "--split", "train", "-o", written, "--to", "tfds", "--name", "everything")
    compare(of_tatter(harness, written, "--split", "train"), of_tfds(directory, "train"))
    found, expected = of_tfds(written, "train"), of_tfds(directory, "train")
    for mine, theirs in zip(found, expected, strict=True):
        # bfloat16 becomes float32, a Video a sequence of images, with the same values; a Dataset in a Dataset becomes a Sequence,
        # which TFDS gives as a structure of lists.
        for mine_step, their_step in zip(mine["steps"], theirs["steps"], strict=True):
            assert mine_step.pop("inner")["n"] == [inner["n"] for inner in their_step.pop("inner")]
        wrong = difference(mine, {name: theirs[name] for name in mine})
        assert wrong is None and len(mine) == len(theirs), wrong
    ours, theirs = (tfds.builder_from_directory(d).info for d in [written, directory])
    for name in ["image", "labeled", "label", "labels", "audio", "box", "text", "zlib", "steps"]:
        assert type(ours.features[name]) is type(theirs.features[name]), name
    assert ours.features["label"].names == ["cat", "dog"]
    split = ours.splits["train"]
    nbytes = sum(os.path.getsize(path) - 16 * n for path, n in zip(split.filepaths, split.shard_lengths))
    assert (split.num_bytes, split.num_examples) == (nbytes, SPLITS["train"])


TYPES = """
    b: bool; u8: uint8; i32: int32; u64: uint64; f16: float16; f32: float32; f64: float64; s: string
    v: int64[?]; v2: float32[?, 2]; m: float64[2, 2]; dyn: float64[?, ?]; grid: int32[?, ?]; words: string[?]
    r: int64[?, (?)]; rf: float64[?, (?)]; rr: string[?, (?), (?)]; rk: float32[?, (?), 2]; kr: int16[3, (?)]
    one: {a: int64, b: {c: string}}; many: {x: float64, y: int64[?], z: {w: bool[?, (?)]}}[?]; deep: {q: uint8}[?, (?)]
    steps: {obs: {state: float32[2], text: string}, action: float64[2], toks: int32[?]}[?]; k/l: int64
"""


def typed_record(k):
    r = random.Random(k)
    ints = lambda n: [r.randrange(100) for _ in range(n)]
    single = lambda x: float(np.float32(x))
    return {
        "b": k % 2 == 0, "u8": 255 - k, "i32": -k, "u64": 2**64 - 1 - k, "f16": k / 4, "f32": single(k / 3), "f64": k / 3, "s": f"é{k}",
        "v": ints(k % 4), "v2": [[single(k / 7), 1.0]] * (k % 3), "m": [[r.random(), 1.0], [2.0, 3.0]], "dyn": [[r.random()] * (k % 2 + 1)] * (k % 3),
        "grid": [ints(k % 2 + 1)] * (k % 3), "words": ["a", "", "ü"][: k % 4],
        "r": [ints(j) for j in range(k % 4)], "rf": [[r.random()] * j for j in range(k % 3)], "rr": [[["x"] * j, []] for j in range(k % 3)],
        "rk": [[[single(j / 3), 2.0]] * j for j in range(k % 3)], "kr": [ints(k % 3), [], [1]],
        "one": {"a": k, "b": {"c": str(k)}},
        "many": [{"x": r.random(), "y": ints(j), "z": {"w": [[True] * i for i in range(j)]}} for j in range(k % 3)],
        "deep": [[{"q": j}] * j for j in range(k % 4)],
        "steps": [{"obs": {"state": [0.5, float(j)], "text": "go"}, "action": [r.random(), 1.0], "toks": ints(j)} for j in range(k % 3)],
        "k/l": k,
    }


def write_types(harness):
    records = [typed_record(k) for k in range(13)]
    lines = "".join(json.dumps(record) + "\n" for record in records).encode()
    directory = harness.path("typed")
    schema = TYPES.strip().replace("\n", ";")
    harness.run("convert", "--schema", schema, "-o", directory, "--to", "tfds", "--split", "validation", stdin=lines)
    found = of_tfds(directory, "validation")
    compare(records, found)
    compare(of_tatter(harness, directory), found)


def write_splits(harness):
    directory, lines = harness.path("numbers_1"), lambda numbers: "".join(f'{{"n": {n}}}\n' for n in numbers).encode()
    harness.run("convert", "-o", directory, "--to", "tfds", "--name", "many", "--shards", 3, stdin=lines(range(10)))
    harness.run("convert", "-o", directory, "--to", "tfds", "--split", "test", stdin=lines(range(4)))
    builder = tfds.builder_from_directory(directory)
    assert {name: split.shard_lengths for name, split in builder.info.splits.items()} == {"train": [4, 3, 3], "test": [4]}
    for split, expected in [("train", range(10)), ("test", range(4)), ("train[:4]", [0, 3, 6, 9])]:
        assert sorted(record["n"] for record in of_tfds(directory, split)) == list(expected), split
        assert sorted(record["n"] for record in of_tatter(harness, directory, "--split", split)) == list(expected), split
    harness.run("convert", "-o", directory, "--to", "tfds", "--split", "train", "--shards", 3, stdin=lines(range(5)))
    assert len(of_tfds(directory, "train")) == 5, "a split is replaced"
    empty = harness.path("empty")
    harness.run("filter", "n > 9", "-o", empty, "--to", "tfds", stdin=lines(range(4)))
    assert tfds.builder_from_directory(empty).info.splits["train"].num_examples == 0
    assert of_tatter(harness, empty) == []


def slices(harness):
    """Random slices of a dataset of several shards, some of them empty."""
    features = tfds.features.FeaturesDict({"n": np.int64})
    directory = tfds_sets.build(harness.path("sets"), "numbers", features, {"train": [{"n": n} for n in range(107)], "val-2": [{"n": n} for n in range(9)]}, 4)
    builder, rng = tfds.builder_from_directory(directory), random.Random(SEED)
    bound = lambda n: rng.choice(["", str(rng.randint(-n, n))])
    percent = lambda: rng.choice(["", f"{rng.randint(-100, 100)}%", f"{rng.uniform(0, 100):.2f}%"])
    shard = lambda: rng.choice(["", f"{rng.randint(-4, 4)}shard"])
    specs = ["train", "val-2", "all", "train+val-2", "train[2shard]"]
    for _ in range(60):
        n = rng.choice([107, 9])
        kind = rng.choice([lambda: bound(n), percent, shard])
        first, last = kind(), kind()
        if first or last:
            specs.append(f"{'train' if n == 107 else 'val-2'}[{first}:{last}]")
    for spec in specs:
        try:
            expected = [n for info in builder.info.splits[spec].file_instructions for n in numbers(info)]
        except ValueError:
            assert harness.run("convert", directory, "--split", spec, ok=False).returncode == 2, spec
            continue
        assert [record["n"] for record in of_tatter(harness, directory, "--split", spec)] == expected, spec


def numbers(instruction):
    parse = lambda raw: tf.io.parse_single_example(raw, {"n": tf.io.FixedLenFeature([], tf.int64)})["n"].numpy().item()
    shard = [parse(raw) for raw in tf.data.TFRecordDataset(str(instruction.filename))]
    take = len(shard) if instruction.take == -1 else instruction.skip + instruction.take
    return shard[instruction.skip : take]
