"""Random tables of every Arrow type with metadata: converting them from Arrow to Arrow and from Parquet to Parquet keeps values, types,
nullability and metadata; only dictionary and run-end encodings of nested values are decoded in Arrow. Converting to JSON lines and back with
the printed schema keeps the values. FACTS_SEEDS is the number of seeds (200; 2000 for a thorough run), FACTS_FIRST the first seed."""
import datetime
import decimal
import os
import random
import uuid

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from harness import expect

SEEDS = range(int(os.environ.get("FACTS_FIRST", 0)), int(os.environ.get("FACTS_FIRST", 0)) + int(os.environ.get("FACTS_SEEDS", 200)))
ZONES = [None, "UTC", "Europe/Berlin", "+05:30"]
WORDS = ["", "a", "naïve", "😀", "x" * 40, "\u0000"]
UNITS = ["s", "ms", "us", "ns"]
#: Numbers of columns and rows of some tables, by seed.
SIZES = {0: (5, 0), 1: (0, 0), 2: (9, 1), 3: (5, 100)}


class Facts:
    """`parquet`: only types that Parquet stores and PyArrow reads back from its own files; `lines`: only types that JSON lines
    distinguish (there, the JSON text null is a null, and bool8 an integer)."""

    def __init__(self, seed, parquet=False, lines=False, chunks=1):
        self.random, self.parquet, self.lines, self.chunks = random.Random(seed), parquet, lines, chunks

    def metadata(self):
        pairs = {"comment": "ü", "unit": "m/s", "note": ""}
        chosen = {k: v for k, v in pairs.items() if self.random.random() < 0.2}
        return chosen or None

    def leaf(self):
        r = self.random
        unit = r.choice(UNITS[1:] if self.parquet else UNITS)
        choices = [
            pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
            pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.binary(), pa.large_binary(),
            pa.binary(r.randint(1, 9)), pa.date32(), pa.time32("ms"), pa.time64(r.choice(["us", "ns"])),
            pa.timestamp(unit, r.choice(ZONES)), pa.duration(r.choice(UNITS)), pa.decimal128(r.randint(5, 38), 2), pa.decimal256(r.randint(40, 70), 3),
            pa.uuid(), pa.json_(),
        ]
        if not self.parquet:
            choices += [pa.date64(), pa.time32("s"), pa.month_day_nano_interval(), pa.string_view(), pa.binary_view(), pa.null(), pa.int8() if self.lines else pa.bool8(),
                        pa.decimal32(7, 2), pa.decimal64(15, 3), pa.opaque(pa.int32(), "shape", "example")]
        return r.choice(choices)

    def type(self, depth):
        r = self.random
        if depth == 0 or r.random() < 0.4:
            return self.leaf()
        kinds = ["list", "large_list", "fixed", "struct", "map"] + ([] if self.parquet else ["list_view", "large_list_view", "dictionary"])
        kind = r.choice(kinds)
        if kind == "struct":
            return pa.struct([self.field(name, depth - 1) for name in ["a", "b", "c"][: r.randint(1, 3)]])
        if kind == "map":
            key = r.choice([pa.string(), pa.string(), pa.int32(), pa.binary(), pa.date32()])
            return pa.map_(key, self.field("value", depth - 1), keys_sorted=not self.parquet and r.random() < 0.3)
        if kind == "dictionary":
            return pa.dictionary(r.choice([pa.int8(), pa.uint16(), pa.int32()]), r.choice([pa.string(), pa.int64(), pa.binary(), pa.date32(), pa.large_string()]), ordered=r.random() < 0.3)
        item = self.field("element", depth - 1)
        if kind == "fixed":
            return pa.list_(item, r.randint(1, 3))
        return {"list": pa.list_, "large_list": pa.large_list, "list_view": pa.list_view, "large_list_view": pa.large_list_view}[kind](item)

    def field(self, name, depth):
        ty = self.type(depth)
        return pa.field(name, ty, nullable=pa.types.is_null(ty) or self.random.random() < 0.7, metadata=self.metadata())

    def value(self, field, ty=None):
        r, ty = self.random, ty or field.type
        if field.nullable and r.random() < 0.2 or pa.types.is_null(ty):
            return None
        t = pa.types
        if isinstance(ty, pa.BaseExtensionType):
            if ty.extension_name == "arrow.uuid":
                return uuid.UUID(int=r.getrandbits(128)).bytes
            if ty.extension_name == "arrow.json":
                return r.choice(['{"a": 1}', "[]", "1" if self.lines else "null", "1"])
            if ty.extension_name == "arrow.bool8":
                return r.choice([0, 1])
            return r.randint(0, 99)
        if t.is_boolean(ty):
            return r.random() < 0.5
        if t.is_integer(ty):
            bits = ty.bit_width
            return r.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if t.is_signed_integer(ty) else r.randint(0, 2**bits - 1)
        if t.is_floating(ty):
            return r.choice([0.0, -1.5, 1024.0, float("inf")])
        if t.is_string(ty) or t.is_large_string(ty) or str(ty) == "string_view":
            return r.choice(WORDS)
        if t.is_fixed_size_binary(ty):
            return bytes(r.randrange(256) for _ in range(ty.byte_width))
        if t.is_binary(ty) or t.is_large_binary(ty) or str(ty) == "binary_view":
            return r.choice([b"", b"\xff\x00", b"plain", b"y" * 30])
        if t.is_date(ty):
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=r.randint(-40000, 40000))
        if t.is_time32(ty):
            return pa.scalar(r.randrange(86400 if ty.unit == "s" else 86_400_000), pa.int32()).cast(ty)
        if t.is_time64(ty):
            return pa.scalar(r.randrange(86_400_000_000), pa.int64()).cast(ty)
        if t.is_timestamp(ty) or t.is_duration(ty):
            most = 2**35 if ty.unit == "s" else 2**40
            return pa.scalar(r.randint(-most, most), pa.int64()).cast(ty)
        if t.is_decimal(ty):
            return decimal.Decimal(r.randint(-(10**4), 10**4)).scaleb(-ty.scale)
        if str(ty) == "month_day_nano_interval":
            return pa.MonthDayNano([r.randint(-9, 9), r.randint(-9, 9), r.randint(-9, 9)])
        if t.is_struct(ty):
            return {f.name: self.value(f) for f in ty}
        if t.is_dictionary(ty):
            return self.value(field, ty.value_type)
        if t.is_map(ty):
            keys = {str(self.value(pa.field("key", ty.key_type, False))): None for _ in range(r.randint(0, 2))}
            made = {pa.string(): str, pa.int32(): int, pa.binary(): str.encode, pa.date32(): datetime.date.fromisoformat}[ty.key_type]
            return [(made(key), self.value(ty.item_field)) for key in keys]
        count = ty.list_size if t.is_fixed_size_list(ty) else r.choice([0, 0, 1, 2, 4])
        return [self.value(ty.value_field) for _ in range(count)]

    def table(self, nfields, nrows):
        fields, columns = [], []
        for number in range(nfields):
            field = self.field(f"f{number}", 3)
            values = [self.value(field) for _ in range(nrows)]
            try:
                columns.append(self.column(field.type, values))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, TypeError, ValueError):
                continue  # PyArrow cannot build such an array from Python values.
            fields.append(field)
        if not self.parquet and nrows > 4:
            for name, column in self.built(nrows):
                columns.append(column)
                fields.append(pa.field(name, column.type))
        table = pa.table(columns, schema=pa.schema(fields, metadata=self.metadata()))
        return table.slice(self.random.randint(0, nrows // 2)) if self.random.random() < 0.3 else table

    def column(self, ty, values):
        """A column in one or several chunks, each with its own dictionaries."""
        if self.chunks < 2:
            return build(ty, values)
        cuts = sorted(self.random.choices(range(len(values) + 1), k=self.chunks - 1))
        return pa.chunked_array([build(ty, values[a:b]) for a, b in zip([0, *cuts], [*cuts, len(values)])], ty)

    def array(self, nrows, depth=1):
        """An array of any type that PyArrow can build from Python values."""
        while True:
            field = self.field("x", depth)
            field = field.with_nullable(True)
            try:
                return build(field.type, [self.value(field) for _ in range(nrows)])
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, TypeError, ValueError):
                continue

    def built(self, nrows):
        """Columns of types that are assembled from arrays: unions, run-end encodings, dictionaries of lists, and these in lists and structures."""
        r = self.random
        made = []
        for name in ["u", "v"]:
            kind = r.choice(["dense", "sparse", "runs", "dictionary"])
            children = [self.array(nrows) for _ in range(r.randint(1, 3))]
            # PyArrow cannot build dictionaries of extension types, and cannot print lists of some.
            if any(has_encoding(child.type) or kind in ["dictionary", "runs"] and "extension" in str(child.type) or "opaque" in str(child.type) for child in children):
                continue
            if kind in ["dense", "sparse"]:
                ids = [r.randrange(len(children)) for _ in range(nrows)]
                names = ["a", "b", "c"][: len(children)]
                if kind == "sparse":
                    column = pa.UnionArray.from_sparse(pa.array(ids, pa.int8()), children, names)
                else:
                    offsets = [ids[:i].count(chosen) for i, chosen in enumerate(ids)]
                    column = pa.UnionArray.from_dense(pa.array(ids, pa.int8()), pa.array(offsets, pa.int32()), children, names)
            elif kind == "runs":
                ends = sorted(r.sample(range(1, nrows), 4)) + [nrows]
                column = pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), children[0].slice(0, 5))
            else:
                keys = pa.array([r.choice([None, *range(nrows)]) for _ in range(nrows)], pa.int16())
                column = pa.DictionaryArray.from_arrays(keys, children[0])
            if r.random() < 0.3:
                cuts = sorted(r.choices(range(nrows + 1), k=nrows - 1))
                column = pa.ListArray.from_arrays(pa.array([0, *cuts, nrows], pa.int32()), column)
            elif r.random() < 0.3:
                column = pa.StructArray.from_arrays([column, pa.array(range(nrows))], ["x", "y"])
            made.append((name, column))
        return made


