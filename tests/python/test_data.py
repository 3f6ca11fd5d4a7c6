"""Data in memory: dictionaries, iterators that can be read only once, frames with an index, and what is not data."""

import collections
import datetime
import decimal
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tatter_data as td

pytestmark = pytest.mark.usefixtures("no_process_left")


def batches(count=4, rows=100):
    return (pa.record_batch({"x": np.arange(i * rows, (i + 1) * rows)}) for i in range(count))


def reader():
    return pa.table({"x": range(6)}).to_reader(max_chunksize=2)


def test_records_may_lack_keys(tmp_path):
    assert td.pipe([{"a": 1}, {"b": 2}]).to_arrow().to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": 2}]
    td.write([{"x": 1}, {"x": 2, "y": 5}], tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").read_text() == '{"x":1,"y":null}\n{"x":2,"y":5}\n'
    assert td.pipe([{}, {"b": 2}, {"b": 3}]).to_arrow().to_pylist() == [{"b": None}, {"b": 2}, {"b": 3}]
    td.write([{}, {}], tmp_path / "empty.jsonl")
    assert (tmp_path / "empty.jsonl").read_text() == "{}\n{}\n"


@pytest.mark.parametrize("make, count", [(batches, 400), (reader, 6), (lambda: [reader(), reader()], 12)])
def test_looking_at_an_iterator_leaves_its_records(make, count):
    records = td.pipe(make(), "map 'y = x + 1'")
    assert records.schema.names == ["x", "y"]
    assert "int64" in records._repr_html_()
    assert records.then("head 1").schema.names == ["x", "y"]
    assert records.to_arrow().num_rows == count


@pytest.mark.parametrize("make", [batches, reader])
def test_an_iterator_is_read_only_once(make, tmp_path):
    records = td.pipe(make())
    records.write(tmp_path / "1.jsonl")
    for read in (
        lambda: records.write(tmp_path / "2.jsonl"),
        lambda: records.then("head 1").to_arrow(),
        lambda: list(records),
        records._repr_html_,
    ):
        with pytest.raises(RuntimeError, match="can be read only once"):
            read()
    assert [path.name for path in tmp_path.iterdir()] == ["1.jsonl"]


def test_shards_of_an_iterator_are_refused():
    records = td.pipe(reader())
    assert records.shard(0, 2).to_arrow().column("x").to_pylist() == [0, 2, 4]
    with pytest.raises(RuntimeError, match="can be read only once"):
        records.shard(1, 2).to_arrow()


@pytest.mark.parametrize("chain", ["map 'y = x'", "mix --seed 1 then map 'y = x'"])
def test_shards_of_a_shard_are_its_records(lines, chain):
    files = [lines(f"{i}.jsonl", [{"x": 10 * i + k} for k in range(6)]) for i in range(2)]
    whole = td.read(files, chain).shard(1, 3)
    parts = [whole.shard(i, 2).to_arrow()["y"].to_pylist() for i in range(2)]
    assert parts == [whole.to_arrow()["y"].to_pylist()[i::2] for i in range(2)]


@pytest.mark.parametrize("data", [{"x": [1, 2**64 - 1]}, [{"x": 1}, {"x": 2**64 - 1}]])
def test_integers_above_int64(data):
    assert td.pipe(data).to_arrow().column("x").to_pylist() == [1, 2**64 - 1]


@pytest.mark.parametrize("data", [{"x": [2**64]}, [{"x": [2**64]}], {"x": [-1, 2**63]}])
def test_integers_beyond_64_bits_name_their_field(data):
    with pytest.raises(ValueError, match="^x: an integer does not fit in int64"):
        td.pipe(data).to_arrow()


@pytest.mark.parametrize("value", ["\udcff", ["\udcff"], {"y": "\udcff"}])
def test_text_that_is_not_unicode_names_its_field(value):
    with pytest.raises(ValueError, match=r"^x(\.y)?: .*surrogates not allowed"):
        td.pipe([{"x": value}]).to_arrow()


@pytest.mark.parametrize("texts", [["a\0b", "c"], [b"a\0b", b"c"]])
def test_texts_of_numpy_are_kept_to_their_end(texts):
    array = np.array(texts)
    for values in (array, array.reshape(2, 1), [array, array], np.ma.MaskedArray(array, [False, True])):
        found = td.pipe({"x": values}).to_arrow()["x"].to_pylist()
        assert found[0] in (texts[0], texts[:1], texts)
    assert td.pipe({"x": array[:0]}).schema.field("x").type == pa.array(texts).type


def test_values_of_several_types_name_their_field():
    with pytest.raises(pa.ArrowInvalid, match="^x: Could not convert 'a'"):
        td.pipe([{"x": 1}, {"x": "a"}]).to_arrow()


@pytest.mark.parametrize("data", [None, 5, [5], [{"x": 1}, 5], {5: [1]}, [{5: 1}], "x.jsonl"])
def test_what_is_not_data(data, tmp_path):
    with pytest.raises(TypeError):
        td.pipe(data).to_arrow()
    with pytest.raises(TypeError):
        td.write(data, tmp_path / "x.jsonl")
    assert not list(tmp_path.iterdir())


def test_the_index_of_a_frame_is_kept_by_verbs():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2]}, index=["x", "y"])
    assert td.pipe(frame, "filter 'a > 1'").to_pandas().to_dict() == {"a": {"y": 2}}
    frame = pd.DataFrame({"a": [1, 2, 3]})
    assert td.pipe(frame, "filter 'a > 1'").to_pandas().to_dict() == {"a": {0: 2, 1: 3}}
    nullable = pd.DataFrame({"a": pd.array([2**53 + 1, None], dtype="Int64")})
    assert td.pipe(nullable, "filter 'not is_null(a)'").to_pandas()["a"].tolist() == [2**53 + 1]
    assert td.pipe(nullable).to_pandas().dtypes["a"] == "Int64"
    with pytest.warns(td.TatterNotice, match="`pandas.index_columns` was dropped"):
        td.pipe(frame.set_index(pd.RangeIndex(5, 8)), "filter 'a > 1'").to_arrow()


