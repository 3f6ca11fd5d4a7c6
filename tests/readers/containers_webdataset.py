"""WebDataset archives compared with the package's own writer and reader."""
import io
import json
import random
import tarfile

import webdataset as wds


def run(harness):
    for seed in range(6):
        theirs(harness, seed)
        ours(harness, seed)
        forms(harness, seed)
        damaged(harness, seed)


def random_samples(rng):
    samples = []
    for i in range(rng.randint(1, 40)):
        sample = {
            "__key__": f"{rng.choice(['', 'part/', 'a.b/c d/'])}{i:06}{rng.choice(['', 'é', '_' * 120])}",
            "jpg": bytes(rng.randrange(256) for _ in range(rng.choice([0, 1, 511, 512, 513, 2000]))),
            "json": {"n": i, "words": [rng.choice(["x", "y z", 'q"', "é"]) for _ in range(rng.randrange(4))], "score": rng.random() * 10},
            "cls": rng.randrange(-5, 1000),
            "txt": rng.choice(["", "one", "two\nlines", "naïve"]),
        }
        if i and rng.random() < 0.2:
            del sample["txt"]
        if i and rng.random() < 0.2:
            del sample["jpg"]
        samples.append(sample)
    return samples


def plain(sample):
    """The record that tatter prints: all fields, null if a member is missing."""
    return {name: sample.get(name) for name in ["__key__", "jpg", "json", "cls", "txt"]}


def read_by_webdataset(path):
    found = []
    for sample in wds.WebDataset(path, shardshuffle=False).decode():
        found.append({name: value for name, value in sample.items() if name not in ("__url__", "__local_path__")})
    return found


def theirs(harness, seed):
    samples, path = random_samples(random.Random(seed)), harness.path(f"theirs{seed}.tar")
    compressed = path + ".gz" if seed % 2 else path
    with wds.TarWriter(compressed) as sink:
        for sample in samples:
            sink.write(sample)

    def read():
        lines = harness.run("convert", compressed, "--schema", "jpg: optional bytes").splitlines()
        found = [json.loads(line) for line in lines]
        for record, sample in zip(found, samples, strict=True):
            expected = plain(sample)
            jpg = record.pop("jpg")
            if jpg is not None:
                import base64

                jpg = base64.b64decode(jpg["b64"]) if isinstance(jpg, dict) else jpg.encode()
            assert jpg == expected.pop("jpg")
            assert {name: record.get(name) for name in expected} == expected, (record, expected)

    def again():
        out = harness.path(f"again{seed}.tar")
        harness.run("convert", compressed, "-o", out)
        assert read_by_webdataset(out) == read_by_webdataset(compressed) == samples

    harness.check(f"webdataset's archive read, seed {seed}", read)
    harness.check(f"webdataset's archive written again, seed {seed}", again)


def ours(harness, seed):
    rng = random.Random(seed + 100)
    samples, path = random_samples(rng), harness.path(f"ours{seed}.tar")
    lines = "".join(
        json.dumps({**plain(s), "jpg": None if s.get("jpg") is None else {"b64": __import__("base64").b64encode(s["jpg"]).decode()}}) + "\n" for s in samples
    ).encode()

    def written():
        harness.run("convert", "--from", "jsonl", "--schema", "jpg: optional bytes", "-o", path, stdin=lines)
        assert read_by_webdataset(path) == samples
        with tarfile.open(path) as archive:
            assert all((m.mtime, m.mode, m.uid, m.gid) == (0, 0o644, 0, 0) for m in archive)

    harness.check(f"webdataset reads tatter's archive, seed {seed}", written)


def forms(harness, seed):
    """The tar formats that tarfile writes, with long names, directories, links and a device."""
    rng = random.Random(seed)
    for name, form in [("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)]:
        path = harness.path(f"{name}{seed}.tar")
        expected = []
        with tarfile.open(path, "w", format=form, encoding="utf-8") as archive:
            for i in range(rng.randint(1, 10)):
                key = f"{'d' * rng.choice([1, 60])}/{'k' * rng.choice([1, 80]) if form != tarfile.USTAR_FORMAT else 'k'}{i}"
                text = "t" * rng.choice([0, 1, 600])
                member = tarfile.TarInfo(f"{key}.txt")
                member.size = len(text)
                for kind in [tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.FIFOTYPE]:
                    other = tarfile.TarInfo(f"other{i}.txt")
                    other.type, other.linkname = kind, "../../etc/passwd"
                    if rng.random() < 0.3:
                        archive.addfile(other)
                archive.addfile(member, io.BytesIO(text.encode()))
                expected.append({"__key__": key, "txt": text})

        def read():
            assert harness.records("convert", path) == expected
            assert read_by_webdataset(path) == expected

        harness.check(f"tar in the format {name}, seed {seed}", read)


def damaged(harness, seed):
    """Truncated archives and changed bytes: records or a message, never a crash."""
    rng = random.Random(seed)
    path, bad = harness.path(f"whole{seed}.tar"), harness.path(f"bad{seed}.tar")
    with wds.TarWriter(path) as sink:
        for sample in random_samples(rng)[:8]:
            sink.write(sample)
    whole = open(path, "rb").read()
    for number in range(25):
        changed = bytearray(whole)
        if rng.random() < 0.3:
            del changed[rng.randrange(len(changed)) :]
        for _ in range(rng.choice([0, 1, 4])):
            at = rng.randrange(max(1, len(changed) - 600))
            changed[at] = rng.choice([0, 255, 0x30, 0x37, 0x80, rng.randrange(256)])
            if rng.random() < 0.5 and at // 512 * 512 + 512 <= len(changed):
                header = changed[at // 512 * 512 :][:512]
                total = sum(header[:148]) + 8 * 32 + sum(header[156:])
                changed[at // 512 * 512 + 148 : at // 512 * 512 + 156] = b"%06o\0 " % total
        with open(bad, "wb") as file:
            file.write(changed)

        def survives():
            for extra in [[], ["--raw-members"], ["--on-error", "skip"], ["--on-error", "null"]]:
                done = harness.run("convert", bad, "--from", "webdataset", "--max-memory", "256MiB", *extra, ok=False)
                assert done.returncode in (0, 1, 2), (done.returncode, done.stderr[-400:])

        harness.check(f"damaged webdataset {number}, seed {seed}", survives)
