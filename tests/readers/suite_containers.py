"""Megatron, WebDataset, libsvm, Matrix Market, SciPy's npz and CSV, in both directions, bit for bit. `run.sh TATTER containers` runs it in a separate environment."""
import csv
import random

import numpy as np
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import containers_array_record
import containers_megatron
import containers_webdataset
from harness import difference

SEEDS = range(6)


def run(harness):
    for seed in SEEDS:
        libsvm(harness, seed)
        npz(harness, seed)
        matrix_market(harness, seed)
        tables(harness, seed)
        damaged(harness, seed)
    fields_and_symmetries(harness)
    several_labels(harness)
    xgboost_reads_ours(harness)
    containers_array_record.run(harness)
    containers_megatron.run(harness)
    containers_webdataset.run(harness)


def matrix(seed, dtype=np.float32):
    rng = np.random.default_rng(seed)
    nrows, ncolumns = int(rng.integers(1, 60)), int(rng.integers(1, 40))
    made = sp.random(nrows, ncolumns, density=0.2, format="coo", random_state=seed, dtype=np.float64)
    made.data = (rng.standard_normal(made.nnz) * 10.0 ** rng.integers(-20, 20, made.nnz)).astype(dtype)
    return made


def same(found, expected, dtype=None):
    """Compares shape, dtype and the bits of every value, regardless of the order of the entries."""
    found, expected = sp.csr_matrix(found), sp.csr_matrix(expected)
    found.sort_indices(), expected.sort_indices()
    assert found.shape == expected.shape, (found.shape, expected.shape)
    if dtype:
        assert found.dtype == dtype, found.dtype
    for name in ["indptr", "indices", "data"]:
        a, b = getattr(found, name), getattr(expected, name)
        assert a.tobytes() == b.astype(a.dtype).tobytes(), name


def rows_of(records, field="features"):
    """The records that tatter prints, as a float64 matrix."""
    width = max((r[field]["dense_shape"][0] for r in records), default=0)
    entries = [(i, index[0], float(value)) for i, r in enumerate(records) for index, value in zip(r[field]["indices"], r[field]["values"])]
    rows, columns, values = zip(*entries) if entries else ((), (), ())
    return sp.coo_matrix((np.array(values, float), (np.array(rows, int), np.array(columns, int))), shape=(len(records), width))


def libsvm(harness, seed):
    made = matrix(seed).tocsr()
    labels = np.random.default_rng(seed).integers(-3, 4, made.shape[0]).astype(float)
    qids = np.arange(made.shape[0]) // 3
    for base in [0, 1]:
        path, out, npz_out = (harness.path(f"l{seed}{base}{end}") for end in [".svm", "-out.svm", ".npz"])
        dump_svmlight_file(made, labels, path, zero_based=base == 0, query_id=qids if seed % 2 else None, comment="made by scikit-learn")
        schema = f"features: sparse<float64>[{made.shape[1]}]"

        def read():
            records = harness.records("convert", path, "--schema", schema, "--index-base", base)
            theirs, y = load_svmlight_file(path, n_features=made.shape[1], zero_based=base == 0)
            same(rows_of(records), theirs)
            assert [r["label"] for r in records] == y.tolist()
            if seed % 2:
                assert [r["qid"] for r in records] == qids.tolist()

        def written():
            harness.run("convert", path, "--schema", f"features: sparse<float32>[{made.shape[1]}]", "--index-base", base, "-o", out)
            ours, y = load_svmlight_file(out, n_features=made.shape[1], zero_based=base == 0, dtype=np.float32)
            same(ours, made, np.float32)
            assert y.tolist() == labels.tolist()
            harness.run("select", "features", path, "--schema", f"features: sparse<float32>[{made.shape[1]}]", "--index-base", base, "--to", "scipy", "-o", npz_out)
            same(sp.load_npz(npz_out), made, np.float32)

        harness.check(f"libsvm of scikit-learn read, seed {seed}, indices from {base}", read)
        harness.check(f"libsvm written, seed {seed}, indices from {base}", written)


def several_labels(harness):
    path, out = harness.path("multi.svm"), harness.path("multi-out.svm")
    with open(path, "w") as file:
        file.write("1,2 1:0.5\n 2:1\n3 1:4 2:5\n")

    def both():
        harness.run("convert", path, "-o", out)
        for file in [path, out]:
            made, labels = load_svmlight_file(file, multilabel=True)
            assert labels == [(1.0, 2.0), (), (3.0,)], labels
            assert made.toarray().tolist() == [[0.5, 0], [0, 1], [4, 5]]

    harness.check("libsvm with several labels", both)