def test_a_stream_of_unknown_type_is_read_once():
    class Cursor:
        def __init__(self):
            self.reader = pa.table({"x": [1, 2, 3]}).to_reader()

        def __arrow_c_stream__(self, requested_schema=None):
            return self.reader.__arrow_c_stream__(requested_schema)

    for data in (Cursor(), td.pipe(Cursor()), td.pipe(pa.table({"x": [1, 2, 3]}).to_reader())):
        records = td.pipe(data)
        assert records.schema.names == ["x"]
        assert records.to_arrow()["x"].to_pylist() == [1, 2, 3]
        with pytest.raises(RuntimeError, match="only once"):
            records.to_arrow()
    table = td.pipe(td.pipe(pa.table({"x": [1]})))
    assert table.to_arrow() == table.to_arrow()


def test_a_shard_has_a_number():
    records = td.pipe({"x": [1, 2]})
    for number, count in [(2, 2), (-1, 2), (1, 1), (0, 0)]:
        with pytest.raises(ValueError, match="numbered"):
            records.shard(number, count)
    with pytest.raises(ValueError, match="by:"):
        records.shard(0, 2, by="files")


def test_arrays_of_any_rank_are_lists_in_records():
    for values, ty, expected in [
        ([np.ones((2, 1), "f4"), np.zeros((0, 3))], pa.list_(pa.list_(pa.float32())), [[[1], [1]], []]),
        ([{"t": [np.zeros((1, 2), "i1")]}], pa.struct({"t": pa.list_(pa.list_(pa.list_(pa.int8())))}), [{"t": [[[0, 0]]]}]),
        ([np.array(2, "i2"), None], pa.int16(), [2, None]),
        ([np.ones((1, 2), "i2").view(np.matrix)], pa.list_(pa.list_(pa.int16())), [[[1, 1]]]),
    ]:
        found = td.pipe([{"x": value} for value in values]).to_arrow()["x"]
        assert found.type == ty and found.to_pylist() == expected


def counts(ty):
    """The type with the integers that times are stored as."""
    if pa.types.is_list(ty):
        return pa.list_(counts(ty.value_type))
    if pa.types.is_struct(ty):
        return pa.struct({field.name: counts(field.type) for field in ty})
    return pa.int32() if pa.types.is_date32(ty) else pa.int64() if pa.types.is_temporal(ty) else ty


