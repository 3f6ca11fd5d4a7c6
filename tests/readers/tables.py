"""Random nested tables, seeded: all dtypes, nulls and empty lists at every level."""
import math
import random
import struct

import numpy as np
import pyarrow as pa

from harness import as_json

INTEGERS = {pa.int8(): (-(2**7), 2**7 - 1), pa.int16(): (-(2**15), 2**15 - 1), pa.int32(): (-(2**31), 2**31 - 1), pa.int64(): (-(2**63), 2**63 - 1),
            pa.uint8(): (0, 2**8 - 1), pa.uint16(): (0, 2**16 - 1), pa.uint32(): (0, 2**32 - 1), pa.uint64(): (0, 2**64 - 1)}
FLOATS = {pa.float16(): "e", pa.float32(): "f", pa.float64(): "d"}
LEAVES = [pa.bool_(), *INTEGERS, *FLOATS, pa.string(), pa.binary()]
#: The types that can be inferred from JSON lines.
JSON_LEAVES = [pa.bool_(), pa.int64(), pa.float64(), pa.string()]
WORDS = ["", "a", "naïve", "漢字", "😀", "a\nb\t\"c\"\\", "x" * 300, "NaN", "null", "\u0000", "{}"]


class Tables:
    """`leaves`: the types of values; `nulls`, `lists`, `fixed`, `structs`: what may occur."""

    def __init__(self, seed, leaves=LEAVES, nulls=True, fixed=True, structs=True, finite=False, depth=3):
        self.random = random.Random(seed)
        self.leaves, self.nulls, self.fixed, self.structs, self.finite, self.depth = leaves, nulls, fixed, structs, finite, depth

    def type(self, depth):
        kinds = ["leaf", "leaf"]
        if depth > 0:
            kinds += ["list", "list"] + ["fixed"] * self.fixed + ["struct"] * self.structs
        kind = self.random.choice(kinds)
        if kind == "list":
            return pa.list_(self.field("element", depth - 1))
        if kind == "fixed":
            return pa.list_(self.field("element", depth - 1), self.random.randint(1, 3))
        if kind == "struct":
            return pa.struct([self.field(name, depth - 1) for name in ["a", "b", "c"][: self.random.randint(1, 3)]])
        return self.random.choice(self.leaves)

    def field(self, name, depth):
        return pa.field(name, self.type(depth), nullable=self.nulls and self.random.random() < 0.6)

    def value(self, field):
        if field.nullable and self.random.random() < 0.2:
            return None
        ty, r = field.type, self.random
        if pa.types.is_fixed_size_list(ty):
            return [self.value(ty.value_field) for _ in range(ty.list_size)]
        if pa.types.is_list(ty):
            return [self.value(ty.value_field) for _ in range(r.choice([0, 0, 1, 2, 5]))]
        if pa.types.is_struct(ty):
            return {f.name: self.value(f) for f in ty}
        if pa.types.is_boolean(ty):
            return r.random() < 0.5
        if ty in INTEGERS:
            low, high = INTEGERS[ty]
            return r.choice([low, high, 0, r.randint(low, high), r.randint(0, 9)])
        if ty in FLOATS:
            special = [0.0, -0.0, 1.5] + ([] if self.finite else [math.nan, math.inf, -math.inf])
            value = r.choice([r.uniform(-1000, 1000), r.choice(special)])
            return struct.unpack("<" + FLOATS[ty], struct.pack("<" + FLOATS[ty], value))[0]
        if pa.types.is_string(ty):
            return r.choice(WORDS)
        return r.choice([b"", b"plain", b"\xff\x00\xfe", bytes(r.randrange(256) for _ in range(9))])

    def table(self, nfields, nrows):
        schema = pa.schema([self.field(f"f{i}", self.depth) for i in range(nfields)])
        rows = [{f.name: self.value(f) for f in schema} for _ in range(nrows)]
        return self.build(schema, rows)

    @staticmethod
    def build(schema, rows):
        columns = [pa.array([row[f.name] for row in rows], f.type) for f in schema]
        return pa.table(columns, schema=schema)


def contains(ty, test):
    """Whether a type, or one inside it, satisfies the test."""
    if test(ty):
        return True
    if pa.types.is_struct(ty):
        return any(contains(f.type, test) for f in ty)
    if pa.types.is_list(ty) or pa.types.is_fixed_size_list(ty) or pa.types.is_large_list(ty):
        return contains(ty.value_type, test)
    return False


def without(table, test):
    """The table without the columns whose type contains one that satisfies the test."""
    return table.select([f.name for f in table.schema if not contains(f.type, test)])


def json_rows(table):
    """The records as tatter writes them in JSON lines: float32 and float16 in the shortest form of their dtype."""
    return as_json([{f.name: shortest(value, f.type) for f, value in zip(table.schema, row.values())} for row in table.to_pylist()])


def shortest(value, ty):
    if value is None:
        return None
    if pa.types.is_list(ty) or pa.types.is_fixed_size_list(ty) or pa.types.is_large_list(ty):
        return [shortest(v, ty.value_type) for v in value]
    if pa.types.is_struct(ty):
        return {f.name: shortest(v, f.type) for f, v in zip(ty, value.values())}
    for is_type, native in [(pa.types.is_float32, np.float32), (pa.types.is_float16, np.float16)]:
        if is_type(ty):
            # Subnormal numbers are written with all digits.
            return float(value) if abs(value) < np.finfo(native).tiny else float(str(native(value)))
    return value