def xgboost_reads_ours(harness):
    """XGBoost's decimal parser is off by one bit for some values, regardless of the writer; tatter reads the nearest float32."""
    import xgboost

    rng = np.random.default_rng(5)
    rows, path, out, npz_out = [], harness.path("x.svm"), harness.path("x-out.svm"), harness.path("x.npz")
    for _ in range(2000):
        values = rng.standard_normal(5) * 10.0 ** rng.integers(-8, 8, 5)
        rows.append(dict(zip(np.sort(rng.choice(40, 5, replace=False)).tolist(), values.tolist())))
    with open(path, "w") as file:
        file.writelines(f"{i % 2} " + " ".join(f"{k + 1}:{v!r}" for k, v in row.items()) + "\n" for i, row in enumerate(rows))
    nearest = sp.csr_matrix([[np.float32(row.get(k, 0)) for k in range(40)] for row in rows], dtype=np.float32)
    schema = ["--index-base", 1, "--schema", "features: sparse<float32>[40]"]

    def both():
        harness.run("convert", path, *schema, "-o", out)
        harness.run("select", "features", path, *schema, "--to", "scipy", "-o", npz_out)
        same(sp.load_npz(npz_out), nearest, np.float32)
        for file in [path, out]:
            read = xgboost.DMatrix(file + "?format=libsvm&indexing_mode=1")
            found = read.get_data().tocsr().sorted_indices()
            assert found.indices.tolist() == nearest.indices.tolist() and found.indptr.tolist() == nearest.indptr.tolist()
            bits = np.abs(found.data.view(np.int32).astype(np.int64) - nearest.data.view(np.int32))
            assert bits.max() <= 1, bits.max()
            assert read.get_label().tolist() == [i % 2 for i in range(2000)]

    harness.check("XGBoost reads tatter's libsvm like the original", both)


def npz(harness, seed):
    dtypes = [np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_]
    dtype = dtypes[seed % len(dtypes)]
    made = matrix(seed, np.float64)
    made.data = (np.abs(made.data * 100) % 120).astype(dtype)
    for form in ["csr", "csc", "coo"]:
        for array in [False, True]:
            path, out = harness.path(f"{form}{seed}{array}.npz"), harness.path(f"{form}{seed}{array}-out.npz")
            theirs = made.asformat(form)
            sp.save_npz(path, getattr(sp, f"{form}_array")(theirs) if array else theirs, compressed=bool(seed % 2))

            def both():
                harness.run("convert", path, "--to", "scipy", "-o", out)
                same(sp.load_npz(out), made, dtype)
                records = harness.records("convert", path)
                same(rows_of(records).astype(dtype), made)

            harness.check(f"scipy {form}, seed {seed}, {'array' if array else 'matrix'}", both)
    for form in ["bsr", "dia"]:
        path = harness.path(f"{form}{seed}.npz")
        sp.save_npz(path, made.asformat(form))

        def refused():
            done = harness.run("convert", path, ok=False)
            assert done.returncode == 1 and f"the sparse format {form} is not supported" in done.stderr.decode(), done.stderr

        harness.check(f"scipy {form} refused, seed {seed}", refused)


def matrix_market(harness, seed):
    made = matrix(seed, np.float64)
    path, out = harness.path(f"m{seed}.mtx"), harness.path(f"m{seed}-out.mtx")
    scipy.io.mmwrite(path, made, precision=17)

    def both():
        harness.run("convert", path, "-o", out)
        same(scipy.io.mmread(out), made, np.float64)
        same(rows_of(harness.records("convert", path)), scipy.io.mmread(path))

    harness.check(f"Matrix Market, seed {seed}", both)


def fields_and_symmetries(harness):
    rng = np.random.default_rng(1)
    square = rng.integers(-9, 10, (7, 7)).astype(float) * (rng.random((7, 7)) < 0.5)
    np.fill_diagonal(square, [1, 0, 2, 0, 0, 3, 4])
    imaginary = np.triu(square, 1)
    cases = {
        "general": square,
        "symmetric": square + square.T,
        "skew-symmetric": square - square.T,
        "hermitian": (square + square.T) + 1j * (imaginary - imaginary.T),
    }
    for symmetry, dense in cases.items():
        for field in ["real", "integer", "complex", "pattern"]:
            if (symmetry == "hermitian") != (field == "complex") and symmetry == "hermitian":
                continue
            if (symmetry, field) == ("skew-symmetric", "pattern"):
                continue
            for form in ["coordinate", "array"]:
                if (form, field) == ("array", "pattern"):
                    continue
                path = harness.path(f"{symmetry}-{field}-{form}.mtx")
                values = dense.astype(int) if field == "integer" else dense.astype(complex) if field == "complex" else dense
                with open(path, "wb") as file:
                    scipy.io.mmwrite(file, sp.coo_matrix(values) if form == "coordinate" else values, field=field, symmetry=symmetry)

                def read():
                    with open(path) as file:
                        banner = file.readline().split()
                    assert banner[2:5] == [form, field, symmetry], banner
                    records, expected = harness.records("convert", path), scipy.io.mmread(path)
                    expected = expected.toarray() if form == "coordinate" else expected
                    if form == "array":
                        found = [[complex(*v) for v in zip(r["features"]["real"], r["features"]["imag"])] if field == "complex" else r["features"] for r in records]
                    elif field == "complex":
                        parts = [rows_of([r["features"] for r in records], part).toarray() for part in ["real", "imag"]]
                        found = parts[0] + 1j * parts[1]
                    else:
                        found = rows_of(records).toarray()
                    assert np.array_equal(np.array(found), expected), (found, expected)
                    if form == "coordinate":
                        out = path + "-out.mtx"
                        harness.run("convert", path, "-o", out)
                        again = scipy.io.mmread(out).toarray()
                        assert np.array_equal(again, expected)

                harness.check(f"Matrix Market {form} {field} {symmetry}", read)


