"""A session, and data whose partitions the driver knows too."""

import os
import sys

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

PARTITIONS = 64 if os.environ.get("CLUSTER") else 12


@pytest.fixture(scope="session")
def spark():
    builder = SparkSession.builder.master("local-cluster[2,1,1024]" if os.environ.get("CLUSTER") else "local[2]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "7",
        "spark.executorEnv.TATTER_BIN": os.environ["TATTER_BIN"],
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.task.maxFailures": "3",
        "spark.sql.shuffle.partitions": "2",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "tokens": pa.list_(pa.int32()),
        "m": pa.list_(pa.list_(pa.int64())),
        "docs": pa.list_(pa.struct({"title": pa.string(), "k": pa.list_(pa.list_(pa.int64()))})),
        "s": pa.string(),
        "f": pa.float64(),
    }
)


def is_empty(partition):
    """True for 10 of 64 partitions."""
    return partition % 6 == 5


def table(partition):
    """The records of a partition: structures with lists of lists and nulls."""
    rows = []
    for i in range(0 if is_empty(partition) else 20 + partition % 7):
        n = 1000 * partition + i
        rows.append(
            {
                "id": n,
                "tokens": list(range(n % 5)),
                "m": [list(range(k)) for k in range(n % 4)],
                "docs": None if n % 7 == 3 else [{"title": None if k == 2 else f"t{k}", "k": [[k], [], [n, k]][: n % 4]} for k in range(n % 4)],
                "s": None if n % 9 == 1 else "süß" * (n % 3),
                "f": n / 7,
            }
        )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.fixture
def frame(spark):
    """The same records in the same partitions."""
    from tatter_data._sparktypes import spark_schema

    def generate(batches):
        for batch in batches:
            for partition in batch.column("id").to_pylist():
                yield from table(partition).to_batches(max_chunksize=9)

    return spark.range(0, PARTITIONS, 1, PARTITIONS).mapInArrow(generate, spark_schema(SCHEMA))


# Workers cannot import this module, so its functions are pickled with their code.
cloudpickle.register_pickle_by_value(sys.modules[__name__])
