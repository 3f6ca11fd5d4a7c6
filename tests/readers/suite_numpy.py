"""npz, npy and safetensors, in both directions, with NumPy and the safetensors package."""
import os
import random
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import safetensors.numpy

from harness import as_json, expect, plain
from tables import WORDS, Tables, contains, json_rows

SEEDS = range(12)
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


def run(harness):
    for seed in SEEDS:
        written(harness, seed)
        read(harness, seed)
    one_file_for_each_batch(harness)
    conventions(harness)
    structured(harness)
    times(harness)
    refused(harness)


def loaded(harness, path):
    """The values that the code printed by `schema --as numpy` loads from a file: field path -> values of all records."""
    lines = harness.run("schema", "--as", "numpy", path).decode()
    extension = path.rpartition(".")[2]
    scope = {}
    exec(lines.replace(f'"data.{extension}"', repr(path)), scope)
    return scope["data"], {name: plain(list(values)) for name, values in scope["records"].items()}


def leaves(field, prefix=""):
    """The paths and types of the leaves of an Arrow field."""
    ty = field.type
    while pa.types.is_list(ty) or pa.types.is_fixed_size_list(ty):
        ty = ty.value_type
    if pa.types.is_struct(ty):
        return [leaf for inner in ty for leaf in leaves(inner, f"{prefix}{field.name}.")]
    return [(f"{prefix}{field.name}", ty)]


def at(value, names):
    """A leaf of a value, also inside lists of structures."""
    if isinstance(value, list):
        return [at(v, names) for v in value]
    return at(value[names[0]], names[1:]) if names else value


