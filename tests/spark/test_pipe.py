"""Chains over partitions give the same results as one machine over the same partitions."""

import pytest
import tatter_data as td
from conftest import PARTITIONS, table
from tatter_data.spark import partition_seed, pipe

CHAINS = [
    "convert",
    "map 'n = len(tokens); y = f * 2'",
    "select id,docs,s",
    "filter 'len(tokens) > 2' then select id,tokens",
    "select id,tokens then batch 3",
    "select id,tokens,m then padded-batch 4",
    "explode docs",
    "drop docs,s then to-dense --shape 'tokens=[6]' then cast id=uint64",
    "select id,m then merge-dims m 0 1",
    "select tokens then pack --length 8",
    "sample 0.5 then select id,s",
    "shuffle then select id,docs",
    "select id,tokens then to-sparse -f tokens",
    "head 2",
    "filter 'id < 0'",
]


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_equals_one_machine(frame, chain):
    result = pipe(frame, chain, seed=7).toArrow().to_pylist()
    wanted = []
    for partition in range(PARTITIONS):
        records = td.pipe(table(partition), chain, seed=partition_seed(7, partition))
        wanted += records.to_arrow().to_pylist()
    assert result == wanted


def test_the_schema_is_known_without_a_job(spark, frame):
    tracker = spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup())
    schema = pipe(frame, "drop docs,s then to-dense --shape 'tokens=[6]' then cast id=uint64").schema
    assert schema.simpleString() == "struct<id:decimal(20,0),tokens:array<int>,m:array<array<bigint>>,f:double>"
    assert len(tracker.getJobIdsForGroup()) == before


def test_names_with_dots(spark):
    df = spark.createDataFrame([(1, [1, 2]), (2, [])], "`a.b` int, `x y` array<int>")
    result = pipe(df, "rename '`a.b`=`e.f`'")
    assert result.columns == ["e.f", "x y"]
    assert sorted(map(tuple, result.collect())) == [(1, [1, 2]), (2, [])]


def test_a_wrong_chain_fails_on_the_driver(frame):
    with pytest.raises(td.TatterError, match="unknown field `idd`"):
        pipe(frame, "select idd")


def test_an_error_names_partition_and_record(frame):
    with pytest.raises(Exception, match=r"partition \d+: record \d+: index 3 is out of range"):
        pipe(frame, "map 'y = tokens[3]'").collect()


def test_an_error_from_before_is_passed_on(spark, frame):
    def fail(batches):
        for batch in batches:
            yield batch
            raise KeyError("from the source")

    with pytest.raises(Exception, match="from the source"):
        pipe(frame.mapInArrow(fail, frame.schema), "select id").collect()


def test_part_of_the_result_may_be_taken(frame):
    assert len(pipe(frame, "select id").take(3)) == 3
    assert pipe(frame, "select id").count() == sum(table(p).num_rows for p in range(PARTITIONS))


def test_types_that_spark_does_not_have(spark):
    import datetime
    import decimal

    import pyarrow as pa
    from tatter_data._sparktypes import arrow_schema, cast, spark_schema

    day = datetime.date(2024, 2, 29)
    data = pa.table(
        {
            "fixed": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.uint8(), 2)),
            "deep": pa.array([[[[1], [2]]], [], None], pa.large_list(pa.list_(pa.list_(pa.uint16()), 2))),
            "u64": pa.array([2**64 - 1, None, 0], pa.uint64()),
            "half": pa.array([0.5, None, -2.0], pa.float16()),
            "dict": pa.array(["a", None, "a"]).dictionary_encode(),
            "view": pa.array(["a", None, "c"], pa.string_view()),
            "bytes": pa.array([b"ab", None, b"cd"], pa.binary(2)),
            "day": pa.array([day, None, day], pa.date64()),
            "time": pa.array([datetime.datetime(2024, 2, 29, 1)] * 3, pa.timestamp("s", "UTC")),
            "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.uint32())),
            "struct": pa.array([{"x": 1}, None, {"x": None}], pa.struct({"x": pa.uint8()})),
            "dec": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")], pa.decimal128(5, 2)),
            "null": pa.nulls(3),
        }
    )
    schema = spark_schema(data.schema)
    target = arrow_schema(schema, "UTC")
    for part in (data, data.slice(1), data.slice(2, 1), data.slice(3)):
        for batch in part.to_batches() or [pa.RecordBatch.from_pylist([], part.schema)]:
            got = cast(batch, target)
            got.validate(full=True)
            assert got.schema == target
            assert got.to_pylist() == batch.to_pylist()
    nanoseconds = pa.record_batch({"a b": pa.array([1], pa.timestamp("ns"))})
    with pytest.raises(ValueError, match="a b: .* would lose data: 1; cast it in the chain: cast '`a b`=int64'"):
        cast(nanoseconds, arrow_schema(spark_schema(nanoseconds.schema), "UTC"))
    with pytest.raises(TypeError, match="x.y: Spark has no"):
        spark_schema(pa.schema({"x": pa.struct({"y": pa.month_day_nano_interval()})}))
