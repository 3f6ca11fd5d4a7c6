"""Records that are read lazily, any number of times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from ._child import Child, Feed, arrow_feed, printed
from ._files import expand
from ._options import (
    TO_PYTHON,
    Chain,
    Name,
    begin_chain,
    chain_words,
    check_options,
    merged,
    option_words,
    output_word,
    refuse_files_from,
    split_chain,
)
from ._progress import Progress
from ._stream import Source, chained

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import WriteOptions
    from ._torch import TatterDataset


#: Attributes of data frames and datasets, and what to write for them.
_INSTEAD = {
    "columns": "schema.names has the names of the fields",
    "count": "to_arrow().num_rows is the number of records",
    "to_dicts": "to_arrow().to_pylist() returns one dictionary per record",
    "to_list": "to_arrow().to_pylist() returns one dictionary per record",
    "to_polars": "polars.DataFrame(records) reads the records",
    "to_pylist": "to_arrow().to_pylist() returns one dictionary per record",
    **{verb: f"write then('{verb} ...')" for verb in ("batch", "drop", "filter", "head", "map", "sample", "select", "shuffle", "skip", "sort", "tail")},
}


class Records:
    """The records produced by a chain of verbs, not yet read.

    Each iteration runs the program again and yields `pyarrow.RecordBatch` objects; stopping the iteration ends
    the program. Anything that accepts an Arrow stream accepts the object itself: ``pa.table(records)``,
    ``polars.DataFrame(records)``, ``duckdb.from_arrow(records)``. Created by `tatter_data.read` and `tatter_data.pipe`.
    """

    def __init__(
        self,
        files: Sequence[str],
        chain: Sequence[str],
        options: dict[str, Any],
        source: Source | None = None,
        progress: bool | None = None,
    ) -> None:
        check_options(options)
        self._files = list(files)
        self._chain = list(chain)
        self._options = dict(options)
        self._source = source
        self._progress = progress
        self._schema: pa.Schema | None = None

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the records, known before they are read.

        Types that a file does not declare (JSON Lines, TFRecord) are inferred from the whole file. This does not
        consume the records of an in-memory iterator.
        """
        if self._schema is None:
            # The types of data in memory are known without its records.
            child = self._child(feed=self._feed(empty=True) if self._source and self._source.is_one_shot else None)
            try:
                self._schema = child.batches()[0]
            finally:
                child.close()
        return self._schema

    def then(self, chain: Chain) -> Records:
        """The same records after additional verbs, in the same process.

        >>> import tatter_data as td
        >>> records = td.pipe({"x": [1, 2, 3]}).then("filter 'x > 1'").then("map 'y = x * x'")
        >>> records.to_arrow().to_pylist()
        [{'x': 2, 'y': 4}, {'x': 3, 'y': 9}]
        """
        return self._with(chain=[*self._chain, "then", *chain_words(chain)])

    def shard(self, number: int, count: int, by: Literal["record", "file"] | None = "record") -> Records:
        """Shard `number`, from 0, of `count`.

        By record: every `count`-th record of the input, before the chain, or of the combined inputs if the chain begins with
        a verb that combines them (``mix``, ``zip``), or of this shard if the records are already a shard. By file: every `count`-th of the files that
        the names, globs, shards and directories denote, without opening the others; the shards together equal the chain over
        all files only if no verb looks across records.

        Raises:
            ValueError: The shard does not exist, or sharding by file was requested for data in memory or for a verb that
                needs all of its inputs.
        """
        if by not in (None, "record", "file"):
            raise ValueError(f"by: expected 'record' or 'file', found {by!r}")
        if not 0 <= number < count:
            raise ValueError(f"shards of {count} are numbered from 0 to {count - 1}, found {number}")
        if by is None or count == 1:
            return self
        if by == "record":
            return self._with(chain=begin_chain(["shard", f"{number}/{count}"], self._chain))
        if self._source is not None:
            raise ValueError("only files can be sharded by file")
        refuse_files_from(self._options, "shard by record")
        verb = self._chain[0]
        if verb in ("choose", "zip"):
            raise ValueError(f"{verb} needs all of its inputs, so they cannot be sharded by file; shard by record")
        # Only one shard issues the notices.
        quiet = bool(number or self._options.get("quiet"))
        files = expand(self._files, strict=bool(self._options.get("strict")), quiet=quiet)
        if verb == "mix" and len(files) < 2 * count:
            raise ValueError(f"mix takes at least 2 inputs, and {len(files)} files are too few for {count} shards; shard by record")
        mine = files[number::count]
        # Without files there are no records, but the schema is that of the other shards; `head 0` would not infer it.
        return self._with(files=mine) if mine else self._with(chain=begin_chain(["take-while", "False"], self._chain))

    @property
    def is_one_shot(self) -> bool:
        """Whether the records can be read only once, because they come from an iterator."""
        return self._source is not None and self._source.is_one_shot

    def with_seed(self, add: int) -> Records:
        """The same records with a different seed: that of the options (default 0) plus `add`."""
        return self._with(options={**self._options, "seed": int(self._options.get("seed") or 0) + add})

    def _with(self, **changes: Any) -> Records:
        parts: dict[str, Any] = {
            "files": self._files,
            "chain": self._chain,
            "options": self._options,
            "source": self._source,
            "progress": self._progress,
        }
        return Records(**{**parts, **changes})

    def command(self, words: Sequence[str] | None = None) -> list[str]:
        """The command line of the program without its name; `words` are its options, by default those of the records."""
        words = option_words(self._options) if words is None else words
        if self._source is not None:
            return [*words, *self._chain, "--from=arrow", "-"]
        first, rest = split_chain(self._chain)
        if rest and "[" in first:
            # All inputs that a verb combines follow it.
            return [*words, *first, *map(_unlike_words, self._files), "then", *rest]
        return [*words, *self._chain, "--", *self._files]

    def _child(self, words: Sequence[str] | None = None, feed: Feed | None = None) -> Child:
        # Before the data is opened, which may be possible only once.
        command = self.command(option_words({**self._options, **TO_PYTHON}) if words is None else words)
        if feed is None and self._source is not None:
            feed = self._feed()
        return Child(command, feed=feed)

    def _feed(self, empty: bool = False) -> Feed:
        """The function that writes the data in memory, or only its schema, to the program's standard input."""
        assert self._source is not None
        schema, batches = (self._source.schema, []) if empty else self._source.open()
        return arrow_feed(schema, batches)

    def write(self, path: Name, **options: Unpack[WriteOptions]) -> None:
        """Writes the records to a file, without passing them through Python. See `tatter_data.write`."""
        check_options(options, writing=True)
        if self._child([*option_words(merged(self._options, options)), output_word(path)]).finish():
            raise printed()

    def __getattr__(self, name: str) -> Any:
        hint = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        schema, batches = self._child().batches()
        self._schema = schema
        with Progress(self._progress) as progress:
            try:
                for batch in batches:
                    progress.add(batch)
                    yield batch
            finally:
                batches.close()  # type: ignore[attr-defined]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The records as an Arrow stream, for libraries that accept one.

        An error after the first batch is raised by the library as one of its own exceptions, with the program's message.
        `to_arrow` raises the TatterError itself.
        """
        batches = iter(self)
        # The first batch shows that the run has started; errors before it keep their type.
        first = next(batches, None)
        schema = self.schema
        reader = pa.RecordBatchReader.from_batches(schema, chained(first, batches))
        return reader.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """All records as a pyarrow.Table.

        >>> import tatter_data as td
        >>> td.pipe([{"x": [1, 2]}, {"x": [3]}], "batch 2").to_arrow().to_pylist()
        [{'x': [[1, 2], [3]]}]
        """
        batches = list(self)
        return pa.Table.from_batches(batches, self.schema)

    def to_numpy(self) -> dict[str, Any]:
        """All records as arrays: one for each field, with records along axis 0.

        A dense field becomes an array, a ragged field a `Ragged` of flat values and row splits, and a sparse field a
        `Sparse`. Strings are object arrays. A structure yields one array for each of its fields, named by its path.

        >>> import tatter_data as td
        >>> arrays = td.pipe([{"id": 1, "x": [1, 2]}, {"id": 2, "x": []}]).to_numpy()
        >>> arrays["id"].tolist(), arrays["x"].values.tolist(), arrays["x"].row_splits[0].tolist()
        ([1, 2], [1, 2], [0, 2, 2])

        Raises:
            ValueError: A field has nulls, which tensors cannot represent, or two fields have the same path.
            TypeError: NumPy has no dtype for a field, such as a union.
        """
        from ._tensors import to_numpy

        return to_numpy(self.to_arrow())

    def to_tf(self) -> dict[str, Any]:
        """All records as TensorFlow tensors: a tf.Tensor, tf.RaggedTensor or tf.SparseTensor for each field.

        Records are along axis 0. Structures yield one tensor for each of their fields, named by its path.
        """
        from ._tf import to_tf

        return to_tf(self.to_arrow())

    def to_tf_dataset(self) -> Any:
        """A tf.data.Dataset with one element per record, read again in each epoch."""
        from ._tf import dataset

        return dataset(self.schema, lambda: iter(self))

    def to_torch(self) -> dict[str, Any]:
        """All records as PyTorch tensors, with records along axis 0.

        A field with one ragged axis becomes a nested tensor in the jagged layout, a field with several a `Ragged` of
        tensors, and a sparse field a sparse COO tensor; strings are lists. Numbers share memory with Arrow and must not
        be modified.
        """
        from ._torch import to_torch

        return to_torch(self.to_arrow())

    def to_torch_dataset(
        self,
        shard: Literal["record", "file"] | None = "record",
        rank: int | None = None,
        world_size: int | None = None,
    ) -> TatterDataset:
        """An iterable dataset for torch.utils.data.DataLoader: see `tatter_data._torch.TatterDataset`.

        Create batches in the chain (``batch``, ``pack``, ``bucket``): ``DataLoader(dataset, batch_size=None)``.
        """
        from ._torch import TatterDataset

        return TatterDataset(self, shard, rank, world_size)

    def to_awkward(self) -> Any:
        """All records as an Awkward array; nulls become option types, and maps lists of structures of `key` and `value`.

        Raises:
            TypeError: Awkward has no type for a field, such as a decimal.
        """
        from ._awkward import to_awkward

        return to_awkward(self.to_arrow())

    def to_pandas(self) -> Any:
        """All records as a pandas DataFrame.

        The dtypes are those of `pyarrow.Table.to_pandas`, except where it would round integers: integers with nulls get a
        nullable dtype (``Int64``), and values that contain such integers, such as lists, get a `pandas.ArrowDtype`.

        >>> import tatter_data as td
        >>> td.pipe({"x": [2**53 + 1, None]}).to_pandas()["x"].tolist()
        [9007199254740993, <NA>]
        """
        from ._pandas import to_pandas

        return to_pandas(self.to_arrow())

    def __repr__(self) -> str:
        source = ", ".join(self._files) if self._source is None else str(self._source)
        return f"<tatter_data.Records: {' '.join(self._chain)} of {source}>"

    def _repr_html_(self) -> str:
        """The first records, for notebooks. The types of a text format are those of these records, unless `schema` was called.

        An iterator is not consumed.
        """
        from ._html import table

        if self._source is not None and self._source.is_one_shot:
            return table(self.schema, self.schema.empty_table())
        head = self._with(chain=[*self._chain, "then", "head", "5"], progress=False)
        first = head.to_arrow()
        return table(self._schema or first.schema, first)


def _unlike_words(name: str) -> str:
    """The name of a file, in a form that cannot be mistaken for an option or a word of a chain."""
    return f"./{name}" if name == "then" or name.startswith(("-", "[", "]")) else name