def test_what_the_inference_of_arrow_would_lose():
    nano = pd.Timestamp(1)
    for values, ty, expected in [
        ([nano, None, datetime.datetime(1970, 1, 1)], pa.timestamp("ns"), [1, None, 0]),
        ([[nano, pd.NaT]], pa.list_(pa.timestamp("ns")), [[1, None]]),
        ([{"t": nano}, None], pa.struct({"t": pa.timestamp("ns")}), [{"t": 1}, None]),
        ([pd.Timedelta(1)], pa.duration("ns"), [1]),
        ([pd.NaT, datetime.date(1970, 1, 2)], pa.date32(), [None, 1]),
        ([np.ma.array([1, 2], mask=[True, False])], pa.list_(pa.int64()), [[None, 2]]),
        ([2**63, 1], pa.uint64(), [2**63, 1]),
        ([[2**63], [1]], pa.list_(pa.uint64()), [[2**63], [1]]),
        ([{"t": 2**63}], pa.struct({"t": pa.uint64()}), [{"t": 2**63}]),
        ([np.array([2**63], "u8"), [1]], pa.list_(pa.uint64()), [[2**63], [1]]),
        ([np.datetime64("NaT"), np.datetime64(5, "s")], pa.timestamp("s"), [None, 5]),
        ([np.timedelta64("NaT"), np.timedelta64(5, "ms")], pa.duration("ms"), [None, 5]),
        ([np.datetime64("NaT"), datetime.datetime(1970, 1, 1)], pa.timestamp("us"), [None, 0]),
        ([np.datetime64(1, "D"), None], pa.date32(), [1, None]),
        ([np.array([1], "M8[D]"), [np.datetime64("NaT")]], pa.list_(pa.date32()), [[1], [None]]),
        ([np.array([1, 2], ">i4")], pa.list_(pa.int32()), [[1, 2]]),
        ([np.array([1, "NaT"], "m8[10s]")], pa.list_(pa.duration("s")), [[10, None]]),
        ([np.datetime64(5, "10s"), None], pa.timestamp("s"), [50, None]),
        ([np.ma.array(np.array([1, 2], "M8[ns]"), mask=[True, False])], pa.list_(pa.timestamp("ns")), [[None, 2]]),
    ]:
        found = td.pipe([{"x": value} for value in values]).to_arrow()["x"]
        assert found.type == ty
        assert found.cast(counts(ty)).to_pylist() == expected
    mixed = td.pipe([{"x": decimal.Decimal("0.1")}, {"x": 20}]).to_arrow()["x"]
    assert mixed.to_pylist() == [decimal.Decimal("0.1"), decimal.Decimal(20)]
    utc = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
    for values, message in [
        ([np.array([2**62], "m8[10s]")], "x: a time in units of 10 s does not fit in int64 when counted in s"),
        (["a", b"\xff"], "x: text and bytes are mixed"),
        ([["a"], [b"a"]], "x: text and bytes are mixed"),
        ([datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 5)], "x: dates and times are mixed"),
        ([datetime.datetime(2024, 1, 1), utc], "x: times with and without a time zone are mixed"),
        ([datetime.time(1, tzinfo=datetime.timezone.utc)], "x: Arrow has no times of day with a time zone"),
        ([np.array([1], "m8[s]"), np.array([1], "m8[ms]")], r"x: timedelta64\[ms\] and timedelta64\[s\] are mixed"),
        ([np.datetime64(1, "s"), datetime.datetime(2024, 1, 1)], r"x: datetime and datetime64\[s\] are mixed"),
        ([np.uint64(2**64 - 1), 0.5], "x: .*too large"),
        ([{"y": np.uint64(2**64 - 1)}, {"y": 0.5}], "x.y: .*too large"),
        ([datetime.datetime(9999, 1, 1), nano], "x: .*out of bounds"),
        ([decimal.Decimal("Infinity")], "x: Arrow has no decimal Infinity"),
        ([{"b", "a"}], r"x: a set has no order; pass a list, such as sorted\(values\)"),
        ([[{"b", "a"}]], "x: a set has no order"),
        ([np.datetime64(1, "M")], r"x: Arrow has no arrays of datetime64\[M\]; convert it with astype"),
    ]:
        objects = pd.Series(values, dtype=object)
        for data in ([{"x": value} for value in values], {"x": collections.deque(values)}, {"x": objects}, pd.DataFrame({"x": objects})):
            with pytest.raises((TypeError, ValueError), match=message):
                td.pipe(data).to_arrow()
    with pytest.raises(TypeError, match="expected records, found a Series"):
        td.pipe(pd.Series([1, 2])).to_arrow()
    assert td.pipe([pa.table({"x": pa.array([], pa.int8())})]).to_arrow().schema.names == ["x"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.arange(6).reshape(3, 2), [[0, 1], [2, 3], [4, 5]]),
        (np.asfortranarray(np.arange(6).reshape(3, 2)), [[0, 1], [2, 3], [4, 5]]),
        (np.arange(4, dtype=">f8").reshape(2, 1, 2), [[[0.0, 1.0]], [[2.0, 3.0]]]),
        (np.arange(2, dtype=">i2"), [0, 1]),
        (np.zeros((2, 0)), [[], []]),
        (np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]]), [[1, None], [3, 4]]),
        (np.ma.array(np.array([[1, 2**64 - 1]], ">u8"), mask=[[True, False]]), [[None, 2**64 - 1]]),
        (np.array([[1, 2], [3, 4]]).view(np.matrix), [[1, 2], [3, 4]]),
    ],
)
def test_arrays_of_any_rank_and_byte_order_are_columns(values, expected):
    assert td.pipe({"x": values}).to_arrow()["x"].to_pylist() == expected


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: td.pipe({"x": np.zeros(2, complex)}).schema, "x: Arrow has no arrays of complex128"),
        (lambda: td.pipe({"x": np.array(3)}).schema, "x: expected an array whose axis 0"),
        (lambda: td.pipe({"x": 5}).schema, "x: expected a column"),
        *(
            (lambda x=x: td.pipe({"x": x}).schema, f"x: expected a column, .* found {type(x).__name__}")
            for x in ("abc", b"abc", {"a"}, {"a": 1})
        ),
        (lambda: td.pipe(5).schema, "expected data, found int"),
        (lambda: td.pipe(pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)})).schema, "x: Arrow cannot store columns of Python objects"),
        (lambda: td.pipe(pl.DataFrame({"x": [1]}).lazy()).schema, "pass data.collect"),
        (lambda: td.pipe({"a": i} for i in range(3)).schema, r"pass a list of dictionaries: list\(data\)"),
        (lambda: td.pipe({"x": pl.Series([object()], dtype=pl.Object)}).schema, "x: Arrow cannot store columns of Python objects"),
        (lambda: td.pipe([{"x": {1: 2}}]).schema, "the name of a field must be a string, found 1"),
        *(
            (lambda x=x: td.pipe(x).schema, r"which is one column; pass a dictionary: \{'name': column\}")
            for x in (np.zeros((2, 2)), pa.array([1]))
        ),
        *(
            (lambda x=x: td.pipe(x).schema, r"tatter_data.read\(path\) reads a file")
            for x in ("a", b"a", io.StringIO("{}"), io.BytesIO(b""))
        ),
        (
            lambda: td.pipe([pa.record_batch({"a": [1]}), pa.record_batch({"b": [1]})]).to_arrow(),
            "record batch 2: expected the fields a .*found b",
        ),
        (
            lambda: td.pipe([pa.record_batch({"a": [1]}), pa.record_batch({"a": [""]})]).to_arrow(),
            "record batch 2: a: expected int64 .*found string",
        ),
        (lambda: td.pipe({"x": [1]}, "filter 'x > 0"), "a quote is not closed: filter 'x > 0"),
    ],
)
def test_what_is_no_data_is_said(use, message):
    with pytest.raises((TypeError, ValueError), match=message):
        use()


