//! Inputs that would fill the memory, or never end.

use crate::tatter::{BINARY, shell};
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// A gzip file whose content is `nbytes` of one byte, a thousandth of it in size.
fn bomb(byte: u8, nbytes: u64) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut std::io::repeat(byte).take(nbytes), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn what_inflates_beyond_the_limit_is_refused_in_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("line.txt.gz"), bomb(b'x', 1 << 30)).unwrap();
    // Less address space than the line has bytes.
    let outcome = shell("ulimit -v 1000000; tatter convert line.txt.gz -o out.jsonl --threads 2; ls", directory.path(), b"");
    assert!(outcome.stderr.contains("a line of 1073741824 bytes, beyond --max-record-bytes 268435456"), "{}", outcome.stderr);
    assert_eq!(outcome.text(), "line.txt.gz\n");
}

#[test]
fn head_ends_an_endless_pipe() {
    let mut child = Command::new(BINARY)
        .args(["head", "2", "--from", "text", "--to", "text"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // The pipe stays open: whoever waited for its end would wait for ever.
    input.write_all(b"one\ntwo\nthree\n").unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "one\ntwo\n");
    assert!(child.wait().unwrap().success());
    drop(input);
}
