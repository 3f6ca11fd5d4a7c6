"""TFRecords that TensorFlow writes: the same values in every output form."""

import random

import pytest
import tatter_data as td

tf = pytest.importorskip("tensorflow")

KINDS = {"i": "int64_list", "f": "float_list", "b": "bytes_list"}


def example(rng, names):
    features = {}
    for name in names:
        count = rng.choice([0, 1, 1, 2, 5])
        if name[0] == "i":
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[rng.randrange(-(2**63), 2**63) for _ in range(count)]))
        elif name[0] == "f":
            value = tf.train.Feature(float_list=tf.train.FloatList(value=[rng.uniform(-1e30, 1e30) for _ in range(count)]))
        else:
            value = tf.train.Feature(bytes_list=tf.train.BytesList(value=[rng.choice(["", "x", "süß"]).encode() for _ in range(count)]))
        features[name] = value
    return tf.train.Example(features=tf.train.Features(feature=features))


@pytest.mark.parametrize("seed", range(40))
def test_generated_files_equal_tensorflow(tmp_path, seed):
    rng = random.Random(seed)
    names = [rng.choice("ifb") + str(k) for k in range(rng.randint(1, 6))]
    path = str(tmp_path / "x.tfrecord") + rng.choice(["", ".gz"])
    raw = [example(rng, names).SerializeToString() for _ in range(rng.choice([1, 7, 200]))]
    with tf.io.TFRecordWriter(path, "GZIP" if path.endswith(".gz") else "") as out:
        for record in raw:
            out.write(record)
    dtypes = {"i": tf.int64, "f": tf.float32, "b": tf.string}
    wanted = tf.io.parse_example(raw, {name: tf.io.RaggedFeature(dtypes[name[0]]) for name in names})
    # If every list of a field is empty, its kind cannot be inferred from the file.
    schema = "; ".join(f"{name}: {'bytes' if name[0] == 'b' else wanted[name].dtype.name}[?]" for name in names)
    records = td.read(path, schema=schema)
    tensors, arrays, table = records.to_tf(), records.to_numpy(), records.to_arrow()
    assert set(tensors) == set(names)
    for name in names:
        rows = wanted[name].to_list()
        assert tensors[name].dtype == wanted[name].dtype and tensors[name].to_list() == rows
        assert table.column(name).to_pylist() == rows
        assert arrays[name].tolist() == rows
    elements = list(records.to_tf_dataset())
    assert [e[names[0]].numpy().tolist() for e in elements] == wanted[names[0]].to_list()


@pytest.mark.parametrize("seed", range(5))
def test_generated_files_equal_tensorflow_in_torch(tmp_path, seed):
    torch = pytest.importorskip("torch")
    rng = random.Random(seed)
    raw = [example(rng, ["i0", "f0"]).SerializeToString() for _ in range(50)]
    path = str(tmp_path / "x.tfrecord")
    with tf.io.TFRecordWriter(path) as out:
        for record in raw:
            out.write(record)
    wanted = tf.io.parse_example(raw, {"i0": tf.io.RaggedFeature(tf.int64), "f0": tf.io.RaggedFeature(tf.float32)})
    tensors = td.read(path).to_torch()
    for name in ("i0", "f0"):
        assert [row.tolist() for row in tensors[name].unbind()] == wanted[name].to_list()
        assert tensors[name].dtype == getattr(torch, wanted[name].dtype.name)
