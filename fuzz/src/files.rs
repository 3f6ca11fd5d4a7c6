//! Arbitrary text as names of inputs, patterns and shards, and, after a NUL byte, as a list of names: expanded to files
//! that exist, or rejected with a message.

use super::folder;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tatter::io;
use tatter::options::Options;

const FILES: [&str; 9] = [
    "a.jsonl",
    "b.jsonl",
    "x-00000-of-00002.jsonl",
    "x-00001-of-00002.jsonl",
    "[1].jsonl",
    "s/c.jsonl",
    "s/_SUCCESS",
    "s/k=1/d.jsonl",
    ".h",
];

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = folder("files");
    for file in FILES {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, "{}\n").expect("a file");
    }
    folder
});

/// The name in the folder: no pattern may search all of the disk.
fn inside(name: &[u8]) -> Option<OsString> {
    let name = Path::new(std::ffi::OsStr::from_bytes(name));
    let is_inside = name.components().all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
    is_inside.then(|| [FOLDER.as_os_str().as_bytes(), name.as_os_str().as_bytes()].join(&b'/')).map(OsString::from_vec)
}

pub fn run(bytes: &[u8]) {
    let (names, list) = bytes.split_at(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    let names: Option<Vec<OsString>> = names.split(|byte| *byte == b'\n').filter(|name| !name.is_empty()).map(inside).collect();
    let Some(names) = names else { return };
    let mut options = Options::default();
    if let Some((_, list)) = list.split_first() {
        let listed: Option<Vec<OsString>> = list.split(|byte| matches!(byte, b'\n' | 0)).map(inside).collect();
        let Some(listed) = listed else { return };
        let path = FOLDER.with_extension("list");
        let separator: &[u8] = if list.contains(&0) { b"\0" } else { b"\n" };
        std::fs::write(&path, listed.iter().map(|name| name.as_bytes()).collect::<Vec<_>>().join(separator)).expect("a file");
        options.files_from = Some(path.into());
        options.null_separated = list.contains(&0);
    } else if names.is_empty() {
        return;
    }
    if let Ok(found) = io::expand(&names, &options, &|_| false) {
        let paths: Vec<_> = found.into_iter().filter_map(|found| found.path).collect();
        assert!(paths.iter().all(|path| path.exists()), "{paths:?}");
    }
}
