"""The data source reads what the program reads and writes what the program writes."""

import json
import os
import re

import pyarrow as pa
import pytest
import tatter_data as td
from conftest import PARTITIONS, SCHEMA, table
from pyarrow import fs
from pyspark.sql.types import StructType
from tatter_data.source import TatterSource


@pytest.fixture
def files(tmp_path):
    """One TFRecord for each of six partitions, one of them without records."""
    for i in range(6):
        td.write(table(i).select(["id", "tokens", "f"]), tmp_path / f"{i}.tfrecord")
    return str(tmp_path / "*.tfrecord")


WANTED = [row for i in range(6) for row in table(i).select(["id", "tokens"]).to_pylist()]


def test_files_are_partitions(spark, files):
    df = spark.read.format("tatter").option("scalar", "id").option("chain", "select id,tokens").load(files)
    assert df.schema.simpleString() == "struct<id:bigint,tokens:array<bigint>>"
    assert df.rdd.getNumPartitions() == 5  # There is no partition for the file without records.
    assert df.toArrow().to_pylist() == WANTED


def test_columns_and_given_types(spark, files):
    reader = spark.read.format("tatter").option("schema", "id: int64; tokens: int64[?]").option("columns", "tokens")
    assert reader.load(files).toArrow().to_pylist() == [{"tokens": row["tokens"]} for row in WANTED]


@pytest.mark.parametrize("types", ['x: string = "5\\" ; b"; y: int64', "x: string # it's a comment\ny: int64"])
def test_the_program_reads_the_names_of_the_types(spark, tmp_path, types):
    (tmp_path / "x.jsonl").write_text('{"x": "a", "y": 1, "z": 2}\n')
    reader = spark.read.format("tatter").option("schema", types)
    assert reader.load(str(tmp_path)).toArrow().to_pylist() == [{"x": "a", "y": 1}]
    assert reader.schema("y bigint, x string").load(str(tmp_path)).toArrow().to_pylist() == [{"y": 1, "x": "a"}]


def test_any_name_of_a_field(spark, tmp_path):
    row = {
        name: number for number, name in enumerate(["it's", 'q"', "a;b", "a,b", "c:d", "x<", "`b`", "p`q", "#", "s p", 'n"\n', "\\", "y"])
    }
    (tmp_path / "x.jsonl").write_text(json.dumps(row) + "\n")
    df = spark.read.format("tatter").option("inferRecords", "1").load(str(tmp_path))
    assert df.toArrow().to_pylist() == [row]
    assert spark.read.format("tatter").schema(df.schema).load(str(tmp_path)).toArrow().to_pylist() == [row]
    reader = spark.read.format("tatter").option("columns", "`p``q`, it's,`a,b`")
    assert reader.load(str(tmp_path)).columns == ["p`q", "it's", "a,b"]


def test_a_given_schema(spark, files):
    df = spark.read.format("tatter").schema("tokens array<int>, id bigint").option("scalar", "id").load(files)
    assert df.toArrow().to_pylist() == [{"tokens": row["tokens"], "id": row["id"]} for row in WANTED]


def test_a_sample_may_meet_nulls_later(spark, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1, "b": [1]}\n{"b": [null], "a": null}\n')
    df = spark.read.format("tatter").option("inferRecords", "1").load(str(path))
    assert df.toArrow().to_pylist() == [{"a": 1, "b": [1]}, {"a": None, "b": [None]}]


LATE = {"at the top": '{"a": 1, "c": 1}', "inside": '{"a": 1, "d": {"x": 1, "c": 1}}', "in a list": '{"a": 1, "l": [{"c": 1}]}'}


