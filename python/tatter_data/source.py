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
    field is nullable. A record that does not fit, or has a field that the sample lacks, fails the job with a message that
    names the file; tasks look for such fields before they read a file. "all" for both infers from all records of all files,
    once. ``spark.read.schema(...)`` sets the schema of the result instead.
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
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import pyarrow as pa
from pyarrow import fs
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, InputPartition, WriterCommitMessage
from pyspark.sql.types import StructType

from . import _splits
from ._child import Child, Feed, arrow_feed
from ._errors import TatterError
from ._files import File, find, input_words, open_system, with_records
from ._options import TO_PYTHON, chain_words, option_words
from ._sparktypes import arrow_schema, cast, spark_schema
from ._stream import chained
from ._tensors import quoted
from .spark import partition_id, partition_options, program, task_options

#: The program options that are accepted, without dashes.
_PROGRAM_OPTIONS = (
    "arg with on-error max-errors max-record-bytes max-memory threads chunk-rows seed strict scalar no-verify mixed from "
    "row-group-rows infer-bytes compression tensor-types omit-null quiet"
).split()
#: Those that have an effect only where files are read, and those that infer types.
_READING = ("from", "scalar", "no_verify", "mixed", "infer_bytes", "max_record_bytes")
_INFERENCE = ("from", "scalar", "mixed", "max_record_bytes", "no_verify", "on_error", "max_errors")
_OWN_OPTIONS = "path paths chain schema columns inferRecords inferFiles splitBytes to".split()
#: A name in the option columns.
_COLUMN = re.compile(r"(?:`[^`]*`|[^,`])+")
#: The records that start in so many bytes show the format of a file.
_HEAD = 1 << 16
#: Names and other texts as the program prints them in types.
_QUOTED = re.compile(r"""`[^`]*`|"(?:\\.|[^"\\])*\"""", re.DOTALL)


class TatterSource(DataSource):
    """The data source; see the module documentation."""

    @classmethod
    def name(cls) -> str:
        return "tatter"

    def schema(self) -> StructType:
        return spark_schema(self._inferred.result)

    def reader(self, schema: StructType) -> DataSourceReader:
        settings = _Settings.of(self.options)
        if self._has_inferred and spark_schema(self._inferred.result) == schema:
            return TatterReader(settings, self._inferred, schema, [])
        # The columns of a schema given by the user, with the program's names.
        return TatterReader(settings, None, schema, schema.fieldNames())

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return TatterWriter(_Settings.of(self.options), schema, overwrite)

    @property
    def _has_inferred(self) -> bool:
        return "_inferred" in self.__dict__

    @cached_property
    def _inferred(self) -> _Types:
        return _Settings.of(self.options).infer()