def has_encoding(ty):
    """Whether the type contains dictionary or run-end encodings."""
    if isinstance(ty, pa.BaseExtensionType):
        return False
    if pa.types.is_dictionary(ty) or pa.types.is_run_end_encoded(ty):
        return True
    return any(has_encoding(ty.field(i).type) for i in range(ty.num_fields))


def decoded(ty):
    """The type without dictionary and run-end encodings of nested values."""
    t = pa.types
    inner = lambda field: field.with_type(decoded(field.type))
    if not has_encoding(ty):
        return ty
    if t.is_dictionary(ty) or t.is_run_end_encoded(ty):
        return decoded(ty.value_type) if t.is_nested(ty.value_type) or t.is_null(ty.value_type) or has_encoding(ty.value_type) else ty
    if t.is_struct(ty):
        return pa.struct([inner(field) for field in ty])
    if t.is_map(ty):
        return pa.map_(inner(ty.key_field), inner(ty.item_field), keys_sorted=ty.keys_sorted)
    if t.is_fixed_size_list(ty):
        return pa.list_(inner(ty.value_field), ty.list_size)
    for test, make in [(t.is_list, pa.list_), (t.is_large_list, pa.large_list), (t.is_list_view, pa.list_view), (t.is_large_list_view, pa.large_list_view)]:
        if test(ty):
            return make(inner(ty.value_field))
    return ty


