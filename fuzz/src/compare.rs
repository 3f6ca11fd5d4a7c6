//! Two datasets, separated by a line `--`, compared and validated: an input equals itself, and the order of the two makes no
//! difference. The first byte chooses the format.

use super::{command, folder};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;
use tatter::verbs::Verdict;

const FORMATS: [&str; 6] = ["jsonl", "csv", "tfrecord", "json", "text", "libsvm"];
const SEPARATOR: &[u8] = b"\n--\n";

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| folder("compare"));

pub fn run(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let at = bytes.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
    let (first, second) = at.map_or((bytes, bytes), |at| (&bytes[..at], &bytes[at + SEPARATOR.len()..]));
    let [a, b] = ["a", "b"].map(|name| FOLDER.join(name));
    std::fs::write(&a, first).expect("a file");
    std::fs::write(&b, second).expect("a file");
    let from = FORMATS[usize::from(*choice) % FORMATS.len()];
    let run = |words: &[&str], files: &[&PathBuf]| {
        let words = words.iter().map(OsString::from).chain(files.iter().map(OsString::from));
        command(words.chain(["-q", "--from", from, "--threads", "1", "--max-record-bytes", "1M"].map(OsString::from)))
    };
    let out = FOLDER.join("out").display().to_string();
    for file in [&a, &b] {
        run(&["validate", "-o", &out], &[file]);
    }
    if let Some(verdict) = run(&["diff"], &[&a, &a]) {
        assert_eq!(verdict, Verdict::Good, "an input differs from itself");
    }
    let (there, back) = (run(&["diff"], &[&a, &b]), run(&["diff"], &[&b, &a]));
    if let (Some(there), Some(back)) = (there, back) {
        assert_eq!(there, back, "the order of the inputs makes a difference");
    }
}
