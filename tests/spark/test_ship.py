"""Executors without the wheel get the modules and the program from the driver."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import tatter_data.spark as ts
from pyspark.sql import SparkSession
session = (
    SparkSession.builder.master("local-cluster[1,1,1024]")
    .config("spark.ui.enabled", "false")
    .config("spark.executorEnv.PYTHONPATH", "")
    .config("spark.executorEnv.TATTER_BIN", "")
    .getOrCreate()
)
ts.ship(session)
frame = session.createDataFrame([([1, 2],), ([],)], "x array<int>")
print(sorted(row.n for row in ts.pipe(frame, "map 'n = len(x)'").collect()))
"""


@pytest.mark.cluster
def test_executors_without_the_wheel():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.stdout.strip() == "[0, 2]", done.stderr[-3000:]
