"""The data source ``tatter`` for Spark: every format that the program reads and writes.

::

    spark.read.format("tatter").option("chain", "promote docs.tokens --as toks").load("data/*.tfrecord")
    df.write.format("tatter").option("to", "tfrecord").mode("append").save("out")

No registration is needed if the wheel is installed: Spark finds the package ``pyspark_tatter``.

Options for reading, in addition to those of the program (``on_error``, ``scalar``, ``from``, ...):

``chain``
    Verbs, run over each partition.
``schema``
    The types of the fields to read, in the notation of ``tatter schema``; other fields are not parsed. Without it, types
    are inferred on the driver from the first ``inferRecords`` records (1000) of up to ``inferFiles`` files (8), and every
    field is nullable. A record that does not fit fails the job with a message that names the file and record. "all" for both
    infers from all records of all files, once. ``spark.read.schema(...)`` sets the schema of the result instead.
``columns``
    Fields of the result, separated by commas. Spark does not tell sources which columns a query uses; the program parses
    only the fields needed for these.
``splitBytes``
    An uncompressed TFRecord file larger than this (128 MiB) is split into several partitions; 0 keeps each
    file whole. Any other file is one partition.

Options for writing: ``to`` (tfrecord), ``chain``, ``compression`` and others. Each task writes a separate file in
``_temporary``; the driver renames those of committed tasks and removes the rest, so that a retried or speculative task
leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyarrow import fs
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, InputPartition, WriterCommitMessage
from pyspark.sql.types import StructType

from . import _splits
from ._child import Child, Feed, arrow_feed
from ._files import File, find, input_words, open_system, with_records
from ._options import chain_words, option_words
from ._sparktypes import arrow_schema, cast, spark_schema
from .spark import partition_id, partition_options, program, task_options

#: The program options that are accepted, without dashes.
_PROGRAM_OPTIONS = (
    "arg with on-error max-errors max-record-bytes max-memory threads chunk-rows seed strict scalar no-verify mixed from "
    "row-group-rows infer-bytes compression tensor-types omit-null quiet"
).split()
_OWN_OPTIONS = "path paths chain schema columns inferRecords inferFiles splitBytes to".split()


class TatterSource(DataSource):
    """The data source; see the module documentation."""

    @classmethod
    def name(cls) -> str:
        return "tatter"

    def schema(self) -> StructType:
        return spark_schema(self._inferred[1])

    def reader(self, schema: StructType) -> DataSourceReader:
        settings = _Settings.of(self.options)
        types, result = self._inferred if self._has_inferred else (settings.schema, None)
        if result is not None and spark_schema(result) == schema:
            return TatterReader(settings, types, schema, [])
        # The columns of a schema given by the user, with the program's names.
        return TatterReader(settings, types, schema, schema.fieldNames())

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return TatterWriter(_Settings.of(self.options), schema, overwrite)

    @property
    def _has_inferred(self) -> bool:
        return "_inferred" in self.__dict__

    @cached_property
    def _inferred(self) -> tuple[str, pa.Schema]:
        return _Settings.of(self.options).infer()


@dataclass(frozen=True)
class _Settings:
    """The validated options of a source; those for the program by name, as for `option_words`."""

    paths: list[str]
    chain: list[str]
    schema: str | None
    columns: list[str]
    infer_records: int | None
    infer_files: int | None
    split_bytes: int
    to: str
    program: dict[str, Any]

    @classmethod
    def of(cls, options: Mapping[str, str]) -> _Settings:
        known = {_plain(name): name for name in (*_PROGRAM_OPTIONS, *_OWN_OPTIONS)}
        own: dict[str, str] = {}
        given: dict[str, Any] = {}
        for name, value in options.items():
            match = known.get(_plain(name))
            if match is None:
                raise ValueError(f"`{name}` is not an option of the source tatter; it has {', '.join(sorted(known.values()))}")
            if match in _PROGRAM_OPTIONS:
                # Flags are on or off; other options take their text.
                given[match.replace("-", "_")] = {"true": True, "false": False}.get(value.lower(), value)
            else:
                own[match] = value
        paths = json.loads(own["paths"]) if "paths" in own else [own["path"]] if "path" in own else []
        if not paths:
            raise ValueError("the source tatter needs a path: load(PATH) or save(PATH)")
        return cls(
            paths,
            chain_words(own.get("chain")),
            own.get("schema"),
            [name.strip() for name in own.get("columns", "").split(",") if name.strip()],
            _limit(own.get("inferRecords", "1000")),
            _limit(own.get("inferFiles", "8")),
            int(own.get("splitBytes", 128 << 20)),
            own.get("to", "tfrecord"),
            given,
        )

    def infer(self) -> tuple[str, pa.Schema]:
        """The types of the fields to read, in the program's notation, and the schema of the result."""
        types = self.schema if self.schema is not None else self._infer_types()
        words = [*self.words(types, []), *option_words({**self.program, "schema": types, "from": "jsonl", "to": "arrow"}), "-"]
        # Runs the chain over no records, which checks it against the types.
        child = Child(words, feed=lambda pipe: None)
        schema, batches = child.batches()
        for _ in batches:
            pass
        return types, schema

    def _infer_types(self) -> str:
        files = with_records(find(self.paths))
        options = {k: v for k, v in self.program.items() if k in ("from", "scalar", "mixed", "max_record_bytes", "no_verify", "on_error", "max_errors")}
        if self.infer_records is None and self.infer_files is None and all(file.is_local for file in files):
            return _text([*_schema_words(options), "--", *(file.name for file in files)], None)
        step = 1 if self.infer_files is None else max(1, -(-len(files) // self.infer_files))
        head = [] if self.infer_records is None else ["head", str(self.infer_records)]
        folder = tempfile.mkdtemp(prefix="tatter-infer-")
        try:
            heads = []
            for i, file in enumerate(files[::step]):
                heads.append(os.path.join(folder, f"{i}.arrows"))
                words = [*(head or ["convert"]), *option_words({**options, "to": "arrow", "output": heads[-1]})]
                names, feed = input_words(file)
                Child([*words, *names], feed=feed).finish()
            text = _text(["schema", "--", *heads], None)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return text if self.infer_records is None and step == 1 else _with_nulls(text)

    def words(self, types: str | None, columns: list[str]) -> list[str]:
        """The chain, with the selections before and after it."""
        words = list(self.chain)
        if types is not None:
            words = ["select", ",".join(_names(types)), "then", *words]
        for names in (self.columns, columns):
            if names:
                words += ["then", "select", ",".join(_quoted(name) for name in names)]
        return words


def _schema_words(options: dict[str, Any]) -> list[str]:
    return ["schema", *option_words(options)]


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


def _limit(text: str) -> int | None:
    return None if text == "all" else int(text)


def _text(words: list[str], feed: Feed | None) -> str:
    child = Child(words, feed=feed)
    text = child.stdout.read().decode()
    child.finish()
    return text


def _fields(types: str) -> list[tuple[str, str]]:
    """The names and types of a schema, separated by newlines or semicolons outside quotes and brackets."""
    fields, depth, quoted, start, colon = [], 0, "", 0, None
    for i, c in enumerate(types + "\n"):
        if quoted:
            quoted = "" if c == quoted else quoted
        elif c in "`'\"":
            quoted = c
        elif c in "{[(<":
            depth += 1
        elif c in "}])>":
            depth -= 1
        elif c == ":" and depth == 0 and colon is None:
            colon = i
        elif c in ";\n" and depth == 0:
            if colon is not None:
                fields.append((types[start:colon].strip(), types[colon + 1 : i].strip()))
            start, colon = i + 1, None
    return fields


def _names(types: str) -> list[str]:
    return [name for name, _ in _fields(types)]


def _with_nulls(types: str) -> str:
    """The types with nulls allowed everywhere, because a sample cannot show that there are none."""
    lines = []
    for name, kind in _fields(types):
        kind = kind.removesuffix(" with nulls")
        lines.append(f"{name}: {kind if kind.startswith('optional ') else 'optional ' + kind}{'' if kind.endswith('null') else ' with nulls'}")
    return "; ".join(lines)


def _quoted(name: str) -> str:
    return name if name.startswith("`") else "`" + name.replace("`", "``") + "`"


@dataclass
class _Part(InputPartition):
    """A file, or the byte range in which its records start."""

    file: File
    range: tuple[int, int] | None

    def __init__(self, file: File, range: tuple[int, int] | None) -> None:
        super().__init__(None)
        self.file = file
        self.range = range

    @property
    def name(self) -> str:
        return self.file.name if self.range is None else f"{self.file.name} (bytes {self.range[0]} to {self.range[1]})"


class TatterReader(DataSourceReader):
    """Reads the partitions."""

    def __init__(self, settings: _Settings, types: str | None, schema: StructType, columns: list[str]) -> None:
        self._settings = settings
        self._types = types
        self._columns = columns
        self._target = arrow_schema(schema, "UTC")
        session = SparkSession.getActiveSession()
        self._options = task_options(session, dict(settings.program)) if session else dict(settings.program)

    def partitions(self) -> list[InputPartition]:
        parts: list[InputPartition] = []
        for file in with_records(find(self._settings.paths)):
            limit = self._settings.split_bytes
            if 0 < limit < file.size and self._settings.program.get("from", "tfrecord") == "tfrecord" and _is_tfrecord(file):
                parts += [_Part(file, range) for range in _splits.ranges(file.size, limit)]
            else:
                parts.append(_Part(file, None))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Part)
        names, feed = input_words(partition.file, partition.range)
        options = partition_options(self._options, partition_id())
        options.update(schema=self._types, to="arrow")
        if feed is not None:
            options["input_name"] = partition.name
        if partition.range is not None:
            options["from"] = "tfrecord"
        words = self._settings.words(self._types, self._columns)
        child = Child([*words, *option_words(options), *names], feed=feed, program=program())
        for batch in child.batches()[1]:
            yield cast(batch, self._target)


def _is_tfrecord(file: File) -> bool:
    system, path = open_system(file.name)
    with system.open_input_file(path) as source:
        return _splits.is_tfrecord(source.read(_splits.HEADER))


@dataclass
class _Written(WriterCommitMessage):
    """The output of a task: its file in the temporary folder, and its final name; None for an empty partition."""

    temporary: str | None
    name: str


class TatterWriter(DataSourceArrowWriter):
    """Writes a file for each nonempty partition, and one file if all are empty."""

    def __init__(self, settings: _Settings, schema: StructType, overwrite: bool) -> None:
        if len(settings.paths) != 1:
            raise ValueError("the source tatter writes to one folder")
        self._settings = settings
        self._folder = settings.paths[0].rstrip("/")
        self._overwrite = overwrite
        self._job = uuid.uuid4().hex
        self._schema = arrow_schema(schema, "UTC")
        session = SparkSession.getActiveSession()
        self._options = task_options(session, dict(settings.program)) if session else dict(settings.program)

    @property
    def _temporary(self) -> str:
        return f"{self._folder}/_temporary-{self._job}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        partition = partition_id()
        first = next(iterator, None)
        if first is None and partition:
            return _Written(None, "")
        suffix = {"gzip": ".gz", "zstd": ".zst"}.get(str(self._options.get("compression", "")).partition(":")[0], "")
        if self._settings.to in ("parquet", "arrow", "arrow-file"):
            suffix = ""  # These formats compress internally.
        name = f"part-{partition:05}-{self._job}{_EXTENSIONS.get(self._settings.to, '.' + self._settings.to)}{suffix}"
        attempt = context.taskAttemptId() if context else 0
        temporary = f"{self._temporary}/{attempt}-{name}"
        batches = _chained(first, iterator)
        feed = arrow_feed(first.schema if first is not None else self._schema, batches)
        options = partition_options(self._options, partition)
        options.update(to=self._settings.to, input_name=f"partition {partition}")
        words = [*self._settings.words(None, []), *option_words(options), "--from=arrow"]
        system, path = open_system(temporary)
        system.create_dir(os.path.dirname(path), recursive=True)
        if isinstance(system, fs.LocalFileSystem):
            Child([*words, f"--output={path}", "-"], feed=feed, program=program()).finish()
        else:
            child = Child([*words, "-"], feed=feed, program=program())
            with system.open_output_stream(path) as out:
                shutil.copyfileobj(child.stdout, out, 1 << 20)
            child.finish()
        return _Written(temporary, name)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        system, folder = open_system(self._folder)
        system.create_dir(folder, recursive=True)
        before = [i.path for i in system.get_file_info(fs.FileSelector(folder)) if i.type == fs.FileType.File]
        written = [message for message in messages if isinstance(message, _Written) and message.temporary is not None]
        # The empty file of partition 0 only preserves the schema, and is kept only if there is no other.
        for message in written:
            system.move(open_system(str(message.temporary))[1], f"{folder}/{message.name}")
        if self._overwrite:
            for path in before:
                system.delete_file(path)
        self._clean()
        with system.open_output_stream(f"{folder}/_SUCCESS"):
            pass

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._clean()

    def _clean(self) -> None:
        system, path = open_system(self._temporary)
        if system.get_file_info(path).type == fs.FileType.Directory:
            system.delete_dir(path)


_EXTENSIONS = {"arrow": ".arrows", "arrow-file": ".arrow", "sequence-example": ".tfrecord", "text": ".txt"}


def _chained(first: pa.RecordBatch | None, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if first is not None:
        yield first
        yield from rest
