//! Inputs that could exhaust memory or never end.

use crate::tatter::BINARY;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A gzip file whose content is `nbytes` repetitions of one byte, compressed to a thousandth of the size.
fn bomb(byte: u8, nbytes: u64) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut std::io::repeat(byte).take(nbytes), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

/// The peak memory of a run in bytes, sampled while it runs, and its standard error.
fn peak_memory(mut child: Child) -> (u64, String) {
    let (status, mut peak) = (format!("/proc/{}/status", child.id()), 0);
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let kib = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) * 1024);
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    (peak, text)
}

#[test]
fn what_inflates_beyond_the_limit_is_refused_in_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("line.txt.gz"), bomb(b'x', 1 << 30)).unwrap();
    for format in ["text", "jsonl"] {
        let run = Command::new(BINARY)
            .args(["convert", "line.txt.gz", "--from", format, "-o", "out.jsonl"])
            .current_dir(directory.path())
            .stderr(Stdio::piped())
            .spawn();
        let (peak, message) = peak_memory(run.unwrap());
        assert!(message.contains("line 1") && message.contains("--max-record-bytes"), "{format}: {message}");
        assert!(peak < 700 << 20, "{format}: {} MiB", peak >> 20);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "{format}");
    }
}

#[test]
fn short_records_of_many_fields_take_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let keys: Vec<String> = (0..1000).map(|n| format!("\"k{n}\":1")).collect();
    std::fs::write(directory.path().join("in.jsonl"), format!("{{{}}}\n{}", keys.join(","), "{}\n".repeat(100_000))).unwrap();
    let run = Command::new(BINARY)
        .args(["count", "--by", "k7", "in.jsonl", "-o", "/dev/null"])
        .current_dir(directory.path())
        .stderr(Stdio::piped())
        .spawn();
    let (peak, message) = peak_memory(run.unwrap());
    assert_eq!(message, "");
    let convert = ["convert", "in.jsonl", "-o", "/dev/null", "--threads", "2"];
    let run = Command::new(BINARY).args(convert).current_dir(directory.path()).stderr(Stdio::piped()).spawn();
    let (all, message) = peak_memory(run.unwrap());
    assert_eq!(message, "");
    assert!(peak < 200 << 20 && all < 400 << 20, "{} and {} MiB", peak >> 20, all >> 20);
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
    // The pipe stays open, so waiting for its end would never return.
    input.write_all(b"one\ntwo\nthree\n").unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "one\ntwo\n");
    assert!(child.wait().unwrap().success());
    drop(input);
}
