"""ArrayRecord compared with the package's own writer and reader: the same records, and without compression the same bytes."""
import base64
import json
import random

from array_record.python.array_record_data_source import ArrayRecordDataSource
from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter

# Codecs in array_record and as options of tatter, which reads the last three but does not write them.
CODECS = [
    ("zstd", ["--compression", "zstd:3"]),
    ("zstd:9", ["--compression", "zstd:9"]),
    ("snappy", ["--compression", "snappy"]),
    ("uncompressed", ["--compression", "none"]),
    ("brotli", None),
    ("brotli:1", None),
    ("zstd,pad_to_block_boundary:true", None),
]
GROUPS = [1, 2, 7, 1000]


def run(harness):
    for name, records in samples().items():
        for codec, ours in CODECS:
            for group in GROUPS:
                both(harness, name, records, codec, ours, group)
    examples(harness)
    for seed in range(4):
        damaged(harness, seed)
    transposed(harness)


def samples():
    rng = random.Random(1)
    return {
        "none": [],
        "one": [b"abc"],
        "small": [b"r%d" % i * rng.randrange(9) for i in range(50)],
        "empty": [b""] * 2500,
        "blocks": [rng.randbytes(n) for n in [65_536 - 64 - 24, 65_400, 65_448, 65_535, 65_536, 65_537, 200_000, 1, 0, 131_000]],
        "random": [rng.randbytes(int(10 ** rng.uniform(0, 4))) for _ in range(300)],
        "larger": [bytes(i % 251 for i in range(n)) for n in [1_000_000, 10, 3_000_000]],
    }


def write(path, options, records):
    writer = ArrayRecordWriter(path, options)
    for record in records:
        writer.write(record)
    writer.close()


def read_by_theirs(path):
    reader = ArrayRecordReader(path, "readahead_buffer_size:0,max_parallelism:0")
    found = [reader.read([i])[0] for i in range(reader.num_records())]
    assert found == (reader.read_all() if found else [])
    return found


def value(printed):
    return base64.b64decode(printed["b64"]) if isinstance(printed, dict) else printed.encode()


def both(harness, name, records, codec, ours, group):
    label = f"{name}, {codec}, {group} per chunk"
    theirs = harness.path("theirs.array_record")
    write(theirs, f"group_size:{group},{codec}", records)

    def read():
        assert [value(r["bytes"]) for r in harness.records("convert", theirs, "--raw-records")] == records
        assert int(harness.run("count", theirs)) == len(records)
        some = sorted(random.Random(len(records)).sample(range(len(records)), min(5, len(records))))
        if some:
            numbers = ",".join(str(i + 1) for i in some)
            assert [value(r["bytes"]) for r in harness.records("get", numbers, theirs, "--raw-records")] == [records[i] for i in some]

    def written():
        out = harness.path("ours.array_record")
        harness.run("convert", theirs, "--raw-records", "-o", out, "--row-group-rows", group, *ours)
        assert read_by_theirs(out) == records
        # Snappy compressors make different choices, and Zstandard's stream does not know the size of larger buffers.
        is_same = codec == "uncompressed" or (codec.startswith("zstd") and name in ("none", "one", "small"))
        assert not is_same or open(out, "rb").read() == open(theirs, "rb").read(), "the bytes differ from array_record's"

    harness.check(f"array_record read: {label}", read)
    if ours:
        harness.check(f"array_record reads tatter's file: {label}", written)


def examples(harness):
    """tf.Examples in several files, read by Grain's data source."""
    path = harness.path("part@3.array_record")
    lines = "".join(json.dumps({"id": i, "tokens": list(range(i % 5))}) + "\n" for i in range(100)).encode()

    def source():
        harness.run("convert", "--from", "jsonl", "-o", path, stdin=lines)
        found = ArrayRecordDataSource([harness.path(f"part-{i:05}-of-00003.array_record") for i in range(3)])
        assert len(found) == 100
        one = harness.path("one.tfrecord")
        harness.run("convert", path, "-o", one, "--raw-records")
        records = [value(r["bytes"]) for r in harness.records("convert", one, "--raw-records")]
        assert [found[i] for i in range(100)] == records
        assert [r["id"] for r in harness.records("convert", path, "--scalar", "id")] == [i for k in range(3) for i in range(k, 100, 3)]

    harness.check("Grain's data source reads several of tatter's files", source)


def damaged(harness, seed):
    """Every changed byte is detected, and a truncated file is refused."""
    rng = random.Random(seed)
    path, bad = harness.path("whole.array_record"), harness.path("bad.array_record")
    records = [rng.randbytes(rng.choice([0, 5, 300, 20_000])) for _ in range(30)]
    write(path, f"group_size:{rng.choice([1, 4])},{rng.choice(['uncompressed', 'snappy', 'brotli', 'zstd'])}", records)
    whole = open(path, "rb").read()
    for _ in range(60):
        changed = bytearray(whole)
        if rng.random() < 0.2:
            del changed[rng.randrange(len(changed)) :]
        else:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        with open(bad, "wb") as file:
            file.write(changed)

        def noticed():
            done = harness.run("convert", bad, "--raw-records", "--from", "array-record", ok=False)
            assert done.returncode == 1 and b"error:" in done.stderr, (done.returncode, done.stderr[-300:])
            done = harness.run("convert", bad, "--raw-records", "--from", "array-record", "--on-error", "skip", ok=False)
            assert done.returncode in (0, 1), (done.returncode, done.stderr[-300:])
            found = [value(json.loads(line)["bytes"]) for line in done.stdout.splitlines()]
            rest = iter(records)
            assert all(record in rest for record in found), "records that were not written"

        harness.check(f"a changed byte is detected, seed {seed}", noticed)


def transposed(harness):
    path = harness.path("transposed.array_record")
    write(path, "group_size:3,transpose:true", [b"\x0a\x01a"] * 5)

    def refused():
        done = harness.run("convert", path, "--raw-records", ok=False)
        assert done.returncode == 1 and b"the chunk is transposed" in done.stderr, done.stderr

    harness.check("transposed chunks are refused", refused)
