"""Reading batch by batch does not take more memory for a larger file."""

import subprocess
import sys

import pyarrow as pa
import pytest
import tatter_data as td

CODE = """
import resource, sys, tatter_data as td
rows = sum(batch.num_rows for batch in td.read(sys.argv[1], "map 'n = len(x)'", threads=2))
own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(rows, own // 1024, child // 1024)
"""


@pytest.mark.slow
def test_memory_is_flat(tmp_path):
    peaks = []
    for scale in (1, 16):
        path = tmp_path / f"{scale}.tfrecord"
        rows = pa.array([list(range(100))] * 10_000)
        td.write((pa.record_batch({"x": rows}) for _ in range(5 * scale)), path)
        done = subprocess.run([sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, check=True)
        count, own, child = map(int, done.stdout.split())
        assert count == 50_000 * scale
        peaks.append((own, child))
    (own_1, child_1), (own_4, child_4) = peaks
    assert own_4 < own_1 * 1.5 + 30 and child_4 < child_1 * 1.5 + 30, peaks
