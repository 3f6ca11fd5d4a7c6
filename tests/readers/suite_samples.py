"""The features of the public sample files of Parquet and Arrow that PyArrow can write: every encoding, compression, page version and
nesting. tatter reads equal values from each file that PyArrow reads, and they stay equal as Parquet, Arrow and JSON lines."""
import datetime
import decimal

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from suite_facts import same

N = 300


def all_types():
    start = datetime.datetime(2009, 1, 1)
    return pa.table({
        "id": pa.array(range(N), pa.int32()),
        "bool_col": [None if i % 7 == 0 else i % 2 == 0 for i in range(N)],
        "tinyint_col": pa.array([i % 10 for i in range(N)], pa.int8()),
        "bigint_col": pa.array([i * 10**15 for i in range(N)], pa.int64()),
        "float_col": pa.array([i * 1.1 for i in range(N)], pa.float32()),
        "double_col": [None if i % 5 == 0 else i * 10.1 for i in range(N)],
        "string_col": [None if i % 11 == 0 else f"name {i % 13}" for i in range(N)],
        "binary_col": pa.array([bytes([i % 256]) * (i % 4) for i in range(N)], pa.binary()),
        "timestamp_col": pa.array([start + datetime.timedelta(minutes=i, microseconds=i) for i in range(N)], pa.timestamp("us")),
    })


def decimals():
    values = [None if i == 3 else decimal.Decimal(i).scaleb(-2) for i in range(N)]
    types = {"int32": pa.decimal128(4, 2), "int64": pa.decimal128(10, 2), "fixed": pa.decimal128(25, 2), "wide": pa.decimal256(50, 2)}
    return pa.table({name: pa.array([v if v is None or v < 100 else v % 100 for v in values], ty) for name, ty in types.items()})


def nested():
    lists = [[[["a", "b"], ["c"]], [None, ["d"]]], [[["a"], []]], [], None, [[[]], None]] * 20
    return pa.table({
        "lists": pa.array(lists, pa.list_(pa.list_(pa.list_(pa.string())))),
        "maps": pa.array([[("a", [(1, True), (2, False)])], [("b", [])], [], None, [("c", None)]] * 20,
                         pa.map_(pa.string(), pa.map_(pa.int32(), pa.bool_()))),
        "structs": pa.array([{"r": {"a": 1, "b": [{"c": "x"}, None]}}, None, {"r": None}, {"r": {"a": None, "b": []}}, {"r": {"a": 2, "b": None}}] * 20),
        "fixed": pa.array([[1, 2], None, [3, None], [5, 6], None] * 20, pa.list_(pa.int32(), 2)),
        "nulls": pa.array([{"b_c_int": None}] * 100, pa.struct([("b_c_int", pa.int32())])),
    })


def calendar():
    day = datetime.date(2000, 1, 1)
    return pa.table({
        "date": [day + datetime.timedelta(days=37 * i) for i in range(N)],
        "time": pa.array([i * 61_000 for i in range(N)], pa.time32("ms")),
        "nanos": pa.array([i * 61_000_000_001 for i in range(N)], pa.time64("ns")),
        "zoned": pa.array([i * 10**9 for i in range(N)], pa.timestamp("ms", "America/New_York")),
        "span": pa.array([i * 1001 for i in range(N)], pa.duration("us")),
    })


def no_rows():
    return all_types().slice(0, 0)


#: The name of the sample, its table, and how PyArrow writes it.
FILES = [
    *[(f"{name}, {codec}", table, {"compression": codec}) for name, table in [("all types", all_types), ("nested", nested)]
      for codec in ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]],
    ("plain", all_types, {"use_dictionary": False}),
    ("data page 2", all_types, {"data_page_version": "2.0"}),
    ("data page 2, nested", nested, {"data_page_version": "2.0"}),
    ("many pages", all_types, {"data_page_size": 64, "write_page_index": True, "write_batch_size": 16}),
    ("many groups", nested, {"row_group_size": 7}),
    ("checksums", all_types, {"write_page_checksum": True}),
    ("no statistics", all_types, {"write_statistics": False}),
    ("no Arrow schema", nested, {"store_schema": False}),
    ("old lists", nested, {"use_compliant_nested_type": False}),
    ("version 1.0", all_types, {"version": "1.0"}),
    ("version 2.4", calendar, {"version": "2.4"}),
    ("INT96", all_types, {"use_deprecated_int96_timestamps": True}),
    ("decimals", decimals, {}),
    ("decimals as integers", decimals, {"store_decimal_as_integer": True}),
    ("calendar", calendar, {}),
    ("no rows", no_rows, {}),
    ("delta", all_types, {"use_dictionary": False, "column_encoding": {
        "id": "DELTA_BINARY_PACKED", "bigint_col": "DELTA_BINARY_PACKED", "string_col": "DELTA_BYTE_ARRAY", "binary_col": "DELTA_LENGTH_BYTE_ARRAY"}}),
    ("stream split", all_types, {"use_dictionary": False, "column_encoding": {
        "float_col": "BYTE_STREAM_SPLIT", "double_col": "BYTE_STREAM_SPLIT", "bigint_col": "BYTE_STREAM_SPLIT"}}),
    ("RLE of bools", all_types, {"use_dictionary": False, "data_page_version": "2.0", "column_encoding": {"bool_col": "RLE"}}),
]


def run(harness):
    for name, table, options in FILES:
        harness.check(f"sample of Parquet: {name}", lambda: parquet(harness, table(), options))
    for name, options in [("lz4", {"compression": "lz4"}), ("zstd", {"compression": "zstd"}), ("version 4", {"metadata_version": ipc.MetadataVersion.V4}),
                          ("before 0.15", {"metadata_version": ipc.MetadataVersion.V4, "use_legacy_format": True})]:
        for kind in ["file", "stream"]:
            harness.check(f"sample of Arrow: {kind}, {name}", lambda: arrow(harness, kind, ipc.IpcWriteOptions(**options)))


def parquet(harness, table, options):
    source = harness.path("sample.parquet")
    pq.write_table(table, source, **options)
    converted(harness, source, pq.read_table(source))


def arrow(harness, kind, options):
    source = harness.path(f"sample.{kind}")
    table = pa.concat_tables([nested()] * 3)
    with (ipc.new_file if kind == "file" else ipc.new_stream)(source, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=40)
    converted(harness, source, table)


def converted(harness, source, expected):
    expected = expected.combine_chunks()
    for name in ["out.parquet", "out.arrow"]:
        harness.run("convert", source, "-o", harness.path(name))
        found = pq.read_table(harness.path(name)) if name.endswith("parquet") else ipc.open_file(harness.path(name)).read_all()
        same(found.combine_chunks(), expected, types=False)
    harness.run("diff", source, harness.path("out.arrow"), "--values-only")
    schema = harness.run("schema", source).decode()
    harness.run("convert", source, "-o", harness.path("out.jsonl"))
    harness.run("convert", "--schema", schema, harness.path("out.jsonl"), "-o", harness.path("back.arrow"))
    same(ipc.open_file(harness.path("back.arrow")).read_all().combine_chunks(), expected, types=False)
