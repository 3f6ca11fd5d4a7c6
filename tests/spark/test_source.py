"""The data source reads what the program reads and writes what the program writes."""

import os
import re

import pyarrow as pa
import pytest
import tatter_data as td
from conftest import PARTITIONS, SCHEMA, table


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


def test_a_given_schema(spark, files):
    df = spark.read.format("tatter").schema("tokens array<int>, id bigint").option("scalar", "id").load(files)
    assert df.toArrow().to_pylist() == [{"tokens": row["tokens"], "id": row["id"]} for row in WANTED]


def test_a_sample_may_meet_nulls_later(spark, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1, "b": [1]}\n{"a": null, "b": [null], "c": 1}\n')
    df = spark.read.format("tatter").option("inferRecords", "1").load(str(path))
    assert df.toArrow().to_pylist() == [{"a": 1, "b": [1]}, {"a": None, "b": [None]}]
    everything = spark.read.format("tatter").option("inferRecords", "all").option("inferFiles", "all").load(str(path))
    assert everything.columns == ["a", "b", "c"] and everything.count() == 2


def test_large_files_are_split_between_records(spark, tmp_path):
    td.write(pa.table({"id": range(20_000), "s": ["x" * (i % 97) for i in range(20_000)]}), tmp_path / "x.tfrecord")
    reader = spark.read.format("tatter").option("scalar", "id,s").option("splitBytes", "100000")
    df = reader.load(str(tmp_path / "x.tfrecord"))
    assert df.rdd.getNumPartitions() > 10
    assert [row["id"] for row in df.select("id").toArrow().to_pylist()] == list(range(20_000))


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


def test_overwrite_and_append(spark, tmp_path):
    out = str(tmp_path / "out")
    df = spark.range(10)
    for mode, count in (("overwrite", 10), ("append", 20), ("overwrite", 10)):
        df.write.format("tatter").option("to", "jsonl").mode(mode).save(out)
        assert spark.read.format("tatter").load(out).count() == count


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
