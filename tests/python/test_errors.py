"""Errors: their attributes, when they are raised, and what remains after them."""

import datetime
import io
import json
import os
import pickle
import re
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
import tatter_data as td
from tatter_data._child import Child

pytestmark = pytest.mark.usefixtures("no_process_left")


def test_an_error_has_file_record_field_code_and_message(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"a": {"b": 1}}\n{"a": {"b": [}}\n')
    with pytest.raises(td.TatterError) as caught:
        td.read(path, schema="a: {b: int64}").to_arrow()
    error = caught.value
    assert (error.file, error.record, error.field, error.code) == (str(path), 2, "a.b", 1)
    assert str(error).startswith(f"{path}: record 2 (line 2, column")
    again = pickle.loads(pickle.dumps(error))
    assert (again.file, again.record, again.field, again.code, str(again)) == (str(path), 2, "a.b", 1, str(error))


def test_a_damaged_tfrecord_names_file_and_record(tmp_path):
    td.write({"x": list(range(100))}, tmp_path / "x.tfrecord")
    data = bytearray((tmp_path / "x.tfrecord").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "x.tfrecord").write_bytes(data)
    with pytest.raises(td.TatterError) as caught:
        td.read(tmp_path / "x.tfrecord").to_numpy()
    assert caught.value.file == str(tmp_path / "x.tfrecord") and 40 < caught.value.record < 60


def test_records_before_a_late_error_arrive(tmp_path):
    path = tmp_path / "late.jsonl"
    with open(path, "w") as out:
        for i in range(300_000):
            out.write(f'{{"x": {i}}}\n')
        out.write('{"x": "end"}\n')
    seen = 0
    with pytest.raises(td.TatterError) as caught:
        for batch in td.read(path, schema="x: int64"):
            seen += batch.num_rows
    assert caught.value.record == 300_001 and 0 < seen <= 300_000
    # The C stream interface passes on only the text; the library chooses the type of the exception.
    with pytest.raises(Exception, match="record 300001"):
        pa.table(td.read(path, schema="x: int64"))


def test_an_error_of_the_feed_is_raised_and_nothing_is_written(tmp_path):
    def batches():
        yield pa.record_batch({"x": [1]})
        raise KeyError("from the source")

    with pytest.raises(KeyError, match="from the source"):
        td.write(batches(), tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyError, match="from the source"):
        td.pipe(batches(), "map 'y = x'").to_arrow()


@pytest.mark.parametrize("fault", [ConnectionResetError(104, "Connection reset by peer"), BrokenPipeError(32, "Broken pipe")])
def test_a_connection_of_the_source_that_breaks_is_no_end_of_the_records(fault, tmp_path):
    def lines(pipe):
        pipe.write(b'{"x": 1}\n' * 1000)
        raise fault

    with pytest.raises(type(fault), match=fault.strerror):
        list(Child(["convert", "--to=arrow", "--from=jsonl", "-"], feed=lines).batches()[1])

    def batches():
        yield pa.record_batch({"x": [1]})
        raise fault

    with pytest.raises(type(fault), match=fault.strerror):
        td.pipe(batches()).to_arrow()
    with pytest.raises(type(fault), match=fault.strerror):
        td.write(batches(), tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_wrong_words_are_usage_errors(docs):
    with pytest.raises(td.TatterError) as caught:
        td.read(docs, "select titel").to_arrow()
    assert caught.value.code == 2
    with pytest.raises(ValueError, match="no input file"):
        td.read([])


def test_first_guesses_name_what_works(docs):
    with open(docs) as file:
        for wrong in ({"a": [1]}, [{"a": 1}], 12, file, io.BytesIO(b"{}"), [file]):
            with pytest.raises(TypeError, match="pipe.* takes data in memory"):
                td.read(wrong)
    assert td.read(os.fsencode(docs)).to_arrow().num_rows == td.read(docs).to_arrow().num_rows
    records = td.read(docs)
    with pytest.raises(AttributeError, match=r"'head'; write then\('head ...'\)"):
        records.head(2)
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'$"):
        records.frobnicate
    for verb in ("count", "schema"):
        with pytest.raises(td.TatterError, match=f"`{verb}` prints text, not records\n  tatter_data.run returns what the program prints$"):
            td.read(docs, verb).to_arrow()


def test_advice_names_options_as_arguments(lines):
    with pytest.raises(td.TatterError, match='with on_error="skip"'):
        td.read(lines("x.jsonl", [{"a": "x"}]), schema="a: int64").to_arrow()
    path = lines("y.jsonl", [{"a": 1}])
    with pytest.raises(td.TatterError, match="allow it with in_place=True"):
        td.write(td.read(path), path)
    td.write(td.read(path), path, in_place=True)


def test_bad_records_may_be_left_out(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"a": 1}\n{"a": [}\n{"a": 3}\n')
    with pytest.raises(td.TatterError, match="max_errors=N accepts up to N bad records"):
        td.read(path, on_error="skip").to_arrow()
    with pytest.warns(td.TatterNotice, match="skipped"):
        table = td.read(path, on_error="skip", max_errors=1).to_arrow()
    assert table.column("a").to_pylist() == [1, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert td.read(path, on_error="skip", max_errors=1, quiet=True).to_arrow().num_rows == 2


def test_what_validate_and_diff_find_is_in_the_message(tmp_path, lines):
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n{"a": [}\n')
    with pytest.raises(td.TatterError, match="bad.jsonl: record 2.*\n1 valid record, 1 bad record") as caught:
        td.run(["validate", str(tmp_path / "bad.jsonl")])
    report = json.loads(caught.value.output)
    assert (report["bad_records"], report["text"]) == (1, str(caught.value))
    (tmp_path / "bad.jsonl").write_text('{"a": [}\n' * 30)
    with pytest.raises(td.TatterError, match="record 10 .*\n... 21 more lines in TatterError.output$"):
        td.run(["validate", str(tmp_path / "bad.jsonl")])
    one, two = (lines(f"{k}.jsonl", [{"x": k}]) for k in range(2))
    with pytest.raises(td.TatterError, match="record 1: x\n"):
        td.run(["diff", one, two])
    assert td.run(["diff", one, one]) == ""


def test_a_binary_output_is_not_text(docs):
    for to in ("arrow", "tfrecord", "parquet"):
        with pytest.raises(ValueError, match="the output is not text: byte [0-9]+ .*tatter_data.read returns records"):
            td.run(["convert", docs], to=to)


def test_nulls_are_refused_where_tensors_are_asked_for():
    records = td.pipe(pa.table({"x": [1, None]}))
    assert records.to_arrow().column("x").to_pylist() == [1, None]
    with pytest.raises(ValueError, match="the field x has nulls.*fill-null 'x=0'"):
        records.to_numpy()
    assert records.then("fill-null x=0").to_numpy()["x"].tolist() == [1, 0]


@pytest.mark.parametrize("data", [{"a.b": [1, None]}, {"a b": [1, None]}, {"it's": [1, None]}, {"a": [{"b,c": 1}, {"b,c": None}]}])
def test_advice_quotes_names(data):
    records = td.pipe(data)
    with pytest.raises(ValueError, match="has nulls") as caught:
        records.to_numpy()
    advice = re.search("fill them: (fill-null .*), or leave", str(caught.value))[1]
    assert [array.tolist() for array in records.then(advice).to_numpy().values()] == [[1, 0]]


@pytest.mark.parametrize(
    "column",
    [
        ["a", None],
        [b"a", None],
        [True, None],
        [[1], None],
        [["a", None], []],
        [[[1], None], None],
        [{"a": 1}, None],
        [[{"a": [1]}, None], None],
        pa.array([[1, 2], None], pa.list_(pa.int64(), 2)),
        pa.array([[["a"], None], None], pa.list_(pa.list_(pa.string()), 2)),
        pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        pa.array(["a", None]).dictionary_encode(),
        pa.array([datetime.date(2020, 1, 1), None]),
        pa.array([b"ab", None], pa.binary(2)),
        [None, None],
        pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    ],
    ids=str,
)
def test_advice_about_what_tensors_lack_works(column):
    records = td.pipe(pa.table({"x": column, "y": [1, 2]}))
    with pytest.raises((TypeError, ValueError)):
        records.to_numpy()
    # A null structure becomes one of nulls, so that one command may not do.
    for _ in range(4):
        try:
            records.to_numpy()
        except (TypeError, ValueError) as error:
            advice = re.search("(?:fill them|leave it out|leave the field out)[^:]*: ((?:fill-null|drop) .*?)(?:, or leave|$)", str(error))
            records = records.then(advice[1])
    assert records.to_numpy()["y"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "read", [lambda f: td.read(f, help=True).to_arrow(), lambda f: td.schema(f, version=True), lambda f: td.schema(f, "head --help")]
)
def test_text_is_no_arrow_stream(docs, read, tmp_path):
    with pytest.raises(td.TatterError, match="prints text, not records\n  tatter_data.run returns"):
        read(docs)
    with pytest.raises(td.TatterError, match="prints text, not records"):
        td.write(td.read(docs, "head --help"), tmp_path / "x.jsonl")


@pytest.mark.parametrize("chain", [b"head 1", 5, Path("x"), {"head": 1}])
def test_what_is_no_chain_is_said(docs, chain):
    with pytest.raises(TypeError, match=f"expected verbs, as one line or as a list of words, found {type(chain).__name__}"):
        td.read(docs, chain)


def test_times_are_printed(docs, tmp_path, capfd):
    assert td.read(docs, explain_time=True).to_arrow().num_rows == 5
    td.write(pa.table({"a": [1]}), tmp_path / "x.parquet", explain_time=True)
    assert td.run(["count", docs], explain_time=True) == "5\n"
    assert capfd.readouterr().err.count('"stages"') == 3


def test_a_notice_names_the_line_of_the_caller(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": [}\n')
    records = td.read(tmp_path / "x.jsonl", on_error="skip", max_errors=1)
    reads = [
        records.to_arrow,
        records.to_numpy,
        lambda: records.write(tmp_path / "y.jsonl"),
        lambda: list(records),
        lambda: pa.table(records),
    ]
    reads.append(lambda: td.run(["count", str(tmp_path / "x.jsonl")], on_error="skip", max_errors=1))
    for read in reads:
        with pytest.warns(td.TatterNotice, match="skipped") as caught:
            read()
        assert [warning.filename for warning in caught] == [__file__]


def test_paths_have_an_order_and_are_names():
    with pytest.raises(TypeError, match="a set of names has no order"):
        td.read({"a.jsonl", "b.jsonl"})
    with pytest.raises(TypeError, match=r"pipe\(data, chain\) takes data in memory"):
        td.read(pa.table({"a.jsonl": [1]}).to_pandas())


def test_names_of_constants_are_names():
    with pytest.raises(ValueError, match="arg: expected a name, found 'k='"):
        td.pipe({"x": [1]}, "map 'y = k'", arg={"k=": 1}).to_arrow()


def test_a_failure_hides_the_end_of_the_stream():
    with pytest.raises(td.TatterError) as caught:
        td.read("missing.jsonl").to_arrow()
    assert caught.value.__suppress_context__
