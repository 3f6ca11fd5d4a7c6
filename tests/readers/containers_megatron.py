"""Indexed datasets compared with megatron-core's own builder and reader: identical files, and equal sequences in both directions."""
import importlib.metadata
import importlib.util
import json
import os
import random
import sys
import types

import numpy as np


def indexed_dataset():
    """The module of megatron-core, installed without its dependencies: it needs only a base class and `tensor.numpy()` of torch."""
    torch = types.ModuleType("torch")
    torch.Tensor = object
    torch.utils = types.SimpleNamespace(data=types.SimpleNamespace(Dataset=object))
    storage = types.ModuleType("megatron.core.datasets.object_storage_utils")
    for name in ["ObjectStorageConfig", "S3Config", "cache_index_file", "dataset_exists", "get_index_cache_path", "get_object_storage_access", "parse_s3_path"]:
        setattr(storage, name, None)
    storage.is_object_storage_path = lambda path: False
    clients = types.ModuleType("megatron.core.msc_utils")
    clients.MultiStorageClientFeature = types.SimpleNamespace(is_enabled=lambda: False)
    utils = types.ModuleType("megatron.core.utils")
    utils.log_single_rank = lambda *_, **__: None
    packages = {name: types.ModuleType(name) for name in ["megatron", "megatron.core", "megatron.core.datasets"]}
    stubs = {"torch": torch, "megatron.core.datasets.object_storage_utils": storage, "megatron.core.msc_utils": clients, "megatron.core.utils": utils, **packages}
    sys.modules.update(stubs)
    root = importlib.metadata.distribution("megatron-core").locate_file("megatron/core/datasets/indexed_dataset.py")
    spec = importlib.util.spec_from_file_location("indexed_dataset", root)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in stubs:
        del sys.modules[name]
    return module


class Item:
    """A substitute for the tensors that the builder expects."""

    def __init__(self, values):
        self.values = values

    def numpy(self):
        return np.array(self.values)


def build(megatron, prefix, documents, dtype, modes=None):
    builder = megatron.IndexedDatasetBuilder(prefix + ".bin", dtype=dtype, multimodal=modes is not None)
    at = 0
    for document in documents:
        for sequence in document:
            builder.add_item(Item(sequence), modes[at] if modes else 0)
            at += 1
        builder.end_document()
    builder.finalize(prefix + ".idx")


def same_files(a, b):
    for extension in [".bin", ".idx"]:
        assert open(a + extension, "rb").read() == open(b + extension, "rb").read(), extension


def random_documents(rng, dtype):
    info = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else None

    def value():
        if info is None:
            return float(dtype(rng.uniform(-1e5, 1e5)))
        return rng.choice([rng.randint(0, 100), rng.randint(info.min, info.max), info.min, info.max])

    return [[[value() for _ in range(rng.choice([0, 1, 3, 40]))] for _ in range(rng.randint(0, 4))] for _ in range(rng.randint(1, 30))]


def run(harness):
    megatron = indexed_dataset()
    dtypes = [np.uint8, np.int8, np.int16, np.int32, np.int64, np.float64, np.float32, np.uint16]
    for seed, dtype in enumerate(dtypes):
        every_dtype(harness, megatron, seed, dtype)
    for seed in range(4):
        smallest(harness, megatron, seed)
        damaged(harness, megatron, seed)
    vocabulary(harness, megatron)
    multimodal(harness, megatron)


def every_dtype(harness, megatron, seed, dtype):
    documents = random_documents(random.Random(seed), dtype)
    name = np.dtype(dtype).name
    theirs, ours = harness.path(f"theirs-{name}"), harness.path(f"ours-{name}")
    build(megatron, theirs, documents, dtype)

    def read():
        records = harness.records("convert", theirs + ".idx")
        if dtype is np.float32:
            # Printed in the shortest form that reads back as float32.
            records = [{**r, "tokens": [float(dtype(v)) for v in r["tokens"]]} for r in records]
        assert [r["tokens"] for r in records] == [s for d in documents for s in d]
        assert [r["document"] for r in records] == [i for i, d in enumerate(documents) for _ in d]
        if dtype is not np.float32:
            assert [r["tokens"] for r in harness.records("convert", theirs, "--documents")] == documents
        assert f"tokens:   {name}[?]" in harness.run("schema", theirs + ".bin").decode()

    def written():
        lines = "".join(json.dumps({"x": d}) + "\n" for d in documents).encode()
        harness.run("convert", "--from", "jsonl", "--schema", f"x: {name}[?, (?)]", "-o", ours + ".bin", stdin=lines)
        same_files(ours, theirs)
        if os.path.getsize(ours + ".bin"):
            dataset = megatron.IndexedDataset(ours)
            assert [dataset[i].tolist() for i in range(len(dataset))] == [s for d in documents for s in d]
            assert dataset.document_indices.tolist() == np.cumsum([0] + [len(d) for d in documents]).tolist()

    def again():
        harness.run("convert", theirs, "--documents", "-o", ours + "-again.idx")
        same_files(ours + "-again", theirs)

    harness.check(f"megatron {name} read", read)
    harness.check(f"megatron {name} written like its builder", written)
    harness.check(f"megatron {name} read and written again", again)


