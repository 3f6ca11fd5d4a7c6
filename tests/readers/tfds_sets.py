"""Datasets written by TFDS itself: one with every connector, and one of episodes in several shards."""
import ml_dtypes
import numpy as np
import tensorflow_datasets as tfds

F = tfds.features


def everything():
    text, ints = F.Text(), F.Sequence(np.int64)
    return F.FeaturesDict({
        "int64": np.int64, "int8": np.int8, "uint8": np.uint8, "uint32": np.uint32, "uint64": np.uint64, "bool": np.bool_,
        "float16": np.float16, "float32": F.Scalar(np.float32), "float64": np.float64,
        "text": text, "texts": F.Tensor(shape=(None,), dtype=np.str_), "grid": F.Tensor(shape=(2, 2), dtype=np.str_),
        "label": F.ClassLabel(names=["cat", "dog"]), "labels": F.Sequence(F.ClassLabel(names=["a", "b", "c", "d", "e"])),
        "class": F.ClassLabel(num_classes=3),
        "image": F.Image(shape=(2, 2, 3), encoding_format="png"), "labeled": F.LabeledImage(labels=3, shape=(2, 2, 1)),
        "video": F.Video(shape=(None, 2, 2, 3)), "audio": F.Audio(sample_rate=16000),
        "channels": F.Audio(shape=(None, 2), dtype=np.int16),
        "box": F.BBoxFeature(), "objects": F.Sequence({"bbox": F.BBoxFeature(), "name": text, "label": F.ClassLabel(names=["x", "y"])}),
        "translation": F.Translation(["en", "fr"]), "translations": F.TranslationVariableLanguages(["en", "fr", "de"]),
        "known": F.Tensor(shape=(2, 3), dtype=np.int32), "last": F.Tensor(shape=(2, None), dtype=np.int32),
        "first": F.Tensor(shape=(None, 2), dtype=np.float32), "middle": F.Tensor(shape=(2, None, 3), dtype=np.uint8),
        "bytes": F.Tensor(shape=(2, 2), dtype=np.float64, encoding="bytes"), "zlib": F.Tensor(shape=(None, 2), dtype=np.uint64, encoding="zlib"),
        "scalar": F.Tensor(shape=(), dtype=np.float64, encoding="bytes"), "bools": F.Tensor(shape=(3,), dtype=np.bool_, encoding="bytes"),
        "half": F.Tensor(shape=(2,), dtype=np.float16, encoding="zlib"), "bfloat": F.Tensor(shape=(2,), dtype=ml_dtypes.bfloat16, encoding="bytes"),
        "dynamic": F.Tensor(shape=(None, None, 2), dtype=np.uint8, encoding="zlib"),
        "lists": F.Sequence(ints), "deep": F.Sequence(F.Sequence(F.Sequence(text))), "pairs": F.Sequence(F.Tensor(shape=(2,), dtype=np.float32)),
        "deep_pairs": F.Sequence(F.Sequence(F.Tensor(shape=(2,), dtype=np.float32))), "three": F.Sequence(np.int32, length=3),
        "packed": F.Sequence(F.Tensor(shape=(2,), dtype=np.float64, encoding="zlib")),
        "packed_dynamic": F.Sequence(F.Tensor(shape=(None, None), dtype=np.int16, encoding="bytes")),
        "packed_deep": F.Sequence(F.Sequence(F.Tensor(shape=(2,), dtype=np.int8, encoding="bytes"))),
        "nested": {"a": {"b": np.int64}, "c/d": np.int64}, "e/f": np.int64,
        "sequence": F.Sequence({"x": np.int64, "y": ints, "z": {"w": text, "v": F.Sequence({"u": np.bool_})}}),
        "optional": F.Scalar(np.int64, optional=True), "optional_text": F.Tensor(shape=(), dtype=np.str_, optional=True),
        "optional_packed": F.Tensor(shape=(2,), dtype=np.float32, encoding="bytes"),
        "steps": F.Dataset({
            "observation": {"image": F.Image(shape=(2, 2, 3)), "state": F.Tensor(shape=(4,), dtype=np.float32)},
            "action": F.Tensor(shape=(2,), dtype=np.float64), "exact": F.Tensor(shape=(2,), dtype=np.float64, encoding="bytes"),
            "reward": np.float32, "is_last": np.bool_, "instruction": text, "tokens": F.Sequence(np.int32),
            "inner": F.Dataset({"n": np.int64}),
        }),
    })


