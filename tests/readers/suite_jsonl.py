"""JSON lines, in both directions, with Python's json, pyarrow, pandas, polars and duckdb; and a conversion through all formats."""
import io
import json

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq

from harness import as_json, expect, plain
from tables import JSON_LEAVES, Tables

SEEDS = range(8)


def run(harness):
    for seed in SEEDS:
        through_all_formats(harness, seed)
        read_by_others(harness, seed)
    written_by_others(harness)


def lines(records):
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def through_all_formats(harness, seed):
    """JSON lines -> Parquet -> Arrow -> JSON lines gives the same bytes; Parquet has the types of the values."""
    table = Tables(300 + seed, leaves=JSON_LEAVES, fixed=False).table(5, 60)
    records = as_json(table.to_pylist())
    names = [harness.path(f"j{seed}.{extension}") for extension in ["parquet", "arrow", "arrows", "2.parquet"]]

    def check():
        first = harness.run("convert", stdin=lines(records))
        harness.run("convert", "-o", names[0], stdin=lines(records))
        for source, target in zip(names, names[1:]):
            harness.run("convert", source, "-o", target)
        for name in names:
            if harness.run("convert", name) != first:
                raise AssertionError(f"{name} gives different bytes")
        expect([json.loads(line) for line in first.splitlines()], records)
        expect(as_json(pq.read_table(names[0]).to_pylist()), records)

    harness.check(f"through all formats, seed {seed}", check)


def read_by_others(harness, seed):
    """The JSON lines of a typed table, read by readers that infer types: finite numbers, no nulls."""
    table = Tables(400 + seed, leaves=JSON_LEAVES, nulls=False, fixed=False, structs=True, finite=True, depth=2).table(5, 60)
    source, out = harness.path(f"t{seed}.parquet"), harness.path(f"t{seed}.jsonl")
    pq.write_table(table, source)
    expected = table.to_pylist()
    harness.check(f"parquet -> jsonl, seed {seed}", lambda: harness.run("convert", source, "-o", out))
    schema = pa.schema([pa.field(f.name, f.type) for f in table.schema])
    readers = {
        "json": lambda: [json.loads(line) for line in open(out, encoding="utf-8")],
        "pyarrow": lambda: pyarrow.json.read_json(out, parse_options=pyarrow.json.ParseOptions(explicit_schema=schema)).to_pylist(),
        "polars": lambda: pl.read_ndjson(out, schema=pl.Schema({f.name: pl.from_arrow(pa.array([], f.type)).dtype for f in table.schema})).to_dicts(),
        "pandas": lambda: pd.read_json(out, lines=True, precise_float=True).to_dict("records"),
    }
    for name, load in readers.items():
        found = load if name != "pandas" else lambda: loosely(readers["pandas"]())
        harness.check(f"jsonl read by {name}, seed {seed}", lambda: expect(found(), expected if name != "pandas" else loosely(expected)))

    def by_duckdb():
        relation = duckdb.read_json(out, format="newline_delimited")
        found = [dict(zip(relation.columns, row)) for row in relation.fetchall()]
        expect(loosely(found), loosely(expected))

    harness.check(f"jsonl read by duckdb, seed {seed}", by_duckdb)


def loosely(value):
    """Converts all numbers to float, because readers that infer types may take 1.0 for 1."""
    value = plain(value)
    if isinstance(value, list):
        return [loosely(v) for v in value]
    if isinstance(value, dict):
        return {k: loosely(v) for k, v in value.items()}
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def written_by_others(harness):
    records = [{"a": 1, "b": [1.5, None], "c": {"d": "x"}}, {"a": 2, "b": [], "c": {"d": None}}, {"a": None, "b": None, "c": None}]
    frame = pl.DataFrame(records)
    pandas_text, polars_text, duckdb_path = io.StringIO(), io.BytesIO(), harness.path("duckdb.jsonl")
    pd.DataFrame({"a": [1, 2], "b": [[1.5], []], "c": ["x", "é"]}).to_json(pandas_text, orient="records", lines=True)
    harness.check("jsonl of pandas", lambda: expect(harness.records("convert", stdin=pandas_text.getvalue().encode()), [{"a": 1, "b": [1.5], "c": "x"}, {"a": 2, "b": [], "c": "é"}]))
    frame.write_ndjson(polars_text)
    harness.check("jsonl of polars", lambda: expect(harness.records("convert", stdin=polars_text.getvalue()), [json.loads(line) for line in polars_text.getvalue().splitlines()]))
    duckdb.sql(f"copy (select 1 as a, [1, 2] as b, {{'d': 'x'}} as c) to '{duckdb_path}' (format json)")
    harness.check("jsonl of duckdb", lambda: expect(harness.records("convert", duckdb_path), [{"a": 1, "b": [1, 2], "c": {"d": "x"}}]))
    text = json.dumps(records, indent=2).encode()
    harness.check("a JSON array written by Python", lambda: expect(harness.records("convert", "--from", "json", stdin=text), records))
