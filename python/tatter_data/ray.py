"""Reads files through a chain of verbs as a Ray Dataset, with one task per file.

::

    import tatter_data.ray

    dataset = tatter_data.ray.read("data/*.parquet", "promote docs.tokens --as toks then select id,toks")

A task runs the program over one whole file, so verbs that look across records (``batch``, ``pack``, ``shuffle``,
``head``) produce the same result for each file as a single process. Ray's blocks are not files: in
``dataset.map_batches``, use only verbs that process each record separately (``select``, ``drop``, ``rename``, ``cast``,
``fill-null``, ``map``, ``filter``, ``explode``, ``to-dense`` to a given shape, ...), because Ray splits and combines
blocks freely.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import ray.data
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from ._child import Child
from ._files import File, find, input_words, with_records
from ._options import TO_PYTHON, Chain, Paths, chain_words, check_options, option_words, path_words, refuse_files_from

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options


def read(paths: Paths, chain: Chain | None = None, **options: Unpack[Options]) -> ray.data.Dataset:
    """Reads the records of files through a chain of verbs, run over each file.

    Args:
        paths: Files, globs, shards (``x@8.tfrecord``) or directories, local (on every node) or as URLs that PyArrow or fsspec can open.
        chain: Verbs, as one line or as a list of words.
        options: The program's global options, without ``files_from``. ``threads`` is 1 by default, and each task reserves as
            many CPUs. With ``schema``, all files have the same types; without it, types are inferred for each file.

    Ray may return the files in any order, unless ``DataContext.get_current().execution_options.preserve_order`` is set.

    Raises:
        ValueError: The option ``files_from`` is given.
    """
    given: dict[str, Any] = {"threads": 1, **options}
    source = TatterDatasource(path_words(paths), chain_words(chain), given)
    cpus: dict[str, Any] = {"num_cpus": given["threads"]}
    if "num_cpus" not in inspect.signature(ray.data.read_datasource).parameters:
        cpus = {"ray_remote_args": cpus}  # Older versions of Ray.
    return ray.data.read_datasource(source, override_num_blocks=len(source.files), **cpus)


class TatterDatasource(Datasource):
    """Files, and the chain through which each is read."""

    def __init__(self, paths: list[str], chain: list[str], options: dict[str, Any]) -> None:
        super().__init__()
        check_options(options)
        refuse_files_from(options, "pass their names as paths")
        strict, quiet = bool(options.get("strict")), bool(options.get("quiet"))
        # The program takes an empty file for what it is if its format or types are given.
        is_declared = any(options.get(name) is not None for name in ("from_", "schema"))
        self.files = with_records(find(paths, strict, quiet), strict, quiet or is_declared)
        self._chain = chain
        self._options = options

    def estimate_inmemory_data_size(self) -> int | None:
        return None

    def get_read_tasks(self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None) -> list[ReadTask]:
        tasks = []
        for file in self.files:
            metadata = BlockMetadata(num_rows=None, size_bytes=file.size, exec_stats=None, input_files=(file.name,))
            tasks.append(ReadTask(_reading(file, self._chain, self._options), metadata, per_task_row_limit=per_task_row_limit))
        return tasks


def _reading(file: File, chain: list[str], options: dict[str, Any]) -> Any:
    def tables() -> Iterable[pa.Table]:
        names, feed = input_words(file)
        given = dict(options) if feed is None else {"input_name": file.name, **options}
        child = Child([*option_words({**given, **TO_PYTHON}), *chain, *names], feed=feed)
        schema, batches = child.batches()
        empty = True
        for batch in batches:
            empty = False
            yield pa.Table.from_batches([batch])
        if empty:
            yield schema.empty_table()

    return tables