@pytest.mark.parametrize("late", LATE.values(), ids=LATE)
@pytest.mark.parametrize("where", ["in the file", "in another file"])
def test_a_field_that_the_sample_lacks_fails_the_job(spark, tmp_path, late, where):
    first = '{"a": 1, "d": {"x": 1}, "l": [{"x": 1}]}\n'
    (tmp_path / "0.jsonl").write_text(first + (late + "\n") * (where == "in the file"))
    (tmp_path / "1.jsonl").write_text(late + "\n")
    reader = spark.read.format("tatter").option("inferRecords", "1").option("inferFiles", "1")
    with pytest.raises(Exception, match=r"\d.jsonl: the sample .* does not have the field (c|d.c|l.c)"):
        reader.load(str(tmp_path)).count()
    assert reader.option("columns", "a").load(str(tmp_path)).count() == 2 + (where == "in the file")


def test_all_records_of_all_files_have_all_fields(spark, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1, "b": [1]}\n{"a": null, "b": [null], "c": 1}\n')
    everything = spark.read.format("tatter").option("inferRecords", "all").option("inferFiles", "all").load(str(path))
    assert everything.columns == ["a", "b", "c"] and everything.count() == 2


def test_maps(spark, tmp_path):
    rows = [
        {"m": {"k": 1}, "l": [{"k": 1}], "s": {"m": {"k": {"a": 1}}}},
        {"m": {"k": None}, "l": None, "s": {"m": {"k": None}}},
        {"m": None, "l": [None], "s": None},
    ]
    integers = pa.map_(pa.string(), pa.int64())
    kinds = {"m": integers, "l": pa.list_(integers), "s": pa.struct({"m": pa.map_(pa.string(), pa.struct({"a": pa.int64()}))})}
    maps = pa.Table.from_pylist([_entries(row) for row in rows], schema=pa.schema(kinds))
    for name in ("x.parquet", "x.arrow"):
        td.write(maps, tmp_path / name)
        for reader in (spark.read.format("tatter"), spark.read.format("tatter").option("inferRecords", "1")):
            df = reader.load(str(tmp_path / name))
            assert (
                df.schema.simpleString()
                == "struct<m:map<string,bigint>,l:array<map<string,bigint>>,s:struct<m:map<string,struct<a:bigint>>>>"
            )
            assert [row.asDict(recursive=True) for row in df.collect()] == rows


def _entries(value):
    """The value with the dictionaries under `k` as lists of pairs, as Arrow takes maps."""
    if isinstance(value, list):
        return [_entries(part) for part in value]
    if not isinstance(value, dict):
        return value
    return list(value.items()) if "k" in value else {name: _entries(part) for name, part in value.items()}


def test_a_given_schema_takes_fields_of_structures_by_name(spark, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"d": {"a": 1, "b": 2, "c": 3}, "l": [{"a": 1, "b": 2}]}\n')
    df = spark.read.format("tatter").schema("d struct<c bigint, a bigint>, l array<struct<b bigint>>").load(str(tmp_path))
    assert df.toArrow().to_pylist() == [{"d": {"c": 3, "a": 1}, "l": [{"b": 2}]}]
    with pytest.raises(Exception, match="a structure has no field `z`, only a, b, c"):
        spark.read.format("tatter").schema("d struct<z bigint>").load(str(tmp_path)).count()


