"""Data of any kind as a schema and record batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from ._values import column

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
        """The Arrow schema. All records of an iterator are left to be read."""
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
        TypeError: This is not data, or a key is not a string.
        ValueError: An iterable has no record batches, and so no schema, or values of a field have no Arrow type.
    """
    if isinstance(data, pa.RecordBatch):
        return data.schema, [data]
    if isinstance(data, pa.Table):
        return data.schema, data.to_batches()
    if isinstance(data, Mapping):
        return stream(_table(data))
    if hasattr(data, "__arrow_c_stream__"):
        _refuse_objects(data)
        try:
            reader = pa.RecordBatchReader.from_stream(data)
        except pa.ArrowInvalid as error:
            if "non-struct" not in str(error):
                raise
            raise TypeError(f"expected records, found a {type(data).__name__}, which is one column; pass a dictionary: {{'name': column}}") from None
        return reader.schema, reader
    if hasattr(data, "__arrow_c_array__"):
        return stream(pa.record_batch(data))
    if _are_records(data):
        return stream(_of_records(data))
    if hasattr(data, "to_batches") and hasattr(data, "schema"):  # pyarrow.dataset.Dataset
        return data.schema, data.to_batches()
    if type(data).__name__ == "LazyFrame":
        raise TypeError("a LazyFrame has no records yet; pass data.collect()")
    if not isinstance(data, Iterable):
        raise TypeError(f"expected data, found {type(data).__name__}")
    batches = _batches(data)
    first = next(batches, None)
    if first is None:
        raise ValueError("there are no record batches, so there is no schema; pass an empty table instead")
    return first.schema, itertools.chain([first], batches)


def _refuse_objects(data: Any) -> None:
    """Polars exports the addresses of Python objects."""
    if type(data).__module__.split(".")[0] == "polars":
        for name, ty in getattr(data, "schema", {}).items():
            if str(ty) == "Object":
                raise TypeError(f"{name}: Arrow has no columns of Python objects; cast it, or drop it")


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
    return pa.table({_name(name): column(name, values) for name, values in columns.items()})


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of a field is a string, found {name!r}")
    return name
