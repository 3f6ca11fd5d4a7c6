"""Converts Arrow tables to pandas data frames without rounding integers."""

from __future__ import annotations

from typing import Any

import pandas
import pyarrow as pa

from ._tensors import remedy


def to_pandas(table: pa.Table) -> Any:
    """Like `pyarrow.Table.to_pandas`, except that a column of integers with nulls gets a nullable dtype, and one with such
    integers inside it an Arrow dtype: pandas would convert them to floats.

    >>> to_pandas(pa.table({"x": [2**53 + 1, None], "y": [1, 2]})).dtypes.tolist()
    [Int64Dtype(), dtype('int64')]

    Raises:
        TypeError: pandas has no type for a field, such as a union.
    """
    try:
        frame = table.to_pandas()
    except (pa.ArrowException, ValueError) as error:
        raise _unsupported(table) or error from None
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    columns = [column for name, column in zip(table.column_names, table.columns) if name not in index]
    for place, column in enumerate(columns):
        if not any(map(_has_null_integers, column.chunks)) or isinstance(frame.dtypes.iloc[place], pandas.api.extensions.ExtensionDtype):
            continue
        if pa.types.is_integer(column.type):
            dtype = str(column.type).replace("i", "I", 1).replace("u", "U", 1)
            frame.isetitem(place, pandas.api.types.pandas_dtype(dtype).__from_arrow__(column))
        else:
            frame.isetitem(place, pandas.arrays.ArrowExtensionArray(column))
    return frame


def _unsupported(table: pa.Table) -> TypeError | None:
    """The error for the first field that pandas cannot represent by itself."""
    for field, column in zip(table.schema, table.columns):
        try:
            column.to_pandas()
        except (pa.ArrowException, ValueError) as error:
            return TypeError(f"pandas has no type for the field {field.name}: {error}; {remedy((field.name,), field.type)}")
    return None


def _has_null_integers(array: pa.Array) -> bool:
    """Whether there are both integers and nulls, at any depth."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _has_null_integers(array.storage)
    if pa.types.is_struct(kind):
        return any(map(_has_null_integers, array.flatten()))
    if pa.types.is_map(kind):
        return any(_has_null_integers(part) for part in (array.keys, array.items))
    if kind.num_fields == 1 and hasattr(array, "flatten"):
        return _has_null_integers(array.flatten())
    return pa.types.is_integer(kind) and array.null_count > 0
