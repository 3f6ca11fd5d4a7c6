"""Parquet and Arrow IPC, in both directions, with pyarrow, pandas, polars, duckdb and awkward."""
import decimal
import datetime
import io
import json
import re

import awkward as ak
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from harness import as_json, expect
from tables import LEAVES, Tables, contains, json_rows, without

SEEDS = range(12)


def read_parquet(reader, path):
    """All records of a Parquet file as a reader returns them."""
    if reader == "pyarrow":
        return pq.read_table(path).to_pylist()
    if reader == "pandas":
        frame = pd.read_parquet(path, dtype_backend="pyarrow")
        return pa.Table.from_pandas(frame, preserve_index=False).to_pylist() if len(frame.columns) else []
    if reader == "polars":
        return pl.read_parquet(path, use_pyarrow=False).to_dicts()
    if reader == "duckdb":
        cursor = duckdb.sql(f"select * from '{path}'")
        names = cursor.columns
        return [dict(zip(names, row)) for row in cursor.fetchall()]
    return ak.from_parquet(path).to_list()


def fixed_in_struct(ty):
    """PyArrow refuses these in Parquet, even in its own files, if a structure is null: "Expected all lists to be of size"."""
    return pa.types.is_struct(ty) and contains(ty, pa.types.is_fixed_size_list)


def nothing(ty):
    return False


#: Types that a reader cannot read from Parquet, regardless of the writer.
UNREAD = {"pyarrow": fixed_in_struct, "pandas": fixed_in_struct, "polars": nothing, "duckdb": nothing, "awkward": fixed_in_struct}


def table_from_ipc(path, how):
    with pa.memory_map(path) as source:
        return (ipc.open_file if how == "file" else ipc.open_stream)(source).read_all()


def run(harness):
    written(harness)
    read(harness)
    large(harness)
    types(harness)
    foreign(harness)
    tensor_types(harness)


