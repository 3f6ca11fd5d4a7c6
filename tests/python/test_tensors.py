"""Tensors of NumPy, TensorFlow, PyTorch and Awkward have the values of the records."""

import datetime
import decimal
import re

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


def test_rows_of_ragged_tensors(records):
    arrays = records.to_numpy()
    for name, field in (("v", "v"), ("m", "m"), ("d.k", None)):
        tensor = arrays[name]
        rows = tensor.tolist()
        assert field is None or rows == [record[field] for record in RECORDS]
        for cut in (slice(None), slice(0, 2), slice(1, None), slice(-1, None), slice(2, 1), slice(9, 12)):
            part = tensor[cut]
            assert part.tolist() == rows[cut] and len(part) == len(rows[cut])
            assert all(splits[0] == 0 for splits in part.row_splits)
        assert tensor[np.int64(-1)].tolist() == rows[-1]
        for wrong in ([0, 1], np.array([True, False, True]), "x", None, (0, 1), 1.0):
            with pytest.raises(TypeError, match="a row must be an integer or a slice, found"):
                tensor[wrong]
        with pytest.raises(ValueError, match="step 1"):
            tensor[::2]
        with pytest.raises(IndexError):
            tensor[3]


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


VIEWS = pa.ListViewArray.from_arrays([3, 0, 1], [1, 2, 0], pa.array([0, 1, 2, 3]))


@pytest.mark.parametrize("kind", [pa.list_view(pa.int64()), pa.large_list_view(pa.int64())])
@pytest.mark.parametrize("chain", [None, "head 2", "head 0"])
def test_list_views_are_ragged(kind, chain):
    table = pa.table(
        {"x": pa.array([[3], [0, 1], []], kind), "y": pa.array([[[1], []], [], [[2, 3]]], pa.list_view(pa.list_view(pa.int64())))}
    )
    arrays = td.pipe(table, chain).to_numpy()
    count = {"head 2": 2, "head 0": 0}.get(chain, 3)
    assert arrays["x"].tolist() == [[3], [0, 1], []][:count] and arrays["y"].tolist() == [[[1], []], [], [[2, 3]]][:count]


def test_list_views_out_of_order():
    from tatter_data._tensors import to_numpy

    for table in (pa.table({"x": VIEWS}), pa.table({"x": pa.chunked_array([VIEWS, VIEWS.slice(1)])}).slice(1)):
        assert to_numpy(table)["x"].tolist() == table.column("x").to_pylist()


def permuted():
    storage = pa.array([[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]], pa.list_(pa.int32(), 6))
    tensors = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), [2, 3], permutation=[1, 0]), storage)
    stored = np.arange(12, dtype=np.int32).reshape(2, 1, 2, 3)
    deep = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), [1, 2, 3], permutation=[2, 0, 1]), storage)
    return td.pipe(pa.table({"x": tensors, "deep": deep})), tensors.to_numpy_ndarray(), stored.transpose(0, 3, 1, 2)


def test_tensors_with_permuted_axes():
    records, x, deep = permuted()
    arrays = records.to_numpy()
    assert np.array_equal(arrays["x"], x) and arrays["x"].shape == (2, 3, 2)
    assert np.array_equal(arrays["deep"], deep)


def test_dates_and_times():
    date, time, delta = datetime.date(2024, 1, 2), datetime.time(1, 2, 3), datetime.timedelta(days=1)
    kinds = {
        "d": pa.date32(),
        "e": pa.date64(),
        "t": pa.time32("s"),
        "u": pa.time64("us"),
        "w": pa.duration("ms"),
        "z": pa.timestamp("us", "UTC"),
    }
    values = {"d": date, "e": date, "t": time, "u": time, "w": delta, "z": datetime.datetime(2024, 1, 2)}
    arrays = td.pipe(pa.table({name: pa.array([values[name]], kind) for name, kind in kinds.items()})).to_numpy()
    assert arrays["d"].dtype == "datetime64[D]" and arrays["d"][0] == arrays["e"][0] == arrays["z"][0] == np.datetime64("2024-01-02")
    assert arrays["t"][0] == arrays["u"][0] == time and arrays["w"][0] == np.timedelta64(1, "D")
    interval = td.pipe(pa.table({"m": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})).to_numpy()["m"]
    assert interval.dtype == object and (interval[0].months, interval[0].days) == (1, 2)


