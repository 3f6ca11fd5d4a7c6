"""Converts Arrow tables to Awkward arrays; types that Awkward does not support become equivalent ones."""

from __future__ import annotations

from typing import Any

import awkward
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ._tensors import is_list_view, partition, remedy
from ._values import column


def to_awkward(table: pa.Table) -> Any:
    """The records as an array. Maps become lists of structures of `key` and `value`; views, run-end encoded values and
    extension types become plain ones.

    Raises:
        TypeError: Awkward has no type for a field, such as a decimal.
    """
    parts = [[plain(chunk) for chunk in part.chunks] for part in table.columns]
    kinds = [chunks[0].type if chunks else plain(pa.nulls(0, part.type)).type for chunks, part in zip(parts, table.columns)]
    columns = [pa.chunked_array(chunks, kind) for chunks, kind in zip(parts, kinds)]
    try:
        return awkward.from_arrow(pa.table(columns, names=table.column_names) if columns else table)
    except Exception:
        for name, part in zip(table.column_names, columns):
            try:
                awkward.from_arrow(part)
            except Exception as error:
                names, kind = _unsupported((name,), table.schema.field(name).type)
                raise TypeError(f"Awkward has no type for the field {'.'.join(names)}: {kind}; {remedy(names, kind)}") from error
        raise


def _unsupported(names: tuple[str, ...], kind: pa.DataType) -> tuple[tuple[str, ...], pa.DataType]:
    """The first field inside a type, or else the type itself, that Awkward does not support."""
    for part in (kind.field(i) for i in range(kind.num_fields)):
        try:
            awkward.from_arrow(plain(pa.nulls(0, part.type)))
        except Exception:
            # The items of a list have no name of their own.
            return _unsupported((*names, part.name) if pa.types.is_struct(kind) else names, part.type)
    return names, kind


def plain(array: pa.Array) -> pa.Array:
    """The values of an array, in types that Awkward supports."""
    types, kind = pa.types, array.type
    if isinstance(kind, pa.FixedShapeTensorType) and not array.null_count:
        return plain(column("", array.to_numpy_ndarray()))
    if isinstance(kind, pa.BaseExtensionType):
        return plain(array.storage)
    if types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int64()), plain(array.dictionary), ordered=kind.ordered)
    if types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(array))
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return array.cast(pa.large_string() if types.is_string_view(kind) else pa.large_binary())
    if _is_plain(kind):
        return array
    mask = array.is_null() if array.null_count else None
    if types.is_struct(kind):
        parts = [plain(array.field(i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, [kind.field(i).name for i in range(kind.num_fields)], mask=mask)
    if types.is_fixed_size_list(kind):
        size = kind.list_size
        inner = plain(array.values.slice(array.offset * size, len(array) * size))
        if size:
            return pa.FixedSizeListArray.from_arrays(inner, size, mask=mask)
        return pa.LargeListArray.from_arrays(pa.array(np.zeros(len(array) + 1, np.int64)), inner, mask=mask)
    splits, (inner,) = partition([array])
    return pa.LargeListArray.from_arrays(pa.array(splits), plain(inner), mask=mask)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether Awkward supports a type, ignoring types that have no equivalent."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType) or types.is_dictionary(kind) or types.is_run_end_encoded(kind) or types.is_map(kind):
        return False
    if types.is_string_view(kind) or types.is_binary_view(kind) or is_list_view(kind):
        return False
    if types.is_fixed_size_list(kind) and not kind.list_size:
        return False
    return all(_is_plain(kind.field(i).type) for i in range(kind.num_fields))