def written(harness):
    """Every reader reads what tatter writes: the values, and with pyarrow also the types."""
    for seed in SEEDS:
        table = Tables(seed).table(6, 40)
        source, rows = harness.path(f"w{seed}.arrows"), table.to_pylist()
        with ipc.new_stream(source, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
        for codec in ["zstd", "snappy", "none", "gzip", "lz4"][: 5 if seed < 2 else 1]:
            out = harness.path(f"w{seed}-{codec}.parquet")
            harness.check(f"arrow stream -> parquet {codec}, seed {seed}", lambda: harness.run("convert", source, "-o", out, "--compression", codec, "--row-group-rows", 17))
            harness.check(f"types and values in pyarrow, {codec}, seed {seed}", lambda: same_table(readable(pq.read_table, out, table), without(table, fixed_in_struct)))
        for reader, unread in UNREAD.items():
            part, out = without(table, unread), harness.path(f"w{seed}-{reader}.parquet")
            if part.num_columns == 0:
                continue
            expected = [{k: v for k, v in row.items() if k in part.column_names} for row in rows]

            def check():
                harness.run("select", ",".join(part.column_names), source, "-o", out)
                expect(read_parquet(reader, out), expected)

            harness.check(f"parquet read by {reader}, seed {seed}", check)
        for name, how, codec in [("o.arrow", "file", "none"), ("o.arrows", "stream", "none"), ("z.feather", "file", "lz4"), ("z.arrows", "stream", "zstd:3")]:
            out = harness.path(f"w{seed}-{name}")

            def check():
                harness.run("convert", source, "-o", out, "--compression", codec)
                same_table(table_from_ipc(out, how), table)

            harness.check(f"arrow {how} {codec}, seed {seed}", check)
        harness.check(f"feather in polars, seed {seed}", lambda: expect(pl.read_ipc(open(harness.path(f"w{seed}-o.arrow"), "rb")).to_dicts(), rows))


def readable(read, path, table):
    return read(path, columns=without(table, fixed_in_struct).column_names)


def same_table(found, expected):
    found.validate(full=True)
    expect(described(found.schema), described(expected.schema))
    expect(found.to_pylist(), expected.to_pylist())


def described(schema):
    """Names, types, nullability of fields only: tatter's `with nulls` applies to all inner levels at once."""
    text = lambda ty: re.sub(r" \('\w+'\)", "", str(ty)).replace(" not null", "").replace("item:", "element:")
    return [[f.name, text(f.type), f.nullable] for f in schema]


def read(harness):
    """tatter reads what other writers write: the same records, also from pipes."""
    for seed in SEEDS:
        table = Tables(100 + seed).table(5, 50)
        expected = json_rows(table)
        writers = {
            "pyarrow.parquet": lambda path: pq.write_table(table, path, row_group_size=13),
            "pyarrow-v2.parquet": lambda path: pq.write_table(table, path, data_page_version="2.0", data_page_size=64, write_page_index=True, compression="zstd"),
            "pyarrow-noschema.parquet": lambda path: pq.write_table(table, path, store_schema=False, use_dictionary=False, compression="brotli"),
            "stream.arrows": lambda path: write_ipc(ipc.new_stream, path, table),
            "file.arrow": lambda path: write_ipc(ipc.new_file, path, table),
            "feather.feather": lambda path: feather.write_feather(table, path, compression="zstd", chunksize=9),
        }
        for name, write in writers.items():
            path = harness.path(f"r{seed}-{name}")
            write(path)
            harness.check(f"{name} read, seed {seed}", lambda: expect(harness.records("convert", path), expected))
            harness.check(f"{name} counted, seed {seed}", lambda: expect(int(harness.run("count", path)), table.num_rows))
            harness.check(f"{name} head, seed {seed}", lambda: expect(harness.records("head", "21", path), expected[:21]))
        harness.check(f"stream on a pipe, seed {seed}", lambda: expect(harness.records("convert", "--from", "arrow", stdin=open(harness.path(f"r{seed}-stream.arrows"), "rb").read()), expected))
        harness.check(f"file on a pipe, seed {seed}", lambda: expect(harness.records("convert", stdin=open(harness.path(f"r{seed}-file.arrow"), "rb").read()), expected))
        others(harness, seed)


def others(harness, seed):
    """Polars, duckdb, awkward and pandas write what they can; pyarrow reads what they have written."""
    table = Tables(200 + seed, fixed=False, leaves=[t for t in LEAVES if t != pa.float16()]).table(5, 50)

    def check(name, write):
        path = harness.path(f"x{seed}-{name}.parquet")

        def test():
            write(path)
            expect(harness.records("convert", path), json_rows(pq.read_table(path)))

        harness.check(f"parquet of {name}, seed {seed}", test)

    check("polars", lambda path: pl.from_arrow(table).write_parquet(path))
    check("duckdb", lambda path: duckdb.sql("select * from source").write_parquet(path) if register(table) else None)
    check("awkward", lambda path: ak.to_parquet(ak.from_arrow(table), path))
    check("pandas", lambda path: table.to_pandas(types_mapper=pd.ArrowDtype).to_parquet(path))

    def polars_ipc():
        path = harness.path(f"x{seed}-polars.arrow")
        pl.from_arrow(table).write_ipc(path)
        expect(harness.records("convert", path), json_rows(table))

    harness.check(f"arrow file of polars, seed {seed}", polars_ipc)


def register(table):
    duckdb.register("source", table)
    return True


def write_ipc(new, path, table):
    with new(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=11)


def large(harness):
    """A row group and a record batch that are too large for one task are split into ranges of rows."""
    generator = np.random.default_rng(7)
    lengths = generator.integers(0, 16, 700_000)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = pa.array(generator.integers(0, 1000, offsets[-1]))
    table = pa.table({"i": np.arange(len(lengths)), "x": pa.ListArray.from_arrays(pa.array(offsets), values), "s": pa.array(generator.integers(0, 99, len(lengths))).cast(pa.string())})
    for name, write in [("large.parquet", lambda path: pq.write_table(table, path)), ("large.arrow", lambda path: feather.write_feather(table, path, compression="uncompressed", chunksize=10**9))]:
        source, out = harness.path(name), harness.path("large-out.parquet")
        write(source)

        def check():
            harness.run("convert", source, "-o", out)
            found = pq.read_table(out)
            if found.cast(table.schema) != table:
                raise AssertionError("the values differ")
            harness.run("skip", "400001", "then", "head", "3", source, "-o", out)
            expect(pq.read_table(out).to_pylist(), table.slice(400_001, 3).to_pylist())

        harness.check(name, check)


def types(harness):
    """Layouts that tatter does not write, and large, view and dictionary types: they read as their values."""
    strings = ["a", None, "a longer string than a view holds", "", "a"]
    lists = [[1, 2], None, [], [3], [None]]
    layouts = {
        "large_string": pa.array(strings, pa.large_string()),
        "string_view": pa.array(strings, pa.string_view()),
        "binary_view": pa.array([s and s.encode() for s in strings], pa.binary_view()),
        "dictionary": pa.array(strings).dictionary_encode(),
        "dictionary of integers": pa.array([5, None, 7, 5, 5]).dictionary_encode(),
        "large_list": pa.array(lists, pa.large_list(pa.int64())),
        "list_view": pa.array(lists, pa.list_view(pa.int64())),
        "large_list_view": pa.array(lists, pa.large_list_view(pa.int64())),
        "list of dictionaries": pa.array([["a"], None, ["b", "a"], [], [None]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        "sliced list": pa.array([[9]] + lists)[1:],
        "run-end encoded": pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array([1, None])),
        "null": pa.nulls(5),
        "list of nulls": pa.array([[], None, [None], [], []], pa.list_(pa.null())),
    }
    for name, array in layouts.items():
        table = pa.table({"x": array})
        expected = as_json(pa.table({"x": pa.array(array.to_pylist(), array.type)}).to_pylist() if name != "run-end encoded" else [{"x": v} for v in array.to_pylist()])
        for how, new in [("stream", ipc.new_stream), ("file", ipc.new_file)]:
            path = harness.path(f"layout-{how}.arrow")

            def check():
                write_ipc(new, path, table)
                expect(harness.records("convert", path), expected)

            harness.check(f"{name} in an arrow {how}", check)

    def garbage():
        # Null rows that have values.
        values = pa.array(range(6), pa.int64())
        array = pa.ListArray.from_arrays(pa.array([0, 2, 4, 6], pa.int32()), values, mask=pa.array([False, True, False]))
        path = harness.path("garbage.arrow")
        write_ipc(ipc.new_file, path, pa.table({"x": array}))
        expect(harness.records("convert", path), [{"x": [0, 1]}, {"x": None}, {"x": [4, 5]}])

    harness.check("null lists that have values", garbage)

    # Dictionaries inside maps, which not every reader of Parquet decodes.
    kinds = {"bool": pa.array([True, False]), "float16": pa.array([1.5, 2]).cast(pa.float16()), "int64": pa.array([7, 8]), "string": pa.array(["a", "b"])}
    for kind, values in kinds.items():
        table = pa.table({"x": pa.MapArray.from_arrays(pa.array([0, 2], pa.int32()), pa.array([1, 2]), values.dictionary_encode())})
        expected = [{"x": [{"key": key, "value": value} for key, value in zip([1, 2], values.to_pylist())]}]

        def in_map(table=table, expected=expected):
            theirs, ours, arrow = (harness.path(name) for name in ("map.parquet", "own.parquet", "map.arrow"))
            pq.write_table(table, theirs)
            write_ipc(ipc.new_file, arrow, table)
            harness.run("convert", arrow, "-o", ours)
            for path in (theirs, ours):
                expect(harness.records("convert", path), expected)

        harness.check(f"dictionary of {kind} in a map in Parquet", in_map)

    def deltas():
        sink = io.BytesIO()
        field = pa.dictionary(pa.int32(), pa.string())
        schema = pa.schema([("x", field)])
        with ipc.new_stream(sink, schema, options=ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as writer:
            for values, keys in [(["a", "b"], [0, 1]), (["a", "b", "c"], [2, 0])]:
                writer.write_batch(pa.record_batch([pa.DictionaryArray.from_arrays(pa.array(keys, pa.int32()), pa.array(values))], schema=schema))
        expect(harness.records("convert", stdin=sink.getvalue()), [{"x": v} for v in ["a", "b", "c", "a"]])

    harness.check("delta dictionaries", deltas)

    def legacy():
        # Unannotated binary, and INT96 timestamps.
        path, out = harness.path("legacy.parquet"), harness.path("legacy-out.parquet")
        stamp = datetime.datetime(2024, 2, 29, 12, 34, 56, 789000)
        table = pa.table({"b": pa.array([b"\xff", None]), "t": pa.array([stamp, None], pa.timestamp("ns"))})
        pq.write_table(table, path, use_deprecated_int96_timestamps=True, store_schema=False)
        harness.run("convert", path, "-o", out)
        expect(pq.read_table(out)["t"].cast(pa.timestamp("us")).to_pylist(), [stamp, None])
        expect(pq.read_table(out)["b"].to_pylist(), [b"\xff", None])

    harness.check("INT96 and unannotated binary", legacy)

    def instants():
        # Spark's INT96 timestamps are instants, in microseconds unless another writer put finer values there.
        path, out = harness.path("spark.parquet"), harness.path("spark-out.parquet")
        spark = json.dumps({"type": "struct", "fields": [{"name": "t", "type": "timestamp", "nullable": True, "metadata": {}}]})
        for nanos, stored, unit in [(1709210096789000000, False, "us"), (1709210096789000001, False, "ns"), (1709210096789000000, True, "us")]:
            table = pa.table({"t": pa.array([nanos, None], pa.timestamp("ns"))})
            with pq.ParquetWriter(path, table.schema, use_deprecated_int96_timestamps=True, store_schema=stored) as writer:
                writer.write_table(table)
                writer.add_key_value_metadata({"org.apache.spark.sql.parquet.row.metadata": spark})
            harness.run("convert", path, "-o", out)
            found = pq.read_table(out)["t"]
            expect(found.type, pa.timestamp(unit, "UTC"))
            expect(found.cast(pa.timestamp("ns", "UTC")).cast(pa.int64()).to_pylist(), [nanos, None])

    harness.check("INT96 timestamps of Spark", instants)

    def pandas_index():
        # A RangeIndex describes the number of records; what else pandas describes stays.
        path, out = harness.path("pandas.parquet"), harness.path("pandas-out.parquet")
        table = pa.table({"a": pa.array([5, None, 7])})
        index = [{"kind": "range", "name": None, "start": 0, "stop": 3, "step": 1}]
        column = {"name": "a", "field_name": "a", "pandas_type": "int64", "numpy_type": "Int64", "metadata": None}
        described = {"index_columns": index, "column_indexes": [], "columns": [column], "pandas_version": "3.0.0"}
        pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(described)}), path)
        for chain, kept in [(["convert"], index), (["skip", "1"], [])]:
            harness.run(*chain, path, "-o", out)
            found = json.loads(pq.read_schema(out).metadata[b"pandas"])
            expect((found["index_columns"], found["columns"]), (kept, [column]))

    harness.check("the index of pandas", pandas_index)

    def categories():
        # Those that do not occur are kept too.
        path, out, again = harness.path("categories.parquet"), harness.path("categories-out.parquet"), harness.path("categories-out.arrow")
        array = pa.DictionaryArray.from_arrays(pa.array([2, None, 1, 2], pa.int8()), pa.array(["z", "b", "a"]))
        pq.write_table(pa.table({"c": array}), path, row_group_size=3)
        harness.run("convert", path, "-o", out)
        harness.run("convert", out, "-o", again)
        for table in [pq.read_table(out), ipc.open_file(again).read_all()]:
            for chunk in table["c"].chunks:
                expect(chunk.dictionary.to_pylist(), ["z", "b", "a"])
            expect(table["c"].to_pylist(), ["a", None, "b", "a"])

    harness.check("categories that do not occur", categories)

    def integers():
        # Polars' integers of 128 bits, and other columns beside them.
        if not hasattr(pl, "Int128"):
            return
        path = harness.path("int128.arrow")
        frame = pl.DataFrame({"i": pl.Series([2**100, None, -1], dtype=pl.Int128), "d": pl.Series([1, 2, 3], dtype=pl.Duration("us"))})
        frame.write_ipc(path)
        expect([record["i"] for record in harness.records("convert", path)], [str(2**100), None, "-1"])
        frame.write_parquet(path)
        expect([record["d"] for record in harness.records("select", "d", "--from", "parquet", path)], ["PT0.000001S", "PT0.000002S", "PT0.000003S"])

    harness.check("integers of 128 bits", integers)

    def several():
        first, second, out = harness.path("one.parquet"), harness.path("two.parquet"), harness.path("both.parquet")
        pq.write_table(pa.table({"x": pa.array([1, 2], pa.int32()), "y": ["a", "b"]}), first)
        pq.write_table(pa.table({"z": [[1.5]], "x": pa.array([2**40], pa.int64())}), second)
        harness.run("convert", first, second, "-o", out)
        expect(pq.read_table(out).to_pylist(), [{"x": 1, "y": "a", "z": None}, {"x": 2, "y": "b", "z": None}, {"x": 2**40, "y": None, "z": [1.5]}])

    harness.check("files of different schemas", several)

    def sparse():
        path, back = harness.path("sparse.parquet"), harness.path("sparse.arrow")
        lines = b'{"s": {"indices": [[0, 1], [2, 3]], "values": [1.5, 2.5], "dense_shape": [3, 4]}}\n{"s": {"indices": [], "values": [], "dense_shape": [3, 4]}}\n'
        harness.run("convert", "-o", path, stdin=lines)
        found = pq.read_table(path)
        expect(found.to_pylist(), [json.loads(line) for line in lines.splitlines()])
        harness.run("convert", path, "-o", back)
        expect(harness.records("convert", back), [json.loads(line) for line in lines.splitlines()])

    harness.check("sparse tensors", sparse)