@dataclass(frozen=True)
class _Types:
    """The types of the fields to read, in the program's notation, and the schema of the result.

    `is_sample`: the files may have other fields.
    """

    text: str
    result: pa.Schema
    is_sample: bool


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
                raise ValueError(
                    f"`{name}` is not an option of the tatter data source; the options are {', '.join(sorted(known.values()))}"
                )
            if match in _PROGRAM_OPTIONS:
                # Flags are on or off; other options take their text.
                given[match.replace("-", "_")] = {"true": True, "false": False}.get(value.lower(), value)
            else:
                own[match] = value
        if "seed" in given:
            given["seed"] = _number("seed", given["seed"], 0, "a number from 0")
        paths = json.loads(own["paths"]) if "paths" in own else [own["path"]] if "path" in own else []
        if not paths:
            raise ValueError("the tatter data source needs a path: load(PATH) or save(PATH)")
        return cls(
            paths,
            chain_words(own.get("chain")),
            own.get("schema"),
            [_notation(name.strip()) for name in _COLUMN.findall(own.get("columns", "")) if name.strip()],
            _limit("inferRecords", own.get("inferRecords", "1000")),
            _limit("inferFiles", own.get("inferFiles", "8")),
            _number("splitBytes", own.get("splitBytes", str(128 << 20)), 0, "a number of bytes"),
            own.get("to", "tfrecord"),
            given,
        )

    def infer(self) -> _Types:
        """The types of the fields to read, and of the result."""
        text, is_sample = (self.schema, False) if self.schema is not None else self._infer_types()
        # Options for reading would have no effect, which is a notice.
        options = {name: value for name, value in self.program.items() if name not in _READING}
        # Runs the chain over no records, which checks it against the types.
        return _Types(text, _result(text, options, self.words(_names(text), [])), is_sample)

    def files(self, quiet: bool = False) -> list[File]:
        """The files to read; `quiet` if the notices about them have been issued."""
        strict, own = (bool(self.program.get(name)) for name in ("strict", "quiet"))
        return with_records(find(self.paths, strict=strict, quiet=quiet or own))

    def _infer_types(self) -> tuple[str, bool]:
        files = self.files()
        options = {name: value for name, value in self.program.items() if name in _INFERENCE}
        if self.infer_records is None and self.infer_files is None and all(file.is_local for file in files):
            return _text([*_schema_words(options), "--", *(file.name for file in files)], None), False
        step = 1 if self.infer_files is None else max(1, -(-len(files) // self.infer_files))
        head = [] if self.infer_records is None else ["head", str(self.infer_records)]
        folder = tempfile.mkdtemp(prefix="tatter-infer-")
        try:
            heads = []
            for i, file in enumerate(files[::step]):
                heads.append(os.path.join(folder, f"{i}.arrows"))
                words = [*option_words({**options, "to": "arrow", "output": heads[-1]}), *(head or ["convert"])]
                names, feed = input_words(file)
                Child([*words, *names], feed=feed).finish()
            text = _text(["schema", "--", *heads], None)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        is_sample = self.infer_records is not None or step > 1
        return (_with_nulls(text), True) if is_sample else (text, False)

    def words(self, before: list[str], after: list[str]) -> list[str]:
        """The chain, with the selections before and after it; an empty list selects everything."""
        words = [*(["select", ",".join(before), "then"] if before else []), *self.chain]
        for names in (self.columns, after):
            if names:
                words += ["then", "select", ",".join(names)]
        return words


def _schema_words(options: dict[str, Any]) -> list[str]:
    return ["schema", *option_words(options)]


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


def _limit(option: str, text: str) -> int | None:
    return None if text == "all" else _number(option, text, 1, "all or a number from 1")


def _number(option: str, text: str, least: int, expected: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ValueError(f"{option}: expected {expected}, found `{text}`")
    return number


def _text(words: list[str], feed: Feed | None) -> str:
    child = Child(words, feed=feed)
    text = child.stdout.read().decode()
    child.finish()
    return text


def _result(types: str, options: Mapping[str, Any], words: list[str]) -> pa.Schema:
    """The schema of the result of a chain over no records with these types."""
    child = Child([*option_words({**options, "schema": types, "from": "jsonl", **TO_PYTHON}), *words, "-"])
    schema, batches = child.batches()
    for _ in batches:
        pass
    return schema


@cache
def _names(types: str) -> list[str]:
    """The names of the fields of a schema, in the program's notation."""
    names = _result(types, {}, ["convert"]).names
    if not names:
        raise ValueError("there are no fields to read")
    return [quoted((name,)) for name in names]


def _outside_quotes(text: str) -> Iterator[tuple[int, str, int]]:
    """The characters outside quotes with their positions and the number of brackets around them."""
    depth = 0
    for i, c in enumerate(_QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)):
        depth -= c in "}])>"
        yield i, c, depth
        depth += c in "{[(<"


def _fields(types: str) -> list[tuple[str, str]]:
    """The names and types of a schema as the program prints it, separated by newlines or semicolons."""
    fields, start, colon = [], 0, None
    for i, c, depth in _outside_quotes(types + "\n"):
        if c == ":" and depth == 0 and colon is None:
            colon = i
        elif c in ";\n" and depth == 0:
            if colon is not None:
                fields.append((types[start:colon].strip(), types[colon + 1 : i].strip()))
            start, colon = i + 1, None
    return fields


def _with_nulls(types: str) -> str:
    r"""The types that the program prints with nulls allowed everywhere, because a sample cannot show that there are none.

    >>> _with_nulls("a: int64[?]; m: map<string, int64>; n: null")
    'a: optional int64[?] with nulls; m: optional map<string, optional int64 with nulls>; n: optional null'
    >>> _with_nulls("`map<`: {m: map<string, {a: int64}>}")
    '`map<`: optional {m: map<string, optional {a: int64} with nulls>} with nulls'
    >>> print(_with_nulls(r'"a\";\n": null'))
    "a\";\n": optional null
    """
    return "; ".join(f"{name}: {_nullable(kind)}" for name, kind in _fields(types))


def _nullable(kind: str) -> str:
    kind = kind.removesuffix(" with nulls").removeprefix("optional ")
    plain, done = "", 0
    for start, c, _ in _outside_quotes(kind):
        if c == "<" and start >= done and kind[:start].endswith("map"):
            # The entries of a map are not null, but their values may be.
            inner = kind[start + 1 : _closing(kind, start)]
            comma = next(i for i, c, depth in _outside_quotes(inner) if c == "," and depth == 0)
            plain += f"{kind[done:start]}<{inner[:comma]}, {_nullable(inner[comma + 1 :].strip())}>"
            done = start + len(inner) + 2
    plain += kind[done:]
    is_map = kind.startswith("map<") and done == len(kind)
    return f"optional {plain}" if is_map or kind == "null" else f"optional {plain} with nulls"


def _closing(text: str, start: int) -> int:
    """The position of the bracket that closes the one at `start`."""
    return next(start + i for i, c, depth in _outside_quotes(text[start:]) if i and c in "}])>" and depth == 0)


def _notation(name: str) -> str:
    """The name of a column, which may have backquotes, in the program's notation."""
    return name if name.startswith("`") else quoted((name,))


@dataclass
class _Part(InputPartition):
    """A file, or the byte range in which its records start, and their format."""

    file: File
    range: tuple[int, int] | None = None
    form: str | None = None

    def __post_init__(self) -> None:
        super().__init__(None)

    @property
    def name(self) -> str:
        return self.file.name if self.range is None else f"{self.file.name} (bytes {self.range[0]} to {self.range[1]})"


class TatterReader(DataSourceReader):
    """Reads the partitions. `inferred` is None if the user gives the schema of the result, with these columns."""

    def __init__(self, settings: _Settings, inferred: _Types | None, schema: StructType, columns: list[str]) -> None:
        self._settings = settings
        self._types = inferred.text if inferred else settings.schema
        self._sample = inferred.result if inferred and inferred.is_sample else None
        # The driver has found the files before, to infer types from them.
        self._is_told = inferred is not None and settings.schema is None
        # To find fields that the sample lacks, no fields are selected before the chain.
        self._before = [] if self._types is None or self._sample is not None else _names(self._types)
        self._columns = [quoted((name,)) for name in columns]
        self._target = arrow_schema(schema, "UTC")
        session = SparkSession.getActiveSession()
        self._options = task_options(session, dict(settings.program)) if session else dict(settings.program)

    def partitions(self) -> list[InputPartition]:
        parts: list[InputPartition] = []
        for file in self._settings.files(quiet=self._is_told):
            limit = self._settings.split_bytes
            is_large = 0 < limit < file.size and not file.is_dataset
            if is_large and _is_tfrecord(file):
                form = self._settings.program.get("from") or _format(file)
                if form in ("tfrecord", "sequence-example"):
                    parts += [_Part(file, range, form) for range in _splits.ranges(file.size, limit)]
                    continue
            parts.append(_Part(file))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Part)
        names, feed = input_words(partition.file, partition.range)
        options = partition_options(self._options, partition_id())
        options.update(TO_PYTHON, schema=self._types)
        if feed is not None:
            options["input_name"] = partition.name
        if partition.form is not None:
            options["from"] = partition.form
        words = [*option_words(options), *self._settings.words(self._before, self._columns), *names]
        child = Child(words, feed=feed, program=program())
        schema, batches = child.batches()
        try:
            if self._sample is not None:
                self._check(schema, self._sample, partition.name)
            for batch in batches:
                yield cast(batch if self._sample is None else batch.select(self._sample.names), self._target)
        finally:
            child.close()

    def _check(self, found: pa.Schema, sample: pa.Schema, name: str) -> None:
        new = list(_new_fields(found, sample))
        if new:
            raise TatterError(
                f"{name}: the sample from which types were inferred does not have the field {new[0]}\n"
                "  infer the types from all records: the options inferRecords=all and inferFiles=all\n"
                "  or declare them with the option schema, or omit the field with the option columns",
                file=name,
                field=new[0],
            )


def _new_fields(found: Iterable[pa.Field], known: Iterable[pa.Field], path: str = "") -> Iterator[str]:
    """The paths of fields that are not among the known ones, including those inside structures."""
    types = {field.name: field.type for field in known}
    for field in found:
        if field.name not in types:
            yield path + field.name
        else:
            yield from _new_fields(_parts_of(field.type), _parts_of(types[field.name]), f"{path}{field.name}.")


def _parts_of(kind: pa.DataType) -> list[pa.Field]:
    """The fields of a structure, or of the structures in a list or map."""
    if isinstance(kind, pa.BaseExtensionType):
        return _parts_of(kind.storage_type)
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_map(kind):
        return _parts_of(kind.item_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _parts_of(kind.value_type)
    return []


def _format(file: File) -> str:
    """The format of a file that the program recognizes by its first records."""
    names, feed = input_words(file, (0, _HEAD))
    # As raw records, so that nothing is inferred.
    plan = Child(["convert", "--dry-run", "--raw-records", "--quiet", *names], feed=feed).finish().decode()
    return plan.partition("\n")[0].rpartition("(")[2].rstrip(")")


def _is_tfrecord(file: File) -> bool:
    with file.open() as source:
        return _splits.is_tfrecord(source.read(_splits.HEADER))


@dataclass
class _Written(WriterCommitMessage):
    """The output of a task: its file in the temporary folder, if any, and its final name."""

    temporary: str | None
    name: str
    is_empty: bool


class TatterWriter(DataSourceArrowWriter):
    """Writes a file for each nonempty partition; if all are empty, an empty file with the schema."""

    def __init__(self, settings: _Settings, schema: StructType, overwrite: bool) -> None:
        if len(settings.paths) != 1:
            raise ValueError("the tatter data source writes to one directory")
        if settings.to in _OF_SEVERAL_FILES:
            raise ValueError(
                f"to: the tatter data source does not write {settings.to}, whose outputs are not single files; tatter_data.write does"
            )
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
            return _Written(None, "", True)
        suffix = {"gzip": ".gz", "zstd": ".zst"}.get(str(self._options.get("compression", "")).partition(":")[0], "")
        if self._settings.to in ("parquet", "arrow", "arrow-file"):
            suffix = ""  # These formats compress internally.
        name = f"part-{partition:05}-{self._job}{_EXTENSIONS.get(self._settings.to, '.' + self._settings.to)}{suffix}"
        attempt = context.taskAttemptId() if context else 0
        temporary = f"{self._temporary}/{attempt}-{name}"
        batches = chained(first, iterator)
        feed = arrow_feed(first.schema if first is not None else self._schema, batches)
        options = partition_options(self._options, partition)
        options.update(to=self._settings.to, input_name=f"partition {partition}")
        words = [*option_words(options), *self._settings.words([], []), "--from=arrow"]
        system, path = open_system(temporary)
        system.create_dir(os.path.dirname(path), recursive=True)
        if isinstance(system, fs.LocalFileSystem):
            Child([*words, f"--output={path}", "-"], feed=feed, program=program()).finish()
        else:
            # Not through standard output, which is not compressed and takes no arrays.
            with tempfile.TemporaryDirectory(prefix="tatter-") as folder:
                local = os.path.join(folder, name)
                Child([*words, f"--output={local}", "-"], feed=feed, program=program()).finish()
                with open(local, "rb") as source, system.open_output_stream(path, compression=None) as out:
                    shutil.copyfileobj(source, out, 1 << 20)
        return _Written(temporary, name, first is None)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        system, folder = open_system(self._folder)
        system.create_dir(folder, recursive=True)
        before = [i.path for i in system.get_file_info(fs.FileSelector(folder)) if i.type == fs.FileType.File]
        written = [message for message in messages if isinstance(message, _Written) and message.temporary is not None]
        # The empty file of partition 0 only preserves the schema.
        for message in [message for message in written if not message.is_empty] or written:
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


#: Formats whose output is a pair of files or a directory.
_OF_SEVERAL_FILES = ("megatron", "tfds")
_EXTENSIONS = {"arrow": ".arrows", "arrow-file": ".arrow", "sequence-example": ".tfrecord", "text": ".txt"}