def tables(harness, seed):
    """CSV and TSV of Python's csv module: text with quotes, separators and line breaks; numbers; lists."""
    rng = random.Random(seed)
    words = ["", "a", "b c", 'say "x"', "two\nlines", "a,b", "tab\there", "café", "007", "it's", "\r\n", ";"]
    rows = [
        {
            "id": i,
            "x": rng.choice([None, 0.1, -2.5e300, 1e-7, 3.0, float(rng.random())]),
            "text": "t" + rng.choice(words),
            "tags": [rng.choice(["p", "q r", '"', "z,z"]) for _ in range(rng.randrange(4))],
            "ok": rng.random() < 0.5,
        }
        for i in range(rng.randrange(1, 40))
    ]
    rows[0]["tags"] = ["p", "q"]
    rows[0]["x"] = 0.5
    cells = [[str(r["id"]), "" if r["x"] is None else repr(r["x"]), r["text"], "|".join(r["tags"]), str(r["ok"])] for r in rows]
    for name, delimiter in [("csv", ","), ("tsv", "\t")]:
        path, out = harness.path(f"t{seed}.{name}"), harness.path(f"t{seed}-out.{name}")
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator=rng.choice(["\n", "\r\n"]))
            writer.writerows([["id", "x", "text", "tags", "ok"]] + cells)

        def both():
            def same_records(records):
                wrong = difference(records, rows)
                assert not wrong, wrong

            same_records(harness.records("convert", path, "--list-separator", "|"))
            harness.run("convert", path, "-o", out, "--list-separator", "|")
            same_records(harness.records("convert", out, "--list-separator", "|"))
            with open(out, newline="") as file:
                again = list(csv.DictReader(file, delimiter=delimiter))
            assert [r["text"] for r in again] == [r["text"] for r in rows]
            assert [r["tags"] for r in again] == ["|".join(r["tags"]) for r in rows]
            assert [float(r["x"]) if r["x"] else None for r in again] == [r["x"] for r in rows]

        harness.check(f"{name} of Python, seed {seed}", both)


def damaged(harness, seed):
    """Truncated files and changed bytes: records or a message, never a crash."""
    rng = random.Random(seed)
    made = matrix(3)
    sources = {}
    for form in ["csr", "csc", "coo"]:
        for compressed in [False, True]:
            path = harness.path(f"whole-{form}{compressed}.npz")
            sp.save_npz(path, made.asformat(form), compressed=compressed)
            sources[f"{form}{compressed}.npz"] = ("scipy", path)
    path = harness.path("whole.mtx")
    scipy.io.mmwrite(path, made, symmetry="general")
    sources["mtx"] = ("matrix-market", path)
    path = harness.path("whole.svm")
    dump_svmlight_file(made.tocsr(), np.arange(made.shape[0]), path)
    sources["svm"] = ("libsvm", path)
    path = harness.path("whole.csv")
    with open(path, "w") as file:
        file.write('id,text,x\n1,"a ""b""\nc",0.5\n2,,\n3,d,1e5\n')
    sources["csv"] = ("csv", path)
    for name, (form, path) in sources.items():
        whole = open(path, "rb").read()
        for _ in range(12):
            bytes_ = bytearray(whole)
            if rng.random() < 0.3:
                del bytes_[rng.randrange(len(bytes_)) :]
            else:
                for _ in range(rng.choice([1, 1, 2, 8])):
                    bytes_[rng.randrange(len(bytes_))] = rng.choice([0, 255, 0x7F, 0x30, 0x39, 0x22, 0x0A, rng.randrange(256)])
            bad = harness.path(f"bad-{name}")
            with open(bad, "wb") as file:
                file.write(bytes_)

            def survives():
                for extra in [[], ["--sum-duplicates"], ["--on-error", "skip"]]:
                    done = harness.run("convert", bad, "--from", form, "--max-memory", "256MiB", *extra, ok=False)
                    assert done.returncode in (0, 1, 2), (done.returncode, bytes(bytes_)[:200], done.stderr[-400:])

            harness.check(f"damaged {name}, seed {seed}", survives)