def foreign(harness):
    """Types without a tensor equivalent are carried unchanged."""
    day = datetime.date(2024, 2, 29)
    noon = datetime.datetime(2024, 2, 29, 12, 0, 0, 123456)
    columns = {
        "date32": pa.array([day, None]),
        "timestamp": pa.array([noon, None], pa.timestamp("us")),
        "timestamp with zone": pa.array([noon, None], pa.timestamp("us", tz="Europe/Berlin")),
        "time32": pa.array([datetime.time(1, 2, 3), None], pa.time32("ms")),
        "time64": pa.array([datetime.time(1, 2, 3, 4), None], pa.time64("us")),
        "duration": pa.array([datetime.timedelta(seconds=5), None], pa.duration("ms")),
        "decimal128": pa.array([decimal.Decimal("123.45"), None], pa.decimal128(20, 2)),
        "decimal256": pa.array([decimal.Decimal("1.5"), None], pa.decimal256(60, 1)),
        "fixed binary": pa.array([b"abc", None], pa.binary(3)),
        "map": pa.array([[("k", 1), ("l", None)], None], pa.map_(pa.string(), pa.int64())),
        "list of dates": pa.array([[day, None], []]),
        "struct of timestamps": pa.array([{"t": noon}, None], pa.struct([("t", pa.timestamp("us"))])),
        "map of lists": pa.array([[("k", [1, 2])], []], pa.map_(pa.string(), pa.list_(pa.int32()))),
    }
    only_arrow = {
        "interval": pa.array([pa.MonthDayNano([1, 2, 3]), None], pa.month_day_nano_interval()),
        "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    }
    for name, array in {**columns, **only_arrow}.items():
        table = pa.table({"i": pa.array([1, 2]), "x": array})
        source = harness.path("foreign.arrow")
        write_ipc(ipc.new_file, source, table)
        for out, load in [("foreign-out.parquet", pq.read_table), ("foreign-out.arrows", lambda p: table_from_ipc(p, "stream"))]:
            if out.endswith(".parquet") and name in only_arrow:
                continue

            def check():
                harness.run("convert", source, "-o", harness.path(out))
                found = load(harness.path(out))
                expect(described(found.schema), described(table.schema))
                if not found["x"].combine_chunks().equals(array) and str(found["x"].to_pylist()) != str(array.to_pylist()):
                    raise AssertionError(f"{found['x'].to_pylist()} instead of {array.to_pylist()}")

            harness.check(f"{name} carried into {out}", check)

        if pa.types.is_map(array.type) or pa.types.is_fixed_size_binary(array.type):
            continue
        harness.check(f"{name} as JSON lines", lambda: harness.run("convert", source))

    def refused():
        source = harness.path("foreign.arrow")
        write_ipc(ipc.new_file, source, pa.table({"x": only_arrow["interval"]}))
        done = harness.run("convert", source, "-o", harness.path("no.parquet"), ok=False)
        expect(done.returncode, 2)
        if b"x" not in done.stderr or b"Parquet" not in done.stderr:
            raise AssertionError(done.stderr.decode())

    harness.check("an interval to Parquet is refused", refused)


def tensor_types(harness):
    """The canonical tensor extension types, in both directions."""
    fixed = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(24, dtype=np.float32).reshape(4, 2, 3))
    source = harness.path("fixed.arrow")
    write_ipc(ipc.new_file, source, pa.table({"x": fixed}))
    rows = [{"x": row} for row in fixed.to_numpy_ndarray().tolist()]
    harness.check("fixed_shape_tensor read", lambda: expect(harness.records("convert", source), rows))
    for out in ["fixed-out.arrow", "fixed-out.parquet"]:

        def check():
            path = harness.path(out)
            harness.run("convert", source, "-o", path, "--tensor-types")
            column = (pq.read_table(path) if out.endswith(".parquet") else table_from_ipc(path, "file"))["x"].combine_chunks()
            column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
            expect([column.type.extension_name, str(column.type.value_type), column.type.shape], ["arrow.fixed_shape_tensor", "float", [2, 3]])
            expect(column.to_numpy_ndarray().tolist(), fixed.to_numpy_ndarray().tolist())
            expect(harness.records("convert", path), rows)

        harness.check(f"fixed_shape_tensor written, {out}", check)

    # Stored in another order than the logical one: read, and written, in logical order. Only matrices are compared, because
    # PyArrow 26 computes wrong strides for permutations of more axes.
    ty = pa.fixed_shape_tensor(pa.int32(), [2, 3], permutation=[1, 0], dim_names=["a", "b"])
    permuted = pa.ExtensionArray.from_storage(ty, pa.array(np.arange(12, dtype=np.int32).reshape(2, 6).tolist(), ty.storage_type))
    for write, out in [(lambda p, t: write_ipc(ipc.new_file, p, t), "permuted.arrow"), (lambda p, t: pq.write_table(t, p), "permuted.parquet")]:

        def in_logical_order():
            path, back = harness.path(out), harness.path("logical-" + out)
            write(path, pa.table({"x": permuted, "s": pa.StructArray.from_arrays([permuted], ["t"])}))
            logical = permuted.to_numpy_ndarray().tolist()
            expect(harness.records("convert", path), [{"x": row, "s": {"t": row}} for row in logical])
            harness.run("convert", path, "-o", back)
            column = (pq.read_table(back) if out.endswith(".parquet") else table_from_ipc(back, "file"))["x"].combine_chunks()
            column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
            expect([column.type.shape, column.type.dim_names, column.type.permutation], [[3, 2], ["b", "a"], None])
            expect(column.to_numpy_ndarray().tolist(), logical)

        harness.check(f"fixed_shape_tensor with a permutation, {out}", in_logical_order)

    def variable():
        lines = b'{"x": [1, 2, 3]}\n{"x": []}\n{"x": [4]}\n'
        path = harness.path("variable.arrow")
        harness.run("convert", "-o", path, "--tensor-types=variable", stdin=lines)
        column = table_from_ipc(path, "file")["x"]
        metadata = table_from_ipc(path, "file").schema.field("x")
        name = getattr(column.type, "extension_name", None) or (metadata.metadata or {}).get(b"ARROW:extension:name", b"").decode()
        expect(name, "arrow.variable_shape_tensor")
        storage = getattr(column.combine_chunks(), "storage", column.combine_chunks())
        expect([{"data": r["data"], "shape": r["shape"]} for r in storage.to_pylist()],
               [{"data": [1, 2, 3], "shape": [3]}, {"data": [], "shape": [0]}, {"data": [4], "shape": [1]}])
        expect(harness.records("convert", path), [json.loads(line) for line in lines.splitlines()])

    harness.check("variable_shape_tensor in both directions", variable)