def test_globs_and_shards(spark, tmp_path):
    for name in ("a", "s/b", "s/t/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / f"{name}.jsonl").write_text(f'{{"f": "{name}"}}\n')
    td.write({"f": ["0", "1"]}, str(tmp_path / "n@2.jsonl"))
    read = spark.read.format("tatter").load
    assert [row["f"] for row in read(str(tmp_path / "**" / "*.jsonl")).collect()] == ["a", "0", "1", "s/b", "s/t/c"]
    assert [row["f"] for row in read(str(tmp_path / "n@2.jsonl")).collect()] == ["0", "1"]


def test_values_in_names_of_folders_are_told_once(spark, tmp_path):
    out = str(tmp_path / "out")
    spark.range(4).selectExpr("id", "id % 2 p").write.partitionBy("p").parquet(out)
    words = "fields are read from the files only, not from directory names such as p=0"
    # In this process, because Spark prints what its own workers print.
    for options in ({"path": out}, {"path": out, "schema": "id: int64"}):
        with pytest.warns(td.TatterNotice, match=words) as told:
            source = TatterSource(options)
            assert source.reader(source.schema()).partitions()
        assert len(told) == 1
    assert sorted(row["id"] for row in spark.read.format("tatter").load(out).collect()) == [0, 1, 2, 3]
    with pytest.raises(Exception, match=words):
        spark.read.format("tatter").option("strict", "true").load(out).count()


def test_options_for_reading_have_an_effect(spark, files):
    # With strict, a notice that an option has no effect is an error.
    assert spark.read.format("tatter").option("scalar", "auto").option("strict", "true").load(files).count() == len(WANTED)


def test_large_files_are_split_between_records(spark, tmp_path):
    td.write(pa.table({"id": range(20_000), "s": ["x" * (i % 97) for i in range(20_000)]}), tmp_path / "x.tfrecord")
    reader = spark.read.format("tatter").option("scalar", "id,s").option("splitBytes", "100000")
    df = reader.load(str(tmp_path / "x.tfrecord"))
    assert df.rdd.getNumPartitions() > 10
    assert [row["id"] for row in df.select("id").toArrow().to_pylist()] == list(range(20_000))


@pytest.mark.parametrize("given", [{}, {"from": "sequence-example"}])
def test_large_files_of_sequences_are_split_too(spark, tmp_path, given):
    rows = [{"id": [i], "steps": [[i, 1], [2]]} for i in range(5_000)]
    td.write(rows, tmp_path / "x.tfrecord", to="sequence-example")
    df = spark.read.format("tatter").options(splitBytes="100000", **given).load(str(tmp_path / "x.tfrecord"))
    assert df.rdd.getNumPartitions() > 2
    assert df.toArrow().to_pylist() == rows


def test_a_damaged_file_is_named(spark, files):
    path = files.replace("*", "3")
    data = bytearray(open(path, "rb").read())
    data[len(data) // 2] ^= 1
    open(path, "wb").write(data)
    with pytest.raises(Exception, match=r"3\.tfrecord: record \d+"):
        spark.read.format("tatter").option("inferFiles", "1").load(files).count()


def test_an_unknown_option_is_refused(spark, files):
    with pytest.raises(Exception, match="`chian` is not an option"):
        spark.read.format("tatter").option("chian", "head 1").load(files)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("inferRecords", "1k", "all or"),
        ("inferRecords", "0", "all or"),
        ("inferFiles", "0", "all or"),
        ("splitBytes", "1MiB", "of bytes"),
        ("seed", "x", "from 0"),
    ],
)
def test_a_number_that_is_none_is_refused_by_name(spark, files, option, value, expected):
    with pytest.raises(Exception, match=f"{option}: expected .*{expected}.*, found `{value}`"):
        spark.read.format("tatter").option(option, value).load(files)


def test_file_urls_are_decoded(spark, tmp_path):
    folder = tmp_path / "a b"
    spark.range(3).write.format("tatter").option("to", "jsonl").mode("append").save(folder.as_uri())
    assert [path.name for path in tmp_path.iterdir()] == ["a b"]
    assert spark.read.format("tatter").load(folder.as_uri()).count() == 3


@pytest.mark.parametrize("to", ["tfrecord", "parquet", "jsonl"])
def test_what_is_written_reads_back(spark, frame, tmp_path, to):
    out = tmp_path / "out"
    df = frame.select("id", "m", "tokens")
    df.write.format("tatter").option("to", to).mode("append").save(str(out))
    names = sorted(os.listdir(out))
    assert "_SUCCESS" in names and not [name for name in names if name.startswith("_temporary")]
    parts = [name for name in names if name.startswith("part-")]
    assert len(parts) == sum(table(p).num_rows > 0 for p in range(PARTITIONS))
    back = td.read([str(out / name) for name in parts], scalar="id", schema="m: int64[?, (?)]" if to == "tfrecord" else None)
    wanted = [row for p in range(PARTITIONS) for row in table(p).select(["id", "m", "tokens"]).to_pylist()]
    assert back.then("select id,m,tokens").to_arrow().to_pylist() == wanted