@pytest.mark.parametrize(
    "array, words",
    [
        (pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), "the field u.*drop 'u'"),
        (pa.array([1], pa.time64("ns")), "the field u: .*cast 'u=int64'"),
    ],
)
def test_a_type_without_dtype_names_its_field(array, words):
    with pytest.raises(TypeError, match=f"NumPy has no dtype for {words}"):
        td.pipe(pa.table({"u": array})).to_numpy()


def test_fields_with_equal_paths_are_refused():
    records = td.pipe([{"a.b": 1, "a": {"b": 2}}])
    with pytest.raises(ValueError, match="two fields have the path a.b; rename one in the chain: rename '`a.b`=a_b_2'"):
        records.to_numpy()
    assert records.then("rename '`a.b`=a_b_2'").to_numpy()["a_b_2"].tolist() == [1]
    nested = td.pipe([{"a": {"b.c": 1, "b": {"c": 2}}}])
    with pytest.raises(ValueError, match="two fields have the path a.b.c"):
        nested.to_numpy()


def test_no_copies_of_numbers():
    batch = next(iter(td.pipe({"x": [1.5, 2.5]})))
    from tatter_data._tensors import to_numpy

    array = to_numpy(batch)["x"]
    assert array.ctypes.data == batch.column("x").buffers()[1].address


def test_awkward(records):
    ak = pytest.importorskip("awkward")
    assert ak.to_list(records.to_awkward()) == RECORDS


STRINGS = pa.array(["a", None])


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())), [[{"key": "a", "value": 1}], None]),
        (pa.array([[1], [2, 3], None], pa.list_view(pa.int64())), [[1], [2, 3], None]),
        (STRINGS.cast(pa.string_view()), ["a", None]),
        (pa.array([["a", "b"], None], pa.list_(pa.string_view(), 2)), [["a", "b"], None]),
        (pa.array([{"s": "a"}, None], pa.struct({"s": pa.string_view()})), [{"s": "a"}, None]),
        (STRINGS.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())), ["a", None]),
        (pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.array(["a"], pa.string_view())), ["a", None]),
        (pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([5])), [5, 5]),
        (pa.array([[], None], pa.list_(pa.int64(), 0)), [[], None]),
        (pa.ExtensionArray.from_storage(pa.json_(), STRINGS), ["a", None]),
        (pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(4).reshape(1, 2, 2)), [[[0, 1], [2, 3]]]),
    ],
)
def test_awkward_arrays_of_types_that_awkward_does_not_take(array, expected):
    ak = pytest.importorskip("awkward")
    assert ak.to_list(td.pipe(pa.table({"x": array})).to_awkward()["x"]) == expected


def test_awkward_names_the_field_of_a_type_without_equivalent():
    pytest.importorskip("awkward")
    records = td.pipe(pa.table({"y": [1], "x": pa.array([1]).cast(pa.decimal128(21, 2))}))
    with pytest.raises(TypeError, match="Awkward has no type for the field x: decimal128.*cast 'x=string'"):
        records.to_awkward()
    assert records.then("cast 'x=string'").to_awkward()["x"].to_list() == ["1.00"]
    inside = td.pipe(pa.table({"s": pa.array([[{"n": 1, "x": decimal.Decimal("1.5")}]])}))
    with pytest.raises(TypeError, match="field s.x: decimal128.*cast 's.x=string'"):
        inside.to_awkward()
    assert inside.then("cast 's.x=string'").to_awkward()["s"].to_list() == [[{"n": 1, "x": "1.5"}]]


def test_pandas_names_the_field_of_a_type_without_equivalent():
    pytest.importorskip("pandas")
    for array in (pa.array([[b"abcd"]], pa.list_(pa.binary(4))), pa.array([1], pa.time64("ns"))):
        records = td.pipe(pa.table({"y": [1], "x": array}))
        with pytest.raises(TypeError, match="pandas has no type for the field x: .*cast 'x=") as caught:
            records.to_pandas()
        advice = re.search("chain: (.*), or leave", str(caught.value))
        assert len(records.then(advice[1]).to_pandas()) == 1


