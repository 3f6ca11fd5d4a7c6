//! Inputs that could exhaust memory or never end.

use crate::tatter::BINARY;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;
use parquet::arrow::ArrowWriter;
use std::io::{BufRead, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A gzip file whose content is `nbytes` repetitions of one byte, compressed to a thousandth of the size.
fn bomb(byte: u8, nbytes: u64) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut std::io::repeat(byte).take(nbytes), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

/// The peak memory of a run in bytes, sampled while it runs, and its standard error.
pub fn peak_memory(mut child: Child) -> (u64, String) {
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

/// A Parquet or Arrow file whose field `s` refers to one long string `counts[i]` times in row i; a list, unless `is_flat`.
fn references(to: &std::path::Path, counts: &[i32], is_flat: bool) {
    let nvalues: i32 = counts.iter().sum();
    let long: ArrayRef = Arc::new(StringArray::from_iter_values(["x".repeat(1_000_000)]));
    let keys = DictionaryArray::<Int32Type>::new(Int32Array::from_iter_values((0..nvalues).map(|_| 0)), long);
    let values: ArrayRef = Arc::new(keys);
    let column: ArrayRef = match is_flat {
        true => values,
        false => {
            let item = Arc::new(Field::new_list_field(values.data_type().clone(), false));
            let lengths = counts.iter().map(|n| *n as usize);
            Arc::new(ListArray::new(item, OffsetBuffer::from_lengths(lengths), values, None))
        }
    };
    let batch = RecordBatch::try_from_iter([("s", column)]).unwrap();
    let file = std::fs::File::create(to).unwrap();
    if to.extension().is_some_and(|extension| extension == "arrow") {
        let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    } else {
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
}

#[test]
fn long_entries_of_dictionaries_take_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let run = |file: &str, chain: &str| {
        let mut command = Command::new(BINARY);
        command.args(chain.split(' ')).arg(file).current_dir(directory.path());
        peak_memory(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    };
    for file in ["flat.parquet", "flat.arrow"] {
        references(&directory.path().join(file), &[2000], true);
        assert!(std::fs::metadata(directory.path().join(file)).unwrap().len() < 2 << 20);
        let (peak, message) = run(file, "map n=strings.length(s) then drop s");
        assert!(message.is_empty() && peak < 500 << 20, "{file}: {} MiB: {message}", peak >> 20);
        let (_, message) = run(file, "convert --max-record-bytes 999999");
        assert!(message.starts_with(&format!("error: {file}: record 1: s: the values of the record take 1000000 bytes")), "{message}");
    }
    // A record of 100 GB.
    references(&directory.path().join("list.parquet"), &[1, 100_000, 2], false);
    for chain in ["map n=len(s)", "map n=len(s) --threads 1", "get 2", "skip 1"] {
        let (peak, message) = run("list.parquet", chain);
        let start = "error: list.parquet: record 2: s: the values of the record take 100000000000 bytes, more than the --max-record-bytes limit of 268435456";
        assert!(message.starts_with(start) && peak < 500 << 20, "{chain}: {} MiB: {message}", peak >> 20);
    }
    let (_, message) = run("list.parquet", "head 1");
    assert_eq!(message, "");
    // Two records of a megabyte, one of three.
    references(&directory.path().join("short.parquet"), &[1, 3, 1], false);
    let (_, message) = run("short.parquet", "convert --max-record-bytes 2500000");
    assert!(message.starts_with("error: short.parquet: record 2: s: the values of the record take 3000000 bytes"), "{message}");
    let (_, message) = run("short.parquet", "convert --max-record-bytes 3000000");
    assert_eq!(message, "");
}

/// 600 million integers, if all were held.
#[test]
fn explode_repeats_long_fields_in_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let numbers = |n: u32| (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let record = format!("{{\"x\":[{}],\"s\":{{\"y\":[{}]}}}}\n", numbers(30_000), numbers(20_000));
    std::fs::write(directory.path().join("in.jsonl"), record).unwrap();
    for (chain, expected) in [
        ("explode x then map n=reduce_sum(s.y)+x then select n then tail 1", "{\"n\":200019999}\n"),
        ("explode x then count", "30000\n"),
        ("explode s.y then map n=len(x) then filter s.y==19999 then select n", "{\"n\":30000}\n"),
    ] {
        let mut command = Command::new(BINARY);
        command.args(chain.split(' ')).args(["in.jsonl", "-o", "out.jsonl"]).current_dir(directory.path());
        let (peak, message) = peak_memory(command.stderr(Stdio::piped()).spawn().unwrap());
        assert!(message.is_empty() && peak < 400 << 20, "{chain}: {} MiB: {message}", peak >> 20);
        assert_eq!(std::fs::read_to_string(directory.path().join("out.jsonl")).unwrap(), expected, "{chain}");
    }
}

/// 480 MB of results for each chunk of a Parquet file, if they were computed together.
#[test]
fn many_computed_fields_take_bounded_memory() {
    let directory = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(BINARY);
        command.args(args).current_dir(directory.path()).stdout(Stdio::null());
        let (peak, message) = peak_memory(command.stderr(Stdio::piped()).spawn().unwrap());
        assert_eq!(message, "");
        peak
    };
    let rows = "map x=range(600000) then select x then explode x";
    run(&[&rows.split(' ').collect::<Vec<_>>()[..], &["--from", "none", "-o", "in.parquet"]].concat());
    let fields: Vec<String> = (0..100).map(|i| format!("f{i} = x + {i}")).collect();
    let peak = run(&["map", &fields.join("; "), "then", "select", "f7", "in.parquet", "-o", "out.parquet"]);
    assert!(peak < 200 << 20, "{} MiB", peak >> 20);
}

#[test]
fn white_space_between_values_takes_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"[{\"a\":1}").unwrap();
    std::io::copy(&mut std::io::repeat(b' ').take(400 << 20), &mut encoder).unwrap();
    encoder.write_all(b"\n , {\"a\":\n?}]").unwrap();
    std::fs::write(directory.path().join("in.json.gz"), encoder.finish().unwrap()).unwrap();
    let run = Command::new(BINARY)
        .args(["convert", "in.json.gz", "--to", "jsonl"])
        .current_dir(directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let (peak, message) = peak_memory(run.unwrap());
    assert!(message.contains("record 2 (line 3, column 1)"), "{message}");
    assert!(peak < 200 << 20, "{} MiB", peak >> 20);
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

#[test]
fn unbuffered_records_are_written_as_they_arrive() {
    // The pipe stays open until the last line has been read, so a record that is held back would never come.
    let cases: &[(&[&str], &[(&str, &str)])] = &[
        (
            &["filter", "a > 1", "then", "head", "2", "--unbuffered"],
            &[("{\"a\":1,\"b\":\"\"}\n{\"a\":2,\"b\":\"\"}\n", "{\"a\":2,\"b\":\"\"}"), ("{\"a\":3,\"b\":\"\"}\n", "{\"a\":3,\"b\":\"\"}")],
        ),
        (
            &["convert", "--from", "csv", "--to", "jsonl", "--unbuffered"],
            &[("number,name\n1,x\n", "{\"number\":1,\"name\":\"x\"}"), ("2,y\n", "{\"number\":2,\"name\":\"y\"}")],
        ),
        (&["convert", "--from", "text", "--to", "text", "--unbuffered"], &[("the first line\n", "the first line"), ("two\n", "two")]),
        (&["convert", "--from", "json", "--unbuffered"], &[("{\"a\":1} ", "{\"a\":1}"), ("{\"a\":\n2} ", "{\"a\":2}")]),
    ];
    for (arguments, exchanges) in cases {
        let mut child = Command::new(BINARY).args(*arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        for (text, expected) in *exchanges {
            input.write_all(text.as_bytes()).unwrap();
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(line.trim_end(), *expected, "{arguments:?}");
        }
        drop(input);
        assert!(child.wait().unwrap().success(), "{arguments:?}");
    }
}
