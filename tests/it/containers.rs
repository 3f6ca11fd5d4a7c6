//! Laws of containers that can represent only some schemas: output reads back unchanged, its bytes do not depend on
//! threads and chunks, and damage causes a message.

use crate::random::cases;
use crate::tatter::{Outcome, tatter};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

/// A format, with records that it can represent.
struct Container {
    /// The name for `--to` and `--from`.
    format: &'static str,
    /// The files of an output, the first of which is named, or the directory that contains it.
    files: &'static [&'static str],
    /// Types of the records, in both directions.
    schema: &'static str,
    records: fn(&[u32]) -> Vec<Value>,
    writing: &'static [&'static str],
    reading: &'static [&'static str],
}

const CONTAINERS: &[Container] = &[
    Container {
        format: "libsvm",
        files: &["x.svm"],
        schema: "label: float64; features: sparse<float32>[12]",
        records: |seeds| records(seeds, |draw, _| json!({"label": draw.float(), "features": draw.sparse()})),
        writing: &[],
        reading: &["--index-base", "1"],
    },
    Container {
        format: "scipy",
        files: &["x.npz"],
        schema: "features: sparse<float32>[12]",
        records: |seeds| records(seeds, |draw, _| json!({"features": draw.sparse()})),
        writing: &[],
        reading: &[],
    },
    Container {
        format: "matrix-market",
        files: &["x.mtx"],
        schema: "features: sparse<float64>[12]",
        records: |seeds| records(seeds, |draw, _| json!({"features": draw.sparse()})),
        writing: &[],
        reading: &[],
    },
    Container {
        format: "csv",
        files: &["x.csv"],
        schema: "id: int64; x: optional float64; t: string; l: int64[?]",
        records: |seeds| {
            records(seeds, |draw, row| {
                let x = if draw.below(3) == 0 { Value::Null } else { draw.float() };
                json!({"id": row, "x": x, "t": draw.text(1), "l": draw.integers(4, 1000)})
            })
        },
        writing: &["--list-separator", "|"],
        reading: &["--list-separator", "|"],
    },
    Container {
        format: "megatron",
        files: &["x.idx", "x.bin"],
        schema: "tokens: int64[?]; document: int64",
        records: |seeds| {
            let mut document = 0;
            records(seeds, |draw, row| {
                document += i64::from(row > 0 && draw.below(2) == 0);
                json!({"tokens": draw.integers(6, 100_000), "document": document})
            })
        },
        writing: &["--smallest-dtype"],
        reading: &[],
    },
    Container {
        format: "megatron",
        files: &["x.bin", "x.idx"],
        schema: "tokens: uint16[?, (?)]",
        records: |seeds| {
            records(seeds, |draw, _| {
                let n = draw.below(4);
                json!({"tokens": (0..n).map(|_| draw.integers(4, 65_536)).collect::<Vec<_>>()})
            })
        },
        writing: &[],
        reading: &["--documents"],
    },
    Container {
        format: "array-record",
        files: &["x.array_record"],
        schema: "id: int64; t: string; l: int64[?]; r: float32[?, (?)]",
        records: |seeds| {
            records(seeds, |draw, row| {
                let n = draw.below(3);
                let r: Vec<Vec<Value>> = (0..n).map(|_| (0..draw.below(3)).map(|_| draw.float()).collect()).collect();
                json!({"id": row, "t": draw.text(0), "l": draw.integers(4, 1000), "r": r})
            })
        },
        writing: &["--row-group-rows", "3"],
        reading: &[],
    },
    Container {
        format: "array-record",
        files: &["x.array_record"],
        schema: "bytes: bytes",
        records: |seeds| records(seeds, |draw, _| json!({"bytes": draw.text(0)})),
        writing: &["--raw-records", "--compression", "snappy"],
        reading: &["--raw-records"],
    },
    Container {
        format: "tfds",
        files: &["x/x-train.tfrecord-00000-of-00001", "x/features.json", "x/dataset_info.json"],
        schema: "id: int64; t: string; x: float64; l: int32[?]; steps: {a: float32[2], n: int64}[?]",
        records: |seeds| {
            records(seeds, |draw, row| {
                let n = draw.below(4);
                let steps: Vec<Value> = (0..n).map(|i| json!({"a": [draw.float(), draw.float()], "n": i})).collect();
                json!({"id": row, "t": draw.text(0), "x": draw.float(), "l": draw.integers(4, 1000), "steps": steps})
            })
        },
        writing: &[],
        reading: &[],
    },
    Container {
        format: "webdataset",
        files: &["x.tar"],
        schema: "__key__: string; txt: optional string; json: {a: int64, b: string[?]}; raw: bytes",
        records: |seeds| {
            records(seeds, |draw, row| {
                let txt = if draw.below(3) == 0 { Value::Null } else { draw.text(0) };
                let n = draw.below(3);
                let b: Vec<Value> = (0..n).map(|_| draw.text(0)).collect();
                json!({"__key__": format!("a.b/{row}{}", "k".repeat(draw.below(130))), "txt": txt, "json": {"a": draw.below(9), "b": b}, "raw": draw.text(0)})
            })
        },
        writing: &[],
        reading: &[],
    },
];

