//! `split`: the bytes of every output do not depend on threads and chunk sizes, every record is in one output, and
//! groups stay together when records are added.

use crate::tatter::shell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const RECORDS: u64 = 500;

fn input(directory: &Path, users: std::ops::Range<u64>) {
    let line = |i: u64| format!("{{\"id\":{i},\"user\":\"u{}\",\"x\":[{i}]}}\n", i % 37);
    fs::write(directory.join("in.jsonl"), users.map(line).collect::<String>()).unwrap();
}

fn outputs(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory.join("out")).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

fn run(command: &str, directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let _ = fs::remove_dir_all(directory.join("out"));
    fs::create_dir(directory.join("out")).unwrap();
    let outcome = shell(&format!("tatter {command} in.jsonl"), directory, b"");
    assert_eq!(outcome.status, 0, "{command}: {}", outcome.stderr);
    outputs(directory)
}

#[test]
fn outputs_do_not_depend_on_threads_and_chunks() {
    let directory = tempfile::tempdir().unwrap();
    input(directory.path(), 0..RECORDS);
    for command in [
        "split 'id % 3 == 0' -o out/yes@3.jsonl --else out/no.jsonl",
        "split --into a=0.5,b=0.3,c=0.2 -o out/x.jsonl",
        "split --into a=0.5,b=0.3,c=0.2 --by user -o 'out/{}@2.parquet' --row-group-rows 7",
        "shuffle then split --into a=0.5,b=0.5 -o out/x.arrow",
        "split --by user -o 'out/{}.jsonl'",
        "split --by user -o 'out/{}.parquet' --row-group-rows 7",
        "split --by 'id % 5' -o out/x.jsonl.gz",
        "split --by 'id % 50 == 3' -o out/x.arrow",
    ] {
        let expected = run(&format!("{command} --threads 1"), directory.path());
        for (threads, rows) in [(1, 1), (2, 7), (8, 100)] {
            let found = run(&format!("{command} --threads {threads} --chunk-rows {rows}"), directory.path());
            assert!(found == expected, "{command}: {threads} threads, chunks of {rows}");
        }
        let counted = shell("tatter select id then sort --by id out", directory.path(), b"").text();
        assert_eq!(counted, (0..RECORDS).map(|i| format!("{{\"id\":{i}}}\n")).collect::<String>(), "{command}");
    }
}

#[test]
fn no_record_changes_its_part_when_records_are_added() {
    let directory = tempfile::tempdir().unwrap();
    let parts = |range, by: &str| {
        input(directory.path(), range);
        let found = run(&format!("split --into a=0.6,b=0.4 {by} -o out/x.jsonl"), directory.path());
        let lines = |name: &str| String::from_utf8_lossy(&found[name]).lines().map(str::to_owned).collect::<Vec<_>>();
        (lines("x-a.jsonl"), lines("x-b.jsonl"))
    };
    for (by, first) in [("", 0), ("--by user", 100), ("--by id", 100)] {
        let (a, b) = parts(first..300, by);
        let (more_a, more_b) = parts(0..RECORDS, by);
        assert!(a.iter().all(|line| more_a.contains(line)) && b.iter().all(|line| more_b.contains(line)), "{by}");
        assert_eq!(more_a.len() + more_b.len(), RECORDS as usize);
        // Within four standard deviations for independent records.
        let expected = 0.6 * RECORDS as f64;
        assert!(by == "--by user" || (more_a.len() as f64 - expected).abs() < 4.0 * (0.24 * RECORDS as f64).sqrt(), "{}", more_a.len());
    }
}
