"""Ragged, sparse and structured tensors from files, read by the program `tatter`.

::

    import tatter_data as td

    records = td.read("x.parquet", "promote docs.tokens --as toks then select id,toks")
    for batch in records: ...            # pyarrow.RecordBatch
    pa.table(records)                    # or polars.DataFrame(records), duckdb.from_arrow(records)
    records.to_numpy()                   # also to_tf, to_torch, to_awkward, to_pandas
    td.write(table, "out@8.tfrecord", chain="shuffle --seed 1")

The module does no processing itself: each read runs the program, which does all the work in its own threads and returns
Arrow record batches. ``tatter --help`` describes the verbs and options.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ._child import start, stop, tell
from ._errors import TatterError, TatterNotice
from ._find import find_tatter
from ._options import Chain, Name, Paths, chain_words, option_words, path_words, split_words
from ._ragged import Ragged, Sparse
from ._records import Records
from ._stream import Data, Source

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options, RunOptions, WriteOptions

__all__ = ["Ragged", "Records", "Sparse", "TatterError", "TatterNotice", "find_tatter", "pipe", "read", "run", "schema", "write"]


def read(paths: Paths, chain: Chain | None = None, *, progress: bool | None = None, **options: Unpack[Options]) -> Records:
    """Reads the records of files through a chain of verbs. Reading is lazy.

    Args:
        paths: A file, a directory, a quoted glob, shards (``x@8.tfrecord``), or a list of these, in any format
            that the program reads. It may be empty with ``files_from=LIST``, a file of names.
        chain: Verbs, as one line or as a list of words.
        progress: Whether to show progress; by default only in notebooks.
        options: The program's global options: ``threads=2``, ``schema="id: int64"``, ``on_error="skip"``.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.jsonl")
    >>> _ = open(path, "w").write('{"id": 1, "x": [1, 2]}\\n{"id": 2, "x": [3]}\\n')
    >>> read(path, "map 'n = len(x)' then drop x").to_arrow().to_pylist()
    [{'id': 1, 'n': 2}, {'id': 2, 'n': 1}]
    """
    names = path_words(paths, more=bool(options.get("files_from")))
    return Records(names, chain_words(chain), dict(options), progress=progress)


def pipe(data: Data, chain: Chain | None = None, *, progress: bool | None = None, **options: Unpack[Options]) -> Records:
    """Runs data in memory through a chain of verbs.

    Args:
        data: Any object with an Arrow stream, an iterable of record batches, a list of dictionaries
            (one per record; an absent key is null), or a dictionary of columns. An iterator, such as a generator or
            a pyarrow.RecordBatchReader, can be read only once: a second read raises a RuntimeError.
        chain: Verbs, as one line or as a list of words.

    >>> pipe({"x": [[1, 2], [3]]}, "to-dense --shape 'x=[2]'").to_arrow().to_pylist()
    [{'x': [1, 2]}, {'x': [3, 0]}]
    """
    return Records([], chain_words(chain), dict(options), source=Source(data), progress=progress)


def write(data: Data, path: Name, *, chain: Chain | None = None, **options: Unpack[WriteOptions]) -> None:
    """Writes data to a file, in the format given by its name.

    The file appears under its name only when it is complete. `data` is `Records` or anything that `pipe` accepts.

    Args:
        path: The output; ``out@8.tfrecord`` writes eight shards.
        chain: Verbs to apply first.
        options: The program's global options: ``compression="zstd"``, ``to="parquet"``. They override the options of
            `Records`, and False unsets a flag; options that control how the input is read cannot be changed.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.tfrecord")
    >>> write({"x": [[1, 2], [3]]}, path)
    >>> read(path).to_arrow().to_pylist()
    [{'x': [1, 2]}, {'x': [3]}]
    """
    records = data if isinstance(data, Records) else pipe(data)
    (records if chain is None else records.then(chain)).write(path, **options)


def schema(paths: Paths, chain: Chain | None = None, **options: Unpack[Options]) -> pa.Schema:
    """Returns the Arrow schema of the records of files after a chain of verbs.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.jsonl")
    >>> _ = open(path, "w").write('{"x": [1, 2]}\\n')
    >>> schema(path).field("x").type
    ListType(list<element: int64>)
    """
    return read(paths, chain, **options).schema


def run(words: Chain, input: str | bytes | None = None, **options: Unpack[RunOptions]) -> str:
    """Runs the program and returns its standard output.

    Args:
        words: The command line after ``tatter``, as one line or word by word.
        input: The standard input.

    Raises:
        TatterError: The exit code is not 0. `TatterError.output` has the output up to the failure.
        ValueError: The output is not text.

    >>> run(["count"], input='{"a": 1}\\n{"a": 2}\\n')
    '2\\n'
    """
    if isinstance(input, str) and "\n" not in input and os.path.isfile(input):
        meant = split_words(words) + [input]
        raise ValueError(f"input is the text of standard input, not the name of a file: write run({meant})")
    process = start([find_tatter(), "--messages=json", *option_words(options), *split_words(words)], subprocess.PIPE)
    try:
        output, messages = process.communicate(input.encode() if isinstance(input, str) else input if input is not None else b"")
    except BaseException:
        stop(process, os.getpid())
        raise
    stderr = messages.decode(errors="replace")
    if process.returncode:
        code = process.returncode if process.returncode > 0 else 128 - process.returncode
        raise TatterError.of(stderr, code, output=output.decode(errors="replace"))
    tell(stderr)
    try:
        return output.decode()
    except UnicodeDecodeError as error:
        way_out = "tatter_data.read returns records, and the option output=PATH or tatter_data.write writes a file"
        raise ValueError(f"the output is not text: byte {error.start + 1} is not valid UTF-8; {way_out}") from None


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("tatter-data")
        except PackageNotFoundError:
            pass  # The modules are used without being installed.
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