def test_null_times_can_be_filled():
    for kind in (pa.date32(), pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.duration("s"), pa.time32("s"), pa.time64("us")):
        records = td.pipe(pa.table({"x": pa.array([1, None], kind)}))
        with pytest.raises(ValueError, match="fill them: (fill-null .*), or leave") as caught:
            records.to_numpy()
        advice = re.search("fill them: (.*), or leave", str(caught.value))
        assert len(records.then(advice[1]).to_numpy()["x"]) == 2


def test_categories_of_views_are_strings():
    array = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["a", "b"], pa.string_view()))
    assert td.pipe(pa.table({"x": array})).to_numpy()["x"].tolist() == ["b", "a"]


def test_tensors_are_compared_by_identity():
    one, other = (td.Ragged(np.arange(2), (np.array([0, 2]),)) for _ in range(2))
    assert one == one and one != other and len({one, other}) == 2


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


# Batches of 2, padded to the longest row of each: `t` is the result for `tokens`, `w` for strings, `p` for pairs.
PADDED = [
    {"t": [[0, 0], [0, 1]], "w": [["a", ""], ["a", "a"]], "p": [[[1, 2], [0, 0]], [[1, 2], [1, 2]]]},
    {"t": [[0, 1, 2]], "w": [["a", "a", "a"]], "p": [[[1, 2], [1, 2], [1, 2]]]},
]


def padded():
    columns = {"t": [[0], [0, 1], [0, 1, 2]], "w": [["a"], ["a", "a"], ["a", "a", "a"]]}
    pairs = pa.array([[[1, 2]] * n for n in (1, 2, 3)], pa.list_(pa.list_(pa.int32(), 2)))
    return td.pipe(pa.table({**columns, "p": pairs}), "padded-batch 2")


def test_tensorflow_padded_batches_are_dense(tf):
    dataset = padded().to_tf_dataset()
    assert {name: spec.shape.as_list() for name, spec in dataset.element_spec.items()} == {
        "t": [None, None],
        "w": [None, None],
        "p": [None, None, 2],
    }
    got = [{name: tensor.numpy().tolist() for name, tensor in batch.items()} for batch in dataset]
    assert got == [{**batch, "w": [[word.encode() for word in row] for row in batch["w"]]} for batch in PADDED]
    assert list(padded().then("map 't = t[0:0]'").to_tf_dataset())[0]["t"].shape[0] == 0


def test_torch_padded_batches_are_dense(torch):
    got = list(padded().to_torch_dataset())
    assert [{name: tensor.tolist() for name, tensor in batch.items()} for batch in got] == PADDED
    assert got[0]["t"].shape == (2, 2) and got[0]["p"].shape == (2, 2, 2) and got[0]["t"].layout == torch.strided
    assert list(padded().then("map 't = t[0:0]'").to_torch_dataset())[0]["t"].shape[0] == 0


def test_tensorflow_sparse(tf):
    records = td.pipe({"y": [[1, 2], [], [3]]}, "to-sparse", chunk_rows=2, row_group_rows=2)
    sparse = records.to_tf()["y"]
    assert isinstance(sparse, tf.SparseTensor)
    assert tf.sparse.to_dense(sparse).numpy().tolist() == [[1, 2], [0, 0], [3, 0]]
    elements = [element["y"] for element in records.to_tf_dataset()]
    assert [element.dense_shape.numpy().tolist() for element in elements] == [[2], [0], [1]]
    assert [element.values.numpy().tolist() for element in elements] == [[1, 2], [], [3]]


def test_tensorflow_tensors_are_taken_back(tf):
    tensors = {
        "r": tf.ragged.constant([[[0.1], []], []], tf.float32, row_splits_dtype=tf.int32),
        "i": tf.constant([[1, 2], [3, 4]], tf.int16),
        "s": tf.SparseTensor([[1, 0], [0, 2], [0, 1]], tf.constant([7, 8, 9], tf.uint8), [2, 3]),
        "w": tf.ragged.constant([["a"], []]),
    }
    back = td.pipe(tensors).to_tf()
    assert {name: back[name].dtype for name in tensors} == {name: tensor.dtype for name, tensor in tensors.items()}
    assert back["r"].to_list() == tensors["r"].to_list() and back["w"].to_list() == [[b"a"], []]
    assert back["i"].numpy().tolist() == [[1, 2], [3, 4]]
    assert tf.sparse.to_dense(tf.sparse.reorder(back["s"])).numpy().tolist() == [[0, 9, 8], [7, 0, 0]]