def smallest(harness, megatron, seed):
    rng = random.Random(seed)
    most = [200, 60_000, 70_000, 2**40][seed]
    documents = [[[rng.randint(0, 100 + most * i // 3000) for _ in range(rng.randint(1, 30))]] for i in range(3000)]
    found = max(max(d[0]) for d in documents)
    dtype = next(dtype for dtype in [np.uint8, np.uint16, np.int32, np.int64] if found <= np.iinfo(dtype).max)
    theirs, ours = harness.path(f"small{seed}"), harness.path(f"ours-small{seed}")
    for eod in [None, 3]:
        ended = [[d[0] + ([eod] if eod is not None else [])] for d in documents]
        build(megatron, theirs, ended, dtype)
        lines = "".join(json.dumps({"x": d[0]}) + "\n" for d in documents).encode()

        def written():
            extra = ["--append-eod", eod] if eod is not None else []
            harness.run("convert", "--from", "jsonl", "-o", ours, "--to", "megatron", "--smallest-dtype", "--chunk-rows", 100, *extra, stdin=lines)
            same_files(ours, theirs)

        harness.check(f"megatron in the smallest dtype, up to {most}, end of document {eod}", written)


def vocabulary(harness, megatron):
    documents = [[[1, 2], [3]], [[4]], [[], [5, 6]]]
    for size in [65499, 65500]:
        theirs, ours = harness.path(f"vocabulary{size}"), harness.path(f"ours-vocabulary{size}")
        ended = [d[:-1] + [d[-1] + [7]] for d in documents]
        build(megatron, theirs, ended, megatron.DType.optimal_dtype(size))
        lines = "".join(json.dumps({"tokens": s, "document": i}) + "\n" for i, d in enumerate(documents) for s in d).encode()

        def written():
            harness.run("convert", "--from", "jsonl", "-o", ours + ".idx", "--vocab-size", size, "--append-eod", 7, stdin=lines)
            same_files(ours, theirs)

        harness.check(f"megatron for a vocabulary of {size}", written)


def multimodal(harness, megatron):
    documents, modes = [[[1, 2], [3]], [[4]]], [0, 1, 2]
    theirs, ours = harness.path("modes"), harness.path("ours-modes")
    build(megatron, theirs, documents, np.int32, modes)

    def both():
        assert [r["mode"] for r in harness.records("convert", theirs)] == modes
        for extra in [[], ["--documents"]]:
            harness.run("convert", theirs, "-o", ours + ".idx", *extra)
            same_files(ours, theirs)
        dataset = megatron.IndexedDataset(ours, multimodal=True)
        assert dataset.index.sequence_modes.tolist() == modes

    harness.check("megatron with modes", both)


def damaged(harness, megatron, seed):
    """Truncated files and changed bytes: records or a message, never a crash."""
    rng = random.Random(seed)
    prefix = harness.path(f"whole{seed}")
    build(megatron, prefix, random_documents(rng, np.uint16), np.uint16)
    index, values = (open(prefix + end, "rb").read() for end in [".idx", ".bin"])
    bad = harness.path(f"bad{seed}")
    for number in range(40):
        changed = [bytearray(index), bytearray(values)]
        of = changed[number % 4 == 0]
        if of and rng.random() < 0.3:
            del of[rng.randrange(len(of)) :]
        elif of:
            for _ in range(rng.choice([1, 2, 8])):
                of[rng.randrange(min(len(of), rng.choice([34, len(of)])))] = rng.choice([0, 255, 0x7F, 0x80, rng.randrange(256)])
        for end, content in zip([".idx", ".bin"], changed):
            with open(bad + end, "wb") as file:
                file.write(content)

        def survives():
            for extra in [[], ["--documents"], ["--on-error", "skip"]]:
                done = harness.run("convert", bad + ".idx", "--from", "megatron", "--max-memory", "256MiB", *extra, ok=False)
                assert done.returncode in (0, 1, 2), (done.returncode, bytes(changed[0])[:100], done.stderr[-400:])

        harness.check(f"damaged megatron {number}, seed {seed}", survives)