/// Values generated from a seed.
struct Draw(u32);

impl Draw {
    fn below(&mut self, n: u32) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((self.0 >> 8) % n) as usize
    }

    /// A number that float32 represents exactly.
    fn float(&mut self) -> Value {
        json!((self.below(4000) as f64 - 2000.0) / 8.0)
    }

    fn integers(&mut self, most: u32, below: u32) -> Value {
        let n = self.below(most + 1);
        (0..n).map(|_| self.below(below)).collect::<Vec<_>>().into()
    }

    fn text(&mut self, shortest: usize) -> Value {
        let parts = ["a", "b c", "\"", ",", "two\nlines", "é", "'", "\t", "{}", "x=y"];
        let n = shortest + self.below(4);
        let text: String = (0..n).map(|_| parts[self.below(parts.len() as u32)]).collect();
        Value::from(text)
    }

    /// A sparse vector of size 12 with sorted indices.
    fn sparse(&mut self) -> Value {
        let indices: Vec<usize> = (0..12).filter(|_| self.below(3) == 0).collect();
        let values: Vec<Value> = indices.iter().map(|_| self.float()).collect();
        json!({"indices": indices.iter().map(|i| [i]).collect::<Vec<_>>(), "values": values, "dense_shape": [12]})
    }
}

fn records(seeds: &[u32], mut record: impl FnMut(&mut Draw, usize) -> Value) -> Vec<Value> {
    seeds.iter().enumerate().map(|(row, seed)| record(&mut Draw(*seed), row)).collect()
}

fn lines(records: &[Value]) -> Vec<u8> {
    records.iter().flat_map(|record| format!("{record}\n").into_bytes()).collect()
}

impl Container {
    /// The name for `-o`, and the name to read.
    fn path(&self, folder: &Path) -> String {
        let name = self.files[0].split('/').next().unwrap();
        folder.join(name).display().to_string()
    }

    fn write(&self, records: &[Value], folder: &Path, more: &[&str]) -> Outcome {
        let out = self.path(folder);
        let words = ["convert", "--from", "jsonl", "--schema", self.schema, "--to", self.format, "-o", &out];
        tatter(&[&words[..], self.writing, more].concat(), &lines(records))
    }

    fn read(&self, folder: &Path, more: &[&str]) -> Outcome {
        let file = self.path(folder);
        tatter(&[&["convert", &file, "--from", self.format], self.reading, more].concat(), b"")
    }

    fn bytes(&self, folder: &Path) -> Vec<Vec<u8>> {
        self.files.iter().map(|file| std::fs::read(folder.join(file)).unwrap()).collect()
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn what_is_written_reads_back(container in 0..CONTAINERS.len(), seeds in prop::collection::vec(any::<u32>(), 1..12)) {
        let container = &CONTAINERS[container];
        let records = (container.records)(&seeds);
        let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let written = container.write(&records, one.path(), &[]);
        prop_assert_eq!(written.status, 0, "{}: {}", container.format, written.stderr);
        let plain = tatter(&["convert", "--from", "jsonl", "--schema", container.schema], &lines(&records));
        let read = container.read(one.path(), &["--schema", container.schema]);
        // The container determines the order of fields.
        let values = |outcome: &Outcome| outcome.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
        prop_assert_eq!(values(&read), values(&plain), "{}: {}", container.format, read.stderr);
        let again = container.write(&records, other.path(), &["--threads", "3", "--chunk-rows", "1"]);
        prop_assert_eq!(again.status, 0, "{}", again.stderr);
        prop_assert_eq!(container.bytes(other.path()), container.bytes(one.path()), "{} in other chunks", container.format);
    }

    #[test]
    fn damage_gives_records_or_a_message(
        container in 0..CONTAINERS.len(),
        seeds in prop::collection::vec(any::<u32>(), 1..6),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let container = &CONTAINERS[container];
        let folder = tempfile::tempdir().unwrap();
        let written = container.write(&(container.records)(&seeds), folder.path(), &[]);
        prop_assert_eq!(written.status, 0, "{}: {}", container.format, written.stderr);
        let path = folder.path().join(container.files[0]);
        let mut bytes = std::fs::read(&path).unwrap();
        prop_assume!(!bytes.is_empty());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&path, &bytes).unwrap();
        for more in [&[][..], &["--on-error", "skip"]] {
            let read = container.read(folder.path(), more);
            prop_assert!(matches!(read.status, 0..=3), "{}: exit {}: {}", container.format, read.status, read.stderr);
        }
    }
}