def test_tensorflow_empty(tf):
    tensors = td.pipe(pa.Table.from_pylist(RECORDS), "filter 'id > 9'").to_tf()
    assert tensors["m"].to_list() == [] and tensors["s"].dtype == tf.string


def test_tensorflow_of_other_layouts(tf):
    assert td.pipe(pa.table({"x": VIEWS})).to_tf()["x"].to_list() == [[3], [0, 1], []]
    records, x, _ = permuted()
    assert np.array_equal(records.to_tf()["x"], x)
    assert np.array_equal([element["x"] for element in records.to_tf_dataset()], x)


def test_tensorflow_of_dates_names_the_field(tf):
    records = td.pipe({"d": [datetime.date(2024, 1, 2)]})
    for read in (records.to_tf, records.to_tf_dataset):
        with pytest.raises(TypeError, match="TensorFlow has no dtype for the field d: date32.*cast 'd=int64'"):
            read()
    assert records.then("cast 'd=int64'").to_tf()["d"].numpy().tolist() == [19724]


def test_tensorflow_rows_of_size_0(tf):
    empty = pa.table({"x": pa.array([[[], []], []], pa.list_(pa.list_(pa.int64(), 0))), "y": pa.array([[], []], pa.list_(pa.int64(), 0))})
    assert td.pipe(empty).to_tf()["x"].shape.as_list() == [2, None, 0]
    assert len(list(td.pipe(empty, "drop y").to_tf_dataset())) == 2
    with pytest.raises(ValueError, match="the field y, whose rows have no values"):
        td.pipe(empty).to_tf_dataset()


def test_tensorflow_dataset_of_an_iterator(tf):
    batches = (pa.record_batch({"x": np.arange(1000)}) for _ in range(20))
    dataset = td.pipe(batches).to_tf_dataset()
    assert sum(int(tf.size(batch["x"])) for batch in dataset.batch(1000)) == 20_000
    with pytest.raises(Exception, match="can be read only once"):
        list(dataset)


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


def test_a_type_that_torch_lacks(torch):
    records = td.pipe({"a b": [datetime.datetime(2020, 1, 1)]})
    for use in (records.to_torch, lambda: list(records.to_torch_dataset())):
        with pytest.raises(
            TypeError, match=r"the field a b: timestamp\[us\]; cast it in the chain: cast '`a b`=int64', or leave it out: drop '`a b`'"
        ):
            use()


def test_torch_tensors_are_taken_back(torch):
    jagged = torch.nested.nested_tensor_from_jagged(torch.tensor([0.5, 1.5, 2.5]), offsets=torch.tensor([0, 1, 3]))
    tensors = {"j": jagged, "d": torch.tensor([[1], [2]], dtype=torch.int16), "s": torch.tensor([[0, 3], [0, 0]]).to_sparse()}
    back = td.pipe(tensors).to_torch()
    assert [row.tolist() for row in back["j"].unbind()] == [[0.5], [1.5, 2.5]] and back["j"].dtype == torch.float32
    assert back["d"].tolist() == [[1], [2]] and back["d"].dtype == torch.int16
    assert back["s"].to_dense().tolist() == [[0, 3], [0, 0]]


def test_torch_dataset(records, torch):
    got = list(records.to_torch_dataset())
    assert [element["id"].item() for element in got] == [1, 2, 3]
    assert [element["v"].tolist() for element in got] == [record["v"] for record in RECORDS]
    assert [[row.tolist() for row in element["m"].unbind()] if len(element["m"]) else [] for element in got] == [
        record["m"] for record in RECORDS
    ]
    assert [element["d.t"] for element in got] == [["x", "y"], [], ["z"]]
    assert [element["s"] for element in got] == ["a", "bc", ""]
