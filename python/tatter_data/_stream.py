"""Data of any kind as a schema and record batches."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from ._values import array, field, field_name, objects, refuse_objects

#: Any object with an Arrow stream or array (pyarrow, Polars, pandas, DuckDB, `Records`), an iterable of
#: record batches or tables, a list of dictionaries (one per record), or a dictionary of columns.
Data: TypeAlias = Any


class Source:
    """Data in memory that is read as record batches: any number of times, or once if it is an iterator.

    >>> source = Source(iter([pa.record_batch({"x": [1, 2]})]))
    >>> source.schema.names, sum(batch.num_rows for batch in source.open()[1])
    (['x'], 2)
    """

    def __init__(self, data: Data) -> None:
        if data is None:
            raise TypeError("expected data, found None")
        self._data = _with_kept_columns(data)
        #: The schema and batches of an iterator of which at most the first batch has been taken.
        self._opened: tuple[pa.Schema, Iterable[pa.RecordBatch]] | None = None
        self._is_read = False

    @property
    def is_one_shot(self) -> bool:
        """Whether the data can be read only once."""
        parts = self._data if isinstance(self._data, (list, tuple)) and not _are_records(self._data) else [self._data]
        return any(_is_one_shot(part) for part in parts)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema. An iterator is not consumed."""
        schema, batches = self.open()
        if self.is_one_shot:
            self._opened, self._is_read = (schema, batches), False
        return schema

    def open(self) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
        """The Arrow schema and the record batches.

        Raises:
            RuntimeError: The data is an iterator and has been read.
        """
        if not self.is_one_shot:
            return stream(self._data)
        if self._is_read:
            raise RuntimeError(f"the {self} can be read only once, and has already been read; pass a pyarrow.Table to read its records again")
        opened = self._opened or stream(self._data)
        self._opened, self._is_read = None, True
        return opened

    def __str__(self) -> str:
        return type(self._data).__name__


def _with_kept_columns(data: Data) -> Data:
    """The data, whose columns can be read again if they are iterators: the schema is taken from their values."""
    if not isinstance(data, Mapping) or not any(isinstance(values, Iterator) for values in data.values()):
        return data
    return {name: list(values) if isinstance(values, Iterator) else values for name, values in data.items()}


def _is_one_shot(data: Any) -> bool:
    own = getattr(data, "is_one_shot", None)
    if isinstance(own, bool):
        return own
    # A stream of an unknown type may be a cursor, unless it knows its number of records, as tables do.
    is_stream = hasattr(data, "__arrow_c_stream__") and not (hasattr(data, "__len__") or hasattr(data, "num_rows"))
    return isinstance(data, Iterator) or is_stream


def stream(data: Data) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """The schema and the record batches of `data`.

    Dictionaries may lack keys: the fields are the union of their keys, and a missing value is null.

    >>> schema, batches = stream([{"x": [1, 2]}, {"y": 1}])
    >>> schema.names, sum(batch.num_rows for batch in batches)
    (['x', 'y'], 2)

    Raises:
        TypeError: The argument is not data, or a key is not a string.
        ValueError: An iterable has no record batches, and so no schema, or values of a field have no Arrow type.
    """
    if isinstance(data, pa.RecordBatch):
        return data.schema, [data]
    if isinstance(data, pa.Table):
        return data.schema, data.to_batches()
    if isinstance(data, Mapping):
        return stream(_table(data))
    if type(data).__name__ == "ndarray":
        raise _one_column(data)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _exported(data)
    if _are_records(data):
        return stream(_of_records(data))
    if hasattr(data, "to_batches") and hasattr(data, "schema"):  # pyarrow.dataset.Dataset
        return data.schema, data.to_batches()
    instead = _instead(data)
    if instead or not isinstance(data, Iterable):
        raise TypeError(f"expected data, found {type(data).__name__}{instead}")
    batches = _batches(data)
    first = next(batches, None)
    if first is None:
        raise ValueError("there are no record batches, so there is no schema; pass an empty table instead")
    return first.schema, chained(first, batches)


def chained(first: pa.RecordBatch | None, rest: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches of an iterator whose first batch (None if there is none) has already been taken."""
    return itertools.chain([] if first is None else [first], rest)


def _exported(data: Any) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """The schema and the record batches of an object with an Arrow stream or array."""
    package = type(data).__module__.split(".")[0]
    if package == "polars" and hasattr(data, "get_columns"):
        for column in data.get_columns():
            refuse_objects(column.name, column)
    if package == "pandas" and hasattr(data, "columns"):
        return stream(_of_frame(data))
    try:
        if not hasattr(data, "__arrow_c_stream__"):
            return stream(pa.record_batch(data))
        reader = pa.RecordBatchReader.from_stream(data)
    except pa.ArrowInvalid as error:
        if "non-struct" not in str(error):
            raise
        raise _one_column(data) from None
    return reader.schema, reader


def _one_column(data: Any) -> TypeError:
    return TypeError(f"expected records, found a {type(data).__name__}, which is one column; pass a dictionary: {{'name': column}}")


def _of_frame(frame: Any) -> pa.Table:
    """A pandas data frame as exported by pandas, except that object columns are converted like those of a dictionary."""
    places = [place for place, dtype in enumerate(frame.dtypes) if dtype == object]
    blank = frame.copy(deep=False)
    for place in places:
        blank.isetitem(place, None)
    table = pa.Table.from_pandas(blank)
    for place in places:
        name = table.column_names[place]
        table = table.set_column(place, name, array(name, objects(frame.iloc[:, place])))
    return table


def _instead(data: Any) -> str:
    """Advice on what to pass instead of an object that contains data but no records."""
    if type(data).__name__ == "LazyFrame":
        return ", which has no records yet; pass data.collect()"
    if type(data).__module__.split(".")[0] == "awkward":
        return "; pass awkward.to_arrow_table(data, extensionarray=False)"
    if isinstance(data, (str, os.PathLike)):
        return "; tatter_data.read(path) reads a file"
    if isinstance(data, (bytes, bytearray)) or hasattr(data, "read"):
        return "; tatter_data.read(path) reads a file, and tatter_data.run(words, input=...) the content of one"
    return ""


def _are_records(data: Data) -> bool:
    return isinstance(data, list) and bool(data) and isinstance(data[0], Mapping)


def _batches(data: Any) -> Iterator[pa.RecordBatch]:
    for part in data:
        if isinstance(part, pa.RecordBatch):
            yield part
        elif isinstance(part, pa.Table):
            yield from part.to_batches() or [pa.RecordBatch.from_pylist([], part.schema)]
        elif hasattr(part, "__arrow_c_stream__") or hasattr(part, "__arrow_c_array__"):
            yield from stream(part)[1]
        else:
            way_out = "; pass a list of dictionaries: list(data)" if isinstance(part, Mapping) else ""
            raise TypeError(f"expected record batches, found {type(part).__name__}{way_out}")


def _of_records(records: list[Mapping[str, Any]]) -> pa.RecordBatch | pa.Table:
    names: dict[str, None] = {}
    for record in records:
        if not isinstance(record, Mapping):
            raise TypeError(f"expected dictionaries, one per record, found {type(record).__name__}")
        names.update(dict.fromkeys(record))
    if not names:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(records), pa.struct([])))
    return _table({name: [record.get(name) for record in records] for name in names})


def _table(columns: Mapping[str, Any]) -> pa.Table:
    parts = [field(field_name(name), values) for name, values in columns.items()]
    return pa.table([values for _, values in parts], pa.schema([part for part, _ in parts]))
