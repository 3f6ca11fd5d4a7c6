"""Converts Python values to Arrow arrays without the losses of Arrow's own inference."""

from __future__ import annotations

import datetime
import decimal
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ._ragged import NOTE, Ragged, Sparse

#: Types of pandas and NumPy that stand for a missing value or hold some, by name: neither package need be installed.
_MISSING = {"NaTType", "NAType", "MaskedConstant"}
_NUMPY_TIMES = {"datetime64", "timedelta64"}
_MASKED = "MaskedArray"
_ARRAY = "ndarray"
#: The names of Arrow's types in the program's notation, where they differ.
_NOTATION = {"halffloat": "float16", "float": "float32", "double": "float64", "binary": "bytes"}


def array(name: str, values: Iterable[Any]) -> pa.Array:
    """The values of a field, with the type that Arrow infers, or nanoseconds or uint64 if needed.

    Masked values and `NaT` are null, and arrays of any rank are lists.

    >>> array("x", [1, None, 2**63]).type
    DataType(uint64)

    Raises:
        TypeError: A value is a set, or a name in a dictionary is not a string.
        ValueError: The values have no common type, or a string is not valid Unicode. Dates mixed with times, times with and
            without a time zone, and NumPy times of different units have no common type.
        pyarrow.ArrowException: Arrow has no type for the values.

    The message names the field.
    """
    values = _plain(values)
    kinds = set(map(type, values)) - {type(None)}
    if kinds and all(issubclass(kind, Mapping) for kind in kinds):
        return _of_mappings(name, values)
    if kinds and all(issubclass(kind, (list, tuple)) or _is_array(kind) for kind in kinds):
        return _of_lists(name, values)
    return _of_scalars(name, values, kinds)


def column(name: str, values: Any) -> Any:
    """A column of a dictionary as something that `pyarrow.table` accepts: an iterable, an array of any rank (axis 0 is the
    record axis), a tensor of TensorFlow or PyTorch, or a column that Arrow knows.

    >>> import numpy
    >>> column("x", numpy.arange(4, dtype=">i4").reshape(2, 2)).to_pylist()
    [[0, 1], [2, 3]]

    Raises:
        TypeError: This is not a column, or Arrow has no type for its numbers.
        ValueError: See `array`; or row splits or indices do not fit the values.
    """
    if isinstance(values, (str, bytes, bytearray, set, frozenset, Mapping)):
        # Their items would be records: characters, or values in no certain order.
        raise TypeError(f"{name}: expected a column, such as a list or an array, found {type(values).__name__}")
    package = type(values).__module__.split(".")[0]
    values = _parts(values, package)
    if isinstance(values, Ragged):
        return _of_ragged(name, values)
    if isinstance(values, Sparse):
        return _of_sparse(name, values)
    if _is_array(type(values)):
        return _of_numpy(name, values)
    if package == "pandas":
        return array(name, objects(values)) if getattr(values, "dtype", None) == object else _known(name, values)
    refuse_objects(name, values)
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_array__"):
        return _known(name, values)
    if not hasattr(values, "__iter__"):
        raise TypeError(f"{name}: expected a column, such as a list or an array, found {type(values).__name__}")
    return array(name, values)


def _parts(values: Any, package: str) -> Any:
    """The components of a tensor of TensorFlow or PyTorch: an array, `Ragged`, `Sparse`, or an array for each record."""
    if package == "tensorflow" and hasattr(values, "nested_row_splits"):
        return Ragged(values.flat_values.numpy(), tuple(splits.numpy() for splits in values.nested_row_splits))
    if package == "tensorflow" and hasattr(values, "dense_shape"):
        return _sparse(values.indices.numpy(), values.values.numpy(), values.dense_shape.numpy())
    if package == "torch" and getattr(values, "is_nested", False):
        return [row.numpy() for row in values.unbind()]
    if package == "torch" and getattr(values, "is_sparse", False):
        values = values.coalesce()
        return _sparse(values.indices().numpy().T, values.values().numpy(), values.shape)
    if package in ("tensorflow", "torch") and callable(getattr(values, "numpy", None)):
        return values.numpy()
    return values


def _sparse(indices: Any, values: Any, dense_shape: Sequence[int]) -> Sparse:
    """A sparse tensor whose records, along axis 0, have the same dense shape."""
    import numpy

    order = numpy.argsort(indices[:, 0], kind="stable")
    return Sparse(indices[order], values[order], dense_shape, numpy.tile(numpy.asarray(dense_shape[1:]), (int(dense_shape[0]), 1)))