def build(ty, values):
    """An array of the given type; scalars already have their type."""
    plain = lambda v: as_python(v) if isinstance(v, pa.Scalar) else v
    if isinstance(ty, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(ty, pa.array([plain(v) for v in values], ty.storage_type))
    return pa.array(deep(values, plain), ty)


def deep(value, plain):
    if isinstance(value, list):
        return [deep(v, plain) for v in value]
    if isinstance(value, tuple) and not isinstance(value, pa.MonthDayNano):
        return tuple(deep(v, plain) for v in value)
    if isinstance(value, dict):
        return {k: deep(v, plain) for k, v in value.items()}
    return plain(value)


def in_bytes(value):
    return value.bytes if isinstance(value, uuid.UUID) else value


def as_python(scalar):
    try:
        return scalar.as_py()
    except OverflowError:  # a time that Python's datetime cannot represent
        return scalar.value


def orders(schema):
    """Which dictionaries are ordered; a comparison of schemas ignores it."""
    inside = lambda ty: [ty.ordered] if pa.types.is_dictionary(ty) else [order for i in range(ty.num_fields) for order in inside(ty.field(i).type)]
    return [inside(field.type) for field in schema]


def same(found, expected, types=True):
    found.validate(full=True)
    schema = pa.schema([field.with_type(decoded(field.type)) for field in expected.schema], metadata=expected.schema.metadata)
    if types:
        expect(orders(found.schema), orders(schema))
    if types and not found.schema.equals(schema, check_metadata=True):
        show = lambda schema: schema.to_string(show_field_metadata=True, show_schema_metadata=True)
        raise AssertionError(f"schema\n{show(found.schema)}\ninstead of\n{show(schema)}")
    if not types or schema != expected.schema or not found.equals(expected):
        # NaN does not equal itself, so values are compared as text, in Arrow's form if Python's datetime cannot represent them.
        for name, one, other in zip(expected.column_names, found.columns, expected.columns):
            try:
                texts = [str(deep(value, in_bytes)) for value in one.to_pylist()], [str(deep(value, in_bytes)) for value in other.to_pylist()]
            except OverflowError:
                texts = str(one.combine_chunks()), str(other.combine_chunks())
            if texts[0] != texts[1]:
                raise AssertionError(f"{name}: {texts[0]}\ninstead of\n{texts[1]}"[:2000])


def run(harness):
    for seed in SEEDS:
        harness.check(f"arrow to arrow, seed {seed}", lambda: arrow(harness, seed))
        harness.check(f"batched and unbatched, seed {seed}", lambda: batched(harness, seed))
        harness.check(f"arrow stream of several dictionaries, seed {seed}", lambda: stream(harness, seed))
        harness.check(f"parquet to parquet, seed {seed}", lambda: parquet(harness, seed))
        harness.check(f"arrow to JSON lines and back, seed {seed}", lambda: jsonl(harness, seed))


def is_valid(table):
    """PyArrow builds null structures whose dictionaries have keys without a value, and itself rejects them as invalid."""
    try:
        table.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def extended(field):
    """Whether it has an extension type, inside or outside, which batches lose with a notice."""
    inside = [field.type.field(i) for i in range(field.type.num_fields)] if not pa.types.is_dictionary(field.type) else []
    return isinstance(field.type, pa.BaseExtensionType) or b"ARROW:extension:name" in (field.metadata or {}) or any(map(extended, inside))


def arrow(harness, seed):
    table = Facts(seed).table(*SIZES.get(seed % 25, (5, 30)))
    if not is_valid(table):
        return
    source, out = harness.path("facts.arrow"), harness.path("facts-out.arrows")
    with ipc.new_file(source, table.schema) as writer:
        writer.write_table(table, max_chunksize=11)
    harness.run("convert", source, "-o", out)
    with pa.memory_map(out) as file:
        same(ipc.open_stream(file).read_all().combine_chunks(), ipc.open_file(source).read_all().combine_chunks())


def batched(harness, seed):
    """Batches of records, and their records again, are the records, but any list may have nulls."""
    table = Facts(seed).table(*SIZES.get(seed % 25, (5, 30)))
    if not is_valid(table) or table.num_columns == 0 or any(extended(field) for field in table.schema):
        return
    source, out = harness.path("facts.arrow"), harness.path("facts-out.arrow")
    with ipc.new_file(source, table.schema) as writer:
        writer.write_table(table, max_chunksize=11)
    harness.run("batch", "4", "then", "unbatch", source, "-o", out)
    with pa.memory_map(out) as file:
        found, expected = ipc.open_file(file).read_all().combine_chunks(), ipc.open_file(source).read_all().combine_chunks()
        same(found, expected, types=False)
        kept = pa.schema([opened(field.with_type(decoded(field.type))) for field in expected.schema], metadata=expected.schema.metadata)
        if not pa.schema(map(opened, found.schema), metadata=found.schema.metadata).equals(kept, check_metadata=True):
            raise AssertionError(f"{found.schema}\ninstead of\n{expected.schema}")


def opened(field):
    """The field with nullable lists, and items of lists."""
    ty = field.type
    kinds = [(pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list), (pa.types.is_list_view, pa.list_view),
             (pa.types.is_large_list_view, pa.large_list_view), (pa.types.is_fixed_size_list, lambda item: pa.list_(item, ty.list_size))]
    for is_kind, make in kinds:
        if is_kind(ty):
            return field.with_type(make(opened(ty.value_field).with_nullable(True))).with_nullable(True)
    if pa.types.is_struct(ty):
        return field.with_type(pa.struct([opened(ty.field(i)) for i in range(ty.num_fields)]))
    return field


def stream(harness, seed):
    table = Facts(seed, chunks=3).table(5, 30)
    if not is_valid(table):
        return
    source, out = harness.path("facts.arrows"), harness.path("facts-out.arrow")
    with ipc.new_stream(source, table.schema) as writer:
        writer.write_table(table)
    harness.run("convert", source, "-o", out)
    with pa.memory_map(out) as file:
        same(ipc.open_file(file).read_all(), ipc.open_stream(source).read_all())


def jsonl(harness, seed):
    table = Facts(seed, lines=True).table(5, 30)
    # A union has no nulls of its own: a null is read as a null of the first member that can be null.
    source, out = harness.path("facts.arrow"), harness.path("facts-out.arrow")
    lines = harness.path("facts.jsonl")
    with ipc.new_file(source, table.schema) as writer:
        writer.write_table(table, max_chunksize=11)
    schema = harness.run("schema", source).decode()
    harness.run("convert", source, "-o", lines)
    harness.run("convert", "--schema", schema, lines, "-o", out)
    with pa.memory_map(out) as file:
        same(ipc.open_file(file).read_all().combine_chunks(), ipc.open_file(source).read_all().combine_chunks(), types=False)


def parquet(harness, seed):
    table = Facts(seed, parquet=True).table(5, 30)
    source, out = harness.path("facts.parquet"), harness.path("facts-out.parquet")
    try:
        pq.write_table(table, source, row_group_size=11)
        expected = pq.read_table(source)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError):
        return  # PyArrow itself cannot store or read it.
    if expected.num_columns == 0:
        return
    harness.run("convert", source, "-o", out)
    same(pq.read_table(out).combine_chunks(), expected.combine_chunks())
