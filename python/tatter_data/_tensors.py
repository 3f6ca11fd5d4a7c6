"""Arrow columns as tensors: partitions and flat values, which share memory with Arrow if the layout allows.

A column becomes one tensor or, if it contains structures, one for each leaf field, named by its path
(``docs.tokens``); the fields of a structure share their partitions. Records are along axis 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ._ragged import NOTE, Ragged, Sparse

#: Types for the values of views.
_OF_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
#: An axis: its row splits, or the common size of its rows.
Axis: TypeAlias = "np.ndarray | int"


@dataclass(frozen=True)
class _Leaf:
    """A leaf field over all records: the names of the structures around it and its own, and the number of records."""

    names: tuple[str, ...]
    nrows: int

    @property
    def path(self) -> str:
        """The names with dots between them."""
        return ".".join(self.names)


@dataclass(frozen=True)
class Column(_Leaf):
    """The `axes` of a field after the record axis, outermost first, and the flat values."""

    axes: tuple[Axis, ...]
    values: tuple[pa.Array, ...]
    type: pa.DataType
    #: Whether each record is a dense tensor: the rows of an axis have one length within a record, as after `padded-batch`.
    is_dense: bool = False

    @property
    def ragged_axes(self) -> tuple[Axis, ...]:
        """The axes up to the last ragged one. Later axes are uniform and part of the values."""
        last = max((i for i, axis in enumerate(self.axes) if not isinstance(axis, int)), default=-1)
        return self.axes[: last + 1]

    @property
    def inner_shape(self) -> tuple[int, ...]:
        """The uniform axes after the last ragged one."""
        return tuple(axis for axis in self.axes[len(self.ragged_axes) :] if isinstance(axis, int))

    def row_splits(self) -> tuple[np.ndarray, ...]:
        """The row splits of every axis in `ragged_axes`; computed for uniform axes among them."""
        splits: list[np.ndarray] = []
        nrows = self.nrows
        for axis in self.ragged_axes:
            splits.append(np.arange(nrows + 1, dtype=np.int64) * axis if isinstance(axis, int) else axis)
            nrows = int(splits[-1][-1])
        return tuple(splits)

    def numpy(self) -> np.ndarray:
        """The flat values with the inner shape; strings as an object array. A view of Arrow's memory if possible."""
        parts = [_to_numpy(self.names, part) for part in self.values or (pa.nulls(0, self.type),)]
        flat = parts[0] if len(parts) == 1 else np.concatenate(parts)
        nrows = self.nrows
        for axis in self.ragged_axes:
            nrows = nrows * axis if isinstance(axis, int) else int(axis[-1])
        return flat.reshape((nrows, *self.inner_shape))


@dataclass(frozen=True)
class SparseColumn(_Leaf):
    """A sparse field."""

    row_splits: np.ndarray
    indices: np.ndarray
    values: tuple[pa.Array, ...]
    type: pa.DataType
    dense_shapes: np.ndarray

    def sparse(self) -> Sparse:
        """A single sparse tensor of all records."""
        counts = np.diff(self.row_splits)
        records = np.repeat(np.arange(self.nrows, dtype=np.int64), counts)
        indices = np.concatenate([records[:, None], self.indices], axis=1)
        rank = self.dense_shapes.shape[1]
        largest = self.dense_shapes.max(axis=0) if self.nrows else np.zeros(rank, np.int64)
        values = Column(self.names, len(indices), (), self.values, self.type).numpy()
        return Sparse(indices, values, np.concatenate([np.array([self.nrows], np.int64), largest]), self.dense_shapes)


def columns(data: pa.Table | pa.RecordBatch) -> Iterator[Column | SparseColumn]:
    """The leaf fields of a table, in order.

    Raises:
        ValueError: A field has nulls, or two fields have the same path.
    """
    paths: set[str] = set()
    for field, column in zip(data.schema, data.columns):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        for leaf in _walk((field.name,), field, chunks, data.num_rows, ()):
            if leaf.path in paths:
                raise ValueError(f"two fields have the path {leaf.path}; rename one in the chain: {_renaming(leaf.path, data.schema)}")
            paths.add(leaf.path)
            yield replace(leaf, is_dense=True) if isinstance(leaf, Column) and _has_dense_records(field) else leaf


def _has_dense_records(field: pa.Field) -> bool:
    """Whether the noted type has no ragged axis, such as `int64[?, ?]`; in `int64[?, (?)]`, the second axis is ragged."""
    sizes = re.search(rb"\[([^\]]*)\](?: with nulls)?$", (field.metadata or {}).get(NOTE, b""))
    return sizes is not None and b"(" not in sizes[1]


def _renaming(path: str, schema: pa.Schema) -> str:
    """The verb that renames the field whose name is this path, or else the one that contains it."""
    name = path if path in schema.names else path.partition(".")[0]
    other = name.replace(".", "_") + "_2"
    return f"rename {_word(f'{quoted((name,))}={other}')}"