def written(harness, seed):
    """The code that tatter prints loads what tatter writes: the values, and the dtypes of the arrays."""
    table = Tables(500 + seed, nulls=False).table(6, 40)
    source, rows = harness.path(f"n{seed}.arrows"), table.to_pylist()
    with ipc.new_stream(source, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    for extension in ["npz", "safetensors"]:
        out = harness.path(f"n{seed}.{extension}")

        def check():
            harness.run("convert", source, "-o", out)
            data, records = loaded(harness, out)
            for field in table.schema:
                for path, ty in leaves(field):
                    names = path.split(".")
                    expect(records[path], [at(row[names[0]], names[1:]) for row in rows])
                    array = data[path] if path in data else data[f"{path}/values"]
                    is_text = pa.types.is_string(ty) or pa.types.is_binary(ty)
                    expect(array.dtype.name, "uint8" if is_text else ty.to_pandas_dtype().__name__.replace("bool_", "bool"))
            expect(harness.records("convert", out), json_rows(table))

        harness.check(f"{extension} loaded, seed {seed}", check)
    for name in table.column_names:
        part = table.select([name])
        if contains(part.schema.field(0).type, lambda ty: pa.types.is_list(ty) or pa.types.is_struct(ty) or pa.types.is_string(ty) or pa.types.is_binary(ty)):
            continue

        def check():
            out = harness.path(f"n{seed}-{name}.npy")
            harness.run("select", name, source, "-o", out)
            expect(list(np.load(out)), [row[name] for row in rows])

        harness.check(f"npy of {part.schema.field(0).type}, seed {seed}", check)


def array(generator, dtype, shape):
    """Values of any dtype, including extreme ones."""
    count = int(np.prod(shape))
    if dtype == "U":
        return np.array([generator.choice(WORDS).rstrip("\0")[:9] for _ in range(count)] + ["x"])[:count].reshape(shape)
    if dtype == "S":
        return np.array([bytes(generator.randrange(1, 256) for _ in range(generator.randrange(5))) for _ in range(count)] + [b"x"])[:count].reshape(shape)
    size = np.dtype(dtype).itemsize
    raw = np.frombuffer(generator.randbytes(count * size), dtype=f"V{size}").reshape(shape)
    return raw.view("u1").astype("?").reshape(shape) if dtype == "?" else raw.view(dtype).reshape(shape)


def number(value):
    """A float as a float64 reader reads it."""
    is_subnormal = abs(value) < np.finfo(value.dtype).tiny
    return float(value) if np.isfinite(value) and (value == np.floor(value) or is_subnormal) else float(str(value))


def record_values(column):
    """An array as in JSON lines, row by row: whole floats with all their digits, others in the shortest form of their dtype."""
    if column.dtype.kind == "f":
        column = column.astype(column.dtype.newbyteorder("="))
        nested = lambda values: [nested(v) for v in values] if isinstance(values, np.ndarray) else number(values)
        return as_json([nested(row) for row in column])
    return as_json(plain(column))


def read(harness, seed):
    """tatter reads what NumPy and safetensors write: all dtypes, both byte orders, both axis orders, deflated."""
    generator = random.Random(seed)
    nrecords = generator.choice([0, 1, 7, 300])
    columns = {}
    for number, dtype in enumerate([*DTYPES, "U", "S"]):
        shape = (nrecords, *[generator.choice([0, 1, 2, 3]) for _ in range(generator.choice([0, 1, 1, 2]))])
        columns[f"c{number}"] = array(generator, dtype, shape)
    expected = [dict(zip(columns, row)) for row in zip(*map(record_values, columns.values()))]
    swapped = {name: np.asfortranarray(column).astype(column.dtype.newbyteorder(">")) for name, column in columns.items()}
    for kind, save, values in [("savez", np.savez, columns), ("savez_compressed", np.savez_compressed, columns), ("swapped", np.savez, swapped), ("swapped and deflated", np.savez_compressed, swapped)]:
        path = harness.path(f"r{seed}-{kind}.npz".replace(" ", "-"))
        save(path, **values)
        harness.check(f"{kind} read, seed {seed}", lambda: expect(harness.records("convert", path), expected))
        harness.check(f"{kind} in small chunks, seed {seed}", lambda: expect(harness.records("convert", path, "--chunk-rows", 3), expected))
        harness.check(f"{kind} on a pipe, seed {seed}", lambda: expect(harness.records("select", "c3,c12", stdin=open(path, "rb").read()), [{k: r[k] for k in ["c3", "c12"]} for r in expected]))
        harness.check(f"{kind} counted, seed {seed}", lambda: expect(int(harness.run("count", path)), nrecords))
    for name, column in [*columns.items(), *swapped.items()]:
        path = harness.path(f"r{seed}-{name}.npy")
        np.save(path, column)
        values = [{"value": value} for value in record_values(column)]
        harness.check(f"npy of {column.dtype.str} {column.shape}, seed {seed}", lambda: expect(harness.records("convert", path), values))
        harness.check(f"npy of {column.dtype.str} {column.shape} on a pipe, seed {seed}", lambda: expect(harness.records("convert", stdin=open(path, "rb").read()), values))
    numbers = {name: column for name, column in columns.items() if column.dtype.kind not in "US"}
    path = harness.path(f"r{seed}.safetensors")
    safetensors.numpy.save_file(numbers, path, metadata={"by": "hand"})

    def check():
        # The package chooses the order of the tensors.
        found = harness.records("convert", path)
        expect([{name: row[name] for name in numbers} for row in found], [{name: row[name] for name in numbers} for row in expected])

    harness.check(f"safetensors read, seed {seed}", check)


def one_file_for_each_batch(harness):
    """`-o 'batch-##.npz'`: np.load gives one batch for each file, and tatter reads the batches back."""
    generator = random.Random(1)
    rows = [{"id": i, "tokens": [generator.randrange(50000) for _ in range(generator.randrange(40))], "words": generator.sample(WORDS, generator.randrange(3)), "grid": [[i] * generator.randrange(3) for _ in range(generator.randrange(3))]} for i in range(100)]
    source = pa.Table.from_pylist(rows)
    path = harness.path("batches.arrows")
    with ipc.new_stream(path, source.schema) as writer:
        writer.write_table(source)
    chain = ["cast", "tokens=int32", "then", "batch", "16", "then", "to-dense", "-f", "tokens", "--shape", "tokens=[?, <=32]", "--default", "tokens=0", "--lengths"]
    for extension in ["npz", "safetensors"]:

        def check():
            harness.run(*chain, path, "-o", harness.path(f"batch-##.{extension}"))
            load = np.load if extension == "npz" else safetensors.numpy.load_file
            for number in range(7):
                own = rows[16 * number : 16 * (number + 1)]
                data = load(harness.path(f"batch-{number:02}.{extension}"))
                lengths = [min(len(row["tokens"]), 32) for row in own]
                tokens = data["tokens"]
                expect([tokens.dtype.name, list(tokens.shape)], ["int32", [len(own), max(lengths)]])
                expect(list(tokens), [row["tokens"][:32] + [0] * (max(lengths) - n) for row, n in zip(own, lengths)])
                expect(list(data["tokens/lengths"]), lengths)
                expect(list(data["id"]), [row["id"] for row in own])
                values, splits = data["words/values"], [data["words/row_splits_0"], data["words/row_splits_1"]]
                words = [values[a:b].tobytes().decode() for a, b in zip(splits[1], splits[1][1:])]
                expect([words[a:b] for a, b in zip(splits[0], splits[0][1:])], [row["words"] for row in own])
            expect(harness.records("convert", harness.path(f"batch-*.{extension}")), harness.records(*chain, path))
            expect(len(os.listdir(harness.folder)) > 7, True)

        harness.check(f"a {extension} for each batch", check)


def conventions(harness):
    """Ragged and sparse fields that Python writes under the names that tatter uses."""
    path = harness.path("made.npz")
    np.savez(path, **{
        "x/values": np.arange(6, dtype="f4").reshape(3, 2), "x/row_splits_0": np.array([0, 2, 3], "u4"),
        "g/values": np.array([1, 2, 3]), "g/row_splits_0": np.array([0, 2, 2]), "g/row_splits_1": np.array([0, 1, 3]),
        "t/values": np.frombuffer("aé".encode(), "u1"), "t/row_splits_0": np.array([0, 1, 3]),
        "s/indices": np.array([[0, 1], [1, 0]]), "s/values": np.array([0.5, 1.5]), "s/dense_shape": np.array([2, 3]),
    })
    harness.check("ragged and sparse arrays by name", lambda: expect(harness.records("convert", path), [
        {"x": [[0.0, 1.0], [2.0, 3.0]], "g": [[1], [2, 3]], "t": "a", "s": {"indices": [[1]], "values": [0.5], "dense_shape": [3]}},
        {"x": [[4.0, 5.0]], "g": [], "t": "é", "s": {"indices": [[0]], "values": [1.5], "dense_shape": [3]}},
    ]))
    matrix = harness.path("matrix.npy")
    np.save(matrix, np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    harness.check("an array as a constant", lambda: expect(harness.records("map", "y = m[1]; z = reduce_sum(m)", "--from", "none", "--with", f"m={matrix}"), [{"y": [3.0, 4.0, 5.0], "z": 15.0}]))
    packed = harness.path("packed.npz")
    np.savez_compressed(packed, m=np.array(["a", "b"]))
    harness.check("an npz as a constant", lambda: expect(harness.records("map", "y = m[1]", "--from", "none", "--with", f"m={packed}"), [{"y": "b"}]))


def structured(harness):
    """The fields of a structured array are those of the records, whatever its alignment, byte order and inner axes."""
    fields = [("a", "u1"), ("é b", ">f8", (2, 3)), ("t", "<U4"), ("s", "S3"), ("n", [("x", "<i2"), ("y", "?")])]
    for align in [False, True]:
        for nrows in [0, 1, 9000]:
            column = np.zeros(nrows, np.dtype(fields, align=align))
            numbers = np.arange(nrows)
            column["a"], column["é b"] = numbers % 256, numbers.reshape(-1, 1, 1) / 7 + np.arange(6).reshape(2, 3)
            column["t"], column["s"] = [f"é{i % 50}" for i in numbers], [b"x" * (i % 4) for i in numbers]
            column["n"]["x"], column["n"]["y"] = -numbers, numbers % 3 == 0
            rows = [{"a": int(r["a"]), "é b": r["é b"].tolist(), "t": str(r["t"]), "s": r["s"].decode(), "n.x": int(r["n"]["x"]), "n.y": bool(r["n"]["y"])} for r in column]
            path = harness.path(f"structured-{align}-{nrows}.npy")
            with warnings.catch_warnings():
                # Names beyond Latin-1 need version 3 of the format.
                warnings.simplefilter("ignore")
                np.save(path, column)
            harness.check(f"structured array, {align}, {nrows}", lambda: expect(harness.records("convert", path), rows))
    packed = harness.path("structured.npz")
    np.savez_compressed(packed, p=np.array([(1, 2.5), (3, -1.0)], [("a", "<i4"), ("b", ">f4")]), q=np.array([7, 8]))
    expected = [{"p.a": 1, "p.b": 2.5, "q": 7}, {"p.a": 3, "p.b": -1.0, "q": 8}]
    harness.check("structured array in an npz", lambda: expect(harness.records("convert", packed), expected))


def times(harness):
    """datetime64 and timedelta64 of every unit that Arrow has are times, NaT is null, and NumPy reads back what is written."""
    units = {"Y": "D", "M": "D", "W": "D", "D": "D", "h": "s", "m": "s", "s": "s", "ms": "ms", "us": "us", "ns": "ns", "25s": "s", "7M": "D"}
    for code in "Mm":
        for unit, stored in units.items():
            if code == "m" and unit in ("Y", "M", "7M"):
                continue
            for order in "<>":
                column = np.array([0, 1, -25, 700, "NaT"], f"{order}{code}8[{unit}]")
                wide = column.astype(f"{code}8[{'s' if code == 'm' and stored == 'D' else stored}]")
                path, out = harness.path("times.npy"), harness.path("times-out.npy")
                np.save(path, column)

                def check():
                    harness.run("convert", path, "-o", out)
                    found = np.load(out)
                    expect([found.dtype, found.tolist()], [wide.dtype.newbyteorder("="), wide.tolist()])

                harness.check(f"{order}{code}8[{unit}]", check)
    # Several axes, ragged rows, and the fields of a structured array.
    grid = np.array([[0, 1], ["NaT", 3]], "M8[us]")
    packed, again = harness.path("times.npz"), harness.path("times-out.npz")
    np.savez(packed, grid=grid, **{"r/values": np.array([5, "NaT", 6], "m8[ns]"), "r/row_splits_0": np.array([0, 2, 3])}, p=np.array([(1, 7), (2, "NaT")], [("a", "<i4"), ("t", "<M8[D]")]))

    def whole():
        harness.run("convert", packed, "-o", again)
        found = np.load(again)
        expect(found["grid"].tolist(), grid.tolist())
        expect([found["grid"].dtype, found["r/values"].dtype, found["p.t"].dtype], [np.dtype("M8[us]"), np.dtype("m8[ns]"), np.dtype("M8[D]")])
        expect(found["r/values"].astype("i8").tolist(), [5, np.iinfo("i8").min, 6])
        expect(found["p.t"].tolist(), np.array([7, "NaT"], "M8[D]").tolist())

    harness.check("times in an npz", whole)


def refused(harness):
    """Arrays that NumPy saves but tensors cannot represent: a message says what to do, and no pickle is ever run."""
    cases = {
        "objects": (np.array([[1], [1, 2]], dtype=object), "Python objects"),
        "complex": (np.array([1j]), "complex numbers"),
        "attoseconds": (np.array([1], "M8[as]"), "times in a unit that Arrow lacks"),
        "months between times": (np.array([1], "m8[M]"), "durations in a unit that Arrow lacks"),
        "records": (np.zeros(1, [("a", "i4"), ("b", [("c", "f8")], (2,))]), "array of records"),
        "void": (np.zeros(2, "V3"), "raw bytes"),
    }
    for name, (column, expected) in cases.items():
        path = harness.path(f"{name}.npy")
        np.save(path, column, allow_pickle=True)

        def check():
            done = harness.run("convert", path, ok=False)
            expect([done.returncode, expected in done.stderr.decode(), done.stderr.count(b"\n") >= 2], [1, True, True])

        harness.check(f"{name} refused", check)
