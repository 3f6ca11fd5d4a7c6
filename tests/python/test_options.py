"""Options: constants keep their types, lists become words, and what the package sets itself is refused."""

import datetime
import math
import os

import numpy as np
import pyarrow as pa
import pytest
import tatter_data as td


TEXTS = ["007", "1e3", "[1, 2]", '"q"', "None", "", "a\\b\nü\0😀"]
NUMBERS = [7, -7, 2**64 - 1, -(2**63), 1.5, -0.0, 1e16, 1e-07, True]


@pytest.mark.parametrize("value", [*TEXTS, *NUMBERS, b"\xff\0'", [1, 2], [[1], []], ["007", "x"]])
def test_a_constant_keeps_its_type(value):
    found = td.pipe({"s": [1]}, "map 'y = k'", arg={"k": value}).to_arrow().column("y")[0].as_py()
    assert type(found) is type(value)
    # A literal number is a float32 unless an operand is a float64.
    assert found == (pytest.approx(value) if isinstance(value, float) else value)


def test_a_constant_of_numpy_is_a_number():
    assert td.pipe({"s": [1]}, "map 'y = k'", arg={"k": np.int64(5)}).to_arrow().column("y").to_pylist() == [5]


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf], 2**64, -(2**63) - 1, "\udcff"])
def test_a_constant_without_a_literal_is_refused(value):
    with pytest.raises(ValueError, match="arg: k: "):
        td.pipe({"s": [1]}, "map 'y = k'", arg={"k": value}).to_arrow()


@pytest.mark.parametrize("value", [np.array([1, 2]), datetime.date(2020, 1, 1), {"a": 1}, object()])
def test_a_constant_of_another_type_is_refused(value):
    with pytest.raises(TypeError, match="arg: k: expressions do not support "):
        td.pipe({"s": [1]}, "map 'y = k'", arg={"k": value}).to_arrow()


def test_a_list_gives_the_words_of_an_option(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\nNA,1\n-,2\n")
    assert td.read(tmp_path / "x.csv", nulls=["NA", "-"]).to_arrow().column("a").null_count == 2
    with pytest.raises(ValueError, match="nulls: a comma separates"):
        td.read(tmp_path / "x.csv", nulls=["a,b"]).to_arrow()
    assert td.pipe({"s": [1]}, "map 'y = a + b'", arg=["a=1", "b=2"]).to_arrow().column("y").to_pylist() == [3]


def test_flags_of_numpy(tmp_path):
    td.pipe({"s": [1]}, strict=np.True_, quiet=np.False_).write(tmp_path / "x.jsonl")


@pytest.mark.parametrize("option", ["output", "to", "dry_run", "messages"])
def test_options_that_the_package_sets_are_refused(docs, option, tmp_path):
    with pytest.raises(TypeError, match=f"{option} is not an option here"):
        td.read(docs, **{option: "x"})
    if option != "to":
        with pytest.raises(TypeError, match=f"{option} is not an option here"):
            td.write({"x": [1]}, tmp_path / "x.jsonl", **{option: "x"})


@pytest.mark.parametrize("words", ["-o z", "-oz", "--output z", "--output=z", "-qo z", "-qoz", "then head 1 -oz", "--output-dir=z"])
def test_an_output_in_a_chain_is_refused(docs, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    uses = [
        lambda: td.read(docs, f"head 1 {words}").to_arrow(),
        lambda: td.schema(docs, f"head 1 {words}"),
        lambda: td.pipe({"x": [1]}).then(f"head 1 {words}").to_arrow(),
        lambda: td.write({"x": [1]}, "y.jsonl", chain=f"head 1 {words}"),
    ]
    for use in uses:
        with pytest.raises(td.TatterError, match="a chain has no output file|--output and --output-dir cannot be used together") as caught:
            use()
        assert caught.value.code == 2
    assert list(tmp_path.iterdir()) == []


def test_an_output_format_in_a_chain_is_refused(docs):
    with pytest.raises(td.TatterError, match=r"a chain has no output format; write its records: tatter_data.write\("):
        td.read(docs, "head 1 --to=jsonl").to_arrow()


def test_a_value_that_looks_like_an_output_is_none():
    assert td.pipe({"o": [2, 1]}, "sort --by -o").to_arrow()["o"].to_pylist() == [2, 1]
    assert td.pipe({"x": [1]}, ["map", "y = '--output=z'"]).to_arrow()["y"].to_pylist() == ["--output=z"]


def test_a_schema_of_pyarrow_is_one(docs):
    schema = td.schema(docs)
    assert td.read(docs, schema=schema).to_arrow() == td.read(docs).to_arrow()
    types = pa.schema([("id", pa.float64()), pa.field("a b", pa.map_(pa.string(), pa.list_(pa.int8())))])
    assert td.read(docs, schema=types).schema.types[0] == pa.float64()


def test_an_option_of_writing_replaces_that_of_reading(docs, lines, tmp_path):
    out = tmp_path / "x.jsonl"
    records = td.read(docs, "head 1 then map 'y = k + j'", threads=1, seed=1, strict=True, arg={"k": 1, "j": 5})
    td.write(records, out, threads=2, seed=2, arg={"j": 2})
    assert td.read(out).to_arrow()["y"].to_pylist() == [3]
    empty = lines("empty.jsonl", [])
    records = td.read([docs, empty], strict=True)
    with pytest.raises(td.TatterError, match="is empty"):
        td.write(records, out)
    with pytest.warns(td.TatterNotice, match="is empty"):
        td.write(records, out, strict=False)
    records = td.read(docs, schema="id: int64")
    td.write(records, out, schema="id: int64")
    with pytest.raises(
        ValueError, match=r"schema is already set for reading .*tatter_data.write\(tatter_data.pipe\(records\), path, schema="
    ):
        td.write(records, out, schema="id: int32")


def test_names_of_files_in_a_file(lines, tmp_path):
    (tmp_path / "list").write_text(lines("x.jsonl", [{"x": 1}, {"x": 2}]) + "\n")
    records = td.read([], files_from=tmp_path / "list")
    assert records.to_arrow()["x"].to_pylist() == [1, 2]
    assert [records.shard(i, 2).to_arrow()["x"].to_pylist() for i in range(2)] == [[1], [2]]
    with pytest.raises(ValueError, match="files_from .*shard by record"):
        records.shard(0, 2, by="file")


@pytest.mark.parametrize(("option", "expected"), [("schema", "text or a pyarrow.Schema"), ("scalar", "no dictionary")])
def test_an_option_without_names_takes_no_dictionary(docs, option, expected):
    with pytest.raises(TypeError, match=f"{option}: expected {expected}, found dict"):
        td.read(docs, **{option: {"id": "int32"}}).to_arrow()


def test_names_may_be_bytes(tmp_path):
    name = os.fsencode(tmp_path / "n\udcff.jsonl")
    td.write({"x": [1]}, name)
    assert os.listdir(os.fsencode(tmp_path)) == [b"n\xff.jsonl"]
    assert td.read(name).to_arrow().num_rows == 1
    assert td.run(["count", name]) == "1\n"


def test_standard_streams_are_refused():
    with pytest.raises(ValueError, match="standard input cannot be read"):
        td.read("-")
    with pytest.raises(ValueError, match="standard output cannot be written"):
        td.write({"a": [1]}, "-")
