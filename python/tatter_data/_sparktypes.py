"""The Spark equivalents of Arrow types, and casts to them.

Spark has no fixed-size lists, unsigned integers, float16, views, dictionaries or extension types:

==============================  =======================================
Arrow                           Spark
==============================  =======================================
fixed-size list, large list     array
uint8, uint16, uint32           smallint, int, bigint
uint64                          decimal(20, 0)
float16                         float
decimal32, 64, 256              decimal of the same precision, up to 38
dictionary, run-end encoded     its values
string and binary views, large  string, binary
fixed-size binary, uuid         binary
date64                          date
timestamp of any unit           timestamp; timestamp_ntz without a zone
time of any unit                time
duration of any unit            interval day to second
extension types                 their storage
sparse tensor                   struct of indices, values, dense_shape
null                            void
==============================  =======================================

Every field and element is nullable, as in Spark's own sources. Types without an equivalent raise a TypeError that
names the field.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import DataType, StructType

from ._tensors import decoded, remedy

_NARROW = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0), pa.float16(): pa.float32()}


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark schema of records with this Arrow schema.

    >>> spark_schema(pa.schema({"x": pa.list_(pa.float32(), 4), "n": pa.uint64()})).simpleString()
    'struct<x:array<float>,n:decimal(20,0)>'
    """
    plain: StructType = from_arrow_schema(pa.schema([_plain(field, field.name) for field in schema]))
    return plain


def arrow_schema(schema: StructType, timezone: str) -> pa.Schema:
    """The Arrow schema that Spark expects of records with this Spark schema.

    Raises:
        TypeError: A field contains variants, which PySpark would not read back.
    """
    for field in schema:
        _refuse_variants(field.name, field.dataType)
    return to_arrow_schema(schema, timezone=timezone)


def _refuse_variants(path: str, kind: DataType) -> None:
    if kind.typeName() == "variant":
        raise TypeError(f"{path}: variants have no equivalent; convert them to text with to_json, or drop the field")
    if isinstance(kind, StructType):
        for field in kind:
            _refuse_variants(f"{path}.{field.name}", field.dataType)
    parts = [getattr(kind, part) for part in ("elementType", "keyType", "valueType") if hasattr(kind, part)]
    for part in parts:
        _refuse_variants(path, part)


def cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of a batch, by position, with the types and names of `schema`.

    Raises:
        ValueError: A Spark type cannot represent a value, such as nanoseconds.
    """
    arrays = []
    for name, column, field in zip(batch.schema.names, batch.columns, schema):
        try:
            arrays.append(_cast(column, field.type))
        except pa.ArrowInvalid as error:
            raise ValueError(f"{name}: {error}; {remedy((name,), column.type)}") from None
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast(array: pa.Array, to: pa.DataType) -> pa.Array:
    if array.type == to:
        return array
    if isinstance(array.type, pa.BaseExtensionType):
        return _cast(array.storage, to)
    if pa.types.is_dictionary(array.type):
        return _cast(decoded(array), to)
    if pa.types.is_run_end_encoded(array.type):
        return _cast(pc.run_end_decode(array), to)
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(to):
        # By name: a schema given by the user may have some of the fields, in another order.
        parts = [_cast(array.field(_index(array.type, part.name)), part.type) for part in to]
        return pa.StructArray.from_arrays(parts, fields=list(to), mask=mask) if parts else array.cast(to)
    if pa.types.is_map(to) and pa.types.is_map(array.type):
        offsets, start, count = _rows(array)
        keys, items = (_cast(part.slice(start, count), kind) for part, kind in ((array.keys, to.key_type), (array.items, to.item_type)))
        return pa.MapArray.from_arrays(offsets, keys, items, type=to, mask=mask)
    if pa.types.is_list(to):
        if pa.types.is_fixed_size_list(array.type):
            # A null row can have values, but has no length.
            lengths = pa.array([array.type.list_size] * len(array), pa.int32())
            ends = pc.cumulative_sum(pc.if_else(array.is_valid(), lengths, 0).cast(pa.int32()))
            offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
            return pa.ListArray.from_arrays(offsets, _cast(array.flatten(), to.value_type), type=to, mask=mask)
        offsets, start, count = _rows(array)
        return pa.ListArray.from_arrays(offsets, _cast(array.values.slice(start, count), to.value_type), type=to, mask=mask)
    return array.cast(to)


def _index(kind: pa.StructType, name: str) -> int:
    index: int = kind.get_field_index(name)
    if index < 0:
        raise ValueError(f"a structure has no field `{name}`, only {', '.join(part.name for part in kind)}")
    return index


def _rows(array: Any) -> tuple[pa.Array, int, int]:
    """The offsets of the rows from 0, the start of their values, and the number of values."""
    offsets = array.offsets
    start, end = offsets[0].as_py(), offsets[-1].as_py()
    if start or not pa.types.is_int32(offsets.type) or offsets.offset:
        offsets = pa.concat_arrays([pc.subtract(offsets, start).cast(pa.int32())])
    return offsets, start, end - start


def _plain(field: pa.Field, path: str) -> pa.Field:
    return pa.field(field.name, _type(field.type, path), True)


def _type(kind: pa.DataType, path: str) -> pa.DataType:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _type(kind.storage_type, path)
    if kind in _NARROW:
        return _NARROW[kind]
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _type(kind.value_type, path)
    if types.is_struct(kind):
        return pa.struct([_plain(kind.field(i), f"{path}.{kind.field(i).name}") for i in range(kind.num_fields)])
    if types.is_map(kind):
        return pa.map_(_type(kind.key_type, path), pa.field("value", _type(kind.item_type, path), True))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(pa.field("element", _type(kind.value_type, path), True))
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_date64(kind):
        return pa.date32()
    if types.is_time(kind):
        return pa.time64("ns")
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if types.is_duration(kind):
        return pa.duration("us")
    if types.is_decimal(kind):
        if kind.precision > 38:
            raise TypeError(f"{path}: Spark has no {kind}; its decimals have up to 38 digits")
        return pa.decimal128(kind.precision, kind.scale)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return kind
    if types.is_string(kind) or types.is_binary(kind) or types.is_date32(kind) or types.is_null(kind):
        return kind
    raise TypeError(f"{path}: Spark has no type for {kind}; cast it in the chain, or leave it out: drop '{path}'")