def test_a_command_is_a_line_or_words():
    assert td.run("count --by 'x'", input='{"x": 1}\n') == td.run(["count", "--by", "x"], input='{"x": 1}\n')


@pytest.mark.parametrize("values", [lambda: (i for i in range(3)), lambda: map(int, "012"), lambda: iter([0, 1, 2])])
def test_columns_that_are_iterators_are_kept(values):
    records = td.pipe({"x": values(), "y": ["a", "b", "c"]})
    assert records.schema.names == ["x", "y"]
    assert "int64" in records._repr_html_()
    for _ in range(2):
        assert records.to_arrow()["x"].to_pylist() == [0, 1, 2]


def test_the_table_of_a_notebook_shows_times_beyond_those_of_python():
    assert str(2**60) in td.pipe(pa.table({"x": pa.array([2**60], pa.timestamp("us"))}))._repr_html_()


def test_ragged_columns_come_back():
    for values in ([[[1], []], [[2, 3]]], [["a", "b"], []], [[[1.5, 2.5]], []]):
        records = td.pipe({"x": values})
        back = td.pipe(records.to_numpy())
        assert back.to_arrow()["x"].to_pylist() == values
    empty = pa.table({"x": pa.array([], pa.list_(pa.int8()))})
    assert td.pipe(td.pipe(empty).to_numpy()).schema.field("x").type.value_type == pa.int8()


