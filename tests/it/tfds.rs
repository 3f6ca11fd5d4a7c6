//! Damaged TensorFlow Datasets directories: whatever is flipped or truncated, the result is records or a message.

use crate::tatter::{Outcome, root, tatter};
use std::fs;
use std::path::Path;

/// The files of the dataset in `fixtures`, copied.
fn copy(to: &Path) {
    for entry in fs::read_dir(root().join("fixtures/inputs/episodes/1.0.0")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

fn read(directory: &Path, options: &[&str]) -> Outcome {
    let mut words = vec!["convert", directory.to_str().unwrap(), "--split", "all"];
    words.extend(options);
    tatter(&words, b"")
}

#[test]
fn damage_ends_in_a_message() {
    let folder = tempfile::tempdir().unwrap();
    copy(folder.path());
    assert_eq!(read(folder.path(), &[]).status, 0);
    let mut state = 1u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for name in ["features.json", "dataset_info.json", "robot.labels.txt", "episodes-train.tfrecord-00001-of-00002"] {
        let path = folder.path().join(name);
        let whole = fs::read(&path).unwrap();
        for round in 0..25 {
            let mut bytes = whole.clone();
            let at = next(bytes.len());
            match round % 5 {
                0 => bytes.truncate(at),
                1 => bytes[at] = b'9',
                _ => bytes[at] ^= 1 << next(8),
            }
            fs::write(&path, bytes).unwrap();
            for options in [&["--no-verify"][..], &["--on-error", "skip"], &["--class-names"]] {
                let outcome = read(folder.path(), options);
                assert!((0..=3).contains(&outcome.status), "{name}, round {round}, {options:?}: {}", outcome.stderr);
            }
        }
        fs::write(&path, whole).unwrap();
    }
}

#[test]
fn tensors_that_decompress_to_too_much_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    copy(folder.path());
    let path = folder.path().join("features.json");
    let features = fs::read_to_string(&path).unwrap();
    // With one unknown size, only --max-record-bytes limits decompression.
    assert!(features.contains("\"encoding\": \"zlib\""));
    let at = features.find("\"encoding\": \"zlib\"").unwrap();
    let (front, back) = features.split_at(at);
    fs::write(&path, format!("{front}{}", back.replacen("\"2\"", "\"-1\"", 1))).unwrap();
    assert_eq!(read(folder.path(), &[]).status, 0);
    let outcome = read(folder.path(), &["--max-record-bytes", "10"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
}

/// A dataset with two splits in several shards, as TFRecords and as ArrayRecords.
fn two_splits(folder: &Path) -> [String; 2] {
    let (ds, ar) = (folder.join("ds"), folder.join("ar"));
    let (ds, ar) = (ds.to_str().unwrap(), ar.to_str().unwrap());
    for (split, ids, shards) in [("train", 0..47, "5"), ("test", 100..119, "3")] {
        let lines: String = ids.map(|id| format!("{{\"id\": {id}}}\n")).collect();
        let words = ["convert", "--from", "jsonl", "--to", "tfds", "-o", ds, "--split", split, "--shards", shards];
        assert_eq!(tatter(&words, lines.as_bytes()).status, 0);
    }
    fs::create_dir(ar).unwrap();
    for entry in fs::read_dir(ds).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let to = format!("{ar}/{}", name.replace("tfrecord", "array_record"));
        if name.contains("tfrecord") {
            let words = ["convert", path.to_str().unwrap(), "--raw-records", "--to", "array-record", "-o", &to, "--row-group-rows", "2"];
            assert_eq!(tatter(&words, b"").status, 0);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            fs::write(to, text.replace("\"fileFormat\": \"tfrecord\"", "\"fileFormat\": \"array_record\"")).unwrap();
        }
    }
    [ds.to_owned(), ar.to_owned()]
}

#[test]
fn get_counts_the_records_of_the_split() {
    let folder = tempfile::tempdir().unwrap();
    let sets = two_splits(folder.path());
    let mut state = 7u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for round in 0..36 {
        let split = ["train", "test", "all", "train[13:40]", "train[:30%]+test[5:]", "test[-7:]+train[2shard:]"][round % 6];
        let first = 1 + next(30);
        let numbers = match next(3) {
            0 => format!("{first}"),
            1 => format!("{first}-{}", first + next(25)),
            _ => format!("{},{}-{},{}-", next(9) + 1, first + 5, first + 9, first + 20),
        };
        let is_one_of = |number: usize| {
            numbers.split(',').any(|range| {
                let (from, to) = range.split_once('-').unwrap_or((range, range));
                from.parse::<usize>().unwrap() <= number && (to.is_empty() || number <= to.parse().unwrap())
            })
        };
        for set in &sets {
            let run = |verbs: &[&str], options: &[&str]| {
                let outcome = tatter(&[verbs, &[set, "--split", split], options].concat(), b"");
                assert_eq!(outcome.status, 0, "{verbs:?} {split}: {}", outcome.stderr);
                outcome.text()
            };
            let all = run(&["convert"], &[]);
            let expected: String = all.split_inclusive('\n').zip(1..).filter(|(_, n)| is_one_of(*n)).map(|(line, _)| line).collect();
            let options = [&["--threads", "1"][..], &["--threads", "2", "--chunk-rows", "1"], &["--threads", "8", "--chunk-rows", "4"]];
            let options = [options[round % 3], options[(round + 1) % 3], &["--on-error", "skip"]];
            for options in &options {
                assert_eq!(run(&["get", &numbers], options), expected, "get {numbers} {split} {options:?}");
                assert_eq!(run(&["head", "999", "then", "get", &numbers], options), expected, "then get {numbers} {split} {options:?}");
            }
            let skipped = run(&["skip", &(first - 1).to_string(), "then", "head", "1"], &[]);
            assert_eq!(run(&["get", &first.to_string()], &[]), skipped, "get {first} {split}");
        }
    }
}