def objects(values: Any) -> list[Any]:
    """The values of a pandas column of objects, with None for those that pandas regards as missing."""
    import pandas

    return [None if missing else value for value, missing in zip(values, pandas.isna(values))]


def refuse_objects(name: str, column: Any) -> None:
    """Rejects a Polars column of Python objects, because Polars exports their addresses.

    Raises:
        TypeError: The column contains Python objects.
    """
    if type(column).__module__.split(".")[0] == "polars" and str(getattr(column, "dtype", "")) == "Object":
        raise TypeError(f"{name}: Arrow cannot store columns of Python objects; cast or drop the column")


def field(name: str, values: Any) -> tuple[pa.Field, Any]:
    """A column of a dictionary, see `column`, and its field."""
    values = _parts(values, type(values).__module__.split(".")[0])
    found = column(name, values)
    if not isinstance(values, Sparse):
        return pa.field(name, found.type), found
    dtype, rank = found.type.field("values").type.value_type, found.type.field("dense_shape").type.list_size
    note = f"sparse<{_NOTATION.get(str(dtype), dtype)}>[{', '.join(['?'] * rank)}]"
    return pa.field(name, found.type, nullable=False, metadata={NOTE: note.encode()}), found


def _of_mappings(name: str, values: Sequence[Any]) -> pa.Array:
    keys = dict.fromkeys(itertools.chain.from_iterable(value for value in values if value is not None))
    if not keys:
        return pa.array([None if value is None else {} for value in values], pa.struct([]))
    parts = [array(f"{name}.{field_name(key)}", [None if value is None else value.get(key) for value in values]) for key in keys]
    return pa.StructArray.from_arrays(parts, list(keys), mask=_mask(values))


