"""Options: constants keep their types, lists become words, and what the package sets itself is refused."""

import datetime
import math

import numpy as np
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
    with pytest.raises(TypeError, match="arg: k: expressions have no "):
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


def test_standard_streams_are_refused():
    with pytest.raises(ValueError, match="standard input cannot be read"):
        td.read("-")
    with pytest.raises(ValueError, match="standard output cannot be written"):
        td.write({"a": [1]}, "-")
