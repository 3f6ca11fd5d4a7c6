"""Data of any kind as a schema and record batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

#: Any object with an Arrow stream or array (pyarrow, Polars, pandas, DuckDB, `Records`), an iterable of
#: record batches or tables, a list of dictionaries (one per record), or a dictionary of columns.
Data: TypeAlias = Any


def stream(data: Data) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """The schema and the record batches of `data`.

    >>> schema, batches = stream([{"x": [1, 2]}, {"x": []}])
    >>> schema.names, sum(batch.num_rows for batch in batches)
    (['x'], 2)
    """
    if isinstance(data, pa.RecordBatch):
        return data.schema, [data]
    if isinstance(data, pa.Table):
        return data.schema, data.to_batches()
    if isinstance(data, Mapping):
        return stream(pa.table(data))
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return reader.schema, reader
    if hasattr(data, "__arrow_c_array__"):
        return stream(pa.record_batch(data))
    if isinstance(data, list) and data and isinstance(data[0], Mapping):
        return stream(pa.Table.from_pylist(data))
    if hasattr(data, "to_batches") and hasattr(data, "schema"):  # pyarrow.dataset.Dataset
        return data.schema, data.to_batches()
    batches = _batches(data)
    first = next(batches, None)
    if first is None:
        raise ValueError("there are no record batches, and so no schema; pass an empty table, which has one")
    return first.schema, itertools.chain([first], batches)


def _batches(data: Any) -> Iterator[pa.RecordBatch]:
    for part in data:
        if isinstance(part, pa.RecordBatch):
            yield part
        elif isinstance(part, pa.Table):
            yield from part.to_batches()
        elif hasattr(part, "__arrow_c_stream__") or hasattr(part, "__arrow_c_array__"):
            yield from stream(part)[1]
        else:
            raise TypeError(f"expected record batches, found {type(part).__name__}")
