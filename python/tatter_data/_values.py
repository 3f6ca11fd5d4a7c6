"""Python values as Arrow arrays, without what Arrow's own inference loses."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ._ragged import Ragged

#: Types of pandas and NumPy that stand for a missing value or hold some, by name: neither package need be installed.
_MISSING = {"NaTType", "NAType", "MaskedConstant"}
_MASKED = "MaskedArray"
_ARRAY = "ndarray"


def array(name: str, values: Sequence[Any]) -> pa.Array:
    """The values of a field, with the type that Arrow infers, or nanoseconds or uint64 if they need it.

    Masked values and `NaT` are null, and arrays of any rank are lists.

    >>> array("x", [1, None, 2**63]).type
    DataType(uint64)

    Raises:
        ValueError: The values have no common type, or a text is not valid Unicode; the message names the field. Dates mixed
            with times, and times with and without a time zone, have no common type.
    """
    if not (_MISSING | {_MASKED, _ARRAY}).isdisjoint(kind.__name__ for kind in _kinds(values)):
        values = [_plain(value) for value in values]
    try:
        found = pa.array(values)
    except OverflowError:
        # Arrow infers no unsigned types.
        try:
            return pa.array(values, pa.uint64())
        except (OverflowError, pa.ArrowException):
            message = f"{name}: an integer does not fit in int64; give its type with a pyarrow.Table, or make it a string"
            raise ValueError(message) from None
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: {error}") from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise type(error)(f"{name}: {error}") from None
    if not _has_times(found.type):
        return found
    fitting = _fitting(name, found.type, values)
    return found if fitting == found.type else pa.array(values, fitting)


def column(name: str, values: Any) -> Any:
    """A column of a dictionary as something that `pyarrow.table` accepts: a list, an array of any rank (axis 0 is that of
    the records), a tensor of TensorFlow or Torch, or a column that Arrow knows.

    >>> import numpy
    >>> column("x", numpy.arange(4, dtype=">i4").reshape(2, 2)).to_pylist()
    [[0, 1], [2, 3]]

    Raises:
        TypeError: This is not a column, or Arrow has no type for its numbers.
        ValueError: See `array`.
    """
    if isinstance(values, (list, tuple)):
        return array(name, values)
    if isinstance(values, (str, bytes, bytearray, set, frozenset, Mapping)):
        # Their items would be records: characters, or values in no certain order.
        raise TypeError(f"{name}: expected a column, such as a list or an array, found {type(values).__name__}")
    if isinstance(values, Ragged):
        return _of_ragged(name, values)
    if hasattr(values, "row_splits") and callable(getattr(values, "to_list", None)):
        return array(name, values.to_list())
    kind = type(values)
    if kind.__module__.split(".")[0] in ("tensorflow", "torch") and callable(getattr(values, "numpy", None)):
        values = values.numpy()
        kind = type(values)
    if kind.__name__ in (_ARRAY, _MASKED):
        return _of_numpy(name, values)
    if not hasattr(values, "__iter__") and not any(hasattr(values, f"__arrow_c_{form}__") for form in ("array", "stream")):
        raise TypeError(f"{name}: expected a column, such as a list or an array, found {kind.__name__}")
    return values


def _of_ragged(name: str, ragged: Ragged) -> pa.Array:
    items = column(name, ragged.values)
    for splits in reversed(ragged.row_splits):
        items = pa.LargeListArray.from_arrays(column(name, splits).cast(pa.int64()), items)
    return items


def _of_numpy(name: str, values: Any) -> pa.Array:
    if values.ndim == 0:
        raise TypeError(f"{name}: expected an array whose axis 0 is the record axis, found a single value")
    if values.dtype.kind in "cV":
        raise TypeError(f"{name}: Arrow has no arrays of {values.dtype}; pass its parts as separate columns")
    if values.dtype.kind == "O" or (values.ndim > 1 and type(values).__name__ == _MASKED):
        return array(name, values.tolist())
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.ndim == 1:
        return pa.array(values)
    found = pa.array(values.reshape(-1))
    if 0 in values.shape:
        ty = found.type
        for size in reversed(values.shape[1:]):
            ty = pa.list_(ty, size)
        return pa.array(values.tolist(), ty)
    for size in reversed(values.shape[1:]):
        found = pa.FixedSizeListArray.from_arrays(found, size)
    return found


def _kinds(values: Sequence[Any]) -> set[type]:
    """The types of the values, and of those in lists and dictionaries."""
    kinds = set(map(type, values))
    lists = [value for value in values if isinstance(value, (list, tuple))]
    lists += [list(value.values()) for value in values if isinstance(value, Mapping)]
    inner = set(map(type, itertools.chain.from_iterable(lists)))
    if any(issubclass(kind, (list, tuple, Mapping)) for kind in inner):
        inner |= _kinds(list(itertools.chain.from_iterable(lists)))
    return kinds | inner


def _plain(value: Any) -> Any:
    kind = type(value).__name__
    if kind in _MISSING:
        return None
    if kind == _MASKED:
        return value.tolist()
    if kind == _ARRAY:
        # Arrow accepts arrays of rank 1 as lists, and keeps their type.
        return value if value.ndim == 1 else [_plain(row) for row in value] if value.ndim else value[()]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _has_times(ty: pa.DataType) -> bool:
    return pa.types.is_temporal(ty) or any(_has_times(ty.field(i).type) for i in range(ty.num_fields))


def _fitting(name: str, ty: pa.DataType, values: Sequence[Any]) -> pa.DataType:
    """The inferred type, with nanoseconds where a value has some."""
    known = [value for value in values if value is not None]
    if pa.types.is_struct(ty):
        inner = [ty.field(i) for i in range(ty.num_fields)]
        return pa.struct([field.with_type(_fitting(f"{name}.{field.name}", field.type, [v.get(field.name) for v in known])) for field in inner])
    if pa.types.is_list(ty):
        if not _has_times(ty):
            return ty
        return pa.list_(_fitting(name, ty.value_type, list(itertools.chain.from_iterable(known))))
    if pa.types.is_date(ty) and any(isinstance(value, datetime.datetime) for value in known):
        raise ValueError(f"{name}: dates and times are mixed; make all of them datetime.datetime")
    if pa.types.is_timestamp(ty):
        if len({value.tzinfo is None for value in known if isinstance(value, datetime.datetime)}) > 1:
            raise ValueError(f"{name}: times with and without a time zone are mixed")
        return pa.timestamp("ns", ty.tz) if any(getattr(value, "nanosecond", 0) for value in known) else ty
    if pa.types.is_duration(ty) and any(getattr(value, "nanoseconds", 0) for value in known):
        return pa.duration("ns")
    return ty
