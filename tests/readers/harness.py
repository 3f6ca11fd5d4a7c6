"""Runs tatter, compares values, counts checks."""
import base64
import importlib.metadata
import json
import math
import os
import subprocess


class Harness:
    def __init__(self, tatter, folder):
        self.tatter, self.folder = tatter, folder
        self.passed, self.failures = 0, []

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments, stdin=None, ok=True):
        """The standard output of tatter, as bytes."""
        done = subprocess.run([self.tatter, *map(str, arguments)], input=stdin, capture_output=True, timeout=120)
        if ok and done.returncode != 0:
            raise AssertionError(f"tatter {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr.decode(errors='replace')[:600]}")
        return done.stdout if ok else done

    def records(self, *arguments, stdin=None):
        """The records that tatter prints as JSON lines."""
        return [json.loads(line) for line in self.run(*arguments, stdin=stdin).splitlines()]

    def check(self, name, test):
        """Runs and counts a test: a function that raises an exception if it fails."""
        try:
            test()
            self.passed += 1
        except Exception as error:
            text = f"{type(error).__name__}: {error}".replace("\n", "\n    ")
            self.failures.append(name)
            print(f"FAILED {name}: {text[:1500]}", flush=True)

    @staticmethod
    def versions():
        packages = {"awkward", "duckdb", "numpy", "pandas", "polars", "pyarrow", "safetensors", "scikit-learn", "scipy", "tensorflow-cpu", "tensorflow-datasets"}
        return {d.name: d.version for d in importlib.metadata.distributions() if d.name in packages}


def plain(value):
    """A value from any reader in Python's own types: None, bool, int, float, str, bytes, list, dict."""
    import numpy as np
    import pandas as pd

    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, (np.generic,)):
        return value.item()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    return value


def same(a, b):
    """Equal in value and type: 1 is not 1.0, a NaN equals a NaN, 0.0 is not -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b


def difference(found, expected, where="record"):
    """A description of the first difference between two values; None if there is none."""
    if isinstance(found, list) and isinstance(expected, list):
        if len(found) != len(expected):
            return f"{where}: {len(found)} items instead of {len(expected)}"
        parts = (difference(f, e, f"{where}[{i}]") for i, (f, e) in enumerate(zip(found, expected)))
    elif isinstance(found, dict) and isinstance(expected, dict):
        if list(found) != list(expected):
            return f"{where}: fields {list(found)} instead of {list(expected)}"
        parts = (difference(found[k], expected[k], f"{where}.{k}") for k in found)
    else:
        return None if same(found, expected) else f"{where}: found {found!r}, expected {expected!r}"
    return next((p for p in parts if p), None)


def expect(found, expected):
    found, expected = plain(found), plain(expected)
    wrong = difference(found, expected)
    if wrong:
        raise AssertionError(wrong)


def as_json(value):
    """A value as tatter writes it in JSON lines."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [as_json(v) for v in value]
    if isinstance(value, dict):
        return {k: as_json(v) for k, v in value.items()}
    return value
