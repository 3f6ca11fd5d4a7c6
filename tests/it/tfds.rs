//! Damaged data sets of TensorFlow Datasets: whatever is flipped or cut off, the answer is records or a message.

use crate::tatter::{Outcome, root, tatter};
use std::fs;
use std::path::Path;

/// The files of the data set in `fixtures`, copied.
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
    // One unknown size: only --max-record-bytes bounds what is decompressed.
    assert!(features.contains("\"encoding\": \"zlib\""));
    let at = features.find("\"encoding\": \"zlib\"").unwrap();
    let (front, back) = features.split_at(at);
    fs::write(&path, format!("{front}{}", back.replacen("\"2\"", "\"-1\"", 1))).unwrap();
    assert_eq!(read(folder.path(), &[]).status, 0);
    let outcome = read(folder.path(), &["--max-record-bytes", "10"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
}
