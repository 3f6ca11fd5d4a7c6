"""Compares the output of two programs byte by byte: compare.py N COMMAND... -- COMMAND..."""
import base64
import glob
import json
import os
import random
import subprocess
import sys
import tempfile

FORMATS = ["jsonl", "parquet", "arrow", "arrow-file", "tfrecord", "npz", "csv", "array-record", "text"]


def run(command, arguments, stdin=b""):
    done = subprocess.run([*command, *arguments], input=stdin, capture_output=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def conversions():
    for path in sorted(glob.glob("fixtures/inputs/*")):
        if os.path.isfile(path) and os.path.getsize(path) < 300_000:
            for to in FORMATS:
                yield path, to


def converted(command, path, to):
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "output")
        done = run(command, ["convert", path, "--to", to, "-o", output])
        written = open(output, "rb").read() if os.path.exists(output) else None
        return done[0], done[2].replace(output.encode(), b"output"), written


def vectors(count):
    rows = []
    for path in sorted(glob.glob("fixtures/oracle/*.jsonl")):
        if not path.endswith("streams.jsonl"):
            rows += map(json.loads, open(path, encoding="utf-8"))
    return random.Random(0).sample(rows, min(count, len(rows)))


def main():
    between = sys.argv.index("--")
    first, second = sys.argv[2:between], sys.argv[between + 1:]
    compared, different = 0, []
    for path, to in conversions():
        compared += 1
        if converted(first, path, to) != converted(second, path, to):
            different.append(f"{path} to {to}")
    for row in vectors(int(sys.argv[1])):
        compared += 1
        stdin = row["stdin"].encode() if isinstance(row["stdin"], str) else base64.b64decode(row["stdin"]["b64"])
        if run(first, row["args"], stdin) != run(second, row["args"], stdin):
            different.append(row["id"])
    print("\n".join(different + [f"{compared} outputs compared, {len(different)} differ"]))
    sys.exit(1 if different or not compared else 0)


main()