def field_name(name: Any) -> str:
    """The name of a field.

    Raises:
        TypeError: This is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a field must be a string, found {name!r}")
    return name


def _of_lists(name: str, values: Sequence[Any]) -> pa.Array:
    known = [value for value in values if value is not None]
    # Arrays of one dtype keep it.
    if all(map(_is_array, set(map(type, known)))) and len({(value.ndim, value.dtype) for value in known}) == 1 == known[0].ndim:
        import numpy

        is_masked = any(type(value).__name__ == _MASKED for value in known)
        items = _of_numpy(name, (numpy.ma if is_masked else numpy).concatenate(known))
    else:
        items = array(name, itertools.chain.from_iterable(known))
    offsets = list(itertools.accumulate((0 if value is None else len(value) for value in values), initial=0))
    if offsets[-1] < 2**31:
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, mask=_mask(values))
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), items, mask=_mask(values))


def _mask(values: Sequence[Any]) -> pa.Array | None:
    mask = [value is None for value in values]
    return pa.array(mask) if any(mask) else None


def _of_scalars(name: str, values: Sequence[Any], kinds: set[type]) -> pa.Array:
    named = {kind.__name__ for kind in kinds}
    if named & _NUMPY_TIMES:
        return _of_numpy_times(name, values)
    if any(issubclass(kind, (set, frozenset)) for kind in kinds):
        raise TypeError(f"{name}: a set has no order; pass a list, such as sorted(values)")
    if any(issubclass(kind, str) for kind in kinds) and any(issubclass(kind, (bytes, bytearray, memoryview)) for kind in kinds):
        raise ValueError(f"{name}: text and bytes are mixed; make all of them str or bytes")
    _check_times(name, values, kinds)
    if len(kinds) > 1 and "uint64" in named:
        # Arrow would take them for int64.
        values = [value.item() if type(value).__name__ == "uint64" else value for value in values]
    if decimal.Decimal in kinds and int in kinds:
        # Arrow derives the precision from the decimals alone.
        values = [decimal.Decimal(value) if type(value) is int else value for value in values]
    try:
        found = _inferred(values)
        fitting = _fitting(found.type, values)
        return found if fitting == found.type else pa.array(values, fitting)
    except OverflowError:
        message = f"{name}: an integer does not fit in int64; specify its type with a pyarrow.Table, or make it a string"
        raise ValueError(message) from None
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: {error}") from None
    except (TypeError, ValueError, pa.ArrowException) as error:
        odd = [value for value in values if isinstance(value, decimal.Decimal) and not value.is_finite()]
        raise type(error)(f"{name}: Arrow has no decimal {odd[0]}" if odd else f"{name}: {error}") from None


def _inferred(values: Sequence[Any]) -> pa.Array:
    try:
        found = pa.array(values)
    except OverflowError:
        # Arrow infers no unsigned types.
        try:
            return pa.array(values, pa.uint64())
        except pa.ArrowException:
            raise OverflowError from None
    if isinstance(found, pa.ChunkedArray):
        # More than 2 GiB of text; a list cannot contain chunks.
        return pa.array(values, pa.large_string() if pa.types.is_string(found.type) else pa.large_binary())
    return found


def _check_times(name: str, values: Sequence[Any], kinds: set[type]) -> None:
    """Rejects times that Arrow would truncate or confuse with one another."""
    times = [kind for kind in kinds if issubclass(kind, datetime.datetime)]
    if times and any(issubclass(kind, datetime.date) and not issubclass(kind, datetime.datetime) for kind in kinds):
        raise ValueError(f"{name}: dates and times are mixed; make all of them datetime.datetime")
    if times and len({value.tzinfo is None for value in values if isinstance(value, datetime.datetime)}) > 1:
        raise ValueError(f"{name}: times with and without a time zone are mixed")
    if datetime.time in kinds and any(isinstance(value, datetime.time) and value.tzinfo is not None for value in values):
        raise ValueError(f"{name}: Arrow has no times of day with a time zone; pass datetime.datetime, or value.replace(tzinfo=None)")


def _fitting(ty: pa.DataType, values: Sequence[Any]) -> pa.DataType:
    """The inferred type, with nanoseconds where a value has them."""
    if pa.types.is_timestamp(ty) and any(getattr(value, "nanosecond", 0) for value in values):
        return pa.timestamp("ns", ty.tz)
    if pa.types.is_duration(ty) and any(getattr(value, "nanoseconds", 0) for value in values):
        return pa.duration("ns")
    return ty


def _of_numpy_times(name: str, values: Sequence[Any]) -> pa.Array:
    import numpy

    kinds = {str(value.dtype) if isinstance(value, numpy.generic) else type(value).__name__ for value in values if value is not None}
    if len(kinds) > 1:
        raise ValueError(f"{name}: {' and '.join(sorted(kinds))} are mixed; convert all values to one of them")
    (dtype,) = kinds
    return _of_numpy(name, numpy.array(["NaT" if value is None else value for value in values], dtype))


def _of_numpy(name: str, values: Any) -> pa.Array:
    if values.ndim == 0:
        raise TypeError(f"{name}: expected an array whose axis 0 is the record axis, found a single value")
    if values.dtype.kind in "cV":
        raise TypeError(f"{name}: Arrow has no arrays of {values.dtype}; pass its parts as separate columns")
    if values.dtype.kind == "O":
        return array(name, values.tolist())
    values = _base(values)
    if values.dtype.kind in "mM":
        values = _in_single_units(name, values)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    flat = values.reshape(-1)
    try:
        # Of an array of texts, Arrow would end each at its first NUL.
        found = array(name, flat.tolist()) if flat.dtype.kind in "US" and flat.size else pa.array(flat)
    except pa.ArrowNotImplementedError:
        units = "; convert it with astype, to seconds, milliseconds, microseconds or nanoseconds" if values.dtype.kind in "mM" else ""
        raise TypeError(f"{name}: Arrow has no arrays of {values.dtype}{units}") from None
    if 0 in values.shape:
        ty = found.type
        for size in reversed(values.shape[1:]):
            ty = pa.list_(ty, size)
        return pa.array(values.tolist(), ty)
    for size in reversed(values.shape[1:]):
        found = pa.FixedSizeListArray.from_arrays(found, size)
    return found


def _in_single_units(name: str, values: Any) -> Any:
    """Times in a unit such as 10 seconds, in seconds: Arrow takes only the name of the unit."""
    import numpy

    unit, count = numpy.datetime_data(values.dtype)
    if count == 1:
        return values
    single = values.astype(f"{values.dtype.kind}8[{unit}]")
    if not ((single.astype(values.dtype) == values) | numpy.isnat(values)).all():
        raise ValueError(f"{name}: a time in units of {count} {unit} does not fit in int64 when counted in {unit}")
    return single


def _known(name: str, values: Any) -> Any:
    """A column that Arrow can convert, such as a pandas column."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise type(error)(f"{name}: {error}") from None


