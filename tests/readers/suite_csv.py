"""CSV, in both directions, with pandas, polars, duckdb and pyarrow: quotes, empty strings and nulls."""
import io
import json
import random

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv

from harness import expect

SEEDS = range(6)
TEXTS = ["", "", "a", "é", " ", "a,b", 'q"q', '""', "l\nm", "\t", "NaN", "NULL", "x" * 300, "'"]
TYPES = {"s": pl.String, "i": pl.Int64, "f": pl.Float64, "b": pl.Boolean, "t": pl.String}


def run(harness):
    for seed in SEEDS:
        check(harness, f"seed {seed}", frame(random.Random(seed), 50))
        # Text alone in its file: a null is an empty line.
        check(harness, f"one column, seed {seed}", frame(random.Random(seed), 20).select("s"))


def frame(random, nrows):
    values = {
        "s": lambda: random.choice(TEXTS),
        "i": lambda: random.randint(-(2**63), 2**63 - 1),
        "f": lambda: random.choice([0.5, -1e300, 5e-324, 3.0, random.random()]),
        "b": lambda: random.random() < 0.5,
        "t": lambda: random.choice(["", "z"]),
    }
    return pl.DataFrame(
        {name: [values[name]() if random.random() < 0.7 else None for _ in range(nrows)] for name in TYPES}, schema=TYPES
    )


def check(harness, name, table):
    records = table.to_dicts()
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    schema = "; ".join(f"{column}: optional {dtype}" for column, dtype in zip("sifbt", ["string", "int64", "float64", "bool", "string"]) if column in table.columns)

    def arrow_text():
        out = io.BytesIO()
        pyarrow.csv.write_csv(table.to_arrow().cast(pa.schema([pa.field(f.name, pa.string() if f.type == pa.large_string() else f.type) for f in table.to_arrow().schema])), out)
        return out.getvalue()

    def duckdb_text():
        out = harness.path("duckdb.csv")
        duckdb.from_arrow(table.to_arrow()).write_csv(out)
        with open(out, "rb") as file:
            return file.read()

    writers = {"polars": lambda: table.write_csv().encode(), "pyarrow": arrow_text, "duckdb": duckdb_text}
    for writer, write in writers.items():
        harness.check(f"csv of {writer}, {name}", lambda: expect(harness.records("convert", "--from", "csv", "--schema", schema, stdin=write()), records))

    text = harness.run("convert", "--schema", schema, "--to", "csv", stdin=lines)
    harness.check(f"csv -> csv, {name}", lambda: expect(harness.run("convert", "--from", "csv", "--schema", schema, "--to", "csv", stdin=text), text))
    # Types are inferred: text and numbers, and which strings are empty.
    harness.check(f"csv without a schema, {name}", lambda: expect(harness.records("convert", "--from", "csv", stdin=text), records))

    def by_arrow():
        convert = pyarrow.csv.ConvertOptions(
            column_types=table.to_arrow().schema, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        )
        parse = pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
        return pyarrow.csv.read_csv(io.BytesIO(text), convert_options=convert, parse_options=parse).to_pylist()

    def by_pandas():
        found = pd.read_csv(io.BytesIO(text), skip_blank_lines=False, keep_default_na=False, na_values=[""], dtype=object)
        return [[None if pd.isna(value) else str(value) for value in found[column]] for column in found if column in "st"]

    # pandas reads both as missing.
    joined = [[value or None for value in table[column]] for column in table.columns if column in "st"]
    harness.check(f"csv read by polars, {name}", lambda: expect(pl.read_csv(text, schema=table.schema).to_dicts(), records))
    harness.check(f"csv read by pyarrow, {name}", lambda: expect(by_arrow(), records))
    harness.check(f"csv read by pandas, {name}", lambda: expect(by_pandas(), joined))