def record(k):
    r = np.random.default_rng(k)
    pixels = lambda *shape: r.integers(0, 255, shape, dtype=np.uint8)
    return {
        "int64": k - 2**62, "int8": -k, "uint8": 200 + k, "uint32": 2**32 - 1 - k, "uint64": 2**63 + k, "bool": k % 2 == 0,
        "float16": np.float16(k / 4), "float32": k / 3, "float64": k / 3,
        "text": f"é{k}", "texts": ["a"] * (k % 3), "grid": [["a", ""], ["ü", str(k)]],
        "label": k % 2, "labels": [k % 5] * (k % 3), "class": k % 3,
        "image": pixels(2, 2, 3), "labeled": r.integers(0, 3, (2, 2, 1), dtype=np.uint8), "video": pixels(k % 3, 2, 2, 3),
        "audio": r.integers(-9, 9, (k % 4,)), "channels": r.integers(-9, 9, (k % 4, 2), dtype=np.int16),
        "box": F.BBox(0.0, 0.0, 0.5, 1.0), "objects": [{"bbox": F.BBox(0.0, 0.25, 0.5, 1.0), "name": f"n{j}", "label": j % 2} for j in range(k % 3)],
        "translation": {"en": "a", "fr": "b"}, "translations": {"en": "a", "fr": ("b", "c")},
        "known": r.integers(0, 9, (2, 3), dtype=np.int32), "last": r.integers(0, 9, (2, k % 3), dtype=np.int32),
        "first": r.random((k % 3, 2), dtype=np.float32), "middle": pixels(2, k % 3, 3),
        "bytes": r.random((2, 2)), "zlib": r.integers(0, 2**64, (k % 3, 2), dtype=np.uint64), "scalar": np.float64(k / 7),
        "bools": np.array([k % 2 == 0, True, False]), "half": np.array([k, 0.5], np.float16), "bfloat": np.array([k, 1.5], ml_dtypes.bfloat16),
        "dynamic": pixels(k % 3, k % 2 + 1, 2),
        "lists": [[1, 2], [], [k]][: k % 4], "deep": [[["a"], []], [], [["b", "c"]]][: k % 4], "pairs": r.random((k % 3, 2), dtype=np.float32),
        "deep_pairs": [r.random((k % 3, 2), dtype=np.float32)] * (k % 2), "three": [1, 2, k],
        "packed": list(r.random((k % 3, 2))), "packed_dynamic": [r.integers(0, 9, (k % 2 + 1, k % 3), dtype=np.int16) for _ in range(k % 3 + 1)],
        "packed_deep": [[np.array([j, i], np.int8) for i in range(j)] for j in range(k % 4)],
        "nested": {"a": {"b": k}, "c/d": -k}, "e/f": k,
        "sequence": [{"x": j, "y": list(range(j)), "z": {"w": str(j), "v": [{"u": j % 2 == 0}] * j}} for j in range(k % 4)],
        "optional": None if k % 2 else k, "optional_text": None if k % 2 else "q", "optional_packed": np.array([k, 1], np.float32),
        "steps": [
            {
                "observation": {"image": pixels(2, 2, 3), "state": r.random(4, dtype=np.float32)}, "action": r.random(2), "exact": r.random(2),
                "reward": j / 2, "is_last": j == k % 4 - 1, "instruction": "go", "tokens": list(range(j)), "inner": [{"n": i} for i in range(j)],
            }
            for j in range(k % 4)
        ],
    }


def build(folder, name, features, splits, nshards):
    """Writes a dataset, {split: records}, and returns its directory."""
    class Methods:
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            return tfds.core.DatasetInfo(builder=self, features=features)

        def _split_generators(self, dl_manager):
            return {split: self._generate_examples(records) for split, records in splits.items()}

        def _generate_examples(self, records):
            yield from enumerate(records)

    # TFDS takes the name of the dataset from that of the class.
    Builder = type(name.capitalize(), (Methods, tfds.core.GeneratorBasedBuilder), {"__module__": __name__})
    builder = Builder(data_dir=folder)
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(num_shards=nshards))
    return str(builder.data_dir)


def episodes():
    """The features of the dataset in `fixtures/inputs/episodes`."""
    return F.FeaturesDict({
        "episode": F.Text(), "robot": F.ClassLabel(names=["arm", "rover"]),
        "steps": F.Dataset({
            "observation": {"camera": F.Image(shape=(1, 1, 3), encoding_format="png"), "state": F.Tensor(shape=(2,), dtype=np.float32)},
            "action": F.Tensor(shape=(2,), dtype=np.float64, encoding="zlib"), "reward": np.float32, "is_last": np.bool_,
            "tokens": F.Sequence(np.int32),
        }),
    })


def episode(k):
    step = lambda j, n: {
        "observation": {"camera": np.full((1, 1, 3), 40 * k, np.uint8), "state": np.array([k, j / 2], np.float32)},
        "action": np.array([k / 10, j / 10]), "reward": j, "is_last": j == n - 1, "tokens": list(range(j)),
    }
    return {"episode": f"e{k}", "robot": k % 2, "steps": [step(j, k % 3) for j in range(k % 3)]}