def quoted(names: tuple[str, ...]) -> str:
    """The path of a field in the program's notation: names with special characters are in backquotes.

    >>> quoted(("a.b", "c"))
    '`a.b`.c'
    """
    special = [not name or any(c in ".,=*` " or not c.isprintable() for c in name) for name in names]
    return ".".join("`" + name.replace("`", "``") + "`" if is_special else name for name, is_special in zip(names, special))


def _word(text: str) -> str:
    """A word of a chain in quotes."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _walk(
    names: tuple[str, ...], field: pa.Field, chunks: list[pa.Array], nrows: int, axes: tuple[Axis, ...]
) -> Iterator[Column | SparseColumn]:
    kind = field.type
    if isinstance(kind, pa.FixedShapeTensorType):
        sizes = tuple(int(size) for size in kind.shape)
        _no_nulls(names, chunks)
        flat = [chunk.storage.flatten() for chunk in chunks]
        if kind.permutation is not None and kind.permutation != list(range(len(sizes))):
            flat = [_permuted(names, part, sizes, kind.permutation) for part in flat]
            sizes = tuple(sizes[axis] for axis in kind.permutation)
        yield Column(names, nrows, axes + sizes, tuple(flat), kind.value_type)
        return
    if isinstance(kind, pa.BaseExtensionType):
        plain = pa.field(field.name, kind.storage_type, field.nullable, field.metadata)
        yield from _walk(names, plain, [chunk.storage for chunk in chunks], nrows, axes)
        return
    if pa.types.is_dictionary(kind):
        plain = pa.field(field.name, _OF_VIEWS.get(kind.value_type, kind.value_type), field.nullable, field.metadata)
        yield from _walk(names, plain, [decoded(chunk) for chunk in chunks], nrows, axes)
        return
    if pa.types.is_run_end_encoded(kind):
        plain = pa.field(field.name, kind.value_type, field.nullable, field.metadata)
        yield from _walk(names, plain, [pc.run_end_decode(chunk) for chunk in chunks], nrows, axes)
        return
    is_sparse = not axes and pa.types.is_struct(kind) and _is_sparse(field)
    _no_nulls(names, chunks, is_sparse)
    if pa.types.is_fixed_size_list(kind):
        inner = [chunk.flatten() for chunk in chunks]
        yield from _walk(names, kind.value_field, inner, nrows, (*axes, kind.list_size))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or is_list_view(kind):
        splits, inner = partition(chunks)
        yield from _walk(names, kind.value_field, inner, nrows, (*axes, splits))
    elif pa.types.is_map(kind):
        splits, inner = partition(chunks)
        for i, part in enumerate((kind.key_field, kind.item_field)):
            yield from _walk((*names, ("key", "value")[i]), part, [chunk.flatten()[i] for chunk in inner], nrows, (*axes, splits))
    elif pa.types.is_struct(kind):
        if is_sparse:
            yield _sparse(names, kind, chunks, nrows)
            return
        flat = [chunk.flatten() for chunk in chunks]
        for i in range(kind.num_fields):
            part = kind.field(i)
            yield from _walk((*names, part.name), part, [chunk[i] for chunk in flat], nrows, axes)
    else:
        yield Column(names, nrows, axes, tuple(chunks), kind)


def decoded(array: pa.DictionaryArray) -> pa.Array:
    """The values of a dictionary-encoded array."""
    values = array.dictionary
    # Arrow has no function that takes values of views.
    values = values.cast(_OF_VIEWS[values.type]) if values.type in _OF_VIEWS else values
    return values.take(array.indices)


def partition(chunks: list[pa.Array]) -> tuple[np.ndarray, list[pa.Array]]:
    """The row splits of all chunks, and the values in them."""
    splits = [np.zeros(1, np.int64)]
    inner = []
    total = 0
    for chunk in chunks:
        if is_list_view(chunk.type):
            # The rows of a view can be anywhere in its values; `flatten` puts them in order.
            values, ends = chunk.flatten(), np.cumsum(chunk.value_lengths().fill_null(0).to_numpy(), dtype=np.int64)
        else:
            offsets = chunk.offsets.to_numpy(zero_copy_only=True).astype(np.int64)
            first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
            values, ends = chunk.values.slice(first, last - first), offsets[1:] - first
        inner.append(values)
        splits.append(ends + total)
        total += len(values)
    return np.concatenate(splits), inner


def is_list_view(kind: pa.DataType) -> bool:
    """Whether a type is a list view, whose rows can be anywhere in the values."""
    return pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind)


def _permuted(names: tuple[str, ...], flat: pa.Array, sizes: tuple[int, ...], permutation: list[int]) -> pa.Array:
    """The values of tensors that are stored with these sizes, in the order of their permuted axes."""
    tensors = _to_numpy(names, flat).reshape(-1, *sizes)
    return pa.array(tensors.transpose(0, *(axis + 1 for axis in permutation)).ravel(), flat.type)


def _is_sparse(field: pa.Field) -> bool:
    return (field.metadata or {}).get(NOTE, b"").startswith(b"sparse<") and [part.name for part in field.type] == [
        "indices",
        "values",
        "dense_shape",
    ]


def _sparse(names: tuple[str, ...], kind: pa.StructType, chunks: list[pa.Array], nrows: int) -> SparseColumn:
    parts = [chunk.flatten() for chunk in chunks]
    for i, part in enumerate(("indices", "values", "dense_shape")):
        _no_nulls((*names, part), [part_of[i] for part_of in parts])
    rank = kind.field("dense_shape").type.list_size
    splits, indices = partition([part[0] for part in parts])
    _, values = partition([part[1] for part in parts])
    pairs = [part.flatten().to_numpy() for part in indices]
    shapes = [part[2].flatten().to_numpy() for part in parts]
    empty = [np.zeros(0, np.int64)]
    return SparseColumn(
        names,
        nrows,
        splits,
        np.concatenate(empty + pairs).reshape(-1, rank),
        tuple(values),
        kind.field("values").type.value_type,
        np.concatenate(empty + shapes).reshape(-1, rank),
    )


def _no_nulls(names: tuple[str, ...], chunks: list[pa.Array], is_sparse: bool = False) -> None:
    if any(chunk.null_count for chunk in chunks):
        value = "[]" if is_sparse else _filling(chunks[0].type)
        fill = f"fill them: fill-null {_word(f'{quoted(names)}={value}')}, or leave" if value else "leave"
        raise ValueError(
            f"the field {'.'.join(names)} has nulls, which tensors cannot represent; in the chain, {fill} the field out: {dropping(names)}"
        )


def _filling(kind: pa.DataType) -> str | None:
    """A value with which `fill-null` can replace the nulls of a type, if there is one."""
    types = pa.types
    if types.is_fixed_size_list(kind):
        return _filling(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind) or is_list_view(kind) or types.is_map(kind):
        return "[]"
    if types.is_struct(kind):
        return "{}"
    if types.is_boolean(kind):
        return "False"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "0"
    if is_text(kind) and not types.is_fixed_size_binary(kind):
        return '""'
    if types.is_date(kind) or types.is_timestamp(kind):
        return "1970-01-01"
    if types.is_time(kind):
        return "00:00:00"
    return "PT0S" if types.is_duration(kind) else None


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is a string or binary type."""
    types = pa.types
    return (
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


def _to_numpy(names: tuple[str, ...], part: pa.Array) -> np.ndarray:
    _no_nulls(names, [part])
    types, kind = pa.types, part.type
    shares_memory = types.is_integer(kind) or types.is_floating(kind) or types.is_timestamp(kind) or types.is_duration(kind)
    try:
        array: np.ndarray = part.to_numpy(zero_copy_only=shares_memory)
    except pa.ArrowException as error:
        raise TypeError(f"NumPy has no dtype for the field {'.'.join(names)}: {error}; {remedy(names, kind)}") from None
    return array


def remedy(names: tuple[str, ...], kind: pa.DataType) -> str:
    """Advice on converting records with a field that has no dtype to tensors."""
    if pa.types.is_union(kind):
        return f"leave it out in the chain: {dropping(names)}"
    inner = kind
    while pa.types.is_list(inner) or pa.types.is_large_list(inner) or is_list_view(inner) or pa.types.is_fixed_size_list(inner):
        inner = inner.value_type
    if pa.types.is_fixed_size_binary(inner):
        to = "bytes"
    else:
        to = "int64" if pa.types.is_temporal(inner) and not pa.types.is_interval(inner) else "string"
    path = quoted(names)
    return f"cast it in the chain: cast {_word(f'{path}={to}')}, or leave it out: {dropping(names)}"


def dropping(names: tuple[str, ...]) -> str:
    """The verb that drops a field."""
    return f"drop {_word(quoted(names))}"


def to_numpy(data: pa.Table | pa.RecordBatch) -> dict[str, Any]:
    """The fields as NumPy arrays, `Ragged` and `Sparse`.

    Dates, timestamps and durations become datetime64 and timedelta64; times, decimals and intervals become objects.

    Raises:
        TypeError: NumPy has no dtype for a field.
        ValueError: A field has nulls, or two fields have the same path.
    """
    tensors: dict[str, Any] = {}
    for column in columns(data):
        if isinstance(column, SparseColumn):
            tensors[column.path] = column.sparse()
        elif column.ragged_axes:
            tensors[column.path] = Ragged(column.numpy(), column.row_splits())
        else:
            tensors[column.path] = column.numpy()
    return tensors
