"""Runs chains of verbs over the partitions of a Spark DataFrame.

::

    from tatter_data.spark import pipe

    pipe(df, "map 'n = len(tokens)' then to-dense --shape 'tokens=[512]'")

The program runs once per partition, next to the Python worker, and exchanges Arrow record batches with it. A partition
is treated like a separate file: verbs that look across records (``batch``, ``pack``, ``shuffle``, ``head``) see the
records of one partition. `tatter_data.source` reads and writes files.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import SparkFiles, TaskContext
from pyspark.sql.types import StructField, StructType

from ._child import Child, arrow_feed
from ._find import find_tatter
from ._options import TO_PYTHON, Chain, chain_words, option_words
from ._records import Records
from ._sparktypes import arrow_schema, cast, spark_schema
from ._stream import Source, chained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack

    from ._options import Options

__all__ = ["partition_seed", "pipe", "ship"]


def pipe(df: DataFrame, chain: Chain, **options: Unpack[Options]) -> DataFrame:
    """Runs the records of each partition through a chain of verbs.

    The schema of the result is found by running the chain over no records, so a wrong field or type fails here, on
    the driver. Types that Spark does not have are cast according to the table in `tatter_data._sparktypes`.

    Args:
        df: Any DataFrame; names can contain dots.
        chain: Verbs, as one line or as a list of words.
        options: The program's global options. By default ``threads`` is ``spark.task.cpus``, ``max_memory`` a share of
            the executor's memory overhead, and ``seed`` differs by partition; see `partition_seed`.

    Raises:
        TatterError: The chain does not fit the columns. An invalid record fails the job with the program's
            message, which names the partition and record.
    """
    session = df.sparkSession
    timezone = session.conf.get("spark.sql.session.timeZone") or "UTC"
    schema = arrow_schema(df.schema, timezone)
    words = chain_words(chain)
    given = task_options(session, dict(options))
    result = Records([], words, {**given, "seed": None}, source=Source(schema.empty_table())).schema
    wanted = spark_schema(result)
    # mapInArrow looks up columns by name and interprets a dot as field access.
    safe = StructType([StructField(f"_{i}", field.dataType, True) for i, field in enumerate(wanted)])
    target = arrow_schema(safe, timezone)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _run(batches, schema, words, given, target)

    return df.toDF(*(f"_{i}" for i in range(len(schema)))).mapInArrow(run, safe).toDF(*wanted.fieldNames())


def _run(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, words: list[str], options: dict[str, Any], target: pa.Schema
) -> Iterator[pa.RecordBatch]:
    partition = partition_id()
    named = (pa.RecordBatch.from_arrays(batch.columns, names=schema.names) for batch in batches)
    first = next(named, None)
    # An empty partition delivers nothing, not even a schema.
    feed = arrow_feed(schema if first is None else first.schema, chained(first, named))
    given = partition_options(options, partition)
    given.setdefault("input_name", f"partition {partition}")
    child = Child([*option_words({**given, **TO_PYTHON}), *words, "--from=arrow", "-"], feed=feed, program=program())
    for batch in child.batches()[1]:
        yield cast(batch, target)


def partition_id() -> int:
    """The index of the partition processed by this task; 0 outside of tasks."""
    context = TaskContext.get()
    return context.partitionId() if context else 0


def partition_seed(seed: int, partition: int) -> int:
    """The seed of a partition: the first 63 bits of the SHA-256 of the text ``SEED/PARTITION``.

    With the same seed for all, ``sample`` and ``shuffle`` would draw the same rows in every partition.

    >>> partition_seed(1, 0), partition_seed(1, 1)
    (894933081445914327, 1341732422470200821)
    """
    digest = hashlib.sha256(f"{seed}/{partition}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def task_options(session: SparkSession, options: dict[str, Any]) -> dict[str, Any]:
    """The options of each run of the program: those given, and threads and memory from the cluster's settings."""
    get = session.conf.get
    cpus = int(get("spark.task.cpus", "1") or 1)
    options.setdefault("threads", cpus)
    if "max_memory" not in options:
        slots = max(1, int(get("spark.executor.cores", "") or os.cpu_count() or 1) // cpus)
        options["max_memory"] = _memory(get) // slots
    return options


def _memory(get: Any) -> int:
    """Bytes for all programs on an executor: half of the memory overhead, which they share with the Python workers. On a
    single machine, which has no overhead setting, a quarter of its memory."""
    master = get("spark.master", "") or ""
    if master.startswith("local") and not master.startswith("local-cluster"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    overhead = get("spark.executor.memoryOverhead", "")
    if overhead:
        return _bytes(overhead) // 2
    factor = float(get("spark.executor.memoryOverheadFactor", "") or 0.1)
    return max(int(_bytes(get("spark.executor.memory", "") or "1g") * factor), 384 << 20) // 2


def _bytes(text: str) -> int:
    """Parses a size in Spark syntax; a plain number is in MiB.

    >>> _bytes("2g"), _bytes("512"), _bytes("512MB"), _bytes("1024b")
    (2147483648, 536870912, 536870912, 1024)
    """
    number, unit = re.fullmatch(r"([0-9]+)([kmgtp]?b?)", text.strip().lower()).groups()  # type: ignore[union-attr]
    return int(number) << {"": 20, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}[unit[:1]]


def partition_options(options: dict[str, Any], partition: int) -> dict[str, Any]:
    """The options of one partition, with its seed."""
    return {**options, "seed": partition_seed(int(options.get("seed") or 0), partition)}


def ship(session: SparkSession) -> None:
    """Sends the modules and the program to executors without the wheel. They must have PyArrow.

    The executors must have the driver's operating system and architecture.
    """
    context = session.sparkContext
    folder = Path(tempfile.mkdtemp(prefix="tatter-"))
    archive = folder / "tatter_data.zip"
    packages = Path(__file__).resolve().parent.parent
    with zipfile.ZipFile(archive, "w") as out:
        for package in ("tatter_data", "pyspark_tatter"):
            for file in sorted((packages / package).glob("*.py")):
                out.write(file, f"{package}/{file.name}")
    context.addPyFile(str(archive))
    shutil.copy2(find_tatter(), folder / "tatter")
    context.addFile(str(folder / "tatter"))


def program() -> str:
    """The program on an executor: that of the wheel, or else the one sent by `ship`."""
    try:
        return find_tatter()
    except FileNotFoundError:
        sent = SparkFiles.get("tatter")
        if not os.path.isfile(sent):
            raise
        os.chmod(sent, 0o755)
        return sent