def _whole(values: Any) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _of_ragged(name: str, ragged: Ragged) -> pa.Array:
    items = _whole(column(name, ragged.values))
    for axis, splits in reversed(list(enumerate(ragged.row_splits, 1))):
        splits = _integers(name, f"the row splits of axis {axis}", splits, 1)
        what = f"{name}: the row splits of axis {axis}"
        if not len(splits) or splits[0] != 0:
            raise ValueError(f"{what} must start at 0, found {splits[0] if len(splits) else 'none'}")
        if (splits[1:] < splits[:-1]).any():
            raise ValueError(f"{what} must not decrease, found {splits[1:][splits[1:] < splits[:-1]][0]} after a larger number")
        if splits[-1] != len(items):
            raise ValueError(f"{what} must end at the number of values or rows inside, {len(items)}, found {splits[-1]}")
        items = pa.LargeListArray.from_arrays(pa.array(splits), items)
    return items


def _of_sparse(name: str, sparse: Sparse) -> pa.Array:
    """A structure of the indices, values and dense shape of each record."""
    import numpy

    shapes = _integers(name, "dense_shapes", sparse.dense_shapes, 2)
    indices = _integers(name, "indices", sparse.indices, 2)
    nrows, rank = shapes.shape
    if not rank:
        raise ValueError(f"{name}: a sparse tensor must have an axis besides that of the records; pass it as a dense one")
    values = _whole(column(name, sparse.values))
    if indices.shape != (len(values), rank + 1):
        raise ValueError(
            f"{name}: expected indices of shape [{len(values)}, {rank + 1}] (a row for each value, and the axis of the records first), "
            f"found {list(indices.shape)}"
        )
    records, inner = indices[:, 0], indices[:, 1:]
    if (records[1:] < records[:-1]).any():
        raise ValueError(f"{name}: the indices are not in the order of the records; sort them, and the values with them")
    if len(records) and not 0 <= records[0] <= records[-1] < nrows:
        raise ValueError(f"{name}: expected indices of {nrows} records, found {records[0]} to {records[-1]}")
    outside = ((inner < 0) | (inner >= shapes[records])).any(axis=1)
    if outside.any():
        at = int(outside.argmax())
        raise ValueError(f"{name}: the index {inner[at].tolist()} is outside its record's dense shape {shapes[records[at]].tolist()}")
    splits = pa.array(numpy.searchsorted(records, numpy.arange(nrows + 1)), pa.int32())
    points, shape = (pa.FixedSizeListArray.from_arrays(pa.array(part.reshape(-1)), rank) for part in (inner, shapes))
    parts = {"indices": pa.ListArray.from_arrays(splits, points), "values": pa.ListArray.from_arrays(splits, values), "dense_shape": shape}
    return pa.StructArray.from_arrays(parts.values(), list(parts))


def _integers(name: str, what: str, values: Any, rank: int) -> Any:
    """An int64 array, from a NumPy array, a PyTorch tensor or a list."""
    import numpy

    found = numpy.asarray(values)
    if found.ndim != rank or (found.dtype.kind not in "iu" and found.size):
        raise ValueError(f"{name}: {what}: expected integers of rank {rank}, found {found.dtype} of rank {found.ndim}")
    return found.astype(numpy.int64)


def _plain(values: Iterable[Any]) -> list[Any]:
    """The values, with None for missing ones, and with arrays of rank 0 replaced by their values."""
    plain = list(values)
    arrays = {kind for kind in set(map(type, plain)) if _is_array(kind)}
    if arrays:
        plain = [_base(value) if type(value) in arrays else value for value in plain]
        plain = [value[()] if getattr(value, "ndim", None) == 0 else value for value in plain]
    if not (_MISSING | _NUMPY_TIMES).isdisjoint(kind.__name__ for kind in set(map(type, plain))):
        plain = [None if _is_missing(value) else value for value in plain]
    return plain


def _is_array(kind: type) -> bool:
    """Whether a type is `numpy.ndarray` or a subclass of it, such as `numpy.memmap`."""
    return any(base.__name__ == _ARRAY for base in kind.__mro__)


def _base(values: Any) -> Any:
    """A plain `numpy.ndarray`: subclasses behave differently; for example, the rows of a matrix are matrices."""
    if type(values).__name__ in (_ARRAY, _MASKED):
        return values
    import numpy

    return numpy.asarray(values)


def _is_missing(value: Any) -> bool:
    kind = type(value).__name__
    # NaT differs from itself.
    return kind in _MISSING or (kind in _NUMPY_TIMES and bool(value != value))
