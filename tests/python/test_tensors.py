"""Tensors of NumPy, TensorFlow, PyTorch and Awkward have the values of the records."""

import numpy as np
import pyarrow as pa
import pytest
import tatter_data as td

RECORDS = [
    {"id": 1, "s": "a", "v": [1, 2], "m": [[1.5], []], "d": [{"t": "x", "k": [1, 2]}, {"t": "y", "k": []}]},
    {"id": 2, "s": "bc", "v": [], "m": [], "d": []},
    {"id": 3, "s": "", "v": [3], "m": [[2.5, 3.5]], "d": [{"t": "z", "k": [3]}]},
]


@pytest.fixture(params=["one batch", "many batches", "sliced"])
def records(request):
    table = pa.Table.from_pylist(RECORDS)
    if request.param == "many batches":
        return td.pipe(table, chunk_rows=1, row_group_rows=1)
    if request.param == "sliced":
        return td.pipe(pa.concat_tables([table, table, table]).slice(3, 3))
    return td.pipe(table)


def test_numpy(records):
    arrays = records.to_numpy()
    assert list(arrays) == ["id", "s", "v", "m", "d.t", "d.k"]
    assert arrays["id"].dtype == np.int64 and arrays["id"].tolist() == [1, 2, 3]
    assert arrays["s"].tolist() == ["a", "bc", ""]
    for name in ("v", "m"):
        assert arrays[name].tolist() == [record[name] for record in RECORDS]
    assert arrays["d.t"].tolist() == [["x", "y"], [], ["z"]]
    assert arrays["d.k"].tolist() == [[[1, 2], []], [], [[3]]]
    assert all(splits.dtype == np.int64 and splits[0] == 0 for splits in arrays["m"].row_splits)


def test_dense_and_sparse_numpy():
    records = td.pipe({"x": [[1, 2], [3]], "y": [[1, 2], [3]], "z": [[[1], [2]], [[3]]]}, "to-dense --shape 'x=[3]' then to-sparse -f y")
    arrays = records.to_numpy()
    assert arrays["x"].tolist() == [[1, 2, 0], [3, 0, 0]]
    sparse = arrays["y"]
    assert sparse.indices.tolist() == [[0, 0], [0, 1], [1, 0]] and sparse.values.tolist() == [1, 2, 3]
    assert sparse.dense_shape.tolist() == [2, 2] and sparse.dense_shapes.tolist() == [[2], [1]]
    assert arrays["z"].tolist() == [[[1], [2]], [[3]]]


def test_uniform_axes_inside_and_outside_ragged_ones():
    inner = pa.array([[[1, 2], [3, 4]], [], [[5, 6]]], pa.list_(pa.list_(pa.int64(), 2)))
    outer = pa.array([[[1], []], [[2, 3], [4]], [[], []]], pa.list_(pa.list_(pa.int64()), 2))
    arrays = td.pipe(pa.table({"inner": inner, "outer": outer})).to_numpy()
    assert arrays["inner"].values.shape == (3, 2) and len(arrays["inner"].row_splits) == 1
    assert arrays["inner"].tolist() == inner.to_pylist()
    assert arrays["outer"].tolist() == outer.to_pylist()


def test_no_copies_of_numbers():
    batch = next(iter(td.pipe({"x": [1.5, 2.5]})))
    from tatter_data._tensors import to_numpy

    array = to_numpy(batch)["x"]
    assert array.ctypes.data == batch.column("x").buffers()[1].address


def test_awkward(records):
    ak = pytest.importorskip("awkward")
    assert ak.to_list(records.to_awkward()) == RECORDS


@pytest.fixture
def tf():
    return pytest.importorskip("tensorflow")


def test_tensorflow(records, tf):
    tensors = records.to_tf()
    assert isinstance(tensors["id"], tf.Tensor) and tensors["s"].numpy().tolist() == [b"a", b"bc", b""]
    assert isinstance(tensors["m"], tf.RaggedTensor) and tensors["m"].ragged_rank == 2
    for name in ("v", "m"):
        assert tensors[name].to_list() == [record[name] for record in RECORDS]
    assert tensors["d.t"].to_list() == [[b"x", b"y"], [], [b"z"]]
    assert tensors["d.k"].to_list() == [[[1, 2], []], [], [[3]]]


def test_tensorflow_dataset(records, tf):
    dataset = records.to_tf_dataset()
    assert dataset.element_spec["id"] == tf.TensorSpec([], tf.int64)
    assert dataset.element_spec["v"].shape.as_list() == [None]
    assert isinstance(dataset.element_spec["m"], tf.RaggedTensorSpec)
    for _ in range(2):
        got = list(dataset)
        assert [element["v"].numpy().tolist() for element in got] == [record["v"] for record in RECORDS]
        assert [element["m"].to_list() for element in got] == [record["m"] for record in RECORDS]
        assert [element["s"].numpy() for element in got] == [b"a", b"bc", b""]
    assert [int(batch["v"].nrows()) for batch in dataset.ragged_batch(2)] == [2, 1]


def test_tensorflow_sparse(tf):
    records = td.pipe({"y": [[1, 2], [], [3]]}, "to-sparse", chunk_rows=2, row_group_rows=2)
    sparse = records.to_tf()["y"]
    assert isinstance(sparse, tf.SparseTensor)
    assert tf.sparse.to_dense(sparse).numpy().tolist() == [[1, 2], [0, 0], [3, 0]]
    elements = [element["y"] for element in records.to_tf_dataset()]
    assert [element.dense_shape.numpy().tolist() for element in elements] == [[2], [0], [1]]
    assert [element.values.numpy().tolist() for element in elements] == [[1, 2], [], [3]]


def test_tensorflow_empty(tf):
    tensors = td.pipe(pa.Table.from_pylist(RECORDS), "filter 'id > 9'").to_tf()
    assert tensors["m"].to_list() == [] and tensors["s"].dtype == tf.string


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_torch(records, torch):
    tensors = records.to_torch()
    assert tensors["id"].tolist() == [1, 2, 3] and tensors["s"] == ["a", "bc", ""]
    assert tensors["v"].layout == torch.jagged
    assert [row.tolist() for row in tensors["v"].unbind()] == [record["v"] for record in RECORDS]
    assert tensors["m"].tolist() == [record["m"] for record in RECORDS]
    assert tensors["d.t"].tolist() == [["x", "y"], [], ["z"]]


def test_torch_shares_memory_and_does_not_warn(torch, recwarn):
    records = td.pipe({"x": [1.5, 2.5], "y": [[1, 2], [3]]}, "to-sparse -f y")
    tensors = records.to_torch()
    assert tensors["x"].tolist() == [1.5, 2.5]
    assert tensors["y"].to_dense().tolist() == [[1, 2], [3, 0]]
    assert not [w for w in recwarn if "writable" in str(w.message)]


def test_torch_dataset(records, torch):
    got = list(records.to_torch_dataset())
    assert [element["id"].item() for element in got] == [1, 2, 3]
    assert [element["v"].tolist() for element in got] == [record["v"] for record in RECORDS]
    assert [[row.tolist() for row in element["m"].unbind()] if len(element["m"]) else [] for element in got] == [
        record["m"] for record in RECORDS
    ]
    assert [element["d.t"] for element in got] == [["x", "y"], [], ["z"]]
    assert [element["s"] for element in got] == ["a", "bc", ""]
