"""The rate of `pipe` compared with a pandas UDF and Spark SQL's own functions: the same work in the same session, interleaved.

    TATTER_BIN=target/release/tatter PYTHONPATH=python python tests/spark/rate.py [RECORDS]

The work: for each list of tokens, its length, the sum of the squares of tokens above 100, and padding or truncating to 32.
"""

import statistics
import sys
import time

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tatter_data.spark import pipe

RECORDS = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
ROUNDS = 5

session = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "4g")
    .getOrCreate()
)
session.sparkContext.setLogLevel("ERROR")


def generate(batches):
    import pyarrow as pa

    for batch in batches:
        for seed in batch.column("id").to_pylist():
            rng = np.random.default_rng(seed)
            splits = np.concatenate([[0], np.cumsum(rng.integers(0, 80, RECORDS // 8))]).astype(np.int32)
            lists = pa.ListArray.from_arrays(splits, rng.integers(0, 50_000, splits[-1]))
            yield from pa.table({"tokens": lists}).to_batches(max_chunksize=10_000)


frame = session.range(0, 8, 1, 8).mapInArrow(generate, "tokens array<bigint>").cache()
frame.count()


def with_tatter():
    chain = "map 'n = len(tokens); s = reduce_sum(where(tokens > 100, tokens * tokens, 0))' then to-dense -f tokens --shape 'tokens=[32]'"
    return pipe(frame, chain)


def with_pandas():
    def work(frames):
        for part in frames:
            lists = part["tokens"]
            yield pd.DataFrame(
                {
                    "tokens": [np.pad(x[:32], (0, max(0, 32 - len(x)))) for x in lists],
                    "n": [len(x) for x in lists],
                    "s": [int((x[x > 100] ** 2).sum()) for x in lists],
                }
            )

    return frame.mapInPandas(work, "tokens array<bigint>, n bigint, s bigint")


def with_sql():
    padded = F.slice(F.concat(F.col("tokens"), F.array_repeat(F.lit(0).cast("bigint"), 32)), 1, 32)
    squares = F.aggregate(F.filter("tokens", lambda x: x > 100), F.lit(0).cast("bigint"), lambda sum_, x: sum_ + x * x)
    return frame.select(padded.alias("tokens"), F.size("tokens").cast("bigint").alias("n"), squares.alias("s"))


ways = {"pipe": with_tatter, "pandas UDF": with_pandas, "Spark SQL": with_sql}
checks = {name: way().select(F.sum("n"), F.sum("s"), F.sum(F.element_at("tokens", 5))).first() for name, way in ways.items()}
assert len(set(map(tuple, checks.values()))) == 1, checks
seconds = {name: [] for name in ways}
for _ in range(ROUNDS):
    for name, way in ways.items():
        start = time.perf_counter()
        way().write.format("noop").mode("overwrite").save()
        seconds[name].append(time.perf_counter() - start)
base = statistics.median(seconds["pipe"])
for name, times in seconds.items():
    median = statistics.median(times)
    print(f"{name:10} {median:6.2f} s  {RECORDS / median:10,.0f} records/s  {median / base:5.2f} times pipe's")
