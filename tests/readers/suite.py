"""Runs the suites: suite.py TATTER [NAME...]. Prints one line for each failure, and the counts at the end."""
import importlib
import sys
import tempfile
import time

from harness import Harness

SUITES = ["arrow", "csv", "facts", "jsonl", "numpy", "samples", "tfrecord"]


def main():
    tatter, names = sys.argv[1], sys.argv[2:] or SUITES
    with tempfile.TemporaryDirectory(prefix="readers-") as folder:
        harness = Harness(tatter, folder)
        for name in names:
            started, before = time.monotonic(), harness.passed + len(harness.failures)
            importlib.import_module(f"suite_{name}").run(harness)
            checks = harness.passed + len(harness.failures) - before
            print(f"{name}: {checks} checks in {time.monotonic() - started:.0f} s", flush=True)
    print("with " + ", ".join(f"{name} {version}" for name, version in sorted(harness.versions().items())))
    print(f"{harness.passed} passed, {len(harness.failures)} failed")
    sys.exit(1 if harness.failures else 0)


main()
