"""Data in memory: dictionaries, iterators that can be read only once, frames with an index, and what is not data."""

import datetime

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


@pytest.mark.parametrize("data", [{"x": [1, 2**64 - 1]}, [{"x": 1}, {"x": 2**64 - 1}]])
def test_integers_above_int64(data):
    assert td.pipe(data).to_arrow().column("x").to_pylist() == [1, 2**64 - 1]


@pytest.mark.parametrize("data", [{"x": [2**64]}, [{"x": [2**63]}], {"x": [-1, 2**63]}])
def test_integers_beyond_64_bits_name_their_field(data):
    with pytest.raises(ValueError, match="^x: an integer does not fit in int64"):
        td.pipe(data).to_arrow()


@pytest.mark.parametrize("value", ["\udcff", ["\udcff"], {"y": "\udcff"}])
def test_text_that_is_not_unicode_names_its_field(value):
    with pytest.raises(ValueError, match="^x: .*surrogates not allowed"):
        td.pipe([{"x": value}]).to_arrow()


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
    ]:
        found = td.pipe([{"x": value} for value in values]).to_arrow()["x"]
        assert found.type == ty and found.to_pylist() == expected


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
    ]:
        found = td.pipe([{"x": value} for value in values]).to_arrow()["x"]
        assert found.type == ty
        whole = {pa.timestamp("ns"): pa.int64(), pa.duration("ns"): pa.int64(), pa.date32(): pa.int32()}
        if ty in whole:
            found = found.cast(whole[ty])
        elif pa.types.is_nested(ty) and ty != pa.list_(pa.int64()):
            found = found.cast(pa.struct({"t": pa.int64()}) if pa.types.is_struct(ty) else pa.list_(pa.int64()))
        assert found.to_pylist() == expected
    utc = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
    for values, message in [
        ([datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 5)], "x: dates and times are mixed"),
        ([datetime.datetime(2024, 1, 1), utc], "x: times with and without a time zone are mixed"),
    ]:
        with pytest.raises(ValueError, match=message):
            td.pipe([{"x": value} for value in values]).to_arrow()
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
        *((lambda x=x: td.pipe({"x": x}).schema, f"x: expected a column, .* found {type(x).__name__}") for x in ("abc", b"abc", {"a"}, {"a": 1})),
        (lambda: td.pipe(5).schema, "expected data, found int"),
        (lambda: td.pipe(pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)})).schema, "x: Arrow has no columns of Python objects"),
        (lambda: td.pipe(pl.DataFrame({"x": [1]}).lazy()).schema, "pass data.collect"),
        (lambda: td.pipe({"a": i} for i in range(3)).schema, r"pass a list of dictionaries: list\(data\)"),
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


def test_a_command_line_that_is_too_long_is_named(tmp_path):
    names = [str(tmp_path / f"{i:06d}.jsonl") for i in range(60_000)]
    for call in (lambda: td.read(names).to_arrow(), lambda: td.run(["count", *names])):
        with pytest.raises(ValueError, match="the command line is too long: 60,?0.*files_from=LIST"):
            call()