@pytest.mark.parametrize("to", ["megatron", "tfds"])
def test_a_format_of_several_files_is_not_written(spark, tmp_path, to):
    with pytest.raises(Exception, match=f"does not write {to}, whose outputs are not single files"):
        spark.range(3).write.format("tatter").option("to", to).mode("append").save(str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [{"to": "jsonl", "compression": "gzip"}, {"to": "npz"}])
def test_remote_files_are_written_like_local_ones(tmp_path, monkeypatch, options):
    remote = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr("tatter_data.source.open_system", lambda name: (remote, name.removeprefix("remote://")))
    writer = TatterSource({"path": "remote://out", **options}).writer(StructType().add("x", "long"), False)
    writer.commit([writer.write(iter([pa.record_batch({"x": [1, 2]})]))])
    assert td.read(tmp_path / "out", "select x").to_arrow()["x"].to_pylist() == [1, 2]


def test_overwrite_and_append(spark, tmp_path):
    out = str(tmp_path / "out")
    df = spark.range(10)
    for mode, count in (("overwrite", 10), ("append", 20), ("overwrite", 10)):
        df.write.format("tatter").option("to", "jsonl").mode(mode).save(out)
        assert spark.read.format("tatter").load(out).count() == count


def test_an_empty_first_partition_has_no_file(spark, tmp_path):
    out = tmp_path / "out"
    spark.range(0, 4, 1, 2).where("id >= 2").write.format("tatter").mode("append").save(str(out))
    assert [path.name[:10] for path in out.iterdir() if path.name != "_SUCCESS"] == ["part-00001"]
    assert spark.read.format("tatter").option("strict", "true").load(str(out)).count() == 2


def test_nothing_to_write_keeps_the_schema(spark, tmp_path):
    out = tmp_path / "out"
    spark.range(10).where("id < 0").write.format("tatter").option("to", "parquet").mode("append").save(str(out))
    assert td.schema(str(out / "*.parquet")).names == ["id"]


def test_a_failed_job_leaves_nothing(spark, frame, tmp_path):
    def fail(batches):
        yield from batches
        raise KeyError("late")

    out = tmp_path / "out"
    with pytest.raises(Exception, match="late"):
        frame.mapInArrow(fail, frame.schema).select("id").write.format("tatter").option("to", "jsonl").mode("append").save(str(out))
    assert not out.exists() or os.listdir(out) == []


@pytest.mark.cluster
def test_an_executor_killed_while_it_writes_writes_nothing_twice(spark, frame, tmp_path):
    out, mark = tmp_path / "out", str(tmp_path / "killed")

    def kill(batches):
        for i, batch in enumerate(batches):
            yield batch
            if i == 1:
                try:
                    os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                stat = open(f"/proc/{os.getppid()}/stat").read()
                os.kill(int(stat.rsplit(")", 1)[1].split()[1]), 9)  # The parent of Python's daemon: the executor.

    frame.mapInArrow(kill, frame.schema).select("id").write.format("tatter").option("to", "jsonl").mode("append").save(str(out))
    assert os.path.exists(mark)
    ids = td.read(str(out / "part-*.jsonl")).to_arrow().column("id").to_pylist()
    assert sorted(ids) == sorted(i for p in range(PARTITIONS) for i in table(p).column("id").to_pylist())
    assert not [name for name in os.listdir(out) if re.match("_temporary", name)]


def test_schema_of_the_test_data():
    assert td.pipe(table(5)).schema.names == SCHEMA.names