@pytest.mark.parametrize(
    ("values", "ty", "expected"),
    [
        (pl.Series([1]).cast(pl.Datetime("ns")), pa.timestamp("ns"), [1]),
        (pl.Series([1], dtype=pl.Int8), pa.int8(), [1]),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), pa.uint64(), [2**64 - 1]),
        (pl.Series([[1], None]), pa.large_list(pa.int64()), [[1], None]),
        (pa.chunked_array([[1], [2]], pa.int8()), pa.int8(), [1, 2]),
        (pd.Series([pd.Timestamp(1), None], dtype=object), pa.timestamp("ns"), [1, None]),
        (collections.deque([pd.Timestamp(1)]), pa.timestamp("ns"), [1]),
        (range(2**63, 2**63 + 1), pa.uint64(), [2**63]),
        ({2**63: 1}.keys(), pa.uint64(), [2**63]),
        (np.ma.array(np.array([[1]], "i1"), mask=[[False]]), pa.list_(pa.int8(), 1), [[1]]),
    ],
)
def test_columns_of_any_kind_keep_their_types(values, ty, expected):
    found = td.pipe({"x": values}).to_arrow()["x"]
    assert found.type == ty and found.cast(counts(ty)).to_pylist() == expected


def test_columns_of_objects_in_a_frame():
    frame = pd.DataFrame(
        {0: ["a", None, float("nan")], 1: [1, 2, 3], 2: [[pd.Timestamp(1)], None, []]}, index=pd.Index([5, 6, 7], name="k")
    )
    frame = frame.astype({0: object})
    table = td.pipe(frame).to_arrow()
    assert table["0"].to_pylist() == ["a", None, None] and table["2"].cast(pa.list_(pa.int64())).to_pylist() == [[1], None, []]
    back = td.pipe(frame).to_pandas()
    assert back.columns.tolist() == [0, 1, 2] and back.index.equals(frame.index) and back[1].equals(frame[1])


def test_integers_beside_nulls_are_not_rounded_in_a_frame():
    large = 2**53 + 1
    table = pa.table(
        {
            "x": pa.array([large, None]),
            "u": pa.array([None, 2**64 - 1], pa.uint64()),
            "y": [1, 2],
            "l": [[large, None], []],
            "s": [{"a": large}, {"a": None}],
            "b": [True, None],
        }
    )
    frame = td.pipe(table).to_pandas()
    assert frame.dtypes[["x", "u", "y", "b"]].tolist() == ["Int64", "UInt64", "int64", "object"]
    assert frame["x"][0] == large and frame["u"][1] == 2**64 - 1
    assert frame["l"][0] == [large, None] and frame["s"].tolist() == [{"a": large}, {"a": None}]


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ([0, 1, 2], "axis 1 must end at .* 4, found 2"),
        ([0, 9], "axis 1 must end at .* 4, found 9"),
        ([1, 4], "axis 1 must start at 0, found 1"),
        ([], "axis 1 must start at 0, found none"),
        ([0, 3, 2, 4], "axis 1 must not decrease, found 2"),
        ([0.0, 4.0], "axis 1: expected integers of rank 1, found float64"),
    ],
)
def test_row_splits_cover_their_values(splits, message):
    with pytest.raises(ValueError, match=f"^x: the row splits of {message}"):
        td.pipe({"x": td.Ragged(np.arange(4), (np.array(splits),))}).to_arrow()


def test_sparse_columns_come_back():
    for values in ([[1, 0, 2], [3]], [[[1.5], [0.0, 2.0]], [], [[3.0]]], [["a"], []]):
        sparse = td.pipe({"x": values}, "to-sparse")
        back = td.pipe(sparse.to_numpy())
        assert back.to_arrow().to_pylist() == sparse.to_arrow().to_pylist()
        assert back.then("from-sparse").to_arrow().to_pylist() == [{"x": value} for value in values]


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[1, 0], [0, 0]], "not in the order of the records"),
        ([[0, 0], [1, 5]], r"index \[5\] is outside its record's dense shape \[1\]"),
        ([[0, 0], [2, 0]], "expected indices of 2 records, found 0 to 2"),
        ([[0, 0]], r"expected indices of shape \[2, 2\] .*found \[1, 2\]"),
        ([0, 1], "indices: expected integers of rank 2"),
    ],
)
def test_indices_fit_their_dense_shapes(indices, message):
    with pytest.raises(ValueError, match=f"^x: .*{message}"):
        td.pipe({"x": td.Sparse(np.array(indices), np.array([1, 2]), np.array([2, 1]), np.array([[1], [1]]))}).to_arrow()


def test_a_command_line_that_is_too_long_is_named(tmp_path):
    names = [str(tmp_path / f"{i:06d}.jsonl") for i in range(60_000)]
    for call in (lambda: td.read(names).to_arrow(), lambda: td.run(["count", *names])):
        with pytest.raises(ValueError, match="the command line is too long: 60,?0.*files_from=LIST"):
            call()
